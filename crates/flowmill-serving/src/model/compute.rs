//! Runs steps that are not batched: on the thread of their connection if they are short, else on threads for steps.

use crate::queue::Queue;
use crate::system;
use flowmill::{Error, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// Steps that are expected to be shorter run on the thread of their connection. Handing work to another thread and back wakes two threads.
const LONGEST_INLINE_STEP: Duration = Duration::from_micros(150);

/// Runs steps. At most as many run at once as it has threads, and at most as many wait as it allows.
pub struct Compute {
    num_threads: usize,
    /// The threads without a step.
    threads: Arc<Semaphore>,
    /// The steps for the threads, which the first of them starts.
    steps: Arc<Queue<Work>>,
    started: OnceLock<Result<()>>,
    num_waiting: AtomicUsize,
    max_waiting: usize,
}

type Work = Box<dyn FnOnce() + Send>;

/// An estimate of the time of a step from those before it. It ignores steps that take longer while others do not: their thread was preempted, as half of
/// the threads are while requests arrive faster than the cores can answer them.
#[derive(Debug)]
pub(super) struct StepTime {
    /// The estimate, in nanoseconds per row.
    per_row: AtomicU64,
    /// The number of the last steps that all took longer than the estimate, and the fastest of them in nanoseconds per row.
    num_slower: AtomicUsize,
    fastest_slower: AtomicU64,
}

/// Steps in a row that take longer than the estimate before the fastest of them is the new one.
const NUM_SLOWER: usize = 8;

impl Default for StepTime {
    fn default() -> StepTime {
        StepTime { per_row: AtomicU64::new(u64::MAX), num_slower: AtomicUsize::new(0), fastest_slower: AtomicU64::new(u64::MAX) }
    }
}

impl StepTime {
    /// Returns the estimate for `rows` rows; very long before the first step.
    pub(super) fn of(&self, rows: usize) -> Duration {
        Duration::from_nanos(self.per_row.load(Relaxed).saturating_mul(rows.max(1) as u64))
    }

    /// Takes a step into account.
    pub(super) fn record(&self, rows: usize, time: Duration) {
        let (new, old) = (time.as_nanos() as u64 / rows.max(1) as u64, self.per_row.load(Relaxed));
        // A wrong update of two threads at once is corrected by later steps.
        let fastest = self.fastest_slower.load(Relaxed).min(new);
        let next = match old {
            u64::MAX => new,
            _ if new <= old => (old * 7 + new) / 8,
            _ if self.num_slower.fetch_add(1, Relaxed) + 1 < NUM_SLOWER => return self.fastest_slower.store(fastest, Relaxed),
            _ => fastest,
        };
        self.per_row.store(next, Relaxed);
        self.num_slower.store(0, Relaxed);
        self.fastest_slower.store(u64::MAX, Relaxed);
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
        Compute {
            num_threads: count,
            threads: Arc::new(Semaphore::new(count)),
            steps: Arc::new(Queue::new()),
            started: OnceLock::new(),
            num_waiting: AtomicUsize::new(0),
            max_waiting,
        }
    }

    /// Starts the threads, if they have not been started.
    fn start(&self) -> Result<()> {
        let start = |i: usize| {
            let steps = self.steps.clone();
            let run = move || {
                system::shorten_time_slice();
                while let Some(step) = steps.pop() {
                    // Whoever waits for a step that panics finds that it has no result.
                    let _ = catch_unwind(AssertUnwindSafe(step));
                }
            };
            let thread = std::thread::Builder::new().name(format!("flowmill-step-{i}")).spawn(run);
            thread.map(drop).map_err(|e| Error::resource_exhausted(format!("a thread for steps cannot be started: {e}")))
        };
        self.started.get_or_init(|| (0..self.num_threads).try_for_each(start)).clone()
    }

    /// Returns true if a step that is expected to take `expected` runs on the thread of its connection.
    pub(super) fn is_short(expected: Duration) -> bool {
        expected <= LONGEST_INLINE_STEP
    }

    /// Runs `step`, whose time is expected to be `expected`; returns its result and the time it waited. `step` is told whether it should stay on its thread:
    /// if it is short, or if every core has a step already, other threads would only cost it the way there and back.
    ///
    /// # Errors
    /// `ResourceExhausted` if too many steps wait or threads cannot be started, and the errors of the step.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        expected: Duration,
        step: impl FnOnce(bool) -> Result<T> + Send + 'static,
    ) -> Result<(T, Duration)> {
        let start = Instant::now();
        if Compute::is_short(expected) {
            return Ok((step(true)?, Duration::ZERO));
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
        self.start()?;
        let is_busy = self.threads.available_permits() == 0;
        let (sender, receiver) = oneshot::channel();
        self.steps.push(Box::new(move || {
            let waited = start.elapsed();
            let result = step(is_busy);
            drop(permit);
            // Nobody waits for the result if the client has gone.
            let _ = sender.send(result.map(|value| (value, waited)));
        }));
        receiver.await.map_err(|_| Error::internal("a step panicked"))?
    }

    /// Returns the number of steps that wait for a thread.
    pub fn num_waiting(&self) -> usize {
        self.num_waiting.load(Relaxed)
    }
}

impl Drop for Compute {
    fn drop(&mut self) {
        self.steps.close();
    }
}

impl fmt::Debug for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compute").field("num_threads", &self.num_threads).field("num_waiting", &self.num_waiting()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn estimates_follow_steps_and_rows() {
        let time = StepTime::default();
        assert!(time.of(1) > Duration::from_secs(1 << 32));
        time.record(10, Duration::from_micros(100));
        assert_eq!(time.of(3), Duration::from_micros(30));
        for micros in (50..).take(NUM_SLOWER - 1) {
            time.record(1, Duration::from_micros(micros));
            assert_eq!(time.of(1), Duration::from_micros(10));
        }
        time.record(1, Duration::from_micros(90));
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
            async move { compute.run(long, move |_| gate.recv().map_err(|_| Error::internal("gate"))).await }
        });
        while compute.threads.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let compute = compute.clone();
            async move { compute.run(long, |_| Ok(2)).await }
        });
        while compute.num_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = compute.run(long, |_| Ok(3)).await.unwrap_err();
        assert_eq!(refused.code(), flowmill::Code::ResourceExhausted);
        assert_eq!(compute.run(Duration::ZERO, |_| Ok(4)).await.unwrap().0, 4);
        open.send(()).unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(second.await.unwrap().unwrap().0, 2);
        assert_eq!(compute.num_waiting(), 0);
    }

    #[tokio::test]
    async fn steps_stay_on_their_thread_if_they_are_short_or_all_cores_have_one() {
        let compute = Arc::new(Compute::new(2, 1));
        let long = Duration::from_secs(1);
        assert!(compute.run(Duration::ZERO, Ok).await.unwrap().0);
        assert!(!compute.run(long, Ok).await.unwrap().0);
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let other = tokio::spawn({
            let compute = compute.clone();
            async move { compute.run(long, move |_| gate.recv().map_err(|_| Error::internal("gate"))).await }
        });
        while compute.threads.available_permits() == 2 {
            tokio::task::yield_now().await;
        }
        assert!(compute.run(long, Ok).await.unwrap().0);
        open.send(()).unwrap();
        other.await.unwrap().unwrap();
        assert!(!compute.run(long, Ok).await.unwrap().0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_steps_share_the_threads() {
        let compute = Arc::new(Compute::new(2, 64));
        let step = |_: bool| Ok(std::thread::current().id());
        let client = |compute: Arc<Compute>| async move {
            let mut threads = Vec::new();
            for _ in 0..100 {
                threads.push(compute.run(Duration::from_secs(1), step).await.unwrap().0);
            }
            threads
        };
        let clients: Vec<_> = (0..16).map(|_| tokio::spawn(client(compute.clone()))).collect();
        let mut threads = std::collections::HashSet::new();
        for client in clients {
            threads.extend(client.await.unwrap());
        }
        assert_eq!(threads.len(), 2);
    }

    #[tokio::test]
    async fn a_step_that_panics_fails_alone() {
        let compute = Compute::new(1, 1);
        let error = compute.run(Duration::from_secs(1), |_| -> Result<()> { panic!("expected") }).await.unwrap_err();
        assert_eq!(error.code(), flowmill::Code::Internal);
        assert_eq!(compute.run(Duration::from_secs(1), |_| Ok(1)).await.unwrap().0, 1);
    }
}
