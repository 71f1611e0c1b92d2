//! Prometheus' text format, version 0.0.4.

use super::{Api, Histogram, Metrics, NO_SIGNATURE, Protocol, Reading, SignatureMetrics};
use flowmill::proto::error;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The content type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Metrics {
    /// Returns all metrics as text.
    pub fn text(&self) -> String {
        let (signatures, with_ended) = {
            // A version that ends in between would be counted twice or not at all.
            let signatures = self.signatures.lock();
            let ended: Vec<Arc<SignatureMetrics>> = self.ended.lock().values().cloned().collect();
            let signatures: Vec<Arc<SignatureMetrics>> = signatures.values().cloned().collect();
            let with_ended = [ended.as_slice(), &signatures].concat();
            (signatures, with_ended)
        };
        let mut out = String::new();
        self.write_tensorflow_serving(&with_ended, &mut out);
        self.write_own(&signatures, &mut out);
        out
    }

    /// The metrics that TensorFlow Serving has.
    fn write_tensorflow_serving(&self, signatures: &[Arc<SignatureMetrics>], out: &mut String) {
        // Its counters know neither version nor signature: all of a model's are added up.
        let mut counts = BTreeMap::<(Arc<str>, &str), u64>::new();
        for signature in signatures {
            for (_, _, metrics) in signature.requests() {
                for (code, count) in metrics.codes.iter().enumerate().filter(|(_, count)| count.load(Relaxed) > 0) {
                    *counts.entry((signature.labels.model.clone(), code_name(code))).or_default() += count.load(Relaxed);
                }
            }
        }
        header(out, ":tensorflow:serving:request_count", "counter", "Requests by model and status.");
        for ((model, status), count) in counts {
            line(out, ":tensorflow:serving:request_count", &[("model_name", &model), ("status", status)], count as f64);
        }
        let name = ":tensorflow:serving:request_latency";
        let mut latencies = Merged::default();
        for signature in signatures {
            for (protocol, api, metrics) in signature.requests() {
                let api = api.tensorflow_serving_name(protocol);
                let labels = [("model_name", &*signature.labels.model), ("API", api), ("entrypoint", protocol.entrypoint())];
                latencies.add(&labels, &metrics.latency);
            }
        }
        latencies.write(out, name, "Microseconds of successful requests.");
        let name = ":tensorflow:serving:runtime_latency";
        let mut latencies = Merged::default();
        for signature in signatures {
            let labels = [("model_name", &*signature.labels.model), ("API", Api::Predict.name()), ("runtime", "TF1")];
            latencies.add(&labels, &signature.tensorflow_serving.runtime_latency);
        }
        latencies.write(out, name, "Microseconds of steps.");
        let of_batches: [(&str, &str, fn(&SignatureMetrics) -> &Histogram); 4] = [
            ("queuing_latency", "Microseconds that requests wait.", |s| &s.tensorflow_serving.queuing_latency),
            ("input_batch_size", "Rows of requests.", |s| &s.request_rows),
            ("processed_batch_size", "Rows of steps, with padding.", |s| &s.tensorflow_serving.processed_batch_size),
            ("padding_size", "Rows that steps were padded by.", |s| &s.tensorflow_serving.padding_size),
        ];
        for (name, help, get) in of_batches {
            let mut merged = Merged::default();
            signatures.iter().for_each(|signature| merged.add(&[("thread_pool_name", "flowmill-batch")], get(signature)));
            merged.write(out, &format!(":tensorflow:serving:batching_session:{name}"), help);
        }
        header(out, ":tensorflow:cc:saved_model:load_latency", "counter", "Microseconds of loading by model and status.");
        for ((model, version, succeeded), micros) in &*self.load_latency.lock() {
            let (path, status) = (format!("{model}/{version}"), if *succeeded { "success" } else { "fail" });
            line(out, ":tensorflow:cc:saved_model:load_latency", &[("model_path", &path), ("status", status)], *micros as f64);
        }
    }

    /// The metrics by version, signature and code.
    fn write_own(&self, signatures: &[Arc<SignatureMetrics>], out: &mut String) {
        header(out, "flowmill_requests_total", "counter", "Requests by model, version, signature, protocol, kind and code.");
        for signature in signatures {
            for (protocol, api, metrics) in signature.requests() {
                for (code, count) in metrics.codes.iter().enumerate().filter(|(_, count)| count.load(Relaxed) > 0) {
                    let version = signature.labels.version.to_string();
                    let labels = [
                        ("model", &*signature.labels.model),
                        ("version", &version),
                        ("signature", &signature.labels.signature),
                        ("protocol", protocol.name()),
                        ("api", api.name()),
                        ("code", code_name(code)),
                    ];
                    line(out, "flowmill_requests_total", &labels, count.load(Relaxed) as f64);
                }
            }
        }
        header(out, "flowmill_rejected_requests_total", "counter", "Requests that reached no model, by code.");
        for (code, count) in self.rejected.iter().enumerate().filter(|(_, count)| count.load(Relaxed) > 0) {
            line(out, "flowmill_rejected_requests_total", &[("code", code_name(code))], count.load(Relaxed) as f64);
        }
        let histograms: [(&str, &str, fn(&SignatureMetrics) -> &Histogram); 5] = [
            ("flowmill_request_seconds", "Time of successful requests, from their first byte to their answer.", |s| &s.total),
            ("flowmill_queue_seconds", "Time that successful requests wait for a thread or a batch.", |s| &s.queue),
            ("flowmill_compute_seconds", "Time of a step.", |s| &s.compute),
            ("flowmill_request_rows", "Rows of a request.", |s| &s.request_rows),
            ("flowmill_batch_rows", "Rows of a step, without padding.", |s| &s.batch_rows),
        ];
        for (name, help, get) in histograms {
            header(out, name, "histogram", help);
            for signature in signatures.iter().filter(|signature| &*signature.labels.signature != NO_SIGNATURE) {
                let histogram = get(signature);
                signature.with_labels(|labels| write_histogram(out, name, labels, histogram.cumulative(), histogram.sum()));
            }
        }
        header(out, "flowmill_padding_rows_total", "counter", "Rows that batches were padded by.");
        for signature in signatures {
            signature.with_labels(|labels| line(out, "flowmill_padding_rows_total", labels, signature.padding_rows.load(Relaxed) as f64));
        }
        for Reading { name, help, kind, read } in &*self.readings.lock() {
            header(out, name, kind, help);
            for (labels, value) in read() {
                let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                let _ = writeln!(out, "{name}{braces} {value}");
            }
        }
        header(out, "flowmill_uptime_seconds", "gauge", "Time since the server's start.");
        line(out, "flowmill_uptime_seconds", &[], self.uptime().as_secs_f64());
    }
}

