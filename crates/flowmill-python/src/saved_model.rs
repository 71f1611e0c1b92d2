//! `flowmill._core.SavedModel`: a model on disk, to be loaded into a graph and a session of Python's.

use crate::attrs::shape_to_python;
use crate::errors::Raise;
use crate::gate;
use crate::graph::{PyGraph, file_access};
use crate::locks::{self, Locked};
use crate::session::PySession;
use flowmill::{ImportOptions, Signature, TensorSpec};
use flowmill_proto::{GraphDef, Message, MetaGraphDef, OpDef};
use flowmill_savedmodel::{LoadedModel, SavedModel};
use flowmill_tensor::{Bytes, Result, error};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One graph of a SavedModel, chosen by its tags.
#[pyclass(frozen, name = "SavedModel", module = "flowmill._core")]
pub struct PySavedModel {
    /// Without its graph.
    model: LoadedModel,
    /// Until it is imported: the graph that it becomes is not kept twice.
    graph_def: Locked<Option<GraphDef>>,
    producer_ops: Vec<OpDef>,
    /// The bytes of the file, from which its parts are read at their first use.
    file: Bytes,
    tags: Vec<String>,
}

/// The tag of graphs for serving.
const SERVING: &str = "serve";

/// A tensor of a signature: its name, the number of its type, its shape, the value that it is a part of.
type Spec = (String, i32, Option<Vec<i64>>, Option<String>);

#[pymethods]
impl PySavedModel {
    /// Opens a model. Without tags it takes the only graph, or the one for serving.
    #[new]
    #[pyo3(signature = (path, tags, *, map_file=false))]
    fn new(py: Python<'_>, path: PathBuf, tags: Option<Vec<String>>, map_file: bool) -> PyResult<PySavedModel> {
        gate::detached(py, || {
            let model = SavedModel::open_with(path, file_access(map_file))?;
            let file = model.file().clone();
            let sets = model.tag_sets();
            let only = sets.first().filter(|_| sets.len() == 1).map(|tags| tags.iter().map(|&t| t.to_owned()).collect());
            let tags: Vec<String> = tags.or(only).unwrap_or_else(|| vec![SERVING.to_owned()]);
            let mut model = model.load(&tags.iter().map(String::as_str).collect::<Vec<_>>())?;
            let graph_def = Locked::new(model.meta_graph.graph_def.take());
            let producer_ops = model.take_producer_ops();
            Ok(PySavedModel { model, graph_def, producer_ops, file, tags })
        })
    }

    /// Adds the model's nodes to a graph.
    fn import_into(&self, py: Python<'_>, graph: &Bound<'_, PyGraph>, prefix: String) -> PyResult<()> {
        let options = ImportOptions { prefix, producer_ops: self.producer_ops.clone(), ..ImportOptions::default() };
        let first = locks::with(py, &self.graph_def, |def| def.take());
        // Contents of tensors are shared with the file.
        let def = gate::detached(py, || first.map_or_else(|| Ok(self.meta_graph()?.graph_def.unwrap_or_default()), Ok))?;
        graph.get().import(py, def, &options).map(drop)
    }

    /// Restores variables and runs the initialisation op in a session whose graph has the model's nodes under `prefix`.
    fn prepare(&self, py: Python<'_>, session: &Bound<'_, PySession>, prefix: &str) -> PyResult<()> {
        let loaded = under(&self.model, prefix);
        let session = session.get().session();
        gate::detached(py, || flowmill::prepare(session, &loaded, &flowmill::RunOptions::default()))
    }

    /// The functions to call, by name: inputs by name, outputs by name, method.
    fn signatures(&self, py: Python<'_>) -> PyResult<BTreeMap<String, (BTreeMap<String, Spec>, BTreeMap<String, Spec>, String)>> {
        let specs = |specs: BTreeMap<String, TensorSpec>| {
            specs.into_iter().map(|(name, s)| (name, (s.tensor, s.dtype.number(), shape_to_python(&s.shape), s.part_of))).collect()
        };
        let signatures = flowmill::signatures(&self.model.meta_graph).raise(py)?;
        Ok(signatures
            .into_iter()
            .map(|(name, Signature { inputs, outputs, method })| (name, (specs(inputs), specs(outputs), method)))
            .collect())
    }

    /// Returns the serialised `MetaGraphDef`.
    fn meta_graph_def<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = gate::detached(py, || Ok(self.meta_graph()?.encode_to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl PySavedModel {
    /// Returns a signature by name; its tensors are those of a graph without a prefix.
    pub(crate) fn signature(&self, name: &str) -> Result<Signature> {
        let mut all = flowmill::signatures(&self.model.meta_graph)?;
        all.remove(name).ok_or_else(|| error!(FailedPrecondition, "Serving signature key \"{name}\" not found"))
    }

    /// Returns the message with its graph.
    fn meta_graph(&self) -> Result<MetaGraphDef> {
        let tags: Vec<&str> = self.tags.iter().map(String::as_str).collect();
        SavedModel::from_bytes(self.file.clone())?.meta_graph(&tags).cloned()
    }
}

/// Returns the parts of a model that a session needs, with the names that the nodes have under a prefix.
fn under(model: &LoadedModel, prefix: &str) -> LoadedModel {
    let rename = |name: &mut String| {
        if !prefix.is_empty() {
            *name = format!("{prefix}/{name}");
        }
    };
    let LoadedModel { directory, restore, init_op, train_op, assets, .. } = model;
    let mut model = LoadedModel {
        meta_graph: MetaGraphDef::default(),
        directory: directory.clone(),
        restore: restore.clone(),
        init_op: init_op.clone(),
        train_op: train_op.clone(),
        assets: assets.clone(),
    };
    if let Some(restore) = &mut model.restore {
        rename(&mut restore.op);
        rename(&mut restore.path_tensor);
    }
    model.init_op.iter_mut().for_each(rename);
    model.assets.iter_mut().for_each(|asset| rename(&mut asset.tensor));
    model
}
