use std::path::Path;

use flowmill_proto::{Message, TrackableObjectGraph};
use flowmill_tensor::{Code, DType, Result, Shape, Tensor, bail};

use crate::bundle::{BundleReader, with_suffix};
use crate::slice::TensorSlice;
use crate::slice_table::SliceTableReader;

/// The string tensor that holds the objects of an object-based checkpoint.
const OBJECT_GRAPH_KEY: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// Reads a checkpoint of either of TensorFlow's formats: a bundle if its index is there, else a table of slices.
#[derive(Debug)]
pub enum CheckpointReader {
    /// The second format, written since TensorFlow 0.12.
    Bundle(BundleReader),
    /// The first format.
    SliceTable(SliceTableReader),
}

impl CheckpointReader {
    /// Opens the checkpoint with this prefix.
    ///
    /// # Errors
    /// `NotFound` if there is none, `DataLoss` if it is damaged, `InvalidArgument` if it needs a later version.
    pub fn open(prefix: impl AsRef<Path>) -> Result<CheckpointReader> {
        let prefix = prefix.as_ref();
        if with_suffix(prefix, ".index").exists() {
            return Ok(CheckpointReader::Bundle(BundleReader::open(prefix)?));
        }
        Ok(CheckpointReader::SliceTable(SliceTableReader::open(prefix)?))
    }

    /// Returns the objects of an object-based checkpoint, which `tf.train.Checkpoint` and version 2 SavedModels write; `None` for one
    /// that savers wrote by name.
    ///
    /// # Errors
    /// `DataLoss` if the checkpoint is damaged.
    pub fn object_graph(&self) -> Result<Option<TrackableObjectGraph>> {
        let bytes = match self.read(OBJECT_GRAPH_KEY) {
            Ok(tensor) => tensor.as_strings()?.first().cloned().unwrap_or_default(),
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match TrackableObjectGraph::decode(bytes) {
            Ok(graph) => Ok(Some(graph)),
            Err(error) => bail!(DataLoss, "the checkpoint's objects are not a TrackableObjectGraph: {error}"),
        }
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Vec<&str> {
        match self {
            CheckpointReader::Bundle(reader) => reader.names().collect(),
            CheckpointReader::SliceTable(reader) => reader.names().collect(),
        }
    }

    /// Type and shape of a tensor.
    ///
    /// # Errors
    /// `NotFound`, or `DataLoss` if the checkpoint is damaged.
    pub fn dtype_and_shape(&self, name: &str) -> Result<(DType, Shape)> {
        match self {
            CheckpointReader::Bundle(reader) => reader.dtype_and_shape(name),
            CheckpointReader::SliceTable(reader) => reader.dtype_and_shape(name),
        }
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// `NotFound` if there is no tensor of this name, `DataLoss` if the checkpoint is damaged.
    pub fn read(&self, name: &str) -> Result<Tensor> {
        match self {
            CheckpointReader::Bundle(reader) => reader.read(name),
            CheckpointReader::SliceTable(reader) => reader.read(name),
        }
    }

    /// Returns a part of a tensor, which may have been saved whole or in parts cut otherwise.
    ///
    /// # Errors
    /// The errors of [`CheckpointReader::read`], and `InvalidArgument` if the slice is not within the tensor.
    pub fn read_slice(&self, name: &str, slice: &TensorSlice) -> Result<Tensor> {
        match self {
            CheckpointReader::Bundle(reader) => reader.read_slice(name, slice),
            CheckpointReader::SliceTable(reader) => reader.read_slice(name, slice),
        }
    }
}
