//! The tables of a plan: flat arrays that `freeze` makes once and every step reads.

use super::block::Layouts;
use super::sync::{AtomicU32, Ordering};
use crate::kernel::Kernel;
use crate::plan::{OutputType, PlanEdge, PlanGraph};
use flowmill_tensor::{DType, Tensor};
use std::sync::Arc;

/// The action of a node when it fires. The meaning of [`Node::arg`] depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Calls a kernel; `arg` is its index in `costs` if it may be expensive.
    Op,
    /// Calls an asynchronous kernel; `arg` as for `Op`.
    Async,
    /// Calls a kernel that sees dead inputs as `None` and leaves dead outputs unset; `arg` as for `Op`.
    Program,
    /// Has no kernel: passes its inputs on, if it has outputs.
    Pass,
    /// Has no kernel, inputs or outputs.
    NoOp,
    /// Outputs constant `arg`.
    Const,
    /// Outputs argument `arg` of the step; fires when the step starts.
    Arg,
    /// Keeps its input as result `arg`.
    Ret,
    /// Passes on the input that won; `arg` is its counter, or [`NONE`] if only one input arrives in each iteration.
    Merge,
    /// Passes its input into iteration 0 of frame `arg`.
    Enter,
    /// Keeps its input as an invariant of frame `arg`, at the place in `extra`.
    EnterConst,
    /// Exit `arg` of its frame.
    Exit,
    /// NextIteration `arg` of its frame.
    NextIteration,
    /// Is live regardless of its inputs.
    ControlTrigger,
}

/// No counter, no slot.
pub(super) const NONE: u32 = u32::MAX;

/// The node has inputs that no edge delivers or references to follow: see [`Tables::prepare`].
pub(super) const PREPARE: u8 = 1;
/// The scheduler hands the node to another thread if one is free.
pub(super) const EXPENSIVE: u8 = 2;
/// The kernel may leave outputs unset.
pub(super) const MAY_BE_DEAD: u8 = 4;
/// The kernel may wait: it is called by threads that have nothing else to do for the step.
pub(super) const BLOCKING: u8 = 8;

/// The part of a node that every firing reads.
pub(super) struct Node {
    pub kernel: Option<Arc<dyn Kernel>>,
    pub kind: Kind,
    pub flags: u8,
    pub num_inputs: u32,
    pub num_outputs: u32,
    /// Its first input's slot; the others follow.
    pub slot: u32,
    /// Its first output's group of edges; the other outputs' follow, then the group of control edges.
    pub group: u32,
    pub arg: u32,
    pub extra: u32,
    /// Its part of [`Tables::prepare`].
    pub prepare: (u32, u32),
}

/// The way in which an edge changes its target's counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Delivery {
    /// The only arrival that its target waits for.
    Direct,
    /// Like `Direct`, for a target that a dead arrival does not kill.
    DirectIgnoreDead,
    /// One of several arrivals.
    Count,
    /// Like `Count`, for a target that a dead arrival does not kill.
    CountIgnoreDead,
    /// A data input of a Merge.
    Merge,
    /// A data input of a Merge that comes from an Enter.
    MergeEnter,
    /// A control input of a Merge.
    MergeControl,
}

/// One consumer of an output.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub to: u32,
    /// The slot that takes the value, or [`NONE`].
    pub slot: u32,
    /// The target's counter; unused for direct deliveries.
    pub counter: u32,
    pub delivery: Delivery,
}

/// A change to one of a node's inputs before the node fires.
#[derive(Clone, Copy)]
pub(super) struct Prepare {
    /// The input.
    pub input: u32,
    pub source: Source,
}

/// The source of an input that no edge delivers, or the change to one that an edge does.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// This constant.
    Const(u32),
    /// This invariant of the frame. If it is dead, the node is dead.
    Invariant(u32),
    /// No value: this invariant decides whether the node is dead.
    InvariantLiveness(u32),
    /// Some scalar, as long as this invariant is live.
    InvariantToken(u32),
    /// Some scalar.
    Token,
    /// The input arrives as a reference and the node wants what it refers to.
    Dereference,
}

