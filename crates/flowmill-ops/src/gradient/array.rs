//! Gradients of what moves elements about.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad, IndexedSlices};
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

fn int_attr(b: &B<'_>, op: &Backward, name: &str) -> Result<i64> {
    b.graph().node(op.node)?.attrs().get_or(name, 0)
}

/// The gradient in the shape of the input: for `Reshape`, `Squeeze`, `ExpandDims`.
pub(crate) fn reshape(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.reshape_like(dy, op.inputs[0])?, op.inputs.len() - 1)
}

pub(crate) fn transpose(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let back = b.call("InvertPermutation", &[op.inputs[1]])?;
    first(b.call("Transpose", &[dy, back])?, 1)
}

/// Cuts a gradient along an axis into parts of the shapes of `parts`.
fn cut(b: &mut B<'_>, op: &Backward, parts: &[OutputId], axis: OutputId) -> Result<Vec<OutputId>> {
    let dy = op.dy(b, 0)?;
    if let [_] = parts {
        return Ok(vec![dy]);
    }
    let rank = b.rank_of(dy)?;
    let axis = b.wrapped(axis, rank)?;
    let mut shapes = Vec::with_capacity(parts.len());
    for &part in parts {
        shapes.push(b.dynamic_shape_of(part)?);
    }
    let mut inputs = vec![axis];
    inputs.extend_from_slice(&shapes);
    let offsets = b.op("ConcatOffset").inputs(&inputs).finish()?;
    (0..parts.len()).map(|i| b.call("Slice", &[dy, offsets.output(i as u32), shapes[i]])).collect()
}

pub(crate) fn concat_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let Some((&axis, parts)) = op.inputs.split_last() else { return Ok(Vec::new()) };
    let mut grads: Vec<Option<Grad>> = cut(b, op, parts, axis)?.into_iter().map(|g| Some(g.into())).collect();
    grads.push(None);
    Ok(grads)
}

pub(crate) fn concat(b: &mut B<'_>, op: &Backward) -> Grads {
    let Some((&axis, parts)) = op.inputs.split_first() else { return Ok(Vec::new()) };
    let mut grads = vec![None];
    grads.extend(cut(b, op, parts, axis)?.into_iter().map(|g| Some(g.into())));
    Ok(grads)
}

/// Returns the gradients of all parts as one tensor, for `Split` (axis, value) and `SplitV` (value, sizes, axis).
fn join(b: &mut B<'_>, op: &Backward, axis: OutputId) -> Result<OutputId> {
    let mut parts = Vec::with_capacity(op.grads.len() + 1);
    for i in 0..op.grads.len() {
        parts.push(op.dy(b, i)?);
    }
    // `ConcatV2` takes two tensors at least.
    if let [only] = parts[..] {
        return Ok(only);
    }
    parts.push(axis);
    b.call("ConcatV2", &parts)
}

pub(crate) fn split(b: &mut B<'_>, op: &Backward) -> Grads {
    let grad = join(b, op, op.inputs[0])?;
    Ok(vec![None, Some(grad.into())])
}

pub(crate) fn split_v(b: &mut B<'_>, op: &Backward) -> Grads {
    first(join(b, op, op.inputs[2])?, 2)
}

pub(crate) fn pack(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let axis = int_attr(b, op, "axis")?;
    let unpacked = b.op("Unpack").input(dy).attr("num", op.inputs.len() as i64).attr("axis", axis).finish()?;
    all((0..op.inputs.len()).map(|i| unpacked.output(i as u32)))
}

pub(crate) fn unpack(b: &mut B<'_>, op: &Backward) -> Grads {
    let axis = int_attr(b, op, "axis")?;
    let mut parts = Vec::with_capacity(op.grads.len());
    for i in 0..op.grads.len() {
        parts.push(op.dy(b, i)?);
    }
    first(b.op("Pack").inputs(&parts).attr("axis", axis).output()?, 0)
}

