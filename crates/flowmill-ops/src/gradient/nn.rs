//! Gradients of neural networks' ops.

use super::formula::Formula;
use super::{Grads, all, first, like};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

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

/// Like `from_input`, for an op that takes the output instead of the input.
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

/// (gradients, features) of an activation whose slope is constant but for jumps.
macro_rules! of_steps {
    ($($name:ident => $op:literal $(, $attr:literal)?;)*) => {$(
        pub(crate) fn $name(b: &mut B<'_>, op: &Backward) -> Grads {
            let dy = op.dy(b, 0)?;
            let features = op.inputs[1];
            let grad = like(b, op, $op, &[dy, features], &[$($attr)?])?;
            let zeros = b.zeros_like(features)?;
            all([grad, zeros])
        }
    )*};
}

of_steps! {
    relu6_grad => "Relu6Grad";
    leaky_relu_grad => "LeakyReluGrad", "alpha";
}

/// (gradients, outputs): below zero the slope is the output plus a constant.
fn of_exponential(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let (g, y) = (op.inputs[0], op.inputs[1]);
    let zero = b.number(y, 0.0)?;
    let is_negative = b.call("Less", &[y, zero])?;
    let product = b.mul(dy, g)?;
    let dg = b.call(kind, &[dy, y])?;
    all([dg, b.select(is_negative, product, zero)?])
}

pub(crate) fn elu_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_exponential(b, op, "EluGrad")
}

pub(crate) fn selu_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_exponential(b, op, "SeluGrad")
}

/// (gradients, features): the slope is the sigmoid.
pub(crate) fn softplus_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (g, x) = (op.inputs[0], op.inputs[1]);
    let dg = b.call("SoftplusGrad", &[dy, x])?;
    let sigmoid = b.call("Sigmoid", &[x])?;
    let product = b.mul(dy, g)?;
    all([dg, b.call("SigmoidGrad", &[sigmoid, product])?])
}

/// The slope is the difference of two sigmoids: sigmoid(sharpness * x) - sigmoid(sharpness * (x - 1)).
pub(crate) fn softclip(b: &mut B<'_>, op: &Backward) -> Grads {
    let (dy, x) = (op.dy(b, 0)?, op.inputs[0]);
    let sharpness: f32 = b.graph().node(op.node)?.attrs().get("sharpness")?;
    let scaled = b.times(x, sharpness.into())?;
    let shift = b.number(x, sharpness.into())?;
    let shifted = b.sub(scaled, shift)?;
    let (low, high) = (b.call("Sigmoid", &[scaled])?, b.call("Sigmoid", &[shifted])?);
    let slope = b.sub(low, high)?;
    first(b.mul(dy, slope)?, 0)
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

/// The bias's gradient was summed over all other dimensions.
pub(crate) fn bias_add_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let input = op.inputs[0];
    let is_nchw = b.graph().node(op.node)?.attrs().get_or("data_format", "NHWC")? == "NCHW";
    let grad = match b.shape(input).rank() {
        _ if !is_nchw => dy,
        Some(rank @ 3..) => {
            let mut shape = vec![1; rank - 1];
            shape[0] = -1;
            let shape = b.ints(&shape)?;
            b.reshape(dy, shape)?
        }
        Some(_) => dy,
        None => flowmill_tensor::bail!(Unimplemented, "The gradient of BiasAddGrad with NCHW needs to know its input's rank"),
    };
    let shape = b.dynamic_shape_of(input)?;
    first(b.call("BroadcastTo", &[grad, shape])?, 0)
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

/// Returns true if gradient `i` is zeros that replace a missing gradient.
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
    of_backprop_input(b, op, "Conv2DBackpropFilter", "Conv2D", CONV)
}

pub(crate) fn conv_2d_backprop_filter(b: &mut B<'_>, op: &Backward) -> Grads {
    of_backprop_filter(b, op, "Conv2DBackpropInput", "Conv2D", CONV)
}

/// (input, filter_sizes, dy) of an op that makes a filter's gradient.
fn of_backprop_filter(b: &mut B<'_>, op: &Backward, backprop_input: &str, forward: &str, attrs: &[&str]) -> Grads {
    let filter = op.dy(b, 0)?;
    let (input, value) = (op.inputs[0], op.inputs[2]);
    let input_shape = b.shape_of(input)?;
    let dx = like(b, op, backprop_input, &[input_shape, filter, value], attrs)?;
    let dv = like(b, op, forward, &[input, filter], attrs)?;
    Ok(vec![Some(dx.into()), None, Some(dv.into())])
}

/// (input_sizes, filter, dy) of an op that makes an input's gradient.
fn of_backprop_input(b: &mut B<'_>, op: &Backward, backprop_filter: &str, forward: &str, attrs: &[&str]) -> Grads {
    let input = op.dy(b, 0)?;
    let (filter, value) = (op.inputs[1], op.inputs[2]);
    let filter_shape = b.shape_of(filter)?;
    let dw = like(b, op, backprop_filter, &[input, filter_shape, value], attrs)?;
    let dv = like(b, op, forward, &[input, filter], attrs)?;
    Ok(vec![None, Some(dw.into()), Some(dv.into())])
}

pub(crate) fn depthwise_backprop_input(b: &mut B<'_>, op: &Backward) -> Grads {
    of_backprop_input(b, op, "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative", CONV)
}

pub(crate) fn depthwise_backprop_filter(b: &mut B<'_>, op: &Backward) -> Grads {
    of_backprop_filter(b, op, "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative", CONV)
}

pub(crate) fn conv_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (input, filter) = (op.inputs[0], op.inputs[1]);
    let (input_shape, filter_shape) = (b.shape_of(input)?, b.shape_of(filter)?);
    let dx = like(b, op, "Conv3DBackpropInputV2", &[input_shape, filter, dy], CONV)?;
    let dw = like(b, op, "Conv3DBackpropFilterV2", &[input, filter_shape, dy], CONV)?;
    all([dx, dw])
}

