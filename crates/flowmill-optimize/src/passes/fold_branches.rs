//! Removes branches that a constant condition never takes.
//!
//! Before: `s:2 = Switch(x, p)` with a constant `p = true`, `a = Neg(s)`, `b = Exp(s:1)`, `m = Merge(a, b)`. After: `m = Exp(x)`.
//!
//! Sound because the removed nodes are dead in each step: they depend on an output of a `Switch` that is never live, by data or by control. A `Merge`
//! returns its only input that can be live. Guards:
//! * a result of the step, or a tensor for another device, that is dead stays: the step reports the first, and the other device expects the second;
//! * a loop whose next iteration can never begin stays;
//! * a `Merge` whose output `value_index` has consumers stays with all of its inputs;
//! * no control edge leads into a `Merge` whose inputs go, and conditions are not references.
//!
//! If a node has to stay, all branches do. A `Switch` itself stays if a control edge needs it.
//!
//! `fold_constants` runs earlier: conditions are computed.

use crate::PassContext;
use crate::bypass::{Bypass, Substitute};
use crate::rewrite::{bypass, constant, node_def, replace};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Edge, Graph, Node, NodeId, OutputId, Role};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};
use rustc_hash::FxHashMap;

pub(crate) fn run(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let switches: FxHashMap<NodeId, Decided> = graph.op_nodes().filter_map(|node| Some((node.id(), Decided::of(graph, node)?))).collect();
    if switches.is_empty() {
        return Ok(0);
    }
    let order = topological_order(graph)?;
    let Some(dead) = DeadNodes::find(graph, &order, &switches) else { return Ok(0) };
    let mut count = dead.nodes.len();
    let narrowed: Vec<(NodeId, Vec<OutputId>)> = dead.narrowed;
    for &(merge, ref live) in &narrowed {
        narrow(graph, merge, live)?;
        count += 1;
    }
    for &id in dead.nodes.iter().rev() {
        graph.remove_node(id)?;
    }
    let mut skip = Bypass::default();
    for id in order {
        let Some(decided) = switches.get(&id).filter(|_| graph.get(id).is_some()) else { continue };
        let Some(source) = graph.input(id, 0) else { continue };
        let controls = graph.control_inputs(id).chain(decided.controls.iter().copied()).collect();
        count += usize::from(skip.try_remove(graph, id, Substitute { source, controls, drops_inputs: false })?);
    }
    Ok(count)
}

/// A `Switch` whose predicate is constant.
struct Decided {
    /// The output that is never live.
    dead_slot: u32,
    /// The nodes that the predicate waits for.
    controls: Vec<NodeId>,
}

impl Decided {
    fn of(graph: &Graph, node: &Node) -> Option<Decided> {
        let has_two_outputs = node.role() == Role::Switch && node.num_outputs() == 2 && node.num_inputs() == 2;
        if !has_two_outputs || node.output_types().iter().any(|t| t.is_ref) {
            return None;
        }
        let predicate = constant(graph, graph.input(node.id(), 1)?)?;
        let is_taken = predicate.value.to_scalar::<bool>().ok()?;
        Some(Decided { dead_slot: u32::from(!is_taken), controls: predicate.controls })
    }
}

/// The nodes that are never live, and what follows from it.
struct DeadNodes {
    /// In topological order.
    nodes: Vec<NodeId>,
    /// Each live `Merge` with a dead input, and its other inputs.
    narrowed: Vec<(NodeId, Vec<OutputId>)>,
}

impl DeadNodes {
    /// Returns `None` if a dead node has to stay.
    fn find(graph: &Graph, order: &[NodeId], switches: &FxHashMap<NodeId, Decided>) -> Option<DeadNodes> {
        let mut is_dead = vec![false; graph.num_node_ids()];
        let mut found = DeadNodes { nodes: Vec::new(), narrowed: Vec::new() };
        let is_dead_edge = |is_dead: &[bool], edge: &Edge| {
            let is_untaken = edge.source().zip(switches.get(&edge.src)).is_some_and(|(source, switch)| source.slot == switch.dead_slot);
            is_untaken || is_dead[edge.src.index()]
        };
        for node in order.iter().filter_map(|&id| graph.get(id)) {
            // A loop goes on only if its first iteration begins, so that back edges need no look.
            let is_back = |edge: &Edge| graph.get(edge.src).is_some_and(Node::is_next_iteration);
            let mut inputs = graph.in_edges(node.id()).filter(|e| e.src > NodeId::SINK);
            let dies = if node.is_merge() {
                inputs.all(|e| is_back(&e) || is_dead_edge(&is_dead, &e))
            } else {
                node.role() != Role::ControlTrigger && inputs.any(|e| is_dead_edge(&is_dead, &e))
            };
            if dies {
                if matches!(node.role(), Role::Retval | Role::Send) {
                    return None;
                }
                is_dead[node.id().index()] = true;
                found.nodes.push(node.id());
            }
        }
        for merge in order.iter().filter_map(|&id| graph.get(id)).filter(|n| n.is_merge() && !is_dead[n.id().index()]) {
            let edges: Vec<Edge> = graph.in_edges(merge.id()).filter(|e| is_dead_edge(&is_dead, e)).collect();
            if edges.is_empty() {
                continue;
            }
            let is_loop = graph.inputs(merge.id()).any(|input| graph.get(input.node).is_some_and(Node::is_next_iteration));
            let shows_index = graph.out_edges(merge.id()).any(|e| e.src_output == 1);
            if is_loop || shows_index || graph.control_inputs(merge.id()).next().is_some() {
                return None;
            }
            let dead: Vec<i32> = edges.iter().map(|e| e.dst_input).collect();
            let live = graph.inputs(merge.id()).enumerate().filter(|(i, _)| !dead.contains(&(*i as i32)));
            found.narrowed.push((merge.id(), live.map(|(_, input)| input).collect()));
        }
        Some(found)
    }
}

/// Makes a `Merge` one of these inputs, or replaces it by the only one.
fn narrow(graph: &mut Graph, merge: NodeId, live: &[OutputId]) -> Result<()> {
    if let &[only] = live {
        let producer = graph.node(only.node)?;
        let is_ordering = graph.out_edges(merge).any(|e| e.is_control());
        let is_conditional = producer.is_control_flow() || producer.traits().leaves_outputs_dead;
        if producer.device() == graph.node(merge)?.device() && !(is_ordering && is_conditional) {
            return bypass(graph, merge, only);
        }
    }
    let node = graph.node(merge)?;
    let dtype = node.output_types().first().map_or(DType::F32, |t| t.dtype);
    let mut def = node_def(graph, node.op(), String::new(), &[merge]);
    def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
    def.attr.insert("N".to_owned(), (live.len() as i64).into());
    replace(graph, merge, def, live, &[]).map(drop)
}
