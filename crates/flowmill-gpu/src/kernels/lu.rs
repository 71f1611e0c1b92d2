//! LU decompositions and what follows from them: `MatrixSolve`, `MatrixInverse`, `MatrixDeterminant` and `LogMatrixDeterminant`.

use super::sized::{Begun, sized};
use super::triangular::{self, MOST_BLOCKS, Systems, TYPES, TriangularSolver, panels, subtract_products};
use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const TEXT: &str = concat!(include_str!("triangular.cu"), include_str!("lu.cu"));
/// The number of threads of a block.
const THREADS: usize = 256;

pub(super) fn register(registry: &mut KernelRegistry) {
    for (op, make) in [
        ("LogMatrixDeterminant", make_determinant as fn(&KernelInit<'_>) -> _),
        ("MatrixDeterminant", make_determinant),
        ("MatrixInverse", make_inverse),
        ("MatrixSolve", make_solve),
    ] {
        registry.register(op, KernelDef::new(make).constrain("T", TYPES));
    }
}

/// The kernels that decompose matrices of one type.
struct Decomposer {
    dtype: DType,
    size: usize,
    factor_columns: CompiledKernel,
    exchange_rows: CompiledKernel,
    solver: TriangularSolver,
}

/// Decomposed matrices: both triangles in one matrix, and the row that each row was exchanged with.
struct Factors {
    n: usize,
    count: usize,
    matrices: Tensor,
    exchanges: Tensor,
    /// The number of pivots that are zero or NaN, a scalar.
    singular: Tensor,
}

impl Decomposer {
    fn new(dtype: DType) -> Result<Decomposer> {
        let program = |name| CompiledKernel::of(TEXT, name, dtype);
        let (factor_columns, exchange_rows) = (program("factor_columns")?, program("exchange_rows")?);
        Ok(Decomposer { dtype, size: dtype.size().unwrap_or(0), factor_columns, exchange_rows, solver: TriangularSolver::new(dtype)? })
    }

    /// Enqueues the decompositions of square matrices, which are not empty.
    fn decompose(&self, device: &GpuDevice, input: &Tensor) -> Result<Factors> {
        let n = input.shape()[input.rank() - 1];
        let count = input.num_elements() / (n * n);
        let matrices = device.copy_of(input)?;
        let exchanges = device.allocate(DType::U32, &Shape::new(&[count, n]))?;
        let singular = device.allocate(DType::U32, &Shape::scalar())?;
        device.gpu().fill(device.address(&singular)?, 0, singular.num_bytes())?;
        let (base, of_rows) = (device.address(&matrices)?, device.address(&exchanges)?);
        for first in (0..count).step_by(MOST_BLOCKS) {
            let batch = MOST_BLOCKS.min(count - first);
            let (base, of_rows) = (base.offset(first * n * n * self.size), of_rows.offset(first * n * 4));
            for (k, width) in panels(n) {
                let words = [word(batch)?, word(n)?, word(k)?, word(width)?];
                let addresses = [base, of_rows, device.address(&singular)?].map(Argument::Address);
                let grid = Grid { blocks: [words[0], 1, 1], threads: [THREADS as u32, 1, 1] };
                self.factor_columns.launch(device, grid, &[addresses[0], addresses[1], addresses[2], Argument::Words(&words)])?;
                let columns = [n, n, k, width, 0, k, width];
                self.exchange(device, (base, of_rows), batch, columns)?;
                let (next, rest) = (k + width, n - k - width);
                if rest == 0 {
                    continue;
                }
                let place = |row: usize, column: usize| base.offset((row * n + column) * self.size);
                let beside = Systems {
                    n: width,
                    matrix_leading: n,
                    batch,
                    is_lower: true,
                    is_adjoint: false,
                    is_unit: true,
                    matrix_stride: n * n,
                    columns: rest,
                    rhs_stride: n * n,
                    rhs_leading: n,
                };
                self.solver.solve(device, beside, place(k, k), place(k, next))?;
                let addresses = [place(next, k), place(k, next), place(next, next)];
                let places = (batch, [n * n; 3], [n; 3]);
                subtract_products(device, self.dtype, (rest, rest, width), [false, false], addresses, places)?;
            }
        }
        Ok(Factors { n, count, matrices, exchanges, singular })
    }

    /// Enqueues exchanges of rows. The numbers are those of the structure `Columns`.
    fn exchange(&self, device: &GpuDevice, (x, rows): (Address, Address), batch: usize, columns: [usize; 7]) -> Result<()> {
        let words = columns.into_iter().map(word).collect::<Result<Vec<u32>>>()?;
        let grid = Grid { blocks: [word(columns[1].div_ceil(THREADS))?, word(batch)?, 1], threads: [THREADS as u32, 1, 1] };
        self.exchange_rows.launch(device, grid, &[Argument::Address(x), Argument::Address(rows), Argument::Words(&words)])
    }

    /// Enqueues the solutions of systems, which replace the right-hand sides in `x`.
    fn solve(&self, device: &GpuDevice, factors: &Factors, is_adjoint: bool, x: &Tensor) -> Result<()> {
        let (n, columns) = (factors.n, x.shape()[x.rank() - 1]);
        let [matrices, rows, to] = [device.address(&factors.matrices)?, device.address(&factors.exchanges)?, device.address(x)?];
        for first in (0..factors.count).step_by(MOST_BLOCKS) {
            let batch = MOST_BLOCKS.min(factors.count - first);
            let (matrices, rows) = (matrices.offset(first * n * n * self.size), rows.offset(first * n * 4));
            let to = to.offset(first * n * columns * self.size);
            let exchange = |is_reversed: bool| self.exchange(device, (to, rows), batch, [n, columns, 0, n, is_reversed.into(), 0, 0]);
            let triangle = |is_lower: bool| {
                let (matrix_stride, rhs_stride) = (n * n, n * columns);
                let is_unit = is_lower;
                let places = Systems {
                    n,
                    matrix_leading: n,
                    batch,
                    is_lower,
                    is_adjoint,
                    is_unit,
                    matrix_stride,
                    columns,
                    rhs_stride,
                    rhs_leading: columns,
                };
                self.solver.solve(device, places, matrices, to)
            };
            if is_adjoint {
                triangle(false)?;
                triangle(true)?;
                exchange(true)?;
            } else {
                exchange(false)?;
                triangle(true)?;
                triangle(false)?;
            }
        }
        Ok(())
    }
}

/// Returns the rest of a call whose only output is `output`, if no matrix is singular.
fn unless_singular(factors: &Factors, output: Tensor, message: &'static str) -> Begun {
    let then = move |_: &GpuDevice, singular: &Tensor| {
        if singular.to_scalar::<u32>()? > 0 {
            bail!(InvalidArgument, "{message}");
        }
        Ok(vec![output])
    };
    Begun::Numbers(factors.singular.clone(), Box::new(then))
}

fn make_inverse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_adjoint = init.attrs.get_or("adjoint", false)?;
    let dtype = init.dtype("T")?;
    let (decomposer, identity) = (Decomposer::new(dtype)?, CompiledKernel::of(TEXT, "identity", dtype)?);
    sized(move |device, inputs| {
        let [input] = inputs else { bail!(Internal, "MatrixInverse has one input") };
        let (_, n) = triangular::square(input)?;
        let output = device.allocate(dtype, input.shape())?;
        if output.num_elements() == 0 {
            return Ok(Begun::Whole(vec![output]));
        }
        let factors = decomposer.decompose(device, input)?;
        let elements = output.num_elements();
        let arguments = [Argument::Address(device.address(&output)?), Argument::U64(elements as u64), Argument::U32(word(n)?)];
        identity.launch(device, device.linear_grid(elements), &arguments)?;
        decomposer.solve(device, &factors, is_adjoint, &output)?;
        Ok(unless_singular(&factors, output, "Input is not invertible."))
    })
}

fn make_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_adjoint = init.attrs.get_or("adjoint", false)?;
    let decomposer = Decomposer::new(init.dtype("T")?)?;
    sized(move |device, inputs| {
        let [matrix, rhs] = inputs else { bail!(Internal, "MatrixSolve has two inputs") };
        let (outer, n) = triangular::square(matrix)?;
        let &[ref of_rhs @ .., rows, _] = rhs.shape().dims() else {
            bail!(InvalidArgument, "Input tensor must have rank >= 2, got {}", rhs.rank());
        };
        if rows != n {
            bail!(InvalidArgument, "Input matrix and right-hand side must have the same number of rows, got {n} and {rows}.");
        }
        if of_rhs != outer.dims() {
            bail!(InvalidArgument, "All input tensors must have the same outer dimensions: {} and {}", matrix.shape(), rhs.shape());
        }
        let output = device.copy_of(rhs)?;
        if matrix.num_elements() == 0 {
            return Ok(Begun::Whole(vec![output]));
        }
        let factors = decomposer.decompose(device, matrix)?;
        if output.num_elements() > 0 {
            decomposer.solve(device, &factors, is_adjoint, &output)?;
        }
        Ok(unless_singular(&factors, output, "Input matrix is not invertible."))
    })
}

