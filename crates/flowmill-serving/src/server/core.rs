//! The state that all protocols share: the models, the admission of requests, and the record of each.

use super::options::ServerLimits;
use super::requests::{RecentRequest, RecentRequests};
use crate::metrics::{Api, Metrics, Protocol, Timings};
use crate::model::{Call, Compute, ModelLoader, Outcome, ServedModel, ServedSignature};
use crate::proto::tfs::{GetModelStatusResponse, ModelVersionStatus, StatusProto};
use crate::repository::{Loaded, ModelConfig, Repository, RepositoryConfig, VersionChoice, VersionStatus};
use crate::telemetry::{RequestContext, TracedRequest, Tracer};
use axum::http::{HeaderMap, HeaderValue};
use flowmill::{CancelToken, Code, Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

/// The state of a server.
pub(crate) struct Core {
    pub(crate) repository: Repository<ModelLoader>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: ServerLimits,
    pub(crate) recent: RecentRequests,
    compute: Arc<Compute>,
    /// The configuration without the models, which a reload replaces.
    repository_config: RepositoryConfig,
    /// A path of the metrics beside the usual ones.
    pub(crate) metrics_path: Option<String>,
    /// Set when the server is told to end: it is not ready any more.
    pub(crate) is_draining: AtomicBool,
    num_requests: Arc<AtomicUsize>,
    num_bytes: Arc<AtomicUsize>,
    /// Sends spans of requests, if the options say where to.
    pub(crate) tracer: Option<Tracer>,
}

/// A share of a bounded quantity, given back when it is dropped.
pub(crate) struct Share {
    used: Arc<AtomicUsize>,
    amount: usize,
}

impl Share {
    /// Takes `amount` of what `limit` bounds, if there is as much.
    fn take(used: &Arc<AtomicUsize>, amount: usize, limit: usize) -> Option<Share> {
        let taken = used.fetch_update(Relaxed, Relaxed, |used| used.checked_add(amount).filter(|sum| *sum <= limit));
        taken.ok().map(|_| Share { used: used.clone(), amount })
    }

    /// Takes `more` of it, if there is as much.
    fn grow(&mut self, more: usize, limit: usize) -> bool {
        let taken = self.used.fetch_update(Relaxed, Relaxed, |used| used.checked_add(more).filter(|sum| *sum <= limit));
        self.amount += if taken.is_ok() { more } else { 0 };
        taken.is_ok()
    }

    /// Returns all of it.
    pub(crate) fn clear(&mut self) {
        self.used.fetch_sub(std::mem::take(&mut self.amount), Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A request that is being answered. If it is dropped before [`InFlight::end`], its client has gone: its step is cancelled.
pub(crate) struct InFlight<'a> {
    core: &'a Core,
    protocol: Protocol,
    api: Api,
    start: Instant,
    timings: Timings,
    rows: usize,
    model: Option<Arc<Loaded<ServedModel>>>,
    signature: Option<Arc<ServedSignature>>,
    cancel: CancelToken,
    /// The request's place in a trace, if the server traces.
    trace: Option<RequestContext>,
    /// The time from the start until the step's outputs were there.
    computed: Duration,
    has_ended: bool,
    /// `None` if the request was admitted earlier.
    share: Option<Share>,
}

impl Core {
    pub(crate) fn new(
        repository: Repository<ModelLoader>,
        repository_config: RepositoryConfig,
        metrics: Arc<Metrics>,
        compute: &Arc<Compute>,
        limits: ServerLimits,
        metrics_path: Option<String>,
        tracer: Option<Tracer>,
    ) -> Core {
        let (num_requests, num_bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (requests, bytes, waiting) = (num_requests.clone(), num_bytes.clone(), compute.clone());
        let single = |value: usize| vec![(String::new(), value as f64)];
        metrics.add_gauge("flowmill_requests_in_flight", "Requests that are being answered.", move || single(requests.load(Relaxed)));
        metrics.add_gauge("flowmill_request_bytes_in_flight", "Bytes of their bodies.", move || single(bytes.load(Relaxed)));
        metrics.add_gauge("flowmill_waiting_steps", "Steps that wait for a thread.", move || single(waiting.num_waiting()));
        metrics.add_gauge(
            "flowmill_tensor_bytes",
            "Bytes of tensors in blocks of at least 64 KiB; smaller blocks are not counted.",
            move || single(flowmill::live_bytes()),
        );
        let (recent, is_draining) = (RecentRequests::default(), AtomicBool::new(false));
        let compute = compute.clone();
        Core { repository, repository_config, metrics_path, metrics, limits, recent, compute, is_draining, num_requests, num_bytes, tracer }
    }

    /// Returns true if requests are taken: every configured model has a version, and the server does not end.
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_draining.load(Relaxed) && self.repository.is_ready()
    }

    /// Takes a place among the requests that are answered at once.
    ///
    /// # Errors
    /// `ResourceExhausted` if as many are answered as the limits allow.
    pub(crate) fn admit(&self) -> Result<Share> {
        Share::take(&self.num_requests, 1, self.limits.max_requests_in_flight).ok_or_else(|| {
            self.reject(Error::resource_exhausted(format!("{} requests are being answered already", self.limits.max_requests_in_flight)))
        })
    }

    /// Begins a request that arrived at `start` with `headers`, which may name a trace.
    ///
    /// # Errors
    /// `ResourceExhausted` if as many are answered as the limits allow.
    pub(crate) fn begin(&self, protocol: Protocol, api: Api, start: Instant, headers: &HeaderMap) -> Result<InFlight<'_>> {
        let share = self.admit()?;
        let mut request = self.begin_admitted(protocol, api, start, headers);
        request.share = Some(share);
        Ok(request)
    }

    /// Begins a request that arrived at `start` with `headers` and has a place from [`Core::admit`].
    pub(crate) fn begin_admitted(&self, protocol: Protocol, api: Api, start: Instant, headers: &HeaderMap) -> InFlight<'_> {
        InFlight {
            core: self,
            protocol,
            api,
            start,
            timings: Timings::default(),
            rows: 0,
            model: None,
            signature: None,
            cancel: CancelToken::new(),
            trace: self.tracer.as_ref().map(|tracer| tracer.begin(headers)),
            computed: Duration::ZERO,
            has_ended: false,
            share: None,
        }
    }

    /// Returns a share of the memory of bodies that has no bytes yet.
    pub(crate) fn no_bytes(&self) -> Share {
        Share { used: self.num_bytes.clone(), amount: 0 }
    }

    /// Takes the memory of `bytes` bytes more of a body.
    ///
    /// # Errors
    /// `ResourceExhausted` if other bodies have it.
    pub(crate) fn take_more_bytes(&self, share: &mut Share, bytes: usize) -> Result<()> {
        if share.grow(bytes, self.limits.max_bytes_in_flight) {
            return Ok(());
        }
        Err(self.reject(Error::resource_exhausted(format!(
            "requests of {} bytes in all are being answered; this one has {bytes} more",
            self.num_bytes.load(Relaxed)
        ))))
    }

    /// Counts a request that is refused before it reaches a model.
    pub(crate) fn reject(&self, error: Error) -> Error {
        self.metrics.record_rejected(error.code());
        error
    }

    /// Returns the states of a model's versions, or of the one that `choice` names.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn model_status(&self, name: &str, choice: &VersionChoice) -> Result<GetModelStatusResponse> {
        let version = match choice {
            VersionChoice::Preferred => None,
            VersionChoice::Version(version) => Some(*version),
            VersionChoice::Label(_) => Some(self.repository.get(name, choice)?.version()),
        };
        let status = |status: VersionStatus| ModelVersionStatus {
            version: status.version,
            state: status.state as i32,
            status: Some(match status.error {
                Some(error) => StatusProto { error_code: error.code() as i32, error_message: error.message().to_owned() },
                None => StatusProto::default(),
            }),
        };
        let statuses = self.repository.status(name, version)?;
        Ok(GetModelStatusResponse { model_version_status: statuses.into_iter().map(status).collect() })
    }

    /// Replaces the list of models, and waits until they are loaded.
    ///
    /// # Errors
    /// `InvalidArgument` for names or paths that are wrong, and the error of a model that cannot be loaded.
    pub(crate) fn reload(&self, models: BTreeMap<String, ModelConfig>) -> Result<()> {
        self.repository.reload(RepositoryConfig { models, ..self.repository_config.clone() })
    }

    /// Returns the number of requests that are being answered.
    pub(crate) fn num_requests(&self) -> usize {
        self.num_requests.load(Relaxed)
    }

    /// Returns the number of bytes of their bodies.
    pub(crate) fn num_bytes(&self) -> usize {
        self.num_bytes.load(Relaxed)
    }

    /// Returns the number of steps that wait for a thread.
    pub(crate) fn num_waiting_steps(&self) -> usize {
        self.compute.num_waiting()
    }
}

