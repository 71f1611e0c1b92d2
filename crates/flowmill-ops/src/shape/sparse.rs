//! Sparse tensors (indices `[n, rank]`, values `[n]`, shape `[rank]`) and ragged tensors (row splits and values).

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// Number of elements and rank of the sparse tensor in inputs `at` to `at + 2`.
fn sparse_input(c: &Context<'_>, at: usize) -> Result<(i64, i64)> {
    let indices = dims::with_rank(&c.input(at), 2)?;
    let count = dims::merge(dims::size(&indices, 0), common::expect_vector(c, at + 1)?)?;
    let rank = dims::merge(dims::size(&indices, 1), common::expect_vector(c, at + 2)?)?;
    Ok((count, rank))
}

/// Outputs `at` to `at + 2` are a sparse tensor.
fn set_sparse(c: &mut Context<'_>, at: usize, count: i64, rank: i64) {
    c.set_output(at, PartialShape::new(&[count, rank]));
    c.set_output(at + 1, PartialShape::new(&[count]));
    c.set_output(at + 2, PartialShape::new(&[rank]));
}

/// A dense tensor of the shape in input 1.
pub(crate) fn sparse_to_dense(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 1)?;
    let shape = c.input_as_shape(1)?;
    c.set_output(0, shape);
    Ok(())
}

/// The elements of the sparse input in another order.
pub(crate) fn sparse_reorder(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    common::expect_vector(c, 1)?;
    common::expect_vector(c, 2)?;
    common::unchanged_each(c)
}

/// The elements of the sparse input with another shape, which is input 2.
pub(crate) fn sparse_reshape(c: &mut Context<'_>) -> Result<()> {
    let indices = dims::with_rank(&c.input(0), 2)?;
    common::expect_vector(c, 1)?;
    let rank = common::expect_vector(c, 2)?;
    c.set_output(0, PartialShape::new(&[dims::size(&indices, 0), rank]));
    c.set_output(1, PartialShape::new(&[rank]));
    Ok(())
}

/// Sparse tensors joined: all indices, then all values, then all shapes are the inputs.
pub(crate) fn sparse_concat(c: &mut Context<'_>) -> Result<()> {
    let n = c.num_inputs() / 3;
    let (mut count, mut rank) = (0, dims::UNKNOWN);
    for i in 0..n {
        let indices = dims::with_rank(&c.input(i), 2)?;
        let elements = dims::merge(dims::size(&indices, 0), common::expect_vector(c, n + i)?)?;
        let shape = dims::merge(dims::size(&indices, 1), common::expect_vector(c, 2 * n + i)?)?;
        count = dims::add(count, elements)?;
        rank = dims::merge(rank, shape)?;
    }
    set_sparse(c, 0, count, rank);
    Ok(())
}

/// A part of a sparse tensor.
pub(crate) fn sparse_slice(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank(&c.input(2), 1)?;
    set_sparse(c, 0, dims::UNKNOWN, dims::size(&shape, 0));
    Ok(())
}

/// Parts along the axis in input 0: all indices, then all values, then all shapes are the outputs.
pub(crate) fn sparse_split(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input(3);
    let n = c.num_outputs() / 3;
    for i in 0..n {
        let rank = shape.dim(0).map_or(dims::UNKNOWN, |r| r as i64);
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN, rank]));
        c.set_output(n + i, PartialShape::new(&[dims::UNKNOWN]));
        c.set_output(2 * n + i, shape.clone());
    }
    Ok(())
}

/// The product of a sparse matrix and a dense one, each transposed if the node says so.
pub(crate) fn sparse_tensor_dense_matmul(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    common::expect_vector(c, 1)?;
    let a = dims::with_rank(&c.input_as_shape(2)?, 2)?;
    let b = dims::with_rank(&c.input(3), 2)?;
    let (ta, tb): (bool, bool) = (c.attrs().get("adjoint_a")?, c.attrs().get("adjoint_b")?);
    let at = |shape: &PartialShape, transposed: bool, i: usize| dims::size(shape, if transposed { 1 - i } else { i });
    dims::merge(at(&a, ta, 1), at(&b, tb, 0))?;
    c.set_output(0, PartialShape::new(&[at(&a, ta, 0), at(&b, tb, 1)]));
    Ok(())
}

/// The dense tensor's shape, which is input 3's.
pub(crate) fn sparse_tensor_dense_add(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, c.input(3));
    Ok(())
}

