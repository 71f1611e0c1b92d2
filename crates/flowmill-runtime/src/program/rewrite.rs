//! A plan's graph while parts of it are replaced by programs.

use crate::kernel::Cost;
use crate::plan::{FrameId, FrameInfo, NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId, SharedWeights};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// The graph with the consumers of each node. Replaced nodes leave holes until [`Rewriter::finish`].
pub(super) struct Rewriter {
    nodes: Vec<Option<PlanNode>>,
    consumers: Vec<Vec<PlanNodeId>>,
    frames: Vec<FrameInfo>,
    args: Vec<DType>,
    num_results: usize,
    /// The weights that [`Rewriter::topological`] keeps in the cache.
    shared_weights: Option<SharedWeights>,
}

impl Rewriter {
    /// Makes a rewriter of `graph`.
    pub(super) fn new(graph: PlanGraph) -> Result<Rewriter> {
        let n = graph.nodes.len();
        let mut consumers = vec![Vec::new(); n];
        for (i, node) in graph.nodes.iter().enumerate() {
            for edge in node.inputs.iter().chain(&node.controls) {
                let Some(list) = consumers.get_mut(edge.node.0 as usize) else {
                    bail!(Internal, "node {} has an input from a node that is not in the plan", node.name);
                };
                let id = PlanNodeId(i as u32);
                if list.last() != Some(&id) {
                    list.push(id);
                }
            }
        }
        let nodes = graph.nodes.into_iter().map(Some).collect();
        Ok(Rewriter { nodes, consumers, frames: graph.frames, args: graph.args, num_results: graph.num_results, shared_weights: None })
    }

    /// Makes [`Rewriter::topological`] put nodes that share weights one after the other. Nodes that are added later share none.
    pub(super) fn follow_shared_weights(&mut self) {
        self.shared_weights = SharedWeights::find(self.nodes.iter().map(Option::as_ref));
    }