/// Makes the kernel of `MatrixDeterminant`, or of `LogMatrixDeterminant`, which outputs the signs before the logarithms.
fn make_determinant(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_logarithm = init.op_def.name == "LogMatrixDeterminant";
    let dtype = init.dtype("T")?;
    let (decomposer, determinants) = (Decomposer::new(dtype)?, CompiledKernel::of(TEXT, "determinants", dtype)?);
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (outer, n) = triangular::square(&input)?;
        let mut outputs = vec![ctx.allocate_output(0, dtype, &outer)?.clone()];
        if is_logarithm {
            outputs.push(ctx.allocate_output(1, dtype, &outer)?.clone());
        }
        let count = outer.num_elements();
        if count == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let of = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
        let factors = if n == 0 { None } else { Some(decomposer.decompose(device, &input)?) };
        let (matrices, rows) = match &factors {
            None => (Argument::Address(Address(0)), Argument::Address(Address(0))),
            Some(factors) => (of(&factors.matrices)?, of(&factors.exchanges)?),
        };
        let (signs, values) = (of(&outputs[0])?, of(&outputs[outputs.len() - 1])?);
        let grid = Grid { blocks: [word(count)?.min(1 << 30), 1, 1], threads: [THREADS as u32, 1, 1] };
        let numbers = [word(count)?, word(n)?, is_logarithm.into()].map(Argument::U32);
        determinants.launch(device, grid, &[signs, values, matrices, rows, numbers[0], numbers[1], numbers[2]])
    })
}
