//! Factorisations of batches of square or rectangular matrices, and determinants.
//!
//! `nalgebra` computes most of them; the matrices of a batch are computed in parallel.

use super::eig::ascending;
use super::elimination::{Rows, Scalar};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelInit};
use flowmill_tensor::{Allocator, Complex, Element, Result, Shape, Tensor, bail, f16, for_dtype};
use nalgebra::{ComplexField, DMatrix, RealField};
use num_traits::{One, Zero};
use std::sync::Arc;

/// An element type, with the type that it is computed in.
pub(super) trait Field: Element + Copy + Default {
    type Wide: Scalar;

    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

impl Field for f16 {
    type Wide = f32;

    fn widen(self) -> f32 {
        self.to_f32()
    }

    fn narrow(wide: f32) -> f16 {
        f16::from_f32(wide)
    }
}

macro_rules! fields {
    ($($T:ty),*) => {$(
        impl Field for $T {
            type Wide = $T;

            fn widen(self) -> $T {
                self
            }

            fn narrow(wide: $T) -> $T {
                wide
            }
        }
    )*};
}

fields!(f32, f64, Complex<f32>, Complex<f64>);

macro_rules! by_type {
    ($init:ident, $T:ident => $body:expr) => {
        flowmill_tensor::for_dtype!($init.dtype("T")?, [flowmill_tensor::f16, f32, f64, flowmill_tensor::Complex<f32>, flowmill_tensor::Complex<f64>], $T => $body, _ => $init.unsupported())
    };
}

pub(super) use by_type;

pub(super) type Matrix<T> = DMatrix<<T as Field>::Wide>;

/// A batch of matrices.
pub(super) struct Batch<'a, T> {
    pub(super) outer: &'a [usize],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: &'a [T],
}

