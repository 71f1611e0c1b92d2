//! The W3C's trace context: which trace a request belongs to.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The header, or gRPC metadata, that names a trace and the span that a request comes from.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The header with what tracing systems add to it.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Longer lists of states are left out, as the W3C's recommendation allows.
const MAX_STATE_BYTES: usize = 512;

/// The number of a trace. Not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(pub(crate) [u8; 16]);

/// The number of a span. Not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanId(pub(crate) [u8; 8]);

/// The span of another process that a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteParent {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    pub(crate) is_sampled: bool,
    /// The value of `tracestate`, which is passed on as it is.
    pub(crate) state: String,
}

impl RemoteParent {
    /// Reads the headers of a request. Returns `None` if there is no `traceparent`, several, or one that is not legal.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<RemoteParent> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        let (trace, span, is_sampled) = parse(value.as_bytes())?;
        let states: Vec<&str> = headers.get_all(TRACESTATE).iter().filter_map(|state| state.to_str().ok()).collect();
        let state = Some(states.join(",")).filter(|state| state.len() <= MAX_STATE_BYTES).unwrap_or_default();
        Some(RemoteParent { trace, span, is_sampled, state })
    }
}

/// Reads `VERSION-TRACE-SPAN-FLAGS`, in hexadecimal digits of lower case. Later versions may have more after the flags.
fn parse(text: &[u8]) -> Option<(TraceId, SpanId, bool)> {
    let mut parts = text.split(|byte| *byte == b'-');
    let [version] = hexadecimal(parts.next()?)?;
    let trace = TraceId(hexadecimal(parts.next()?)?);
    let span = SpanId(hexadecimal(parts.next()?)?);
    let [flags] = hexadecimal(parts.next()?)?;
    let is_legal = version != 0xff && (version != 0 || parts.next().is_none()) && trace.0 != [0; 16] && span.0 != [0; 8];
    is_legal.then_some((trace, span, flags & 1 == 1))
}

fn hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// Returns the value of `traceparent` for a span.
pub(crate) fn traceparent(trace: TraceId, span: SpanId, is_sampled: bool) -> Option<HeaderValue> {
    let (trace, span) = (u128::from_be_bytes(trace.0), u64::from_be_bytes(span.0));
    HeaderValue::from_str(&format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(is_sampled))).ok()
}

/// Makes numbers of traces and spans that nobody can guess.
#[derive(Debug, Default)]
pub(crate) struct IdGenerator {
    /// SipHash with random keys.
    keys: RandomState,
    next: AtomicU64,
}

impl IdGenerator {
    fn number(&self) -> u64 {
        // Zero is no legal number.
        self.keys.hash_one(self.next.fetch_add(1, Relaxed)).max(1)
    }

    pub(crate) fn trace(&self) -> TraceId {
        TraceId((u128::from(self.number()) << 64 | u128::from(self.number())).to_be_bytes())
    }

    pub(crate) fn span(&self) -> SpanId {
        SpanId(self.number().to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn headers(parents: &[&str], states: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (parents, states) = (parents.iter().map(|value| (TRACEPARENT, value)), states.iter().map(|value| (TRACESTATE, value)));
        for (name, value) in parents.chain(states) {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn the_parent_of_a_request_is_read_and_written() {
        let parent = RemoteParent::from_headers(&headers(&[PARENT], &["a=1", "b=2"])).unwrap();
        assert_eq!((parent.is_sampled, parent.state.as_str()), (true, "a=1,b=2"));
        assert_eq!(traceparent(parent.trace, parent.span, true).unwrap(), PARENT);
        let unsampled = RemoteParent::from_headers(&headers(&[&PARENT.replace("-01", "-02")], &[])).unwrap();
        assert!(!unsampled.is_sampled);
        assert!(RemoteParent::from_headers(&headers(&[&format!("01{}-more", &PARENT[2..])], &[])).is_some());
        let long = "x".repeat(MAX_STATE_BYTES + 1);
        assert_eq!(RemoteParent::from_headers(&headers(&[PARENT], &[&long])).unwrap().state, "");
    }

    #[test]
    fn headers_that_are_not_legal_begin_a_new_trace() {
        let longer = format!("{PARENT}-more");
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            &longer,
        ] {
            assert_eq!(RemoteParent::from_headers(&headers(&[wrong], &[])), None, "{wrong}");
        }
        assert_eq!(RemoteParent::from_headers(&headers(&[PARENT, PARENT], &[])), None);
        assert_eq!(RemoteParent::from_headers(&headers(&[], &["a=1"])), None);
    }

    #[test]
    fn numbers_differ() {
        let ids = IdGenerator::default();
        let spans: std::collections::BTreeSet<[u8; 8]> = (0..1000).map(|_| ids.span().0).collect();
        assert_eq!(spans.len(), 1000);
        assert_ne!(ids.trace(), ids.trace());
    }
}
