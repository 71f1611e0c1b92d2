//! Building graphs: the one place where new nodes get their name, device, control inputs, control-flow context and static shape.
//!
//! A [`ScopedBuilder`] borrows a graph, what building keeps about it ([`BuilderState`]), and a [`Scope`], for as long as it takes to add some nodes.
//! Whoever shares a graph among threads locks the two, makes a builder with its own scope, and drops it when the node is made. The builder that
//! owns its graph is `flowmill::GraphBuilder`, a layer above this one.
//!
//! ```
//! use flowmill_graph::{Graph, OpRegistry, builder::{BuilderState, ScopedBuilder, Scope}};
//! use flowmill_tensor::Tensor;
//! use std::sync::Arc;
//!
//! # fn main() -> flowmill_tensor::Result<()> {
//! let registry = OpRegistry::new(flowmill_ops::catalogue())?;
//! let mut graph = Graph::new(Arc::new(registry));
//! let mut state = BuilderState::default();
//! let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
//! let x = b.constant("x", &Tensor::vector(&[1.0f32, 2.0])?)?;
//! let y = b.call("Mul", &[x, x])?;
//! assert_eq!(b.graph().tensor_name(y), "Mul:0");
//! assert_eq!(b.shape(y).to_string(), "[2]");
//! # Ok(())
//! # }
//! ```

mod capture;
mod cond;
mod context;
mod context_def;
mod function;
pub mod gradients;
mod names;
mod op;
mod scope;
mod while_loop;

pub use capture::{Capture, GraphStack, OuterTensor, StackOutput};
pub use cond::CondBuilder;
pub use context::{Branch, ContextId};
pub use op::OpBuilder;
pub use scope::{Colocation, Scope, check_scope_name};
pub use while_loop::{WhileBuilder, WhileOptions};

use crate::{Graph, NodeId, OutputId, ShapeRefiner, TensorType};
use capture::Captures;
use context::Context;
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, TensorProto};
use flowmill_tensor::{DType, Element, PartialShape, Result, Tensor};
use names::UniqueNames;
use rustc_hash::{FxHashMap, FxHashSet};

/// The builder's data about a graph besides its nodes.
#[derive(Clone, Debug, Default)]
pub struct BuilderState {
    shapes: ShapeRefiner,
    names: UniqueNames,
    contexts: Vec<Context>,
    context_of: FxHashMap<NodeId, ContextId>,
    unfeedable: FxHashSet<NodeId>,
    unfetchable: FxHashSet<NodeId>,
    /// Gradients of loops of frames, for gradients of these.
    loop_gradients: Vec<gradients::LoopGradient>,
    /// Nodes that gradients have given further outputs.
    extended: Vec<NodeId>,
    /// The outer tensors that this graph uses, if it is the body of a function.
    captures: Captures,
    /// Nodes with smaller ids are known to `shapes` and `names`.
    num_known: usize,
}

impl BuilderState {
    /// Returns true if a step may be fed values for this node's outputs: not inside of control flow.
    pub fn is_feedable(&self, node: NodeId) -> bool {
        !self.unfeedable.contains(&node)
    }

    /// Returns true if a step may fetch this node's outputs or run it as a target: not inside of control flow.
    pub fn is_fetchable(&self, node: NodeId) -> bool {
        !self.unfetchable.contains(&node)
    }

    /// Forbids feeding a node's outputs.
    pub fn prevent_feeding(&mut self, node: NodeId) {
        self.unfeedable.insert(node);
    }

    /// Forbids fetching a node.
    pub fn prevent_fetching(&mut self, node: NodeId) {
        self.unfetchable.insert(node);
    }

    /// Returns the nodes that gradients have given further outputs since this was last asked.
    pub fn take_extended(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.extended)
    }

    /// Returns the static shapes, after [`BuilderState::catch_up`] those of all nodes.
    pub fn shapes(&self) -> &ShapeRefiner {
        &self.shapes
    }

    /// Adds what a caller knows of a tensor's shape.
    ///
    /// # Errors
    /// `InvalidArgument` if the shape contradicts the known one, `NotFound` if the node is not known.
    pub fn merge_shape(&mut self, output: OutputId, shape: &PartialShape) -> Result<()> {
        self.shapes.merge_shape(output, shape)
    }

    /// Says what the handle that a tensor is refers to, as [`ShapeRefiner::set_elements`].
    pub fn set_elements(&mut self, output: OutputId, elements: Option<Vec<(DType, PartialShape)>>) {
        self.shapes.set_elements(output, elements);
    }

    /// Learns of nodes that others than builders have added.
    pub fn catch_up(&mut self, graph: &Graph) {
        let known = self.num_known;
        if graph.num_node_ids() == known {
            return;
        }
        let new: Vec<NodeId> = graph.op_nodes().map(|n| n.id()).filter(|id| id.index() >= known).collect();
        for &id in &new {
            self.names.mark(graph[id].name());
        }
        // A node that contradicts its inputs fails when it runs; what comes after it has unknown shapes.
        let _ = self.shapes.infer_nodes(graph, &new);
        self.num_known = graph.num_node_ids();
    }
}

