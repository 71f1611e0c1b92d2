//! Threads that run the jobs of one iterator.
//!
//! Jobs may block for a long time: on a file, on a function that waits for a queue, on a consumer. So each job has its own thread while it runs. An
//! idle thread waits for some time for the next job. No thread is started before the first job, and no thread remains when the iterator is dropped.

use flowmill_runtime::intra_op;
use flowmill_tensor::sync::{Condvar, Mutex};
use flowmill_tensor::{Result, bail, error};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// The time that an idle thread waits for another job.
const IDLE: Duration = Duration::from_millis(500);

/// The threads of one iterator.
pub(super) struct Threads(Arc<Shared>);

struct Shared {
    /// The process that the threads belong to, once a thread was started. A process that was forked from it has none of them.
    process: OnceLock<u32>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The number of threads that wait for a job.
    idle: usize,
    closed: bool,
}

impl Threads {
    /// Returns an empty set of threads.
    pub(super) fn new() -> Threads {
        Threads(Arc::new(Shared { process: OnceLock::new(), state: Mutex::default(), wake: Condvar::new() }))
    }

    /// Checks that the threads, if any, belong to this process.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` if this process was forked from the process that the threads belong to.
    pub(super) fn check_process(&self) -> Result<()> {
        if *self.0.process.get_or_init(std::process::id) == std::process::id() {
            return Ok(());
        }
        bail!(FailedPrecondition, "The iterator has threads in the process that this one was forked from. Initialize it again.")
    }

    /// Runs `job` on another thread, without waiting for other jobs.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the system cannot start a thread, `FailedPrecondition` in a process that was forked from the process that the threads
    /// belong to.
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
            // Kernels do not fork on this thread, because it belongs to no pool.
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

    /// Ends idle threads at once.
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
