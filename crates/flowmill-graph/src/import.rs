//! GraphDef → Graph.
//!
//! An import has two halves. The first checks everything and writes down what is to be added, without touching the graph; the second
//! adds it and cannot fail. Nodes keep the order of the message; their attributes are moved, not copied.

mod edges;
mod names;
mod options;
mod order;
mod producer_ops;
mod stand_ins;

pub use options::{ImportOptions, ImportResults};

use crate::check::complete_attrs;
use crate::node::NodeRest;
use crate::signature::Signature;
use crate::versions::{self, GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER, check_versions};
use crate::{Attrs, CONTROL_SLOT, FunctionLibrary, Graph, NodeId, OpDef, ShapeRefiner};
use flowmill_proto::{GraphDef, NodeDef, VersionDef};
use flowmill_tensor::{Error, Result, bail, error};
use names::Names;
use options::InputMap;
use producer_ops::ProducerOps;
use std::sync::Arc;

/// The most outputs that the nodes of one message may have together. Attributes can ask for a million with a few bytes, and whatever is
/// known of an output takes memory.
pub const MAX_IMPORTED_OUTPUTS: usize = 1 << 24;

/// The source of an imported node's input.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Source {
    node: SourceNode,
    /// An output, or [`CONTROL_SLOT`].
    slot: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SourceNode {
    /// A node of the message, by its place.
    Imported(u32),
    /// A node that was in the graph before.
    Existing(NodeId),
}

/// One node of the message, checked.
struct Planned {
    op_def: Arc<OpDef>,
    signature: Arc<Signature>,
    /// The index of its first input in [`Plan::sources`]: data, then control.
    first_source: u32,
    num_sources: u32,
    /// All its outputs are mapped to other tensors and the caller wants it left out.
    skipped: bool,
}

struct Plan {
    nodes: Vec<Planned>,
    sources: Vec<Source>,
}

impl Plan {
    fn sources(&self, node: usize) -> &[Source] {
        let planned = &self.nodes[node];
        &self.sources[planned.first_source as usize..(planned.first_source + planned.num_sources) as usize]
    }
}

/// Adds the nodes of `def` to `graph`.
///
/// # Errors
/// `InvalidArgument` for a message that is not a legal graph (names, arity, types, attributes, cycles, versions) or does not fit into
/// this one, naming the node; `NotFound` for ops that do not exist, all of them at once; `ResourceExhausted` past
/// [`MAX_IMPORTED_OUTPUTS`]. The graph is unchanged then.
pub fn import_graph_def(graph: &mut Graph, mut def: GraphDef, options: &ImportOptions) -> Result<ImportResults> {
    let versions = def.versions.take();
    let checked = versions.clone().unwrap_or_default();
    check_versions(&checked, GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER, "GraphDef")?;
    if def.node.len() >= u32::MAX as usize / 2 {
        bail!(ResourceExhausted, "a graph of {} nodes", def.node.len());
    }
    let stand_ins = if options.stand_ins { stand_ins::add(graph, &mut def, &options.producer_ops) } else { Vec::new() };
    let producer_ops = ProducerOps::new(options.producer_ops.iter().chain(&stand_ins));
    producer_ops.remove_new_defaults(graph.registry(), &mut def);
    let has_library_field = def.library.is_some();
    let library = match def.library.take() {
        Some(functions)
            if !(functions.function.is_empty()
                && functions.gradient.is_empty()
                && functions.registered_gradients.is_empty()
                && functions.unknown_fields.is_empty()) =>
        {
            for name in functions.function.iter().filter_map(|f| f.signature.as_ref()).map(|s| &s.name) {
                if graph.registry().get(name).is_some() {
                    bail!(InvalidArgument, "Cannot add function '{name}' because an op with the same name already exists.");
                }
            }
            let mut library = FunctionLibrary::clone(graph.library());
            library.add_library(functions)?;
            Some(Arc::new(library))
        }
        _ => None,
    };
    let mut nodes = std::mem::take(&mut def.node);
    let library = producer_ops.add_foreign(graph, library, &nodes)?;
    let names = Names::new(graph, &nodes, options)?;
    let input_map = InputMap::resolve(graph, options)?;
    let plan = plan(graph, library.as_deref(), &mut nodes, &names, &input_map, options, &checked)?;
    let mut results = input_map.results(&nodes, &names, &plan, options)?;

    let was_empty = graph.num_nodes() == 2;
    let before = (graph.versions.clone(), graph.library().clone(), graph.has_library_field);
    commit(graph, nodes, names, plan, options, &mut results)?;
    if let Some(library) = library {
        graph.set_library(library);
    }
    graph.has_library_field |= has_library_field;
    graph.versions = if was_empty { versions } else { Some(versions::merge(&graph.versions(), &checked)) };
    if options.validate_shape
        && let Err(e) = check_shapes(graph, &results.nodes)
    {
        for &id in results.nodes.iter().rev() {
            graph.remove_node(id)?;
        }
        graph.versions = before.0;
        graph.set_library(before.1);
        graph.has_library_field = before.2;
        return Err(e);
    }
    if was_empty {
        graph.rest = def;
    }
    Ok(results)
}

/// Runs the shape functions of the added nodes, with what they take from others.
fn check_shapes(graph: &Graph, nodes: &[NodeId]) -> Result<()> {
    let needed = crate::traverse::reverse_reachable(graph, nodes);
    let order: Vec<NodeId> = graph.op_nodes().map(|n| n.id()).filter(|n| needed[n.index()]).collect();
    ShapeRefiner::new().infer_nodes(graph, &order)
}

