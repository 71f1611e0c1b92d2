//! Serves models over the protocols of TensorFlow Serving and of KServe (the Open Inference Protocol), by REST and gRPC.
//!
//! # Observing a server
//! * `GET /metrics` (and TensorFlow Serving's `/monitoring/prometheus/metrics`) has counters and histograms in Prometheus' format.
//! * `GET /` is a page for people: the models with their signatures, a form to try each, live rates and latencies, and the slowest requests.
//! * `GET /flowmill/status` is the JSON that the page shows, a member per thing that it shows: `server`, `models` and `slow_requests`. Counts and
//!   histograms grow from the start of the server, times are in seconds and sizes in bytes.
//! * A request for inference with the header `X-Flowmill-Trace: 1`, or gRPC metadata of that name, is answered with its own timeline in the header
//!   `Server-Timing`, or initial metadata of that name, such as
//!   `decode;dur=0.042125, queue;dur=0.000000, compute;dur=0.310250, encode;dur=0.015500, total;dur=0.367875, batch;desc="8"`: milliseconds, and the rows of the batch.
//! * With [`TracingOptions`], spans of requests are sent to a collector of OpenTelemetry. The header `traceparent` of a request, or gRPC metadata of that name,
//!   names the trace; the answer has one with the request's own span.
//! * `GET /openapi.json` describes the REST APIs of both protocols.
//!
//! With tokens, all but the files of the page and the description belong to [`RouteGroup::Observation`]; a traced request needs the token of its request only.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![deny(unsafe_code)]

pub mod batching;
pub mod formats;
mod grpc;
pub mod inference;
mod kserve;
pub mod metrics;
pub mod model;
mod page;
mod predictor;
pub mod proto;
mod queue;
pub mod repository;
mod rest;
mod server;
#[allow(unsafe_code)]
mod system;
mod telemetry;
mod text_format;
mod trace;
pub mod warmup;

pub use predictor::{Predictor, PredictorOptions};
pub use server::{AccessOptions, RouteGroup, Server, ServerLimits, ServerOptions, TlsOptions, metrics_path, raise_open_file_limit};
pub use telemetry::{Sampler, TracingOptions};
