//! One call of a kernel that batches: its tasks, which may be in several batches, and what they come to.

use super::queue::HasSize;
use super::rows::concat_rows;
use flowmill_runtime::{AsyncContext, Caller, FunctionHandle, Registration};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, Tensor};
use std::sync::Arc;

/// A call that waits for the ends of its tasks.
pub(super) struct Request {
    /// Unique in the process.
    pub(super) id: i64,
    /// The place that functions for the call's batch may be called from, while the call has not ended.
    pub(super) caller: Caller,
    /// The kernel's work on the batch.
    pub(super) work: Work,
    state: Mutex<Option<Pending>>,
}

/// The work of a kernel on a batch of which its call is the last.
#[derive(Clone)]
pub(super) enum Work {
    /// The kernel gives the batch to that call and nothing to the others.
    PassOn,
    /// Calls a function and gives each call its rows of the results.
    Call {
        /// The function.
        function: FunctionHandle,
        /// Its arguments beside the batch.
        captured: Vec<Tensor>,
        /// The number of its results.
        num_outputs: usize,
    },
}

struct Pending {
    ctx: AsyncContext,
    /// The results of each task that has ended.
    results: Vec<Option<Result<Vec<Tensor>>>>,
    /// Keeps the step's cancellation connected.
    registration: Option<Registration>,
}

/// Rows of a request that are in one batch.
pub(super) struct Task {
    pub(super) request: Arc<Request>,
    /// The number of the task in its request.
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
    /// The call `ctx`, to be divided into `num_tasks` tasks.
    pub(super) fn new(id: i64, ctx: AsyncContext, work: Work, num_tasks: usize) -> Arc<Request> {
        let caller = ctx.caller().clone();
        let pending = Pending { ctx, results: vec![None; num_tasks], registration: None };
        Arc::new(Request { id, caller, work, state: Mutex::new(Some(pending)) })
    }

    /// Task number `index`: `size` rows of each input.
    pub(super) fn task(self: &Arc<Request>, index: usize, inputs: Vec<Tensor>, size: usize) -> Task {
        Task { request: self.clone(), index, inputs, size }
    }

    /// Keeps `registration` until the call ends.
    pub(super) fn keep(&self, registration: Option<Registration>) {
        let mut state = self.state.lock();
        match &mut *state {
            Some(pending) => pending.registration = registration,
            // Dropped without the lock, which dropping it may need.
            None => drop((state, registration)),
        }
    }

    /// Returns true if the call's step is to end.
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

/// The results of all tasks as one.
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

    /// Ends the task because something of `other` has failed: `other`'s own steps hear of the error as it is, those of other requests as their first.
    pub(super) fn fail(self, error: &Error, other: &Arc<Request>) {
        let error = if error.is_derived() && !Arc::ptr_eq(&self.request, other) {
            Error::new(error.code(), error.message())
        } else {
            error.clone()
        };
        self.end(Err(error));
    }
}
