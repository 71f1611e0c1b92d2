//! `_FusedConv2DElementwise`, `_FusedDepthwiseConv2dElementwise` and `_FusedMatMulElementwise`: a convolution or product, and a program of element-wise
//! functions behind it.
//!
//! The program is applied in place to bands of rows while they are in the cache. It is applied to the result as a whole if that is small, and if the
//! weights are so large that each band would read them from memory again.

use super::elementwise::Values;
use super::program::{Arg, Program, code_of};
use crate::conv::{Conv2d, Depthwise};
use crate::fused_ops::FusedOps;
use crate::linear::{Linear, LinearCall, RowGrid};
use crate::linear_algebra::FusedMatMul;
use crate::parallel;
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// The bytes of the result that are computed at a time: a part of a core's L2 cache.
const BAND_BYTES: usize = 256 << 10;
/// The bytes of the result per thread up to which the program is applied to the whole result, which the caches near a core hold: bands gained nothing there, and lost
/// up to a tenth on two threads, because they divide the tiles of Winograd's method less evenly.
const WHOLE_BYTES: usize = 2 << 20;
/// The most bytes of weights that stay in the cache beside a band.
const MAX_WEIGHTS: usize = 512 << 10;

pub(super) fn register(registry: &mut KernelRegistry) {
    let mut add = |op: &'static str, make: fn(&KernelInit<'_>) -> Result<Arc<dyn Kernel>>| {
        registry.register(op, KernelDef::new(make).constrain("T", &[DType::F32]).fuses(|function| code_of(function).is_some()));
    };
    add("_FusedConv2DElementwise", |init| make(init, Conv2d::new));
    add("_FusedDepthwiseConv2dElementwise", |init| make(init, Depthwise::new));
    add("_FusedMatMulElementwise", |init| make(init, FusedMatMul::from_zero));
}

fn make<L: Linear>(init: &KernelInit<'_>, linear: fn(&KernelInit<'_>, FusedOps) -> Result<L>) -> Result<Arc<dyn Kernel>> {
    let count = |name: &str| -> Result<usize> { Ok(usize::try_from(init.attrs.get::<i64>(name)?).unwrap_or(0)) };
    let ops = FusedOps::new(init)?;
    let (num_epilogue, num_args) = (count("num_epilogue")?, count("N")?);
    if num_epilogue != usize::from(ops.bias) + usize::from(ops.residual) {
        bail!(InvalidArgument, "{} has {num_epilogue} inputs behind its weights, which its functions do not take", init.op_def.name);
    }
    let program = Program::with_args(init, 1 + num_args)?;
    let first = 2 + num_epilogue;
    // An argument that is not broadcast along the images has one element for each of them, or more.
    let is_batched = |i: &usize| init.input_shape(*i).dims().is_some_and(|dims| dims.len() == 4 && dims[0] != 1);
    let batched = (first..first + num_args).filter(is_batched).fold(0, |mask, i| mask | 1u32.checked_shl(i as u32).unwrap_or(0));
    let has_shapes = (first..first + num_args).all(|i| init.input_shape(i).rank().is_some() && i < u32::BITS as usize);
    let batched = has_shapes.then_some(batched);
    Ok(Arc::new(LinearElementwise { linear: linear(init, ops)?, cost: program.cost(), program, first, batched }))
}

struct LinearElementwise<L> {
    linear: L,
    program: Program,
    /// The cost of the program per element, in simple operations.
    cost: usize,
    /// The first input that is an argument of the program.
    first: usize,
    /// The arguments that are processed image by image; `None` if that is not known.
    batched: Option<u32>,
}

impl<L: Linear> Kernel for LinearElementwise<L> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let call = self.linear.call(ctx)?;
        let mut out = ctx.allocator().uninit(DType::F32, call.shape().clone())?;
        if out.num_elements() > 0 {
            let args = ctx.inputs_from(self.first).map(Arg::Tensor);
            let args: SmallVec<[Arg<'_>; 8]> = std::iter::once(Arg::Target(call.shape())).chain(args).collect();
            if args.len() != self.program.num_args() {
                bail!(InvalidArgument, "{} inputs of a program with {} arguments", args.len(), self.program.num_args());
            }
            let plan = self.program.plan(&args)?;
            let values = Values::new(&self.program, &plan, ctx.allocator(), &args)?;
            let blocks = values.blocks()?;
            let grid = call.grid();
            match bands(&grid, size_of::<f32>() * out.num_elements(), parallel::threads()) {
                Some(bands) => {
                    let row_len = out.num_elements() / grid.num_rows();
                    in_bands(&bands, row_len, &mut out, |rows, band| {
                        call.compute(rows.clone(), band)?;
                        blocks.fill(rows.start * row_len..rows.end * row_len, band);
                        Ok(())
                    })?;
                }
                None => {
                    call.compute(0..grid.num_rows(), out.as_mut_slice()?)?;
                    blocks.run(std::slice::from_mut(&mut out), self.cost)?;
                }
            }
        }
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        self.linear.cost()
    }

    fn batched_inputs(&self) -> u32 {
        match (self.linear.batched_inputs(), self.batched) {
            (0, _) | (_, None) => 0,
            (linear, Some(args)) => linear | args,
        }
    }

    fn algorithm(&self) -> Option<&'static str> {
        self.linear.algorithm()
    }
}

/// Returns the bands of rows, which are nearly as large for each thread; `None` if the whole result is computed before the program.
fn bands(grid: &RowGrid, bytes: usize, threads: usize) -> Option<Vec<Range<usize>>> {
    let &RowGrid { images, height, step, weights } = grid;
    if bytes <= WHOLE_BYTES.saturating_mul(threads) || weights > MAX_WEIGHTS || step >= height && images == 1 {
        return None;
    }
    let at_once = BAND_BYTES * grid.num_rows() / bytes;
    if at_once >= height {
        let count = images.div_ceil(at_once / height).next_multiple_of(threads).min(images);
        let band = |i: usize| parallel::piece(images, count, i);
        return Some((0..count).map(|i| band(i).start * height..band(i).end * height).collect());
    }
    let steps = height.div_ceil(step);
    let least = steps.div_ceil((at_once / step).max(1));
    let is_even = |&per_image: &usize| per_image <= steps && (images * per_image).is_multiple_of(threads);
    let per_image = (least..least + threads).find(is_even).unwrap_or(least);
    let band = move |image: usize, i: usize| {
        let steps = parallel::piece(steps, per_image, i);
        image * height + steps.start * step..image * height + (steps.end * step).min(height)
    };
    Some((0..images).flat_map(|image| (0..per_image).map(move |i| band(image, i))).collect())
}

/// Calls `f` with each band and its elements, each on one thread. Returns the first error.
fn in_bands(
    bands: &[Range<usize>],
    row_len: usize,
    out: &mut Tensor,
    f: impl Fn(&Range<usize>, &mut [f32]) -> Result<()> + Sync,
) -> Result<()> {
    let lengths = bands.iter().map(|rows| rows.len() * row_len);
    parallel::try_parts(out.as_mut_slice::<f32>()?, lengths, |i, band| parallel::alone(|| f(&bands[i], band)))
}
