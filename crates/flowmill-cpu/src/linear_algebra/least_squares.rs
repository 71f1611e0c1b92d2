//! `MatrixSolveLs`: the least-squares solutions of linear systems.

use super::decompose::{Batch, Field, Matrix, epsilon, is_finite, map, matrices, nan, svd};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, Tensor, bail, for_dtype};
use nalgebra::{ComplexField, DMatrix};
use num_traits::Zero;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["MatrixSolveLs", "BatchMatrixSolveLs"] {
        registry.add(op, make);
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let fast = init.attrs.get_or("fast", true)?;
    for_dtype!(init.dtype("T")?, [f32, f64, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let out = solutions::<T>(ctx, fast)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

fn solutions<T: Field>(ctx: &KernelContext<'_>, fast: bool) -> Result<Tensor> {
    let (matrix, rhs, regularizer) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if matrix.rank() < 2 {
        bail!(InvalidArgument, "Input tensor 0 must have rank >= 2, got {}", matrix.rank());
    }
    if matrix.rank() != rhs.rank() {
        bail!(InvalidArgument, "All input tensors must have the same rank.");
    }
    let (a, b) = (Batch::<T>::new(matrix)?, Batch::<T>::new(rhs)?);
    if a.outer != b.outer {
        bail!(InvalidArgument, "All input tensors must have the same outer dimensions.");
    }
    if a.rows != b.rows {
        bail!(InvalidArgument, "Input matrix and rhs are incompatible.");
    }
    let (&[regularizer], 0) = (regularizer.as_slice::<f64>()?, regularizer.rank()) else {
        bail!(InvalidArgument, "l2_regularizer must be scalar, got shape {}", regularizer.shape());
    };
    // The comparison is false for NaN, too.
    if !(regularizer >= 0.0) {
        bail!(InvalidArgument, "l2_regularizer must be >= 0.");
    }
    let shape = a.shape(&[a.columns, b.columns]);
    let rank = a.rows.min(a.columns);
    if rank == 0 || b.columns == 0 {
        return ctx.allocator().zeros(T::DTYPE, shape);
    }
    let found = map(ctx.allocator(), a.len(), [a.rows, a.columns, rank.saturating_add(b.columns)], |i| {
        if fast { by_normal_equations::<T>(a.matrix(i), b.matrix(i), regularizer) } else { of_least_norm::<T>(a.matrix(i), b.matrix(i)) }
    })?;
    matrices::<T>(ctx.allocator(), shape, &found)
}

/// Returns `(AᴴA + λ)⁻¹ Aᴴ b`, or for a matrix with more columns than rows `Aᴴ (AAᴴ + λ)⁻¹ b`. The result is NaN if the product has infinite
/// numbers or NaN.
fn by_normal_equations<T: Field>(a: Matrix<T>, b: Matrix<T>, regularizer: f64) -> Result<Matrix<T>> {
    let is_tall = a.nrows() >= a.ncols();
    let adjoint = a.adjoint();
    let mut product = if is_tall { &adjoint * &a } else { &a * &adjoint };
    for i in 0..product.nrows() {
        product[(i, i)] += T::Wide::from_real(nalgebra::convert(regularizer));
    }
    let is_valid = is_finite(&product);
    // nalgebra accepts negative pivots of complex matrices, because a complex number always has a root.
    let factor = nalgebra::Cholesky::new(product)
        .filter(|factor| factor.l_dirty().diagonal().iter().all(|pivot| !(pivot.clone().real() <= Zero::zero())));
    match factor {
        Some(factor) if is_tall => Ok(factor.solve(&(adjoint * b))),
        Some(factor) => Ok(adjoint * factor.solve(&b)),
        None if !is_valid => Ok(DMatrix::from_element(a.ncols(), b.ncols(), nan())),
        None => bail!(
            InvalidArgument,
            "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0."
        ),
    }
}

/// Returns `A⁺ b`, the solution of least norm, or NaN for a matrix with infinite numbers or NaN.
fn of_least_norm<T: Field>(a: Matrix<T>, b: Matrix<T>) -> Result<Matrix<T>> {
    let smaller = a.nrows().min(a.ncols());
    let (values, u, v) = svd(a, false)?;
    let Some(largest) = values.first().map(|s| s.clone().real()) else { return Ok(DMatrix::zeros(v.nrows(), b.ncols())) };
    let least = largest * epsilon::<T::Wide>() * nalgebra::convert(smaller as f64);
    let mut along = u.ad_mul(&b);
    for (value, mut row) in values.iter().map(|s| s.clone().real()).zip(along.row_iter_mut()) {
        let counts = !(value <= least);
        row.iter_mut().for_each(|x| *x = if counts { x.unscale(value.clone()) } else { T::Wide::zero() });
    }
    Ok(v * along)
}
