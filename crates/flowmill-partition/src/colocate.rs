//! Colocation of control flow: moves nodes so that edges between devices are those that can be sent.
//!
//! ```text
//! e = Enter(x) @A; m = Merge(e, n) @B; n = NextIteration(y) @A    →    e @B, n @B
//! i = Enter(x) {is_constant} @A, read on B and C                  →    i @B, i/_0 @C
//! s = Switch(x, p) @B, x @A; exit = Exit(s) @B                    →    s @A, exit @A
//! ```
//!
//! An `Enter` delivers its tensor in the first iteration only, and a `NextIteration` in all but the first, while a receive in a loop runs in every
//! iteration. So they must be on the devices of their consumers; their inputs are sent instead. For a `Switch` and an `Exit`, moving saves sends of
//! tensors that are mostly dead. TensorFlow moves these nodes to the same places, except that it does not copy them.

use crate::Assignment;
use crate::constants::copy_to_devices_of_consumers;
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, Role};
use flowmill_tensor::Result;

/// Moves and copies nodes of control flow. References stay where their variables are.
pub(crate) fn colocate(graph: &mut Graph, assignment: &mut Assignment) -> Result<()> {
    let moves_to_input = |node: &Node| matches!(node.role(), Role::Switch | Role::Exit);
    let followers: Vec<NodeId> = graph.op_nodes().filter(|node| moves_to_input(node)).map(Node::id).collect();
    let mut chain = Vec::new();
    let mut is_settled = vec![false; graph.num_node_ids()];
    for id in followers {
        // A Switch may follow another one. The chain ends at the first node that stays.
        let mut at = id;
        while !is_settled[at.index()]
            && let Some(node) = graph.get(at).filter(|node| moves_to_input(node))
            && let Some(input) = graph.input_node(node.id(), 0)
        {
            is_settled[at.index()] = true;
            chain.push((at, input));
            at = input;
        }
        while let Some((node, input)) = chain.pop() {
            // A constant is copied to its consumers instead.
            if graph.get(input).is_some_and(|n| n.role() != Role::Const || assignment.device(node) == assignment.device(input)) {
                assignment.set(node, assignment.device(input));
            }
        }
    }
    if !graph.op_nodes().any(is_copied) {
        return Ok(());
    }
    // Consumers first: an `Enter` of an outer loop may be read by those of inner loops.
    for id in topological_order(graph)?.into_iter().rev() {
        if graph.get(id).is_some_and(is_copied) {
            copy_to_devices_of_consumers(graph, assignment, id)?;
        }
    }
    Ok(())
}

fn is_copied(node: &Node) -> bool {
    let takes_reference = node.input_types().first().is_some_and(|t| t.is_ref);
    matches!(node.role(), Role::Enter | Role::NextIteration) && !takes_reference
}
