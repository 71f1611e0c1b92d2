//! Gradients of tensor lists: lists of the elements' gradients.

use super::formula::Formula;
use super::tensor_array::element_shape;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// The forward node's element type.
fn dtype(b: &B<'_>, op: &Backward) -> Result<AttrValue> {
    Ok(b.graph().node(op.node)?.attrs().attr("element_dtype").cloned().unwrap_or_default())
}

/// A node that has the forward node's element type.
fn call(b: &mut B<'_>, op: &Backward, kind: &str, inputs: &[OutputId]) -> Result<OutputId> {
    let dtype = dtype(b, op)?;
    b.op(kind).inputs(inputs).attr("element_dtype", dtype).output()
}

/// The shape of a list's elements.
fn shape_of_elements(b: &mut B<'_>, list: OutputId) -> Result<OutputId> {
    let int32 = AttrValue::from(flowmill_proto::attr_value::Value::Type(flowmill_tensor::DType::I32.number()));
    b.op("TensorListElementShape").input(list).attr("shape_type", int32).output()
}

/// (list, tensor).
pub(crate) fn tensor_list_push_back(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let shape = b.shape_of(op.inputs[1])?;
    let popped = call(b, op, "TensorListPopBack", &[dlist, shape])?.node;
    Ok(vec![Some(popped.output(0).into()), Some(popped.output(1).into())])
}

/// (list, element_shape) -> (list, tensor).
pub(crate) fn tensor_list_pop_back(b: &mut B<'_>, op: &Backward) -> Grads {
    let dtensor = op.dy(b, 1)?;
    let dlist = op.dy(b, 0)?;
    first(call(b, op, "TensorListPushBack", &[dlist, dtensor])?, 1)
}

/// (list, element_shape).
pub(crate) fn tensor_list_stack(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(call(b, op, "TensorListFromTensor", &[dy, op.inputs[1]])?, 1)
}

/// (tensor, element_shape).
pub(crate) fn tensor_list_from_tensor(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let tensor = op.inputs[0];
    let shape = element_shape(b, tensor)?;
    let rows = b.shape(tensor).dims().and_then(|d| d.first().copied()).unwrap_or(-1);
    let dtype = dtype(b, op)?;
    let grad = b.op("TensorListStack").inputs(&[dlist, shape]).attr("element_dtype", dtype).attr("num_elements", rows).output()?;
    first(grad, 1)
}

/// (list, index, element_shape): a list of zeros but for the element.
pub(crate) fn tensor_list_get_item(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let length = b.op("TensorListLength").input(op.inputs[0]).output()?;
    let shape = shape_of_elements(b, op.inputs[0])?;
    let empty = call(b, op, "TensorListReserve", &[shape, length])?;
    first(call(b, op, "TensorListSetItem", &[empty, op.inputs[1], dy])?, 2)
}

/// (list, index, item): the item replaces the element.
pub(crate) fn tensor_list_set_item(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let (index, item) = (op.inputs[1], op.inputs[2]);
    let shape = b.dynamic_shape_of(item)?;
    let ditem = call(b, op, "TensorListGetItem", &[dlist, index, shape])?;
    let zeros = b.zeros_like(item)?;
    let dlist = call(b, op, "TensorListSetItem", &[dlist, index, zeros])?;
    Ok(vec![Some(dlist.into()), None, Some(ditem.into())])
}

/// (list, size).
pub(crate) fn tensor_list_resize(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let length = b.op("TensorListLength").input(op.inputs[0]).output()?;
    first(b.op("TensorListResize").inputs(&[dlist, length]).output()?, 1)
}

/// (list, indices, element_shape).
pub(crate) fn tensor_list_gather(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let length = b.op("TensorListLength").input(op.inputs[0]).output()?;
    let shape = shape_of_elements(b, op.inputs[0])?;
    first(call(b, op, "TensorListScatterV2", &[dy, op.inputs[1], shape, length])?, 2)
}

/// (tensor, indices, element_shape) and perhaps the list's length.
pub(crate) fn tensor_list_scatter(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let shape = element_shape(b, op.inputs[0])?;
    first(call(b, op, "TensorListGather", &[dlist, op.inputs[1], shape])?, op.inputs.len() - 1)
}

/// (list, tensor, indices).
pub(crate) fn tensor_list_scatter_into_existing(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let (tensor, indices) = (op.inputs[1], op.inputs[2]);
    let shape = element_shape(b, tensor)?;
    let dtensor = call(b, op, "TensorListGather", &[dlist, indices, shape])?;
    let zeros = b.zeros_like(tensor)?;
    let dlist = call(b, op, "TensorListScatterIntoExistingList", &[dlist, zeros, indices])?;
    Ok(vec![Some(dlist.into()), Some(dtensor.into()), None])
}

/// (list) or (list, element_shape, leading_dims) -> (tensor, lengths).
pub(crate) fn tensor_list_concat(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    // Elements differ in their first dimension.
    let (rest, any, axis) = (element_shape(b, dy)?, b.ints(&[-1])?, b.int(0)?);
    let shape = b.call("ConcatV2", &[any, rest, axis])?;
    first(call(b, op, "TensorListSplit", &[dy, shape, op.output(1)])?, op.inputs.len() - 1)
}

/// (tensor, element_shape, lengths).
pub(crate) fn tensor_list_split(b: &mut B<'_>, op: &Backward) -> Grads {
    let dlist = op.dy(b, 0)?;
    let (rest, any, axis) = (element_shape(b, op.inputs[0])?, b.ints(&[-1])?, b.int(0)?);
    let shape = b.call("ConcatV2", &[any, rest, axis])?;
    first(call(b, op, "TensorListConcatV2", &[dlist, shape, op.inputs[2]])?, 2)
}
