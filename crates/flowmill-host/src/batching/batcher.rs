//! The batcher, which combines the inputs of concurrent calls: queues of tasks, and the batches in progress.
//!
//! A batch runs within the step of its last call, on that step's threads; the steps of the other calls wait for it without occupying a thread. If
//! that step is cancelled meanwhile, the batch runs again without it.

use super::queue::{HasSize, Queue, QueueOptions};
use super::request::{Request, Task, Work};
use crate::blocks::concat_rows;
use crate::blocks::rows;
use flowmill_runtime::{Alarm, AsyncContext, call_at};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, DType, Error, Resource, Result, Shape, Tensor, bail, error};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

/// Options of a batcher.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The number of batches that may be in progress at once.
    pub(super) num_batch_threads: usize,
    /// The limits of each queue.
    pub(super) queue: QueueOptions,
    /// The sizes to which batches are padded, in ascending order. If empty, batches are not padded.
    pub(super) pad_to: Vec<usize>,
}

/// A batcher, which combines the inputs of concurrent calls in batches.
pub(super) struct Batcher(Arc<Shared>);

struct Shared {
    options: Options,
    state: Mutex<State>,
}

struct State {
    /// The queues with their names, in the order in which they were first used.
    queues: Vec<(String, Queue<Task>)>,
    /// The index of the queue from which the next batch is taken first.
    next_queue: usize,
    num_at_work: usize,
    /// The timer for the time at which an open batch has waited long enough.
    alarm: Option<(Instant, Alarm)>,
}

impl Resource for Batcher {
    fn type_name(&self) -> &'static str {
        "BatchResource"
    }
}

impl Batcher {
    pub(super) fn new(options: Options) -> Batcher {
        let state = State { queues: Vec::new(), next_queue: 0, num_at_work: 0, alarm: None };
        Batcher(Arc::new(Shared { options, state: Mutex::new(state) }))
    }

    /// Adds a call to the queue of this name. `ctx` is ended exactly once, with an error if its step is cancelled while it waits.
    pub(super) fn submit(&self, queue: &str, inputs: Vec<Tensor>, work: Work, ctx: AsyncContext) {
        let cancel = ctx.step().cancel.clone();
        let Some(request) = self.0.add(queue, &inputs, work, ctx) else { return };
        let (shared, id) = (self.0.clone(), request.id);
        request.keep(cancel.on_cancel(move |reason| {
            let reason = reason.clone().derived();
            shared.take_out(id).into_iter().for_each(|task| task.end(Err(reason.clone())));
            shared.progress();
        }));
        self.0.progress();
    }
}

impl Shared {
    /// Adds the tasks of a call to a queue, or ends the call with an error if the queue has no room.
    fn add(&self, queue: &str, inputs: &[Tensor], work: Work, ctx: AsyncContext) -> Option<Arc<Request>> {
        static NEXT_ID: AtomicI64 = AtomicI64::new(1);
        let num_rows = inputs.first().and_then(|input| input.shape().first().copied()).unwrap_or(0);
        let mut state = self.state.lock();
        let queue = state.queue(queue, &self.options.queue);
        let tasks = queue.task_sizes(num_rows).and_then(|sizes| split(inputs, &sizes));
        let tasks = match tasks {
            Ok(tasks) => tasks,
            Err(e) => {
                drop(state);
                ctx.done(Err(e));
                return None;
            }
        };
        let request = Request::new(NEXT_ID.fetch_add(1, Ordering::Relaxed), ctx, work, tasks.len());
        let now = Instant::now();
        for (i, (size, inputs)) in tasks.into_iter().enumerate() {
            queue.add(request.task(i, inputs, size), now);
        }
        Some(request)
    }

    /// Removes the waiting tasks of a call from their queue and returns them.
    fn take_out(&self, id: i64) -> Vec<Task> {
        let mut state = self.state.lock();
        state.queues.iter_mut().flat_map(|(_, queue)| queue.remove_all(|task| task.request.id == id)).collect()
    }

    /// Starts the batches that are ready, as many as may be in progress, and sets the timer for the next.
    fn progress(self: &Arc<Shared>) {
        while let Some(batch) = self.next_batch() {
            let Some(last) = batch.last() else { continue };
            let (shared, caller) = (self.clone(), last.request.caller.clone());
            caller.yield_now(move || shared.process(batch));
        }
    }

