//! The queues of requests and the threads that run them in batches.

use super::BatchingOptions;
use super::assembly::{concatenate, row_dims};
use crate::system;
use flowmill::sync::Mutex;
use flowmill::{CancelToken, Code, DType, Error, Result, RunOptions, Tensor};
use flowmill_kernels::blocks;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex as StdMutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A step that computes a batch: a prepared signature.
pub trait BatchStep: Send + Sync {
    /// Runs the step on one tensor for each input and returns the outputs.
    ///
    /// # Errors
    /// Any error of the step.
    fn run(&self, inputs: Vec<Tensor>, options: &RunOptions) -> Result<Vec<Tensor>>;

    /// Is called after each step with what it took, for metrics.
    fn record(&self, rows: usize, padded_rows: usize, compute: Duration) {
        let _ = (rows, padded_rows, compute);
    }
}

/// A request for rows of a batch.
#[derive(Debug)]
pub struct Request {
    /// One tensor for each input of the step. All of them have the same first dimension, the number of rows.
    pub inputs: Vec<Tensor>,
    /// The time at which the answer is of no use any more.
    pub deadline: Option<Instant>,
    /// Requests of a smaller number go first; 0 is the default and the last, as in KServe's protocol.
    pub priority: u32,
    /// Cancelled when nobody waits for the answer.
    pub cancel: CancelToken,
}

/// The outputs of a request, with the time that it took.
#[derive(Debug)]
pub struct Served {
    /// The request's rows of each output.
    pub outputs: Vec<Tensor>,
    /// The time between arrival and the start of the step.
    pub queue: Duration,
    /// The time of the step.
    pub compute: Duration,
    /// The number of rows of the step's batch, padding not counted.
    pub batch_rows: usize,
}

/// A request in a queue.
struct Task {
    request: Request,
    rows: usize,
    arrival: Instant,
    reply: oneshot::Sender<Result<Served>>,
}

/// Requests that may share a batch, those of the highest priority first.
struct Group {
    key: Key,
    tasks: VecDeque<Task>,
    rows: usize,
}

/// The type and the dimensions of each input, the first dimension left out: equal for all requests of a batch.
#[derive(PartialEq, Eq, Debug)]
struct Key(Vec<(DType, Vec<usize>)>);

struct QueueState {
    step: Weak<dyn BatchStep>,
    options: Arc<BatchingOptions>,
    groups: Vec<Group>,
    rows: usize,
    id: u64,
}

#[derive(Default)]
struct State {
    queues: Vec<QueueState>,
    /// The queue that is looked at first, so that all have their turn.
    next: usize,
    next_id: u64,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: StdMutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads that run batches of all queues. Dropping it answers waiting requests with `Unavailable` and waits for running steps.
pub struct BatchScheduler {
    shared: Arc<Shared>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

/// The requests that wait for one signature. Dropping the queue answers them with `Unavailable`.
pub struct BatchQueue {
    shared: Arc<Shared>,
    options: Arc<BatchingOptions>,
    /// The scheduler has a weak reference only, so that the step goes with its queue.
    _step: Arc<dyn BatchStep>,
    id: u64,
}

/// A batch that a thread has taken out of its queue.
struct Batch {
    step: Arc<dyn BatchStep>,
    options: Arc<BatchingOptions>,
    tasks: Vec<Task>,
    rows: usize,
}

impl BatchScheduler {
    /// Starts `num_threads` threads, or one per core for 0.
    ///
    /// # Errors
    /// `ResourceExhausted` if a thread cannot be started.
    pub fn start(num_threads: usize) -> Result<Arc<BatchScheduler>> {
        let count = match num_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let scheduler = Arc::new(BatchScheduler { shared: Arc::default(), threads: Mutex::default() });
        for i in 0..count {
            let shared = scheduler.shared.clone();
            let thread = std::thread::Builder::new().name(format!("flowmill-batch-{i}")).spawn(move || {
                system::shorten_time_slice();
                run_batches(&shared);
            });
            let thread = thread.map_err(|e| Error::resource_exhausted(format!("a thread for batches cannot be started: {e}")))?;
            scheduler.threads.lock().push(thread);
        }
        Ok(scheduler)
    }

