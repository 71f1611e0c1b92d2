//! Gradients of recurrent cells and of connectionist temporal classification.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;

type B<'a> = ScopedBuilder<'a>;

/// Through all steps at once; of the outputs the states and the last results have gradients.
pub(crate) fn block_lstm(b: &mut B<'_>, op: &Backward) -> Grads {
    let (d_state, d_output) = (op.dy(b, 1)?, op.dy(b, 6)?);
    let node = b.graph().node(op.node)?;
    let kind = if node.is_op("BlockLSTMV2") { "BlockLSTMGradV2" } else { "BlockLSTMGrad" };
    let peephole: bool = node.attrs().get_or("use_peephole", false)?;
    let outputs: Vec<OutputId> = (0..7).map(|i| op.output(i)).collect();
    let node = b.op(kind).inputs(&op.inputs).inputs(&outputs).inputs(&[d_state, d_output]).attr("use_peephole", peephole).finish()?;
    let grads = all((0..8).map(|i| node.output(i)))?;
    Ok([None].into_iter().chain(grads).collect())
}

/// The op computes the gradient of the logits itself; that one has none.
pub(crate) fn ctc_loss(b: &mut B<'_>, op: &Backward) -> Grads {
    let axis = b.int(-1)?;
    let dy = op.dy(b, 0)?;
    let column = b.call("ExpandDims", &[dy, axis])?;
    let message = "Currently there is no way to take the second  derivative of ctc_loss due to the fused implementation's interaction  with tf.gradients()";
    let grad = b.op("PreventGradient").input(op.output(1)).attr("message", message).output()?;
    first(b.mul(column, grad)?, 3)
}
