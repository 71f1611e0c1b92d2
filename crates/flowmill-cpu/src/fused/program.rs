//! The program of a `_FusedElementwise`, after checks and with its temporaries assigned.

use super::first_plan::{FirstPlan, Planned};
use super::plan::Plan;
use crate::elementwise::Function;
use crate::{math_binary, math_unary, nn};
use flowmill_graph::{ElementwiseFunction, ElementwiseInstruction, ElementwisePiece, ElementwiseProgram};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// An argument of a program for one call.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a> {
    Tensor(&'a Tensor),
    /// The elements that the only result, of this shape, holds before the program computes it in their place.
    Target(&'a Shape),
}

impl Arg<'_> {
    pub(super) fn shape(&self) -> &Shape {
        match self {
            Arg::Tensor(tensor) => tensor.shape(),
            Arg::Target(shape) => shape,
        }
    }
}

/// Returns the shape of a part of an argument.
///
/// # Errors
/// Returns `InvalidArgument` if the last dimension cannot be split evenly.
pub(super) fn piece_shape(piece: ElementwisePiece, whole: &Shape) -> Result<Shape> {
    let mut shape = whole.clone();
    if !piece.is_whole() {
        match shape.last_mut() {
            Some(last) if last.is_multiple_of(piece.count) => *last /= piece.count,
            Some(last) => bail!(
                InvalidArgument,
                "Number of ways to split should evenly divide the split dimension, but got split_dim {} (size = {last}) and num_split {}",
                whole.rank() - 1,
                piece.count
            ),
            None => bail!(InvalidArgument, "-input rank(0) <= split_dim < input rank (0), but got -1"),
        }
    }
    Ok(shape)
}

/// The code of an instruction, and where its result is stored.
pub(super) struct Instr {
    pub(super) function: Function,
    pub(super) operands: SmallVec<[usize; 2]>,
    /// The temporary that the result is stored in.
    pub(super) slot: usize,
    /// The index of the program's result that this is, if it is one.
    pub(super) output: Option<usize>,
    /// True if the second operand is a vector with one value per element of the first one's last dimension.
    is_bias_add: bool,
}

/// Returns the code of a function that a program can have.
pub(super) fn code_of(function: ElementwiseFunction) -> Option<Function> {
    // With channels in the last dimension, broadcasting puts the bias in its place.
    let function = if function == ElementwiseFunction::BiasAdd { ElementwiseFunction::Add } else { function };
    math_unary::function(function).or_else(|| math_binary::function(function)).or_else(|| nn::function(function))
}

impl Instr {
    pub(super) fn new(instruction: ElementwiseInstruction) -> Result<Instr> {
        let ElementwiseInstruction { function: name, operands } = instruction;
        let Some(function) = code_of(name) else { bail!(Unimplemented, "Fusion is not implemented: {name}") };
        if operands.len() != function.num_operands() {
            bail!(InvalidArgument, "{name} has {} operands, not {}", function.num_operands(), operands.len());
        }
        Ok(Instr { function, operands, slot: 0, output: None, is_bias_add: name == ElementwiseFunction::BiasAdd })
    }

    /// Returns the result's shape.
    ///
    /// # Errors
    /// Returns the error of the op itself for operands of these shapes, `InvalidArgument`.
    pub(super) fn shape(&self, shapes: &[Shape]) -> Result<Shape> {
        let operands: SmallVec<[&Shape; 2]> = self.operands.iter().map(|&v| &shapes[v]).collect();
        if let (true, &[value, bias]) = (self.is_bias_add, &operands[..]) {
            if value.rank() < 2 {
                bail!(InvalidArgument, "Input tensor must be at least 2D: {value}");
            }
            if bias.rank() != 1 {
                bail!(InvalidArgument, "Biases must be 1D: {bias}");
            }
            if bias.last() != value.last() {
                bail!(InvalidArgument, "Must provide as many biases as the last dimension of the input tensor: {bias} vs. {value}");
            }
        }
        self.function.shape(&operands)
    }

    /// Returns the result for whole tensors, without blocks; `alloc` makes it and `value` returns the operands.
    pub(super) fn whole<'t>(&self, alloc: &Allocator, value: impl Fn(usize) -> Option<&'t Tensor>) -> Result<Tensor> {
        let operands: SmallVec<[&Tensor; 2]> = self.operands.iter().filter_map(|&v| value(v)).collect();
        self.function.whole(alloc, &operands)
    }
}

/// A program with the code of its functions. Value `v` is argument `v`, or the result of instruction `v - num_args`.
pub(super) struct Program {
    pub(super) pieces: Vec<ElementwisePiece>,
    pub(super) instrs: Vec<Instr>,
    /// The values that are results, in order. All are results of instructions, and no value occurs twice.
    pub(super) outputs: Vec<usize>,
    /// The number of temporaries that are live at once.
    pub(super) num_slots: usize,
    plan: FirstPlan<Plan>,
}

impl Program {
    pub(super) fn new(init: &KernelInit<'_>) -> Result<Program> {
        Program::with_args(init, init.input_types.len())
    }

    /// Like [`Program::new`], for a node of which so many inputs are arguments.
    pub(super) fn with_args(init: &KernelInit<'_>, num_args: usize) -> Result<Program> {
        let program = ElementwiseProgram::from_attrs(init.attrs, num_args)?;
        let mut instrs = program.instructions.into_iter().map(Instr::new).collect::<Result<Vec<_>>>()?;
        let num_args = program.pieces.len();
        for (i, &value) in program.outputs.iter().enumerate() {
            instrs[value - num_args].output = Some(i);
        }
        let num_slots = place(&mut instrs, num_args);
        Ok(Program { pieces: program.pieces, instrs, outputs: program.outputs, num_slots, plan: FirstPlan::new() })
    }

    pub(super) fn num_args(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the plan for arguments of the shapes of `args`.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::new`].
    pub(super) fn plan(&self, args: &[Arg<'_>]) -> Result<Planned<'_, Plan>> {
        self.plan.get(args.iter().map(Arg::shape), || Plan::new(self, args))
    }

    /// Returns the cost per element, in simple operations.
    pub(super) fn cost(&self) -> usize {
        self.instrs.iter().map(|i| i.function.cost()).sum()
    }
}

/// Assigns each instruction a temporary that holds no live value. Returns the number of temporaries.
fn place(instrs: &mut [Instr], num_args: usize) -> usize {
    let mut last_use = vec![0; instrs.len()];
    for (at, instr) in instrs.iter().enumerate() {
        for &v in instr.operands.iter().filter(|&&v| v >= num_args) {
            last_use[v - num_args] = at;
        }
    }
    let (mut free, mut num_slots) = (Vec::new(), 0);
    for at in 0..instrs.len() {
        instrs[at].slot = free.pop().unwrap_or_else(|| {
            num_slots += 1;
            num_slots - 1
        });
        let mut done: SmallVec<[usize; 2]> = instrs[at]
            .operands
            .iter()
            .filter(|&&v| v >= num_args && last_use[v - num_args] == at)
            .map(|&v| instrs[v - num_args].slot)
            .collect();
        done.sort_unstable();
        done.dedup();
        free.extend(done);
        if last_use[at] <= at {
            // No instruction reads the value: it is only a result.
            free.push(instrs[at].slot);
        }
    }
    num_slots
}