/// The gradient with zeros around it.
pub(crate) fn slice(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (input, begin) = (op.inputs[0], b.cast(op.inputs[1], DType::I32)?);
    let (whole, part) = (b.dynamic_shape_of(input)?, b.dynamic_shape_of(op.output(0))?);
    let rest = b.sub(whole, part)?;
    let after = b.sub(rest, begin)?;
    let paddings = b.op("Pack").inputs(&[begin, after]).attr("axis", 1i64).output()?;
    first(b.call("Pad", &[dy, paddings])?, 2)
}

pub(crate) fn strided_slice(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let wide = b.dtype(op.inputs[1]) == DType::I64;
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    let shape = if wide { b.cast(shape, DType::I64)? } else { shape };
    let masks = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let values: Vec<i64> = masks.iter().map(|m| int_attr(b, op, m)).collect::<Result<_>>()?;
    let mut grad = b.op("StridedSliceGrad").inputs(&[shape, op.inputs[1], op.inputs[2], op.inputs[3], dy]);
    for (mask, value) in masks.into_iter().zip(values) {
        grad = grad.attr(mask, value);
    }
    first(grad.output()?, 3)
}

/// `Pad`, `PadV2`: the part that is not padding.
pub(crate) fn pad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (input, paddings) = (op.inputs[0], op.inputs[1]);
    let rank = b.rank_of(input)?;
    let (one, begin) = (b.int(1)?, b.ints(&[0, 0])?);
    let size = b.op("Pack").inputs(&[rank, one]).output()?;
    let before = b.call("Slice", &[paddings, begin, size])?;
    let flat = b.ints(&[-1])?;
    let before = b.reshape(before, flat)?;
    let before = b.cast(before, DType::I32)?;
    let sizes = b.dynamic_shape_of(input)?;
    let grad = b.call("Slice", &[dy, before, sizes])?;
    let mut grads = vec![Some(grad.into()), None];
    if op.inputs.len() > 2 {
        // The padding's value gets what falls on the padding.
        let over = b.all_axes(dy)?;
        let everything = b.call("Sum", &[dy, over])?;
        let inside = b.call("Sum", &[grad, over])?;
        grads.push(Some(b.sub(everything, inside)?.into()));
    }
    Ok(grads)
}

/// Sums over the copies.
pub(crate) fn tile(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    let multiples = b.cast(op.inputs[1], DType::I32)?;
    // [m0, s0, m1, s1, ...]
    let pairs = b.op("Pack").inputs(&[multiples, shape]).attr("axis", 1i64).output()?;
    let flat = b.ints(&[-1])?;
    let split = b.reshape(pairs, flat)?;
    let (zero, two) = (b.int(0)?, b.int(2)?);
    let count = b.call("Size", &[split])?;
    let axes = b.call("Range", &[zero, count, two])?;
    let grad = b.reshape(dy, split)?;
    let sum = b.call("Sum", &[grad, axes])?;
    first(b.reshape(sum, shape)?, 1)
}

pub(crate) fn broadcast_to(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let [grad, _] = b.unbroadcast(op.inputs[0], op.output(0), dy, dy)?;
    first(grad, 1)
}

pub(crate) fn fill(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let axes = b.all_axes(dy)?;
    Ok(vec![None, Some(b.call("Sum", &[dy, axes])?.into())])
}

pub(crate) fn reverse_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.call("ReverseV2", &[dy, op.inputs[1]])?, 1)
}

pub(crate) fn reverse_sequence(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (sequence, batch) = (int_attr(b, op, "seq_dim")?, int_attr(b, op, "batch_dim")?);
    let grad = b.op("ReverseSequence").inputs(&[dy, op.inputs[1]]).attr("seq_dim", sequence).attr("batch_dim", batch).output()?;
    first(grad, 1)
}

