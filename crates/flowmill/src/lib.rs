//! Flowmill for Rust programs: load TensorFlow graphs and models, build and differentiate graphs, run and serve them.
//!
//! # Load a model and call it
//!
//! ```
//! use flowmill::prelude::*;
//!
//! # fn main() -> flowmill::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/1");
//! let model = SavedModel::load(path, &["serve"], SessionOptions::default())?;
//! let images = Tensor::zeros(DType::F32, [1, 8, 8, 1])?;
//! let outputs = model.signature("serving_default")?.call([("images", images)])?;
//! assert_eq!(outputs["probabilities"].shape().dims(), [1, 10]);
//! # Ok(())
//! # }
//! ```
//!
//! [`load_graph`] loads a frozen graph, whose tensors are fed and fetched by name:
//!
//! ```
//! use flowmill::prelude::*;
//!
//! # fn main() -> flowmill::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/bert_small.pb");
//! let session = flowmill::session(flowmill::load_graph(path)?, SessionOptions::default())?;
//! let tokens = Tensor::zeros(DType::I32, [1, 32])?;
//! let states = session.runner().feed("x", tokens).fetch("y")?;
//! assert_eq!(states.shape().dims(), [1, 32, 64]);
//! # Ok(())
//! # }
//! ```
//!
//! # Build a graph, differentiate it, train
//!
//! A [`GraphBuilder`] has a method for every op ([`Ops`]); operators work on its outputs. The session runs what the builder holds, also what is added
//! later. Tensors are fed and fetched by their handles.
//!
//! ```
//! use flowmill::prelude::*;
//!
//! # fn main() -> flowmill::Result<()> {
//! let b = GraphBuilder::new()?;
//! let x = b.node().name("x").placeholder(DType::F32, [-1])?;
//! let slope = b.variable("slope", 0.0f32)?;
//! let error = x * slope.value() - x * 3.0;
//! let loss = b.mean(b.square(error)?, [0])?;
//! let [gradient] = b.gradients(loss, [slope.value()])?;
//! let train = slope.assign_sub(gradient * 0.05)?;
//!
//! let session = b.session(SessionOptions::default())?;
//! session.runner().target(slope.initializer()).run()?;
//! for _ in 0..50 {
//!     session.runner().feed(x, Tensor::vector(&[1.0f32, 2.0])?).target(train).run()?;
//! }
//! let found = session.runner().fetch(slope.value())?.to_scalar::<f32>()?;
//! assert!((found - 3.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```
//!
//! # More
//!
//! * [`GraphBuilder::cond`], [`GraphBuilder::while_loop`] and [`GraphBuilder::function`] take closures; scopes are closures, too ([`GraphBuilder::name_scope`]).
//! * [`OpSet`] takes ops of a program's own, with shape functions, gradients and kernels.
//! * A [`Session`] runs steps of many threads at once; [`Session::callable`] prepares a step that is run often.
//! * The directory `examples` of this crate has a program for each of these.
//! * [`graph`], [`runtime`], [`tensor`] and [`proto`] are the crates below, with every type that appears in a signature here.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

pub mod device;
mod graph_builder;
mod io_kernels;
pub mod kernel;
pub mod npz;
mod op_set;
pub mod prelude;
mod saved_model;
mod signature;
mod static_values;

pub use flowmill_cost as cost;
pub use flowmill_gpu as gpu;
pub use flowmill_graph as graph;
pub use flowmill_optimize as optimize;
pub use flowmill_proto as proto;
pub use flowmill_runtime as runtime;
pub use flowmill_savedmodel as files;
pub use flowmill_tensor as tensor;

pub use flowmill_graph::builder;
pub use flowmill_graph::{
    Graph, ImportOptions, ImportResults, NodeId, OpRegistry, OutputId, TensorName, import_graph_def, placeholder_shape,
};
pub use flowmill_host::TfRecords;
pub use flowmill_optimize::{PIPELINE, PassReport, Report as OptimizationReport};
pub use flowmill_runtime::{CancelToken, Executor, InferencePrecision, KernelRegistry, NodeStats, TypeCombination};
pub use flowmill_savedmodel::FileAccess;
pub use flowmill_session::{
    Callable, CallableOptions, CostPlacement, Fetches, PlacementPolicy, RunOptions, RunOutcome, Runner, Session, SessionOptions,
    ThreadPoolOption, ToNodeName, ToTensorName,
};
pub use flowmill_tensor::{Bytes, Code, Complex, DType, Element, Error, PartialShape, Result, Shape, Tensor, bf16, f16};
pub use flowmill_tensor::{live_bytes, memory_limit, release_unused_memory, set_memory_limit, sync};
pub use graph_builder::{Function, GraphBuilder, Input, NodeBuilder, Ops, Output, ToAttr, Variable, Ys};
pub use op_set::{CustomOp, OpSet};
pub use saved_model::{ModelFunction, SavedModel, prepare};
pub use signature::{Signature, TensorSpec, graph_signature, signatures};

use flowmill_tensor::sync::RwLock;
use std::path::Path;
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Result<Arc<OpRegistry>>> =
    LazyLock::new(|| flowmill_ops::registry().map(|ops| Arc::new(ops.with_evaluator(Arc::new(static_values::Kernels::default())))));

static KERNELS: LazyLock<Arc<KernelRegistry>> = LazyLock::new(|| kernels_with(|_| ()));

/// Returns the CPU's kernels and those that `register` adds.
pub fn kernels_with(register: impl FnOnce(&mut KernelRegistry)) -> Arc<KernelRegistry> {
    let mut kernels = KernelRegistry::new();
    flowmill_host::register_all(&mut kernels);
    flowmill_cpu::register_all(&mut kernels);
    io_kernels::register(&mut kernels);
    kernels.set_type_table(include_str!("kernel_types.txt"));
    register(&mut kernels);
    Arc::new(kernels)
}

/// Every op that Flowmill knows.
///
/// # Errors
/// None in practice: the catalogue's tests check that it is consistent.
pub fn registry() -> Result<Arc<OpRegistry>> {
    REGISTRY.clone()
}

/// Returns the CPU's kernels.
pub fn kernels() -> Arc<KernelRegistry> {
    KERNELS.clone()
}

/// Returns an empty graph.
///
/// # Errors
/// None in practice; see [`registry`].
pub fn new_graph() -> Result<Graph> {
    Ok(Graph::new(registry()?))
}

/// Loads the graph in a file that holds a `GraphDef`, such as a frozen graph, in wire format or as text. The file is read: it may change afterwards.
///
/// # Errors
/// `NotFound` if there is no file, `DataLoss` if it holds no graph, `InvalidArgument` and `NotFound` as [`import_graph_def`].
pub fn load_graph(path: impl AsRef<Path>) -> Result<Graph> {
    load_graph_with(path, FileAccess::Read)
}

/// Like [`load_graph`], with a choice of how the file gets into memory; [`FileAccess::Map`] says when mapping is safe.
///
/// # Errors
/// `NotFound` if there is no file, `DataLoss` if it holds no graph, and the errors of [`import_graph_def`].
pub fn load_graph_with(path: impl AsRef<Path>, access: FileAccess) -> Result<Graph> {
    OpSet::standard()?.load_graph(path, access)
}

/// Returns a session on a graph, with all kernels.
///
/// # Errors
/// `ResourceExhausted` if the session's threads cannot be started, `InvalidArgument` for options that contradict each other.
pub fn session(graph: Graph, options: SessionOptions) -> Result<Arc<Session>> {
    Ok(Arc::new(Session::new(Arc::new(RwLock::new(graph)), kernels(), options)?))
}
