//! Compilation: from a graph to code that runs it.
//!
//! Steps of sessions and bodies of functions are compiled in the same stages. Each stage is a function. `FLOWMILL_DUMP` writes the graph or plan
//! after each stage that changes it:
//!
//! | stage | result |
//! |---|---|
//! | prune ([`Unit::of_step`], [`Unit::of_body`]) | the needed part of a graph, with `_Arg` and `_Retval` nodes at its boundary |
//! | [`lower`] | a graph whose calls, branches and loops of functions are nodes and control flow of the graph itself |
//! | [`place`](fn@place) | a device for each node, by rules |
//! | [`place_by_cost`](place_by_cost::place_by_cost) | a device for each node, by cost; only with that policy |
//! | [`optimize`] | a cheaper graph that computes the same |
//! | [`partition`](partition::partition) | a graph for each device |
//! | [`plan`] | the frames, kernels and constants of a part |
//! | [`fuse`] | programs in place of strands and loops |
//!
//! A graph on several devices is partitioned before it is optimised, so that no pass combines nodes of different devices. Only constants are folded before,
//! onto the devices of their consumers. A graph that is placed by cost is optimised before that if the rules have put all nodes on one device: costs are
//! then those of the nodes that run.

mod boundary;
mod device_strands;
mod dump;
mod partition;
mod place;
mod place_by_cost;
mod placement_log;
mod reference_reads;
mod unit;

pub(crate) use place::{GraphPlacement, Placed, Placement};
pub use place_by_cost::SimulatedStep;
pub(crate) use placement_log::PlacementLog;
pub(crate) use unit::{CallSite, CostFacts, PlacedNodes, StepGraph, Unit};

use crate::devices::{Devices, SessionDevice};
use crate::session::{CostPlacement, PlacementPolicy, SessionOptions};
pub(crate) use dump::Dump;
use flowmill_graph::{ElementwiseFunction, Evaluator, Graph, Node, NodeId, Target};
use flowmill_optimize::{Options, Report};
use flowmill_runtime::executor::{Plan, Results, RunOptions};
use flowmill_runtime::plan::{DirectPlan, NodeKind, PlanEdge, PlanEnv, PlanGraph, PlanNode, PlanNodeId, build};
use flowmill_runtime::program::{self, FuseOptions};
use flowmill_runtime::tuning::Tuner;
use flowmill_runtime::{Cost, DeviceStep, FunctionLibraryRuntime, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail, error};
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock, OnceLock};

/// The environment that all code compiled for a session shares.
pub(crate) struct Environment {
    pub(crate) devices: Devices,
    pub(crate) options: SessionOptions,
    pub(crate) placement_log: PlacementLog,
}

/// The part of a unit that runs on one device.
pub(crate) struct Part<'a> {
    pub(crate) unit: Unit<'a>,
    /// The number of the session's device.
    pub(crate) device: usize,
}

/// A device of a session as the passes see it. Values are computed by the host's kernels.
struct DeviceTarget<'a> {
    env: &'a Environment,
    functions: &'a Arc<FunctionLibraryRuntime>,
    kernels: &'a KernelRegistry,
}

impl Target for DeviceTarget<'_> {
    fn supports(&self, op: &str, dtype: DType) -> bool {
        self.kernels.supports_type(op, dtype)
    }

    fn fuses(&self, fused: &str, function: ElementwiseFunction, dtype: DType) -> bool {
        self.kernels.fuses(fused, function, dtype)
    }

    fn wants_channels_last(&self, op: &str) -> bool {
        self.kernels.wants_channels_last(op)
    }
}

impl Evaluator for DeviceTarget<'_> {
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        let host = self.env.devices.host();
        flowmill_runtime::evaluate(&host.device, &host.resources, self.functions, graph, node, inputs)
    }
}

/// A unit that is ready to run.
pub(crate) struct Compiled {
    /// A record of what the passes did.
    pub(crate) report: Report,
    /// The plan on the caller's device before strands and loops were fused.
    pub(crate) unfused: UnfusedPlan,
    /// The results of a step that are references, by their index, with the names of their nodes. They are read when the step has ended.
    pub(crate) references: Vec<(usize, Arc<str>)>,
    pub(crate) code: Code,
    /// True if several threads may share the work: a kernel is costly enough to fork, or costly programs may run at the same time.
    pub(crate) is_costly: bool,
    /// True if a run may wait for another node or for something outside of the step.
    pub(crate) may_wait: bool,
    /// The graph of each part with the number of its device, for a unit of several parts. That of a single part can be made again.
    pub(crate) graphs: Vec<(usize, Graph)>,
    /// The devices of the nodes, if they were placed by cost.
    pub(crate) placed_by_cost: Option<Arc<PlacedNodes>>,
}

