//! Programs of element-wise functions and reductions over one set of axes, which `_FusedReduction` nodes compute: normalisations and softmax.

use super::program::integers;
use super::{ElementwiseInstruction, ReductionFunction};
use crate::Attrs;
use flowmill_proto::AttrValue;
use flowmill_tensor::{Bytes, Result, bail};

/// A list of instructions on numbered values: value `v` is argument `v`, or the result of instruction `v - num_args`. The last value is the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReductionProgram {
    /// The number of arguments.
    pub num_args: usize,
    /// The axes that all reductions reduce, counted from the last dimension, which is 1. They stay as dimensions of one element.
    pub axes: Vec<usize>,
    /// The instructions, each of which reads arguments and results of earlier instructions.
    pub instructions: Vec<ReductionInstruction>,
}

/// An instruction of a [`ReductionProgram`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionInstruction {
    /// A function of the elements at the same place of its operands, which are broadcast.
    Elementwise(ElementwiseInstruction),
    /// The reduction of a value over the axes of the program.
    Reduce(ReductionFunction, usize),
}

impl ReductionInstruction {
    /// Returns the numbers of the values that the instruction reads.
    pub fn operands(&self) -> &[usize] {
        match self {
            ReductionInstruction::Elementwise(instruction) => &instruction.operands,
            ReductionInstruction::Reduce(_, operand) => std::slice::from_ref(operand),
        }
    }

    fn parse(text: &str, num_values: usize) -> Result<ReductionInstruction> {
        if let Some((name, operand)) = text.split_once(' ')
            && let Some(function) = ReductionFunction::of_op(name)
        {
            return match operand.parse().ok().filter(|&v| v < num_values) {
                Some(operand) => Ok(ReductionInstruction::Reduce(function, operand)),
                None => bail!(InvalidArgument, "'{text}' is no instruction on {num_values} values"),
            };
        }
        ElementwiseInstruction::parse(text, num_values).map(ReductionInstruction::Elementwise)
    }

    fn text(&self) -> String {
        match self {
            ReductionInstruction::Elementwise(instruction) => instruction.text(),
            ReductionInstruction::Reduce(function, operand) => format!("{} {operand}", function.name()),
        }
    }
}

impl ReductionProgram {
    /// Reads the attributes `axes` and `program` of a node with `num_args` inputs.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an attribute is missing or malformed, and `Unimplemented` for the name of an unknown function. The number of
    /// operands of a function is not checked.
    pub fn from_attrs(attrs: &Attrs, num_args: usize) -> Result<ReductionProgram> {
        let mut axes = Vec::new();
        for axis in attrs.list::<i64>("axes")? {
            match axis.checked_neg().and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis > 0 && !axes.contains(axis)) {
                Some(axis) => axes.push(axis),
                None => bail!(InvalidArgument, "{axis} is no axis from the end, or is given twice"),
            }
        }
        let mut instructions = Vec::new();
        for text in attrs.list::<&str>("program")? {
            instructions.push(ReductionInstruction::parse(text, num_args + instructions.len())?);
        }
        if instructions.is_empty() || axes.is_empty() {
            bail!(InvalidArgument, "A fused reduction has neither instructions nor axes");
        }
        Ok(ReductionProgram { num_args, axes, instructions })
    }

    /// Returns the attributes that describe the program, among them the number of inputs of its node.
    pub fn to_attrs(&self) -> [(String, AttrValue); 3] {
        let program: Vec<Bytes> = self.instructions.iter().map(|instruction| instruction.text().into_bytes().into()).collect();
        [
            ("N".to_owned(), (self.num_args as i64).into()),
            ("axes".to_owned(), integers(self.axes.iter().map(|&axis| -(axis as i64)))),
            ("program".to_owned(), program.into()),
        ]
    }
}
