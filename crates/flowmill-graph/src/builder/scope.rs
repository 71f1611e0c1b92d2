//! The scope of a new node: the properties that it gets from its surroundings.

use super::ContextId;
use crate::NodeId;
use flowmill_proto::AttrValue;
use flowmill_tensor::{Result, bail};
use rustc_hash::FxHashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The surroundings of nodes being made: name scope, device, control dependencies, colocation, control-flow context, attributes.
///
/// A value: a narrower scope is made from a wider one and dropped when it ends, so that scopes of several threads never meet.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    name: Arc<str>,
    device: Arc<str>,
    controllers: Vec<Arc<Controller>>,
    colocation: Arc<[Colocation]>,
    context: Option<ContextId>,
    attrs: Arc<Vec<(String, AttrValue)>>,
}

/// A node whose device new nodes share.
#[derive(Clone, Debug)]
pub enum Colocation {
    /// A node of the graph itself.
    Node(NodeId),
    /// A node of a graph around this one, which is the body of a function.
    Outside {
        /// Its groups, as the attribute `_class` names them.
        groups: Arc<[String]>,
        /// Its device; empty for none.
        device: Arc<str>,
    },
}

impl From<NodeId> for Colocation {
    fn from(node: NodeId) -> Colocation {
        Colocation::Node(node)
    }
}

/// Nodes that have to run before those of a scope.
#[derive(Debug)]
struct Controller {
    nodes: Vec<NodeId>,
    /// Nodes made in the scope, which wait for `nodes` already: what takes their outputs need not wait again.
    seen: Mutex<FxHashSet<NodeId>>,
}

impl Scope {
    /// Returns the outermost scope: no name, no device.
    pub fn root() -> Scope {
        Scope::default()
    }

    /// The name scope, without a slash at its end; empty for the outermost.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the device that nodes request; empty for none.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the control-flow context.
    pub fn context(&self) -> Option<ContextId> {
        self.context
    }

    /// Returns the nodes whose devices new nodes share.
    pub fn colocation(&self) -> &[Colocation] {
        &self.colocation
    }

    /// Attributes that new nodes get unless they have them.
    pub fn attrs(&self) -> &[(String, AttrValue)] {
        &self.attrs
    }

    /// Returns this scope with the whole name `name`.
    #[must_use]
    pub fn named(&self, name: &str) -> Scope {
        Scope { name: name.into(), ..self.clone() }
    }

    /// Returns this scope with the whole device name `device`.
    #[must_use]
    pub fn on_device(&self, device: &str) -> Scope {
        Scope { device: device.into(), ..self.clone() }
    }

    /// Returns this scope with further control dependencies: its nodes run after `nodes`, too.
    #[must_use]
    pub fn after(&self, nodes: &[NodeId]) -> Scope {
        let mut scope = self.clone();
        scope.controllers.push(Arc::new(Controller { nodes: nodes.to_vec(), seen: Mutex::default() }));
        scope
    }

    /// Returns this scope without control dependencies, outside of every control-flow context: TensorFlow's `control_dependencies(None)`.
    #[must_use]
    pub fn unconditional(&self) -> Scope {
        Scope { controllers: Vec::new(), context: None, ..self.clone() }
    }

    /// Returns this scope in another control-flow context.
    #[must_use]
    pub fn in_context(&self, context: Option<ContextId>) -> Scope {
        Scope { context, ..self.clone() }
    }

    /// Returns this scope with other colocation: its nodes share the devices of `nodes`, and the device of this scope does not count, as in TensorFlow.
    #[must_use]
    pub fn colocated_with(&self, nodes: impl IntoIterator<Item = impl Into<Colocation>>) -> Scope {
        let colocation: Arc<[Colocation]> = nodes.into_iter().map(Into::into).collect();
        let device = if colocation.is_empty() { self.device.clone() } else { Arc::from("") };
        Scope { colocation, device, ..self.clone() }
    }

    /// Returns this scope with further colocation: its nodes share the device of `node`, too, and the device of this scope does not count.
    #[must_use]
    pub fn also_colocated_with(&self, node: NodeId) -> Scope {
        Scope { colocation: self.colocation.iter().cloned().chain([node.into()]).collect(), device: Arc::from(""), ..self.clone() }
    }

    /// Returns this scope with one more attribute for new nodes; `None` removes the attribute.
    #[must_use]
    pub fn with_attr(&self, name: &str, value: Option<AttrValue>) -> Scope {
        let mut attrs = (*self.attrs).clone();
        attrs.retain(|(n, _)| n != name);
        attrs.extend(value.map(|v| (name.to_owned(), v)));
        Scope { attrs: Arc::new(attrs), ..self.clone() }
    }

    /// Returns the nodes that a node with these producers has to wait for: nothing for which a producer waits already.
    pub(super) fn control_inputs(&self, producers: &[NodeId]) -> Vec<NodeId> {
        let mut found = Vec::new();
        for controller in &self.controllers {
            let seen = controller.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if producers.iter().any(|p| seen.contains(p)) {
                continue;
            }
            for node in &controller.nodes {
                if !producers.contains(node) && !found.contains(node) {
                    found.push(*node);
                }
            }
        }
        found
    }

    /// Notes a node that was made in this scope.
    pub(super) fn note(&self, node: NodeId) {
        for controller in &self.controllers {
            controller.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(node);
        }
    }
}

/// Checks what a caller wants to call a scope inside of `outer`.
///
/// # Errors
/// `InvalidArgument` for characters that names cannot have, in TensorFlow's words.
pub fn check_scope_name(outer: &str, name: &str) -> Result<()> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/' | b'\\' | b'>');
    if !name.bytes().all(is_allowed) {
        bail!(InvalidArgument, "'{name}' is not a valid scope name");
    }
    let begins_well = name.bytes().next().is_none_or(|b| b.is_ascii_alphanumeric() || b == b'.');
    if outer.is_empty() && !begins_well {
        bail!(InvalidArgument, "'{name}' is not a valid root scope name");
    }
    Ok(())
}
