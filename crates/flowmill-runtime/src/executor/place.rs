//! Hand-over of a step to a thread of a pool, while its caller waits.

use super::run::{Done, Results};
use super::threads;
use super::timer;
use crate::step::{Poll, Step};
use flowmill_tensor::error;
use flowmill_tensor::sync::{Condvar, Mutex};
use rayon::ThreadPool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Start = Box<dyn FnOnce(Done) + Send>;

/// The progress of a step.
enum Progress {
    /// The step waits for a thread.
    Waiting(Start),
    /// A thread has begun the step. It ends by itself, or soon after it is cancelled.
    Started,
    /// The step has ended.
    Ended(Results),
    /// The caller has stopped waiting for a thread. The step must not begin any more.
    GivenUp,
}

struct Place {
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Calls `start` on a thread of `pool`, and waits until the step that it starts has delivered its results. Calls the step's poll from time to time
/// while it waits. `start` is not called if the step is cancelled, or its deadline passes, before a thread of the pool is free.
pub(crate) fn run_in(pool: &ThreadPool, step: &Step, start: impl FnOnce(Done) + Send + 'static) -> Results {
    let place = Arc::new(Place { progress: Mutex::new(Progress::Waiting(Box::new(start))), changed: Condvar::new() });
    let _deadline = step.deadline.and_then(|at| timer::watch(at, &step.cancel));
    let notified = place.clone();
    let _registration = step.cancel.on_cancel(move |_| notified.notify());
    let theirs = place.clone();
    threads::spawn(pool, move || theirs.begin());
    place.wait(step)
}

impl Place {
    /// Wakes the caller, which then sees all earlier changes.
    fn notify(&self) {
        drop(self.progress.lock());
        self.changed.notify_one();
    }

    /// Begins the step if its caller still waits.
    fn begin(self: Arc<Place>) {
        let start = {
            let mut progress = self.progress.lock();
            match std::mem::replace(&mut *progress, Progress::Started) {
                Progress::Waiting(start) => start,
                other => return *progress = other,
            }
        };
        let ended = self.clone();
        let done = Box::new(move |results| ended.end(results));
        if catch_unwind(AssertUnwindSafe(|| start(done))).is_err() {
            self.end(Err(error!(Internal, "a step panicked")));
        }
    }

    fn end(&self, results: Results) {
        let mut progress = self.progress.lock();
        if !matches!(*progress, Progress::Ended(_)) {
            *progress = Progress::Ended(results);
        }
        drop(progress);
        self.changed.notify_one();
    }

    fn wait(&self, step: &Step) -> Results {
        let mut progress = self.progress.lock();
        loop {
            match std::mem::replace(&mut *progress, Progress::GivenUp) {
                Progress::Ended(results) => return results,
                // What `start` owns is dropped outside of the lock.
                Progress::Waiting(start) if step.cancel.is_cancelled() => {
                    drop(progress);
                    drop(start);
                    step.cancel.reason_if_cancelled()?;
                    return Err(error!(Internal, "a step was cancelled without a reason"));
                }
                before => *progress = before,
            }
            match &step.poll {
                None => progress = self.changed.wait(progress),
                Some(poll) => {
                    let is_over;
                    (progress, is_over) = self.changed.wait_for(progress, Poll::INTERVAL);
                    if is_over {
                        // Asking may cancel the step, which takes the lock.
                        drop(progress);
                        poll.ask();
                        progress = self.progress.lock();
                    }
                }
            }
        }
    }
}
