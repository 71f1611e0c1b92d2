//! Merges a padding into the convolution that consumes it.
//!
//! Before: `Conv2D(Pad(x, [[0,0],[t,b],[l,r],[0,0]]), w) {padding="VALID"}`. After: `Conv2D(x, w) {padding="EXPLICIT", explicit_paddings=…}`.
//! A padding before `DepthwiseConv2dNative` is merged likewise.
//!
//! Sound because both compute the convolution of the image with the same zeros around it. Guards: the paddings are constant, not negative, and leave
//! batch and channels as they are; the convolution is NHWC and has no padding itself; the padded image has no other consumers; no control edge orders
//! the `Pad`; both nodes are on one device.
//!
//! `fold_constants` runs earlier: paddings may be computed.

use crate::PassContext;
use crate::rewrite::{constant_input, has_no_control_inputs, integers, is_channels_last, sole_consumer, text};
use flowmill_graph::{Graph, Node};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(paddings) = graph.get(id).and_then(|n| paddings_before(graph, n)) else { continue };
        let Some(pad) = graph.input_node(id, 0) else { continue };
        let Some(image) = graph.input(pad, 0) else { continue };
        let mut attrs = graph.node(id)?.attrs().clone();
        attrs.set("padding", "EXPLICIT");
        attrs.set("explicit_paddings", paddings);
        graph.update_edge(image, id, 0)?;
        graph.set_attrs(id, attrs)?;
        graph.remove_node(pad)?;
        count += 1;
    }
    Ok(count)
}

/// The paddings of the `Pad` before a convolution that can do without it.
fn paddings_before(graph: &Graph, conv: &Node) -> Option<Vec<i64>> {
    if !(conv.is_op("Conv2D") || conv.is_op("DepthwiseConv2dNative")) || text(conv, "padding") != "VALID" || !is_channels_last(conv) {
        return None;
    }
    let pad = graph.get(graph.input_node(conv.id(), 0)?).filter(|n| n.is_op("Pad") && n.device() == conv.device())?;
    sole_consumer(graph, pad.id()).filter(|_| has_no_control_inputs(graph, pad.id()))?;
    let value = constant_input(graph, pad.id(), 1).filter(|c| c.controls.is_empty())?.value;
    let paddings = integers(&value)?;
    let leaves_batch_and_channels = matches!(paddings[..], [0, 0, _, _, _, _, 0, 0]) && value.shape().dims() == [4, 2];
    (leaves_batch_and_channels && paddings.iter().all(|&p| p >= 0)).then_some(paddings)
}
