//! Sums of selected rows by segments: `SparseSegmentSum`, `Mean` and `SqrtN`, also with a given number of segments, and their gradients.

use crate::from_fn::linear_from_fn;
use crate::number::Number;
use crate::parallel;
use flowmill_kernels::segments::{rows_and_segments, runs};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, bf16, f16, for_dtype};
use std::ops::Range;
use std::sync::Arc;

/// The divisor of a sum of `n` rows.
#[derive(Clone, Copy, PartialEq)]
enum Divide {
    One,
    Count,
    Root,
}

/// The number of output elements that one task computes.
const CHUNK: usize = 1 << 12;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["SparseSegmentSum", "SparseSegmentSumWithNumSegments"] {
        registry.add(op, make_sum);
    }
    for op in ["SparseSegmentMean", "SparseSegmentMeanWithNumSegments"] {
        registry.add(op, |init| make(init, Divide::Count));
    }
    for op in ["SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments"] {
        registry.add(op, |init| make(init, Divide::Root));
    }
    registry.add("SparseSegmentSumGrad", |init| make_grad(init, Divide::One, false));
    registry.add("SparseSegmentSumGradV2", |init| make_grad(init, Divide::One, true));
    registry.add("SparseSegmentMeanGrad", |init| make_grad(init, Divide::Count, false));
    registry.add("SparseSegmentMeanGradV2", |init| make_grad(init, Divide::Count, true));
    registry.add("SparseSegmentSqrtNGrad", |init| make_grad(init, Divide::Root, false));
    registry.add("SparseSegmentSqrtNGradV2", |init| make_grad(init, Divide::Root, true));
}

fn make_sum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => {
        linear_from_fn(init, |ctx| segments::<T>(ctx, |_| None))
    }, _ => init.unsupported())
}

fn make(init: &KernelInit<'_>, divide: Divide) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => {
        linear_from_fn(init, move |ctx| segments::<T>(ctx, |n| scale::<T>(divide, n)))
    }, _ => init.unsupported())
}

/// Returns the divisor of a sum of `n` rows, or `None` if it is one.
fn scale<T: Number + From64>(divide: Divide, n: usize) -> Option<T::Acc> {
    match divide {
        Divide::One => None,
        Divide::Count => Some(T::acc((n as f64).max(1.0))),
        Divide::Root => Some(T::acc((n as f64).max(1.0).sqrt())),
    }
}

/// A float whose accumulator can be converted from `f64`.
trait From64: Number {
    fn acc(x: f64) -> Self::Acc;
}

macro_rules! from64 {
    ($($t:ty => $acc:ty),*) => { $(impl From64 for $t { fn acc(x: f64) -> $acc { x as $acc } })* };
}
from64!(f16 => f32, bf16 => f32, f32 => f32, f64 => f64);

/// The rows that are summed.
struct Segments {
    indices: Vec<i64>,
    /// The segments that have rows, and their ranges of `indices`.
    runs: Vec<(usize, Range<usize>)>,
    /// The shape of the sums.
    shape: Shape,
    /// The number of elements of a row.
    width: usize,
}

fn summed_segments(ctx: &KernelContext<'_>) -> Result<Segments> {
    let (indices, ids) = rows_and_segments(ctx)?;
    let data = ctx.input(0)?;
    let Some(&rows) = data.shape().first() else { bail!(InvalidArgument, "input must be at least rank 1") };
    let mut shape = data.shape().clone();
    let last = ids.last().map_or(0, |&last| last.saturating_add(1));
    let segments = if ctx.num_inputs() > 3 {
        let count = ctx.input(3)?;
        if count.rank() != 0 {
            bail!(InvalidArgument, "num_segments should be a scalar, not shape {}", count.shape());
        }
        let count = count.to_i64()?;
        if count < last {
            bail!(InvalidArgument, "segment ids must be < num_segments");
        }
        count
    } else {
        last
    };
    let segments = match usize::try_from(segments) {
        Ok(segments) if segments > 0 || ids.is_empty() => segments,
        _ => bail!(InvalidArgument, "segment ids must be >= 0"),
    };
    shape[0] = segments;
    shape.checked_num_elements()?;
    let runs = runs(&ids, segments)?;
    if let Some(at) = indices.iter().position(|&i| i < 0 || i as u64 >= rows as u64) {
        bail!(InvalidArgument, "Bad: indices[{at}] == {} out of range [0, {rows})", indices[at]);
    }
    Ok(Segments { indices, runs, shape, width: data.shape()[1..].iter().product() })
}

