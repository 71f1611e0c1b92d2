//! Gradients of simulated quantization: what lies in the range passes, what lies beyond goes to the range's ends.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_graph::{NodeId, OutputId};
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// The range in which zero is a level: TensorFlow's nudged minimum and maximum, of `min` and `max`.
fn nudged(b: &mut B<'_>, op: &Backward, min: OutputId, max: OutputId) -> Result<[OutputId; 2]> {
    let attrs = b.graph().node(op.node)?.attrs();
    let bits: i64 = attrs.get_or("num_bits", 8)?;
    let lowest = if attrs.get_or("narrow_range", false)? { 1.0 } else { 0.0 };
    let highest = (1u64 << bits.clamp(2, 16)) as f64 - 1.0;
    let (low, high) = (b.number(min, lowest)?, b.number(min, highest)?);
    let (width, levels) = (b.sub(max, min)?, b.sub(high, low)?);
    let scale = b.div(width, levels)?;
    let steps = b.div(min, scale)?;
    let zero = b.sub(low, steps)?;
    // Halves are rounded up, as std::round does with what is positive.
    let half = b.number(zero, 0.5)?;
    let zero = b.add(zero, half)?;
    let zero = b.call("Floor", &[zero])?;
    let zero = b.call("Maximum", &[zero, low])?;
    let zero = b.call("Minimum", &[zero, high])?;
    let (below, above) = (b.sub(low, zero)?, b.sub(high, zero)?);
    Ok([b.mul(below, scale)?, b.mul(above, scale)?])
}

/// The parts of a gradient that are for the input, for the minimum and for the maximum, all in the input's shape.
fn parts(b: &mut B<'_>, dy: OutputId, x: OutputId, low: OutputId, high: OutputId) -> Result<[OutputId; 3]> {
    let zero = b.number(dy, 0.0)?;
    let (is_low, is_high) = (b.call("Less", &[x, low])?, b.call("Greater", &[x, high])?);
    let is_beyond = b.call("LogicalOr", &[is_low, is_high])?;
    Ok([b.select(is_beyond, zero, dy)?, b.select(is_low, dy, zero)?, b.select(is_high, dy, zero)?])
}

/// The range is in the attributes `min` and `max`.
pub(crate) fn fake_quant_args(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let attrs = b.graph().node(op.node)?.attrs();
    let (min, max) = (f64::from(attrs.get_or("min", -6.0f32)?), f64::from(attrs.get_or("max", 6.0f32)?));
    let (min, max) = (b.number(dy, min)?, b.number(dy, max)?);
    let [low, high] = nudged(b, op, min, max)?;
    first(parts(b, dy, op.inputs[0], low, high)?[0], 0)
}

/// (inputs, min, max): scalars, or one of each for each channel of the last dimension.
pub(crate) fn fake_quant_vars(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (x, min, max) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let [low, high] = nudged(b, op, min, max)?;
    let [dx, to_min, to_max] = parts(b, dy, x, low, high)?;
    let [_, dmin] = b.unbroadcast(x, min, dx, to_min)?;
    let [_, dmax] = b.unbroadcast(x, max, dx, to_max)?;
    all([dx, dmin, dmax])
}

/// Gradients pass within the range of quantisation; the ends of the range get none.
pub(crate) fn quantize_and_dequantize_v4(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let node = masked(b, op, [dy, op.inputs[0], op.inputs[1], op.inputs[2]])?;
    all([node.output(0), node.output(1), node.output(2)])
}

/// (gradients, input, input_min, input_max): linear in the gradients.
pub(crate) fn quantize_and_dequantize_v4_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let node = masked(b, op, [dy, op.inputs[1], op.inputs[2], op.inputs[3]])?;
    first(node.output(0), 3)
}

/// The gradient where the input is in the range of the node that is differentiated.
fn masked(b: &mut B<'_>, op: &Backward, inputs: [OutputId; 4]) -> Result<NodeId> {
    let axis: i64 = b.graph().node(op.node)?.attrs().get_or("axis", -1)?;
    b.op("QuantizeAndDequantizeV4Grad").inputs(&inputs).attr("axis", axis).finish()
}
