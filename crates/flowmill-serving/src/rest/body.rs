//! Reads bodies of requests within the server's limits, and writes answers.

use crate::server::core::{Core, Share};
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use flowmill::{Code, Error, Result};
use http_body_util::BodyExt;
use std::io::{Read, Write};

/// Answers of fewer bytes are not compressed.
const MIN_COMPRESSED_BYTES: usize = 1024;

/// A body with the memory that it takes of the server's limit.
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    _share: Share,
}

/// Reads and decompresses a body.
///
/// # Errors
/// `InvalidArgument` for a body that is too large, broken, or of an unknown coding; `DeadlineExceeded` if it does not arrive in time; `ResourceExhausted`
/// if other requests have the memory.
pub(crate) async fn read(core: &Core, headers: &HeaderMap, body: Body) -> Result<RequestBody> {
    let limits = &core.limits;
    let coding = headers.get(CONTENT_ENCODING).map(|coding| coding.to_str().unwrap_or("?").to_ascii_lowercase());
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limits.max_body_bytes) {
        return Err(too_large(limits.max_body_bytes));
    }
    let mut share = core.no_bytes();
    let collect = collect(core, body, length, &mut share);
    let late = |_| Error::deadline_exceeded(format!("the request's body did not arrive within {:?}", limits.body_timeout));
    let bytes = tokio::time::timeout(limits.body_timeout, collect).await.map_err(late)??;
    let bytes = match coding.as_deref() {
        None | Some("" | "identity") => bytes,
        Some(coding) => decompress(core, bytes, coding, &mut share)?,
    };
    Ok(RequestBody { bytes, _share: share })
}

/// Takes memory for a body as it arrives, so that a client that announces much and sends little takes little.
async fn collect(core: &Core, mut body: Body, length: Option<usize>, share: &mut Share) -> Result<Bytes> {
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::invalid_argument(format!("the request's body cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size > core.limits.max_body_bytes {
            return Err(too_large(core.limits.max_body_bytes));
        }
        core.take_more_bytes(share, data.len())?;
        match first.take() {
            // A body that arrives at once is not copied.
            None if all.is_empty() => first = Some(data),
            held => {
                if let Some(held) = held {
                    all.reserve(length.unwrap_or(0).clamp(size, size.saturating_mul(2)));
                    all.extend_from_slice(&held);
                }
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

fn too_large(limit: usize) -> Error {
    Error::invalid_argument(format!("the request's body is larger than the {limit} bytes that the server takes"))
}

fn decompress(core: &Core, bytes: Bytes, coding: &str, share: &mut Share) -> Result<Bytes> {
    let is_zlib = bytes.first().is_some_and(|first| first & 0x0f == 8);
    let mut decoder: Box<dyn Read> = match coding {
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(&bytes[..])),
        // HTTP's "deflate" is zlib's format; some clients send the bare stream.
        "deflate" if is_zlib => Box::new(ZlibDecoder::new(&bytes[..])),
        "deflate" => Box::new(DeflateDecoder::new(&bytes[..])),
        other => {
            return Err(Error::invalid_argument(format!(
                "the content coding '{}' is not known; there are gzip and deflate",
                other.escape_debug()
            )));
        }
    };
    let (mut out, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = decoder.read(&mut chunk).map_err(|error| Error::invalid_argument(format!("the body is not {coding}: {error}")))?;
        if count == 0 {
            return Ok(out.into());
        }
        if out.len() + count > core.limits.max_decompressed_bytes {
            return Err(too_large(core.limits.max_decompressed_bytes));
        }
        core.take_more_bytes(share, count)?;
        out.extend_from_slice(&chunk[..count]);
    }
}

/// The coding of an answer: one that the client accepts and no other, as clients do that ask for compression. Browsers and most libraries accept several
/// without caring, and then speed wins.
fn response_coding(headers: &HeaderMap) -> Option<&'static str> {
    match headers.get(ACCEPT_ENCODING)?.to_str().ok()?.trim() {
        "gzip" => Some("gzip"),
        "deflate" => Some("deflate"),
        _ => None,
    }
}

/// Makes an answer of a body and its content type, compressed if the client asks for it.
pub(crate) fn respond(headers: &HeaderMap, content_type: &'static str, body: Bytes) -> Response {
    let coding = response_coding(headers).filter(|_| body.len() >= MIN_COMPRESSED_BYTES);
    let compressed = coding.and_then(|coding| {
        let out = Vec::with_capacity(body.len() / 4);
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(out, Compression::fast());
                encoder.write_all(&body).and_then(|()| encoder.finish())
            }
            _ => {
                let mut encoder = ZlibEncoder::new(out, Compression::fast());
                encoder.write_all(&body).and_then(|()| encoder.finish())
            }
        }
        .ok()
    });
    let is_compressed = compressed.is_some();
    let mut response = Response::new(Body::from(compressed.map_or(body, Bytes::from)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(coding) = coding.filter(|_| is_compressed) {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// Makes an answer that says what went wrong.
pub(crate) fn respond_error(error: &Error, status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if matches!(error.code(), Code::ResourceExhausted | Code::Unavailable) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Returns TensorFlow Serving's HTTP status for a code.
pub(crate) fn status_of(code: Code) -> StatusCode {
    // Not in the registry; nginx's status for a client that has gone.
    const CLIENT_CLOSED_REQUEST: u16 = 499;
    match code {
        Code::Cancelled => StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Internal | Code::Unknown | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Bodies of more bytes are read into tensors on a thread for long work, so that they do not delay other connections.
pub(crate) const LONG_BODY_BYTES: usize = 256 << 10;

/// Runs work on a body here, or on a thread for long work if the body is large.
pub(crate) fn on_suitable_thread<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LONG_BODY_BYTES { tokio::task::block_in_place(work) } else { work() }
}
