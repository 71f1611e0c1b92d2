//! Programs: parts of a plan that are compiled to run without tokens.
//!
//! A *program* is a list of instructions over a small register file. [`fuse`] finds three kinds of subgraphs in a [`PlanGraph`] and replaces each by
//! one [`NodeKind::Program`](crate::plan::NodeKind::Program) node:
//!
//! * a **loop** whose iterations have nothing to overlap becomes a real loop (`loops`), innermost first, so that a nest of loops becomes
//!   a nest of programs;
//! * a **strand** is a set of cheap nodes that become ready at the same moment, having the same costly ancestors (`cluster`); running
//!   them one after the other on one thread delays nothing;
//! * a **batch program** (`batch`, `tiles`) is a set of nodes that work image by image: a batch is run through them a few images at a
//!   time, so that what lies between them stays in the cache.
//!
//! A device with memory of its own has no programs of these kinds, which read scalars. [`fuse_device_strands`] makes strands of its nodes, which the
//! device may record and replay ([`Device::adopt_strand`]).
//!
//! All of them consist of the same instructions (`run`), to which nodes are lowered in one way (`lower`). They differ in what repeats: a strand runs its
//! instructions once, a loop until its condition is false, and a batch program once per tile.
//!
//! The programs of fused element-wise nodes ([`ElementwiseProgram`](flowmill_graph::ElementwiseProgram)) are another instruction set. Their registers
//! are blocks of 512 elements in the L1 cache. On such blocks, an instruction on tensors (the operands' reference counts, shapes, the check of the
//! output) takes 197 ns per function, and one on blocks 94 ns. They also differ in what they are: those programs are the meaning of a node, which each
//! device compiles in its own way, and the programs here are a schedule of one device's kernels.
//!
//! The semantics of a graph are those of the token machine. A dead value is an empty register, and a program returns exactly what its nodes would
//! have returned.

mod batch;
mod cluster;
mod device_strands;
mod loops;
mod lower;
mod rewrite;
mod run;
mod tiles;

pub use crate::invoke::dereference;
pub use device_strands::fuse_device_strands;

#[cfg(doc)]
use crate::device::Device;
use crate::plan::PlanGraph;
use flowmill_tensor::Result;

/// The kinds of programs that [`fuse`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseOptions {
    /// Replace clusters of cheap nodes by strands.
    pub strands: bool,
    /// Replace loops whose iterations cannot overlap by loops without frames.
    pub loops: bool,
    /// Run chains of kernels that work image by image on a few images of the batch at a time.
    pub batches: bool,
    /// The step has one thread, so that no two nodes run in parallel.
    pub single_thread: bool,
    /// Make strands of at least this many kernels on devices that can record and replay them. `None` makes no such strands.
    pub min_replayed: Option<usize>,
}

impl FuseOptions {
    /// All kinds of programs.
    pub const ALL: FuseOptions = FuseOptions { strands: true, loops: true, batches: true, single_thread: false, min_replayed: Some(4) };
    /// No programs: the token machine runs every node.
    pub const NONE: FuseOptions = FuseOptions { strands: false, loops: false, batches: false, single_thread: false, min_replayed: None };
}

/// Replaces loops and clusters of cheap nodes by programs.
///
/// # Errors
/// Returns `Internal` if the graph's edges are inconsistent.
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
        graph.follow_shared_weights();
        cluster::fuse_strands(&mut graph, options.single_thread)?;
    }
    graph.finish()
}
