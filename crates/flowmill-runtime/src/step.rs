//! What all kernels of one step share.

use crate::cancel::CancelToken;
use crate::function::FunctionLibraryRuntime;
use crate::rendezvous::Rendezvous;
use crate::resource::ResourceManager;
use flowmill_tensor::{Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// One run of a plan, as its kernels see it.
#[derive(Clone)]
pub struct StepContext {
    /// Unique within the process.
    pub step_id: u64,
    /// Ends the step early.
    pub cancel: CancelToken,
    /// When the step must have ended.
    pub deadline: Option<Instant>,
    /// The session's resources.
    pub resources: Arc<ResourceManager>,
    /// The graph's functions.
    pub functions: Arc<FunctionLibraryRuntime>,
    /// Where this step's sends and receives meet.
    pub rendezvous: Arc<Rendezvous>,
    /// Asked now and then by whatever keeps the caller's thread busy or waiting; may cancel the step.
    pub poll: Option<Poll>,
}

/// Lets the caller look up from a step that takes long, such as for a pending Ctrl-C.
#[derive(Clone)]
pub struct Poll {
    thread: ThreadId,
    made: Instant,
    /// Milliseconds after `made` at which it was last asked.
    last: Arc<AtomicU64>,
    ask: Arc<dyn Fn() + Send + Sync>,
}

impl Poll {
    /// How often a waiting thread asks.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// `ask` is called on the current thread only.
    pub fn new(ask: impl Fn() + Send + Sync + 'static) -> Poll {
        Poll { thread: std::thread::current().id(), made: Instant::now(), last: Arc::default(), ask: Arc::new(ask) }
    }

    /// Asks, if this is the thread to ask on.
    pub fn ask(&self) {
        if std::thread::current().id() == self.thread {
            (self.ask)();
        }
    }

    /// Asks, if the last time is [`Poll::INTERVAL`] ago. Costs a look at the clock.
    pub fn ask_at_times(&self) {
        let now = self.made.elapsed().as_millis() as u64;
        if now.saturating_sub(self.last.load(Ordering::Relaxed)) >= Poll::INTERVAL.as_millis() as u64 {
            self.last.store(now, Ordering::Relaxed);
            self.ask();
        }
    }
}

impl StepContext {
    /// A step of a session that has these resources and functions; nothing limits it.
    pub fn new(resources: Arc<ResourceManager>, functions: Arc<FunctionLibraryRuntime>) -> StepContext {
        static NEXT_STEP: AtomicU64 = AtomicU64::new(1);
        StepContext {
            step_id: NEXT_STEP.fetch_add(1, Ordering::Relaxed),
            cancel: CancelToken::new(),
            deadline: None,
            resources,
            functions,
            rendezvous: Arc::new(Rendezvous::new()),
            poll: None,
        }
    }

    /// What a loop asks between iterations that take some time: the caller looks up, the clock is read.
    ///
    /// # Errors
    /// `DeadlineExceeded` after the deadline; the reason of a cancellation.
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
