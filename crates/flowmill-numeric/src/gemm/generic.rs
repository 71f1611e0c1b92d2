//! Products of integers, complex numbers and half-precision floats.

use crate::float16::Float16;
use num_complex::Complex;

use super::{Element, MatrixRef, check_matrix, gemm, with_scratch};
use crate::parallel;

/// The arithmetic that a product needs of its elements. Integers wrap around.
pub trait Ring: Copy + Send + Sync {
    /// True if loops over the type are compiled for each instruction set; false for types of which few programs multiply large matrices.
    const WIDE: bool;
    /// The sum of no elements.
    const ZERO: Self;
    /// Returns `self + a * b`.
    fn add_product(self, a: Self, b: Self) -> Self;
}

macro_rules! integer_ring {
    ($($t:ty = $wide:literal),*) => {$(
        impl Ring for $t {
            const WIDE: bool = $wide;
            const ZERO: Self = 0;
            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_mul(b))
            }
        }
    )*};
}
integer_ring!(i8 = false, i16 = false, i32 = true, i64 = true, u8 = false, u16 = false, u32 = false, u64 = false);

macro_rules! complex_ring {
    ($($t:ty)*) => {$(
        impl Ring for Complex<$t> {
            // Large products are those of real numbers.
            const WIDE: bool = false;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                Complex {
                    re: self.re + (a.re * b.re - a.im * b.im),
                    im: self.im + (a.re * b.im + a.im * b.re),
                }
            }
        }
    )*};
}
complex_ring!(f32 f64);

crate::dispatch! {
    /// Computes `c[j] += a * b[j]`.
    fn add_scaled_row<T>(c: &mut [T], a: T, b: &[T]) where [T: Ring], if [T::WIDE] {
        for (c, b) in c.iter_mut().zip(b) {
            *c = c.add_product(a, *b);
        }
    }

    /// Adds four scaled rows to `c`, one after the other. The sums are loaded and stored once for all four.
    fn add_four_scaled_rows<T>(c: &mut [T], a: [T; 4], b: [&[T]; 4]) where [T: Ring], if [T::WIDE] {
        for ((((c, b0), b1), b2), b3) in c.iter_mut().zip(b[0]).zip(b[1]).zip(b[2]).zip(b[3]) {
            *c = c.add_product(a[0], *b0).add_product(a[1], *b1).add_product(a[2], *b2).add_product(a[3], *b3);
        }
    }
}

/// The size of the rows of B that are added to all rows of a task before the next ones.
const PANEL_BYTES: usize = 128 << 10;
/// The least number of multiply-adds per parallel task.
const GRAIN: usize = 200_000;

/// Computes `C[m, n] = A[m, k] B[k, n]` with dense C, for any [`Ring`]; each element is summed in the order of `k`.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn matmul_generic<T: Ring + bytemuck::Pod>(m: usize, k: usize, n: usize, a: MatrixRef<'_, T>, b: MatrixRef<'_, T>, c: &mut [T]) {
    a.check("A", m, k);
    b.check("B", k, n);
    check_matrix("C", c.len(), m, n, n);
    if m == 0 || n == 0 {
        return;
    }
    if b.transposed {
        return with_scratch(k * n, |rows: &mut [T]| {
            for (p, row) in rows.chunks_exact_mut(n).enumerate() {
                for (j, x) in row.iter_mut().enumerate() {
                    *x = b.data[j * b.ld + p];
                }
            }
            let b = MatrixRef { data: rows, ld: n, transposed: false };
            matmul_generic(m, k, n, a, b, c);
        });
    }
    // Rows of B that stay in the cache while they are added to all rows of C.
    let panel = (PANEL_BYTES / (n * size_of::<T>()).max(1)).max(4) / 4 * 4;
    let rows_of = |rows: std::ops::Range<usize>, c: &mut [T]| {
        c.fill(T::ZERO);
        for start in (0..k).step_by(panel) {
            let end = k.min(start + panel);
            let fours = start + (end - start) / 4 * 4;
            for (i, c) in rows.clone().zip(c.chunks_exact_mut(n)) {
                let x = |p: usize| a.data[if a.transposed { p * a.ld + i } else { i * a.ld + p }];
                let row = |p: usize| &b.data[p * b.ld..][..n];
                for p in (start..fours).step_by(4) {
                    add_four_scaled_rows(c, [x(p), x(p + 1), x(p + 2), x(p + 3)], [row(p), row(p + 1), row(p + 2), row(p + 3)]);
                }
                for p in fours..end {
                    add_scaled_row(c, x(p), row(p));
                }
            }
        }
    };
    let work = m.saturating_mul(n).saturating_mul(k);
    if parallel::threads() == 1 || m == 1 || work < 2 * GRAIN {
        rows_of(0..m, c);
    } else {
        let rows = GRAIN.div_ceil(n.saturating_mul(k).max(1)).max(1);
        parallel::chunks(&mut c[..m * n], rows * n, |i, c| {
            rows_of(i * rows..m.min((i + 1) * rows), c);
        });
    }
}