/// A sparse tensor without empty rows, which rows were, and where each element went.
pub(crate) fn sparse_fill_empty_rows(c: &mut Context<'_>) -> Result<()> {
    let (count, rank) = sparse_input(c, 0)?;
    common::expect_scalar(c, 3)?;
    let shape = c.input_as_shape(2)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, rank]));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(2, PartialShape::new(&[dims::size(&shape, 0)]));
    c.set_output(3, PartialShape::new(&[count]));
    Ok(())
}

/// The row of each value, the values, the number of rows and a default: none of the results' sizes is known but that of the values' places.
pub(crate) fn ragged_fill_empty_rows(c: &mut Context<'_>) -> Result<()> {
    let count = dims::merge(common::expect_vector(c, 0)?, common::expect_vector(c, 1)?)?;
    common::expect_scalar(c, 2)?;
    common::expect_scalar(c, 3)?;
    for i in 0..3 {
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN]));
    }
    c.set_output(3, PartialShape::new(&[count]));
    Ok(())
}

/// The gradients of the values and of the default.
pub(crate) fn sparse_fill_empty_rows_grad(c: &mut Context<'_>) -> Result<()> {
    let count = common::expect_vector(c, 0)?;
    common::expect_vector(c, 1)?;
    c.set_output(0, PartialShape::new(&[count]));
    c.set_output(1, PartialShape::scalar());
    Ok(())
}

/// Chosen rows gathered into segments, as many as input 3 says if there is one.
pub(crate) fn sparse_segment(c: &mut Context<'_>) -> Result<()> {
    let data = dims::with_rank_at_least(&c.input(0), 1)?;
    dims::with_rank(&c.input(1), 1)?.merge(&dims::with_rank(&c.input(2), 1)?)?;
    let rows = if c.num_inputs() > 3 {
        let name = &c.op_def().inputs[3].name;
        common::int_input(c, 3, |rows| (rows < 0).then(|| format!("Cannot specify a negative value for {name}: {rows}")))?
    } else {
        dims::UNKNOWN
    };
    c.set_output(0, PartialShape::new(&[rows]).concat(&dims::suffix(&data, 1)));
    Ok(())
}

/// A reduction of a sparse tensor to a dense one, if shape and axes are known.
pub(crate) fn sparse_reduce(c: &mut Context<'_>) -> Result<()> {
    let keep_dims: bool = c.attrs().get("keep_dims")?;
    let (Some(sizes), Some(axes)) = (common::ints(c, 2)?, common::ints(c, 3)?) else { return Ok(()) };
    let rank = sizes.len() as i64;
    let mut reduced = vec![false; sizes.len()];
    for axis in axes {
        let index = if axis < 0 { axis + rank } else { axis };
        match usize::try_from(index).ok().and_then(|i| reduced.get_mut(i)) {
            Some(reduced) => *reduced = true,
            None => bail!(InvalidArgument, "Invalid reduction dimension {axis} for input with {rank} dimensions."),
        }
    }
    let kept = sizes.iter().zip(reduced).filter_map(|(&size, reduced)| if reduced { keep_dims.then_some(1) } else { Some(size) });
    c.set_output(0, kept.collect());
    Ok(())
}

/// The values of the sparse tensor in inputs 0 to 2.
pub(crate) fn sparse_values(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    let count = common::expect_vector(c, 1)?;
    c.set_output(0, PartialShape::new(&[count]));
    Ok(())
}

/// One value per index.
pub(crate) fn sparse_dense_cwise(c: &mut Context<'_>) -> Result<()> {
    let indices = dims::with_rank(&c.input(0), 2)?;
    c.set_output(0, PartialShape::new(&[dims::size(&indices, 0)]));
    Ok(())
}

/// The sum of two sparse tensors, of the first one's rank.
pub(crate) fn sparse_add(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank(&c.input(2), 1)?;
    set_sparse(c, 0, dims::UNKNOWN, dims::size(&shape, 0));
    Ok(())
}

/// Gradients of the values of two sparse tensors.
pub(crate) fn sparse_add_grad(c: &mut Context<'_>) -> Result<()> {
    for (output, input) in [(0, 1), (1, 2)] {
        let indices = dims::with_rank(&c.input(input), 2)?;
        c.set_output(output, PartialShape::new(&[dims::size(&indices, 0)]));
    }
    Ok(())
}

