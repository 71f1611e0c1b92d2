//! A worker: one thread's state while it works on a run, and the loop that fires ready nodes.

use super::asynchronous::Completed;
use super::block::{BlockPool, Iteration, Slot};
use super::run::{Item, Run};
use super::tables::{BLOCKING, EXPENSIVE, Tables};
use crate::step::Poll;
use flowmill_tensor::Tensor;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::Arc;
use std::time::Instant;

/// The run time in nanoseconds from which a kernel is worth a hand-over to another thread.
const EXPENSIVE_NANOS: u32 = 8_000;
/// The number of nodes that fire between two checks of the step's cancellation.
const STOP_INTERVAL: u32 = 16;

/// Buffers that a thread reuses from run to run.
struct Scratch {
    pool: BlockPool,
    stack: Vec<Item>,
    outputs: Vec<Slot>,
    completed: Vec<*const Iteration>,
    held_back: Vec<Item>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

pub(super) struct Worker<'r> {
    pub run: &'r Arc<Run>,
    pub tables: &'r Tables,
    /// True if other threads may work on the run.
    pub shared: bool,
    /// The node fired last, for the report of a panic.
    pub current: u32,
    /// Flags of nodes that this worker fires only if it has nothing else to do.
    deferred: u8,
    pub has_stats: bool,
    /// Items are kept from other threads for a while.
    holds_back: bool,
    ticks: u32,
    /// The time of the next call of the caller's [`Poll`], if it has one and this is its thread.
    next_poll: Option<Instant>,
    /// The item to fire next, if `next_iteration` is not null. Two words, each written and read whole: they are read right after they are written.
    next_iteration: *const Iteration,
    next_what: u64,
    /// The first of the items that take long or may wait, fired when nothing else is left.
    kept: Option<Item>,
    /// The iteration of the item fired last, and how many of its references this worker holds without an item.
    iteration: *const Iteration,
    debt: u64,
    scratch: ManuallyDrop<Box<Scratch>>,
}