/// Compiles a unit.
///
/// # Errors
/// Returns `InvalidArgument` for devices that do not exist and frames that do not fit together, `NotFound` for ops without a kernel, and the errors
/// of the kernels' makers.
pub(crate) fn compile(unit: Unit<'_>, env: &Environment) -> Result<Compiled> {
    let dump = Dump::of(&unit);
    let Rewritten { parts, transfers, report, placed_by_cost } = rewrite(unit, env, &dump)?;
    let tuner = Tuner::new(env.options.tuning.clone());
    let mut plans = parts.iter().map(|part| plan(part, env, &tuner)).collect::<Result<Vec<_>>>()?;
    tuner.save();
    plans.iter().for_each(|unfused| dump.plan(unfused, "planned"));
    let Some(unfused) = plans.first_mut() else { bail!(Internal, "a graph without a part for the caller") };
    let references = if parts[0].unit.is_step() { keep_references(unfused) } else { Vec::new() };
    let mut sets = device_strands::sets(&parts, &plans, env)?.into_iter();
    let mut parts = parts.into_iter().zip(plans);
    let Some((part, unfused)) = parts.next() else { bail!(Internal, "a graph without a part for the caller") };
    let fused = fuse_part(&unfused, part.device, &sets.next().unwrap_or_default(), env)?;
    dump.plan(&fused, "fused");
    let may_wait = unfused.nodes.iter().any(PlanNode::may_wait) || may_loop_until_others_act(&part.unit.graph);
    let has_costly_nodes = |graph: &PlanGraph| graph.nodes.iter().any(|n| n.cost >= Cost::Expensive);
    let (has_costly_kernels, has_costly_programs) = (has_costly_nodes(&unfused), has_costly_nodes(&fused));
    let mut graphs = vec![(part.device, part.unit.graph)];
    let others = parts
        .zip(sets)
        .map(|((part, unfused), sets)| {
            let planned = DevicePlan::new(part.device, unfused, &sets, env, &dump)?;
            graphs.push((part.device, part.unit.graph));
            Ok(planned)
        })
        .collect::<Result<Vec<_>>>()?;
    if others.is_empty() {
        graphs.clear();
    }
    let has_costly_parts = others.iter().any(|other| has_costly_nodes(&other.unfused.graph));
    // A single part has transfers if they are between the memory of its device and the host's.
    let is_alone = others.is_empty() && transfers.is_empty();
    let code = if is_alone { Code::new(fused)? } else { Code::Parts(Arc::new(Plan::new(fused)?), others, transfers) };
    let is_costly = has_costly_kernels || has_costly_parts || (has_costly_programs && !matches!(code, Code::Direct(_)));
    Ok(Compiled { report, unfused: UnfusedPlan::new(unfused, &env.options), references, code, is_costly, may_wait, graphs, placed_by_cost })
}

/// A unit after the stages that rewrite its graph.
pub(crate) struct Rewritten<'a> {
    /// The part of each device. The first part is that of the caller's device.
    pub(crate) parts: Vec<Part<'a>>,
    /// The names of the tensors that go from part to part, by the numbers of their transfers.
    pub(crate) transfers: Arc<[String]>,
    /// A record of what the passes did.
    pub(crate) report: Report,
    /// The devices of the nodes, if they were placed by cost.
    pub(crate) placed_by_cost: Option<Arc<PlacedNodes>>,
}

/// Runs the stages that rewrite the graph, after pruning and before planning. The first part is that of the caller's device.
///
/// # Errors
/// Returns `InvalidArgument` for a device that does not exist and for a graph that cannot be partitioned.
pub(crate) fn rewrite<'a>(mut unit: Unit<'a>, env: &Environment, dump: &Dump) -> Result<Rewritten<'a>> {
    let rules = place_by_rules(&mut unit, env, dump)?;
    let (mut placement, placed_by_cost) = match place_by_cost::options(&unit, env) {
        Some(options) => place_by_cost::place_by_cost(&unit, env, options, &rules.placement)?,
        None => (rules.placement, None),
    };
    if env.options.log_device_placement {
        env.placement_log.log(&unit.graph, |id| placement.device(id), &env.devices);
    }
    let mut report = rules.report;
    let is_on_one_device = placement == Placement::Host;
    if is_on_one_device && !rules.is_optimized {
        report = report.then(optimize_and_dump(&mut unit, HOST, env, dump)?);
    }
    if let Placement::Several(placed) = &mut placement {
        report = report.then(fold_constants(&mut unit, placed, env));
        dump.graph(&unit.graph, "folded");
    }
    let start_times = start_times(&unit, env, &placement)?;
    let partition::Parts { mut parts, transfers } = partition::partition(unit, placement, &env.devices, start_times.as_deref())?;
    for part in &mut parts {
        dump.graph(&part.unit.graph, "partitioned");
        if !is_on_one_device {
            report = report.then(optimize_and_dump(&mut part.unit, part.device, env, dump)?);
            flowmill_partition::put_constants_in_host_memory(&mut part.unit.graph, part.device, &env.devices)?;
        }
    }
    Ok(Rewritten { parts, transfers, report, placed_by_cost })
}