    /// Makes a queue for a signature.
    pub fn queue(&self, step: Arc<dyn BatchStep>, options: Arc<BatchingOptions>) -> BatchQueue {
        let mut state = self.shared.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.queues.push(QueueState { step: Arc::downgrade(&step), options: options.clone(), groups: Vec::new(), rows: 0, id });
        BatchQueue { shared: self.shared.clone(), options, _step: step, id }
    }
}

impl Drop for BatchScheduler {
    fn drop(&mut self) {
        let abandoned = {
            let mut state = self.shared.lock();
            state.closed = true;
            state.queues.iter_mut().flat_map(|queue| std::mem::take(&mut queue.groups)).collect::<Vec<_>>()
        };
        self.shared.changed.notify_all();
        refuse(abandoned);
        for thread in self.threads.get_mut().drain(..) {
            // The last reference may be dropped by a request that one of the threads answers.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for BatchQueue {
    fn drop(&mut self) {
        let removed = {
            let mut state = self.shared.lock();
            let index = state.queues.iter().position(|queue| queue.id == self.id);
            index.map(|index| state.queues.remove(index).groups)
        };
        refuse(removed.unwrap_or_default());
    }
}

/// Answers requests whose queue has gone.
fn refuse(groups: Vec<Group>) {
    for task in groups.into_iter().flat_map(|group| group.tasks) {
        let _ = task.reply.send(Err(Error::unavailable("the model was unloaded before its batch ran")));
    }
}

impl BatchQueue {
    /// Adds a request and returns where its answer will arrive.
    ///
    /// # Errors
    /// `InvalidArgument` if the inputs do not have the same number of rows or have more than a batch may have, `ResourceExhausted` if too many rows
    /// wait, and `Unavailable` after the scheduler ended.
    pub fn add(&self, request: Request) -> Result<oneshot::Receiver<Result<Served>>> {
        let rows = num_rows(&request.inputs)?;
        if rows > self.options.rows_per_step() {
            return Err(Error::invalid_argument(format!(
                "a request of {rows} rows is larger than the largest batch, {}",
                self.options.rows_per_step()
            )));
        }
        let key = Key::of(&request.inputs, self.options.pad_variable_length_inputs);
        let (reply, answer) = oneshot::channel();
        let task = Task { request, rows, arrival: Instant::now(), reply };
        let mut state = self.shared.lock();
        if state.closed {
            return Err(Error::unavailable("the server is shutting down"));
        }
        let Some(queue) = state.queues.iter_mut().find(|queue| queue.id == self.id) else {
            return Err(Error::unavailable("the model was unloaded"));
        };
        let limit = self.options.max_enqueued_batches.saturating_mul(self.options.rows_per_step());
        if queue.rows + rows > limit {
            return Err(Error::resource_exhausted(format!(
                "{} rows wait for this model already, and {limit} may (max_enqueued_batches)",
                queue.rows
            )));
        }
        queue.rows += rows;
        let index = queue.groups.iter().position(|group| group.key == key).unwrap_or_else(|| {
            queue.groups.push(Group { key, tasks: VecDeque::new(), rows: 0 });
            queue.groups.len() - 1
        });
        let group = &mut queue.groups[index];
        let is_first = group.tasks.is_empty();
        let was_full = group.rows >= self.options.rows_per_step();
        group.rows += rows;
        let place = group.tasks.partition_point(|other| other.urgency() <= task.urgency());
        group.tasks.insert(place, task);
        // Threads that wait for the group's time know of it already.
        let wakes = is_first || (!was_full && group.rows >= self.options.rows_per_step());
        drop(state);
        if wakes {
            self.shared.changed.notify_one();
        }
        Ok(answer)
    }

    /// Runs a request through the queue, in parts if it has more rows than a batch and the options allow that.
    ///
    /// # Errors
    /// `InvalidArgument`, `ResourceExhausted` and `Unavailable` as [`BatchQueue::add`], and the error of the step.
    pub async fn run(&self, request: Request) -> Result<Served> {
        let gone = || Error::unavailable("the model was unloaded before its batch ran");
        let rows = num_rows(&request.inputs)?;
        let limit = self.options.rows_per_step();
        if rows <= limit || !self.options.enable_large_batch_splitting {
            return self.add(request)?.await.map_err(|_| gone())?;
        }
        let mut answers = Vec::new();
        for start in (0..rows).step_by(limit) {
            let count = limit.min(rows - start);
            let inputs = request.inputs.iter().map(|input| blocks::rows(input, start, count)).collect::<Result<_>>()?;
            let part = Request { inputs, deadline: request.deadline, priority: request.priority, cancel: request.cancel.clone() };
            answers.push(self.add(part)?);
        }
        let mut parts = Vec::new();
        for answer in answers {
            parts.push(answer.await.map_err(|_| gone())??);
        }
        let num_outputs = parts.first().map_or(0, |part| part.outputs.len());
        let outputs = (0..num_outputs).map(|i| concatenate(&parts.iter().map(|part| &part.outputs[i]).collect::<Vec<_>>(), rows));
        Ok(Served {
            outputs: outputs.collect::<Result<_>>()?,
            queue: parts.iter().map(|part| part.queue).max().unwrap_or_default(),
            compute: parts.iter().map(|part| part.compute).sum(),
            batch_rows: rows,
        })
    }

    /// Returns the number of rows that wait.
    pub fn num_waiting_rows(&self) -> usize {
        self.shared.lock().queues.iter().find(|queue| queue.id == self.id).map_or(0, |queue| queue.rows)
    }

    /// Returns the options.
    pub fn options(&self) -> &BatchingOptions {
        &self.options
    }
}

impl fmt::Debug for BatchQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchQueue").field("options", &self.options).field("waiting_rows", &self.num_waiting_rows()).finish_non_exhaustive()
    }
}

impl fmt::Debug for BatchScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchScheduler").field("queues", &self.shared.lock().queues.len()).finish_non_exhaustive()
    }
}

