//! Plans: a pruned, optimised graph in the form that the executor runs.
//!
//! A [`PlanGraph`] is the graph after frames are found and kernels are made. It is still easy to rewrite: the program compiler replaces clusters of
//! cheap nodes and whole loops by single [`NodeKind::Program`] nodes. The executor then freezes the result into tables.

mod build;
mod direct;
mod ir;
mod print;
mod shared_weights;

pub use build::{NodeCache, PlanEnv, build, is_runnable, kernel_def, runs_on, without_kernels};
pub use direct::DirectPlan;
pub use ir::{FrameId, FrameInfo, NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId};
pub(crate) use shared_weights::SharedWeights;
