//! Products of a matrix and a vector, in which a lane has a row of the matrix.
//!
//! The tiles of other products have lanes of columns, and a product with one column uses one lane. Here, blocks of 8 x 8 elements of the matrix are
//! transposed in registers, and each lane adds the products of its row in the order of `k`, so that results have the bits of all other products.

use super::{Element, MatrixRef, with_scratch};
use crate::parallel;
use crate::simd::Isa;

/// The number of rows that are computed at a time, if there are as many: two vectors, because the sum of one waits for its last addition.
const ROWS_AT_ONCE: usize = 16;

/// Returns true if [`multiply`] computes the product of a matrix `[m, k]` of elements of type `T` with a vector.
pub(super) fn is_supported<T: Element>(isa: Isa, m: usize, k: usize) -> bool {
    cfg!(target_arch = "x86_64") && isa >= Isa::Avx2 && size_of::<T>() == size_of::<f32>() && m >= 8 && k > 0
}

/// Calls `then` with the elements of a vector, which is a row of a matrix or, if `is_column`, a column.
pub(super) fn with_vector<T: Element>(x: MatrixRef<'_, T>, is_column: bool, k: usize, then: impl FnOnce(&[T])) {
    if x.transposed == is_column || x.ld == 1 {
        return then(&x.data[..k]);
    }
    with_scratch(k, |vector: &mut [T]| {
        vector.iter_mut().zip(x.data.iter().step_by(x.ld)).for_each(|(to, &from)| *to = from);
        then(vector);
    });
}

