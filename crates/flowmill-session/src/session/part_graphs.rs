//! The graphs of the parts of a step, as [`RunOptions::output_partition_graphs`](super::RunOptions::output_partition_graphs) returns them.

use super::executable::Executable;
use super::{CallableOptions, Session, Signature};
use crate::compile::{self, CostFacts, Dump, Rewritten, Unit};
use flowmill_graph::{Graph, retain_colocations};
use flowmill_optimize::Report;
use flowmill_proto::GraphDef;
use flowmill_tensor::Result;

/// The graphs of a step before and after compilation.
pub struct StepGraphs {
    /// The part of the session's graph that the step needs, with `_Arg` and `_Retval` nodes for feeds and fetches.
    pub before: Graph,
    /// The graph of each device that the step runs on, after all passes, with the full name of the device. The host's is the first.
    pub parts: Vec<(String, Graph)>,
    /// The record of the passes, with the names of the nodes that each of them changed.
    pub report: Report,
}

impl Session {
    /// Returns the graphs of a step with these feeds, fetches and targets. Bodies of functions that are called at run time are not optimised in them.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for malformed names, `NotFound` for names that are not in the graph, and `InvalidArgument` for devices that do not exist.
    pub fn step_graphs(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<StepGraphs> {
        self.check_open()?;
        let signature = Signature::new(&CallableOptions { feeds, fetches, targets, ..CallableOptions::default() });
        let snapshot = self.snapshot(&signature)?;
        let unit = Unit { records_nodes: true, ..Unit::of_step(snapshot.step, &signature, snapshot.functions.runtime())? };
        let (before, dump) = (unit.graph.clone(), Dump::of(&unit));
        let Rewritten { parts, report, .. } = compile::rewrite(unit, &self.env, &dump)?;
        let parts = parts.into_iter().map(|part| (self.device_name(part.device), part.unit.graph)).collect();
        Ok(StepGraphs { before, parts, report })
    }

    /// Returns the graph that an executable runs on each of its devices, with the number of the device.
    pub(super) fn part_graphs<'a>(&self, executable: &'a Executable) -> Result<&'a [(usize, Graph)]> {
        executable.part_graphs(|| {
            let by_cost = CostFacts { devices: executable.placed_by_cost.clone(), ..CostFacts::default() };
            let snapshot = self.snapshot(&executable.signature)?.with_facts(by_cost);
            snapshot.part_graphs(&executable.signature, &self.env)
        })
    }

    /// Returns the full name of a device.
    pub(super) fn device_name(&self, device: usize) -> String {
        self.env.devices.get(device).map(|device| device.device.attributes().name.to_string()).unwrap_or_default()
    }

    /// Returns the graph that an executable runs on each of its devices. Each is complete by itself: colocations with nodes that it does not have are
    /// left out.
    pub(super) fn partition_graphs(&self, executable: &Executable) -> Result<Vec<GraphDef>> {
        let with_device = |(device, graph): &(usize, Graph)| {
            let mut def = graph.to_graph_def();
            let name = self.device_name(*device);
            for node in &mut def.node {
                node.device.clone_from(&name);
                retain_colocations(node, |other| graph.find_node(other).is_some());
            }
            def
        };
        Ok(self.part_graphs(executable)?.iter().map(with_device).collect())
    }
}
