//! The nodes of a profile: those of the graph, and those that only a step had, because a pass or the partitioning made them.

use crate::profile::options::{ProfileOptions, View};
use crate::profile::stats::Stats;
use crate::profile::{Profile, show, tree};
use crate::timeline::{Event, EventKind, OpTime, Timeline};
use flowmill_cost::{Assumptions, CostModel};
use flowmill_graph::{Effects, Graph, Node, Role, ShapeAnalysis, Work};
use flowmill_proto::StepStats;
use flowmill_tensor::{PartialShape, Result};
use std::collections::{BTreeMap, BTreeSet};

/// One call of the stack that made a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeFrame {
    /// The file.
    pub file: String,
    /// The line of the call.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The text of the line.
    pub text: String,
}

/// A node with its firings.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileNode {
    pub(crate) op: String,
    /// Names by which options select the node: its op, its devices, and those that the caller gave.
    pub(crate) types: BTreeSet<String>,
    pub(crate) devices: BTreeSet<String>,
    pub(crate) inputs: Vec<String>,
    pub(crate) output_shapes: Vec<PartialShape>,
    pub(crate) input_shapes: Vec<PartialShape>,
    pub(crate) parameters: u64,
    /// The operations of one firing.
    pub(crate) float_ops: u64,
    /// The stack that made the node, from the outermost call to the innermost.
    pub(crate) trace: Vec<CodeFrame>,
    /// The statistics of each step.
    pub(crate) firings: BTreeMap<i64, Stats>,
}

/// Collects statistics of steps, and shows them by a view.
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    pub(crate) nodes: BTreeMap<String, ProfileNode>,
    steps: BTreeSet<i64>,
}

impl Profiler {
    /// Makes a profiler of a graph without steps. The operations of nodes are the cost model's, from static shapes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a cycle that is no loop, and for frames that do not fit together.
    pub fn new(graph: &Graph) -> Result<Profiler> {
        let (shapes, costs) = (ShapeAnalysis::new(graph), CostModel::new(graph, &Assumptions::default())?);
        let mut profiler = Profiler::default();
        for node in graph.op_nodes() {
            let shape = |tensor| shapes.shape(tensor).without_symbols();
            let made = ProfileNode {
                op: node.op().to_owned(),
                types: [node.op(), node.device()].into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect(),
                inputs: graph.inputs(node.id()).filter_map(|input| graph.get(input.node)).map(|input| input.name().to_owned()).collect(),
                output_shapes: (0..node.num_outputs()).map(|slot| shape(node.id().output(slot as u32))).collect(),
                input_shapes: graph.inputs(node.id()).map(shape).collect(),
                parameters: parameters(node),
                float_ops: if counts_operations(node) {
                    costs.estimate(node.id()).map_or(0, |estimate| estimate.operations as u64)
                } else {
                    0
                },
                ..ProfileNode::default()
            };
            profiler.nodes.insert(node.name().to_owned(), made);
        }
        Ok(profiler)
    }

    /// Adds the statistics of a step. Those of several steps with one number are added up.
    pub fn add_step(&mut self, step: i64, stats: &StepStats) {
        self.add_timeline(step, &Timeline::new(stats, OpTime::Schedule));
    }

    /// Like [`Profiler::add_step`], for statistics that were read with [`OpTime::Schedule`].
    pub fn add_timeline(&mut self, step: i64, timeline: &Timeline) {
        self.steps.insert(step);
        for event in &timeline.events {
            let device = &timeline.devices[event.device].name;
            // TensorFlow reports the copies and kernels of a node under its name with a suffix.
            self.node(event).add(step, event, device);
        }
    }

    fn node(&mut self, event: &Event) -> &mut ProfileNode {
        self.nodes.entry(event.name.to_string()).or_insert_with(|| ProfileNode {
            op: event.op.to_string(),
            types: [event.op.to_string()].into(),
            inputs: event
                .inputs
                .iter()
                .map(|input| input.name.rsplit_once(':').map_or(&*input.name, |(node, _)| node).to_owned())
                .collect(),
            ..ProfileNode::default()
        })
    }

    /// Adds a name by which options select a node. Nodes that are not there are ignored.
    pub fn add_type(&mut self, node: &str, name: &str) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.types.insert(name.to_owned());
        }
    }

    /// Sets the operations of one firing of a node.
    pub fn set_float_ops(&mut self, node: &str, float_ops: u64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.float_ops = float_ops;
        }
    }

    /// Sets the stack that made a node, from the outermost call to the innermost.
    pub fn set_trace(&mut self, node: &str, trace: Vec<CodeFrame>) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.trace = trace;
        }
    }

    /// Shows the profile. The options' `step` selects one step; for -1, the mean of all steps is shown.
    pub fn show(&self, view: View, options: &ProfileOptions) -> Profile {
        let tree = show::show(tree::build(self, view, options.message.step), view, options);
        Profile { tree, view, options: options.clone() }
    }

    /// Returns the statistics of a node in one step, or the mean of all steps for -1.
    pub(crate) fn stats(&self, node: &ProfileNode, step: i64) -> Stats {
        let mut sum = Stats::default();
        node.firings.iter().filter(|(number, _)| step < 0 || **number == step).for_each(|(_, stats)| sum.add(*stats));
        if step < 0 {
            sum = sum.mean(self.steps.len() as u64);
        }
        Stats { definitions: 1, parameters: node.parameters, float_ops: node.float_ops, ..sum }
    }
}

impl ProfileNode {
    fn add(&mut self, step: i64, event: &Event, device: &str) {
        self.devices.insert(device.to_owned());
        self.types.insert(device.to_owned());
        if self.output_shapes.iter().any(|shape| !shape.is_fully_defined()) || self.output_shapes.is_empty() {
            self.output_shapes = event.outputs.iter().map(|output| output.shape.clone()).collect();
        }
        let output_bytes = event.outputs.iter().fold(0u64, |sum, output| sum.saturating_add(output.bytes));
        let is_kernel = event.kind == EventKind::Kernel;
        let nanos = event.duration();
        self.firings.entry(step).or_default().add(Stats {
            runs: u64::from(!is_kernel),
            nanos,
            accelerator_nanos: if is_kernel { nanos } else { 0 },
            cpu_nanos: if is_kernel { 0 } else { nanos },
            requested_bytes: event.bytes,
            peak_bytes: event.bytes,
            residual_bytes: output_bytes,
            output_bytes,
            ..Stats::default()
        });
    }
}

/// Returns the elements of the variable that a node holds; 0 if it holds none, or if the shape is not known.
fn parameters(node: &Node) -> u64 {
    let is_object = node.num_inputs() == 0 && node.traits().effects == Effects::State && node.role() == Role::Kernel;
    let shape = node.attrs().get::<PartialShape>("shape").ok().filter(|_| is_object && node.attrs().contains("dtype"));
    let dims = shape.as_ref().filter(|shape| shape.is_fully_defined()).and_then(PartialShape::dims);
    dims.map_or(0, |dims| dims.iter().fold(1u64, |product, &d| product.saturating_mul(d.max(0) as u64)))
}

/// Returns true if the number of a node's operations follows from its declaration.
fn counts_operations(node: &Node) -> bool {
    let traits = node.traits();
    traits.elementwise.is_some() || traits.reduces || !matches!(traits.work, Work::Unknown | Work::Nothing)
}
