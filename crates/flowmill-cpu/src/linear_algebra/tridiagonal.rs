//! `TridiagonalSolve` and `TridiagonalMatMul`: matrices of three diagonals, each stored as a row. The last element above the main diagonal and the
//! first below it are not part of the matrix.

use super::decompose::{Field, map};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, Result, Tensor, bail, for_dtype};
use nalgebra::{ComplexField, RealField};
use num_traits::{One, Zero};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("TridiagonalSolve", make_solve);
    registry.add("TridiagonalMatMul", make_product);
}

macro_rules! by_type {
    ($init:ident, $T:ident => $body:expr) => {
        for_dtype!($init.dtype("T")?, [f32, f64, Complex<f32>, Complex<f64>], $T => $body, _ => $init.unsupported())
    };
}

/// Returns the sizes of the batch and of each matrix.
fn matrix(tensor: &Tensor, i: usize) -> Result<(&[usize], usize, usize)> {
    match tensor.shape().dims() {
        [outer @ .., rows, columns] => Ok((outer, *rows, *columns)),
        _ => bail!(InvalidArgument, "Input tensor {i} must have rank >= 2"),
    }
}

fn same_batch(a: &[usize], b: &[usize]) -> Result<()> {
    if a != b {
        bail!(InvalidArgument, "All input tensors must have the same outer dimensions: {a:?} and {b:?}");
    }
    Ok(())
}

