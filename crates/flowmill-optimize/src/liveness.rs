//! Liveness under control flow: finds tensors that are live in the same iterations of the same steps.
//!
//! Each tensor has a set of *gates*. A gate is an output of a `Switch`, identified by the predicate, or a node whose liveness follows from nothing
//! else, such as a `Merge`. A tensor is live when all its gates are open, so tensors with equal sets of gates are live together.

use flowmill_graph::{Graph, Node, NodeId, OutputId, Role};
use rustc_hash::FxHashMap;

/// A condition for a tensor to be live.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Gate {
    /// The predicate has the value that selects this output of the `Switch`.
    Taken { predicate: OutputId, slot: u32 },
    /// The node is live.
    Node(NodeId),
}

/// Interned sets of gates.
type SetId = u32;

/// Sets with more gates than this are replaced by one gate, the node itself.
const MAX_GATES: usize = 64;

/// The gates of a graph's nodes.
pub(crate) struct Liveness {
    ids: FxHashMap<Vec<Gate>, SetId>,
    sets: Vec<Vec<Gate>>,
    nodes: FxHashMap<NodeId, SetId>,
}

impl Liveness {
    /// Computes the gates of these nodes, which are in topological order (back edges of loops excepted).
    pub(crate) fn of(graph: &Graph, order: &[NodeId]) -> Liveness {
        let mut liveness = Liveness { ids: FxHashMap::default(), sets: Vec::new(), nodes: FxHashMap::default() };
        for node in order.iter().filter_map(|&id| graph.get(id)) {
            let set = liveness.gates_of(graph, node);
            liveness.nodes.insert(node.id(), set);
        }
        liveness
    }

    /// Returns true if two nodes are known to run in the same iterations of the same steps.
    pub(crate) fn are_equal(&self, a: NodeId, b: NodeId) -> bool {
        let set = |id: NodeId| self.nodes.get(&id);
        a == b || set(a).is_some_and(|a| set(b) == Some(a))
    }

    /// Returns true if the node is known to run whenever `source` is live and all of `controls` have run, in the same iteration.
    pub(crate) fn follows_from(&mut self, graph: &Graph, node: NodeId, source: OutputId, controls: &[NodeId]) -> bool {
        let ends = controls.iter().map(|&control| (control, None)).chain([(source.node, Some(source))]);
        if ends.clone().any(|(producer, _)| !self.nodes.contains_key(&producer)) {
            return false;
        }
        let set = self.set_of(graph, node, ends);
        self.nodes.get(&node) == Some(&set)
    }

    /// Records that `new` replaces `old`.
    pub(crate) fn set_same(&mut self, new: NodeId, old: NodeId) {
        if let Some(&set) = self.nodes.get(&old) {
            self.nodes.insert(new, set);
        }
    }

    fn intern(&mut self, mut gates: Vec<Gate>, node: NodeId) -> SetId {
        gates.sort_unstable();
        gates.dedup();
        if gates.len() > MAX_GATES {
            gates = vec![Gate::Node(node)];
        }
        let next = self.sets.len() as SetId;
        *self.ids.entry(gates).or_insert_with_key(|gates| {
            self.sets.push(gates.clone());
            next
        })
    }

    fn gates_of(&mut self, graph: &Graph, node: &Node) -> SetId {
        let is_source = node.is_merge()
            || node.is_next_iteration()
            || node.is_exit()
            || node.is_enter() && !node.attrs().get_or("is_constant", false).unwrap_or(false)
            || matches!(node.role(), Role::ControlTrigger | Role::Recv)
            // Which output or input is live is more than a predicate says.
            || matches!(node.op(), "_SwitchN" | "RefSelect");
        if is_source {
            return self.intern(vec![Gate::Node(node.id())], node.id());
        }
        self.set_of(graph, node.id(), graph.in_edges(node.id()).map(|edge| (edge.src, edge.source())))
    }

    /// Returns the gates of a node with these producers. A producer of `None` is one that the node only waits for.
    fn set_of(&mut self, graph: &Graph, node: NodeId, producers: impl Iterator<Item = (NodeId, Option<OutputId>)>) -> SetId {
        let (mut gates, mut single, mut num_sets) = (Vec::new(), None, 0);
        for (producer, source) in producers {
            let Some(&set) = self.nodes.get(&producer) else { continue };
            let of_set = &self.sets[set as usize];
            if single != Some(set) && !of_set.is_empty() {
                gates.extend_from_slice(of_set);
                (single, num_sets) = (Some(set), num_sets + 1);
            }
            if let (Some(source), Some(switch)) = (source, graph.get(producer).filter(|n| n.is_switch()))
                && let Some(predicate) = graph.input(switch.id(), 1)
            {
                gates.push(Gate::Taken { predicate, slot: source.slot });
                num_sets += 2;
            }
        }
        match single {
            Some(set) if num_sets == 1 => set,
            _ => self.intern(gates, node),
        }
    }
}
