//! `_FusedElementwise`, which applies several functions of `float32`, element by element, in one pass over memory.
//!
//! Values of the results' size are computed block by block, so that all temporaries stay in the L1 cache. Smaller values, which are broadcast later
//! (a bias, a row's variance), are computed once beforehand, as tensors. Every function is that of the op's own kernel and is applied to each
//! element independently, so the results are bit for bit those of the unfused nodes.

use super::blocks::Blocks;
use super::program::{Arg, Program, piece_shape};
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

/// A short list, for the results and shapes of a call.
pub(super) type Few<T> = SmallVec<[T; 16]>;

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

/// Returns a shape without leading ones, which do not affect the order of elements.
fn trimmed(shape: &Shape) -> &[usize] {
    let dims = shape.dims();
    &dims[dims.iter().take_while(|&&d| d == 1).count()..]
}

/// The values of a program for one call: those that are smaller than the results are computed, the others are left for blocks.
pub(super) struct Values {
    pub(super) shapes: Few<Shape>,
    pub(super) tensors: Few<Option<Tensor>>,
    /// The value with the shape of the blocks.
    pub(super) widest: usize,
}

impl Values {
    /// Computes the values that blocks do not.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if arguments do not fit together, and if a program does not keep the shape of a target.
    pub(super) fn new(program: &Program, alloc: &Allocator, args: &[Arg<'_>]) -> Result<Values> {
        let mut shapes: Few<Shape> = Few::new();
        for (arg, piece) in args.iter().zip(&program.pieces) {
            shapes.push(piece_shape(*piece, arg.shape())?);
        }
        for instr in &program.instrs {
            let shape = instr.shape(&shapes)?;
            shape.checked_num_elements()?;
            shapes.push(shape);
        }
        let sizes: Few<usize> = shapes.iter().map(Shape::num_elements).collect();
        let num_args = program.num_args();
        let widest = (num_args..shapes.len()).max_by_key(|&v| sizes[v]).unwrap_or(num_args);
        let (len, full) = (sizes[widest], &shapes[widest]);
        // Values of one size but different shapes have no common order of elements.
        let has_one_order = (num_args..shapes.len()).all(|v| sizes[v] < len || trimmed(&shapes[v]) == trimmed(full));
        let is_blockwise = |v: usize| has_one_order && sizes[v] == len;

        let mut tensors: Few<Option<Tensor>> = Few::from_elem(None, shapes.len());
        let used_whole =
            |v: usize| program.instrs.iter().enumerate().any(|(i, instr)| !is_blockwise(num_args + i) && instr.operands.contains(&v));
        for (v, (arg, piece)) in args.iter().zip(&program.pieces).enumerate() {
            let &Arg::Tensor(arg) = arg else {
                if !piece.is_whole() || used_whole(v) || shapes[v] != *full || program.outputs != [widest] {
                    bail!(InvalidArgument, "a program does not keep the shape {}: its result has shape {full}", shapes[v]);
                }
                continue;
            };
            if piece.is_whole() {
                tensors[v] = Some(arg.clone());
            } else if used_whole(v) || trimmed(&shapes[v]) != trimmed(full) {
                tensors[v] = Some(part(alloc, arg, *piece, &shapes[v])?);
            }
        }
        for (i, instr) in program.instrs.iter().enumerate() {
            if !is_blockwise(num_args + i) {
                tensors[num_args + i] = Some(instr.whole(alloc, &tensors)?);
            }
        }
        Ok(Values { shapes, tensors, widest })
    }

    /// Returns the part of the program that is left for blocks.
    pub(super) fn blocks<'a>(&'a self, program: &'a Program, args: &[Arg<'a>]) -> Result<Blocks<'a>> {
        Blocks::new(program, &self.shapes[self.widest], args, &self.shapes, &self.tensors)
    }
}

impl Elementwise {
    fn results(&self, alloc: &Allocator, args: &[Arg<'_>]) -> Result<SmallVec<[Tensor; 2]>> {
        let program = &self.program;
        let mut values = Values::new(program, alloc, args)?;
        let mut outputs: SmallVec<[Tensor; 2]> = SmallVec::new();
        for &v in program.outputs.iter().filter(|&&v| values.tensors[v].is_none()) {
            outputs.push(alloc.uninit(DType::F32, values.shapes[v].clone())?);
        }
        if !outputs.is_empty() && values.shapes[values.widest].num_elements() > 0 {
            values.blocks(program, args)?.run(&mut outputs, self.cost)?;
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
