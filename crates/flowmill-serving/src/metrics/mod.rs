//! Counters and histograms of requests and steps, in Prometheus' text format.
//!
//! Names that TensorFlow Serving has are its names, with its labels and its unit, microseconds. All others begin with `flowmill_` and say the model's
//! version and signature, and the code of the answer. Labels come from the configuration and from models, never from requests, so that their number is
//! bounded.

mod histogram;
mod text;

pub use histogram::Histogram;
pub(crate) use text::{CONTENT_TYPE, code_name, escaped};

use flowmill::Code;
use flowmill::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TensorFlow Serving's REST API.
    TfsRest,
    /// TensorFlow Serving's gRPC API.
    TfsGrpc,
    /// KServe's REST API.
    KserveRest,
    /// KServe's gRPC API.
    KserveGrpc,
    /// A call within the process.
    Local,
}

/// The kind of a request for inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// Tensors in, tensors out.
    Predict,
    /// Examples in, classes out.
    Classify,
    /// Examples in, numbers out.
    Regress,
    /// Examples in, the results of several signatures out.
    MultiInference,
    /// KServe's infer.
    Infer,
}

impl Protocol {
    const ALL: [Protocol; 5] = [Protocol::TfsRest, Protocol::TfsGrpc, Protocol::KserveRest, Protocol::KserveGrpc, Protocol::Local];

    /// Returns the name in labels.
    pub fn name(self) -> &'static str {
        ["tfs_rest", "tfs_grpc", "kserve_rest", "kserve_grpc", "local"][self as usize]
    }

    /// Returns TensorFlow Serving's label `entrypoint`.
    fn entrypoint(self) -> &'static str {
        if matches!(self, Protocol::TfsRest | Protocol::KserveRest) { "REST" } else { "GRPC" }
    }
}

impl Api {
    const ALL: [Api; 5] = [Api::Predict, Api::Classify, Api::Regress, Api::MultiInference, Api::Infer];

    /// Returns the name in labels.
    pub fn name(self) -> &'static str {
        ["Predict", "Classify", "Regress", "MultiInference", "Infer"][self as usize]
    }

    /// Returns TensorFlow Serving's label `API`, which is in small letters over REST.
    fn tensorflow_serving_name(self, protocol: Protocol) -> &'static str {
        match protocol.entrypoint() {
            "REST" => ["predict", "classify", "regress", "multi_inference", "infer"][self as usize],
            _ => self.name(),
        }
    }
}

/// The label of requests whose signature is not known: their body cannot be read, or they name one that the model does not have.
const NO_SIGNATURE: &str = "";

/// Powers of 1.8 times 10: TensorFlow Serving's buckets for microseconds.
static MICROSECONDS: [f64; 33] = {
    let mut bounds = [10.0; 33];
    let mut i = 1;
    while i < bounds.len() {
        bounds[i] = bounds[i - 1] * 1.8;
        i += 1;
    }
    bounds
};

/// Seconds from 50 microseconds to 30 seconds.
static SECONDS: [f64; 18] =
    [0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];

/// Numbers of rows.
static ROWS: [f64; 14] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

/// The most numbers of rows whose steps are counted by themselves. Steps of other numbers are counted with those of the next power of two: clients choose
/// the number of rows of a request, and must not fill the memory.
const MAX_BATCH_SIZES: usize = 1024;

/// The number of canonical codes, with 0 for success.
const NUM_CODES: usize = 17;

/// Requests of one protocol and kind.
#[derive(Debug)]
struct RequestMetrics {
    codes: [AtomicU64; NUM_CODES],
    /// The times of successful requests, in microseconds.
    latency: Histogram,
}

/// A number of events and the sum of their durations.
#[derive(Debug, Default)]
pub struct Durations {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Durations {
    fn record(&self, duration: Duration) {
        self.count.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(duration.as_nanos() as u64, Relaxed);
    }

    /// Returns the number of events and the sum of their durations in nanoseconds.
    pub fn get(&self) -> (u64, u64) {
        (self.count.load(Relaxed), self.nanoseconds.load(Relaxed))
    }
}

/// The steps of one number of rows.
#[derive(Debug, Default)]
pub struct BatchDurations {
    /// The time of the steps.
    pub compute: Durations,
}

/// The time of each part of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Reading the request into tensors.
    pub decode: Duration,
    /// Waiting for a thread or for a batch.
    pub queue: Duration,
    /// The step.
    pub compute: Duration,
    /// Writing the answer.
    pub encode: Duration,
    /// The whole request, from the first byte that was read to the answer.
    pub total: Duration,
    /// The rows of the batch that the request was a part of.
    pub batch_rows: usize,
}

