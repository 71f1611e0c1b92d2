//! Reductions over any set of dimensions.
//!
//! The input is read once: in order, but for a few long rows, of which some columns are merged at a time. The order in which partial results are combined depends on sizes alone, so that results have the same bits
//! for any number of threads. Sums of floats are computed in pairs of blocks, which keeps their error small.

use crate::elementwise::{PARALLEL_MIN, Word};
use crate::parallel;
use smallvec::SmallVec;

/// An associative operation that reduces many elements of `T` to one.
pub trait Reducer<T: Word>: 'static {
    /// The accumulator.
    type Acc: Copy + Send + Sync + 'static;
    /// The reduction of no element.
    const EMPTY: Self::Acc;
    /// True if the reduction of a single element is that element.
    const KEEPS_SINGLE: bool = false;
    /// Returns the accumulator of one element.
    fn load(x: T) -> Self::Acc;
    /// Returns the combination of two accumulators.
    fn merge(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// Like [`Reducer::merge`], for accumulators in memory: in a form that always stores. Where a merge leaves an accumulator as it is, compilers make masked
    /// stores, which take up to ten times as long.
    #[inline(always)]
    fn merge_stored(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        Self::merge(a, b)
    }
    /// Returns the result for `count` elements.
    fn finish(acc: Self::Acc, count: usize) -> T;
}

/// A run of adjacent dimensions that are all reduced or all kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The number of elements of the run.
    pub size: usize,
    /// True if the dimensions are reduced.
    pub reduced: bool,
}

/// The number of accumulators over which a row is spread, a power of two.
const LANES: usize = 32;
/// Like [`LANES`], for types that are not worth the code.
const FEW_LANES: usize = 8;
/// The number of elements that are accumulated in lanes; longer rows are halved.
const BLOCK: usize = 4096;
/// The least number of elements per thread.
const GRAIN: usize = 1 << 15;
/// The greatest number of parts of a dimension that is reduced on several threads; each part has a copy of the whole result.
const PARTS: usize = 16;

/// The columns of long rows that a thread merges at a time: as many as the L1 cache holds.
const COLUMNS: usize = 1 << 12;
/// The most long rows that are merged one after the other. More would be merged in another order than by parts, with larger errors.
const MOST_LONG_ROWS: usize = 64;

/// Merges a row of at most [`BLOCK`] elements into one accumulator.
#[inline(always)]
fn fold_lanes<const N: usize, T: Copy, A: Copy>(row: &[T], empty: A, load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) -> A {
    let (chunks, rest) = row.as_chunks::<N>();
    let mut acc = [empty; N];
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
    let mut width = N;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = merge(lanes[i], lanes[i + width]);
        }
    }
    lanes[0]
}

/// The number of short rows that are merged side by side.
const ROWS: usize = 8;

/// Merges each row of `size` elements, one after the other, into its accumulator.
#[inline(always)]
fn fold_short_rows<T: Copy, A: Copy>(x: &[T], size: usize, acc: &mut [A], load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) {
    let (groups, rest) = acc.as_chunks_mut::<ROWS>();
    let (together, alone) = x.split_at(groups.len() * ROWS * size);
    for (acc, x) in groups.iter_mut().zip(together.chunks_exact(ROWS * size)) {
        let rows: [&[T]; ROWS] = std::array::from_fn(|row| &x[row * size..][..size]);
        let mut merged = *acc;
        for i in 0..size {
            for (merged, row) in merged.iter_mut().zip(&rows) {
                *merged = merge(*merged, load(row[i]));
            }
        }
        *acc = merged;
    }
    for (acc, row) in rest.iter_mut().zip(alone.chunks_exact(size)) {
        *acc = row.iter().fold(*acc, |acc, &x| merge(acc, load(x)));
    }
}

/// The number of accumulators for columns of short rows.
const SIDE_BY_SIDE: usize = 64;

/// Merges rows element by element into as many accumulators as a row has elements. Short rows are merged several at a time.
#[inline(always)]
fn fold_columns<T: Copy, A: Copy>(x: &[T], acc: &mut [A], empty: A, load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) {
    let together = SIDE_BY_SIDE / acc.len();
    if together < 2 || x.len() < 2 * SIDE_BY_SIDE {
        x.chunks_exact(acc.len()).for_each(|row| fold_elements(acc, row, &load, &merge));
        return;
    }
    let mut lanes = [empty; SIDE_BY_SIDE];
    let lanes = &mut lanes[..together * acc.len()];
    x.chunks(lanes.len()).for_each(|rows| fold_elements(lanes, rows, &load, &merge));
    for lanes in lanes.chunks_exact(acc.len()) {
        acc.iter_mut().zip(lanes).for_each(|(acc, &lane)| *acc = merge(*acc, lane));
    }
}

/// Merges a row element by element into as many accumulators.
#[inline(always)]
fn fold_elements<T: Copy, A: Copy>(acc: &mut [A], row: &[T], load: impl Fn(T) -> A, merge: impl Fn(A, A) -> A) {
    for (acc, x) in acc.iter_mut().zip(row) {
        *acc = merge(*acc, load(*x));
    }
}

