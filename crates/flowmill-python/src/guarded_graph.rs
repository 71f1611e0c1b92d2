//! A graph that Python's threads share with sessions: every access goes through [`crate::locks`].

use crate::build::PyScope;
use crate::errors::Raise;
use crate::locks::{self, Lock, Locked, Reading, Writing};
use flowmill::builder::gradients::FunctionGraph;
use flowmill::builder::{BuilderState, Scope, ScopedBuilder};
use flowmill_graph::{Graph, ImportOptions, ImportResults, Node, NodeId, OpDef, import_graph_def};
use flowmill_proto::{GraphDef, Message};
use flowmill_tensor::Result;
use flowmill_tensor::sync::RwLock;
use pyo3::prelude::*;
use std::sync::Arc;

/// A graph and what building keeps of it.
pub struct GuardedGraph {
    graph: Arc<RwLock<Graph>>,
    /// The builder's data about the graph; locked before the graph.
    state: Locked<BuilderState>,
}

impl GuardedGraph {
    pub fn new(graph: Graph) -> GuardedGraph {
        GuardedGraph { graph: Arc::new(RwLock::new(graph)), state: Locked::default() }
    }

    /// Returns the body of a function, taken from where it is differentiated.
    pub fn of_body(body: FunctionGraph) -> GuardedGraph {
        GuardedGraph { graph: Arc::new(RwLock::new(body.graph)), state: Locked::new(body.state) }
    }

    /// Returns the body back, with what was added to it.
    pub fn take_body(&self, py: Python<'_>, function: String) -> FunctionGraph {
        locks::with(py, (&self.state, Writing(&self.graph)), |(state, graph)| {
            let empty = FunctionGraph::empty(graph.registry());
            FunctionGraph { graph: std::mem::replace(graph, empty.graph), state: std::mem::replace(state, empty.state), function }
        })
    }

    /// Returns the nodes that gradients have given further outputs since this was last asked.
    pub fn take_extended(&self, py: Python<'_>) -> Vec<u32> {
        locks::with(py, &self.state, |state| state.take_extended().into_iter().map(|n| n.0).collect())
    }

    /// Returns the locked graph that sessions share.
    pub fn shared(&self) -> &Arc<RwLock<Graph>> {
        &self.graph
    }

    /// Adds a message's nodes.
    pub fn import(&self, py: Python<'_>, def: GraphDef, options: &ImportOptions) -> PyResult<ImportResults> {
        locks::with_detached(py, Writing(&self.graph), |graph| import_graph_def(graph, def, options)).raise(py)
    }

    /// Adds to the graph in a scope.
    pub fn build<T: Send>(
        &self,
        py: Python<'_>,
        scope: &PyScope,
        f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.build_with(py, scope, (), |b, ()| f(b))
    }

    /// Returns the locks of building, behind another.
    fn and<L: Lock>(&self, lock: L) -> (L, (&Locked<BuilderState>, Writing<'_, Graph>)) {
        (lock, (&self.state, Writing(&self.graph)))
    }

    /// Adds to the graph in a scope, with another lock held, which is taken first.
    pub fn build_with<L: Lock, T: Send>(
        &self,
        py: Python<'_>,
        scope: &PyScope,
        lock: L,
        f: impl FnOnce(&mut ScopedBuilder<'_>, &mut L::Guard) -> Result<T> + Send,
    ) -> PyResult<T> {
        locks::with(py, self.and(lock), |(guard, (state, graph))| {
            ScopedBuilder::new(graph, state, scope.0.clone()).and_then(|mut b| f(&mut b, guard))
        })
        .raise(py)
    }

    /// Like [`GuardedGraph::build`], for an `f` that takes long: the GIL is released in any case. Returns the engine's error.
    pub fn try_build_detached<T: Send>(
        &self,
        py: Python<'_>,
        scope: &Scope,
        f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        locks::with_detached(py, (&self.state, Writing(&self.graph)), |(state, graph)| {
            ScopedBuilder::new(graph, state, scope.clone()).and_then(|mut b| f(&mut b))
        })
    }

    /// Reads the graph's nodes into a message, without the GIL.
    pub fn to_graph_def(&self, py: Python<'_>) -> Vec<u8> {
        locks::with_detached(py, Reading(&self.graph), |graph| graph.to_graph_def().encode_to_vec())
    }

    /// Reads what building keeps of the graph, which is up to date then.
    pub fn read_state<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut BuilderState, &Graph) -> T + Send) -> T {
        locks::with(py, (&self.state, Reading(&self.graph)), |(state, graph)| {
            state.catch_up(graph);
            f(state, graph)
        })
    }

    /// Reads or changes what building keeps apart from the graph's nodes.
    pub fn state<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut BuilderState) -> T + Send) -> T {
        locks::with(py, &self.state, |state| f(state))
    }

    /// Reads the graph.
    pub fn read<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&Graph) -> T + Send) -> T {
        locks::with(py, Reading(&self.graph), |graph| f(graph))
    }

    /// Returns the definition of an op that the graph knows.
    pub fn definition(&self, py: Python<'_>, op: &str) -> PyResult<Arc<OpDef>> {
        self.read(py, |graph| graph.op_def(op).cloned()).raise(py)
    }

    /// Changes the graph.
    pub fn write<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Graph) -> Result<T> + Send) -> PyResult<T> {
        locks::with(py, Writing(&self.graph), |graph| f(graph)).raise(py)
    }

    /// Reads a node.
    pub fn with_node<T: Send>(&self, py: Python<'_>, id: u32, f: impl FnOnce(&Graph, &Node) -> Result<T> + Send) -> PyResult<T> {
        self.read(py, |graph| f(graph, graph.node(NodeId(id))?)).raise(py)
    }

    /// Reads a node together with what building keeps of the graph, which is up to date then.
    pub fn with_state<T: Send>(
        &self,
        py: Python<'_>,
        id: u32,
        f: impl FnOnce(&mut BuilderState, &Graph, &Node) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.read_state(py, |state, graph| f(state, graph, graph.node(NodeId(id))?)).raise(py)
    }
}
