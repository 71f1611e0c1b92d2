//! `flowmill._core.Timeline` and `flowmill._core.Profiler`: what a step took.

use crate::errors::{Raise, invalid_argument};
use crate::gate;
use crate::graph::PyGraph;
use crate::locks::{self, Locked};
use flowmill_proto::{Message, StepStats, tfprof};
use flowmill_tensor::{Error, Result};
use flowmill_timeline::profile::{CodeFrame, ProfileOptions, Profiler, View};
use flowmill_timeline::{ChromeOptions, OpTime, Timeline};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The allocator, the time in microseconds since the Unix epoch, the bytes, and the names of the tensors.
type Peak = (String, i64, u64, Vec<String>);

fn decode<M: Message + Default>(bytes: &[u8], name: &str) -> Result<M> {
    M::decode(bytes).map_err(|e| Error::invalid_argument(format!("{name}: {e}")))
}

/// The events of a step.
#[pyclass(frozen, name = "Timeline", module = "flowmill._core")]
pub struct PyTimeline(Timeline);

#[pymethods]
impl PyTimeline {
    /// Reads a serialised `StepStats`. `op_time` is "schedule", "gpu" or "all".
    #[new]
    fn new(py: Python<'_>, step_stats: &[u8], op_time: &str) -> PyResult<PyTimeline> {
        let op_time = match op_time {
            "schedule" => OpTime::Schedule,
            "gpu" => OpTime::Gpu,
            "all" => OpTime::All,
            other => return Err(invalid_argument(py, format!("op_time must be 'schedule', 'gpu' or 'all', not '{other}'"))),
        };
        gate::detached(py, || Ok(PyTimeline(Timeline::new(&decode(step_stats, "StepStats")?, op_time))))
    }

    /// Returns the trace as JSON.
    #[pyo3(signature = (*, dataflow, memory, tensors, analysis, lines))]
    fn chrome_trace(&self, py: Python<'_>, dataflow: bool, memory: bool, tensors: bool, analysis: bool, lines: bool) -> PyResult<String> {
        let options = ChromeOptions { dataflow, memory, tensors, analysis, lines, absolute: true };
        text_of(py, |out| self.0.write_chrome(out, options))
    }

    /// Returns the timeline as an HTML page.
    fn page(&self, py: Python<'_>, title: &str) -> PyResult<String> {
        text_of(py, |out| self.0.write_page(out, title))
    }

    /// Returns the largest memory in use, by allocator.
    fn memory_peaks(&self, py: Python<'_>) -> PyResult<Vec<Peak>> {
        let micros = |time: u64| self.0.start_nanos.saturating_add_unsigned(time) / 1000;
        let names = |tensors: Vec<std::sync::Arc<str>>| tensors.iter().map(|name| name.to_string()).collect();
        gate::detached(py, || {
            let peaks = self.0.memory_peaks().into_iter();
            Ok(peaks.map(|(name, peak)| (name.to_string(), micros(peak.time), peak.bytes, names(peak.tensors))).collect())
        })
    }

    /// Returns the names of the nodes on the critical path, with the microseconds that they ran and that they waited.
    fn critical_path(&self, py: Python<'_>) -> PyResult<(Vec<String>, f64, f64)> {
        let path = gate::detached(py, || Ok(self.0.critical_path()))?;
        let names = path.events.iter().filter_map(|&i| self.0.events.get(i)).map(|event| event.name.to_string()).collect();
        Ok((names, path.running as f64 / 1e3, path.waiting as f64 / 1e3))
    }
}

fn text_of(py: Python<'_>, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()> + Send) -> PyResult<String> {
    gate::detached(py, || {
        let mut out = Vec::new();
        write(&mut out).map_err(|e| Error::invalid_argument(e.to_string()))?;
        String::from_utf8(out).map_err(|e| Error::invalid_argument(e.to_string()))
    })
}

/// A frame of a stack: file, line, function, and the text of the line.
type Frame = (String, u32, String, String);

/// Collects statistics of steps of a graph.
#[pyclass(frozen, name = "Profiler", module = "flowmill._core")]
pub struct PyProfiler(Locked<Profiler>);

#[pymethods]
impl PyProfiler {
    /// Makes a profiler of a graph without steps.
    #[new]
    fn new(py: Python<'_>, graph: &PyGraph) -> PyResult<PyProfiler> {
        graph.read(py, Profiler::new).raise(py).map(|profiler| PyProfiler(Locked::new(profiler)))
    }

    /// Adds the statistics of a step, a serialised `StepStats`.
    fn add_step(&self, py: Python<'_>, step: i64, step_stats: &[u8]) -> PyResult<()> {
        locks::with(py, &self.0, |profiler| decode(step_stats, "StepStats").map(|stats: StepStats| profiler.add_step(step, &stats)))
            .raise(py)
    }

    /// Adds a name by which options select a node.
    fn add_type(&self, py: Python<'_>, node: &str, name: &str) {
        locks::with(py, &self.0, |profiler| profiler.add_type(node, name));
    }

    /// Sets the operations of one firing of a node.
    fn set_float_ops(&self, py: Python<'_>, node: &str, float_ops: u64) {
        locks::with(py, &self.0, |profiler| profiler.set_float_ops(node, float_ops));
    }

    /// Sets the stack that made a node, from the outermost call to the innermost.
    fn set_trace(&self, py: Python<'_>, node: &str, frames: Vec<Frame>) {
        let frame = |(file, line, function, text)| CodeFrame { file, line, function, text };
        let trace = frames.into_iter().map(frame).collect();
        locks::with(py, &self.0, |profiler| profiler.set_trace(node, trace));
    }

    /// Returns the profile as a view shows it, as text and as a serialised `GraphNodeProto` or `MultiGraphNodeProto`. `options` is a serialised
    /// `OptionsProto`.
    fn show<'py>(&self, py: Python<'py>, view: &str, options: &[u8]) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let (text, message) = locks::with(py, &self.0, |profiler| {
            let view = View::from_name(view)?;
            let profile = profiler.show(view, &ProfileOptions::new(decode(options, "OptionsProto")?)?);
            let message = match view {
                View::Scope | View::Graph => profile.graph_node().encode_to_vec(),
                View::Op | View::Code => profile.multi_graph_node().encode_to_vec(),
            };
            Ok((profile.text(), message))
        })
        .raise(py)?;
        Ok((text, PyBytes::new(py, &message)))
    }

    /// Returns the reports of checkers, a serialised `AdviceProto`.
    fn advise<'py>(&self, py: Python<'py>, checkers: Vec<String>) -> Bound<'py, PyBytes> {
        let advice: tfprof::AdviceProto = locks::with(py, &self.0, |profiler| profiler.advise(&checkers));
        PyBytes::new(py, &advice.encode_to_vec())
    }
}
