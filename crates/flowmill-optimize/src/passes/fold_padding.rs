//! Merges a padding into the convolution that consumes it.
//!
//! Before: `Conv2D(Pad(x, [[0,0],[t,b],[l,r],[0,0]]), w) {padding="VALID"}`. After: `Conv2D(x, w) {padding="EXPLICIT", explicit_paddings=…}`.
//! A padding before `DepthwiseConv2dNative` is merged likewise. For a convolution of one dimension, an `ExpandDims` may lie between the two, and stays.
//! Paddings are added to those that a convolution has already, so of two `Pad` nodes in a row both go.
//!
//! Sound because both compute the convolution of the image with the same zeros around it. Guards: the paddings are constant, not negative, and leave
//! batch and channels as they are; the convolution is NHWC, and its own padding does not depend on the size of the image; the padded image has no other
//! consumers; no control edge orders the nodes before the convolution; all nodes are on one device.
//!
//! `fold_constants` runs earlier: paddings may be computed. `fold_dilation` runs earlier, because it leaves paddings that are added to.

use crate::PassContext;
use crate::images::{RANK, added_dimension, producer};
use crate::rewrite::{constant_input, has_no_control_inputs, integers, is_channels_last, text};
use flowmill_graph::{Graph, Node, NodeId};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        while count < limit
            && let Some(found) = graph.get(id).and_then(|node| find(graph, node))
            && let Some(image) = graph.input(found.pad, 0)
        {
            let mut attrs = graph.node(id)?.attrs().clone();
            attrs.set("padding", "EXPLICIT");
            attrs.set("explicit_paddings", found.paddings);
            graph.update_edge(image, found.consumer, 0)?;
            graph.set_attrs(id, attrs)?;
            graph.remove_node(found.pad)?;
            count += 1;
        }
    }
    if count > 0 {
        // What lies between a padding and its convolution has another shape than before.
        shapes.clear();
    }
    Ok(count)
}

struct Found {
    pad: NodeId,
    /// The convolution, or the `ExpandDims` before it.
    consumer: NodeId,
    /// The paddings of the convolution without the `Pad`.
    paddings: Vec<i64>,
}

/// Finds the `Pad` before a convolution that can do without it.
fn find(graph: &Graph, conv: &Node) -> Option<Found> {
    if !(conv.is_op("Conv2D") || conv.is_op("DepthwiseConv2dNative")) || !is_channels_last(conv) {
        return None;
    }
    let mut paddings: Vec<i64> = match text(conv, "padding") {
        "VALID" => vec![0; 2 * RANK],
        "EXPLICIT" => conv.attrs().list("explicit_paddings").ok().filter(|own: &Vec<i64>| own.len() == 2 * RANK)?,
        _ => return None,
    };
    let (mut consumer, mut pad) = (conv, producer(graph, conv)?);
    let mut dims: Vec<usize> = (0..RANK).collect();
    if pad.is_op("ExpandDims") {
        dims.remove(added_dimension(graph, pad)?);
        has_no_control_inputs(graph, pad.id()).then_some(())?;
        (consumer, pad) = (pad, producer(graph, pad)?);
    }
    if !pad.is_op("Pad") || !has_no_control_inputs(graph, pad.id()) {
        return None;
    }
    let value = constant_input(graph, pad.id(), 1).filter(|c| c.controls.is_empty() && c.value.shape().dims() == [dims.len(), 2])?.value;
    for (&dim, margins) in dims.iter().zip(integers(&value)?.chunks_exact(2)) {
        let is_admitted = margins.iter().all(|&m| m == 0 || (m > 0 && (1..RANK - 1).contains(&dim)));
        is_admitted.then_some(())?;
        for (padding, margin) in paddings[2 * dim..].iter_mut().zip(margins) {
            *padding = padding.checked_add(*margin)?;
        }
    }
    Some(Found { pad: pad.id(), consumer: consumer.id(), paddings })
}