/// A unit after placement by rules.
struct PlacedByRules {
    placement: Placement,
    /// A record of what the passes did.
    report: Report,
    /// True if the unit was optimised.
    is_optimized: bool,
}

/// Lowers a unit and places its nodes by rules. If placement by cost follows and may move any node, the unit is optimised as well.
///
/// # Errors
/// Returns the errors of [`place`].
fn place_by_rules(unit: &mut Unit<'_>, env: &Environment, dump: &Dump) -> Result<PlacedByRules> {
    dump.graph(&unit.graph, "pruned");
    let mut report = lower(unit, &env.options);
    dump.graph_with_report(&unit.graph, "lowered", &report);
    let placement = place(unit, env)?;
    let is_optimized = placement == Placement::Host
        && place_by_cost::options(unit, env).is_some()
        && env.devices.iter().all(|device| device.device.is_host())
        && unit.graph.op_nodes().all(|node| node.device().is_empty());
    if is_optimized {
        report = report.then(optimize_and_dump(unit, HOST, env, dump)?);
    }
    Ok(PlacedByRules { placement, report, is_optimized })
}

/// Simulates a step as it is placed by cost.
///
/// # Errors
/// Returns `FailedPrecondition` for a session that does not place by cost, and the errors of [`rewrite`].
pub(crate) fn simulate_step(mut unit: Unit<'_>, env: &Environment) -> Result<SimulatedStep> {
    let dump = Dump::of(&unit);
    let rules = place_by_rules(&mut unit, env, &dump)?;
    match place_by_cost::options(&unit, env) {
        Some(options) => place_by_cost::simulated_step(&unit, env, options, &rules.placement),
        None => bail!(FailedPrecondition, "a step is simulated only by a session of several devices that places nodes by the cost model"),
    }
}

fn optimize_and_dump(unit: &mut Unit<'_>, device: usize, env: &Environment, dump: &Dump) -> Result<Report> {
    let report = optimize(unit, device, env)?;
    dump.graph_with_report(&unit.graph, "optimized", &report);
    Ok(report)
}

/// The number of the host among the devices of a session.
pub(crate) const HOST: usize = 0;

/// The number of changes that the passes make of each graph, if `FLOWMILL_FUEL=number` is set in the environment. It serves to find a wrong rewrite.
static FUEL: LazyLock<Option<usize>> = LazyLock::new(|| {
    let value = std::env::var("FLOWMILL_FUEL").ok().filter(|value| !value.is_empty())?;
    let fuel = value.trim().parse().ok();
    if fuel.is_none() {
        eprintln!("flowmill: FLOWMILL_FUEL is ignored: '{value}' is no number");
    }
    fuel
});

/// Returns the options of the passes for a unit.
fn pass_options<'a>(unit: &Unit<'a>, options: &'a SessionOptions) -> Options<'a> {
    Options { disabled: &options.disabled_passes, function: unit.function, fuel: *FUEL, records_nodes: unit.records_nodes }
}

/// Inlines bodies of functions into the graph.
pub(crate) fn lower(unit: &mut Unit<'_>, options: &SessionOptions) -> Report {
    if !options.optimize || !options.lower {
        return unchanged(&unit.graph);
    }
    let options = pass_options(unit, options);
    flowmill_optimize::lower(&mut unit.graph, &options)
}

/// Assigns a device to each node, by rules.
///
/// # Errors
/// Returns the errors of [`flowmill_placement::place`]. If the host is the only device, only steps of sessions with `place_pruned_graph` are checked.
pub(crate) fn place(unit: &Unit<'_>, env: &Environment) -> Result<Placement> {
    let is_checked = unit.is_step() && env.options.place_pruned_graph;
    if env.devices.is_host_alone() && !is_checked {
        return Ok(Placement::Host);
    }
    place::place_unit(unit, env)
}

