//! The executable of one signature: prepared once and run many times.

use super::Signature;
use super::costs::StepCosts;
use super::functions::Functions;
use super::thread_choice::{Choice, StepDurations};
use crate::compile::{
    self, Code, Compiled, CostFacts, DevicePlan, Environment, Placed, PlacedNodes, SimulatedStep, StepGraph, UnfusedPlan, Unit,
};
use crate::devices::Devices;
use flowmill_graph::{FunctionLibrary, Graph, TensorName, part_for_execution, placeholder_shape};
use flowmill_optimize::Report;
use flowmill_runtime::executor::{self, Done, PartResults, PlanCall, Results, RunOptions as PlanRunOptions, StatsCollector};
use flowmill_runtime::program::dereference;
use flowmill_runtime::{DeviceStep, Rendezvous, Step, Transfers};
use flowmill_tensor::{DType, Error, PartialShape, Result, Tensor, bail, error};
use std::sync::{Arc, OnceLock};

/// A step whose arguments have at least this many bytes in all may use several threads, even if no node is known to be costly.
const POOLED_BYTES: usize = 64 << 10;

/// A prepared signature.
pub(super) struct Executable {
    feeds: Vec<Feed>,
    fetches: Vec<String>,
    code: Code,
    /// The plan on the host before strands and loops were fused.
    unfused: UnfusedPlan,
    is_costly: bool,
    /// True if a step may run on its caller's thread although it is costly: if it runs on the host alone and waits for nothing.
    may_run_alone: bool,
    /// True if `code` is for one thread at a time.
    is_for_one_thread: bool,
    pub(super) durations: StepDurations,
    num_threads: usize,
    /// The results that are references, by their index, with the names of their nodes. They are read when the step has ended.
    references: Vec<(usize, Arc<str>)>,
    pub(super) functions: Functions,
    pub(super) optimizations: Arc<Report>,
    /// The graph's count of rewrites when this was made; see [`Executable::fits`].
    rewrite_count: u64,
    pub(super) signature: Signature,
    /// The graph of each part with the number of its device. That of a single part is made on request.
    graphs: OnceLock<Vec<(usize, Graph)>>,
    pub(super) costs: Arc<StepCosts>,
    /// The devices of the nodes, if they were placed by cost.
    pub(super) placed_by_cost: Option<Arc<PlacedNodes>>,
    /// The executable that replaces this one, after the nodes were placed again.
    successor: OnceLock<Arc<Executable>>,
}

/// A step on each of the devices that it runs on.
pub(super) struct Steps {
    host: Arc<DeviceStep>,
    others: Vec<Arc<DeviceStep>>,
}

struct Feed {
    name: String,
    dtype: DType,
    shape: PartialShape,
}

/// A copy of the part of a session's graph that a signature's runs need. The graph is not locked while the copy is optimised.
pub(super) struct Snapshot {
    pub(super) step: StepGraph,
    feeds: Vec<Feed>,
    pub(super) functions: Functions,
    rewrite_count: u64,
}

impl Snapshot {
    /// Copies the part of the graph that the signature's runs may need. `placed` are the devices of the whole graph's nodes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` or `NotFound` for feeds that are not in the graph.
    pub(super) fn new(graph: &Graph, signature: &Signature, functions: Functions, placed: Option<Placed>) -> Result<Snapshot> {
        let [feeds, fetches, targets] = signature.lists();
        let part = part_for_execution(graph, &feeds, &fetches, &targets, &signature.connections());
        Ok(Snapshot {
            feeds: feeds.iter().map(|name| describe_feed(graph, name)).collect::<Result<Vec<_>>>()?,
            step: StepGraph { graph: part, placed, by_cost: CostFacts::default() },
            functions,
            rewrite_count: graph.rewrite_count(),
        })
    }

    /// Returns the snapshot with facts for placement by cost.
    pub(super) fn with_facts(mut self, by_cost: CostFacts) -> Snapshot {
        self.step.by_cost = by_cost;
        self
    }

    /// Returns the graph of each part of the step, after all passes, with the number of its device.
    pub(super) fn part_graphs(self, signature: &Signature, env: &Environment) -> Result<Vec<(usize, Graph)>> {
        let unit = Unit::of_step(self.step, signature, self.functions.runtime())?;
        let dump = compile::Dump::of(&unit);
        let parts = compile::rewrite(unit, env, &dump)?.parts;
        Ok(parts.into_iter().map(|part| (part.device, part.unit.graph)).collect())
    }

    /// Simulates the step.
    ///
    /// # Errors
    /// Returns the errors of [`compile::simulate_step`].
    pub(super) fn simulate(self, signature: &Signature, env: &Environment) -> Result<SimulatedStep> {
        compile::simulate_step(Unit::of_step(self.step, signature, self.functions.runtime())?, env)
    }
}

