//! Checks of a whole graph, for after changes.

use crate::check::{check_attr_value, is_valid_internal_name};
use crate::traverse::topological_order;
use crate::{Graph, Node, NodeId};
use flowmill_tensor::{Result, bail};

impl Graph {
    /// Checks that the graph is legal: every input connected, with the right type; attributes complete and allowed; edges and lists of
    /// edges in step; no cycles but loops. Passes run this after themselves in tests and on request.
    ///
    /// # Errors
    /// `InvalidArgument` that names the first node found wrong.
    pub fn validate(&self) -> Result<()> {
        for node in self.nodes() {
            self.validate_node(node).map_err(|e| e.at_node(node.name(), node.op()))?;
        }
        if let Some(edge) = self.edges().find(|e| !self.is_listed(e.id)) {
            bail!(Internal, "{:?} is not in the lists of its nodes", edge.id);
        }
        topological_order(self).map(|_| ())
    }

    fn validate_node(&self, node: &Node) -> Result<()> {
        if !is_valid_internal_name(node.name()) {
            bail!(InvalidArgument, "Node '{}': Node name contains invalid characters", node.name());
        }
        if self.find_node(node.name()).map(|n| n.id()) != Some(node.id()) {
            bail!(Internal, "Node '{}' is not found by its name", node.name());
        }
        for (i, &expected) in node.input_types().iter().enumerate() {
            let Some(source) = self.input(node.id(), i) else {
                bail!(InvalidArgument, "Input {i} of node '{}' is not connected", node.name());
            };
            self.check_edge_types(source, i, node.name(), expected)?;
        }
        for attr in &node.op_def().attrs {
            match node.attrs().attr(&attr.name) {
                Some(value) => check_attr_value(value, attr)?,
                None => bail!(
                    InvalidArgument,
                    "NodeDef missing attr '{}' from {}; NodeDef: {{{{node {}}}}}",
                    attr.name,
                    node.op_def(),
                    node.name()
                ),
            }
        }
        let mut controls: Vec<NodeId> = self.control_inputs(node.id()).collect();
        if controls.contains(&node.id()) {
            bail!(InvalidArgument, "Node '{}' has itself as a control input", node.name());
        }
        controls.sort_unstable();
        if controls.windows(2).any(|pair| pair[0] == pair[1]) {
            bail!(InvalidArgument, "Node '{}' has a control input twice", node.name());
        }
        Ok(())
    }
}
