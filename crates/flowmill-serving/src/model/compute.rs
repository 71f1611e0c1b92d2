//! Runs steps that are not batched: on the thread of their connection if they are short, else on threads for steps.

use flowmill::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Steps that are expected to be shorter run on the thread of their connection. Handing work to another thread and back wakes two threads.
const LONGEST_INLINE_STEP: Duration = Duration::from_micros(150);

/// Runs steps. At most as many run at once as it has threads, and at most as many wait as it allows.
#[derive(Debug)]
pub struct Compute {
    threads: Arc<Semaphore>,
    num_waiting: AtomicUsize,
    max_waiting: usize,
}

/// An estimate of the time of a step from those before it. It follows a change within a few steps, and ignores a single step that takes longer: its thread was
/// preempted.
#[derive(Debug)]
pub(super) struct StepTime {
    /// The estimate, in nanoseconds per row.
    per_row: AtomicU64,
    /// The last step, in nanoseconds per row.
    last: AtomicU64,
}

impl Default for StepTime {
    fn default() -> StepTime {
        StepTime { per_row: AtomicU64::new(u64::MAX), last: AtomicU64::new(0) }
    }
}

impl StepTime {
    /// Returns the estimate for `rows` rows; very long before the first step.
    pub(super) fn of(&self, rows: usize) -> Duration {
        Duration::from_nanos(self.per_row.load(Relaxed).saturating_mul(rows.max(1) as u64))
    }

    /// Takes a step into account.
    pub(super) fn record(&self, rows: usize, time: Duration) {
        let new = time.as_nanos() as u64 / rows.max(1) as u64;
        let (old, last) = (self.per_row.load(Relaxed), self.last.swap(new, Relaxed));
        // A wrong update of two threads at once is corrected by the next step.
        let next = match old {
            u64::MAX => new,
            _ if new > old => old.max(new.min(last)),
            _ => (old * 7 + new) / 8,
        };
        self.per_row.store(next, Relaxed);
    }
}

/// A place among the waiting steps.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Compute {
    /// Runs up to `num_threads` steps at once, 0 for one per core, while up to `max_waiting` others wait.
    pub fn new(num_threads: usize, max_waiting: usize) -> Compute {
        let count = match num_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        Compute { threads: Arc::new(Semaphore::new(count)), num_waiting: AtomicUsize::new(0), max_waiting }
    }

    /// Returns true if a step that is expected to take `expected` runs on the thread of its connection.
    pub(super) fn is_short(expected: Duration) -> bool {
        expected <= LONGEST_INLINE_STEP
    }

    /// Runs `step`, whose time is expected to be `expected`; returns its result and the time it waited.
    ///
    /// # Errors
    /// `ResourceExhausted` if too many steps wait, and the errors of the step.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        expected: Duration,
        step: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<(T, Duration)> {
        let start = Instant::now();
        if Compute::is_short(expected) {
            return Ok((step()?, Duration::ZERO));
        }
        let permit = match self.threads.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if self.num_waiting.fetch_add(1, Relaxed) >= self.max_waiting {
                    self.num_waiting.fetch_sub(1, Relaxed);
                    return Err(Error::resource_exhausted(format!("{} requests wait for a thread already", self.max_waiting)));
                }
                let _waiting = Waiting(&self.num_waiting);
                self.threads.clone().acquire_owned().await.map_err(|_| Error::unavailable("the server is shutting down"))?
            }
        };
        let run = move || {
            let waited = start.elapsed();
            let result = step();
            drop(permit);
            result.map(|value| (value, waited))
        };
        tokio::task::spawn_blocking(run).await.map_err(|e| Error::internal(format!("the thread of a step ended: {e}")))?
    }

    /// Returns the number of steps that wait for a thread.
    pub fn num_waiting(&self) -> usize {
        self.num_waiting.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn estimates_follow_steps_and_rows() {
        let time = StepTime::default();
        assert!(time.of(1) > Duration::from_secs(1 << 32));
        time.record(10, Duration::from_micros(100));
        assert_eq!(time.of(3), Duration::from_micros(30));
        time.record(1, Duration::from_micros(50));
        assert_eq!(time.of(1), Duration::from_micros(10));
        time.record(1, Duration::from_micros(60));
        assert_eq!(time.of(1), Duration::from_micros(50));
        (0..200).for_each(|_| time.record(1, Duration::from_micros(10)));
        assert!(time.of(1) < Duration::from_micros(12));
    }

    #[tokio::test]
    async fn steps_beyond_the_limit_are_refused() {
        let compute = Arc::new(Compute::new(1, 1));
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let long = Duration::from_secs(1);
        let first = tokio::spawn({
            let compute = compute.clone();
            async move { compute.run(long, move || gate.recv().map_err(|_| Error::internal("gate"))).await }
        });
        while compute.threads.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let compute = compute.clone();
            async move { compute.run(long, || Ok(2)).await }
        });
        while compute.num_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = compute.run(long, || Ok(3)).await.unwrap_err();
        assert_eq!(refused.code(), flowmill::Code::ResourceExhausted);
        assert_eq!(compute.run(Duration::ZERO, || Ok(4)).await.unwrap().0, 4);
        open.send(()).unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(second.await.unwrap().unwrap().0, 2);
        assert_eq!(compute.num_waiting(), 0);
    }
}
