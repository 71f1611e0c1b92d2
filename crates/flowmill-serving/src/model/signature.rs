//! A signature of a model that is served: it checks a request's inputs, runs the step, and names its outputs.

use super::compute::{Compute, StepTime};
use super::on_callers_thread;
use crate::batching::{BatchQueue, BatchScheduler, BatchStep, BatchingOptions, Request, Served};
use crate::metrics::SignatureMetrics;
use flowmill::graph::Role;
use flowmill::proto::SignatureDef;
use flowmill::runtime::Poll;
use flowmill::{Callable, CancelToken, Code, Error, Graph, Result, RunOptions, Session, Signature, Tensor, TensorSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A prepared signature.
pub struct ServedSignature {
    name: Arc<str>,
    spec: Arc<Signature>,
    /// The values of inputs that a request leaves out.
    defaults: BTreeMap<String, Tensor>,
    step: Arc<Step>,
    queue: Option<BatchQueue>,
    compute: Arc<Compute>,
    checks_method_name: bool,
}

/// A session with the threads of its steps, which all signatures of a model share.
pub(crate) struct SignatureHost {
    session: Arc<Session>,
    has_loops: bool,
    compute: Arc<Compute>,
    checks_method_names: bool,
}

impl SignatureHost {
    pub(crate) fn new(session: Arc<Session>, compute: Arc<Compute>, checks_method_names: bool) -> SignatureHost {
        let has_loops = has_loops(&session.graph().read());
        SignatureHost { session, has_loops, compute, checks_method_names }
    }
}

/// The step of a signature.
struct Step {
    /// The error if the step could not be prepared; each call returns it.
    callable: Result<Callable>,
    metrics: Arc<SignatureMetrics>,
    time: StepTime,
    /// True if the first dimension of inputs counts rows.
    has_rows: bool,
    /// True if the model has a loop: the time of a step may be any, whatever that of the steps before it was.
    has_loops: bool,
}

/// Options of a call.
#[derive(Clone, Default)]
pub struct Call {
    /// The outputs to return, in their order; none means all.
    pub outputs: Vec<String>,
    /// The time at which the answer is of no use any more.
    pub deadline: Option<Instant>,
    /// Requests with smaller numbers go first; 0 is the default and goes last.
    pub priority: u32,
    /// Cancelled when the client has gone.
    pub cancel: CancelToken,
}

/// The result of a call.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs by name.
    pub outputs: Vec<(String, Tensor)>,
    /// The rows of the request.
    pub rows: usize,
    /// The time that the request waited.
    pub queue: Duration,
    /// The time of the step.
    pub compute: Duration,
    /// The rows of the step.
    pub batch_rows: usize,
}

impl ServedSignature {
    /// Prepares a signature of the graph of `host`'s session. It has a queue for batches if `batching` is there and every input and output has a first dimension
    /// of any size.
    ///
    /// # Errors
    /// `InvalidArgument` for a default value that is no tensor.
    pub(crate) fn new(
        name: &str,
        spec: Arc<Signature>,
        def: Option<&SignatureDef>,
        host: &SignatureHost,
        batching: Option<(&BatchScheduler, Arc<BatchingOptions>)>,
        metrics: Arc<SignatureMetrics>,
    ) -> Result<ServedSignature> {
        let feeds: BTreeSet<&str> = spec.inputs.values().map(|input| input.tensor.as_str()).collect();
        let fetches: Vec<&str> = spec.outputs.values().map(|output| output.tensor.as_str()).collect();
        let callable = host.session.make_callable(&feeds.into_iter().collect::<Vec<_>>(), &fetches, &[]);
        let defaults = def.into_iter().flat_map(|def| &def.defaults);
        let defaults = defaults.map(|(name, value)| Ok((name.clone(), Tensor::from_proto(value)?))).collect::<Result<_>>()?;
        let varies = |spec: &TensorSpec| match spec.shape.dims() {
            Some(dims) => dims.first() == Some(&-1),
            None => spec.shape.rank().is_none(),
        };
        let has_rows = !spec.inputs.is_empty() && spec.inputs.values().chain(spec.outputs.values()).all(varies);
        let step = Arc::new(Step { callable, metrics, time: StepTime::default(), has_rows, has_loops: host.has_loops });
        let queue = batching.filter(|_| has_rows).map(|(scheduler, options)| scheduler.queue(step.clone(), options));
        let (compute, checks_method_name) = (host.compute.clone(), host.checks_method_names);
        Ok(ServedSignature { name: name.into(), spec, defaults, step, queue, compute, checks_method_name })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the inputs and outputs.
    pub fn spec(&self) -> &Arc<Signature> {
        &self.spec
    }

    /// Returns what is counted for the signature.
    pub fn metrics(&self) -> &Arc<SignatureMetrics> {
        &self.step.metrics
    }

    /// Returns true if the signature must be of the method by which it is called with examples.
    pub(crate) fn checks_method_name(&self) -> bool {
        self.checks_method_name
    }

    /// Returns true if requests are batched.
    pub fn is_batched(&self) -> bool {
        self.queue.is_some()
    }

    /// Returns the largest number of rows of a batch, if requests are batched.
    pub fn max_batch_size(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.options().rows_per_step())
    }

