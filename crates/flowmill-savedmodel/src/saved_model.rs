use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::{self as proto, AssetFileDef, Message, MetaGraphDef, SignatureDef, collection_def};
use flowmill_tensor::{Code, Error, Result, bail};

use crate::checkpoint_state::checkpoint_exists;
use crate::file::FileAccess;
use crate::message;

pub(crate) const SAVED_MODEL_FILE: &str = "saved_model.pb";
pub(crate) const SAVED_MODEL_TEXT_FILE: &str = "saved_model.pbtxt";

/// The signature, and before it the collections, that name the op to run after restoring.
const INIT_OP_SIGNATURE: &str = "__saved_model_init_op";
const INIT_OP_COLLECTIONS: [&str; 2] = ["saved_model_main_op", "legacy_init_op"];

/// Names the op that runs one training step, likewise.
const TRAIN_OP_SIGNATURE: &str = "__saved_model_train_op";
const TRAIN_OP_COLLECTIONS: [&str; 1] = ["saved_model_train_op"];

/// The collection in which version 1 models list their assets.
const ASSETS_COLLECTION: &str = "saved_model_assets";

/// A SavedModel: graphs of one model, each for a set of tags, with their variables and assets in a directory.
#[derive(Clone, Debug)]
pub struct SavedModel {
    directory: Option<PathBuf>,
    file: Bytes,
    message: proto::SavedModel,
}

/// One graph of a SavedModel and what a session needs to make it ready: create a session with the graph, run
/// [`LoadedModel::restore`] if there is one, then [`LoadedModel::init_op`] if there is one, both while feeding the
/// path of every asset.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The graph with its signatures, collections and, in version 2 models, objects.
    pub meta_graph: MetaGraphDef,
    /// The directory of the model, if it came from one.
    pub directory: Option<PathBuf>,
    /// The op that restores the variables; `None` if the model has no variables.
    pub restore: Option<Restore>,
    /// The name of the op that initialises what is not a variable, such as tables.
    pub init_op: Option<String>,
    /// The name of the op that runs a training step.
    pub train_op: Option<String>,
    /// Files that the graph reads.
    pub assets: Vec<Asset>,
}

/// Restores the variables of a model: run `op` while feeding `path` to `path_tensor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The name of the op to run.
    pub op: String,
    /// The name of the scalar string tensor that takes the path.
    pub path_tensor: String,
    /// The prefix of the checkpoint in the model's directory.
    pub path: PathBuf,
}

/// A file that belongs to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The name of the scalar string tensor that has to be fed the path.
    pub tensor: String,
    /// The file's path.
    pub path: PathBuf,
}

impl SavedModel {
    /// Opens a model by its directory, or by its `saved_model.pb` or `saved_model.pbtxt`. Of a directory with both, the first is taken, as in TensorFlow.
    ///
    /// # Errors
    /// `NotFound` if there is none, `DataLoss` if the file is not one: with line and column for a text.
    pub fn open(path: impl AsRef<Path>) -> Result<SavedModel> {
        SavedModel::open_with(path, FileAccess::Read)
    }

    /// Like [`SavedModel::open`], with a choice of how the file of graphs gets into memory. Checkpoints are always read.
    ///
    /// # Errors
    /// `NotFound` if there is no model, `DataLoss` if the file is not one.
    pub fn open_with(path: impl AsRef<Path>, access: FileAccess) -> Result<SavedModel> {
        let path = path.as_ref();
        let (directory, file) = if path.is_dir() {
            let found = [SAVED_MODEL_FILE, SAVED_MODEL_TEXT_FILE].map(|name| path.join(name)).into_iter().find(|file| file.is_file());
            (Some(path), found.unwrap_or_else(|| path.join(SAVED_MODEL_FILE)))
        } else {
            (path.parent(), path.to_owned())
        };
        let (message, file) = message::load(&file, access).map_err(|error| match error.code() {
            Code::NotFound => Error::not_found(format!(
                "Could not find SavedModel .pb or .pbtxt at supplied export directory path: {}. \
                 Check that the directory exists and that you have the right permissions for accessing it.",
                directory.unwrap_or(path).display()
            )),
            _ => error,
        })?;
        Ok(SavedModel { directory: directory.map(Path::to_owned), file, message })
    }

