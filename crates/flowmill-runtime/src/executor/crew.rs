//! A crew: the threads that work on one step, and their queue. The runs of functions that the step calls share its crew.

use super::asynchronous::Completed;
use super::protocol::Participants;
use super::run::{Item, Run};
use super::sync::{AtomicBool, Ordering};
use super::threads::Threads;
use super::wake::Wake;
use crate::step::{Poll, Step};
use crossbeam_deque::{Injector, Steal};
use flowmill_tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A unit of work that one thread hands to another, or keeps for itself until it has nothing else to do.
pub(super) enum Work {
    /// A run to begin, with its arguments.
    Begin(Arc<Run>, Vec<Tensor>),
    /// A node to fire.
    Fire(Arc<Run>, Item),
    /// An asynchronous kernel has ended.
    Complete(Arc<Run>, Item, Completed),
    /// A kernel that continues.
    Resume(Box<dyn FnOnce() + Send>),
}

/// The time that a thread without work polls for some before it sleeps: about the cost of waking it.
const SPIN: Duration = Duration::from_micros(30);
/// A thread takes work from the shared queue after this many items, even if it has work of its own. A long chain of its own items thus cannot starve
/// the queue.
const QUEUE_INTERVAL: u32 = 16;

thread_local! {
    /// The crew that this thread works for.
    static AT_WORK: Cell<*const Crew> = const { Cell::new(null()) };
    /// Work of that crew that this thread has kept. It goes to the queue before the thread calls a kernel that takes long or waits.
    static KEPT: RefCell<VecDeque<Work>> = const { RefCell::new(VecDeque::new()) };
}

pub(crate) struct Crew {
    threads: Threads,
    queue: OnceLock<Injector<Work>>,
    participants: Participants,
    /// True if a thread waits for the end of the step's run and works meanwhile.
    has_caller: bool,
    /// Wakes that thread.
    wake: Wake,
    /// Set when the step's own run has ended.
    is_over: AtomicBool,
}

/// A thread's place in the crew it worked for before, which it returns to.
struct AtWork {
    crew: *const Crew,
    kept: VecDeque<Work>,
}

impl AtWork {
    fn enter(crew: &Crew) -> AtWork {
        AtWork { crew: AT_WORK.replace(crew), kept: KEPT.take() }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.set(self.crew);
        KEPT.set(std::mem::take(&mut self.kept));
    }
}

