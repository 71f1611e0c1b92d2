//! Gradients of simulated quantization: what lies in the range passes, what lies beyond goes to the range's ends.

use super::{Grads, all, first};
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_graph::{NodeId, OutputId};
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// Adds the op that computes the gradients of simulated quantisation, with the attributes of the node that is differentiated.
fn fake_quant_gradient(b: &mut B<'_>, op: &Backward, gradient: &str, inputs: &[OutputId], limits: &[&str]) -> Result<NodeId> {
    let attrs = b.graph().node(op.node)?.attrs();
    let (num_bits, narrow_range): (i64, bool) = (attrs.get_or("num_bits", 8)?, attrs.get_or("narrow_range", false)?);
    let limits = limits.iter().map(|&name| Ok((name, attrs.get::<f32>(name)?))).collect::<Result<Vec<_>>>()?;
    let mut node = b.op(gradient).inputs(inputs).attr("num_bits", num_bits).attr("narrow_range", narrow_range);
    for (name, limit) in limits {
        node = node.attr(name, limit);
    }
    node.finish()
}

/// The range is in the attributes `min` and `max`.
pub(crate) fn fake_quant_args(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let node = fake_quant_gradient(b, op, "FakeQuantWithMinMaxArgsGradient", &[dy, op.inputs[0]], &["min", "max"])?;
    first(node.output(0), 0)
}

/// (inputs, min, max): a scalar range.
pub(crate) fn fake_quant_vars(b: &mut B<'_>, op: &Backward) -> Grads {
    of_vars(b, op, "FakeQuantWithMinMaxVarsGradient")
}

/// (inputs, min, max): a range for each channel of the last dimension.
pub(crate) fn fake_quant_per_channel(b: &mut B<'_>, op: &Backward) -> Grads {
    of_vars(b, op, "FakeQuantWithMinMaxVarsPerChannelGradient")
}

fn of_vars(b: &mut B<'_>, op: &Backward, gradient: &str) -> Grads {
    let dy = op.dy(b, 0)?;
    let node = fake_quant_gradient(b, op, gradient, &[dy, op.inputs[0], op.inputs[1], op.inputs[2]], &[])?;
    all([node.output(0), node.output(1), node.output(2)])
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
