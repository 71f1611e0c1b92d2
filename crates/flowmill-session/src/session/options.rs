//! The options of a session and of a run.

use flowmill_cost::{Assumptions, Machine, SearchOptions};
use flowmill_runtime::program::FuseOptions;
use flowmill_runtime::tuning::TuningOptions;
use flowmill_runtime::{Device, Executor, HostDevice, InferencePrecision, KernelRegistry};
use flowmill_tensor::{Result, bail, memory_limit};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Options of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The number of threads inside kernels; 0 means one per core. With 1, each kernel runs on one thread, however many threads run nodes.
    pub intra_op_threads: usize,
    /// The number of threads that run nodes in parallel; 0 means one per core. One pool serves kernels and nodes: its size is the larger of the two
    /// numbers.
    pub inter_op_threads: usize,
    /// The number of devices of each type; `CPU` is 1 by default. [`SessionOptions::cpus`] makes the CPUs.
    pub device_count: BTreeMap<String, usize>,
    /// Ignore the type and the number of a requested device, and colocation, where they cannot be satisfied, instead of returning an error.
    pub allow_soft_placement: bool,
    /// Write a line with its device to standard output and standard error for each node that is placed, in TensorFlow's form, and the physical devices
    /// to standard error when the session is made.
    pub log_device_placement: bool,
    /// Place only the nodes that a step needs, instead of all nodes of the graph.
    pub place_pruned_graph: bool,
    /// The way in which devices are chosen for nodes that request none.
    pub placement: PlacementPolicy,
    /// Delay receives of tensors from other devices until the tensors are soon needed, by the schedule that the cost model simulates, so that less
    /// memory is in use at once. [`PlacementPolicy::CostModel`] does so in any case.
    pub enable_recv_scheduling: bool,
    /// Measure the costs of nodes in every so many steps of each signature, and return them in
    /// [`RunOutcome::cost_graph`](crate::RunOutcome::cost_graph); 0 never does. A measured step is traced, which makes it slower. With
    /// [`PlacementPolicy::CostModel`], measured costs replace estimates: see [`CostPlacement::measured_steps`].
    pub build_cost_model: u64,
    /// The number of steps of each signature before costs are measured.
    pub build_cost_model_after: u64,
    /// The executor of the session's steps. If it is set, `intra_op_threads`, `inter_op_threads` and `thread_pools` make no threads.
    pub executor: Option<Arc<Executor>>,
    /// The pools that [`RunOptions::inter_op_thread_pool`] selects from. If the list is empty, the session has one pool, sized by the numbers of
    /// threads above.
    pub thread_pools: Vec<ThreadPoolOption>,
    /// Run the passes that rewrite the graph before a plan is made.
    pub optimize: bool,
    /// Inline function calls, branches and loops whose bodies are functions into the graph that contains them. Has an effect only with `optimize`.
    /// Without it, and for bodies that cannot be inlined, nodes call the functions at run time.
    pub lower: bool,
    /// The names of passes to skip.
    pub disabled_passes: Vec<String>,
    /// The least precision in which kernels may multiply by constant weights. Without passes that fold constants (`optimize`), fewer weights are constant.
    pub inference_precision: InferencePrecision,
    /// The way in which kernels choose between several ways to compute: by estimates, or by measurements that a file remembers. See [`tuning`](flowmill_runtime::tuning).
    pub tuning: TuningOptions,
    /// The kinds of programs that the nodes of a plan are fused into.
    pub fuse: FuseOptions,
    /// Overrides the number of parallel iterations of every loop whose own number is greater than 1.
    pub parallel_iterations: Option<u32>,
    /// The number of signatures that stay prepared, at least 1. If there are more, the least recently used one is dropped, and prepared again when it
    /// is needed.
    pub max_plans: usize,
    /// The default of [`RunOptions::timeout`].
    pub timeout: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            intra_op_threads: 0,
            inter_op_threads: 0,
            device_count: BTreeMap::new(),
            allow_soft_placement: false,
            log_device_placement: false,
            place_pruned_graph: false,
            placement: PlacementPolicy::Simple,
            enable_recv_scheduling: false,
            build_cost_model: 0,
            build_cost_model_after: 0,
            executor: None,
            thread_pools: Vec::new(),
            optimize: true,
            lower: true,
            disabled_passes: Vec::new(),
            inference_precision: InferencePrecision::F32,
            tuning: TuningOptions::default(),
            fuse: FuseOptions::ALL,
            parallel_iterations: None,
            max_plans: 1024,
            timeout: None,
        }
    }
}

