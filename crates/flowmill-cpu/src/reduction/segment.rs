//! Reductions of rows by segment ids.

use crate::from_fn::from_fn;
use crate::number::{Number, Ordered};
use flowmill_kernels::segments::{for_bands, runs};
use flowmill_numeric::segment::merge_rows;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Result, Shape, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The reduction of a segment's rows.
#[derive(Clone, Copy)]
struct Rule<T> {
    /// The value that the first row is merged into.
    start: T,
    /// The result of a segment without rows.
    empty: T,
    /// Merges a number into the value of a segment.
    merge: fn(T, T) -> T,
    /// Merges rows into the values of a segment, one after the other.
    merge_rows: fn(&mut [T], &[T]),
    /// True if the result is divided by the number of rows.
    mean: bool,
}

macro_rules! makers {
    ($($(#[$doc:meta])* $name:ident = $run:ident over [$($t:ty),*], $start:ident, $empty:ident, $merge:ident, $mean:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) fn $name(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
                for_dtype!(init.dtype("T")?, [$($t),*], T => from_fn(|ctx| $run(ctx, Rule { start: T::$start, empty: T::$empty, merge: T::$merge, merge_rows: |to, rows| merge_rows(to, rows, T::$merge), mean: $mean })), _ => init.unsupported())
            }
        )*
    };
}

makers! {
    /// The kernel of `SegmentSum`.
    make_sum = sorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], ZERO, ZERO, plus, false;
    /// The kernel of `SegmentMean`.
    make_mean = sorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], ZERO, ZERO, plus, true;
    /// The kernel of `SegmentProd`.
    make_prod = sorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], ONE, ONE, times, false;
    /// The kernel of `SegmentMax`.
    make_max = sorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], LOWEST, ZERO, larger, false;
    /// The kernel of `SegmentMin`.
    make_min = sorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], HIGHEST, ZERO, smaller, false;
    /// The kernel of `UnsortedSegmentSum`.
    make_unsorted_sum = unsorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], ZERO, ZERO, plus, false;
    /// The kernel of `UnsortedSegmentProd`.
    make_unsorted_prod = unsorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], ONE, ONE, times, false;
    /// The kernel of `UnsortedSegmentMax`.
    make_unsorted_max = unsorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], LOWEST_FINITE, LOWEST_FINITE, larger, false;
    /// The kernel of `UnsortedSegmentMin`.
    make_unsorted_min = unsorted over [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], HIGHEST_FINITE, HIGHEST_FINITE, smaller, false;
}

/// Reduces segments of adjacent rows, whose ids must ascend.
fn sorted<T: Number>(ctx: &mut KernelContext<'_>, rule: Rule<T>) -> Result<()> {
    let (data, ids) = (ctx.input(0)?, ctx.input(1)?);
    if data.rank() == 0 {
        bail!(InvalidArgument, "input must be at least rank 1");
    }
    if ids.rank() != 1 {
        bail!(InvalidArgument, "segment_ids should be a vector.");
    }
    let rows = data.shape()[0];
    if ids.num_elements() != rows {
        bail!(InvalidArgument, "segment_ids should be the same size as dimension 0 of input.");
    }
    let ids = ids.to_i64_vec()?;
    let segments = match ids.last() {
        None => 0,
        Some(&last) => match last.checked_add(1).and_then(|n| usize::try_from(n).ok()) {
            Some(n @ 1..) => n,
            _ => bail!(InvalidArgument, "segment ids must be >= 0"),
        },
    };
    let mut shape = data.shape().clone();
    shape[0] = segments;
    shape.checked_num_elements()?;
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    let runs = runs(&ids, segments)?;
    let width = data.num_elements().checked_div(rows).unwrap_or(0);
    let x = data.as_slice::<T>()?;
    for_bands(out.as_mut_slice::<T>()?, width, x.len(), &|band, target| {
        target.fill(rule.empty);
        let first = runs.partition_point(|(id, _)| *id < band.start);
        for (id, run) in runs[first..].iter().take_while(|(id, _)| *id < band.end) {
            let y = &mut target[(id - band.start) * width..][..width];
            y.fill(rule.start);
            (rule.merge_rows)(y, &x[run.start * width..run.end * width]);
            if rule.mean {
                let count = T::from_count(run.len()).widen();
                y.iter_mut().for_each(|y| *y = T::narrow(y.widen().over(count)));
            }
        }
    });
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the index of the `i`-th element of a tensor of this shape, such as `[1,0]`, for messages.
fn place_of(shape: &[usize], mut i: usize) -> String {
    let mut index = vec![0; shape.len()];
    for (at, &size) in index.iter_mut().zip(shape).rev() {
        *at = i % size.max(1);
        i /= size.max(1);
    }
    format!("{index:?}").replace(' ', "")
}

/// Reduces rows in any order. Rows with a negative id are dropped.
fn unsorted<T: Number>(ctx: &mut KernelContext<'_>, rule: Rule<T>) -> Result<()> {
    let (data, ids, count) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if count.rank() != 0 {
        bail!(InvalidArgument, "num_segments should be a scalar, not shape {}", count.shape());
    }
    if !data.shape().starts_with(ids.shape()) {
        bail!(InvalidArgument, "data.shape = {} does not start with segment_ids.shape = {}", data.shape(), ids.shape());
    }
    let count = count.to_i64()?;
    let Ok(segments) = usize::try_from(count) else { bail!(InvalidArgument, "Input num_segments == {count} must not be negative.") };
    let inner = &data.shape()[ids.rank()..];
    let mut shape = Shape::new(&[segments]);
    inner.iter().for_each(|&n| shape.push(n));
    shape.checked_num_elements()?;
    let width: usize = inner.iter().product();
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    let numbers = ids.to_i64_vec()?;
    if let Some(i) = numbers.iter().position(|&id| id >= count) {
        bail!(InvalidArgument, "segment_ids{} = {} is out of range [0, {count})", place_of(ids.shape(), i), numbers[i]);
    }
    let x = data.as_slice::<T>()?;
    for_bands(out.as_mut_slice::<T>()?, width, x.len(), &|band, target| {
        target.fill(rule.empty);
        // Negative ids are in no band.
        let in_band = |id: i64| (id as usize).checked_sub(band.start).filter(|&row| row < band.len());
        if width == 1 {
            for (&id, &x) in numbers.iter().zip(x) {
                if let Some(row) = in_band(id) {
                    target[row] = (rule.merge)(target[row], x);
                }
            }
        } else {
            for (i, &id) in numbers.iter().enumerate() {
                if let Some(row) = in_band(id) {
                    (rule.merge_rows)(&mut target[row * width..][..width], &x[i * width..][..width]);
                }
            }
        }
    });
    ctx.set_output(0, out);
    Ok(())
}
