//! The threads that help a step.

use super::run::Run;
use flowmill_tensor::{Result, error};
use std::cell::Cell;
use std::sync::Arc;

/// Threads that both run nodes beside the calling thread and share the work inside kernels: one rayon pool, so that the two never
/// compete for cores.
pub struct ThreadPool(rayon::ThreadPool);

thread_local! {
    /// Whether this thread is inside of a run. What rayon hands it then, while a kernel waits for its pieces, must not be another node.
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as inside of a run until it is dropped.
pub(super) struct InRun {
    before: bool,
}

impl InRun {
    pub(super) fn enter() -> InRun {
        InRun { before: IN_RUN.replace(true) }
    }

    /// Whether the thread was inside of a run before.
    pub(super) fn was_set(&self) -> bool {
        self.before
    }

    pub(super) fn is_set() -> bool {
        IN_RUN.get()
    }
}

impl Drop for InRun {
    fn drop(&mut self) {
        IN_RUN.set(self.before);
    }
}

impl ThreadPool {
    /// A pool of this many threads, at least one.
    ///
    /// # Errors
    /// `ResourceExhausted` where the system gives no threads.
    pub fn new(num_threads: usize) -> Result<Arc<ThreadPool>> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(num_threads.max(1)).thread_name(|i| format!("flowmill-{i}"));
        builder.build().map(|pool| Arc::new(ThreadPool(pool))).map_err(|e| error!(ResourceExhausted, "cannot start {num_threads} threads: {e}"))
    }

    /// The number of threads.
    pub fn num_threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `f` on one of the threads, so that what it forks with rayon stays in this pool.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.0.install(f)
    }

    /// Whether the current thread is one of the pool's.
    pub(super) fn is_current(&self) -> bool {
        self.0.current_thread_index().is_some()
    }

    /// Sends a helper to `run`.
    pub(super) fn send_helper(&self, run: Arc<Run>) {
        self.0.spawn(move || Run::help(&run));
    }
}
