//! Gradients of neural networks' ops.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::GraphBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_tensor::Result;

type B<'a> = GraphBuilder<'a>;

/// Some of the forward node's attributes, as they are.
fn attrs(b: &B<'_>, op: &Backward, names: &[&str]) -> Result<Vec<(String, AttrValue)>> {
    let node = b.graph().node(op.node)?;
    Ok(names.iter().filter_map(|&n| node.attrs().0.get(n).map(|v| (n.to_owned(), v.clone()))).collect())
}

/// A node of another op with some of the forward node's attributes.
fn like(b: &mut B<'_>, op: &Backward, kind: &str, inputs: &[OutputId], names: &[&str]) -> Result<OutputId> {
    let attrs = attrs(b, op, names)?;
    let mut node = b.op(kind).inputs(inputs);
    for (name, value) in attrs {
        node = node.attr(&name, value);
    }
    node.output()
}

/// An activation whose gradient is an op that takes the gradient and the input.
macro_rules! from_input {
    ($($name:ident => $op:literal $(, $attr:literal)?;)*) => {$(
        pub(crate) fn $name(b: &mut B<'_>, op: &Backward) -> Grads {
            let dy = op.dy(b, 0)?;
            first(like(b, op, $op, &[dy, op.inputs[0]], &[$($attr)?])?, 0)
        }
    )*};
}

from_input! {
    relu6 => "Relu6Grad";
    leaky_relu => "LeakyReluGrad", "alpha";
    softplus => "SoftplusGrad";
    softsign => "SoftsignGrad";
}

/// The same with the output.
macro_rules! from_result {
    ($($name:ident => $op:literal;)*) => {$(
        pub(crate) fn $name(b: &mut B<'_>, op: &Backward) -> Grads {
            let dy = op.dy(b, 0)?;
            first(b.call($op, &[dy, op.output(0)])?, 0)
        }
    )*};
}

from_result! {
    relu => "ReluGrad";
    elu => "EluGrad";
    selu => "SeluGrad";
}

pub(crate) fn relu_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let features = op.inputs[1];
    let grad = b.call("ReluGrad", &[dy, features])?;
    let zeros = b.zeros_like(features)?;
    all([grad, zeros])
}

pub(crate) fn bias_add(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let bias = like(b, op, "BiasAddGrad", &[dy], &["data_format"])?;
    all([dy, bias])
}

/// The axis of the last dimension, kept by a sum over it.
fn sum_last(b: &mut B<'_>, x: OutputId) -> Result<OutputId> {
    let last = b.ints(&[-1])?;
    b.op("Sum").inputs(&[x, last]).attr("keep_dims", true).output()
}

/// The gradient of a softmax's input, from those of its output `y`.
fn through_softmax(b: &mut B<'_>, dy: OutputId, y: OutputId) -> Result<OutputId> {
    let weighted = b.mul(dy, y)?;
    let sum = sum_last(b, weighted)?;
    let centred = b.sub(dy, sum)?;
    b.mul(centred, y)
}

pub(crate) fn softmax(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(through_softmax(b, dy, op.output(0))?, 0)
}

pub(crate) fn log_softmax(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let y = b.call("Exp", &[op.output(0)])?;
    let sum = sum_last(b, dy)?;
    let share = b.mul(sum, y)?;
    first(b.sub(dy, share)?, 0)
}

/// The gradient of a cross entropy's logits: the op's second output, a column `dy` of the losses' gradients times it. Where that output is
/// differentiated too, the Hessian comes in.
fn cross_entropy_logits(b: &mut B<'_>, op: &Backward, column: OutputId) -> Result<OutputId> {
    let logits = b.mul(column, op.output(1))?;
    if !matches!(op.grads.get(1), Some(Some(_))) || is_zero(b, op, 1)? {
        return Ok(logits);
    }
    let second = op.dy(b, 1)?;
    let softmax = b.call("Softmax", &[op.inputs[0]])?;
    let more = through_softmax(b, second, softmax)?;
    b.add(logits, more)
}

/// The losses' gradients with a last dimension of one.
fn loss_column(b: &mut B<'_>, op: &Backward) -> Result<OutputId> {
    let dy = op.dy(b, 0)?;
    let last = b.int(-1)?;
    b.call("ExpandDims", &[dy, last])
}

/// The labels' gradient is minus the log-softmax.
pub(crate) fn softmax_cross_entropy(b: &mut B<'_>, op: &Backward) -> Grads {
    let column = loss_column(b, op)?;
    let logits = cross_entropy_logits(b, op, column)?;
    let log = b.call("LogSoftmax", &[op.inputs[0]])?;
    let minus = b.neg(log)?;
    let labels = b.mul(column, minus)?;
    all([logits, labels])
}

pub(crate) fn sparse_softmax_cross_entropy(b: &mut B<'_>, op: &Backward) -> Grads {
    let column = loss_column(b, op)?;
    first(cross_entropy_logits(b, op, column)?, 1)
}

/// Whether a gradient is one that stands for an output without any.
fn is_zero(b: &mut B<'_>, op: &Backward, i: usize) -> Result<bool> {
    let grad = op.dy(b, i)?;
    if b.graph().node(grad.node)?.is_op("ZerosLike") {
        return Ok(true);
    }
    Ok(b.constant_value(grad).is_some_and(|value| value.as_bytes().is_ok_and(|bytes| bytes.iter().all(|&byte| byte == 0))))
}

pub(crate) fn l2_loss(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.mul(op.inputs[0], dy)?, 0)
}

const CONV: &[&str] = &["strides", "padding", "explicit_paddings", "data_format", "dilations"];

pub(crate) fn conv_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (input, filter) = (op.inputs[0], op.inputs[1]);
    let (input_shape, filter_shape) = (b.shape_of(input)?, b.shape_of(filter)?);
    let dx = like(b, op, "Conv2DBackpropInput", &[input_shape, filter, dy], CONV)?;
    let dw = like(b, op, "Conv2DBackpropFilter", &[input, filter_shape, dy], CONV)?;
    all([dx, dw])
}

pub(crate) fn conv_2d_backprop_input(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (filter, value) = (op.inputs[1], op.inputs[2]);
    let filter_shape = b.shape_of(filter)?;
    let dw = like(b, op, "Conv2DBackpropFilter", &[dy, filter_shape, value], CONV)?;
    let dx = like(b, op, "Conv2D", &[dy, filter], CONV)?;
    Ok(vec![None, Some(dw.into()), Some(dx.into())])
}

pub(crate) fn depthwise_conv_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (input, filter) = (op.inputs[0], op.inputs[1]);
    let (input_shape, filter_shape) = (b.shape_of(input)?, b.shape_of(filter)?);
    let dx = like(b, op, "DepthwiseConv2dNativeBackpropInput", &[input_shape, filter, dy], CONV)?;
    let dw = like(b, op, "DepthwiseConv2dNativeBackpropFilter", &[input, filter_shape, dy], CONV)?;
    all([dx, dw])
}

const POOL: &[&str] = &["ksize", "strides", "padding", "explicit_paddings", "data_format"];

pub(crate) fn max_pool(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(like(b, op, "MaxPoolGrad", &[op.inputs[0], op.output(0), dy], POOL)?, 0)
}

pub(crate) fn avg_pool(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.shape_of(op.inputs[0])?;
    first(like(b, op, "AvgPoolGrad", &[shape, dy], &["ksize", "strides", "padding", "data_format"])?, 0)
}
