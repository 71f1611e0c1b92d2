//! Streams and events: work that is done at once, or by a thread that chooses the order of streams at random. A stream that captures records its work.

use crate::errors::{Code, ILLEGAL_STATE, STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_UNSUPPORTED, check};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A point of a stream that was recorded by an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marker(Arc<AtomicBool>);

impl Marker {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn wait(&self) {
        let scheduler = scheduler();
        let mut queues = scheduler.lock();
        while !self.is_reached() {
            queues = scheduler.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn reach(&self) {
        let scheduler = scheduler();
        let _queues = scheduler.lock();
        self.0.store(true, Ordering::SeqCst);
        scheduler.changed.notify_all();
    }
}

/// Work that a graph may do many times.
pub(crate) type Task = Arc<dyn Fn() + Send + Sync>;

/// A node of a captured graph.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) task: Task,
    pub(crate) is_launch: bool,
}

/// The work that a capture has recorded so far.
#[derive(Default)]
struct Capture {
    recorded: Vec<Recorded>,
    is_invalid: bool,
}

thread_local! {
    /// The stream whose work this thread captures.
    static CAPTURING: RefCell<Option<Arc<Stream>>> = const { RefCell::new(None) };
}

/// Ends the capture of this thread, if it has one, as an invalid one: the caller does something that a capture forbids.
pub(crate) fn forbid_in_capture() -> Result<(), Code> {
    CAPTURING.with_borrow(|stream| match stream {
        Some(stream) => {
            stream.capture.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().is_invalid = true;
            Err(STREAM_CAPTURE_UNSUPPORTED)
        }
        None => Ok(()),
    })
}

pub(crate) enum Work {
    Run(Task),
    Reach(Marker),
    Wait(Marker),
}

/// The queue of a stream. Work of a synchronous stream is done by the thread that enqueues it.
pub(crate) struct Stream {
    pub(crate) device: usize,
    number: u64,
    asynchronous: bool,
    alone: Mutex<()>,
    /// `Some` between the begin and the end of a capture.
    capture: Mutex<Option<Capture>>,
}

struct Scheduler {
    queues: Mutex<Queues>,
    changed: Condvar,
}

/// The queues of asynchronous streams. A stream is between them as long as it has work.
#[derive(Default)]
struct Queues {
    work: BTreeMap<u64, VecDeque<Work>>,
    /// The streams that the scheduler prefers, the best first.
    order: Vec<u64>,
    random: u64,
}

/// Returns a seed that is not 0, with bits that depend on all bits of `seed`.
pub(crate) fn spread(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Makes the scheduler choose orders by another seed.
pub(crate) fn reseed(seed: u64) {
    scheduler().lock().random = seed;
}

fn scheduler() -> &'static Scheduler {
    static SCHEDULER: OnceLock<Scheduler> = OnceLock::new();
    SCHEDULER.get_or_init(|| {
        std::thread::spawn(run);
        Scheduler { queues: Mutex::default(), changed: Condvar::new() }
    })
}

impl Scheduler {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// Makes a stream, which is asynchronous if the seed is not 0.
    pub(crate) fn new(device: usize, number: u64, seed: u64) -> Stream {
        if seed != 0 {
            let mut queues = scheduler().lock();
            queues.random = seed;
            queues.work.insert(number, VecDeque::new());
        }
        Stream { device, number, asynchronous: seed != 0, alone: Mutex::new(()), capture: Mutex::default() }
    }

    fn capture(&self) -> MutexGuard<'_, Option<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if work is recorded and not done.
    pub(crate) fn is_capturing(&self) -> bool {
        self.capture().is_some()
    }

    /// Records the work that is enqueued from now on. The calls of this thread that a capture forbids make it invalid.
    pub(crate) fn begin_capture(self: &Arc<Stream>) -> Result<(), Code> {
        let mut capture = self.capture();
        check(capture.is_none() && CAPTURING.with_borrow(Option::is_none), ILLEGAL_STATE)?;
        *capture = Some(Capture::default());
        CAPTURING.set(Some(self.clone()));
        Ok(())
    }

