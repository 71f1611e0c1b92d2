//! The cost model of a graph: estimates, with measurements in their place where there are any.

use crate::constraints::Constraints;
use crate::estimate::{Estimator, NodeEstimate, StepShapes};
use crate::machine::{DeviceModel, KernelWork, Machine};
use crate::measured::MeasuredCosts;
use crate::tasks::{Dependency, Task, TaskGraph};
use crate::trip_counts;
use flowmill_graph::{Attrs, ControlFlow, FrameId, FunctionBody, Graph, Node, NodeId, Role, ShapeAnalysis, instantiate_function, traverse};
use flowmill_proto::NameAttrList;
use flowmill_tensor::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The depth of calls in which the bodies of functions are estimated.
const MAX_CALL_DEPTH: usize = 16;

/// The values that estimates assume for what a graph leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// The value of each size that static shapes leave open.
    pub unknown_size: u64,
    /// The iterations of each loop whose trip count does not follow from the graph.
    pub iterations: u64,
}

impl Default for Assumptions {
    fn default() -> Assumptions {
        Assumptions { unknown_size: 1, iterations: 10 }
    }
}

/// The costs of the nodes of one graph.
#[derive(Clone, Debug)]
pub struct CostModel {
    /// The estimates, by node id.
    estimates: Vec<NodeEstimate>,
    /// The expected executions per step, by node id.
    executions: Vec<f64>,
    measured: MeasuredCosts,
}

/// The tasks of a graph's nodes.
#[derive(Clone, Debug)]
pub struct GraphTasks {
    /// The tasks.
    pub tasks: TaskGraph,
    /// The node of each task.
    pub nodes: Vec<NodeId>,
}

impl CostModel {
    /// Estimates all nodes of a graph.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a cycle that is no loop, and for frames that do not fit together.
    pub fn new(graph: &Graph, assumptions: &Assumptions) -> Result<CostModel> {
        let mut functions = Functions { assumptions, known: FxHashMap::default(), depth: 0 };
        functions.graph(graph, None)
    }

    /// Estimates all nodes of a graph for the shapes that a step had. Those of nodes in functions are estimated from static shapes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a cycle that is no loop, and for frames that do not fit together.
    pub fn of_step(graph: &Graph, assumptions: &Assumptions, shapes: &StepShapes<'_>) -> Result<CostModel> {
        let mut functions = Functions { assumptions, known: FxHashMap::default(), depth: 0 };
        functions.graph(graph, Some(shapes))
    }

    /// Replaces estimates by these measurements, for the nodes that have any.
    #[must_use]
    pub fn with_measurements(self, measured: MeasuredCosts) -> CostModel {
        CostModel { measured, ..self }
    }

    /// Returns the estimate of a node, with the functions that it calls.
    pub fn estimate(&self, node: NodeId) -> Option<&NodeEstimate> {
        self.estimates.get(node.index())
    }

    /// Returns the nanoseconds of a node per step on each device of a machine. A measured time is that on the device of the measurement, and is scaled for
    /// the others by the estimates. A node that no measured step has run takes no time: it is in a branch that was not taken, or part of a node that was
    /// measured.
    pub fn times(&self, node: &Node, machine: &Machine) -> Vec<u64> {
        let i = node.id().index();
        let Some(estimate) = self.estimates.get(i).filter(|estimate| !estimate.is_free) else { return vec![0; machine.num_devices()] };
        let once: Vec<f64> = machine.devices().iter().map(|device| device.time_of(&estimate.work) as f64).collect();
        let scale = match (self.measured_time(node), once.get(self.measured_device(node, machine))) {
            (Some(measured), Some(&there)) if there > 0.0 => measured / there,
            (Some(measured), _) => return vec![measured as u64; machine.num_devices()],
            (None, _) => self.executions.get(i).copied().unwrap_or(1.0),
        };
        once.into_iter().map(|time| (time * scale).ceil() as u64).collect()
    }

    /// Returns the measured nanoseconds of a node per step; `None` if no step was measured.
    fn measured_time(&self, node: &Node) -> Option<f64> {
        let is_measured = self.measured.num_steps() > 0;
        let time = self.measured.get(node.name()).and_then(|measured| measured.time_per_step());
        time.or_else(|| is_measured.then_some(0.0))
    }