    fn next_batch(self: &Arc<Shared>) -> Option<Vec<Task>> {
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.num_at_work >= self.options.num_batch_threads {
            // When a batch in progress ends, it starts the next one.
            state.alarm = None;
            return None;
        }
        if let Some(batch) = state.take(now) {
            state.num_at_work += 1;
            return Some(batch);
        }
        let deadline = state.queues.iter().filter_map(|(_, queue)| queue.deadline()).min();
        if state.alarm.as_ref().map(|(at, _)| *at) != deadline {
            let shared = Arc::downgrade(self);
            state.alarm = deadline.map(|at| {
                let ring = move || {
                    if let Some(shared) = shared.upgrade() {
                        shared.state.lock().alarm = None;
                        shared.progress();
                    }
                };
                (at, call_at(at, ring))
            });
        }
        None
    }

    fn process(self: Arc<Shared>, batch: Vec<Task>) {
        let Some(last) = batch.last().map(|task| task.request.clone()) else { return self.end_batch() };
        let args = self.concat(&batch);
        match (args, &last.work) {
            (Err(e), _) => self.fail(batch, &last, &e),
            (Ok(args), Work::PassOn) => {
                pass_on(batch, args);
                self.end_batch();
            }
            (Ok(mut args), Work::Call { function, captured, .. }) => {
                args.extend_from_slice(captured);
                let (caller, runner) = (last.caller.clone(), last.clone());
                function.start(args, &caller, move |results| self.end_call(batch, &runner, results));
            }
        }
    }

    fn end_call(self: Arc<Shared>, mut batch: Vec<Task>, runner: &Arc<Request>, results: Result<Vec<Tensor>>) {
        match results.and_then(|outputs| self.split_outputs(&batch, &outputs)) {
            Ok(outputs) => {
                batch.into_iter().zip(outputs).for_each(|(task, outputs)| task.end(Ok(outputs)));
                self.end_batch();
            }
            Err(e) if runner.is_cancelled() => {
                // Only the step that runs the batch is to end; the tasks of other steps are run again.
                let others = batch.extract_if(.., |task| !Arc::ptr_eq(&task.request, runner)).collect::<Vec<_>>();
                batch.into_iter().for_each(|task| task.end(Err(e.clone())));
                match others.last().map(|task| task.request.caller.clone()) {
                    Some(caller) => caller.yield_now(move || self.process(others)),
                    None => self.end_batch(),
                }
            }
            Err(e) => self.fail(batch, runner, &e),
        }
    }

    fn fail(self: Arc<Shared>, batch: Vec<Task>, runner: &Arc<Request>, error: &Error) {
        batch.into_iter().for_each(|task| task.fail(error, runner));
        self.end_batch();
    }

    /// Ends a batch in progress, which allows another to start.
    fn end_batch(self: Arc<Shared>) {
        self.state.lock().num_at_work -= 1;
        self.progress();
    }

    /// Returns the size to which a batch of `size` rows is padded.
    fn padded(&self, size: usize) -> usize {
        self.options.pad_to.iter().copied().find(|&allowed| allowed >= size).unwrap_or(size)
    }

    /// Returns the inputs of a batch, padded with copies of its first row.
    fn concat(&self, batch: &[Task]) -> Result<Vec<Tensor>> {
        let num_inputs = batch.first().map_or(0, |task| task.inputs.len());
        if batch.iter().any(|task| task.inputs.len() != num_inputs) {
            bail!(InvalidArgument, "Batching inputs must have equal number of edges");
        }
        let size = batch.iter().map(HasSize::size).sum();
        let padding = self.padded(size) - size;
        let concat = |i: usize| {
            let inputs: Vec<&Tensor> = batch.iter().filter_map(|task| task.inputs.get(i)).collect();
            if inputs.iter().any(|input| Some(input.dtype()) != inputs.first().map(|first| first.dtype())) {
                bail!(InvalidArgument, "Batching inputs must have equal types");
            }
            let first_row = match inputs.first() {
                Some(first) if padding > 0 => Some(rows(first, 0, 1)?),
                _ => None,
            };
            concat_rows(inputs.into_iter().chain(first_row.iter().cycle().take(padding)))
        };
        (0..num_inputs).map(concat).collect()
    }

