//! Sessions: a graph with its resources, and the plans that were made for it.

mod costs;
mod executable;
mod functions;
mod names;
mod options;
mod part_graphs;
mod plans;
mod runner;
mod signature;
mod thread_choice;
mod threads;

pub use names::{Fetches, ToNodeName, ToTensorName};
pub use options::{CostPlacement, PlacementPolicy, RunOptions, SessionOptions, ThreadPoolOption};
pub use part_graphs::StepGraphs;
pub use runner::Runner;
pub(crate) use signature::Signature;

use crate::compile::{self, CostFacts, Environment, GraphPlacement, PlacementLog, Unit};
use crate::devices::Devices;
use executable::{Executable, Snapshot};
use flowmill_graph::{DeviceName, Graph, OpDef};
use flowmill_optimize::Report;
use flowmill_proto::{CostGraphDef, GraphDef};
use flowmill_runtime::CancelToken;
use flowmill_runtime::executor::StatsCollector;
use flowmill_runtime::plan::{is_runnable, without_kernels};
use flowmill_runtime::{Device, DeviceAttributes, Executor, KernelRegistry, ResourceManager, Step};
use flowmill_tensor::sync::{Mutex, RwLock};
use flowmill_tensor::{Error, Result, Tensor, bail, error};
use functions::Functions;
use plans::Plans;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs steps of a graph. Many threads may run steps at once. A graph may have many sessions, and may grow while they exist.
pub struct Session {
    graph: Arc<RwLock<Graph>>,
    env: Arc<Environment>,
    plans: Plans,
    functions: Mutex<Option<Functions>>,
    placed: GraphPlacement,
    /// The executors that a run may choose from.
    executors: Vec<Arc<Executor>>,
    /// Set when no more steps may be prepared.
    finalized: AtomicBool,
    /// Cancelled when the session is closed. Every running step is cancelled with it.
    closed: CancelToken,
}

/// The result of a run.
#[derive(Default)]
pub struct RunOutcome {
    /// The fetched tensors, in the order of the fetches.
    pub values: Vec<Tensor>,
    /// The execution record of each node, if [`RunOptions::trace`] is set.
    pub stats: Option<Arc<StatsCollector>>,
    /// The graph that the step ran on each of its devices, the host's first, if [`RunOptions::output_partition_graphs`] is set. It is the graph after
    /// all passes; each node has the full name of its device.
    pub partition_graphs: Vec<GraphDef>,
    /// The costs of the step's nodes, measured so far, if the step updated them: see [`SessionOptions::build_cost_model`].
    pub cost_graph: Option<CostGraphDef>,
}

/// The names of a prepared run.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallableOptions<'a> {
    /// The fed tensors.
    pub feeds: &'a [&'a str],
    /// The fetched tensors.
    pub fetches: &'a [&'a str],
    /// The nodes that run and are not fetched.
    pub targets: &'a [&'a str],
    /// Tensors that replace others within the step: of each pair, the first is fed for the second.
    pub connections: &'a [(&'a str, &'a str)],
    /// The feeds whose values may be in the memory of a device, with that device. Values that are there are not copied.
    pub feed_devices: &'a [(&'a str, &'a str)],
    /// The fetches whose values stay in the memory of a device, with that device. Tensors that a device's kernels leave in the host's memory stay there.
    pub fetch_devices: &'a [(&'a str, &'a str)],
}

/// A prepared run: its feeds, fetches and targets were looked up once.
#[derive(Clone)]
pub struct Callable {
    session: Arc<Session>,
    executable: Arc<Executable>,
}

impl Session {
    /// Makes a session on `graph` with these kernels, on the CPUs of its options ([`SessionOptions::cpus`]).
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if its threads cannot be started, and `InvalidArgument` for options that contradict each other.
    pub fn new(graph: Arc<RwLock<Graph>>, kernels: Arc<KernelRegistry>, options: SessionOptions) -> Result<Session> {
        Session::with_devices(graph, options.cpus(&kernels)?, options)
    }

    /// Makes a session on `graph` with these devices, of which the first is the host. [`flowmill_placement::place`] assigns the nodes of the whole graph
    /// to them.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the first device is not the host, if two devices have the same name, or for options that contradict each other,
    /// and `ResourceExhausted` if the session's threads cannot be started.
    pub fn with_devices(graph: Arc<RwLock<Graph>>, devices: Vec<Arc<dyn Device>>, options: SessionOptions) -> Result<Session> {
        let (executors, plans) = (threads::executors(&options)?, Plans::new(options.max_plans));
        let env = Environment { devices: Devices::new(devices)?, options, placement_log: PlacementLog::default() };
        if env.options.log_device_placement {
            PlacementLog::log_devices(&env.devices);
        }
        Ok(Session {
            graph,
            env: Arc::new(env),
            plans,
            functions: Mutex::new(None),
            placed: GraphPlacement::default(),
            executors,
            finalized: AtomicBool::new(false),
            closed: CancelToken::new(),
        })
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Arc<RwLock<Graph>> {
        &self.graph
    }

    /// Returns the variables, tables and queues of the host.
    pub fn resources(&self) -> &Arc<ResourceManager> {
        &self.env.devices.host().resources
    }

    /// Returns the names and properties of the session's devices, the host's first.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceAttributes> {
        self.env.devices.iter().map(|device| device.device.attributes())
    }

