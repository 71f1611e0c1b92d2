//! The parts of a session that measure and provide the costs of nodes.

use super::executable::{Executable, Snapshot};
use super::{Callable, Session, SessionOptions, Signature};
use crate::compile::{Unit, lower};
use flowmill_cost::{MeasuredCosts, OutputSample, Sample, add_to_cost_graph};
use flowmill_graph::Graph;
use flowmill_proto::CostGraphDef;
use flowmill_runtime::executor::{NodeStats, StatsCollector};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{PartialShape, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// The measured costs of one signature.
#[derive(Default)]
pub(super) struct StepCosts {
    num_steps: AtomicU64,
    measured: Mutex<MeasuredCosts>,
}

impl StepCosts {
    /// Counts a step. Returns true if the step is to be measured.
    pub(super) fn begin_step(&self, options: &SessionOptions) -> bool {
        if options.build_cost_model == 0 {
            return false;
        }
        let step = self.num_steps.fetch_add(1, Ordering::Relaxed);
        step.checked_sub(options.build_cost_model_after).is_some_and(|step| (step + 1).is_multiple_of(options.build_cost_model))
    }
}

/// Returns an execution of a node as the cost model takes it.
fn sample(node: &NodeStats) -> Sample<'_> {
    let output = |output: &flowmill_runtime::executor::OutputStats| {
        let dims: Vec<i64> = output.shape.dims().iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
        OutputSample { dtype: output.dtype, shape: PartialShape::new(&dims), bytes: output.bytes }
    };
    Sample {
        name: &node.name,
        nanoseconds: node.end.saturating_sub(node.start),
        outputs: node.outputs.iter().map(|o| o.as_ref().map(output)).collect(),
        temporary: 0,
    }
}

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

    /// Merges the statistics of a step with those of earlier steps of its signature. Returns the costs so far.
    pub(super) fn cost_graph(&self, executable: &Executable, stats: &StatsCollector) -> Result<CostGraphDef> {
        let graphs = self.part_graphs(executable)?;
        let mut measured = executable.costs.measured.lock();
        stats.with(|nodes| measured.add_step(nodes.iter().map(sample)));
        let mut costs = CostGraphDef::default();
        for (device, graph) in graphs {
            add_to_cost_graph(&mut costs, graph, &self.device_name(*device), &measured);
        }
        Ok(costs)
    }
}

impl Callable {
    /// Returns the measured costs of the nodes that the step runs, by the names that they have after all passes. Without
    /// [`SessionOptions::build_cost_model`], nothing is measured.
    pub fn measured_costs(&self) -> MeasuredCosts {
        self.executable.costs.measured.lock().clone()
    }
}