pub(crate) fn conv_3d_backprop_input(b: &mut B<'_>, op: &Backward) -> Grads {
    of_backprop_input(b, op, "Conv3DBackpropFilterV2", "Conv3D", CONV)
}

pub(crate) fn conv_3d_backprop_filter(b: &mut B<'_>, op: &Backward) -> Grads {
    of_backprop_filter(b, op, "Conv3DBackpropInputV2", "Conv3D", CONV)
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

pub(crate) fn avg_pool_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let kind = b.graph().node(op.node)?.op().trim_end_matches("Grad").to_owned();
    Ok(vec![None, Some(like(b, op, &kind, &[dy], POOL)?.into())])
}

pub(crate) fn avg_pool_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.shape_of(op.inputs[0])?;
    first(like(b, op, "AvgPool3DGrad", &[shape, dy], POOL)?, 0)
}

pub(crate) fn max_pool_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(like(b, op, "MaxPool3DGrad", &[op.inputs[0], op.output(0), dy], POOL)?, 0)
}

/// (input, ksize, strides).
pub(crate) fn max_pool_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(like(b, op, "MaxPoolGradV2", &[op.inputs[0], op.output(0), dy, op.inputs[1], op.inputs[2]], POOL)?, 2)
}

pub(crate) fn max_pool_with_argmax(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let attrs = &["ksize", "strides", "padding", "include_batch_in_index"];
    first(like(b, op, "MaxPoolGradWithArgmax", &[op.inputs[0], dy, op.output(1)], attrs)?, 0)
}

/// (input, output, gradient) of `MaxPoolGrad` and `MaxPoolGradGrad`: which elements are the largest does not change.
fn of_max_pool_grad(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let grad = like(b, op, kind, &[op.inputs[0], op.inputs[1], dy], POOL)?;
    let (no_input, no_output) = (b.zeros_like(op.inputs[0])?, b.zeros_like(op.inputs[1])?);
    all([no_input, no_output, grad])
}

pub(crate) fn max_pool_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad(b, op, "MaxPoolGradGrad")
}

pub(crate) fn max_pool_grad_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad(b, op, "MaxPoolGrad")
}

/// (input, output, gradient, ksize, strides).
fn of_max_pool_grad_v2(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let inputs = [op.inputs[0], op.inputs[1], dy, op.inputs[3], op.inputs[4]];
    let grad = like(b, op, kind, &inputs, POOL)?;
    let (no_input, no_output) = (b.zeros_like(op.inputs[0])?, b.zeros_like(op.inputs[1])?);
    Ok(vec![Some(no_input.into()), Some(no_output.into()), Some(grad.into()), None, None])
}

pub(crate) fn max_pool_grad_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad_v2(b, op, "MaxPoolGradGradV2")
}

pub(crate) fn max_pool_grad_grad_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad_v2(b, op, "MaxPoolGradV2")
}

pub(crate) fn max_pool_3d_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad(b, op, "MaxPool3DGradGrad")
}

pub(crate) fn max_pool_3d_grad_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_max_pool_grad(b, op, "MaxPool3DGrad")
}

/// (input, filter).
pub(crate) fn dilation_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (inputs, attrs) = ([op.inputs[0], op.inputs[1], dy], &["strides", "rates", "padding"]);
    let dx = like(b, op, "Dilation2DBackpropInput", &inputs, attrs)?;
    all([dx, like(b, op, "Dilation2DBackpropFilter", &inputs, attrs)?])
}

pub(crate) fn fractional_max_pool(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let inputs = [op.inputs[0], op.output(0), dy, op.output(1), op.output(2)];
    first(like(b, op, "FractionalMaxPoolGrad", &inputs, &["overlapping"])?, 0)
}

pub(crate) fn fractional_avg_pool(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.shape_of(op.inputs[0])?;
    let shape = b.cast(shape, DType::I64)?;
    first(like(b, op, "FractionalAvgPoolGrad", &[shape, dy, op.output(1), op.output(2)], &["overlapping"])?, 0)
}

/// (input): the elements of a pool share the mean of their gradients.
pub(crate) fn isotonic_regression(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let (dy, segments) = (op.dy(b, 0)?, op.output(1));
    let (flat, zero, one) = (b.ints(&[-1])?, b.int(0)?, b.int(1)?);
    let (shape, size) = (b.call("Shape", &[segments])?, b.call("Size", &[segments])?);
    let rank = b.call("Size", &[shape])?;
    let last = b.call("Sub", &[rank, one])?;
    let width = b.call("GatherV2", &[shape, last, zero])?;
    let width = b.call("Maximum", &[width, one])?;
    // The pools of all rows, numbered by where the row begins.
    let places = b.call("Range", &[zero, size, one])?;
    let columns = b.call("FloorMod", &[places, width])?;
    let starts = b.call("Sub", &[places, columns])?;
    let numbers = b.call("Reshape", &[segments, flat])?;
    let pools = b.call("AddV2", &[numbers, starts])?;
    let dy = b.call("Reshape", &[dy, flat])?;
    let ones = b.call("OnesLike", &[dy])?;
    let sums = b.call("UnsortedSegmentSum", &[dy, pools, size])?;
    let counts = b.call("UnsortedSegmentSum", &[ones, pools, size])?;
    let counts = b.call("Maximum", &[counts, ones])?;
    let means = b.call("RealDiv", &[sums, counts])?;
    let shared = b.call("GatherV2", &[means, pools, zero])?;
    let shared = b.call("Reshape", &[shared, shape])?;
    Ok(vec![Some(shared.into())])
}
