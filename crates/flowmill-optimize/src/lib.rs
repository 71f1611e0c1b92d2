//! Graph passes. Each pass is a file in `passes/`. The passes that [inline functions' bodies](LOWERING) run first, then the others in one
//! [pipeline](PIPELINE).
//!
//! [`lower`] and [`optimize`] take the graph of one step or of one function's body. Its arguments are `_Arg` nodes, its results are `_Retval` nodes,
//! and nodes that have to run for their effects have a control edge to `_SINK`. Passes may rewrite all other nodes, as long as the graph returns the
//! same values and errors and has the same effects in the same order. Floating-point values may differ by rounding.
//!
//! Passes are independent of kernels. They ask the device that the graph runs on, a [`Target`], which fused functions its kernels have and which layout
//! of images they compute in, and compute values through the [`Evaluator`] that each target is.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod arithmetic;
mod bypass;
mod changes;
mod constant_math;
mod images;
mod linear;
mod liveness;
mod loop_reads;
mod loops;
mod lowering;
mod passes;
mod pipeline;
mod quantized_values;
mod rewrite;
mod shapes;
mod splat;
mod stateless;
mod values;

pub use changes::NodeChanges;
pub use flowmill_graph::{Evaluator, Target};
pub use lowering::{Functions, MAX_ADDED_NODES, MAX_NESTING, is_marked};
pub use pipeline::{
    LOWERING, LoweringPass, MAX_ROUNDS, Options, PIPELINE, Pass, PassContext, PassReport, Report, lower, lower_marked, optimize,
    optimize_with_shapes, run_passes,
};
pub use shapes::Shapes;
