//! `MaxPoolV2` with its gradients, whose windows are inputs; `MaxPoolWithArgmax` with its gradient; `MaxPoolGradGrad`.

use super::pool2d::{MAX_TYPES, Pool, max_gradient};
use super::tensors;
use crate::from_fn::from_fn;
use crate::nn::layout::in_any_layout;
use crate::number::{Number, Ordered};
use crate::parallel;
use crate::window::Geometry;
use flowmill_numeric::window::Window;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("MaxPoolGradGrad", KernelDef::new(|init| in_any_layout(init, make_grad_grad)).channels_last());
    registry.register("MaxPoolGradGradV2", KernelDef::new(|init| in_any_layout(init, make_grad_grad_v2)).channels_last());
    registry.add("MaxPoolGradGradWithArgmax", make_grad_grad_with_argmax);
    registry.register("MaxPoolGradV2", KernelDef::new(|init| in_any_layout(init, make_grad_v2)).channels_last());
    registry.add("MaxPoolGradWithArgmax", make_grad_with_argmax);
    registry.register("MaxPoolV2", KernelDef::new(|init| in_any_layout(init, make_v2)).channels_last());
    registry.add("MaxPoolWithArgmax", make_with_argmax);
}

/// Returns the window of one call: `ksize` and `strides` are vectors in inputs `at` and `at + 1`.
fn pool_of(ctx: &KernelContext<'_>, at: usize, op: &str, geometry: &Geometry) -> Result<Pool> {
    for (input, name) in [(at, "ksize"), (at + 1, "strides")] {
        let tensor = ctx.input(input)?;
        if tensor.rank() != 1 || tensor.num_elements() != 4 {
            bail!(InvalidArgument, "Sliding window {name} field must specify 4 dimensions");
        }
    }
    let (sizes, mut strides) = (ctx.input(at)?.to_i64_vec()?, ctx.input(at + 1)?.to_i64_vec()?);
    Pool::check_depth(&sizes, &mut strides)?;
    Pool::with_sizes(op, &sizes, geometry.with_strides(op, &strides)?)
}

fn make_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (op, geometry) = (init.op_def.name.clone(), Geometry::new(init)?);
    if !MAX_TYPES.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let (window, shape) = pool_of(ctx, 1, &op, &geometry)?.window(input.shape())?;
        let out = tensors::max_pool(ctx.allocator(), &window.volume(), input, shape)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_grad_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (op, geometry, dtype) = (init.op_def.name.clone(), Geometry::new(init)?, init.dtype("T")?);
    if !MAX_TYPES.contains(&dtype) && !matches!(dtype, DType::U32 | DType::U64) {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let out = max_gradient(ctx, &pool_of(ctx, 3, &op, &geometry)?)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Finds the first greatest element of each window and channel: its value and its index in the image, which is `None` for an empty window.
fn maxima<T: Ordered>(w: &Window, x: &[T], row: usize, column: usize, out: &mut [(T, Option<usize>)]) {
    let (image, y) = (row / w.out_height, row % w.out_height);
    out.fill((T::LOWEST_FINITE, None));
    for i in w.rows_inside(y) {
        for j in w.columns_inside(column) {
            let pixel = w.input_row(y, i) * w.in_width + w.input_column(column, j);
            let from = &x[(image * w.in_height * w.in_width + pixel) * w.channels..][..w.channels];
            for (c, (best, &x)) in out.iter_mut().zip(from).enumerate() {
                if best.1.is_none() || x > best.0 {
                    *best = (x, Some(pixel * w.channels + c));
                }
            }
        }
    }
}

fn make_with_argmax(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let (with_batch, index) = (init.attrs.get_or("include_batch_in_index", false)?, init.dtype("Targmax")?);
    let find = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => maxima_with_argmax::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let (w, shape) = pool.window(input.shape())?;
        let mut out = ctx.allocator().uninit(input.dtype(), shape.clone())?;
        let mut at = vec![0i64; shape.num_elements()];
        if !at.is_empty() {
            find(&w, with_batch, input, &mut out, &mut at)?;
        }
        ctx.set_output(0, out);
        ctx.set_output(1, ctx.allocator().index_vector(index, &at)?.reshaped(shape)?);
        Ok(())
    })
}

/// Writes the first greatest element of each window and channel and its index, in its image or, if `with_batch`, in the batch.
fn maxima_with_argmax<T: Ordered>(w: &Window, with_batch: bool, x: &Tensor, values: &mut Tensor, at: &mut [i64]) -> Result<()> {
    let (x, values, width) = (x.as_slice::<T>()?, values.as_mut_slice::<T>()?, w.out_width * w.channels);
    let image_len = w.in_height * w.in_width * w.channels;
    let mut best = vec![(T::LOWEST_FINITE, None); w.channels];
    for (row, (values, at)) in values.chunks_exact_mut(width).zip(at.chunks_exact_mut(width)).enumerate() {
        let first = if with_batch { row / w.out_height * image_len } else { 0 };
        for (column, (values, at)) in values.chunks_exact_mut(w.channels).zip(at.chunks_exact_mut(w.channels)).enumerate() {
            maxima(w, x, row, column, &mut best);
            for ((value, at), best) in values.iter_mut().zip(at).zip(&best) {
                (*value, *at) = (best.0, (best.1.unwrap_or(0) + first) as i64);
            }
        }
    }
    Ok(())
}

