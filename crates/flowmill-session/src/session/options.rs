//! The options of a session and of a run.

use flowmill_runtime::Executor;
use flowmill_runtime::program::FuseOptions;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Options of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Threads inside kernels; 0 means one a core.
    pub intra_op_threads: usize,
    /// Threads that run nodes beside each other; 0 means one a core. One pool serves both numbers: it has as many threads as the larger asks for.
    pub inter_op_threads: usize,
    /// Number of devices by type; `CPU` is 1 where nothing is said.
    pub device_count: BTreeMap<String, usize>,
    /// Put nodes whose device does not exist on the CPU instead of refusing them.
    pub allow_soft_placement: bool,
    /// Check the devices of the nodes that a step needs, and not of all there are.
    pub place_pruned_graph: bool,
    /// The threads of the session's steps; if it is given, the numbers of threads and the pools below are not used to make some.
    pub executor: Option<Arc<Executor>>,
    /// Pools for [`RunOptions::inter_op_thread_pool`]; where there are none, the session has one of `inter_op_threads`.
    pub thread_pools: Vec<ThreadPoolOption>,
    /// The passes that rewrite the graph before a plan is made.
    pub optimize: bool,
    /// Inline function calls, branches and loops whose bodies are functions into the graph that contains them. This is one of the passes that
    /// `optimize` enables. Without it, and for bodies that cannot be inlined, nodes call the functions at run time.
    pub lower: bool,
    /// Names of passes to leave out.
    pub disabled_passes: Vec<String>,
    /// The kinds of programs that the nodes of a plan are fused into.
    pub fuse: FuseOptions,
    /// Instead of what the graph says, for every loop whose iterations it lets overlap at all.
    pub parallel_iterations: Option<u32>,
    /// Signatures that stay prepared; where there are more, the least recently used is dropped and prepared again when it is needed. At least 1.
    pub max_plans: usize,
    /// A run that takes longer ends with `DeadlineExceeded`, unless its own options say otherwise.
    pub timeout: Option<Duration>,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            intra_op_threads: 0,
            inter_op_threads: 0,
            device_count: BTreeMap::new(),
            allow_soft_placement: false,
            place_pruned_graph: false,
            executor: None,
            thread_pools: Vec::new(),
            optimize: true,
            lower: true,
            disabled_passes: Vec::new(),
            fuse: FuseOptions::ALL,
            parallel_iterations: None,
            max_plans: 1024,
            timeout: None,
        }
    }
}

/// One of a session's pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadPoolOption {
    /// Its threads; 0 means one a core.
    pub num_threads: usize,
    /// Sessions whose pools have the same name share it, and nobody else uses it; an empty one is no name.
    pub global_name: String,
}

/// Options of one run.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// The run ends with `DeadlineExceeded` after this time.
    pub timeout: Option<Duration>,
    /// Ends the run early from another thread.
    pub cancel: Option<flowmill_runtime::CancelToken>,
    /// Called now and then on the caller's thread while the run lasts.
    pub poll: Option<flowmill_runtime::Poll>,
    /// The index of the pool in [`SessionOptions::thread_pools`] that runs the step; -1 runs it on the caller's thread.
    pub inter_op_thread_pool: i32,
    /// Record when and where each node ran.
    pub trace: bool,
}
