//! Control loops, which make the iterations of a loop on a device that does not compute the loop's predicate.
//!
//! ```text
//! t = Const(); e = Enter(t); m = Merge(e, n); s = Switch(m, predicate); n = NextIteration(s:1)
//! ```
//!
//! The predicate is the loop's `LoopCond`, on whichever device it is. The `Merge` runs live in every iteration that the loop has, the last one
//! included, so receives of the loop wait for it. The `Enter` of a nested loop's control loop takes the `Merge` of the control loop around it; outside
//! of loops it takes a constant.
//!
//! A device gets a control loop for a frame if the frame is on several devices, the device has nodes in it, and the predicate is computed elsewhere; if
//! a node of the device in the frame takes a tensor from another device; or if it gets one for a frame within.

use crate::{Assignment, is_boundary};
use flowmill_graph::{ControlFlow, FrameId, Graph, NodeId, NodeTemplate, OutputId, Role};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{DType, Result, Tensor, bail};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The frames of a graph, with their control loops.
pub(crate) struct ControlLoops {
    flow: ControlFlow,
    /// The `Merge` of each control loop.
    merges: FxHashMap<(FrameId, usize), NodeId>,
    /// The nodes whose outputs are not taken once per iteration, by node id.
    is_irregular: Vec<bool>,
}

impl ControlLoops {
    /// Returns the frame that a node runs in; the root frame for a node that was added since.
    pub(crate) fn frame_of(&self, node: NodeId) -> FrameId {
        self.flow.frame_of(node)
    }

    /// Returns the frame in which the outputs of a node are taken.
    pub(crate) fn frame_of_outputs(&self, node: NodeId) -> FrameId {
        self.flow.output_frame_of(node)
    }

    /// Returns the node that is live in every iteration of a frame on a device.
    pub(crate) fn merge(&self, frame: FrameId, device: usize) -> Option<NodeId> {
        self.merges.get(&(frame, device)).copied()
    }

    /// Returns true if the outputs of a node are not taken exactly once in every iteration of their frame.
    pub(crate) fn is_irregular(&self, node: NodeId) -> bool {
        self.is_irregular.get(node.index()).copied().unwrap_or(false)
    }
}

/// Adds control loops to the devices that need them.
///
/// # Errors
/// Returns `InvalidArgument` for frames that do not fit together, and for a frame on several devices that has no `LoopCond`.
pub(crate) fn add(graph: &mut Graph, assignment: &mut Assignment) -> Result<ControlLoops> {
    let flow = ControlFlow::new(graph)?;
    let mut loops = ControlLoops { flow, merges: FxHashMap::default(), is_irregular: Vec::new() };
    if !loops.flow.has_loops() {
        return Ok(loops);
    }
    let needed = needed(graph, assignment, &loops.flow)?;
    if needed.is_empty() {
        return Ok(loops);
    }
    loops.is_irregular = irregular(graph, &loops.flow)?;
    let mut tokens: BTreeMap<usize, NodeId> = BTreeMap::new();
    // Frames are numbered from the outermost in.
    for (frame, device) in needed {
        let outer = loops.flow.frame(frame).parent.filter(|&parent| parent != FrameId::ROOT);
        let dummy = match outer.map(|outer| loops.merge(outer, device)) {
            Some(Some(merge)) => merge,
            Some(None) => bail!(Internal, "A control loop without one around it"),
            None => match tokens.get(&device) {
                Some(&token) => token,
                None => {
                    let token = {
                        let template = token_template(graph)?;
                        graph.add_node_of(&template, "control", None, &[])?
                    };
                    assignment.set(token, device);
                    tokens.insert(device, token);
                    token
                }
            },
        };
        let merge = add_control_loop(graph, assignment, &loops.flow, (frame, device), dummy.output(0))?;
        loops.merges.insert((frame, device), merge);
    }
    Ok(loops)
}

