//! The one gate between Python and Rust: releases and takes the GIL, notices Ctrl-C, and stops threads at the end of the interpreter.
//!
//! # The end of the interpreter
//!
//! While the interpreter finalises, a thread that wants the GIL must not return to its Rust callers. Python before 3.14 ends such a thread by
//! `pthread_exit`, whose unwinding no Rust function with `catch_unwind` survives: the process would abort. Such a thread waits here for ever
//! instead, as it does in Python 3.14, and the process exits with its own status. Three places want the GIL:
//!
//! * `Python::detach` when it ends, and `Python::attach`: PyO3 stops the thread;
//! * [`attach`] at the end of the interpreter and afterwards;
//! * Python code that Rust calls, when the interpreter's loop switches threads: [`PythonFunction::call`] stops the thread.

use crate::errors::Raise;
use crate::locks::{self, Locked};
use crate::references;
use crate::thread_states::Entering;
use flowmill_runtime::{CancelToken, Poll};
use flowmill_tensor::{Error, Result};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};
use pyo3::{IntoPyObject, ffi};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs `f` without the GIL and maps its error.
pub(crate) fn detached<T: Send>(py: Python<'_>, f: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    locks::assert_none_held();
    let result = py.detach(|| caught(f));
    references::collect(py);
    result.raise(py)
}

/// Runs `f` with the GIL, which the thread takes unless it has it. While the interpreter finalises, and afterwards, the thread waits for ever.
#[allow(clippy::disallowed_methods, reason = "this is the checked way to attach")]
pub(crate) fn attach<T>(f: impl FnOnce(Python<'_>) -> T) -> T {
    locks::assert_none_held();
    // SAFETY: this may be called at any time, without the GIL.
    let has_state = !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
    let result = if has_state {
        Python::try_attach(f)
    } else {
        Entering::begin().and_then(|entering| {
            Python::try_attach(|py| {
                drop(entering);
                f(py)
            })
        })
    };
    result.unwrap_or_else(|| stop_thread())
}

/// Waits for ever: the interpreter is finalising, and this thread must not return to Python.
fn stop_thread() -> ! {
    loop {
        std::thread::park();
    }
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
/// On Python's main thread, the only one that signals' handlers run on, the poll lets them run; if one raises, as Ctrl-C's does, the step is
/// cancelled.
///
/// # Errors
/// Returns the exception of a signal handler, or else the step's error.
pub(crate) fn step<T: Send>(py: Python<'_>, f: impl FnOnce(CancelToken, Option<Poll>) -> Result<T> + Send) -> PyResult<T> {
    let token = CancelToken::new();
    if !is_main_thread(py)? {
        return detached(py, || f(token, None));
    }
    let raised: Arc<Locked<Option<PyErr>>> = Arc::default();
    let poll = {
        let (raised, token) = (raised.clone(), token.clone());
        Poll::new(move || {
            let cancelled = attach(|py| match py.check_signals() {
                Ok(()) => false,
                Err(error) => {
                    // The error is dropped, if it is not the first one, after the lock is released.
                    drop(locks::with(py, &*raised, |first| if first.is_none() { first.replace(error) } else { Some(error) }));
                    true
                }
            });
            if cancelled {
                token.cancel(Error::cancelled("Interrupted"));
            }
        })
    };
    let result = py.detach(|| caught(|| f(token, Some(poll))));
    references::collect(py);
    match locks::with(py, &*raised, |raised| raised.take()) {
        Some(error) => Err(error),
        None => result.raise(py),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if let Some(known) = IS_MAIN.get() {
        return Ok(known);
    }
    static MAIN_THREAD: PythonFunction = PythonFunction::new("threading", "main_thread");
    static GET_IDENT: PythonFunction = PythonFunction::new("threading", "get_ident");
    let is_main = MAIN_THREAD.call(py, ())?.getattr("ident")?.eq(GET_IDENT.call(py, ())?)?;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}

/// A function of the package's Python modules, imported when it is first called.
pub(crate) struct PythonFunction {
    module: &'static str,
    name: &'static str,
    function: PyOnceLock<Py<PyAny>>,
}

impl PythonFunction {
    pub(crate) const fn new(module: &'static str, name: &'static str) -> PythonFunction {
        PythonFunction { module, name, function: PyOnceLock::new() }
    }

    /// Calls the function. If the interpreter finalises meanwhile, the thread waits for ever.
    pub(crate) fn call<'py, A>(&self, py: Python<'py>, args: A) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
        A::Error: Into<PyErr>,
    {
        locks::assert_none_held();
        let function = match self.function.get(py) {
            Some(function) => function,
            None => {
                let import = py.import("importlib")?.getattr("import_module")?;
                let module = call(&import, &(PyString::new(py, self.module),).into_pyobject(py)?)?;
                let function = module.getattr(self.name)?.unbind();
                self.function.get_or_init(py, || function)
            }
        };
        call(function.bind(py), &args.into_pyobject(py).map_err(Into::into)?)
    }
}

/// Calls an object so that the end of the interpreter stops the thread instead of unwinding it through Rust.
pub(crate) fn call<'py>(function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    /// Dropped only when the thread is unwound.
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            stop_thread();
        }
    }
    type Call = unsafe extern "C-unwind" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
    // SAFETY: the function takes and returns these types. `C-unwind` differs from `C` only in that unwinding runs destructors here, which
    // `black_box` keeps the optimiser from undoing by what it knows of the symbol.
    let object_call: Call = black_box(unsafe { std::mem::transmute::<*const (), Call>(ffi::PyObject_CallObject as *const ()) });
    let stop = Stop;
    // SAFETY: both are live objects, the second is a tuple, and the thread has the GIL.
    let result = unsafe { object_call(function.as_ptr(), args.as_ptr()) };
    std::mem::forget(stop);
    // SAFETY: the call returned a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}
