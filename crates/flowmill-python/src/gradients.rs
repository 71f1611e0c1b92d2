//! Gradients: a walk that stops where Python makes them.

use crate::build::{Output, PyScope, output_id};
use crate::errors::to_py_err;
use crate::graph::PyGraph;
use flowmill::builder::gradients::{Aggregation, FunctionGraph, Grad, GradientOptions, GradientWalk, IndexedSlices, Step};
use flowmill_graph::OutputId;
use parking_lot::Mutex;
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
    walk: Mutex<GradientWalk>,
    /// The body of the function whose gradient Python makes, while it does, and the function's name.
    body: Mutex<Option<(Py<PyGraph>, String)>>,
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
        let py = graph.py();
        let inner = graph.get();
        let walk = py.detach(|| inner.build(scope, |b| GradientWalk::new(b, &ys, &xs, &grad_ys, options)))?;
        Ok(PyGradientWalk { graph: graph.unbind(), scope: PyScope(scope.0.clone()), walk: Mutex::new(walk), body: Mutex::default() })
    }

    /// Walks to the next gradient that Python makes: `(node, kind, gradients of its outputs, scope, body, function)`; or to the end: the gradients of
    /// the `xs`, and the nodes that have more outputs than before. For a node of a function `body` is the graph of that and `function` its name,
    /// else they are `None`.
    fn advance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.graph.get();
        let step = py.detach(|| graph.build(&self.scope, |b| self.walk.lock().advance(b)))?;
        match step {
            Step::Done(grads) => (to_python(py, grads)?, graph.take_extended()).into_bound_py_any(py),
            Step::Custom { node, kind, grads, scope } => {
                let taken = self.walk.lock().body().map(|body| {
                    let empty = FunctionGraph::empty(body.graph.registry());
                    std::mem::replace(body, empty)
                });
                let (body, function) = match taken {
                    Some(body) => {
                        let function = body.function.clone();
                        let body = Py::new(py, PyGraph::of_body(body))?;
                        *self.body.lock() = Some((body.clone_ref(py), function.clone()));
                        (Some(body), Some(function))
                    }
                    None => (None, None),
                };
                (node.0, kind, to_python(py, grads)?, PyScope(scope), body, function).into_bound_py_any(py)
            }
        }
    }

    /// Takes the gradients of the node's inputs that Python made.
    fn resume(&self, grads: Vec<Option<PyGrad>>) -> PyResult<()> {
        let mut walk = self.walk.lock();
        if let Some((body, function)) = self.body.lock().take()
            && let Some(place) = walk.body()
        {
            *place = body.get().take_body(function);
        }
        walk.resume(grads.into_iter().map(|g| g.map(Grad::from)).collect()).map_err(to_py_err)
    }
}
