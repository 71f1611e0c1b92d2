//! Counts of values in sparse, ragged and dense tensors: `SparseBincount` and `RaggedBincount`, which output a dense tensor, and
//! `DenseCountSparseOutput`, `SparseCountSparseOutput` and `RaggedCountSparseOutput`, which list the values that occur.

use super::{check_counts, describe, index_matrix, matrix};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseBincount", |init| make_bincount(init, sparse_bincount_rows));
    registry.add("RaggedBincount", |init| make_bincount(init, ragged_bincount_rows));
    registry.add("DenseCountSparseOutput", |init| make_count(init, dense_rows));
    registry.add("SparseCountSparseOutput", |init| make_count(init, sparse_rows));
    registry.add("RaggedCountSparseOutput", |init| make_count(init, ragged_rows));
}

/// The values of an input with the row of each.
struct Rows {
    values: Vec<i64>,
    /// The row of each value; empty if the input has one dimension.
    row_of: Vec<usize>,
    /// The number of rows; `None` if the input has one dimension.
    count: Option<usize>,
}

impl Rows {
    fn row(&self, i: usize) -> usize {
        self.row_of.get(i).copied().unwrap_or(0)
    }

    /// Returns the positions of the values below `max_length`, sorted by row and value. The sort is stable: equal values keep their order, in which
    /// their weights are added.
    fn order(&self, max_length: Option<i64>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).filter(|&i| max_length.is_none_or(|length| self.values[i] < length)).collect();
        order.sort_by_key(|&i| (self.row(i), self.values[i]));
        order
    }

    fn check_not_negative(self, message: &'static str) -> Result<Rows> {
        if self.values.iter().any(|&value| value < 0) {
            bail!(InvalidArgument, "{message}");
        }
        Ok(self)
    }
}

/// Returns the rows of a vector or a matrix.
fn dense_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    let data = ctx.input(0)?;
    let values = data.to_i64_vec()?;
    match *data.shape().dims() {
        [_] => Ok(Rows { values, row_of: Vec::new(), count: None }),
        [0, _] => bail!(InvalidArgument, "Invalid input: Shapes dimension cannot be 0."),
        [count, width] => {
            let row_of = (0..values.len()).map(|i| i / width.max(1)).collect();
            Ok(Rows { values, row_of, count: Some(count) })
        }
        _ => bail!(InvalidArgument, "Input must be a 1 or 2-dimensional tensor. Got: {}", data.shape()),
    }
}

/// Returns the rows of a sparse tensor, whose parts are inputs 0 to 2: those along its first dimension, or a single row if it has only one dimension.
fn sparse_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if indices.rank() != 2 {
        bail!(InvalidArgument, "Input indices must be a 2-dimensional tensor. Got: {}", indices.shape());
    }
    let (_, rank) = matrix(indices, "Input indices")?;
    for (name, tensor) in [("values", values), ("shape", shape)] {
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "Input {name} must be a vector. Got: {}", tensor.shape());
        }
    }
    check_counts(indices, values, shape)?;
    let (places, dims) = (indices.as_slice::<i64>()?, shape.as_slice::<i64>()?);
    let Some(&first) = dims.first() else { bail!(InvalidArgument, "The shape argument requires at least one element.") };
    for (i, place) in places.chunks_exact(rank).enumerate() {
        if let Some((axis, (at, size))) = place.iter().zip(dims).enumerate().find(|(_, (at, size))| !(0..**size).contains(*at)) {
            bail!(
                InvalidArgument,
                "Invalid index value at {i}: dimension {axis} has value {at} which is not in [0, {size}) (as given by dense shape {dims:?})"
            );
        }
    }
    let values = values.to_i64_vec()?;
    if rank == 1 {
        return Ok(Rows { values, row_of: Vec::new(), count: None });
    }
    match usize::try_from(first) {
        Ok(count) if 0 < first && first < i64::from(i32::MAX) => {
            Ok(Rows { values, row_of: places.chunks_exact(rank).map(|place| place[0] as usize).collect(), count: Some(count) })
        }
        _ => bail!(InvalidArgument, "Cannot allocate {first} batches, is the dense shape too wide?"),
    }
}

