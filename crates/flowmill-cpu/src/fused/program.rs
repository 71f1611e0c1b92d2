//! The program of a `_FusedElementwise`, after checks and with its temporaries assigned.

use crate::elementwise::Function;
use crate::{math_binary, math_unary, nn};
use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// Part `index` of `count` equal parts of an argument's last dimension.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub(super) index: usize,
    pub(super) count: usize,
}

impl Piece {
    pub(super) fn is_whole(self) -> bool {
        self.count == 1
    }

    /// Returns the part's shape.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the dimension cannot be split evenly.
    pub(super) fn shape(self, whole: &Shape) -> Result<Shape> {
        let mut shape = whole.clone();
        if !self.is_whole() {
            match shape.last_mut() {
                Some(last) if last.is_multiple_of(self.count) => *last /= self.count,
                Some(last) => bail!(
                    InvalidArgument,
                    "Number of ways to split should evenly divide the split dimension, but got split_dim {} (size = {last}) and num_split {}",
                    whole.rank() - 1,
                    self.count
                ),
                None => bail!(InvalidArgument, "-input rank(0) <= split_dim < input rank (0), but got -1"),
            }
        }
        Ok(shape)
    }
}

/// A function and the indices of the values that it is applied to.
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
    fn parse(text: &str, num_values: usize) -> Result<Instr> {
        let mut words = text.split(' ');
        let name: ElementwiseFunction = words.next().unwrap_or_default().parse()?;
        let Some(function) = code_of(name) else { bail!(Unimplemented, "Fusion is not implemented: {name}") };
        let operands: SmallVec<[usize; 2]> = words.filter_map(|w| w.parse().ok().filter(|&v| v < num_values)).collect();
        if operands.len() != function.num_operands() || text.split(' ').count() != 1 + operands.len() {
            bail!(InvalidArgument, "'{text}' is no instruction on {num_values} values");
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

    /// Returns the result for whole tensors, without blocks.
    pub(super) fn whole(&self, values: &[Option<Tensor>]) -> Result<Tensor> {
        let operands: SmallVec<[&Tensor; 2]> = self.operands.iter().filter_map(|&v| values[v].as_ref()).collect();
        self.function.whole(&operands)
    }
}

/// A checked program. Value `v` is argument `v`, or the result of instruction `v - num_args`.
pub(super) struct Program {
    pub(super) pieces: Vec<Piece>,
    pub(super) instrs: Vec<Instr>,
    /// The values that are results, in order. All are results of instructions, and no value occurs twice.
    pub(super) outputs: Vec<usize>,
    /// The number of temporaries that are live at once.
    pub(super) num_slots: usize,
}

impl Program {
    pub(super) fn new(init: &KernelInit<'_>) -> Result<Program> {
        let num_args = init.input_types.len();
        let pieces = Self::pieces(&init.attrs.list::<i64>("pieces")?, num_args)?;
        let mut instrs = Vec::new();
        for text in init.attrs.list::<&str>("program")? {
            instrs.push(Instr::parse(text, num_args + instrs.len())?);
        }
        let mut outputs = Vec::new();
        for (i, value) in init.attrs.list::<i64>("outputs")?.into_iter().enumerate() {
            let value = usize::try_from(value).unwrap_or(usize::MAX);
            match value.checked_sub(num_args).and_then(|at| instrs.get_mut(at)) {
                Some(instr) if instr.output.is_none() => instr.output = Some(i),
                _ => bail!(InvalidArgument, "Result {i} of a fused node is value {value}, which is no instruction's or a result already"),
            }
            outputs.push(value);
        }
        if outputs.is_empty() {
            bail!(InvalidArgument, "A fused node has no results");
        }
        let num_slots = place(&mut instrs, num_args);
        Ok(Program { pieces, instrs, outputs, num_slots })
    }

    fn pieces(numbers: &[i64], num_args: usize) -> Result<Vec<Piece>> {
        let pair = |pair: &[i64]| match *pair {
            [index, count] if 0 <= index && index < count => Some(Piece { index: index as usize, count: count as usize }),
            _ => None,
        };
        let pieces: Option<Vec<Piece>> = numbers.chunks(2).map(pair).collect();
        match pieces {
            Some(pieces) if pieces.len() == num_args => Ok(pieces),
            _ => bail!(InvalidArgument, "The pieces {numbers:?} do not describe {num_args} arguments"),
        }
    }

    pub(super) fn num_args(&self) -> usize {
        self.pieces.len()
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
