//! The threads that help a step. They belong to a pool of [`intra_op`], and also run the tasks inside kernels, so that nodes and kernels never
//! compete for cores.

use super::crew::Crew;
use crate::intra_op;
use rayon::ThreadPool;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// True while this thread is inside of a run. A job that rayon hands it then, while a kernel waits for its tasks, must not run another node.
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
    /// Jobs that rayon handed to this thread while it was inside of a run.
    static POSTPONED: RefCell<Vec<Job>> = const { RefCell::new(Vec::new()) };
}

/// Marks the thread as inside of a run until it is dropped.
pub(super) struct InRun {
    before: bool,
}

impl InRun {
    pub(super) fn enter() -> InRun {
        InRun { before: IN_RUN.replace(true) }
    }

    fn is_set() -> bool {
        IN_RUN.get()
    }
}

impl Drop for InRun {
    fn drop(&mut self) {
        IN_RUN.set(self.before);
        if !self.before {
            spawn_postponed();
        }
    }
}

/// Calls `job` on a thread of `pool` that is not inside of a run. A thread that receives the job while one of its kernels waits for tasks returns it
/// to the pool when these are done: inside of the kernel, the job could take long or need a lock that the kernel holds.
pub(super) fn spawn(pool: &ThreadPool, job: impl FnOnce() + Send + 'static) {
    pool.spawn(move || perform(Box::new(job)));
}

fn perform(job: Job) {
    if InRun::is_set() {
        return POSTPONED.with_borrow_mut(|postponed| postponed.push(job));
    }
    let in_run = InRun::enter();
    job();
    drop(in_run);
    intra_op::stay();
}

/// Returns to the pool the jobs that this thread postponed while it waited for tasks. Other threads can take them from then on.
pub(crate) fn spawn_postponed() {
    // A job may not be postponed again by what it runs into here: it is only put into a queue.
    let jobs = POSTPONED.with_borrow_mut(std::mem::take);
    for job in jobs {
        rayon::spawn(move || perform(job));
    }
}

/// Returns true if this thread is inside of a run. In a job that rayon hands to a thread, this means that a kernel further down the stack waits for
/// its tasks.
pub(crate) fn is_in_run() -> bool {
    InRun::is_set()
}

/// Calls `f`, which is a task of a kernel, and marks the thread as inside of the kernel meanwhile.
pub(crate) fn piece<R>(f: impl FnOnce() -> R) -> R {
    let _in_run = InRun::enter();
    f()
}

/// The threads that may help a step, and the settings that they copy from its first thread.
pub(super) struct Threads {
    /// The most threads that work on the step at once.
    pub limit: u32,
    /// `None` is a step that its caller works on alone.
    pool: Option<Arc<ThreadPool>>,
    /// Kernels must not fork.
    alone: bool,
}

impl Threads {
    /// `num_threads` of the pool that the current thread belongs to, 0 for all of them; without a pool, the current thread alone. The thread of a step
    /// without a caller may leave before the step has ended, so that even a step of one thread needs the pool.
    pub(super) fn new(num_threads: usize, has_caller: bool) -> Threads {
        let pool = if num_threads == 1 && has_caller { None } else { intra_op::current_pool() };
        let limit = match (&pool, num_threads) {
            (None, _) => 1,
            (Some(pool), 0) => pool.current_num_threads(),
            (Some(_), n) => n,
        };
        Threads { limit: u32::try_from(limit).unwrap_or(u32::MAX), pool, alone: intra_op::is_alone() }
    }

    /// Returns true if there are threads to send.
    pub(super) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Sends a helper to `crew`, which has a place for it.
    pub(super) fn send_helper(&self, crew: Arc<Crew>) {
        let alone = self.alone;
        if let Some(pool) = &self.pool {
            spawn(pool, move || if alone { intra_op::alone(|| crew.help()) } else { crew.help() });
        }
    }
}
