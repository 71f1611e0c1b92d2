//! `RaggedTensorToTensor`, which converts a ragged tensor to a dense one, truncated or padded to a shape.

use crate::array::item::{Item, for_item};
use crate::array::nd::{Strides, read_strided, row_major};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail, check_memory, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedTensorToTensor", make);
}

/// The encoding of the rows of a dimension.
#[derive(Clone, Copy, PartialEq)]
enum Partition {
    FirstDimSize,
    ValueRowIds,
    RowSplits,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mut partitions = Vec::new();
    for name in init.attrs.list::<&str>("row_partition_types")? {
        partitions.push(match name {
            "FIRST_DIM_SIZE" => Partition::FirstDimSize,
            "VALUE_ROWIDS" => Partition::ValueRowIds,
            "ROW_SPLITS" => Partition::RowSplits,
            other => bail!(InvalidArgument, "Unknown string for partition info type: {other}"),
        });
    }
    for_item!(init.dtype("T")?, T => {
        let partitions = partitions.clone();
        from_fn(move |ctx| to_tensor::<T>(ctx, &partitions))
    })
}

/// The output position of an element, or `None` if it is cut off.
type Place = Option<usize>;

/// The dense result.
struct Dense {
    shape: Shape,
    /// The number of dimensions of `shape` that rows and their elements are found along.
    ragged: usize,
    places: Vec<Place>,
}

/// Returns the shape of the result and the places of the values.
fn placed(ctx: &KernelContext<'_>, partitions: &[Partition]) -> Result<Dense> {
    const FIRST: usize = 3;
    let (values, default) = (ctx.input(1)?, ctx.input(2)?);
    let tensors = (0..partitions.len()).map(|i| ctx.input(FIRST + i)?.to_i64_vec()).collect::<Result<Vec<_>>>()?;
    let (Some(&kind), Some(first)) = (partitions.first(), tensors.first()) else {
        bail!(InvalidArgument, "No row_partition_types given.");
    };
    if values.num_elements() == 0
        && ctx.input(FIRST)?.shape().first().is_some_and(|&n| n > 1)
        && kind == Partition::RowSplits
        && first.last() > first.first()
    {
        bail!(InvalidArgument, "Invalid row_splits for empty values");
    }
    if first.is_empty() {
        bail!(InvalidArgument, "Invalid first partition input. Tensor requires at least one element.");
    }
    let rows = match kind {
        Partition::FirstDimSize => first[0],
        Partition::RowSplits => first.len() as i64 - 1,
        Partition::ValueRowIds => bail!(InvalidArgument, "Cannot handle VALUE_ROWIDS in first dimension."),
    };
    let Ok(rows) = usize::try_from(rows) else { bail!(InvalidArgument, "the first dimension must not be negative, got {rows}") };
    let skipped = usize::from(kind == Partition::FirstDimSize);
    let levels: Vec<(Partition, &[i64])> = partitions.iter().copied().zip(tensors.iter().map(Vec::as_slice)).skip(skipped).collect();
    let shape = output_shape(ctx.input(0)?, values.shape(), default.shape(), rows, &levels)?;
    let ragged = levels.len() + 1;
    let mut places: Vec<Place> = Vec::new();
    if shape.checked_num_elements()? > 0 {
        let stride = |depth: usize| shape[depth + 1..ragged].iter().product::<usize>();
        check_memory::<Place>(rows)?;
        places = (0..rows).map(|i| (i < shape[0]).then(|| i * stride(0))).collect();
        for (depth, &(kind, tensor)) in levels.iter().enumerate() {
            places = match kind {
                Partition::RowSplits => by_splits(tensor, &places, stride(depth + 1), shape[depth + 1])?,
                Partition::ValueRowIds => by_row_ids(tensor, &places, stride(depth + 1), shape[depth + 1])?,
                Partition::FirstDimSize => bail!(InvalidArgument, "Unsupported partition type:FIRST_DIM_SIZE"),
            };
        }
        if places.len() > values.shape()[0] {
            bail!(InvalidArgument, "the row partitions have {} values, but there are {}", places.len(), values.shape()[0]);
        }
    }
    Ok(Dense { shape, ragged, places })
}

fn to_tensor<T: Item>(ctx: &mut KernelContext<'_>, partitions: &[Partition]) -> Result<()> {
    let Dense { shape, ragged, places } = placed(ctx, partitions)?;
    let (values, items) = (ctx.input(1)?, T::items(ctx.input(1)?)?);
    let width: usize = shape[ragged..].iter().product();
    check_memory::<T>(shape.num_elements())?;
    let fill = if shape.num_elements() > 0 { repeated::<T>(ctx.input(2)?, &shape[ragged..])? } else { Vec::new() };
    let dense = T::build(ctx.allocator(), values.dtype(), shape, &fill, |out| {
        out.chunks_exact_mut(width.max(1)).for_each(|row| row.clone_from_slice(&fill));
        for (i, place) in places.iter().enumerate() {
            if let Some(place) = place {
                out[place * width..][..width].clone_from_slice(&items[i * width..][..width]);
            }
        }
        Ok(())
    })?;
    ctx.set_output(0, dense);
    Ok(())
}

