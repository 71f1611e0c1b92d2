//! Turns nodes whose outputs nobody reads, but for which other nodes wait, into `NoOp`s.
//!
//! Before: `p = Mul(x, y)`, `z = Exp(w) ^p`. After: `p = NoOp() ^x ^y`, `z = Exp(w) ^p`. Gradients leave many of these: `tf.gradients` makes the gradients
//! of all inputs of a node wait for each other, those of constants, which nobody reads, included.
//!
//! Sound because the node computes nothing but its outputs. Those who wait for it wait for its inputs, and are dead with any of them. An error of its kernel
//! is not reported. Guards:
//! * the node is pure, and its op is not there to check its input;
//! * nobody reads an output, and the node is not a target of the step;
//! * no input comes from a `Switch`, whose outputs are dead one by one: a control edge cannot tell them apart;
//! * no input comes from a `_Recv`, which is live when the tensor that it receives is dead, and waits for it even if that is fed.
//!
//! Producers come after their consumers, so that a chain of nodes goes at once. `reduce_control_edges` then removes the `NoOp`s.

use crate::PassContext;
use crate::rewrite::{node_def, replace};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, Role, is_pure};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(|n| graph.control_inputs(n.id()).next().is_some()) {
        return Ok(0);
    }
    let mut count = 0;
    for id in topological_order(graph)?.into_iter().rev() {
        if count < limit && graph.get(id).is_some_and(|node| is_unread(graph, node)) {
            convert(graph, id)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Returns true if nodes wait for `node`, which only computes outputs that nobody reads.
fn is_unread(graph: &Graph, node: &Node) -> bool {
    let mut consumers = graph.out_edges(node.id()).peekable();
    consumers.peek().is_some()
        && consumers.all(|e| e.is_control() && e.dst > NodeId::SINK)
        && node.role() == Role::Kernel
        && !node.traits().checks_input
        && is_pure(graph, node)
        && graph.inputs(node.id()).all(|input| graph.get(input.node).is_some_and(|n| !matches!(n.role(), Role::Switch | Role::Recv)))
}

fn convert(graph: &mut Graph, id: NodeId) -> Result<()> {
    let mut before: Vec<NodeId> = graph.in_edges(id).map(|e| e.src).filter(|&src| src > NodeId::SINK).collect();
    before.sort_unstable();
    before.dedup();
    let def = node_def(graph, "NoOp", String::new(), &[id]);
    replace(graph, id, def, &[], &before).map(|_| ())
}