impl InFlight<'_> {
    /// Looks up the model.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn model(&mut self, name: &str, choice: &VersionChoice) -> Result<Arc<Loaded<ServedModel>>> {
        let model = self.core.repository.get(name, choice)?;
        self.model = Some(model.clone());
        Ok(model)
    }

    /// Says which signature the request calls.
    pub(crate) fn set_signature(&mut self, signature: &Arc<ServedSignature>) {
        self.signature = Some(signature.clone());
    }

    /// Says that the request has been read: from here on, its time is counted as waiting and computing.
    pub(crate) fn decoded(&mut self) {
        self.timings.decode = self.start.elapsed();
    }

    /// Returns the options of the request's step: its cancellation, and its deadline, which is the server's if the client sets none.
    pub(crate) fn call(&self, outputs: Vec<String>, timeout: Option<Duration>, priority: u32) -> Call {
        let timeout = timeout.unwrap_or(self.core.limits.request_timeout);
        Call { outputs, deadline: self.start.checked_add(timeout), priority, cancel: self.cancel.clone() }
    }

    /// Adds the step's times to the record.
    pub(crate) fn computed(&mut self, outcome: &Outcome) {
        self.timings.queue += outcome.queue;
        self.timings.compute += outcome.compute;
        self.timings.batch_rows = outcome.batch_rows;
        self.rows += outcome.rows;
        self.computed = self.start.elapsed();
    }

    /// Returns the answer's header `traceparent`, if the server traces.
    pub(crate) fn traceparent(&self) -> Option<HeaderValue> {
        self.trace.as_ref()?.header()
    }

    /// Ends the request, with its error if it failed. Returns its times.
    pub(crate) fn end(mut self, error: Option<&Error>) -> Timings {
        self.record(error);
        self.timings
    }

    fn record(&mut self, error: Option<&Error>) {
        let code = error.map(Error::code);
        self.has_ended = true;
        self.timings.total = self.start.elapsed();
        let known = self.timings.decode + self.timings.queue + self.timings.compute;
        self.timings.encode = if self.timings.compute.is_zero() { Duration::ZERO } else { self.timings.total.saturating_sub(known) };
        match (&self.signature, &self.model) {
            (Some(signature), Some(model)) => {
                signature.metrics().record_request(self.protocol, self.api, code, self.rows, &self.timings);
                let ended = self.start + self.timings.total;
                self.core.recent.record(self.timings.total, ended, || RecentRequest {
                    model: model.name().to_owned(),
                    version: model.version(),
                    signature: signature.name().to_owned(),
                    protocol: self.protocol,
                    code,
                    rows: self.rows,
                    timings: self.timings,
                    ended,
                });
            }
            (None, Some(model)) => {
                let metrics = &self.core.metrics;
                metrics.record_without_signature(model.name(), model.version(), (self.protocol, self.api), code, &self.timings);
            }
            _ => self.core.metrics.record_rejected(code.unwrap_or(Code::Unknown)),
        }
        if let (Some(tracer), Some(context)) = (&self.core.tracer, &self.trace) {
            tracer.end(context, || self.traced(error));
        }
    }

    /// Returns what a trace says of the request, which has just ended.
    fn traced(&self, error: Option<&Error>) -> TracedRequest {
        let is_batched = self.signature.as_ref().is_some_and(|signature| signature.is_batched());
        TracedRequest {
            protocol: self.protocol,
            api: self.api,
            model: self.model.as_ref().map(|model| (model.name().to_owned(), model.version())),
            signature: self.signature.as_ref().map(|signature| signature.name().to_owned()),
            rows: self.rows,
            error: error.cloned(),
            start: SystemTime::now().checked_sub(self.start.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH),
            timings: self.timings,
            batch: is_batched.then(|| self.computed.saturating_sub(self.timings.decode + self.timings.queue)),
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let gone = Error::cancelled("the client has gone");
            self.cancel.cancel(gone.clone());
            self.record(Some(&gone));
        }
    }
}
