//! The keys of a graph's nodes, edges and tensors.

use crate::arena::Key;
use std::fmt;

/// A node of one graph. Never given out again within that graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// An edge of one graph. Never given out again within that graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EdgeId(pub u32);

/// One output of a node: a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputId {
    /// The producer.
    pub node: NodeId,
    /// The number of the output among the node's outputs.
    pub slot: u32,
}

/// The `src_output` and `dst_input` of a control edge.
pub const CONTROL_SLOT: i32 = -1;

impl NodeId {
    /// The node `_SOURCE` that every graph starts with.
    pub const SOURCE: NodeId = NodeId(0);
    /// The node `_SINK` that every graph starts with.
    pub const SINK: NodeId = NodeId(1);

    /// Output `slot` of this node.
    pub fn output(self, slot: u32) -> OutputId {
        OutputId { node: self, slot }
    }

    /// Returns the place of this node in an array over [`crate::Graph::num_node_ids`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl EdgeId {
    /// No edge: the value for an input that is not connected.
    pub(crate) const NONE: EdgeId = EdgeId(u32::MAX);

    /// Returns the place of this edge in an array over [`crate::Graph::num_edge_ids`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Key for NodeId {
    const WHAT: &'static str = "node";
    fn from_index(index: u32) -> NodeId {
        NodeId(index)
    }
    fn index(self) -> u32 {
        self.0
    }
}

impl Key for EdgeId {
    const WHAT: &'static str = "edge";
    fn from_index(index: u32) -> EdgeId {
        EdgeId(index)
    }
    fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Debug for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl fmt::Debug for OutputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}:{}", self.node.0, self.slot)
    }
}