/// Returns the default value, repeated for all elements of an inner value.
fn repeated<T: Item>(default: &Tensor, inner: &[usize]) -> Result<Vec<T>> {
    let n: usize = inner.iter().product();
    let Some(missing) = inner.len().checked_sub(default.rank()) else {
        bail!(InvalidArgument, "default_value.shape={} and rt_input.flat_values.shape are incompatible", default.shape());
    };
    let items = T::items(default)?;
    let Some(first) = items.first() else { return Ok(Vec::new()) };
    let mut out = vec![first.clone(); n];
    let own = row_major(default.shape());
    let strides: Strides =
        (0..inner.len()).map(|d| d.checked_sub(missing).map_or(0, |d| if default.shape()[d] == 1 { 0 } else { own[d] })).collect();
    read_strided(&mut out, items, 0, inner, &strides);
    Ok(out)
}

/// Returns the requested shape. Sizes that it leaves open are the number of rows and the longest row of each ragged dimension.
fn output_shape(wanted: &Tensor, values: &Shape, default: &Shape, rows: usize, levels: &[(Partition, &[i64])]) -> Result<Shape> {
    let Some((_, inner)) = values.split_first() else { bail!(InvalidArgument, "values must have at least one dimension") };
    let compatible = default.rank() <= inner.len() && default.iter().rev().zip(inner.iter().rev()).all(|(&d, &v)| d == v || d == 1);
    if !compatible {
        bail!(InvalidArgument, "default_value.shape={default} and rt_input.flat_values.shape={values} are incompatible");
    }
    let rank = levels.len() + values.rank();
    let sizes = match wanted.rank() {
        0 if wanted.to_i64()? == -1 => vec![-1; rank],
        1 => wanted.to_i64_vec()?,
        _ => bail!(InvalidArgument, "shape must be a vector or -1"),
    };
    if sizes.len() != rank {
        bail!(InvalidArgument, "Shape tensor {sizes:?} must have the ragged tensor's rank, {rank}");
    }
    if let Some(size) = sizes.iter().find(|&&size| size < -1) {
        bail!(InvalidArgument, "Invalid dimension size: {size}");
    }
    let mut shape = Vec::with_capacity(rank);
    for (i, &size) in sizes.iter().enumerate() {
        let own = match i {
            0 => rows,
            _ if i <= levels.len() => longest(levels[i - 1]),
            _ => inner[i - levels.len() - 1],
        };
        if i > levels.len() && size != -1 && size != own as i64 {
            bail!(InvalidArgument, "shape {sizes:?} and values of shape {values} are incompatible");
        }
        shape.push(if size == -1 { own as i64 } else { size });
    }
    Shape::from_i64(&shape)
}

/// Returns the length of the longest row.
fn longest((kind, tensor): (Partition, &[i64])) -> usize {
    let longest = match kind {
        Partition::RowSplits => tensor.windows(2).map(|w| w[1].saturating_sub(w[0])).max().unwrap_or(0),
        _ => tensor.chunk_by(|a, b| a == b).map(|run| run.len() as i64).max().unwrap_or(0),
    };
    usize::try_from(longest).unwrap_or(0)
}

/// Returns the positions of the elements of each row; rows are given by their splits.
fn by_splits(splits: &[i64], parents: &[Place], stride: usize, size: usize) -> Result<Vec<Place>> {
    let rows = splits.len().saturating_sub(1);
    if rows > parents.len() {
        bail!(InvalidArgument, "Row partition size is greater than output size: {rows} > {}", parents.len());
    }
    let mut places = Vec::new();
    for (bounds, parent) in splits.windows(2).zip(parents) {
        let length = bounds[1].checked_sub(bounds[0]).and_then(|n| usize::try_from(n).ok());
        let length = length.ok_or_else(|| error!(InvalidArgument, "Invalid row split size."))?;
        check_memory::<Place>(length.saturating_add(places.len()))?;
        places.extend((0..length).map(|i| parent.filter(|_| i < size).map(|parent| parent + i * stride)));
    }
    if splits.last().is_some_and(|&last| usize::try_from(last) != Ok(places.len())) {
        bail!(InvalidArgument, "Invalid row split size.");
    }
    Ok(places)
}

/// Returns the positions of elements with row ids; the elements of a row are adjacent.
fn by_row_ids(ids: &[i64], parents: &[Place], stride: usize, size: usize) -> Result<Vec<Place>> {
    let mut places = Vec::with_capacity(ids.len());
    for run in ids.chunk_by(|a, b| a == b) {
        let Some(parent) = usize::try_from(run[0]).ok().and_then(|row| parents.get(row)) else {
            bail!(InvalidArgument, "Got current_value_rowid={} which is not less than {}", run[0], parents.len());
        };
        places.extend((0..run.len()).map(|i| parent.filter(|_| i < size).map(|parent| parent + i * stride)));
    }
    Ok(places)
}
