//! Gradients of ops on sparse tensors and of sums over gathered segments.

use super::Grads;
use super::formula::Formula;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad, IndexedSlices};
use flowmill_tensor::{DType, Result, Tensor, bail};

type B<'a> = ScopedBuilder<'a>;

/// The gradient of input `i` alone.
pub(super) fn only(op: &Backward, i: usize, grad: OutputId) -> Grads {
    let mut grads: Vec<Option<Grad>> = vec![None; op.inputs.len()];
    grads[i] = Some(grad.into());
    Ok(grads)
}

fn long(b: &mut B<'_>, value: i64) -> Result<OutputId> {
    b.constant("Const", &Tensor::scalar(value))
}

/// One column of a matrix of indices.
fn column(b: &mut B<'_>, indices: OutputId, i: i32) -> Result<OutputId> {
    let (column, axis) = (b.int(i)?, b.int(1)?);
    b.call("GatherV2", &[indices, column, axis])
}

fn transposed(b: &mut B<'_>, x: OutputId) -> Result<OutputId> {
    let order = b.ints(&[1, 0])?;
    b.call("Transpose", &[x, order])
}

/// `A B` with a sparse `A`: (indices, values, shape, B). A value's gradient is the product of the row of `dy` and the one of `B` that it joins.
pub(crate) fn sparse_tensor_dense_mat_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (indices, values, shape, dense) = (op.inputs[0], op.inputs[1], op.inputs[2], op.inputs[3]);
    let attrs = b.graph().node(op.node)?.attrs();
    let (adj_a, adj_b) = (attrs.get_or("adjoint_a", false)?, attrs.get_or("adjoint_b", false)?);
    let product = b.op("SparseTensorDenseMatMul").inputs(&[indices, values, shape, dy]).attr("adjoint_a", !adj_a).output()?;
    let ddense = if adj_b {
        let turned = transposed(b, product)?;
        b.conj(turned)?
    } else {
        product
    };
    let (rows, columns) = (column(b, indices, 0)?, column(b, indices, 1)?);
    let (of_dy, of_dense) = if adj_a { (columns, rows) } else { (rows, columns) };
    let dense = if adj_b { transposed(b, dense)? } else { b.conj(dense)? };
    let axis = b.int(0)?;
    let left = b.call("GatherV2", &[dy, of_dy, axis])?;
    let right = b.call("GatherV2", &[dense, of_dense, axis])?;
    let products = b.mul(left, right)?;
    let over = b.ints(&[-1])?;
    let dvalues = b.call("Sum", &[products, over])?;
    let dvalues = if adj_a { b.conj(dvalues)? } else { dvalues };
    Ok(vec![None, Some(dvalues.into()), None, Some(ddense.into())])
}

/// (indices, shape, values, default): the default gets what falls elsewhere.
pub(crate) fn sparse_to_dense(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (indices, values) = (op.inputs[0], op.inputs[2]);
    let indices = match b.shape(indices).rank() {
        Some(2) => indices,
        Some(_) => {
            let shape = b.ints(&[-1, 1])?;
            b.reshape(indices, shape)?
        }
        None => bail!(Unimplemented, "The gradient of SparseToDense needs to know the rank of its indices"),
    };
    let places = b.call("GatherNd", &[dy, indices])?;
    let over = b.all_axes(dy)?;
    let everything = b.call("Sum", &[dy, over])?;
    let over = b.all_axes(places)?;
    let given = b.call("Sum", &[places, over])?;
    // A scalar is the value of all.
    let dvalues = if b.shape(values).rank() == Some(0) { given } else { places };
    let ddefault = b.sub(everything, given)?;
    Ok(vec![None, None, Some(dvalues.into()), Some(ddefault.into())])
}

/// (indices, values, shape) -> (indices, values): the same order of the places, undone.
pub(crate) fn sparse_reorder(b: &mut B<'_>, op: &Backward) -> Grads {
    let dvalues = op.dy(b, 1)?;
    let (zero, one, count) = (b.int(0)?, b.int(1)?, b.call("Size", &[op.inputs[1]])?);
    let places = b.call("Range", &[zero, count, one])?;
    let order = b.op("SparseReorder").inputs(&[op.inputs[0], places, op.inputs[2]]).finish()?.output(1);
    let back = b.call("InvertPermutation", &[order])?;
    only(op, 1, b.call("GatherV2", &[dvalues, back, zero])?)
}

