//! `Cholesky` and `MatrixTriangularSolve`.

use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F32, DType::F64];
const TEXT: &str = include_str!("triangular.cu");
/// The number of threads of a block.
const THREADS: u32 = 256;
/// The most blocks in y.
const MOST_BLOCKS: usize = 65_535;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Cholesky", KernelDef::new(make_cholesky).constrain("T", TYPES));
    registry.register("MatrixTriangularSolve", KernelDef::new(make_solve).constrain("T", TYPES));
}

fn make_cholesky(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(TEXT, "cholesky", dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let &[ref outer @ .., rows, columns] = input.shape().dims() else {
            bail!(InvalidArgument, "Input tensor must have rank >= 2, got {}", input.rank());
        };
        if rows != columns {
            bail!(InvalidArgument, "Input matrix must be square.");
        }
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let (to, batch) = (device.address(&output)?, outer.iter().product::<usize>());
        device.gpu().copy(to, device.address(&input)?, output.num_bytes())?;
        let grid = Grid { blocks: [word(batch)?.min(1 << 30), 1, 1], threads: [THREADS, 1, 1] };
        program.launch(device, grid, &[Argument::Address(to), Argument::U32(word(batch)?), Argument::U32(word(rows)?)])
    })
}

fn make_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (is_lower, is_adjoint) = (init.attrs.get_or("lower", true)?, init.attrs.get_or("adjoint", false)?);
    let dtype = init.dtype("T")?;
    let size = dtype.size().unwrap_or(0);
    let program = CompiledKernel::of(TEXT, "solve", dtype)?;
    from_fn(move |ctx| {
        let (matrix, rhs) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (&[ref of_matrix @ .., rows, columns], &[ref of_rhs @ .., n, width]) = (matrix.shape().dims(), rhs.shape().dims()) else {
            bail!(InvalidArgument, "Input tensor must have rank >= 2, got {}", matrix.rank().min(rhs.rank()));
        };
        if rows != columns {
            bail!(InvalidArgument, "Input matrix must be square.");
        }
        if rows != n {
            bail!(InvalidArgument, "Input matrix and right-hand side must have the same number of rows, got {rows} and {n}.");
        }
        let (of_matrix, of_rhs) = (Shape::new(of_matrix), Shape::new(of_rhs));
        let Some(batch) = Shape::broadcast(&of_matrix, &of_rhs) else {
            bail!(InvalidArgument, "The batch dimensions {of_matrix} and {of_rhs} cannot be broadcast");
        };
        let output = ctx.allocate_output(0, dtype, &Shape::new(&[batch.dims(), &[n, width]].concat()))?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let (to, a, b) = (device.address(&output)?, device.address(&matrix)?, device.address(&rhs)?);
        let [square, panel] = [n * n, n * width];
        let is_one = |shape: &Shape| shape.num_elements() == 1;
        let strides = [(&of_matrix, square), (&of_rhs, panel)].map(|(shape, size)| if is_one(shape) { 0 } else { size });
        // Systems that are enqueued together are adjacent; others are enqueued one by one.
        let is_regular = [&of_matrix, &of_rhs].into_iter().all(|shape| *shape == batch || is_one(shape));
        let count = batch.num_elements();
        let at_once = if is_regular { MOST_BLOCKS } else { 1 };
        for first in (0..count).step_by(at_once) {
            let systems = at_once.min(count - first);
            let (of_a, of_b) = match is_regular {
                true => (first * strides[0], first * strides[1]),
                false => (place(&of_matrix, &batch, first) * square, place(&of_rhs, &batch, first) * panel),
            };
            let words = [word(n)?, word(width)?, is_lower.into(), is_adjoint.into(), word(strides[0])?, word(strides[1])?];
            let addresses = [to.offset(first * panel * size), a.offset(of_a * size), b.offset(of_b * size)];
            let [to, a, b] = addresses.map(Argument::Address);
            let grid = Grid { blocks: [word(width.div_ceil(THREADS as usize))?, systems as u32, 1], threads: [THREADS, 1, 1] };
            program.launch(device, grid, &[to, a, b, Argument::Words(&words)])?;
        }
        Ok(())
    })
}

/// Returns the number of the element of a tensor of shape `own` that is broadcast to element `i` of one of shape `batch`.
fn place(own: &Shape, batch: &Shape, i: usize) -> usize {
    let missing = batch.rank() - own.rank();
    let strides = own.strides();
    let (mut rest, mut at) = (i, 0);
    for d in (0..batch.rank()).rev() {
        let index = rest % batch.dims()[d];
        rest /= batch.dims()[d];
        if d >= missing && own.dims()[d - missing] != 1 {
            at += index * strides[d - missing];
        }
    }
    at
}
