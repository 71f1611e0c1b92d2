//! One node being made.

use super::{Colocation, ScopedBuilder, context};
use crate::graph::NodeParts;
use crate::signature::infer_attrs;
use crate::{Attrs, NodeId, OpDef, OutputId, is_valid_node_name};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::ListValue;
use flowmill_tensor::{Result, bail};
use smallvec::SmallVec;
use std::sync::Arc;

/// A node before it is in the graph.
#[derive(Debug)]
#[must_use = "a node is added by `finish` or `output`"]
pub struct OpBuilder<'b, 'g> {
    builder: &'b mut ScopedBuilder<'g>,
    /// The op's definition; if there is none, `finish` says so.
    op: Result<Arc<OpDef>>,
    name: Option<String>,
    inputs: SmallVec<[OutputId; 4]>,
    attrs: Attrs,
    control: Vec<NodeId>,
    device: Option<String>,
}

impl<'b, 'g> OpBuilder<'b, 'g> {
    pub(super) fn new(builder: &'b mut ScopedBuilder<'g>, op: &str) -> Self {
        let op = builder.graph.op_def(op).cloned();
        OpBuilder { builder, op, name: None, inputs: SmallVec::new(), attrs: Attrs::default(), control: Vec::new(), device: None }
    }

    /// Sets the node's name inside of the name scope, which is made unique; the default is the op's type. A name that ends with a slash is the whole
    /// name, without that slash, and is not changed.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Adds a data input.
    pub fn input(mut self, input: OutputId) -> Self {
        self.inputs.push(input);
        self
    }

    /// Adds data inputs, those of lists one by one.
    pub fn inputs(mut self, inputs: &[OutputId]) -> Self {
        self.inputs.extend_from_slice(inputs);
        self
    }

    /// Sets an attribute.
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.attrs.set(name, value);
        self
    }

    /// Adds a control input, besides those of the scope.
    pub fn after(mut self, node: NodeId) -> Self {
        self.control.push(node);
        self
    }

    /// Sets the device, instead of the scope's.
    pub fn device(mut self, device: &str) -> Self {
        self.device = Some(device.to_owned());
        self
    }

    /// Adds the node; returns its first output.
    ///
    /// # Errors
    /// The errors of [`OpBuilder::finish`], and `InvalidArgument` for an op without outputs.
    pub fn output(self) -> Result<OutputId> {
        let (builder, id) = self.add()?;
        let node = builder.graph.node(id)?;
        if node.num_outputs() == 0 {
            bail!(InvalidArgument, "Op '{}' has no outputs", node.op());
        }
        Ok(id.output(0))
    }

    /// Adds the node.
    ///
    /// # Errors
    /// `NotFound` for an unknown op, `InvalidArgument` for a bad name, input, attribute or shape. The graph has no such node then; what its
    /// control-flow context needed to hand in the inputs stays.
    pub fn finish(self) -> Result<NodeId> {
        Ok(self.add()?.1)
    }

    fn add(mut self) -> Result<(&'b mut ScopedBuilder<'g>, NodeId)> {
        let b = self.builder;
        let op_def = self.op?;
        let scope_context = b.context_for(&op_def.name, &self.inputs);
        let name = b.node_name(self.name.as_deref().unwrap_or(&op_def.name))?;
        b.check_loops(scope_context, &name, op_def.traits.role, &self.inputs)?;
        if let Some(context) = scope_context {
            // What brings an input in is named after the node.
            let scope = b.scope.named(&name);
            for input in &mut self.inputs {
                let value = *input;
                *input = b.within(scope.clone(), |b| b.bring_into(context, value))?;
            }
        }
        for (name, value) in b.scope.attrs() {
            if !self.attrs.contains(name) {
                self.attrs.set(name.clone(), value.clone());
            }
        }
        let types: SmallVec<[_; 8]> = self.inputs.iter().map(|&i| b.output_type(i)).collect();
        infer_attrs(&op_def, &types, &mut self.attrs);
        let producers: SmallVec<[NodeId; 4]> = self.inputs.iter().map(|i| i.node).collect();
        let mut control = b.scope.control_inputs(&producers);
        control.extend(self.control.iter().filter(|c| !producers.contains(c)));
        if let Some(context) = scope_context {
            // Constants are made outside of a scope of their own.
            let scope = if op_def.name == "Const" { b.scope.clone() } else { b.scope.named(&name) };
            control = b.within(scope, |b| b.control_inputs_in(context, &op_def, &self.inputs, control))?;
        }
        let device = self.device.take().unwrap_or_else(|| b.scope.device().to_owned());
        let device = b.colocate(&mut self.attrs, device)?;
        let parts = NodeParts { name, op_def, device: &device, attrs: self.attrs, rest: None };
        let node = b.graph.add_parts(parts, &self.inputs, &control)?;
        if let Err(error) = b.check_added(node) {
            b.graph.remove_node(node)?;
            b.state.num_known = b.graph.num_node_ids();
            return Err(error);
        }
        b.state.num_known = b.graph.num_node_ids();
        b.scope.note(node);
        if let Some(context) = scope_context {
            b.note_in_context(context, node);
        }
        Ok((b, node))
    }
}