/// Returns the start times by which receives are delayed, if the session does so.
fn start_times(unit: &Unit<'_>, env: &Environment, placement: &Placement) -> Result<Option<Vec<Option<u64>>>> {
    let usual = CostPlacement::default();
    let options = match &env.options.placement {
        PlacementPolicy::CostModel(options) => options,
        PlacementPolicy::Simple if env.options.enable_recv_scheduling => &usual,
        PlacementPolicy::Simple => return Ok(None),
    };
    if *placement == Placement::Host || !unit.is_step() {
        return Ok(None);
    }
    place_by_cost::start_times(&unit.graph, env, options, placement).map(Some)
}

/// Runs the optimization passes on a graph whose nodes are all on one device.
///
/// # Errors
/// Returns `Internal` for a device that the session does not have.
pub(crate) fn optimize(unit: &mut Unit<'_>, device: usize, env: &Environment) -> Result<Report> {
    let options = &env.options;
    if !options.optimize {
        return Ok(unchanged(&unit.graph));
    }
    let target = DeviceTarget { env, functions: unit.functions, kernels: session_device(env, device)?.device.kernels() };
    let options = pass_options(unit, options);
    let (report, shapes) = flowmill_optimize::optimize_with_shapes(&mut unit.graph, &options, &target);
    unit.shapes = Some(shapes);
    Ok(report)
}

/// Evaluates what depends on constants only in a graph on several devices, so that no constant is sent. A new constant is on the device of its
/// first consumer; partitioning copies it to the devices of the others.
fn fold_constants(unit: &mut Unit<'_>, placed: &mut FxHashMap<NodeId, usize>, env: &Environment) -> Report {
    let pass = flowmill_optimize::PIPELINE.iter().find(|pass| pass.name == "fold_constants" && env.options.optimize);
    let Some(pass) = pass else { return unchanged(&unit.graph) };
    let first = unit.graph.num_node_ids();
    let target = DeviceTarget { env, functions: unit.functions, kernels: env.devices.host().device.kernels() };
    let options = pass_options(unit, &env.options);
    let report = flowmill_optimize::run_passes(std::slice::from_ref(pass), &mut unit.graph, &options, &target);
    let added: Vec<NodeId> = unit.graph.op_nodes().map(Node::id).filter(|id| id.index() >= first).collect();
    // A constant may be read by one that is newer.
    for id in added.into_iter().rev() {
        let consumer = unit.graph.out_edges(id).map(|edge| edge.dst).find(|&dst| dst != NodeId::SINK);
        if let Some(&device) = consumer.and_then(|consumer| placed.get(&consumer)) {
            placed.insert(id, device);
        }
    }
    report
}

/// Returns a device of the session by its number.
fn session_device(env: &Environment, number: usize) -> Result<&SessionDevice> {
    env.devices.get(number).ok_or_else(|| error!(Internal, "a part of a device that the session does not have"))
}

/// Finds frames, makes kernels, decodes constants. The parts of a unit share a tuner, and so its budget.
///
/// # Errors
/// Returns `NotFound` for ops without a kernel, `InvalidArgument` for frames that do not fit together, and the errors of the kernels' makers.
pub(crate) fn plan(part: &Part<'_>, env: &Environment, tuner: &Arc<Tuner>) -> Result<PlanGraph> {
    let device = session_device(env, part.device)?;
    let plan_env = PlanEnv {
        device: &device.device,
        host: &env.devices.host().device,
        resources: &device.resources,
        functions: part.unit.functions,
        // The nodes of functions' bodies have names that are not unique.
        cache: part.unit.is_step().then_some(&device.cache),
        parallel_iterations: env.options.parallel_iterations,
        shapes: part.unit.shapes.as_ref(),
        precision: env.options.inference_precision,
        tuner,
    };
    build(&part.unit.graph, part.unit.arg_types.clone(), part.unit.num_results, &plan_env)
}

/// Turns the strands and loops of a device's plan into programs. Programs read and write memory of the host. Other devices have strands of the nodes in
/// each of `sets`.
fn fuse_part(unfused: &PlanGraph, device: usize, sets: &[Vec<PlanNodeId>], env: &Environment) -> Result<PlanGraph> {
    let device = &session_device(env, device)?.device;
    if device.is_host() { fuse(unfused.clone(), &env.options) } else { program::fuse_device_strands(unfused.clone(), sets, device) }
}

/// Turns strands and loops into programs.
///
/// # Errors
/// Returns `Internal` if the edges of the graph are inconsistent.
pub(crate) fn fuse(graph: PlanGraph, options: &SessionOptions) -> Result<PlanGraph> {
    program::fuse(graph, options.fuse_options())
}

