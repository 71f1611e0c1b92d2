//! `MaxPool`, `AvgPool` and their gradients.

use super::tensors;
use crate::from_fn::{batched_from_fn, from_fn};
use crate::nn::layout::in_any_layout;
use crate::window::Geometry;
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("AvgPool", KernelDef::new(|init| in_any_layout(init, |init| make(init, false))).channels_last());
    registry.register("AvgPoolGrad", KernelDef::new(|init| in_any_layout(init, make_avg_grad)).channels_last());
    registry.register("MaxPool", KernelDef::new(|init| in_any_layout(init, |init| make(init, true))).channels_last());
    registry.register("MaxPoolGrad", KernelDef::new(|init| in_any_layout(init, make_max_grad)).channels_last());
}

/// The window of the attribute `ksize`, over height and width or over depth.
pub(crate) struct Pool {
    geometry: Geometry,
    height: usize,
    width: usize,
    depth: usize,
}

impl Pool {
    /// Reads a window over height and width from the attributes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for invalid lists of sizes, `Unimplemented` for windows over the batch or over depth.
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<Pool> {
        let pool = Pool::of_any_dimension(init)?;
        if pool.depth != 1 {
            bail!(Unimplemented, "{}: pooling over depth is not supported", init.op_def.name);
        }
        Ok(pool)
    }

    /// Like [`Pool::new`], for an op whose window may span depth instead of height and width.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for invalid lists of sizes, `Unimplemented` for windows over the batch, or over depth and another dimension.
    pub(super) fn of_any_dimension(init: &KernelInit<'_>) -> Result<Pool> {
        let op = &init.op_def.name;
        let (sizes, mut strides) = (init.attrs.list::<i64>("ksize")?, init.attrs.list::<i64>("strides")?);
        if strides.first().is_some_and(|&stride| stride != 1) {
            bail!(Unimplemented, "{op}: Pooling is not yet supported on the batch dimension.");
        }
        Pool::check_depth(&sizes, &mut strides)?;
        Pool::with_sizes(op, &sizes, Geometry::new_with_strides(init, &strides)?)
    }

    /// Checks that windows over depth do not overlap, and sets the stride over depth to one.
    pub(super) fn check_depth(sizes: &[i64], strides: &mut [i64]) -> Result<()> {
        let (&[_, height, width, depth], &mut [_, stride_height, stride_width, ref mut stride]) = (sizes, strides) else { return Ok(()) };
        if depth == 1 {
            if *stride != 1 {
                bail!(InvalidArgument, "Pooling with a stride of {stride} over depth needs a window over depth");
            }
            return Ok(());
        }
        if (height, width) != (1, 1) {
            bail!(Unimplemented, "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
        }
        if (stride_height, stride_width, *stride) != (1, 1, depth) {
            bail!(Unimplemented, "Depthwise max pooling requires the depth window to equal the depth stride, and other strides of 1");
        }
        *stride = 1;
        Ok(())
    }

    /// Returns a window of these sizes, `[1, height, width, depth]`.
    pub(super) fn with_sizes(op: &str, sizes: &[i64], geometry: Geometry) -> Result<Pool> {
        let &[batch, height, width, depth] = sizes else {
            bail!(InvalidArgument, "Sliding window ksize field must specify 4 dimensions");
        };
        if batch != 1 {
            bail!(Unimplemented, "{op}: Pooling is not yet supported on the batch dimension.");
        }
        let size = |n: i64| match usize::try_from(n) {
            Ok(n) if n > 0 && n < 1 << 31 => Ok(n),
            _ => bail!(InvalidArgument, "Sliding window ksize for dimension must be positive, got {sizes:?}"),
        };
        Ok(Pool { geometry, height: size(height)?, width: size(width)?, depth: size(depth)? })
    }

    /// Returns the sliding window over `input`, and the output's shape.
    ///
    /// A window over depth is treated as one along the rows of images of one channel: each pixel is such an image, and its rows are the windows.
    pub(crate) fn window(&self, input: &Shape) -> Result<(Window, Shape)> {
        let &[batch, height, width, channels] = input.dims() else {
            bail!(InvalidArgument, "tensor_in must be 4-dimensional, got {input}");
        };
        if self.depth > 1 {
            if !channels.is_multiple_of(self.depth) {
                bail!(Unimplemented, "Depthwise max pooling requires the depth window to evenly divide the input depth");
            }
            let pixels = Shape::new(&[batch, height, width]).checked_num_elements()?;
            let groups = channels / self.depth;
            let strides = Geometry::of([1, self.depth], [1, 1], false);
            let window = strides.window(&Shape::from([pixels, groups, self.depth, 1]), 1, self.depth)?;
            return Ok((window, Shape::from([batch, height, width, groups])));
        }
        self.geometry.check_padding(self.height, self.width)?;
        let window = self.geometry.window(input, self.height, self.width)?;
        Ok((window, Shape::from([window.batch, window.out_height, window.out_width, window.channels])))
    }
}

/// The types of max pools.
pub(super) const MAX_TYPES: [DType; 10] =
    [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::I16, DType::I8, DType::U8, DType::U16];
/// The types of average pools.
pub(super) const AVG_TYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn make(init: &KernelInit<'_>, max: bool) -> Result<Arc<dyn Kernel>> {
    let pool = if max { Pool::of_any_dimension(init)? } else { Pool::new(init)? };
    let (types, apply) =
        if max { (&MAX_TYPES[..], tensors::max_pool as tensors::Forward) } else { (&AVG_TYPES[..], tensors::avg_pool as _) };
    if !types.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    batched_from_fn(None, 1, move |ctx| {
        let input = ctx.take(0)?;
        let (window, shape) = pool.window(input.shape())?;
        let out = apply(ctx.allocator(), &window.volume(), &input, shape)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_max_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::of_any_dimension(init)?;
    if !MAX_TYPES.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let out = max_gradient(ctx, &pool)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns the input gradient of a maximum pool, from the input, the output and the output's gradient in the node's first inputs.
pub(super) fn max_gradient(ctx: &KernelContext<'_>, pool: &Pool) -> Result<Tensor> {
    let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let (window, shape) = pool.window(input.shape())?;
    if *output.shape() != shape || *gradient.shape() != shape {
        bail!(InvalidArgument, "Expected orig_output and grad of shape {shape}, but got {} and {}", output.shape(), gradient.shape());
    }
    tensors::max_pool_grad(ctx.allocator(), &window.volume(), input, gradient)
}

fn make_avg_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    if !AVG_TYPES.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let (shape, gradient) = (ctx.input(0)?.to_shape()?, ctx.take(1)?);
        let (window, expected) = pool.window(&shape)?;
        if *gradient.shape() != expected {
            bail!(InvalidArgument, "Expected grad of shape {expected}, but got {}", gradient.shape());
        }
        let out = tensors::avg_pool_grad(ctx.allocator(), &window.volume(), &gradient, shape)?;
        ctx.set_output(0, out);
        Ok(())
    })
}
