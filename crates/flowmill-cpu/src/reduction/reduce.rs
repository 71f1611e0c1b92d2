//! The kernel of reductions over any set of axes.
//!
//! The input is read once, in order. The order in which partial results are combined depends on shapes alone, so that results have the same bits
//! for any number of threads. Sums of floats are computed in pairs of blocks, which keeps their error small.

use super::reducers::Reducer;
use crate::elementwise::{PARALLEL_MIN, Word};
use crate::parallel;
use flowmill_kernels::axes::{Plan, Segment};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, Result, Tensor};
use std::marker::PhantomData;
use std::sync::Arc;

/// The number of accumulators over which a row is spread.
const LANES: usize = 32;
/// The number of elements that are accumulated in lanes; longer rows are halved.
const BLOCK: usize = 4096;
/// The least number of elements per thread.
const GRAIN: usize = 1 << 15;
/// The greatest number of parts of a dimension that is reduced on several threads; each part has a copy of the whole result.
const PARTS: usize = 16;

/// Merges a row of at most [`BLOCK`] elements into one accumulator.
#[inline(always)]
fn fold_lanes<T: Copy, A: Copy>(row: &[T], empty: A, load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) -> A {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut acc = [empty; LANES];
    for chunk in chunks {
        for (lane, x) in acc.iter_mut().zip(chunk) {
            *lane = merge(*lane, load(*x));
        }
    }
    // A separate variable: an array that is indexed by a run-time value cannot stay in registers.
    let mut lanes = acc;
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = merge(*lane, load(*x));
    }
    for width in [16, 8, 4, 2, 1] {
        for i in 0..width {
            lanes[i] = merge(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}

/// Merges a row element by element into as many accumulators.
#[inline(always)]
fn fold_elements<T: Copy, A: Copy>(acc: &mut [A], row: &[T], load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) {
    for (acc, x) in acc.iter_mut().zip(row) {
        *acc = merge(*acc, load(*x));
    }
}

crate::dispatch! {
    fn fold_lanes_wide<T, A, L, M>(row: &[T], empty: A, load: L, merge: M) -> A
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        fold_lanes(row, empty, load, merge)
    }

    fn fold_elements_wide<T, A, L, M>(acc: &mut [A], row: &[T], load: L, merge: M)
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        fold_elements(acc, row, load, merge)
    }
}

fn fold_block<T: Word, R: Reducer<T>>(row: &[T]) -> R::Acc {
    if T::WIDE { fold_lanes_wide(row, R::EMPTY, R::load, R::merge) } else { fold_lanes(row, R::EMPTY, R::load, R::merge) }
}

fn fold_across<T: Word, R: Reducer<T>>(acc: &mut [R::Acc], row: &[T]) {
    if T::WIDE { fold_elements_wide(acc, row, R::load, R::merge) } else { fold_elements(acc, row, R::load, R::merge) }
}

/// The length below which rows are merged element by element, because lanes would cost more.
const SHORT_ROW: usize = 8;

/// Returns the reduction of one row, computed on this thread.
pub(super) fn fold_row<T: Word, R: Reducer<T>>(row: &[T]) -> R::Acc {
    if row.len() < SHORT_ROW {
        return row.iter().fold(R::EMPTY, |acc, &x| R::merge(acc, R::load(x)));
    }
    if row.len() <= BLOCK {
        return fold_block::<T, R>(row);
    }
    let half = (row.len() / 2).next_multiple_of(BLOCK);
    let (left, right) = row.split_at(half.min(row.len()));
    R::merge(fold_row::<T, R>(left), fold_row::<T, R>(right))
}

/// Merges `x`, whose dimensions are `segments`, into `acc`, whose dimensions are the kept segments.
fn fold<T: Word, R: Reducer<T>>(x: &[T], segments: &[Segment], acc: &mut [R::Acc]) {
    match segments {
        [] => fold_across::<T, R>(acc, x),
        [Segment { reduced: true, .. }] => {
            if let [acc] = acc {
                *acc = R::merge(*acc, fold_row::<T, R>(x));
            }
        }
        [Segment { reduced: false, .. }] => fold_across::<T, R>(acc, x),
        [Segment { size, reduced: true }, rest @ ..] => {
            for part in x.chunks_exact(x.len() / size) {
                fold::<T, R>(part, rest, acc);
            }
        }
        [Segment { size, reduced: false }, rest @ ..] => {
            for (part, acc) in x.chunks_exact(x.len() / size).zip(acc.chunks_exact_mut(acc.len() / size)) {
                fold::<T, R>(part, rest, acc);
            }
        }
    }
}

