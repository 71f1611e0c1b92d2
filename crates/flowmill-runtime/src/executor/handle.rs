//! The threads that steps run on.

use super::place::run_in;
use super::run::{Done, Results};
use crate::intra_op;
use crate::step::Step;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, bail, error};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// The executors that sessions share, by number of threads and by whether kernels fork. An executor lives as long as a session uses it.
static SHARED: Mutex<BTreeMap<(usize, bool), Weak<Executor>>> = Mutex::new(BTreeMap::new());

/// The executors that have a name, with the requested number of threads. They live as long as the process.
static NAMED: Mutex<BTreeMap<String, (usize, Arc<Executor>)>> = Mutex::new(BTreeMap::new());

/// The threads that steps run on. They run both nodes and the tasks inside kernels, so that the two never compete for cores.
///
/// Sessions, devices and servers share an executor by its handle. An executor of one thread has no thread of its own: steps run on their caller's
/// thread. In a forked process, an executor starts new threads for its first step.
///
/// Some state belongs to the process and not to an executor: the timer's thread, which deadlines and [`call_at`](super::call_at) use, and the tables
/// behind [`Executor::shared`] and [`Executor::named`]. Thread-local state in [`intra_op`] and `executor/threads.rs` records the team of a thread,
/// whether the thread is inside of a step, and whether kernels may fork on it.
pub struct Executor {
    num_threads: usize,
    /// True if a kernel may use several threads.
    forks: bool,
    process: u32,
    pool: Option<Arc<ThreadPool>>,
    /// The thread pool for a process that was forked from `process`, with the id of that process. Threads of `process` itself never take this lock,
    /// so it is never held at a fork.
    forked: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>>,
}

impl Executor {
    /// Makes an executor with threads of its own; 0 means one thread per core.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the system cannot start the threads.
    pub fn new(num_threads: usize) -> Result<Arc<Executor>> {
        Executor::make(num_threads, true)
    }

    fn make(num_threads: usize, forks: bool) -> Result<Arc<Executor>> {
        let num_threads = threads_or_cores(num_threads);
        let (process, pool) = (std::process::id(), start(num_threads, forks)?);
        Ok(Arc::new(Executor { num_threads, forks, process, pool, forked: Mutex::new(None) }))
    }

    /// Returns the executor of this many threads that all sessions without an executor of their own share; 0 means one thread per core.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the system cannot start the threads.
    pub fn shared(num_threads: usize) -> Result<Arc<Executor>> {
        Executor::shared_with(num_threads, true)
    }

    /// Like [`Executor::shared`]. If `forks` is false, each kernel runs on one thread, and the threads run several nodes at once.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the system cannot start the threads.
    pub fn shared_with(num_threads: usize, forks: bool) -> Result<Arc<Executor>> {
        let key = (threads_or_cores(num_threads), forks);
        let mut shared = SHARED.lock();
        if let Some(executor) = shared.get(&key).and_then(Weak::upgrade) {
            return Ok(executor);
        }
        let executor = Executor::make(key.0, forks)?;
        shared.insert(key, Arc::downgrade(&executor));
        Ok(executor)
    }

    /// Returns the executor of this name, which is separate from all others and lives as long as the process.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the name belongs to an executor of another number of threads, and `ResourceExhausted` if the system cannot start
    /// the threads.
    pub fn named(name: &str, num_threads: usize) -> Result<Arc<Executor>> {
        let mut named = NAMED.lock();
        if let Some((size, executor)) = named.get(name) {
            if *size != num_threads {
                bail!(InvalidArgument, "The thread pool '{name}' has {size} threads, and {num_threads} are asked for");
            }
            return Ok(executor.clone());
        }
        let executor = Executor::new(num_threads)?;
        named.insert(name.to_owned(), (num_threads, executor.clone()));
        Ok(executor)
    }

    /// Returns the number of threads.
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }

    /// Returns the executor's threads. `None` if the executor has no thread of its own, or if the current thread is one of them: a step then runs on
    /// the current thread.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if a forked process cannot start threads.
    pub fn other_threads(&self) -> Result<Option<ExecutorThreads>> {
        Ok(self.pool()?.filter(|pool| pool.current_thread_index().is_none()).map(ExecutorThreads))
    }

    /// Returns the pool whose threads are in this process.
    fn pool(&self) -> Result<Option<Arc<ThreadPool>>> {
        let process = std::process::id();
        if process == self.process || self.num_threads == 1 {
            return Ok(self.pool.clone());
        }
        let mut forked = self.forked.lock();
        if forked.as_ref().is_none_or(|(of, _)| *of != process) {
            // The pools of a parent have no threads here that would end.
            std::mem::forget(forked.replace((process, start(self.num_threads, self.forks)?)));
        }
        Ok(forked.as_ref().and_then(|(_, pool)| pool.clone()))
    }
}

/// The threads of an [`Executor`], for a thread that is none of them.
pub struct ExecutorThreads(Arc<ThreadPool>);

impl ExecutorThreads {
    /// Calls `start` on one of the threads, and waits for the results of the step that it starts. Calls the step's poll from time to time while it
    /// waits. `start` is not called if the step is cancelled, or its deadline passes, before a thread is free.
    ///
    /// # Errors
    /// Returns the error of the step.
    pub fn run(&self, step: &Step, start: impl FnOnce(Done) + Send + 'static) -> Results {
        run_in(&self.0, step, move |done| {
            let helpers_wait = intra_op::step();
            start(Box::new(move |results| {
                drop(helpers_wait);
                done(results);
            }));
        })
    }
}

impl fmt::Debug for ExecutorThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads", self.0.current_num_threads())
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor of {} threads", self.num_threads)
    }
}

/// Returns a number of threads, where 0 means one per core.
pub fn threads_or_cores(num_threads: usize) -> usize {
    match num_threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

fn start(num_threads: usize, forks: bool) -> Result<Option<Arc<ThreadPool>>> {
    if num_threads == 1 {
        return Ok(None);
    }
    let pool = intra_op::pool_with(num_threads, forks).map_err(|e| error!(ResourceExhausted, "cannot start {num_threads} threads: {e}"))?;
    Ok(Some(pool))
}
