//! The timeline of a single request, for the client that asks for it.
//!
//! A request for inference with the header `X-Flowmill-Trace: 1` (REST), or metadata of that name (gRPC), is answered with the header `Server-Timing`
//! (REST) or the initial metadata `server-timing` (gRPC), whether it succeeds or fails. A failed gRPC call has it in the trailing metadata. The value has
//! the form of the W3C's Server Timing, which browsers show in their tools:
//!
//! ```text
//! decode;dur=0.042125, queue;dur=0.000000, compute;dur=0.310250, encode;dur=0.015500, total;dur=0.367875, batch;desc="8"
//! ```
//!
//! Durations are in milliseconds, exact to the nanosecond so that the parts add up to the whole: reading the request into tensors, waiting for a thread
//! or a batch, the step, writing the answer, and all of it.
//! `batch` is the number of rows of the step, those of other requests included; a request that did not reach its step has none. The time over the
//! network is not included, and for gRPC neither is the time to write the answer's message as bytes. If the metadata of a KServe stream ask for timelines,
//! each answer of the stream has its own in the parameter `server-timing`.

use crate::metrics::Timings;
use crate::telemetry::TRACEPARENT;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header of a request that asks for its timeline.
const TRACE: &str = "x-flowmill-trace";

/// The header of the answer.
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Returns true if a request with these headers asks for its timeline.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    headers.get(TRACE).is_some_and(|value| value == "1")
}

/// Makes a request with these headers ask for its timeline.
pub(crate) fn ask(headers: &mut HeaderMap) {
    headers.insert(TRACE, HeaderValue::from_static("1"));
}

/// Returns the value of the answer's header.
fn header(timings: &Timings) -> Option<HeaderValue> {
    let parts = [
        ("decode", timings.decode),
        ("queue", timings.queue),
        ("compute", timings.compute),
        ("encode", timings.encode),
        ("total", timings.total),
    ];
    let mut text = parts.map(|(name, time)| format!("{name};dur={:.6}", time.as_secs_f64() * 1e3)).join(", ");
    if timings.batch_rows > 0 {
        text += &format!(", batch;desc=\"{}\"", timings.batch_rows);
    }
    HeaderValue::from_str(&text).ok()
}

/// Adds the timeline to the headers of an answer if `is_wanted`, and the request's place in a trace if the server traces.
pub(crate) fn add(is_wanted: bool, timings: &Timings, traceparent: Option<HeaderValue>, answer: &mut HeaderMap) {
    if is_wanted {
        answer.extend(header(timings).map(|timeline| (SERVER_TIMING, timeline)));
    }
    answer.extend(traceparent.map(|traceparent| (TRACEPARENT, traceparent)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timelines_are_in_milliseconds() {
        let nanos = Duration::from_nanos;
        let (decode, queue, compute, encode, total) = (nanos(42_600), nanos(1_500_600), nanos(310_600), nanos(15_001), nanos(1_868_801));
        let timings = Timings { decode, queue, compute, encode, total, batch_rows: 8 };
        let expected =
            "decode;dur=0.042600, queue;dur=1.500600, compute;dur=0.310600, encode;dur=0.015001, total;dur=1.868801, batch;desc=\"8\"";
        assert_eq!(header(&timings).as_ref().and_then(|value| value.to_str().ok()), Some(expected));
        assert!(!header(&Timings::default()).is_some_and(|value| value.as_bytes().windows(5).any(|part| part == b"batch")));
    }
}