/// Returns the rows of a ragged tensor, whose row splits are input 0 and whose values are input 1.
fn ragged_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    if ctx.input(0)?.num_elements() < 2 {
        bail!(InvalidArgument, "Must provide at least 2 elements for the splits argument");
    }
    split_rows(ctx)
}

/// Returns the rows of values between splits, which start with 0 and end with the number of values. In between, splits may be in any order, as in
/// TensorFlow: the row index advances at a value while the next split is not after the value.
fn split_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    let (splits, values) = (ctx.input(0)?.to_i64_vec()?, ctx.input(1)?.to_i64_vec()?);
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else { bail!(InvalidArgument, "Splits must be non-empty") };
    if first != 0 {
        bail!(InvalidArgument, "Splits must start with 0, not with {first}");
    }
    if usize::try_from(last) != Ok(values.len()) {
        bail!(InvalidArgument, "Splits must end with the number of values, got {last} instead of {}", values.len());
    }
    let mut next = 0;
    let row_of = (0..values.len() as i64).map(|i| {
        while splits.get(next).is_some_and(|&split| i >= split) {
            next += 1;
        }
        next.saturating_sub(1)
    });
    Ok(Rows { row_of: row_of.collect(), values, count: Some(splits.len() - 1) })
}

/// Returns a sparse tensor's rows for a dense result. Negative values of matrices are left out.
fn sparse_bincount_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    for (tensor, name, rank) in [(indices, "indices", 2), (values, "values", 1), (shape, "shape", 1)] {
        if tensor.rank() != rank {
            bail!(InvalidArgument, "Sparse {name} must be rank {rank} but is rank {}", tensor.rank());
        }
    }
    let (nnz, rank) = matrix(indices, "Sparse indices")?;
    if values.num_elements() != nnz {
        bail!(InvalidArgument, "Number of elements in indices ({nnz}) and values ({}) do not match", values.num_elements());
    }
    if shape.num_elements() != rank {
        bail!(InvalidArgument, "Index rank ({rank}) and shape rank ({}) do not match", shape.num_elements());
    }
    let (places, dims) = (indices.as_slice::<i64>()?, shape.as_slice::<i64>()?);
    let Some(&first) = dims.first() else { bail!(InvalidArgument, "Sparse shape must have at least one element") };
    for (i, place) in places.chunks_exact(rank).enumerate() {
        if place.iter().zip(dims).any(|(at, size)| !(0..*size).contains(at)) {
            bail!(InvalidArgument, "Sparse index tuple {} is out of bounds", describe(i, place));
        }
    }
    let values = values.to_i64_vec()?;
    if rank == 1 {
        return Rows { values, row_of: Vec::new(), count: None }.check_not_negative("Input arr must be non-negative!");
    }
    let Ok(count) = usize::try_from(first) else { bail!(InvalidArgument, "Expected shape dimensions to be non-negative, got {first}") };
    Ok(Rows { values, row_of: places.chunks_exact(rank).map(|place| place[0] as usize).collect(), count: Some(count) })
}

fn ragged_bincount_rows(ctx: &KernelContext<'_>) -> Result<Rows> {
    split_rows(ctx)?.check_not_negative("Input must be non-negative")
}

