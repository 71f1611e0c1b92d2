//! Products of bytes by AVX512-VNNI, whose sums are rescaled before they leave the registers.

use super::{LANES, Rescale, Rescaled, pack_groups};
use crate::gemm::with_scratch;

/// A matrix `[k, n]` of bytes with signs in panels of [`LANES`] columns. Rows are in fours, because the instruction adds four products; what a four or a panel
/// lacks is zeros.
#[derive(Clone, Debug)]
pub(super) struct Quads {
    /// For each panel and each four rows the weights of these, column by column: `[panels, fours, LANES, 4]`.
    weights: Vec<i8>,
    /// The sum that each column starts with: minus the zero point times the sum of the column.
    start: Vec<i32>,
    zero: u8,
    k: usize,
    n: usize,
}

impl Quads {
    /// Packs a dense matrix for products with bytes whose zero point is `zero`.
    ///
    /// # Panics
    /// If there are fewer weights than the sizes say.
    pub(super) fn pack(matrix: &[i8], k: usize, n: usize, zero: u8) -> Self {
        let (weights, start) = pack_groups::<4, _>(matrix, k, n, zero);
        Self { weights, start, zero, k, n }
    }

    /// Returns the byte that means zero.
    pub(super) fn zero(&self) -> u8 {
        self.zero
    }

    /// Returns the numbers of rows and of columns.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.k, self.n)
    }

    /// Computes `rescale((A[m, k] - zero) B[k, n])` with dense A and result, on this thread. Sums of more than 32 bits wrap around.
    ///
    /// # Safety
    /// The CPU has AVX-512 with VNNI.
    ///
    /// # Panics
    /// If a slice is too short for its shape.
    pub(super) unsafe fn multiply<O: Rescaled>(&self, m: usize, a: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        let (k, n, width) = (self.k, self.n, self.k.next_multiple_of(4));
        let (a, out) = (&a[..m * k], &mut out[..m * n]);
        finish.check(n, size_of::<O>() == 1);
        if width == k {
            // SAFETY: the caller guarantees the CPU; the slices hold `m` rows, and `check` has found a factor and an addend for each column.
            return unsafe { x86::multiply(self, a, m, finish, out) };
        }
        // Rows of whole fours.
        with_scratch(m * width, |padded: &mut [u8]| {
            for i in 0..m {
                let (row, rest) = padded[i * width..][..width].split_at_mut(k);
                row.copy_from_slice(&a[i * k..][..k]);
                rest.fill(0);
            }
            // SAFETY: as above.
            unsafe { x86::multiply(self, padded, m, finish, out) };
        });
    }
}

mod x86 {
    use super::{LANES, Quads, Rescale, Rescaled};
    use core::arch::x86_64::*;

    /// The rows that are multiplied at a time.
    const ROWS: usize = 8;

    /// Computes rows of the result from rows of whole fours, two panels at a time.
    ///
    /// # Safety
    /// The CPU has AVX-512 with VNNI; `a` has `m` rows of as many fours as the panels have, `out` as many rows of `n` results, and there are factors and addends
    /// for the columns.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
    pub(super) unsafe fn multiply<O: Rescaled>(b: &Quads, a: &[u8], m: usize, finish: &Rescale<'_>, out: &mut [O]) {
        let fours = b.k.div_ceil(4);
        debug_assert!(a.len() >= m * fours * 4 && out.len() >= m * b.n);
        for column in (0..b.n).step_by(2 * LANES) {
            for first in (0..m).step_by(ROWS) {
                let rows = ROWS.min(m - first);
                let a = a[first * fours * 4..].as_ptr().cast();
                let out = out[first * b.n..].as_mut_ptr();
                // SAFETY: the rows and columns are there, by the function's requirements.
                unsafe {
                    match (rows, b.n - column > LANES) {
                        (ROWS, true) => tile::<O, ROWS, 2>(b, a, fours, column, finish, out),
                        (ROWS, false) => tile::<O, ROWS, 1>(b, a, fours, column, finish, out),
                        (_, true) => (0..rows)
                            .for_each(|i| tile::<O, 1, 2>(b, a.wrapping_add(i * fours), fours, column, finish, out.wrapping_add(i * b.n))),
                        (_, false) => (0..rows)
                            .for_each(|i| tile::<O, 1, 1>(b, a.wrapping_add(i * fours), fours, column, finish, out.wrapping_add(i * b.n))),
                    }
                }
            }
        }
    }

    /// Computes `M` rows of `P` panels from `column` on.
    ///
    /// # Safety
    /// The CPU has AVX-512 with VNNI; `a` has `M` rows of `fours`, `out` `M` rows of results; `column` is the first of a panel, and the last of the panels begins
    /// before the last column.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
    unsafe fn tile<O: Rescaled, const M: usize, const P: usize>(
        b: &Quads,
        a: *const i32,
        fours: usize,
        column: usize,
        finish: &Rescale<'_>,
        out: *mut O,
    ) {
        // SAFETY: all accesses lie within the rows, the panels and the columns, by the function's requirements.
        unsafe {
            let mut sums = [[_mm512_setzero_si512(); P]; M];
            for p in 0..P {
                let start = _mm512_loadu_si512(b.start.as_ptr().add(column + p * LANES).cast());
                for row in &mut sums {
                    row[p] = start;
                }
            }
            let panels: *const __m512i = b.weights.as_ptr().add(column * fours * 4).cast();
            for four in 0..fours {
                let mut weights = [_mm512_setzero_si512(); P];
                for (p, weights) in weights.iter_mut().enumerate() {
                    *weights = panels.add(p * fours + four).read_unaligned();
                }
                for (i, row) in sums.iter_mut().enumerate() {
                    let bytes = _mm512_set1_epi32(a.add(i * fours + four).read_unaligned());
                    for (sum, weights) in row.iter_mut().zip(weights) {
                        *sum = _mm512_dpbusd_epi32(*sum, bytes, weights);
                    }
                }
            }
            for p in 0..P {
                let at = column + p * LANES;
                let columns = (b.n - at).min(LANES);
                let mask = (u32::MAX >> (32 - columns)) as __mmask16;
                let factor = _mm512_maskz_loadu_ps(mask, finish.factor.as_ptr().add(at));
                let bias = _mm512_maskz_loadu_ps(mask, finish.bias.as_ptr().add(at));
                for (i, row) in sums.iter().enumerate() {
                    let x = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(row[p]), factor), bias);
                    // Both return the second operand for NaN.
                    let x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(finish.low)), _mm512_set1_ps(finish.high));
                    O::store_vector(out.add(i * b.n + at), x, mask);
                }
            }
        }
    }
}
