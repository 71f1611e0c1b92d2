//! The rows and segments of sparse segment ops.

use flowmill_runtime::KernelContext;
use flowmill_tensor::{Result, bail};

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