impl<'r> Worker<'r> {
    pub(super) fn new(run: &'r Arc<Run>, shared: bool) -> Worker<'r> {
        let tables = run.plan.tables();
        let fresh = || {
            Box::new(Scratch {
                pool: BlockPool::new(),
                stack: Vec::new(),
                outputs: Vec::new(),
                completed: Vec::new(),
                held_back: Vec::new(),
            })
        };
        let mut scratch = SCRATCH.take().unwrap_or_else(fresh);
        if scratch.outputs.len() < tables.max_outputs {
            scratch.outputs.resize_with(tables.max_outputs, || None);
        }
        Worker {
            run,
            tables,
            shared,
            current: 0,
            deferred: if run.crew.has_helpers() { EXPENSIVE | BLOCKING } else { BLOCKING },
            has_stats: run.has_stats(),
            holds_back: false,
            ticks: 0,
            next_poll: run.step.poll.as_ref().filter(|poll| poll.is_here()).map(|_| Instant::now() + Poll::INTERVAL),
            next_iteration: null(),
            next_what: 0,
            kept: None,
            iteration: null(),
            debt: 0,
            scratch: ManuallyDrop::new(scratch),
        }
    }

    pub(super) fn pool(&mut self) -> &mut BlockPool {
        &mut self.scratch.pool
    }

    pub(super) fn outputs(&mut self) -> &mut [Slot] {
        &mut self.scratch.outputs
    }

    /// Returns the list of iterations whose last reference this worker has dropped.
    pub(super) fn completed(&mut self) -> &mut Vec<*const Iteration> {
        &mut self.scratch.completed
    }

    /// Makes the root iteration. Its first reference is never dropped: the run ends by its count of living work.
    pub(super) fn create_root(&mut self) -> *mut Iteration {
        let root = &self.tables.frames[0];
        self.run.count_blocks(1);
        Iteration::create(&mut self.scratch.pool, root, &root.first, null(), 0, 1).as_ptr()
    }

    /// Delivers the step's arguments and makes the roots ready.
    pub(super) fn start(&mut self, root: *const Iteration, args: Vec<Tensor>) {
        let tables = self.tables;
        let mut ready = 0;
        let mut args: Vec<Slot> = args.into_iter().map(Some).collect();
        for &id in &tables.args {
            let node = &tables.nodes[id as usize];
            let value = args.get_mut(node.arg as usize).and_then(Option::take);
            // SAFETY: the root lives as long as the run.
            ready += unsafe { self.deliver(root, node.group, value) + self.signal(root, node.group + 1, false) };
        }
        for &id in &tables.frames[0].first_roots {
            ready += self.ready(root, id, false);
        }
        // SAFETY: as above.
        unsafe { self.settle(root, ready, 0) };
    }

    /// Takes over an item that another thread handed out.
    pub(super) fn take(&mut self, item: Item) {
        if self.run.must_stop() { self.abandon() } else { self.set_next(item) }
    }

    /// Takes over the end of an asynchronous kernel.
    pub(super) fn take_completed(&mut self, item: Item, completed: Completed) {
        if self.run.must_stop() {
            return match completed {
                Err(error) => self.fail(item.node, error),
                Ok(_) => self.abandon(),
            };
        }
        self.switch_to(item.iteration);
        // SAFETY: the item holds a reference of its iteration.
        unsafe { self.complete_async(item, completed) };
        self.drain_completed();
    }

    /// Fires nodes until none is left here. A panic of a kernel fails the step.
    pub(super) fn drive(&mut self) {
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.fire_all())) {
            self.outputs().fill_with(|| None);
            self.fail(self.current, crate::panics::error_of(payload));
        }
    }

    fn fire_all(&mut self) {
        loop {
            let item = if !self.next_iteration.is_null() {
                let what = self.next_what;
                Item { iteration: std::mem::replace(&mut self.next_iteration, null()), node: what as u32, info: (what >> 32) as u32 }
            } else if let Some(item) = self.scratch.stack.pop() {
                item
            } else if self.debt > 0 {
                self.pay_debt();
                self.drain_completed();
                continue;
            } else if let Some(item) = self.kept.take() {
                // From here on, this thread has nothing to itself that another one may wait for.
                self.run.crew.share();
                item
            } else {
                return;
            };
            self.ticks = self.ticks.wrapping_add(1);
            if self.ticks.is_multiple_of(STOP_INTERVAL) && self.must_stop() {
                self.abandon();
                continue;
            }
            self.switch_to(item.iteration);
            // SAFETY: the item holds a reference of its iteration.
            unsafe { self.fire(item) };
            self.drain_completed();
        }
    }

    /// Returns true if the step is cancelled. Before that, calls the caller's [`Poll`] if it is due.
    #[inline]
    fn must_stop(&mut self) -> bool {
        if self.next_poll.is_some() {
            self.poll_if_due();
        }
        self.run.must_stop()
    }

    #[cold]
    #[inline(never)]
    fn poll_if_due(&mut self) {
        if self.next_poll.is_some_and(|at| Instant::now() >= at) {
            self.next_poll = Some(self.run.poll());
        }
    }

    /// Makes a node ready. Returns 1 if the item stays with this worker; its reference of the iteration must then still be counted.
    #[inline(always)]
    pub(super) fn ready(&mut self, iteration: *const Iteration, node: u32, dead: bool) -> u64 {
        let mut item = Item { iteration, node, info: u32::from(dead) };
        if self.has_stats {
            item.info |= self.stamp();
        }
        if !dead && self.tables.nodes[node as usize].flags & self.deferred != 0 {
            return self.ready_deferred(item);
        }
        if self.next_iteration.is_null() {
            self.set_next(item);
        } else {
            self.scratch.stack.push(item);
        }
        1
    }

    /// Returns the collector's time.
    pub(super) fn now(&self) -> u64 {
        self.run.stats().map_or(0, |s| s.now())
    }

    #[inline(always)]
    fn set_next(&mut self, item: Item) {
        self.next_iteration = item.iteration;
        self.next_what = u64::from(item.node) | u64::from(item.info) << 32;
    }

    #[cold]
    fn stamp(&self) -> u32 {
        u32::try_from(self.now() >> 6).unwrap_or(u32::MAX).min(u32::MAX >> 1) << 1
    }

    fn ready_deferred(&mut self, item: Item) -> u64 {
        let node = &self.tables.nodes[item.node as usize];
        // A kernel that may wait is never taken for a cheap one: the next call may be the one that waits.
        if node.flags & BLOCKING == 0 && self.tables.costs[node.arg as usize].nanos() < EXPENSIVE_NANOS {
            self.scratch.stack.push(item);
        } else if self.kept.is_none() {
            self.kept = Some(item);
        } else {
            // SAFETY: the caller works on the iteration under a reference.
            unsafe { self.offer(item) };
            return 0;
        }
        1
    }

    /// Offers an item to other threads, with a reference of its iteration.
    ///
    /// # Safety
    /// The caller works on the iteration under a reference.
    unsafe fn offer(&mut self, item: Item) {
        if self.holds_back {
            return self.scratch.held_back.push(item);
        }
        self.shared = true;
        // SAFETY: passed on to the caller; this reference is counted before another thread can drop it.
        unsafe { (*item.iteration).refs.add(1, true) };
        self.run.offer(item);
    }

    /// Keeps all items from other threads until [`Worker::offer_held_back`].
    pub(super) fn hold_back(&mut self) {
        self.holds_back = true;
    }

    /// Offers the items that were held back to other threads.
    ///
    /// # Safety
    /// The caller works on the iteration of these items under a reference.
    pub(super) unsafe fn offer_held_back(&mut self) {
        self.holds_back = false;
        while let Some(item) = self.scratch.held_back.pop() {
            // SAFETY: passed on to the caller.
            unsafe { self.offer(item) };
        }
    }

    /// Settles the references of the iteration worked on so far, if the next item belongs to another iteration.
    #[inline(always)]
    fn switch_to(&mut self, iteration: *const Iteration) {
        if self.iteration != iteration {
            if self.debt > 0 {
                self.pay_debt();
            }
            self.iteration = iteration;
        }
    }

    #[inline(never)]
    fn pay_debt(&mut self) {
        let debt = std::mem::take(&mut self.debt);
        // SAFETY: the debt is references of the iteration, which keep it alive.
        if unsafe { (*self.iteration).refs.release(debt, self.shared) } {
            self.scratch.completed.push(self.iteration);
        }
    }

    /// Settles the references of the iteration worked on: the item fired had one, `ready` new items need one each.
    ///
    /// # Safety
    /// An item of `self.iteration` has just been fired.
    #[inline(always)]
    pub(super) unsafe fn settle_current(&mut self, ready: u64) {
        if ready == 0 {
            self.debt += 1;
        } else if ready - 1 <= self.debt {
            self.debt -= ready - 1;
        } else {
            // SAFETY: the fired item's reference keeps the iteration alive.
            unsafe { (*self.iteration).refs.add(ready - 1 - self.debt, self.shared) };
            self.debt = 0;
        }
    }

    /// Settles the references of any iteration: the caller holds `held` and gives them up, `ready` new items need one each.
    ///
    /// # Safety
    /// The iteration is kept alive by what the caller holds, or by what holds the caller's iteration.
    pub(super) unsafe fn settle(&mut self, iteration: *const Iteration, ready: u64, held: u64) {
        // SAFETY: passed on to the caller.
        let refs = unsafe { &(*iteration).refs };
        if ready > held {
            refs.add(ready - held, self.shared);
        } else if ready < held && refs.release(held - ready, self.shared) {
            self.scratch.completed.push(iteration);
        }
    }

    #[inline(always)]
    pub(super) fn drain_completed(&mut self) {
        while let Some(iteration) = self.scratch.completed.pop() {
            // SAFETY: its last reference was dropped by this worker.
            unsafe { self.complete(iteration) };
        }
    }

    /// Ends the step with an error of `node`.
    #[cold]
    pub(super) fn fail(&mut self, node: u32, error: flowmill_tensor::Error) {
        let name = &self.tables.names[node as usize];
        self.run.fail(error.at_node(&name.name, &name.op));
        self.abandon();
    }

    /// Drops all items. The references they hold stay counted, so that no iteration completes any more: the end of the run frees all blocks.
    #[cold]
    pub(super) fn abandon(&mut self) {
        self.run.stop();
        self.next_iteration = null();
        self.scratch.stack.clear();
        self.scratch.completed.clear();
        self.scratch.held_back.clear();
        self.holds_back = false;
        self.kept = None;
        self.debt = 0;
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        SCRATCH.set(Some(unsafe { ManuallyDrop::take(&mut self.scratch) }));
    }
}
