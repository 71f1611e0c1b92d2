//! Graph passes: one pass a file in `passes/`, run by one [pipeline](PIPELINE), after those that [put functions' bodies into the graph](LOWERING).
//!
//! [`lower`] and [`optimize`] take the graph of one step or of one function's body: arguments are `_Arg` nodes, results `_Retval` nodes, and what has
//! to run for its effect has a control edge to `_SINK`. Everything else is there only to serve these, and passes may rewrite it as long as
//! they get the same values, the same errors and the same effects in the same order. Values of floats may differ by rounding.
//!
//! Passes know nothing of kernels: what has to be computed goes through an [`Evaluator`].
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod linear;
mod liveness;
mod lowering;
mod passes;
mod pipeline;
mod rewrite;

pub use flowmill_graph::Evaluator;
pub use lowering::{Functions, MAX_ADDED_NODES, MAX_NESTING};
pub use pipeline::{LOWERING, LoweringPass, Options, PIPELINE, Pass, PassReport, Report, lower, optimize, run_passes};
