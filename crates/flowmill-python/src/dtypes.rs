//! Element types by their number in `types.proto`, as Python knows them.

use crate::errors::Raise;
use flowmill_proto::Message;
use flowmill_tensor::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};

/// References are numbered past the types they refer to.
const REF_OFFSET: i32 = 100;

/// Returns the number of a type.
pub(crate) fn number(dtype: DType, is_ref: bool) -> i32 {
    dtype.number() + if is_ref { REF_OFFSET } else { 0 }
}

/// Returns the type with a number; a reference's gives what it refers to.
pub(crate) fn from_number(number: i32) -> PyResult<DType> {
    let plain = if number > REF_OFFSET { number - REF_OFFSET } else { number };
    DType::from_number(plain).ok_or_else(|| PyTypeError::new_err(format!("there is no type number {number}")))
}

/// `numpy.dtype` of the type with a number.
#[pyfunction]
pub(crate) fn numpy_dtype(py: Python<'_>, number: i32) -> PyResult<Bound<'_, PyAny>> {
    Ok(crate::convert::numpy_dtype(py, from_number(number)?)?.into_any())
}

/// Returns the serialised `OpDef` of an op; `None` if it is not known.
#[pyfunction]
pub(crate) fn op_def<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let registry = flowmill::registry().raise(py)?;
    Ok(registry.get(name).map(|op| PyBytes::new(py, &op.to_proto().encode_to_vec())))
}
