//! Graph → GraphDef.

use crate::node::NodeRest;
use crate::{Graph, Node, NodeId};
use flowmill_proto::{GraphDef, NodeDef};
use flowmill_tensor::Result;
use std::fmt::Write;

/// Selects the parts of a graph that [`Graph::to_graph_def_with`] writes.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Leaves out attributes that have their op's default value, as SavedModels do.
    pub strip_default_attrs: bool,
    /// Leaves out the function library.
    pub without_library: bool,
}

impl Graph {
    /// Returns the graph as a message: nodes in the order of their ids, each with its data inputs in order and then its control inputs.
    /// A message that was imported into an empty graph comes back as it was.
    pub fn to_graph_def(&self) -> GraphDef {
        self.to_graph_def_with(&ExportOptions::default())
    }

    /// Like [`Graph::to_graph_def`], with a choice of the parts that are written.
    pub fn to_graph_def_with(&self, options: &ExportOptions) -> GraphDef {
        self.graph_def_of(self.op_nodes().map(|node| self.export_node(node, options)).collect(), options)
    }

    /// Some of the nodes, in the order of their ids. An input from a node that is not among them is left in: it can be mapped on import.
    ///
    /// # Errors
    /// `NotFound` for an id that is not in the graph.
    pub fn subgraph_to_graph_def(&self, nodes: &[NodeId]) -> Result<GraphDef> {
        let mut ids: Vec<NodeId> = nodes.iter().copied().filter(|id| *id > NodeId::SINK).collect();
        ids.sort_unstable();
        ids.dedup();
        let options = ExportOptions::default();
        let nodes = ids.into_iter().map(|id| Ok(self.export_node(self.node(id)?, &options))).collect::<Result<_>>()?;
        Ok(self.graph_def_of(nodes, &options))
    }

    fn graph_def_of(&self, node: Vec<NodeDef>, options: &ExportOptions) -> GraphDef {
        let library = (self.has_library_field || !self.library().is_empty()) && !options.without_library;
        GraphDef { node, versions: self.versions.clone(), library: library.then(|| self.library().to_proto()), ..self.rest.clone() }
    }

    /// One node as a message.
    ///
    /// # Errors
    /// `NotFound` for an id that is not in the graph.
    pub fn node_def(&self, id: NodeId) -> Result<NodeDef> {
        Ok(self.export_node(self.node(id)?, &ExportOptions::default()))
    }

    fn export_node(&self, node: &Node, options: &ExportOptions) -> NodeDef {
        let mut input = Vec::with_capacity(node.in_edges.len());
        for &id in node.data_in() {
            // A place in the list must not move, so that an unconnected input is written as an empty name, which no import accepts.
            let mut name = String::new();
            if let Some((edge, src)) = self.edge(id).and_then(|e| Some((e, self.get(e.src)?))) {
                name.push_str(&src.name);
                if edge.src_output > 0 {
                    let _ = write!(name, ":{}", edge.src_output);
                }
            }
            input.push(name);
        }
        input.extend(
            self.control_inputs(node.id).filter(|src| *src > NodeId::SINK).filter_map(|src| self.get(src)).map(|n| format!("^{}", n.name)),
        );
        let mut attr = node.attrs.to_map();
        if options.strip_default_attrs {
            attr.retain(|name, value| node.op_def.attr(name).is_none_or(|a| a.default.as_ref() != Some(value)));
        }
        let NodeRest { debug_info, full_type, unknown_fields } = node.rest.as_deref().cloned().unwrap_or_default();
        NodeDef {
            name: node.name.to_string(),
            op: node.op_def.name.clone(),
            input,
            device: node.device().to_owned(),
            attr,
            experimental_debug_info: debug_info,
            experimental_type: full_type,
            unknown_fields,
        }
    }
}
