//! The builder that owns its graph.

mod attr;
mod control_flow;
mod function;
#[rustfmt::skip]
mod generated;
mod gradients;
mod input;
mod lend;
mod node;
mod operators;
mod output;
mod variable;

pub use attr::ToAttr;
pub use function::Function;
pub use generated::Ops;
pub use gradients::Ys;
pub use input::Input;
pub use node::NodeBuilder;
pub use output::Output;
pub use variable::Variable;

use crate::builder::{BuilderState, Scope, ScopedBuilder, check_scope_name};
use crate::proto::GraphDef;
use crate::sync::RwLock;
use crate::{Error, Graph, NodeId, OpSet, OutputId, Result, Session, SessionOptions, TensorName};
use flowmill_tensor::{bail, error};
use function::Body;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// A builder that owns its graph and adds nodes to it.
///
/// There is a method for every op, from the trait [`Ops`]: required inputs and attributes are its arguments. [`GraphBuilder::node`] begins a node with
/// a name or optional attributes; [`GraphBuilder::op`] adds a node of an op by name, such as a custom one. Every method takes `&self`, so that
/// calls nest: `b.relu(b.mat_mul(x, w)?)?`.
///
/// ```
/// use flowmill::prelude::*;
///
/// # fn main() -> flowmill::Result<()> {
/// let b = GraphBuilder::new()?;
/// let x = b.node().name("x").placeholder(DType::F32, [-1, 2])?;
/// let w = b.constant([[1.0f32, 2.0], [3.0, 4.0]])?;
/// let y = b.name_scope("layer", || b.relu(b.mat_mul(x, w)? - 5.0))?;
/// assert_eq!((y.name()?.as_str(), y.shape().to_string().as_str()), ("layer/Relu:0", "[?,2]"));
///
/// let session = b.session(SessionOptions::default())?;
/// let row = Tensor::from_slice([1, 2], &[1.0f32, 1.0])?;
/// assert_eq!(session.runner().feed(x, row).fetch(y)?.as_slice::<f32>()?, [0.0, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// The builder stays usable after [`GraphBuilder::session`]: the session runs what is added later, too. A builder may move to another thread, but only
/// one thread at a time adds nodes.
pub struct GraphBuilder {
    ops: OpSet,
    graph: Arc<RwLock<Graph>>,
    building: RefCell<Building>,
}

/// The part of a builder that changes with each node.
#[derive(Default)]
struct Building {
    state: BuilderState,
    scope: Scope,
    /// The first error of an operator, which has no other way to report it.
    failure: Option<Error>,
    /// The bodies of functions that are being built, each inside of the one before. Nodes are added to the last one.
    bodies: Vec<Body>,
    /// The names of all functions whose bodies were begun.
    functions: Vec<String>,
}

impl GraphBuilder {
    /// Returns a builder with an empty graph of the standard ops.
    ///
    /// # Errors
    /// None in practice; see [`OpSet::standard`].
    pub fn new() -> Result<GraphBuilder> {
        Ok(OpSet::standard()?.graph_builder())
    }

    /// Returns a builder that adds to `graph`, such as one that was loaded. Its sessions have the kernels of `ops`.
    pub fn with_graph(ops: OpSet, graph: Graph) -> GraphBuilder {
        GraphBuilder { ops, graph: Arc::new(RwLock::new(graph)), building: RefCell::default() }
    }

    /// Adds nodes through the builder that borrows the graph, in the current scope: to the innermost body that is being built, or to the graph.
    ///
    /// `f` holds the graph's lock, so it must not run code of a user.
    fn scoped<T>(&self, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T>) -> Result<T> {
        let (level, scope) = {
            let building = &mut *self.building.borrow_mut();
            (building.bodies.len(), std::mem::take(&mut building.scope))
        };
        let (result, scope) = self.scoped_at(level, scope, f);
        self.building.borrow_mut().scope = scope;
        result
    }

    /// Adds nodes to the graph, for level 0, or to one of the bodies that are being built. Also returns the scope that `f` leaves.
    fn scoped_at<T>(&self, level: usize, scope: Scope, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T>) -> (Result<T>, Scope) {
        let Building { state, bodies, .. } = &mut *self.building.borrow_mut();
        let mut locked;
        let (graph, state) = match level.checked_sub(1).map(|i| bodies.get_mut(i)) {
            None => {
                locked = self.graph.write();
                (&mut *locked, state)
            }
            Some(Some(body)) => (&mut body.graph, &mut body.state),
            Some(None) => return (Err(error!(NotFound, "no graph of level {level} is being built")), scope),
        };
        match ScopedBuilder::new(graph, state, scope) {
            Ok(mut b) => {
                let result = f(&mut b);
                (result, b.set_scope(Scope::root()))
            }
            Err(error) => (Err(error), Scope::root()),
        }
    }

