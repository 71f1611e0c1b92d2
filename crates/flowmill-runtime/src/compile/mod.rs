//! Compilation: from a graph to code that runs it.
//!
//! Steps of sessions and bodies of functions are compiled alike, in stages. Each stage is a function. `FLOWMILL_DUMP` shows the graph or plan
//! that each leaves; placing changes neither:
//!
//! | stage | makes |
//! |---|---|
//! | prune ([`Unit::of_step`], [`Unit::of_body`]) | of a graph, the part that is needed, with `_Arg` and `_Retval` nodes at its boundary |
//! | [`lower`] | of calls, branches and loops of functions, nodes of the graph |
//! | [`place`] | a device for each node |
//! | [`optimize`] | a cheaper graph of the same meaning |
//! | [`partition`] | a graph for each device |
//! | [`plan`] | frames, kernels and constants of a partition |
//! | [`fuse`] | programs of strands and loops |
//!
//! A session has one device so far, so that there is one partition.

mod dump;
mod evaluate;
mod place;
mod reference_reads;
mod unit;

pub use evaluate::evaluate;
pub(crate) use place::{Checked, Placement, check};
pub(crate) use unit::Unit;

use crate::executor::{Plan, Results, RunOptions};
use crate::plan::{DirectPlan, NodeCache, NodeKind, PlanEdge, PlanEnv, PlanGraph, PlanNode, build};
use crate::program::{self, FuseOptions};
use crate::registry::KernelRegistry;
use crate::resource::ResourceManager;
use crate::session::SessionOptions;
use crate::step::StepContext;
use dump::Dump;
use evaluate::KernelEvaluator;
use flowmill_graph::{Graph, Node};
use flowmill_optimize::{Options, Report};
use flowmill_tensor::{Result, Tensor};
use std::sync::Arc;

/// The surroundings that everything compiled for a session shares.
pub(crate) struct Environment {
    pub(crate) kernels: Arc<KernelRegistry>,
    pub(crate) resources: Arc<ResourceManager>,
    pub(crate) options: SessionOptions,
    pub(crate) cache: NodeCache,
}

/// A unit that is ready to run.
pub(crate) struct Compiled {
    /// A record of what the passes did.
    pub(crate) report: Report,
    /// Before strands and loops were fused: every node is there.
    pub(crate) unfused: PlanGraph,
    /// The results of a step that are references, by their place, with the names of their nodes. They are read when the step has ended.
    pub(crate) references: Vec<(usize, Arc<str>)>,
    pub(crate) code: Code,
    /// True if a run may wait for something that others do: other nodes, or somebody outside of the step.
    pub(crate) may_wait: bool,
}

/// Compiles a unit.
///
/// # Errors
/// `InvalidArgument` for devices that do not exist and frames that do not fit together; `NotFound` for ops without a kernel; what makers of kernels say.
pub(crate) fn compile(unit: Unit<'_>, env: &Environment) -> Result<Compiled> {
    let dump = Dump::of(&unit);
    let (unit, placement, report) = rewrite(unit, env)?;
    let [part] = partition(unit, placement);
    dump.graph(&part.graph, "partitioned");
    let mut unfused = plan(&part, env)?;
    dump.plan(&unfused, "planned");
    let references = if part.is_step() { keep_references(&mut unfused) } else { Vec::new() };
    let fused = fuse(unfused.clone(), &env.options)?;
    dump.plan(&fused, "fused");
    let may_wait = unfused.nodes.iter().any(PlanNode::may_wait) || may_loop_until_others_act(&part.graph);
    Ok(Compiled { report, unfused, references, code: Code::new(fused)?, may_wait })
}

/// The stages that rewrite the graph: after pruning and before planning.
///
/// # Errors
/// `InvalidArgument` for devices that do not exist.
pub(crate) fn rewrite<'a>(mut unit: Unit<'a>, env: &Environment) -> Result<(Unit<'a>, Placement, Report)> {
    let dump = Dump::of(&unit);
    dump.graph(&unit.graph, "pruned");
    let lowered = lower(&mut unit, &env.options);
    dump.graph_with_report(&unit.graph, "lowered", &lowered);
    let placement = place(&unit, &env.options)?;
    let optimized = optimize(&mut unit, env);
    dump.graph_with_report(&unit.graph, "optimized", &optimized);
    Ok((unit, placement, lowered.then(optimized)))
}

