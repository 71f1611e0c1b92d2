use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::{GraphDef, MetaGraphDef};
use flowmill_tensor::{Result, bail};

use crate::bundle::with_suffix;
use crate::checkpoint_state::{CHECKPOINT_FILE, latest_checkpoint};
use crate::file::{FileAccess, read_head};
use crate::saved_model::{SAVED_MODEL_FILE, SAVED_MODEL_TEXT_FILE};
use crate::{message, text_format};

/// Loads a graph, such as a frozen one, in wire format or as text. The file is read, and the contents of its tensors point into the bytes, which are
/// also returned: the file's, or the wire format of a text.
///
/// # Errors
/// Those of [`read_file`](crate::read_file), and `DataLoss` if the file is not a `GraphDef`: with line and column for a text, with what it is instead
/// if that is known.
pub fn load_graph_def(path: impl AsRef<Path>) -> Result<(GraphDef, Bytes)> {
    load_graph_def_with(path, FileAccess::Read)
}

/// Like [`load_graph_def`], with a choice of how the file gets into memory.
///
/// # Errors
/// `DataLoss` if the file is not a `GraphDef`, and the errors of [`read_file`](crate::read_file).
pub fn load_graph_def_with(path: impl AsRef<Path>, access: FileAccess) -> Result<(GraphDef, Bytes)> {
    message::load(path.as_ref(), access)
}

/// Reads a graph in wire format or as text. The contents of its tensors point into the bytes.
///
/// # Errors
/// `DataLoss` as for [`load_graph_def`].
pub fn parse_graph_def(bytes: Bytes) -> Result<GraphDef> {
    Ok(message::parse(bytes, "a message")?.0)
}

/// Loads a `MetaGraphDef`, as savers write it beside a checkpoint, in wire format or as text.
///
/// # Errors
/// `DataLoss` if the file is not a `MetaGraphDef`, and the errors of [`read_file`](crate::read_file).
pub fn load_meta_graph(path: impl AsRef<Path>) -> Result<MetaGraphDef> {
    Ok(message::load(path.as_ref(), FileAccess::Read)?.0)
}

/// Reads a `MetaGraphDef` in wire format or as text.
///
/// # Errors
/// `DataLoss` if the bytes are not a `MetaGraphDef`.
pub fn parse_meta_graph(bytes: Bytes) -> Result<MetaGraphDef> {
    Ok(message::parse(bytes, "a message")?.0)
}

/// The kind of model at a path that a user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPath {
    /// A SavedModel: its directory, or its `saved_model.pb` alone.
    SavedModel(PathBuf),
    /// A `GraphDef`.
    Graph(PathBuf),
    /// A `MetaGraphDef`, as savers write it beside a checkpoint.
    MetaGraph(PathBuf),
    /// The prefix of a checkpoint.
    Checkpoint(PathBuf),
}

impl ModelPath {
    /// Finds out what `path` is:
    ///
    /// * a directory with `saved_model.pb` or `saved_model.pbtxt` is a SavedModel, one with a file `checkpoint` means its newest checkpoint;
    /// * a file `NAME.meta` is a `MetaGraphDef`, `NAME.index` a checkpoint; another file is a SavedModel or a `MetaGraphDef` if it begins as
    ///   one does, else a graph; text is told by its first field;
    /// * a path without a file is the prefix of a checkpoint if that has an index.
    ///
    /// # Errors
    /// `NotFound` if it is none of these.
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
            _ => {}
        }
        let head = read_head(path, message::HEAD_LEN as u64)?;
        let path = path.to_owned();
        if text_format::is_text(&head) {
            return Ok(match text_format::first_field(&head) {
                Some("saved_model_schema_version" | "meta_graphs") => ModelPath::SavedModel(path),
                Some(
                    "meta_info_def" | "graph_def" | "saver_def" | "collection_def" | "signature_def" | "asset_file_def"
                    | "object_graph_def",
                ) => ModelPath::MetaGraph(path),
                _ => ModelPath::Graph(path),
            });
        }
        // A SavedModel begins with its schema version, a varint; in a graph, field 1 is a node.
        Ok(if head.first() == Some(&0x08) { ModelPath::SavedModel(path) } else { ModelPath::Graph(path) })
    }
}

fn detect_directory(path: &Path) -> Result<ModelPath> {
    if [SAVED_MODEL_FILE, SAVED_MODEL_TEXT_FILE].iter().any(|name| path.join(name).is_file()) {
        return Ok(ModelPath::SavedModel(path.to_owned()));
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