/// Returns the frames and devices that need a control loop.
fn needed(graph: &Graph, assignment: &Assignment, flow: &ControlFlow) -> Result<BTreeSet<(FrameId, usize)>> {
    let mut present: BTreeMap<FrameId, BTreeSet<usize>> = BTreeMap::new();
    let mut needed: BTreeSet<(FrameId, usize)> = BTreeSet::new();
    for node in graph.op_nodes() {
        let device = assignment.device(node.id());
        for frame in [flow.frame_of(node.id()), flow.output_frame_of(node.id())] {
            present.entry(frame).or_default().insert(device);
        }
        let received = graph.in_edges(node.id()).filter(|e| !is_boundary(e.src, e.dst) && assignment.device(e.src) != device);
        for edge in received {
            let frame = flow.output_frame_of(edge.src);
            needed.insert((frame, device));
            // What is received orders the send of a reference: see `transfers`.
            if edge.source().is_some_and(|output| graph.output_type(output).is_ok_and(|t| t.is_ref)) {
                needed.insert((frame, assignment.device(edge.src)));
            }
        }
    }
    for (&frame, devices) in present.iter().filter(|(_, devices)| devices.len() > 1) {
        let leader = flow.frame(frame).loop_cond.map(|node| assignment.device(node));
        needed.extend(devices.iter().filter(|&&device| Some(device) != leader).map(|&device| (frame, device)));
    }
    let inner: Vec<(FrameId, usize)> = needed.iter().copied().collect();
    for (mut frame, device) in inner {
        while let Some(parent) = flow.frame(frame).parent {
            needed.insert((parent, device));
            frame = parent;
        }
    }
    needed.retain(|&(frame, _)| frame != FrameId::ROOT);
    Ok(needed)
}

/// The type of tensors that carry no data.
pub(crate) const TOKEN_TYPE: DType = DType::F32;

/// Makes the template of a constant that carries no data.
pub(crate) fn token_template(graph: &mut Graph) -> Result<NodeTemplate> {
    let value = Tensor::zeros(TOKEN_TYPE, [0])?.to_proto()?;
    graph.template("Const", attrs_of([("dtype", type_attr(TOKEN_TYPE)), ("value", AttrValue::from(value))]), &[])
}

/// Adds the control loop of a frame on a device. Returns its `Merge`.
fn add_control_loop(
    graph: &mut Graph,
    assignment: &mut Assignment,
    flow: &ControlFlow,
    (frame, device): (FrameId, usize),
    dummy: OutputId,
) -> Result<NodeId> {
    let frame = flow.frame(frame);
    let Some(predicate) = frame.loop_cond else {
        bail!(InvalidArgument, "A cross-device loop must have a pivot predicate: {}", frame.name);
    };
    let prefix = graph.node(predicate)?.name().to_owned();
    let mut add = |op: &str, inputs: &[OutputId], more: Vec<(&str, AttrValue)>| {
        let name = graph.new_name(&prefix);
        let attr = attrs_of(more.into_iter().chain([("T", type_attr(TOKEN_TYPE))]));
        let node = graph.add_node_with_inputs(NodeDef { name, op: op.into(), attr, ..NodeDef::default() }, inputs, &[])?;
        assignment.set(node, device);
        Ok::<_, flowmill_tensor::Error>(node)
    };
    let parallel = i64::from(frame.parallel_iterations);
    let enter = add("Enter", &[dummy], vec![("frame_name", (&*frame.name).into()), ("parallel_iterations", parallel.into())])?;
    let merge = add("Merge", &[enter.output(0)], vec![("N", 2i64.into())])?;
    let switch = add("Switch", &[merge.output(0), predicate.output(0)], Vec::new())?;
    let next = add("NextIteration", &[switch.output(1)], Vec::new())?;
    graph.add_edge(next.output(0), merge, 1)?;
    // What _SINK waits for is kept by all passes. On a device that only sends, nothing else reads the control loop.
    graph.add_control_edge(switch, NodeId::SINK)?;
    Ok(merge)
}

/// Returns, by node id, if the outputs of a node are not taken exactly once in every iteration of their frame.
fn irregular(graph: &Graph, flow: &ControlFlow) -> Result<Vec<bool>> {
    let mut irregular = vec![false; graph.num_node_ids()];
    // Frames that are not entered in every iteration of the frame around them.
    let mut is_rare = vec![false; flow.frames().len()];
    for id in flowmill_graph::traverse::topological_order(graph)? {
        let node = graph.node(id)?;
        let has = |wanted: Role| graph.inputs(id).any(|input| graph.get(input.node).is_some_and(|n| n.role() == wanted));
        let has_irregular_input = graph.in_edges(id).any(|edge| !is_boundary(edge.src, edge.dst) && irregular[edge.src.index()]);
        irregular[id.index()] = match node.role() {
            Role::NextIteration => true,
            Role::Enter => {
                is_rare[flow.output_frame_of(id).0 as usize] |= has_irregular_input;
                !node.attrs().get_or("is_constant", false).unwrap_or(false)
            }
            Role::Exit => is_rare[flow.frame_of(id).0 as usize],
            Role::Merge if has(Role::Enter) && has(Role::NextIteration) => false,
            _ => has_irregular_input,
        };
    }
    Ok(irregular)
}

pub(crate) fn attrs_of<'a>(attrs: impl IntoIterator<Item = (&'a str, AttrValue)>) -> BTreeMap<String, AttrValue> {
    attrs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn type_attr(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}
