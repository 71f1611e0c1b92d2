//! Counts gRPC requests and the bytes of their messages as they arrive, and ends those whose message does not arrive in time.
//!
//! A service sees a request when its message is complete. Without these checks, requests that never are complete would be bounded by nothing.

use super::status;
use crate::rest::group_of;
use crate::server::RouteGroup;
use crate::server::core::{Core, Share};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Buf, Bytes};
use flowmill::sync::Mutex;
use flowmill::{Error, Result};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};
use tonic::Status;

/// The method whose request is a stream of messages, which may go on for as long as the client wants.
const STREAM: &str = "/inference.GRPCInferenceService/ModelStreamInfer";

/// The header with the compression of a request's messages.
pub(super) const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The share of the server's bounds that a request holds; it is in the request's extensions.
#[derive(Clone)]
pub(super) struct Arrival(Arc<Held>);

struct Held {
    start: Instant,
    bytes: Mutex<Share>,
    _request: Option<Share>,
}

impl Arrival {
    /// Returns the time at which the request's headers had arrived.
    pub(super) fn start(&self) -> Instant {
        self.0.start
    }

    /// Takes the memory of a message that was sent with `headers`, if they say that messages are compressed: the bytes that arrived, which have been
    /// counted, may be far fewer.
    ///
    /// # Errors
    /// `ResourceExhausted` if other bodies have it.
    pub(super) fn take_decompressed(&self, core: &Core, headers: &HeaderMap, message: &impl Message) -> Result<()> {
        if headers.get(ENCODING).is_none_or(|encoding| encoding == "identity") {
            return Ok(());
        }
        core.take_more_bytes(&mut self.0.bytes.lock(), message.encoded_len())
    }

    /// Returns the bytes of all messages so far to the server, because their requests have been answered.
    pub(super) fn release_bytes(&self) {
        self.0.bytes.lock().clear();
    }
}

/// Counts a request for models before its message arrives; health and reflection are always answered.
pub(super) async fn admit(State(core): State<Arc<Core>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_of_models = ["/tensorflow.serving.", "/inference."].iter().any(|prefix| path.starts_with(prefix));
    if !is_of_models || group_of(path) == RouteGroup::Health {
        return next.run(request).await;
    }
    let is_stream = path == STREAM;
    let share = if is_stream { Ok(None) } else { core.admit().map(Some) };
    let share = match share {
        Ok(share) => share,
        Err(error) => return status(error).into_http(),
    };
    let arrival = Arrival(Arc::new(Held { start: Instant::now(), bytes: Mutex::new(core.no_bytes()), _request: share }));
    request.extensions_mut().insert(arrival.clone());
    let timeout = (!is_stream).then_some(core.limits.body_timeout);
    next.run(request.map(|inner| Body::new(ArrivingBody { inner, arrival, core, timeout, timer: None }))).await
}

/// A body whose bytes count towards the server's limit.
struct ArrivingBody {
    inner: Body,
    arrival: Arrival,
    core: Arc<Core>,
    /// The time in which all of it must arrive, from the first time that it has to be waited for.
    timeout: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ArrivingBody {
    fn take(&self, frame: &Frame<Bytes>) -> Result<()> {
        let bytes = frame.data_ref().map_or(0, Buf::remaining);
        self.core.take_more_bytes(&mut self.arrival.0.bytes.lock(), bytes)
    }
}

impl HttpBody for ArrivingBody {
    type Data = Bytes;
    type Error = tonic::codegen::StdError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(this.take(&frame).map(|()| frame).map_err(|error| status(error).into()))),
            Poll::Ready(end) => Poll::Ready(end.map(|result| result.map_err(Into::into))),
            Poll::Pending => {
                let Some(timeout) = this.timeout else { return Poll::Pending };
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
                let late = |()| Error::deadline_exceeded(format!("the request's message did not arrive within {timeout:?}"));
                timer.as_mut().poll(cx).map(|end| Some(Err(Status::into(status(this.core.reject(late(end)))))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
