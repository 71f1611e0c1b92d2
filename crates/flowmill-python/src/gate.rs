//! The one gate between Python and Rust: releases the GIL, maps errors, notices Ctrl-C.

use crate::errors::to_py_err;
use flowmill_runtime::{CancelToken, Poll};
use flowmill_tensor::{Error, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs `f` without the GIL and maps its error.
pub fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| caught(f)).map_err(to_py_err)
}

/// A panic is a defect, but no reason to end the process that Python runs in: it becomes `Internal`.
fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(Error::internal(format!("a defect of Flowmill: {}", text.unwrap_or("a panic"))))
    })
}

/// Runs a step without the GIL and maps its error. The step is to end when the token is cancelled and to ask the poll now and then.
///
/// On Python's main thread, the only one that signals' handlers run on, the poll lets them run; where one raises, as Ctrl-C's does, the step is
/// cancelled.
///
/// # Errors
/// What a signal's handler raised; else the step's error.
pub fn step<T: Send>(py: Python<'_>, f: impl FnOnce(CancelToken, Option<Poll>) -> Result<T> + Send) -> PyResult<T> {
    let token = CancelToken::new();
    if !is_main_thread(py)? {
        return py.detach(|| caught(|| f(token, None))).map_err(to_py_err);
    }
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let poll = {
        let (raised, token) = (raised.clone(), token.clone());
        Poll::new(move || {
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                raised.lock().get_or_insert(error);
                token.cancel(Error::cancelled("Interrupted"));
            }
        })
    };
    let result = py.detach(|| caught(|| f(token, Some(poll))));
    let raised = raised.lock().take();
    match raised {
        Some(error) => Err(error),
        None => result.map_err(to_py_err),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if let Some(known) = IS_MAIN.get() {
        return Ok(known);
    }
    let threading = py.import("threading")?;
    let is_main = threading.call_method0("main_thread")?.getattr("ident")?.eq(threading.call_method0("get_ident")?)?;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}
