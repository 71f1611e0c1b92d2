//! A signature of a model, called within the process: for programs that have a server of their own.

use crate::batching::BatchScheduler;
use crate::metrics::Metrics;
use crate::model::{Call, Compute, ModelLoader, ModelOptions, Outcome, ServedModel, ServedSignature, SignatureHost};
use crate::repository::{LoadRequest, Loader};
use flowmill::runtime::Poll;
use flowmill::{Error, Result, Session, Signature, Tensor};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The number of calls without a batch that may wait for a thread.
const MAX_WAITING_CALLS: usize = 1 << 16;

/// Options of a predictor.
#[derive(Clone, Debug, Default)]
pub struct PredictorOptions {
    /// The name of the signature; empty means `serving_default`.
    pub signature: String,
    /// Options of loading and batching.
    pub model: ModelOptions,
}

/// A signature of a model that is ready to be called from any thread.
///
/// With [`ModelOptions::batching`], calls that arrive close together run as one step, whether they wait or not.
pub struct Predictor {
    signature: Arc<ServedSignature>,
    /// `None` if the session belongs to the caller.
    _model: Option<ServedModel>,
    /// `None` only within `drop`.
    runtime: Option<Runtime>,
    /// The threads of batches, if the loader of a model does not have them.
    _scheduler: Option<Arc<BatchScheduler>>,
    /// Has the threads of the model.
    _loader: Option<ModelLoader>,
}

impl Predictor {
    /// Loads a model: a SavedModel, a frozen graph, or a directory with a child for each version, of which the largest is taken.
    ///
    /// # Errors
    /// `FailedPrecondition` if the model does not have the signature, and the errors of loading it.
    pub fn load(path: impl AsRef<Path>, options: &PredictorOptions) -> Result<Predictor> {
        let path = path.as_ref();
        let loader = ModelLoader::new(options.model.clone(), compute(), Arc::new(Metrics::default()))?;
        let (version, path) = newest_version(path);
        let request = LoadRequest { model: "", version, path: &path, platform: "", batching: None, warm_up: false };
        let model = loader.load(&request)?;
        let signature = model.signature(&options.signature)?.clone();
        Ok(Predictor { signature, _model: Some(model), runtime: Some(runtime()?), _scheduler: None, _loader: Some(loader) })
    }

    /// Makes a predictor of a signature whose model is loaded already. Only the options of batches are used.
    ///
    /// # Errors
    /// `InvalidArgument` for options of batches that contradict each other, and `ResourceExhausted` if threads cannot be started.
    pub fn of_session(session: &Arc<Session>, signature: Arc<Signature>, options: &PredictorOptions) -> Result<Predictor> {
        let metrics = Metrics::default().signature("", 0, &options.signature);
        let batching = options.model.batching.clone().map(Arc::new);
        let scheduler = batching.as_ref().map(|batching| {
            batching.check()?;
            BatchScheduler::start(batching.num_batch_threads)
        });
        let scheduler = scheduler.transpose()?;
        let queue = scheduler.as_deref().zip(batching);
        let signature = ServedSignature::new(
            &options.signature,
            signature,
            None,
            &SignatureHost::new(session.clone(), compute(), false),
            queue,
            metrics,
        )?;
        Ok(Predictor { signature: Arc::new(signature), _model: None, runtime: Some(runtime()?), _scheduler: scheduler, _loader: None })
    }

    /// Returns the signature.
    pub fn signature(&self) -> &Arc<ServedSignature> {
        &self.signature
    }

    /// Calls the signature on inputs by name, and waits for its outputs; not for threads of a tokio runtime. `poll` is asked now and then while the
    /// thread waits.
    ///
    /// # Errors
    /// `InvalidArgument` for inputs or outputs that the signature does not have or that are missing, `DeadlineExceeded` when the deadline has
    /// passed, `Cancelled`, `ResourceExhausted` if too many calls wait, and the errors of the step.
    pub fn predict(&self, inputs: Vec<(String, Tensor)>, call: Call, poll: Option<Poll>) -> Result<Outcome> {
        if !self.signature.is_batched() {
            return self.signature.call_alone(inputs, call, poll);
        }
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let cancel = call.cancel.clone();
        runtime.block_on(async {
            let mut answer = std::pin::pin!(self.signature.call(inputs, call));
            loop {
                match tokio::time::timeout(Poll::INTERVAL, &mut answer).await {
                    Ok(answer) => return answer,
                    Err(_) if cancel.is_cancelled() => return Err(Error::cancelled("the call was cancelled")),
                    Err(_) => poll.iter().for_each(Poll::ask),
                }
            }
        })
    }

    /// Like [`Predictor::predict`], without waiting: `done` is called with the result, on a thread of the predictor. It must not block for long.
    pub fn submit(&self, inputs: Vec<(String, Tensor)>, call: Call, done: impl FnOnce(Result<Outcome>) + Send + 'static) {
        let signature = self.signature.clone();
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(async move { done(signature.call(inputs, call).await) })),
            None => done(Err(ended())),
        }
    }
}

impl Drop for Predictor {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Predictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predictor").field("signature", &self.signature).finish_non_exhaustive()
    }
}

fn ended() -> Error {
    Error::unavailable("the predictor has ended")
}

fn compute() -> Arc<Compute> {
    Arc::new(Compute::new(0, MAX_WAITING_CALLS))
}

fn runtime() -> Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().thread_name("flowmill-predict").build();
    runtime.map_err(|error| Error::resource_exhausted(format!("the threads of the predictor cannot be started: {error}")))
}

/// Returns the child of a model's directory with the largest version, or the path itself as version 1.
fn newest_version(path: &Path) -> (i64, PathBuf) {
    let children = std::fs::read_dir(path).into_iter().flatten().flatten();
    let version = |child: std::fs::DirEntry| Some((child.file_name().to_str()?.parse::<i64>().ok()?, child.path()));
    let is_model = ["saved_model.pb", "saved_model.pbtxt"].iter().any(|file| path.join(file).exists());
    let newest = children.filter_map(version).filter(|(version, path)| *version >= 0 && path.is_dir()).max();
    newest.filter(|_| !is_model).unwrap_or_else(|| (1, path.to_owned()))
}