type ReadRows = fn(&KernelContext<'_>) -> Result<Rows>;

fn make_bincount(init: &KernelInit<'_>, read: ReadRows) -> Result<Arc<dyn Kernel>> {
    let binary = init.attrs.get_or("binary_output", false)?;
    for_dtype!(init.dtype("T")?, [i32, i64, f32, f64], T => from_fn(move |ctx| bincount::<T>(ctx, read, binary)), _ => init.unsupported())
}

/// Outputs a row of `size` counts for each row of values. Values of `size` and more are left out.
fn bincount<T: Number>(ctx: &mut KernelContext<'_>, read: ReadRows, binary: bool) -> Result<()> {
    let (size, weights) = (ctx.input(ctx.num_inputs() - 2)?, ctx.input(ctx.num_inputs() - 1)?);
    if size.rank() != 0 {
        bail!(InvalidArgument, "Shape must be rank 0 but is rank {}", size.rank());
    }
    let size = size.to_i64()?;
    let Ok(bins) = usize::try_from(size) else { bail!(InvalidArgument, "size ({size}) must be non-negative") };
    let rows = read(ctx)?;
    let weights = weights.as_slice::<T>()?;
    if !weights.is_empty() && weights.len() != rows.values.len() {
        bail!(InvalidArgument, "Input indices and weights must have the same size.");
    }
    let shape = rows.count.map_or(Shape::new(&[bins]), |count| Shape::new(&[count, bins]));
    shape.checked_num_elements()?;
    let mut out = ctx.allocator().zeros(T::DTYPE, shape)?;
    let counts = out.as_mut_slice::<T>()?;
    for (i, &value) in rows.values.iter().enumerate().filter(|(_, value)| (0..size).contains(*value)) {
        let count = &mut counts[rows.row(i) * bins + value as usize];
        *count = if binary { T::ONE } else { count.plus(weights.get(i).copied().unwrap_or(T::ONE)) };
    }
    ctx.set_output(0, out);
    Ok(())
}

/// The attributes of the ops with sparse results.
#[derive(Clone, Copy)]
struct Options {
    min_length: i64,
    /// The least value that is left out, which is also the number of columns; `None` if no value is left out.
    max_length: Option<i64>,
    binary: bool,
}

fn make_count(init: &KernelInit<'_>, read: ReadRows) -> Result<Arc<dyn Kernel>> {
    let options = Options {
        min_length: init.attrs.get_or("minlength", -1i64)?,
        max_length: Some(init.attrs.get_or("maxlength", -1i64)?).filter(|&length| length >= 0),
        binary: init.attrs.get("binary_output")?,
    };
    for_dtype!(init.dtype("output_type")?, [i32, i64, f32, f64], T => from_fn(move |ctx| count::<T>(ctx, read, options)), _ => init.unsupported())
}

/// Outputs the values that occur in each row, in ascending order, with their counts.
fn count<T: Number>(ctx: &mut KernelContext<'_>, read: ReadRows, options: Options) -> Result<()> {
    let at = ctx.num_inputs() - 1;
    let (data, weights) = (ctx.input(if at == 1 { 0 } else { 1 })?, ctx.input(at)?);
    let rows = read(ctx)?.check_not_negative("Input values must all be non-negative")?;
    if weights.num_elements() > 0 && weights.shape() != data.shape() {
        let name = if at == 1 { "data" } else { "values" };
        bail!(
            InvalidArgument,
            "Weights and {name} must have the same shape. Weight shape: {}; {name} shape: {}",
            weights.shape(),
            data.shape()
        );
    }
    let weights = weights.as_slice::<T>()?;
    let order = rows.order(options.max_length);
    let (mut indices, mut counts) = (Vec::new(), Vec::new());
    for same in order.chunk_by(|&a, &b| rows.row(a) == rows.row(b) && rows.values[a] == rows.values[b]) {
        if rows.count.is_some() {
            indices.push(rows.row(same[0]) as i64);
        }
        indices.push(rows.values[same[0]]);
        counts.push(if options.binary {
            T::ONE
        } else {
            same.iter().fold(T::ZERO, |sum, &i| sum.plus(weights.get(i).copied().unwrap_or(T::ONE)))
        });
    }
    let greatest = order.iter().map(|&i| rows.values[i]).max().unwrap_or(0);
    let columns = options.max_length.unwrap_or_else(|| greatest.wrapping_add(1).max(options.min_length));
    let dims = rows.count.map_or(vec![columns], |count| vec![count as i64, columns]);
    let outputs = [
        index_matrix(ctx.allocator(), &indices, dims.len(), counts.len())?,
        ctx.allocator().vector(&counts)?,
        ctx.allocator().vector(&dims)?,
    ];
    outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
    Ok(())
}
