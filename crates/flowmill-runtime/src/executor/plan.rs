//! Plans in their executable form, and their runs.

use super::crew::{Crew, Work};
use super::freeze::freeze;
use super::place::run_in;
use super::run::{Done, Results, Run};
use super::stats::StatsCollector;
use super::tables::{InputTable, Tables};
use super::threads::InRun;
use super::timer;
use crate::function::{Caller, depth};
use crate::intra_op;
use crate::plan::PlanGraph;
use crate::step::DeviceStep;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail, error};
use rayon::ThreadPool;
use std::sync::Arc;

/// A graph that is ready to run. It is immutable; any number of steps may run it at once.
pub struct Plan {
    tables: Tables,
}

/// Options of one run of a plan.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// The largest number of threads that run nodes in parallel. 1 runs all nodes on one thread; 0 means all threads of the pool.
    pub num_threads: usize,
    /// The pool that the step runs on, made by [`intra_op::pool`]. With `None`, the step runs on the calling thread and, if
    /// that thread belongs to such a pool, on other threads of the pool. Kernels fork only in a pool.
    pub pool: Option<&'a Arc<ThreadPool>>,
    /// Records what each node did; `None` measures nothing.
    pub stats: Option<&'a Arc<StatsCollector>>,
}

impl Plan {
    /// Checks and freezes a graph.
    ///
    /// # Errors
    /// Returns `InvalidArgument`, with the node's name, if inputs of a node come from different frames, a cycle does not go through a NextIteration,
    /// or an arity is wrong, and `Internal` if ids are out of range.
    pub fn new(graph: PlanGraph) -> Result<Plan> {
        Ok(Plan { tables: freeze(graph)? })
    }

    /// Like [`Plan::new`], for runs whose statistics name the producers of the inputs ([`NodeStats::inputs`](super::NodeStats::inputs)).
    ///
    /// # Errors
    /// Returns the errors of [`Plan::new`].
    pub fn traced(graph: PlanGraph) -> Result<Plan> {
        let inputs = Some(InputTable::new(&graph));
        Ok(Plan { tables: Tables { inputs, ..freeze(graph)? } })
    }

    /// Runs one step. Returns one entry for each result; `None` is dead. No work of the step is left when this returns.
    ///
    /// # Errors
    /// Returns the first error of a kernel that is not derived from another one, with node and op; the reason if the step was cancelled;
    /// `DeadlineExceeded` after the step's deadline; `InvalidArgument` if an argument is missing or has the wrong type.
    pub fn run(self: &Arc<Plan>, step: &Arc<DeviceStep>, args: Vec<Tensor>, options: RunOptions<'_>) -> Results {
        self.check_args(&args)?;
        let (num_threads, stats) = (options.num_threads, options.stats.cloned());
        if let Some(pool) = options.pool.filter(|pool| pool.current_thread_index().is_none()) {
            let (plan, context) = (self.clone(), step.clone());
            return run_in(pool, &step.step, move |done| plan.start(&context, args, num_threads, stats, done));
        }
        let _deadline = step.step.deadline.and_then(|at| timer::watch(at, &step.step.cancel));
        step.step.cancel.reason_if_cancelled()?;
        self.run_here(step, args, num_threads, stats)
    }

    /// Runs one step that this thread waits for and works on. The caller watches the deadline.
    fn run_here(
        self: &Arc<Plan>,
        step: &Arc<DeviceStep>,
        args: Vec<Tensor>,
        num_threads: usize,
        stats: Option<Arc<StatsCollector>>,
    ) -> Results {
        let outcome: Arc<Mutex<Option<Results>>> = Arc::default();
        let _in_run = InRun::enter();
        let crew = Crew::new(num_threads, true);
        let (their_outcome, their_crew) = (outcome.clone(), Arc::downgrade(&crew));
        let done = move |results| {
            *their_outcome.lock() = Some(results);
            if let Some(crew) = their_crew.upgrade() {
                crew.end();
            }
        };
        let run = Run::new(self, step, &crew, depth(), stats, Box::new(done));
        if rayon::current_thread_index().is_some() {
            crew.begin_and_wait(run, args);
        } else {
            // Kernels fork on threads of a pool only.
            intra_op::alone(|| crew.begin_and_wait(run, args));
        }
        let results = outcome.lock().take();
        results.unwrap_or_else(|| Err(error!(Internal, "a run ended without results")))
    }

    /// Starts a step on this thread, and returns when this thread has nothing left to do for the step. Other threads of its pool help. The thread
    /// that ends the step calls `done` with the results. The caller watches the step's deadline, as [`ExecutorThreads::run`](super::ExecutorThreads::run) does.
    pub fn start(
        self: &Arc<Plan>,
        step: &Arc<DeviceStep>,
        args: Vec<Tensor>,
        num_threads: usize,
        stats: Option<Arc<StatsCollector>>,
        done: Done,
    ) {
        if let Err(e) = self.check_args(&args) {
            return done(Err(e));
        }
        let crew = Crew::new(num_threads, false);
        let their_crew = Arc::downgrade(&crew);
        let done = move |results| {
            if let Some(crew) = their_crew.upgrade() {
                crew.end();
            }
            done(results);
        };
        let run = Run::new(self, step, &crew, 0, stats, Box::new(done));
        crew.begin(run, args);
    }

    /// Starts a run within the step of `caller`: at once if this thread has nothing else to do for the step, otherwise later. The thread that ends
    /// the run calls `done` with the results. If `caller` is outside of a plan, this waits for the run.
    pub fn call(self: &Arc<Plan>, caller: &Caller, args: Vec<Tensor>, done: Done) {
        let Some(crew) = caller.crew() else {
            let results = caller.nested(|| self.run(caller.device_step(), args, RunOptions::default()));
            return done(results);
        };
        match self.check_args(&args) {
            Ok(()) => {
                let run = Run::new(self, caller.device_step(), crew, caller.depth() + 1, None, done);
                crew.submit(Work::Begin(run, args));
            }
            Err(e) => done(Err(e)),
        }
    }

    /// Runs within the caller's step on this thread alone. None of the plan's kernels may wait for anything.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for wrong arguments, the error of the kernel that failed, or the reason of the step's cancellation.
    pub fn call_directly(self: &Arc<Plan>, step: &Arc<DeviceStep>, args: Vec<Tensor>) -> Results {
        self.check_args(&args)?;
        self.run_here(step, args, 1, None)
    }

    pub(super) fn check_args(&self, args: &[Tensor]) -> Result<()> {
        let types = &self.tables.arg_types;
        if args.len() != types.len() {
            bail!(InvalidArgument, "Expected {} arguments, but {} were given", types.len(), args.len());
        }
        match (0..types.len()).find(|&i| args[i].dtype() != types[i]) {
            Some(i) => bail!(InvalidArgument, "Argument {i} has type {}, but {} is expected", args[i].dtype(), types[i]),
            None => Ok(()),
        }
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }
}
