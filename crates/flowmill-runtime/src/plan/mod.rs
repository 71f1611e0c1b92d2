//! Plans: a pruned, optimised graph in the form that the executor runs.
//!
//! [`PlanGraph`] is the graph after frames are known and kernels are made: still easy to rewrite, which is what the program compiler
//! does when it turns clusters of cheap nodes and whole loops into single [`NodeKind::Program`] nodes. The executor then freezes it into
//! its own tables.

mod build;
mod direct;
mod ir;
mod print;

pub use build::{NodeCache, PlanEnv, build, is_runnable, without_kernels};
pub use direct::DirectPlan;
pub use ir::{FrameId, FrameInfo, NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId};
