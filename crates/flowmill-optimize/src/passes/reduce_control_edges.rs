//! Removes control edges that other edges imply, and nodes that only pass them on.
//!
//! Before: `y = Neg(x)`, `z = Exp(y) ^x`. After: `z = Exp(y)`. Before: `n = NoOp() ^a`, `z = Exp(y) ^n`. After: `z = Exp(y) ^a`. A control edge from an
//! argument, or from a constant that waits for nothing, goes.
//!
//! Sound because the node still runs after the other one, and is dead whenever that is: there is another path, along which each node waits for all of
//! its inputs and is dead with any of them. Guards:
//! * no path leads through a `Merge` or a `ControlTrigger`, which can be live behind dead nodes, nor into or out of a frame;
//! * a control edge into one of these stays, and so does one into `_SINK`, which names a node that has to run;
//! * a `NoOp` goes if that adds no edges.
//!
//! At most [`MAX_VISITED`] nodes are visited per node, so that the pass takes time proportional to the graph. Runs before the passes that look for nodes
//! without control inputs.

use crate::PassContext;
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Edge, Graph, Node, NodeId, Role};
use flowmill_tensor::Result;
use rustc_hash::FxHashSet;

/// The largest number of nodes that are visited to find the other paths to one node.
const MAX_VISITED: usize = 128;

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(|n| graph.control_inputs(n.id()).next().is_some()) {
        return Ok(0);
    }
    let order = topological_order(graph)?;
    let mut count = remove_needless(graph, &order, limit)?;
    for &id in &order {
        if count < limit && graph.get(id).is_some_and(|node| node.role() == Role::NoOp && is_removable(graph, node)) {
            remove(graph, id)?;
            count += 1;
        }
    }
    let mut position = vec![u32::MAX; graph.num_node_ids()];
    for (place, id) in order.iter().enumerate() {
        position[id.index()] = place as u32;
    }
    for &id in &order {
        let Some(node) = graph.get(id).filter(|node| is_strict(node)) else { continue };
        for edge in implied(graph, node, &position) {
            if count == limit {
                return Ok(count);
            }
            graph.remove_edge(edge.id)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Removes control edges from nodes that are there when the step begins.
fn remove_needless(graph: &mut Graph, order: &[NodeId], limit: usize) -> Result<usize> {
    let is_at_hand = |graph: &Graph, id: NodeId| {
        let node = graph.get(id).filter(|n| matches!(n.role(), Role::Arg | Role::Const));
        node.is_some() && graph.in_edges(id).all(|e| e.src <= NodeId::SINK)
    };
    let mut count = 0;
    for &id in order {
        if !is_at_hand(graph, id) {
            continue;
        }
        for edge in graph.out_edges(id).collect::<Vec<_>>() {
            let is_needless = edge.is_control() && edge.dst > NodeId::SINK && graph.get(edge.dst).is_some_and(is_strict);
            if is_needless && count < limit {
                graph.remove_edge(edge.id)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Returns true for a node that runs after all of its producers, in their frame and iteration, and is dead with any of them.
fn is_strict(node: &Node) -> bool {
    !matches!(node.role(), Role::Merge | Role::ControlTrigger | Role::Enter | Role::Exit | Role::NextIteration | Role::Recv)
}

fn is_removable(graph: &Graph, node: &Node) -> bool {
    let num_inputs = graph.control_inputs(node.id()).count();
    let num_outputs = graph.num_out_edges(node.id());
    let is_strict_end = |e: Edge| graph.get(e.dst).is_some_and(|n| e.dst > NodeId::SINK && is_strict(n));
    num_inputs * num_outputs <= num_inputs + num_outputs && graph.out_edges(node.id()).all(is_strict_end)
}

fn remove(graph: &mut Graph, id: NodeId) -> Result<()> {
    let inputs: Vec<NodeId> = graph.control_inputs(id).collect();
    let outputs: Vec<NodeId> = graph.out_edges(id).map(|e| e.dst).collect();
    graph.remove_node(id)?;
    for (&before, &after) in inputs.iter().flat_map(|before| outputs.iter().map(move |after| (before, after))) {
        graph.add_control_edge(before, after)?;
    }
    Ok(())
}

/// Returns the control edges into a node whose sources are reached by other paths.
fn implied(graph: &Graph, node: &Node, position: &[u32]) -> Vec<Edge> {
    let controls: Vec<Edge> = graph.in_edges(node.id()).filter(|e| e.is_control() && e.src > NodeId::SINK).collect();
    let Some(first) = controls.iter().map(|e| position[e.src.index()]).min() else { return Vec::new() };
    // What the walk starts from reaches a control input by another edge if it is a data input, or comes after it.
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut reached: FxHashSet<NodeId> = graph.inputs(node.id()).map(|input| input.node).collect();
    let mut stack: Vec<NodeId> = graph.in_edges(node.id()).map(|e| e.src).filter(|&src| src > NodeId::SINK).collect();
    while let Some(id) = stack.pop() {
        let Some(before) = graph.get(id).filter(|n| is_strict(n)) else { continue };
        if !seen.insert(id) {
            continue;
        }
        if seen.len() > MAX_VISITED {
            break;
        }
        for edge in graph.in_edges(before.id()).filter(|e| e.src > NodeId::SINK && position[e.src.index()] >= first) {
            reached.insert(edge.src);
            stack.push(edge.src);
        }
    }
    controls.into_iter().filter(|e| reached.contains(&e.src)).collect()
}
