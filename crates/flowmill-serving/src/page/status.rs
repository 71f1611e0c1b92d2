//! The server's state as JSON, at `GET /flowmill/status` (group `observation`).
//!
//! Counts and histograms grow from the start of the server, so that a reader makes rates and quantiles of any span of time from the difference of two
//! answers, and several readers do not disturb each other. Times are in seconds and sizes in bytes. Versions are strings, because they may have more
//! digits than numbers in JavaScript.

use crate::metrics::{Histogram, SignatureMetrics, code_name};
use crate::model::{ServedModel, ServedSignature};
use crate::repository::{Loaded, ModelIndex, VersionChoice, VersionStatus};
use crate::server::core::Core;
use crate::server::requests::RecentRequest;
use flowmill::{Error, TensorSpec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    server: ServerStatus,
    /// The signatures, by name.
    models: Vec<ModelStatus>,
    /// The slowest requests of the last ten minutes, slowest first.
    slow_requests: Vec<SlowRequest>,
}

#[derive(Debug, Serialize)]
struct ServerStatus {
    version: &'static str,
    uptime: f64,
    /// True if every configured model has a version that is served, and the server does not end.
    ready: bool,
    /// Requests that are being answered, and how many may be at once.
    requests_in_flight: usize,
    max_requests_in_flight: usize,
    /// The bytes of their bodies, and how many may be at once.
    bytes_in_flight: usize,
    max_bytes_in_flight: usize,
    /// Steps without batching that wait for a thread.
    waiting_steps: usize,
    /// Requests that reached no signature.
    rejected_requests: u64,
    /// The bytes of tensors of at least 64 KiB; smaller ones are not counted.
    tensor_bytes: usize,
    /// The bytes of the process in main memory; absent on systems that are not Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ModelStatus {
    name: String,
    /// The error of the last look at the model's files.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorStatus>,
    /// The largest number first.
    versions: Vec<ServedVersion>,
}

#[derive(Debug, Serialize)]
struct ErrorStatus {
    /// The name of a canonical code, such as `NOT_FOUND`.
    code: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
struct ServedVersion {
    version: String,
    /// TensorFlow Serving's name of the state, such as `AVAILABLE`.
    state: &'static str,
    /// The error of the last attempt to load the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorStatus>,
    /// The labels of the version.
    labels: Vec<String>,
    /// KServe's name of the format and the time that loading took, for an available version.
    #[serde(flatten)]
    loaded: Option<LoadedVersion>,
}

#[derive(Debug, Serialize)]
struct LoadedVersion {
    platform: &'static str,
    load_time: f64,
    signatures: Vec<SignatureStatus>,
}

#[derive(Debug, Serialize)]
struct SignatureStatus {
    name: String,
    /// TensorFlow's method name, such as `tensorflow/serving/predict`.
    method: String,
    inputs: Vec<TensorStatus>,
    outputs: Vec<TensorStatus>,
    /// The largest number of rows of a batch; absent if requests are not batched.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_batch_rows: Option<usize>,
    /// Rows that wait for a batch.
    waiting_rows: usize,
    /// Requests that succeeded.
    succeeded: u64,
    /// Requests that failed.
    failed: u64,
    /// Steps, and their rows without padding.
    steps: u64,
    step_rows: f64,
    /// The time of requests that succeeded.
    latency: Latency,
}

#[derive(Debug, Serialize)]
struct TensorStatus {
    name: String,
    /// TensorFlow's name of the type, such as `float32`.
    dtype: &'static str,
    /// The sizes, -1 for those that vary; null if even their number does.
    shape: Option<Vec<i64>>,
}

#[derive(Debug, Serialize)]
struct Latency {
    /// Pairs of the end of a bucket and the number of requests that took no longer. Slower requests than the last end are counted in `succeeded` alone.
    buckets: Vec<(f64, u64)>,
    /// The sum of all times.
    sum: f64,
    /// Ends of the buckets that hold the quantiles since the start.
    p50: f64,
    p90: f64,
    p99: f64,
}

#[derive(Debug, Serialize)]
struct SlowRequest {
    model: String,
    version: String,
    signature: String,
    /// The label of the metrics, such as `tfs_rest`.
    protocol: &'static str,
    /// `OK`, or the name of the error's code.
    code: &'static str,
    /// The time since its end.
    age: f64,
    /// Rows of the request, and of the step that it was a part of; 0 if it did not reach its step.
    rows: usize,
    batch_rows: usize,
    decode: f64,
    queue: f64,
    compute: f64,
    encode: f64,
    total: f64,
}

impl Status {
    /// Returns the present state.
    pub(super) fn of(core: &Core) -> Status {
        let server = ServerStatus {
            version: env!("CARGO_PKG_VERSION"),
            uptime: core.metrics.uptime().as_secs_f64(),
            ready: core.is_ready(),
            requests_in_flight: core.num_requests(),
            max_requests_in_flight: core.limits.max_requests_in_flight,
            bytes_in_flight: core.num_bytes(),
            max_bytes_in_flight: core.limits.max_bytes_in_flight,
            waiting_steps: core.num_waiting_steps(),
            rejected_requests: core.metrics.num_without_signature(),
            tensor_bytes: flowmill::live_bytes(),
            resident_bytes: resident_bytes(),
        };
        let models = core.repository.models().into_iter().map(|model| ModelStatus::of(core, model)).collect();
        let slow_requests = core.recent.slowest().into_iter().map(SlowRequest::from).collect();
        Status { server, models, slow_requests }
    }
}

/// Returns the bytes of this process in main memory, from the file that Linux has for it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl ModelStatus {
    fn of(core: &Core, model: ModelIndex) -> ModelStatus {
        let ModelIndex { name, labels, versions, error, .. } = model;
        let versions = versions.into_iter().map(|status| ServedVersion::of(core, &name, status, &labels)).collect();
        ModelStatus { versions, error: error.map(ErrorStatus::from), name }
    }
}