/// A tensor's shape as `int64`, with ones in front up to the rank of `shape`, to which it broadcasts.
fn padded_shape(b: &mut B<'_>, dense: OutputId, shape: OutputId) -> Result<OutputId> {
    let dense_shape = b.dynamic_shape_of(dense)?;
    let dense_shape = b.cast(dense_shape, DType::I64)?;
    let (rank, have) = (b.call("Size", &[shape])?, b.call("Size", &[dense_shape])?);
    let missing = b.sub(rank, have)?;
    let (missing, one, axis) = (b.op("Pack").input(missing).output()?, long(b, 1)?, b.int(0)?);
    let ones = b.call("Fill", &[missing, one])?;
    b.call("ConcatV2", &[ones, dense_shape, axis])
}

/// The elements of a dense tensor that meet the values of a sparse tensor under broadcasting.
struct Met {
    /// The dense elements, conjugated.
    elements: OutputId,
    /// Their places in the dense tensor.
    places: OutputId,
    /// The dense shape, with ones in front up to the sparse one's rank.
    shape: OutputId,
}

impl Met {
    /// Finds the elements for a node whose inputs are (indices, values, shape, dense).
    fn of(b: &mut B<'_>, op: &Backward) -> Result<Met> {
        let (indices, sparse_shape, dense) = (op.inputs[0], op.inputs[2], op.inputs[3]);
        let shape = padded_shape(b, dense, sparse_shape)?;
        let scale = b.call("FloorDiv", &[sparse_shape, shape])?;
        let places = b.call("FloorDiv", &[indices, scale])?;
        let whole = b.reshape(dense, shape)?;
        let elements = b.call("GatherNd", &[whole, places])?;
        Ok(Met { elements: b.conj(elements)?, places, shape })
    }

    /// The dense tensor's gradient, of what each value gives.
    fn sum(&self, b: &mut B<'_>, shares: OutputId, dense: OutputId) -> Result<OutputId> {
        let sum = b.call("ScatterNd", &[self.places, shares, self.shape])?;
        b.reshape_like(sum, dense)
    }
}

/// (indices, values, shape, dense), of which the dense one broadcasts.
pub(crate) fn sparse_dense_cwise_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let met = Met::of(b, op)?;
    let dvalues = b.mul(dy, met.elements)?;
    let values = b.conj(op.inputs[1])?;
    let shares = b.mul(dy, values)?;
    let ddense = met.sum(b, shares, op.inputs[3])?;
    Ok(vec![None, Some(dvalues.into()), None, Some(ddense.into())])
}

/// (indices, values, shape, dense), of which the dense one broadcasts.
pub(crate) fn sparse_dense_cwise_div(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let met = Met::of(b, op)?;
    let dvalues = b.call("RealDiv", &[dy, met.elements])?;
    let values = b.conj(op.inputs[1])?;
    let quotients = b.call("RealDiv", &[values, met.elements])?;
    let shares = b.mul(dvalues, quotients)?;
    let shares = b.call("Neg", &[shares])?;
    let ddense = met.sum(b, shares, op.inputs[3])?;
    Ok(vec![None, Some(dvalues.into()), None, Some(ddense.into())])
}

/// No gradients, as in TensorFlow.
pub(crate) fn sparse_dense_cwise_add(_: &mut B<'_>, _: &Backward) -> Grads {
    bail!(Unimplemented, "Gradient for SparseDenseCwiseAdd is not implemented.")
}

/// (indices, values, shape, axes): each value gets what its sum does.
pub(crate) fn sparse_reduce_sum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (indices, shape, axes) = (op.inputs[0], op.inputs[2], op.inputs[3]);
    // The shape with ones where it is summed.
    let (zero, one, rank) = (b.int(0)?, b.int(1)?, b.call("Size", &[shape])?);
    let flat = b.ints(&[-1])?;
    let axes = b.reshape(axes, flat)?;
    let axes = b.wrapped(axes, rank)?;
    let all_axes = b.call("Range", &[zero, rank, one])?;
    let axes_shape = b.dynamic_shape_of(axes)?;
    let long_one = long(b, 1)?;
    let ones = b.call("Fill", &[axes_shape, long_one])?;
    let kept = b.op("DynamicStitch").inputs(&[all_axes, axes, shape, ones]).attr("N", 2i64).output()?;
    let dy = b.reshape(dy, kept)?;
    let scale = b.call("FloorDiv", &[shape, kept])?;
    let places = b.call("FloorDiv", &[indices, scale])?;
    only(op, 1, b.call("GatherNd", &[dy, places])?)
}

