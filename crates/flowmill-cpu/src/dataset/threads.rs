//! Threads that run jobs of one iterator.
//!
//! Jobs may wait for long: for a file, for a function that waits for a queue, for a consumer. So each job has a thread of its own while it runs.
//! A thread without work waits a while for the next job. Nothing is started before the first job, and nothing is left when the iterator is gone.

use flowmill_tensor::{Result, error};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// How long a thread waits for another job.
const IDLE: Duration = Duration::from_millis(500);

/// The threads of one iterator.
pub(super) struct Threads(Arc<Shared>);

struct Shared {
    /// The process that the threads are in. A process that was forked has none of them.
    process: u32,
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
        Threads(Arc::new(Shared { process: std::process::id(), state: Mutex::default(), wake: Condvar::new() }))
    }

    /// Runs `job` on another thread, at once.
    ///
    /// # Errors
    /// `ResourceExhausted` if the system gives no thread, `FailedPrecondition` in a process that was forked from the one that made these threads.
    pub(super) fn spawn(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        if self.0.process != std::process::id() {
            return Err(error!(FailedPrecondition, "The iterator's threads are in the process that made the iterator, not in this one."));
        }
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
            job();
            shared.work();
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
                self.wake.wait_for(&mut state, IDLE);
                state.idle -= 1;
            }
            let Some(job) = state.jobs.pop_front() else { return };
            drop(state);
            job();
        }
    }
}
