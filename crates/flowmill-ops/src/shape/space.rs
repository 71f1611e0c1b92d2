//! Ops that move elements between dimensions, turn them around, or sort them into parts.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// The blocks of an op that moves between space and batch: sizes and margins (before, after) of the spatial dimensions, and their number, as far as
/// known.
struct Blocks {
    sizes: Option<Vec<i64>>,
    margins: Option<Vec<i64>>,
    count: Option<usize>,
}

/// Reads the blocks from inputs 1 and 2, or from attribute `block_size` for two dimensions.
fn blocks(c: &Context<'_>) -> Result<Blocks> {
    if c.attrs().contains("block_size") {
        let block: i64 = c.attrs().get("block_size")?;
        dims::with_rank(&c.input(1), 2)?;
        return Ok(Blocks { sizes: Some(vec![block; 2]), margins: common::ints(c, 1)?, count: Some(2) });
    }
    let count = common::expect_vector(c, 1)?;
    let margins = dims::with_rank(&c.input(2), 2)?;
    dims::expect(dims::size(&margins, 1), 2)?;
    dims::merge(count, dims::size(&margins, 0))?;
    Ok(Blocks { sizes: common::ints(c, 1)?, margins: common::ints(c, 2)?, count: dims::as_rank(count) })
}

/// Blocks of the dimensions after the first move into the batch.
pub(crate) fn space_to_batch(c: &mut Context<'_>) -> Result<()> {
    blocked(c, |size, before, after, block| dims::divide(dims::add(size, dims::add(before, after)?)?, block), dims::multiply)
}

/// The batch moves back into blocks.
pub(crate) fn batch_to_space(c: &mut Context<'_>) -> Result<()> {
    blocked(c, |size, before, after, block| dims::subtract(dims::subtract(dims::multiply(size, block)?, before)?, after), dims::divide)
}

fn blocked(c: &mut Context<'_>, spatial: fn(i64, i64, i64, i64) -> Result<i64>, batch: fn(i64, i64) -> Result<i64>) -> Result<()> {
    let Blocks { sizes: block, margins, count } = blocks(c)?;
    let Some(count) = count else { return Ok(()) };
    let input = dims::with_rank_at_least(&c.input(0), count + 1)?;
    let Some(sizes) = input.dims() else {
        if c.attrs().contains("block_size") {
            c.set_output(0, PartialShape::unknown_of_rank(4));
        }
        return Ok(());
    };
    let mut out = sizes.to_vec();
    match &block {
        Some(block) if block.iter().any(|&b| b < 1) => bail!(InvalidArgument, "block_shape must be positive"),
        Some(block) => out[0] = block.iter().try_fold(out[0], |size, &block| batch(size, block))?,
        None => out[0] = dims::UNKNOWN,
    }
    for i in 0..count {
        out[i + 1] = match (&block, &margins) {
            (Some(block), Some(margins)) => {
                let (before, after) = (margins.get(2 * i).copied().unwrap_or(0), margins.get(2 * i + 1).copied().unwrap_or(0));
                if before < 0 || after < 0 {
                    bail!(InvalidArgument, "paddings cannot be negative");
                }
                spatial(out[i + 1], before, after, block[i])?
            }
            _ => dims::UNKNOWN,
        };
    }
    c.set_output(0, PartialShape::new(&out));
    Ok(())
}

/// Height, width and channel axes of an image in the node's layout.
fn image_axes(c: &Context<'_>) -> Result<[usize; 3]> {
    let format: &str = c.attrs().get("data_format")?;
    Ok(if format.starts_with("NC") { [2, 3, 1] } else { [1, 2, 3] })
}

/// Blocks of rows and columns become channels.
pub(crate) fn space_to_depth(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let block: i64 = c.attrs().get("block_size")?;
    let [height, width, depth] = image_axes(c)?;
    let shape = dims::replaced(&input, height, dims::divide(dims::size(&input, height), block)?);
    let shape = dims::replaced(&shape, width, dims::divide(dims::size(&input, width), block)?);
    c.set_output(0, dims::replaced(&shape, depth, dims::multiply(dims::size(&input, depth), dims::multiply(block, block)?)?));
    Ok(())
}

