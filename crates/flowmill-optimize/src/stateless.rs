//! Calls of functions whose bodies have no effects.

use flowmill_graph::{Effects, Graph, Node, OpDef};
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::DType;
use rustc_hash::FxHashMap;

/// Knows which functions of a graph's library have no effects. Each is looked at once.
#[derive(Default)]
pub(crate) struct StatelessFunctions {
    known: FxHashMap<String, bool>,
}

impl StatelessFunctions {
    /// Returns true if a node calls functions, and its outputs depend on the values of its inputs alone.
    pub(crate) fn is_pure_call(&mut self, graph: &Graph, node: &Node) -> bool {
        let mut types = node.input_types().iter().chain(node.output_types());
        let has_values = types.all(|t| !t.is_ref && !matches!(t.dtype, DType::Resource | DType::Variant));
        let reads_reference = graph.inputs(node.id()).any(|o| graph.output_type(o).is_ok_and(|t| t.is_ref));
        let calls = graph.library().get(node.op()).is_some() || node.role().calls_functions();
        calls && has_values && !reads_reference && self.is_stateless(graph, node.op_def(), node.attrs().values())
    }

    /// Returns true if an op with these attributes has no effects, nor do the functions that it calls.
    fn is_stateless<'a>(&mut self, graph: &Graph, op: &OpDef, attrs: impl Iterator<Item = &'a AttrValue>) -> bool {
        let mut names = attrs.flat_map(AttrValue::functions).map(|function| function.name.as_str());
        if graph.library().get(&op.name).is_some() {
            return self.has_stateless_body(graph, &op.name) && names.all(|name| self.has_stateless_body(graph, name));
        }
        let is_stateful = op.traits.effects != Effects::None || op.is_stateful();
        !is_stateful && names.all(|name| self.has_stateless_body(graph, name))
    }

    fn has_stateless_body(&mut self, graph: &Graph, name: &str) -> bool {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        // A function that calls itself may never end.
        self.known.insert(name.to_owned(), false);
        let Some(function) = graph.library().get(name) else { return false };
        let is_stateless = |functions: &mut Self, node: &NodeDef| {
            let op = match graph.library().get(&node.op) {
                Some(function) => function.op_def().clone(),
                None => match graph.op_def(&node.op) {
                    Ok(op) => op.clone(),
                    Err(_) => return false,
                },
            };
            functions.is_stateless(graph, &op, node.attr.values())
        };
        let is_pure = function.def().node_def.iter().all(|node| is_stateless(self, node));
        self.known.insert(name.to_owned(), is_pure);
        is_pure
    }
}
