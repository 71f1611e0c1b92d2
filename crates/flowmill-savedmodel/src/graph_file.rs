use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::{GraphDef, Message, MetaGraphDef};
use flowmill_tensor::{Error, Result, bail};

use crate::bundle::with_suffix;
use crate::checkpoint_state::{CHECKPOINT_FILE, latest_checkpoint};
use crate::mmap::map_file;
use crate::saved_model::{SAVED_MODEL_FILE, SAVED_MODEL_TEXT_FILE};

/// Loads a graph in wire format, such as a frozen one. The file is mapped, and the contents of its tensors point into the
/// mapping, which is also returned.
///
/// # Errors
/// Those of [`map_file`], and `DataLoss` where the file is not a `GraphDef`.
pub fn load_graph_def(path: impl AsRef<Path>) -> Result<(GraphDef, Bytes)> {
    let path = path.as_ref();
    let file = map_file(path)?;
    match GraphDef::decode(file.clone()) {
        Ok(graph) => Ok((graph, file)),
        Err(error) => Err(not_parsed(path, error)),
    }
}

/// Loads a `MetaGraphDef`, as savers write it beside a checkpoint. The file is mapped.
///
/// # Errors
/// Those of [`map_file`], and `DataLoss` where the file is not a `MetaGraphDef`.
pub fn load_meta_graph(path: impl AsRef<Path>) -> Result<MetaGraphDef> {
    let path = path.as_ref();
    MetaGraphDef::decode(map_file(path)?).map_err(|error| not_parsed(path, error))
}

pub(crate) fn not_parsed(path: &Path, error: flowmill_proto::DecodeError) -> Error {
    Error::data_loss(format!("Can't parse {} as binary proto: {error}", path.display()))
}

/// What lies at a path that a user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPath {
    /// A SavedModel: its directory, or its `saved_model.pb` alone.
    SavedModel(PathBuf),
    /// A graph in wire format.
    Graph(PathBuf),
    /// A `MetaGraphDef`, as savers write it beside a checkpoint.
    MetaGraph(PathBuf),
    /// The prefix of a checkpoint.
    Checkpoint(PathBuf),
}

impl ModelPath {
    /// Finds out what `path` is:
    ///
    /// * a directory with `saved_model.pb` is a SavedModel, one with a file `checkpoint` stands for its newest checkpoint;
    /// * a file `NAME.meta` is a `MetaGraphDef`, `NAME.index` a checkpoint; another file is a SavedModel if it begins as
    ///   one does, else a graph;
    /// * a path without a file is the prefix of a checkpoint if that has an index.
    ///
    /// # Errors
    /// `NotFound` where it is none of these, `Unimplemented` for a SavedModel in text form.
    pub fn detect(path: impl AsRef<Path>) -> Result<ModelPath> {
        let path = path.as_ref();
        if path.is_dir() {
            return detect_directory(path);
        }
        if !path.exists() {
            if with_suffix(path, ".index").is_file() {
                return Ok(ModelPath::Checkpoint(path.to_owned()));
            }
            bail!(NotFound, "{}: no such file, directory or checkpoint", path.display());
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("meta") => return Ok(ModelPath::MetaGraph(path.to_owned())),
            Some("index") => return Ok(ModelPath::Checkpoint(path.with_extension(""))),
            Some("pbtxt") => bail!(Unimplemented, "{}: graphs in text form are not read", path.display()),
            _ => {}
        }
        // A SavedModel begins with its schema version, a varint; in a graph, field 1 is a node.
        match map_file(path)?.first() {
            Some(0x08) => Ok(ModelPath::SavedModel(path.to_owned())),
            _ => Ok(ModelPath::Graph(path.to_owned())),
        }
    }
}

fn detect_directory(path: &Path) -> Result<ModelPath> {
    if path.join(SAVED_MODEL_FILE).is_file() {
        return Ok(ModelPath::SavedModel(path.to_owned()));
    }
    if path.join(SAVED_MODEL_TEXT_FILE).is_file() {
        bail!(Unimplemented, "{}: SavedModels in text form are not read", path.display());
    }
    match latest_checkpoint(path)? {
        Some(prefix) => Ok(ModelPath::Checkpoint(prefix)),
        None => bail!(
            NotFound,
            "{}: a directory without {SAVED_MODEL_FILE} or a checkpoint named by a file `{CHECKPOINT_FILE}`",
            path.display()
        ),
    }
}
