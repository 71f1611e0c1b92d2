//! Lends the owning builder to a function that gets the borrowing one, such as the gradient function of an op.

use super::{Building, GraphBuilder};
use crate::builder::{BuilderState, Scope, ScopedBuilder};
use crate::sync::RwLock;
use crate::{Graph, OpSet, Result};
use std::cell::RefCell;
use std::sync::Arc;

impl GraphBuilder {
    /// Runs `f` with a builder that holds the graph of `scoped` meanwhile, in its scope. So the gradient function of a custom op has the methods of
    /// ops and operators:
    ///
    /// ```
    /// use flowmill::builder::ScopedBuilder;
    /// use flowmill::builder::gradients::{Backward, Grad};
    /// use flowmill::prelude::*;
    ///
    /// /// The gradient of `x³`.
    /// fn cube_gradient(scoped: &mut ScopedBuilder<'_>, op: &Backward) -> flowmill::Result<Vec<Option<Grad>>> {
    ///     let dy = op.dy(scoped, 0)?;
    ///     GraphBuilder::lend(scoped, |b| {
    ///         let (x, dy) = (b.output(op.inputs[0]), b.output(dy));
    ///         let dx = dy * 3.0 * b.square(x)?;
    ///         Ok(vec![Some(dx.ok()?.id().into())])
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns the error of `f`, or else the first error of an operator in it.
    pub fn lend<T>(scoped: &mut ScopedBuilder<'_>, f: impl FnOnce(&GraphBuilder) -> Result<T>) -> Result<T> {
        let ops = OpSet::with_registry(scoped.graph().registry().clone());
        let graph = std::mem::replace(scoped.graph_mut(), ops.new_graph());
        let state = std::mem::take(scoped.state_mut());
        let building = Building { state, scope: scoped.set_scope(Scope::root()), ..Building::default() };
        let builder = GraphBuilder { ops, graph: Arc::new(RwLock::new(graph)), building: RefCell::new(building) };
        let lent = Lent { builder, scoped };
        let result = f(&lent.builder)?;
        lent.builder.check()?;
        Ok(result)
    }

    /// Takes the graph and what building keeps about it; sessions of this builder have an empty graph then.
    fn take(&self) -> (Graph, BuilderState, Scope) {
        let graph = std::mem::replace(&mut *self.graph.write(), self.ops.new_graph());
        let Building { state, scope, .. } = self.building.take();
        (graph, state, scope)
    }
}

/// A graph that is lent to a builder; it is given back when this is dropped, also by a panic.
struct Lent<'s, 'g> {
    builder: GraphBuilder,
    scoped: &'s mut ScopedBuilder<'g>,
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        let (graph, state, scope) = self.builder.take();
        *self.scoped.graph_mut() = graph;
        *self.scoped.state_mut() = state;
        self.scoped.set_scope(scope);
    }
}
