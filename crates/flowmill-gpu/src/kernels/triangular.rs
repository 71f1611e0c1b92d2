//! `Cholesky` and `MatrixTriangularSolve`, panel by panel: kernels compute a panel, and matrix products update the rest.

use super::matmul;
use crate::backend::{Address, Gemm, Grid, Update};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// The types of factors and solutions.
pub(super) const TYPES: &[DType] = &[DType::F32, DType::F64];
const TEXT: &str = include_str!("triangular.cu");
/// The number of threads of a block.
const THREADS: usize = 256;
/// The most blocks in y.
pub(super) const MOST_BLOCKS: usize = 65_535;
/// The rows or columns of a panel: `PANEL` in `triangular.cu`.
pub(super) const PANEL: usize = 64;
/// The columns of right-hand sides that a block solves.
const COLUMNS: usize = 32;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Cholesky", KernelDef::new(make_cholesky).constrain("T", TYPES));
    registry.register("MatrixTriangularSolve", KernelDef::new(make_solve).constrain("T", TYPES));
}

/// Returns the first and the number of rows of each panel.
pub(super) fn panels(n: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..n.div_ceil(PANEL)).map(move |i| (i * PANEL, PANEL.min(n - i * PANEL)))
}

/// Returns the dimensions of a tensor of square matrices but the last two, and the number of rows.
///
/// # Errors
/// Returns `InvalidArgument` for a tensor of other shapes.
pub(super) fn square(input: &Tensor) -> Result<(Shape, usize)> {
    let input = input.shape();
    let &[ref outer @ .., rows, columns] = input.dims() else {
        bail!(InvalidArgument, "Input tensor must have rank >= 2, got {}", input.rank());
    };
    if rows != columns {
        bail!(InvalidArgument, "Input matrix must be square.");
    }
    Ok((Shape::new(outer), rows))
}

/// Enqueues the subtraction of products from parts of larger matrices, without rounding to TensorFloat-32.
pub(super) fn subtract_products(
    device: &GpuDevice,
    dtype: DType,
    (m, n, k): (usize, usize, usize),
    transposed: [bool; 2],
    matrices: [Address; 3],
    (batch, strides, leading): (usize, [usize; 3], [usize; 3]),
) -> Result<()> {
    if m == 0 || n == 0 || k == 0 {
        return Ok(());
    }
    let [transpose_a, transpose_b] = transposed;
    let update = Some(Update { leading });
    matmul::run(device, &Gemm { dtype, m, n, k, transpose_a, transpose_b, matrices, batch, strides, allow_tf32: false, update })
}

fn make_cholesky(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let size = dtype.size().unwrap_or(0);
    let program = |name| CompiledKernel::of(TEXT, name, dtype);
    let (factor, solve, finish) = (program("factor_diagonal")?, program("solve_rows")?, program("finish_factors")?);
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (outer, n) = square(&input)?;
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let to = device.address(&output)?;
        device.gpu().copy(to, device.address(&input)?, output.num_bytes())?;
        let count = outer.num_elements();
        for first in (0..count).step_by(MOST_BLOCKS) {
            let (batch, base) = (MOST_BLOCKS.min(count - first), to.offset(first * n * n * size));
            for (k, width) in panels(n) {
                let words = [word(batch)?, word(n)?, word(k)?, word(width)?];
                let arguments = [Argument::Address(base), Argument::Words(&words)];
                factor.launch(device, Grid { blocks: [words[0], 1, 1], threads: [THREADS as u32, 1, 1] }, &arguments)?;
                let (next, rest) = (k + width, n - k - width);
                if rest == 0 {
                    continue;
                }
                let grid = Grid { blocks: [word(rest.div_ceil(COLUMNS))?, words[0], 1], threads: [COLUMNS as u32, 1, 1] };
                solve.launch(device, grid, &arguments)?;
                let (rows, corner) = (base.offset((next * n + k) * size), base.offset((next * n + next) * size));
                let (matrices, places) = ([rows, rows, corner], (batch, [n * n; 3], [n; 3]));
                subtract_products(device, dtype, (rest, rest, width), [false, true], matrices, places)?;
            }
        }
        let elements = output.num_elements();
        let arguments = [Argument::Address(to), Argument::U64(elements as u64), Argument::U32(word(n)?)];
        finish.launch(device, device.linear_grid(elements), &arguments)
    })
}

/// Triangular systems with matrices of `n` rows.
#[derive(Clone, Copy)]
pub(super) struct Systems {
    pub(super) n: usize,
    /// The distance between rows of the matrices.
    pub(super) matrix_leading: usize,
    /// The number of systems, which is at most `MOST_BLOCKS`.
    pub(super) batch: usize,
    pub(super) is_lower: bool,
    pub(super) is_adjoint: bool,
    /// True if the diagonals are ones that are not stored.
    pub(super) is_unit: bool,
    /// The distance between matrices in elements, which is 0 if all systems have the same.
    pub(super) matrix_stride: usize,
    /// The columns of the right-hand sides, and the distances between right-hand sides and between their rows.
    pub(super) columns: usize,
    pub(super) rhs_stride: usize,
    pub(super) rhs_leading: usize,
}