fn make_grad_with_argmax(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let with_batch = init.attrs.get_or("include_batch_in_index", false)?;
    let add = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => add_at::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let (input, gradient, at) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (_, shape) = pool.window(input.shape())?;
        if *gradient.shape() != shape {
            bail!(InvalidArgument, "Expected grad shape to be {shape}, but got {}", gradient.shape());
        }
        if *at.shape() != shape {
            bail!(InvalidArgument, "Expected argmax shape to be {shape}, but got {}", at.shape());
        }
        let positions = positions(at, &shape, input.shape(), with_batch)?;
        let mut out = ctx.allocator().zeros(input.dtype(), input.shape().clone())?;
        add(gradient, &positions, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns the positions in a batch of shape `input` of the indices `at` of a pooled batch of shape `pooled`. They count from the first element of their image
/// unless `with_batch`.
fn positions(at: &Tensor, pooled: &Shape, input: &Shape, with_batch: bool) -> Result<Vec<usize>> {
    let images = pooled[0].max(1);
    let (per_image, image_len) = (pooled.num_elements() / images, input.num_elements() / images);
    let mut positions = Vec::with_capacity(pooled.num_elements());
    for (i, at) in at.to_i64_vec()?.into_iter().enumerate() {
        let first = if with_batch { 0 } else { i / per_image * image_len };
        match usize::try_from(at).ok().and_then(|at| at.checked_add(first)).filter(|&at| at < input.num_elements()) {
            Some(position) => positions.push(position),
            None => bail!(InvalidArgument, "Invalid argmax index {at} for input of shape {input}"),
        }
    }
    Ok(positions)
}

/// Adds the elements of `values` to those of `target` at `positions`.
fn add_at<T: Number>(values: &Tensor, positions: &[usize], target: &mut Tensor) -> Result<()> {
    let target = target.as_mut_slice::<T>()?;
    for (&at, &value) in positions.iter().zip(values.as_slice::<T>()?) {
        target[at] = target[at].plus(value);
    }
    Ok(())
}

/// A function that writes the elements of `g` at the maxima of the windows of `x`.
type AtMaxima = fn(w: &Window, x: &Tensor, g: &Tensor, out: &mut Tensor) -> Result<()>;

fn at_maxima<T: Ordered>(w: &Window, x: &Tensor, g: &Tensor, out: &mut Tensor) -> Result<()> {
    let (x, g) = (x.as_slice::<T>()?, g.as_slice::<T>()?);
    let image_len = w.in_height * w.in_width * w.channels;
    parallel::chunks(out.as_mut_slice::<T>()?, w.out_width * w.channels, |row, out| {
        let mut best = vec![(T::LOWEST_FINITE, None); w.channels];
        for (column, out) in out.chunks_exact_mut(w.channels).enumerate() {
            maxima(w, x, row, column, &mut best);
            for (out, best) in out.iter_mut().zip(&best) {
                *out = best.1.map_or(T::ZERO, |at| g[row / w.out_height * image_len + at]);
            }
        }
    });
    Ok(())
}

/// Outputs the input gradients at the maxima of the windows.
fn grad_grad(ctx: &mut KernelContext<'_>, pool: &Pool, at_maxima: AtMaxima) -> Result<()> {
    let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let (w, shape) = pool.window(input.shape())?;
    if *output.shape() != shape {
        bail!(InvalidArgument, "Expected orig_output shape to be {shape}, but got {}", output.shape());
    }
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "Expected grad shape to be {}, but got {}", input.shape(), gradient.shape());
    }
    let mut out = ctx.allocator().uninit(input.dtype(), shape)?;
    if out.num_elements() > 0 {
        at_maxima(&w, input, gradient, &mut out)?;
    }
    ctx.set_output(0, out);
    Ok(())
}

fn make_grad_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::of_any_dimension(init)?;
    let at_maxima = at_maxima_of(init)?;
    from_fn(move |ctx| grad_grad(ctx, &pool, at_maxima))
}

fn make_grad_grad_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (op, geometry) = (init.op_def.name.clone(), Geometry::new(init)?);
    let at_maxima = at_maxima_of(init)?;
    from_fn(move |ctx| {
        let pool = pool_of(ctx, 3, &op, &geometry)?;
        grad_grad(ctx, &pool, at_maxima)
    })
}

/// Returns the function for the element type of a node.
fn at_maxima_of(init: &KernelInit<'_>) -> Result<AtMaxima> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => Ok(at_maxima::<T>), _ => init.unsupported())
}

/// Makes the kernel of `MaxPoolGradGradWithArgmax`, which outputs the input gradients at the given positions. Inputs: the pooled tensor, the
/// gradients, positions.
fn make_grad_grad_with_argmax(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    let with_batch = init.attrs.get_or("include_batch_in_index", false)?;
    let pick = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => pick::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let (input, gradient, at) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (_, shape) = pool.window(input.shape())?;
        if gradient.shape() != input.shape() {
            bail!(InvalidArgument, "Expected grad shape to be {}, but got {}", input.shape(), gradient.shape());
        }
        if *at.shape() != shape {
            bail!(InvalidArgument, "Expected argmax shape to be {shape}, but got {}", at.shape());
        }
        let positions = positions(at, &shape, input.shape(), with_batch)?;
        let mut out = ctx.allocator().uninit(input.dtype(), shape)?;
        pick(gradient, &positions, &mut out)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Writes the elements of `values` at `positions`.
fn pick<T: Number>(values: &Tensor, positions: &[usize], out: &mut Tensor) -> Result<()> {
    let values = values.as_slice::<T>()?;
    out.as_mut_slice::<T>()?.iter_mut().zip(positions).for_each(|(out, &at)| *out = values[at]);
    Ok(())
}
