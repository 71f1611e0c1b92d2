//! The spans of a request as messages.

use super::RequestContext;
use super::context::SpanId;
use crate::metrics::{Api, Protocol, Timings, code_name};
use crate::proto::kserve::grpc_inference_service_server;
use crate::proto::otlp::span::SpanKind;
use crate::proto::otlp::status::StatusCode;
use crate::proto::otlp::{AnyValue, KeyValue, Span, Status, any_value};
use crate::proto::tfs::prediction_service_server;
use flowmill::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most spans below the one of the request.
pub(super) const MAX_CHILDREN: usize = 5;

/// A request that has ended, with its times.
#[derive(Debug)]
pub(crate) struct TracedRequest {
    pub(crate) protocol: Protocol,
    pub(crate) api: Api,
    /// The model with the version that answered; `None` if there is none of that name.
    pub(crate) model: Option<(String, i64)>,
    pub(crate) signature: Option<String>,
    pub(crate) rows: usize,
    pub(crate) error: Option<Error>,
    pub(crate) start: SystemTime,
    pub(crate) timings: Timings,
    /// The time from the start of the request's batch until its outputs were there, if it ran in one.
    pub(crate) batch: Option<Duration>,
}

/// A request with the numbers of its spans.
#[derive(Debug)]
pub(super) struct EndedRequest {
    pub(super) context: RequestContext,
    pub(super) children: [SpanId; MAX_CHILDREN],
    pub(super) request: TracedRequest,
}

/// Bits of a span's flags: the trace is sampled; it is known if the parent is of another process; it is.
const SAMPLED: u32 = 1;
const HAS_IS_REMOTE: u32 = 1 << 8;
const IS_REMOTE: u32 = 1 << 9;

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// Returns an attribute of a text.
pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.into()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

/// Returns the method and the route of a request over REST, with placeholders for names.
fn rest_route(protocol: Protocol, api: Api) -> Option<&'static str> {
    match (protocol, api) {
        (Protocol::TfsRest, Api::Predict) => Some("/v1/models/{model}:predict"),
        (Protocol::TfsRest, Api::Classify) => Some("/v1/models/{model}:classify"),
        (Protocol::TfsRest, Api::Regress) => Some("/v1/models/{model}:regress"),
        (Protocol::KserveRest, _) => Some("/v2/models/{model}/infer"),
        _ => None,
    }
}

impl EndedRequest {
    /// Appends the request's span and those of its parts.
    pub(super) fn add_spans(self, spans: &mut Vec<Span>) {
        let EndedRequest { context, children, request } = self;
        let timings = request.timings;
        let start = request.start.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = |offset: Duration| (start + offset).as_nanos() as u64;
        let span = |id: SpanId, parent: Option<SpanId>, name: &str, begin: Duration, length: Duration| Span {
            trace_id: context.trace.0.to_vec().into(),
            span_id: id.0.to_vec().into(),
            trace_state: context.state.clone(),
            parent_span_id: parent.map_or_else(Vec::new, |parent| parent.0.to_vec()).into(),
            name: name.to_owned(),
            kind: SpanKind::Internal as i32,
            start_time_unix_nano: nanos(begin),
            end_time_unix_nano: nanos(begin + length),
            flags: SAMPLED | HAS_IS_REMOTE,
            ..Span::default()
        };
        let mut children = children.into_iter();
        let mut child = |parent: SpanId, name: &str, begin: Duration, length: Duration| {
            let id = children.next()?;
            spans.push(span(id, Some(parent), name, begin, length));
            Some(id)
        };
        let receive = if timings.decode.is_zero() { timings.total } else { timings.decode };
        child(context.span, "receive", Duration::ZERO, receive);
        // A request that failed before its step has no other parts.
        if !timings.compute.is_zero() {
            child(context.span, "queue", timings.decode, timings.queue);
            let begin = timings.decode + timings.queue;
            let batch = request.batch.and_then(|length| child(context.span, "batch", begin, length));
            child(batch.unwrap_or(context.span), "compute", begin, timings.compute);
            let encode = begin + request.batch.unwrap_or(timings.compute);
            child(context.span, "encode", encode, timings.total.saturating_sub(encode));
            let rows = [number("flowmill.batch.rows", timings.batch_rows as i64)];
            spans
                .iter_mut()
                .filter(|span| batch.is_some_and(|id| span.span_id == id.0[..]))
                .for_each(|span| span.attributes.extend(rows.clone()));
        }
        let (name, mut attributes) = request.name_and_attributes();
        let status = request.error.as_ref().map(|error| {
            attributes.push(text("error.type", code_name(error.code() as usize)));
            Status { message: error.message().to_owned(), code: StatusCode::Error as i32 }
        });
        let remote = if context.parent.is_some() { IS_REMOTE } else { 0 };
        let whole = span(context.span, context.parent, &name, Duration::ZERO, timings.total);
        spans.push(Span { kind: SpanKind::Server as i32, attributes, status, flags: whole.flags | remote, ..whole });
    }
}

impl TracedRequest {
    /// Returns the name and the attributes of the request's span, as OpenTelemetry's conventions for HTTP and RPC name them.
    fn name_and_attributes(&self) -> (String, Vec<KeyValue>) {
        let code = self.error.as_ref().map(Error::code);
        let (name, mut attributes) = match rest_route(self.protocol, self.api) {
            Some(route) => {
                let status = code.map_or(200, |code| crate::rest::status_of(code).as_u16());
                let attributes = vec![
                    text("http.request.method", "POST"),
                    text("http.route", route),
                    number("http.response.status_code", status.into()),
                ];
                (format!("POST {route}"), attributes)
            }
            None => {
                let service = match self.protocol {
                    Protocol::KserveGrpc => grpc_inference_service_server::SERVICE_NAME,
                    _ => prediction_service_server::SERVICE_NAME,
                };
                let method = if self.api == Api::Infer { "ModelInfer" } else { self.api.name() };
                let method = format!("{service}/{method}");
                let attributes = vec![
                    text("rpc.system.name", "grpc"),
                    text("rpc.method", method.as_str()),
                    text("rpc.response.status_code", code_name(code.map_or(0, |code| code as usize))),
                ];
                (method, attributes)
            }
        };
        attributes.push(text("flowmill.protocol", self.protocol.name()));
        if let Some((model, version)) = &self.model {
            attributes.extend([text("flowmill.model", model.as_str()), number("flowmill.model.version", *version)]);
        }
        attributes.extend(self.signature.as_ref().map(|signature| text("flowmill.signature", signature.as_str())));
        if self.rows > 0 {
            attributes.push(number("flowmill.rows", self.rows as i64));
        }
        (name, attributes)
    }
}
