//! The device of each node.

use flowmill_graph::{Graph, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The device number of each node. Nodes without a device of their own are on device 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment(Vec<u32>);

impl Assignment {
    /// Returns the device of a node.
    pub fn device(&self, node: NodeId) -> usize {
        self.0.get(node.index()).map_or(0, |&device| device as usize)
    }

    /// Sets the device of a node.
    pub fn set(&mut self, node: NodeId, device: usize) {
        if self.0.len() <= node.index() {
            self.0.resize(node.index() + 1, 0);
        }
        self.0[node.index()] = device as u32;
    }

    /// Returns the devices that have nodes, in ascending order.
    pub fn devices(&self, graph: &Graph) -> BTreeSet<usize> {
        graph.op_nodes().map(|node| self.device(node.id())).collect()
    }

    /// Returns the nodes of each device.
    pub(crate) fn nodes_by_device(&self, graph: &Graph) -> BTreeMap<usize, Vec<NodeId>> {
        let mut nodes: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        graph.op_nodes().for_each(|node| nodes.entry(self.device(node.id())).or_default().push(node.id()));
        nodes
    }
}

impl FromIterator<(NodeId, usize)> for Assignment {
    fn from_iter<I: IntoIterator<Item = (NodeId, usize)>>(devices: I) -> Assignment {
        let mut assignment = Assignment::default();
        devices.into_iter().for_each(|(node, device)| assignment.set(node, device));
        assignment
    }
}
