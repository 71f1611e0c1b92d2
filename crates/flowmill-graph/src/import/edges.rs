//! Inputs on import: where each comes from, and whether number and types are right.

use super::options::InputMap;
use super::{ImportOptions, Names, Plan, Source, SourceNode};
use crate::signature::type_names;
use crate::{CONTROL_SLOT, Graph, TensorName, TensorType};
use flowmill_proto::NodeDef;
use flowmill_tensor::{Result, bail};
use hashbrown::HashSet;

/// The number of control inputs from which on repeated ones are found by hashing.
const HASHED_CONTROLS: usize = 16;

/// Fills in the sources of all nodes.
pub(super) fn find_sources(
    graph: &Graph,
    nodes: &[NodeDef],
    names: &Names,
    input_map: &InputMap,
    options: &ImportOptions,
    plan: &mut Plan,
) -> Result<()> {
    for i in 0..nodes.len() {
        let first = plan.sources.len();
        plan.nodes[i].first_source = first as u32;
        if !plan.nodes[i].skipped {
            let num_data = find_inputs(graph, nodes, names, input_map, plan, i)?;
            if !options.control_dependencies.is_empty() {
                add_control_dependencies(nodes, input_map, plan, i, first);
            }
            remove_repeated_controls(plan, first + num_data);
        }
        if plan.sources.len() > u32::MAX as usize {
            bail!(ResourceExhausted, "a graph of more than {} edges", u32::MAX);
        }
        plan.nodes[i].num_sources = (plan.sources.len() - first) as u32;
    }
    Ok(())
}

/// Returns the place of a node that node `i` takes something from: often the one before, which costs no look at the table.
fn find_near(nodes: &[NodeDef], names: &Names, i: usize, name: &str) -> Option<u32> {
    match i.checked_sub(1) {
        Some(before) if nodes[before].name == name => Some(before as u32),
        _ => names.find(nodes, name),
    }
}

/// Appends the sources of node `i`, data first; returns the number of data inputs.
fn find_inputs(graph: &Graph, nodes: &[NodeDef], names: &Names, input_map: &InputMap, plan: &mut Plan, i: usize) -> Result<usize> {
    let node = &nodes[i];
    let mut num_data = 0;
    let mut in_controls = false;
    for input in &node.input {
        let Some(name) = TensorName::parse(input) else {
            bail!(InvalidArgument, "Node '{}': Malformed input '{input}'", node.name);
        };
        if !name.is_control() {
            if in_controls {
                bail!(InvalidArgument, "Node '{}': Control dependencies must come after regular dependencies", node.name);
            }
            num_data += 1;
        }
        in_controls = name.is_control();
        let source = match input_map.take(name.node, name.slot) {
            Some(source) => source,
            None => match find_near(nodes, names, i, name.node) {
                // Only a control input can name a node that is left out: all its tensors are mapped.
                Some(place) if plan.nodes[place as usize].skipped && name.is_control() => match input_map.get(name.node, 0) {
                    Some(mapped) => Source { slot: CONTROL_SLOT, ..mapped },
                    None => continue,
                },
                Some(place) => Source { node: SourceNode::Imported(place), slot: name.slot },
                None => bail!(InvalidArgument, "Node '{}': Unknown input node '{input}'", node.name),
            },
        };
        plan.sources.push(source);
    }
    let first = plan.nodes[i].first_source as usize;
    let expected = plan.nodes[i].signature.inputs();
    if num_data != expected.len() {
        bail!(
            InvalidArgument,
            "NodeDef expected inputs '{}' do not match {num_data} inputs specified; {}; NodeDef: {{{{node {}}}}}",
            type_names(expected),
            plan.nodes[i].op_def,
            node.name
        );
    }
    for (k, (source, &expected)) in plan.sources[first..first + num_data].iter().zip(expected).enumerate() {
        check_types(graph, nodes, plan, node, k, *source, expected)?;
    }
    Ok(num_data)
}

fn check_types(
    graph: &Graph,
    nodes: &[NodeDef],
    plan: &Plan,
    node: &NodeDef,
    k: usize,
    source: Source,
    expected: TensorType,
) -> Result<()> {
    let (src, outputs) = match source.node {
        SourceNode::Imported(place) => (&*nodes[place as usize].name, plan.nodes[place as usize].signature.outputs()),
        SourceNode::Existing(id) => {
            let src = graph.node(id)?;
            (src.name(), src.output_types())
        }
    };
    let Some(&actual) = outputs.get(source.slot as usize) else {
        bail!(
            InvalidArgument,
            "Node '{}': Connecting to invalid output {} of source node {src} which has {} outputs.",
            node.name,
            source.slot,
            outputs.len()
        );
    };
    if !expected.accepts(actual) {
        bail!(
            InvalidArgument,
            "Input {k} of node {} was passed {actual} from {src}:{} incompatible with expected {expected}.",
            node.name,
            source.slot
        );
    }
    Ok(())
}

/// Adds the caller's control dependencies to a node that does not inherit them from another imported node.
fn add_control_dependencies(nodes: &[NodeDef], input_map: &InputMap, plan: &mut Plan, i: usize, first: usize) {
    let inherits = plan.sources[first..].iter().any(|source| match source.node {
        SourceNode::Imported(place) => !super::order::is_back_edge(nodes, place as usize, i),
        SourceNode::Existing(_) => false,
    });
    if !inherits {
        let added = input_map.control_dependencies.iter().map(|&id| Source { node: SourceNode::Existing(id), slot: CONTROL_SLOT });
        plan.sources.extend(added);
    }
}

/// Keeps the first of equal control inputs, which are all sources from `start`.
fn remove_repeated_controls(plan: &mut Plan, start: usize) {
    let sources = &mut plan.sources;
    let mut seen = HashSet::new();
    let hashed = sources.len() - start > HASHED_CONTROLS;
    let mut end = start;
    for i in start..sources.len() {
        let source = sources[i];
        let repeated = if hashed { !seen.insert(source.node) } else { sources[start..end].contains(&source) };
        if !repeated {
            sources[end] = source;
            end += 1;
        }
    }
    sources.truncate(end);
}
