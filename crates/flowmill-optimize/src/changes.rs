//! Records of the nodes that passes add, change and remove.

use flowmill_graph::{Graph, Node, Role};
use flowmill_proto::Message;
use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The nodes that a pass added, changed and removed, by their names, each list in the order of names for one run of the pass. A node that was replaced by another of its name counts as
/// changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChanges {
    /// The names that were not in the graph before the pass.
    pub added: Vec<Arc<str>>,
    /// The names of nodes that have another op, other inputs or other attributes than before.
    pub changed: Vec<Arc<str>>,
    /// The names that are no longer in the graph.
    pub removed: Vec<Arc<str>>,
}

impl NodeChanges {
    /// Adds the changes of a later run of the pass.
    pub(crate) fn extend(&mut self, later: NodeChanges) {
        self.added.extend(later.added);
        self.changed.extend(later.changed);
        self.removed.extend(later.removed);
    }
}

/// The nodes of a graph before a pass, with digests of their definitions.
pub(crate) struct ChangeRecorder(FxHashMap<Arc<str>, u64>);

impl ChangeRecorder {
    /// Returns a recorder if `is_wanted`.
    pub(crate) fn new(graph: &Graph, is_wanted: bool) -> Option<ChangeRecorder> {
        is_wanted.then(|| ChangeRecorder(digests(graph)))
    }

    /// Returns what has changed since the last call.
    pub(crate) fn changes(&mut self, graph: &Graph) -> NodeChanges {
        let before = std::mem::replace(&mut self.0, digests(graph));
        let mut changes = NodeChanges::default();
        for (name, digest) in &self.0 {
            match before.get(name) {
                None => changes.added.push(name.clone()),
                Some(old) if old != digest => changes.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        changes.removed.extend(before.into_keys().filter(|name| !self.0.contains_key(name)));
        for names in [&mut changes.added, &mut changes.changed, &mut changes.removed] {
            names.sort_unstable();
        }
        changes
    }
}

fn digests(graph: &Graph) -> FxHashMap<Arc<str>, u64> {
    graph.op_nodes().map(|node| (node.shared_name().clone(), digest(graph, node))).collect()
}

/// Returns a digest of a node's op, inputs and attributes. Values of constants count by their sizes.
fn digest(graph: &Graph, node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.op().hash(&mut hasher);
    for edge in graph.in_edges(node.id()) {
        (graph.get(edge.src).map(Node::name), edge.src_output, edge.dst_input).hash(&mut hasher);
    }
    for (name, value) in node.attrs().iter() {
        name.hash(&mut hasher);
        if node.role() == Role::Const && name == "value" {
            value.encoded_len().hash(&mut hasher);
        } else {
            value.encode_to_vec().hash(&mut hasher);
        }
    }
    hasher.finish()
}
