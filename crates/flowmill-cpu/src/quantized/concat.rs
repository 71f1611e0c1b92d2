//! `QuantizedConcat` and `QuantizedReshape`.

use super::range::{FromFloats, Quantized, Range, ToFloats, integers, scalar};
use crate::array::args::{product, scalar_index};
use crate::array::{joined_shape, reshaped};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedConcat", make_concat);
    registry.add("QuantizedReshape", make_reshape);
}

fn make_concat(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::QU8 => linear_from_fn(init, concat::<u8>),
        DType::QI32 => linear_from_fn(init, concat::<i32>),
        _ => init.unsupported(),
    }
}

/// Concatenates tensors with different ranges. The result's range covers all of them and zero, and is symmetric for signed integers.
fn concat<T: Quantized>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let count = ctx.num_inputs().saturating_sub(1) / 3;
    let mut range = Range { min: f32::MAX, max: f32::MIN };
    let mut parts = Vec::with_capacity(count);
    for i in 1..=count {
        let of = Range { min: scalar(ctx, count + i, "input_min")?, max: scalar(ctx, 2 * count + i, "input_max")? };
        range = Range { min: range.min.min(of.min), max: range.max.max(of.max) };
        parts.push((integers::<T>(ctx, i)?, of));
    }
    range.min = range.min.min(0.0);
    if T::LEAST < 0 {
        let widest = range.min.abs().max(range.max.abs());
        range = Range { min: -widest, max: widest };
    }
    let axis = scalar_index(ctx.input(0)?, "Concat dim tensor")?;
    let rank = parts.first().map_or(0, |part| part.0.rank());
    if !(0..rank as i64).contains(&axis) {
        bail!(InvalidArgument, "ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got {axis}");
    }
    let (shape, axis) = (joined_shape(parts.iter().map(|part| part.0.shape()), axis)?, axis as usize);
    let row: usize = product(&shape[axis..]);
    let mut at = 0;
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    for (part, of) in parts.iter().filter(|part| part.0.num_elements() > 0) {
        let width = product(&part.shape()[axis..]);
        let (from, to) = (ToFloats::new::<T>(*of), FromFloats::new::<T>(range));
        let rows = out.as_mut_slice::<T>()?.chunks_exact_mut(row);
        for (out, part) in rows.zip(part.as_slice::<T>()?.chunks_exact(width)) {
            let out = &mut out[at..at + width];
            match *of == range {
                true => out.copy_from_slice(part),
                false => out.iter_mut().zip(part).for_each(|(out, &x)| *out = to.of(from.of(x))),
            }
        }
        at += width;
    }
    ctx.set_output(0, out.bitcast(T::QUANTIZED)?);
    range.set(ctx, 1);
    Ok(())
}

fn make_reshape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if !matches!(init.dtype("T")?, DType::QU8 | DType::QI32) {
        return init.unsupported();
    }
    from_fn(|ctx| {
        let range = Range { min: single(ctx, 2, "input_min")?, max: single(ctx, 3, "input_max")? };
        let output = reshaped(ctx)?;
        ctx.set_output(0, output);
        range.set(ctx, 1);
        Ok(())
    })
}

/// Returns the only number in input `at`, which may be a vector.
fn single(ctx: &KernelContext<'_>, at: usize, name: &str) -> Result<f32> {
    let tensor = ctx.input(at)?;
    match tensor.as_slice::<f32>()? {
        &[x] if tensor.rank() < 2 => Ok(x),
        _ => bail!(InvalidArgument, "{name} must be a scalar or a vector of 1 element"),
    }
}
