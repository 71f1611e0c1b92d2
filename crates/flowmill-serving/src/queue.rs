//! A queue between threads.

use flowmill::sync::{Condvar, Mutex};
use std::collections::VecDeque;

/// A queue of jobs that threads wait for, until it is closed and empty.
pub(crate) struct Queue<T> {
    jobs: Mutex<(VecDeque<T>, bool)>,
    changed: Condvar,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Queue<T> {
        Queue { jobs: Mutex::new((VecDeque::new(), false)), changed: Condvar::new() }
    }

    /// Appends a job. If the queue is closed, drops the job on this thread.
    pub(crate) fn push(&self, job: T) {
        let mut jobs = self.jobs.lock();
        if jobs.1 {
            drop(jobs);
            return drop(job);
        }
        jobs.0.push_back(job);
        self.changed.notify_one();
    }

    /// Waits for a job. `None` if the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut jobs = self.jobs.lock();
        loop {
            match jobs.0.pop_front() {
                Some(job) => return Some(job),
                None if jobs.1 => return None,
                None => jobs = self.changed.wait(jobs),
            }
        }
    }

    pub(crate) fn close(&self) {
        self.jobs.lock().1 = true;
        self.changed.notify_all();
    }
}
