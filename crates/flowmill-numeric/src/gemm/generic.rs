//! Products of integers, complex numbers and half-precision floats.

use crate::float16::Float16;
use num_complex::Complex;

use super::{MatrixRef, check_matrix, gemm, with_scratch};
use crate::parallel;

/// The arithmetic that a product needs of its elements. Integers wrap around.
pub trait Ring: Copy + Send + Sync {
    /// The sum of no elements.
    const ZERO: Self;
    /// Returns `self + a * b`.
    fn add_product(self, a: Self, b: Self) -> Self;
}

macro_rules! integer_ring {
    ($($t:ty)*) => {$(
        impl Ring for $t {
            const ZERO: Self = 0;
            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_mul(b))
            }
        }
    )*};
}
integer_ring!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! complex_ring {
    ($($t:ty)*) => {$(
        impl Ring for Complex<$t> {
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
    fn add_scaled_row<T>(c: &mut [T], a: T, b: &[T]) where [T: Ring] {
        for (c, b) in c.iter_mut().zip(b) {
            *c = c.add_product(a, *b);
        }
    }
}

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
    let rows_of = |rows: std::ops::Range<usize>, c: &mut [T]| {
        for (i, c) in rows.zip(c.chunks_exact_mut(n)) {
            c.fill(T::ZERO);
            for p in 0..k {
                let x = a.data[if a.transposed { p * a.ld + i } else { i * a.ld + p }];
                add_scaled_row(c, x, &b.data[p * b.ld..][..n]);
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
