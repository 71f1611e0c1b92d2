//! The choice of the threads that a step runs on.
//!
//! A step without costly nodes and without large arguments runs on the caller's thread, which is faster than any hand-over to another thread, unless
//! such steps turn out to be long: the costs of nodes whose shapes are unknown are guesses. Any other step runs on an executor, and its caller waits. No
//! thread of an executor waits for a step.

use super::SessionOptions;
use super::executable::Executable;
use crate::devices::Devices;
use flowmill_runtime::executor::{Results, StatsCollector, threads_or_cores};
use flowmill_runtime::{Executor, Step};
use flowmill_tensor::{Result, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

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

/// A step that takes longer than this on one thread is worth the hand-over to an executor, which takes some microseconds.
const LONG_STEP: Duration = Duration::from_micros(200);
/// A step that takes less than this on an executor was better run on the caller's thread.
const SHORT_STEP: Duration = Duration::from_micros(50);

/// Finds out whether the steps of an executable are long, although none of its nodes is known to be costly.
///
/// The first step is not measured, because it packs weights. Then two are, and later one of 16, so that small steps seldom read the clock. Concurrent
/// steps may overwrite each other's counts, which only moves the next measurement.
#[derive(Default)]
pub(super) struct StepDurations {
    num_steps: AtomicU32,
    /// The number of long steps among the last measured ones, up to 2.
    num_long: AtomicU8,
}

impl StepDurations {
    /// Returns true if the last two measured steps were long.
    fn are_long(&self) -> bool {
        self.num_long.load(Ordering::Relaxed) >= 2
    }

    /// Counts a step. Returns the time if the step is measured.
    fn begin(&self) -> Option<Instant> {
        let count = self.num_steps.load(Ordering::Relaxed);
        self.num_steps.store(count.wrapping_add(1), Ordering::Relaxed);
        (count == 1 || count == 2 || (count != 0 && count.is_multiple_of(16))).then(Instant::now)
    }

    /// Takes the duration of a measured step into account.
    fn end(&self, duration: Duration) {
        let num_long = self.num_long.load(Ordering::Relaxed);
        let least = if num_long >= 2 { SHORT_STEP } else { LONG_STEP };
        let next = if duration < least { 0 } else { (num_long + 1).min(2) };
        if next != num_long {
            self.num_long.store(next, Ordering::Relaxed);
        }
    }
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
    let is_guess = executor.is_some() && !executable.is_costly(&args);
    let began = if is_guess { executable.durations.begin() } else { None };
    let executor = executor.filter(|_| !is_guess || executable.durations.are_long());
    let steps = executable.steps(devices, step.clone());
    let results = match executor.map(|executor| executor.other_threads()).transpose()? {
        None => flowmill_runtime::intra_op::alone(|| executable.run(&steps, args, 1, stats.as_ref())),
        // A kernel of another step, whose thread nobody else can have meanwhile.
        Some(None) => executable.run(&steps, args, executable.num_threads(), stats.as_ref()),
        Some(Some(threads)) => {
            let executable = executable.clone();
            threads.run(step, move |done| executable.start(&steps, args, stats, done))
        }
    };
    if let Some(began) = began {
        executable.durations.end(began.elapsed());
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures a step of a duration. Returns false if the step was not measured.
    fn step(durations: &StepDurations, duration: Duration) -> bool {
        let is_measured = durations.begin().is_some();
        if is_measured {
            durations.end(duration);
        }
        is_measured
    }

    #[test]
    fn two_long_steps_in_a_row_are_run_on_an_executor_until_one_is_short() {
        let durations = StepDurations::default();
        assert!(!step(&durations, 9 * LONG_STEP), "the first step packs weights");
        assert!(step(&durations, 2 * LONG_STEP) && !durations.are_long());
        assert!(step(&durations, Duration::ZERO) && !durations.are_long());
        let next = |duration| (0..16).filter(|_| step(&durations, duration)).count();
        assert_eq!(next(2 * LONG_STEP), 1);
        assert!(!durations.are_long());
        next(2 * LONG_STEP);
        assert!(durations.are_long());
        next(LONG_STEP / 2);
        assert!(durations.are_long(), "a step is faster on several threads");
        next(Duration::ZERO);
        assert!(!durations.are_long());
    }
}
