//! Which threads a step runs on.
//!
//! One pool serves nodes and the pieces of kernels. A step that has nothing costly to do stays on the caller's thread, which no hand-over
//! can beat; any other enters the pool once, so that what its kernels fork stays there.

use super::SessionOptions;
use super::executable::Executable;
use crate::executor::{self, StatsCollector};
use crate::step::{Poll, StepContext};
use flowmill_tensor::{Result, Tensor, bail, error};
use parking_lot::{Condvar, Mutex};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

type Results = Result<Vec<Option<Tensor>>>;

/// Pools by process and number of threads, as long as a session uses them. A process that was forked has none of its parent's threads.
static POOLS: Mutex<BTreeMap<(u32, usize), Weak<ThreadPool>>> = Mutex::new(BTreeMap::new());

/// The sizes of pools that have a name, which they keep for the life of the process.
static NAMED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// The pools of a session: those its options list, or the one that its numbers of threads ask for.
///
/// # Errors
/// `InvalidArgument` where a name belongs to a pool of another size; as [`pool`].
pub(super) fn pools(options: &SessionOptions) -> Result<Vec<Option<Arc<ThreadPool>>>> {
    if options.thread_pools.is_empty() {
        return Ok(vec![pool(options)?]);
    }
    let mut pools = Vec::with_capacity(options.thread_pools.len());
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
        let alone =
            SessionOptions { inter_op_threads: wanted.num_threads, intra_op_threads: wanted.num_threads, ..SessionOptions::default() };
        pools.push(pool(&alone)?);
    }
    Ok(pools)
}

/// The pool for a session's options; `None` where it has one thread. Sessions with the same number share one.
pub(super) fn pool(options: &SessionOptions) -> Result<Option<Arc<ThreadPool>>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let or_cores = |n: usize| if n == 0 { cores } else { n };
    let threads = or_cores(options.intra_op_threads).max(or_cores(options.inter_op_threads));
    if threads == 1 {
        return Ok(None);
    }
    let mut pools = POOLS.lock();
    if let Some(pool) = pools.get(&(std::process::id(), threads)).and_then(Weak::upgrade) {
        return Ok(Some(pool));
    }
    let pool = crate::intra_op::pool(threads).map_err(|e| error!(ResourceExhausted, "cannot start {threads} threads: {e}"))?;
    let pool = Arc::new(pool);
    pools.insert((std::process::id(), threads), Arc::downgrade(&pool));
    Ok(Some(pool))
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
        return crate::intra_op::alone(|| executable.run(step, args, 1, stats));
    };
    match &step.poll {
        None => executor::enter(pool, || {
            let _helpers_wait = crate::intra_op::step();
            executable.run(step, args, executable.num_threads(), stats)
        }),
        Some(poll) => watch(pool, poll, executable, step, args, stats),
    }
}

/// Runs a step in the pool while this thread waits and asks `poll` now and then.
fn watch(
    pool: &Arc<ThreadPool>,
    poll: &Poll,
    executable: &Arc<Executable>,
    step: &Arc<StepContext>,
    args: Vec<Tensor>,
    stats: Option<Arc<StatsCollector>>,
) -> Results {
    /// The results, or the step itself where no thread was free.
    type Outcome = std::result::Result<Results, Box<dyn FnOnce() -> Results + Send>>;
    let done: Arc<(Mutex<Option<Outcome>>, Condvar)> = Arc::default();
    let (their_done, executable, step) = (done.clone(), executable.clone(), step.clone());
    let job: Box<dyn FnOnce() -> Results + Send> = Box::new(move || {
        let results = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _helpers_wait = crate::intra_op::step();
            executable.run(&step, args, executable.num_threads(), stats)
        }));
        results.unwrap_or_else(|_| Err(error!(Internal, "a step panicked")))
    });
    pool.spawn(move || {
        let outcome = executor::begin(job);
        *their_done.0.lock() = Some(outcome);
        their_done.1.notify_one();
    });
    let mut slot = done.0.lock();
    loop {
        if let Some(outcome) = slot.take() {
            return outcome.unwrap_or_else(crate::intra_op::alone);
        }
        if done.1.wait_for(&mut slot, Poll::INTERVAL).timed_out() {
            poll.ask();
        }
    }
}
