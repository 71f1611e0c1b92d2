//! Products of bytes with panels of weights, whose sums are rescaled before they leave the registers.

use super::{LANES, Rescale, Rescaled, pack_groups};
use crate::gemm::with_scratch;
use crate::simd::Isa;

/// A matrix `[k, n]` of integers from -255 to 255 in panels of [`LANES`] columns.
///
/// Both factors have 16 bits in the kernel, whose instruction adds the products of two neighbouring integers: rows are in pairs. The last of an odd number of
/// rows is paired with zeros, and so is the last panel filled up.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    /// For each panel and each pair of rows the weights of both, column by column: `[panels, pairs, LANES, 2]`.
    weights: Vec<i16>,
    /// The sum that each column starts with: minus the zero point times the sum of the column.
    start: Vec<i32>,
    zero: u8,
    k: usize,
    n: usize,
}

/// The rows that are multiplied at a time.
const ROWS: usize = 4;
/// The bytes of the widened rows that are multiplied with one panel after the other: they stay in the L1 cache beside a panel.
const WIDENED_BYTES: usize = 16 << 10;

impl Panels {
    /// Packs a dense matrix for products with bytes whose zero point is `zero`.
    ///
    /// # Panics
    /// If there are fewer weights than the sizes say.
    pub(super) fn pack(matrix: &[i16], k: usize, n: usize, zero: u8) -> Self {
        let (weights, start) = pack_groups::<2, _>(matrix, k, n, zero);
        Self { weights, start, zero, k, n }
    }

    /// Returns the byte that means zero.
    pub(super) fn zero(&self) -> u8 {
        self.zero
    }

    /// Returns the number of rows.
    pub(super) fn k(&self) -> usize {
        self.k
    }

    /// Returns the number of columns.
    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// Computes `rescale((A[m, k] - zero) B[k, n])` with dense A and result, on this thread. The caller has checked the instruction set. Sums of more than 32 bits
    /// wrap around.
    ///
    /// # Panics
    /// If a slice is too short for its shape.
    pub(super) fn multiply<O: Rescaled>(&self, isa: Isa, m: usize, a: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        let (k, n) = (self.k, self.n);
        let (a, out) = (&a[..m * k], &mut out[..m * n]);
        finish.check(n, size_of::<O>() == 1);
        if out.is_empty() {
            return;
        }
        // Rows of an even number of integers.
        let width = k.next_multiple_of(2);
        let block = (WIDENED_BYTES / (2 * width).max(1)).next_multiple_of(ROWS).clamp(ROWS, 64);
        with_scratch(block.min(m) * width, |words: &mut [i16]| {
            for first in (0..m).step_by(block) {
                let rows = block.min(m - first);
                for i in 0..rows {
                    let (row, rest) = words[i * width..][..width].split_at_mut(k);
                    super::widen(row, &a[(first + i) * k..][..k]);
                    rest.fill(0);
                }
                let (words, out) = (&words[..rows * width], &mut out[first * n..][..rows * n]);
                match isa {
                    // SAFETY: the CPU has AVX2, which `isa` says; `words` has `rows` rows of pairs, the panels as many pairs of weights, and `check` has found a
                    // factor and an addend for each of the columns that a row of the result has.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 | Isa::Avx512 => unsafe { x86::multiply(self, words, rows, finish, out) },
                    _ => self.multiply_plainly(words, width, finish, out),
                }
            }
        });
    }

