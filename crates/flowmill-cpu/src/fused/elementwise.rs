//! `_FusedElementwise`, which applies several functions of `float32`, element by element, in one pass over memory.
//!
//! Values of the results' size are computed block by block, so that all temporaries stay in the L1 cache. Smaller values, which are broadcast later
//! (a bias, a row's variance), are computed once beforehand, as tensors. Every function is that of the op's own kernel and is applied to each
//! element independently, so the results are bit for bit those of the unfused nodes.

use super::blocks::Blocks;
use super::plan::{Few, Plan};
use super::program::{Arg, Program};
use crate::elementwise::Operand;
use flowmill_graph::ElementwisePiece;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    let program = Program::new(init)?;
    Ok(Arc::new(Elementwise { cost: program.cost(), program }))
}

struct Elementwise {
    program: Program,
    /// The cost per element, in simple operations.
    cost: usize,
}

impl Kernel for Elementwise {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let results = {
            let args: SmallVec<[Arg<'_>; 8]> = ctx.inputs_from(0).map(Arg::Tensor).collect();
            self.results(ctx.allocator(), &args)?
        };
        for (i, result) in results.into_iter().enumerate() {
            ctx.set_output(i, result);
        }
        Ok(())
    }
}

/// The values of a program for one call: those that are smaller than the results are computed, the others are left for blocks.
pub(super) struct Values<'a> {
    program: &'a Program,
    plan: &'a Plan,
    args: &'a [Arg<'a>],
    /// The values that were computed; empty if the plan has none.
    tensors: Few<Option<Tensor>>,
}

impl<'a> Values<'a> {
    /// Computes the values that blocks do not. `plan` is for arguments of the shapes of `args`.
    pub(super) fn new(program: &'a Program, plan: &'a Plan, alloc: &Allocator, args: &'a [Arg<'a>]) -> Result<Values<'a>> {
        let mut values = Values { program, plan, args, tensors: Few::new() };
        if plan.tensors.is_empty() {
            return Ok(values);
        }
        values.tensors = Few::from_elem(None, plan.shapes.len());
        for &v in &plan.tensors {
            let computed = match (args.get(v), v.checked_sub(program.num_args()).and_then(|i| program.instrs.get(i))) {
                (Some(&Arg::Tensor(arg)), _) => part(alloc, arg, program.pieces[v], &plan.shapes[v])?,
                (None, Some(instr)) => instr.whole(alloc, |v| values.tensor(v))?,
                _ => bail!(Internal, "value {v} of a program cannot be a tensor"),
            };
            values.tensors[v] = Some(computed);
        }
        Ok(values)
    }

    /// Returns a value that is a tensor: one that was computed, or an argument of which no part was.
    pub(super) fn tensor(&self, v: usize) -> Option<&Tensor> {
        match (self.tensors.get(v), self.args.get(v)) {
            (Some(Some(tensor)), _) => Some(tensor),
            (_, Some(&Arg::Tensor(arg))) if self.program.pieces[v].is_whole() => Some(arg),
            _ => None,
        }
    }

    /// Returns the part of the program that is left for blocks.
    pub(super) fn blocks(&self) -> Result<Blocks<'_>> {
        let full = &self.plan.shapes[self.plan.widest];
        let mut operands: SmallVec<[Operand<'_, f32>; 8]> = SmallVec::new();
        for &v in &self.plan.operands {
            operands.push(match (self.tensor(v), self.args.get(v)) {
                (Some(tensor), _) => Operand::new(tensor.as_slice()?, &self.plan.shapes[v], full),
                (None, Some(Arg::Tensor(arg))) => {
                    let ElementwisePiece { index, count } = self.program.pieces[v];
                    Operand::columns(arg.as_slice()?, arg.shape(), index, count)
                }
                (None, _) => bail!(Internal, "value {v} of a program was not computed"),
            });
        }
        Ok(Blocks::new(self.program, self.plan, operands))
    }
}

impl Elementwise {
    fn results(&self, alloc: &Allocator, args: &[Arg<'_>]) -> Result<SmallVec<[Tensor; 2]>> {
        let program = &self.program;
        let plan = program.plan(args)?;
        let mut values = Values::new(program, &plan, alloc, args)?;
        let mut outputs: SmallVec<[Tensor; 2]> = SmallVec::new();
        for &v in program.outputs.iter().filter(|v| !plan.tensors.contains(v)) {
            outputs.push(alloc.uninit(DType::F32, plan.shapes[v].clone())?);
        }
        if !outputs.is_empty() && plan.shapes[plan.widest].num_elements() > 0 {
            values.blocks()?.run(&mut outputs, self.cost)?;
        }
        if plan.tensors.is_empty() {
            return Ok(outputs);
        }
        let mut computed = outputs.into_iter();
        let mut results = SmallVec::new();
        for &v in &program.outputs {
            match values.tensors[v].take().or_else(|| computed.next()) {
                Some(result) => results.push(result),
                None => bail!(Internal, "value {v} of a fused node was not computed"),
            }
        }
        Ok(results)
    }
}

/// Returns a copy of a part of the last dimension.
fn part(alloc: &Allocator, arg: &Tensor, piece: ElementwisePiece, shape: &Shape) -> Result<Tensor> {
    let mut out = alloc.uninit(DType::F32, shape.clone())?;
    let source = arg.as_slice::<f32>()?;
    let width = shape.last().copied().unwrap_or(1);
    if width > 0 {
        let rows = source.chunks_exact(width * piece.count);
        out.as_mut_slice::<f32>()?
            .chunks_exact_mut(width)
            .zip(rows)
            .for_each(|(to, row)| to.copy_from_slice(&row[piece.index * width..][..width]));
    }
    Ok(out)
}
