//! Gradients of scatters into tensors, of strided updates, and of gathers out of variables.

use super::formula::Formula;
use super::{Grads, all, like};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad, IndexedSlices};
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

/// The gradients of (tensor, indices, updates).
fn of_scatter(tensor: OutputId, updates: OutputId) -> Grads {
    Ok(vec![Some(tensor.into()), None, Some(updates.into())])
}

/// Values that are overwritten get no gradient.
pub(crate) fn tensor_scatter_update(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (indices, updates) = (op.inputs[1], op.inputs[2]);
    let zeros = b.zeros_like(updates)?;
    let kept = b.call("TensorScatterUpdate", &[dy, indices, zeros])?;
    of_scatter(kept, b.call("GatherNd", &[dy, indices])?)
}

pub(crate) fn tensor_scatter_add(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    of_scatter(dy, b.call("GatherNd", &[dy, op.inputs[1]])?)
}

pub(crate) fn tensor_scatter_sub(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let updates = b.call("GatherNd", &[dy, op.inputs[1]])?;
    of_scatter(dy, b.neg(updates)?)
}

/// `TensorScatterMax`, `TensorScatterMin`: shared evenly by what is equal to the result.
pub(crate) fn tensor_scatter_extreme(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (tensor, indices, updates) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let dtype = b.dtype(dy);
    let is_kept = b.call("Equal", &[op.output(0), tensor])?;
    let kept = b.cast(is_kept, dtype)?;
    let results = b.call("GatherNd", &[op.output(0), indices])?;
    let is_taken = b.call("Equal", &[results, updates])?;
    let taken = b.cast(is_taken, dtype)?;
    let number = b.call("TensorScatterAdd", &[kept, indices, taken])?;
    let share = b.div(dy, number)?;
    let shares = b.call("GatherNd", &[share, indices])?;
    let (kept, taken) = (b.mul(kept, share)?, b.mul(taken, shares)?);
    of_scatter(kept, taken)
}

const MASKS: &[&str] = &["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];

/// (shape, begin, end, strides, dy): the strided slice of what comes.
pub(crate) fn strided_slice_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let grad = like(b, op, "StridedSlice", &[dy, op.inputs[1], op.inputs[2], op.inputs[3]], MASKS)?;
    Ok(vec![None, None, None, None, Some(grad.into())])
}

/// (input, begin, end, strides, value).
pub(crate) fn tensor_strided_slice_update(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let place = [op.inputs[1], op.inputs[2], op.inputs[3]];
    let value = like(b, op, "StridedSlice", &[&[dy], &place[..]].concat(), MASKS)?;
    let zeros = b.zeros_like(value)?;
    let input = like(b, op, "TensorStridedSliceUpdate", &[&[dy], &place[..], &[zeros]].concat(), MASKS)?;
    // The value may have been repeated over its place.
    let [value, _] = b.unbroadcast(op.inputs[4], value, value, value)?;
    Ok(vec![Some(input.into()), None, None, None, Some(value.into())])
}

/// Rows are slices; other parts of a variable are scattered into zeros.
pub(crate) fn resource_gather_nd(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (resource, indices) = (op.inputs[0], op.inputs[1]);
    let index_type = b.dtype(indices);
    let shape = b.op("VariableShape").input(resource).output()?;
    if let Some([_, 1]) = b.shape(indices).dims() {
        let flat = b.ints(&[-1])?;
        let indices = b.reshape(indices, flat)?;
        return Ok(vec![Some(Grad::Slices(IndexedSlices { values: dy, indices, dense_shape: Some(shape) })), None]);
    }
    let shape = if index_type == DType::I32 { shape } else { b.cast(shape, index_type)? };
    Ok(vec![Some(b.call("ScatterNd", &[indices, dy, shape])?.into()), None])
}

/// `MatrixSetDiag` and its later versions: (input, diagonal) and perhaps the diagonals' numbers.
pub(crate) fn matrix_set_diag(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let kind = b.graph().node(op.node)?.op().to_owned();
    let zeros = b.zeros_like(op.inputs[1])?;
    let rest = &op.inputs[2..];
    let input = like(b, op, &kind, &[&[dy, zeros], rest].concat(), &["align"])?;
    let diagonal = diagonal_of(b, op, dy, rest)?;
    let mut grads = all([input, diagonal])?;
    grads.resize(op.inputs.len(), None);
    Ok(grads)
}

/// The diagonals of a matrix in the form of the forward op's version, which its `k` (if any) and `align` say; zeros elsewhere.
pub(super) fn diagonal_of(b: &mut B<'_>, op: &Backward, matrix: OutputId, k: &[OutputId]) -> Result<OutputId> {
    let kind = b.graph().node(op.node)?.op();
    let (part, has_padding) = match kind {
        k if k.ends_with("V3") => ("MatrixDiagPartV3", true),
        k if k.ends_with("V2") => ("MatrixDiagPartV2", true),
        _ => ("MatrixDiagPart", false),
    };
    if !has_padding {
        return b.call(part, &[matrix]);
    }
    let zero = b.number(matrix, 0.0)?;
    like(b, op, part, &[matrix, k[0], zero], &["align"])
}
