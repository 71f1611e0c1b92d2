//! Errors as Python's exceptions.

use crate::gate::PythonFunction;
use flowmill_tensor::{Code, Error, Result};
use pyo3::prelude::*;

/// Turns errors into exceptions of `flowmill.errors`.
///
/// Making an exception runs Python code, so it needs the token of an attached thread. Closures of [`crate::locks::with`] cannot capture that
/// token: they return the error, which is converted after the locks are released.
pub(crate) trait Raise<T> {
    /// Maps the error to its exception.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_py_err(py, &error))
    }
}

fn to_py_err(py: Python<'_>, error: &Error) -> PyErr {
    static MAKE: PythonFunction = PythonFunction::new("flowmill.errors", "_make");
    match MAKE.call(py, (error.code() as u8, error.message(), error.node(), error.op())) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// Returns an `InvalidArgumentError` with this message.
pub(crate) fn invalid_argument(py: Python<'_>, message: impl Into<String>) -> PyErr {
    to_py_err(py, &Error::new(Code::InvalidArgument, message))
}
