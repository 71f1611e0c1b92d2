//! Walks over a graph: depth first both ways, topological order, and what a set of nodes needs.

use crate::{Edge, Graph, Node, NodeId};
use flowmill_tensor::{Result, bail};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names that a message about a cycle lists.
const NAMES_SHOWN: usize = 10;

/// In which order a walk takes the neighbours of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Neighbours {
    /// In the order of the node's edge list: the cheapest.
    #[default]
    AsAdded,
    /// In the order of the nodes' names: the same for equal graphs however they were built.
    ByName,
}

/// An event of a walk at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// The node is reached for the first time.
    Enter(NodeId),
    /// All that is reached from it has been left.
    Leave(NodeId),
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Backward,
}

/// Returns true if an edge closes a loop: from `NextIteration` into `Merge`.
pub fn is_back_edge(graph: &Graph, edge: &Edge) -> bool {
    let ends = graph.get(edge.src).zip(graph.get(edge.dst));
    !edge.is_control() && ends.is_some_and(|(src, dst)| dst.is_merge() && src.is_next_iteration())
}

/// Depth-first walk along the edges that `filter` lets pass, from `starts` in their order.
pub fn depth_first(graph: &Graph, starts: &[NodeId], order: Neighbours, filter: impl Fn(&Edge) -> bool, visit: impl FnMut(Visit)) {
    walk(graph, starts, Direction::Forward, order, filter, visit);
}

/// Like [`depth_first`], against the direction of the edges.
pub fn reverse_depth_first(graph: &Graph, starts: &[NodeId], order: Neighbours, filter: impl Fn(&Edge) -> bool, visit: impl FnMut(Visit)) {
    walk(graph, starts, Direction::Backward, order, filter, visit);
}

fn walk(
    graph: &Graph,
    starts: &[NodeId],
    direction: Direction,
    order: Neighbours,
    filter: impl Fn(&Edge) -> bool,
    mut visit: impl FnMut(Visit),
) {
    let mut seen = vec![false; graph.num_node_ids()];
    let mut stack: Vec<Visit> = starts.iter().rev().map(|&n| Visit::Enter(n)).collect();
    let mut next: Vec<NodeId> = Vec::new();
    while let Some(step) = stack.pop() {
        let Visit::Enter(node) = step else {
            visit(step);
            continue;
        };
        match seen.get_mut(node.index()) {
            Some(seen) if !*seen && graph.get(node).is_some() => *seen = true,
            _ => continue,
        }
        visit(step);
        stack.push(Visit::Leave(node));
        next.clear();
        match direction {
            Direction::Forward => next.extend(graph.out_edges(node).filter(&filter).map(|e| e.dst)),
            Direction::Backward => next.extend(graph.in_edges(node).filter(&filter).map(|e| e.src)),
        }
        next.retain(|n| !seen[n.index()]);
        if order == Neighbours::ByName {
            next.sort_by(|&a, &b| graph[a].name().cmp(graph[b].name()));
        }
        stack.extend(next.iter().rev().map(|&n| Visit::Enter(n)));
    }
}

/// Returns all nodes, each after everything that can be reached from it along the edges that `filter` lets pass.
pub fn post_order(graph: &Graph, order: Neighbours, filter: impl Fn(&Edge) -> bool) -> Vec<NodeId> {
    let mut starts: Vec<NodeId> = graph.nodes().map(Node::id).collect();
    // Roots first; what is left then lies on loops that no root leads into.
    starts.sort_by_key(|&n| graph.in_edges(n).any(|e| filter(&e)));
    if order == Neighbours::ByName {
        starts.sort_by_key(|&n| (graph.in_edges(n).any(|e| filter(&e)), graph[n].name()));
    }
    let mut nodes = Vec::with_capacity(graph.num_nodes());
    depth_first(graph, &starts, order, filter, |v| {
        if let Visit::Leave(node) = v {
            nodes.push(node);
        }
    });
    nodes
}

/// Returns the reverse of [`post_order`]: if there are no cycles, each node before its consumers.
pub fn reverse_post_order(graph: &Graph, order: Neighbours, filter: impl Fn(&Edge) -> bool) -> Vec<NodeId> {
    let mut nodes = post_order(graph, order, filter);
    nodes.reverse();
    nodes
}

/// Returns all nodes but `_SOURCE` and `_SINK`, each after its producers, those on back edges of loops excepted; among nodes that could come
/// next, the one with the least id.
///
/// # Errors
/// `InvalidArgument` for a cycle that is no loop.
pub fn topological_order(graph: &Graph) -> Result<Vec<NodeId>> {
    let mut pending = vec![0u32; graph.num_node_ids()];
    let mut ready = BinaryHeap::new();
    for node in graph.op_nodes() {
        let count = graph.in_edges(node.id()).filter(|e| e.src > NodeId::SINK && !is_back_edge(graph, e)).count();
        pending[node.id().index()] = count as u32;
        if count == 0 {
            ready.push(Reverse(node.id()));
        }
    }
    let total = graph.op_nodes().count();
    let mut order = Vec::with_capacity(total);
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for edge in graph.out_edges(node).filter(|e| e.dst > NodeId::SINK && !is_back_edge(graph, e)) {
            let left = &mut pending[edge.dst.index()];
            *left -= 1;
            if *left == 0 {
                ready.push(Reverse(edge.dst));
            }
        }
    }
    if order.len() == total {
        return Ok(order);
    }
    let names: Vec<&str> = graph.op_nodes().filter(|n| pending[n.id().index()] > 0).take(NAMES_SHOWN).map(|n| n.name()).collect();
    bail!(InvalidArgument, "Graph is invalid, contains a cycle with {} nodes, including: {}", total - order.len(), names.join(", "))
}

/// For each node id, whether one of `targets` needs the node, by data or by control.
pub fn reverse_reachable(graph: &Graph, targets: &[NodeId]) -> Vec<bool> {
    let mut needed = vec![false; graph.num_node_ids()];
    reverse_depth_first(
        graph,
        targets,
        Neighbours::AsAdded,
        |_| true,
        |v| {
            if let Visit::Enter(node) = v {
                needed[node.index()] = true;
            }
        },
    );
    needed
}

/// Removes every node that none of `targets` needs; returns how many.
///
/// # Errors
/// None for a graph whose edges are consistent.
pub fn prune(graph: &mut Graph, targets: &[NodeId]) -> Result<usize> {
    let needed = reverse_reachable(graph, targets);
    let unneeded: Vec<NodeId> = graph.op_nodes().map(Node::id).filter(|n| !needed[n.index()]).collect();
    for &node in &unneeded {
        graph.remove_node(node)?;
    }
    Ok(unneeded.len())
}
