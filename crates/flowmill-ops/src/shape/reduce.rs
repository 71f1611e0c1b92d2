//! Reductions, scans, segments, and selection of the largest.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// A reduction over the axes that input 1 lists; `keep_dims` leaves them as ones.
pub(crate) fn reduction(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let keep_dims: bool = c.attrs().get_or("keep_dims", false)?;
    // Graphs of earlier producers may have matrices of axes.
    if c.producer() >= 21 {
        dims::with_rank_at_most(&c.input(1), 1)?;
    }
    let shape = match (input.dims(), common::ints(c, 1)?) {
        (None, _) => PartialShape::unknown(),
        (Some(sizes), None) if keep_dims => PartialShape::unknown_of_rank(sizes.len()),
        (Some(_), None) => PartialShape::unknown(),
        (Some(sizes), Some(axes)) => {
            let rank = sizes.len() as i64;
            let mut reduced = vec![false; sizes.len()];
            for axis in axes {
                if axis < -rank || axis >= rank {
                    bail!(InvalidArgument, "Invalid reduction dimension {axis} for input with {rank} dimensions.");
                }
                reduced[axis.rem_euclid(rank) as usize] = true;
            }
            let kept = sizes.iter().zip(reduced).filter_map(|(&size, reduced)| match reduced {
                false => Some(size),
                true => keep_dims.then_some(1),
            });
            kept.collect()
        }
    };
    common::set_all(c, &shape)
}

/// The place of the largest or smallest along one axis.
pub(crate) fn arg_max(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    let input = c.input(0);
    let shape = match (input.dims(), common::int(c, 1)?) {
        (None, _) => PartialShape::unknown(),
        (Some([]), _) => PartialShape::scalar(),
        (Some(sizes), None) => PartialShape::unknown_of_rank(sizes.len() - 1),
        (Some(sizes), Some(axis)) => {
            let rank = sizes.len() as i64;
            if axis < -rank || axis >= rank {
                bail!(
                    InvalidArgument,
                    "Dimension ({axis}) must be in the range [{}, {rank}), where {rank} is the number of dimensions in the input.",
                    -rank
                );
            }
            let axis = axis.rem_euclid(rank) as usize;
            sizes.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &d)| d).collect()
        }
    };
    common::set_all(c, &shape)
}

/// Rows of input 0 gathered into segments by the vector input 1; their number is not known.
pub(crate) fn segment(c: &mut Context<'_>) -> Result<()> {
    let data = dims::with_rank_at_least(&c.input(0), 1)?;
    common::expect_vector(c, 1)?;
    let shape = PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&data, 1));
    common::set_all(c, &shape)
}

/// Slices of input 0 gathered into as many segments as input 2 says; the ids have any rank.
pub(crate) fn unsorted_segment(c: &mut Context<'_>) -> Result<()> {
    let (data, ids) = (c.input(0), c.input(1));
    let num_segments = common::size_input(c, 2)?;
    let Some(ids_rank) = ids.rank() else { return Ok(()) };
    let data = dims::with_rank_at_least(&data, ids_rank)?;
    for i in 0..ids_rank {
        dims::merge(dims::size(&data, i), dims::size(&ids, i))?;
    }
    let shape = PartialShape::new(&[num_segments]).concat(&dims::suffix(&data, ids_rank));
    common::set_all(c, &shape)
}

/// Counts of how often each of `size` numbers occurs; a row each if the input is a matrix.
pub(crate) fn bincount(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    let size = match common::int(c, 1)? {
        Some(n) if n < 0 => bail!(InvalidArgument, "size ({n}) must be non-negative"),
        Some(n) => n,
        None => dims::UNKNOWN,
    };
    let rows = match c.input(0).dims() {
        Some(&[rows, _]) if c.op_def().name == "DenseBincount" => vec![rows],
        None if c.op_def().name == "DenseBincount" => return Ok(()),
        _ => Vec::new(),
    };
    let shape = PartialShape::new(&rows).concat(&PartialShape::new(&[size]));
    common::set_all(c, &shape)
}

/// Counts of the values of a sparse tensor: a vector of input 3 elements, or one per row of a matrix.
pub(crate) fn sparse_bincount(c: &mut Context<'_>) -> Result<()> {
    let Some(size) = common::int(c, 3)? else { return Ok(()) };
    if let Some(rank) = c.input(3).rank().filter(|&rank| rank != 0) {
        bail!(InvalidArgument, "Shape must be rank 0 but is rank {rank}");
    }
    if size < 0 {
        bail!(InvalidArgument, "size ({size}) must be non-negative");
    }
    match common::ints(c, 2)?.as_deref() {
        None => {}
        Some([_]) => c.set_output(0, PartialShape::new(&[size])),
        Some(&[rows, _]) => c.set_output(0, PartialShape::new(&[rows, size])),
        Some(_) => bail!(InvalidArgument, "Input must be less than rank 2"),
    }
    Ok(())
}

