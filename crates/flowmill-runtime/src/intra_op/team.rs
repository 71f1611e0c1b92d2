//! The threads of one pool that share the tasks of a kernel.
//!
//! A helper is a job of the pool that spins until work is published, because waking a sleeping thread takes longer than many tasks do. A helper ends
//! when the step is over, or when no work was published for [`PATIENCE`].

use super::gate::Gate;
use super::ownership::Ownership;
use crate::executor;
use crate::executor::sync::{AtomicU32, AtomicU64, Ordering};
use flowmill_tensor::sync::Mutex;
use rayon::ThreadPool;
use std::any::Any;
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The time after which a helper without work returns its thread to the pool.
const PATIENCE: Duration = Duration::from_micros(200);
/// The number of polls of the gate between two checks of the clock and of the pool's other jobs. They take about a microsecond.
const LOOKS: u32 = 32;
/// The number of polls after which an owner that waits for the last task yields to other threads of the machine.
const OWNER_LOOKS: u32 = 4096;
/// The largest number of groups in which tasks are claimed. Each group is one bit.
const MAX_GROUPS: usize = 64;

thread_local! {
    static CURRENT: OnceCell<Arc<Team>> = const { OnceCell::new() };
    /// True if this thread is a helper already, further down its stack.
    static HELPS: Cell<bool> = const { Cell::new(false) };
}

/// Sets the team of the current thread, which belongs to a pool.
pub(super) fn set_current(team: Arc<Team>) {
    CURRENT.with(|current| drop(current.set(team)));
}

/// Calls `f` with the current thread's team, if it has one.
#[inline]
pub(super) fn with_current<R>(f: impl FnOnce(&Arc<Team>) -> R) -> Option<R> {
    CURRENT.with(|current| current.get().map(f))
}

/// The threads of one pool, and the work that one of them has published; see the module.
pub(super) struct Team {
    threads: usize,
    /// Held by the thread that has work published.
    ownership: Ownership,
    gate: Gate,
    /// Written by the owner while the gate is closed and empty, read by visitors.
    work: UnsafeCell<Option<*const Work<'static>>>,
    /// The number of helpers that wait, work, or were requested.
    helpers: AtomicU32,
    /// The number of helpers that wait.
    waiting: AtomicU32,
    /// The number of steps that run in the pool.
    steps: AtomicU32,
    /// The threads' pool, once it has started.
    pool: OnceLock<Weak<ThreadPool>>,
}

// SAFETY: `work` is written by the one owner while the gate is closed and empty, and read only inside; the gate's orderings make one happen
// before the other. What it points to is shared between threads (`Work` is `Sync`).
unsafe impl Send for Team {}
// SAFETY: as above.
unsafe impl Sync for Team {}

/// The tasks of one kernel, on the owner's stack.
struct Work<'a> {
    f: &'a (dyn Fn(usize) + Sync),
    pieces: usize,
    groups: usize,
    /// A bit for each group, set when a thread takes the group.
    claimed: AtomicU64,
    threads: usize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Work<'_> {
    /// Takes and runs groups of tasks until none is left, beginning at this thread's place among the pool's. Returns false if it took none.
    fn take_part(&self) -> bool {
        let all = u64::MAX >> (MAX_GROUPS - self.groups);
        let me = rayon::current_thread_index().unwrap_or(0);
        let start = (me * self.groups / self.threads) as u32;
        let mut took = false;
        loop {
            let free = all & !self.claimed.load(Ordering::Relaxed);
            if free == 0 {
                return took;
            }
            let ahead = free >> start << start;
            let group = if ahead != 0 { ahead } else { free }.trailing_zeros();
            if self.claimed.fetch_or(1 << group, Ordering::Relaxed) >> group & 1 == 0 {
                took = true;
                let group = group as usize;
                let (each, longer) = (self.pieces / self.groups, self.pieces % self.groups);
                let first = group * each + group.min(longer);
                (first..first + each + usize::from(group < longer)).for_each(self.f);
            }
        }
    }
}

impl Team {
    pub(super) fn new(threads: usize) -> Arc<Team> {
        Arc::new(Team {
            threads,
            ownership: Ownership::new(),
            gate: Gate::new(),
            work: UnsafeCell::new(None),
            helpers: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            steps: AtomicU32::new(0),
            pool: OnceLock::new(),
        })
    }

    /// Sets the pool that the team's threads belong to.
    pub(super) fn set_pool(&self, pool: &Arc<ThreadPool>) {
        let _ = self.pool.set(Arc::downgrade(pool));
    }

    /// Returns the team's pool, unless the pool is about to be dropped.
    pub(super) fn pool(&self) -> Option<Arc<ThreadPool>> {
        self.pool.get()?.upgrade()
    }

