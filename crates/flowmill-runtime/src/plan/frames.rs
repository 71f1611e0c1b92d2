//! Which frame each node of a graph runs in.

use super::ir::{FrameId, FrameInfo};
use flowmill_graph::{Edge, Graph, Node, NodeId};
use flowmill_tensor::{Result, error};
use rustc_hash::FxHashMap;

/// The frames of a graph; a parent stands before its children.
pub(super) struct Frames {
    pub(super) frames: Vec<FrameInfo>,
    pub(super) by_name: FxHashMap<String, FrameId>,
    /// Nodes that are not in the root frame.
    pub(super) of_node: FxHashMap<NodeId, FrameId>,
}

impl Frames {
    /// Follows the edges from the roots: `Enter` leads into a child frame, `Exit` out of it, anything else stays.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the node, where inputs come from different frames, a frame is entered from two parents, or a frame has no
    /// parent to exit to.
    pub(super) fn of(graph: &Graph, parallel_iterations: Option<u32>) -> Result<Frames> {
        let root = FrameInfo { name: "".into(), parent: None, parallel_iterations: 1 };
        let mut this = Frames { frames: vec![root], by_name: FxHashMap::default(), of_node: FxHashMap::default() };
        if !graph.op_nodes().any(Node::is_enter) {
            return Ok(this);
        }
        let is_back = |e: &Edge| graph.get(e.src).is_some_and(Node::is_next_iteration);
        let mut pending: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut ready = Vec::new();
        for node in graph.op_nodes() {
            match graph.in_edges(node.id()).filter(|e| !is_back(e) && e.src != NodeId::SOURCE).count() {
                0 => ready.push(node.id()),
                n => drop(pending.insert(node.id(), n)),
            }
        }
        while let Some(id) = ready.pop() {
            let Some(node) = graph.get(id) else { continue };
            let inside = this.frame_of(graph, node)?;
            if inside != FrameId::ROOT {
                this.of_node.insert(id, inside);
            }
            if node.is_enter() {
                this.enter(node, inside, parallel_iterations)?;
            }
            for edge in graph.out_edges(id).filter(|e| !is_back(e)) {
                if let Some(left) = pending.get_mut(&edge.dst) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(edge.dst);
                    }
                }
            }
        }
        Ok(this)
    }

    /// The frame that a node's inputs put it in; the frame outside for what an `Exit` gives.
    fn frame_of(&self, graph: &Graph, node: &Node) -> Result<FrameId> {
        let mut found: Option<(FrameId, NodeId)> = None;
        for edge in graph.in_edges(node.id()) {
            let Some(source) = graph.get(edge.src).filter(|n| !n.is_source_or_sink() && !n.is_next_iteration()) else { continue };
            let frame = self.after(source)?;
            match found {
                Some((other, from)) if other != frame => {
                    let name = |f: FrameId| &self.frames[f.0 as usize].name;
                    let from = graph.get(from).map_or("?", Node::name);
                    return Err(error!(
                        InvalidArgument,
                        "{{{{node {}}}}} has inputs from different frames. The input {{{{node {from}}}}} is in frame '{}'. The input {{{{node {}}}}} is in frame '{}'.",
                        node.name(),
                        name(other),
                        source.name(),
                        name(frame)
                    )
                    .at_node(node.name(), node.op()));
                }
                Some(_) => {}
                None => found = Some((frame, edge.src)),
            }
        }
        Ok(found.map_or(FrameId::ROOT, |(frame, _)| frame))
    }

    /// The frame that a node's outputs are in.
    fn after(&self, node: &Node) -> Result<FrameId> {
        let inside = self.of_node.get(&node.id()).copied().unwrap_or(FrameId::ROOT);
        if node.is_enter() {
            let name: &str = node.attrs().get("frame_name")?;
            return Ok(self.by_name.get(name).copied().unwrap_or(FrameId::ROOT));
        }
        if node.is_exit() {
            return match self.frames[inside.0 as usize].parent {
                Some(parent) => Ok(parent),
                None => Err(error!(InvalidArgument, "{{{{node {}}}}} exits a frame, but is in none", node.name()).at_node(node.name(), node.op())),
            };
        }
        Ok(inside)
    }

    fn enter(&mut self, node: &Node, parent: FrameId, parallel_iterations: Option<u32>) -> Result<()> {
        let name: &str = node.attrs().get("frame_name").map_err(|e| e.at_node(node.name(), node.op()))?;
        if let Some(&frame) = self.by_name.get(name) {
            if self.frames[frame.0 as usize].parent != Some(parent) {
                return Err(error!(InvalidArgument, "Mismatched parent frames for {name} at {{{{node {}}}}}", node.name()).at_node(node.name(), node.op()));
            }
            return Ok(());
        }
        let declared = node.attrs().get_or::<i64>("parallel_iterations", 10)?;
        let parallel = parallel_iterations.unwrap_or_else(|| u32::try_from(declared).unwrap_or(1)).max(1);
        let frame = FrameId(self.frames.len() as u32);
        self.frames.push(FrameInfo { name: name.into(), parent: Some(parent), parallel_iterations: parallel });
        self.by_name.insert(name.to_owned(), frame);
        Ok(())
    }
}
