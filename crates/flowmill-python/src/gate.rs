//! The one gate between Python and Rust: releases the GIL, maps errors, notices Ctrl-C.

use crate::errors::to_py_err;
use crate::interrupt;
use flowmill_runtime::CancelToken;
use flowmill_tensor::Result;
use pyo3::prelude::*;

/// Runs `f` without the GIL and maps its error.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(f).map_err(to_py_err)
}

/// Runs a step without the GIL and maps its error. The step must end early when the token is cancelled, which Ctrl-C does.
///
/// # Errors
/// `KeyboardInterrupt` where Ctrl-C ended the step; else the step's error.
pub fn step<T: Send>(py: Python<'_>, f: impl FnOnce(CancelToken) -> Result<T> + Send) -> PyResult<T> {
    let token = CancelToken::new();
    let watch = interrupt::watch(py, &token)?;
    let result = py.detach(|| f(token));
    drop(watch);
    result.map_err(|error| match py.check_signals() {
        Ok(()) => to_py_err(error),
        Err(interrupt) => interrupt,
    })
}
