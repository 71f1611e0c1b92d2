//! `_FusedReduction`, which computes element-wise functions and reductions over the same axes without storing what lies between.
//!
//! The dimensions before the first reduced one are independent *slices*. Small slices, such as the rows of a layer norm or softmax, are computed a few at a
//! time, all instructions in turn, so that every value stays in the L1 cache ([`small`]). Large slices, such as the images of a group norm, are read
//! once for each reduction that depends on another and once for the result, block by block ([`large`]).
//!
//! The division of a slice depends on shapes alone, so results have the same bits for any number of threads.

mod large;
mod plan;
mod small;

use super::first_plan::FirstPlan;
use super::program::{Instr, code_of};
use crate::reduction::{Max, Mean, Min, Sum, reduce};
use flowmill_graph::{ElementwiseFunction, ReductionFunction, ReductionInstruction, ReductionProgram};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail};
use plan::Plan;
use smallvec::SmallVec;
use std::sync::Arc;

/// Returns true if a program may have the function.
pub(super) fn can_be(function: ElementwiseFunction) -> bool {
    code_of(function).is_some()
}

/// An instruction with its code.
enum Step {
    Function(Instr),
    Reduce(ReductionFunction, usize),
}

impl Step {
    fn operands(&self) -> &[usize] {
        match self {
            Step::Function(instr) => &instr.operands,
            Step::Reduce(_, operand) => std::slice::from_ref(operand),
        }
    }
}

/// A program with the code of its functions.
struct Program {
    num_args: usize,
    /// The reduced axes, counted from the last, which is 1.
    axes: Vec<usize>,
    steps: Vec<Step>,
    /// The cost per element, in simple operations.
    cost: usize,
}

impl Program {
    fn new(init: &KernelInit<'_>) -> Result<Program> {
        let program = ReductionProgram::from_attrs(init.attrs, init.input_types.len())?;
        let mut steps = Vec::new();
        let mut cost = 0;
        for instruction in program.instructions {
            steps.push(match instruction {
                ReductionInstruction::Elementwise(instruction) => {
                    let instr = Instr::new(instruction)?;
                    cost += instr.function.cost();
                    Step::Function(instr)
                }
                ReductionInstruction::Reduce(function, operand) => {
                    cost += 1;
                    Step::Reduce(function, operand)
                }
            });
        }
        Ok(Program { num_args: program.num_args, axes: program.axes, steps, cost })
    }

    /// Returns the shapes of all values.
    fn shapes(&self, args: &[&Tensor]) -> Result<Vec<Shape>> {
        let mut shapes: Vec<Shape> = args.iter().map(|arg| arg.shape().clone()).collect();
        for step in &self.steps {
            let shape = match step {
                Step::Function(instr) => instr.shape(&shapes)?,
                Step::Reduce(_, operand) => {
                    let mut shape = shapes[*operand].clone();
                    for &axis in &self.axes {
                        let Some(axis) = shape.rank().checked_sub(axis) else {
                            bail!(InvalidArgument, "Invalid reduction dimension (-{axis} for input with {} dimension(s)", shape.rank());
                        };
                        shape[axis] = 1;
                    }
                    shape
                }
            };
            shape.checked_num_elements()?;
            shapes.push(shape);
        }
        Ok(shapes)
    }

    /// Returns the result by whole tensors, one instruction after the other.
    fn whole(&self, alloc: &Allocator, args: &[&Tensor]) -> Result<Tensor> {
        let mut values: Vec<Option<Tensor>> = args.iter().map(|&arg| Some(arg.clone())).collect();
        for step in &self.steps {
            let value = match step {
                Step::Function(instr) => instr.whole(alloc, |v| values[v].as_ref())?,
                Step::Reduce(function, operand) => match &values[*operand] {
                    Some(operand) => self.reduced(alloc, *function, operand)?,
                    None => bail!(Internal, "an operand of a fused reduction was not computed"),
                },
            };
            values.push(Some(value));
        }
        match values.pop().flatten() {
            Some(result) => Ok(result),
            None => bail!(Internal, "a fused reduction without a result"),
        }
    }

    fn reduced(&self, alloc: &Allocator, function: ReductionFunction, operand: &Tensor) -> Result<Tensor> {
        let axes: Vec<i64> = self.axes.iter().map(|&axis| -(axis as i64)).collect();
        let axes = alloc.vector(&axes)?;
        match function {
            ReductionFunction::Max => reduce::<f32, Max>(alloc, operand, &axes, true),
            ReductionFunction::Mean => reduce::<f32, Mean>(alloc, operand, &axes, true),
            ReductionFunction::Min => reduce::<f32, Min>(alloc, operand, &axes, true),
            ReductionFunction::Sum => reduce::<f32, Sum>(alloc, operand, &axes, true),
        }
    }
}

/// Makes the kernel of `_FusedReduction`.
pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    Ok(Arc::new(FusedReduction { program: Program::new(init)?, plan: FirstPlan::new() }))
}

struct FusedReduction {
    program: Program,
    /// `None` for shapes that cannot be computed by slices.
    plan: FirstPlan<Option<Plan>>,
}

impl Kernel for FusedReduction {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let result = {
            let args: SmallVec<[&Tensor; 8]> = ctx.inputs_from(0).collect();
            self.result(ctx.allocator(), &args)?
        };
        ctx.set_output(0, result);
        Ok(())
    }
}

impl FusedReduction {
    fn result(&self, alloc: &Allocator, args: &[&Tensor]) -> Result<Tensor> {
        let program = &self.program;
        let planned = self.plan.get(args.iter().map(|arg| arg.shape()), || Ok(Plan::new(program, &program.shapes(args)?)))?;
        let Some(plan) = &*planned else { return program.whole(alloc, args) };
        let tensors = plan.tensors(program, alloc, args)?;
        let mut out = alloc.uninit(DType::F32, plan.full.clone())?;
        let elements = out.as_mut_slice::<f32>()?;
        if plan.slice <= small::MAX_SLICE {
            small::compute(plan, &tensors, elements)?
        } else {
            large::compute(plan, &tensors, elements)?
        }
        Ok(out)
    }
}