impl<'a, T: Field> Batch<'a, T> {
    pub(super) fn new(tensor: &'a Tensor) -> Result<Batch<'a, T>> {
        let &[ref outer @ .., rows, columns] = tensor.shape().dims() else {
            bail!(InvalidArgument, "Input tensor must have rank >= 2, got {}", tensor.rank());
        };
        Ok(Batch { outer, rows, columns, values: tensor.as_slice()? })
    }

    pub(super) fn square(tensor: &'a Tensor) -> Result<Batch<'a, T>> {
        let batch = Batch::new(tensor)?;
        if batch.rows != batch.columns {
            bail!(InvalidArgument, "Input matrix must be square.");
        }
        Ok(batch)
    }

    pub(super) fn len(&self) -> usize {
        self.outer.iter().product()
    }

    pub(super) fn matrix(&self, i: usize) -> Matrix<T> {
        let values = &self.values[i * self.rows * self.columns..][..self.rows * self.columns];
        DMatrix::from_row_iterator(self.rows, self.columns, values.iter().map(|v| v.widen()))
    }

    /// Sets the matrix of `rows` to matrix `i`, or to its adjoint.
    pub(super) fn copy(&self, i: usize, rows: &mut Rows<T::Wide>, adjoint: bool) {
        let values = self.values[i * self.rows * self.columns..][..self.rows * self.columns].iter().map(|v| v.widen());
        if adjoint { rows.set_adjoint(values) } else { rows.set(0, self.columns, values) }
    }

    /// Returns the shape of a batch with the inner sizes replaced by `inner`.
    pub(super) fn shape(&self, inner: &[usize]) -> Shape {
        let mut shape = Shape::new(self.outer);
        inner.iter().for_each(|&size| shape.push(size));
        shape
    }

    /// Returns the results of `f` for all matrices.
    pub(super) fn map<R: Send>(&self, alloc: &Allocator, f: impl Fn(Matrix<T>) -> Result<R> + Sync) -> Result<Vec<R>> {
        map(alloc, self.len(), [self.rows, self.columns, self.rows.min(self.columns)], |i| f(self.matrix(i)))
    }
}

/// Returns `f(0) … f(count - 1)`, computed in parallel if the product of `sizes`, the operations of one call, makes that worthwhile.
///
/// # Errors
/// Returns the error of the first call that failed; `ResourceExhausted` if the results alone exceed the memory limit, which those of empty matrices may.
pub(super) fn map<R: Send>(alloc: &Allocator, count: usize, sizes: [usize; 3], f: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let _reserved = alloc.reserve::<R>(count)?;
    let operations = sizes.iter().fold(1usize, |n, &size| n.saturating_mul(size));
    parallel::map(count, operations, f).into_iter().collect()
}

/// Returns a tensor of matrices in row-major order.
pub(super) fn matrices<T: Field>(alloc: &Allocator, shape: Shape, all: &[Matrix<T>]) -> Result<Tensor> {
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    let size = all.first().map_or(0, |m| m.len());
    for (target, matrix) in out.as_mut_slice::<T>()?.chunks_exact_mut(size.max(1)).zip(all) {
        for (row, values) in target.chunks_exact_mut(matrix.ncols().max(1)).zip(matrix.row_iter()) {
            for (target, value) in row.iter_mut().zip(values.iter()) {
                *target = T::narrow(*value);
            }
        }
    }
    Ok(out)
}

pub(super) fn nan<W: ComplexField>() -> W {
    W::from_real(W::RealField::zero()) / W::from_real(W::RealField::zero())
}

pub(super) fn is_finite<W: ComplexField>(matrix: &DMatrix<W>) -> bool {
    matrix.iter().all(ComplexField::is_finite)
}

/// Makes the kernel of the gradient of `Cholesky` (Murray, *Differentiation of the Cholesky decomposition*, 2016): `L⁻ᴴ Φ(Lᴴ L̄) L⁻¹`, symmetrised.
pub(super) fn make_cholesky_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, f32, f64], T => from_fn(|ctx| {
        let (l, grad) = (Batch::<T>::square(ctx.input(0)?)?, Batch::<T>::square(ctx.input(1)?)?);
        if ctx.input(0)?.shape() != ctx.input(1)?.shape() {
            bail!(InvalidArgument, "Inputs must have the same shape, got {} and {}", ctx.input(0)?.shape(), ctx.input(1)?.shape());
        }
        let half: <<T as Field>::Wide as ComplexField>::RealField = nalgebra::convert(0.5);
        let found = map(ctx.allocator(), l.len(), [l.rows; 3], |i| {
            let (l, grad) = (l.matrix(i).lower_triangle(), grad.matrix(i).lower_triangle());
            let mut middle = (l.adjoint() * grad).lower_triangle();
            for d in 0..middle.nrows() {
                middle[(d, d)] = middle[(d, d)].scale(half.clone());
            }
            let adjoint = l.adjoint();
            let Some(left) = adjoint.solve_upper_triangular(&middle) else { bail!(InvalidArgument, "Input matrix is not invertible.") };
            let Some(right) = adjoint.solve_upper_triangular(&left.adjoint()) else { bail!(InvalidArgument, "Input matrix is not invertible.") };
            Ok((&right + right.adjoint()).map(|v| v.scale(half.clone())))
        })?;
        let out = matrices::<T>(ctx.allocator(), ctx.input(0)?.shape().clone(), &found)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// Returns the pivots of a matrix after elimination, and true if the number of exchanges of rows is odd.
fn pivots<T: Field>(batch: &Batch<'_, T>, i: usize) -> (Vec<T::Wide>, bool) {
    if batch.rows == 0 {
        return (Vec::new(), false);
    }
    let mut rows = Rows::new(batch.rows, 0);
    batch.copy(i, &mut rows, false);
    let is_odd = rows.eliminate();
    ((0..batch.rows).map(|i| rows.row(i)[i]).collect(), is_odd)
}

fn sign<W: ComplexField>(is_odd: bool) -> W {
    if is_odd { -W::one() } else { W::one() }
}

/// Returns the sign of a determinant, and the logarithm of its absolute value.
fn log_determinant<W: ComplexField + Copy>((pivots, is_odd): (Vec<W>, bool)) -> (W, W) {
    let mut sign: W = sign(is_odd);
    let mut log = W::RealField::zero();
    for pivot in pivots {
        let size = pivot.modulus();
        if size.is_zero() {
            return (W::zero(), W::from_real(size.ln()));
        }
        sign *= pivot.unscale(size.clone());
        log += size.ln();
    }
    (sign, W::from_real(log))
}

pub(super) fn make_log_determinant(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    by_type!(init, T => from_fn(|ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let found = map(ctx.allocator(), input.len(), [input.rows; 3], |i| Ok(log_determinant(pivots(&input, i))))?;
        let (signs, logs): (Vec<T>, Vec<T>) = found.into_iter().map(|(s, l)| (T::narrow(s), T::narrow(l))).unzip();
        let shape = input.shape(&[]);
        let (signs, logs) = (ctx.allocator().from_slice(shape.clone(), &signs)?, ctx.allocator().from_slice(shape, &logs)?);
        ctx.set_output(0, signs);
        ctx.set_output(1, logs);
        Ok(())
    }))
}

pub(super) fn make_determinant(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    by_type!(init, T => from_fn(|ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let found = map(ctx.allocator(), input.len(), [input.rows; 3], |i| {
            let (pivots, is_odd) = pivots(&input, i);
            Ok(T::narrow(pivots.into_iter().fold(sign(is_odd), |product, pivot| product * pivot)))
        })?;
        let out = ctx.allocator().from_slice(input.shape(&[]), &found)?;
        ctx.set_output(0, out);
        Ok(())
    }))
}

/// Returns the index of the matrix in a batch of sizes `from` that is broadcast, by NumPy's rules, to matrix `i` of a batch of sizes `to`.
pub(super) fn broadcast(from: &[usize], to: &[usize], i: usize) -> usize {
    let (mut rest, mut stride, mut found) = (i, 1, 0);
    for (axis, &size) in to.iter().enumerate().rev() {
        let position = rest % size;
        rest /= size;
        if let Some(own) = (axis + from.len()).checked_sub(to.len()).map(|axis| from[axis]) {
            found += stride * if own == 1 { 0 } else { position };
            stride *= own;
        }
    }
    found
}

/// Returns the outer sizes to which two batches broadcast.
pub(super) fn joined(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |of: &[usize], axis: usize| (axis + of.len()).checked_sub(rank).map_or(1, |axis| of[axis]);
    (0..rank)
        .map(|axis| match (size(a, axis), size(b, axis)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => bail!(InvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {a:?} vs. {b:?}"),
        })
        .collect()
}

/// Returns the full QR decomposition, in which `q` is square.
fn full_qr<W: ComplexField + Copy>(matrix: DMatrix<W>) -> (DMatrix<W>, DMatrix<W>) {
    let (rows, columns) = matrix.shape();
    let qr = matrix.qr();
    let mut q = DMatrix::identity(rows, rows);
    qr.q_tr_mul(&mut q);
    let thin = qr.r();
    let r = DMatrix::from_fn(rows, columns, |i, j| if i <= j && i < thin.nrows() { thin[(i, j)] } else { W::zero() });
    (q.adjoint(), r)
}

pub(super) fn make_qr(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let full = init.attrs.get_or("full_matrices", false)?;
    by_type!(init, T => from_fn(move |ctx| {
        let input = Batch::<T>::new(ctx.input(0)?)?;
        let inner = if full { input.rows } else { input.rows.min(input.columns) };
        let (q_shape, r_shape) = (input.shape(&[input.rows, inner]), input.shape(&[inner, input.columns]));
        let _reserved = ctx.allocator().reserve::<<T as Field>::Wide>(q_shape.checked_num_elements()?.saturating_add(r_shape.checked_num_elements()?))?;
        let (q, r): (Vec<_>, Vec<_>) = input
            .map(ctx.allocator(), |m| {
                if m.is_empty() {
                    // The matrix may have any number of columns without rows.
                    return Ok((DMatrix::identity(m.nrows(), inner), DMatrix::zeros(inner, m.ncols())));
                }
                if full {
                    return Ok(full_qr(m));
                }
                let qr = m.qr();
                Ok((qr.q(), qr.r()))
            })?
            .into_iter()
            .unzip();
        let (q, r) = (matrices::<T>(ctx.allocator(), q_shape, &q)?, matrices::<T>(ctx.allocator(), r_shape, &r)?);
        ctx.set_output(0, q);
        ctx.set_output(1, r);
        Ok(())
    }))
}

/// The number of steps after which a decomposition that does not converge is an error. A matrix takes about two steps per singular value or eigenvalue.
const MAX_STEPS: usize = 100_000;

/// Returns the distance from 1 to the next greater number.
pub(super) fn epsilon<W: ComplexField>() -> W::RealField {
    let is_single = size_of::<W::RealField>() == size_of::<f32>();
    nalgebra::convert(if is_single { f64::from(f32::EPSILON) } else { f64::EPSILON })
}

/// The singular values in descending order, and the left and the right singular vectors as columns.
type Decomposed<W> = (Vec<W>, DMatrix<W>, DMatrix<W>);

/// Computes the singular value decomposition. All results are NaN for a matrix with infinite numbers or NaN, for which no number of steps would converge.
pub(super) fn svd<W: ComplexField + Copy>(matrix: DMatrix<W>, full: bool) -> Result<Decomposed<W>> {
    let (rows, columns) = matrix.shape();
    let nothing = || {
        let rank = rows.min(columns);
        let vectors = |size: usize| DMatrix::from_element(size, if full { size } else { rank }, nan());
        (vec![nan(); rank], vectors(rows), vectors(columns))
    };
    if !is_finite(&matrix) {
        return Ok(nothing());
    }
    let epsilon = epsilon::<W>() * nalgebra::convert(5.0);
    // The matrix is scaled, because the squares of very large and very small elements overflow or underflow.
    let scale = matrix.iter().fold(W::RealField::zero(), |scale, v| scale.max(v.real().abs()).max(v.imaginary().abs()));
    let scale = if scale.is_zero() { W::RealField::one() } else { scale };
    let Some(mut found) = nalgebra::SVD::try_new_unordered(matrix.unscale(scale.clone()), true, true, epsilon, MAX_STEPS) else {
        bail!(InvalidArgument, "The singular value decomposition did not converge.");
    };
    if !found.singular_values.iter().all(ComplexField::is_finite) {
        return Ok(nothing());
    }
    found.sort_by_singular_values();
    let (Some(u), Some(v_adjoint)) = (found.u, found.v_t) else { bail!(Internal, "a singular value decomposition without vectors") };
    let values = found.singular_values.iter().map(|s| W::from_real(s.clone() * scale.clone())).collect();
    let (u, v) = (u, v_adjoint.adjoint());
    Ok(if full { (values, completed(u), completed(v)) } else { (values, u, v) })
}

/// Extends orthonormal columns to a square matrix.
fn completed<W: ComplexField + Copy>(columns: DMatrix<W>) -> DMatrix<W> {
    let (rows, given) = columns.shape();
    if rows == given {
        return columns;
    }
    let (mut q, _) = full_qr(columns.clone());
    q.columns_mut(0, given).copy_from(&columns);
    q
}

pub(super) fn make_svd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (vectors, full) = (init.attrs.get_or("compute_uv", true)?, init.attrs.get_or("full_matrices", false)?);
    by_type!(init, T => from_fn(move |ctx| {
        let input = Batch::<T>::new(ctx.input(0)?)?;
        let rank = input.rows.min(input.columns);
        let [u_shape, v_shape] = [input.rows, input.columns].map(|size| input.shape(&[size, if full { size } else { rank }]));
        if vectors {
            let _reserved = ctx.allocator().reserve::<<T as Field>::Wide>(u_shape.checked_num_elements()?.saturating_add(v_shape.checked_num_elements()?))?;
        }
        let found = if rank == 0 { Vec::new() } else { input.map(ctx.allocator(), |m| svd(m, vectors && full))? };
        let values: Vec<T> = found.iter().flat_map(|(s, ..)| s.iter().map(|&s| T::narrow(s))).collect();
        let values = ctx.allocator().from_slice(input.shape(&[rank]), &values)?;
        let side = |shape: Shape, size: usize, of: fn(&Decomposed<<T as Field>::Wide>) -> &Matrix<T>| {
            if !vectors {
                return ctx.allocator().zeros(T::DTYPE, Shape::new(&[0]));
            }
            let _reserved = ctx.allocator().reserve::<Matrix<T>>(input.len())?;
            let all: Vec<_> = match rank {
                // There are no vectors, so any orthonormal basis is correct.
                0 if full => (0..input.len()).map(|_| DMatrix::identity(size, size)).collect(),
                _ => found.iter().map(|d| of(d).clone()).collect(),
            };
            matrices::<T>(ctx.allocator(), shape, &all)
        };
        let (u, v) = (side(u_shape, input.rows, |d| &d.1)?, side(v_shape, input.columns, |d| &d.2)?);
        ctx.set_output(0, values);
        ctx.set_output(1, u);
        ctx.set_output(2, v);
        Ok(())
    }))
}

/// Returns the eigenvalues in ascending order, and the eigenvectors as columns. Only the lower triangle is read.
fn self_adjoint_eigen<W: ComplexField + Copy>(matrix: DMatrix<W>) -> Result<(Vec<W>, DMatrix<W>)> {
    let lower = matrix.lower_triangle();
    let mut whole = &lower + lower.adjoint();
    for i in 0..whole.nrows() {
        whole[(i, i)] = W::from_real(matrix[(i, i)].real());
    }
    let found = if is_finite(&whole) { nalgebra::SymmetricEigen::try_new(whole, epsilon::<W>(), MAX_STEPS) } else { None };
    let Some(found) = found else {
        bail!(InvalidArgument, "Self-adjoint eigen decomposition was not successful. The input might not be valid.");
    };
    let keys: Vec<f64> = found.eigenvalues.iter().map(|value| nalgebra::try_convert(value.clone()).unwrap_or(f64::NAN)).collect();
    let order = ascending(&keys);
    let values = order.iter().map(|&i| W::from_real(found.eigenvalues[i].clone())).collect();
    Ok((values, found.eigenvectors.select_columns(&order)))
}

pub(super) fn make_self_adjoint_eig(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let vectors = init.attrs.get_or("compute_v", true)?;
    by_type!(init, T => from_fn(move |ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let found = if input.rows == 0 { Vec::new() } else { input.map(ctx.allocator(), self_adjoint_eigen)? };
        let values: Vec<T> = found.iter().flat_map(|(e, _)| e.iter().map(|&e| T::narrow(e))).collect();
        let values = ctx.allocator().from_slice(input.shape(&[input.rows]), &values)?;
        let found: Vec<_> = found.into_iter().map(|(_, v)| v).collect();
        let columns = if vectors { matrices::<T>(ctx.allocator(), ctx.input(0)?.shape().clone(), &found)? } else { ctx.allocator().zeros(T::DTYPE, Shape::new(&[0]))? };
        ctx.set_output(0, values);
        ctx.set_output(1, columns);
        Ok(())
    }))
}

/// Makes the kernel of `SelfAdjointEig`, which outputs the eigenvalues as a row before the eigenvectors.
pub(super) fn make_self_adjoint_eig_v1(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    by_type!(init, T => from_fn(|ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let n = input.rows;
        let found = if n == 0 { Vec::new() } else { input.map(ctx.allocator(), self_adjoint_eigen)? };
        let found: Vec<_> = found.into_iter().map(|(e, v)| DMatrix::from_fn(n + 1, n, |i, j| if i == 0 { e[j] } else { v[(i - 1, j)] })).collect();
        ctx.set_output(0, matrices::<T>(ctx.allocator(), input.shape(&[n.saturating_add(1), n]), &found)?);
        Ok(())
    }))
}
