//! Gradients: a walk that stops where Python makes them.

use crate::build::{Output, PyScope, output_id};
use crate::errors::Raise;
use crate::graph::PyGraph;
use crate::guarded_graph::GuardedGraph;
use crate::locks::{self, Locked};
use flowmill::builder::gradients::{Aggregation, FunctionGraph, Grad, GradientOptions, GradientWalk, IndexedSlices, Step};
use flowmill_graph::OutputId;
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

/// Gradients being added to a graph.
#[pyclass(frozen, name = "GradientWalk", module = "flowmill._core")]
pub struct PyGradientWalk {
    graph: Py<PyGraph>,
    scope: PyScope,
    walk: Locked<GradientWalk>,
    /// The body of the function whose gradient Python makes, while it does, and the function's name.
    body: Locked<Option<(Py<PyGraph>, String)>>,
}

#[pymethods]
impl PyGradientWalk {
    /// Begins the gradients of the sum of `ys` by `xs`. `custom` and `not_differentiable` are names of ops, or of what their nodes have as
    /// `_gradient_op_type`.
    #[new]
    #[pyo3(signature = (graph, scope, ys, xs, grad_ys, *, name, stop_gradients, colocate, gate, pairwise, custom, not_differentiable))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        graph: Bound<'_, PyGraph>,
        scope: &PyScope,
        ys: Vec<Output>,
        xs: Vec<Output>,
        grad_ys: Vec<Option<Output>>,
        name: String,
        stop_gradients: Vec<Output>,
        colocate: bool,
        gate: bool,
        pairwise: bool,
        custom: Vec<String>,
        not_differentiable: Vec<String>,
    ) -> PyResult<PyGradientWalk> {
        let outputs = |all: Vec<Output>| all.into_iter().map(output_id).collect::<Vec<_>>();
        let options = GradientOptions {
            name: Some(name),
            stop_gradients: outputs(stop_gradients),
            colocate,
            gate,
            aggregation: if pairwise { Aggregation::Pairwise } else { Aggregation::AddN },
            custom: custom.into_iter().collect(),
            not_differentiable: not_differentiable.into_iter().collect(),
        };
        let (ys, xs) = (outputs(ys), outputs(xs));
        let grad_ys: Vec<Option<OutputId>> = grad_ys.into_iter().map(|g| g.map(output_id)).collect();
        let walk = graph.get().build_detached(graph.py(), scope, (), |b, ()| GradientWalk::new(b, &ys, &xs, &grad_ys, options))?;
        Ok(PyGradientWalk { graph: graph.unbind(), scope: PyScope(scope.0.clone()), walk: Locked::new(walk), body: Locked::default() })
    }

    /// Walks to the next gradient that Python makes: `(node, kind, gradients of its outputs, scope, body, function)`; or to the end: the gradients of
    /// the `xs`, and the nodes that have more outputs than before. For a node of a function `body` is the graph of that and `function` its name,
    /// else they are `None`.
    fn advance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.graph.get();
        let step = graph.build_detached(py, &self.scope, &self.walk, |b, walk| walk.advance(b))?;
        match step {
            Step::Done(grads) => (to_python(py, grads)?, graph.take_extended(py)).into_bound_py_any(py),
            Step::Custom { node, kind, grads, scope } => {
                let taken = locks::with(py, &self.walk, |walk| {
                    walk.body().map(|body| {
                        let empty = FunctionGraph::empty(body.graph.registry());
                        std::mem::replace(body, empty)
                    })
                });
                let (body, function) = match taken {
                    Some(body) => {
                        let function = body.function.clone();
                        let body = Py::new(py, PyGraph(GuardedGraph::of_body(body)))?;
                        let (ours, name) = (body.clone_ref(py), function.clone());
                        let before = locks::with(py, &self.body, |body| body.replace((ours, name)));
                        drop(before);
                        (Some(body), Some(function))
                    }
                    None => (None, None),
                };
                (node.0, kind, to_python(py, grads)?, PyScope(scope), body, function).into_bound_py_any(py)
            }
        }
    }

    /// Takes the gradients of the node's inputs that Python made.
    fn resume(&self, py: Python<'_>, grads: Vec<Option<PyGrad>>) -> PyResult<()> {
        let grads = grads.into_iter().map(|g| g.map(Grad::from)).collect();
        let body = locks::with(py, &self.body, |body| body.take()).map(|(body, function)| body.get().take_body(py, function));
        locks::with(py, &self.walk, |walk| {
            if let (Some(body), Some(place)) = (body, walk.body()) {
                *place = body;
            }
            walk.resume(grads)
        })
        .raise(py)
    }
}