    /// Returns the number of the device on which a node was measured; 0 if the machine does not have it.
    fn measured_device(&self, node: &Node, machine: &Machine) -> usize {
        let device = self.measured.get(node.name()).and_then(|measured| measured.device.as_deref());
        // Full names end in the type and the number.
        let is_named =
            |model: &DeviceModel| device.is_some_and(|name| name.strip_suffix(&model.name).is_some_and(|rest| rest.ends_with(':')));
        machine.devices().iter().position(is_named).unwrap_or(0)
    }

    /// Returns the bytes of the outputs of a node: the measured mean, or the estimate.
    fn outputs(&self, node: &Node) -> Vec<u64> {
        let measured = self.measured.get(node.name());
        let estimated = self.estimates.get(node.id().index()).map_or(&[][..], |estimate| &estimate.outputs);
        let bytes =
            |(i, &estimate): (usize, &u64)| measured.and_then(|m| m.outputs.get(i)?.bytes.get()).map_or(estimate, |mean| mean as u64);
        estimated.iter().enumerate().map(bytes).collect()
    }

    /// Returns the tasks of a graph's nodes for a machine. Back edges of loops are left out: a loop runs once, for as long as all its iterations.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a group that no device can run.
    pub fn tasks(&self, graph: &Graph, machine: &Machine, constraints: &Constraints) -> Result<GraphTasks> {
        let nodes: Vec<NodeId> = graph.op_nodes().map(Node::id).collect();
        let mut task_of = vec![usize::MAX; graph.num_node_ids()];
        nodes.iter().enumerate().for_each(|(task, node)| task_of[node.index()] = task);
        let task = |node: &Node| {
            let i = node.id().index();
            Task {
                name: Arc::clone(node.shared_name()),
                op: node.op().into(),
                times: self.times(node, machine),
                outputs: self.outputs(node),
                temporary: self.measured.get(node.name()).map_or(0, |measured| measured.max_temporary),
                resident: self.estimates.get(i).map_or(0, |estimate| estimate.resident),
                devices: constraints.devices[i],
                group: constraints.groups[i],
            }
        };
        let tasks = graph.op_nodes().map(task).collect();
        let is_dependency = |e: &flowmill_graph::Edge| e.src > NodeId::SINK && e.dst > NodeId::SINK && !traverse::is_back_edge(graph, e);
        let dependency = |e: flowmill_graph::Edge| Dependency {
            from: task_of[e.src.index()],
            output: e.source().map(|tensor| tensor.slot as usize),
            to: task_of[e.dst.index()],
        };
        let dependencies: Vec<Dependency> = graph.edges().filter(is_dependency).map(dependency).collect();
        Ok(GraphTasks { tasks: TaskGraph::new(tasks, &dependencies, machine.num_devices())?, nodes })
    }
}

/// The work of one run of a function's body: at most one part for each class of kernel.
type BodyWork = Vec<KernelWork>;

/// Adds work that is done several times.
fn add(sum: &mut BodyWork, work: &[KernelWork], times: f64) {
    for part in work {
        let i = sum.iter().position(|other| other.class == part.class).unwrap_or_else(|| {
            sum.push(KernelWork { class: part.class, ..KernelWork::default() });
            sum.len() - 1
        });
        let entry = &mut sum[i];
        entry.calls += part.calls * times;
        entry.operations += part.operations * times;
        entry.bytes += part.bytes * times;
    }
}

/// Returns work that is comparable between bodies: the operations and the bytes.
fn weight(work: &BodyWork) -> f64 {
    work.iter().map(|part| part.operations + part.bytes).sum()
}

/// Estimates graphs and the functions that they call, each function once.
struct Functions<'a> {
    assumptions: &'a Assumptions,
    known: FxHashMap<String, BodyWork>,
    depth: usize,
}

