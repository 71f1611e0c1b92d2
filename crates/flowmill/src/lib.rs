//! Flowmill for Rust programs: load a TensorFlow graph and run it.
//!
//! ```
//! use flowmill::{SavedModel, SessionOptions, Tensor};
//!
//! # fn main() -> flowmill::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/1");
//! let model = SavedModel::load(path, &["serve"], SessionOptions::default())?;
//! let images = Tensor::zeros(flowmill::DType::F32, [1, 8, 8, 1])?;
//! let outputs = model.run("serving_default", &[("images", images)])?;
//! assert_eq!(outputs["probabilities"].shape().dims(), [1, 10]);
//! # Ok(())
//! # }
//! ```
//!
//! A frozen graph, with names of tensors:
//!
//! ```
//! # fn main() -> flowmill::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/bert_small.pb");
//! let session = flowmill::session(flowmill::load_graph(path)?, Default::default())?;
//! let x = flowmill::Tensor::zeros(flowmill::DType::I32, [1, 32])?;
//! let y = session.run(&[("x:0", x)], &["y:0"], &[])?;
//! assert_eq!(y[0].shape().dims(), [1, 32, 64]);
//! # Ok(())
//! # }
//! ```
//!
//! A graph built here, with its derivative:
//!
//! ```
//! use flowmill::builder::{BuilderState, ScopedBuilder, Scope, gradients::{GradientOptions, add_gradients}};
//! use flowmill::{SessionOptions, Tensor};
//!
//! # fn main() -> flowmill::Result<()> {
//! let (mut graph, mut state) = (flowmill::new_graph()?, BuilderState::default());
//! let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
//! let x = b.constant("x", &Tensor::scalar(3.0f32))?;
//! let y = b.op("Square").name("y").input(x).output()?;
//! let slope = add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default())?.remove(0).ok_or_else(|| flowmill::Error::internal("none"))?;
//! let slope = b.densify(&slope)?;
//! let name = b.graph().tensor_name(slope);
//! let session = flowmill::session(graph, SessionOptions::default())?;
//! assert_eq!(session.run(&[], &[&name], &[])?[0].to_scalar::<f32>()?, 6.0);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod io_kernels;
mod saved_model;
mod signature;
mod static_values;

pub use flowmill_graph::builder;
pub use flowmill_graph::{Graph, ImportOptions, ImportResults, NodeId, OpRegistry, OutputId, import_graph_def, placeholder_shape};
pub use flowmill_optimize::{PIPELINE, PassReport, Report as OptimizationReport};
pub use flowmill_proto as proto;
pub use flowmill_runtime::{
    Callable, CancelToken, KernelRegistry, NodeStats, RunOptions, RunOutcome, Session, SessionOptions, ThreadPoolOption,
};
pub use flowmill_savedmodel as files;
pub use flowmill_savedmodel::FileAccess;
pub use flowmill_tensor::{Bytes, Code, Complex, DType, Element, Error, PartialShape, Result, Shape, Tensor, bf16, f16};
pub use flowmill_tensor::{live_bytes, memory_limit, set_memory_limit};
pub use saved_model::{SavedModel, prepare};
pub use signature::{Signature, TensorSpec, signatures};

use flowmill_tensor::sync::RwLock;
use std::path::Path;
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Result<Arc<OpRegistry>>> =
    LazyLock::new(|| flowmill_ops::registry().map(|ops| Arc::new(ops.with_evaluator(Arc::new(static_values::Kernels::default())))));

static KERNELS: LazyLock<Arc<KernelRegistry>> = LazyLock::new(|| kernels_with(|_| ()));

/// The CPU's kernels and those that `register` adds.
pub fn kernels_with(register: impl FnOnce(&mut KernelRegistry)) -> Arc<KernelRegistry> {
    let mut kernels = KernelRegistry::new();
    flowmill_cpu::register_all(&mut kernels);
    io_kernels::register(&mut kernels);
    register(&mut kernels);
    Arc::new(kernels)
}

/// Every op that Flowmill knows.
///
/// # Errors
/// Never in practice: the catalogue's tests check that it is consistent.
pub fn registry() -> Result<Arc<OpRegistry>> {
    REGISTRY.clone()
}

/// The CPU's kernels.
pub fn kernels() -> Arc<KernelRegistry> {
    KERNELS.clone()
}

/// An empty graph.
///
/// # Errors
/// As [`registry`].
pub fn new_graph() -> Result<Graph> {
    Ok(Graph::new(registry()?))
}

/// Loads the graph in a file that holds a `GraphDef`, such as a frozen graph, in wire format or as text. The file is read: it may change afterwards.
///
/// # Errors
/// `NotFound` where there is no file, `DataLoss` where it holds no graph, `InvalidArgument` and `NotFound` as [`import_graph_def`].
pub fn load_graph(path: impl AsRef<Path>) -> Result<Graph> {
    load_graph_with(path, FileAccess::Read)
}

/// Like [`load_graph`], with a choice of how the file gets into memory; [`FileAccess::Map`] says when mapping is safe.
///
/// # Errors
/// As [`load_graph`].
pub fn load_graph_with(path: impl AsRef<Path>, access: FileAccess) -> Result<Graph> {
    let mut graph = new_graph()?;
    let (graph_def, _bytes) = files::load_graph_def_with(path, access)?;
    import_graph_def(&mut graph, graph_def, &ImportOptions::default())?;
    Ok(graph)
}

/// A session on a graph, with all kernels.
///
/// # Errors
/// As [`Session::new`].
pub fn session(graph: Graph, options: SessionOptions) -> Result<Arc<Session>> {
    Ok(Arc::new(Session::new(Arc::new(RwLock::new(graph)), kernels(), options)?))
}