/// A builder that borrows its graph: it adds nodes in one scope. See the [module](self).
#[derive(Debug)]
pub struct ScopedBuilder<'g> {
    graph: &'g mut Graph,
    state: &'g mut BuilderState,
    scope: Scope,
}

impl<'g> ScopedBuilder<'g> {
    /// Returns a builder for `graph`; `state` is the one that all builders of this graph use.
    pub fn new(graph: &'g mut Graph, state: &'g mut BuilderState, scope: Scope) -> Result<ScopedBuilder<'g>> {
        state.catch_up(graph);
        Ok(ScopedBuilder { graph, state, scope })
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// Returns the graph, for changes that are no additions. Nodes are added by [`ScopedBuilder::op`].
    pub fn graph_mut(&mut self) -> &mut Graph {
        self.graph
    }

    /// Returns the builder's data about the graph.
    pub fn state(&self) -> &BuilderState {
        self.state
    }

    /// Returns the builder's data about the graph, for changes.
    pub fn state_mut(&mut self) -> &mut BuilderState {
        self.state
    }

    /// Returns the current scope of new nodes.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Makes nodes elsewhere from now on; returns the scope left.
    pub fn set_scope(&mut self, scope: Scope) -> Scope {
        std::mem::replace(&mut self.scope, scope)
    }

    /// Runs `f` in another scope.
    pub fn within<T>(&mut self, scope: Scope, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = self.set_scope(scope);
        let result = f(self);
        self.set_scope(outer);
        result
    }

    /// Runs `f` in a name scope that nothing else uses: `name`, or `name_1`, … inside of the current one.
    pub fn within_name<T>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let name = self.unique_name(name, true);
        let scope = self.scope.named(&name);
        self.within(scope, f)
    }

    /// The whole name of something called `name` in this scope, such that nothing else has it.
    pub fn unique_name(&mut self, name: &str, mark_as_used: bool) -> String {
        match self.scope.name() {
            "" => self.state.names.unique(name, mark_as_used),
            outer => self.state.names.unique(&[outer, "/", name].concat(), mark_as_used),
        }
    }

    /// Returns the static shape of a tensor.
    pub fn shape(&self, output: OutputId) -> PartialShape {
        self.state.shapes.shape(output)
    }

    /// Returns the value of a tensor, if it is a small constant or follows from constants and static shapes.
    pub fn constant_value(&self, output: OutputId) -> Option<&Tensor> {
        self.state.shapes.value(output)?.constant.as_ref()
    }

    /// Returns the element type of a tensor, of what it refers to for a reference; `Resource` for a node that is not there.
    pub fn dtype(&self, output: OutputId) -> DType {
        self.graph.output_type(output).map_or(DType::Resource, |t| t.dtype)
    }

    /// Begins a node.
    pub fn op<'b>(&'b mut self, op: &str) -> OpBuilder<'b, 'g> {
        OpBuilder::new(self, op)
    }

    /// Adds a node that takes `inputs`; returns its first output. Attributes follow from the inputs or have defaults.
    ///
    /// # Errors
    /// `NotFound` for an unknown op, `InvalidArgument` for a bad input or attribute; see [`OpBuilder::finish`].
    pub fn call(&mut self, op: &str, inputs: &[OutputId]) -> Result<OutputId> {
        self.op(op).inputs(inputs).output()
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// `InvalidArgument` for a bad name; see [`OpBuilder::finish`].
    pub fn constant(&mut self, name: &str, value: &Tensor) -> Result<OutputId> {
        let dtype = AttrValue::from(Value::Type(value.dtype().number()));
        let proto: TensorProto = value.to_proto()?;
        self.op("Const").name(name).attr("dtype", dtype).attr("value", proto).output()
    }

    /// Adds a scalar constant called `Const`.
    ///
    /// # Errors
    /// `InvalidArgument` for a bad scope; see [`OpBuilder::finish`].
    pub fn scalar<T: Element>(&mut self, value: T) -> Result<OutputId> {
        self.constant("Const", &Tensor::scalar(value))
    }

    /// Adds a vector constant called `Const`.
    ///
    /// # Errors
    /// `InvalidArgument` for a bad scope; see [`OpBuilder::finish`].
    pub fn vector<T: Element>(&mut self, values: &[T]) -> Result<OutputId> {
        self.constant("Const", &Tensor::vector(values)?)
    }

    /// Returns the type of a tensor.
    fn output_type(&self, output: OutputId) -> Option<TensorType> {
        self.graph.output_type(output).ok()
    }
}