    /// Returns true if the first dimension of inputs and outputs counts rows.
    pub fn has_rows(&self) -> bool {
        self.step.has_rows
    }

    /// Returns the number of rows that wait for a batch.
    pub fn num_waiting_rows(&self) -> usize {
        self.queue.as_ref().map_or(0, BatchQueue::num_waiting_rows)
    }

    /// Runs the signature on inputs by name.
    ///
    /// # Errors
    /// `InvalidArgument` for inputs or outputs that the signature does not have or that are missing, `DeadlineExceeded` when the deadline has
    /// passed, `ResourceExhausted` if too many requests wait, and the errors of the step.
    pub async fn call(&self, inputs: Vec<(String, Tensor)>, call: Call) -> Result<Outcome> {
        let filter = self.filter(&call.outputs)?;
        let feeds = self.feeds(inputs)?;
        let deadline = call.deadline;
        let rows = self.step.rows(&feeds).unwrap_or(1);
        let served = self.run(feeds, rows, call);
        let Served { outputs, queue, compute, batch_rows } = match deadline {
            None => served.await?,
            Some(deadline) => {
                let late = |_| Error::deadline_exceeded("the deadline passed before the request's answer was ready");
                tokio::time::timeout_at(deadline.into(), served).await.map_err(late)??
            }
        };
        Ok(Outcome { outputs: self.outputs(outputs, filter), rows, queue, compute, batch_rows })
    }

    /// Like [`ServedSignature::call`], on this thread and without a batch. `poll` is asked now and then.
    ///
    /// # Errors
    /// `InvalidArgument`, `DeadlineExceeded` and the errors of the step, as for [`ServedSignature::call`].
    pub fn call_alone(&self, inputs: Vec<(String, Tensor)>, call: Call, poll: Option<Poll>) -> Result<Outcome> {
        let filter = self.filter(&call.outputs)?;
        let feeds = self.feeds(inputs)?;
        let rows = self.step.rows(&feeds).unwrap_or(1);
        let (values, compute) = self.step.run_alone(feeds, rows, call, poll, false)?;
        Ok(Outcome { outputs: self.outputs(values, filter), rows, queue: Duration::ZERO, compute, batch_rows: rows })
    }

    /// Returns the wanted values with their names.
    fn outputs(&self, values: Vec<Tensor>, filter: Option<Vec<usize>>) -> Vec<(String, Tensor)> {
        let mut values: Vec<Option<Tensor>> = values.into_iter().map(Some).collect();
        let names: Vec<&String> = self.spec.outputs.keys().collect();
        let take = |index: usize| Some((names.get(index)?.to_string(), values.get_mut(index)?.take()?));
        match filter {
            None => (0..names.len()).filter_map(take).collect(),
            Some(indices) => indices.into_iter().filter_map(take).collect(),
        }
    }

    /// Runs a request of `rows` rows in a batch, or alone.
    async fn run(&self, feeds: Vec<Tensor>, rows: usize, call: Call) -> Result<Served> {
        // Inputs without rows, or of different numbers of rows, cannot be a part of a batch.
        let is_batchable = rows > 0 && feeds.iter().all(|feed| feed.shape().dims().first() == Some(&rows));
        if let Some(queue) = self.queue.as_ref().filter(|_| is_batchable) {
            return queue.run(Request { inputs: feeds, deadline: call.deadline, priority: call.priority, cancel: call.cancel }).await;
        }
        let expected = if self.step.has_loops { Duration::MAX } else { self.step.time.of(rows) };
        let step = self.step.clone();
        let run = move |stays: bool| step.run_alone(feeds, rows, call, None, stays);
        let ((outputs, compute), queue) = self.compute.run(expected, run).await?;
        Ok(Served { outputs, queue, compute, batch_rows: rows })
    }