impl Executable {
    /// Compiles a snapshot's part of the graph. Measured costs are added to `costs`.
    pub(super) fn new(snapshot: Snapshot, signature: &Signature, env: &Environment, costs: Arc<StepCosts>) -> Result<Executable> {
        let [_, fetches, _] = signature.lists();
        let Snapshot { step, feeds, functions, rewrite_count } = snapshot;
        let Compiled { report, unfused, references, code, is_costly, may_wait, graphs, placed_by_cost } =
            compile::compile(Unit::of_step(step, signature, functions.runtime())?, env)?;
        Ok(Executable {
            feeds,
            references,
            fetches: fetches.iter().map(|&f| f.to_owned()).collect(),
            may_run_alone: !may_wait && !matches!(code, Code::Parts(..)),
            is_for_one_thread: env.options.fuse_options().single_thread,
            code,
            is_costly,
            durations: StepDurations::default(),
            num_threads: env.options.inter_op_threads,
            unfused,
            functions,
            optimizations: Arc::new(report),
            rewrite_count,
            signature: signature.clone(),
            graphs: if graphs.is_empty() { OnceLock::new() } else { OnceLock::from(graphs) },
            costs,
            placed_by_cost,
            successor: OnceLock::new(),
        })
    }

    /// Returns the executable that has replaced this one, or else this one.
    pub(super) fn latest(self: &Arc<Executable>) -> &Arc<Executable> {
        let mut latest = self;
        while let Some(next) = latest.successor.get() {
            latest = next;
        }
        latest
    }

    /// Makes later runs of this executable run `next`. Returns false if it was replaced before, by a thread that measured another step.
    pub(super) fn replace_by(&self, next: Arc<Executable>) -> bool {
        self.successor.set(next).is_ok()
    }

    /// Returns the graph of each part with the number of its device. `make` makes them if they were not kept.
    pub(super) fn part_graphs(&self, make: impl FnOnce() -> Result<Vec<(usize, Graph)>>) -> Result<&[(usize, Graph)]> {
        match self.graphs.get() {
            Some(graphs) => Ok(graphs),
            None => {
                let graphs = make()?;
                Ok(self.graphs.get_or_init(|| graphs))
            }
        }
    }

    /// Returns true if the graph has only grown since this was made, with the same function library.
    pub(super) fn fits(&self, rewrite_count: u64, library: &Arc<FunctionLibrary>) -> bool {
        self.rewrite_count == rewrite_count && self.functions.are_of(library)
    }

    /// Returns true if there are this many feeds and fetches. The key of a signature does not guarantee this: names that no node has may contain the
    /// key's separators.
    pub(super) fn has(&self, num_feeds: usize, num_fetches: usize) -> bool {
        (self.feeds.len(), self.fetches.len()) == (num_feeds, num_fetches)
    }

    /// Checks the types and shapes of the fed values.
    pub(super) fn check_feeds(&self, args: &[Tensor]) -> Result<()> {
        if args.len() != self.feeds.len() {
            bail!(InvalidArgument, "{} values for {} feeds", args.len(), self.feeds.len());
        }
        for (feed, value) in self.feeds.iter().zip(args) {
            if value.dtype() != feed.dtype {
                bail!(InvalidArgument, "The {} value fed for tensor '{}' has another type than {}", value.dtype(), feed.name, feed.dtype);
            }
            if !feed.shape.is_compatible_with(value.shape()) {
                bail!(
                    InvalidArgument,
                    "Cannot feed value of shape {} for Tensor '{}', which has shape '{}'",
                    value.shape(),
                    feed.name,
                    feed.shape
                );
            }
        }
        Ok(())
    }

    /// Chooses where a step with these arguments runs. `None` is the executor, without a choice.
    pub(super) fn choose_threads(&self, args: &[Tensor], is_traced: bool) -> Option<Choice> {
        let num_bytes = args.iter().map(Tensor::num_bytes).sum::<usize>();
        let has_choice = if self.is_costly { self.may_run_alone && !is_traced } else { num_bytes < POOLED_BYTES };
        has_choice.then(|| self.durations.begin(self.is_costly, num_bytes))
    }

    /// Returns the number of threads of a pool that run nodes in parallel; 0 means all threads of the pool.
    pub(super) fn num_threads(&self) -> usize {
        self.num_threads
    }

    /// Makes the rendezvous of a step.
    pub(super) fn rendezvous(&self) -> Rendezvous {
        match &self.code {
            Code::Parts(_, _, transfers) => Rendezvous::with_transfers(Transfers::new(transfers.clone())),
            _ => Rendezvous::new(),
        }
    }

    /// Returns the step for each of the devices that this runs on.
    pub(super) fn steps(&self, devices: &Devices, step: Arc<Step>) -> Steps {
        let functions = self.functions.runtime();
        let others: &[_] = if let Code::Parts(_, others, _) = &self.code { others } else { &[] };
        let others = others.iter().filter_map(|other| devices.get(other.device)).map(|d| d.step(step.clone(), functions)).collect();
        Steps { others, host: devices.host().step(step, functions) }
    }