impl From<Error> for ErrorStatus {
    fn from(error: Error) -> ErrorStatus {
        ErrorStatus { code: code_name(error.code() as usize), message: error.message().to_owned() }
    }
}

impl ServedVersion {
    fn of(core: &Core, model: &str, status: VersionStatus, labels: &BTreeMap<String, i64>) -> ServedVersion {
        let VersionStatus { version, state, error } = status;
        let labels = labels.iter().filter(|(_, labelled)| **labelled == version).map(|(label, _)| label.clone()).collect();
        let loaded = core.repository.get(model, &VersionChoice::Version(version)).ok().map(|loaded| LoadedVersion::of(&loaded));
        ServedVersion { version: version.to_string(), state: state.name(), error: error.map(ErrorStatus::from), labels, loaded }
    }
}

impl LoadedVersion {
    fn of(loaded: &Loaded<ServedModel>) -> LoadedVersion {
        let signatures = loaded.signatures().values().map(SignatureStatus::of).collect();
        LoadedVersion { platform: loaded.platform(), load_time: loaded.load_time().as_secs_f64(), signatures }
    }
}

impl SignatureStatus {
    fn of(signature: &Arc<ServedSignature>) -> SignatureStatus {
        let (spec, metrics) = (signature.spec(), signature.metrics());
        let (succeeded, failed) = metrics.num_requests();
        SignatureStatus {
            name: signature.name().to_owned(),
            method: spec.method.clone(),
            inputs: spec.inputs.iter().map(TensorStatus::of).collect(),
            outputs: spec.outputs.iter().map(TensorStatus::of).collect(),
            max_batch_rows: signature.max_batch_size(),
            waiting_rows: signature.num_waiting_rows(),
            succeeded,
            failed,
            steps: metrics.batch_rows().count(),
            step_rows: metrics.batch_rows().sum(),
            latency: Latency::of(metrics),
        }
    }
}

impl TensorStatus {
    fn of((name, spec): (&String, &TensorSpec)) -> TensorStatus {
        TensorStatus { name: name.clone(), dtype: spec.dtype.name(), shape: spec.shape.dims().map(<[i64]>::to_vec) }
    }
}

impl Latency {
    fn of(metrics: &SignatureMetrics) -> Latency {
        let histogram: &Histogram = metrics.total();
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| histogram.quantile(q));
        // JSON has no infinity, the end of the last bucket.
        let buckets = histogram.cumulative().filter(|(end, _)| end.is_finite()).collect();
        Latency { buckets, sum: histogram.sum(), p50, p90, p99 }
    }
}

impl From<RecentRequest> for SlowRequest {
    fn from(request: RecentRequest) -> SlowRequest {
        let timings = request.timings;
        SlowRequest {
            model: request.model,
            version: request.version.to_string(),
            signature: request.signature,
            protocol: request.protocol.name(),
            code: code_name(request.code.map_or(0, |code| code as usize)),
            age: request.ended.elapsed().as_secs_f64(),
            rows: request.rows,
            batch_rows: timings.batch_rows,
            decode: timings.decode.as_secs_f64(),
            queue: timings.queue.as_secs_f64(),
            compute: timings.compute.as_secs_f64(),
            encode: timings.encode.as_secs_f64(),
            total: timings.total.as_secs_f64(),
        }
    }
}
