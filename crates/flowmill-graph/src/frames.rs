//! Finds the frame of the loop that each node runs in.

use crate::traverse::{is_back_edge, topological_order};
use crate::{Graph, Node, NodeId, Role};
use flowmill_tensor::{Result, bail};
use hashbrown::HashMap;
use std::sync::Arc;

/// A frame by its place in [`ControlFlow::frames`]; the root is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The frame of all that is in no loop.
    pub const ROOT: FrameId = FrameId(0);
}

/// One frame: the root or a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// The attribute `frame_name` of the loop's `Enter`s; empty for the root.
    pub name: Arc<str>,
    /// The frame around it; `None` for the root.
    pub parent: Option<FrameId>,
    /// The number of iterations that may run at once, from the first `Enter`; at least 1.
    pub parallel_iterations: u32,
    /// The nodes through which tensors come in.
    pub enters: Vec<NodeId>,
    /// The node that says whether there is another iteration.
    pub loop_cond: Option<NodeId>,
}

/// The frames of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct ControlFlow {
    frames: Vec<Frame>,
    /// The frames by node id.
    runs_in: Vec<FrameId>,
    outputs_in: Vec<FrameId>,
}

impl ControlFlow {
    /// Finds the frames of a graph.
    ///
    /// # Errors
    /// `InvalidArgument` for a cycle that is no loop, a node with inputs from different frames, an `Exit` outside a loop, a frame with
    /// two parents or two `LoopCond`s.
    pub fn new(graph: &Graph) -> Result<ControlFlow> {
        let order = topological_order(graph)?;
        let root = Frame { name: "".into(), parent: None, parallel_iterations: 1, enters: Vec::new(), loop_cond: None };
        let ids = graph.num_node_ids();
        let mut flow = ControlFlow { frames: vec![root], runs_in: vec![FrameId::ROOT; ids], outputs_in: vec![FrameId::ROOT; ids] };
        let mut by_name = HashMap::new();
        for &id in &order {
            flow.place(graph, &graph[id], &mut by_name).map_err(|e| e.at_node(graph[id].name(), graph[id].op()))?;
        }
        for &id in order.iter().filter(|&&id| graph[id].is_merge()) {
            flow.check_inputs(graph, &graph[id], |_| true).map_err(|e| e.at_node(graph[id].name(), graph[id].op()))?;
        }
        Ok(flow)
    }

    /// Returns all frames, parents before their children.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// One frame.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// The frame a node runs in: an `Enter` runs in the parent, an `Exit` in the loop's frame.
    pub fn frame_of(&self, node: NodeId) -> FrameId {
        self.runs_in.get(node.index()).copied().unwrap_or(FrameId::ROOT)
    }

    /// Returns the frame in which a node's outputs are taken: the loop's for an `Enter`, the parent for an `Exit`.
    pub fn output_frame_of(&self, node: NodeId) -> FrameId {
        self.outputs_in.get(node.index()).copied().unwrap_or(FrameId::ROOT)
    }

    /// Returns true if there are any loops.
    pub fn has_loops(&self) -> bool {
        self.frames.len() > 1
    }

    fn place(&mut self, graph: &Graph, node: &Node, by_name: &mut HashMap<String, FrameId>) -> Result<()> {
        let frame = self.check_inputs(graph, node, |e| !is_back_edge(graph, e))?;
        let outputs = if node.is_enter() {
            self.enter(graph, node, frame, by_name)?
        } else if node.is_exit() {
            match self.frame(frame).parent {
                Some(parent) => parent,
                None => bail!(InvalidArgument, "{{{{node {}}}}} is an Exit outside of a loop", node.name()),
            }
        } else {
            frame
        };
        if node.role() == Role::LoopCond {
            let there = &mut self.frames[frame.0 as usize];
            if let Some(other) = there.loop_cond {
                bail!(
                    InvalidArgument,
                    "Loop \"{}\" has more than one LoopCond node: {{{{node {}}}}} and {{{{node {}}}}}",
                    there.name,
                    node.name(),
                    graph[other].name()
                );
            }
            there.loop_cond = Some(node.id());
        }
        self.runs_in[node.id().index()] = frame;
        self.outputs_in[node.id().index()] = outputs;
        Ok(())
    }

    /// The frame all inputs of a node are in.
    fn check_inputs(&self, graph: &Graph, node: &Node, filter: impl Fn(&crate::Edge) -> bool) -> Result<FrameId> {
        let mut first: Option<(NodeId, FrameId)> = None;
        for edge in graph.in_edges(node.id()).filter(|e| e.src > NodeId::SINK && filter(e)) {
            let frame = self.output_frame_of(edge.src);
            match first {
                None => first = Some((edge.src, frame)),
                Some((_, other)) if other == frame => {}
                Some((src, other)) => bail!(
                    InvalidArgument,
                    "{{{{node {}}}}} has inputs from different frames. The input {{{{node {}}}}} is in frame '{}'. The input {{{{node {}}}}} is in frame '{}'.",
                    node.name(),
                    graph[src].name(),
                    self.frame(other).name,
                    graph[edge.src].name(),
                    self.frame(frame).name
                ),
            }
        }
        Ok(first.map_or(FrameId::ROOT, |(_, frame)| frame))
    }

    fn enter(&mut self, graph: &Graph, node: &Node, parent: FrameId, by_name: &mut HashMap<String, FrameId>) -> Result<FrameId> {
        let name = node.attrs().get::<&str>("frame_name").map_err(|e| e.at_node(node.name(), node.op()))?;
        let parallel: i64 = node.attrs().get_or("parallel_iterations", 10)?;
        if let Some(&id) = by_name.get(name) {
            let frame = &mut self.frames[id.0 as usize];
            if frame.parent != Some(parent) {
                let other = frame.parent.map_or("", |p| &*self.frames[p.0 as usize].name);
                bail!(
                    InvalidArgument,
                    "Invalid loop structure: Mismatched parent frames for \"{name}\": \"{other}\" vs \"{}\". The node giving this error: {{{{node {}}}}}.",
                    self.frame(parent).name,
                    graph[node.id()].name()
                );
            }
            frame.enters.push(node.id());
            return Ok(id);
        }
        let id = FrameId(self.frames.len() as u32);
        let parallel_iterations = u32::try_from(parallel.max(1)).unwrap_or(u32::MAX);
        self.frames.push(Frame { name: name.into(), parent: Some(parent), parallel_iterations, enters: vec![node.id()], loop_cond: None });
        by_name.insert(name.to_owned(), id);
        Ok(id)
    }
}
