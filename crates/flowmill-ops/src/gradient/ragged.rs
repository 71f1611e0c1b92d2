//! Gradients of ragged tensors' ops: those of the flat values; row splits have none.

use super::Grads;
use super::formula::Formula;
use super::sparse::only;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad, IndexedSlices};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Tensor, bail};

type B<'a> = ScopedBuilder<'a>;

/// A vector without its first `begin` elements.
fn behind(b: &mut B<'_>, x: OutputId, begin: i32) -> Result<OutputId> {
    let (begin, end, step) = (b.ints(&[begin])?, b.ints(&[0])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[x, begin, end, step]).attr("end_mask", 1i64).output()
}

/// The first `end` elements of a vector.
fn before(b: &mut B<'_>, x: OutputId, end: i32) -> Result<OutputId> {
    let (begin, end, step) = (b.ints(&[0])?, b.ints(&[end])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[x, begin, end, step]).attr("begin_mask", 1i64).output()
}

fn gather(b: &mut B<'_>, x: OutputId, indices: OutputId) -> Result<OutputId> {
    let axis = b.int(0)?;
    b.call("GatherV2", &[x, indices, axis])
}

/// A ragged tensor's values as a sparse tensor: (row splits…, values) -> (indices, values, shape).
pub(crate) fn ragged_tensor_to_sparse(b: &mut B<'_>, op: &Backward) -> Grads {
    let dvalues = op.dy(b, 1)?;
    let last = op.inputs.len() - 1;
    only(op, last, b.reshape_like(dvalues, op.inputs[last])?)
}

/// (shape, values, default, partitions…): each value gets the gradient at its place, the default the sum over all other places.
///
/// The op itself, on the values' numbers, says whose place is which.
pub(crate) fn ragged_tensor_to_tensor(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (values, default) = (op.inputs[1], op.inputs[2]);
    let kinds: Vec<String> = b.graph().node(op.node)?.attrs().list::<&str>("row_partition_types")?.into_iter().map(str::to_owned).collect();
    let ragged_rank = kinds.iter().filter(|kind| *kind != "FIRST_DIM_SIZE").count() as i32;
    let (zero, one, none) = (b.int(0)?, b.int(1)?, b.int(-1)?);
    let (shape, dense_shape) = (b.dynamic_shape_of(dy)?, b.dynamic_shape_of(values)?);
    let outer = before(b, shape, ragged_rank + 1)?;
    let count = b.call("GatherV2", &[dense_shape, zero, zero])?;
    let numbers = b.call("Range", &[zero, count, one])?;
    let node = b.op("RaggedTensorToTensor").inputs(&[outer, numbers, none]).inputs(&op.inputs[3..]);
    let kinds =
        flowmill_proto::attr_value::ListValue { s: kinds.into_iter().map(|k| k.into_bytes().into()).collect(), ..Default::default() };
    let numbers = node.attr("row_partition_types", kinds).output()?;
    // One row for each place.
    let flat = b.ints(&[-1])?;
    let numbers = b.reshape(numbers, flat)?;
    let row = behind(b, dense_shape, 1)?;
    let places = b.call("Size", &[numbers])?;
    let places = b.op("Pack").input(places).output()?;
    let rows = b.call("ConcatV2", &[places, row, zero])?;
    let rows = b.reshape(dy, rows)?;
    let is_default = b.call("Equal", &[numbers, none])?;
    let is_value = b.call("LogicalNot", &[is_default])?;
    let (of_values, of_default) = (places_where(b, is_value)?, places_where(b, is_default)?);
    let slices =
        IndexedSlices { values: gather(b, rows, of_values)?, indices: gather(b, numbers, of_values)?, dense_shape: Some(dense_shape) };
    let rest = gather(b, rows, of_default)?;
    let (rest_shape, default_shape) = (b.dynamic_shape_of(rest)?, b.dynamic_shape_of(default)?);
    // The default was broadcast to all rows.
    let axes = b.op("BroadcastGradientArgs").inputs(&[default_shape, rest_shape]).finish()?.output(0);
    let ddefault = b.call("Sum", &[rest, axes])?;
    let ddefault = b.reshape(ddefault, default_shape)?;
    let mut grads = vec![None, Some(Grad::Slices(slices)), Some(ddefault.into())];
    grads.resize(op.inputs.len(), None);
    Ok(grads)
}

/// The indices of what is true of a vector.
fn places_where(b: &mut B<'_>, cond: OutputId) -> Result<OutputId> {
    let (places, flat) =
        (b.op("Where").input(cond).attr("T", AttrValue::from(Value::Type(DType::Bool.number()))).output()?, b.ints(&[-1])?);
    b.reshape(places, flat)
}

/// (row splits…, values, indices) -> (row splits…, values): each value gets the sum of the gradients at all places that it was taken to.
pub(crate) fn ragged_gather(b: &mut B<'_>, op: &Backward) -> Grads {
    let [splits @ .., values, indices] = &op.inputs[..] else { bail!(Internal, "RaggedGather of {} inputs", op.inputs.len()) };
    let dvalues = op.dy(b, op.grads.len() - 1)?;
    let Some((&outer, inner)) = splits.split_first() else { bail!(Internal, "RaggedGather without row splits") };
    // Where each row's values begin, and where the last one's end.
    let mut bounds = outer;
    for &splits in inner {
        bounds = gather(b, splits, bounds)?;
    }
    let flat = b.ints(&[-1])?;
    let rows = b.reshape(*indices, flat)?;
    let ends = behind(b, bounds, 1)?;
    let (begin, end) = (gather(b, bounds, rows)?, gather(b, ends, rows)?);
    let one = b.int(1)?;
    let dtype = b.dtype(begin);
    let one = b.cast(one, dtype)?;
    let ranges = b.op("RaggedRange").inputs(&[begin, end, one]).attr("Tsplits", AttrValue::from(Value::Type(dtype.number()))).finish()?;
    let dense_shape = b.dynamic_shape_of(*values)?;
    let slices = IndexedSlices { values: dvalues, indices: ranges.output(1), dense_shape: Some(dense_shape) };
    let mut grads = vec![None; op.inputs.len()];
    grads[splits.len()] = Some(Grad::Slices(slices));
    Ok(grads)
}

/// (row splits…, values) -> variants.
pub(crate) fn ragged_tensor_to_variant(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let last = op.inputs.len() - 1;
    let values = op.inputs[last];
    // A scalar means no splits.
    let splits = if last == 0 { b.constant("row_splits", &Tensor::scalar(0i64))? } else { op.inputs[0] };
    let (shape, dtype) = (b.dynamic_shape_of(values)?, AttrValue::from(Value::Type(b.dtype(values).number())));
    let node = b.op("RaggedTensorToVariantGradient").inputs(&[dy, splits, shape]);
    only(op, last, node.attr("Tvalues", dtype).output()?)
}

/// variants -> (row splits…, values).
pub(crate) fn ragged_tensor_from_variant(b: &mut B<'_>, op: &Backward) -> Grads {
    let last = op.grads.len() - 1;
    let dvalues = op.dy(b, last)?;
    let batched = match b.shape(op.inputs[0]).rank() {
        Some(rank @ (0 | 1)) => rank == 1,
        None => last > 0,
        Some(_) => {
            bail!(InvalidArgument, "Unable to compute gradient: RaggedTensorToVariant can currently only generate 0D or 1D output.")
        }
    };
    let splits: Vec<OutputId> = (0..last as u32).map(|i| op.output(i)).collect();
    let node = b.op("RaggedTensorToVariant").inputs(&splits).input(dvalues).attr("batched_input", batched);
    only(op, 0, node.output()?)
}
