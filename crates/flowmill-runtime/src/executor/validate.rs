//! Validates a graph before it is frozen. All later code relies on these checks.

use super::protocol::{MAX_MERGE_CONTROLS, MAX_MERGE_INPUTS};
use crate::plan::{FrameId, NodeKind, PlanEdge, PlanGraph, PlanNode};
use flowmill_tensor::{Error, Result, bail, error};

/// Checks ids, arities, frames and cycles.
pub(super) fn validate(graph: &PlanGraph) -> Result<()> {
    let slots = graph.nodes.iter().map(|n| n.inputs.len() + n.outputs.len() + n.controls.len() + 2).sum::<usize>();
    if slots >= u32::MAX as usize {
        bail!(ResourceExhausted, "a plan holds fewer than 2^32 inputs and outputs, not {slots}");
    }
    frames(graph)?;
    graph.check_boundary()?;
    for node in &graph.nodes {
        shape(graph, node).and_then(|()| edges(graph, node)).map_err(|e| e.at_node(&node.name, &node.op))?;
    }
    acyclic(graph)
}

fn frames(graph: &PlanGraph) -> Result<()> {
    if graph.frames.first().is_none_or(|root| root.parent.is_some()) {
        bail!(Internal, "the first frame of a plan is the root");
    }
    for (i, frame) in graph.frames.iter().enumerate().skip(1) {
        if frame.parent.is_none_or(|p| p.0 as usize >= i) {
            bail!(Internal, "frame '{}' does not stand after its parent", frame.name);
        }
        if frame.parallel_iterations == 0 {
            bail!(InvalidArgument, "parallel_iterations of frame '{}' must be positive", frame.name);
        }
    }
    Ok(())
}

fn shape(graph: &PlanGraph, node: &PlanNode) -> Result<()> {
    let frame = graph.frames.get(node.frame.0 as usize).ok_or_else(|| error!(Internal, "the node is in no frame"))?;
    let (inputs, outputs) = (node.inputs.len(), node.outputs.len());
    let arity = |want_in: usize, want_out: usize| match (inputs, outputs) == (want_in, want_out) {
        true => Ok(()),
        false => Err(error!(InvalidArgument, "expected {want_in} inputs and {want_out} outputs, got {inputs} and {outputs}")),
    };
    let in_root =
        || if node.frame == FrameId::ROOT { Ok(()) } else { Err(error!(InvalidArgument, "arguments and results are not in a loop")) };
    match &node.kind {
        NodeKind::Op if node.kernel.is_none() && outputs > 0 && inputs != outputs => {
            bail!(Internal, "an op without a kernel has as many outputs as inputs, or none")
        }
        NodeKind::Program if node.kernel.is_none() => bail!(Internal, "a program has a kernel"),
        NodeKind::Op | NodeKind::Program => Ok(()),
        NodeKind::Arg(i) => {
            in_root()?;
            if !node.controls.is_empty() {
                bail!(InvalidArgument, "argument {i} waits for another node");
            }
            arity(0, 1)
        }
        NodeKind::Ret(_) => {
            in_root()?;
            arity(1, 0)
        }
        NodeKind::Const(_) => arity(0, 1),
        NodeKind::Merge => {
            if inputs == 0 || !(1..=2).contains(&outputs) {
                bail!(InvalidArgument, "a Merge has inputs, and one or two outputs");
            }
            if inputs > MAX_MERGE_INPUTS || node.controls.len() > MAX_MERGE_CONTROLS {
                bail!(Unimplemented, "a Merge has at most {MAX_MERGE_INPUTS} data and {MAX_MERGE_CONTROLS} control inputs");
            }
            Ok(())
        }
        NodeKind::Enter { frame: child, .. } => {
            if graph.frames.get(child.0 as usize).and_then(|f| f.parent) != Some(node.frame) {
                bail!(InvalidArgument, "Mismatched parent frames: the frame entered is not a child of frame '{}'", frame.name);
            }
            arity(1, 1)
        }
        NodeKind::Exit | NodeKind::NextIteration => {
            if frame.parent.is_none() {
                bail!(InvalidArgument, "an {} outside of a loop", node.op);
            }
            arity(1, 1)
        }
        NodeKind::ControlTrigger => arity(0, 0),
    }
}