/// Returns true if the graph has a loop that may go on until something outside of the graph changes, such as a variable.
fn may_loop_until_others_act(graph: &Graph) -> bool {
    graph.op_nodes().any(Node::is_enter) && graph.op_nodes().any(|node| node.op_def().is_stateful())
}

/// Returns the report of passes that did not run.
fn unchanged(graph: &Graph) -> Report {
    Report { num_nodes_before: graph.num_nodes(), num_nodes_after: graph.num_nodes(), ..Report::default() }
}

/// Makes the plan return references for results that are references. Returns their indices and the names of their nodes.
fn keep_references(graph: &mut PlanGraph) -> Vec<(usize, Arc<str>)> {
    let (nodes, mut found) = (&graph.nodes, Vec::new());
    let is_reference =
        |edge: &PlanEdge| nodes.get(edge.node.0 as usize).and_then(|n| n.outputs.get(edge.slot as usize)).is_some_and(|o| o.is_ref);
    for (id, node) in nodes.iter().enumerate() {
        if let NodeKind::Ret(i) = node.kind
            && node.inputs.first().is_some_and(is_reference)
        {
            found.push((id, i, Arc::clone(&node.name)));
        }
    }
    for &(id, ..) in &found {
        graph.nodes[id].takes_ref.fill(true);
    }
    found.into_iter().map(|(_, i, name)| (i, name)).collect()
}

/// A plan in its fastest form.
pub(crate) enum Code {
    Direct(DirectPlan),
    Plan(Arc<Plan>),
    /// The plan on the caller's device, which has the arguments and the results, the plans of other devices, and the names of the tensors that go
    /// between them.
    Parts(Arc<Plan>, Vec<DevicePlan>, Arc<[String]>),
}

/// The plan of a unit on a device other than its caller's.
pub(crate) struct DevicePlan {
    /// The number of the device.
    pub(crate) device: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) unfused: UnfusedPlan,
}

impl DevicePlan {
    fn new(device: usize, unfused: PlanGraph, sets: &[Vec<PlanNodeId>], env: &Environment, dump: &Dump) -> Result<DevicePlan> {
        let fused = fuse_part(&unfused, device, sets, env)?;
        dump.plan(&fused, "fused");
        Ok(DevicePlan { device, plan: Arc::new(Plan::new(fused)?), unfused: UnfusedPlan::new(unfused, &env.options) })
    }
}

/// A plan before strands and loops were fused, from which plans for other uses than most steps are made at their first use.
pub(crate) struct UnfusedPlan {
    graph: PlanGraph,
    fuse: FuseOptions,
    traced: OnceLock<Arc<Plan>>,
    alone: OnceLock<Code>,
}

impl UnfusedPlan {
    fn new(graph: PlanGraph, options: &SessionOptions) -> UnfusedPlan {
        let fuse = FuseOptions { single_thread: true, ..options.fuse };
        UnfusedPlan { graph, fuse, traced: OnceLock::new(), alone: OnceLock::new() }
    }

    /// Returns the plan of traced steps, whose statistics name every node.
    ///
    /// # Errors
    /// Returns `Internal` if the nodes of the plan do not fit together.
    pub(crate) fn traced(&self) -> Result<Arc<Plan>> {
        if let Some(plan) = self.traced.get() {
            return Ok(plan.clone());
        }
        let plan = Arc::new(Plan::traced(self.graph.clone())?);
        Ok(self.traced.get_or_init(|| plan).clone())
    }

    /// Returns the code of steps on the host that have one thread.
    ///
    /// # Errors
    /// Returns `Internal` if the nodes of the plan do not fit together.
    pub(crate) fn alone(&self) -> Result<&Code> {
        if let Some(code) = self.alone.get() {
            return Ok(code);
        }
        let code = Code::new(program::fuse(self.graph.clone(), self.fuse)?)?;
        Ok(self.alone.get_or_init(|| code))
    }
}

impl Code {
    fn new(graph: PlanGraph) -> Result<Code> {
        match DirectPlan::of(&graph) {
            Some(plan) => Ok(Code::Direct(plan)),
            None => Ok(Code::Plan(Arc::new(Plan::new(graph)?))),
        }
    }

    /// Runs a plan on one device within a step, on this thread and on other threads of its pool, at most `num_threads` in all.
    pub(crate) fn run(&self, step: &Arc<DeviceStep>, args: Vec<Tensor>, num_threads: usize) -> Results {
        let _flush = flowmill_runtime::denormals::flush();
        match self {
            Code::Direct(plan) => plan.run(step, args),
            Code::Plan(plan) => plan.run(step, args, RunOptions { num_threads, ..RunOptions::default() }),
            Code::Parts(..) => bail!(Internal, "a plan on several devices is run on one"),
        }
    }
}
