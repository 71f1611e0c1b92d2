//! A queue between threads.

use flowmill::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

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

    /// Like [`Queue::pop`], but calls `rest` once if there is no job for this long.
    pub(crate) fn pop_or_rest(&self, time: Duration, rest: impl FnOnce()) -> Option<T> {
        let end = Instant::now() + time;
        let mut jobs = self.jobs.lock();
        while jobs.0.is_empty() && !jobs.1 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(jobs);
                rest();
                return self.pop();
            }
            jobs = self.changed.wait_for(jobs, left).0;
        }
        jobs.0.pop_front()
    }

    pub(crate) fn close(&self) {
        self.jobs.lock().1 = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_without_jobs_rests_once() {
        let (queue, mut rests) = (Queue::new(), 0);
        queue.push(1);
        assert_eq!(queue.pop_or_rest(Duration::ZERO, || rests += 1), Some(1));
        assert_eq!(rests, 0);
        let job = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                queue.push(2);
            });
            queue.pop_or_rest(Duration::from_millis(1), || rests += 1)
        });
        assert_eq!((job, rests), (Some(2), 1));
        queue.close();
        assert_eq!(queue.pop_or_rest(Duration::from_secs(60), || rests += 1), None);
        assert_eq!(rests, 1);
    }
}