    /// Returns the values to feed, in the order of the step's feeds.
    fn feeds(&self, mut inputs: Vec<(String, Tensor)>) -> Result<Vec<Tensor>> {
        for (name, value) in &self.defaults {
            if self.spec.inputs.contains_key(name) && !inputs.iter().any(|(given, _)| given == name) {
                inputs.push((name.clone(), value.clone()));
            }
        }
        let given: BTreeSet<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
        if given.len() != inputs.len() {
            return Err(Error::invalid_argument("an input is given twice"));
        }
        let known: BTreeSet<&str> = self.spec.inputs.keys().map(String::as_str).collect();
        if given != known {
            let list = |names: &mut dyn Iterator<Item = &&str>| names.copied().collect::<Vec<_>>().join(",");
            return Err(Error::invalid_argument(format!(
                "input size does not match signature: {}!={} len({{{}}}) != len({{{}}}). Sent extra: {{{}}}. Missing but required: {{{}}}.",
                given.len(),
                known.len(),
                list(&mut given.iter()),
                list(&mut known.iter()),
                list(&mut given.difference(&known)),
                list(&mut known.difference(&given)),
            )));
        }
        let inputs: Vec<(&str, Tensor)> = inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        Ok(self.spec.feeds(&inputs)?.into_iter().map(|(_, value)| value).collect())
    }

    /// Returns the places of the wanted outputs among the signature's; `None` for all.
    fn filter(&self, wanted: &[String]) -> Result<Option<Vec<usize>>> {
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut places = Vec::with_capacity(wanted.len());
        for name in wanted {
            let known = || self.spec.outputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let place = self.spec.outputs.keys().position(|output| output == name);
            let place = place.ok_or_else(|| {
                Error::invalid_argument(format!(
                    "output tensor alias not found in signature: {name} Outputs expected to be in the set {{{}}}.",
                    known()
                ))
            })?;
            if places.contains(&place) {
                return Err(Error::invalid_argument(format!("duplicate output tensor alias: {name}")));
            }
            places.push(place);
        }
        Ok(Some(places))
    }
}

impl fmt::Debug for ServedSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedSignature").field("name", &self.name).field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// Returns true if a graph or one of its functions has a loop.
fn has_loops(graph: &Graph) -> bool {
    let loops = |role: Role| matches!(role, Role::Enter | Role::While);
    let in_function = |op: &str| graph.op_def(op).is_ok_and(|def| loops(def.traits.role));
    graph.op_nodes().any(|node| loops(node.role()))
        || graph.library().iter().any(|function| function.def().node_def.iter().any(|node| in_function(&node.op)))
}

impl Step {
    /// Returns the number of rows of a request, if the signature has rows.
    fn rows(&self, feeds: &[Tensor]) -> Option<usize> {
        feeds.first().filter(|_| self.has_rows)?.shape().dims().first().copied()
    }

    /// Runs a request of `rows` rows as a step of its own, without the session's threads if it `stays` on this one; returns the time of the step too.
    fn run_alone(&self, feeds: Vec<Tensor>, rows: usize, call: Call, poll: Option<Poll>, stays: bool) -> Result<(Vec<Tensor>, Duration)> {
        let start = Instant::now();
        let timeout = call.deadline.map(|deadline| deadline.saturating_duration_since(start));
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::deadline_exceeded("the deadline passed before the request ran"));
        }
        let usual = if stays { on_callers_thread() } else { RunOptions::default() };
        let options = RunOptions { timeout, cancel: Some(call.cancel), poll, ..usual };
        let values = self.run(feeds, &options)?;
        let compute = start.elapsed();
        self.record(rows, rows, compute);
        Ok((values, compute))
    }
}

impl BatchStep for Step {
    fn run(&self, inputs: Vec<Tensor>, options: &RunOptions) -> Result<Vec<Tensor>> {
        let callable = self.callable.as_ref().map_err(Clone::clone)?;
        callable.run_with(inputs, options).map(|outcome| outcome.values).map_err(|error| match error.code() {
            // A client must not take a bug of the model for its own mistake.
            Code::Cancelled if options.cancel.as_ref().is_none_or(|cancel| !cancel.is_cancelled()) => {
                Error::unavailable("the model was unloaded while the request ran")
            }
            _ => error,
        })
    }

    fn record(&self, rows: usize, padded_rows: usize, compute: Duration) {
        self.time.record(padded_rows, compute);
        self.metrics.record_step(rows, padded_rows, compute);
    }
}
