//! Removes nodes that pass on their input unchanged.
//!
//! Before: `y = Identity(x) ^c`, `z = Neg(y)`. After: `z = Neg(x) ^c`.
//!
//! Sound because consumers receive the same tensor, wait for the same nodes, and are dead in the same cases. These nodes are kept:
//! * nodes that read a reference: they read the value at their position in the order of execution;
//! * nodes with a control edge behind control flow or a receive: a `Switch` runs for both branches, its `Identity` in one;
//! * nodes that order control flow by control edges, which count differently for a `Merge`;
//! * nodes whose removal would add more edges than it removes;
//! * nodes that pass a tensor from one device to another;
//! * a `GuaranteeConst` of a resource, which the plan refuses.
//!
//! Needs nothing to run before it.

use crate::rewrite::bypass;
use crate::{Shapes, Target};
use flowmill_graph::{Edge, Graph, Node, NodeId};
use flowmill_tensor::{DType, Result};

pub(crate) fn run(graph: &mut Graph, _: &dyn Target, _: &mut Shapes) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        let Some(node) = graph.get(id).filter(|n| passes_on(n) && is_removable(graph, n)) else { continue };
        let Some(source) = graph.input(node.id(), 0) else { continue };
        let controls: Vec<NodeId> = graph.control_inputs(id).collect();
        let successors: Vec<NodeId> = graph.out_edges(id).map(|e| e.dst).collect();
        bypass(graph, id, source)?;
        for (&control, &successor) in controls.iter().flat_map(|c| successors.iter().map(move |s| (c, s))) {
            graph.add_control_edge(control, successor)?;
        }
        count += 1;
    }
    Ok(count)
}

/// Returns true if the node returns its first input, apart from gradients and feeds. Nodes that bring a tensor into or out of a frame do more.
fn passes_on(node: &Node) -> bool {
    node.traits().passes_on && !node.is_control_flow() && node.output_types().iter().all(|t| !t.is_ref)
}

fn is_removable(graph: &Graph, node: &Node) -> bool {
    let Some(source) = graph.input(node.id(), 0).and_then(|o| graph.get(o.node)) else { return false };
    let reads_reference = graph.input(node.id(), 0).is_none_or(|o| graph.output_type(o).is_ok_and(|t| t.is_ref));
    let out: Vec<Edge> = graph.out_edges(node.id()).collect();
    let num_controls = graph.control_inputs(node.id()).count();
    let orders_control_flow = num_controls > 0 && out.iter().any(|e| graph.get(e.dst).is_some_and(Node::is_control_flow));
    let follows_control_flow = (source.is_control_flow() || source.traits().leaves_outputs_dead) && out.iter().any(Edge::is_control);
    let adds_edges = num_controls * out.len() > num_controls + out.len();
    // It is an error, which stays one.
    let is_refused = node.is_op("GuaranteeConst") && node.input_types().first().is_some_and(|t| t.dtype == DType::Resource);
    !reads_reference && !is_refused && !orders_control_flow && !follows_control_flow && !adds_edges && source.device() == node.device()
}