/// Returns the first dimension of the inputs.
fn num_rows(inputs: &[Tensor]) -> Result<usize> {
    let mut rows = inputs.iter().map(|input| input.shape().dims().first().copied());
    let first = rows.next().flatten().filter(|&first| rows.all(|other| other == Some(first)));
    first.ok_or_else(|| {
        let shapes: Vec<String> = inputs.iter().map(|input| input.shape().to_string()).collect();
        Error::invalid_argument(format!("inputs of a batch need the same first dimension; their shapes are {}", shapes.join(", ")))
    })
}

impl Key {
    fn of(inputs: &[Tensor], is_padded: bool) -> Key {
        let inner = |input: &Tensor| match is_padded {
            true => vec![0; row_dims(input).len()],
            false => row_dims(input).to_vec(),
        };
        Key(inputs.iter().map(|input| (input.dtype(), inner(input))).collect())
    }
}

impl Task {
    /// Returns the priority as a number whose smallest value goes first.
    fn urgency(&self) -> u32 {
        self.request.priority.wrapping_sub(1)
    }

    /// Returns the error of a request that need not run any more.
    fn expired(&self, now: Instant) -> Option<Error> {
        if self.reply.is_closed() || self.request.cancel.is_cancelled() {
            return Some(Error::cancelled("the request was cancelled"));
        }
        let is_late = self.request.deadline.is_some_and(|deadline| deadline <= now);
        is_late.then(|| Error::deadline_exceeded("the deadline passed before the request's batch ran"))
    }
}

impl State {
    /// Takes a batch that should run now, or returns the time until one should.
    fn take(&mut self, now: Instant) -> std::result::Result<Batch, Option<Duration>> {
        let mut wait: Option<Duration> = None;
        let count = self.queues.len();
        for offset in 0..count {
            let index = (self.next + offset) % count;
            let queue = &mut self.queues[index];
            let (limit, timeout) = (queue.options.rows_per_step(), queue.options.batch_timeout);
            let due = |group: &Group| {
                let oldest = group.tasks.iter().map(|task| task.arrival).min().unwrap_or(now);
                if group.rows >= limit { Duration::ZERO } else { timeout.saturating_sub(now.duration_since(oldest)) }
            };
            let Some((group, left)) = (0..queue.groups.len()).map(|g| (g, due(&queue.groups[g]))).min_by_key(|(_, left)| *left) else {
                continue;
            };
            if left > Duration::ZERO {
                wait = Some(wait.map_or(left, |wait| wait.min(left)));
                continue;
            }
            let tasks = queue.take_tasks(group, limit);
            let rows = tasks.iter().map(|task| task.rows).sum();
            let Some(step) = queue.step.upgrade() else { continue };
            self.next = index + 1;
            return Ok(Batch { step, options: self.queues[index].options.clone(), tasks, rows });
        }
        Err(wait)
    }
}