impl Functions<'_> {
    fn graph(&mut self, graph: &Graph, observed: Option<&StepShapes<'_>>) -> Result<CostModel> {
        let shapes = ShapeAnalysis::new(graph);
        let estimator = Estimator { graph, shapes: &shapes, observed, unknown_size: self.assumptions.unknown_size };
        let mut estimates = vec![NodeEstimate::default(); graph.num_node_ids()];
        let flow = ControlFlow::new(graph)?;
        let counts = if flow.has_loops() { trip_counts::of_frames(graph, &flow, &shapes) } else { Vec::new() };
        let known = |frame: FrameId| counts.get(frame.0 as usize).copied().flatten();
        let of_frames = trip_counts::executions(&flow, |frame| known(frame).unwrap_or(self.assumptions.iterations) as f64);
        let mut executions = vec![1.0; graph.num_node_ids()];
        for node in graph.op_nodes() {
            let i = node.id().index();
            executions[i] = of_frames.get(flow.frame_of(node.id()).0 as usize).copied().unwrap_or(1.0);
            let mut estimate = estimator.node(node);
            let called = self.called(graph, &shapes, node);
            if !called.is_empty() {
                let sum = |of: fn(&KernelWork) -> f64| called.iter().map(of).sum::<f64>();
                (estimate.operations, estimate.bytes_read, estimate.bytes_written) = (sum(|w| w.operations), sum(|w| w.bytes) as u64, 0);
                estimate.work = called;
            }
            estimates[i] = estimate;
        }
        Ok(CostModel { estimates, executions, measured: MeasuredCosts::new() })
    }

    /// Returns the work of the functions that a node calls: one of several branches, the condition and the body of a loop in each iteration.
    fn called(&mut self, graph: &Graph, shapes: &ShapeAnalysis, node: &Node) -> BodyWork {
        let attrs = node.attrs();
        let names: Vec<&NameAttrList> = match node.role() {
            Role::Call => attrs.get("f").into_iter().collect(),
            Role::If => [attrs.get("then_branch"), attrs.get("else_branch")].into_iter().flatten().collect(),
            Role::Case => attrs.list("branches").unwrap_or_default(),
            Role::While => [attrs.get("cond"), attrs.get("body")].into_iter().flatten().collect(),
            Role::For => attrs.get("body").into_iter().collect(),
            _ => return BodyWork::new(),
        };
        let bodies: Vec<BodyWork> = names.iter().map(|name| self.body(name, graph)).collect();
        if matches!(node.role(), Role::If | Role::Case) {
            return bodies.into_iter().max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or_default();
        }
        let times = match (node.role(), &names[..]) {
            (Role::While, [condition, body]) => {
                let functions = instantiated(condition, graph).zip(instantiated(body, graph));
                let known = functions.and_then(|(condition, body)| trip_counts::of_while(graph, shapes, node, &condition, &body));
                known.unwrap_or(self.assumptions.iterations) as f64
            }
            (Role::For, _) => self.assumptions.iterations as f64,
            _ => 1.0,
        };
        let mut sum = BodyWork::new();
        for body in &bodies {
            add(&mut sum, body, times);
        }
        sum
    }

    fn body(&mut self, name: &NameAttrList, graph: &Graph) -> BodyWork {
        if let Some(known) = self.known.get(&name.name) {
            return known.clone();
        }
        if self.depth >= MAX_CALL_DEPTH {
            return BodyWork::new();
        }
        // A function that calls itself counts once.
        self.known.insert(name.name.clone(), BodyWork::new());
        self.depth += 1;
        let mut work = BodyWork::new();
        // A function that cannot be instantiated fails when it is called.
        if let Some((body, model)) =
            instantiated(name, graph).and_then(|body| self.graph(&body.graph, None).ok().map(|model| (body, model)))
        {
            for node in body.graph.op_nodes() {
                let i = node.id().index();
                add(&mut work, &model.estimates[i].work, model.executions[i]);
            }
        }
        self.depth -= 1;
        self.known.insert(name.name.clone(), work.clone());
        work
    }
}

/// Returns the body of a function of a graph's library; `None` for one that does not exist or cannot be instantiated.
fn instantiated(name: &NameAttrList, graph: &Graph) -> Option<FunctionBody> {
    let function = graph.library().get(&name.name)?;
    instantiate_function(function, &Attrs::from(name.attr.clone()), graph.library(), graph.registry()).ok()
}
