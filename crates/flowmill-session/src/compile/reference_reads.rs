//! Reads of reference variables that come after an update within the step see the update.
//!
//! In TensorFlow, `Identity` of a reference (which is what an expression like `v + 1` reads) shares the variable's memory, and an assignment writes
//! to that memory. A node that runs after an update by a control or data dependency, and the caller that fetches the `Identity`, therefore see the
//! updated value, though the `Identity` itself ran before. Tensors here do not change, so such consumers read the variable itself: their input
//! is moved from the `Identity` to the reference, and a node reads a reference when it starts. A fetch reads it when the step has ended.
//!
//! A consumer may be in a branch or a loop that the value enters by a `Switch`, or by an `Enter` for all iterations: then the reference enters beside the
//! value, by a `RefSwitch` or a `RefEnter`.
//!
//! Consumers without a dependency on an update keep the value that the `Identity` read: TensorFlow's value is a matter of timing for them.

use flowmill_graph::{Graph, Node, NodeId, OutputId, Role};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Bytes, Result};
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
        let mut entries = FxHashMap::default();
        for (read, dst, input) in reads_in_contexts(graph, aliases, &later) {
            let reference = enter_reference(graph, variable, &read, &mut entries)?;
            graph.update_edge(reference, dst, input)?;
        }
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

/// A value that a read of a reference has brought into branches and loops.
struct EnteredRead {
    /// The reference that was read.
    reference: OutputId,
    /// The outputs of `Switch` and `Enter` nodes that the value went through, in order.
    path: Vec<OutputId>,
}

/// Returns the inputs of nodes in `later` that are reads of a reference, brought into a branch or a loop.
fn reads_in_contexts(graph: &Graph, aliases: &[(NodeId, OutputId)], later: &FxHashSet<NodeId>) -> Vec<(EnteredRead, NodeId, usize)> {
    let mut found = Vec::new();
    let mut work: Vec<(OutputId, EnteredRead)> =
        aliases.iter().map(|&(alias, reference)| (alias.output(0), EnteredRead { reference, path: Vec::new() })).collect();
    while let Some((value, read)) = work.pop() {
        for edge in graph.out_edges(value.node).filter(|edge| edge.source() == Some(value)) {
            let Some(dst) = graph.get(edge.dst) else { continue };
            let goes_on = |output: Option<OutputId>| EnteredRead {
                reference: read.reference,
                path: read.path.iter().copied().chain(output).collect(),
            };
            if enters(dst, edge.dst_input) {
                work.extend((0..dst.num_outputs()).map(|slot| dst.id().output(slot as u32)).map(|output| (output, goes_on(Some(output)))));
            } else if !read.path.is_empty() {
                if later.contains(&edge.dst) && takes_value(graph, edge.dst) {
                    found.push((goes_on(None), edge.dst, edge.dst_input as usize));
                }
                if edge.dst_input == 0 && passes_value_on(dst) {
                    work.push((dst.id().output(0), goes_on(None)));
                }
            }
        }
    }
    found
}

/// Returns true if input `i` of a node enters a branch, or all iterations of a loop.
fn enters(node: &Node, i: i32) -> bool {
    let is_branch = node.is_switch() && node.num_outputs() == 2;
    let is_invariant = node.is_enter() && node.attrs().get("is_constant").unwrap_or(false);
    i == 0 && (is_branch || is_invariant) && node.input_types().first().is_some_and(|input| !input.is_ref)
}

/// Makes a reference enter beside the value that was read from it, once for each node of `entries` by which the value enters. It waits for what the
/// value waits for.
fn enter_reference(graph: &mut Graph, variable: NodeId, read: &EnteredRead, entries: &mut FxHashMap<NodeId, NodeId>) -> Result<OutputId> {
    let mut reference = read.reference;
    let variable = graph.node(variable)?;
    let (device, group) = (variable.device().to_owned(), Bytes::from(format!("loc:@{}", variable.name())));
    for &output in &read.path {
        if let Some(made) = entries.get(&output.node) {
            reference = made.output(output.slot);
            continue;
        }
        let entry = graph.node(output.node)?;
        let op = if entry.is_enter() { "RefEnter" } else { "RefSwitch" };
        let (base, mut attr) = (entry.name().to_owned(), entry.attrs().to_map());
        attr.insert("_class".into(), Value::List(Box::new(ListValue { s: vec![group.clone()], ..ListValue::default() })).into());
        let inputs: Vec<OutputId> = [reference].into_iter().chain(graph.inputs(output.node).skip(1)).collect();
        let control: Vec<NodeId> = graph.control_inputs(output.node).chain(graph.input_node(output.node, 0)).collect();
        let def = NodeDef { name: graph.new_name(&base), op: op.to_owned(), device: device.clone(), attr, ..NodeDef::default() };
        let made = graph.add_node_with_inputs(def, &inputs, &control)?;
        entries.insert(output.node, made);
        reference = made.output(output.slot);
    }
    Ok(reference)
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

/// Returns true if a node's output is the value of its input.
fn passes_value_on(node: &Node) -> bool {
    node.traits().passes_on && node.role() == Role::Kernel && node.output_types().iter().all(|t| !t.is_ref)
}

/// The reference that a node's output equals, if the node is a chain of aliases behind one.
fn aliased(graph: &Graph, node: &Node) -> Option<OutputId> {
    let mut node = node;
    loop {
        if !passes_value_on(node) {
            return None;
        }
        let input = graph.input(node.id(), 0)?;
        if is_reference(graph, input) {
            return Some(input);
        }
        node = graph.get(input.node)?;
    }
}

/// The node that makes the variable a reference refers to; `None` if it depends on what is computed, or goes through the iterations of a loop.
fn variable(graph: &Graph, reference: OutputId) -> Option<NodeId> {
    let mut at = reference;
    loop {
        let node = graph.get(at.node)?;
        let mut references = graph.inputs(at.node).filter(|&input| is_reference(graph, input));
        match (references.next(), references.next()) {
            (None, _) => return Some(at.node),
            (Some(source), None) if !is_control_flow(node) || node.is_switch() || node.is_enter() => at = source,
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