/// Channels become blocks of rows and columns.
pub(crate) fn depth_to_space(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let block: i64 = c.attrs().get("block_size")?;
    let [height, width, depth] = image_axes(c)?;
    let shape = dims::replaced(&input, height, dims::multiply(dims::size(&input, height), block)?);
    let shape = dims::replaced(&shape, width, dims::multiply(dims::size(&input, width), block)?);
    c.set_output(0, dims::replaced(&shape, depth, dims::divide(dims::size(&input, depth), dims::multiply(block, block)?)?));
    Ok(())
}

/// Input 1 has a flag for each dimension.
pub(crate) fn reverse(c: &mut Context<'_>) -> Result<()> {
    let flags = common::expect_vector(c, 1)?;
    let input = match dims::as_rank(flags) {
        Some(rank) => dims::with_rank(&c.input(0), rank)?,
        None => c.input(0),
    };
    if input.rank().is_some_and(|r| r > 8) {
        bail!(InvalidArgument, "reverse does not work on tensors with more than 8 dimensions");
    }
    c.set_output(0, input);
    Ok(())
}

/// Input 1 lists the axes to turn around, each at most once.
pub(crate) fn reverse_v2(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 1)?;
    let input = c.input(0);
    if let (Some(rank), Some(axes)) = (input.rank(), common::ints(c, 1)?) {
        let mut seen = vec![false; rank];
        for (i, axis) in axes.into_iter().enumerate() {
            let Some(index) = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&i| i < rank) else {
                bail!(InvalidArgument, "'axis'[{i}] = {axis} is out of valid range [0, {}]", rank as i64 - 1);
            };
            if std::mem::replace(&mut seen[index], true) {
                bail!(InvalidArgument, "axis {index} specified more than once.");
            }
        }
    }
    c.set_output(0, input);
    Ok(())
}

/// A prefix of each sequence is turned around; input 1 has the lengths.
pub(crate) fn reverse_sequence(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let lengths = common::expect_vector(c, 1)?;
    let (seq_dim, batch_dim): (i64, i64) = (c.attrs().get("seq_dim")?, c.attrs().get("batch_dim")?);
    let Some(rank) = input.rank() else { return Ok(()) };
    for (name, axis) in [("batch_dim", batch_dim), ("seq_dim", seq_dim)] {
        if axis < 0 || axis >= rank as i64 {
            bail!(InvalidArgument, "{name} must be < input rank: {axis} vs. {rank}");
        }
    }
    if batch_dim == seq_dim {
        bail!(InvalidArgument, "batch_dim == seq_dim == {seq_dim}");
    }
    let batch = dims::merge(dims::size(&input, batch_dim as usize), lengths)?;
    c.set_output(0, dims::replaced(&input, batch_dim as usize, batch));
    Ok(())
}

/// Elements rolled along axes: shift and axis agree.
pub(crate) fn roll(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank_at_least(&c.input(0), 1)?;
    dims::with_rank_at_most(&c.input(1), 1)?;
    dims::with_rank_at_most(&c.input(2), 1)?;
    c.input(1).merge(&c.input(2))?;
    c.set_output(0, input);
    Ok(())
}

/// `num` numbers from start to stop.
pub(crate) fn lin_space(c: &mut Context<'_>) -> Result<()> {
    for i in 0..3 {
        common::expect_scalar(c, i)?;
    }
    let count = match common::int(c, 2)? {
        Some(n) if n <= 0 => bail!(InvalidArgument, "Requires num > 0: {n}"),
        Some(n) => n,
        None => dims::UNKNOWN,
    };
    c.set_output(0, PartialShape::new(&[count]));
    Ok(())
}

/// The distinct elements of a vector, in as many as there turn out to be, and where each element went.
pub(crate) fn unique(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    unique_with_counts(c)
}

