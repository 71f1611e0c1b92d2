//! Sparse tensors (indices `[n, rank]`, values `[n]`, shape `[rank]`) and ragged ones (row splits and values).

#![forbid(unsafe_code)]

mod add;
mod convert;
mod counts;
mod cross;
mod dense;
mod edit_distance;
mod empty_rows;
mod parts;
mod ragged;
mod ragged_cross;
mod ragged_range;
mod ragged_to_tensor;
pub(crate) mod ragged_variant;
mod reduce;
pub(crate) mod serialize;
mod set;
mod tensors_map;

use crate::array::item::{Item, for_item};
use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, check_memory, error};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    add::register(registry);
    convert::register(registry);
    counts::register(registry);
    cross::register(registry);
    dense::register(registry);
    edit_distance::register(registry);
    empty_rows::register(registry);
    parts::register(registry);
    ragged::register(registry);
    ragged_cross::register(registry);
    ragged_range::register(registry);
    ragged_to_tensor::register(registry);
    ragged_variant::register(registry);
    reduce::register(registry);
    serialize::register(registry);
    set::register(registry);
    tensors_map::register(registry);
}

/// A sparse tensor: three tensors that were checked against each other. Indices may be out of the shape's bounds and in any order.
#[derive(Clone, Copy)]
struct Sparse<'a> {
    indices: &'a [i64],
    values: &'a Tensor,
    dims: &'a [i64],
}

impl<'a> Sparse<'a> {
    /// Returns the sparse tensor in inputs `at` to `at + 2`.
    fn input(ctx: &'a KernelContext<'_>, at: usize) -> Result<Sparse<'a>> {
        Sparse::new(ctx.input(at)?, ctx.input(at + 1)?, ctx.input(at + 2)?)
    }

    fn new(indices: &'a Tensor, values: &'a Tensor, shape: &'a Tensor) -> Result<Sparse<'a>> {
        check_parts(indices, values, shape)?;
        Ok(Sparse { indices: indices.as_slice()?, values, dims: shape.as_slice()? })
    }

    fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns the number of values.
    fn len(&self) -> usize {
        self.values.num_elements()
    }

    /// Returns the index of value `i`.
    fn row(&self, i: usize) -> &'a [i64] {
        &self.indices[i * self.dims.len()..][..self.dims.len()]
    }

    /// Returns the dense shape.
    fn shape(&self) -> Result<Shape> {
        Shape::from_i64(self.dims)
    }

    /// Returns the positions of the values in the order of their indices. Values with equal indices keep their order.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        if !order.is_sorted_by(|&a, &b| self.row(a) <= self.row(b)) {
            order.sort_by(|&a, &b| self.row(a).cmp(self.row(b)));
        }
        order
    }
}

/// Checks that there are as many values as rows of indices, and as many sizes as columns. Returns their numbers.
fn check_parts(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<(usize, usize)> {
    let (rows, width) = matrix(indices, "Input indices")?;
    for (name, tensor) in [("values", values), ("shape", shape)] {
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "Input {name} should be a vector but received shape {}", tensor.shape());
        }
    }
    if values.num_elements() != rows {
        bail!(InvalidArgument, "Number of elements in indices ({rows}) and values ({}) do not match", values.num_elements());
    }
    if shape.num_elements() != width {
        bail!(InvalidArgument, "Index rank ({width}) and shape rank ({}) do not match", shape.num_elements());
    }
    Ok((rows, width))
}

