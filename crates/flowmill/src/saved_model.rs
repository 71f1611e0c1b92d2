//! SavedModels, ready to run.

use crate::signature::{Signature, signatures};
use crate::{FileAccess, ImportOptions, OpSet, Result, RunOptions, Session, SessionOptions, Tensor, files, import_graph_def, proto};
use flowmill_tensor::bail;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A model with its variables restored and its tables filled.
pub struct SavedModel {
    session: Arc<Session>,
    signatures: BTreeMap<String, Arc<Signature>>,
    signature_defs: BTreeMap<String, proto::SignatureDef>,
}

impl SavedModel {
    /// Loads the graph with exactly these tags (`["serve"]` for most models) from a directory, restores its variables and runs its
    /// initialisation op. Models of both versions of the format.
    ///
    /// # Errors
    /// `NotFound` for a missing model, tag set, file or variable; `DataLoss` for damaged files; `NotFound` listing all ops that Flowmill lacks.
    pub fn load(path: impl AsRef<Path>, tags: &[&str], options: SessionOptions) -> Result<SavedModel> {
        SavedModel::load_with(path, tags, options, FileAccess::Read)
    }

    /// Like [`SavedModel::load`], with a choice of how the file of the graph gets into memory; [`FileAccess::Map`] says when mapping is safe. Variables
    /// are always read.
    ///
    /// # Errors
    /// `NotFound` for a missing model, tag set, file, variable or op, `DataLoss` for damaged files; see [`SavedModel::load`].
    pub fn load_with(path: impl AsRef<Path>, tags: &[&str], options: SessionOptions, access: FileAccess) -> Result<SavedModel> {
        SavedModel::load_from(&OpSet::standard()?, path, tags, options, access, &RunOptions::default())
    }

    /// Like [`SavedModel::load_with`], with the ops of `ops`, such as custom ones that the graph uses, and with options of the steps that restore and
    /// initialise: a server that loads a model beside others runs them on the thread that loads.
    ///
    /// # Errors
    /// `NotFound` for a missing model, tag set, file, variable or op, `DataLoss` for damaged files; see [`SavedModel::load`].
    pub fn load_from(
        ops: &OpSet,
        path: impl AsRef<Path>,
        tags: &[&str],
        options: SessionOptions,
        access: FileAccess,
        run: &RunOptions,
    ) -> Result<SavedModel> {
        let mut loaded = files::SavedModel::open_with(path, access)?.load(tags)?;
        let graph_def = loaded.meta_graph.graph_def.take().unwrap_or_default();
        let mut graph = ops.new_graph();
        let producer_ops = loaded.take_producer_ops();
        import_graph_def(&mut graph, graph_def, &ImportOptions { producer_ops, ..ImportOptions::default() })?;
        let session = ops.session(graph, options)?;
        prepare(&session, &loaded, run)?;
        let signatures = signatures(&loaded.meta_graph)?.into_iter().map(|(name, signature)| (name, Arc::new(signature))).collect();
        Ok(SavedModel { session, signatures, signature_defs: loaded.meta_graph.signature_def })
    }

    /// The session the model runs in.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The signatures by name.
    pub fn signatures(&self) -> &BTreeMap<String, Arc<Signature>> {
        &self.signatures
    }

    /// The messages of all signatures by name, also of those that are not for calling.
    pub fn signature_defs(&self) -> &BTreeMap<String, proto::SignatureDef> {
        &self.signature_defs
    }

    /// Returns the function that calls a signature: `model.signature("serving_default")?.call(inputs)`.
    ///
    /// # Errors
    /// `NotFound` for a signature that does not exist, with the names of those that do.
    pub fn signature(&self, name: &str) -> Result<ModelFunction> {
        let Some(signature) = self.signatures.get(name) else {
            let known: Vec<&str> = self.signatures.keys().map(String::as_str).collect();
            bail!(NotFound, "the model has no signature '{name}'; it has: {}", known.join(", "));
        };
        Ok(ModelFunction { session: self.session.clone(), name: name.into(), signature: signature.clone() })
    }
}

impl fmt::Debug for SavedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedModel").field("signatures", &self.signatures).finish_non_exhaustive()
    }
}

/// A signature of a model, to be called. It keeps the model's session; many threads may call it at once.
#[derive(Clone)]
pub struct ModelFunction {
    session: Arc<Session>,
    name: Arc<str>,
    signature: Arc<Signature>,
}

impl ModelFunction {
    /// Returns the inputs and outputs.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Runs the model on inputs by name and returns its outputs by name.
    ///
    /// # Errors
    /// `InvalidArgument` for a missing or unknown input; the errors of [`Session::run`].
    pub fn call<N: AsRef<str>>(&self, inputs: impl IntoIterator<Item = (N, Tensor)>) -> Result<BTreeMap<String, Tensor>> {
        self.call_with(inputs, &RunOptions::default())
    }

    /// Like [`ModelFunction::call`], with options such as a timeout.
    ///
    /// # Errors
    /// `InvalidArgument` for a missing or unknown input, and the errors of [`Session::run_with`].
    pub fn call_with<N: AsRef<str>>(
        &self,
        inputs: impl IntoIterator<Item = (N, Tensor)>,
        options: &RunOptions,
    ) -> Result<BTreeMap<String, Tensor>> {
        let inputs: Vec<(N, Tensor)> = inputs.into_iter().collect();
        let inputs: Vec<(&str, Tensor)> = inputs.iter().map(|(name, value)| (name.as_ref(), value.clone())).collect();
        let feeds = self.signature.feeds(&inputs).map_err(|error| error.context(format_args!("signature '{}'", self.name)))?;
        let outputs = &self.signature.outputs;
        if outputs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let fetches: Vec<&str> = outputs.values().map(|s| s.tensor.as_str()).collect();
        let values = self.session.run_with(&feeds, &fetches, &[], options)?.values;
        Ok(outputs.keys().cloned().zip(values).collect())
    }
}

impl fmt::Debug for ModelFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFunction").field("name", &self.name).field("signature", &self.signature).finish_non_exhaustive()
    }
}

/// Restores variables and runs the initialisation op of a model whose graph `session` has, in steps with these options.
///
/// # Errors
/// `NotFound` and `DataLoss` for the checkpoint, and any error of the ops that restore and initialise.
pub fn prepare(session: &Session, loaded: &files::LoadedModel, run: &RunOptions) -> Result<()> {
    let path_text = |path: &Path| Tensor::string(path.to_string_lossy().into_owned().into_bytes());
    // An asset may be listed more than once.
    let assets: BTreeMap<&str, &Path> = loaded.assets.iter().map(|a| (a.tensor.as_str(), a.path.as_path())).collect();
    let mut feeds: Vec<(&str, Tensor)> = assets.into_iter().map(|(tensor, path)| (tensor, path_text(path))).collect();
    if let Some(restore) = &loaded.restore {
        feeds.push((&restore.path_tensor, path_text(&restore.path)));
        session.run_with(&feeds, &[], &[&restore.op], run)?;
        feeds.pop();
    }
    if let Some(op) = &loaded.init_op {
        session.run_with(&feeds, &[], &[op], run)?;
    }
    Ok(())
}
