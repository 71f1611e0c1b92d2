//! `Requantize`, `RequantizationRange`, `QuantizeDownAndShrinkRange`, which convert 32-bit integers to bytes.

use super::range::{FromFloats, Range, ToFloats, integers, quantized};
use crate::from_fn::linear_from_fn;
use flowmill_numeric::elementwise::Truncate;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizeDownAndShrinkRange", make_down);
    registry.add("RequantizationRange", make_range);
    registry.add("Requantize", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match (init.dtype("Tinput")?, init.dtype("out_type")?) {
        (DType::QI32, DType::QU8) => linear_from_fn(init, |ctx| requantize(ctx, to_unsigned)),
        (DType::QI32, DType::QI8) => linear_from_fn(init, |ctx| requantize(ctx, to_signed)),
        _ => init.unsupported(),
    }
}

fn requantize(ctx: &mut KernelContext<'_>, convert: fn(&Allocator, &Tensor, Range, Range) -> Result<Tensor>) -> Result<()> {
    let range = Range::of(ctx, 1, ["`input_min`", "`input_max`"])?;
    let requested = Range::of(ctx, 3, ["`requested_output_min`", "`requested_output_max`"])?;
    if !(requested.min <= 0.0) {
        bail!(InvalidArgument, "requested_output_min must be <= 0, but got {}", requested.min);
    }
    if !(requested.max >= requested.min) {
        bail!(InvalidArgument, "requested_output_max must be >= requested_output_min, but got {} and {}", requested.max, requested.min);
    }
    let output = convert(ctx.allocator(), &integers::<i32>(ctx, 0)?, range, requested)?;
    ctx.set_output(0, output);
    requested.set(ctx, 1);
    Ok(())
}

/// Converts each integer by way of the number that it represents.
fn to_signed(alloc: &Allocator, input: &Tensor, from: Range, to: Range) -> Result<Tensor> {
    let (from, to) = (ToFloats::new::<i32>(from), FromFloats::new::<i8>(to));
    let x = input.as_slice::<i32>()?;
    quantized::<i8>(alloc, input.shape().clone(), |out| out.iter_mut().zip(x).for_each(|(out, &x)| *out = to.of(from.of(x))))
}

/// Converts in fixed-point arithmetic with 16 fractional bits, as TensorFlow does.
fn to_unsigned(alloc: &Allocator, input: &Tensor, from: Range, to: Range) -> Result<Tensor> {
    const SHIFT: u32 = 16;
    let one = f64::from(1 << SHIFT);
    let (from_width, to_width) = (from.max - from.min, to.max - to.min);
    let (scale, first) = if to_width == 0.0 {
        (0, 0)
    } else {
        let inverse = (255.0 / f64::from(to_width)) as f32;
        let middle = (f64::from(from.min + from.max) / 2.0) as f32;
        let scale = (255.0 * one * f64::from(from_width) / f64::from(to_width)).truncate64();
        let middle = (middle * inverse * one as f32).truncate64();
        (scale, middle.wrapping_sub((one * (f64::from(to.min) * 255.0) / f64::from(to_width)).truncate64()))
    };
    let first = first.wrapping_add(1 << (SHIFT - 1));
    let x = input.as_slice::<i32>()?;
    quantized::<u8>(alloc, input.shape().clone(), |out| {
        for (out, &x) in out.iter_mut().zip(x) {
            let fixed = (i64::from(x).wrapping_mul(scale) >> 32).wrapping_add(first);
            *out = (fixed >> SHIFT).clamp(0, 255) as u8;
        }
    })
}

/// Returns the numbers that the least and the greatest of the integers represent, extended to include zero.
fn used(input: &Tensor, range: Range) -> Result<Range> {
    let x = input.as_slice::<i32>()?;
    let (least, greatest) = (x.iter().copied().min().unwrap_or(i32::MAX), x.iter().copied().max().unwrap_or(i32::MIN));
    Ok(Range { min: 0f32.min(range.to_float(least)), max: range.to_float(greatest) })
}

fn make_range(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("Tinput")? != DType::QI32 {
        return init.unsupported();
    }
    linear_from_fn(init, |ctx| {
        let range = Range::of(ctx, 1, ["`input_min`", "`input_max`"])?;
        used(&integers::<i32>(ctx, 0)?, range)?.set(ctx, 0);
        Ok(())
    })
}

fn make_down(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if (init.dtype("Tinput")?, init.dtype("out_type")?) != (DType::QI32, DType::QU8) {
        return init.unsupported();
    }
    linear_from_fn(init, |ctx| {
        let range = Range::of(ctx, 1, ["`input_min`", "`input_max`"])?;
        let input = integers::<i32>(ctx, 0)?;
        let used = used(&input, range)?;
        let output = to_unsigned(ctx.allocator(), &input, range, used)?;
        ctx.set_output(0, output);
        used.set(ctx, 1);
        Ok(())
    })
}
