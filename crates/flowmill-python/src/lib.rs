//! Flowmill's Python module `flowmill._core`.

use pyo3::prelude::*;

/// The native part of `flowmill`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