impl SessionOptions {
    /// Makes the CPUs of a session with these options: as many as `device_count` has for `CPU`, or one. The first is the host. All of them
    /// share the session's threads and have these kernels; resources, kernels' state and counts of memory are each device's own.
    ///
    /// # Errors
    /// Returns `NotFound` for no CPU, and `InvalidArgument` for more than [`SessionOptions::MAX_CPUS`].
    pub fn cpus(&self, kernels: &Arc<KernelRegistry>) -> Result<Vec<Arc<dyn Device>>> {
        let count = self.device_count.get("CPU").copied().unwrap_or(1);
        match u32::try_from(count) {
            Ok(0) => bail!(NotFound, "No CPU devices are available in this process"),
            // Counting costs each allocation some nanoseconds, and says nothing new about a single device.
            Ok(1) => Ok(vec![HostDevice::cpu(0, kernels.clone())]),
            Ok(n) if count <= SessionOptions::MAX_CPUS => {
                Ok((0..n).map(|id| HostDevice::cpu_with_limit(id, kernels.clone(), memory_limit())).collect())
            }
            _ => bail!(InvalidArgument, "device_count has {count} devices of type CPU; a session has at most {}", SessionOptions::MAX_CPUS),
        }
    }

    /// Returns the kinds of programs of plans, whose nodes run one after the other if the session asks for that.
    pub(crate) fn fuse_options(&self) -> FuseOptions {
        FuseOptions { single_thread: self.fuse.single_thread || self.inter_op_threads == 1, ..self.fuse }
    }

    /// The largest number of CPUs that a session can have. It protects sessions from configurations that would exhaust the memory.
    pub const MAX_CPUS: usize = 1 << 16;
}

/// The way in which a session chooses the devices of nodes that request none.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PlacementPolicy {
    /// Places nodes by rules, as in TensorFlow: the first device of the type with the highest rank that has a kernel.
    #[default]
    Simple,
    /// Places nodes by the simulated time of a step.
    CostModel(CostPlacement),
}

/// Options of [`PlacementPolicy::CostModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct CostPlacement {
    /// The speeds of the session's devices, all of them in their order. Without it, devices have usual speeds.
    pub machine: Option<Arc<Machine>>,
    /// The values that estimates assume for unknown sizes and loops.
    pub assumptions: Assumptions,
    /// The seed and the limits of the search.
    pub search: SearchOptions,
    /// The number of measured steps of a signature ([`SessionOptions::build_cost_model`]) after which its nodes are placed again, by the measured costs,
    /// and once more whenever the number has doubled. 0 never does. The step that completes the number waits until the new plan is made. Variables and
    /// other nodes with state stay on their devices.
    pub measured_steps: u64,
    /// The share of a signature's simulated time that a new placement must save to replace the plan.
    pub min_gain: f64,
}

impl Default for CostPlacement {
    fn default() -> CostPlacement {
        let (assumptions, search) = (Assumptions::default(), SearchOptions::default());
        CostPlacement { machine: None, assumptions, search, measured_steps: 4, min_gain: 0.05 }
    }
}

/// The options of one thread pool of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadPoolOption {
    /// The number of threads; 0 means one per core.
    pub num_threads: usize,
    /// The name under which sessions share the pool. A pool with an empty name is shared by all sessions whose unnamed pools have as many threads.
    pub global_name: String,
}

/// Options of one run.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// The time after which the run ends with `DeadlineExceeded`; `None` means the session's [`SessionOptions::timeout`].
    pub timeout: Option<Duration>,
    /// A token that cancels the run from another thread.
    pub cancel: Option<flowmill_runtime::CancelToken>,
    /// A callback that is called from time to time on the caller's thread during the run.
    pub poll: Option<flowmill_runtime::Poll>,
    /// The index of the pool in [`SessionOptions::thread_pools`] that runs the step; -1 runs it on the caller's thread.
    pub inter_op_thread_pool: i32,
    /// Record the time and the thread of each node's execution.
    pub trace: bool,
    /// Return the graph that runs on each device: [`RunOutcome::partition_graphs`](crate::RunOutcome::partition_graphs).
    pub output_partition_graphs: bool,
}