/// One frame.
#[derive(Default)]
pub(super) struct FrameTable {
    pub id: u32,
    pub name: Arc<str>,
    pub parent: Option<u32>,
    /// Its place among the parent's child frames.
    pub child_index: u32,
    pub parallel_iterations: u32,
    pub num_children: usize,
    pub num_enters: u32,
    pub num_invariants: usize,
    /// Slots of inputs; those of parked tokens follow.
    pub num_input_slots: usize,
    /// The counters of iteration 0.
    pub first: Box<[u64]>,
    /// The counters of later iterations: loop invariants have arrived.
    pub later: Box<[u64]>,
    /// Nodes that wait for nothing in iteration 0.
    pub first_roots: Box<[u32]>,
    /// Nodes that wait for nothing in later iterations.
    pub later_roots: Box<[u32]>,
    /// The NextIterations, by their `arg`.
    pub next_iterations: Box<[u32]>,
    /// The Exits, by their `arg`.
    pub exits: Box<[u32]>,
    pub layouts: Layouts,
}

impl FrameTable {
    pub(super) fn num_slots(&self) -> usize {
        self.num_input_slots + self.next_iterations.len()
    }

    /// The slot in which NextIteration `i` parks its value.
    pub(super) fn parking_slot(&self, i: usize) -> usize {
        self.num_input_slots + i
    }

    pub(super) fn parked_words(&self) -> usize {
        self.next_iterations.len().div_ceil(64)
    }
}

/// Names, for errors and statistics.
pub(super) struct NodeName {
    pub name: Arc<str>,
    pub op: Arc<str>,
}

/// The inputs of the nodes of a plan, for statistics.
pub(super) struct InputTable {
    edges: Box<[PlanEdge]>,
    /// The edges of node `n` are `edges[starts[n]..starts[n + 1]]`.
    starts: Box<[u32]>,
}

impl InputTable {
    /// Copies the inputs of a graph's nodes.
    pub(super) fn new(graph: &PlanGraph) -> InputTable {
        let (mut edges, mut starts) = (Vec::new(), vec![0]);
        for node in &graph.nodes {
            edges.extend(node.inputs.iter().chain(&node.controls));
            starts.push(edges.len() as u32);
        }
        InputTable { edges: edges.into(), starts: starts.into() }
    }

    /// Returns the inputs of a node, control inputs last.
    pub(super) fn of_node(&self, node: u32) -> &[PlanEdge] {
        &self.edges[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// A frozen plan.
pub(super) struct Tables {
    pub nodes: Box<[Node]>,
    pub edges: Box<[Edge]>,
    /// Edges of group `g` are `edges[groups[g]..groups[g + 1]]`.
    pub groups: Box<[u32]>,
    /// The declared type of the output that group `g` belongs to; unused for control groups.
    pub checks: Box<[OutputType]>,
    pub prepare: Box<[Prepare]>,
    pub consts: Box<[Tensor]>,
    pub frames: Box<[FrameTable]>,
    pub names: Box<[NodeName]>,
    /// The inputs of the nodes, in a plan of traced runs.
    pub inputs: Option<InputTable>,
    /// The nodes that give arguments.
    pub args: Box<[u32]>,
    pub arg_types: Box<[DType]>,
    pub num_results: usize,
    /// The most outputs of a node.
    pub max_outputs: usize,
    pub costs: Box<[LearnedCost]>,
}

/// A running mean of what an expensive kernel takes.
pub(super) struct LearnedCost(AtomicU32);

impl LearnedCost {
    pub(super) fn new() -> LearnedCost {
        LearnedCost(AtomicU32::new(u32::MAX))
    }

    /// Nanoseconds; `u32::MAX` before the first call.
    #[inline]
    pub(super) fn nanos(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes a measurement in; it counts for an eighth. Lost updates do no harm.
    pub(super) fn learn(&self, nanos: u128) {
        let new = u32::try_from(nanos).unwrap_or(u32::MAX - 1);
        let old = self.nanos();
        self.0.store(if old == u32::MAX { new } else { old - old / 8 + new / 8 }, Ordering::Relaxed);
    }
}
