//! The loops that solve linear systems and compute Cholesky factors.
//!
//! They run along rows: matrices are row-major, and the length of a row is a multiple of [`LANES`], so that every inner loop is one of vectors.
//! Elements that pad a row are computed, too, but no result depends on them.

use flowmill_tensor::Complex;
use nalgebra::ComplexField;
use num_traits::Zero;

/// The number of elements of a row in a short inner loop, and the number of columns that are eliminated between two updates of all columns after them.
const LANES: usize = 8;
/// The number of elements of a row in a long inner loop.
const MANY_LANES: usize = 4 * LANES;

/// A number that matrices are computed in.
pub(super) trait Scalar: ComplexField + Copy {
    /// True if the loops exist for each instruction set, which complex numbers do not use well.
    const IS_REAL: bool;

    /// Returns the sum of the absolute values of the parts, by which pivots are chosen.
    fn size(self) -> Self::RealField;
}

macro_rules! scalars {
    ($($Real:ty),*) => {$(
        impl Scalar for $Real {
            const IS_REAL: bool = true;

            #[inline(always)]
            fn size(self) -> $Real {
                <$Real>::abs(self)
            }
        }

        impl Scalar for Complex<$Real> {
            const IS_REAL: bool = false;

            #[inline(always)]
            fn size(self) -> $Real {
                <$Real>::abs(self.re) + <$Real>::abs(self.im)
            }
        }
    )*};
}

scalars!(f32, f64);

/// Subtracts `factors[p]` times row `p` of `others` from `row`, for every factor. The rows are `width` apart, and element 0 of `row` belongs to their
/// element `first`.
#[inline(always)]
fn subtract<W: Scalar>(row: &mut [W], factors: &[W], others: &[W], width: usize, first: usize) {
    let long = row.len() / MANY_LANES * MANY_LANES;
    let (many, few) = row.split_at_mut(long);
    for (i, lanes) in many.chunks_exact_mut(MANY_LANES).enumerate() {
        subtract_lanes::<W, MANY_LANES>(lanes, factors, others, width, first + i * MANY_LANES);
    }
    for (i, lanes) in few.chunks_exact_mut(LANES).enumerate() {
        subtract_lanes::<W, LANES>(lanes, factors, others, width, first + long + i * LANES);
    }
}

/// Like [`subtract`], for `N` elements, which stay in registers.
#[inline(always)]
fn subtract_lanes<W: Scalar, const N: usize>(row: &mut [W], factors: &[W], others: &[W], width: usize, first: usize) {
    let mut lanes = [W::zero(); N];
    lanes.copy_from_slice(row);
    for (p, &factor) in factors.iter().enumerate() {
        let other = &others[p * width + first..][..N];
        for j in 0..N {
            lanes[j] -= factor * other[j];
        }
    }
    row.copy_from_slice(&lanes);
}

flowmill_numeric::dispatch! {
    /// Eliminates the elements below the diagonal, with the largest element of each column as its pivot. All of a row of `width` elements is updated.
    /// The factors of the rows replace the elements that they eliminate. A column without a pivot is left alone: the result has a zero on its diagonal.
    ///
    /// Returns true if the number of exchanges of rows is odd.
    fn eliminate_rows<W>(matrix: &mut [W], width: usize) -> bool where [W: Scalar], if [W::IS_REAL] {
        let n = matrix.len() / width;
        let mut is_odd = false;
        for first in (0..n).step_by(LANES) {
            let end = n.min(first + LANES);
            for k in first..end {
                let mut pivot = k;
                let mut largest = matrix[k * width + k].size();
                for i in k + 1..n {
                    let size = matrix[i * width + k].size();
                    if size > largest {
                        (pivot, largest) = (i, size);
                    }
                }
                let divisor = matrix[pivot * width + k];
                if divisor.is_zero() {
                    continue;
                }
                let (above, below) = matrix.split_at_mut((k + 1) * width);
                let pivots = &mut above[k * width..];
                if pivot != k {
                    pivots.swap_with_slice(&mut below[(pivot - k - 1) * width..][..width]);
                    is_odd = !is_odd;
                }
                let mut others = [W::zero(); LANES];
                others.copy_from_slice(&pivots[first..][..LANES]);
                others[..=k - first].fill(W::zero());
                for row in below.chunks_exact_mut(width) {
                    let row = &mut row[first..][..LANES];
                    let factor = row[k - first] / divisor;
                    for j in 0..LANES {
                        row[j] -= factor * others[j];
                    }
                    row[k - first] = factor;
                }
            }
            for i in first + 1..n {
                let (above, row) = matrix.split_at_mut(i * width);
                let (factors, rest) = row[..width].split_at_mut(first + LANES);
                subtract(rest, &factors[first..i.min(end)], &above[first * width..], width, first + LANES);
            }
        }
        is_odd
    }

    /// Replaces `x`, rows of `columns` elements, by the solutions of a triangular system with these right-hand sides. The rows of the triangle are `width` apart.
    fn substitute<W>(triangle: &[W], width: usize, is_lower: bool, x: &mut [W], columns: usize) where [W: Scalar], if [W::IS_REAL] {
        let n = x.len() / columns;
        for step in 0..n {
            let i = if is_lower { step } else { n - 1 - step };
            let row = &triangle[i * width..][..n];
            let (before, rest) = x.split_at_mut(i * columns);
            let (own, after) = rest.split_at_mut(columns);
            let (factors, solved) = if is_lower { (&row[..i], before) } else { (&row[i + 1..], after) };
            subtract(own, factors, solved, columns, 0);
            own.iter_mut().for_each(|x| *x /= row[i]);
        }
    }

    /// Replaces the upper triangle of a Hermitian matrix, whose rows have `width` elements, by the adjoint of its Cholesky factor. The other triangle is
    /// neither read nor kept.
    ///
    /// Returns false if the matrix is not positive definite.
    fn factor_rows<W>(matrix: &mut [W], width: usize) -> bool where [W: Scalar], if [W::IS_REAL] {
        let n = matrix.len() / width;
        let mut factors = [W::zero(); LANES];
        for first in (0..n).step_by(LANES) {
            let end = n.min(first + LANES);
            for k in first..n {
                let (above, row) = matrix.split_at_mut(k * width);
                let above = &above[first * width..];
                let count = k.min(end) - first;
                for p in 0..count {
                    factors[p] = above[p * width + k].conjugate();
                }
                let start = k / LANES * LANES;
                let row = &mut row[start..width];
                subtract(row, &factors[..count], above, width, start);
                if k < end {
                    let pivot = row[k - start].real();
                    // The comparison is false for NaN, too.
                    if !(pivot > W::RealField::zero()) {
                        return false;
                    }
                    let root = pivot.sqrt();
                    row.iter_mut().for_each(|x| *x = x.unscale(root.clone()));
                    row[k - start] = W::from_real(root);
                }
            }
        }
        true
    }
}