    /// Returns the nodes that were not replaced.
    pub(super) fn ids(&self) -> impl Iterator<Item = PlanNodeId> + '_ {
        self.nodes.iter().enumerate().filter(|(_, n)| n.is_some()).map(|(i, _)| PlanNodeId(i as u32))
    }

    /// Returns the node if it was not replaced.
    pub(super) fn get(&self, id: PlanNodeId) -> Option<&PlanNode> {
        self.nodes.get(id.0 as usize)?.as_ref()
    }

    /// Returns true if the node is a constant that waits for nothing.
    pub(super) fn is_constant(&self, id: PlanNodeId) -> bool {
        self.get(id).is_some_and(|node| matches!(node.kind, NodeKind::Const(_)) && node.controls.is_empty())
    }

    /// Returns the nodes that have a data or control input from `id`, each once. Some of them may have been replaced since.
    pub(super) fn consumers(&self, id: PlanNodeId) -> &[PlanNodeId] {
        &self.consumers[id.0 as usize]
    }

    pub(super) fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }

    /// Returns the type of an edge's tensor.
    pub(super) fn edge_type(&self, edge: PlanEdge) -> OutputType {
        let output = self.get(edge.node).and_then(|n| n.outputs.get(edge.slot as usize));
        output.copied().unwrap_or(OutputType { dtype: DType::Bool, is_ref: false })
    }

    /// Returns the static shape of an edge's tensor.
    pub(super) fn edge_shape(&self, edge: PlanEdge) -> PartialShape {
        self.get(edge.node).and_then(|n| n.shapes.get(edge.slot as usize)).cloned().unwrap_or_default()
    }

    /// Returns true if a node waits for `id` itself and not for one of its outputs.
    pub(super) fn is_waited_for(&self, id: PlanNodeId) -> bool {
        let edge = PlanEdge { node: id, slot: PlanEdge::CONTROL };
        self.consumers(id).iter().filter_map(|&c| self.get(c)).any(|c| c.controls.contains(&edge) || c.inputs.contains(&edge))
    }

    /// Returns the outputs of `members` that nodes outside of `members` read or wait for, sorted.
    pub(super) fn outgoing(&self, members: &FxHashSet<PlanNodeId>) -> Vec<PlanEdge> {
        let mut edges = Vec::new();
        for &m in members {
            for &c in self.consumers(m) {
                if members.contains(&c) {
                    continue;
                }
                if let Some(consumer) = self.get(c) {
                    edges.extend(consumer.inputs.iter().chain(&consumer.controls).filter(|e| e.node == m));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Returns edges that leave `members` in the order in which a program best delivers them: first those to nodes that lead to the weights which the members come from.
    pub(super) fn sorted_outgoing(&self, edges: Vec<PlanEdge>, members: &FxHashSet<PlanNodeId>) -> Vec<PlanEdge> {
        let Some(weights) = &self.shared_weights else { return edges };
        let (mut same, others): (Vec<_>, Vec<_>) = edges.into_iter().partition(|edge| {
            let mut outside = self.consumers(edge.node).iter().filter(|c| !members.contains(c));
            outside.any(|&c| self.get(c).is_some_and(|node| node.inputs.contains(edge)) && weights.are_same(edge.node, c))
        });
        same.extend(others);
        same
    }

    /// Replaces `members` by `program`. Output `i` of the program replaces `outputs[i]`.
    pub(super) fn replace(&mut self, members: &FxHashSet<PlanNodeId>, program: PlanNode, outputs: &[PlanEdge]) {
        let id = PlanNodeId(self.nodes.len() as u32);
        let slots: FxHashMap<PlanEdge, u32> = outputs.iter().enumerate().map(|(i, &e)| (e, i as u32)).collect();
        let mut outside: Vec<PlanNodeId> =
            members.iter().flat_map(|&m| self.consumers(m)).filter(|c| !members.contains(c)).copied().collect();
        for &consumer in &outside {
            if let Some(node) = self.nodes[consumer.0 as usize].as_mut() {
                for edge in node.inputs.iter_mut().chain(&mut node.controls) {
                    if let Some(&slot) = slots.get(edge) {
                        *edge = PlanEdge { node: id, slot };
                    }
                }
            }
        }
        outside.sort_unstable();
        outside.dedup();
        for edge in program.inputs.iter().chain(&program.controls) {
            let list = &mut self.consumers[edge.node.0 as usize];
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
        self.nodes.push(Some(program));
        self.consumers.push(outside);
        for m in members {
            self.nodes[m.0 as usize] = None;
        }
    }

    /// Returns the graph without holes and without frames that have no nodes.
    pub(super) fn finish(self) -> Result<PlanGraph> {
        let mut new_id = vec![None; self.nodes.len()];
        let mut count = 0u32;
        for (i, node) in self.nodes.iter().enumerate() {
            if node.is_some() {
                new_id[i] = Some(PlanNodeId(count));
                count += 1;
            }
        }
        let mut used = vec![false; self.frames.len()];
        used[0] = true;
        for node in self.nodes.iter().flatten() {
            used[node.frame.0 as usize] = true;
        }
        let mut new_frame = vec![FrameId::ROOT; self.frames.len()];
        let mut frames = Vec::new();
        for (i, info) in self.frames.into_iter().enumerate() {
            if used[i] {
                new_frame[i] = FrameId(frames.len() as u32);
                let parent = info.parent.map(|p| new_frame[p.0 as usize]);
                frames.push(FrameInfo { parent, ..info });
            }
        }
        let mut nodes: Vec<PlanNode> = self.nodes.into_iter().flatten().collect();
        for node in &mut nodes {
            node.frame = new_frame[node.frame.0 as usize];
            if let NodeKind::Enter { frame, .. } = &mut node.kind {
                *frame = new_frame[frame.0 as usize];
            }
            for edge in node.inputs.iter_mut().chain(&mut node.controls) {
                match new_id[edge.node.0 as usize] {
                    Some(id) => edge.node = id,
                    None => bail!(Internal, "node {} lost an input to a program", node.name),
                }
            }
        }
        Ok(PlanGraph { nodes, frames, args: self.args, num_results: self.num_results })
    }

    /// Sorts `members` topologically: producers precede consumers. Inputs for which `ignored` returns true do not count. Returns `None` if there is
    /// a cycle.
    pub(super) fn topological(
        &self,
        members: &FxHashSet<PlanNodeId>,
        ignored: &dyn Fn(PlanNodeId, PlanEdge) -> bool,
    ) -> Option<Vec<PlanNodeId>> {
        let mut sorted: Vec<PlanNodeId> = members.iter().copied().collect();
        sorted.sort_unstable();
        // A node that waits for a constant of its own would not be ready when its weights are in the cache.
        let leads = |id: PlanNodeId| self.shared_weights.is_some() && self.is_constant(id);
        let (mut order, computed): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|&m| leads(m));
        let mut pending: FxHashMap<PlanNodeId, usize> = FxHashMap::default();
        let mut ready = Vec::new();
        for &m in &computed {
            let node = self.get(m)?;
            let waits_for = |e: &&PlanEdge| members.contains(&e.node) && !leads(e.node) && !ignored(m, **e);
            let n = node.inputs.iter().chain(&node.controls).filter(waits_for).count();
            pending.insert(m, n);
            if n == 0 {
                ready.push(m);
            }
        }
        // Depth first: a chain stays together and its values stay in registers that are still warm.
        ready.reverse();
        while let Some(m) = ready.pop() {
            order.push(m);
            let before = ready.len();
            for &c in self.consumers(m) {
                if !members.contains(&c) {
                    continue;
                }
                let node = self.get(c)?;
                let n = node.inputs.iter().chain(&node.controls).filter(|&&e| e.node == m && !ignored(c, e)).count();
                if n == 0 {
                    continue;
                }
                let left = pending.get_mut(&c)?;
                *left -= n;
                if *left == 0 {
                    ready.push(c);
                }
            }
            if let Some(weights) = &self.shared_weights {
                let (same, others): (Vec<_>, Vec<_>) = ready.drain(before..).partition(|&c| weights.are_same(m, c));
                ready.extend(others.into_iter().chain(same));
            }
        }
        (order.len() == members.len()).then_some(order)
    }
}

/// Returns the scheduler's cost of a program made of these nodes.
pub(super) fn cost_of<'a>(nodes: impl Iterator<Item = &'a PlanNode>) -> Cost {
    nodes.map(|n| n.cost).max().unwrap_or(Cost::Cheap)
}