/// Like [`unique`], with how often each element is there. The rank is left to the kernel, as in TensorFlow.
pub(crate) fn unique_with_counts(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(1, c.input(0));
    c.set_output(2, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// The distinct slices along an axis: input 1 has at most one element; none means that the input is a vector.
pub(crate) fn unique_v2(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(2, PartialShape::new(&[dims::UNKNOWN]));
    let Some(rank) = input.rank() else { return Ok(()) };
    c.set_output(0, PartialShape::unknown_of_rank(rank));
    let Some(axes) = common::ints(c, 1)? else { return Ok(()) };
    if c.input(1).rank().is_some_and(|rank| rank != 1) {
        bail!(InvalidArgument, "axis expects a 1D vector.");
    }
    let axis = match axes.as_slice() {
        [] if rank == 1 => 0,
        [] => bail!(InvalidArgument, "x expects a 1D vector."),
        [axis] if *axis < -(rank as i64) || *axis >= rank as i64 => {
            bail!(InvalidArgument, "axis expects to be in the range [{}, {rank})", -(rank as i64))
        }
        [axis] => dims::axis(*axis, rank)?,
        _ => bail!(InvalidArgument, "axis does not support input tensors larger than 1 elements"),
    };
    c.set_output(1, PartialShape::new(&[dims::size(&input, axis)]));
    Ok(())
}

/// The input, whose shape must be what attribute `shape` says.
pub(crate) fn ensure_shape(c: &mut Context<'_>) -> Result<()> {
    let shape = common::shape_of_attr(c, "shape")?;
    let shape = shape.merge(&c.input(0))?;
    c.set_output(0, shape);
    Ok(())
}

/// The shape that input 0 gives.
pub(crate) fn fill(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    common::expect_scalar(c, 1)?;
    let shape = c.input_as_shape(0)?;
    if let Some(sizes) = c.constant(0)
        && sizes.to_i64_vec()?.iter().any(|&size| size < 0)
    {
        bail!(InvalidArgument, "Fill dimensions must be >= 0");
    }
    c.set_output(0, shape);
    let count = c.output_mut(0).and_then(|o| o.shape.num_elements()).filter(|&n| n <= value::MAX_ELEMENTS);
    if let (Some(n), Some(filled)) = (count, c.known(1)) {
        value::set_ints(c, filled.dtype(), filled.to_i64().ok().map(|v| vec![v; n]));
    }
    Ok(())
}

/// Rows sorted into parts by numbers that have the leading dimensions of the data.
pub(crate) fn dynamic_partition(c: &mut Context<'_>) -> Result<()> {
    let (data, partitions) = (c.input(0), c.input(1));
    let (Some(_), Some(rank)) = (data.rank(), partitions.rank()) else {
        return Ok(());
    };
    let data = dims::with_rank_at_least(&data, rank)?;
    for i in 0..rank {
        dims::merge(dims::size(&data, i), dims::size(&partitions, i))?;
    }
    common::set_all(c, &PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&data, rank)))
}

/// Rows put together again: the last index tells how many there are.
pub(crate) fn dynamic_stitch(c: &mut Context<'_>) -> Result<()> {
    let n = c.num_inputs() / 2;
    let mut rest = PartialShape::unknown();
    let mut rows = Some(0i64);
    for i in 0..n {
        let (indices, data) = (c.input(i), c.input(i + n));
        if let Some(rank) = indices.rank() {
            let data = dims::with_rank_at_least(&data, rank)?;
            for d in 0..rank {
                dims::merge(dims::size(&indices, d), dims::size(&data, d))?;
            }
            rest = rest.merge(&dims::suffix(&data, rank))?;
        }
        let largest = common::ints(c, i)?.map(|v| v.into_iter().max().unwrap_or(-1));
        rows = rows.zip(largest).map(|(rows, largest)| rows.max(largest.saturating_add(1)));
    }
    c.set_output(0, PartialShape::new(&[rows.unwrap_or(dims::UNKNOWN)]).concat(&rest));
    stitch_value(c, n);
    Ok(())
}

/// The value of vectors stitched from known ones; a place that no index names stays unknown.
fn stitch_value(c: &mut Context<'_>, n: usize) {
    let Ok(dtype @ (DType::I32 | DType::I64)) = c.attrs().get::<DType>("T") else { return };
    let Some(length) = c.output_mut(0).and_then(|o| o.shape.num_elements()).filter(|&n| n <= value::MAX_ELEMENTS) else { return };
    let mut stitched = vec![None; length];
    for i in 0..n {
        let known = |i: usize| c.known(i).and_then(|t| t.to_i64_vec().ok());
        let (Some(indices), Some(data)) = (known(i), known(i + n)) else { return };
        for (index, value) in indices.into_iter().zip(data) {
            if let Some(slot) = usize::try_from(index).ok().and_then(|i| stitched.get_mut(i)) {
                *slot = Some(value);
            }
        }
    }
    value::set_ints(c, dtype, stitched.into_iter().collect());
}