    /// Returns the options that the session was made with.
    pub fn options(&self) -> &SessionOptions {
        &self.env.options
    }

    /// Runs the nodes that `fetches` and `targets` need, with the values of `feeds` in place of the fed tensors. Returns the fetched tensors.
    ///
    /// Feeds and fetches are tensor names (`x:0`, or `x` for output 0), targets are node names.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for names that are malformed or fed twice, a fed tensor of the wrong type or shape, a placeholder that is not fed,
    /// and a fetched tensor that is dead; `NotFound` for names that are not in the graph and for ops without a kernel; otherwise the error of the
    /// kernel that failed.
    pub fn run(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str]) -> Result<Vec<Tensor>> {
        self.run_with(feeds, fetches, targets, &RunOptions::default()).map(|o| o.values)
    }

    /// Like [`Session::run`], with options.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded` after the timeout, `Cancelled` or the caller's reason if the run is cancelled, and the errors of [`Session::run`].
    pub fn run_with(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str], options: &RunOptions) -> Result<RunOutcome> {
        self.check_open()?;
        let names: Vec<&str> = feeds.iter().map(|(name, _)| *name).collect();
        let executable = self.executable(&names, fetches, targets)?;
        let args = feeds.iter().map(|(_, value)| value.clone()).collect();
        self.execute(&executable, args, options)
    }

    /// Prepares a run that will be called many times with values for `feeds`.
    ///
    /// # Errors
    /// Returns the errors of [`Session::run`] that do not depend on the values: `InvalidArgument` for malformed names, `NotFound` for names that are
    /// not in the graph and for ops without a kernel.
    pub fn make_callable(self: &Arc<Session>, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Callable> {
        self.check_open()?;
        Ok(Callable { session: self.clone(), executable: self.executable(feeds, fetches, targets)? })
    }

    /// Returns a report of what the optimization passes did to the part of the graph that such a run executes. Bodies of functions are not counted:
    /// they are optimised when they are first called.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for malformed names, and `NotFound` for names that are not in the graph and for ops without a kernel.
    pub fn optimizations(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Arc<Report>> {
        self.check_open()?;
        Ok(self.executable(feeds, fetches, targets)?.optimizations.clone())
    }

    /// Returns the ops without a kernel that such a run would need, each with the names of its nodes. Nodes that the passes remove are not counted;
    /// nodes of functions that are called at run time are. The map is empty if the run can be prepared.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for malformed names, and `NotFound` for names that are not in the graph.
    pub fn ops_without_kernels(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<BTreeMap<String, Vec<String>>> {
        self.check_open()?;
        let signature = Signature::new(&CallableOptions { feeds, fetches, targets, ..CallableOptions::default() });
        let Snapshot { step, functions, .. } = self.snapshot(&signature)?;
        let unit = Unit::of_step(step, &signature, functions.runtime())?;
        let dump = compile::Dump::of(&unit);
        let parts = compile::rewrite(unit, &self.env, &dump)?.parts;
        let host = &self.env.devices.host().device;
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for part in &parts {
            let device = self.env.devices.get(part.device).map_or(host, |device| &device.device);
            for (op, nodes) in without_kernels(&part.unit.graph, device, host) {
                missing.entry(op.to_owned()).or_default().extend(nodes.into_iter().map(str::to_owned));
            }
        }
        // The body of a function is placed when it is called, on any devices of the session.
        let can_run = |op: &Arc<OpDef>| self.env.devices.iter().any(|device| is_runnable(op, device.device.kernels()));
        for graph in parts.iter().map(|part| &part.unit.graph) {
            let library = graph.library();
            for function in library.reachable(graph.op_nodes().map(|node| (node.op(), node.attrs().values()))) {
                for node in &function.def().node_def {
                    let name = format!("{}/{}", function.name(), node.name);
                    let known = missing.get(&node.op).is_some_and(|nodes| nodes.contains(&name));
                    if !known && !graph.op_def(&node.op).is_ok_and(can_run) && library.get(&node.op).is_none() {
                        missing.entry(node.op.clone()).or_default().push(name);
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Like [`Session::make_callable`], with connections, and with feeds and fetches in the memory of devices.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a connection that begins at an unknown tensor, feeds what is fed already or makes a cycle, and for a device of a
    /// tensor that is not among the feeds or fetches, and the errors of [`Session::make_callable`].
    pub fn make_callable_with(self: &Arc<Session>, options: &CallableOptions<'_>) -> Result<Callable> {
        self.check_open()?;
        Ok(Callable { session: self.clone(), executable: self.prepared(options)? })
    }

    /// Returns the session's device of this name, which may be a partial one, such as `/gpu:0`.
    pub fn device(&self, name: &str) -> Option<&Arc<dyn Device>> {
        let wanted = DeviceName::parse_requested(name).ok()?;
        self.env.devices.iter().map(|device| &device.device).find(|device| wanted.matches(&device.attributes().name))
    }

    /// Returns the full name of the device of each node of the graph, by the node's name.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a malformed request, for a device that the session does not have, and for nodes that must share a device and cannot.
    pub fn placement(&self) -> Result<BTreeMap<String, String>> {
        self.check_open()?;
        let graph = self.graph.read();
        let placed = self.placed.update(&graph, &self.env)?;
        let device = |id| placed.as_ref().and_then(|placed| placed.device(id)).unwrap_or(compile::HOST);
        let name = |id| self.env.devices.get(device(id)).map_or_else(String::new, |d| d.device.attributes().name.to_string());
        Ok(graph.op_nodes().map(|node| (node.name().to_owned(), name(node.id()))).collect())
    }

    /// Places the whole graph, unless steps are placed on their own.
    fn placed(&self, graph: &Graph) -> Result<Option<compile::Placed>> {
        if self.env.options.place_pruned_graph {
            return Ok(None);
        }
        let placed = self.placed.update(graph, &self.env)?;
        if self.env.options.log_device_placement {
            let device_of = |id| placed.as_ref().and_then(|placed| placed.device(id)).unwrap_or(compile::HOST);
            self.env.placement_log.log(graph, device_of, &self.env.devices);
        }
        Ok(placed)
    }

    /// Returns the number of signatures that the session keeps prepared: [`SessionOptions::max_plans`].
    pub fn max_plans(&self) -> usize {
        self.env.options.max_plans
    }

    /// Returns the number of signatures that are prepared.
    pub fn num_plans(&self) -> usize {
        self.plans.num_ready()
    }

    /// Returns the number of prepared signatures that were dropped because there were more than [`SessionOptions::max_plans`].
    pub fn num_evicted_plans(&self) -> u64 {
        self.plans.num_evicted()
    }

    /// Forbids the preparation of further steps. Signatures that are prepared can still run; others return `FailedPrecondition`. After this, a server
    /// cannot be made to compile plans for arbitrary requests.
    pub fn finalize(&self) {
        self.finalized.store(true, Ordering::Release);
    }

    /// Closes the session: running steps end with `Cancelled`, and so does every later run. Resources are dropped as soon as no step uses them.
    pub fn close(&self) {
        self.closed.cancel(error!(Cancelled, "Step was cancelled by an explicit call to `Session::Close()`."));
        self.env.devices.clear(&[]);
    }

    /// Returns true if [`Session::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Drops the resources in these containers, or all resources if the list is empty.
    pub fn reset(&self, containers: &[String]) {
        self.env.devices.clear(containers);
    }

    fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            bail!(Cancelled, "Session has been closed.");
        }
        Ok(())
    }

    fn executable(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Arc<Executable>> {
        self.prepared(&CallableOptions { feeds, fetches, targets, ..CallableOptions::default() })
    }

    fn prepared(&self, options: &CallableOptions<'_>) -> Result<Arc<Executable>> {
        let CallableOptions { feeds, fetches, targets, connections, feed_devices, fetch_devices } = *options;
        let signature = Signature::new(options);
        loop {
            let graph = self.graph.read();
            let has_ends = |e: &Executable| e.has(feeds.len(), fetches.len());
            if let Some(found) = self.plans.get(&signature, |e| e.fits(graph.rewrite_count(), graph.library()) && has_ends(e)) {
                return Ok(found);
            }
            if self.finalized.load(Ordering::Acquire) {
                bail!(FailedPrecondition, "Session has been finalized.");
            }
            let ends = connections.iter().chain(feed_devices).chain(fetch_devices).flat_map(|(from, to)| [from, to]);
            if let Some(name) = feeds.iter().chain(fetches).chain(targets).chain(ends).find(|n| n.contains(['\n', '\u{c}'])) {
                bail!(NotFound, "{name:?} is not the name of a node or tensor");
            }
            let placed = self.placed(&graph)?;
            let (change_count, rewrite_count, library) = (graph.change_count(), graph.rewrite_count(), graph.library().clone());
            let fits = |e: &Executable| e.fits(rewrite_count, &library) && has_ends(e);
            let made = self.plans.make(&signature, change_count, fits, || {
                // The signature may have run on an earlier version of the graph.
                let costs = self.plans.get(&signature, |_| true).map(|earlier| earlier.costs.clone()).unwrap_or_default();
                let by_cost = CostFacts { measured: costs.measured(), ..CostFacts::default() };
                let snapshot = Snapshot::new(&graph, &signature, self.functions_of(&graph), placed)?.with_facts(by_cost);
                // Optimising takes long and may call functions of Python: whoever adds to the graph meanwhile does not wait.
                drop(graph);
                Executable::new(snapshot, &signature, &self.env, costs)
            })?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
    }

    /// Copies the part of the graph that a signature's runs may need, with the devices of its nodes.
    fn snapshot(&self, signature: &Signature) -> Result<Snapshot> {
        let graph = self.graph.read();
        let placed = self.placed(&graph)?;
        Snapshot::new(&graph, signature, self.functions_of(&graph), placed)
    }

    /// Returns the function runtime for the graph's library. It is made anew after the library changed.
    fn functions_of(&self, graph: &Graph) -> Functions {
        let mut functions = self.functions.lock();
        match &*functions {
            Some(f) if f.are_of(graph.library()) => f.clone(),
            _ => functions.insert(Functions::new(graph, &self.env)).clone(),
        }
    }

    fn execute(&self, executable: &Arc<Executable>, args: Vec<Tensor>, options: &RunOptions) -> Result<RunOutcome> {
        self.check_open()?;
        let executable = executable.latest();
        executable.check_feeds(&args)?;
        let cancel = options.cancel.clone().unwrap_or_default();
        let step_cancel = cancel.clone();
        let _on_close = self.closed.on_cancel(move |reason: &Error| step_cancel.cancel(reason.clone()));
        let timeout = options.timeout.or(self.env.options.timeout);
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        cancel.check().map_err(|e| if e.is_derived() { cancel.reason().unwrap_or(e) } else { e })?;
        let is_measured = executable.costs.begin_step(&self.env.options);
        let stats = (options.trace || is_measured).then(|| Arc::new(StatsCollector::new()));
        let (poll, rendezvous) = (options.poll.clone(), executable.rendezvous());
        let traced_calls = stats.clone().filter(|_| options.trace);
        let step = Arc::new(Step { deadline, poll, rendezvous, stats: traced_calls, ..Step::with_cancel(cancel) });
        let executor = match usize::try_from(options.inter_op_thread_pool) {
            Err(_) if options.inter_op_thread_pool == -1 => None,
            Ok(i) if i < self.executors.len() => self.executors.get(i),
            _ => bail!(InvalidArgument, "Invalid inter_op_thread_pool: {}", options.inter_op_thread_pool),
        };
        let results = threads::run(executor, executable, &self.env.devices, &step, args, stats.clone());
        let values =
            results?.into_iter().enumerate().map(|(i, v)| v.ok_or_else(|| executable.dead_fetch(i))).collect::<Result<Vec<_>>>()?;
        let cost_graph = match &stats {
            Some(stats) if is_measured => Some(self.cost_graph(executable, stats)?),
            _ => None,
        };
        let stats = stats.filter(|_| options.trace);
        let partition_graphs = if options.output_partition_graphs { self.partition_graphs(executable)? } else { Vec::new() };
        Ok(RunOutcome { values, stats, partition_graphs, cost_graph })
    }
}

impl Drop for Session {
    /// Drops the resources, to break reference cycles: some resources, such as iterators, hold functions, which hold the session's environment.
    fn drop(&mut self) {
        self.env.devices.clear(&[]);
    }
}

impl Callable {
    /// Returns a report of what the passes did to the graph that runs: see [`Session::optimizations`].
    pub fn optimizations(&self) -> &Report {
        &self.executable.optimizations
    }

    /// Runs with one value for each feed, in the order of the feeds.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a wrong number of values, a value of the wrong type or shape, and a fetched tensor that is dead; otherwise the
    /// error of the kernel that failed.
    pub fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.run_with(feeds, &RunOptions::default()).map(|o| o.values)
    }

    /// Like [`Callable::run`], with options.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded` after the timeout, `Cancelled` or the caller's reason if the run is cancelled, and the errors of [`Callable::run`].
    pub fn run_with(&self, feeds: Vec<Tensor>, options: &RunOptions) -> Result<RunOutcome> {
        self.session.check_open()?;
        self.session.execute(&self.executable, feeds, options)
    }
}
