//! The parts of a session that the cost model reads.

use super::{Session, Signature};
use crate::compile::{Unit, lower};
use crate::session::executable::Snapshot;
use flowmill_graph::Graph;
use flowmill_tensor::Result;

impl Session {
    /// Returns the graph whose nodes a step with these feeds, fetches and targets places on devices: the part of the session's graph that the step
    /// needs, with its function calls inlined. Feeds are `_Arg` nodes, fetches are `_Retval` nodes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` or `NotFound` for feeds, fetches and targets that the graph does not have or that contradict each other.
    pub fn graph_before_placement(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Graph> {
        let signature = Signature::new(feeds, fetches, targets, &[]);
        let graph = self.graph.read();
        let Snapshot { pruned, functions, .. } = Snapshot::new(&graph, &signature, self.functions_of(&graph), None)?;
        drop(graph);
        let mut unit = Unit::of_step(pruned, &signature, functions.runtime())?;
        lower(&mut unit, &self.env.options);
        Ok(unit.graph)
    }
}
