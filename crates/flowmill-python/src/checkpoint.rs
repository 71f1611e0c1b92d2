//! `flowmill._core.CheckpointReader`: what checkpoints hold.

use crate::convert::to_numpy;
use crate::errors::Raise;
use crate::gate::detached;
use flowmill_proto::Message;
use flowmill_savedmodel::{CheckpointReader, checkpoint_exists, load_meta_graph, read_checkpoint_state};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};

/// Reads the tensors of a checkpoint, of either format.
#[pyclass(frozen, name = "CheckpointReader", module = "flowmill._core")]
pub struct PyCheckpointReader(CheckpointReader);

#[pymethods]
impl PyCheckpointReader {
    #[new]
    fn new(py: Python<'_>, prefix: PathBuf) -> PyResult<PyCheckpointReader> {
        detached(py, || CheckpointReader::open(prefix)).map(PyCheckpointReader)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.dtype_and_shape(name).is_ok()
    }

    /// The names of the tensors, sorted.
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    /// Returns the number of a tensor's type, and its shape.
    fn dtype_and_shape(&self, py: Python<'_>, name: &str) -> PyResult<(i32, Vec<i64>)> {
        let (dtype, shape) = self.0.dtype_and_shape(name).raise(py)?;
        Ok((dtype.number(), shape.to_i64()))
    }

    /// Returns a tensor's value.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let tensor = detached(py, || self.0.read(name)?.into_owned())?;
        to_numpy(py, tensor)
    }
}

/// Returns the prefix of the newest checkpoint that the state file `file_name` of a directory names; `None` if it is not there.
#[pyfunction]
pub(crate) fn latest_checkpoint(py: Python<'_>, directory: PathBuf, file_name: &str) -> PyResult<Option<String>> {
    let state = detached(py, || read_checkpoint_state(&directory, file_name))?;
    Ok(state.map(|s| s.model_checkpoint_path).filter(|path| !path.is_empty() && checkpoint_exists(Path::new(path))))
}

/// Returns the content of a directory's state file `file_name`, as a serialised `CheckpointState`.
#[pyfunction]
pub(crate) fn checkpoint_state<'py>(py: Python<'py>, directory: PathBuf, file_name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let state = detached(py, || read_checkpoint_state(&directory, file_name))?;
    Ok(state.map(|s| PyBytes::new(py, &s.encode_to_vec())))
}

/// Returns the `MetaGraphDef` in a file, binary or text, serialised.
#[pyfunction]
pub(crate) fn meta_graph_of_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = detached(py, || Ok(load_meta_graph(path)?.encode_to_vec()))?;
    Ok(PyBytes::new(py, &bytes))
}
