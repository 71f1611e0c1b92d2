//! Changes of nodes that are in a graph.

use super::Graph;
use crate::check::{complete_attrs, is_valid_internal_name};
use crate::{Attrs, EdgeId, NodeId, OpDef};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

impl Graph {
    /// Removes a node and all its edges.
    ///
    /// # Errors
    /// `NotFound` if it is not in the graph, `InvalidArgument` for `_SOURCE` and `_SINK`.
    pub fn remove_node(&mut self, id: NodeId) -> Result<()> {
        let node = self.node(id)?;
        if node.is_source_or_sink() {
            bail!(InvalidArgument, "Node '{}' cannot be removed", node.name);
        }
        let edges: Vec<EdgeId> = node.in_edges.iter().rev().chain(&node.out_edges).copied().filter(|&e| e != EdgeId::NONE).collect();
        for edge in edges {
            // An edge from the node to itself is in both lists.
            if self.edge(edge).is_some() {
                self.remove_edge(edge)?;
            }
        }
        if let Some(node) = self.nodes.remove(id) {
            self.forget_name(id, &node.name);
        }
        self.count_rewrite();
        Ok(())
    }

    /// Renames a node.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is taken or malformed.
    pub fn rename_node(&mut self, id: NodeId, name: &str) -> Result<()> {
        let old = self.node(id)?.name.clone();
        if *old == *name {
            return Ok(());
        }
        if !is_valid_internal_name(name) {
            bail!(InvalidArgument, "Node '{name}': Node name contains invalid characters");
        }
        if self.find_node(name).is_some() {
            bail!(InvalidArgument, "Node name '{name}' already exists in the Graph");
        }
        self.forget_name(id, &old);
        self.node_mut(id)?.name = name.into();
        let hash = self.hasher.hash(name);
        self.names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        self.count_rewrite();
        Ok(())
    }

    /// Sets the device that a node requests; empty for none.
    ///
    /// # Errors
    /// `NotFound` for an id that is not in the graph.
    pub fn set_device(&mut self, id: NodeId, device: &str) -> Result<()> {
        self.node(id)?;
        let device = self.intern_device(device);
        self.node_mut(id)?.device = device;
        self.count_rewrite();
        Ok(())
    }

    /// Sets the device that all nodes request; empty for none.
    pub fn set_all_devices(&mut self, device: &str) {
        let device = self.intern_device(device);
        for node in self.nodes.values_mut().filter(|node| !node.is_source_or_sink()) {
            node.device.clone_from(&device);
        }
        self.count_rewrite();
    }

    /// Sets an attribute, which may change the node's types and its number of inputs and outputs.
    ///
    /// # Errors
    /// `InvalidArgument` for a value the op does not allow, or if an input or output that would no longer exist is connected. The
    /// types of edges that stay are not checked again: [`Graph::validate`] does.
    pub fn set_attr(&mut self, id: NodeId, name: &str, value: impl Into<AttrValue>) -> Result<()> {
        let mut attrs = self.node(id)?.attrs.clone();
        attrs.set(name, value);
        self.set_attrs(id, attrs)
    }

    /// Removes an attribute; a declared one goes back to its default. Errors are those of [`Graph::set_attr`].
    pub fn remove_attr(&mut self, id: NodeId, name: &str) -> Result<()> {
        let mut attrs = self.node(id)?.attrs.clone();
        attrs.remove(name);
        self.set_attrs(id, attrs)
    }

    /// Replaces all attributes. Errors are those of [`Graph::set_attr`].
    pub fn set_attrs(&mut self, id: NodeId, mut attrs: Attrs) -> Result<()> {
        let node = self.node(id)?;
        let op_def = node.op_def.clone();
        complete_attrs(&node.name, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs)?;
        self.change_signature(id, signature)?;
        self.node_mut(id)?.attrs = attrs;
        self.count_rewrite();
        Ok(())
    }

    /// Makes a node one of another op that takes the inputs it has and returns the outputs that are used. Errors are those of [`Graph::set_attr`].
    pub fn change_op(&mut self, id: NodeId, op_def: Arc<OpDef>, mut attrs: Attrs) -> Result<()> {
        complete_attrs(&self.node(id)?.name, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs)?;
        self.change_signature(id, signature)?;
        let node = self.node_mut(id)?;
        (node.op_def, node.attrs) = (op_def, attrs);
        self.count_rewrite();
        Ok(())
    }
}
