//! The state that all kernels of one step share.

use crate::cancel::CancelToken;
use crate::device::{Device, HostDevice};
use crate::executor::StatsCollector;
use crate::function::FunctionLibraryRuntime;
use crate::rendezvous::Rendezvous;
use crate::resource::ResourceManager;
use flowmill_tensor::{Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// One step: the state that is common to its plans on all devices.
pub struct Step {
    /// A number that is unique within the process.
    pub id: u64,
    /// Ends the step early.
    pub cancel: CancelToken,
    /// The time at which the step ends with `DeadlineExceeded`.
    pub deadline: Option<Instant>,
    /// Hands tensors from this step's sends to its receives.
    pub rendezvous: Rendezvous,
    /// Called from time to time on the caller's thread, while it works or waits. May cancel the step.
    pub poll: Option<Poll>,
    /// Records what the nodes of called functions did; `None` measures nothing.
    pub stats: Option<Arc<StatsCollector>>,
}

/// A step on one of its devices: the view that kernels have of it.
#[derive(Clone)]
pub struct DeviceStep {
    /// The step.
    pub step: Arc<Step>,
    /// The device that the kernels run on.
    pub device: Arc<dyn Device>,
    /// The session's resources on the device.
    pub resources: Arc<ResourceManager>,
    /// The graph's functions.
    pub functions: Arc<FunctionLibraryRuntime>,
}

/// A callback into the caller of a step that takes long, for example to check for a pending Ctrl-C.
#[derive(Clone)]
pub struct Poll {
    thread: ThreadId,
    made: Instant,
    /// The time of the last call, in milliseconds after `made`.
    last: Arc<AtomicU64>,
    ask: Arc<dyn Fn() + Send + Sync>,
}

impl Poll {
    /// The time between two calls of the callback while a thread waits.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Makes a poll that calls `ask` on the current thread only.
    pub fn new(ask: impl Fn() + Send + Sync + 'static) -> Poll {
        Poll { thread: std::thread::current().id(), made: Instant::now(), last: Arc::default(), ask: Arc::new(ask) }
    }

    /// Returns true on the thread that made the poll.
    pub fn is_here(&self) -> bool {
        std::thread::current().id() == self.thread
    }

    /// Calls the callback if this is the thread that made the poll.
    pub fn ask(&self) {
        if self.is_here() {
            (self.ask)();
        }
    }

    /// Like [`Poll::ask`], at most once per [`Poll::INTERVAL`]. Reads the clock.
    pub fn ask_at_times(&self) {
        let now = self.made.elapsed().as_millis() as u64;
        if now.saturating_sub(self.last.load(Ordering::Relaxed)) >= Poll::INTERVAL.as_millis() as u64 {
            self.last.store(now, Ordering::Relaxed);
            self.ask();
        }
    }
}

impl DeviceStep {
    /// Makes a new step on a CPU without kernels, for kernels that are called outside of a session.
    pub fn on_host(resources: Arc<ResourceManager>, functions: Arc<FunctionLibraryRuntime>) -> DeviceStep {
        DeviceStep { step: Arc::new(Step::new()), device: HostDevice::cpu(0, Arc::default()), resources, functions }
    }
}

impl Default for Step {
    fn default() -> Step {
        Step::new()
    }
}

impl Step {
    /// Makes a step without a deadline and without a poll.
    pub fn new() -> Step {
        Step::with_cancel(CancelToken::new())
    }

    /// Like [`Step::new`], for a step that `cancel` ends early.
    pub fn with_cancel(cancel: CancelToken) -> Step {
        static NEXT_STEP: AtomicU64 = AtomicU64::new(1);
        Step {
            id: NEXT_STEP.fetch_add(1, Ordering::Relaxed),
            cancel,
            deadline: None,
            rendezvous: Rendezvous::new(),
            poll: None,
            stats: None,
        }
    }

    /// Returns a step for a call of a function on several devices. It ends with this step, and has a rendezvous of its own, so that calls which run at
    /// the same time do not receive each other's tensors.
    pub fn for_call(&self, rendezvous: Rendezvous) -> Step {
        let (cancel, poll, stats) = (self.cancel.clone(), self.poll.clone(), self.stats.clone());
        Step { id: self.id, cancel, deadline: self.deadline, rendezvous, poll, stats }
    }

    /// Checks the deadline and the cancellation, and calls the caller's [`Poll`] if it is due. Loops call this between iterations that take some
    /// time.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded` after the deadline, and the reason of the cancellation if the step is cancelled.
    pub fn look_up(&self) -> Result<()> {
        if let Some(poll) = &self.poll {
            poll.ask_at_times();
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            bail!(DeadlineExceeded, "Timed out waiting for notification");
        }
        self.cancel.check()
    }
}

/// Limits how often a loop calls [`Step::look_up`]: about once per millisecond, for any length of its iterations, so that short iterations do not pay
/// for reading the clock.
pub struct Pace {
    last: Instant,
    /// Iterations between two calls of [`Step::look_up`].
    interval: u32,
    left: u32,
}

impl Pace {
    const PERIOD: Duration = Duration::from_millis(1);
    const MAX_INTERVAL: u32 = 1 << 16;

    /// Makes a pace whose first [`Pace::tick`] calls [`Step::look_up`].
    pub fn new() -> Pace {
        Pace { last: Instant::now(), interval: 1, left: 1 }
    }

    /// Counts an iteration of the loop. Returns true if the loop has run for about a millisecond and should let other work of the step run.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded` after the deadline, and the reason of the cancellation if the step is cancelled. Every call checks the
    /// cancellation.
    pub fn tick(&mut self, step: &Step) -> Result<bool> {
        self.left -= 1;
        if self.left > 0 {
            return if step.cancel.is_cancelled() { step.cancel.check().map(|()| false) } else { Ok(false) };
        }
        let now = Instant::now();
        let is_early = now.duration_since(self.last) < Pace::PERIOD;
        self.interval = if is_early { (self.interval * 2).min(Pace::MAX_INTERVAL) } else { (self.interval / 4).max(1) };
        (self.left, self.last) = (self.interval, now);
        step.look_up().map(|()| !is_early)
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flowmill_tensor::{Code, error};

    fn step(deadline: Option<Instant>) -> Step {
        Step { deadline, ..Step::new() }
    }

    #[test]
    fn a_fast_loop_looks_up_rarely_and_a_slow_one_each_time() {
        let looks = Arc::new(AtomicU64::new(0));
        let counted = looks.clone();
        let mut step = step(None);
        step.poll = Some(Poll::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let mut pace = Pace::new();
        (0..100_000).for_each(|_| assert!(pace.tick(&step).is_ok()));
        assert!(pace.interval > 16, "{}", pace.interval);
        pace.left = 1;
        for _ in 0..10 {
            std::thread::sleep(Pace::PERIOD * 2);
            pace.left = 1;
            pace.tick(&step).unwrap();
        }
        assert_eq!(pace.interval, 1);
        std::thread::sleep(Poll::INTERVAL);
        pace.tick(&step).unwrap();
        assert!(looks.load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn a_loop_ends_at_the_deadline_and_when_it_is_cancelled() {
        let late = step(Some(Instant::now() + Duration::from_millis(20)));
        let mut pace = Pace::new();
        let e = loop {
            if let Err(e) = pace.tick(&late) {
                break e;
            }
        };
        assert_eq!(e.code(), Code::DeadlineExceeded);
        let cancelled = step(None);
        let mut pace = Pace::new();
        pace.tick(&cancelled).unwrap();
        pace.tick(&cancelled).unwrap();
        cancelled.cancel.cancel(error!(Cancelled, "enough"));
        assert!(pace.tick(&cancelled).is_err());
    }
}