/// The slices of `params` at `indices` along axis 0.
fn slices(b: &mut B<'_>, op: &Backward, indices: OutputId) -> Result<Grad> {
    let dy = op.dy(b, 0)?;
    let params = op.inputs[0];
    let dense_shape = match b.dtype(params) {
        DType::Resource => b.op("VariableShape").input(params).output()?,
        _ => b.dynamic_shape_of(params)?,
    };
    let flat = b.ints(&[-1])?;
    let (one, end, step) = (b.ints(&[1])?, b.ints(&[0])?, b.ints(&[1])?);
    let row = b.op("StridedSlice").inputs(&[dense_shape, one, end, step]).attr("end_mask", 1i64).output()?;
    let count = b.call("Size", &[indices])?;
    let axis = b.int(0)?;
    let count = b.op("Pack").input(count).output()?;
    let shape = b.call("ConcatV2", &[count, row, axis])?;
    let values = b.reshape(dy, shape)?;
    let indices = b.reshape(indices, flat)?;
    Ok(Grad::Slices(IndexedSlices { values, indices, dense_shape: Some(dense_shape) }))
}

pub(crate) fn gather(b: &mut B<'_>, op: &Backward) -> Grads {
    Ok(vec![Some(slices(b, op, op.inputs[1])?), None])
}

/// Along another axis than the first, or with batch dimensions, rows are brought to the front, summed, and brought back.
pub(crate) fn gather_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let (indices, axis) = (op.inputs[1], op.inputs[2]);
    let batch_dims = int_attr(b, op, "batch_dims")?;
    let is_first = b.constant_value(axis).and_then(|t| t.to_i64().ok()) == Some(0);
    if batch_dims == 0 && is_first {
        return Ok(vec![Some(slices(b, op, indices)?), None, None]);
    }
    Ok(vec![Some(batched_rows(b, op, batch_dims)?.into()), None, None])
}

/// The gradient of `params`, shaped `[batch, outer, rows, inner]`, from that of `[batch, outer, indices, inner]`. Each of these is any number of
/// dimensions: all are folded to one, and the rows of all batches are numbered consecutively.
fn batched_rows(b: &mut B<'_>, op: &Backward, batch_dims: i64) -> Result<OutputId> {
    let (params, indices, axis) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let dy = op.dy(b, 0)?;
    let shape = b.dynamic_shape_of(params)?;
    let rank = b.rank_of(params)?;
    let axis = b.wrapped(axis, rank)?;
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let index_rank = b.rank_of(indices)?;
    let mut batch_end = b.int(batch_dims as i32)?;
    if batch_dims < 0 {
        batch_end = b.add(index_rank, batch_end)?;
    }
    let index_shape = b.dynamic_shape_of(indices)?;
    let after = b.add(axis, one)?;
    let part = |b: &mut B<'_>, shape: OutputId, from: OutputId, to: OutputId| -> Result<OutputId> {
        let (from, to) = (b.op("Pack").input(from).output()?, b.op("Pack").input(to).output()?);
        let step = b.ints(&[1])?;
        let dims = b.call("StridedSlice", &[shape, from, to, step])?;
        let axes = b.ints(&[0])?;
        b.call("Prod", &[dims, axes])
    };
    let batch = part(b, index_shape, zero, batch_end)?;
    let count = part(b, index_shape, batch_end, index_rank)?;
    let outer = part(b, shape, batch_end, axis)?;
    let inner = part(b, shape, after, rank)?;
    let rows = b.call("GatherV2", &[shape, axis, zero])?;
    let folded = b.op("Pack").inputs(&[batch, outer, count, inner]).output()?;
    let values = b.reshape(dy, folded)?;
    let swapped = b.ints(&[0, 2, 1, 3])?;
    let values = b.call("Transpose", &[values, swapped])?;
    let places = b.mul(batch, count)?;
    let by_place = b.op("Pack").inputs(&[places, outer, inner]).output()?;
    let values = b.reshape(values, by_place)?;
    // Every batch's rows begin behind those of the one before.
    let total = b.mul(batch, rows)?;
    let numbers = b.call("Range", &[zero, batch, one])?;
    let starts = b.mul(numbers, rows)?;
    let starts = b.call("ExpandDims", &[starts, one])?;
    let dtype = b.dtype(indices);
    let starts = b.cast(starts, dtype)?;
    let matrix = b.op("Pack").inputs(&[batch, count]).output()?;
    let ids = b.reshape(indices, matrix)?;
    let ids = b.add(ids, starts)?;
    let flat = b.ints(&[-1])?;
    let ids = b.reshape(ids, flat)?;
    let sums = b.call("UnsortedSegmentSum", &[values, ids, total])?;
    let unfolded = b.op("Pack").inputs(&[batch, rows, outer, inner]).output()?;
    let sums = b.reshape(sums, unfolded)?;
    let sums = b.call("Transpose", &[sums, swapped])?;
    b.reshape(sums, shape)
}

