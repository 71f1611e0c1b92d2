//! Strands and frameless loops: pieces of a plan that run without tokens.
//!
//! A *program* is a straight list of instructions over a small file of registers. [`fuse`] looks for three kinds of pieces in a
//! [`PlanGraph`] and puts one [`NodeKind::Program`](crate::plan::NodeKind::Program) node in the place of each:
//!
//! * a **loop** whose iterations have nothing to overlap becomes a real loop (`loops`), innermost first, so that a nest of loops becomes
//!   a nest of programs;
//! * a **strand** is a set of cheap nodes that become ready at the same moment, having the same costly ancestors (`cluster`); running
//!   them one after the other on one thread delays nothing;
//! * a **batch program** (`batch`, `tiles`) is a set of nodes that work image by image: a batch is run through them a few images at a
//!   time, so that what lies between them stays in the cache.
//!
//! The token machine stays the meaning of every graph: a dead value is an empty register, and a program gives exactly what its nodes
//! would have given.

mod batch;
mod cluster;
mod loops;
mod lower;
mod rewrite;
mod run;
mod tiles;

pub use run::dereference;

use crate::plan::PlanGraph;
use flowmill_tensor::Result;

/// The kinds of programs that [`fuse`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseOptions {
    /// Turn clusters of cheap nodes into strands.
    pub strands: bool,
    /// Turn loops with nothing to overlap into frameless loops.
    pub loops: bool,
    /// Run chains of kernels that work image by image on parts of the batch.
    pub batches: bool,
    /// The step has one thread, so that nothing overlaps anything.
    pub single_thread: bool,
}

impl FuseOptions {
    /// Everything on.
    pub const ALL: FuseOptions = FuseOptions { strands: true, loops: true, batches: true, single_thread: false };
    /// Nothing on: the token machine runs every node.
    pub const NONE: FuseOptions = FuseOptions { strands: false, loops: false, batches: false, single_thread: false };
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
    // Before strands: a strand may hold cheap nodes that work image by image, such as paddings.
    if options.batches {
        batch::fuse_batches(&mut graph)?;
    }
    if options.strands {
        cluster::fuse_strands(&mut graph, options.single_thread)?;
    }
    graph.finish()
}