    pub(super) fn begin_step(self: &Arc<Team>) -> StepGuard {
        self.steps.fetch_add(1, Ordering::Relaxed);
        StepGuard(self.clone())
    }

    pub(super) fn is_warm(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Runs the tasks on this thread and on helpers. Returns false, and runs nothing, if other work is published now.
    pub(super) fn run(self: &Arc<Team>, pieces: usize, f: &(dyn Fn(usize) + Sync)) -> bool {
        if !self.ownership.take() {
            return false;
        }
        let groups = pieces.min(MAX_GROUPS);
        let work = Work { f, pieces, groups, claimed: AtomicU64::new(0), threads: self.threads, panic: Mutex::new(None) };
        let published: *const Work<'_> = &raw const work;
        // SAFETY: this thread owns the team, and the last owner left the gate closed and empty. The lifetime is forgotten: `Published` takes
        // the pointer back, and waits for all who may use it, before `work` or what it borrows can go.
        unsafe { *self.work.get() = Some(published.cast()) };
        self.gate.open();
        let published = Published(self);
        self.send_for_helpers(groups);
        executor::piece(|| work.take_part());
        drop(published);
        if let Some(panic) = work.panic.into_inner() {
            resume_unwind(panic);
        }
        true
    }

    /// Requests helpers until there are as many as `groups` can use.
    fn send_for_helpers(self: &Arc<Team>, groups: usize) {
        // This thread may be a helper itself, further down its stack: one less of those that are there.
        let wanted = (self.threads.min(groups) - 1) as u32 + u32::from(HELPS.get());
        let mut there = self.helpers.load(Ordering::Relaxed);
        while there < wanted {
            match self.helpers.compare_exchange_weak(there, there + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let team = self.clone();
                    rayon::spawn(move || team.help());
                    there += 1;
                }
                Err(now) => there = now,
            }
        }
    }

    /// Runs a helper: waits for work and does it, unless the thread is a helper already or is inside of a kernel.
    fn help(&self) {
        struct Gone<'a>(&'a Team);
        impl Drop for Gone<'_> {
            fn drop(&mut self) {
                self.0.helpers.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let _gone = Gone(self);
        // Inside of a kernel that waits, this would delay the kernel.
        if executor::is_in_run() || HELPS.replace(true) {
            return;
        }
        self.wait();
        HELPS.set(false);
    }

    /// Runs tasks and the pool's other jobs until no step runs, or until no work was published for [`PATIENCE`].
    fn wait(&self) {
        let is_enough = || self.steps.load(Ordering::Relaxed) == 0;
        let mut idle_since = Instant::now();
        loop {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                if self.gate.looks_open() && self.visit() {
                    idle_since = Instant::now();
                }
                if is_enough() {
                    break;
                }
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if is_enough() || idle_since.elapsed() > PATIENCE {
                return;
            }
            // Nodes and steps that wait for a thread come first.
            if rayon::yield_now() == Some(rayon::Yield::Executed) {
                idle_since = Instant::now();
            }
        }
    }

    /// Keeps this thread as a helper if there are fewer helpers than threads of the pool besides the owner.
    pub(super) fn stay(&self) {
        let is_wanted = |there: u32| ((there as usize) < self.threads - 1).then_some(there + 1);
        if !HELPS.get() && self.helpers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_wanted).is_ok() {
            self.help();
        }
    }

    /// Helps with the published work. Returns false if no work was left.
    fn visit(&self) -> bool {
        if !self.gate.enter() {
            return false;
        }
        struct Leave<'a>(&'a Gate);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.leave();
            }
        }
        let leave = Leave(&self.gate);
        let mut took = false;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: inside the gate, the owner does not write `work`, and waits with taking back what it points to.
        if let Some(work) = unsafe { *self.work.get() } {
            // SAFETY: as above.
            let work = unsafe { &*work };
            match catch_unwind(AssertUnwindSafe(|| executor::piece(|| work.take_part()))) {
                Ok(any) => took = any,
                Err(panic) => *work.panic.lock() = Some(panic),
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(leave);
        took
    }
}

/// Published work. Dropping this closes the gate and waits until no other thread uses the work.
struct Published<'a>(&'a Team);

impl Drop for Published<'_> {
    fn drop(&mut self) {
        self.0.gate.close();
        let mut looks = 0;
        while !self.0.gate.is_empty() {
            looks += 1;
            if looks < OWNER_LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.0.ownership.release();
    }
}

/// A step that runs in the pool. Helpers wait for its kernels until this is dropped.
pub struct StepGuard(Arc<Team>);

impl Drop for StepGuard {
    fn drop(&mut self) {
        self.0.steps.fetch_sub(1, Ordering::Relaxed);
    }
}
