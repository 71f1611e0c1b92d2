//! Which threads a step runs on.
//!
//! One pool serves nodes and the pieces of kernels. A step that has nothing costly to do stays on the caller's thread, which no hand-over
//! can beat; any other moves to the pool, and its caller waits. No thread of the pool waits for a step.

use super::SessionOptions;
use super::executable::Executable;
use crate::executor::{self, Results, StatsCollector};
use crate::step::StepContext;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail, error};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Pools by process and number of threads, as long as a session uses them. A process that was forked has none of its parent's threads.
static POOLS: Mutex<BTreeMap<(u32, usize), Weak<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// The sizes of pools that have a name, which they keep for the life of the process.
static NAMED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// The pools of a session: those its options list, or the one that its numbers of threads ask for. A process that was forked gets its own.
pub(super) struct Pools {
    /// The threads of each pool. One thread is no pool, but the caller's thread alone.
    sizes: Vec<usize>,
    process: u32,
    pools: Vec<Option<Arc<ThreadPool>>>,
    /// Those of a process that was forked from `process`. Nobody takes this lock in `process`, so that no fork finds it taken.
    forked: Mutex<Option<(u32, Vec<Option<Arc<ThreadPool>>>)>>,
}

impl Pools {
    /// # Errors
    /// `InvalidArgument` where a name belongs to a pool of another size; `ResourceExhausted` where the system gives no threads.
    pub(super) fn new(options: &SessionOptions) -> Result<Pools> {
        let sizes = sizes(options)?;
        let pools = pools(&sizes)?;
        Ok(Pools { sizes, process: std::process::id(), pools, forked: Mutex::new(None) })
    }

    /// How many pools there are.
    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Pool `i`, whose threads are in this process; `None` is the caller's thread alone.
    ///
    /// # Errors
    /// `ResourceExhausted` where the system gives no threads.
    pub(super) fn get(&self, i: usize) -> Result<Option<Arc<ThreadPool>>> {
        let process = std::process::id();
        if process == self.process {
            return Ok(self.pools.get(i).cloned().flatten());
        }
        let mut forked = self.forked.lock();
        if forked.as_ref().is_none_or(|(of, _)| *of != process) {
            // The pools of a parent have no threads here that would end.
            std::mem::forget(forked.replace((process, pools(&self.sizes)?)));
        }
        Ok(forked.as_ref().and_then(|(_, pools)| pools.get(i).cloned().flatten()))
    }
}

fn sizes(options: &SessionOptions) -> Result<Vec<usize>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let or_cores = |n: usize| if n == 0 { cores } else { n };
    if options.thread_pools.is_empty() {
        return Ok(vec![or_cores(options.intra_op_threads).max(or_cores(options.inter_op_threads))]);
    }
    let mut sizes = Vec::with_capacity(options.thread_pools.len());
    for wanted in &options.thread_pools {
        if !wanted.global_name.is_empty() {
            let size = *NAMED.lock().entry(wanted.global_name.clone()).or_insert(wanted.num_threads);
            if size != wanted.num_threads {
                bail!(
                    InvalidArgument,
                    "The thread pool '{}' has {size} threads, and {} are asked for",
                    wanted.global_name,
                    wanted.num_threads
                );
            }
        }
        // Pools of one size are shared anyway.
        sizes.push(or_cores(wanted.num_threads));
    }
    Ok(sizes)
}

/// A pool of each size, which sessions of the process share.
fn pools(sizes: &[usize]) -> Result<Vec<Option<Arc<ThreadPool>>>> {
    let mut pools = POOLS.lock();
    let pool = |&threads: &usize| {
        if threads == 1 {
            return Ok(None);
        }
        let key = (std::process::id(), threads);
        if let Some(pool) = pools.get(&key).and_then(Weak::upgrade) {
            return Ok(Some(pool));
        }
        let pool = crate::intra_op::pool(threads).map_err(|e| error!(ResourceExhausted, "cannot start {threads} threads: {e}"))?;
        pools.insert(key, Arc::downgrade(&pool));
        Ok(Some(pool))
    };
    sizes.iter().map(pool).collect()
}

/// Runs a step in `pool`, or on this thread alone.
pub(super) fn run(
    pool: Option<&Arc<ThreadPool>>,
    executable: &Arc<Executable>,
    step: &Arc<StepContext>,
    args: Vec<Tensor>,
    stats: Option<Arc<StatsCollector>>,
) -> Results {
    let Some(pool) = pool else {
        return crate::intra_op::alone(|| executable.run(step, args, 1, stats.as_ref()));
    };
    if pool.current_thread_index().is_some() {
        // A kernel of another step, whose thread nobody else can have meanwhile.
        return executable.run(step, args, executable.num_threads(), stats.as_ref());
    }
    let (executable, context) = (executable.clone(), step.clone());
    executor::run_in(pool, step, move |done| {
        let helpers_wait = crate::intra_op::step();
        let done = move |results| {
            drop(helpers_wait);
            done(results);
        };
        executable.start(&context, args, stats, Box::new(done));
    })
}
