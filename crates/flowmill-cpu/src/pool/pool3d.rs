//! `MaxPool3D`, `AvgPool3D` and their gradients. Only elements inside the volume count.

use super::pool2d::AVG_TYPES;
use super::tensors::{self, Forward};
use crate::from_fn::from_fn;
use crate::nn::layout::in_any_layout;
use crate::number::{Number, Ordered};
use crate::parallel;
use crate::window::volume::{Pool, check_outputs, input_shape, output_shape};
use flowmill_numeric::window::Volume;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The types of maximum pools of volumes.
const MAX_TYPES_3D: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

/// The number of multiply-adds per task.
const GRAIN: usize = 1 << 15;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("AvgPool3D", KernelDef::new(|init| in_any_layout(init, make_avg)).channels_last());
    registry.register("AvgPool3DGrad", KernelDef::new(|init| in_any_layout(init, make_avg_grad)).channels_last());
    registry.register("MaxPool3D", KernelDef::new(|init| in_any_layout(init, make_max)).channels_last());
    registry.register("MaxPool3DGrad", KernelDef::new(|init| in_any_layout(init, make_max_grad)).channels_last());
    registry.register("MaxPool3DGradGrad", KernelDef::new(|init| in_any_layout(init, make_max_grad_grad)).channels_last());
}

fn make_max(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    forward(init, &MAX_TYPES_3D, tensors::max_pool)
}

fn make_avg(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    forward(init, &AVG_TYPES, tensors::avg_pool)
}

fn make_max_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    if !MAX_TYPES_3D.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| max_pool_grad(ctx, pool))
}

fn make_max_grad_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64],
        T => from_fn(move |ctx| max_pool_grad_grad::<T>(ctx, pool)), _ => init.unsupported())
}

fn make_avg_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    if !AVG_TYPES.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| avg_pool_grad(ctx, pool))
}

/// Fills the channels of each position, by calls of `f(position, channels)`.
fn for_positions<T: Number>(alloc: &Allocator, volume: &Volume, f: impl Fn(usize, &mut [T]) + Sync) -> Result<Tensor> {
    let channels = volume.channels;
    let mut out = alloc.uninit(T::DTYPE, output_shape(volume, channels))?;
    if out.num_elements() > 0 {
        let each = (GRAIN / volume.taps().saturating_mul(channels).max(1)).max(1);
        parallel::chunks(out.as_mut_slice::<T>()?, each * channels, |i, chunk| {
            chunk.chunks_exact_mut(channels).enumerate().for_each(|(at, out)| f(i * each + at, out));
        });
    }
    Ok(out)
}

fn forward(init: &KernelInit<'_>, types: &[DType], apply: Forward) -> Result<Arc<dyn Kernel>> {
    let pool = Pool::new(init)?;
    if !types.contains(&init.dtype("T")?) {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let volume = pool.volume(input.shape())?;
        let out = apply(ctx.allocator(), &volume, input, output_shape(&volume, volume.channels))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns, for each channel's window, the first pixel that equals the greatest element, or `None` if there is none.
fn first_maxima<T: Ordered>(volume: &Volume, x: &[T], position: usize) -> Vec<Option<usize>> {
    let mut best: Vec<(T, Option<usize>)> = vec![(T::LOWEST_FINITE, None); volume.channels];
    volume.for_each_tap(position, |_, pixel| {
        for (best, &x) in best.iter_mut().zip(&x[pixel * volume.channels..]) {
            if best.1.is_none() && x >= best.0 || x > best.0 {
                *best = (x, Some(pixel));
            }
        }
    });
    best.into_iter().map(|best| best.1).collect()
}

/// Adds the gradient of each window to every element that equals its maximum, as in TensorFlow; in two dimensions, only the first such element gets it.
fn max_pool_grad(ctx: &mut KernelContext<'_>, pool: Pool) -> Result<()> {
    let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let volume = pool.volume(input.shape())?;
    check_outputs(&volume, &[("orig_output", output.shape()), ("grad", gradient.shape())])?;
    let out = tensors::max_pool_grad_to_equals(ctx.allocator(), &volume, [input, output, gradient])?;
    ctx.set_output(0, out);
    Ok(())
}

/// Outputs, for each window, the gradient at its first maximum.
fn max_pool_grad_grad<T: Ordered>(ctx: &mut KernelContext<'_>, pool: Pool) -> Result<()> {
    let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let volume = pool.volume(input.shape())?;
    check_outputs(&volume, &[("orig_output", output.shape())])?;
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "Expected grad shape to be {}, but got {}", input.shape(), gradient.shape());
    }
    let (x, g) = (input.as_slice::<T>()?, gradient.as_slice::<T>()?);
    let out = for_positions::<T>(ctx.allocator(), &volume, |position, out| {
        for (c, (out, pixel)) in out.iter_mut().zip(first_maxima(&volume, x, position)).enumerate() {
            *out = pixel.map_or(T::ZERO, |pixel| g[pixel * volume.channels + c]);
        }
    })?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the window over the volume whose gradient is computed, the volume's shape, and the gradient of the pool's output.
fn avg_gradient(ctx: &KernelContext<'_>, pool: Pool) -> Result<(Volume, Shape, Tensor)> {
    let gradient = ctx.input(1)?;
    let shape = input_shape(ctx.input(0)?)?;
    let volume = pool.volume(&shape)?;
    check_outputs(&volume, &[("grad", gradient.shape())])?;
    Ok((volume, shape, gradient.clone()))
}

/// Spreads the gradient of each window evenly over its elements inside the volume.
fn avg_pool_grad(ctx: &mut KernelContext<'_>, pool: Pool) -> Result<()> {
    let (volume, shape, gradient) = avg_gradient(ctx, pool)?;
    let out = tensors::avg_pool_grad(ctx.allocator(), &volume, &gradient, shape)?;
    ctx.set_output(0, out);
    Ok(())
}