/// (indices, values, shape): a softmax over the last dimension's values that are there.
pub(crate) fn sparse_softmax(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (indices, shape, y) = (op.inputs[0], op.inputs[2], op.output(0));
    let weighted = b.mul(dy, y)?;
    let last = b.ints(&[-1])?;
    let sums = b.call("SparseReduceSum", &[indices, weighted, shape, last])?;
    let (begin, end, step) = (b.ints(&[0, 0])?, b.ints(&[0, -1])?, b.ints(&[1, 1])?);
    let rows = b.op("StridedSlice").inputs(&[indices, begin, end, step]).attr("begin_mask", 3i64).attr("end_mask", 1i64).output()?;
    let sums = b.call("GatherNd", &[sums, rows])?;
    let centred = b.sub(dy, sums)?;
    only(op, 1, b.mul(centred, y)?)
}

/// (indices, values, shape, dense).
pub(crate) fn sparse_tensor_dense_add(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let dvalues = b.call("GatherNd", &[dy, op.inputs[0]])?;
    Ok(vec![None, Some(dvalues.into()), None, Some(dy.into())])
}

/// (indices, values, shape, default) -> (indices, values, is_empty, places of the values).
pub(crate) fn sparse_fill_empty_rows(b: &mut B<'_>, op: &Backward) -> Grads {
    of_fill_empty_rows(b, op, "SparseFillEmptyRowsGrad")
}

/// (rows, values, number of rows, default) -> as those of [`sparse_fill_empty_rows`].
pub(crate) fn ragged_fill_empty_rows(b: &mut B<'_>, op: &Backward) -> Grads {
    of_fill_empty_rows(b, op, "RaggedFillEmptyRowsGrad")
}

fn of_fill_empty_rows(b: &mut B<'_>, op: &Backward, grad: &str) -> Grads {
    let dvalues = op.dy(b, 1)?;
    let node = b.op(grad).inputs(&[op.output(3), dvalues]).finish()?;
    Ok(vec![None, Some(node.output(0).into()), None, Some(node.output(1).into())])
}

/// (indices, values, shape, start, size) -> (indices, values, shape): a slice of the values' numbers says which are there.
pub(crate) fn sparse_slice(b: &mut B<'_>, op: &Backward) -> Grads {
    let dvalues = op.dy(b, 1)?;
    let values = op.inputs[1];
    let (zero, one, count) = (b.int(0)?, b.int(1)?, b.call("Size", &[values])?);
    let numbers = b.call("Range", &[zero, count, one])?;
    let places = b.op("SparseSlice").inputs(&[op.inputs[0], numbers, op.inputs[2], op.inputs[3], op.inputs[4]]).finish()?.output(1);
    only(op, 1, b.call("UnsortedSegmentSum", &[dvalues, places, count])?)
}

/// (data, indices, segments) and perhaps their number: `kind` divides as the forward op does. The rows that were chosen alone, if the node asks
/// for that.
fn of_sparse_segments(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    if b.graph().node(op.node)?.attrs().get_or("sparse_gradient", false)? {
        let unique = b.op("Unique").input(op.inputs[1]).finish()?;
        let rows = b.call("Size", &[unique.output(0)])?;
        let values = b.call(kind, &[dy, unique.output(1), op.inputs[2], rows])?;
        let mut grads = vec![None; op.inputs.len()];
        grads[0] = Some(Grad::Slices(IndexedSlices { values, indices: unique.output(0), dense_shape: Some(shape) }));
        return Ok(grads);
    }
    let zero = b.int(0)?;
    let rows = b.call("GatherV2", &[shape, zero, zero])?;
    only(op, 0, b.call(kind, &[dy, op.inputs[1], op.inputs[2], rows])?)
}

pub(crate) fn sparse_segment_sum(b: &mut B<'_>, op: &Backward) -> Grads {
    of_sparse_segments(b, op, "SparseSegmentSumGrad")
}

pub(crate) fn sparse_segment_mean(b: &mut B<'_>, op: &Backward) -> Grads {
    of_sparse_segments(b, op, "SparseSegmentMeanGrad")
}

pub(crate) fn sparse_segment_sqrt_n(b: &mut B<'_>, op: &Backward) -> Grads {
    of_sparse_segments(b, op, "SparseSegmentSqrtNGrad")
}

/// (indices, values, shape) of both operands and a threshold -> (indices, values, shape).
pub(crate) fn sparse_add(b: &mut B<'_>, op: &Backward) -> Grads {
    let dvalues = op.dy(b, 1)?;
    let node = b.op("SparseAddGrad").inputs(&[dvalues, op.inputs[0], op.inputs[3], op.output(0)]).finish()?;
    Ok(vec![None, Some(node.output(0).into()), None, None, Some(node.output(1).into()), None, None])
}

/// No gradients, as in TensorFlow.
pub(crate) fn sparse_sparse(_: &mut B<'_>, _: &Backward) -> Grads {
    bail!(Unimplemented, "Gradients for SparseSparseMaximum and SparseSparseMinimum are not implemented.")
}
