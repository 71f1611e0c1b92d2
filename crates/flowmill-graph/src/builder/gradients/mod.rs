//! Gradients of a graph, added to it as nodes.
//!
//! [`add_gradients`] walks back from the `ys`, a [`GradientWalk`] does it in steps. A node is visited when all consumers between the `xs` and the `ys` have been; the gradients that
//! they gave for its outputs are summed, and its op's [`GradientFn`] makes those of its inputs from them. Conditionals and loops are part of that
//! walk: `Switch` and `Merge` are each other's gradients, and so are `Enter` and `Exit`; a loop gets a second loop that runs its iterations
//! backwards (`loops`). The nodes follow TensorFlow's `tf.gradients`. In the body of a function, a [`StackWalk`] goes on from captured tensors through the
//! graphs around the body.

mod aggregate;
mod control_flow;
mod counters;
mod functions;
mod history;
mod loops;
mod reach;
mod records;
mod repeat;
mod rules;
mod stack;
mod tensor_arrays;
mod walk;
mod zeros;

pub use functions::{FunctionGraph, gradient_body};
pub(super) use loops::BackwardLoop;
pub(super) use repeat::LoopGradient;
pub use stack::{StackWalk, add_stack_gradients};
pub use walk::{GradientWalk, Step};

use super::ScopedBuilder;
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, Result, bail};
use std::collections::BTreeSet;

/// The gradient of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Grad {
    /// A tensor of the same shape.
    Dense(OutputId),
    /// Rows of a tensor that is zero elsewhere; TensorFlow's `IndexedSlices`.
    Slices(IndexedSlices),
}

/// Slices `values[i]` of a tensor at its rows `indices[i]`. The values of a row that occurs more than once are summed.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedSlices {
    /// One slice for each index.
    pub values: OutputId,
    /// A vector of rows.
    pub indices: OutputId,
    /// The shape of the whole tensor, if it is known.
    pub dense_shape: Option<OutputId>,
}

impl From<OutputId> for Grad {
    fn from(output: OutputId) -> Grad {
        Grad::Dense(output)
    }
}

/// The arguments of an op's gradient function: the node whose gradient it is, and the gradients of its outputs.
#[derive(Debug)]
pub struct Backward {
    /// The forward node.
    pub node: NodeId,
    /// Its data inputs.
    pub inputs: Vec<OutputId>,
    /// Gradients of its outputs; `None` if an output has none, which for floating outputs means that there is no zero of its type.
    pub grads: Vec<Option<Grad>>,
}

impl Backward {
    /// Output `slot` of the forward node.
    pub fn output(&self, slot: u32) -> OutputId {
        self.node.output(slot)
    }

    /// Returns the gradient of output `i` as a tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none, and what adding nodes gives.
    pub fn dy(&self, b: &mut ScopedBuilder<'_>, i: usize) -> Result<OutputId> {
        match self.grads.get(i) {
            Some(Some(grad)) => b.densify(grad),
            _ => bail!(InvalidArgument, "Output {i} of '{}' has no gradient", b.graph().node(self.node)?.name()),
        }
    }
}

/// Makes the gradients of a node's inputs, one for each, out of those of its outputs.
pub type GradientFn = fn(&mut ScopedBuilder<'_>, &Backward) -> Result<Vec<Option<Grad>>>;

/// The declared gradient of an op.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpGradient {
    /// The op has no declared gradient: differentiating through it is an error.
    #[default]
    Undefined,
    /// No gradient flows through the op.
    NotDifferentiable,
    /// The function that makes it.
    Function(GradientFn),
}

/// The way in which the gradients of a tensor's consumers are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// One `AddN` of all on each device, and one of those: TensorFlow's `ADD_N`, its default.
    #[default]
    AddN,
    /// Two at a time, so that none is kept longer than it has to be: its `EXPERIMENTAL_TREE`, and `EXPERIMENTAL_ACCUMULATE_N`, which is the same.
    Pairwise,
}

/// The options of differentiation.
#[derive(Clone, Debug, Default)]
pub struct GradientOptions {
    /// The name scope of all new nodes, made unique: `gradients` if this is not said. With a slash at its end it is the whole name.
    pub name: Option<String>,
    /// Taken as constants: nothing is differentiated through them.
    pub stop_gradients: Vec<OutputId>,
    /// If true, new nodes are colocated with the forward nodes that they are for.
    pub colocate: bool,
    /// If true, no gradient of a node's inputs is used before all of them have been computed.
    pub gate: bool,
    /// The way in which gradients are summed.
    pub aggregation: Aggregation,
    /// Gradients that the caller makes, by op or by what nodes have as `_gradient_op_type`. They come before those of the catalogue.
    pub custom: BTreeSet<String>,
    /// The ops or `_gradient_op_type`s through which the caller says that no gradient flows.
    pub not_differentiable: BTreeSet<String>,
}

/// Returns true if gradients flow through tensors of this type.
pub fn is_differentiable(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 | DType::Resource | DType::Variant)
}

/// Adds nodes for the derivatives of the sum of `ys` with respect to each of `xs`; `None` if it does not depend on one.
///
/// `grad_ys` weights the `ys`: one for each, or none at all; `None` means ones.
///
/// # Errors
/// `InvalidArgument` for `ys` that have no gradient and for weights that do not fit; as [`GradientWalk::advance`], with `FailedPrecondition`
/// for a custom gradient.
pub fn add_gradients(
    b: &mut ScopedBuilder<'_>,
    ys: &[OutputId],
    xs: &[OutputId],
    grad_ys: &[Option<OutputId>],
    options: &GradientOptions,
) -> Result<Vec<Option<Grad>>> {
    match GradientWalk::new(b, ys, xs, grad_ys, options.clone())?.advance(b)? {
        Step::Done(grads) => Ok(grads),
        Step::Custom { node, kind, .. } => {
            bail!(FailedPrecondition, "The gradient of '{}' ({kind}) is one that the caller makes", b.graph().node(node)?.name())
        }
    }
}