/// The counters of one signature of one version of a model.
#[derive(Debug)]
pub struct SignatureMetrics {
    labels: Labels,
    requests: [[OnceLock<Box<RequestMetrics>>; Api::ALL.len()]; Protocol::ALL.len()],
    /// Seconds in all.
    total: Histogram,
    /// Seconds of waiting.
    queue: Histogram,
    /// Seconds of the step.
    compute: Histogram,
    /// Rows of requests.
    request_rows: Histogram,
    /// Rows of batches without padding.
    batch_rows: Histogram,
    padding_rows: AtomicU64,
    tensorflow_serving: TensorflowServingMetrics,
    num_rows: AtomicU64,
    num_steps: AtomicU64,
    last_inference: AtomicU64,
    /// KServe's statistics.
    durations: [Durations; Stage::NUM],
    batches: Mutex<BTreeMap<usize, Arc<BatchDurations>>>,
}

/// TensorFlow Serving's histograms of steps, in its units.
#[derive(Debug)]
struct TensorflowServingMetrics {
    /// Microseconds of a step.
    runtime_latency: Histogram,
    /// Microseconds that a request waits.
    queuing_latency: Histogram,
    /// Rows of a step, with padding.
    processed_batch_size: Histogram,
    /// Rows that a step was padded by.
    padding_size: Histogram,
}

impl Default for TensorflowServingMetrics {
    fn default() -> TensorflowServingMetrics {
        TensorflowServingMetrics {
            runtime_latency: Histogram::new(&MICROSECONDS),
            queuing_latency: Histogram::new(&MICROSECONDS),
            processed_batch_size: Histogram::new(&ROWS),
            padding_size: Histogram::new(&ROWS),
        }
    }
}

/// The durations of KServe's statistics.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Whole requests that succeeded.
    Success,
    /// Whole requests that failed.
    Fail,
    /// Waiting.
    Queue,
    /// Reading inputs.
    Input,
    /// The step.
    Infer,
    /// Writing outputs.
    Output,
}

impl Stage {
    const NUM: usize = 6;
}

/// The labels of a signature's metrics.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels {
    pub(crate) model: Arc<str>,
    pub(crate) version: i64,
    pub(crate) signature: Arc<str>,
}

impl SignatureMetrics {
    fn new(labels: Labels) -> SignatureMetrics {
        SignatureMetrics {
            labels,
            requests: Default::default(),
            total: Histogram::new(&SECONDS),
            queue: Histogram::new(&SECONDS),
            compute: Histogram::new(&SECONDS),
            request_rows: Histogram::new(&ROWS),
            batch_rows: Histogram::new(&ROWS),
            padding_rows: AtomicU64::new(0),
            tensorflow_serving: TensorflowServingMetrics::default(),
            num_rows: AtomicU64::new(0),
            num_steps: AtomicU64::new(0),
            last_inference: AtomicU64::new(0),
            durations: Default::default(),
            batches: Mutex::default(),
        }
    }

    fn requests_of(&self, protocol: Protocol, api: Api) -> &RequestMetrics {
        let make = || Box::new(RequestMetrics { codes: Default::default(), latency: Histogram::new(&MICROSECONDS) });
        self.requests[protocol as usize][api as usize].get_or_init(make)
    }

    /// Adds what TensorFlow Serving's metrics need of `other`.
    fn add(&self, other: &SignatureMetrics) {
        for (protocol, api, requests) in other.requests() {
            let all = self.requests_of(protocol, api);
            for (count, more) in all.codes.iter().zip(&requests.codes) {
                count.fetch_add(more.load(Relaxed), Relaxed);
            }
            all.latency.add(&requests.latency);
        }
        self.request_rows.add(&other.request_rows);
        let (mine, others) = (&self.tensorflow_serving, &other.tensorflow_serving);
        mine.runtime_latency.add(&others.runtime_latency);
        mine.queuing_latency.add(&others.queuing_latency);
        mine.processed_batch_size.add(&others.processed_batch_size);
        mine.padding_size.add(&others.padding_size);
    }

