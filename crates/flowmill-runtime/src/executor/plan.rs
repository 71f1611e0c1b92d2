//! The public face of the executor.

use super::freeze::freeze;
use super::run::Run;
use super::stats::StatsCollector;
use super::tables::Tables;
use super::timer;
use crate::plan::PlanGraph;
use crate::step::StepContext;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// A graph ready to run. Immutable; any number of steps run it at once.
pub struct Plan {
    tables: Tables,
}

/// How a step runs.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// The most threads that run nodes beside each other, the calling one included. 1 without a pool: nothing leaves the calling thread.
    /// 0: as many as the pool has. Kernels fork only on threads of a pool.
    pub num_threads: usize,
    /// The pool whose threads help and in which kernels fork; the step moves there at once, unless a thread of it is what calls. Without, it is the
    /// rayon pool that the calling thread belongs to, or the process's, and the step moves there when a kernel is worth it.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// Where to record what each node did. Without, nothing is measured.
    pub stats: Option<&'a StatsCollector>,
}

impl Plan {
    /// Checks and freezes a graph.
    ///
    /// # Errors
    /// `InvalidArgument`, with the node's name, where inputs of a node come from different frames, a cycle does not go through a
    /// NextIteration, or an arity is wrong; `Internal` where ids are out of range.
    pub fn new(graph: PlanGraph) -> Result<Plan> {
        Ok(Plan { tables: freeze(graph)? })
    }

    /// Runs one step. Gives one entry for each result; `None` is a dead one. Nothing of the step runs any more when this returns.
    ///
    /// # Errors
    /// The first error of a kernel that does not follow from another one, with node and op; the reason where the step was cancelled;
    /// `DeadlineExceeded` after the step's deadline; `InvalidArgument` where an argument has the wrong type or is missing.
    pub fn run(self: &Arc<Plan>, step: &Arc<StepContext>, args: Vec<Tensor>, options: RunOptions<'_>) -> Result<Vec<Option<Tensor>>> {
        let types = &self.tables.arg_types;
        if args.len() != types.len() {
            bail!(InvalidArgument, "Expected {} arguments, but {} were given", types.len(), args.len());
        }
        if let Some(i) = (0..types.len()).find(|&i| args[i].dtype() != types[i]) {
            bail!(InvalidArgument, "Argument {i} has type {}, but {} is expected", args[i].dtype(), types[i]);
        }
        let _deadline = step.deadline.and_then(|at| timer::watch(at, &step.cancel));
        if step.cancel.is_cancelled()
            && let Some(reason) = step.cancel.reason()
        {
            return Err(reason);
        }
        Run::new(self, step, options).execute(args)
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }
}
