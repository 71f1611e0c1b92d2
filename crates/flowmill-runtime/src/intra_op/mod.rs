//! How many threads a kernel may use inside itself, and how they share its pieces.
//!
//! Kernels run on rayon's pool. A session with one thread says so here instead of entering a pool of one, which would cost more than most
//! kernels; a session with a number of its own has a pool of that size, which its steps run in.
//!
//! A kernel's pieces go to the pool's [`Team`] where the pool was made by [`pool`], else to rayon. README.md beside this file says how a team
//! works and what it costs.

mod gate;
mod ownership;
mod team;
#[cfg(test)]
mod tests;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::cell::Cell;
pub use team::StepGuard;
use team::Team;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
    static FORKS: Cell<u64> = const { Cell::new(0) };
}

/// The threads that a kernel on this thread may use, itself included.
#[inline]
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Whether [`alone`] is in effect.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Calls `f` with [`threads`] being 1.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _reset = Reset(ALONE.replace(true));
    f()
}

/// A pool whose threads share the pieces of kernels as a team.
///
/// # Errors
/// Where the system gives no threads.
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    let team = Team::new(threads);
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("flowmill-{i}"))
        .start_handler(move |_| team::set_current(team.clone()))
        .build()
}

/// Lets the current pool's helpers wait for pieces until the guard is dropped: for as long as a step runs.
pub fn step() -> Option<StepGuard> {
    team::with_current(Team::begin_step)
}

/// Whether another thread is waiting for pieces now, so that a fork costs about a microsecond and not a wake-up.
pub fn is_warm() -> bool {
    !ALONE.get() && team::with_current(|team| team.is_warm()) == Some(true)
}

/// What a thread of the pool does that has done what it came for: it waits for pieces and for the pool's next jobs, while a step runs.
pub(crate) fn stay() {
    if !ALONE.get() {
        team::with_current(|team| team.stay());
    }
}

/// Takes pieces until `is_enough`; false where nothing came for a while, `None` where the thread has no team.
pub(crate) fn wait(is_enough: impl Fn() -> bool) -> Option<bool> {
    if ALONE.get() { None } else { team::with_current(|team| team.wait(is_enough)) }
}

/// How often [`run`], called on this thread, has shared its pieces with other threads.
pub fn forks() -> u64 {
    FORKS.get()
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
///
/// The calling thread starts with the first piece, others further on. With one piece a thread, a caller that repeats the same call finds the
/// same piece's data in its own cache.
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

/// `rayon::join` for kernels. While one of the two waits, its thread may take pieces of kernels, but neither a node nor a step, which could
/// take long, or need a lock that the waiting kernel holds.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if ALONE.get() {
        return (a(), b());
    }
    rayon::join(|| crate::executor::piece(a), || crate::executor::piece(b))
}
