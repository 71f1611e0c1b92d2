//! `FusedBatchNorm` in its three versions, for inference and training, and `FusedBatchNormGrad`.

use super::layout::in_any_layout;
use crate::cast::cast_tensor;
use crate::from_fn::from_fn;
use flowmill_numeric::batch_norm::{Statistics, gradient, moments, scale_and_shift};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"] {
        registry.register(op, KernelDef::new(|init| in_any_layout(init, make)).channels_last());
    }
    for op in ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"] {
        registry.register(op, KernelDef::new(|init| in_any_layout(init, make_grad)).channels_last());
    }
}

struct Norm {
    dtype: DType,
    epsilon: f32,
    average_factor: f32,
    training: bool,
}

impl Norm {
    fn new(init: &KernelInit<'_>) -> Result<Norm> {
        let dtype = init.dtype("T")?;
        if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
            return init.unsupported();
        }
        Ok(Norm {
            dtype,
            epsilon: init.attrs.get_or("epsilon", 1e-4)?,
            average_factor: init.attrs.get_or("exponential_avg_factor", 1.0)?,
            training: init.attrs.get_or("is_training", true)?,
        })
    }
}

/// Returns the number of channels, after a check that `x` has at least four dimensions and each of `vectors` has that many elements.
fn channels(x: &Shape, vectors: &[(&str, &Tensor)]) -> Result<usize> {
    if x.rank() != 4 && x.rank() != 5 {
        bail!(InvalidArgument, "input must be 4 or 5-dimensional{x}");
    }
    let channels = x[x.rank() - 1];
    for (name, vector) in vectors {
        if vector.rank() != 1 || vector.num_elements() != channels {
            bail!(
                InvalidArgument,
                "{name} must have the same number of elements as the channels of x, got {} and {channels}",
                vector.shape()
            );
        }
    }
    Ok(channels)
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let norm = Norm::new(init)?;
    let has_reserve_3 = init.op_def.name == "FusedBatchNormV3";
    from_fn(move |ctx| forward(ctx, &norm, has_reserve_3))
}

fn forward(ctx: &mut KernelContext<'_>, norm: &Norm, has_reserve_3: bool) -> Result<()> {
    let x = cast_tensor(ctx.allocator(), ctx.input(0)?, DType::F32)?;
    let (scale, offset, mean, variance) = (ctx.take(1)?, ctx.take(2)?, ctx.take(3)?, ctx.take(4)?);
    let n = channels(x.shape(), &[("scale", &scale), ("offset", &offset)])?;
    let given = !norm.training || norm.average_factor != 1.0;
    if given {
        channels(x.shape(), &[("mean", &mean), ("variance", &variance)])?;
    }
    let values = x.as_slice::<f32>()?;
    let (used_mean, used_variance) =
        if norm.training { moments(values, n) } else { (mean.as_slice::<f32>()?.to_vec(), variance.as_slice::<f32>()?.to_vec()) };
    let factors: Vec<f32> = scale.as_slice::<f32>()?.iter().zip(&used_variance).map(|(s, v)| s / (v + norm.epsilon).sqrt()).collect();
    let shifts: Vec<f32> = offset.as_slice::<f32>()?.iter().zip(&used_mean).zip(&factors).map(|((o, m), f)| o - m * f).collect();
    let mut out = ctx.allocator().uninit(DType::F32, x.shape().clone())?;
    scale_and_shift(values, &factors, &shifts, out.as_mut_slice()?);
    ctx.set_output(0, cast_tensor(ctx.allocator(), &out, norm.dtype)?);

    let rows = values.len() / n.max(1);
    // The batch variance is that of the population, the running variance that of a sample, as in TensorFlow.
    let bessel = if norm.training { rows as f32 / (rows.max(2) - 1) as f32 } else { 1.0 };
    let (mut batch_mean, mut batch_variance) = (used_mean.clone(), used_variance.iter().map(|v| v * bessel).collect::<Vec<_>>());
    if norm.training && norm.average_factor != 1.0 {
        let factor = norm.average_factor;
        let blend = |new: &mut [f32], old: &[f32]| new.iter_mut().zip(old).for_each(|(n, o)| *n = (1.0 - factor) * o + factor * *n);
        blend(&mut batch_mean, mean.as_slice()?);
        blend(&mut batch_variance, variance.as_slice()?);
    }
    ctx.set_output(1, ctx.allocator().vector(&batch_mean)?);
    ctx.set_output(2, ctx.allocator().vector(&batch_variance)?);
    ctx.set_output(3, ctx.allocator().vector(&used_mean)?);
    ctx.set_output(4, ctx.allocator().vector(&used_variance)?);
    if has_reserve_3 {
        ctx.set_output(5, ctx.allocator().vector::<f32>(&[])?);
    }
    Ok(())
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let norm = Norm::new(init)?;
    from_fn(move |ctx| backward(ctx, &norm))
}

fn backward(ctx: &mut KernelContext<'_>, norm: &Norm) -> Result<()> {
    let (dy, x) = (cast_tensor(ctx.allocator(), ctx.input(0)?, DType::F32)?, cast_tensor(ctx.allocator(), ctx.input(1)?, DType::F32)?);
    let (scale, mean, variance) = (ctx.take(2)?, ctx.take(3)?, ctx.take(4)?);
    channels(x.shape(), &[("scale", &scale), ("reserve_space_1", &mean), ("reserve_space_2", &variance)])?;
    if dy.shape() != x.shape() {
        bail!(InvalidArgument, "x and y_backprop must have same shape, got {} and {}", x.shape(), dy.shape());
    }
    let (dy, values) = (dy.as_slice::<f32>()?, x.as_slice::<f32>()?);
    let (scale, mean) = (scale.as_slice::<f32>()?, mean.as_slice::<f32>()?);
    let inverse: Vec<f32> = variance.as_slice::<f32>()?.iter().map(|v| 1.0 / (v + norm.epsilon).sqrt()).collect();
    let mut dx = ctx.allocator().uninit(DType::F32, x.shape().clone())?;
    let statistics = Statistics { scale, mean, inverse: &inverse, of_batch: norm.training };
    let (of_scale, of_offset) = gradient(dy, values, &statistics, dx.as_mut_slice()?);
    ctx.set_output(0, cast_tensor(ctx.allocator(), &dx, norm.dtype)?);
    ctx.set_output(1, ctx.allocator().vector(&of_scale)?);
    ctx.set_output(2, ctx.allocator().vector(&of_offset)?);
    for i in 3..ctx.num_outputs() {
        ctx.set_output(i, ctx.allocator().vector::<f32>(&[])?);
    }
    Ok(())
}
