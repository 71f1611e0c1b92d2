//! One run of a plan, of a step's own or of a function that the step calls: its results, its first error and how it ends.

use super::asynchronous::Completed;
use super::block::{Iteration, Slot};
use super::crew::{Crew, Work};
use super::plan::Plan;
use super::protocol::Live;
use super::stats::{DeviceStats, StatsCollector};
use super::sync::{AtomicBool, AtomicI64, AtomicPtr, Ordering};
use super::worker::Worker;
use crate::function::at_depth;
use crate::step::{DeviceStep, Poll, Step};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, Tensor};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

/// A node that can fire in an iteration; it holds a reference of the iteration.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub iteration: *const Iteration,
    pub node: u32,
    /// Bit 0 is set for a dead node. The other bits are the time of scheduling, in units of 64 ns since the collector's start, if statistics are
    /// collected.
    pub info: u32,
}

// SAFETY: an item holds a reference of its iteration, whose parts are changed by the protocol of README.md.
unsafe impl Send for Item {}

impl Item {
    #[inline]
    pub(super) fn is_dead(self) -> bool {
        self.info & 1 != 0
    }
}

/// The results of a run: one entry per result, `None` for a dead one.
pub type Results = Result<Vec<Option<Tensor>>>;

/// A callback that receives a run's results when the run has ended.
pub type Done = Box<dyn FnOnce(Results) + Send>;

pub(super) struct Run {
    pub plan: Arc<Plan>,
    pub step: Arc<Step>,
    pub device_step: Arc<DeviceStep>,
    pub crew: Arc<Crew>,
    /// The number of nested function calls that led to the run.
    pub depth: u32,
    stats: Option<DeviceStats>,
    results: Box<[UnsafeCell<Slot>]>,
    live: Live,
    /// The root iteration, once the run has begun; null again if the thread that began the run has freed it.
    root: AtomicPtr<Iteration>,
    done: Mutex<Option<Done>>,
    /// Set when no more nodes may fire.
    stopped: AtomicBool,
    error: Mutex<Option<Error>>,
    /// Blocks in use, for the check at the end.
    blocks: AtomicI64,
}

// SAFETY: raw pointers and cells are used by the protocol of README.md: results are written once, by the firing of their node, and read after
// the end of the run.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

impl Run {
    /// Makes a run that has not begun. The thread that ends it passes its results to `done`. A run at `depth` 0 is recorded in `stats`, that of a
    /// function in the step's [`stats`](Step::stats).
    pub(super) fn new(
        plan: &Arc<Plan>,
        step: &Arc<DeviceStep>,
        crew: &Arc<Crew>,
        depth: u32,
        stats: Option<Arc<StatsCollector>>,
        done: Done,
    ) -> Arc<Run> {
        let is_in_function = depth > 0;
        let stats = if is_in_function { step.step.stats.as_ref() } else { stats.as_ref() };
        Arc::new(Run {
            plan: plan.clone(),
            step: step.step.clone(),
            device_step: step.clone(),
            crew: crew.clone(),
            depth,
            stats: stats.map(|stats| stats.on(&step.device, is_in_function)),
            results: (0..plan.tables().num_results).map(|_| UnsafeCell::new(None)).collect(),
            live: Live::new(),
            root: AtomicPtr::new(null_mut()),
            done: Mutex::new(Some(done)),
            stopped: AtomicBool::new(false),
            error: Mutex::new(None),
            blocks: AtomicI64::new(0),
        })
    }

    /// Begins the run and works on it until this thread has nothing left to do for it.
    pub(super) fn begin(self: &Arc<Run>, args: Vec<Tensor>) {
        if self.must_stop() {
            self.stop();
            return self.finish_live();
        }
        at_depth(self.depth, || {
            let mut worker = Worker::new(self, false);
            let root = worker.create_root();
            self.root.store(root, Ordering::Relaxed);
            worker.start(root, args);
            worker.drive();
            if worker.shared {
                drop(worker);
                return self.finish_live();
            }
            self.root.store(null_mut(), Ordering::Relaxed);
            // SAFETY: no other thread has anything of the run, so it has ended.
            unsafe { worker.destroy_tree(root) };
            drop(worker);
            self.end();
        });
    }

