//! The choice of the threads that a step runs on.
//!
//! A step runs on the thread of its caller or on an executor, whichever is faster by the durations of earlier steps (`thread_choice`), and its caller
//! waits. No thread of an executor waits for a step.

use super::SessionOptions;
use super::executable::Executable;
use super::thread_choice::Way;
use crate::devices::Devices;
use flowmill_runtime::executor::{Results, StatsCollector, threads_or_cores};
use flowmill_runtime::{Executor, Step};
use flowmill_tensor::{Result, Tensor};
use std::sync::Arc;

/// Returns the executors of a session: those that its options list, or one with the number of threads in the options.
///
/// # Errors
/// Returns `InvalidArgument` if a pool's name belongs to an executor of another number of threads, and `ResourceExhausted` if the system cannot start
/// the threads.
pub(super) fn executors(options: &SessionOptions) -> Result<Vec<Arc<Executor>>> {
    if let Some(executor) = &options.executor {
        return Ok(vec![executor.clone()]);
    }
    if options.thread_pools.is_empty() {
        let (intra, inter) = (options.intra_op_threads, options.inter_op_threads);
        // As in TensorFlow, one thread inside of kernels leaves the others to other nodes.
        return Ok(vec![Executor::shared_with(threads_or_cores(intra).max(threads_or_cores(inter)), intra != 1)?]);
    }
    let executor = |wanted: &super::ThreadPoolOption| match &*wanted.global_name {
        "" => Executor::shared(wanted.num_threads),
        name => Executor::named(name, wanted.num_threads),
    };
    options.thread_pools.iter().map(executor).collect()
}

/// Runs a step on an executor, or on this thread alone.
pub(super) fn run(
    executor: Option<&Arc<Executor>>,
    executable: &Arc<Executable>,
    devices: &Devices,
    step: &Arc<Step>,
    args: Vec<Tensor>,
    stats: Option<Arc<StatsCollector>>,
) -> Results {
    let executor = executor.filter(|executor| executor.num_threads() > 1);
    let choice = executor.and_then(|_| executable.choose_threads(&args, stats.is_some()));
    let executor = executor.filter(|_| choice.as_ref().is_none_or(|choice| choice.way == Way::Threads));
    let steps = executable.steps(devices, step.clone());
    let results = match executor.map(|executor| executor.other_threads()).transpose()? {
        None => flowmill_runtime::intra_op::alone(|| executable.run_alone(&steps, args, stats.as_ref())),
        // A kernel of another step, whose thread nobody else can have meanwhile.
        Some(None) => executable.run(&steps, args, executable.num_threads(), stats.as_ref()),
        Some(Some(threads)) => {
            let executable = executable.clone();
            threads.run(step, move |done| executable.start(&steps, args, stats, done))
        }
    };
    if let Some(choice) = choice {
        executable.durations.end(&choice);
    }
    results
}
