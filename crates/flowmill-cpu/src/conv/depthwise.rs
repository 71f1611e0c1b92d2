//! `DepthwiseConv2dNative` and its gradients.

use super::{checked_type, from_zeros, in_float32};
use crate::from_fn::from_fn;
use crate::fused_ops::{EpilogueArgs, FusedOps};
use crate::gemm::Epilogue;
use crate::linear::{Linear, LinearCall, RowGrid, WholeResult};
use crate::nn::layout::in_any_layout;
use crate::window::Geometry;
use flowmill_numeric::conv::depthwise::{depthwise_backprop_filter, depthwise_backprop_input, depthwise_conv2d, depthwise_conv2d_rows};
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register(
        "DepthwiseConv2dNative",
        KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::default()))).channels_last(),
    );
    registry
        .register("DepthwiseConv2dNativeBackpropFilter", KernelDef::new(|init| in_any_layout(init, make_backprop_filter)).channels_last());
    registry
        .register("DepthwiseConv2dNativeBackpropInput", KernelDef::new(|init| in_any_layout(init, make_backprop_input)).channels_last());
    registry.register(
        "_FusedDepthwiseConv2dNative",
        KernelDef::new(|init| in_any_layout(init, |init| make(init, FusedOps::new(init)?)))
            .channels_last()
            .fuses(FusedOps::can_be_without_residual),
    );
}

