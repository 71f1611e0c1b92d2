//! `QuantizedAdd`, `QuantizedMul`, `QuantizedBiasAdd`, whose operands are bytes and whose results are 32-bit integers.

use super::range::{FromFloats, Quantized, Range, ToFloats, integers, quantized};
use crate::elementwise::{CHUNK, Operand, broadcast_shape};
use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedAdd", |init| make(init, add));
    registry.add("QuantizedBiasAdd", make_bias_add);
    registry.add("QuantizedMul", |init| make(init, multiply));
}

fn make(init: &KernelInit<'_>, compute: fn(&mut KernelContext<'_>) -> Result<()>) -> Result<Arc<dyn Kernel>> {
    match (init.dtype("T1")?, init.dtype("T2")?, init.attrs.get_or("Toutput", DType::QI32)?) {
        (DType::QU8, DType::QU8, DType::QI32) => linear_from_fn(init, compute),
        _ => init.unsupported(),
    }
}

/// Returns the ranges of both operands, which must not be empty.
fn ranges(ctx: &KernelContext<'_>, messages: [&str; 2]) -> Result<(Range, Range)> {
    let (x, y) = (Range::of(ctx, 2, ["`min_x`", "`max_x`"])?, Range::of(ctx, 4, ["`min_y`", "`max_y`"])?);
    for (range, message) in [(x, messages[0]), (y, messages[1])] {
        if !(range.max > range.min) {
            bail!(InvalidArgument, "{message}");
        }
    }
    Ok((x, y))
}

/// Checks that the operands have elements if one of them is broadcast.
fn check_elements(ctx: &KernelContext<'_>, message: &str) -> Result<()> {
    let (x, y) = (ctx.input(0)?, ctx.input(1)?);
    let least = x.num_elements().min(y.num_elements());
    if least == 0 && x.shape() != y.shape() && x.num_elements().max(y.num_elements()) != 1 {
        bail!(InvalidArgument, "{message}");
    }
    Ok(())
}

/// Converts bytes to 32-bit integers by the tables `x` and `y`, and outputs the results of `f` for the pairs.
fn combine(ctx: &mut KernelContext<'_>, x: &[i32; 256], y: &[i32; 256], f: fn(i32, i32) -> i32) -> Result<()> {
    let (a, b) = (integers::<u8>(ctx, 0)?, integers::<u8>(ctx, 1)?);
    let shape = broadcast_shape(a.shape(), b.shape())?;
    let (a, b) = (Operand::new(a.as_slice::<u8>()?, a.shape(), &shape), Operand::new(b.as_slice::<u8>()?, b.shape(), &shape));
    let out = quantized::<i32>(ctx.allocator(), shape, |out| {
        let mut buffers = [[0; CHUNK]; 2];
        let [of_a, of_b] = &mut buffers;
        for (i, out) in out.chunks_mut(CHUNK).enumerate() {
            let (a, b) = (a.read(i * CHUNK, out.len(), of_a), b.read(i * CHUNK, out.len(), of_b));
            out.iter_mut().zip(a).zip(b).for_each(|((out, &a), &b)| *out = f(x[usize::from(a)], y[usize::from(b)]));
        }
    })?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns a table of the results of `f` for all bytes.
fn table(f: impl Fn(u8) -> i32) -> [i32; 256] {
    std::array::from_fn(|i| f(i as u8))
}

fn add(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (x, y) = ranges(ctx, ["max_x must be larger than min_x.", "max_y must be larger than min_y."])?;
    check_elements(ctx, "Must have some elements to add")?;
    let widest = x.min.min(y.min).abs().max(x.max.max(y.max).abs()) * (1 << 14) as f32;
    let range = Range { min: -widest, max: widest };
    // TensorFlow converts a single number by itself, but several numbers by the distance between the first two.
    let converted = |from: Range, single: bool| {
        let first = range.unclamped::<i32>(from.to_float(0u8));
        let step = range.unclamped::<i32>(from.to_float(1u8)).wrapping_sub(first) as i32;
        table(|byte| match single {
            true => range.quantized::<i32>(from.to_float(byte)),
            false => i32::saturated(first.wrapping_add(i64::from(byte) * i64::from(step))),
        })
    };
    let (of_x, of_y) = (ctx.input(0)?.num_elements(), ctx.input(1)?.num_elements());
    let (tx, ty) = (converted(x, of_x == 1), converted(y, of_y == 1 && of_x != 1));
    combine(ctx, &tx, &ty, i32::wrapping_add)?;
    range.set(ctx, 1);
    Ok(())
}

fn multiply(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (x, y) = ranges(ctx, ["max_x must be larger than min_a.", "max_x must be larger than min_b."])?;
    check_elements(ctx, "vector must have at least 1 element")?;
    let (zero_x, zero_y) = (x.zero::<u8>(), y.zero::<u8>());
    let centred = |zero: i32| table(|byte| i32::from(byte).wrapping_sub(zero));
    combine(ctx, &centred(zero_x), &centred(zero_y), i32::wrapping_mul)?;
    Range::product::<u8, u8>(x, y).set(ctx, 1);
    Ok(())
}

fn make_bias_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match (init.dtype("T1")?, init.dtype("T2")?, init.dtype("out_type")?) {
        (DType::QU8, DType::QU8, DType::QI32) => linear_from_fn(init, bias_add::<u8>),
        (DType::QI8, DType::QI8, DType::QI32) => linear_from_fn(init, bias_add::<i8>),
        _ => init.unsupported(),
    }
}

fn bias_add<T: Quantized>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (of_input, of_bias) = (Range::of(ctx, 2, ["`min_input`", "`max_input`"])?, Range::of(ctx, 4, ["`min_bias`", "`max_bias`"])?);
    let (input, bias) = (integers::<T>(ctx, 0)?, integers::<T>(ctx, 1)?);
    if input.rank() < 2 {
        bail!(InvalidArgument, "Input tensor must be at least 2D: {}", input.shape());
    }
    if bias.rank() != 1 {
        bail!(InvalidArgument, "Biases must be 1D: {}", bias.shape());
    }
    if input.shape().last() != bias.shape().first() {
        bail!(
            InvalidArgument,
            "Must provide as many biases as the last dimension of the input tensor: {} vs. {}",
            bias.shape(),
            input.shape()
        );
    }
    let widest = of_input.max.max((-of_input.min).max(of_bias.max.max(-of_bias.min))) * (1 << 17) as f32;
    let range = Range { min: -widest, max: widest };
    let zero = range.quantized::<i32>(0.0);
    let to = FromFloats::new::<i32>(range);
    let convert = |from: Range| {
        let from = ToFloats::new::<T>(from);
        move |x: T| to.of::<i32>(from.of(x))
    };
    let (of_input, of_bias) = (convert(of_input), convert(of_bias));
    let bias: Vec<i32> = bias.as_slice::<T>()?.iter().map(|&b| of_bias(b).wrapping_add(zero)).collect();
    let x = input.as_slice::<T>()?;
    let out = quantized::<i32>(ctx.allocator(), input.shape().clone(), |out| {
        let depth = bias.len().max(1);
        for (out, x) in out.chunks_exact_mut(depth).zip(x.chunks_exact(depth)) {
            out.iter_mut().zip(x).zip(&bias).for_each(|((out, &x), bias)| *out = of_input(x).wrapping_add(*bias));
        }
    })?;
    ctx.set_output(0, out);
    range.set(ctx, 1);
    Ok(())
}
