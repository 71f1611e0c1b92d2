//! Variables: tensors that live across the steps of a session.

use super::{GraphBuilder, Input, Ops, Output};
use crate::{NodeId, PartialShape, Result, ToNodeName};
use flowmill_graph::Graph;
use flowmill_tensor::bail;
use std::fmt;

/// A variable: a tensor that a session keeps across its steps. Its first value is assigned by the target [`Variable::initializer`].
#[derive(Clone, Copy)]
pub struct Variable<'b> {
    handle: Output<'b>,
    value: Output<'b>,
    initializer: NodeId,
}

impl GraphBuilder {
    /// Adds a variable called `name` whose first value is `initial`.
    ///
    /// ```
    /// use flowmill::prelude::*;
    ///
    /// # fn main() -> flowmill::Result<()> {
    /// let b = GraphBuilder::new()?;
    /// let count = b.variable("count", 1i64)?;
    /// let increment = count.assign_add(2)?;
    /// let session = b.session(SessionOptions::default())?;
    /// session.runner().target(count.initializer()).run()?;
    /// session.runner().target(increment).run()?;
    /// assert_eq!(session.runner().fetch(count.value())?.to_scalar::<i64>()?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a name or an initial value that does not fit, and in the body of a function; the errors of [`NodeBuilder::finish`](super::NodeBuilder::finish).
    pub fn variable<'b>(&'b self, name: &str, initial: impl Into<Input<'b>>) -> Result<Variable<'b>> {
        let initial = initial.into();
        if self.current() != 0 {
            bail!(InvalidArgument, "variable '{name}' is added in the body of a function: add it outside, the body captures it");
        }
        self.name_scope(name, || {
            let initial = self.node().name("initial_value").identity(initial)?;
            let (dtype, shape) = (initial.dtype(), initial.shape());
            let whole = self.scope().name().to_owned();
            let handle = self.node().name(&format!("{whole}/")).attr("shared_name", whole.as_str()).var_handle_op(dtype, shape)?;
            let initializer = self.node().name("Assign").assign_variable_op(handle, initial)?;
            let value = self.node().name("Read").read_variable_op(handle, dtype)?;
            Ok(Variable { handle, value, initializer })
        })
    }
}

impl<'b> Variable<'b> {
    /// Returns the handle, which ops on variables take.
    pub fn handle(self) -> Output<'b> {
        self.handle
    }

    /// Returns the value, read once per step.
    pub fn value(self) -> Output<'b> {
        self.value
    }

    /// Adds another read of the value, which follows the control dependencies of the scope.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument`, see [`NodeBuilder::finish`](super::NodeBuilder::finish).
    pub fn read(self) -> Result<Output<'b>> {
        self.handle.builder().read_variable_op(self.handle, self.value.dtype())
    }

    /// Returns the node that assigns the first value.
    pub fn initializer(self) -> NodeId {
        self.initializer
    }

    /// Returns the static shape.
    pub fn shape(self) -> PartialShape {
        self.value.shape()
    }

    /// Adds a node that assigns `value`.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument`, see [`NodeBuilder::finish`](super::NodeBuilder::finish).
    pub fn assign(self, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.handle.builder().node().attr("dtype", self.value.dtype()).assign_variable_op(self.handle, value)
    }

    /// Adds a node that adds `value` to the variable.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument`, see [`NodeBuilder::finish`](super::NodeBuilder::finish).
    pub fn assign_add(self, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.handle.builder().node().attr("dtype", self.value.dtype()).assign_add_variable_op(self.handle, value)
    }

    /// Adds a node that subtracts `value` from the variable, as a step of gradient descent does.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument`, see [`NodeBuilder::finish`](super::NodeBuilder::finish).
    pub fn assign_sub(self, value: impl Into<Input<'b>>) -> Result<NodeId> {
        self.handle.builder().node().attr("dtype", self.value.dtype()).assign_sub_variable_op(self.handle, value)
    }
}

/// The value, as an input of nodes.
impl<'b> From<Variable<'b>> for Input<'b> {
    fn from(variable: Variable<'b>) -> Input<'b> {
        variable.value.into()
    }
}

/// The node of the variable's handle.
impl ToNodeName for Variable<'_> {
    fn to_node_name(&self, graph: &Graph) -> Result<String> {
        self.handle.to_node_name(graph)
    }
}

impl fmt::Debug for Variable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.value).finish()
    }
}
