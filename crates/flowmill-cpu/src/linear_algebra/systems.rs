//! Solutions of linear systems, inverses and Cholesky factors of batches of square matrices.
//!
//! The matrices of a batch are computed in parallel.

use super::decompose::{Batch, Field, broadcast, by_type, joined, nan};
use super::elimination::{Rows, Scalar};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Element, Result, Shape, bail};
use nalgebra::{ComplexField, DMatrix};
use num_traits::{One, Zero};
use std::sync::Arc;

/// Estimates the nanoseconds that one matrix takes, for which the product of `sizes` is the number of operations.
fn nanoseconds(sizes: [usize; 3]) -> usize {
    const OPERATIONS_PER_NANOSECOND: usize = 8;
    sizes.iter().fold(1usize, |n, &size| n.saturating_mul(size)) / OPERATIONS_PER_NANOSECOND
}

/// Copies part of a row of results.
fn narrow<T: Field>(to: &mut [T], from: &[T::Wide]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = T::narrow(from));
}

/// Returns the matrices and the right-hand sides of a system, whose outer sizes are equal.
fn system<'a, T: Field>(ctx: &'a KernelContext<'_>) -> Result<(Batch<'a, T>, Batch<'a, T>)> {
    let (matrix, rhs) = (ctx.input(0)?, ctx.input(1)?);
    let (a, b) = (Batch::<T>::new(matrix)?, Batch::<T>::new(rhs)?);
    if a.rows != a.columns {
        bail!(InvalidArgument, "Input matrix must be square.");
    }
    if a.rows != b.rows {
        bail!(InvalidArgument, "Input matrix and right-hand side must have the same number of rows, got {} and {}.", a.rows, b.rows);
    }
    Ok((a, b))
}

/// Solves `matrix · x = rhs` for a square matrix, which may be empty. Returns `None` if the matrix is not invertible.
pub(super) fn solve<W: Scalar>(matrix: &DMatrix<W>, mut rhs: DMatrix<W>) -> Option<DMatrix<W>> {
    let (n, columns) = rhs.shape();
    if rhs.is_empty() {
        return Some(rhs);
    }
    let mut rows = Rows::new(n, columns);
    rows.set(0, n, matrix.row_iter().flat_map(|row| row.into_iter().copied().collect::<Vec<_>>()));
    rows.set(n, columns, rhs.row_iter().flat_map(|row| row.into_iter().copied().collect::<Vec<_>>()));
    let is_solved = rows.solve(columns, &mut |i, j, x| x.iter().enumerate().for_each(|(k, &x)| rhs[(i, j + k)] = x));
    is_solved.then_some(rhs)
}

pub(super) fn make_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let adjoint = init.attrs.get_or("adjoint", false)?;
    by_type!(init, T => from_fn(move |ctx| {
        let (a, b) = system::<T>(ctx)?;
        if a.outer != b.outer {
            bail!(InvalidArgument, "All input tensors must have the same outer dimensions: {} and {}", ctx.input(0)?.shape(), ctx.input(1)?.shape());
        }
        let (n, columns) = (b.rows, b.columns);
        let mut out = ctx.allocator().uninit(T::DTYPE, ctx.input(1)?.shape().clone())?;
        let (time, state) = (nanoseconds([n, n, n.saturating_add(columns)]), || Rows::new(n, columns));
        parallel::try_rows(out.as_mut_slice::<T>()?, n * columns, time, state, |i, out, rows| {
            a.copy(i, rows, adjoint);
            rows.set(n, columns, b.values[i * n * columns..].iter().map(|v| v.widen()));
            if !rows.solve(columns, &mut |i, j, x| narrow(&mut out[i * columns + j..], x)) {
                bail!(InvalidArgument, "Input matrix is not invertible.");
            }
            Ok(())
        })?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

pub(super) fn make_inverse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let adjoint = init.attrs.get_or("adjoint", false)?;
    by_type!(init, T => from_fn(move |ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let n = input.rows;
        let mut out = ctx.allocator().uninit(T::DTYPE, ctx.input(0)?.shape().clone())?;
        let (time, state) = (nanoseconds([n, n, 2 * n]), || Rows::new(n, n));
        parallel::try_rows(out.as_mut_slice::<T>()?, n * n, time, state, |i, out, rows| {
            input.copy(i, rows, adjoint);
            let one = |at: usize| if at % n == at / n { <T as Field>::Wide::one() } else { <T as Field>::Wide::zero() };
            rows.set(n, n, (0..n * n).map(one));
            if !rows.solve(n, &mut |i, j, x| narrow(&mut out[i * n + j..], x)) {
                bail!(InvalidArgument, "Input is not invertible.");
            }
            Ok(())
        })?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

pub(super) fn make_triangular_solve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (lower, adjoint) = (init.attrs.get_or("lower", true)?, init.attrs.get_or("adjoint", false)?);
    by_type!(init, T => from_fn(move |ctx| {
        let (a, b) = system::<T>(ctx)?;
        let outer = joined(a.outer, b.outer)?;
        let (n, columns) = (b.rows, b.columns);
        let mut shape = Shape::new(&outer);
        shape.push(n);
        shape.push(columns);
        let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
        parallel::rows(out.as_mut_slice::<T>()?, n * columns, nanoseconds([n, n, columns]), || Rows::new(n, 0), |i, out, rows| {
            a.copy(broadcast(a.outer, &outer, i), rows, adjoint);
            let rhs = &b.values[broadcast(b.outer, &outer, i) * n * columns..];
            let get = |i: usize, j: usize, x: &mut [_]| x.iter_mut().zip(&rhs[i * columns + j..]).for_each(|(x, v)| *x = v.widen());
            // The adjoint of a lower triangle is an upper one. Zeros on the diagonal are divided by, as in TensorFlow.
            rows.substitute(lower != adjoint, columns, &get, &mut |i, j, x| narrow(&mut out[i * columns + j..], x));
        });
        ctx.set_output(0, out);
        Ok(())
    }))
}

/// Makes the kernel of `Cholesky`. The factor of a matrix that is not positive definite is NaN.
pub(super) fn make_cholesky(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    by_type!(init, T => from_fn(|ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let n = input.rows;
        let mut out = ctx.allocator().uninit(T::DTYPE, ctx.input(0)?.shape().clone())?;
        let (time, state) = (nanoseconds([n, n, n.div_ceil(3)]), || Rows::<<T as Field>::Wide>::new(n, 0));
        parallel::rows(out.as_mut_slice::<T>()?, n * n, time, state, |i, out, rows| {
            input.copy(i, rows, true);
            let is_definite = rows.factor();
            for (i, out) in out.chunks_exact_mut(n).enumerate() {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = match j <= i {
                        true if is_definite => T::narrow(rows.row(j)[i].conjugate()),
                        true => T::narrow(nan()),
                        false => T::default(),
                    };
                }
            }
        });
        ctx.set_output(0, out);
        Ok(())
    }))
}