/// Puts bodies of functions into the graph.
pub(crate) fn lower(unit: &mut Unit<'_>, options: &SessionOptions) -> Report {
    if !options.optimize || !options.lower {
        return unchanged(&unit.graph);
    }
    flowmill_optimize::lower(&mut unit.graph, &Options { disabled: &options.disabled_passes, function: unit.function })
}

/// Assigns a device to each node.
///
/// # Errors
/// `InvalidArgument` for a device that a node of a step asks for and that does not exist. Functions that are called take what there is.
pub(crate) fn place(unit: &Unit<'_>, options: &SessionOptions) -> Result<Placement> {
    if unit.is_step() && options.place_pruned_graph {
        unit.graph.op_nodes().try_for_each(|node| check(node, options))?;
    }
    Ok(Placement::OneDevice)
}

/// Runs the passes.
pub(crate) fn optimize(unit: &mut Unit<'_>, env: &Environment) -> Report {
    let options = &env.options;
    if !options.optimize {
        return unchanged(&unit.graph);
    }
    let evaluator = KernelEvaluator { env, functions: unit.functions };
    flowmill_optimize::optimize(&mut unit.graph, &Options { disabled: &options.disabled_passes, function: unit.function }, &evaluator)
}

/// Cuts the graph at the borders between devices.
pub(crate) fn partition(unit: Unit<'_>, placement: Placement) -> [Unit<'_>; 1] {
    match placement {
        Placement::OneDevice => [unit],
    }
}

/// Finds frames, makes kernels, decodes constants.
///
/// # Errors
/// As [`build`].
pub(crate) fn plan(unit: &Unit<'_>, env: &Environment) -> Result<PlanGraph> {
    let plan_env = PlanEnv {
        kernels: &env.kernels,
        resources: &env.resources,
        functions: unit.functions,
        // The nodes of functions' bodies have names that are not unique.
        cache: unit.is_step().then_some(&env.cache),
        parallel_iterations: env.options.parallel_iterations,
    };
    build(&unit.graph, unit.arg_types.clone(), unit.num_results, &plan_env)
}

/// Turns strands and loops into programs.
///
/// # Errors
/// As [`program::fuse`].
pub(crate) fn fuse(graph: PlanGraph, options: &SessionOptions) -> Result<PlanGraph> {
    let single = options.inter_op_threads == 1;
    program::fuse(graph, FuseOptions { single_thread: options.fuse.single_thread || single, ..options.fuse })
}

/// Returns true if the graph has a loop that may go on until something outside of the graph changes, such as a variable.
fn may_loop_until_others_act(graph: &Graph) -> bool {
    graph.op_nodes().any(Node::is_enter) && graph.op_nodes().any(|node| node.op_def().is_stateful)
}

/// The report of passes that did not run.
fn unchanged(graph: &Graph) -> Report {
    Report { num_nodes_before: graph.num_nodes(), num_nodes_after: graph.num_nodes(), ..Report::default() }
}

/// Makes results that are references leave the plan as references; returns their places and the names of their nodes.
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

/// A plan in the form that runs fastest.
pub(crate) enum Code {
    Direct(DirectPlan),
    Plan(Arc<Plan>),
}

impl Code {
    fn new(graph: PlanGraph) -> Result<Code> {
        match DirectPlan::of(&graph) {
            Some(plan) => Ok(Code::Direct(plan)),
            None => Ok(Code::Plan(Arc::new(Plan::new(graph)?))),
        }
    }

    /// Runs it within a step on this thread, and on at most so many threads of its pool in all.
    pub(crate) fn run(&self, step: &Arc<StepContext>, args: Vec<Tensor>, num_threads: usize) -> Results {
        let _flush = crate::denormals::flush();
        match self {
            Code::Direct(plan) => plan.run(step, args),
            Code::Plan(plan) => plan.run(step, args, RunOptions { num_threads, ..RunOptions::default() }),
        }
    }
}