    /// Returns a model from the bytes of its `saved_model.pb` or `saved_model.pbtxt`. It can have neither variables nor assets, which are in other
    /// files of its directory.
    ///
    /// # Errors
    /// `DataLoss` if the bytes are not a SavedModel.
    pub fn from_bytes(bytes: Bytes) -> Result<SavedModel> {
        let (message, file) = message::parse(bytes, "a message")?;
        Ok(SavedModel { directory: None, file, message })
    }

    /// Its wire format, which [`SavedModel::from_bytes`] takes; contents of tensors point into these bytes.
    pub fn file(&self) -> &Bytes {
        &self.file
    }

    /// Returns the model's graphs as they are in the file.
    pub fn meta_graphs(&self) -> &[MetaGraphDef] {
        &self.message.meta_graphs
    }

    /// Returns the tags of each of its graphs, sorted.
    pub fn tag_sets(&self) -> Vec<Vec<&str>> {
        self.message.meta_graphs.iter().map(tags).collect()
    }

    /// Returns the graph that has exactly these tags, in any order.
    ///
    /// # Errors
    /// `NotFound` if there is none; the message lists those there are.
    pub fn meta_graph(&self, tags: &[&str]) -> Result<&MetaGraphDef> {
        let index = self.find(tags)?;
        Ok(&self.message.meta_graphs[index])
    }

    /// Chooses the graph with exactly these tags and finds what makes it ready.
    ///
    /// # Errors
    /// Returns the errors of [`SavedModel::meta_graph`]; `NotFound` if the model has variables and no saver, or a saver and no variables, or an asset's
    /// name leads out of the directory; `FailedPrecondition` if it names several initialisation ops.
    pub fn load(mut self, tags: &[&str]) -> Result<LoadedModel> {
        let index = self.find(tags)?;
        let meta_graph = self.message.meta_graphs.swap_remove(index);
        let directory = self.directory;
        Ok(LoadedModel {
            restore: find_restore(&meta_graph, directory.as_deref())?,
            init_op: init_op(&meta_graph)?,
            train_op: find_op(&meta_graph, TRAIN_OP_SIGNATURE, &TRAIN_OP_COLLECTIONS)?,
            assets: find_assets(&meta_graph, directory.as_deref())?,
            meta_graph,
            directory,
        })
    }

    fn find(&self, wanted: &[&str]) -> Result<usize> {
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let found = self.message.meta_graphs.iter().position(|meta_graph| tags(meta_graph) == wanted);
        found.ok_or_else(|| {
            let available: Vec<String> = self.tag_sets().iter().map(|tags| format!("{{ {} }}", tags.join(" "))).collect();
            Error::not_found(format!(
                "Could not find meta graph def matching supplied tags: {{ {} }}. Available: {}",
                wanted.join(" "),
                if available.is_empty() { "none".to_owned() } else { available.join(", ") }
            ))
        })
    }
}

impl LoadedModel {
    /// Takes the definitions of the ops that the model was made with out of the message: what an import needs to know of newer and of foreign ops.
    pub fn take_producer_ops(&mut self) -> Vec<proto::OpDef> {
        self.meta_graph.meta_info_def.as_mut().and_then(|info| info.stripped_op_list.take()).unwrap_or_default().op
    }

    /// Returns the functions of the model that are meant to be called, by name; those that only name an op are left out.
    pub fn signatures(&self) -> BTreeMap<&str, &SignatureDef> {
        let is_function = |name: &str| name != INIT_OP_SIGNATURE && name != TRAIN_OP_SIGNATURE;
        self.meta_graph.signature_def.iter().map(|(name, def)| (name.as_str(), def)).filter(|(name, _)| is_function(name)).collect()
    }
}

/// The name of the op that initialises what is not a variable of a graph, such as tables; the errors of [`LoadedModel::init_op`].
///
/// # Errors
/// `FailedPrecondition` if the graph names several.
pub fn init_op(meta_graph: &MetaGraphDef) -> Result<Option<String>> {
    find_op(meta_graph, INIT_OP_SIGNATURE, &INIT_OP_COLLECTIONS)
}