/// Like [`fold`], on several threads: a kept outermost segment is split directly, a reduced one into parts whose results are merged in order.
fn fold_parallel<T: Word, R: Reducer<T>>(x: &[T], segments: &[Segment], acc: &mut [R::Acc]) {
    let Some((first, rest)) = segments.split_first().filter(|_| x.len() >= PARALLEL_MIN) else {
        return fold::<T, R>(x, segments, acc);
    };
    let row = x.len() / first.size;
    if !first.reduced {
        let rows = GRAIN.div_ceil(row);
        let width = acc.len() / first.size;
        parallel::chunks(acc, rows * width, |i, acc| {
            let x = &x[i * rows * row..x.len().min((i + 1) * rows * row)];
            let outer = Segment { size: x.len() / row, reduced: false };
            fold_under::<T, R>(outer, rest, x, acc);
        });
        return;
    }
    let rows = GRAIN.div_ceil(row).max(first.size.div_ceil(PARTS));
    let width = acc.len();
    let mut parts = vec![R::EMPTY; x.len().div_ceil(rows * row) * width];
    parallel::chunks(&mut parts, width, |i, acc| {
        let x = &x[i * rows * row..x.len().min((i + 1) * rows * row)];
        fold_under::<T, R>(Segment { size: x.len() / row, reduced: true }, rest, x, acc);
    });
    for part in parts.chunks_exact(width) {
        for (acc, &part) in acc.iter_mut().zip(part) {
            *acc = R::merge(*acc, part);
        }
    }
}

fn fold_under<T: Word, R: Reducer<T>>(outer: Segment, rest: &[Segment], x: &[T], acc: &mut [R::Acc]) {
    let mut segments: smallvec::SmallVec<[Segment; 8]> = smallvec::smallvec![outer];
    segments.extend_from_slice(rest);
    fold::<T, R>(x, &segments, acc);
}

/// The kernel of `R` over elements of `T`.
struct Reduction<T, R> {
    keep_dims: bool,
    cost: Cost,
    marker: PhantomData<fn() -> (T, R)>,
}

/// Makes the kernel of `R` over elements of `T`. It is expensive if its input is known to be large.
pub(super) fn reduction<T: Word, R: Reducer<T>>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let large = init.input_shape(0).num_elements().is_some_and(|n| n >= PARALLEL_MIN);
    let cost = if large { Cost::Expensive } else { Cost::Cheap };
    Ok(Arc::new(Reduction::<T, R> { keep_dims: init.attrs.get_or("keep_dims", false)?, cost, marker: PhantomData }))
}

/// Returns the reduction of `x` over `axes`.
///
/// # Errors
/// Returns `InvalidArgument` for axes that are out of range or given twice.
pub(super) fn reduce<T: Word, R: Reducer<T>>(alloc: &Allocator, input: &Tensor, axes: &Tensor, keep_dims: bool) -> Result<Tensor> {
    let plan = Plan::new(input.shape(), axes, keep_dims)?;
    let x = input.as_slice::<T>()?;
    let mut out = alloc.uninit(T::DTYPE, plan.shape.clone())?;
    let target = out.as_mut_slice::<T>()?;
    if x.is_empty() {
        target.fill(R::finish(R::EMPTY, plan.count));
    } else if let [Segment { reduced: false, .. }, Segment { size, reduced: true }] | [Segment { size, reduced: true }] = plan.segments[..]
        && x.len() < PARALLEL_MIN
    {
        for (y, row) in target.iter_mut().zip(x.chunks_exact(size)) {
            *y = R::finish(fold_row::<T, R>(row), plan.count);
        }
    } else {
        let mut acc = vec![R::EMPTY; target.len()];
        fold_parallel::<T, R>(x, &plan.segments, &mut acc);
        for (y, acc) in target.iter_mut().zip(acc) {
            *y = R::finish(acc, plan.count);
        }
    }
    Ok(out)
}

/// Returns the reduction of all elements of `x`, without the final step.
pub(super) fn reduce_slice<T: Word, R: Reducer<T>>(x: &[T]) -> R::Acc {
    let mut acc = [R::EMPTY];
    if !x.is_empty() {
        fold_parallel::<T, R>(x, &[Segment { size: x.len(), reduced: true }], &mut acc);
    }
    acc[0]
}

impl<T: Word, R: Reducer<T>> Kernel for Reduction<T, R> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let out = reduce::<T, R>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, self.keep_dims)?;
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        Some(self.cost)
    }
}