/// Like the checks of numbers in [`check_parts`], for the ops that have texts of their own in TensorFlow. Tensors of other ranks are left to that.
fn check_counts(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<()> {
    let &[rows, width] = indices.shape().dims() else { return Ok(()) };
    let (num_values, num_dims, of) = (values.num_elements(), shape.num_elements(), indices.shape());
    if values.rank() == 1 && num_values != rows {
        bail!(InvalidArgument, "Number of values must match first dimension of indices. Got {num_values} values, indices shape: {of}");
    }
    if shape.rank() == 1 && num_dims != width {
        bail!(
            InvalidArgument,
            "Number of dimensions must match second dimension of indices. Got {num_dims} dimensions, indices shape: {of}"
        );
    }
    Ok(())
}

/// Returns the sizes of a matrix; `name` is for the message. Rows without columns take no memory, but kernels store something for each row, so a
/// number of rows that exceeds the memory limit is an error.
fn matrix(tensor: &Tensor, name: &str) -> Result<(usize, usize)> {
    match *tensor.shape().dims() {
        [rows, columns] => {
            check_memory::<i64>(rows)?;
            Ok((rows, columns))
        }
        _ => bail!(InvalidArgument, "{name} should be a matrix but received shape {}", tensor.shape()),
    }
}

/// Returns the row-major position of an index in sizes `dims`, or `None` if it is out of bounds.
fn position(index: &[i64], dims: &[usize]) -> Option<usize> {
    let mut at = 0usize;
    for (&i, &dim) in index.iter().zip(dims) {
        let i = usize::try_from(i).ok().filter(|&i| i < dim)?;
        at = at.checked_mul(dim)?.checked_add(i)?;
    }
    Some(at)
}

/// Returns an index in the format of messages: `indices[3] = [0,2]`.
fn describe(i: usize, index: &[i64]) -> String {
    let index: Vec<String> = index.iter().map(i64::to_string).collect();
    format!("indices[{i}] = [{}]", index.join(","))
}

/// Returns a vector of the elements of `values` at `positions`, which must all be within bounds; elements may have any type.
fn pick(alloc: &Allocator, values: &Tensor, positions: &[usize]) -> Result<Tensor> {
    pick_rows(alloc, values, positions, Shape::from([positions.len()]), 1)
}

/// Returns a tensor of `shape` whose rows of `width` elements are those of `values` at `positions`.
fn pick_rows(alloc: &Allocator, values: &Tensor, positions: &[usize], shape: Shape, width: usize) -> Result<Tensor> {
    fn picked<T: Item>(alloc: &Allocator, values: &Tensor, positions: &[usize], shape: Shape, width: usize) -> Result<Tensor> {
        let items = T::items(values)?;
        T::build(alloc, values.dtype(), shape, items, |out| {
            for (to, &position) in out.chunks_exact_mut(width.max(1)).zip(positions) {
                let from = position.checked_mul(width).and_then(|start| items.get(start..start.checked_add(width)?));
                to.clone_from_slice(from.ok_or_else(|| error!(InvalidArgument, "row {position} is not among the values"))?);
            }
            Ok(())
        })
    }
    for_item!(values.dtype(), T => picked::<T>(alloc, values, positions, shape, width))
}

/// Returns a vector of the elements of `values` at `positions`, which must all be within bounds, and zero for each `None`.
fn pick_or_zero(alloc: &Allocator, values: &Tensor, positions: &[Option<usize>]) -> Result<Tensor> {
    fn picked<T: Item>(alloc: &Allocator, values: &Tensor, positions: &[Option<usize>]) -> Result<Tensor> {
        let (items, zero) = (T::items(values)?, T::zero()?);
        T::build(alloc, values.dtype(), Shape::from([positions.len()]), items, |out| {
            for (to, position) in out.iter_mut().zip(positions) {
                *to = position.map_or(&zero, |position| &items[position]).clone();
            }
            Ok(())
        })
    }
    for_item!(values.dtype(), T => picked::<T>(alloc, values, positions))
}

/// Returns a tensor of `shape` with the elements of `values` at `positions`, which must all be within bounds, and the scalar `default` elsewhere. A single
/// value is written to every position.
fn scattered(alloc: &Allocator, values: &Tensor, positions: &[usize], shape: Shape, default: &Tensor) -> Result<Tensor> {
    fn scattered<T: Item>(alloc: &Allocator, values: &Tensor, positions: &[usize], shape: Shape, default: &Tensor) -> Result<Tensor> {
        let (default, items) = (T::items(default)?, T::items(values)?);
        T::build(alloc, values.dtype(), shape, default, |out| {
            if let [value] = default {
                out.fill(value.clone());
            }
            for (i, &position) in positions.iter().enumerate() {
                out[position] = items[if items.len() == 1 { 0 } else { i }].clone();
            }
            Ok(())
        })
    }
    for_item!(values.dtype(), T => scattered::<T>(alloc, values, positions, shape, default))
}

/// Returns a matrix of indices.
fn index_matrix(alloc: &Allocator, indices: &[i64], rank: usize, rows: usize) -> Result<Tensor> {
    alloc.from_slice([rows, rank], indices)
}

/// Returns the rows of `sparse` at `positions`, one after the other.
fn pick_indices(alloc: &Allocator, sparse: &Sparse<'_>, positions: &[usize]) -> Result<Tensor> {
    let mut indices = Vec::with_capacity(positions.len() * sparse.rank());
    positions.iter().for_each(|&i| indices.extend_from_slice(sparse.row(i)));
    index_matrix(alloc, &indices, sparse.rank(), positions.len())
}

/// Returns row splits as the positions at which rows start.
///
/// # Errors
/// Returns `InvalidArgument` if they are not a vector, are empty, do not ascend from zero, or exceed `limit`.
fn splits(tensor: &Tensor, limit: Option<usize>) -> Result<Vec<usize>> {
    if tensor.rank() != 1 {
        bail!(InvalidArgument, "Ragged splits must have rank 1, got shape {}", tensor.shape());
    }
    let splits = tensor.to_i64_vec()?;
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else {
        bail!(InvalidArgument, "ragged splits may not be empty");
    };
    if first < 0 {
        bail!(InvalidArgument, "Ragged splits must be non-negative");
    }
    if !splits.is_sorted() {
        bail!(InvalidArgument, "Ragged splits must be sorted");
    }
    if limit.is_some_and(|limit| last as u64 > limit as u64) {
        bail!(InvalidArgument, "Ragged splits must not point past values");
    }
    Ok(splits.into_iter().map(|s| s as usize).collect())
}

/// Returns row splits as a tensor of type `dtype`.
fn splits_tensor(alloc: &Allocator, dtype: DType, splits: &[usize]) -> Result<Tensor> {
    alloc.index_vector(dtype, &splits.iter().map(|&s| s as i64).collect::<Vec<_>>())
}