    /// Begins a node whose op comes last: `b.node().name("y").attr("transpose_b", true).mat_mul(x, w)`.
    pub fn node(&self) -> NodeBuilder<'_> {
        NodeBuilder::new(self)
    }

    /// Begins a node of the op called `op`, whose inputs and attributes follow: `b.op("Cube").input(x).output()`.
    pub fn op(&self, op: impl Into<Cow<'static, str>>) -> NodeBuilder<'_> {
        NodeBuilder::new(self).of(op)
    }

    /// Returns the handle of a tensor of the graph, or of the body of the function that is being built.
    pub fn output(&self, id: OutputId) -> Output<'_> {
        Output::new(self, id)
    }

    /// Returns the handle of the tensor called `name`: `x:0`, or `x` for output 0.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is malformed, `NotFound` if the graph has no such tensor.
    pub fn tensor(&self, name: &str) -> Result<Output<'_>> {
        let Some((node, slot)) = TensorName::parse(name).and_then(|parts| Some((parts.node, u32::try_from(parts.slot).ok()?))) else {
            bail!(InvalidArgument, "'{name}' is not the name of a tensor");
        };
        let id = self.scoped(|b| match b.graph().find_node(node).filter(|found| (slot as usize) < found.num_outputs()) {
            Some(found) => Ok(found.id().output(slot)),
            None => bail!(NotFound, "the graph has no tensor '{name}'"),
        })?;
        Ok(self.output(id))
    }

    /// Runs `f` with the name scope `name`, or `name_1` and so on if the name is taken, inside of the current one.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that no scope can have, and those of `f`.
    pub fn name_scope<T>(&self, name: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let scope = self.scoped(|b| {
            check_scope_name(b.scope().name(), name)?;
            let name = b.unique_name(name, true);
            Ok(b.scope().named(&name))
        })?;
        self.within(scope, f)
    }

    /// Runs `f`; nodes that it adds request the device `device`, such as `/device:CPU:0`. An empty name requests none.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn with_device<T>(&self, device: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.within(self.scope().on_device(device), f)
    }

    /// Runs `f`; nodes that it adds run after `nodes`.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn after<T>(&self, nodes: &[NodeId], f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.within(self.scope().after(nodes), f)
    }

    /// Runs `f`; nodes that it adds share the devices of `nodes`.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn colocated_with<T>(&self, nodes: &[NodeId], f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.within(self.scope().colocated_with(nodes.iter().copied()), f)
    }

    /// Returns the current scope.
    pub fn scope(&self) -> Scope {
        self.building.borrow().scope.clone()
    }

    /// Runs `f` in another scope and returns to the current one, also if `f` panics.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn within<T>(&self, scope: Scope, f: impl FnOnce() -> Result<T>) -> Result<T> {
        struct Restore<'b>(&'b GraphBuilder, Scope);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.building.borrow_mut().scope = std::mem::take(&mut self.1);
            }
        }
        let outer = std::mem::replace(&mut self.building.borrow_mut().scope, scope);
        let _restore = Restore(self, outer);
        f()
    }

    /// Returns a session that runs this graph with the kernels of the builder's ops.
    ///
    /// # Errors
    /// The first error of an operator, and the errors of [`Session::new`].
    pub fn session(&self, options: SessionOptions) -> Result<Arc<Session>> {
        self.check()?;
        Ok(Arc::new(Session::new(self.graph.clone(), self.ops.kernels().clone(), options)?))
    }

    /// Returns a copy of the graph as it is now, without the bodies of functions that are being built.
    ///
    /// # Errors
    /// The first error of an operator.
    pub fn graph(&self) -> Result<Graph> {
        self.check()?;
        Ok(self.graph.read().clone())
    }

    /// Returns the graph as a message, which other programs read.
    ///
    /// # Errors
    /// The first error of an operator.
    pub fn graph_def(&self) -> Result<GraphDef> {
        self.check()?;
        Ok(self.graph.read().to_graph_def())
    }

    /// Returns the graph that the builder and its sessions share. A thread that holds its lock must not add nodes through the builder, which takes the
    /// lock as well.
    pub fn shared_graph(&self) -> &Arc<RwLock<Graph>> {
        &self.graph
    }

    /// Returns the ops and kernels of the builder.
    pub fn ops(&self) -> &OpSet {
        &self.ops
    }

    /// Returns an error if an operator on outputs has failed.
    ///
    /// # Errors
    /// The first error of an operator.
    pub fn check(&self) -> Result<()> {
        self.building.borrow().failure.clone().map_or(Ok(()), Err)
    }

    /// Notes the error of an operator; only the first one is kept.
    fn fail(&self, error: Error) -> Output<'_> {
        self.building.borrow_mut().failure.get_or_insert(error);
        Output::failed(self)
    }

    /// Returns the error behind an operator's failed result.
    fn failure(&self) -> Error {
        let recorded = self.building.borrow().failure.clone();
        recorded.unwrap_or_else(|| error!(InvalidArgument, "the tensor is not in the graph"))
    }
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuilder").field("num_nodes", &self.graph.read().num_nodes()).finish_non_exhaustive()
    }
}