impl QueueState {
    /// Takes as many requests of a group as fit into one batch, the most urgent first.
    fn take_tasks(&mut self, index: usize, limit: usize) -> Vec<Task> {
        let group = &mut self.groups[index];
        let (mut tasks, mut rows) = (Vec::new(), 0);
        while let Some(task) = group.tasks.front().filter(|task| tasks.is_empty() || rows + task.rows <= limit) {
            rows += task.rows;
            tasks.extend(group.tasks.pop_front());
        }
        group.rows -= rows;
        self.rows -= rows;
        if group.tasks.is_empty() {
            self.groups.swap_remove(index);
        }
        tasks
    }
}

/// Runs batches until the scheduler is dropped.
fn run_batches(shared: &Shared) {
    let mut state = shared.lock();
    while !state.closed {
        state = match state.take(Instant::now()) {
            Ok(batch) => {
                let more = state.queues.iter().any(|queue| queue.rows > 0);
                drop(state);
                if more {
                    shared.changed.notify_one();
                }
                batch.run();
                shared.lock()
            }
            Err(None) => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Err(Some(wait)) => shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}

impl Batch {
    /// Runs the batch and answers its requests.
    fn run(mut self) {
        let now = Instant::now();
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for task in std::mem::take(&mut self.tasks) {
            match task.expired(now) {
                None => tasks.push(task),
                Some(error) => {
                    self.rows -= task.rows;
                    let _ = task.reply.send(Err(error));
                }
            }
        }
        if tasks.is_empty() {
            return;
        }
        match self.outputs(&tasks) {
            Ok((outputs, compute)) => answer(tasks, &outputs, compute, now, self.rows),
            Err(error) if tasks.len() == 1 || matches!(error.code(), Code::ResourceExhausted | Code::DeadlineExceeded) => {
                tasks.into_iter().for_each(|task| drop(task.reply.send(Err(error.clone()))));
            }
            Err(_) => {
                for task in tasks {
                    self.rows = task.rows;
                    let start = Instant::now();
                    match self.outputs(std::slice::from_ref(&task)) {
                        Ok((outputs, compute)) => answer(vec![task], &outputs, compute, start, self.rows),
                        Err(error) => drop(task.reply.send(Err(error))),
                    }
                }
            }
        }
    }

    /// Runs the step on the rows of `tasks`; returns its outputs and its time.
    fn outputs(&self, tasks: &[Task]) -> Result<(Vec<Tensor>, Duration)> {
        let padded_rows = self.options.padded_rows(self.rows);
        let num_inputs = tasks.first().map_or(0, |task| task.request.inputs.len());
        let inputs = (0..num_inputs)
            .map(|i| concatenate(&tasks.iter().map(|task| &task.request.inputs[i]).collect::<Vec<_>>(), padded_rows))
            .collect::<Result<Vec<_>>>()?;
        // The step may end when the last of its requests does.
        let deadline = tasks.iter().map(|task| task.request.deadline).reduce(|a, b| Some(a?.max(b?))).flatten();
        let cancel = if let [task] = tasks { Some(task.request.cancel.clone()) } else { None };
        let start = Instant::now();
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(start));
        let outputs = self.step.run(inputs, &RunOptions { timeout, cancel, ..RunOptions::default() })?;
        let compute = start.elapsed();
        if let Some(output) = outputs.iter().find(|output| output.shape().dims().first() != Some(&padded_rows)) {
            return Err(Error::failed_precondition(format!(
                "an output of a batch of {padded_rows} rows has the shape {}: the model's outputs do not follow its batches",
                output.shape()
            )));
        }
        self.step.record(self.rows, padded_rows, compute);
        Ok((outputs, compute))
    }
}

/// Sends each request its rows of the outputs.
fn answer(tasks: Vec<Task>, outputs: &[Tensor], compute: Duration, started: Instant, batch_rows: usize) {
    let mut start = 0;
    for task in tasks {
        let rows = outputs.iter().map(|output| blocks::rows(output, start, task.rows)).collect::<Result<_>>();
        start += task.rows;
        let queue = started.saturating_duration_since(task.arrival);
        let _ = task.reply.send(rows.map(|outputs| Served { outputs, queue, compute, batch_rows }));
    }
}
