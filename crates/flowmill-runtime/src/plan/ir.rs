use crate::kernel::{Cost, Kernel};
use flowmill_graph::OpTraits;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, error};
use std::sync::Arc;

/// A node of a [`PlanGraph`], as an index into `nodes`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PlanNodeId(pub u32);

/// A frame, as an index into `frames`; the root is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The frame that is not a loop.
    pub const ROOT: FrameId = FrameId(0);
}

/// The producer of a node's input: a node and one of its outputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PlanEdge {
    /// The producer.
    pub node: PlanNodeId,
    /// Its output, or [`PlanEdge::CONTROL`] for "the node was executed".
    pub slot: u32,
}

impl PlanEdge {
    /// The slot of a control edge. A control input may also name an output slot. It is then live when that output is live.
    pub const CONTROL: u32 = u32::MAX;
}

/// The type of an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputType {
    /// The element type; for a reference, that of the variable's value.
    pub dtype: DType,
    /// The output carries a reference: see [`crate::RefVariable`].
    pub is_ref: bool,
}

/// The kind of a node, which decides how the executor treats it.
#[derive(Clone)]
pub enum NodeKind {
    /// Fires when all inputs have arrived; dead when one of them is. Its kernel may leave outputs unset, which makes them dead (`Switch`).
    Op,
    /// The step's argument of this index, a root of the graph.
    Arg(usize),
    /// The step's result of this index, with one input and no output. The caller decides what a dead result means.
    Ret(usize),
    /// A constant; has no kernel and may have control inputs.
    Const(Tensor),
    /// Fires on its first live data input once its control inputs have arrived; dead when all data inputs arrived dead.
    /// Outputs the value and, if there is a second output, the index of the input as `int32`. In a loop frame the input from `NextIteration` is the
    /// back edge.
    Merge,
    /// Passes its input into iteration 0 of a child frame; with `is_constant`, to every iteration.
    Enter {
        /// The child.
        frame: FrameId,
        /// True for a loop invariant.
        is_constant: bool,
    },
    /// Passes its input to the parent frame. Live at most once per frame; if it is never live, it sends one dead token when the frame ends.
    Exit,
    /// Passes its input to the next iteration; a dead input starts no iteration.
    NextIteration,
    /// Fires when all control inputs have arrived, dead or not; always live.
    ControlTrigger,
    /// A compiled part of the graph. Fires when all inputs have arrived, dead ones as `None`, and decides itself which outputs are dead. An input
    /// with slot [`PlanEdge::CONTROL`] arrives as some scalar if it is live.
    Program,
}

/// One node.
#[derive(Clone)]
pub struct PlanNode {
    /// The graph node's name.
    pub name: Arc<str>,
    /// Its op.
    pub op: Arc<str>,
    /// The op's traits; the default for programs.
    pub traits: OpTraits,
    /// The node's kind.
    pub kind: NodeKind,
    /// The code of [`NodeKind::Op`] and [`NodeKind::Program`]. `None` for an op that does nothing or passes its one input on (`NoOp`, `Identity`, `LoopCond`).
    pub kernel: Option<Arc<dyn Kernel>>,
    /// The scheduler's estimate of the kernel's run time.
    pub cost: Cost,
    /// The frame the node runs in; an `Enter` is in the parent, an `Exit` in the loop's frame.
    pub frame: FrameId,
    /// Data inputs, in order.
    pub inputs: Vec<PlanEdge>,
    /// For each input, true if it takes a reference. For other inputs, the executor replaces a reference by the variable's current value.
    pub takes_ref: Vec<bool>,
    /// Control inputs.
    pub controls: Vec<PlanEdge>,
    /// Types of the outputs.
    pub outputs: Vec<OutputType>,
    /// Static shapes of the outputs, with symbols for unknown sizes. Symbols of nodes in a loop are valid within one iteration. May have fewer
    /// entries than `outputs`; the other shapes are unknown.
    pub shapes: Vec<PartialShape>,
}

impl PlanNode {
    /// Returns true if the node's kernel may wait for another node or for something outside of the step.
    pub fn may_wait(&self) -> bool {
        self.cost == Cost::Blocking || self.kernel.as_ref().is_some_and(|k| k.as_async().is_some())
    }

    /// Returns true if outputs that the node's kernel leaves unset are dead, and no error.
    pub fn may_leave_outputs_unset(&self) -> bool {
        matches!(self.kind, NodeKind::Program) || self.traits.leaves_outputs_dead
    }
}

/// One frame: the root or a loop.
#[derive(Clone, Debug)]
pub struct FrameInfo {
    /// The frame's name, from its `Enter`s.
    pub name: Arc<str>,
    /// The enclosing frame; `None` for the root.
    pub parent: Option<FrameId>,
    /// The number of iterations that may run at once; at least 1.
    pub parallel_iterations: u32,
}

/// A graph ready to become a plan. The order of nodes is free: a producer may follow its consumers.
#[derive(Clone)]
pub struct PlanGraph {
    /// The nodes.
    pub nodes: Vec<PlanNode>,
    /// The frames; the first is the root. A parent precedes its children.
    pub frames: Vec<FrameInfo>,
    /// The types of the step's arguments.
    pub args: Vec<DType>,
    /// Number of results.
    pub num_results: usize,
}

impl PlanGraph {
    /// Checks that the indices of arguments and results are those of the step and occur at most once. Users may write `_Arg` and `_Retval` nodes into
    /// a graph or a function.
    ///
    /// # Errors
    /// Returns `InvalidArgument` at the first node with a wrong index.
    pub(crate) fn check_boundary(&self) -> Result<()> {
        let (mut args, mut results) = (vec![false; self.args.len()], vec![false; self.num_results]);
        for node in &self.nodes {
            let (what, i, seen, count) = match node.kind {
                NodeKind::Arg(i) => ("argument", i, args.get_mut(i), self.args.len()),
                NodeKind::Ret(i) => ("result", i, results.get_mut(i), self.num_results),
                _ => continue,
            };
            let is_of_type = what == "result" || node.outputs.first().is_some_and(|o| self.args.get(i) == Some(&o.dtype));
            match seen {
                Some(seen @ false) if is_of_type => *seen = true,
                _ => {
                    let e = error!(InvalidArgument, "{{{{node {}}}}} is not the {what} {i} of what it is in, which has {count}", node.name);
                    return Err(e.at_node(&node.name, &node.op));
                }
            }
        }
        Ok(())
    }
}
