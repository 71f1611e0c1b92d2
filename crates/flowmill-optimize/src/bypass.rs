//! Removal of nodes whose consumers take another tensor instead.

use crate::liveness::Liveness;
use crate::rewrite::bypass;
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Edge, Graph, Node, NodeId, OutputId, Role};
use flowmill_tensor::Result;

/// A tensor that replaces the one output of a node.
pub(crate) struct Substitute {
    /// The tensor. Its producer comes before the node.
    pub(crate) source: OutputId,
    /// The nodes that consumers have to wait for, because the node waited for them.
    pub(crate) controls: Vec<NodeId>,
    /// True if the node has other inputs that are neither `source` nor among the `controls`.
    pub(crate) drops_inputs: bool,
}

/// Replaces nodes by tensors, as far as no consumer notices.
#[derive(Default)]
pub(crate) struct Bypass {
    /// The liveness of the graph's nodes, computed when it is first needed.
    liveness: Option<GraphLiveness>,
}

enum GraphLiveness {
    /// All tensors are live in each step.
    Unconditional,
    Conditional(Liveness),
}

impl GraphLiveness {
    fn of(graph: &Graph) -> Result<GraphLiveness> {
        let may_be_dead = |n: &Node| n.is_control_flow() || n.traits().leaves_outputs_dead || n.role() == Role::Recv;
        if !graph.op_nodes().any(may_be_dead) {
            return Ok(GraphLiveness::Unconditional);
        }
        Ok(GraphLiveness::Conditional(Liveness::of(graph, &topological_order(graph)?)))
    }
}

impl Bypass {
    /// Removes a node if its consumers can take the substitute. Returns true if it did.
    ///
    /// These nodes stay:
    /// * nodes with an input that is dropped, if they could be dead because of it, or if other nodes wait for them;
    /// * nodes with a control edge behind control flow or a receive: a `Switch` runs for both branches, its consumers in one;
    /// * nodes that order control flow by control edges, which count differently for a `Merge`;
    /// * nodes whose removal would add more edges than it removes;
    /// * nodes on another device than that of the substitute, and nodes that read a reference.
    pub(crate) fn try_remove(&mut self, graph: &mut Graph, id: NodeId, mut substitute: Substitute) -> Result<bool> {
        let controls = &mut substitute.controls;
        controls.retain(|&control| control != substitute.source.node);
        controls.sort_unstable();
        controls.dedup();
        if !is_removable(graph, graph.node(id)?, &substitute) || substitute.drops_inputs && !self.may_drop(graph, id, &substitute)? {
            return Ok(false);
        }
        let successors: Vec<NodeId> = graph.out_edges(id).map(|e| e.dst).collect();
        bypass(graph, id, substitute.source)?;
        for (&control, &successor) in substitute.controls.iter().flat_map(|c| successors.iter().map(move |s| (c, s))) {
            graph.add_control_edge(control, successor)?;
        }
        Ok(true)
    }

    /// Removes a node each of whose outputs is equal to the tensor of the same index, with the guards of [`try_remove`](Bypass::try_remove). The tensors come
    /// before the node.
    pub(crate) fn try_remove_all(&mut self, graph: &mut Graph, id: NodeId, sources: &[OutputId]) -> Result<bool> {
        let controls: Vec<NodeId> = graph.control_inputs(id).collect();
        for &source in sources {
            let substitute = Substitute { source, controls: controls.clone(), drops_inputs: sources.len() > 1 };
            if !is_removable(graph, graph.node(id)?, &substitute) || substitute.drops_inputs && !self.may_drop(graph, id, &substitute)? {
                return Ok(false);
            }
        }
        for edge in graph.out_edges(id).collect::<Vec<_>>() {
            let Some(&source) = sources.get(edge.source().map_or(0, |source| source.slot as usize)) else { continue };
            if edge.is_control() {
                graph.add_control_edge(source.node, edge.dst)?;
            } else {
                graph.update_edge(source, edge.dst, edge.dst_input as usize)?;
            }
            for &control in &controls {
                graph.add_control_edge(control, edge.dst)?;
            }
        }
        graph.remove_node(id)?;
        Ok(true)
    }

    /// Returns true if nobody waits for a node, and it runs whenever its substitute is live.
    pub(crate) fn may_drop(&mut self, graph: &Graph, id: NodeId, substitute: &Substitute) -> Result<bool> {
        Ok(!graph.out_edges(id).any(|e| e.is_control()) && self.follows(graph, id, substitute)?)
    }

    /// Returns true if a node is known to run whenever its substitute is live.
    pub(crate) fn follows(&mut self, graph: &Graph, id: NodeId, substitute: &Substitute) -> Result<bool> {
        if !substitute.drops_inputs {
            return Ok(true);
        }
        let liveness = match &mut self.liveness {
            Some(liveness) => liveness,
            liveness => liveness.insert(GraphLiveness::of(graph)?),
        };
        Ok(match liveness {
            GraphLiveness::Unconditional => true,
            GraphLiveness::Conditional(liveness) => liveness.follows_from(graph, id, substitute.source, &substitute.controls),
        })
    }

    /// Records that the node `new` replaces `old`, and runs in the same cases.
    pub(crate) fn set_same(&mut self, new: NodeId, old: NodeId) {
        if let Some(GraphLiveness::Conditional(liveness)) = &mut self.liveness {
            liveness.set_same(new, old);
        }
    }
}

fn is_removable(graph: &Graph, node: &Node, Substitute { source, controls, .. }: &Substitute) -> bool {
    let Some(producer) = graph.get(source.node) else { return false };
    let is_reference = graph.output_type(*source).is_ok_and(|t| t.is_ref);
    let out: Vec<Edge> = graph.out_edges(node.id()).collect();
    let orders_control_flow = !controls.is_empty() && out.iter().any(|e| graph.get(e.dst).is_some_and(Node::is_control_flow));
    let follows_control_flow = (producer.is_control_flow() || producer.traits().leaves_outputs_dead) && out.iter().any(Edge::is_control);
    let adds_edges = controls.len() * out.len() > controls.len() + out.len();
    !is_reference && !orders_control_flow && !follows_control_flow && !adds_edges && producer.device() == node.device()
}