    /// Returns what was recorded.
    pub(crate) fn end_capture(&self) -> Result<Vec<Recorded>, Code> {
        check(CAPTURING.with_borrow(|stream| stream.as_ref().is_some_and(|stream| stream.number == self.number)), ILLEGAL_STATE)?;
        CAPTURING.set(None);
        let capture = self.capture().take().ok_or(ILLEGAL_STATE)?;
        check(!capture.is_invalid, STREAM_CAPTURE_INVALIDATED)?;
        Ok(capture.recorded)
    }

    /// Records a task if the stream captures. Returns false if it does not.
    pub(crate) fn record(&self, task: &Task, is_launch: bool) -> bool {
        let mut capture = self.capture();
        if let Some(capture) = &mut *capture {
            capture.recorded.push(Recorded { task: task.clone(), is_launch });
        }
        capture.is_some()
    }

    /// Enqueues work. A stream that captures records tasks, and has no events.
    pub(crate) fn enqueue(&self, work: Work) -> Result<(), Code> {
        if self.is_capturing() {
            return match work {
                Work::Run(task) => check(self.record(&task, false), ILLEGAL_STATE),
                Work::Reach(_) | Work::Wait(_) => forbid_in_capture().and(Err(STREAM_CAPTURE_UNSUPPORTED)),
            };
        }
        self.enqueue_now(work);
        Ok(())
    }

    fn enqueue_now(&self, work: Work) {
        if self.asynchronous {
            let scheduler = scheduler();
            if let Some(queue) = scheduler.lock().work.get_mut(&self.number) {
                queue.push_back(work);
            }
            scheduler.changed.notify_all();
            return;
        }
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        match work {
            Work::Run(work) => work(),
            Work::Reach(marker) => marker.reach(),
            Work::Wait(marker) => marker.wait(),
        }
    }

    /// Waits until all work of the stream is done.
    pub(crate) fn synchronize(&self) {
        let marker = Marker::default();
        self.enqueue_now(Work::Reach(marker.clone()));
        marker.wait();
    }

    /// Waits for the stream's work and forgets the stream.
    pub(crate) fn close(&self) {
        if self.asynchronous {
            self.synchronize();
            scheduler().lock().work.remove(&self.number);
        }
    }
}

impl Queues {
    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) as usize % below.max(1)
    }

    /// Takes work from the preferred stream that can go on. Preferences change now and then, so that some streams run ahead and others are late.
    fn next(&mut self) -> Option<Work> {
        if self.order.len() != self.work.len() || self.random(12) == 0 {
            self.order = self.work.keys().copied().collect();
            for i in (1..self.order.len()).rev() {
                let other = self.random(i + 1);
                self.order.swap(i, other);
            }
        }
        for number in &self.order {
            let Some(queue) = self.work.get_mut(number) else { continue };
            while matches!(queue.front(), Some(Work::Wait(marker)) if marker.is_reached()) {
                queue.pop_front();
            }
            match queue.front() {
                None | Some(Work::Wait(_)) => {}
                Some(Work::Run(_) | Work::Reach(_)) => return queue.pop_front(),
            }
        }
        None
    }
}

/// Does the work of asynchronous streams until the process ends.
fn run() {
    let scheduler = scheduler();
    loop {
        let mut queues = scheduler.lock();
        let (work, is_late) = loop {
            if let Some(work) = queues.next() {
                break (work, queues.random(3) == 0);
            }
            queues = scheduler.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        };
        drop(queues);
        if is_late {
            // The host runs ahead of the device, and other streams get work to choose from.
            std::thread::sleep(Duration::from_micros(50));
        }
        match work {
            Work::Run(work) => work(),
            Work::Reach(marker) => marker.reach(),
            Work::Wait(_) => {}
        }
    }
}