/// A histogram of as many bins as input 2 says.
pub(crate) fn histogram_fixed_width(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 1)?, 2)?;
    let bins = common::int_input(c, 2, |bins| (bins <= 0).then(|| format!("Requires nbins > 0: {bins}")))?;
    c.set_output(0, PartialShape::new(&[bins]));
    Ok(())
}

/// The `k` largest of each row, and their indices; `k` is an attribute or input 1.
pub(crate) fn top_k(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let k = if c.num_inputs() > 1 { common::size_input(c, 1)? } else { c.attrs().get("k")? };
    let Some(rank) = input.rank() else { return Ok(()) };
    let last = dims::size(&input, rank - 1);
    if last >= 0 && k > last {
        bail!(InvalidArgument, "input must have last dimension >= k = {k} but is {last}");
    }
    common::set_all(c, &dims::replaced(&input, rank - 1, k))
}

/// The `k` largest or smallest along a dimension, or what a search for them leaves: so many that it finds the given share of them.
pub(crate) fn approx_top_k(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let (k, axis): (i64, i64) = (c.attrs().get("k")?, c.attrs().get("reduction_dimension")?);
    let recall: f32 = c.attrs().get("recall_target")?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let Ok(axis) = dims::axis(axis, rank) else {
        bail!(InvalidArgument, "Invalid reduction dimension: {axis}. Must be within the range of [{}, {}]", -(rank as i64), rank - 1);
    };
    let size = dims::size(&input, axis);
    if size >= 0 && k > size {
        bail!(InvalidArgument, "input must have last dimension >= k = {k} but was {size}");
    }
    if !(recall > 0.0 && recall <= 1.0) {
        bail!(InvalidArgument, "Invalid recall target: {recall}. Valid value range in : [0, 1.0].");
    }
    let found = if c.attrs().get("aggregate_to_topk")? {
        k
    } else if size < 0 {
        dims::UNKNOWN
    } else {
        candidates(size, rank, k, recall, c.attrs().get("reduction_input_size_override")?)
    };
    common::set_all(c, &dims::replaced(&input, axis, found))
}

/// Returns how many of `size` elements remain after a search that divides them into tiles and keeps the greatest across `2ⁿ` tiles.
fn candidates(size: i64, rank: usize, k: i64, recall: f32, assumed: i64) -> i64 {
    let tile = if rank == 1 { 1024 } else { 128 };
    let assumed = if assumed >= 0 { assumed } else { size };
    if size <= tile || recall >= 1.0 {
        return size;
    }
    let needed = (((1 - k) as f32 / recall.ln()) as i64).clamp(tile, size);
    let levels = (assumed / needed).checked_ilog2().unwrap_or(0);
    if levels == 0 {
        return size;
    }
    let most = i64::BITS - (size / tile - 1).leading_zeros();
    let tiles = (size as u64).div_ceil(tile as u64).div_ceil(1 << levels.min(most)) as i64;
    (tile * tiles).min(size)
}

/// The `n`-th smallest of each row.
pub(crate) fn nth_element(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    let n = common::size_input(c, 1)?;
    let Some(rank) = input.rank() else { return Ok(()) };
    let last = dims::size(&input, rank - 1);
    if last >= 0 && n >= last {
        bail!(InvalidArgument, "Input must have last dimension > n = {n} but is {last}");
    }
    common::set_all(c, &dims::without_last(&input, 1))
}

/// A bool per row: true if the row's target is among the `k` highest predictions.
pub(crate) fn in_top_k(c: &mut Context<'_>) -> Result<()> {
    let predictions = dims::with_rank(&c.input(0), 2)?;
    let targets = dims::with_rank(&c.input(1), 1)?;
    let rows = dims::merge(dims::size(&predictions, 0), dims::size(&targets, 0))?;
    c.set_output(0, PartialShape::new(&[rows]));
    Ok(())
}

/// [`reduction`] of integers that may be known.
pub(crate) fn reduction_of(c: &mut Context<'_>, f: fn(&[i64]) -> Option<i64>) -> Result<()> {
    reduction(c)?;
    super::value::reduce(c, f)
}

/// Vectors of equal length, each with the boundaries of its buckets.
pub(crate) fn boosted_trees_bucketize(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs() {
        let values = common::expect_vector(c, i)?;
        dims::merge(values, dims::size(&c.input(0), 0))?;
        c.set_output(i, PartialShape::new(&[values]));
    }
    Ok(())
}
