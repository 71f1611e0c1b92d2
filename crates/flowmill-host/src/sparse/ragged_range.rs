//! `RaggedRange`, which outputs a ragged tensor of number sequences.

use super::splits_tensor;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bail, bf16};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedRange", make);
}

/// A number type with steps.
trait Steps: Element {
    /// Returns the number of steps of `delta` from `start` that stay before `limit`, or `None` past 2^63.
    fn count(start: Self, limit: Self, delta: Self) -> Option<u64>;
    /// Returns the number that follows `self`.
    fn next(self, delta: Self) -> Self;
}

macro_rules! integer_steps {
    ($($t:ty),*) => {$(
        impl Steps for $t {
            fn count(start: $t, limit: $t, delta: $t) -> Option<u64> {
                if (delta > 0 && limit < start) || (delta < 0 && limit > start) {
                    return Some(0);
                }
                let (distance, step) = (i128::from(limit).abs_diff(i128::from(start)), i128::from(delta).unsigned_abs());
                u64::try_from(distance.div_ceil(step)).ok()
            }

            fn next(self, delta: $t) -> $t {
                self.wrapping_add(delta)
            }
        }
    )*};
}
integer_steps!(i32, i64);

macro_rules! float_steps {
    ($($t:ty: $wide:ty),*) => {$(
        impl Steps for $t {
            fn count(start: $t, limit: $t, delta: $t) -> Option<u64> {
                let (start, limit, delta) = (<$wide>::from(start), <$wide>::from(limit), <$wide>::from(delta));
                if (delta > 0.0 && limit < start) || (delta < 0.0 && limit > start) {
                    return Some(0);
                }
                let count = ((limit - start) / delta).abs().ceil();
                if count < 9.2e18 { Some(count as u64) } else { None }
            }

            fn next(self, delta: $t) -> $t {
                self + delta
            }
        }
    )*};
}
float_steps!(bf16: f32, f32: f32, f64: f64);

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let splits = init.attrs.get_or("Tsplits", DType::I64)?;
    match init.attrs.get_or("T", DType::I32)? {
        DType::I32 => from_fn(move |ctx| range::<i32>(ctx, splits)),
        DType::I64 => from_fn(move |ctx| range::<i64>(ctx, splits)),
        DType::F32 => from_fn(move |ctx| range::<f32>(ctx, splits)),
        DType::F64 => from_fn(move |ctx| range::<f64>(ctx, splits)),
        DType::BF16 => from_fn(move |ctx| range::<bf16>(ctx, splits)),
        _ => init.unsupported(),
    }
}

/// Outputs a row of numbers for each start, limit and step. Scalars apply to all rows.
fn range<T: Steps>(ctx: &mut KernelContext<'_>, splits_type: DType) -> Result<()> {
    let mut rows = None;
    for (i, name) in ["starts", "limits", "deltas"].into_iter().enumerate() {
        let input = ctx.input(i)?;
        if input.rank() > 1 {
            bail!(InvalidArgument, "{name} must be a scalar or vector");
        }
        if input.rank() == 1 && *rows.get_or_insert(input.num_elements()) != input.num_elements() {
            bail!(InvalidArgument, "starts, limits, and deltas must have the same shape");
        }
    }
    let (starts, limits, deltas) = (ctx.input(0)?.as_slice::<T>()?, ctx.input(1)?.as_slice::<T>()?, ctx.input(2)?.as_slice::<T>()?);
    let at = |values: &[T], row: usize| values[if values.len() == 1 { 0 } else { row }];
    let rows = rows.unwrap_or(1);
    let mut splits = vec![0usize];
    let mut total = 0usize;
    let most = if splits_type == DType::I32 { i32::MAX as u64 } else { i64::MAX as u64 };
    for row in 0..rows {
        let delta = at(deltas, row);
        if delta == T::default() {
            bail!(InvalidArgument, "Requires delta != 0");
        }
        let count = T::count(at(starts, row), at(limits, row), delta).filter(|&n| n <= most);
        let Some(count) = count else {
            bail!(InvalidArgument, "Requires ((limit - start) / delta) <= the largest {splits_type} in row {row}");
        };
        let grown = usize::try_from(count).ok().and_then(|n| total.checked_add(n)).filter(|&n| n as u64 <= most);
        let Some(grown) = grown else {
            bail!(InvalidArgument, "The total range size overflowed: the splits are of type {splits_type}");
        };
        total = grown;
        splits.push(total);
    }
    let mut values = ctx.allocator().uninit(T::DTYPE, [total])?;
    let mut rest = values.as_mut_slice::<T>()?;
    for (row, bounds) in splits.windows(2).enumerate() {
        let (mut value, delta) = (at(starts, row), at(deltas, row));
        let (these, others) = rest.split_at_mut(bounds[1] - bounds[0]);
        for to in these {
            *to = value;
            value = value.next(delta);
        }
        rest = others;
    }
    ctx.set_output(0, splits_tensor(ctx.allocator(), splits_type, &splits)?);
    ctx.set_output(1, values);
    Ok(())
}