/// The least number of rows of A for which B is written as a matrix of real numbers.
const MIN_COMPLEX_ROWS: usize = 8;

/// Computes `C[m, n] = A[m, k] B[k, n]` with dense C for complex numbers, as a product of real matrices: the rows of A and C are rows of twice as many
/// real numbers, and each element `x + iy` of B becomes the matrix with the rows `x, y` and `-y, x`.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn matmul_complex<F>(m: usize, k: usize, n: usize, a: MatrixRef<'_, Complex<F>>, b: MatrixRef<'_, Complex<F>>, c: &mut [Complex<F>])
where
    F: Element,
    Complex<F>: Ring + bytemuck::Pod,
{
    a.check("A", m, k);
    b.check("B", k, n);
    check_matrix("C", c.len(), m, n, n);
    if m < MIN_COMPLEX_ROWS || k == 0 || n == 0 {
        return matmul_generic(m, k, n, a, b, c);
    }
    let len_of_a = if a.transposed { 2 * m * k } else { 0 };
    with_scratch(len_of_a + 4 * k * n, |scratch: &mut [F]| {
        let (rows, expanded) = scratch.split_at_mut(len_of_a);
        for (p, pair) in expanded.chunks_exact_mut(4 * n).enumerate() {
            let (upper, lower) = pair.split_at_mut(2 * n);
            for (j, (upper, lower)) in upper.chunks_exact_mut(2).zip(lower.chunks_exact_mut(2)).enumerate() {
                let x = b.data[if b.transposed { j * b.ld + p } else { p * b.ld + j }];
                upper.copy_from_slice(&[x.re, x.im]);
                lower.copy_from_slice(&[-x.im, x.re]);
            }
        }
        let a = if a.transposed {
            for (i, row) in rows.chunks_exact_mut(2 * k).enumerate() {
                for (p, pair) in row.chunks_exact_mut(2).enumerate() {
                    let x = a.data[p * a.ld + i];
                    pair.copy_from_slice(&[x.re, x.im]);
                }
            }
            MatrixRef { data: &*rows, ld: 2 * k, transposed: false }
        } else {
            MatrixRef { data: bytemuck::cast_slice(a.data), ld: 2 * a.ld, transposed: false }
        };
        let b = MatrixRef { data: &*expanded, ld: 2 * n, transposed: false };
        gemm(m, 2 * k, 2 * n, a, b, bytemuck::cast_slice_mut(&mut c[..m * n]), 2 * n, false);
    });
}

/// Computes `C[m, n] = A[m, k] B[k, n]` with dense C for types that compute in `f32` (half): operands are converted, multiplied and
/// accumulated in `f32`, and each sum is rounded once.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn matmul_converted<T: Float16>(m: usize, k: usize, n: usize, a: MatrixRef<'_, T>, b: MatrixRef<'_, T>, c: &mut [T]) {
    a.check("A", m, k);
    b.check("B", k, n);
    check_matrix("C", c.len(), m, n, n);
    let convert = |x: MatrixRef<'_, T>, rows: usize, cols: usize, dst: &mut [f32]| {
        let (rows, cols) = if x.transposed { (cols, rows) } else { (rows, cols) };
        if cols > 0 {
            for (i, dst) in dst.chunks_exact_mut(cols).enumerate().take(rows) {
                T::widen_slice(&x.data[i * x.ld..][..cols], dst);
            }
        }
        cols
    };
    with_scratch(m * k + k * n + m * n, |scratch: &mut [f32]| {
        let (a32, rest) = scratch.split_at_mut(m * k);
        let (b32, c32) = rest.split_at_mut(k * n);
        let lda = convert(a, m, k, a32);
        let ldb = convert(b, k, n, b32);
        let a32 = MatrixRef { data: a32, ld: lda, transposed: a.transposed };
        let b32 = MatrixRef { data: b32, ld: ldb, transposed: b.transposed };
        gemm(m, k, n, a32, b32, c32, n, false);
        T::narrow_slice(c32, &mut c[..m * n]);
    });
}