impl Crew {
    /// Makes a crew of up to `num_threads` threads of the current thread's pool (0 means all of them), of which the current thread is the first.
    pub(super) fn new(num_threads: usize, has_caller: bool) -> Arc<Crew> {
        Arc::new(Crew {
            threads: Threads::new(num_threads, has_caller),
            queue: OnceLock::new(),
            participants: Participants::new(),
            has_caller,
            wake: Wake::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Returns true if nodes may be handed to other threads.
    pub(super) fn has_helpers(&self) -> bool {
        self.threads.limit > 1
    }

    /// Records that the step's own run has ended, and wakes the waiting caller.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if self.has_caller {
            self.wake.notify();
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Accepts work. This thread keeps it if it works for the crew and has kept nothing else, or if it is the only thread of the crew; otherwise the
    /// work goes to the queue.
    pub(super) fn submit(self: &Arc<Crew>, work: Work) {
        let keeps = || !self.has_helpers() || KEPT.with_borrow(VecDeque::is_empty);
        if std::ptr::eq(AT_WORK.get(), &raw const **self) && keeps() {
            KEPT.with_borrow_mut(|kept| kept.push_back(work));
        } else {
            self.offer(work);
        }
    }

    /// Puts work into the queue, and makes sure that a thread serves the queue.
    pub(super) fn offer(self: &Arc<Crew>, work: Work) {
        self.queue().push(work);
        self.call_for_help();
    }

    /// Calls `go_on` after the work that is in the queue now.
    pub(crate) fn yield_now(self: &Arc<Crew>, go_on: Box<dyn FnOnce() + Send>) {
        self.queue().push(Work::Resume(go_on));
        // This thread looks at the queue itself, if it works for the crew.
        if !std::ptr::eq(AT_WORK.get(), &raw const **self) {
            self.call_for_help();
        }
    }

    /// Shares the work that this thread kept, and makes sure that another thread serves the queue. Called before a kernel that takes long or waits.
    pub(super) fn share(self: &Arc<Crew>) {
        if std::ptr::eq(AT_WORK.get(), &raw const **self) {
            KEPT.with_borrow_mut(|kept| kept.drain(..).for_each(|work| self.queue().push(work)));
        }
        if !self.queue_is_empty() {
            self.call_for_help();
        }
    }

    /// Makes sure that a thread serves the queue.
    fn call_for_help(self: &Arc<Crew>) {
        if self.join() {
            self.threads.send_helper(self.clone());
        }
        if self.has_caller {
            // Even if a helper was sent for: its pool may be busy for long.
            self.wake.notify();
        }
    }

    /// Takes a place among the participants.
    fn join(&self) -> bool {
        self.threads.has_pool() && self.participants.join(self.threads.limit)
    }

    /// Begins the step's run on this thread, which then helps until there is nothing left to do.
    pub(super) fn begin(self: &Arc<Crew>, run: Arc<Run>, args: Vec<Tensor>) {
        self.work(Some(Work::Begin(run, args)));
        self.help();
    }

    /// Begins the runs of a step's plans: one on this thread, which then helps until there is nothing left to do, the others on any thread.
    pub(super) fn begin_all(self: &Arc<Crew>, runs: Vec<(Arc<Run>, Vec<Tensor>)>) {
        let mut runs = runs.into_iter();
        let Some((first, args)) = runs.next() else { return };
        for (run, args) in runs {
            self.offer(Work::Begin(run, args));
        }
        self.begin(first, args);
    }

    /// Begins the runs of a step's plans on this thread, which works until the last of them has ended.
    pub(super) fn begin_all_and_wait(self: &Arc<Crew>, runs: Vec<(Arc<Run>, Vec<Tensor>)>) {
        let mut runs = runs.into_iter();
        let Some((first, args)) = runs.next() else { return };
        for (run, args) in runs {
            self.queue().push(Work::Begin(run, args));
        }
        self.begin_and_wait(first, args);
    }

    /// Begins the step's run on this thread, which works until the run has ended.
    pub(super) fn begin_and_wait(self: &Arc<Crew>, run: Arc<Run>, args: Vec<Tensor>) {
        let step = run.step.clone();
        self.work(Some(Work::Begin(run, args)));
        while !self.is_over() {
            if !self.spin() && !self.is_over() {
                self.participants.leave();
                self.sleep(&step);
                self.participants.rejoin();
            }
            self.work(None);
        }
    }

    /// Runs a helper: a thread of the pool that counts among the participants works until the queue stays empty, then leaves.
    pub(super) fn help(self: &Arc<Crew>) {
        loop {
            self.work(None);
            if self.spin() {
                continue;
            }
            self.participants.leave();
            if self.queue_is_empty() || !self.join() {
                return;
            }
        }
    }

    /// Works until neither this thread nor the queue has work.
    fn work(self: &Arc<Crew>, first: Option<Work>) {
        if first.is_none() && self.queue_is_empty() {
            return;
        }
        let _at_work = AtWork::enter(self);
        let take_kept = || KEPT.with_borrow_mut(VecDeque::pop_front);
        let mut next = first.or_else(|| self.take());
        let mut count = 0u32;
        while let Some(work) = next {
            perform(work);
            count = count.wrapping_add(1);
            next = if count.is_multiple_of(QUEUE_INTERVAL) { self.take().or_else(take_kept) } else { take_kept().or_else(|| self.take()) };
        }
    }

    /// Sleeps until there may be work or the step's run has ended.
    fn sleep(&self, step: &Step) {
        let poll = step.poll.as_ref().filter(|poll| poll.is_here());
        while self.queue_is_empty() && !self.is_over() {
            if self.wake.wait(poll.map(|_| Poll::INTERVAL)) {
                return;
            }
            if let Some(poll) = poll {
                poll.ask();
            }
        }
    }

    /// Polls for work for a short time, while the step's run has not ended. Returns true if there may be some.
    fn spin(&self) -> bool {
        let start = Instant::now();
        loop {
            for _ in 0..32 {
                if !self.queue_is_empty() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.is_over() || start.elapsed() >= SPIN {
                return false;
            }
        }
    }

    fn queue(&self) -> &Injector<Work> {
        self.queue.get_or_init(Injector::new)
    }

    fn queue_is_empty(&self) -> bool {
        self.queue.get().is_none_or(Injector::is_empty)
    }

    fn take(&self) -> Option<Work> {
        let queue = self.queue.get()?;
        loop {
            match queue.steal() {
                Steal::Success(work) => return Some(work),
                Steal::Empty => return None,
                Steal::Retry => std::hint::spin_loop(),
            }
        }
    }
}

fn perform(work: Work) {
    match work {
        Work::Begin(run, args) => run.begin(args),
        Work::Fire(run, item) => run.go_on(|worker| worker.take(item)),
        Work::Complete(run, item, completed) => run.go_on(|worker| worker.take_completed(item, completed)),
        // A kernel that panics lets go of its call, which then fails.
        Work::Resume(go_on) => drop(catch_unwind(AssertUnwindSafe(go_on))),
    }
}
