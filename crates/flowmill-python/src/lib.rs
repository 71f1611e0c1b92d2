//! Flowmill's Python module `flowmill._core`.
//!
//! Thin: what a Rust user would miss is in the crate `flowmill`. Classes are frozen and lock inside, so that the module is safe without the GIL.
#![deny(missing_docs, unreachable_pub)]

mod attrs;
mod build;
mod checkpoint;
mod control_flow;
mod convert;
mod device_name;
mod device_tensor;
mod dtypes;
mod errors;
mod frames;
mod gate;
mod gradients;
mod graph;
mod guarded_graph;
mod locks;
mod predictor;
mod py_func;
mod references;
mod saved_model;
mod server;
mod session;
mod thread_states;
mod timeline;
mod view;

use pyo3::prelude::*;
use std::ffi::OsString;

#[global_allocator]
static ALLOCATOR: flowmill_allocator::Allocator = flowmill_allocator::Allocator;

/// Runs the command `flowmill`; `args` begin with the program's name. Returns the exit status.
#[pyfunction]
fn run_command_line(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| flowmill_cli::run(args))
}

/// The native part of `flowmill`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::build::{PyScope, op_names, op_signature};
    #[pymodule_export]
    use crate::checkpoint::{PyCheckpointReader, checkpoint_state, latest_checkpoint, meta_graph_of_file};
    #[pymodule_export]
    use crate::control_flow::{PyCond, PyWhile};
    #[pymodule_export]
    use crate::convert::{PyTensor, are_plain};
    #[pymodule_export]
    use crate::device_name::{PyDeviceName, merge_devices};
    #[pymodule_export]
    use crate::device_tensor::PyDeviceTensor;
    #[pymodule_export]
    use crate::dtypes::{numpy_dtype, op_def};
    #[pymodule_export]
    use crate::frames::frames;
    #[pymodule_export]
    use crate::gradients::PyGradientWalk;
    #[pymodule_export]
    use crate::graph::PyGraph;
    #[pymodule_export]
    use crate::predictor::{PyCancel, PyPredictor};
    #[pymodule_export]
    use crate::run_command_line;
    #[pymodule_export]
    use crate::saved_model::PySavedModel;
    #[pymodule_export]
    use crate::server::PyServer;
    #[pymodule_export]
    use crate::session::{PyCallable, PySession};
    #[pymodule_export]
    use crate::timeline::{PyProfiler, PyTimeline};
    #[pymodule_export]
    use crate::view::{graph_page, graph_tree, graph_tree_html, step_page};

    /// Makes a debug build panic where a release build would start rayon's own pool, whose threads a forked process lacks.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        if cfg!(debug_assertions) {
            flowmill_runtime::intra_op::forbid_global_pool();
        }
        crate::thread_states::close_at_exit(module)
    }
}