/// Computes `y[i] = sum of a[i * lda + p] x[p]`.
///
/// # Panics
/// If a slice is too short, or the product is not supported.
pub(super) fn multiply<T: Element>(isa: Isa, a: &[T], lda: usize, x: &[T], y: &mut [T]) {
    assert!(is_supported::<T>(isa, y.len(), x.len()), "a product of {} rows and a vector", y.len());
    super::check_matrix("A", a.len(), y.len(), x.len(), lda);
    let rows = |first: usize, y: &mut [T]| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU has AVX2, which implies FMA here; there are at least 8 rows, and the operands, whose elements are `f32`, were checked.
        unsafe {
            let a = a.as_ptr().cast::<f32>().add(first * lda);
            x86::rows(a, lda, x.as_ptr().cast(), x.len(), y.as_mut_ptr().cast(), y.len());
        }
    };
    // A core reads about 30 bytes per nanosecond from its cache.
    let nanoseconds = size_of_val(x).saturating_mul(y.len()) / 30;
    let threads = parallel::threads();
    let each = y.len().div_ceil(threads).next_multiple_of(ROWS_AT_ONCE);
    if threads == 1 || !parallel::is_worth_forking(nanoseconds) || (1..8).contains(&(y.len() % each)) {
        return rows(0, y);
    }
    parallel::chunks(y, each, |i, y| rows(i * each, y));
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::ROWS_AT_ONCE;
    use crate::simd::transpose::x86::columns;
    use core::arch::x86_64::*;

    /// Computes the sums of `m >= 8` rows.
    ///
    /// # Safety
    /// The CPU has AVX2 and FMA; `m` rows of `k` elements, `lda` apart, are readable at `a`, `k` elements at `x`, and `m` are writable at `y`.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn rows(a: *const f32, lda: usize, x: *const f32, k: usize, y: *mut f32, m: usize) {
        let mut first = 0;
        // SAFETY: all rows are below `m`. The last 8 may have been computed before; their sums are the same.
        unsafe {
            while first + ROWS_AT_ONCE <= m {
                vectors::<{ ROWS_AT_ONCE / 8 }>(a.add(first * lda), lda, x, k, y.add(first));
                first += ROWS_AT_ONCE;
            }
            while first < m {
                first = first.min(m - 8);
                vectors::<1>(a.add(first * lda), lda, x, k, y.add(first));
                first += 8;
            }
        }
    }

    /// Computes the sums of `8 * VECTORS` rows.
    ///
    /// # Safety
    /// The CPU has AVX2 and FMA; so many rows of `k` elements, `lda` apart, are readable at `a`, `k` elements at `x`, and as many as rows are writable at `y`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn vectors<const VECTORS: usize>(a: *const f32, lda: usize, x: *const f32, k: usize, y: *mut f32) {
        let mut sums = [_mm256_setzero_ps(); VECTORS];
        let whole = k / 8 * 8;
        // SAFETY: the rows have `k` elements, as has the vector.
        unsafe {
            for line in (0..whole).step_by(16) {
                for (v, sum) in sums.iter_mut().enumerate() {
                    for p in (line..whole.min(line + 16)).step_by(8) {
                        for (i, column) in columns(a.add(8 * v * lda + p), lda).into_iter().enumerate() {
                            *sum = _mm256_fmadd_ps(column, _mm256_set1_ps(*x.add(p + i)), *sum);
                        }
                    }
                }
            }
            for p in whole..k {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = |i: usize| *a.add((8 * v + i) * lda + p);
                    let column = _mm256_setr_ps(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
                    *sum = _mm256_fmadd_ps(column, _mm256_set1_ps(*x.add(p)), *sum);
                }
            }
            for (v, sum) in sums.into_iter().enumerate() {
                _mm256_storeu_ps(y.add(8 * v), sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::{Activation, Epilogue, PackedB, PackedRhs, gemm_for, gemm_packed};

    fn values(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 31) % 1009) as f32 / 97.0 - 5.0).collect()
    }

    /// The product with one vector has the bits of the first column of a product with two, however the operands are stored.
    #[test]
    fn vectors_give_the_bits_of_columns() {
        for (m, k) in [(8, 1), (9, 8), (31, 65), (32, 7), (33, 40), (100, 129), (1000, 300), (7, 20), (40, 0)] {
            let (lda, a, b) = (k + 3, values(m * (k + 3), 1), values(2 * k, 2));
            let first: Vec<f32> = b.iter().copied().step_by(2).collect();
            let matrix = MatrixRef { data: &a, ld: lda, transposed: false };
            for isa in Isa::available() {
                let mut both = vec![f32::NAN; 2 * m];
                gemm_for(isa, m, k, 2, matrix, MatrixRef { data: &b, ld: 2, transposed: false }, &mut both, 2, false);
                let want: Vec<u32> = both.iter().step_by(2).map(|x| x.to_bits()).collect();
                for threads in [1, 2] {
                    let check = |what: &str, compute: &(dyn Fn(&mut [f32]) + Sync)| {
                        let mut c = vec![f32::NAN; m];
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                        pool.install(|| compute(&mut c));
                        let got: Vec<u32> = c.iter().map(|x| x.to_bits()).collect();
                        assert_eq!(got, want, "{what}: {isa:?} [{m}, {k}], {threads} threads");
                    };
                    let column = |data, ld, transposed| MatrixRef { data, ld, transposed };
                    check("column", &|c| gemm_for(isa, m, k, 1, matrix, column(&b, 2, false), c, 1, false));
                    check("row", &|c| gemm_for(isa, m, k, 1, matrix, column(&first, k.max(1), true), c, 1, false));
                    let rows = MatrixRef { transposed: true, ..matrix };
                    check("transposed", &|c| gemm_for(isa, 1, k, m, column(&first, k.max(1), false), rows, c, m, false));
                    check("both transposed", &|c| gemm_for(isa, 1, k, m, column(&b, 2, true), rows, c, m, false));
                }
            }
        }
    }

    #[test]
    fn epilogues_follow() {
        let (m, k) = (50, 21);
        let (a, b, residual) = (values(m * k, 1), values(k, 2), values(m, 3));
        let epilogue = Epilogue { bias: Some(&[0.5]), residual: Some((&residual, 1)), activation: Activation::Relu, accumulate: false };
        let packed = PackedRhs::F32(PackedB::pack(&b, k, 1, false));
        let (mut c, mut plain) = (vec![f32::NAN; m], vec![f32::NAN; m]);
        gemm_packed(&a, k, m, &packed, &mut c, 1, &epilogue);
        gemm_packed(&a, k, m, &packed, &mut plain, 1, &Epilogue::default());
        for i in 0..m {
            assert_eq!(c[i], (plain[i] + 0.5 + residual[i]).max(0.0), "row {i}");
        }
    }
}
