//! Conditionals and loops being built.

use crate::build::{Output, PyScope, output_id, to_outputs};
use crate::graph::PyGraph;
use flowmill::builder::{Branch, CondBuilder, GraphBuilder, Scope, WhileBuilder, WhileOptions};
use flowmill_graph::OutputId;
use flowmill_tensor::Result;
use parking_lot::Mutex;
use pyo3::prelude::*;

/// A conditional being built.
#[pyclass(frozen, name = "Cond", module = "flowmill._core")]
pub struct PyCond {
    graph: Py<PyGraph>,
    outer: Scope,
    cond: Mutex<CondBuilder>,
}

impl PyCond {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, pred: Output) -> PyResult<PyCond> {
        let cond = graph.get().build(scope, |b| CondBuilder::begin(b, output_id(pred)))?;
        Ok(PyCond { graph: graph.unbind(), outer: scope.0.clone(), cond: Mutex::new(cond) })
    }

    fn build<T>(&self, f: impl FnOnce(&mut GraphBuilder<'_>, &mut CondBuilder) -> Result<T>) -> PyResult<T> {
        let mut cond = self.cond.lock();
        self.graph.get().build(&PyScope(self.outer.clone()), |b| f(b, &mut cond))
    }
}

#[pymethods]
impl PyCond {
    /// What lets nodes run when a branch is taken.
    fn pivot(&self, branch: bool) -> Output {
        let pivot = self.cond.lock().pivot(if branch { Branch::True } else { Branch::False });
        (pivot.node.0, pivot.slot)
    }

    /// Begins a branch; gives the scope in it.
    fn open(&self, branch: bool) -> PyResult<PyScope> {
        let branch = if branch { Branch::True } else { Branch::False };
        self.build(|b, cond| cond.open(b, branch).map(|_| PyScope(b.scope().clone())))
    }

    /// Ends a branch with its results.
    fn close(&self, results: Vec<Output>) -> PyResult<()> {
        self.build(|b, cond| cond.close(b, Ok(results.into_iter().map(output_id).collect())))
    }

    /// Joins the branches.
    fn finish(&self) -> PyResult<Vec<Output>> {
        self.build(|b, cond| cond.finish(b).map(|merged| to_outputs(&merged)))
    }
}

/// A loop being built.
#[pyclass(frozen, name = "While", module = "flowmill._core")]
pub struct PyWhile {
    graph: Py<PyGraph>,
    inside: Scope,
    looped: Mutex<WhileBuilder>,
}

impl PyWhile {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, vars: Vec<Output>, options: WhileOptions) -> PyResult<PyWhile> {
        let vars: Vec<OutputId> = vars.into_iter().map(output_id).collect();
        let (looped, inside) = graph.get().build(scope, |b| {
            let looped = WhileBuilder::begin(b, &vars, &options)?;
            Ok((looped, b.scope().clone()))
        })?;
        Ok(PyWhile { graph: graph.unbind(), inside, looped: Mutex::new(looped) })
    }

    fn build<T>(&self, f: impl FnOnce(&mut GraphBuilder<'_>, &mut WhileBuilder) -> Result<T>) -> PyResult<T> {
        let mut looped = self.looped.lock();
        self.graph.get().build(&PyScope(self.inside.clone()), |b| f(b, &mut looped))
    }
}

#[pymethods]
impl PyWhile {
    /// The scope in the loop.
    #[getter]
    fn scope(&self) -> PyScope {
        PyScope(self.inside.clone())
    }

    /// The variables as the condition sees them.
    fn cond_vars(&self) -> Vec<Output> {
        to_outputs(self.looped.lock().cond_vars())
    }

    /// Ends the condition; gives the variables as the body sees them.
    fn body_vars(&self, go_on: Output) -> PyResult<Vec<Output>> {
        self.build(|b, looped| looped.body_vars(b, output_id(go_on)).map(|vars| to_outputs(&vars)))
    }

    /// Ends the body; gives the variables' last values.
    fn finish(&self, results: Vec<Output>) -> PyResult<Vec<Output>> {
        let results: Vec<OutputId> = results.into_iter().map(output_id).collect();
        self.build(|b, looped| looped.finish(b, &results).map(|exits| to_outputs(&exits)))
    }
}
