//! One call of a batching kernel: its tasks, which may be in several batches, and their results.

use super::queue::HasSize;
use crate::blocks::concat_rows;
use flowmill_runtime::{AsyncContext, Caller, FunctionHandle, Registration};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, Tensor};
use std::sync::Arc;

/// A call that waits until its tasks have ended.
pub(super) struct Request {
    /// A number that is unique in the process.
    pub(super) id: i64,
    /// The context from which functions for the call's batch may be called until the call has ended.
    pub(super) caller: Caller,
    /// The kernel's work on a batch.
    pub(super) work: Work,
    state: Mutex<Option<Pending>>,
}

/// The work of a kernel on a batch whose last call is this one.
#[derive(Clone)]
pub(super) enum Work {
    /// The kernel outputs the batch to that call and nothing to the others.
    PassOn,
    /// The kernel calls a function and outputs to each call its rows of the results.
    Call {
        /// The function.
        function: FunctionHandle,
        /// Its arguments in addition to the batch.
        captured: Vec<Tensor>,
        /// The number of its results.
        num_outputs: usize,
    },
}

struct Pending {
    ctx: AsyncContext,
    /// For each task, its result if it has ended.
    results: Vec<Option<Result<Vec<Tensor>>>>,
    /// The registration for the cancellation of the step.
    registration: Option<Registration>,
}

/// Rows of a request that are in one batch.
pub(super) struct Task {
    pub(super) request: Arc<Request>,
    /// The index of the task in its request.
    index: usize,
    pub(super) inputs: Vec<Tensor>,
    size: usize,
}

impl HasSize for Task {
    fn size(&self) -> usize {
        self.size
    }
}

impl Request {
    /// Returns a request for the call `ctx`, to be split into `num_tasks` tasks.
    pub(super) fn new(id: i64, ctx: AsyncContext, work: Work, num_tasks: usize) -> Arc<Request> {
        let caller = ctx.caller().clone();
        let pending = Pending { ctx, results: vec![None; num_tasks], registration: None };
        Arc::new(Request { id, caller, work, state: Mutex::new(Some(pending)) })
    }

    /// Returns task `index`, which has `size` rows of each input.
    pub(super) fn task(self: &Arc<Request>, index: usize, inputs: Vec<Tensor>, size: usize) -> Task {
        Task { request: self.clone(), index, inputs, size }
    }

    /// Stores `registration` until the call ends.
    pub(super) fn keep(&self, registration: Option<Registration>) {
        let mut state = self.state.lock();
        match &mut *state {
            Some(pending) => pending.registration = registration,
            // The registration is dropped after the lock is released, because dropping it may take the lock.
            None => drop((state, registration)),
        }
    }

    /// Returns true if the call's step was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.caller.step().cancel.is_cancelled()
    }

    fn end_task(&self, index: usize, result: Result<Vec<Tensor>>) {
        let mut state = self.state.lock();
        let Some(pending) = &mut *state else { return };
        if let Some(slot) = pending.results.get_mut(index) {
            *slot = Some(result);
        }
        if pending.results.iter().any(Option::is_none) {
            return;
        }
        let ended = state.take();
        drop(state);
        if let Some(Pending { ctx, results, registration }) = ended {
            drop(registration);
            ctx.done(joined(results.into_iter().flatten()).map(|outputs| outputs.into_iter().map(Some).collect()));
        }
    }
}

/// Returns the results of all tasks, concatenated.
fn joined(results: impl Iterator<Item = Result<Vec<Tensor>>>) -> Result<Vec<Tensor>> {
    let mut results = results.collect::<Result<Vec<_>>>()?;
    if results.len() == 1 {
        return Ok(results.pop().unwrap_or_default());
    }
    let num_outputs = results.first().map_or(0, Vec::len);
    (0..num_outputs).map(|i| concat_rows(results.iter().filter_map(|outputs| outputs.get(i)))).collect()
}

impl Task {
    /// Ends the task with its outputs or an error.
    pub(super) fn end(self, result: Result<Vec<Tensor>>) {
        self.request.end_task(self.index, result);
    }

    /// Ends the task because of an error in `other`. Tasks of `other` get the error as it is. For tasks of other requests, it is not marked as
    /// derived from another error.
    pub(super) fn fail(self, error: &Error, other: &Arc<Request>) {
        let error = if error.is_derived() && !Arc::ptr_eq(&self.request, other) {
            Error::new(error.code(), error.message())
        } else {
            error.clone()
        };
        self.end(Err(error));
    }
}