    /// Makes a worker, lets `take` give it work, and runs it. The count that the work held in `live` passes to the worker.
    pub(super) fn go_on(self: &Arc<Run>, take: impl FnOnce(&mut Worker<'_>)) {
        at_depth(self.depth, || {
            let mut worker = Worker::new(self, true);
            take(&mut worker);
            worker.drive();
        });
        self.finish_live();
    }

    fn finish_live(self: &Arc<Run>) {
        if !self.live.finish() {
            return;
        }
        let root = self.root.load(Ordering::Relaxed);
        if !root.is_null() {
            // SAFETY: the run has ended: this thread alone knows its blocks.
            unsafe { Worker::new(self, true).destroy_tree(root) };
        }
        self.end();
    }

    /// Passes the results on. Called once, by the last thread that knows the run's blocks.
    fn end(&self) {
        debug_assert_eq!(self.blocks.load(Ordering::Relaxed), 0, "blocks of iterations and frames that were not given back");
        let done = self.done.lock().take();
        if let Some(done) = done {
            let results = self.results();
            // What is called belongs to a kernel, which lets go of its call if it panics.
            drop(catch_unwind(AssertUnwindSafe(|| done(results))));
        }
    }

    fn results(&self) -> Results {
        if let Some(error) = self.error.lock().take() {
            return Err(if error.is_derived() { self.step.cancel.reason().unwrap_or(error) } else { error });
        }
        if self.stopped.load(Ordering::Relaxed)
            && let Some(reason) = self.step.cancel.reason()
        {
            return Err(reason);
        }
        // SAFETY: the run has ended, and the end was seen with acquire.
        Ok(self.results.iter().map(|slot| unsafe { (*slot.get()).take() }).collect())
    }

    /// Hands an item to other threads. The run becomes shared before the first call.
    pub(super) fn offer(self: &Arc<Run>, item: Item) {
        self.add_live();
        self.crew.offer(Work::Fire(self.clone(), item));
    }

    /// Hands over the end of an asynchronous kernel, whose count among the living passes to it.
    pub(super) fn complete(self: Arc<Run>, item: Item, completed: Completed) {
        let crew = self.crew.clone();
        crew.submit(Work::Complete(self, item, completed));
    }

    /// Returns the collector that records what nodes do, if the run is traced.
    pub(super) fn stats(&self) -> Option<&DeviceStats> {
        self.stats.as_ref()
    }

    pub(super) fn has_stats(&self) -> bool {
        self.stats.is_some()
    }

    pub(super) fn add_live(&self) {
        self.live.add();
    }

    /// Takes back a count that [`Run::add_live`] has made; the caller counts too.
    pub(super) fn drop_live(&self) {
        let last = self.live.finish();
        debug_assert!(!last, "a count that was not the caller's");
    }

    /// Keeps the first error that does not follow from another one, and ends everything that belongs to the step.
    pub(super) fn fail(&self, error: Error) {
        {
            let mut kept = self.error.lock();
            if kept.as_ref().is_none_or(|k| k.is_derived() && !error.is_derived()) {
                *kept = Some(error.clone());
            }
        }
        self.stop();
        self.step.rendezvous.abort(error.clone());
        self.step.cancel.cancel(error);
    }

    /// Calls the caller's [`Poll`] if this is the caller's thread. Returns the time of the next call.
    #[cold]
    pub(super) fn poll(&self) -> Instant {
        if let Some(poll) = &self.step.poll {
            poll.ask();
        }
        Instant::now() + Poll::INTERVAL
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns true if the step is cancelled: no more nodes fire then.
    #[inline]
    pub(super) fn must_stop(&self) -> bool {
        self.step.cancel.is_cancelled()
    }

    /// Sets result `i`.
    ///
    /// # Safety
    /// Only the single firing of the node that produces the result calls this.
    pub(super) unsafe fn set_result(&self, i: u32, value: Slot) {
        if let Some(slot) = self.results.get(i as usize) {
            // SAFETY: nobody else uses the cell before the end of the run.
            unsafe { *slot.get() = value };
        }
    }

    #[inline]
    pub(super) fn count_blocks(&self, delta: i64) {
        if cfg!(debug_assertions) {
            self.blocks.fetch_add(delta, Ordering::Relaxed);
        }
    }
}
