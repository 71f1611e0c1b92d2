//! `_FusedElementwise`: programs of element-wise functions that the optimizer makes.

use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, Function, Instruction, Operand, Operation, Program};
use flowmill_graph::{ElementwiseFunction, ElementwisePiece, ElementwiseProgram};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register(
        "_FusedElementwise",
        KernelDef::new(make).constrain("T", &[DType::F32]).fuses(|function| function_of(function).is_some()),
    );
}

/// Returns the text of a function of programs. Predicates are left out: the values of a program are of one type.
pub(super) fn function_of(function: ElementwiseFunction) -> Option<&'static Function> {
    let name = if function == ElementwiseFunction::BiasAdd { "Add" } else { function.name() };
    // A slope is an attribute, which instructions do not have.
    Function::of(name).filter(|found| !found.is_predicate && found.types.list().contains(&DType::F32) && !name.starts_with("LeakyRelu"))
}

struct Fused {
    pieces: Vec<ElementwisePiece>,
    functions: Vec<ElementwiseFunction>,
    program: Program,
    /// Computes all outputs, if they have one shape.
    together: ElementwiseKernel,
    /// Compute one output each.
    apart: Vec<ElementwiseKernel>,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let parsed = ElementwiseProgram::from_attrs(init.attrs, init.input_types.len())?;
    let mut instructions = Vec::with_capacity(parsed.instructions.len());
    for instruction in &parsed.instructions {
        let Some(function) = function_of(instruction.function) else {
            bail!(Unimplemented, "Fusion is not implemented: {}", instruction.function)
        };
        let operands = instruction.operands.iter().copied().collect();
        instructions.push(Instruction { operation: Operation::Apply(function, 0.0), operands, dtype });
    }
    let functions = parsed.instructions.iter().map(|instruction| instruction.function).collect();
    let program =
        Program { inputs: init.input_types.iter().copied().collect(), instructions, outputs: parsed.outputs.iter().copied().collect() };
    // The number of operands is checked.
    program.statements()?;
    let apart = (0..program.outputs.len()).map(|i| ElementwiseKernel::new(program.only(i))).collect();
    let together = ElementwiseKernel::new(program.clone());
    Ok(Arc::new(Fused { pieces: parsed.pieces, functions, program, together, apart }))
}

/// Returns a part of a tensor as an operand.
fn piece_of(device: &GpuDevice, piece: ElementwisePiece, tensor: &Tensor) -> Result<Operand> {
    let mut operand = Operand::of(device, tensor)?;
    if piece.is_whole() {
        return Ok(operand);
    }
    let mut dims = operand.shape.dims().to_vec();
    let Some(last) = dims.last_mut() else { bail!(InvalidArgument, "-input rank(0) <= split_dim < input rank (0), but got -1") };
    if !last.is_multiple_of(piece.count) {
        bail!(
            InvalidArgument,
            "Number of ways to split should evenly divide the split dimension, but got split_dim {} (size = {last}) and num_split {}",
            tensor.rank() - 1,
            piece.count
        );
    }
    *last /= piece.count;
    let first = *last * piece.index;
    operand.shape = Shape::new(&dims);
    operand.start = operand.start.offset(first * tensor.dtype().size().unwrap_or(0));
    Ok(operand)
}

impl Fused {
    /// Returns the shape of each value.
    fn shapes(&self, operands: &[Operand]) -> Result<Vec<Shape>> {
        let mut shapes: Vec<Shape> = operands.iter().map(|operand| operand.shape.clone()).collect();
        for (instruction, &function) in self.program.instructions.iter().zip(&self.functions) {
            let mut shape: Option<Shape> = None;
            for &value in &instruction.operands {
                let other = &shapes[value];
                shape = match shape {
                    None => Some(other.clone()),
                    Some(one)
                        if function == ElementwiseFunction::BiasAdd
                            && (one.rank() < 2 || other.rank() != 1 || one.last() != other.last()) =>
                    {
                        bail!(InvalidArgument, "Must provide as many biases as the last dimension of the input tensor: {other} vs. {one}")
                    }
                    Some(one) => match Shape::broadcast(&one, other) {
                        Some(both) => Some(both),
                        None => bail!(InvalidArgument, "Incompatible shapes: {one} vs. {other}"),
                    },
                };
            }
            shapes.push(shape.unwrap_or_default());
        }
        Ok(shapes)
    }
}

impl Kernel for Fused {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let pieces = self.pieces.iter().enumerate();
        let operands = pieces.map(|(i, &piece)| piece_of(device, piece, ctx.input(i)?)).collect::<Result<SmallVec<[Operand; 4]>>>()?;
        let shapes = self.shapes(&operands)?;
        let mut outputs: SmallVec<[Tensor; 2]> = SmallVec::new();
        for (i, &value) in self.program.outputs.iter().enumerate() {
            outputs.push(ctx.allocate_output(i, self.program.type_of(value)?, &shapes[value])?.clone());
        }
        let fits = |operand: &Operand, output: &Tensor| {
            Shape::broadcast(&operand.shape, output.shape()).is_some_and(|both| both == *output.shape())
        };
        if outputs.iter().all(|output| output.shape() == outputs[0].shape()) && operands.iter().all(|operand| fits(operand, &outputs[0])) {
            return self.together.apply_to(device, &operands, &outputs.iter().collect::<SmallVec<[&Tensor; 2]>>());
        }
        for (kernel, output) in self.apart.iter().zip(&outputs) {
            // An operand that cannot be broadcast to the output is not one of its values.
            let unused = |operand: &Operand| Operand { start: operand.start, shape: Shape::scalar(), strides: SmallVec::new() };
            let own: SmallVec<[Operand; 4]> =
                operands.iter().map(|operand| if fits(operand, output) { operand.clone() } else { unused(operand) }).collect();
            kernel.apply_to(device, &own, &[output])?;
        }
        Ok(())
    }
}
