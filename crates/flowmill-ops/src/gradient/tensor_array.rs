//! Gradients of tensor arrays. The gradients of an array's elements are in an array of their own, which `TensorArrayGradV3` makes at its first
//! use and finds by its `source` afterwards. What orders reads after writes is the flow, whose gradient orders them the other way round.

use super::Grads;
use super::formula::Formula;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{Result, bail};

type B<'a> = ScopedBuilder<'a>;

/// The name scope of the gradients being made: arrays of one walk are one, those of several walks are not.
fn source(b: &B<'_>) -> Result<String> {
    let name = b.scope().name();
    let parts: Vec<&str> = name.split('/').collect();
    match parts.iter().rposition(|part| part.starts_with("gradients")) {
        Some(last) => Ok(parts[..=last].join("/")),
        None => bail!(
            InvalidArgument,
            "Expected op/tensor name to start with gradients (excluding scope), got: {name}. This means that a tf.gradients op with this op in \
             its dependency path has a custom name that does not start with 'gradients'. Please make sure all calls to tf.gradients that have \
             non-empty `name` arguments use names that start with 'gradients'."
        ),
    }
}

/// The array of gradients, and a flow behind its making.
fn grad_array(b: &mut B<'_>, handle: OutputId, flow: OutputId) -> Result<[OutputId; 2]> {
    let source = source(b)?;
    let made =
        b.op("TensorArrayGradV3").name("TensorArrayGrad/TensorArrayGradV3").inputs(&[handle, flow]).attr("source", source).finish()?;
    let flow = b.op("Identity").name("gradient_flow").input(flow).after(made).output()?;
    Ok([made.output(0), flow])
}

fn element(b: &B<'_>, value: OutputId) -> AttrValue {
    AttrValue::from(Value::Type(b.dtype(value).number()))
}

/// (handle, index, flow), or (handle, indices, flow): gradients are written where values were read.
fn write(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let [array, flow] = grad_array(b, op.inputs[0], op.inputs[2])?;
    let flow = b.op(kind).inputs(&[array, op.inputs[1], dy, flow]).output()?;
    Ok(vec![None, None, Some(flow.into())])
}

pub(crate) fn tensor_array_read(b: &mut B<'_>, op: &Backward) -> Grads {
    write(b, op, "TensorArrayWriteV3")
}

pub(crate) fn tensor_array_gather(b: &mut B<'_>, op: &Backward) -> Grads {
    write(b, op, "TensorArrayScatterV3")
}

/// (handle, index, value, flow), or (handle, indices, value, flow): gradients are read where values were written.
fn read(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dflow = op.dy(b, 0)?;
    let value = op.inputs[2];
    let [array, flow] = grad_array(b, op.inputs[0], dflow)?;
    let dtype = element(b, value);
    let grad = b.op(kind).inputs(&[array, op.inputs[1], flow]).attr("dtype", dtype).output()?;
    Ok(vec![None, None, Some(grad.into()), Some(dflow.into())])
}

pub(crate) fn tensor_array_write(b: &mut B<'_>, op: &Backward) -> Grads {
    read(b, op, "TensorArrayReadV3")
}

pub(crate) fn tensor_array_scatter(b: &mut B<'_>, op: &Backward) -> Grads {
    read(b, op, "TensorArrayGatherV3")
}

/// (handle, flow) -> (value, lengths).
pub(crate) fn tensor_array_concat(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let [array, flow] = grad_array(b, op.inputs[0], op.inputs[1])?;
    let flow = b.op("TensorArraySplitV3").inputs(&[array, dy, op.output(1), flow]).output()?;
    Ok(vec![None, Some(flow.into())])
}

/// (handle, value, lengths, flow).
pub(crate) fn tensor_array_split(b: &mut B<'_>, op: &Backward) -> Grads {
    let dflow = op.dy(b, 0)?;
    let [array, flow] = grad_array(b, op.inputs[0], dflow)?;
    let dtype = element(b, op.inputs[1]);
    let grad = b.op("TensorArrayConcatV3").inputs(&[array, flow]).attr("dtype", dtype).output()?;
    Ok(vec![None, Some(grad.into()), None, Some(dflow.into())])
}

/// The shape of a list's elements that a tensor is made of along its first dimension.
pub(super) fn element_shape(b: &mut B<'_>, stacked: OutputId) -> Result<OutputId> {
    let shape = b.dynamic_shape_of(stacked)?;
    let (one, end, step) = (b.ints(&[1])?, b.ints(&[0])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[shape, one, end, step]).attr("end_mask", 1i64).output()
}