    /// Counts a request that ended.
    pub fn record_request(&self, protocol: Protocol, api: Api, code: Option<Code>, rows: usize, timings: &Timings) {
        let metrics = self.requests_of(protocol, api);
        metrics.codes[code.map_or(0, |code| code as usize)].fetch_add(1, Relaxed);
        if code.is_some() {
            self.durations[Stage::Fail as usize].record(timings.total);
            return;
        }
        metrics.latency.record(timings.total.as_secs_f64() * 1e6);
        self.total.record(timings.total.as_secs_f64());
        self.queue.record(timings.queue.as_secs_f64());
        self.tensorflow_serving.queuing_latency.record(timings.queue.as_secs_f64() * 1e6);
        self.request_rows.record(rows as f64);
        self.num_rows.fetch_add(rows as u64, Relaxed);
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_inference.store(since_epoch.as_millis() as u64, Relaxed);
        let stages = [
            (Stage::Success, timings.total),
            (Stage::Queue, timings.queue),
            (Stage::Input, timings.decode),
            (Stage::Infer, timings.compute),
            (Stage::Output, timings.encode),
        ];
        stages.into_iter().for_each(|(stage, duration)| self.durations[stage as usize].record(duration));
    }

    /// Counts a step.
    pub fn record_step(&self, rows: usize, padded_rows: usize, compute: Duration) {
        self.compute.record(compute.as_secs_f64());
        self.batch_rows.record(rows as f64);
        let padding = padded_rows.saturating_sub(rows);
        self.padding_rows.fetch_add(padding as u64, Relaxed);
        self.tensorflow_serving.runtime_latency.record(compute.as_secs_f64() * 1e6);
        self.tensorflow_serving.processed_batch_size.record(padded_rows as f64);
        self.tensorflow_serving.padding_size.record(padding as f64);
        self.num_steps.fetch_add(1, Relaxed);
        self.batch_of(rows).compute.record(compute);
    }

    /// Returns the counters of steps of `rows` rows.
    fn batch_of(&self, rows: usize) -> Arc<BatchDurations> {
        let mut batches = self.batches.lock();
        let has_room = batches.len() < MAX_BATCH_SIZES || batches.contains_key(&rows);
        let rows = if has_room { rows } else { rows.checked_next_power_of_two().unwrap_or(usize::MAX) };
        batches.entry(rows).or_default().clone()
    }

    /// Returns the durations of one stage.
    pub fn durations(&self, stage: Stage) -> &Durations {
        &self.durations[stage as usize]
    }

    /// Returns the number of rows of successful requests, the number of steps, and the time of the last request in milliseconds since the epoch.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.num_rows.load(Relaxed), self.num_steps.load(Relaxed), self.last_inference.load(Relaxed))
    }

    /// Returns the steps by their number of rows.
    pub fn batches(&self) -> BTreeMap<usize, Arc<BatchDurations>> {
        self.batches.lock().clone()
    }

    /// Returns the number of requests that succeeded and that failed.
    pub fn num_requests(&self) -> (u64, u64) {
        (self.durations(Stage::Success).get().0, self.durations(Stage::Fail).get().0)
    }

    /// Returns the seconds of whole requests that succeeded, as a histogram.
    pub fn total(&self) -> &Histogram {
        &self.total
    }

    /// Returns the rows of steps without padding, as a histogram.
    pub fn batch_rows(&self) -> &Histogram {
        &self.batch_rows
    }
}

/// A state of the server that is read when metrics are.
struct Reading {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    /// Returns the values with their labels.
    read: Box<dyn Fn() -> Vec<(String, f64)> + Send + Sync>,
}