impl ScopedBuilder<'_> {
    /// The whole name of a new node.
    fn node_name(&mut self, name: &str) -> Result<String> {
        if let Some(whole) = name.strip_suffix('/') {
            self.state.names.mark(whole);
            return Ok(whole.to_owned());
        }
        if !is_valid_node_name(name) {
            bail!(InvalidArgument, "'{name}' is not a valid node name");
        }
        Ok(self.unique_name(name, true))
    }

    /// The context to make a node in: the scope's. The shape of a tensor that a loop's gradient asks for is taken in the forward loop, so that it and
    /// not the tensor is kept.
    fn context_for(&self, op: &str, inputs: &[OutputId]) -> Option<context::ContextId> {
        let context = self.scope.context();
        let (true, [input]) = (matches!(op, "Shape" | "Size" | "Rank"), inputs) else { return context };
        let backward = self.loop_of(context).and_then(|id| self.forward_loop(id));
        let producers = self.context_of(input.node);
        if backward.is_some() && self.loop_of(producers) == backward { producers } else { context }
    }

    /// Every input is there, and the shape function agrees.
    fn check_added(&mut self, id: NodeId) -> Result<()> {
        let node = &self.graph[id];
        if let Some(missing) = (0..node.num_inputs()).find(|&i| self.graph.input(id, i).is_none()) {
            bail!(InvalidArgument, "Node '{}' (op '{}') lacks input {missing} of {}", node.name(), node.op(), node.num_inputs());
        }
        self.state.shapes.add_node(self.graph, id)
    }

    /// Adds the groups that the scope's colocation asks for; returns the device to use.
    fn colocate(&self, attrs: &mut Attrs, device: String) -> Result<String> {
        if self.scope.colocation().is_empty() {
            return Ok(device);
        }
        let mut groups: Vec<String> = attrs.list::<&str>("_class").unwrap_or_default().into_iter().map(str::to_owned).collect();
        let mut shared = None;
        for with in self.scope.colocation() {
            let node = match with {
                Colocation::Node(node) => self.graph.node(*node)?,
                Colocation::Outside { groups: theirs, device } => {
                    groups.extend_from_slice(theirs);
                    shared = Some(&**device).filter(|device| !device.is_empty()).or(shared);
                    continue;
                }
            };
            match node.attrs().list::<&str>("_class") {
                Ok(theirs) if !theirs.is_empty() => groups.extend(theirs.into_iter().map(str::to_owned)),
                _ => groups.push(format!("loc:@{}", node.name())),
            }
            if !node.device().is_empty() {
                shared = Some(node.device());
            }
        }
        groups.sort_unstable();
        groups.dedup();
        let s = groups.into_iter().map(|g| g.into_bytes().into()).collect();
        attrs.set("_class", ListValue { s, ..ListValue::default() });
        Ok(shared.map_or(device, str::to_owned))
    }

    /// Connects an input of a node to another tensor, such as a loop's `Merge` to its `NextIteration`.
    ///
    /// # Errors
    /// `OutOfRange`, `FailedPrecondition` or `InvalidArgument`, see [`crate::Graph::update_edge`].
    pub(super) fn connect_back(&mut self, src: OutputId, dst: NodeId, dst_input: usize) -> Result<()> {
        self.graph.update_edge(src, dst, dst_input)?;
        Ok(())
    }

    /// The context a node's outputs belong to.
    pub fn context_of(&self, node: NodeId) -> Option<context::ContextId> {
        self.state.context_of.get(&node).copied()
    }
}