/// The union of the elements of two sparse tensors: indices and values.
pub(crate) fn sparse_sparse(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::unknown_of_rank(2));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// The gradient of the values in input 1.
pub(crate) fn sparse_slice_grad(c: &mut Context<'_>) -> Result<()> {
    let indices = dims::with_rank(&c.input(1), 2)?;
    c.set_output(0, PartialShape::new(&[dims::size(&indices, 0)]));
    Ok(())
}

/// Crossed features: a sparse matrix.
pub(crate) fn sparse_cross(c: &mut Context<'_>) -> Result<()> {
    set_sparse(c, 0, dims::UNKNOWN, 2);
    Ok(())
}

/// Crosses that are ragged: values, and splits of as many rows as each input has.
pub(crate) fn ragged_cross(c: &mut Context<'_>) -> Result<()> {
    let ragged = c.attrs().list::<DType>("ragged_values_types")?.len();
    let dense = c.attrs().list::<DType>("dense_types")?.len();
    let mut rows = Vec::with_capacity(ragged + dense);
    for i in ragged..2 * ragged {
        let splits = dims::size(&c.input(i), 0);
        rows.push(if splits > 0 { splits - 1 } else { dims::UNKNOWN });
    }
    for i in c.num_inputs() - dense..c.num_inputs() {
        match c.input(i).rank() {
            Some(2) | None => rows.push(dims::size(&c.input(i), 0)),
            Some(_) => bail!(InvalidArgument, "tf.ragged.cross only supports inputs with rank=2"),
        }
    }
    rows.retain(|&n| n >= 0);
    if rows.windows(2).any(|pair| pair[0] != pair[1]) {
        bail!(InvalidArgument, "inputs must all have the same batch dimension size.");
    }
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(1, PartialShape::new(&[rows.first().map_or(dims::UNKNOWN, |n| n + 1)]));
    Ok(())
}

/// Rows of numbers from starts to limits: splits, then values.
pub(crate) fn ragged_range(c: &mut Context<'_>) -> Result<()> {
    let mut rows = dims::UNKNOWN;
    for i in 0..3 {
        let input = dims::with_rank_at_most(&c.input(i), 1)?;
        if input.rank() == Some(1) {
            rows = dims::merge(dims::size(&input, 0), rows)?;
        }
    }
    if (0..3).all(|i| c.input(i).rank() == Some(0)) {
        rows = 1;
    }
    c.set_output(0, PartialShape::new(&[dims::add(rows, 1)?]));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Rows of a ragged tensor: splits for each dimension, then values.
pub(crate) fn ragged_gather(c: &mut Context<'_>) -> Result<()> {
    let splits: i64 = c.attrs().get("PARAMS_RAGGED_RANK")?;
    let splits = usize::try_from(splits).unwrap_or(0);
    for i in 0..splits {
        common::expect_vector(c, i)?;
    }
    let last = c.num_outputs().saturating_sub(1);
    for i in 0..last {
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN]));
    }
    let values = dims::with_rank_at_least(&c.input(splits), 1)?;
    c.set_output(last, PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&values, 1)));
    Ok(())
}

/// A ragged tensor as a sparse one, whose rank is one more than the splits plus the values'.
pub(crate) fn ragged_to_sparse(c: &mut Context<'_>) -> Result<()> {
    let splits = c.num_inputs().saturating_sub(1);
    let values = dims::with_rank_at_least(&c.input(splits), 1)?;
    for i in 0..splits {
        common::expect_vector(c, i)?;
    }
    let rank = values.rank().map_or(dims::UNKNOWN, |r| (r + splits) as i64);
    let count = values.num_elements().map_or(dims::UNKNOWN, |n| n as i64);
    set_sparse(c, 0, count, rank);
    Ok(())
}

/// A ragged tensor as a dense one of the shape in input 0, as far as that says.
pub(crate) fn ragged_to_tensor(c: &mut Context<'_>) -> Result<()> {
    let partitions: Vec<&str> = c.attrs().list("row_partition_types")?;
    let shape = super::shape_or_any(c, 0)?;
    // Row numbers need the number of rows beside them, which is no dimension of its own.
    let splits = partitions.len() - usize::from(partitions.first() == Some(&"FIRST_DIM_SIZE"));
    let values = dims::with_rank_at_least(&c.input(1), 1)?;
    let ragged = PartialShape::unknown_of_rank(splits + 1).concat(&dims::suffix(&values, 1));
    c.set_output(0, shape.merge(&ragged)?);
    Ok(())
}

