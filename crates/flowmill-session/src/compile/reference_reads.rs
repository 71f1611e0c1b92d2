//! Reads of reference variables that come after an update within the step see the update.
//!
//! In TensorFlow, `Identity` of a reference (which is what an expression like `v + 1` reads) shares the variable's memory, and an assignment writes
//! to that memory. A node that runs after an update by a control or data dependency, and the caller that fetches the `Identity`, therefore see the
//! updated value, though the `Identity` itself ran before. Tensors here do not change, so such consumers read the variable itself: their input
//! is moved from the `Identity` to the reference, and a node reads a reference when it starts. A fetch reads it when the step has ended.
//!
//! Consumers without a dependency on an update keep the value that the `Identity` read: TensorFlow's value is a matter of timing for them.

use flowmill_graph::{Graph, Node, NodeId, OutputId, Role};
use flowmill_tensor::Result;
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves the inputs of consumers that run after an update, and of fetches, from aliases of references to the references.
///
/// # Errors
/// Returns `InvalidArgument` or `NotFound` if an edge cannot be changed, which happens in no valid graph.
pub(super) fn read_after_updates(graph: &mut Graph) -> Result<()> {
    let updates = updates(graph);
    if updates.is_empty() {
        return Ok(());
    }
    let mut aliases: FxHashMap<NodeId, Vec<(NodeId, OutputId)>> = FxHashMap::default();
    for node in graph.op_nodes() {
        if let Some(reference) = aliased(graph, node)
            && let Some(variable) = variable(graph, reference)
        {
            aliases.entry(variable).or_default().push((node.id(), reference));
        }
    }
    let mut moves = Vec::new();
    for (variable, updates) in updates {
        let Some(aliases) = aliases.get(&variable) else { continue };
        let later = reached(graph, &updates);
        for &(alias, reference) in aliases {
            let reads_later = |id: NodeId| later.contains(&id) || graph.get(id).is_some_and(|n| n.role() == Role::Retval);
            moves.extend(
                graph.out_edges(alias).filter(|e| !e.is_control() && reads_later(e.dst)).map(|e| (alias, reference, e.dst, e.dst_input)),
            );
            // An alias that runs after an update reads the variable then.
            if later.contains(&alias) && graph.input(alias, 0).is_some_and(|input| input != reference) {
                moves.extend(graph.input_node(alias, 0).map(|source| (source, reference, alias, 0)));
            }
        }
    }
    moves.sort_unstable_by_key(|&(_, _, dst, input)| (dst, input));
    moves.dedup_by_key(|&mut (_, _, dst, input)| (dst, input));
    for (alias, reference, dst, input) in moves {
        if !takes_value(graph, dst) {
            continue;
        }
        // What the alias waits for, and whether it is dead, still counts.
        graph.add_control_edge(alias, dst)?;
        graph.update_edge(reference, dst, input as usize)?;
    }
    Ok(())
}

/// Returns true if a node reads its inputs when it starts. Nodes of control flow pass them on.
fn takes_value(graph: &Graph, id: NodeId) -> bool {
    graph.get(id).is_some_and(|n| !is_control_flow(n))
}

fn is_control_flow(node: &Node) -> bool {
    node.is_switch() || node.is_merge() || node.is_enter() || node.is_exit() || node.is_next_iteration()
}

fn is_reference(graph: &Graph, output: OutputId) -> bool {
    graph.output_type(output).is_ok_and(|t| t.is_ref)
}

/// The reference that a node's output equals, if the node is a chain of aliases behind one.
fn aliased(graph: &Graph, node: &Node) -> Option<OutputId> {
    let mut node = node;
    loop {
        let gives_value = node.output_types().iter().all(|t| !t.is_ref);
        if !node.traits().passes_on || node.role() != Role::Kernel || !gives_value {
            return None;
        }
        let input = graph.input(node.id(), 0)?;
        if is_reference(graph, input) {
            return Some(input);
        }
        node = graph.get(input.node)?;
    }
}

/// The node that makes the variable a reference refers to; `None` if it depends on what is computed, or comes out of a loop.
fn variable(graph: &Graph, reference: OutputId) -> Option<NodeId> {
    let mut at = reference;
    loop {
        let node = graph.get(at.node)?;
        let mut references = graph.inputs(at.node).filter(|&input| is_reference(graph, input));
        match (references.next(), references.next()) {
            (None, _) => return Some(at.node),
            (Some(source), None) if !is_control_flow(node) || node.is_switch() => at = source,
            _ => return None,
        }
    }
}

/// The nodes that take a reference to each variable, other than aliases and control flow: any of them may change it.
fn updates(graph: &Graph) -> Vec<(NodeId, Vec<NodeId>)> {
    let mut found: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    for node in graph.op_nodes().filter(|n| !is_control_flow(n)) {
        for (i, _) in node.input_types().iter().enumerate().filter(|(_, t)| t.is_ref) {
            let reference = graph.input(node.id(), i).filter(|&input| is_reference(graph, input));
            if let Some(variable) = reference.and_then(|reference| variable(graph, reference)) {
                found.entry(variable).or_default().push(node.id());
            }
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable_by_key(|(variable, _)| *variable);
    found
}

/// The nodes that run after one of `sources`.
fn reached(graph: &Graph, sources: &[NodeId]) -> FxHashSet<NodeId> {
    let mut seen = FxHashSet::default();
    let mut stack: Vec<NodeId> = sources.to_vec();
    while let Some(id) = stack.pop() {
        stack.extend(graph.out_edges(id).map(|e| e.dst).filter(|&dst| dst != NodeId::SINK && seen.insert(dst)));
    }
    seen
}
