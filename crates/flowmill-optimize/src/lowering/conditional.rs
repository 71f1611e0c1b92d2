//! Finds the nodes that do not run exactly once per step, and groups nodes that run together.

use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Edge, Graph, Node, NodeId, OutputId};
use flowmill_tensor::Result;
use rustc_hash::{FxHashMap, FxHashSet};

/// A class of liveness: nodes and tensors of one class are live together. The number is interned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Class(u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum When {
    /// Exactly once per step.
    Always,
    /// Once per iteration of some loop, including the last one.
    EachIteration,
    /// When a `Switch` on this tensor forwards its input to this output.
    Side(OutputId, u32),
    /// When this node is live, for a node whose liveness is not known more closely.
    With(NodeId),
}

/// The interned classes, and the classes of nodes that lowering made.
pub(super) struct Classes {
    ids: FxHashMap<When, Class>,
    /// The Merges and Exits that lowering made, each with the class of the node that it replaces.
    joins: FxHashMap<NodeId, Class>,
}

const ALWAYS: Class = Class(0);
const EACH_ITERATION: Class = Class(1);

impl Default for Classes {
    fn default() -> Classes {
        let ids = [(When::Always, ALWAYS), (When::EachIteration, EACH_ITERATION)].into_iter().collect();
        Classes { ids, joins: FxHashMap::default() }
    }
}

impl Classes {
    pub(super) fn add_join(&mut self, join: NodeId, class: Class) {
        self.joins.insert(join, class);
    }

    fn intern(&mut self, when: When) -> Class {
        let next = Class(self.ids.len() as u32);
        *self.ids.entry(when).or_insert(next)
    }

    /// Computes the classes of all nodes of a graph.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a cycle that is no loop.
    pub(super) fn of(&mut self, graph: &Graph) -> Result<Liveness> {
        let mut liveness = Liveness { nodes: vec![ALWAYS; graph.num_node_ids()], sides: FxHashMap::default(), split: FxHashSet::default() };
        for id in topological_order(graph)? {
            let node = graph.node(id)?;
            let class = self.node(graph, node, &liveness);
            let mut inputs = graph.in_edges(id).map(|e| liveness.edge(&e));
            if inputs.next().is_some_and(|first| inputs.any(|c| c != first)) {
                liveness.split.insert(id);
            }
            liveness.nodes[id.index()] = class;
            if let Some(selector) = graph.input(id, 1).filter(|_| node.is_switch()) {
                for slot in 0..node.num_outputs() as u32 {
                    liveness.sides.insert(id.output(slot), self.intern(When::Side(selector, slot)));
                }
            }
        }
        Ok(liveness)
    }

    fn node(&mut self, graph: &Graph, node: &Node, liveness: &Liveness) -> Class {
        if let Some(&class) = self.joins.get(&node.id()) {
            return class;
        }
        if node.is_enter() {
            return EACH_ITERATION;
        }
        if node.is_merge() && graph.inputs(node.id()).any(|o| graph.get(o.node).is_some_and(Node::is_next_iteration)) {
            return EACH_ITERATION;
        }
        if node.is_merge() || node.is_exit() {
            return self.intern(When::With(node.id()));
        }
        // Dead when one input is: of one class, where the others are live whenever that is.
        let mut met = ALWAYS;
        for edge in graph.in_edges(node.id()).filter(|e| e.src > NodeId::SINK) {
            let class = liveness.edge(&edge);
            if met == ALWAYS || (met == EACH_ITERATION && class != ALWAYS) {
                met = class;
            } else if class != met && class != ALWAYS && class != EACH_ITERATION {
                return self.intern(When::With(node.id()));
            }
        }
        met
    }
}

/// The liveness classes of the nodes of a graph.
pub(crate) struct Liveness {
    nodes: Vec<Class>,
    sides: FxHashMap<OutputId, Class>,
    /// Nodes whose inputs are of several classes.
    split: FxHashSet<NodeId>,
}

impl Liveness {
    fn edge(&self, edge: &Edge) -> Class {
        edge.source().and_then(|o| self.sides.get(&o).copied()).unwrap_or_else(|| self.nodes[edge.src.index()])
    }

    /// Returns the class of a node that existed when the classes were computed.
    pub(crate) fn of(&self, node: NodeId) -> Class {
        self.nodes.get(node.index()).copied().unwrap_or(ALWAYS)
    }

    /// Returns true if a node may be dead, or may run several times per step.
    pub(crate) fn is_conditional(&self, node: NodeId) -> bool {
        self.of(node) != ALWAYS
    }

    /// Returns true if all inputs of a node, data and control, were live together when the classes were computed.
    pub(crate) fn is_uniform(&self, node: NodeId) -> bool {
        !self.split.contains(&node)
    }
}
