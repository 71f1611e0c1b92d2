//! `flowmill._core.Predictor`: a signature of a model, called by names of inputs.

use crate::attrs::shape_to_python;
use crate::convert::{from_python, to_numpy};
use crate::errors::{Raise, invalid_argument};
use crate::gate;
use crate::saved_model::PySavedModel;
use crate::session::{PySession, seconds};
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::{Call, ModelOptions, Outcome};
use flowmill_serving::{Predictor, PredictorOptions};
use flowmill_tensor::{Result, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The names, types and shapes of tensors.
type Specs = Vec<(String, i32, Option<Vec<i64>>)>;

/// A signature of a model.
#[pyclass(frozen, name = "Predictor", module = "flowmill._core")]
pub struct PyPredictor {
    /// `None` only within `drop`.
    predictor: Option<Arc<Predictor>>,
    process: u32,
}

#[pymethods]
impl PyPredictor {
    /// Loads a model. `batching` is a `BatchingParameters` in protobuf's text format.
    #[new]
    #[pyo3(signature = (path, signature, *, tags=vec!["serve".to_owned()], batching=None, threads=0, inference_precision="f32"))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        signature: String,
        tags: Vec<String>,
        batching: Option<String>,
        threads: usize,
        inference_precision: &str,
    ) -> PyResult<PyPredictor> {
        gate::detached(py, || {
            let batching = batching.as_deref().map(BatchingOptions::from_text).transpose()?;
            let inference_precision = inference_precision.parse()?;
            let model = ModelOptions { tags, num_threads: threads, inference_precision, batching, ..ModelOptions::default() };
            Predictor::load(path, &PredictorOptions { signature, model })
        })
        .map(PyPredictor::of)
    }

    /// Makes a predictor of a model that is loaded in a session already.
    #[staticmethod]
    #[pyo3(signature = (model, session, signature, *, batching=None))]
    fn of_model(
        py: Python<'_>,
        model: &Bound<'_, PySavedModel>,
        session: &Bound<'_, PySession>,
        signature: String,
        batching: Option<String>,
    ) -> PyResult<PyPredictor> {
        let (model, session) = (model.get(), session.get().session());
        gate::detached(py, || {
            let batching = batching.as_deref().map(BatchingOptions::from_text).transpose()?;
            let spec = Arc::new(model.signature(&signature)?);
            let options = PredictorOptions { signature, model: ModelOptions { batching, ..ModelOptions::default() } };
            Predictor::of_session(session, spec, &options)
        })
        .map(PyPredictor::of)
    }

    /// Returns the inputs: name, type and shape.
    fn inputs(&self, py: Python<'_>) -> PyResult<Specs> {
        let specs = &self.get().raise(py)?.signature().spec().inputs;
        Ok(specs.iter().map(|(name, spec)| (name.clone(), spec.dtype.number(), shape_to_python(&spec.shape))).collect())
    }

    /// Returns the outputs: name, type and shape.
    fn outputs(&self, py: Python<'_>) -> PyResult<Specs> {
        let specs = &self.get().raise(py)?.signature().spec().outputs;
        Ok(specs.iter().map(|(name, spec)| (name.clone(), spec.dtype.number(), shape_to_python(&spec.shape))).collect())
    }

    /// Returns true if calls are batched.
    fn is_batched(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.get().raise(py)?.signature().is_batched())
    }

    /// Calls the signature and waits. `timeout` is in seconds.
    #[pyo3(signature = (inputs, outputs=Vec::new(), *, timeout=None, priority=0))]
    fn predict<'py>(
        &self,
        inputs: &Bound<'py, PyDict>,
        outputs: Vec<String>,
        timeout: Option<f64>,
        priority: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = inputs.py();
        let predictor = self.get().raise(py)?;
        let (feeds, call) = (self.feeds(inputs)?, call(py, outputs, timeout, priority)?);
        let outcome = gate::step(py, |cancel, poll| predictor.predict(feeds, Call { cancel, ..call }, poll))?;
        to_dict(py, outcome)
    }

    /// Calls the signature without waiting: `done` is called with the outputs and an exception, one of which is None, on another thread. Returns what
    /// cancels the call.
    #[pyo3(signature = (inputs, done, outputs=Vec::new(), *, timeout=None, priority=0))]
    fn submit(
        &self,
        inputs: &Bound<'_, PyDict>,
        done: Py<PyAny>,
        outputs: Vec<String>,
        timeout: Option<f64>,
        priority: u32,
    ) -> PyResult<PyCancel> {
        let py = inputs.py();
        let predictor = self.get().raise(py)?;
        let (feeds, call) = (self.feeds(inputs)?, call(py, outputs, timeout, priority)?);
        let cancel = PyCancel(call.cancel.clone());
        predictor.submit(feeds, call, move |result| {
            gate::attach(|py| {
                let answer = result.raise(py).and_then(|outcome| to_dict(py, outcome));
                let arguments = match answer {
                    Ok(outputs) => (outputs.into_any().unbind(), py.None()).into_pyobject(py),
                    Err(error) => (py.None(), error.into_value(py).into_any()).into_pyobject(py),
                };
                let called = arguments.and_then(|arguments| gate::call(done.bind(py), &arguments));
                // The loop that wants the answer may have ended.
                if let Err(error) = called {
                    error.write_unraisable(py, Some(done.bind(py)));
                }
                drop(done);
            });
        });
        Ok(cancel)
    }
}

