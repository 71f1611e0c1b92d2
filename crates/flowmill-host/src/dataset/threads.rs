//! Threads that run jobs of one iterator.
//!
//! Jobs may wait for long: for a file, for a function that waits for a queue, for a consumer. So each job has a thread of its own while it runs.
//! A thread without work waits a while for the next job. Nothing is started before the first job, and nothing is left when the iterator is gone.

use flowmill_runtime::intra_op;
use flowmill_tensor::sync::{Condvar, Mutex};
use flowmill_tensor::{Result, bail, error};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// How long a thread waits for another job.
const IDLE: Duration = Duration::from_millis(500);

/// The threads of one iterator.
pub(super) struct Threads(Arc<Shared>);

struct Shared {
    /// The process that the threads are in, once there are any. A process that was forked has none of them.
    process: OnceLock<u32>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
    closed: bool,
}

impl Threads {
    /// No threads.
    pub(super) fn new() -> Threads {
        Threads(Arc::new(Shared { process: OnceLock::new(), state: Mutex::default(), wake: Condvar::new() }))
    }

    /// Checks that the threads there are, if any, are in this process.
    ///
    /// # Errors
    /// `FailedPrecondition` if this process was forked from theirs.
    pub(super) fn check_process(&self) -> Result<()> {
        if *self.0.process.get_or_init(std::process::id) == std::process::id() {
            return Ok(());
        }
        bail!(FailedPrecondition, "The iterator has threads in the process that this one was forked from. Initialize it again.")
    }

    /// Runs `job` on another thread, at once.
    ///
    /// # Errors
    /// `ResourceExhausted` if the system gives no thread, `FailedPrecondition` in a process that was forked from the one that made these threads.
    pub(super) fn spawn(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        self.check_process()?;
        let mut state = self.0.state.lock();
        if state.idle > state.jobs.len() {
            state.jobs.push_back(Box::new(job));
            drop(state);
            self.0.wake.notify_one();
            return Ok(());
        }
        drop(state);
        let shared = self.0.clone();
        let work = move || {
            // Pieces of kernels stay on this thread: it belongs to no pool.
            intra_op::alone(|| {
                job();
                shared.work();
            });
        };
        match std::thread::Builder::new().name("flowmill-data".to_owned()).spawn(work) {
            Ok(_) => Ok(()),
            Err(e) => Err(error!(ResourceExhausted, "cannot start a thread for a dataset: {e}")),
        }
    }

    /// Lets threads without work end at once.
    pub(super) fn close(&self) {
        self.0.state.lock().closed = true;
        self.0.wake.notify_all();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut state = self.state.lock();
            if state.jobs.is_empty() && !state.closed {
                state.idle += 1;
                (state, _) = self.wake.wait_for(state, IDLE);
                state.idle -= 1;
            }
            let Some(job) = state.jobs.pop_front() else { return };
            drop(state);
            job();
        }
    }
}