    /// Returns the rows of `outputs` that belong to each task, without the padding.
    fn split_outputs(&self, batch: &[Task], outputs: &[Tensor]) -> Result<Vec<Vec<Tensor>>> {
        let num_outputs = batch.first().and_then(|task| match &task.request.work {
            Work::Call { num_outputs, .. } => Some(*num_outputs),
            Work::PassOn => None,
        });
        if num_outputs != Some(outputs.len()) {
            bail!(Internal, "Wrong number of batched output tensors");
        }
        let size: usize = batch.iter().map(HasSize::size).sum();
        let padding = self.padded(size) - size;
        for output in outputs {
            let Some(&num_rows) = output.shape().first() else { bail!(FailedPrecondition, "Batched output tensor has 0 dimensions") };
            if num_rows != size + padding {
                bail!(
                    FailedPrecondition,
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors. \
                     0th dimension size: {num_rows}; batch size: {size}; unbatched tasks size: 0; padding size: {padding}"
                );
            }
        }
        let mut start = 0;
        let mut rows_of = |task: &Task| {
            let from = start;
            start += task.size();
            outputs.iter().map(|output| rows(output, from, task.size())).collect::<Result<Vec<_>>>()
        };
        batch.iter().map(&mut rows_of).collect()
    }
}

impl State {
    fn queue(&mut self, name: &str, options: &QueueOptions) -> &mut Queue<Task> {
        let at = self.queues.iter().position(|(other, _)| other == name).unwrap_or(self.queues.len());
        if at == self.queues.len() {
            self.queues.push((name.to_owned(), Queue::new(options.clone())));
        }
        &mut self.queues[at].1
    }

    /// Removes and returns a batch that is ready. The queues are served in turn.
    fn take(&mut self, now: Instant) -> Option<Vec<Task>> {
        for _ in 0..self.queues.len() {
            let at = self.next_queue % self.queues.len();
            self.next_queue = at + 1;
            if let Some(batch) = self.queues.get_mut(at).and_then(|(_, queue)| queue.take(now)) {
                return Some(batch);
            }
        }
        None
    }
}

/// Returns the inputs of a call's tasks, and their numbers of rows.
fn split(inputs: &[Tensor], sizes: &[usize]) -> Result<Vec<(usize, Vec<Tensor>)>> {
    if let [size] = sizes {
        return Ok(vec![(*size, inputs.to_vec())]);
    }
    let mut start = 0;
    let mut task = |&size: &usize| {
        let from = start;
        start += size;
        Ok((size, inputs.iter().map(|input| rows(input, from, size)).collect::<Result<Vec<_>>>()?))
    };
    sizes.iter().map(&mut task).collect()
}

/// Ends the calls of a batch. The last one gets the batch, with a row `[id, start, end]` for each call; the others get tensors without rows.
fn pass_on(mut batch: Vec<Task>, args: Vec<Tensor>) {
    let mut start = 0;
    let index: Vec<i64> = (batch.iter())
        .flat_map(|task| {
            let from = start;
            start += task.size() as i64;
            [task.request.id, from, start]
        })
        .collect();
    let outputs = |mut tensors: Vec<Tensor>, index: Vec<i64>, id: i64| {
        tensors.push(Allocator::process().from_slice(Shape::new(&[index.len() / 3, 3]), &index)?);
        tensors.push(Tensor::scalar(id));
        Ok(tensors)
    };
    let last = batch.pop();
    for task in batch {
        let empty = task.inputs.iter().map(|input| empty_like(input.dtype(), input.shape())).collect::<Result<Vec<_>>>();
        let id = task.request.id;
        task.end(empty.and_then(|empty| outputs(empty, Vec::new(), id)));
    }
    if let Some(last) = last {
        let id = last.request.id;
        last.end(outputs(args, index, id));
    }
}

/// Returns a tensor without rows.
fn empty_like(dtype: DType, shape: &Shape) -> Result<Tensor> {
    let Some(inner) = shape.get(1..) else { return Err(error!(Internal, "a scalar has no rows")) };
    let mut empty = Shape::new(&[0]);
    inner.iter().for_each(|&dim| empty.push(dim));
    Allocator::process().zeros(dtype, empty)
}