/// A variant for the whole of a ragged tensor, or one for each row.
pub(crate) fn ragged_to_variant(c: &mut Context<'_>) -> Result<()> {
    let splits = c.num_inputs().saturating_sub(1);
    for i in 0..splits {
        common::expect_vector(c, i)?;
    }
    let values = dims::with_rank_at_least(&c.input(splits), 1)?;
    let rows = match (c.attrs().get::<bool>("batched_input")?, splits) {
        (false, _) => None,
        (true, 0) => Some(dims::size(&values, 0)),
        (true, _) => Some(dims::size(&c.input(0), 0)).map(|n| if n > 0 { n - 1 } else { dims::UNKNOWN }),
    };
    c.set_output(0, rows.map_or_else(PartialShape::scalar, |n| PartialShape::new(&[n])));
    Ok(())
}

/// The shape in input 2.
pub(crate) fn ragged_to_variant_gradient(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(2)?;
    c.set_output(0, shape);
    Ok(())
}

/// Splits of a ragged tensor, and values of which nothing is known.
pub(crate) fn ragged_from_variant(c: &mut Context<'_>) -> Result<()> {
    for i in 0..c.num_outputs().saturating_sub(1) {
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN]));
    }
    Ok(())
}

/// Like [`sparse_input`], with the messages of the ops that validate their sparse tensors.
fn validated_input(c: &Context<'_>, at: usize) -> Result<(i64, i64)> {
    let indices = dims::with_rank(&c.input(at), 2)?;
    let (values, shape) = (common::expect_vector(c, at + 1)?, common::expect_vector(c, at + 2)?);
    let (count, rank) = (dims::size(&indices, 0), dims::size(&indices, 1));
    if count >= 0 && values >= 0 && count != values {
        bail!(InvalidArgument, "Number of elements in index ({count}) and values ({values}) do not match.");
    }
    if rank >= 0 && shape >= 0 && rank != shape {
        bail!(InvalidArgument, "Index rank ({rank}) and shape rank ({shape}) do not match.");
    }
    Ok((count.max(values), rank.max(shape)))
}

/// The rank of two tensors that must have the same.
fn merged_rank(a: i64, b: i64) -> Result<i64> {
    if a >= 0 { dims::expect(b, a) } else { Ok(b) }
}

/// Operations on the sets of two dense tensors: a sparse tensor of their rank.
pub(crate) fn dense_to_dense_set(c: &mut Context<'_>) -> Result<()> {
    let (a, b) = (dims::with_rank_at_least(&c.input(0), 2)?, c.input(1));
    let rank = match a.rank() {
        Some(rank) => {
            let b = dims::with_rank(&b, rank)?;
            dims::without_last(&a, 1).merge(&dims::without_last(&b, 1))?;
            rank as i64
        }
        None => dims::with_rank_at_least(&b, 2)?.rank().map_or(dims::UNKNOWN, |r| r as i64),
    };
    set_sparse(c, 0, dims::UNKNOWN, rank);
    Ok(())
}

/// Like [`dense_to_dense_set`], with a sparse second tensor.
pub(crate) fn dense_to_sparse_set(c: &mut Context<'_>) -> Result<()> {
    let (_, rank) = validated_input(c, 1)?;
    let first = dims::with_rank_at_least(&c.input(0), 2)?.rank().map_or(dims::UNKNOWN, |r| r as i64);
    let rank = merged_rank(first, rank)?;
    set_sparse(c, 0, dims::UNKNOWN, rank);
    Ok(())
}

/// Like [`dense_to_dense_set`], with two sparse tensors.
pub(crate) fn sparse_to_sparse_set(c: &mut Context<'_>) -> Result<()> {
    let ((_, a), (_, b)) = (validated_input(c, 0)?, validated_input(c, 3)?);
    let rank = merged_rank(a, b)?;
    if (0..2).contains(&rank) {
        bail!(InvalidArgument, "Input 0, expected rank >= 2, got {rank}.");
    }
    set_sparse(c, 0, dims::UNKNOWN, rank);
    Ok(())
}

fn sparse_ranks(c: &Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    common::expect_vector(c, 1)?;
    common::expect_vector(c, 2).map(drop)
}

/// One sparse tensor as three strings.
pub(crate) fn serialize_sparse(c: &mut Context<'_>) -> Result<()> {
    sparse_ranks(c)?;
    common::vectors_of::<3>(c)
}

