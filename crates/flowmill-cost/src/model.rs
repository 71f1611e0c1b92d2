//! The cost model of a graph: estimates, with measurements in their place where there are any.

use crate::constraints::Constraints;
use crate::estimate::{Estimator, NodeEstimate, loops};
use crate::machine::Machine;
use crate::measured::MeasuredCosts;
use crate::tasks::{Dependency, Task, TaskGraph};
use flowmill_graph::{
    Attrs, ControlFlow, FunctionLibrary, Graph, Node, NodeId, OpRegistry, Role, ShapeAnalysis, instantiate_function, traverse,
};
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
    /// The iterations of each loop.
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
        Ok(CostModel { measured: MeasuredCosts::new(), ..functions.graph(graph)? })
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

    /// Returns the nanoseconds of a node per step on each device of a machine. A measured time is that on device 0, and is scaled for the others by
    /// the estimates.
    pub fn times(&self, node: &Node, machine: &Machine) -> Vec<u64> {
        let i = node.id().index();
        let Some(estimate) = self.estimates.get(i).filter(|estimate| !estimate.is_free) else { return vec![0; machine.num_devices()] };
        let bytes = estimate.bytes_read as f64 + estimate.bytes_written as f64;
        let once: Vec<f64> = machine.devices().iter().map(|device| device.time(estimate.operations, bytes) as f64).collect();
        let measured = self.measured.get(node.name()).and_then(|node| node.time_per_step());
        let scale = match (measured, once.first()) {
            (Some(measured), Some(&first)) if first > 0.0 => measured / first,
            (Some(measured), _) => return vec![measured as u64; machine.num_devices()],
            (None, _) => self.executions.get(i).copied().unwrap_or(1.0),
        };
        once.into_iter().map(|time| (time * scale).ceil() as u64).collect()
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

/// The costs of one run of a function's body.
#[derive(Clone, Copy, Default)]
struct BodyCost {
    operations: f64,
    bytes: f64,
}

/// Estimates graphs and the functions that they call, each function once.
struct Functions<'a> {
    assumptions: &'a Assumptions,
    known: FxHashMap<String, BodyCost>,
    depth: usize,
}

impl Functions<'_> {
    fn graph(&mut self, graph: &Graph) -> Result<CostModel> {
        let shapes = ShapeAnalysis::new(graph);
        let estimator = Estimator { graph, shapes: &shapes, unknown_size: self.assumptions.unknown_size };
        let mut estimates = vec![NodeEstimate::default(); graph.num_node_ids()];
        let mut executions = vec![1.0; graph.num_node_ids()];
        for (node, _, depth) in loops(graph, &ControlFlow::new(graph)?) {
            executions[node.index()] = (self.assumptions.iterations as f64).powi(i32::try_from(depth).unwrap_or(i32::MAX));
        }
        for node in graph.op_nodes() {
            let mut estimate = estimator.node(node);
            let called = self.called(node, graph.library(), graph.registry());
            if called.operations > 0.0 || called.bytes > 0.0 {
                (estimate.operations, estimate.bytes_read, estimate.bytes_written) = (called.operations, called.bytes as u64, 0);
            }
            estimates[node.id().index()] = estimate;
        }
        Ok(CostModel { estimates, executions, measured: MeasuredCosts::new() })
    }

    /// Returns the cost of the functions that a node calls: one of several branches, the condition and the body of a loop in each iteration.
    fn called(&mut self, node: &Node, library: &Arc<FunctionLibrary>, registry: &Arc<OpRegistry>) -> BodyCost {
        let attrs = node.attrs();
        let names: Vec<&NameAttrList> = match node.role() {
            Role::Call => attrs.get("f").into_iter().collect(),
            Role::If => [attrs.get("then_branch"), attrs.get("else_branch")].into_iter().flatten().collect(),
            Role::Case => attrs.list("branches").unwrap_or_default(),
            Role::While => [attrs.get("cond"), attrs.get("body")].into_iter().flatten().collect(),
            _ => return BodyCost::default(),
        };
        let bodies: Vec<BodyCost> = names.into_iter().map(|name| self.body(name, library, registry)).collect();
        let sum = bodies.iter().fold(BodyCost::default(), |sum, body| sum.plus(body, 1.0));
        match node.role() {
            Role::While => BodyCost::default().plus(&sum, self.assumptions.iterations as f64),
            Role::If | Role::Case => {
                bodies.into_iter().max_by(|a, b| (a.operations + a.bytes).total_cmp(&(b.operations + b.bytes))).unwrap_or(sum)
            }
            _ => sum,
        }
    }

    fn body(&mut self, name: &NameAttrList, library: &Arc<FunctionLibrary>, registry: &Arc<OpRegistry>) -> BodyCost {
        if let Some(known) = self.known.get(&name.name) {
            return *known;
        }
        let Some(function) = library.get(&name.name).filter(|_| self.depth < MAX_CALL_DEPTH) else { return BodyCost::default() };
        // A function that calls itself counts once.
        self.known.insert(name.name.clone(), BodyCost::default());
        self.depth += 1;
        let attrs = Attrs(name.attr.clone());
        let cost = instantiate_function(function, &attrs, library, registry).and_then(|body| {
            let model = self.graph(&body.graph)?;
            let costs = body.graph.op_nodes().map(|node| (&model.estimates[node.id().index()], model.executions[node.id().index()]));
            Ok(costs.fold(BodyCost::default(), |sum, (estimate, executions)| {
                let bytes = estimate.bytes_read as f64 + estimate.bytes_written as f64;
                sum.plus(&BodyCost { operations: estimate.operations, bytes }, executions)
            }))
        });
        self.depth -= 1;
        // A function that cannot be instantiated fails when it is called.
        let cost = cost.unwrap_or_default();
        self.known.insert(name.name.clone(), cost);
        cost
    }
}

impl BodyCost {
    fn plus(self, other: &BodyCost, times: f64) -> BodyCost {
        BodyCost { operations: self.operations + other.operations * times, bytes: self.bytes + other.bytes * times }
    }
}