/// The kernels that solve triangular systems.
pub(super) struct TriangularSolver {
    dtype: DType,
    size: usize,
    solve_block: CompiledKernel,
}

impl TriangularSolver {
    /// Makes the kernels for elements of a type.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(dtype: DType) -> Result<TriangularSolver> {
        let solve_block = CompiledKernel::of(TEXT, "solve_block", dtype)?;
        Ok(TriangularSolver { dtype, size: dtype.size().unwrap_or(0), solve_block })
    }

    /// Enqueues the solution of systems, which replaces the right-hand sides at `x`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(super) fn solve(&self, device: &GpuDevice, s: Systems, matrices: Address, x: Address) -> Result<()> {
        let descends = s.is_lower == s.is_adjoint;
        let mut blocks: Vec<(usize, usize)> = panels(s.n).collect();
        if descends {
            blocks.reverse();
        }
        for (first, count) in blocks {
            let flags = [s.is_lower, s.is_adjoint, s.is_unit].map(u32::from);
            let [leading, columns, matrix_stride, rhs_stride, rhs_leading] =
                [s.matrix_leading, s.columns, s.matrix_stride, s.rhs_stride, s.rhs_leading].map(word);
            let places = [matrix_stride?, rhs_stride?, rhs_leading?, word(first)?, word(count)?];
            let words = [&[leading?, columns?][..], &flags, &places].concat();
            let grid = Grid { blocks: [word(s.columns.div_ceil(COLUMNS))?, word(s.batch)?, 1], threads: [COLUMNS as u32, 8, 1] };
            self.solve_block.launch(device, grid, &[Argument::Address(x), Argument::Address(matrices), Argument::Words(&words)])?;
            let (start, rest) = if descends { (0, first) } else { (first + count, s.n - first - count) };
            let beside = if s.is_adjoint { first * s.matrix_leading + start } else { start * s.matrix_leading + first };
            let of_rows = |row: usize| x.offset(row * s.rhs_leading * self.size);
            let addresses = [matrices.offset(beside * self.size), of_rows(first), of_rows(start)];
            let (strides, leading) = ([s.matrix_stride, s.rhs_stride, s.rhs_stride], [s.matrix_leading, s.rhs_leading, s.rhs_leading]);
            subtract_products(device, self.dtype, (rest, s.columns, count), [s.is_adjoint, false], addresses, (s.batch, strides, leading))?;
        }
        Ok(())
    }
}

fn make_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (is_lower, is_adjoint) = (init.attrs.get_or("lower", true)?, init.attrs.get_or("adjoint", false)?);
    let dtype = init.dtype("T")?;
    let size = dtype.size().unwrap_or(0);
    let (solver, repeat) = (TriangularSolver::new(dtype)?, CompiledKernel::of(TEXT, "repeat", dtype)?);
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
        let (panel, count) = (n * width, batch.num_elements());
        let is_one = |shape: &Shape| shape.num_elements() == 1;
        // The right-hand sides are replaced by the solutions.
        if of_rhs == batch || is_one(&of_rhs) {
            let elements = output.num_elements();
            let numbers = [Argument::U64(elements as u64), Argument::U64(rhs.num_elements() as u64)];
            let arguments = [Argument::Address(to), Argument::Address(b), numbers[0], numbers[1]];
            repeat.launch(device, device.linear_grid(elements), &arguments)?;
        } else {
            for i in 0..count {
                device.gpu().copy(to.offset(i * panel * size), b.offset(place(&of_rhs, &batch, i) * panel * size), panel * size)?;
            }
        }
        // Systems with adjacent matrices are solved together; others one by one.
        let is_regular = of_matrix == batch || is_one(&of_matrix);
        let matrix_stride = if is_one(&of_matrix) { 0 } else { n * n };
        let at_once = if is_regular { MOST_BLOCKS } else { 1 };
        for first in (0..count).step_by(at_once) {
            let of_a = if is_regular { first * matrix_stride } else { place(&of_matrix, &batch, first) * n * n };
            let batch = at_once.min(count - first);
            let (columns, rhs_stride) = (width, panel);
            let systems = Systems {
                n,
                matrix_leading: n,
                batch,
                is_lower,
                is_adjoint,
                is_unit: false,
                matrix_stride,
                columns,
                rhs_stride,
                rhs_leading: width,
            };
            solver.solve(device, systems, a.offset(of_a * size), to.offset(first * panel * size))?;
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