/// Returns the tags of a graph, sorted and once each.
fn tags(meta_graph: &MetaGraphDef) -> Vec<&str> {
    let mut tags: Vec<&str> = meta_graph.meta_info_def.iter().flat_map(|info| &info.tags).map(String::as_str).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

fn find_restore(meta_graph: &MetaGraphDef, directory: Option<&Path>) -> Result<Option<Restore>> {
    let Some(path) = directory.map(|directory| directory.join("variables/variables")) else {
        return Ok(None);
    };
    let saver = meta_graph.saver_def.as_ref().filter(|saver| !saver.restore_op_name.is_empty());
    if !checkpoint_exists(&path) {
        if saver.is_some() {
            bail!(NotFound, "The passed save_path is not a valid checkpoint: {}", path.display());
        }
        return Ok(None);
    }
    match saver {
        Some(saver) => Ok(Some(Restore {
            op: op_name(&saver.restore_op_name).to_owned(),
            path_tensor: tensor_name(&saver.filename_tensor_name),
            path,
        })),
        // A version 2 model without variables has a checkpoint of its objects and no saver.
        _ if meta_graph.object_graph_def.is_some() => Ok(None),
        _ => bail!(NotFound, "{} has variables, but its graph has no saver to restore them", path.display()),
    }
}

/// Returns the op that a signature or the first of some collections names.
fn find_op(meta_graph: &MetaGraphDef, signature: &str, collections: &[&str]) -> Result<Option<String>> {
    if let Some(output) = meta_graph.signature_def.get(signature).and_then(|def| def.outputs.get(signature)) {
        return match &output.encoding {
            Some(proto::tensor_info::Encoding::Name(name)) => Ok(Some(op_name(name).to_owned())),
            _ => bail!(FailedPrecondition, "the signature {signature} does not name a tensor"),
        };
    }
    for &name in collections {
        let Some(collection) = meta_graph.collection_def.get(name) else { continue };
        return match &collection.kind {
            Some(collection_def::Kind::NodeList(nodes)) if nodes.value.len() == 1 => Ok(Some(op_name(&nodes.value[0]).to_owned())),
            _ => bail!(FailedPrecondition, "Expected exactly one main op in: the collection {name}"),
        };
    }
    Ok(None)
}

fn find_assets(meta_graph: &MetaGraphDef, directory: Option<&Path>) -> Result<Vec<Asset>> {
    let mut defs = meta_graph.asset_file_def.clone();
    if let Some(collection) = meta_graph.collection_def.get(ASSETS_COLLECTION).filter(|_| defs.is_empty()) {
        let Some(collection_def::Kind::AnyList(list)) = &collection.kind else {
            bail!(FailedPrecondition, "the collection {ASSETS_COLLECTION} does not list messages");
        };
        let decode = |any: &proto::Any| AssetFileDef::decode(any.value.as_slice());
        defs =
            list.value.iter().map(decode).collect::<Result<_, _>>().map_err(|error| {
                Error::data_loss(format!("the collection {ASSETS_COLLECTION} holds what is not an AssetFileDef: {error}"))
            })?;
    }
    let asset = |def: &AssetFileDef| {
        let Some(directory) = directory else {
            bail!(NotFound, "the model needs its asset {}, and has no directory", def.filename);
        };
        let path = Path::new(&def.filename);
        if path.is_absolute() || path.components().any(|part| part == std::path::Component::ParentDir) {
            bail!(NotFound, "the asset {} is not in the model's directory", def.filename);
        }
        let tensor = tensor_name(def.tensor_info.as_ref().map_or("", name_of));
        Ok(Asset { tensor, path: directory.join("assets").join(path) })
    };
    defs.iter().map(asset).collect()
}

fn name_of(info: &proto::TensorInfo) -> &str {
    match &info.encoding {
        Some(proto::tensor_info::Encoding::Name(name)) => name,
        _ => "",
    }
}

/// `op` of `op` and `op:0`.
fn op_name(name: &str) -> &str {
    name.split_once(':').map_or(name, |(op, _)| op)
}

/// `op:0` of `op` and `op:0`.
fn tensor_name(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("{name}:0") }
}