    /// Returns the calls of the plans of a step on several devices. The first is the host's, with `args`.
    fn calls(&self, others: &[DevicePlan], steps: &Steps, args: Vec<Tensor>, traced: bool) -> Result<Vec<PlanCall>> {
        let host = match &self.code {
            Code::Parts(plan, ..) if !traced => plan.clone(),
            _ => self.unfused.traced()?,
        };
        let mut calls = vec![PlanCall { plan: host, step: steps.host.clone(), args }];
        for (other, step) in others.iter().zip(&steps.others) {
            let plan = if traced { other.unfused.traced()? } else { other.plan.clone() };
            calls.push(PlanCall { plan, step: step.clone(), args: Vec::new() });
        }
        Ok(calls)
    }

    /// Runs a step on this thread and on other threads of its pool, at most `num_threads` in all.
    pub(super) fn run(&self, steps: &Steps, args: Vec<Tensor>, num_threads: usize, stats: Option<&Arc<StatsCollector>>) -> Results {
        let results = match (&self.code, stats) {
            (Code::Parts(_, others, _), _) => {
                executor::run_parts(self.calls(others, steps, args, stats.is_some())?, stats.cloned()).map(results_of_host)
            }
            (code, None) => code.run(&steps.host, args, num_threads),
            (_, Some(_)) => self.unfused.traced()?.run(&steps.host, args, PlanRunOptions { num_threads, stats, pool: None }),
        };
        read_references(&self.references, results)
    }

    /// Runs a step on this thread.
    pub(super) fn run_alone(&self, steps: &Steps, args: Vec<Tensor>, stats: Option<&Arc<StatsCollector>>) -> Results {
        let has_other_plan = self.is_costly && self.may_run_alone && !self.is_for_one_thread;
        if !has_other_plan || stats.is_some() {
            return self.run(steps, args, 1, stats);
        }
        read_references(&self.references, self.unfused.alone()?.run(&steps.host, args, 1))
    }

    /// Begins a step on this thread, one of a pool; see [`Plan::start`](executor::Plan::start).
    pub(super) fn start(&self, steps: &Steps, args: Vec<Tensor>, stats: Option<Arc<StatsCollector>>, done: Done) {
        let done: Done = if self.references.is_empty() {
            done
        } else {
            let references = self.references.clone();
            Box::new(move |results| done(read_references(&references, results)))
        };
        let plan = match &self.code {
            Code::Parts(_, others, _) => {
                return match self.calls(others, steps, args, stats.is_some()) {
                    Err(e) => done(Err(e)),
                    Ok(calls) => {
                        let done = Box::new(|all: PartResults| done(all.map(results_of_host)));
                        executor::start_parts(calls, self.num_threads, stats, done);
                    }
                };
            }
            _ if stats.is_some() => self.unfused.traced(),
            Code::Direct(plan) => return done(plan.run(&steps.host, args)),
            Code::Plan(plan) => Ok(plan.clone()),
        };
        match plan {
            Err(e) => done(Err(e)),
            Ok(plan) => plan.start(&steps.host, args, self.num_threads, stats, done),
        }
    }

    /// Returns the error for a result `i` that is dead.
    pub(super) fn dead_fetch(&self, i: usize) -> Error {
        let name = self.fetches.get(i).map_or("?", String::as_str);
        error!(InvalidArgument, "Retval[{i}] does not have value: the fetched tensor '{name}' is in a branch that was not taken")
    }
}

/// Returns the results of the host's plan, which are the step's.
fn results_of_host(all: Vec<Vec<Option<Tensor>>>) -> Vec<Option<Tensor>> {
    all.into_iter().next().unwrap_or_default()
}

/// Reads the variables that results refer to. Called when the step has ended.
fn read_references(references: &[(usize, Arc<str>)], results: Results) -> Results {
    let mut results = results?;
    for (i, name) in references {
        if let Some(result) = results.get_mut(*i) {
            *result = result.take().map(dereference).transpose().map_err(|e| e.at_node(name, "_Retval"))?;
        }
    }
    Ok(results)
}

fn describe_feed(graph: &Graph, name: &str) -> Result<Feed> {
    let parsed = TensorName::parse(name).filter(|t| !t.is_control());
    let Some(tensor) = parsed else { bail!(InvalidArgument, "'{name}' is not the name of a tensor that can be fed") };
    let Some(node) = graph.find_node(tensor.node) else { bail!(NotFound, "FeedInputs: unable to find feed output {name}") };
    let output = u32::try_from(tensor.slot).ok().and_then(|slot| node.output_types().get(slot as usize));
    let Some(output) = output else { bail!(InvalidArgument, "FeedInputs: {name} should have output index < {}", node.num_outputs()) };
    let shape = placeholder_shape(graph, node)?;
    Ok(Feed { name: name.to_owned(), dtype: output.dtype, shape })
}
