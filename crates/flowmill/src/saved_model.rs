//! SavedModels, ready to run.

use crate::signature::{Signature, signatures};
use crate::{FileAccess, ImportOptions, Result, Session, SessionOptions, Tensor, files, import_graph_def, new_graph, session};
use flowmill_tensor::bail;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A model with its variables restored and its tables filled.
pub struct SavedModel {
    session: Arc<Session>,
    signatures: BTreeMap<String, Signature>,
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
    /// As [`SavedModel::load`].
    pub fn load_with(path: impl AsRef<Path>, tags: &[&str], options: SessionOptions, access: FileAccess) -> Result<SavedModel> {
        let mut loaded = files::SavedModel::open_with(path, access)?.load(tags)?;
        let graph_def = loaded.meta_graph.graph_def.take().unwrap_or_default();
        let mut graph = new_graph()?;
        let producer_ops = loaded.take_producer_ops();
        import_graph_def(&mut graph, graph_def, &ImportOptions { producer_ops, ..ImportOptions::default() })?;
        let session = session(graph, options)?;
        prepare(&session, &loaded)?;
        Ok(SavedModel { session, signatures: signatures(&loaded.meta_graph)? })
    }

    /// The session the model runs in.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The signatures by name.
    pub fn signatures(&self) -> &BTreeMap<String, Signature> {
        &self.signatures
    }

    /// Calls a signature with inputs by name, and returns its outputs by name.
    ///
    /// # Errors
    /// `NotFound` for a signature that does not exist, `InvalidArgument` for a missing or unknown input; those of the run.
    pub fn run(&self, signature: &str, inputs: &[(&str, Tensor)]) -> Result<BTreeMap<String, Tensor>> {
        let Some(found) = self.signatures.get(signature) else {
            let known: Vec<&str> = self.signatures.keys().map(String::as_str).collect();
            bail!(NotFound, "the model has no signature '{signature}'; it has: {}", known.join(", "));
        };
        let feeds = found.feeds(inputs).map_err(|error| error.context(format_args!("signature '{signature}'")))?;
        if found.outputs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let fetches: Vec<&str> = found.outputs.values().map(|s| s.tensor.as_str()).collect();
        let values = self.session.run(&feeds, &fetches, &[])?;
        Ok(found.outputs.keys().cloned().zip(values).collect())
    }
}

/// Restores variables and runs the initialisation op of a model whose graph `session` has.
///
/// # Errors
/// What the checkpoint and the ops give.
pub fn prepare(session: &Session, loaded: &files::LoadedModel) -> Result<()> {
    let path_text = |path: &Path| Tensor::string(path.to_string_lossy().into_owned().into_bytes());
    // An asset may be listed more than once.
    let assets: BTreeMap<&str, &Path> = loaded.assets.iter().map(|a| (a.tensor.as_str(), a.path.as_path())).collect();
    let mut feeds: Vec<(&str, Tensor)> = assets.into_iter().map(|(tensor, path)| (tensor, path_text(path))).collect();
    if let Some(restore) = &loaded.restore {
        feeds.push((&restore.path_tensor, path_text(&restore.path)));
        session.run(&feeds, &[], &[&restore.op])?;
        feeds.pop();
    }
    if let Some(op) = &loaded.init_op {
        session.run(&feeds, &[], &[op])?;
    }
    Ok(())
}