/// One row of three strings or variants per row of the sparse tensor.
pub(crate) fn serialize_many_sparse(c: &mut Context<'_>) -> Result<()> {
    sparse_ranks(c)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, 3]));
    Ok(())
}

/// Triples of any shape.
pub(crate) fn deserialize_sparse(c: &mut Context<'_>) -> Result<()> {
    let serialized = dims::with_rank_at_least(&c.input(0), 1)?;
    if let Some(rank) = serialized.rank() {
        dims::expect(dims::size(&serialized, rank - 1), 3)?;
    }
    set_sparse(c, 0, dims::UNKNOWN, dims::UNKNOWN);
    Ok(())
}

/// A matrix of triples.
pub(crate) fn deserialize_many_sparse(c: &mut Context<'_>) -> Result<()> {
    dims::expect(dims::size(&dims::with_rank(&c.input(0), 2)?, 1), 3)?;
    set_sparse(c, 0, dims::UNKNOWN, dims::UNKNOWN);
    Ok(())
}

/// A distance for each row of two sparse tensors.
pub(crate) fn edit_distance(c: &mut Context<'_>) -> Result<()> {
    validated_input(c, 0)?;
    validated_input(c, 3)?;
    let (Some(hypothesis), Some(truth)) = (common::ints(c, 2)?, common::ints(c, 5)?) else { return Ok(()) };
    if hypothesis.len() != truth.len() {
        bail!(InvalidArgument, "Num elements of hypothesis_shape does not match truth_shape: {} vs. {}", hypothesis.len(), truth.len());
    }
    let sizes: Vec<i64> = hypothesis.iter().zip(&truth).map(|(&a, &b)| a.max(b)).collect();
    c.set_output(0, PartialShape::new(&sizes[..sizes.len().saturating_sub(1)]));
    Ok(())
}

/// The gradients of the rows that some segment has, and the numbers of these rows.
pub(crate) fn sparse_segment_grad_v2(c: &mut Context<'_>) -> Result<()> {
    let data = dims::with_rank_at_least(&c.input(0), 1)?;
    let indices = dims::with_rank(&c.input(1), 1)?;
    dims::with_rank(&c.input(2), 1)?.merge(&indices)?;
    common::expect_scalar(c, 3)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]).concat(&dims::suffix(&data, 1)));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Counts of the values of a vector or a matrix, of the same rank; weights have the same shape or no elements.
pub(crate) fn dense_count(c: &mut Context<'_>) -> Result<()> {
    let (values, weights) = (c.input(0), c.input(1));
    let shape = if weights.num_elements() == Some(0) { values } else { weights.merge(&values)? };
    set_sparse(c, 0, dims::UNKNOWN, shape.rank().map_or(dims::UNKNOWN, |rank| rank as i64));
    Ok(())
}

/// Counts of the values of a sparse tensor, of the same rank.
pub(crate) fn sparse_count(c: &mut Context<'_>) -> Result<()> {
    let indices = c.input(0);
    dims::with_rank(&indices, 2)?;
    set_sparse(c, 0, dims::UNKNOWN, dims::size(&indices, 1));
    Ok(())
}

/// Counts of the values of a ragged tensor, whose rank is one more than that of its values.
pub(crate) fn ragged_count(c: &mut Context<'_>) -> Result<()> {
    let rank = c.input(1).rank().map_or(dims::UNKNOWN, |rank| rank as i64 + 1);
    set_sparse(c, 0, dims::UNKNOWN, rank);
    Ok(())
}

/// The number of a sparse tensor.
pub(crate) fn add_sparse_to_tensors_map(c: &mut Context<'_>) -> Result<()> {
    parts_of_rank(c)?;
    c.set_output(0, PartialShape::scalar());
    Ok(())
}

/// The numbers of the sparse tensors along the first dimension.
pub(crate) fn add_many_sparse_to_tensors_map(c: &mut Context<'_>) -> Result<()> {
    parts_of_rank(c)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Inputs 0 to 2 have the ranks of a sparse tensor's parts; their sizes are not compared.
fn parts_of_rank(c: &Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    common::expect_vector(c, 1)?;
    common::expect_vector(c, 2)?;
    Ok(())
}

/// A sparse tensor of unknown sizes.
pub(crate) fn take_many_sparse_from_tensors_map(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    set_sparse(c, 0, dims::UNKNOWN, dims::UNKNOWN);
    Ok(())
}
