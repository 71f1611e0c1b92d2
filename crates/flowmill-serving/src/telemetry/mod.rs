//! Spans of requests, sent to a collector by OTLP over HTTP.
//!
//! A request for inference that is sampled becomes a span of kind `SERVER` with a child for each part: `receive` (reading the request into tensors),
//! `queue` (waiting for a thread or a batch), `batch` (if it ran in one) around `compute` (the step), and `encode` (writing the answer). Its parent is the
//! span that the header `traceparent` names; the answer has the header `traceparent` with the request's own span.
//!
//! Threads that answer requests put the times of a request into a bounded queue and never wait. A task of the server's runtime makes spans of them
//! and posts them. What does not fit into the queue, and what a collector does not take in time, is dropped and counted.

mod context;
mod exporter;
mod options;
mod spans;

pub(crate) use context::{TRACEPARENT, TRACESTATE};
pub use options::{Sampler, TracingOptions};
pub(crate) use spans::TracedRequest;

use crate::metrics::Metrics;
use axum::http::{HeaderMap, HeaderValue};
use context::{IdGenerator, RemoteParent, SpanId, TraceId, traceparent};
use exporter::{Counts, Exporter, Message};
use flowmill::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// The place of a request in a trace.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    trace: TraceId,
    span: SpanId,
    parent: Option<SpanId>,
    state: String,
    is_sampled: bool,
}

impl RequestContext {
    /// Returns the answer's header.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        traceparent(self.trace, self.span, self.is_sampled)
    }
}

/// Decides which requests are traced, and hands them to the task that sends them.
#[derive(Debug)]
pub(crate) struct Tracer {
    sampler: Sampler,
    ids: IdGenerator,
    messages: mpsc::Sender<Message>,
    counts: Arc<Counts>,
}

impl Tracer {
    /// Starts the task that sends spans, in the current tokio runtime.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unimplemented` for an endpoint or headers that are not legal.
    pub(crate) fn start(options: TracingOptions, metrics: &Metrics) -> Result<Tracer> {
        let (messages, receiver) = mpsc::channel(options.max_queue_size.clamp(1, Semaphore::MAX_PERMITS));
        let (sampler, counts) = (options.sampler, Arc::<Counts>::default());
        let exporter = Exporter::new(options, counts.clone())?;
        tokio::spawn(exporter.run(receiver));
        let counter = |name, help, read: fn(&Counts) -> u64| {
            let counts = counts.clone();
            metrics.add_counter(name, help, move || read(&counts));
        };
        counter("flowmill_traces_exported_total", "Requests whose spans a collector took.", |counts| counts.exported.load(Relaxed));
        counter("flowmill_traces_dropped_total", "Requests whose spans were dropped.", |counts| counts.dropped.load(Relaxed));
        Ok(Tracer { sampler, ids: IdGenerator::default(), messages, counts })
    }

    /// Begins the span of a request with these headers.
    pub(crate) fn begin(&self, headers: &HeaderMap) -> RequestContext {
        let parent = RemoteParent::from_headers(headers);
        let trace = parent.as_ref().map_or_else(|| self.ids.trace(), |parent| parent.trace);
        let is_sampled = self.sampler.samples(trace, parent.as_ref());
        let (parent, state) = parent.map_or((None, String::new()), |parent| (Some(parent.span), parent.state));
        RequestContext { trace, span: self.ids.span(), parent, state, is_sampled }
    }

    /// Ends the span of a request. `request` is called only if it is sampled.
    pub(crate) fn end(&self, context: &RequestContext, request: impl FnOnce() -> TracedRequest) {
        if !context.is_sampled {
            return;
        }
        match self.messages.try_reserve() {
            Ok(place) => {
                let children = std::array::from_fn(|_| self.ids.span());
                place.send(Message::Request(Box::new(spans::EndedRequest { context: context.clone(), children, request: request() })));
            }
            Err(_) => drop(self.counts.dropped.fetch_add(1, Relaxed)),
        }
    }

    /// Waits until all spans of requests that have ended were sent or dropped.
    pub(crate) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.messages.send(Message::Flush(done)).await.is_ok() {
            let _ = is_done.await;
        }
    }
}
