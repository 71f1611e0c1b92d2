//! Programs of element-wise functions, which `_FusedElementwise` nodes compute. The pass that makes such nodes, the op's shape function and the kernels
//! of all devices share this form; only the attributes of a node hold it as text.

use super::ElementwiseFunction;
use crate::Attrs;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Bytes, Result, bail};
use smallvec::SmallVec;

/// A list of instructions on numbered values: value `v` is argument `v`, or the result of instruction `v - pieces.len()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElementwiseProgram {
    /// The part of each argument that the program reads.
    pub pieces: Vec<ElementwisePiece>,
    /// The instructions, each of which reads arguments and results of earlier instructions.
    pub instructions: Vec<ElementwiseInstruction>,
    /// The values that are results of the node, in order. All are results of instructions, and no value occurs twice.
    pub outputs: Vec<usize>,
}

/// A part of an argument: part `index` of `count` equal parts of its last dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwisePiece {
    /// The number of the part, less than `count`.
    pub index: usize,
    /// The number of parts; 1 for the whole argument.
    pub count: usize,
}

impl ElementwisePiece {
    /// The whole argument.
    pub const WHOLE: ElementwisePiece = ElementwisePiece { index: 0, count: 1 };

    /// Returns true if this is the whole argument.
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

/// A function and the values that it is applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementwiseInstruction {
    /// The function.
    pub function: ElementwiseFunction,
    /// The numbers of the values.
    pub operands: SmallVec<[usize; 2]>,
}

impl ElementwiseInstruction {
    /// Parses the name of a function and the numbers of its operands, such as `Mul 0 3`. Numbers are less than `num_values`.
    pub(super) fn parse(text: &str, num_values: usize) -> Result<ElementwiseInstruction> {
        let mut words = text.split(' ');
        let function = words.next().unwrap_or_default().parse()?;
        let operands: Option<SmallVec<[usize; 2]>> = words.map(|word| word.parse().ok().filter(|&v| v < num_values)).collect();
        match operands {
            Some(operands) => Ok(ElementwiseInstruction { function, operands }),
            None => bail!(InvalidArgument, "'{text}' is no instruction on {num_values} values"),
        }
    }

    /// Parses a list of instructions, each of which reads some of `num_values` values or results of earlier instructions.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for other text, and `Unimplemented` for the name of an unknown function. The number of operands of a function is not
    /// checked.
    pub fn parse_list(program: &[&str], num_values: usize) -> Result<Vec<ElementwiseInstruction>> {
        program.iter().enumerate().map(|(i, text)| ElementwiseInstruction::parse(text, num_values + i)).collect()
    }

    /// Returns an attribute of type `list(string)` with these instructions.
    pub fn attr_of(instructions: &[ElementwiseInstruction]) -> AttrValue {
        instructions.iter().map(|instruction| Bytes::from(instruction.text().into_bytes())).collect::<Vec<_>>().into()
    }

    pub(super) fn text(&self) -> String {
        self.operands.iter().fold(self.function.name().to_owned(), |text, value| format!("{text} {value}"))
    }
}

impl ElementwiseProgram {
    /// Reads the attributes `pieces`, `program` and `outputs` of a node with `num_args` inputs.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an attribute is missing or malformed, and `Unimplemented` for the name of an unknown function. The number of
    /// operands of a function is not checked.
    pub fn from_attrs(attrs: &Attrs, num_args: usize) -> Result<ElementwiseProgram> {
        let pieces = pieces(&attrs.list::<i64>("pieces")?, num_args)?;
        let instructions = ElementwiseInstruction::parse_list(&attrs.list::<&str>("program")?, num_args)?;
        let mut outputs = Vec::new();
        for (i, value) in attrs.list::<i64>("outputs")?.into_iter().enumerate() {
            match usize::try_from(value) {
                Ok(v) if (num_args..num_args + instructions.len()).contains(&v) && !outputs.contains(&v) => outputs.push(v),
                _ => bail!(InvalidArgument, "Result {i} of a fused node is value {value}, which is no instruction's or a result already"),
            }
        }
        if outputs.is_empty() {
            bail!(InvalidArgument, "A fused node has no results");
        }
        Ok(ElementwiseProgram { pieces, instructions, outputs })
    }

    /// Returns the program whose first argument is argument `arg` of this one, before the others in their order.
    #[must_use]
    pub fn with_first_arg(mut self, arg: usize) -> ElementwiseProgram {
        let piece = self.pieces.remove(arg);
        self.pieces.insert(0, piece);
        for instruction in &mut self.instructions {
            for value in &mut instruction.operands {
                *value = match *value {
                    v if v == arg => 0,
                    v if v < arg => v + 1,
                    v => v,
                };
            }
        }
        self
    }

    /// Returns the attributes that describe the program, among them the numbers of inputs and outputs of its node.
    pub fn to_attrs(&self) -> [(String, AttrValue); 5] {
        let pieces = self.pieces.iter().flat_map(|piece| [piece.index as i64, piece.count as i64]);
        [
            ("N".to_owned(), (self.pieces.len() as i64).into()),
            ("num_results".to_owned(), (self.outputs.len() as i64).into()),
            ("pieces".to_owned(), integers(pieces)),
            ("program".to_owned(), ElementwiseInstruction::attr_of(&self.instructions)),
            ("outputs".to_owned(), integers(self.outputs.iter().map(|&value| value as i64))),
        ]
    }
}

fn pieces(numbers: &[i64], num_args: usize) -> Result<Vec<ElementwisePiece>> {
    let piece = |pair: &[i64]| match *pair {
        [index, count] if 0 <= index && index < count => Some(ElementwisePiece { index: index as usize, count: count as usize }),
        _ => None,
    };
    match numbers.chunks(2).map(piece).collect::<Option<Vec<_>>>() {
        Some(pieces) if pieces.len() == num_args => Ok(pieces),
        _ => bail!(InvalidArgument, "The pieces {numbers:?} do not describe {num_args} arguments"),
    }
}

pub(super) fn integers(values: impl Iterator<Item = i64>) -> AttrValue {
    Value::List(Box::new(ListValue { i: values.collect(), ..ListValue::default() })).into()
}