/// The frame in which a node's outputs arrive.
fn output_frame(graph: &PlanGraph, node: &PlanNode) -> FrameId {
    match node.kind {
        NodeKind::Enter { frame, .. } => frame,
        NodeKind::Exit => graph.frames.get(node.frame.0 as usize).and_then(|f| f.parent).unwrap_or(FrameId::ROOT),
        _ => node.frame,
    }
}

fn edges(graph: &PlanGraph, node: &PlanNode) -> Result<()> {
    let mut first: Option<(&PlanNode, FrameId)> = None;
    for (edge, is_data) in node.inputs.iter().map(|e| (e, true)).chain(node.controls.iter().map(|e| (e, false))) {
        let Some(source) = graph.nodes.get(edge.node.0 as usize) else { bail!(Internal, "an input comes from no node") };
        let is_control = edge.slot == PlanEdge::CONTROL;
        if !is_control && edge.slot as usize >= source.outputs.len() {
            bail!(Internal, "input {}:{} is out of range", source.name, edge.slot);
        }
        if is_data && is_control && !matches!(node.kind, NodeKind::Program) {
            bail!(Internal, "a control edge from {} at a data input", source.name);
        }
        if matches!((&node.kind, &source.kind), (NodeKind::Merge, NodeKind::Enter { is_constant: true, .. })) && is_data {
            bail!(Unimplemented, "a Merge of the loop invariant {}", source.name);
        }
        let frame = output_frame(graph, source);
        let (other, other_frame) = *first.get_or_insert((source, frame));
        if frame != other_frame || frame != node.frame {
            return Err(different_frames(graph, node, (other, other_frame), (source, frame)));
        }
    }
    Ok(())
}

fn different_frames(graph: &PlanGraph, node: &PlanNode, a: (&PlanNode, FrameId), b: (&PlanNode, FrameId)) -> Error {
    let frame = |id: FrameId| graph.frames.get(id.0 as usize).map_or("", |f| &*f.name);
    if a.1 == b.1 {
        return error!(
            InvalidArgument,
            "{{{{node {}}}}} is in frame '{}', but its input {{{{node {}}}}} is in frame '{}'",
            node.name,
            frame(node.frame),
            a.0.name,
            frame(a.1)
        );
    }
    error!(
        InvalidArgument,
        "{{{{node {}}}}} has inputs from different frames. The input {{{{node {}}}}} is in frame '{}'. The input {{{{node {}}}}} is in frame '{}'.",
        node.name,
        a.0.name,
        frame(a.1),
        b.0.name,
        frame(b.1)
    )
}

/// Every cycle goes through the output of a NextIteration. An Exit counts as a successor of all Enters of its frame: a loop that needs its
/// own result to start would wait for ever.
fn acyclic(graph: &PlanGraph) -> Result<()> {
    let num_nodes = graph.nodes.len();
    // Behind the nodes stands one vertex a frame, between its Enters and its Exits.
    let mut waiting = vec![0u32; num_nodes + graph.frames.len()];
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); waiting.len()];
    for (id, node) in graph.nodes.iter().enumerate() {
        for edge in node.inputs.iter().chain(&node.controls) {
            if !matches!(graph.nodes[edge.node.0 as usize].kind, NodeKind::NextIteration) {
                successors[edge.node.0 as usize].push(id as u32);
                waiting[id] += 1;
            }
        }
        match node.kind {
            NodeKind::Enter { frame, .. } => {
                successors[id].push(num_nodes as u32 + frame.0);
                waiting[num_nodes + frame.0 as usize] += 1;
            }
            NodeKind::Exit => {
                successors[num_nodes + node.frame.0 as usize].push(id as u32);
                waiting[id] += 1;
            }
            _ => {}
        }
    }
    let mut ready: Vec<u32> = (0..waiting.len() as u32).filter(|&v| waiting[v as usize] == 0).collect();
    let mut seen = 0;
    while let Some(v) = ready.pop() {
        seen += 1;
        for &next in &successors[v as usize] {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    if seen == waiting.len() {
        return Ok(());
    }
    let stuck = graph.nodes.iter().zip(&waiting).find(|&(_, &w)| w > 0);
    let name = stuck.map_or("", |(node, _)| &*node.name);
    bail!(InvalidArgument, "The graph has a cycle without a NextIteration, which {{{{node {name}}}}} is part of or waits for")
}
