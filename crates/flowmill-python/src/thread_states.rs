//! Keeps the end of the interpreter apart from threads that get a thread state.
//!
//! A thread of Rust's that takes the GIL gets a thread state from `PyGILState_Ensure`, which adds the state to the interpreter's list before the
//! thread waits for the GIL. While it finalises, the interpreter frees the states of its list, and a thread that has just added one reads freed
//! memory. So no thread may begin to add one once the interpreter finalises: a function that Python runs at exit closes the way and lets the
//! threads that have begun take the GIL.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The threads that are getting a state: the process's id in the upper half, in the lower half their number and [`CLOSED`].
///
/// A forked child has none of its parent's threads. A value with another process's id therefore means none.
static ENTERING: AtomicU64 = AtomicU64::new(0);

const CLOSED: u64 = 1 << 31;

/// The value of [`ENTERING`] with no thread.
fn nobody() -> u64 {
    u64::from(std::process::id()) << 32
}

/// Applies `change` to [`ENTERING`], unless it gives `None`.
fn update(change: impl Fn(u64) -> Option<u64>) -> bool {
    let nobody = nobody();
    let here = |value: u64| if value >> 32 == nobody >> 32 { value } else { nobody };
    ENTERING.fetch_update(Ordering::AcqRel, Ordering::Acquire, |value| change(here(value))).is_ok()
}

/// Keeps the interpreter from finalising until it is dropped.
pub(crate) struct Entering(());

impl Entering {
    /// Returns `None` if the interpreter finalises, or is about to.
    pub(crate) fn begin() -> Option<Entering> {
        // `then_some` would make, and drop, one that has not begun.
        update(|value| (value & CLOSED == 0).then(|| value + 1)).then(|| Entering(()))
    }
}

impl Drop for Entering {
    fn drop(&mut self) {
        update(|value| Some(value - 1));
    }
}

/// Has Python call [`close`] at exit.
pub(crate) fn close_at_exit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let close = wrap_pyfunction!(close, module)?;
    module.py().import("atexit")?.call_method1("register", (close,))?;
    Ok(())
}

/// Returns when no thread is getting a state and none can begin to.
#[pyfunction]
fn close(py: Python<'_>) {
    update(|value| Some(value | CLOSED));
    py.detach(|| {
        while ENTERING.load(Ordering::Acquire) != nobody() | CLOSED {
            std::thread::sleep(Duration::from_micros(50));
        }
    });
}