/// Cancels a call.
#[pyclass(frozen, name = "Cancel", module = "flowmill._core")]
pub struct PyCancel(flowmill_runtime::CancelToken);

#[pymethods]
impl PyCancel {
    /// Cancels the call, unless it has ended.
    fn __call__(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel(flowmill_tensor::Error::cancelled("the caller does not wait any more")));
    }
}

impl PyPredictor {
    fn of(predictor: Predictor) -> PyPredictor {
        PyPredictor { predictor: Some(Arc::new(predictor)), process: std::process::id() }
    }

    fn get(&self) -> Result<&Arc<Predictor>> {
        let here = self.predictor.as_ref().filter(|_| self.process == std::process::id());
        here.ok_or_else(|| flowmill_tensor::error!(FailedPrecondition, "a predictor is of no use to a process that was forked"))
    }

    fn feeds(&self, inputs: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Tensor)>> {
        let py = inputs.py();
        let specs = &self.get().raise(py)?.signature().spec().inputs;
        let feed = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, Tensor)> {
            let name: String = name.extract()?;
            let dtype = specs.get(&name).map(|spec| spec.dtype);
            let value = from_python(&value, dtype).map_err(|error| invalid_argument(py, format!("input '{name}': {error}")))?;
            Ok((name, value))
        };
        inputs.iter().map(feed).collect()
    }
}

impl Drop for PyPredictor {
    /// Ends the predictor on a thread of its own: its threads may wait for the GIL, which this one has.
    fn drop(&mut self) {
        let Some(predictor) = self.predictor.take() else { return };
        end_elsewhere(predictor, self.process);
    }
}

/// Drops what has threads on a thread of its own, and nothing in a process that was forked, which lacks the threads that a drop would wait for.
pub(crate) fn end_elsewhere<T: Send + 'static>(value: T, process: u32) {
    if process != std::process::id() {
        std::mem::forget(value);
        return;
    }
    let value = std::mem::ManuallyDrop::new(value);
    // Without a thread, the memory stays.
    let _ = std::thread::Builder::new().name("flowmill-end".to_owned()).spawn(move || drop(std::mem::ManuallyDrop::into_inner(value)));
}

fn call(py: Python<'_>, outputs: Vec<String>, timeout: Option<f64>, priority: u32) -> PyResult<Call> {
    let timeout = timeout.map(|timeout| seconds(py, timeout)).transpose()?;
    Ok(Call { outputs, deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)), priority, ..Call::default() })
}

fn to_dict(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in outcome.outputs {
        dict.set_item(name, to_numpy(py, value)?)?;
    }
    Ok(dict)
}
