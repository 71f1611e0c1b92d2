//! Intra-op parallelism: the number of threads that a kernel may use, and how these threads share the kernel's tasks.
//!
//! Kernels fork only on the threads of a pool that [`pool`] made. A step on any other thread runs its kernels on that thread alone. Rayon's global
//! pool is never used, because its threads do not exist in a forked process.
//!
//! [`pool`] and [`alone`] install this module as the scheduler of `flowmill_parallel`, through which kernels fork. A kernel's tasks go to the pool's
//! `Team` if the pool was made by [`pool`], otherwise to rayon. README.md beside this file describes how a team works and what it costs.

mod gate;
mod ownership;
mod team;
#[cfg(test)]
mod tests;

use rayon::ThreadPoolBuilder;
pub use rayon::{ThreadPool, ThreadPoolBuildError};
use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;
pub use team::StepGuard;
use team::Team;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
    static FORKS: Cell<u64> = const { Cell::new(0) };
}

/// This module as a scheduler for kernels.
struct IntraOp;

impl flowmill_parallel::Scheduler for IntraOp {
    fn threads(&self) -> usize {
        threads()
    }

    fn is_warm(&self) -> bool {
        is_warm()
    }

    fn run(&self, pieces: usize, f: &(dyn Fn(usize) + Sync)) {
        run(pieces, f);
    }
}

/// Returns the number of threads that a kernel on this thread may use, including this thread.
#[inline]
pub fn threads() -> usize {
    // Outside of a pool, rayon would start one of its own.
    if ALONE.get() || rayon::current_thread_index().is_none() { 1 } else { rayon::current_num_threads() }
}

/// Returns true inside of a call of [`alone`] on this thread.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Calls `f` without intra-op parallelism: [`threads`] returns 1 meanwhile.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    flowmill_parallel::install(&IntraOp);
    let _reset = Reset(ALONE.replace(true));
    f()
}

/// Makes a thread pool whose threads share the tasks of kernels as a team.
///
/// # Errors
/// Returns rayon's error if the system cannot start the threads.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    pool_with(threads, true)
}

/// Like [`pool`]. If `forks` is false, each kernel runs on one of the threads alone.
///
/// # Errors
/// Returns rayon's error if the system cannot start the threads.
pub fn pool_with(threads: usize, forks: bool) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    flowmill_parallel::install(&IntraOp);
    let team = Team::new(threads);
    let theirs = team.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("flowmill-{i}"))
        .start_handler(move |_| {
            crate::denormals::flush_forever();
            team::set_current(theirs.clone());
            ALONE.set(!forks);
        })
        .build()?;
    let pool = Arc::new(pool);
    team.set_pool(&pool);
    Ok(pool)
}

/// Returns the pool made by [`pool`] that this thread belongs to.
pub(crate) fn current_pool() -> Option<Arc<ThreadPool>> {
    team::with_current(|team| team.pool()).flatten()
}

/// Makes every later use of rayon's global pool panic, for tests. No code of Flowmill needs that pool, and a forked process that used it would wait
/// forever for threads that do not exist. Returns false if the pool exists already.
pub fn forbid_global_pool() -> bool {
    let refuse = |_| Err(std::io::Error::other("rayon's own pool is not to be used"));
    // A failed attempt to make the pool is the last one.
    matches!(ThreadPoolBuilder::new().num_threads(1).spawn_handler(refuse).build_global(), Err(e) if e.source().is_some())
}

/// Marks the beginning of a step: the current pool's helpers wait for tasks until the guard is dropped.
pub fn step() -> Option<StepGuard> {
    team::with_current(Team::begin_step)
}

/// Returns true if another thread is waiting for tasks now. A fork then costs about a microsecond instead of a wake-up.
pub fn is_warm() -> bool {
    !ALONE.get() && team::with_current(|team| team.is_warm()) == Some(true)
}

/// Keeps a pool's thread that has finished its job available while a step runs: it waits for tasks of kernels and for the pool's next jobs.
pub(crate) fn stay() {
    if !ALONE.get() {
        team::with_current(|team| team.stay());
    }
}

/// Returns the number of calls of [`run`] on this thread that shared their tasks with other threads.
pub fn forks() -> u64 {
    FORKS.get()
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
///
/// Each thread of the pool starts with its own share of the tasks. If there is one task per thread and a call is repeated, each task's data is then still
/// in the cache of the thread that runs it.
pub fn run(pieces: usize, f: &(dyn Fn(usize) + Sync)) {
    if pieces <= 1 || threads() == 1 {
        (0..pieces).for_each(f);
        return;
    }
    FORKS.set(FORKS.get() + 1);
    if team::with_current(|team| team.run(pieces, f)) != Some(true) {
        halve(0, pieces, f);
    }
}

fn halve(first: usize, end: usize, f: &(dyn Fn(usize) + Sync)) {
    if end - first <= 1 {
        if first < end {
            f(first);
        }
    } else {
        let middle = first + (end - first).div_ceil(2);
        join(|| halve(first, middle, f), || halve(middle, end, f));
    }
}

/// Like `rayon::join`, for kernels. While one side waits for the other, its thread may run tasks of kernels, but neither a node nor a step: these
/// could take long, or need a lock that the waiting kernel holds.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if threads() == 1 {
        return (a(), b());
    }
    let results = rayon::join(|| crate::executor::piece(a), || crate::executor::piece(b));
    crate::executor::spawn_postponed();
    results
}
