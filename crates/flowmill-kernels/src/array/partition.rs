//! The rows of `DynamicPartition` and `DynamicStitch`.

use flowmill_runtime::{KernelContext, KernelInit};
use flowmill_tensor::{Result, Shape, Tensor, bail};

/// Returns the attribute `num_partitions`.
///
/// # Errors
/// Returns `InvalidArgument` for no partitions.
pub fn num_partitions(init: &KernelInit<'_>) -> Result<usize> {
    let count: i64 = init.attrs.get("num_partitions")?;
    match usize::try_from(count).ok().filter(|&n| n > 0) {
        Some(count) => Ok(count),
        None => bail!(InvalidArgument, "num_partitions must be at least 1, got {count}"),
    }
}

/// Returns the dimensions of the slices that partitions of this shape number.
///
/// # Errors
/// Returns `InvalidArgument` for data whose shape does not begin with that of the partitions.
pub fn partitioned_slice<'a>(data: &'a Shape, partitions: &Shape) -> Result<&'a [usize]> {
    match data.strip_prefix(partitions.dims()) {
        Some(inner) => Ok(inner),
        None => {
            bail!(InvalidArgument, "data.shape must start with partitions.shape, got data.shape = {data}, partitions.shape = {partitions}")
        }
    }
}

/// Returns the numbers of the rows of each of `count` partitions.
///
/// # Errors
/// Returns `InvalidArgument` for a partition that there is not.
pub fn partition_members(partitions: &Tensor, count: usize) -> Result<Vec<Vec<usize>>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (i, &partition) in partitions.as_slice::<i32>()?.iter().enumerate() {
        match usize::try_from(partition).ok().and_then(|p| members.get_mut(p)) {
            Some(rows) => rows.push(i),
            None => {
                let at: Vec<String> = partitions
                    .shape()
                    .strides()
                    .iter()
                    .zip(partitions.shape().iter())
                    .map(|(&stride, &dim)| (i / stride % dim).to_string())
                    .collect();
                let at = if at.is_empty() { String::new() } else { format!("[{}]", at.join(",")) };
                bail!(InvalidArgument, "partitions{at} = {partition} is not in [0, {count})");
            }
        }
    }
    Ok(members)
}

/// Returns the number of rows that the indices, which are the first `count` inputs, reach.
///
/// # Errors
/// Returns `InvalidArgument` for a negative index.
pub fn stitched_rows(ctx: &KernelContext<'_>, count: usize) -> Result<usize> {
    let mut rows = 0;
    for m in 0..count {
        for (i, &index) in ctx.input(m)?.as_slice::<i32>()?.iter().enumerate() {
            match usize::try_from(index) {
                Ok(index) => rows = rows.max(index + 1),
                Err(_) => bail!(InvalidArgument, "indices[{i}] is out of range"),
            }
        }
    }
    Ok(rows)
}

/// Returns the shape of one slice, which must be equal for all inputs.
///
/// # Errors
/// Returns `InvalidArgument` for other shapes.
pub fn stitched_inner_shape(ctx: &KernelContext<'_>, count: usize) -> Result<Shape> {
    let inner = |m: usize| -> Result<&[usize]> {
        let (index, data) = (ctx.input(m)?.shape(), ctx.input(count + m)?.shape());
        match data.strip_prefix(index.dims()) {
            Some(inner) => Ok(inner),
            None => bail!(InvalidArgument, "data[{m}].shape = {data} does not start with indices[{m}].shape = {index}"),
        }
    };
    let first = inner(0)?;
    for m in 1..count {
        if inner(m)? != first {
            let shape = |i: usize| ctx.input(i).map(Tensor::shape);
            bail!(
                InvalidArgument,
                "Need data[0].shape[{}:] = data[{m}].shape[{}:], got data[0].shape = {}, data[{m}].shape = {}, indices[0].shape = {}, indices[{m}].shape = {}",
                shape(0)?.rank(),
                shape(m)?.rank(),
                shape(count)?,
                shape(count + m)?,
                shape(0)?,
                shape(m)?
            );
        }
    }
    Ok(Shape::new(first))
}
