//! Lowering of branches that are functions, shared by `lower_if` and `lower_case`.

use super::{Argument, Body, Functions, Liveness, Place, add, identity, inputs_gate, redirect, splice, type_attr};
use flowmill_graph::{Graph, NodeId, OutputId};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Bytes, Result};
use std::sync::Arc;

/// One branch.
pub(crate) struct Branch {
    /// The part of its nodes' names that follows the name of the lowered node.
    pub(crate) name: String,
    pub(crate) body: Arc<Body>,
}

/// Replaces `node` by `branches`, whose arguments are the inputs of `node` after the first. `selector` chooses the branch: output `i` of a `switch`
/// on it goes to branch `i`.
pub(crate) fn lower_branches(
    graph: &mut Graph,
    functions: &mut Functions,
    node: NodeId,
    (selector, switch): (OutputId, &str),
    branches: &[Branch],
    liveness: &Liveness,
) -> Result<()> {
    let (name, device) = (graph.node(node)?.name().to_owned(), graph.node(node)?.device().to_owned());
    let inputs: Vec<OutputId> = graph.inputs(node).skip(1).collect();
    // Everything needs the selector, so what it waits for, all waits for.
    let selector = match inputs_gate(graph, node, liveness)? {
        None => selector,
        Some(gate) => identity(graph, selector, &format!("{name}/selector"), &device, &[gate])?,
    };
    let new_switch = |graph: &mut Graph, data: OutputId, device: &str, class: Option<AttrValue>| -> Result<NodeId> {
        let dtype = graph.output_type(data)?.dtype;
        let mut attrs: Vec<(&str, AttrValue)> = vec![("T", type_attr(dtype))];
        if switch == "_SwitchN" {
            attrs.push(("num_outs", (branches.len() as i64).into()));
        }
        attrs.extend(class.map(|class| ("_class", class)));
        add(graph, switch, &format!("{name}/Switch"), device, &attrs, &[data, selector], &[])
    };
    // As in TensorFlow, the Switch of an input is colocated with its producer.
    let switch_input = |graph: &mut Graph, data: OutputId| -> Result<NodeId> {
        let producer = graph.node(data.node)?;
        let (device, group) = (producer.device().to_owned(), Bytes::from(format!("loc:@{}", producer.name())));
        new_switch(graph, data, &device, Some(Value::List(Box::new(ListValue { s: vec![group], ..ListValue::default() })).into()))
    };
    let is_used = |i: usize| branches.iter().any(|b| b.body.is_noinline || b.body.args.get(i).is_some_and(Option::is_some));
    let mut switches = Vec::with_capacity(inputs.len());
    for (i, &input) in inputs.iter().enumerate() {
        switches.push(if is_used(i) { Some(switch_input(graph, input)?) } else { None });
    }
    let is_waited_for = graph.out_edges(node).any(|e| e.is_control());
    let mut pivot_switch = None;
    let (mut results, mut done) = (Vec::new(), Vec::new());
    for (slot, branch) in branches.iter().enumerate() {
        let prefix = format!("{name}/{}", branch.name);
        let gate = if branch.body.has_roots || branch.body.is_noinline || is_waited_for {
            let switch = match pivot_switch {
                Some(switch) => switch,
                None => *pivot_switch.insert(new_switch(graph, selector, &device, None)?),
            };
            Some(identity(graph, switch.output(slot as u32), &format!("{prefix}/pivot"), &device, &[])?)
        } else {
            None
        };
        let arg = |(switch, &input): (&Option<NodeId>, &OutputId)| Argument {
            source: switch.map_or(input, |s| s.output(slot as u32)),
            is_gated: true,
        };
        let args: Vec<Argument> = switches.iter().zip(&inputs).map(arg).collect();
        let place = Place { caller: node, prefix: &prefix, device: &device, args: &args, gate: gate.map(|g| g.node) };
        let spliced = splice(graph, functions, &branch.body, &place)?;
        for &effect in &spliced.effects {
            // Whatever becomes of the branch's results.
            graph.add_control_edge(effect, NodeId::SINK)?;
        }
        if let Some(pivot) = gate.filter(|_| is_waited_for) {
            done.push(match spliced.effects.is_empty() {
                true => pivot,
                false => identity(graph, pivot, &format!("{prefix}/done"), &device, &spliced.effects)?,
            });
        }
        results.push(spliced.results);
    }
    let merge = |graph: &mut Graph, functions: &mut Functions, name: &str, sources: &[OutputId]| -> Result<NodeId> {
        let dtype = graph.output_type(sources[0])?.dtype;
        let attrs = [("T", type_attr(dtype)), ("N", (sources.len() as i64).into())];
        let id = add(graph, "Merge", name, &device, &attrs, sources, &[])?;
        functions.add_join(id, liveness.of(node));
        Ok(id)
    };
    let mut merges: Vec<Option<NodeId>> = vec![None; results[0].len()];
    let joined = if done.is_empty() { None } else { Some(merge(graph, functions, &format!("{name}/done"), &done)?) };
    let output = |graph: &mut Graph, slot: u32| -> Result<OutputId> {
        let place = &mut merges[slot as usize];
        let id = match *place {
            Some(id) => id,
            None => {
                let sources: Vec<OutputId> = results.iter().map(|r| r[slot as usize]).collect();
                *place.insert(merge(graph, functions, &format!("{name}/Merge"), &sources)?)
            }
        };
        Ok(id.output(0))
    };
    redirect(graph, node, output, |_| Ok(joined))
}
