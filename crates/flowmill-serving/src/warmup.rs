//! Warm-up: requests that a model answers before it is served, so that its plans and buffers exist when the first request arrives.
//!
//! The requests are those of the model's own file in TensorFlow Serving's format, `assets.extra/tf_serving_warmup_requests`: a TFRecord file of
//! `PredictionLog` messages. A request that fails makes the load fail. For a model without that file, [`zeros`] makes inputs from a signature.

use crate::formats::Limits;
use crate::inference::{ExampleMethod, ExampleTask, MultiInference, serialized_examples, signature_name};
use crate::model::{ServedModel, on_callers_thread};
use crate::proto::tfs::{self, PredictionLog, prediction_log::LogType};
use flowmill::tensor::{bail, error};
use flowmill::{Result, RunOptions, SavedModel, Signature, Tensor, TfRecords, proto};
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The path of the requests within the directory of a version.
pub const REQUESTS_FILE: &str = "assets.extra/tf_serving_warmup_requests";

/// The most requests that a file may hold, as in TensorFlow Serving.
pub const MAX_REQUESTS: usize = 1000;

/// Calls `run` with each request in the file of a version, in order. Returns the number of requests; `None` if the version has no file.
///
/// # Errors
/// `InvalidArgument` for a file with more than [`MAX_REQUESTS`] requests; `DataLoss` for a damaged file and for a record that is no `PredictionLog`;
/// the errors of `run`. Errors name the file and the number of the record.
pub fn run_requests(version: &Path, mut run: impl FnMut(&LogType) -> Result<()>) -> Result<Option<usize>> {
    let path = version.join(REQUESTS_FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let mut count = 0;
    for record in TfRecords::open(&path)? {
        let at = |error: flowmill::Error| error.context(format_args!("warm-up request {count} of {}", path.display()));
        let record = record.map_err(at)?;
        if count == MAX_REQUESTS {
            bail!(InvalidArgument, "{}: the file has more than {MAX_REQUESTS} warm-up requests", path.display());
        }
        let log = PredictionLog::decode(record).map_err(|e| at(error!(DataLoss, "not a PredictionLog: {e}")))?;
        match &log.log_type {
            Some(log) => run(log).map_err(at)?,
            None => return Err(at(error!(Unimplemented, "the PredictionLog has no request of a known kind"))),
        }
        count += 1;
    }
    Ok(Some(count))
}

/// A model that answers warm-up requests.
pub trait WarmUp {
    /// Returns a signature by name.
    ///
    /// # Errors
    /// An error that names the signature if there is none.
    fn signature(&self, name: &str) -> Result<&Signature>;

    /// Returns the names of all signatures.
    fn signature_names(&self) -> Vec<&str>;

    /// Calls a signature and returns all of its outputs.
    ///
    /// # Errors
    /// `InvalidArgument` for inputs that the signature does not take, and the errors of the step.
    fn call(&self, signature: &str, inputs: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>>;

    /// Runs a step of the model's session.
    ///
    /// # Errors
    /// `NotFound` for an unknown tensor or op, and the errors of the step.
    fn run(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str]) -> Result<()>;
}

impl WarmUp for SavedModel {
    fn signature(&self, name: &str) -> Result<&Signature> {
        match self.signatures().get(name) {
            Some(signature) => Ok(signature),
            None => bail!(NotFound, "the model has no signature '{name}'"),
        }
    }

    fn signature_names(&self) -> Vec<&str> {
        self.signatures().keys().map(String::as_str).collect()
    }

    fn call(&self, signature: &str, inputs: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>> {
        Ok(SavedModel::signature(self, signature)?.call(inputs)?.into_iter().collect())
    }

    fn run(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str]) -> Result<()> {
        self.session().run(feeds, fetches, targets).map(drop)
    }
}

/// Returns the options of a warm-up step: a model that waits for something that no request brings fails to load instead of never being ready.
fn options() -> RunOptions {
    RunOptions { timeout: Some(STEP_TIMEOUT), ..on_callers_thread() }
}

impl WarmUp for ServedModel {
    fn signature(&self, name: &str) -> Result<&Signature> {
        ServedModel::signature(self, name).map(|signature| &**signature.spec())
    }

    fn signature_names(&self) -> Vec<&str> {
        self.signatures().keys().map(String::as_str).collect()
    }

    /// Runs the plan that requests run, without batching, on this thread. Inputs must be complete.
    fn call(&self, signature: &str, inputs: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>> {
        let spec = ServedModel::signature(self, signature)?.spec();
        let inputs: Vec<(&str, Tensor)> = inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let feeds = spec.feeds(&inputs).map_err(|error| error.context(format_args!("signature '{signature}'")))?;
        let fetches: Vec<&str> = spec.outputs.values().map(|output| output.tensor.as_str()).collect();
        let outcome = self.session().run_with(&feeds, &fetches, &[], &options())?;
        Ok(spec.outputs.keys().cloned().zip(outcome.values).collect())
    }

    fn run(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str]) -> Result<()> {
        self.session().run_with(feeds, fetches, targets, &options()).map(drop)
    }
}

/// The longest time of a warm-up step.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs one recorded request on a model. The name and the version of a model in the request do not matter.
///
/// # Errors
/// `InvalidArgument` for a log without a request, and for a request that the model does not accept; the errors of the model.
pub fn run_request(model: &impl WarmUp, log: &LogType) -> Result<()> {
    let missing = || error!(InvalidArgument, "the log has no request");
    match log {
        LogType::PredictLog(log) => predict(model, log.request.as_ref().ok_or_else(missing)?),
        LogType::ClassifyLog(log) => {
            let request = log.request.as_ref().ok_or_else(missing)?;
            examples(model, ExampleMethod::Classify, request.model_spec.as_ref(), request.input.as_ref())
        }
        LogType::RegressLog(log) => {
            let request = log.request.as_ref().ok_or_else(missing)?;
            examples(model, ExampleMethod::Regress, request.model_spec.as_ref(), request.input.as_ref())
        }
        LogType::MultiInferenceLog(log) => multi_inference(model, log.request.as_ref().ok_or_else(missing)?),
        LogType::SessionRunLog(log) => session_run(model, log.request.as_ref().ok_or_else(missing)?),
    }
}

fn predict(model: &impl WarmUp, request: &tfs::PredictRequest) -> Result<()> {
    let inputs = request.inputs.iter().map(|(name, value)| Ok((name.clone(), Tensor::from_proto(value)?)));
    model.call(signature_name(request.model_spec.as_ref()), inputs.collect::<Result<_>>()?).map(drop)
}

fn examples(model: &impl WarmUp, method: ExampleMethod, spec: Option<&tfs::ModelSpec>, input: Option<&tfs::Input>) -> Result<()> {
    run_task(model, method, signature_name(spec), &serialized_examples(input, &Limits::default())?)
}

fn multi_inference(model: &impl WarmUp, request: &tfs::MultiInferenceRequest) -> Result<()> {
    MultiInference::new(&request.tasks, false, |name| model.signature(name))?;
    let examples = serialized_examples(request.input.as_ref(), &Limits::default())?;
    let run = |task: &tfs::InferenceTask| {
        run_task(model, ExampleMethod::from_name(&task.method_name)?, signature_name(task.model_spec.as_ref()), &examples)
    };
    request.tasks.iter().try_for_each(run)
}

fn run_task(model: &impl WarmUp, method: ExampleMethod, signature: &str, examples: &Tensor) -> Result<()> {
    let task = ExampleTask::new(method, model.signature(signature)?, false)?;
    let mut outputs: BTreeMap<String, Tensor> = model.call(signature, vec![("inputs".to_owned(), examples.clone())])?.into_iter().collect();
    let wanted: &[&str] = match method {
        ExampleMethod::Classify => &["classes", "scores"],
        ExampleMethod::Regress => &["outputs"],
    };
    let values: Vec<Tensor> = wanted.iter().filter_map(|name| outputs.remove(*name)).collect();
    task.result(examples.num_elements(), &values).map(drop)
}

fn session_run(model: &impl WarmUp, request: &tfs::SessionRunRequest) -> Result<()> {
    fn feed(named: &proto::NamedTensorProto) -> Result<(&str, Tensor)> {
        let tensor = named.tensor.as_ref().ok_or_else(|| error!(InvalidArgument, "the feed '{}' has no tensor", named.name))?;
        Ok((&named.name, Tensor::from_proto(tensor)?))
    }
    let feeds: Vec<(&str, Tensor)> = request.feed.iter().map(feed).collect::<Result<_>>()?;
    let fetches: Vec<&str> = request.fetch.iter().map(String::as_str).collect();
    let targets: Vec<&str> = request.target.iter().map(String::as_str).collect();
    model.run(&feeds, &fetches, &targets)
}

/// Returns inputs of zeros and empty strings for a signature: each unknown first dimension is `batch_size`, each other unknown dimension 1.
///
/// # Errors
/// `ResourceExhausted` for inputs that do not fit into memory, `Unimplemented` for a type without zeros.
pub fn zeros(signature: &Signature, batch_size: usize) -> Result<BTreeMap<String, Tensor>> {
    let zeros = |(name, spec): (&String, &flowmill::TensorSpec)| {
        let dims = spec.shape.dims().unwrap_or(&[-1]);
        let size = |(i, &dim): (usize, &i64)| usize::try_from(dim).unwrap_or(if i == 0 { batch_size } else { 1 });
        let dims: Vec<usize> = dims.iter().enumerate().map(size).collect();
        let tensor = Tensor::zeros(spec.dtype, dims).map_err(|error| error.context(format_args!("input '{name}'")))?;
        Ok((name.clone(), tensor))
    };
    signature.inputs.iter().map(zeros).collect()
}

/// Calls every signature of a model with [`zeros`], for batches of one and of each of `batch_sizes`. Returns the number of calls that succeeded.
///
/// A model may refuse zeros, an image decoder does: a call that fails is logged and not an error.
pub fn run_signatures(model: &impl WarmUp, batch_sizes: &[usize]) -> usize {
    let sizes: std::collections::BTreeSet<usize> = batch_sizes.iter().copied().chain([1]).collect();
    let mut count = 0;
    for name in model.signature_names() {
        for &size in &sizes {
            let inputs = model.signature(name).and_then(|signature| zeros(signature, size));
            match inputs.and_then(|inputs| model.call(name, inputs.into_iter().collect())) {
                Ok(_) => count += 1,
                Err(error) => tracing::info!(signature = name, size, %error, "the model refuses a warm-up request of zeros"),
            }
        }
    }
    count
}