/// Checks the filter `[height, width, channels, multiplier]` against the input. Returns the window, the multiplier and the output's shape.
fn checked_window(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<(Window, usize, Shape)> {
    let &[height, width, channels, multiplier] = filter.dims() else {
        bail!(InvalidArgument, "filter must be 4-dimensional: {filter}");
    };
    let window = geometry.window(input, height, width)?;
    if channels != window.channels {
        bail!(InvalidArgument, "input and filter must have the same depth: {} vs {channels}", window.channels);
    }
    let Some(out_channels) = channels.checked_mul(multiplier) else { bail!(InvalidArgument, "filter {filter} is too large") };
    let shape = Shape::from([window.batch, window.out_height, window.out_width, out_channels]);
    Ok((window, multiplier, shape))
}

/// Calls `f(input, filter, output)` with the positions of the factors and of the sum for every product of the convolution.
fn for_each_product(w: &Window, multiplier: usize, mut f: impl FnMut(usize, usize, usize)) {
    let out_channels = w.channels * multiplier;
    for position in 0..w.positions() {
        let (x, y) = (position % w.out_width, position / w.out_width % w.out_height);
        let image = position / w.out_width / w.out_height;
        for i in w.rows_inside(y) {
            let row = (image * w.in_height + w.input_row(y, i)) * w.in_width;
            for j in w.columns_inside(x) {
                let (from, tap) = ((row + w.input_column(x, j)) * w.channels, (i * w.width + j) * out_channels);
                for channel in 0..out_channels {
                    f(from + channel / multiplier, tap + channel, position * out_channels + channel);
                }
            }
        }
    }
}

/// Adds all products of two of input, filter and output to the third, in `float64`. `order` puts the positions of a product's input, filter and output in the
/// order of the factors and the sum.
fn by_definition(
    window: &Window,
    multiplier: usize,
    factors: [&Tensor; 2],
    sums: &mut Tensor,
    order: fn([usize; 3]) -> [usize; 3],
) -> Result<()> {
    let [a, b] = [factors[0].as_slice::<f64>()?, factors[1].as_slice::<f64>()?];
    let sums = sums.as_mut_slice::<f64>()?;
    for_each_product(window, multiplier, |input, filter, output| {
        let [first, second, sum] = order([input, filter, output]);
        sums[sum] += a[first] * b[second];
    });
    Ok(())
}

fn make(init: &KernelInit<'_>, fused: FusedOps) -> Result<Arc<dyn Kernel>> {
    let Depthwise { geometry, fused } = Depthwise::new(init, fused)?;
    let dtype = init.dtype("T")?;
    if dtype != DType::F32 && fused.bias {
        return init.unsupported();
    }
    match dtype {
        DType::F32 => {}
        DType::F16 | DType::BF16 => {
            return from_fn(move |ctx| {
                let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
                let (window, multiplier, shape) = checked_window(&geometry, input.shape(), filter.shape())?;
                in_float32(ctx, dtype, [input, filter], shape, |[input, filter], sums| {
                    depthwise_conv2d(&window, multiplier, input, filter, sums, &Epilogue::default());
                })
            });
        }
        DType::F64 => {
            return from_fn(move |ctx| {
                let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
                let (window, multiplier, shape) = checked_window(&geometry, input.shape(), filter.shape())?;
                from_zeros(ctx, dtype, shape, |out| {
                    by_definition(&window, multiplier, [&input, &filter], out, |at| at)?;
                    Ok(())
                })
            });
        }
        _ => return init.unsupported(),
    }
    Ok(Arc::new(WholeResult(Depthwise { geometry, fused })))
}

/// The convolution of `float32`.
pub(crate) struct Depthwise {
    geometry: Geometry,
    fused: FusedOps,
}

impl Depthwise {
    /// Makes the convolution of a node of `float32`.
    ///
    /// # Errors
    /// Returns `Unimplemented` for functions that it does not have.
    pub(crate) fn new(init: &KernelInit<'_>, fused: FusedOps) -> Result<Depthwise> {
        if fused.residual {
            bail!(Unimplemented, "Fusion is not implemented: Add");
        }
        Ok(Depthwise { geometry: Geometry::new(init)?, fused })
    }
}

/// The inputs of a depthwise convolution.
pub(crate) struct DepthwiseCall {
    window: Window,
    multiplier: usize,
    input: Tensor,
    filter: Tensor,
    epilogue: EpilogueArgs,
    shape: Shape,
}

impl Linear for Depthwise {
    type Call = DepthwiseCall;

    fn call(&self, ctx: &mut KernelContext<'_>) -> Result<DepthwiseCall> {
        let (input, filter) = (ctx.take(0)?, ctx.take(1)?);
        let (window, multiplier, shape) = checked_window(&self.geometry, input.shape(), filter.shape())?;
        let epilogue = self.fused.args(ctx, &shape)?;
        Ok(DepthwiseCall { window, multiplier, input, filter, epilogue, shape })
    }

    /// Returns the images.
    fn batched_inputs(&self) -> u32 {
        1
    }
}

impl LinearCall for DepthwiseCall {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn grid(&self) -> RowGrid {
        let weights = self.filter.num_elements() * size_of::<f32>();
        RowGrid { images: self.window.batch, height: self.window.out_height, step: 1, weights }
    }

    fn compute(&self, rows: Range<usize>, output: &mut [f32]) -> Result<()> {
        let epilogue = self.epilogue.epilogue(self.shape[3])?;
        let (input, filter) = (self.input.as_slice()?, self.filter.as_slice()?);
        depthwise_conv2d_rows(&self.window, self.multiplier, rows, input, filter, output, &epilogue);
        Ok(())
    }
}

fn check_gradient(expected: &Shape, gradient: &Tensor) -> Result<()> {
    if gradient.shape() != expected {
        bail!(
            InvalidArgument,
            "DepthwiseConv2dBackprop: the gradient's shape is {}, but the convolution's output is {expected}",
            gradient.shape()
        );
    }
    Ok(())
}

fn make_backprop_input(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let dtype = checked_type(init, &[])?;
    from_fn(move |ctx| {
        let (shape, filter, gradient) = (ctx.input(0)?.to_shape()?, ctx.take(1)?, ctx.take(2)?);
        let (window, multiplier, expected) = checked_window(&geometry, &shape, filter.shape())?;
        check_gradient(&expected, &gradient)?;
        if dtype == DType::F64 {
            return from_zeros(ctx, dtype, shape, |out| {
                by_definition(&window, multiplier, [&filter, &gradient], out, |[input, filter, output]| [filter, output, input])?;
                Ok(())
            });
        }
        in_float32(ctx, dtype, [filter, gradient], shape, |[filter, gradient], out| {
            out.fill(0.0);
            if !gradient.is_empty() {
                depthwise_backprop_input(&window, multiplier, filter, gradient, out);
            }
        })
    })
}

fn make_backprop_filter(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let geometry = Geometry::new(init)?;
    let dtype = checked_type(init, &[])?;
    from_fn(move |ctx| {
        let (input, shape, gradient) = (ctx.take(0)?, ctx.input(1)?.to_shape()?, ctx.take(2)?);
        let (window, multiplier, expected) = checked_window(&geometry, input.shape(), &shape)?;
        check_gradient(&expected, &gradient)?;
        if dtype == DType::F64 {
            return from_zeros(ctx, dtype, shape, |out| {
                by_definition(&window, multiplier, [&input, &gradient], out, |[input, filter, output]| [input, output, filter])?;
                Ok(())
            });
        }
        in_float32(ctx, dtype, [input, gradient], shape, |[input, gradient], out| {
            out.fill(0.0);
            if !gradient.is_empty() {
                depthwise_backprop_filter(&window, multiplier, input, gradient, out);
            }
        })
    })
}
