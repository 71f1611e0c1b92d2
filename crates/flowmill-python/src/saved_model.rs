//! `flowmill._core.SavedModel`: a model on disk, to be loaded into a graph and a session of Python's.

use crate::errors::to_py_err;
use crate::gate;
use crate::graph::{PyGraph, shape_to_python};
use crate::session::PySession;
use flowmill::{ImportOptions, Signature, TensorSpec, import_graph_def};
use flowmill_proto::Message;
use flowmill_savedmodel::{LoadedModel, SavedModel};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One graph of a SavedModel, chosen by its tags.
#[pyclass(frozen, name = "SavedModel", module = "flowmill._core")]
pub struct PySavedModel(LoadedModel);

/// The tag of graphs for serving.
const SERVING: &str = "serve";

/// A tensor of a signature: its name, the number of its type, its shape.
type Spec = (String, i32, Option<Vec<i64>>);

#[pymethods]
impl PySavedModel {
    /// Opens a model. Without tags it takes the only graph, or the one for serving.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, tags: Option<Vec<String>>) -> PyResult<PySavedModel> {
        gate::detached(py, || {
            let model = SavedModel::open(path)?;
            let sets = model.tag_sets();
            let only = sets.first().filter(|_| sets.len() == 1).map(|tags| tags.iter().map(|&t| t.to_owned()).collect());
            let tags: Vec<String> = tags.or(only).unwrap_or_else(|| vec![SERVING.to_owned()]);
            let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
            model.load(&tags)
        })
        .map(PySavedModel)
    }

    /// Adds the model's nodes to a graph.
    fn import_into(&self, py: Python<'_>, graph: &Bound<'_, PyGraph>, prefix: String) -> PyResult<()> {
        let options = ImportOptions { prefix, ..ImportOptions::default() };
        let graph = graph.get().shared();
        // Contents of tensors are shared with the message, which is kept.
        let def = self.0.meta_graph.graph_def.clone().unwrap_or_default();
        gate::detached(py, || import_graph_def(&mut graph.write(), def, &options)).map(drop)
    }

    /// Restores variables and runs the initialisation op in a session whose graph has the model's nodes under `prefix`.
    fn prepare(&self, py: Python<'_>, session: &Bound<'_, PySession>, prefix: &str) -> PyResult<()> {
        let loaded = under(&self.0, prefix);
        let session = session.get().session();
        gate::detached(py, || flowmill::prepare(session, &loaded))
    }

    /// The functions to call, by name: inputs by name, outputs by name, method.
    fn signatures(&self) -> PyResult<BTreeMap<String, (BTreeMap<String, Spec>, BTreeMap<String, Spec>, String)>> {
        let specs = |specs: BTreeMap<String, TensorSpec>| {
            specs.into_iter().map(|(name, s)| (name, (s.tensor, s.dtype.number(), shape_to_python(&s.shape)))).collect()
        };
        let signatures = flowmill::signatures(&self.0.meta_graph).map_err(to_py_err)?;
        Ok(signatures
            .into_iter()
            .map(|(name, Signature { inputs, outputs, method })| (name, (specs(inputs), specs(outputs), method)))
            .collect())
    }

    /// The serialised `MetaGraphDef`.
    fn meta_graph_def<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = gate::detached(py, || Ok(self.0.meta_graph.encode_to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// What a session needs to know, with the names that the model's nodes have under a prefix.
fn under(model: &LoadedModel, prefix: &str) -> LoadedModel {
    let rename = |name: &mut String| {
        if !prefix.is_empty() {
            *name = format!("{prefix}/{name}");
        }
    };
    let mut model = LoadedModel { meta_graph: Default::default(), ..model.clone() };
    if let Some(restore) = &mut model.restore {
        rename(&mut restore.op);
        rename(&mut restore.path_tensor);
    }
    model.init_op.iter_mut().for_each(rename);
    model.assets.iter_mut().for_each(|asset| rename(&mut asset.tensor));
    model
}