/// Slices for indices of whole rows; other parts are scattered into zeros.
pub(crate) fn gather_nd(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let indices = op.inputs[1];
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    let dtype = b.dtype(indices);
    let shape = b.cast(shape, dtype)?;
    if let Some([_, 1]) = b.shape(indices).dims() {
        let flat = b.ints(&[-1])?;
        let indices = b.reshape(indices, flat)?;
        return Ok(vec![Some(Grad::Slices(IndexedSlices { values: dy, indices, dense_shape: Some(shape) })), None]);
    }
    let policy: String = b.graph().node(op.node)?.attrs().get_or("bad_indices_policy", "")?.to_owned();
    first(b.op("ScatterNd").inputs(&[indices, dy, shape]).attr("bad_indices_policy", policy.as_str()).output()?, 1)
}

pub(crate) fn scatter_nd(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    Ok(vec![None, Some(b.call("GatherNd", &[dy, op.inputs[0]])?.into()), None])
}

/// `Where` the gradients went: each part gets its rows back.
pub(crate) fn dynamic_stitch(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let half = op.inputs.len() / 2;
    let mut grads = vec![None; half];
    for &indices in &op.inputs[..half] {
        let axis = b.int(0)?;
        grads.push(Some(b.call("GatherV2", &[dy, indices, axis])?.into()));
    }
    Ok(grads)
}

pub(crate) fn dynamic_partition(b: &mut B<'_>, op: &Backward) -> Grads {
    let (data, partitions) = (op.inputs[0], op.inputs[1]);
    let count = op.grads.len() as i64;
    let shape = b.dynamic_shape_of(partitions)?;
    let (zero, one, axes) = (b.int(0)?, b.int(1)?, b.ints(&[0])?);
    let total = b.call("Prod", &[shape, axes])?;
    let places = b.call("Range", &[zero, total, one])?;
    let places = b.reshape(places, shape)?;
    let parts = b.op("DynamicPartition").inputs(&[places, partitions]).attr("num_partitions", count).finish()?;
    let mut inputs: Vec<OutputId> = (0..count as u32).map(|i| parts.output(i)).collect();
    for i in 0..op.grads.len() {
        inputs.push(op.dy(b, i)?);
    }
    let joined = b.op("DynamicStitch").inputs(&inputs).attr("N", count).output()?;
    first(b.reshape_like(joined, data)?, 1)
}

pub(crate) fn diag_part(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.call("Diag", &[dy])?, 0)
}

pub(crate) fn diag(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.call("DiagPart", &[dy])?, 0)
}

pub(crate) fn stop_gradient(_: &mut B<'_>, _: &Backward) -> Grads {
    Ok(vec![None])
}

/// Fails with the reason that the node gives.
pub(crate) fn prevent_gradient(b: &mut B<'_>, op: &Backward) -> Grads {
    let message: &str = b.graph().node(op.node)?.attrs().get_or("message", "")?;
    flowmill_tensor::bail!(NotFound, "Gradient explicitly disabled. Reason: {message}")
}
