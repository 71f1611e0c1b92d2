//! Errors as Python's exceptions.

use flowmill_tensor::{Code, Error};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The exception of `flowmill.errors` that an error is.
pub fn to_py_err(error: Error) -> PyErr {
    Python::attach(|py| match exception(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    })
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.get_or_try_init(py, || py.import("flowmill.errors")?.getattr("_make").map(Bound::unbind))?;
    make.bind(py).call1((error.code() as u8, error.message(), error.node(), error.op()))
}

/// `InvalidArgument` with this message.
pub fn invalid_argument(message: impl Into<String>) -> PyErr {
    to_py_err(Error::new(Code::InvalidArgument, message))
}