fn make_product(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn product<T: Number>(alloc: &Allocator, inputs: [&Tensor; 4]) -> Result<Tensor> {
        let (outer, rows, columns) = matrix(inputs[3], 3)?;
        for (i, name) in ["superdiagonal", "main diagonal", "subdiagonal"].into_iter().enumerate() {
            let (other, one, length) = matrix(inputs[i], i)?;
            if (one, length) != (1, rows) {
                bail!(InvalidArgument, "Invalid {name} shape.");
            }
            same_batch(other, outer)?;
        }
        let [above, main, below, x] = inputs.map(Tensor::as_slice::<T>);
        let (above, main, below, x) = (above?, main?, below?, x?);
        let mut out = alloc.uninit(T::DTYPE, inputs[3].shape().clone())?;
        let width = columns.max(1);
        for (i, out) in out.as_mut_slice::<T>()?.chunks_exact_mut(width).enumerate() {
            let (row, at) = (i % rows, i * width);
            for (j, out) in out.iter_mut().enumerate() {
                let mut sum = main[i].times(x[at + j]);
                if row > 0 {
                    sum = sum.plus(below[i].times(x[at + j - width]));
                }
                if row + 1 < rows {
                    sum = sum.plus(above[i].times(x[at + j + width]));
                }
                *out = sum;
            }
        }
        Ok(out)
    }
    by_type!(init, T => from_fn(|ctx| {
        let out = product::<T>(ctx.allocator(), [ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?])?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

#[derive(Clone, Copy, PartialEq)]
enum Pivoting {
    /// Rows are not exchanged: the Thomas algorithm.
    None,
    /// Rows are exchanged.
    Partial,
    /// Rows are exchanged, and pivots that are too small are moved away from zero, like in LAPACK's `xLAGTS`.
    Perturbed,
}

fn make_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pivoting = match (init.attrs.get_or("partial_pivoting", true)?, init.attrs.get_or("perturb_singular", false)?) {
        (true, true) => Pivoting::Perturbed,
        (true, false) => Pivoting::Partial,
        (false, false) => Pivoting::None,
        (false, true) => bail!(InvalidArgument, "Setting perturb_singular requires also setting partial_pivoting."),
    };
    by_type!(init, T => from_fn(move |ctx| {
        let out = solve_all::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, pivoting)?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

fn solve_all<T: Field>(alloc: &Allocator, diagonals: &Tensor, rhs: &Tensor, pivoting: Pivoting) -> Result<Tensor>
where
    <T::Wide as ComplexField>::RealField: Copy,
{
    let ((outer, count, length), (other, rows, columns)) = (matrix(diagonals, 0)?, matrix(rhs, 1)?);
    same_batch(outer, other)?;
    if count != 3 {
        bail!(InvalidArgument, "Expected diagonals to be provided as a matrix with 3 rows, got {count} rows.");
    }
    if length != rows {
        bail!(InvalidArgument, "Expected the same number of left-hand sides and right-hand sides, got {length} and {rows}.");
    }
    let mut out = alloc.uninit(T::DTYPE, rhs.shape().clone())?;
    if out.num_elements() == 0 {
        return Ok(out);
    }
    let (diagonals, rhs) = (diagonals.as_slice::<T>()?, rhs.as_slice::<T>()?);
    let systems = rhs.len() / (rows * columns);
    let found = map(alloc, systems, [rows, columns, 16], |i| {
        let values: Vec<T::Wide> = diagonals[3 * rows * i..][..3 * rows].iter().map(|v| v.widen()).collect();
        let (above, values) = values.split_at(rows);
        let (main, below) = values.split_at(rows);
        let x = rhs[rows * columns * i..][..rows * columns].iter().map(|v| v.widen()).collect();
        let mut system = System { above, main, below, columns, x };
        match pivoting {
            Pivoting::Perturbed => system.solve_perturbed(),
            _ if rows == 1 && main[0].is_zero() => system.x.fill(nan()),
            Pivoting::Partial => system.solve(),
            Pivoting::None => system.solve_without_pivots(),
        }
        Ok(system.x)
    })?;
    for (out, x) in out.as_mut_slice::<T>()?.chunks_exact_mut(rows * columns).zip(found) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = T::narrow(x));
    }
    Ok(out)
}

fn nan<W: ComplexField>() -> W {
    W::from_real(W::RealField::zero()) / W::from_real(W::RealField::zero())
}

/// A matrix, and right-hand sides that are replaced by the solutions: `x` has a row for each equation.
struct System<'a, W> {
    above: &'a [W],
    main: &'a [W],
    below: &'a [W],
    columns: usize,
    x: Vec<W>,
}

impl<W: ComplexField<RealField: Copy> + Copy> System<'_, W> {
    fn row(&self, i: usize) -> std::ops::Range<usize> {
        i * self.columns..(i + 1) * self.columns
    }

    /// Computes `x[to] -= factor * x[from]`.
    fn subtract(&mut self, to: usize, factor: W, from: usize) {
        for j in 0..self.columns {
            let value = self.x[from * self.columns + j];
            self.x[to * self.columns + j] -= factor * value;
        }
    }

    fn divide(&mut self, i: usize, divisor: W) {
        let row = self.row(i);
        self.x[row].iter_mut().for_each(|x| *x /= divisor);
    }

    /// Exchanges rows `i` and `i + 1`, then subtracts `factor` times the first of them from the second.
    fn swap_and_subtract(&mut self, i: usize, factor: W) {
        for j in 0..self.columns {
            self.x.swap(i * self.columns + j, (i + 1) * self.columns + j);
        }
        self.subtract(i + 1, factor, i);
    }

    fn solve_without_pivots(&mut self) {
        let n = self.main.len();
        let mut upper = vec![W::zero(); n];
        let mut pivot = self.main[0];
        for i in 0..n {
            if i > 0 {
                upper[i - 1] = self.above[i - 1] / pivot;
                pivot = self.main[i] - self.below[i] * upper[i - 1];
                self.subtract(i, self.below[i], i - 1);
            }
            if pivot.is_zero() {
                return self.x.fill(nan());
            }
            self.divide(i, pivot);
        }
        for i in (0..n - 1).rev() {
            self.subtract(i, upper[i], i + 1);
        }
    }

    /// Solves the system like LAPACK's `xGTSV`: the upper triangle has two diagonals above the main one.
    fn solve(&mut self) {
        let n = self.main.len();
        let mut u = vec![[W::zero(); 3]; n];
        u[0] = [self.main[0], self.above[0], W::zero()];
        for i in 0..n - 1 {
            let (below, main) = (self.below[i + 1], self.main[i + 1]);
            // The last row has no element above the diagonal.
            let above = if i + 2 < n { self.above[i + 1] } else { W::zero() };
            if u[i][0].modulus() >= below.modulus() {
                if u[i][0].is_zero() {
                    return self.x.fill(nan());
                }
                let factor = below / u[i][0];
                u[i + 1] = [main - factor * u[i][1], above, W::zero()];
                self.subtract(i + 1, factor, i);
            } else {
                let factor = u[i][0] / below;
                u[i + 1] = [u[i][1] - factor * main, -factor * above, W::zero()];
                u[i] = [below, main, above];
                self.swap_and_subtract(i, factor);
            }
        }
        if u[n - 1][0].is_zero() {
            return self.x.fill(nan());
        }
        for i in (0..n).rev() {
            self.subtract_solved(i, &u[i]);
            self.divide(i, u[i][0]);
        }
    }

    /// Subtracts the terms of the unknowns after the `i`-th from its equation.
    fn subtract_solved(&mut self, i: usize, u: &[W; 3]) {
        for (k, &factor) in u.iter().enumerate().skip(1) {
            if i + k < self.main.len() {
                self.subtract(i, factor, i + k);
            }
        }
    }

    /// Solves the system like LAPACK's `xLAGTF` and `xLAGTS`: rows are exchanged by the size of their pivots relative to the rows.
    fn solve_perturbed(&mut self) {
        let n = self.main.len();
        let epsilon = epsilon::<W>();
        if n == 1 {
            return self.divide_perturbed(0, self.main[0], epsilon * self.main[0].modulus());
        }
        let mut u = vec![[W::zero(); 3]; n];
        u[0] = [self.main[0], self.above[0], W::zero()];
        let mut largest = larger(u[0][0].modulus(), u[0][1].modulus());
        let mut scale = u[0][0].modulus() + u[0][1].modulus();
        for k in 0..n - 1 {
            let (below, main) = (self.below[k + 1], self.main[k + 1]);
            let above = if k + 2 < n { self.above[k + 1] } else { W::zero() };
            let next_scale = below.modulus() + main.modulus() + above.modulus();
            let own = if u[k][0].is_zero() { W::RealField::zero() } else { u[k][0].modulus() / scale };
            if below.is_zero() {
                scale = next_scale;
                u[k + 1] = [main, above, W::zero()];
            } else if below.modulus() / next_scale <= own {
                scale = next_scale;
                let factor = below / u[k][0];
                u[k + 1] = [main - factor * u[k][1], above, W::zero()];
                self.subtract(k + 1, factor, k);
            } else {
                let factor = u[k][0] / below;
                u[k + 1] = [u[k][1] - factor * main, -factor * above, W::zero()];
                u[k] = [below, main, above];
                self.swap_and_subtract(k, factor);
            }
            if k + 2 < n {
                largest = u[k].iter().fold(largest, |m, v| larger(m, v.modulus()));
            }
        }
        largest = larger(largest, u[n - 1][0].modulus());
        for i in (0..n).rev() {
            self.subtract_solved(i, &u[i]);
            self.divide_perturbed(i, u[i][0], epsilon * largest);
        }
    }

    /// Divides row `i` by a pivot that is first moved away from zero, by `step` and its doubles, until the quotients are finite.
    fn divide_perturbed(&mut self, i: usize, mut pivot: W, step: W::RealField) {
        let one = W::RealField::one();
        let safe = safe_minimum::<W>();
        let huge = one / safe;
        let row = self.row(i);
        let greatest = self.x[row.clone()].iter().fold(W::RealField::zero(), |m, v| larger(m, v.modulus()));
        // Move away from zero on the side of the pivot, which may be a zero with a sign.
        let mut step = larger(step, safe).copysign(pivot.real());
        loop {
            let size = pivot.modulus();
            // NaN ends the loop, too.
            if !(size < one) {
                break;
            }
            if size < safe && !size.is_zero() && greatest * safe <= size {
                pivot = pivot.scale(huge);
                self.x[row.clone()].iter_mut().for_each(|x| *x = x.scale(huge));
                break;
            }
            if size >= safe && !(greatest > size * huge) {
                break;
            }
            pivot += W::from_real(step);
            step += step;
        }
        let inverse = W::one() / pivot;
        self.x[row].iter_mut().for_each(|x| *x *= inverse);
    }
}

fn larger<R: PartialOrd>(a: R, b: R) -> R {
    if b > a { b } else { a }
}

fn is_single<W: ComplexField>() -> bool {
    size_of::<W::RealField>() == size_of::<f32>()
}

/// Returns the distance from 1 to the next greater number.
fn epsilon<W: ComplexField>() -> W::RealField {
    nalgebra::convert(if is_single::<W>() { f64::from(f32::EPSILON) } else { f64::EPSILON })
}

/// Returns the least number whose inverse is finite.
fn safe_minimum<W: ComplexField>() -> W::RealField {
    nalgebra::convert(if is_single::<W>() { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE })
}