/// A square matrix, and columns beside it on which elimination acts.
pub(super) struct Rows<W> {
    values: Vec<W>,
    width: usize,
}

impl<W: Scalar> Rows<W> {
    /// Returns zeros: a matrix with `n` rows, which must not be 0, and `beside` columns beside it.
    pub(super) fn new(n: usize, beside: usize) -> Rows<W> {
        let width = (n + beside).next_multiple_of(LANES);
        Rows { values: vec![W::zero(); n * width], width }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.width
    }

    pub(super) fn row(&self, i: usize) -> &[W] {
        &self.values[i * self.width..][..self.width]
    }

    /// Sets the columns from `first` on to the rows of a matrix.
    pub(super) fn set(&mut self, first: usize, columns: usize, values: impl Iterator<Item = W>) {
        let mut values = values;
        for row in self.values.chunks_exact_mut(self.width) {
            row[first..first + columns].iter_mut().zip(&mut values).for_each(|(x, value)| *x = value);
        }
    }

    /// Sets the matrix to the adjoint of a square matrix.
    pub(super) fn set_adjoint(&mut self, values: impl Iterator<Item = W>) {
        let mut values = values;
        for j in 0..self.len() {
            self.values[j..].iter_mut().step_by(self.width).zip(&mut values).for_each(|(x, value)| *x = value.conjugate());
        }
    }

    /// Eliminates the elements below the diagonal. Returns true if the number of exchanges of rows is odd.
    pub(super) fn eliminate(&mut self) -> bool {
        eliminate_rows(&mut self.values, self.width)
    }

    /// Replaces a Hermitian matrix with this upper triangle by the adjoint of its Cholesky factor, above the diagonal only. Returns false if the matrix is not
    /// positive definite.
    pub(super) fn factor(&mut self) -> bool {
        factor_rows(&mut self.values, self.width)
    }

    /// Solves systems with the matrix, one per column beside it. Calls `put(i, j, x)` with parts of row `i` of the solution that begin at column `j`.
    ///
    /// Returns false if the matrix is not invertible.
    pub(super) fn solve(&mut self, columns: usize, put: &mut dyn FnMut(usize, usize, &[W])) -> bool {
        self.eliminate();
        let n = self.len();
        if (0..n).any(|i| self.row(i)[i].is_zero()) {
            return false;
        }
        self.substitute(false, columns, &|i, j, x| x.copy_from_slice(&self.row(i)[n + j..][..x.len()]), put);
        true
    }

    /// Solves systems with one triangle of the matrix. Calls `get(i, j, x)` for parts of row `i` of the right-hand sides that begin at column `j`, and `put` for
    /// parts of the solutions.
    pub(super) fn substitute(
        &self,
        is_lower: bool,
        columns: usize,
        get: &dyn Fn(usize, usize, &mut [W]),
        put: &mut dyn FnMut(usize, usize, &[W]),
    ) {
        let n = self.len();
        let mut x = vec![W::zero(); n * columns.next_multiple_of(LANES).min(MANY_LANES)];
        // So few columns stay in the cache while the triangle passes.
        for first in (0..columns).step_by(MANY_LANES) {
            let count = MANY_LANES.min(columns - first);
            let width = count.next_multiple_of(LANES);
            let x = &mut x[..n * width];
            x.chunks_exact_mut(width).enumerate().for_each(|(i, row)| get(i, first, &mut row[..count]));
            substitute(&self.values, self.width, is_lower, x, width);
            x.chunks_exact(width).enumerate().for_each(|(i, row)| put(i, first, &row[..count]));
        }
    }
}
