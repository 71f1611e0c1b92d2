//! Loads models for the repository.

use super::{Compute, ServedModel, ServedSignature, SessionHandle, SignatureHost, on_callers_thread};
use crate::batching::{BatchScheduler, BatchingOptions};
use crate::metrics::Metrics;
use crate::repository::{LoadRequest, Loader};
use crate::system;
use crate::warmup;
use flowmill::files::ModelPath;
use flowmill::proto::{SignatureDef, TensorInfo, tensor_info::Encoding};
use flowmill::{
    Error, Executor, FileAccess, InferencePrecision, OpSet, Result, SavedModel, SessionOptions, Signature, TensorSpec, graph_signature,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Options of loading and running models.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Tags of the graph in a SavedModel. `serve` by default.
    pub tags: Vec<String>,
    /// Threads that kernels and nodes of all models share; 0 means one per core.
    pub num_threads: usize,
    /// The least precision in which kernels may multiply by constant weights.
    pub inference_precision: InferencePrecision,
    /// Batch requests with these options; a version's own `batching_params.pbtxt` overrides them. `None` runs each request alone.
    pub batching: Option<BatchingOptions>,
    /// Read a version's own `batching_params.pbtxt`, which turns batching on for it.
    pub per_model_batching: bool,
    /// Warm models without a file of requests up by calling their signatures with zeros.
    pub warm_up_signatures: bool,
    /// Refuse to classify and to regress by signatures of another method.
    pub check_method_names: bool,
    /// Ops beside those of TensorFlow.
    pub ops: Option<OpSet>,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions {
            tags: vec!["serve".to_owned()],
            num_threads: 0,
            inference_precision: InferencePrecision::F32,
            batching: None,
            per_model_batching: false,
            warm_up_signatures: false,
            check_method_names: false,
            ops: None,
        }
    }
}

/// Loads SavedModels and frozen graphs.
#[derive(Debug)]
pub struct ModelLoader {
    options: ModelOptions,
    executor: Arc<Executor>,
    /// The threads of batches, if requests are batched.
    scheduler: Option<Arc<BatchScheduler>>,
    compute: Arc<Compute>,
    metrics: Arc<Metrics>,
}

impl ModelLoader {
    /// Starts the threads that all models share.
    ///
    /// # Errors
    /// `ResourceExhausted` if threads cannot be started, and `InvalidArgument` for options of batches that contradict each other.
    pub fn new(options: ModelOptions, compute: Arc<Compute>, metrics: Arc<Metrics>) -> Result<ModelLoader> {
        let batching = options.batching.clone().unwrap_or_default();
        batching.check()?;
        let executor = executor(options.num_threads)?;
        let is_batched = options.batching.is_some() || options.per_model_batching;
        let scheduler = if is_batched { Some(BatchScheduler::start(batching.num_batch_threads)?) } else { None };
        Ok(ModelLoader { options, executor, scheduler, compute, metrics })
    }

    fn session_options(&self) -> SessionOptions {
        SessionOptions {
            executor: Some(self.executor.clone()),
            allow_soft_placement: true,
            inference_precision: self.options.inference_precision,
            ..SessionOptions::default()
        }
    }

    fn batching(&self, request: &LoadRequest<'_>) -> Result<Option<Arc<BatchingOptions>>> {
        match request.batching.filter(|_| self.options.per_model_batching) {
            Some(own) => Ok(Some(Arc::new(BatchingOptions::from_proto(own)?))),
            None => Ok(self.options.batching.clone().map(Arc::new)),
        }
    }