/// All metrics of a server.
pub struct Metrics {
    signatures: Mutex<BTreeMap<Labels, Arc<SignatureMetrics>>>,
    /// The sums of versions that have ended, by model. Metrics without the label of a version must not fall when one ends.
    ended: Mutex<BTreeMap<Arc<str>, Arc<SignatureMetrics>>>,
    /// Requests that found no model, and those that were refused before it was looked for.
    rejected: [AtomicU64; NUM_CODES],
    num_without_signature: AtomicU64,
    readings: Mutex<Vec<Reading>>,
    load_latency: Mutex<BTreeMap<(Arc<str>, i64, bool), u64>>,
    start: Instant,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            signatures: Mutex::default(),
            ended: Mutex::default(),
            rejected: Default::default(),
            num_without_signature: AtomicU64::new(0),
            readings: Mutex::default(),
            load_latency: Mutex::default(),
            start: Instant::now(),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("signatures", &self.signatures.lock().len()).finish_non_exhaustive()
    }
}

impl Metrics {
    /// Returns what is counted for a signature. A version that is loaded again goes on counting.
    pub fn signature(&self, model: &str, version: i64, signature: &str) -> Arc<SignatureMetrics> {
        let labels = Labels { model: model.into(), version, signature: signature.into() };
        self.signatures.lock().entry(labels.clone()).or_insert_with(|| Arc::new(SignatureMetrics::new(labels))).clone()
    }

    /// Counts a request that no model counts: its model does not exist, or the server refused it.
    pub fn record_rejected(&self, code: Code) {
        self.rejected[code as usize].fetch_add(1, Relaxed);
        self.num_without_signature.fetch_add(1, Relaxed);
    }

    /// Counts a request for a version of a model that ended before its signature was known.
    pub(crate) fn record_without_signature(
        &self,
        model: &str,
        version: i64,
        (protocol, api): (Protocol, Api),
        code: Option<Code>,
        timings: &Timings,
    ) {
        self.signature(model, version, NO_SIGNATURE).record_request(protocol, api, code, 0, timings);
        self.num_without_signature.fetch_add(1, Relaxed);
    }

    /// Returns the number of requests that no signature counts.
    pub fn num_without_signature(&self) -> u64 {
        self.num_without_signature.load(Relaxed)
    }

    /// Counts the loading of a version.
    pub fn record_load(&self, model: &str, version: i64, succeeded: bool, duration: Duration) {
        *self.load_latency.lock().entry((model.into(), version, succeeded)).or_default() += duration.as_micros() as u64;
    }

    /// Adds a state that is read with the metrics: pairs of labels (`name="value"`, separated by commas) and values.
    pub fn add_gauge(&self, name: &'static str, help: &'static str, read: impl Fn() -> Vec<(String, f64)> + Send + Sync + 'static) {
        self.readings.lock().push(Reading { name, help, kind: "gauge", read: Box::new(read) });
    }

    /// Adds a number that only grows and that is read with the metrics. Its name ends in `_total`.
    pub fn add_counter(&self, name: &'static str, help: &'static str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        let read = Box::new(move || vec![(String::new(), read() as f64)]);
        self.readings.lock().push(Reading { name, help, kind: "counter", read });
    }

    /// Adds what was counted for a version to the sums of its model, and forgets the version. Without this, a model that is replaced all the time would
    /// fill the memory.
    pub fn end_version(&self, model: &str, version: i64) {
        let mut signatures = self.signatures.lock();
        let of_version = |labels: &Labels| &*labels.model == model && labels.version == version;
        for (labels, metrics) in signatures.iter().filter(|(labels, _)| of_version(labels)) {
            let make = || Arc::new(SignatureMetrics::new(Labels { signature: NO_SIGNATURE.into(), ..labels.clone() }));
            self.ended.lock().entry(labels.model.clone()).or_insert_with(make).add(metrics);
        }
        signatures.retain(|labels, _| !of_version(labels));
        self.load_latency.lock().retain(|(of, number, _), _| &**of != model || *number != version);
    }

    /// Returns the time since the server's start.
    pub fn uptime(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_many_sizes_are_counted_in_bounded_memory() {
        let signature = Metrics::default().signature("m", 1, "s");
        (0..5000).for_each(|rows| signature.record_step(rows, rows, Duration::ZERO));
        signature.record_step(usize::MAX, usize::MAX, Duration::ZERO);
        let batches = signature.batches();
        let counts: Vec<(usize, u64)> = batches.iter().skip(MAX_BATCH_SIZES).map(|(rows, batch)| (*rows, batch.compute.get().0)).collect();
        assert_eq!(counts, [(1024, 1), (2048, 1024), (4096, 2048), (8192, 903), (usize::MAX, 1)]);
    }
}
