//! Gradients: a walk that stops where Python makes them.

use crate::build::{Output, PyScope, output_id};
use crate::errors::{Raise, invalid_argument};
use crate::graph::PyGraph;
use crate::guarded_graph::GuardedGraph;
use crate::locks::{self, Locked};
use flowmill::builder::gradients::{Aggregation, FunctionGraph, Grad, GradientOptions, IndexedSlices, StackWalk, Step};
use flowmill::builder::{GraphStack, Scope, ScopedBuilder, StackOutput};
use flowmill_graph::OutputId;
use flowmill_tensor::{Result, bail};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyList};

/// A gradient as Python gives it.
#[derive(FromPyObject)]
pub enum PyGrad {
    #[pyo3(transparent)]
    Slices((Output, Output, Option<Output>)),
    #[pyo3(transparent)]
    Dense(Output),
}

impl From<PyGrad> for Grad {
    fn from(grad: PyGrad) -> Grad {
        match grad {
            PyGrad::Dense(output) => Grad::Dense(output_id(output)),
            PyGrad::Slices((values, indices, dense_shape)) => Grad::Slices(IndexedSlices {
                values: output_id(values),
                indices: output_id(indices),
                dense_shape: dense_shape.map(output_id),
            }),
        }
    }
}

/// `None`, `(node, output)`, or `(values, indices, dense_shape or None)` for each.
fn to_python<'py>(py: Python<'py>, grads: Vec<Option<Grad>>) -> PyResult<Bound<'py, PyAny>> {
    let output = |o: OutputId| (o.node.0, o.slot);
    let all = grads.into_iter().map(|grad| match grad {
        None => Ok(py.None().into_bound(py)),
        Some(Grad::Dense(o)) => output(o).into_bound_py_any(py),
        Some(Grad::Slices(s)) => (output(s.values), output(s.indices), s.dense_shape.map(output)).into_bound_py_any(py),
    });
    Ok(PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// The graphs of a stack, the innermost last, each behind its own locks.
struct PyStack<'a, 'py> {
    py: Python<'py>,
    graphs: &'a [Py<PyGraph>],
}

impl GraphStack for PyStack<'_, '_> {
    fn top(&self) -> usize {
        self.graphs.len().saturating_sub(1)
    }

    fn build<T: Send>(&mut self, level: usize, scope: &Scope, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T> + Send) -> Result<T> {
        match self.graphs.get(level) {
            Some(graph) => graph.get().try_build_detached(self.py, scope, f),
            None => bail!(NotFound, "the stack has no graph of level {level}"),
        }
    }

    fn detached<T: Send>(&mut self, f: impl FnOnce() -> T + Send) -> T {
        locks::with_detached(self.py, (), |()| f())
    }
}

/// A tensor of a graph of a stack: the graph's level, and the tensor.
type LeveledOutput = (usize, Output);

fn stack_outputs(all: Vec<LeveledOutput>) -> Vec<StackOutput> {
    all.into_iter().map(|(level, output)| StackOutput { level, output: output_id(output) }).collect()
}

/// Gradients being added to a graph.
#[pyclass(frozen, name = "GradientWalk", module = "flowmill._core")]
pub struct PyGradientWalk {
    /// The graph and those around it, the outermost first.
    graphs: Vec<Py<PyGraph>>,
    /// `None` while a thread advances the walk.
    walk: Locked<Option<StackWalk>>,
    /// The graph in which Python makes a gradient, if it is not the innermost one, while it does; and the name of the function whose body it is.
    body: Locked<Option<(Py<PyGraph>, String)>>,
}

impl PyGradientWalk {
    /// Calls `f` with the walk, without its lock: `f` locks the graphs.
    fn with_walk<T>(&self, py: Python<'_>, f: impl FnOnce(&mut StackWalk) -> Result<T>) -> PyResult<T> {
        let Some(mut walk) = locks::with(py, &self.walk, |walk| walk.take()) else {
            return Err(invalid_argument(py, "another thread uses these gradients"));
        };
        let result = f(&mut walk);
        locks::with(py, &self.walk, |place| **place = Some(walk));
        result.raise(py)
    }
}

#[pymethods]
impl PyGradientWalk {
    /// Begins the gradients of the sum of `ys` by `xs` in the last of the `graphs`, each of which is the body of a function in the one before. `xs` and
    /// `stop_gradients` are tensors of any of the graphs, with its place. `custom` and `not_differentiable` are names of ops, or of what their nodes
    /// have as `_gradient_op_type`.
    #[new]
    #[pyo3(signature = (graphs, scope, ys, xs, grad_ys, *, name, stop_gradients, colocate, gate, pairwise, custom, not_differentiable))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        graphs: Vec<Py<PyGraph>>,
        scope: &PyScope,
        ys: Vec<Output>,
        xs: Vec<LeveledOutput>,
        grad_ys: Vec<Option<Output>>,
        name: String,
        stop_gradients: Vec<LeveledOutput>,
        colocate: bool,
        gate: bool,
        pairwise: bool,
        custom: Vec<String>,
        not_differentiable: Vec<String>,
    ) -> PyResult<PyGradientWalk> {
        let options = GradientOptions {
            name: Some(name),
            stop_gradients: Vec::new(),
            colocate,
            gate,
            aggregation: if pairwise { Aggregation::Pairwise } else { Aggregation::AddN },
            custom: custom.into_iter().collect(),
            not_differentiable: not_differentiable.into_iter().collect(),
        };
        let ys: Vec<OutputId> = ys.into_iter().map(output_id).collect();
        let grad_ys: Vec<Option<OutputId>> = grad_ys.into_iter().map(|g| g.map(output_id)).collect();
        let (xs, stops) = (stack_outputs(xs), stack_outputs(stop_gradients));
        let mut stack = PyStack { py, graphs: &graphs };
        let walk = StackWalk::new(&mut stack, &scope.0, &ys, &xs, &grad_ys, &stops, options).raise(py)?;
        Ok(PyGradientWalk { graphs, walk: Locked::new(Some(walk)), body: Locked::default() })
    }

    /// Walks to the next gradient that Python makes: `(node, kind, gradients of its outputs, scope, graph, function, level)`; or to the end: a list
    /// of the gradients of the `xs`. `level` is the place of the graph that the walk goes through.
    /// For a node of a function `graph` is its body and `function` its name. For a node of an outer graph `graph` is a copy of that one, and
    /// `function` is `None`. For a node of the innermost graph both are `None`.
    fn advance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut stack = PyStack { py, graphs: &self.graphs };
        let (step, taken, level) = self.with_walk(py, |walk| {
            let step = walk.advance(&mut stack)?;
            let taken = match (&step, walk.body()) {
                (Step::Custom { .. }, Some(body)) => {
                    let empty = FunctionGraph::empty(body.graph.registry());
                    Some(std::mem::replace(body, empty))
                }
                _ => None,
            };
            Ok((step, taken, walk.level(&stack)))
        })?;
        match step {
            Step::Done(grads) => to_python(py, grads),
            Step::Custom { node, kind, grads, scope } => {
                let (body, function) = match taken {
                    Some(body) => {
                        let function = body.function.clone();
                        let body = Py::new(py, PyGraph(GuardedGraph::of_body(body)))?;
                        let (ours, name) = (body.clone_ref(py), function.clone());
                        let before = locks::with(py, &self.body, |body| body.replace((ours, name)));
                        drop(before);
                        (Some(body), Some(function).filter(|name| !name.is_empty()))
                    }
                    None => (None, None),
                };
                (node.0, kind, to_python(py, grads)?, PyScope(scope), body, function, level).into_bound_py_any(py)
            }
        }
    }

    /// Takes the gradients of the node's inputs that Python made.
    fn resume(&self, py: Python<'_>, grads: Vec<Option<PyGrad>>) -> PyResult<()> {
        let grads = grads.into_iter().map(|g| g.map(Grad::from)).collect();
        let body = locks::with(py, &self.body, |body| body.take()).map(|(body, function)| body.get().take_body(py, function));
        self.with_walk(py, |walk| {
            if let (Some(body), Some(place)) = (body, walk.body()) {
                *place = body;
            }
            walk.resume(grads)
        })
    }
}
