//! The definitions of ops that the producer of a message had.

use crate::{FunctionLibrary, Graph, OpRegistry};
use flowmill_proto::{AttrValue, GraphDef, NodeDef, OpDef};
use flowmill_tensor::Result;
use hashbrown::HashMap;
use std::sync::Arc;

/// Definitions of ops by name.
pub(super) struct ProducerOps<'a>(HashMap<&'a str, &'a OpDef>);

impl<'a> ProducerOps<'a> {
    pub(super) fn new(ops: impl Iterator<Item = &'a OpDef>) -> ProducerOps<'a> {
        ProducerOps(ops.map(|op| (op.name.as_str(), op)).collect())
    }

    /// Removes the attributes of nodes, those of functions included, that their op does not have here and whose value is the producer's default: the
    /// op means without them what it meant there with them.
    pub(super) fn remove_new_defaults(&self, registry: &OpRegistry, def: &mut GraphDef) {
        if self.0.is_empty() {
            return;
        }
        let bodies = def.library.iter_mut().flat_map(|library| &mut library.function).flat_map(|function| &mut function.node_def);
        for node in def.node.iter_mut().chain(bodies) {
            let (Some(theirs), Some(ours)) = (self.0.get(node.op.as_str()), registry.get(&node.op)) else { continue };
            let is_default = |name: &str, value: &AttrValue| {
                theirs.attr.iter().any(|attr| attr.name == name && attr.default_value.as_ref() == Some(value))
            };
            node.attr.retain(|name, value| name.starts_with('_') || ours.attr(name).is_some() || !is_default(name, value));
        }
    }

    /// Returns the graph's functions, or `library` if the message has some, with the definitions of the ops of these nodes and of functions that nobody but the
    /// producer knows; `None` if nothing is to be added.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed definition.
    pub(super) fn add_foreign(
        &self,
        graph: &Graph,
        library: Option<Arc<FunctionLibrary>>,
        nodes: &[NodeDef],
    ) -> Result<Option<Arc<FunctionLibrary>>> {
        if self.0.is_empty() {
            return Ok(library);
        }
        let known: &FunctionLibrary = library.as_deref().unwrap_or(graph.library());
        let bodies = known.iter().flat_map(|function| &function.def().node_def);
        let is_unknown = |op: &str| known.op_def(op).is_none() && graph.registry().get(op).is_none();
        let foreign = nodes.iter().chain(bodies).filter_map(|node| self.0.get(node.op.as_str()).copied());
        let foreign: Vec<&OpDef> = foreign.filter(|op| is_unknown(&op.name)).collect();
        if foreign.is_empty() {
            return Ok(library);
        }
        let mut extended = FunctionLibrary::clone(known);
        foreign.into_iter().try_for_each(|op| extended.add_foreign_op(op))?;
        Ok(Some(Arc::new(extended)))
    }
}
