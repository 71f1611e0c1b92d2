//! Pages and trees of graphs.

use crate::gate;
use crate::graph::PyGraph;
use crate::locks::{self, Reading};
use crate::session::PySession;
use flowmill_graph::Graph;
use flowmill_tensor::Result;
use flowmill_view::{Facts, TreeOptions, TreeRow};
use pyo3::prelude::*;

/// Returns a copy of a graph, so that it is not locked while it is laid out.
fn copy(py: Python<'_>, graph: &PyGraph) -> Graph {
    locks::with_detached(py, Reading(graph.shared()), |graph| graph.clone())
}

fn facts(run_metadata: Option<&[u8]>) -> Result<Facts> {
    let mut facts = Facts::default();
    run_metadata.map(|bytes| facts.add_run_metadata(bytes)).transpose()?;
    Ok(facts)
}

/// Returns the page of a graph as HTML. `run_metadata` is a serialised `RunMetadata` with the times and the memory of nodes.
#[pyfunction]
pub(crate) fn graph_page(py: Python<'_>, graph: &Bound<'_, PyGraph>, title: &str, run_metadata: Option<&[u8]>) -> PyResult<String> {
    let graph = copy(py, graph.get());
    gate::detached(py, || Ok(flowmill_view::step_page(title, &graph, facts(run_metadata)?, None)))
}

/// Returns the page of a session's graph, and of the step with these feeds, fetches and targets before and after all passes.
#[pyfunction]
pub(crate) fn step_page(
    py: Python<'_>,
    session: &Bound<'_, PySession>,
    title: &str,
    feeds: Vec<String>,
    fetches: Vec<String>,
    targets: Vec<String>,
    run_metadata: Option<&[u8]>,
) -> PyResult<String> {
    let session = session.get().session();
    let graph = locks::with_detached(py, Reading(session.graph()), |graph| graph.clone());
    gate::detached(py, || {
        let [feeds, fetches, targets] = [&feeds, &fetches, &targets].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let step = session.step_graphs(&feeds, &fetches, &targets)?;
        Ok(flowmill_view::step_page(title, &graph, facts(run_metadata)?, Some(&step)))
    })
}

fn rows(py: Python<'_>, graph: &PyGraph, options: &TreeOptions, run_metadata: Option<&[u8]>) -> PyResult<Vec<TreeRow>> {
    let graph = copy(py, graph);
    gate::detached(py, || Ok(flowmill_view::tree(&graph, &facts(run_metadata)?, options)))
}

/// Returns the tree of a graph's scopes as text.
#[pyfunction]
pub(crate) fn graph_tree(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    max_depth: usize,
    max_children: usize,
    lists_nodes: bool,
    run_metadata: Option<&[u8]>,
) -> PyResult<String> {
    let options = TreeOptions { max_depth, max_children, lists_nodes };
    rows(py, graph.get(), &options, run_metadata).map(|rows| flowmill_view::tree_text(&rows))
}

/// Returns the tree of a graph's scopes as HTML.
#[pyfunction]
pub(crate) fn graph_tree_html(py: Python<'_>, graph: &Bound<'_, PyGraph>, title: &str) -> PyResult<String> {
    rows(py, graph.get(), &TreeOptions::default(), None).map(|rows| flowmill_view::tree_html(title, &rows))
}