/// Histograms of several signatures, added up by their labels.
#[derive(Default)]
struct Merged(BTreeMap<Vec<(&'static str, String)>, (Vec<(f64, u64)>, f64)>);

impl Merged {
    fn add(&mut self, labels: &[(&'static str, &str)], histogram: &Histogram) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let (buckets, sum) = self.0.entry(labels).or_default();
        *sum += histogram.sum();
        for (i, (end, count)) in histogram.cumulative().enumerate() {
            match buckets.get_mut(i) {
                Some(bucket) => bucket.1 += count,
                None => buckets.push((end, count)),
            }
        }
    }

    fn write(self, out: &mut String, name: &str, help: &str) {
        header(out, name, "histogram", help);
        for (labels, (buckets, sum)) in self.0 {
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
            write_histogram(out, name, &labels, buckets.into_iter(), sum);
        }
    }
}

impl SignatureMetrics {
    pub(super) fn requests(&self) -> impl Iterator<Item = (Protocol, Api, &super::RequestMetrics)> {
        let kinds = Protocol::ALL.into_iter().flat_map(|protocol| Api::ALL.into_iter().map(move |api| (protocol, api)));
        kinds.filter_map(|(protocol, api)| Some((protocol, api, &**self.requests[protocol as usize][api as usize].get()?)))
    }

    fn with_labels(&self, write: impl FnOnce(&[(&str, &str)])) {
        let version = self.labels.version.to_string();
        write(&[("model", &self.labels.model), ("version", &version), ("signature", &self.labels.signature)]);
    }
}

/// Returns the name of a canonical code, with "OK" for 0, as TensorFlow writes it.
pub(crate) fn code_name(code: usize) -> &'static str {
    let code = i32::try_from(code).ok().and_then(|code| error::Code::try_from(code).ok());
    code.unwrap_or(error::Code::Unknown).as_str_name()
}

fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_histogram(out: &mut String, name: &str, labels: &[(&str, &str)], buckets: impl Iterator<Item = (f64, u64)>, sum: f64) {
    let (bucket, mut all) = (format!("{name}_bucket"), 0);
    for (end, count) in buckets {
        let end = if end.is_finite() { end.to_string() } else { "+Inf".to_owned() };
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", end.as_str())]).collect();
        line(out, &bucket, &labels, count as f64);
        all = count;
    }
    line(out, &format!("{name}_sum"), labels, sum);
    line(out, &format!("{name}_count"), labels, all as f64);
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    out.push_str(name);
    for (i, (label, text)) in labels.iter().enumerate() {
        let _ = write!(out, "{}{label}=\"{}\"", if i == 0 { '{' } else { ',' }, escaped(text));
    }
    let _ = writeln!(out, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

/// Returns a label's value with backslashes, quotes and line ends escaped.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