fn segments<T: Number>(ctx: &mut KernelContext<'_>, divisor: impl Fn(usize) -> Option<T::Acc> + Sync) -> Result<()> {
    let Segments { indices, runs, shape, width } = summed_segments(ctx)?;
    let x = ctx.input(0)?.as_slice::<T>()?;
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    if let Some(each) = CHUNK.checked_div(width) {
        let each = each.max(1);
        parallel::chunks(out.as_mut_slice::<T>()?, each * width, |chunk, out| {
            let mut sums = vec![T::ZERO.widen(); width];
            let mut runs = runs[runs.partition_point(|(id, _)| *id < chunk * each)..].iter().peekable();
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                let rows = runs.next_if(|(id, _)| *id == chunk * each + i).map_or(&[][..], |(_, run)| &indices[run.clone()]);
                sums.fill(T::ZERO.widen());
                for &row in rows {
                    let row = &x[row as usize * width..][..width];
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum = sum.plus(x.widen()));
                }
                let divisor = divisor(rows.len());
                for (out, sum) in out.iter_mut().zip(&sums) {
                    *out = T::narrow(divisor.map_or(*sum, |d| sum.over(d)));
                }
            }
        });
    }
    ctx.set_output(0, out);
    Ok(())
}

/// Makes the kernel of a gradient: of all rows, or if `of_used_rows`, in the second version, only of rows that are in a segment, whose indices are
/// another output.
fn make_grad(init: &KernelInit<'_>, divide: Divide, of_used_rows: bool) -> Result<Arc<dyn Kernel>> {
    let number = if of_used_rows { init.dtype("Tidx")? } else { DType::I32 };
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => {
        linear_from_fn(init, move |ctx| {
            let (mut indices, ids) = rows_and_segments(ctx)?;
            let rows = ctx.input(3)?;
            if rows.rank() != 0 {
                bail!(InvalidArgument, "output_dim0 should be a scalar.");
            }
            let rows = rows.to_i64()?;
            let Ok(mut count) = usize::try_from(rows) else { bail!(InvalidArgument, "output_dim0 must be non-negative, got {rows}") };
            if let Some(&bad) = indices.iter().find(|&&i| i < 0 || i >= rows) {
                bail!(InvalidArgument, "Index {bad} out of range [0, {rows}).");
            }
            if of_used_rows {
                let mut used = indices.clone();
                used.sort_unstable();
                used.dedup();
                indices.iter_mut().for_each(|i| *i = used.partition_point(|used| used < i) as i64);
                count = used.len();
                ctx.set_output(1, ctx.allocator().index_vector(number, &used)?);
            }
            grad::<T>(ctx, &indices, &ids, count, |n| scale::<T>(divide, n))
        })
    }, _ => init.unsupported())
}

/// Computes the gradient of each of `rows` rows: the sum of the gradients of the segments that it was summed into, each divided like its sum.
fn grad<T: Number>(
    ctx: &mut KernelContext<'_>,
    indices: &[i64],
    ids: &[i64],
    rows: usize,
    divisor: impl Fn(usize) -> Option<T::Acc>,
) -> Result<()> {
    let gradient = ctx.input(0)?;
    let Some(&segments) = gradient.shape().first() else { bail!(InvalidArgument, "grad must be at least rank 1") };
    let mut shape = gradient.shape().clone();
    shape[0] = rows;
    shape.checked_num_elements()?;
    if ids.last().is_some_and(|&last| last >= segments as i64) {
        bail!(
            InvalidArgument,
            "Invalid number of segments: the last segment id is {}, the gradient has {segments} segments",
            ids[ids.len() - 1]
        );
    }
    let _reserved = ctx.allocator().reserve::<usize>(segments)?;
    let mut counts = vec![0usize; segments];
    for &id in ids {
        match usize::try_from(id).ok().and_then(|id| counts.get_mut(id)) {
            Some(n) => *n += 1,
            None => bail!(InvalidArgument, "Segment id {id} out of range [0, {segments})."),
        }
    }
    let width: usize = gradient.shape()[1..].iter().product();
    let g = gradient.as_slice::<T>()?;
    let mut sums = ctx.allocator().zeros(<T::Acc as flowmill_tensor::Element>::DTYPE, shape.clone())?;
    let target = sums.as_mut_slice::<T::Acc>()?;
    for (&row, &id) in indices.iter().zip(ids) {
        let divisor = divisor(counts[id as usize]);
        let from = &g[id as usize * width..][..width];
        for (sum, x) in target[row as usize * width..][..width].iter_mut().zip(from) {
            *sum = sum.plus(divisor.map_or(x.widen(), |d| x.widen().over(d)));
        }
    }
    let out = if T::DTYPE == sums.dtype() {
        sums
    } else {
        let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
        let sums = sums.as_slice::<T::Acc>()?;
        out.as_mut_slice::<T>()?.iter_mut().zip(sums).for_each(|(out, &sum)| *out = T::narrow(sum));
        out
    };
    ctx.set_output(0, out);
    Ok(())
}
