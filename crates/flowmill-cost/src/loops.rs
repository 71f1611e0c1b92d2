//! The nodes of loops.

use flowmill_graph::{ControlFlow, Graph, Node, NodeId};

/// Returns the number of the outermost loop's frame for each node that runs in a loop or passes tensors into one.
pub(crate) fn outermost_loops(graph: &Graph, flow: &ControlFlow) -> Vec<(NodeId, u32)> {
    let mut outermost: Vec<Option<u32>> = Vec::with_capacity(flow.frames().len());
    // Parents come before their children.
    for (i, frame) in flow.frames().iter().enumerate() {
        let outer = frame.parent.and_then(|parent| outermost.get(parent.0 as usize).copied().flatten());
        outermost.push(frame.parent.map(|_| outer.unwrap_or(i as u32)));
    }
    let of = |frame: flowmill_graph::FrameId| outermost.get(frame.0 as usize).copied().flatten();
    let node = |node: &Node| Some((node.id(), of(flow.frame_of(node.id())).or_else(|| of(flow.output_frame_of(node.id())))?));
    graph.op_nodes().filter_map(node).collect()
}
