//! Conditionals and loops being built.

use crate::build::{Output, PyScope, output_id, to_outputs};
use crate::graph::PyGraph;
use crate::locks::{self, Locked};
use flowmill::builder::{Branch, CondBuilder, Scope, ScopedBuilder, WhileBuilder, WhileOptions};
use flowmill_graph::OutputId;
use flowmill_tensor::Result;
use pyo3::prelude::*;

/// A conditional being built.
#[pyclass(frozen, name = "Cond", module = "flowmill._core")]
pub struct PyCond {
    graph: Py<PyGraph>,
    outer: Scope,
    cond: Locked<CondBuilder>,
}

impl PyCond {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, pred: Output) -> PyResult<PyCond> {
        let cond = graph.get().build(graph.py(), scope, |b| CondBuilder::begin(b, output_id(pred)))?;
        Ok(PyCond { graph: graph.unbind(), outer: scope.0.clone(), cond: Locked::new(cond) })
    }

    fn build<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut ScopedBuilder<'_>, &mut CondBuilder) -> Result<T> + Send) -> PyResult<T> {
        self.graph.get().build_with(py, &PyScope(self.outer.clone()), &self.cond, |b, cond| f(b, cond))
    }
}

#[pymethods]
impl PyCond {
    /// Returns the predicate as nodes of a branch see it, which they run after.
    fn pivot(&self, py: Python<'_>, branch: bool) -> Output {
        let branch = if branch { Branch::True } else { Branch::False };
        let pivot = locks::with(py, &self.cond, |cond| cond.pivot(branch));
        (pivot.node.0, pivot.slot)
    }

    /// Begins a branch; returns the scope in it.
    fn open(&self, py: Python<'_>, branch: bool) -> PyResult<PyScope> {
        let branch = if branch { Branch::True } else { Branch::False };
        self.build(py, |b, cond| cond.open(b, branch).map(|_| PyScope(b.scope().clone())))
    }

    /// Ends a branch with its results.
    fn close(&self, py: Python<'_>, results: Vec<Output>) -> PyResult<()> {
        self.build(py, |b, cond| cond.close(b, Ok(results.into_iter().map(output_id).collect())))
    }

    /// Joins the branches.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Output>> {
        self.build(py, |b, cond| cond.finish(b).map(|merged| to_outputs(&merged)))
    }
}

/// A loop being built.
#[pyclass(frozen, name = "While", module = "flowmill._core")]
pub struct PyWhile {
    graph: Py<PyGraph>,
    inside: Scope,
    looped: Locked<WhileBuilder>,
}

impl PyWhile {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, vars: Vec<Output>, options: WhileOptions) -> PyResult<PyWhile> {
        let vars: Vec<OutputId> = vars.into_iter().map(output_id).collect();
        let (looped, inside) = graph.get().build(graph.py(), scope, |b| {
            let looped = WhileBuilder::begin(b, &vars, &options)?;
            Ok((looped, b.scope().clone()))
        })?;
        Ok(PyWhile { graph: graph.unbind(), inside, looped: Locked::new(looped) })
    }

    fn build<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut ScopedBuilder<'_>, &mut WhileBuilder) -> Result<T> + Send) -> PyResult<T> {
        self.graph.get().build_with(py, &PyScope(self.inside.clone()), &self.looped, |b, looped| f(b, looped))
    }
}

#[pymethods]
impl PyWhile {
    /// Returns the scope in the loop.
    #[getter]
    fn scope(&self) -> PyScope {
        PyScope(self.inside.clone())
    }

    /// Returns the variables as the condition sees them.
    fn cond_vars(&self, py: Python<'_>) -> Vec<Output> {
        locks::with(py, &self.looped, |looped| to_outputs(looped.cond_vars()))
    }

    /// Ends the condition; returns the variables as the body sees them.
    fn body_vars(&self, py: Python<'_>, go_on: Output) -> PyResult<Vec<Output>> {
        self.build(py, |b, looped| looped.body_vars(b, output_id(go_on)).map(|vars| to_outputs(&vars)))
    }

    /// Ends the body; returns the variables' last values.
    fn finish(&self, py: Python<'_>, results: Vec<Output>) -> PyResult<Vec<Output>> {
        let results: Vec<OutputId> = results.into_iter().map(output_id).collect();
        self.build(py, |b, looped| looped.finish(b, &results).map(|exits| to_outputs(&exits)))
    }
}
