//! `RequantizePerChannel` and `RequantizationRangePerChannel`: each channel, the last of four dimensions, has its own range.

use super::range::{Quantized, Range, integers, quantized, scalar};
use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RequantizationRangePerChannel", make_range);
    registry.add("RequantizePerChannel", make);
}

/// The number of 32-bit integers on one side of zero.
const HALF: f32 = 2_147_483_648.0;

/// Returns, for each channel, the largest absolute value in the ranges in inputs 1 and 2.
fn bounds(ctx: &KernelContext<'_>, input: &Tensor) -> Result<Vec<f32>> {
    let Some(&depth) = input.shape().last().filter(|_| input.rank() == 4) else {
        bail!(InvalidArgument, "input must be in NHWC format");
    };
    let (min, max) = (ctx.input(1)?, ctx.input(2)?);
    for (tensor, name) in [(min, "input_min"), (max, "input_max")] {
        if tensor.num_elements() != depth {
            bail!(InvalidArgument, "{name} has incorrect size, expected {depth} was {}", tensor.num_elements());
        }
    }
    let (min, max) = (min.as_slice::<f32>()?, max.as_slice::<f32>()?);
    Ok(min.iter().zip(max).map(|(min, max)| min.abs().max(max.abs())).collect())
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match (init.attrs.get_or("T", DType::QI32)?, init.attrs.get_or("out_type", DType::QU8)?) {
        (DType::QI32, DType::QU8) => linear_from_fn(init, |ctx| requantize::<u8>(ctx, 255.0)),
        (DType::QI32, DType::QI8) => linear_from_fn(init, |ctx| requantize::<i8>(ctx, 127.0)),
        _ => init.unsupported(),
    }
}

fn requantize<T: Quantized>(ctx: &mut KernelContext<'_>, greatest: f32) -> Result<()> {
    let input = integers::<i32>(ctx, 0)?;
    let requested = Range { min: scalar(ctx, 3, "requested_output_min")?, max: scalar(ctx, 4, "requested_output_max")? };
    if T::LEAST < 0 && !(requested.min < 0.0) {
        bail!(InvalidArgument, "If out_type is QINT8, requested_output_max must be non negative, got {}", requested.min);
    }
    let bound = requested.min.abs().max(requested.max.abs());
    let scales: Vec<f32> = bounds(ctx, &input)?.into_iter().map(|of| greatest * (of / bound / HALF)).collect();
    let x = input.as_slice::<i32>()?;
    let out = quantized::<T>(ctx.allocator(), input.shape().clone(), |out| {
        let depth = scales.len().max(1);
        for (out, x) in out.chunks_exact_mut(depth).zip(x.chunks_exact(depth)) {
            for ((out, &x), scale) in out.iter_mut().zip(x).zip(&scales) {
                *out = T::saturated((x as f32 * scale).round_ties_even() as i64);
            }
        }
    })?;
    ctx.set_output(0, out);
    requested.set(ctx, 1);
    Ok(())
}

fn make_range(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let clip: f32 = init.attrs.get("clip_value_max")?;
    if init.attrs.get_or("T", DType::QI32)? != DType::QI32 {
        return init.unsupported();
    }
    linear_from_fn(init, move |ctx| {
        let input = integers::<i32>(ctx, 0)?;
        if input.num_elements() == 0 {
            bail!(InvalidArgument, "input must not be empty");
        }
        let bounds = bounds(ctx, &input)?;
        let mut ends = vec![(i32::MAX, i32::MIN); bounds.len()];
        for pixel in input.as_slice::<i32>()?.chunks_exact(bounds.len().max(1)) {
            ends.iter_mut().zip(pixel).for_each(|((low, high), &x)| (*low, *high) = (x.min(*low), x.max(*high)));
        }
        let mut widest = f32::MIN_POSITIVE;
        let mut least = 0;
        for (bound, (low, high)) in bounds.into_iter().zip(ends) {
            widest = widest.max(bound * low.wrapping_abs().max(high.wrapping_abs()) as f32 / HALF);
            least = least.min(low);
        }
        let max = if widest > clip { clip } else { widest };
        Range { min: if least < 0 { -max } else { 0.0 }, max }.set(ctx, 0);
        Ok(())
    })
}
