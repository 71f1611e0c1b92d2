//! Sends spans to a collector, in posts of OTLP over HTTP.

use super::options::{SERVICE_NAME, TracingOptions};
use super::spans::{EndedRequest, MAX_CHILDREN, text};
use crate::proto::otlp::{
    ExportTraceServiceRequest, ExportTraceServiceResponse, InstrumentationScope, Resource, ResourceSpans, ScopeSpans,
};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use flowmill::tensor::error;
use flowmill::{Error, Result};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The port of a URL without one.
const HTTP_PORT: u16 = 80;

/// The wait before the first retry of a post; each wait is twice as long as the one before.
const FIRST_RETRY: Duration = Duration::from_millis(100);

/// Longer times of the options are taken for this one.
const LONGEST_TIME: Duration = Duration::from_secs(24 * 3600);

/// A longer answer of a collector is not read.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The requests whose spans were sent, and those whose spans were dropped.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) exported: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// A message to the task that sends.
pub(super) enum Message {
    Request(Box<EndedRequest>),
    /// Send all that came before, then answer.
    Flush(oneshot::Sender<()>),
}

/// The task that sends.
pub(super) struct Exporter {
    options: TracingOptions,
    target: Uri,
    headers: HeaderMap,
    resource: Resource,
    counts: Arc<Counts>,
    /// The connection to the collector; `None` before the first post, and after one failed.
    connection: Option<SendRequest<Full<Bytes>>>,
    /// True while posts fail, so that the log has one line for the first.
    is_failing: bool,
}

/// The reasons why a post was not taken.
struct Refusal {
    error: Error,
    /// The wait before another try has a chance, if one does.
    retry_after: Option<Duration>,
}

impl Exporter {
    /// Makes the task of `options`.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unimplemented` for an endpoint or headers that are not legal.
    pub(super) fn new(options: TracingOptions, counts: Arc<Counts>) -> Result<Exporter> {
        let target = options.target()?;
        let mut headers: HeaderMap = options.header_values()?.into_iter().collect();
        let host = target.authority().map_or("", |authority| authority.as_str());
        let host = HeaderValue::from_str(host).map_err(|_| error!(InvalidArgument, "'{host}' is no host"))?;
        headers.insert(HOST, host);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("flowmill/", env!("CARGO_PKG_VERSION"))));
        if options.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let mut attributes: Vec<_> = options.resource.iter().map(|(key, value)| text(key, value.as_str())).collect();
        for (key, value) in [
            (SERVICE_NAME, "flowmill"),
            ("telemetry.sdk.name", "flowmill"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ] {
            if attributes.iter().all(|attribute| attribute.key != key) {
                attributes.push(text(key, value));
            }
        }
        let resource = Resource { attributes };
        Ok(Exporter { options, target, headers, resource, counts, connection: None, is_failing: false })
    }

    /// Sends spans until all senders are dropped.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        let batch_size = self.options.max_export_batch_size.max(1);
        let mut requests: Vec<EndedRequest> = Vec::new();
        let mut due = Instant::now();
        loop {
            let message = if requests.is_empty() {
                messages.recv().await
            } else {
                match tokio::time::timeout_at(due, messages.recv()).await {
                    Ok(message) => message,
                    Err(_) => {
                        self.export(&mut requests).await;
                        continue;
                    }
                }
            };
            match message {
                Some(Message::Request(request)) => {
                    if requests.is_empty() {
                        due = Instant::now() + self.options.schedule_delay.min(LONGEST_TIME);
                    }
                    requests.push(*request);
                    if requests.len() >= batch_size {
                        self.export(&mut requests).await;
                    }
                }
                Some(Message::Flush(done)) => {
                    self.export(&mut requests).await;
                    let _ = done.send(());
                }
                None => return self.export(&mut requests).await,
            }
        }
    }

    /// Sends the spans of `requests`, or drops and counts them.
    async fn export(&mut self, requests: &mut Vec<EndedRequest>) {
        if requests.is_empty() {
            return;
        }
        let count = requests.len() as u64;
        let body = self.body(requests.drain(..));
        let result = match body {
            Ok(body) => self.send(body).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => {
                self.counts.exported.fetch_add(count, Relaxed);
                self.is_failing = false;
            }
            Err(error) => {
                self.counts.dropped.fetch_add(count, Relaxed);
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(%error, endpoint = self.options.endpoint, "spans cannot be sent, and are dropped");
                }
            }
        }
    }

    fn body(&self, requests: impl ExactSizeIterator<Item = EndedRequest>) -> Result<Bytes> {
        let mut spans = Vec::with_capacity(requests.len() * (MAX_CHILDREN + 1));
        requests.for_each(|request| request.add_spans(&mut spans));
        let scope = InstrumentationScope { name: "flowmill-serving".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        let message =
            ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { resource: Some(self.resource.clone()), scope_spans }] };
        let bytes = message.encode_to_vec();
        if !self.options.gzip {
            return Ok(bytes.into());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let compressed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
        compressed.map(Bytes::from).map_err(|error| Error::internal(format!("spans cannot be compressed: {error}")))
    }

    /// Posts a body, again if the collector may take it later, until the time for a post is over.
    async fn send(&mut self, body: Bytes) -> Result<()> {
        let end = Instant::now() + self.options.timeout.min(LONGEST_TIME);
        let mut wait = FIRST_RETRY;
        loop {
            let late = || Refusal { error: error!(DeadlineExceeded, "the collector does not answer"), retry_after: None };
            let refusal = match tokio::time::timeout_at(end, self.post(body.clone())).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(refusal)) => refusal,
                Err(_) => late(),
            };
            // After a failure, what the connection still holds is unknown.
            self.connection = None;
            let Some(retry_after) = refusal.retry_after.map(|least| least.max(wait)) else { return Err(refusal.error) };
            if retry_after >= end.saturating_duration_since(Instant::now()) {
                return Err(refusal.error);
            }
            tokio::time::sleep(retry_after).await;
            wait = wait.saturating_mul(2);
        }
    }

    async fn post(&mut self, body: Bytes) -> std::result::Result<(), Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal { error: error!(Unavailable, "{error}"), retry_after: Some(Duration::ZERO) };
        let mut connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => {
                let host = self.target.host().unwrap_or_default().trim_matches(['[', ']']);
                let stream =
                    TcpStream::connect((host, self.target.port_u16().unwrap_or(HTTP_PORT))).await.map_err(|error| failed(&error))?;
                let (connection, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
                tokio::spawn(driver);
                connection
            }
        };
        connection.ready().await.map_err(|error| failed(&error))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = self.target.path_and_query().cloned().map_or_else(Uri::default, Uri::from);
        *request.headers_mut() = self.headers.clone();
        let response = connection.send_request(request).await.map_err(|error| failed(&error))?;
        let (head, body) = response.into_parts();
        let answer = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| failed(&error))?.to_bytes();
        if head.status.is_success() {
            let partial = ExportTraceServiceResponse::decode(answer).ok().and_then(|response| response.partial_success);
            if let Some(partial) = partial.filter(|partial| partial.rejected_spans > 0) {
                tracing::warn!(rejected = partial.rejected_spans, error = partial.error_message, "a collector refused spans");
            }
            self.connection = Some(connection);
            return Ok(());
        }
        let may_be_taken_later =
            [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT]
                .contains(&head.status);
        let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = may_be_taken_later.then(|| Duration::from_secs(seconds.unwrap_or(0)));
        Err(Refusal { error: error!(Unavailable, "the collector answers with {}", head.status), retry_after })
    }
}
