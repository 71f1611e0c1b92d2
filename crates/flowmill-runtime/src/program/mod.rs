//! Strands and frameless loops: pieces of a plan that run without tokens.
//!
//! A *program* is a straight list of instructions over a small file of registers. [`fuse`] looks for two kinds of pieces in a
//! [`PlanGraph`] and puts one [`NodeKind::Program`](crate::plan::NodeKind::Program) node in the place of each:
//!
//! * a **loop** whose iterations have nothing to overlap becomes a real loop ([`loops`]), innermost first, so that a nest of loops becomes
//!   a nest of programs;
//! * a **strand** is a set of cheap nodes that become ready at the same moment, having the same costly ancestors ([`cluster`]); running
//!   them one after the other on one thread delays nothing.
//!
//! The token machine stays the meaning of every graph: a dead value is an empty register, and a program gives exactly what its nodes
//! would have given.

mod cluster;
mod loops;
mod lower;
mod rewrite;
mod run;

use crate::plan::PlanGraph;
use flowmill_tensor::Result;

/// Which pieces [`fuse`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseOptions {
    /// Turn clusters of cheap nodes into strands.
    pub strands: bool,
    /// Turn loops with nothing to overlap into frameless loops.
    pub loops: bool,
    /// The step has one thread, so that nothing overlaps anything.
    pub single_thread: bool,
}

impl FuseOptions {
    /// Everything on.
    pub const ALL: FuseOptions = FuseOptions { strands: true, loops: true, single_thread: false };
    /// Nothing on: the token machine runs every node.
    pub const NONE: FuseOptions = FuseOptions { strands: false, loops: false, single_thread: false };
}

/// Replaces loops and clusters of cheap nodes by programs.
///
/// # Errors
/// `Internal` where the graph's edges do not fit together.
pub fn fuse(graph: PlanGraph, options: FuseOptions) -> Result<PlanGraph> {
    let mut graph = rewrite::Rewriter::new(graph)?;
    if options.loops {
        loops::fuse_loops(&mut graph, options.single_thread)?;
    }
    if options.strands {
        cluster::fuse_strands(&mut graph, options.single_thread)?;
    }
    graph.finish()
}