    fn load_files(&self, request: &LoadRequest<'_>) -> Result<ServedModel> {
        let ops = match &self.options.ops {
            Some(ops) => ops.clone(),
            None => OpSet::standard()?,
        };
        let (session, signatures, signature_defs, platform) = match ModelPath::detect(request.path)? {
            ModelPath::SavedModel(path) => {
                let tags: Vec<&str> = self.options.tags.iter().map(String::as_str).collect();
                let model = SavedModel::load_from(&ops, path, &tags, self.session_options(), FileAccess::Read, &on_callers_thread())?;
                let defs = model.signature_defs().clone();
                (model.session().clone(), model.signatures().clone(), defs, "tensorflow_savedmodel")
            }
            ModelPath::Graph(path) => {
                let graph = ops.load_graph(path, FileAccess::Read)?;
                let signature = graph_signature(&graph, &[])?;
                let defs = [(super::DEFAULT_SIGNATURE.to_owned(), signature_def(&signature))].into();
                let signatures = [(super::DEFAULT_SIGNATURE.to_owned(), Arc::new(signature))].into();
                (ops.session(graph, self.session_options())?, signatures, defs, "tensorflow_graphdef")
            }
            ModelPath::MetaGraph(path) | ModelPath::Checkpoint(path) => {
                return Err(Error::invalid_argument(format!("{}: weights without a model cannot be served", path.display())));
            }
        };
        let batching = self.batching(request)?;
        let host = SignatureHost::new(session.clone(), self.compute.clone(), self.options.check_method_names);
        let mut served = BTreeMap::new();
        for (name, spec) in signatures {
            let metrics = self.metrics.signature(request.model, request.version, &name);
            let queue = self.scheduler.as_deref().zip(batching.clone());
            let def = signature_defs.get(&name);
            let signature = ServedSignature::new(&name, spec, def, &host, queue, metrics)?;
            served.insert(name, Arc::new(signature));
        }
        let model = ServedModel { session: SessionHandle(session), signatures: served, signature_defs, platform };
        if request.warm_up {
            self.warm_up(&model, request.path, batching.as_deref())?;
        }
        // After this, no request can make the session prepare anything.
        model.session().finalize();
        Ok(model)
    }

    /// Runs the version's own warm-up requests. If there are none, and the options say so, calls its signatures with zeros.
    fn warm_up(&self, model: &ServedModel, path: &Path, batching: Option<&BatchingOptions>) -> Result<()> {
        let count = warmup::run_requests(path, |log| warmup::run_request(model, log))?;
        if count.is_none() && self.options.warm_up_signatures {
            let sizes = batching.map_or(&[][..], |batching| batching.allowed_batch_sizes.as_slice());
            warmup::run_signatures(model, sizes);
        }
        Ok(())
    }
}

impl Loader for ModelLoader {
    type Model = ServedModel;

    fn load(&self, request: &LoadRequest<'_>) -> Result<ServedModel> {
        let start = Instant::now();
        let model = self.load_files(request);
        self.metrics.record_load(request.model, request.version, model.is_ok(), start.elapsed());
        model
    }
}

/// Starts the threads of steps, which inherit the short time slice of the thread that starts them.
fn executor(num_threads: usize) -> Result<Arc<Executor>> {
    let start = move || {
        system::shorten_time_slice();
        Executor::new(num_threads)
    };
    let thread = std::thread::Builder::new().name("flowmill-start".to_owned()).spawn(start);
    let thread = thread.map_err(|e| Error::resource_exhausted(format!("the threads of steps cannot be started: {e}")))?;
    thread.join().unwrap_or_else(|_| Err(Error::internal("the thread that starts the threads of steps ended")))
}

/// Returns the message of a signature.
fn signature_def(signature: &Signature) -> SignatureDef {
    let info = |(name, spec): (&String, &TensorSpec)| {
        let info = TensorInfo {
            dtype: spec.dtype.number(),
            tensor_shape: Some(spec.shape.to_proto()),
            encoding: Some(Encoding::Name(spec.tensor.clone())),
            ..TensorInfo::default()
        };
        (name.clone(), info)
    };
    SignatureDef {
        inputs: signature.inputs.iter().map(info).collect(),
        outputs: signature.outputs.iter().map(info).collect(),
        method_name: signature.method.clone(),
        ..SignatureDef::default()
    }
}
