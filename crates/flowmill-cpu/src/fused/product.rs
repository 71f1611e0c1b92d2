//! `_FusedElementwiseProduct`: a product, or a convolution of one position, whose rows a program of element-wise functions makes.
//!
//! The rows are computed into the cache, some at a time, and multiplied there. They are never stored as a whole, unless that is small.

use super::elementwise::Values;
use super::program::{Arg, Program};
use crate::fused_ops::{FusedOps, Start};
use crate::gemm::{Epilogue, PackedRhs, gemm_packed, with_scratch};
use crate::packed_weights::{PackedWeights, precision_of};
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

/// The bytes of rows that are computed at a time.
const BLOCK_BYTES: usize = 256 << 10;
/// The least number of rows that are multiplied at a time, because each time reads the whole matrix.
const LEAST_ROWS: usize = 64;

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    let num_args = usize::try_from(init.attrs.get::<i64>("N")?).unwrap_or(0);
    let (program, ops) = (Program::with_args(init, num_args)?, FusedOps::new(init)?);
    let num_epilogue = usize::try_from(init.attrs.get::<i64>("num_epilogue")?).unwrap_or(0);
    if num_epilogue != usize::from(ops.bias) + usize::from(ops.residual) || ops.start != Start::Zero {
        bail!(InvalidArgument, "a product has {num_epilogue} inputs behind its rows, which its functions do not take");
    }
    let &[output] = &program.outputs[..] else { bail!(InvalidArgument, "a program with {} results, not 1", program.outputs.len()) };
    Ok(Arc::new(ElementwiseProduct { cost: program.cost(), program, output, ops, weights: PackedWeights::new(precision_of(init, 0)) }))
}

struct ElementwiseProduct {
    program: Program,
    /// The cost per element, in simple operations.
    cost: usize,
    /// The value of the program that is multiplied.
    output: usize,
    ops: FusedOps,
    weights: PackedWeights,
}

impl ElementwiseProduct {
    fn product(&self, ctx: &KernelContext<'_>) -> Result<Tensor> {
        let inputs: SmallVec<[&Tensor; 8]> = ctx.inputs_from(1).collect();
        let Some((args, epilogue)) = inputs.split_at_checked(self.program.num_args()) else {
            bail!(InvalidArgument, "{} inputs of a program with {} arguments", inputs.len(), self.program.num_args());
        };
        let args: SmallVec<[Arg<'_>; 8]> = args.iter().copied().map(Arg::Tensor).collect();
        let plan = self.program.plan(&args)?;
        let values = Values::new(&self.program, &plan, ctx.allocator(), &args)?;
        let rows = &plan.shapes[self.output];
        let Some((&depth, before)) = rows.dims().split_last().filter(|(_, before)| !before.is_empty()) else {
            bail!(InvalidArgument, "rows of a product must be at least of rank 2: {rows}");
        };
        let weights = self.weights.get(ctx.input(0)?, depth)?;
        let matrix = &weights.matrix;
        let n = matrix.n();
        let shape: Shape = before.iter().copied().chain([n]).collect::<Vec<_>>().into();
        let m = Shape::new(before).checked_num_elements()?;
        let mut out = ctx.allocator().uninit(DType::F32, shape.clone())?;
        let epilogue = self.epilogue(epilogue, &shape, n)?;
        if out.num_elements() == 0 {
            return Ok(out);
        }
        let target = out.as_mut_slice::<f32>()?;
        if let Some(rows) = values.tensor(self.output) {
            gemm_packed(rows.as_slice()?, depth, m, matrix, target, n, &epilogue);
            return Ok(out);
        }
        let at_once = (BLOCK_BYTES / size_of::<f32>() / depth.max(1)).max(LEAST_ROWS);
        if depth == 0 || m <= at_once {
            let mut rows = ctx.allocator().uninit(DType::F32, rows.clone())?;
            if depth > 0 {
                values.blocks()?.run(std::slice::from_mut(&mut rows), self.cost)?;
            }
            gemm_packed(rows.as_slice()?, depth, m, matrix, target, n, &epilogue);
            return Ok(out);
        }
        let blocks = values.blocks()?;
        // Threads get as many blocks each, of nearly the same size.
        let threads = parallel::threads();
        let pieces = m.div_ceil(at_once).next_multiple_of(threads).min(m.div_ceil(LEAST_ROWS)).max(1);
        parallel::parts(target, (0..pieces).map(|i| parallel::piece(m, pieces, i).len() * n), |i, target| {
            let rows = parallel::piece(m, pieces, i);
            parallel::alone(|| {
                with_scratch(rows.len() * depth, |scratch: &mut [f32]| {
                    blocks.fill(rows.start * depth..rows.end * depth, scratch);
                    multiply(scratch, rows.start, depth, matrix, target, &epilogue);
                });
            });
        });
        Ok(out)
    }

    /// Returns the epilogue of a product of this shape with its operands.
    fn epilogue<'a>(&self, args: &[&'a Tensor], shape: &Shape, n: usize) -> Result<Epilogue<'a>> {
        let mut args = args.iter();
        let mut epilogue = Epilogue::bias_activation(None, self.ops.activation);
        if self.ops.bias {
            let Some(bias) = args.next().filter(|bias| bias.num_elements() == n) else {
                bail!(InvalidArgument, "Must provide as many biases as the last dimension of the product: {n}");
            };
            epilogue.bias = Some(bias.as_slice()?);
        }
        if self.ops.residual {
            let Some(residual) = args.next().filter(|residual| residual.shape() == shape) else {
                bail!(InvalidArgument, "Incompatible shapes: {shape} of a product, and what is added to it");
            };
            epilogue.residual = Some((residual.as_slice()?, n));
        }
        Ok(epilogue)
    }
}

/// Multiplies rows, of which the first is row `first` of the product.
fn multiply(rows: &[f32], first: usize, depth: usize, matrix: &PackedRhs, target: &mut [f32], epilogue: &Epilogue<'_>) {
    let n = matrix.n();
    gemm_packed(rows, depth, target.len() / n, matrix, target, n, &epilogue.from_row(first));
}

impl Kernel for ElementwiseProduct {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let product = self.product(ctx)?;
        ctx.set_output(0, product);
        Ok(())
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some("product of computed rows")
    }
}
