//! `IsotonicRegression`: the nearest non-increasing sequences, by pooling adjacent violators.

use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("IsotonicRegression", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (input, output) = (init.dtype("T")?, init.dtype("output_dtype")?);
    macro_rules! widened {
        ($out:ty, [$($from:ty),*]) => {
            for_dtype!(input, [$($from),*], T => from_fn(|ctx| solve::<T, $out>(ctx, |x| x as $out)), _ => init.unsupported())
        };
    }
    match output {
        DType::F16 if input == output => from_fn(|ctx| solve::<f16, f16>(ctx, |x| x)),
        DType::BF16 if input == output => from_fn(|ctx| solve::<bf16, bf16>(ctx, |x| x)),
        DType::F32 => widened!(f32, [f32, i8, i16]),
        DType::F64 => widened!(f64, [f64, i32, i64]),
        _ => init.unsupported(),
    }
}

/// A run of elements that get the same value: their mean.
struct Pool<T> {
    sum: T,
    mean: T,
    count: usize,
}

/// Solves each row, along the last dimension, independently. The second output has the index of each element's pool.
fn solve<From: Element + Copy, T: Number + PartialOrd>(ctx: &mut KernelContext<'_>, convert: fn(From) -> T) -> Result<()> {
    let input = ctx.input(0)?;
    let shape = input.shape().clone();
    let width = shape.last().copied().unwrap_or(1);
    let (mut solution, mut segments) = (ctx.allocator().zeros(T::DTYPE, shape.clone())?, ctx.allocator().zeros(DType::I32, shape)?);
    let (to, numbers) = (solution.as_mut_slice::<T>()?, segments.as_mut_slice::<i32>()?);
    let mut pools: Vec<Pool<T>> = Vec::new();
    for ((row, to), numbers) in
        input.as_slice::<From>()?.chunks(width.max(1)).zip(to.chunks_mut(width.max(1))).zip(numbers.chunks_mut(width.max(1)))
    {
        pools.clear();
        for &x in row {
            let x = convert(x);
            let mut last = Pool { sum: x, mean: x, count: 1 };
            while let Some(before) = pools.pop_if(|before| last.mean > before.mean) {
                let (sum, count) = (before.sum.plus(last.sum), before.count + last.count);
                last = Pool { sum, mean: sum.over(T::from_count(count)), count };
            }
            pools.push(last);
        }
        let mut at = 0;
        for (number, pool) in (0..).zip(&pools) {
            to[at..][..pool.count].fill(pool.mean);
            numbers[at..][..pool.count].fill(number);
            at += pool.count;
        }
    }
    ctx.set_output(0, solution);
    ctx.set_output(1, segments);
    Ok(())
}
