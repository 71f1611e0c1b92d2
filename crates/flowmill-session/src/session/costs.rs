//! The parts of a session that measure and provide the costs of nodes.

use super::executable::{Executable, Snapshot};
use super::{Callable, CallableOptions, CostPlacement, PlacementPolicy, Session, SessionOptions, Signature};
use crate::compile::{CostFacts, SimulatedStep, Unit, lower};
use flowmill_cost::{MeasuredCosts, OutputSample, Report, Sample, add_to_cost_graph};
use flowmill_graph::Graph;
use flowmill_proto::CostGraphDef;
use flowmill_runtime::executor::{NodeStats, StatsCollector};
use flowmill_tensor::Result;
use flowmill_tensor::sync::Mutex;
use std::sync::Arc;
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

    /// Returns the costs so far; `None` if no step was measured.
    pub(super) fn measured(&self) -> Option<MeasuredCosts> {
        let measured = self.measured.lock();
        (measured.num_steps() > 0).then(|| measured.clone())
    }
}

/// Returns an execution of a node as the cost model takes it.
fn sample(node: &NodeStats) -> Sample<'_> {
    let output = |output: &flowmill_runtime::executor::OutputStats| OutputSample {
        dtype: output.dtype,
        shape: (&output.shape).into(),
        bytes: output.bytes,
    };
    Sample {
        name: &node.name,
        device: &node.device,
        nanoseconds: node.end.saturating_sub(node.start),
        outputs: node.outputs.iter().map(|o| o.as_ref().map(output)).collect(),
        temporary: 0,
    }
}

impl Session {
    /// Returns the graph of a step with these feeds, fetches and targets before it is optimised: the part of the session's graph that the step needs, with
    /// its function calls inlined. Feeds are `_Arg` nodes, fetches are `_Retval` nodes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` or `NotFound` for feeds, fetches and targets that the graph does not have or that contradict each other.
    pub fn graph_before_placement(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Graph> {
        let signature = Signature::new(&CallableOptions { feeds, fetches, targets, ..CallableOptions::default() });
        let graph = self.graph.read();
        let Snapshot { step, functions, .. } = Snapshot::new(&graph, &signature, self.functions_of(&graph), None)?;
        drop(graph);
        let mut unit = Unit::of_step(step, &signature, functions.runtime())?;
        lower(&mut unit, &self.env.options);
        Ok(unit.graph)
    }

    /// Prepares a step with these feeds, fetches and targets, and simulates it on the devices on which its nodes are placed. The costs of nodes are
    /// estimates or, if `with_measured_costs` is true and steps were measured ([`SessionOptions::build_cost_model`]), measured ones.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` for a session with one device or without [`PlacementPolicy::CostModel`], and the errors of
    /// [`Session::make_callable`].
    pub fn simulate_step(&self, feeds: &[&str], fetches: &[&str], targets: &[&str], with_measured_costs: bool) -> Result<SimulatedStep> {
        self.check_open()?;
        let executable = self.executable(feeds, fetches, targets)?;
        let executable = executable.latest();
        let measured = executable.costs.measured().filter(|_| with_measured_costs);
        self.simulate(executable, CostFacts { measured, devices: executable.placed_by_cost.clone() })
    }

    /// Compares the predicted times of a step's nodes with the mean of the measured ones ([`SessionOptions::build_cost_model`]).
    ///
    /// # Errors
    /// Returns the errors of [`Session::simulate_step`].
    pub fn placement_report(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Report> {
        let SimulatedStep { machine, tasks, schedule } = self.simulate_step(feeds, fetches, targets, false)?;
        let costs = self.executable(feeds, fetches, targets)?.latest().costs.measured().unwrap_or_default();
        Ok(Report::of_costs(&tasks, &machine, &schedule, &costs))
    }

    fn simulate(&self, executable: &Executable, by_cost: CostFacts) -> Result<SimulatedStep> {
        self.snapshot(&executable.signature)?.with_facts(by_cost).simulate(&executable.signature, &self.env)
    }

    /// Merges the statistics of a step with those of earlier steps of its signature. Returns the costs so far.
    pub(super) fn cost_graph(&self, executable: &Arc<Executable>, stats: &StatsCollector) -> Result<CostGraphDef> {
        let graphs = self.part_graphs(executable)?;
        let mut measured = executable.costs.measured.lock();
        stats.with(|nodes| measured.add_step(nodes.iter().filter(|node| !node.is_in_function).map(sample)));
        let mut costs = CostGraphDef::default();
        for (device, graph) in graphs {
            add_to_cost_graph(&mut costs, graph, &self.device_name(*device), &measured);
        }
        let num_steps = measured.num_steps();
        drop(measured);
        // A placement that fails leaves the step's plan as it is.
        if let PlacementPolicy::CostModel(options) = &self.env.options.placement
            && is_power_of_two_times(num_steps, options.measured_steps)
            && !self.finalized.load(Ordering::Acquire)
        {
            drop(self.place_again(executable, options));
        }
        Ok(costs)
    }

    /// Places the nodes of an executable again, by their measured costs, and replaces its plan if that makes the simulated step shorter by the share that
    /// the options say.
    fn place_again(&self, executable: &Arc<Executable>, options: &CostPlacement) -> Result<()> {
        let (Some(devices), measured) = (executable.placed_by_cost.clone(), executable.costs.measured()) else { return Ok(()) };
        let now = self.simulate(executable, CostFacts { measured: measured.clone(), devices: Some(devices) })?;
        let next = self.simulate(executable, CostFacts { measured, devices: None })?;
        if next.schedule.makespan as f64 > now.schedule.makespan as f64 * (1.0 - options.min_gain) {
            return Ok(());
        }
        let by_cost = CostFacts { measured: None, devices: Some(Arc::new(next.placed_nodes())) };
        let snapshot = self.snapshot(&executable.signature)?.with_facts(by_cost);
        let made = Arc::new(Executable::new(snapshot, &executable.signature, &self.env, executable.costs.clone())?);
        if executable.replace_by(made.clone()) {
            self.plans.replace(&executable.signature, executable, made);
        }
        Ok(())
    }
}

/// Returns true for `unit`, twice `unit`, four times `unit` and so on.
fn is_power_of_two_times(n: u64, unit: u64) -> bool {
    unit > 0 && n.is_multiple_of(unit) && (n / unit).is_power_of_two()
}

impl Callable {
    /// Returns the measured costs of the nodes that the step runs, by the names that they have after all passes. Without
    /// [`SessionOptions::build_cost_model`], nothing is measured.
    pub fn measured_costs(&self) -> MeasuredCosts {
        self.executable.latest().costs.measured.lock().clone()
    }
}
