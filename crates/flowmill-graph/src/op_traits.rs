//! Traits of ops: facts that the engine uses besides the signature, the shape function and the gradient.
//!
//! An op's declaration says all of it once. Passes, the planner and the executor ask; they do not keep lists of names.

use crate::elementwise::ElementwiseFunction;
use crate::image_layout::ImageLayout;
use crate::work::Work;

/// The part that an op's nodes have in a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A kernel computes its outputs.
    #[default]
    Kernel,
    /// Its output is the attribute `value`.
    Const,
    /// Its output must be fed.
    Placeholder,
    /// Its output is its input unless it is fed.
    PlaceholderWithDefault,
    /// Its output is an argument of the function or of the step.
    Arg,
    /// Its input is a result of the function or of the step.
    Retval,
    /// It computes nothing: other nodes wait for it.
    NoOp,
    /// It computes nothing, and is live though what it waits for is dead.
    ControlTrigger,
    /// It hands its data input to one of its outputs; the others are dead.
    Switch,
    /// Its output is the first live one of its inputs.
    Merge,
    /// It brings a tensor into a frame.
    Enter,
    /// It brings a tensor out of a frame.
    Exit,
    /// It brings a tensor into the next iteration of its frame.
    NextIteration,
    /// It says whether a frame goes on.
    LoopCond,
    /// It calls the function in its attribute `f`.
    Call,
    /// It calls one of the functions in `then_branch` and `else_branch`.
    If,
    /// It calls one of the functions in `branches`.
    Case,
    /// It calls the functions in `cond` and `body`, one after the other.
    While,
    /// It calls the function in `body` for each number of a range.
    For,
    /// It calls the gradient of the function in its attribute `f`.
    SymbolicGradient,
    /// It hands a tensor to a [`Role::Recv`], dead ones too.
    Send,
    /// It waits for a tensor of a [`Role::Send`].
    Recv,
}

impl Role {
    /// Returns true for what only graphs with branches and loops of nodes have.
    pub const fn is_control_flow(self) -> bool {
        matches!(self, Role::Switch | Role::Merge | Role::Enter | Role::Exit | Role::NextIteration | Role::LoopCond)
    }

    /// Returns true if nodes call functions that their attributes name.
    pub const fn calls_functions(self) -> bool {
        matches!(self, Role::Call | Role::If | Role::Case | Role::While | Role::For | Role::SymbolicGradient)
    }

    /// Returns the number of leading data inputs of a node that calls functions which are not arguments of the functions: the condition of a branch,
    /// the bounds of a `For`.
    pub const fn num_own_inputs(self) -> usize {
        match self {
            Role::If | Role::Case => 1,
            Role::For => 3,
            _ => 0,
        }
    }

    /// Returns true if the host's kernel runs the nodes of every device: it only passes tensors on, or it calls functions, whose bodies have devices of
    /// their own.
    pub const fn has_kernel_for_all_devices(self) -> bool {
        matches!(self, Role::Switch | Role::Send | Role::Recv) || self.calls_functions()
    }
}

/// The effects of a node besides computing its outputs from its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// Nothing: nodes with equal inputs have equal outputs.
    #[default]
    None,
    /// It makes or changes an object that a handle names, such as a TensorArray, though TensorFlow does not declare the op stateful.
    Object,
    /// It has state or side effects, and TensorFlow declares it stateful. A function that is called runs such nodes even if no result needs them.
    State,
}

/// Says how the outputs of an op consist of elements of its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// The outputs are computed, or nothing is known of them.
    #[default]
    No,
    /// Each output is the input of the same index, the same value.
    Each,
    /// The one output has the elements of input 0 in the same order; its shape may be another.
    InOrder,
    /// The one output is equal to input 0 if it has the same shape.
    IfSameShape,
}

/// The traits of an op. The default is that of an op of which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTraits {
    /// The part that its nodes have in a graph.
    pub role: Role,
    /// Output 0 is input 0, the same value. It is the only output.
    pub passes_on: bool,
    /// Says how the outputs consist of elements of the inputs.
    pub moves: Moves,
    /// The function that computes each element of the one output from the elements at the same place of the inputs, which are broadcast.
    pub elementwise: Option<ElementwiseFunction>,
    /// Input 0 is reduced over the axes in input 1. The attribute `keep_dims` says whether they stay as dimensions of size 1.
    pub reduces: bool,
    /// The outputs depend on the shapes of the inputs alone.
    pub reads_shape: bool,
    /// The outputs have no more elements than the inputs, but how many of them is known only from the values.
    pub selects: bool,
    /// The kernel may leave outputs unset, which makes them dead.
    pub leaves_outputs_dead: bool,
    /// The effects of a node besides computing its outputs from its inputs.
    pub effects: Effects,
    /// The node is there for the error that its kernel returns for some inputs, whether or not its output is read.
    pub checks_input: bool,
    /// A node takes more than about ten microseconds for usual sizes, so that a hand-over to another thread pays. A kernel may estimate its run time
    /// better, from static shapes.
    pub costly: bool,
    /// The number of operations of a node, as a function of shapes.
    pub work: Work,
    /// An output of type `string` is a handle that holds an object. Its edges are like references without assignments.
    pub gives_handle_for_string: bool,
    /// The inputs and outputs whose layout follows the attribute `data_format`.
    pub image_layout: Option<&'static ImageLayout>,
}

impl OpTraits {
    /// Returns true if the outputs depend on the values of the inputs alone. References, resources and functions of a node may still make them depend
    /// on more: [`is_pure`](crate::is_pure) looks at a node.
    pub const fn is_pure(&self) -> bool {
        matches!(self.role, Role::Kernel | Role::Const) && matches!(self.effects, Effects::None)
    }
}
