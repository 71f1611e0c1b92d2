//! Steps and calls of functions that consist of several plans, one for each device. The plans share the step's threads, its cancellation, its first
//! error and their end.

use super::crew::{Crew, Work};
use super::plan::Plan;
use super::run::{Results, Run};
use super::stats::StatsCollector;
use super::threads::InRun;
use super::timer;
use crate::cancel::Registration;
use crate::function::Caller;
use crate::intra_op;
use crate::rendezvous::Transfers;
use crate::step::{DeviceStep, Step};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Code, Error, Result, Tensor, bail, error};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};

/// A plan of a step, with the device that it runs on and its arguments.
pub struct PlanCall {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The step on the plan's device. All calls of a step have the same [`DeviceStep::step`].
    pub step: Arc<DeviceStep>,
    /// The plan's arguments.
    pub args: Vec<Tensor>,
}

/// The results of each plan of a step.
pub type PartResults = Result<Vec<Vec<Option<Tensor>>>>;

/// A callback that receives the results of each plan of a step when all of them have ended.
pub type PartsDone = Box<dyn FnOnce(PartResults) + Send>;

/// Shared by all plans of a step: collects their results until the last plan has ended.
struct Ending {
    step: Arc<Step>,
    left: AtomicUsize,
    results: Mutex<Vec<Option<Results>>>,
    /// The crew that ends with the plans; none for the call of a function.
    crew: Weak<Crew>,
    done: Mutex<Option<PartsDone>>,
    /// Ends the step's transfers if it is cancelled.
    on_cancel: Mutex<Option<Registration>>,
}

impl Ending {
    /// Records the results of plan `i`. If plan `i` failed, the step is cancelled already, so that the other plans end soon.
    fn end(&self, i: usize, results: Results) {
        if let Some(place) = self.results.lock().get_mut(i) {
            *place = Some(results);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        if let Some(crew) = self.crew.upgrade() {
            crew.end();
        }
        let done = self.done.lock().take();
        if let Some(done) = done {
            done(self.all());
        }
    }

    /// Returns the results of all plans, or the error that came first.
    fn all(&self) -> PartResults {
        let missing = || Err(error!(Internal, "a plan ended without results"));
        let all: PartResults = std::mem::take(&mut *self.results.lock()).into_iter().map(|part| part.unwrap_or_else(missing)).collect();
        drop(self.on_cancel.lock().take());
        all.map_err(|e: Error| self.name_awaited(self.step.cancel.reason().unwrap_or(e)))
    }

    /// Adds the names of the tensors that the step was waiting for to the error of a deadline.
    fn name_awaited(&self, e: Error) -> Error {
        let awaited = self.step.rendezvous.transfers().map(Transfers::awaited).unwrap_or_default();
        if e.code() != Code::DeadlineExceeded || awaited.is_empty() {
            return e;
        }
        let more = if awaited.len() > NAMES_LISTED { format!(" and {} more", awaited.len() - NAMES_LISTED) } else { String::new() };
        let names = awaited[..awaited.len().min(NAMES_LISTED)].join(", ");
        e.append(format_args!(" (while waiting for {names}{more})"))
    }
}

/// The number of tensors that the error of a deadline names.
const NAMES_LISTED: usize = 3;

/// Makes the runs of plans, all with one crew. `caller` calls them; without a caller, they are a step of their own, which ends the crew.
fn runs(
    calls: Vec<PlanCall>,
    crew: &Arc<Crew>,
    caller: Option<&Caller>,
    stats: Option<&Arc<StatsCollector>>,
    done: PartsDone,
) -> Result<Vec<(Arc<Run>, Vec<Tensor>)>, (Error, PartsDone)> {
    let Some(first) = calls.first() else { return Err((error!(Internal, "a step without a plan"), done)) };
    if let Some(e) = calls.iter().find_map(|call| call.plan.check_args(&call.args).err()) {
        return Err((e, done));
    }
    let ending = Arc::new(Ending {
        step: first.step.step.clone(),
        left: AtomicUsize::new(calls.len()),
        results: Mutex::new(calls.iter().map(|_| None).collect()),
        crew: if caller.is_none() { Arc::downgrade(crew) } else { Weak::new() },
        done: Mutex::new(Some(done)),
        on_cancel: Mutex::new(None),
    });
    if first.step.step.rendezvous.transfers().is_some() {
        let step = Arc::downgrade(&first.step.step);
        let abort = move |reason: &Error| {
            if let Some(step) = step.upgrade() {
                step.rendezvous.abort(reason.clone().derived());
            }
        };
        *ending.on_cancel.lock() = first.step.step.cancel.on_cancel(abort);
    }
    let depth = caller.map_or(0, |caller| caller.depth() + 1);
    let run = |(i, call): (usize, PlanCall)| {
        let (ending, device) = (ending.clone(), call.step.device.clone());
        let end = move |results: Results| match results {
            // What the kernels have enqueued belongs to the step.
            Ok(values) if !device.is_host() => device.sync(Box::new(move |synced| ending.end(i, synced.map(|()| values)))),
            results => ending.end(i, results),
        };
        let run = Run::new(&call.plan, &call.step, crew, depth, stats.cloned(), Box::new(end));
        (run, call.args)
    };
    Ok(calls.into_iter().enumerate().map(run).collect())
}

/// Starts the plans of a step on this thread, and returns when this thread has nothing left to do for the step. Other threads of its pool help. The
/// thread that ends the last plan calls `done`. The caller watches the step's deadline, as [`ExecutorThreads::run`](super::ExecutorThreads::run) does.
pub fn start_parts(calls: Vec<PlanCall>, num_threads: usize, stats: Option<Arc<StatsCollector>>, done: PartsDone) {
    let crew = Crew::new(num_threads, false);
    match runs(calls, &crew, None, stats.as_ref(), done) {
        Ok(runs) => crew.begin_all(runs),
        Err((e, done)) => done(Err(e)),
    }
}

/// Starts the plans of a function within the step of `caller`, like [`Plan::call`]. The thread that ends the last plan calls `done`.
pub fn call_parts(calls: Vec<PlanCall>, caller: &Caller, done: PartsDone) {
    let Some(crew) = caller.crew() else { return done(caller.nested(|| run_parts(calls, None))) };
    match runs(calls, crew, Some(caller), None, done) {
        Ok(runs) => runs.into_iter().for_each(|(run, args)| crew.submit(Work::Begin(run, args))),
        Err((e, done)) => done(Err(e)),
    }
}

/// Runs the plans of a step on this thread alone and returns the results of each.
///
/// # Errors
/// Returns the first error of a kernel that is not derived from another one, the reason if the step was cancelled, or `DeadlineExceeded` after its
/// deadline.
pub fn run_parts(calls: Vec<PlanCall>, stats: Option<Arc<StatsCollector>>) -> PartResults {
    let Some(step) = calls.first().map(|call| call.step.step.clone()) else { bail!(Internal, "a step without a plan") };
    let _deadline = step.deadline.and_then(|at| timer::watch(at, &step.cancel));
    step.cancel.reason_if_cancelled()?;
    let _in_run = InRun::enter();
    let crew = Crew::new(1, true);
    let (sender, results) = channel();
    let runs = runs(calls, &crew, None, stats.as_ref(), Box::new(move |all| drop(sender.send(all)))).map_err(|(e, _)| e)?;
    intra_op::alone(|| crew.begin_all_and_wait(runs));
    // A device may still be at work: another thread then ends the step.
    results.recv().unwrap_or_else(|_| Err(error!(Internal, "a step ended without results")))
}
