//! Templates of nodes, for stages that add many nodes of one kind.

use super::{Graph, NodeParts};
use crate::check::is_valid_internal_name;
use crate::signature::Signature;
use crate::{Attrs, NodeId, OpDef, OutputId, OwnAttr};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Result, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An op with attributes, from which many nodes of a graph are made. They share the attributes, which are checked once.
#[derive(Clone)]
pub struct NodeTemplate {
    op_def: Arc<OpDef>,
    attrs: Attrs,
    /// The attributes in which nodes differ, each with a value of its kind.
    own: Box<[OwnAttr]>,
    signature: Arc<Signature>,
}

impl NodeTemplate {
    /// Returns true if the attributes have the names and kinds of those in which nodes differ.
    fn fits(&self, own: &[OwnAttr]) -> bool {
        let kind = |attr: &OwnAttr| attr.1.value.as_ref().map(std::mem::discriminant);
        own.len() == self.own.len() && own.iter().zip(&self.own).all(|(own, example)| own.0 == example.0 && kind(own) == kind(example))
    }
}

impl Graph {
    /// Makes a template. Nodes differ in the attributes `own`, which are sorted by name; their values here are examples. The types of a node's inputs and
    /// outputs must not depend on them.
    ///
    /// # Errors
    /// `NotFound` for an op that does not exist, `InvalidArgument` for attributes that the op does not allow.
    pub fn template(&mut self, op: &str, mut attrs: BTreeMap<String, AttrValue>, own: &[OwnAttr]) -> Result<NodeTemplate> {
        let op_def = self.op_def(op)?.clone();
        if !own.is_sorted_by(|a, b| a.0 < b.0) {
            bail!(Internal, "the own attributes of a template of '{op}' are not sorted");
        }
        attrs.extend(own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let mut attrs = Attrs::from(attrs);
        crate::complete_attrs(op, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs)?;
        own.iter().for_each(|(name, _)| attrs.remove(name));
        Ok(NodeTemplate { op_def, attrs, own: own.into(), signature })
    }

    /// Adds a node of a template of this graph, whose name is [`Graph::new_name`] of `prefix`.
    ///
    /// # Errors
    /// `InvalidArgument` for a bad prefix, other own attributes than those of the template, and inputs that do not fit.
    pub fn add_node_of(
        &mut self,
        template: &NodeTemplate,
        prefix: &str,
        own: Option<&Arc<[OwnAttr]>>,
        inputs: &[OutputId],
    ) -> Result<NodeId> {
        if !is_valid_internal_name(prefix) {
            bail!(InvalidArgument, "Node '{prefix}': Node name contains invalid characters");
        }
        if !template.fits(own.map_or(&[], |own| own)) {
            bail!(InvalidArgument, "the own attributes of a node of '{}' are not those of its template", template.op_def.name);
        }
        let attrs = own.map_or_else(|| template.attrs.clone(), |own| template.attrs.with_own(own.clone()));
        let (name, hash) = self.unused_name(prefix);
        let parts = NodeParts { name, op_def: template.op_def.clone(), device: "", attrs, rest: None };
        self.add_checked(parts, hash, template.signature.clone(), inputs, &[])
    }
}