    /// Computes rows of the result from rows of `width` 16-bit integers in plain Rust.
    fn multiply_plainly<O: Rescaled>(&self, words: &[i16], width: usize, finish: &Rescale<'_>, out: &mut [O]) {
        for (i, out) in out.chunks_exact_mut(self.n).enumerate() {
            let words = &words[i * width..][..width];
            for (block, out) in out.chunks_mut(LANES).enumerate() {
                let mut sums = [0i32; LANES];
                sums.copy_from_slice(&self.start[block * LANES..][..LANES]);
                let weights = &self.weights[block * width * LANES..][..width * LANES];
                for (pair, weights) in words.chunks_exact(2).zip(weights.chunks_exact(2 * LANES)) {
                    for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(2)) {
                        let products = i32::from(pair[0]) * i32::from(weights[0]) + i32::from(pair[1]) * i32::from(weights[1]);
                        *sum = sum.wrapping_add(products);
                    }
                }
                for (column, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
                    *out = O::rescale_one(finish, block * LANES + column, sum);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{LANES, Panels, ROWS, Rescale, Rescaled};
    use core::arch::x86_64::*;

    /// Computes rows of the result from rows of 16-bit integers.
    ///
    /// # Safety
    /// The CPU has AVX2; `words` has `rows` rows of as many pairs as the panels have, `out` as many rows of `n` results, and there are factors and addends
    /// for the columns.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn multiply<O: Rescaled>(panels: &Panels, words: &[i16], rows: usize, finish: &Rescale<'_>, out: &mut [O]) {
        let (pairs, n) = (panels.k.div_ceil(2), panels.n);
        for at in (0..n).step_by(LANES) {
            let weights = &panels.weights[at / LANES * pairs * LANES * 2..][..pairs * LANES * 2];
            let start = &panels.start[at..][..LANES];
            for first in (0..rows).step_by(ROWS) {
                let words = &words[first * pairs * 2..];
                let out = &mut out[first * n..];
                // SAFETY: the rows are there, by the function's requirements, and the slices hold one panel.
                unsafe {
                    match rows - first {
                        1 => tile::<O, 1>(words, pairs, weights, start, at, finish, out),
                        2 => tile::<O, 2>(words, pairs, weights, start, at, finish, out),
                        3 => tile::<O, 3>(words, pairs, weights, start, at, finish, out),
                        _ => tile::<O, ROWS>(words, pairs, weights, start, at, finish, out),
                    }
                }
            }
        }
    }

    /// Computes the columns of a panel, from column `at` on, in `M` rows.
    ///
    /// # Safety
    /// The CPU has AVX2; `words` has `M` rows of `pairs`, `weights` and `start` are those of a panel, and `out` has `M` rows of the number of factors.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn tile<O: Rescaled, const M: usize>(
        words: &[i16],
        pairs: usize,
        weights: &[i16],
        start: &[i32],
        at: usize,
        finish: &Rescale<'_>,
        out: &mut [O],
    ) {
        let n = finish.factor.len();
        debug_assert!(words.len() >= M * pairs * 2 && weights.len() >= pairs * LANES * 2 && start.len() >= LANES && out.len() >= M * n);
        // SAFETY: all loads and stores lie within the slices, by the function's requirements.
        unsafe {
            let first = _mm256_loadu_si256(start.as_ptr().cast());
            let second = _mm256_loadu_si256(start.as_ptr().add(8).cast());
            let mut sums = [[first, second]; M];
            let (words, mut weights): (*const i32, *const __m256i) = (words.as_ptr().cast(), weights.as_ptr().cast());
            for pair in 0..pairs {
                let (b, c) = (_mm256_loadu_si256(weights), _mm256_loadu_si256(weights.add(1)));
                weights = weights.add(2);
                for (i, sums) in sums.iter_mut().enumerate() {
                    let a = _mm256_set1_epi32(words.add(i * pairs + pair).read_unaligned());
                    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(a, b));
                    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(a, c));
                }
            }
            for (i, [low, high]) in sums.into_iter().enumerate() {
                let out = &mut out[i * n..][..n];
                if at + LANES <= n {
                    O::store_block(out.as_mut_ptr().add(at), low, high, at, finish);
                } else {
                    let mut sums = [0i32; LANES];
                    _mm256_storeu_si256(sums.as_mut_ptr().cast(), low);
                    _mm256_storeu_si256(sums.as_mut_ptr().add(8).cast(), high);
                    for (column, sum) in (at..n).zip(sums) {
                        out[column] = O::rescale_one(finish, column, sum);
                    }
                }
            }
        }
    }
}
