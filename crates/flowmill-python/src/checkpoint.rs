//! `flowmill._core.CheckpointReader`: what checkpoints hold.

use crate::convert::to_numpy;
use crate::errors::to_py_err;
use crate::gate::detached;
use flowmill_savedmodel::CheckpointReader;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Reads the tensors of a checkpoint, of either format.
#[pyclass(frozen, name = "CheckpointReader", module = "flowmill._core")]
pub struct PyCheckpointReader(CheckpointReader);

#[pymethods]
impl PyCheckpointReader {
    #[new]
    fn new(py: Python<'_>, prefix: PathBuf) -> PyResult<PyCheckpointReader> {
        detached(py, || CheckpointReader::open(prefix)).map(PyCheckpointReader)
    }

    /// The names of the tensors, sorted.
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    /// The number of a tensor's type, and its shape.
    fn dtype_and_shape(&self, name: &str) -> PyResult<(i32, Vec<i64>)> {
        let (dtype, shape) = self.0.dtype_and_shape(name).map_err(to_py_err)?;
        Ok((dtype.number(), shape.to_i64()))
    }

    /// A tensor's value.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let tensor = detached(py, || self.0.read(name)?.into_owned())?;
        to_numpy(py, tensor)
    }
}

/// The newest checkpoint that the state file `file_name` of a directory names.
#[pyfunction]
pub fn latest_checkpoint(py: Python<'_>, directory: PathBuf, file_name: &str) -> PyResult<Option<PathBuf>> {
    detached(py, || {
        let Some(state) = flowmill_savedmodel::read_checkpoint_state(&directory, file_name)? else { return Ok(None) };
        let prefix = directory.join(state.model_checkpoint_path);
        Ok(flowmill_savedmodel::checkpoint_exists(&prefix).then_some(prefix))
    })
}

/// The state file `file_name` of a directory, as a serialised `CheckpointState`, with its paths made absolute.
#[pyfunction]
pub fn checkpoint_state(py: Python<'_>, directory: PathBuf, file_name: &str) -> PyResult<Option<Vec<u8>>> {
    use flowmill_proto::Message;
    detached(py, || Ok(flowmill_savedmodel::read_checkpoint_state(&directory, file_name)?.map(|state| state.encode_to_vec())))
}