/// The first half: checks the nodes, completes their attributes and finds their inputs.
fn plan(
    graph: &mut Graph,
    library: Option<&FunctionLibrary>,
    nodes: &mut [NodeDef],
    names: &Names,
    input_map: &InputMap,
    options: &ImportOptions,
    versions: &VersionDef,
) -> Result<Plan> {
    let mut plan = Plan { nodes: Vec::with_capacity(nodes.len()), sources: Vec::with_capacity(nodes.len() * 2) };
    let mut unknown = Vec::new();
    let mut num_outputs = 0;
    for i in 0..nodes.len() {
        let node = &mut nodes[i];
        let found = library.and_then(|l| l.op_def(&node.op)).cloned().or_else(|| graph.op_def(&node.op).ok().cloned());
        let Some(op_def) = found else {
            unknown.push((node.op.clone(), node.name.clone()));
            continue;
        };
        if let Some(d) = &op_def.deprecation
            && versions.producer >= d.version
        {
            bail!(
                Unimplemented,
                "Op {} is not available in GraphDef version {}. It has been removed in version {}. {}.",
                op_def.name,
                versions.producer,
                d.version,
                d.explanation
            );
        }
        let mut attrs = Attrs::from(std::mem::take(&mut node.attr));
        complete_attrs(&node.name, &op_def, &mut attrs).map_err(|e| e.at_node(&node.name, &node.op))?;
        let signature = graph.resolve_signature(&op_def, &attrs).map_err(|e| at(node, e))?;
        node.attr = attrs.into_map();
        num_outputs += signature.outputs().len();
        if num_outputs > MAX_IMPORTED_OUTPUTS {
            bail!(
                ResourceExhausted,
                "Node '{}': the nodes of a GraphDef have more than {MAX_IMPORTED_OUTPUTS} outputs together",
                node.name
            );
        }
        names.rewrite_attrs(nodes, i, options)?;
        plan.nodes.push(Planned { op_def, signature, first_source: 0, num_sources: 0, skipped: false });
    }
    if !unknown.is_empty() {
        return Err(unknown_ops(&unknown));
    }
    if options.skip_mapped_nodes {
        for (planned, node) in plan.nodes.iter_mut().zip(&*nodes) {
            let outputs = planned.signature.outputs().len() as i32;
            planned.skipped = outputs > 0 && (0..outputs).all(|slot| input_map.get(&node.name, slot).is_some());
        }
    }
    edges::find_sources(graph, nodes, names, input_map, options, &mut plan)?;
    order::check_cycles(nodes, &plan)?;
    Ok(plan)
}

fn at(node: &NodeDef, e: Error) -> Error {
    e.append(format_args!("; NodeDef: {{{{node {}}}}}", node.name)).at_node(&node.name, &node.op)
}

/// Returns all ops that do not exist, each with the nodes that have it.
fn unknown_ops(unknown: &[(String, String)]) -> Error {
    const NODES_SHOWN: usize = 5;
    let mut by_op = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    for (op, node) in unknown {
        by_op.entry(op).or_default().push(node);
    }
    let mut lines = Vec::new();
    for (op, nodes) in &by_op {
        let more = if nodes.len() > NODES_SHOWN { format!(" and {} more", nodes.len() - NODES_SHOWN) } else { String::new() };
        lines.push(format!("Op type not registered '{op}': {}{more}", nodes[..nodes.len().min(NODES_SHOWN)].join(", ")));
    }
    let (op, node) = &unknown[0];
    error!(NotFound, "{}", lines.join("\n")).at_node(node, op)
}

/// The second half: adds what was planned.
fn commit(
    graph: &mut Graph,
    nodes: Vec<NodeDef>,
    mut names: Names,
    plan: Plan,
    options: &ImportOptions,
    results: &mut ImportResults,
) -> Result<()> {
    graph.nodes.check_room(nodes.len())?;
    graph.edges.check_room(plan.sources.len())?;
    graph.reserve(nodes.len(), plan.sources.len());
    if names.are_kept() && graph.num_nodes() == 2 && !plan.nodes.iter().any(|n| n.skipped) {
        graph.adopt_names(names.take_ids());
    }
    let default_device = graph.intern_device(&options.default_device);
    let mut ids = Vec::with_capacity(nodes.len());
    for (i, (mut node, planned)) in nodes.into_iter().zip(&plan.nodes).enumerate() {
        if planned.skipped {
            ids.push(NodeId::SOURCE);
            continue;
        }
        let rest = NodeRest::take(&mut node);
        let device = graph.intern_device(&node.device).or_else(|| default_device.clone());
        let id =
            graph.insert(names.hashed(i, &node.name), planned.op_def.clone(), device, node.attr.into(), rest, planned.signature.clone())?;
        ids.push(id);
        results.nodes.push(id);
    }
    for (i, planned) in plan.nodes.iter().enumerate() {
        if planned.skipped {
            continue;
        }
        for (input, source) in plan.sources(i).iter().enumerate() {
            let src = match source.node {
                SourceNode::Imported(place) => ids[place as usize],
                SourceNode::Existing(id) => id,
            };
            if source.slot == CONTROL_SLOT {
                graph.add_duplicate_control_edge(src, ids[i])?;
            } else {
                graph.connect(src.output(source.slot as u32), ids[i], input)?;
            }
        }
    }
    results.resolve(&ids);
    Ok(())
}
