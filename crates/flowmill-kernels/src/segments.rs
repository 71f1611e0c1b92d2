//! The rows and segments of segment ops.

use crate::parallel;
use flowmill_numeric::elementwise::PARALLEL_MIN;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{Result, bail};
use std::ops::Range;

/// Returns the row indices and the segment ids, inputs 1 and 2.
///
/// # Errors
/// Returns `InvalidArgument` for tensors that are not vectors of one length.
pub fn rows_and_segments(ctx: &KernelContext<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
    let (indices, ids) = (ctx.input(1)?, ctx.input(2)?);
    if indices.rank() != 1 {
        bail!(InvalidArgument, "indices should be a vector.");
    }
    if ids.rank() != 1 {
        bail!(InvalidArgument, "segment_ids should be a vector.");
    }
    if indices.num_elements() != ids.num_elements() {
        bail!(InvalidArgument, "segment_ids and indices should have same size.");
    }
    Ok((indices.to_i64_vec()?, ids.to_i64_vec()?))
}

/// Returns the segments that have rows, and their ranges in the list; segment ids must ascend.
///
/// # Errors
/// Returns `InvalidArgument` for ids that descend or are not below `segments`.
pub fn runs(ids: &[i64], segments: usize) -> Result<Vec<(usize, Range<usize>)>> {
    let mut runs = Vec::new();
    let mut first = 0;
    while first < ids.len() {
        let id = ids[first];
        let end = first + ids[first..].iter().take_while(|&&i| i == id).count();
        if ids.get(end).is_some_and(|&next| next < id) {
            bail!(InvalidArgument, "segment ids are not increasing");
        }
        match usize::try_from(id).ok().filter(|&id| id < segments) {
            Some(id) => runs.push((id, first..end)),
            None => {
                bail!(InvalidArgument, "Segment id {id} out of range [0, {segments}), possibly because 'segment_ids' input is not sorted.")
            }
        }
        first = end;
    }
    Ok(runs)
}

/// Calls `f(band, rows)` for bands of adjacent rows that cover `target`, on several threads if `work` elements are many. Each call looks for what belongs
/// to its rows, so that the order of merges into a row does not depend on the threads.
pub fn for_bands<T: Send>(target: &mut [T], width: usize, work: usize, f: &(dyn Fn(Range<usize>, &mut [T]) + Sync)) {
    let rows = target.len().checked_div(width).unwrap_or(0);
    let bands = if work < PARALLEL_MIN { 1 } else { parallel::threads() };
    let each = rows.div_ceil(bands).max(1);
    parallel::chunks(target, each * width, |i, part| f(i * each..i * each + part.len() / width, part));
}
