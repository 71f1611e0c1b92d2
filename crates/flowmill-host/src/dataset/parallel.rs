//! Pipes, which work ahead of the consumer: tasks are taken from a source in order and executed on several threads, and the consumer takes their results.
//!
//! One thread at a time takes tasks. When it has one, it lets another thread take the next, as long as fewer than `workers` are working, and
//! executes its own. No task is taken while `capacity` results are waiting or in progress. Threads start with the first call of [`Pipe::next`] or
//! with [`Pipe::start`], and end with the source, with the pipe, or when the iterator's context is closed.

use super::context::IteratorContext;
use flowmill_runtime::Registration;
use flowmill_tensor::sync::{Condvar, Mutex};
use flowmill_tensor::{Result, error};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The value of attributes and inputs that means "as many as are suitable for this machine".
pub(super) const AUTOTUNE: i64 = -1;

/// Returns the number of threads that [`AUTOTUNE`] means.
pub(super) fn auto_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The parallelism of a pipe, and the order of its results.
#[derive(Clone, Copy)]
pub(super) struct PipeOptions {
    /// The number of tasks that are executed at the same time.
    pub(super) workers: usize,
    /// The number of results that may be waiting or in progress.
    pub(super) capacity: usize,
    /// True if results are returned in the order of their tasks; false if they are returned as soon as they are ready.
    pub(super) ordered: bool,
}

impl PipeOptions {
    /// Returns the options of an op whose inputs specify how many calls run in parallel.
    pub(super) fn calls(num_parallel_calls: i64, ordered: bool) -> PipeOptions {
        let workers = usize::try_from(num_parallel_calls).unwrap_or_else(|_| auto_threads()).max(1);
        PipeOptions { workers, capacity: workers, ordered }
    }
}

/// Work that computes one result.
pub(super) type Task<R> = Box<dyn FnOnce() -> Result<R> + Send>;

type Source<R> = Box<dyn FnMut() -> Result<Option<Task<R>>> + Send>;

/// The consumer's end.
pub(super) struct Pipe<R: Send + 'static> {
    shared: Arc<Shared<R>>,
    started: bool,
    _on_close: Option<Registration>,
}

struct Shared<R> {
    ctx: Arc<IteratorContext>,
    options: PipeOptions,
    source: Mutex<Source<R>>,
    state: Mutex<State<R>>,
    /// Notified when a result is available, or the source has ended.
    ready: Condvar,
    /// Notified when a result was taken.
    room: Condvar,
}

struct State<R> {
    /// The available results, by the numbers of their tasks.
    done: BTreeMap<u64, Result<R>>,
    /// The number of the next task; `next_result` is the number of the next result in order.
    next_task: u64,
    next_result: u64,
    working: usize,
    /// True while a thread takes a task, or waits for room to do so.
    taking: bool,
    /// True if the source has ended.
    ended: bool,
    closed: bool,
}

impl<R: Send + 'static> Pipe<R> {
    /// Returns a pipe that executes the tasks of `source`.
    pub(super) fn new(
        ctx: &Arc<IteratorContext>,
        options: PipeOptions,
        source: impl FnMut() -> Result<Option<Task<R>>> + Send + 'static,
    ) -> Pipe<R> {
        let state = State { done: BTreeMap::new(), next_task: 0, next_result: 0, working: 0, taking: false, ended: false, closed: false };
        let shared = Arc::new(Shared {
            ctx: ctx.clone(),
            options: PipeOptions { workers: options.workers.max(1), capacity: options.capacity.max(1), ..options },
            source: Mutex::new(Box::new(source)),
            state: Mutex::new(state),
            ready: Condvar::new(),
            room: Condvar::new(),
        });
        let closing = Arc::downgrade(&shared);
        let on_close = ctx.cancel.on_cancel(move |_| closing.upgrade().iter().for_each(|shared| shared.close()));
        Pipe { shared, started: false, _on_close: on_close }
    }

    /// Starts to work ahead.
    ///
    /// # Errors
    /// Returns an error of [`Threads::spawn`](super::threads::Threads::spawn), `ResourceExhausted` or `FailedPrecondition`.
    pub(super) fn start(&mut self) -> Result<()> {
        if !self.started {
            self.shared.state.lock().taking = true;
            self.shared.spawn()?;
            self.started = true;
        }
        Ok(())
    }

    /// Waits for the next result and returns it, or `None` at the end.
    ///
    /// # Errors
    /// Returns the error of the source or of the task in place of the result; `Cancelled` once the context is closed.
    pub(super) fn next(&mut self) -> Result<Option<R>> {
        self.shared.ctx.threads.check_process()?;
        self.start()?;
        let mut state = self.shared.state.lock();
        loop {
            if let Some(result) = state.take(self.shared.options.ordered) {
                drop(state);
                self.shared.room.notify_one();
                return result.map(Some);
            }
            if state.closed {
                return Err(error!(Cancelled, "Iterator was cancelled"));
            }
            if state.ended && state.working == 0 {
                return Ok(None);
            }
            state = self.shared.ready.wait(state);
        }
    }
}

impl<R: Send + 'static> Drop for Pipe<R> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<R> State<R> {
    fn take(&mut self, ordered: bool) -> Option<Result<R>> {
        let number = if ordered { self.next_result } else { *self.done.first_key_value()?.0 };
        let result = self.done.remove(&number)?;
        self.next_result += 1;
        Some(result)
    }
}

impl<R: Send + 'static> Shared<R> {
    fn close(&self) {
        self.state.lock().closed = true;
        self.ready.notify_all();
        self.room.notify_all();
    }

    fn spawn(self: &Arc<Self>) -> Result<()> {
        let this = self.clone();
        self.ctx.threads.spawn(move || this.work())
    }

    /// Takes tasks and executes them. The caller has set `taking` for this thread.
    fn work(self: &Arc<Self>) {
        while let Some((number, task)) = self.take_task() {
            let result = guard(task);
            let mut state = self.state.lock();
            state.done.insert(number, result);
            state.working -= 1;
            self.ready.notify_one();
            if state.taking || state.closed || state.ended {
                return;
            }
            state.taking = true;
        }
    }

    /// Takes a task, and lets another thread take the next. Returns the task and its number, or `None` at the end.
    fn take_task(self: &Arc<Self>) -> Option<(u64, Task<R>)> {
        loop {
            let mut state = self.state.lock();
            while !state.closed && state.done.len() + state.working >= self.options.capacity {
                state = self.room.wait(state);
            }
            if state.closed {
                state.taking = false;
                return None;
            }
            drop(state);
            let task = guard(|| (self.source.lock())());
            let mut state = self.state.lock();
            let number = state.next_task;
            match task {
                Ok(Some(task)) => {
                    state.next_task += 1;
                    state.working += 1;
                    state.taking = state.working < self.options.workers;
                    let another = state.taking;
                    drop(state);
                    if another && self.spawn().is_err() {
                        self.state.lock().taking = false;
                    }
                    return Some((number, task));
                }
                Ok(None) => {
                    (state.ended, state.taking) = (true, false);
                    self.ready.notify_all();
                    return None;
                }
                Err(e) => {
                    state.next_task += 1;
                    state.done.insert(number, Err(e));
                    self.ready.notify_one();
                }
            }
        }
    }
}

/// Calls `f` and turns a panic into an error.
fn guard<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err(error!(Internal, "a dataset's thread panicked")))
}