crate::dispatch! {
    /// Merges each row of `size` elements, at most [`BLOCK`], into its accumulator. The rows are in one function, because rows of 64 elements took one to three
    /// times as long by what the compiler inlined around a call for each.
    fn fold_rows_wide<T, A, L, M>(x: &[T], size: usize, acc: &mut [A], empty: A, load: L, merge: M)
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        for (acc, row) in acc.iter_mut().zip(x.chunks_exact(size)) {
            *acc = merge(*acc, fold_lanes::<LANES, _, _>(row, empty, &load, &merge));
        }
    }

    fn fold_short_rows_wide<T, A, L, M>(x: &[T], size: usize, acc: &mut [A], load: L, merge: M)
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        fold_short_rows(x, size, acc, load, merge)
    }

    fn fold_columns_wide<T, A, L, M>(x: &[T], acc: &mut [A], empty: A, load: L, merge: M)
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        fold_columns(x, acc, empty, load, merge)
    }

    fn fold_elements_wide<T, A, L, M>(acc: &mut [A], row: &[T], load: L, merge: M)
    where [T: Copy, A: Copy, L: Fn(T) -> A, M: Fn(A, A) -> A] {
        fold_elements(acc, row, load, merge)
    }
}

fn fold_block<T: Word, R: Reducer<T>>(row: &[T]) -> R::Acc {
    if !T::WIDE {
        return if size_of::<R::Acc>() == 1 {
            // Compilers make loops of single bytes of lanes that are no whole vector.
            fold_lanes::<LANES, _, _>(row, R::EMPTY, R::load, R::merge)
        } else {
            fold_lanes::<FEW_LANES, _, _>(row, R::EMPTY, R::load, R::merge)
        };
    }
    let mut acc = [R::EMPTY];
    fold_rows_wide(row, row.len(), &mut acc, R::EMPTY, R::load, R::merge);
    acc[0]
}

fn fold_across<T: Word, R: Reducer<T>>(acc: &mut [R::Acc], row: &[T]) {
    if T::WIDE { fold_elements_wide(acc, row, R::load, R::merge_stored) } else { fold_elements(acc, row, R::load, R::merge_stored) }
}

/// The length below which a row is merged element by element, because lanes would cost more.
const SHORT_ROW: usize = 8;
/// The length below which rows are merged several at a time, and columns before rows that are reduced together with others.
pub const SHORT_ROWS: usize = 64;

/// Returns the reduction of one row, computed on this thread.
pub fn fold_row<T: Word, R: Reducer<T>>(row: &[T]) -> R::Acc {
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
        [Segment { reduced: false, .. }, Segment { size, reduced: true }] if T::FLOAT && *size < SHORT_ROWS => {
            fold_short_rows_wide(x, *size, acc, R::load, R::merge);
        }
        [Segment { reduced: false, .. }, Segment { size, reduced: true }] if T::WIDE && *size <= BLOCK => {
            fold_rows_wide(x, *size, acc, R::EMPTY, R::load, R::merge);
        }
        [Segment { reduced: true, .. }, Segment { reduced: false, .. }] if T::FLOAT => {
            fold_columns_wide(x, acc, R::EMPTY, R::load, R::merge_stored);
        }
        // Columns of all rows are merged first, so that the short runs are read side by side.
        [Segment { reduced: true, .. }, Segment { reduced: false, .. }, Segment { size, reduced: true }]
            if T::FLOAT && *size < SHORT_ROWS =>
        {
            let mut columns: SmallVec<[R::Acc; 64]> = smallvec::smallvec![R::EMPTY; acc.len() * size];
            fold_columns_wide(x, &mut columns, R::EMPTY, R::load, R::merge_stored);
            for (acc, run) in acc.iter_mut().zip(columns.chunks_exact(*size)) {
                *acc = run.iter().fold(*acc, |acc, &column| R::merge(acc, column));
            }
        }
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
    if let [Segment { reduced: false, .. }] = rest
        && first.size <= MOST_LONG_ROWS
        && row >= COLUMNS
    {
        parallel::chunks(acc, COLUMNS, |i, acc| {
            x.chunks_exact(row).for_each(|x| fold::<T, R>(&x[i * COLUMNS..][..acc.len()], rest, acc));
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
    let mut segments: SmallVec<[Segment; 8]> = smallvec::smallvec![outer];
    segments.extend_from_slice(rest);
    fold::<T, R>(x, &segments, acc);
}

/// Reduces the elements of `x`, whose dimensions are `segments`, outermost first, alternately reduced and kept and without sizes of 1, to `target`, whose
/// dimensions are the kept ones. `count` elements are reduced to one.
pub fn reduce<T: Word, R: Reducer<T>>(x: &[T], segments: &[Segment], count: usize, target: &mut [T]) {
    if x.is_empty() {
        target.fill(R::finish(R::EMPTY, count));
    } else if let [Segment { reduced: false, .. }, Segment { size, reduced: true }] | [Segment { size, reduced: true }] = *segments
        && x.len() < PARALLEL_MIN
        && (target.len() == 1 || size >= SHORT_ROWS || !T::FLOAT)
    {
        for (y, row) in target.iter_mut().zip(x.chunks_exact(size)) {
            *y = R::finish(fold_row::<T, R>(row), count);
        }
    } else {
        let mut acc = vec![R::EMPTY; target.len()];
        fold_parallel::<T, R>(x, segments, &mut acc);
        for (y, acc) in target.iter_mut().zip(acc) {
            *y = R::finish(acc, count);
        }
    }
}

/// Returns the reduction of all elements of `x`, without the final step.
pub fn reduce_slice<T: Word, R: Reducer<T>>(x: &[T]) -> R::Acc {
    let mut acc = [R::EMPTY];
    if !x.is_empty() {
        fold_parallel::<T, R>(x, &[Segment { size: x.len(), reduced: true }], &mut acc);
    }
    acc[0]
}
