//! Layers over integers: inputs are bytes, weights are integers from -255 to 255, sums are exact, and each sum is scaled and rounded once.
//!
//! A byte means its distance from a *zero point*, times a scale that only the caller knows. [`Rescale`] turns the sums into bytes of the next layer, or
//! into floats. Results are bit-identical for any number of threads, and on all instruction sets.

mod conv;
mod depthwise;
#[cfg(target_arch = "x86_64")]
mod depthwise_vnni;
mod panels;
#[cfg(target_arch = "x86_64")]
mod quads;

pub use conv::IntegerFilter;
pub use depthwise::DepthwiseFilter;

use crate::fake_quant::QuantizedValues;
use crate::parallel;
use crate::simd::Isa;

/// A type of the results of a layer.
pub trait Rescaled: Copy + Send + Sync + 'static {
    /// Rescales rows of sums by the plain form of the function for `isa`. The caller has checked the function.
    #[doc(hidden)]
    fn rescale(isa: Isa, out: &mut [Self], sums: &[i32], finish: &Rescale<'_>);

    /// Rescales one sum of channel `i`.
    #[doc(hidden)]
    fn rescale_one(finish: &Rescale<'_>, i: usize, sum: i32) -> Self;

    /// Rescales the sums of the [`LANES`] channels from `at` on, and stores the results.
    ///
    /// # Safety
    /// The CPU has AVX2; there are factors and addends for the channels, and room for the results.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn store_block(
        out: *mut Self,
        low: core::arch::x86_64::__m256i,
        high: core::arch::x86_64::__m256i,
        at: usize,
        finish: &Rescale<'_>,
    );

    /// Stores the lanes of `mask`, whose numbers were rescaled and limited; of those for bytes the integer parts.
    ///
    /// # Safety
    /// The CPU has AVX-512, and there is room for the lanes.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn store_vector(out: *mut Self, x: core::arch::x86_64::__m512, mask: core::arch::x86_64::__mmask16);

    /// Returns the results as bytes, if they are bytes.
    #[doc(hidden)]
    fn as_bytes(out: &mut [Self]) -> Option<&mut [u8]>;
}

impl Rescaled for f32 {
    fn rescale(_: Isa, out: &mut [f32], sums: &[i32], finish: &Rescale<'_>) {
        rescale_floats(out, sums, finish.factor, finish.bias, finish.low, finish.high);
    }

    #[inline(always)]
    fn rescale_one(finish: &Rescale<'_>, i: usize, sum: i32) -> f32 {
        finish.float(i, sum)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn store_block(
        out: *mut f32,
        low: core::arch::x86_64::__m256i,
        high: core::arch::x86_64::__m256i,
        at: usize,
        finish: &Rescale<'_>,
    ) {
        // SAFETY: these are the function's requirements.
        unsafe { x86::store_floats(out, low, high, at, finish) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    unsafe fn store_vector(out: *mut f32, x: core::arch::x86_64::__m512, mask: core::arch::x86_64::__mmask16) {
        // SAFETY: there is room for the lanes, by the function's requirements.
        unsafe { core::arch::x86_64::_mm512_mask_storeu_ps(out, mask, x) }
    }

    fn as_bytes(_: &mut [f32]) -> Option<&mut [u8]> {
        None
    }
}

impl Rescaled for u8 {
    fn rescale(isa: Isa, out: &mut [u8], sums: &[i32], finish: &Rescale<'_>) {
        let n = finish.factor.len();
        let whole = if isa >= Isa::Avx2 { n / LANES * LANES } else { 0 };
        for (out, sums) in out.chunks_exact_mut(n).zip(sums.chunks_exact(n)) {
            #[cfg(target_arch = "x86_64")]
            if whole > 0 {
                // SAFETY: the CPU has AVX2, which `isa` says; the row has `n` sums and results, and `check` has found as many factors and addends.
                unsafe { x86::rescale_row(out, sums, finish, whole) };
            }
            for i in whole..n {
                out[i] = finish.byte(i, sums[i]);
            }
        }
    }

    #[inline(always)]
    fn rescale_one(finish: &Rescale<'_>, i: usize, sum: i32) -> u8 {
        finish.byte(i, sum)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn store_block(
        out: *mut u8,
        low: core::arch::x86_64::__m256i,
        high: core::arch::x86_64::__m256i,
        at: usize,
        finish: &Rescale<'_>,
    ) {
        // SAFETY: these are the function's requirements.
        unsafe { x86::store_bytes(out, low, high, at, finish) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    unsafe fn store_vector(out: *mut u8, x: core::arch::x86_64::__m512, mask: core::arch::x86_64::__mmask16) {
        use core::arch::x86_64::*;
        // SAFETY: there is room for the lanes, by the function's requirements.
        unsafe { _mm512_mask_cvtepi32_storeu_epi8(out.cast(), mask, _mm512_cvttps_epi32(x)) }
    }

    fn as_bytes(out: &mut [u8]) -> Option<&mut [u8]> {
        Some(out)
    }
}

/// The channels of a block.
const LANES: usize = 16;

/// A function of the sums of each channel: `clamp(sum * factor + bias, low, high)`. The product and the sum are each rounded to `f32`, and a byte is the
/// result's integer part: a bias that contains one half rounds to the nearest.
#[derive(Clone, Copy, Debug)]
pub struct Rescale<'a> {
    /// One factor per channel.
    pub factor: &'a [f32],
    /// One addend per channel.
    pub bias: &'a [f32],
    /// The least result.
    pub low: f32,
    /// The greatest result.
    pub high: f32,
}

impl Rescale<'_> {
    /// Returns the result for a sum of channel `i`. The comparisons turn NaN into a limit.
    #[inline(always)]
    fn float(&self, i: usize, sum: i32) -> f32 {
        let x = sum as f32 * self.factor[i] + self.bias[i];
        let x = if x > self.low { x } else { self.low };
        if x < self.high { x } else { self.high }
    }

    /// Returns the byte for a sum of channel `i`.
    #[inline(always)]
    fn byte(&self, i: usize, sum: i32) -> u8 {
        self.float(i, sum) as u8
    }

    /// Asserts that there is a factor and an addend for each of `channels`, and that the limits lie within a byte if results are bytes.
    fn check(&self, channels: usize, are_bytes: bool) {
        assert!(self.factor.len() == channels && self.bias.len() == channels, "{channels} channels");
        let fits = |limit: f32| (0.0..=255.0).contains(&limit);
        assert!(!are_bytes || fits(self.low) && fits(self.high), "limits of bytes: {} to {}", self.low, self.high);
    }
}

crate::dispatch! {
    /// Rescales rows of sums to floats.
    fn rescale_floats(out: &mut [f32], sums: &[i32], factor: &[f32], bias: &[f32], low: f32, high: f32) {
        for (out, sums) in out.chunks_exact_mut(factor.len()).zip(sums.chunks_exact(factor.len())) {
            for (((out, &sum), &factor), &bias) in out.iter_mut().zip(sums).zip(factor).zip(bias) {
                let x = sum as f32 * factor + bias;
                let x = if x > low { x } else { low };
                *out = if x < high { x } else { high };
            }
        }
    }

    /// Writes bytes as integers of 16 bits.
    fn widen(words: &mut [i16], bytes: &[u8]) {
        for (word, &byte) in words.iter_mut().zip(bytes) {
            *word = i16::from(byte);
        }
    }

    /// Writes the bytes that mean the values to which fake quantisation rounds floats: the formula is that of
    /// [`round_to_values`](crate::fake_quant::round_to_values), or if `divides` is true that of its form with a division. NaN becomes the least value.
    pub fn to_bytes(bytes: &mut [u8], x: &[f32], values: QuantizedValues, divides: bool) {
        let QuantizedValues { min, max, scale, inverse, zero } = values;
        for (byte, &x) in bytes.iter_mut().zip(x) {
            let x = if x > min { x } else { min };
            let x = (if x < max { x } else { max }) - min;
            let steps = if divides { x / scale } else { x * inverse };
            let place = (steps - zero + 0.5).floor() + zero;
            let place = if place > 0.0 { place } else { 0.0 };
            *byte = integer_part(if place < 255.0 { place } else { 255.0 });
        }
    }

    /// Writes the floats that bytes mean.
    pub fn to_floats(x: &mut [f32], bytes: &[u8], scale: f32, zero: u8) {
        for (x, &byte) in x.iter_mut().zip(bytes) {
            *x = (i32::from(byte) - i32::from(zero)) as f32 * scale;
        }
    }

    /// Adds bytes of two grids: each means its distance from the zero point of its grid, times its factor. `bias` contains the zero point of the result and one half.
    pub fn add_bytes(out: &mut [u8], a: &[u8], b: &[u8], zeros: [u8; 2], factors: [f32; 2], bias: f32, low: f32, high: f32) {
        let [low, high] = [low, high].map(|limit| limit.clamp(0.0, 255.0));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 255.0) };
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            let a = (i32::from(a) - i32::from(zeros[0])) as f32 * factors[0];
            let b = (i32::from(b) - i32::from(zeros[1])) as f32 * factors[1];
            let x = a + b + bias;
            let x = if x > low { x } else { low };
            *out = integer_part(if x < high { x } else { high });
        }
    }
}

/// Returns the integer part of a number from 0 to 255.
#[inline(always)]
fn integer_part(x: f32) -> u8 {
    debug_assert!((0.0..=255.0).contains(&x));
    // SAFETY: the callers limit the number to the range of a byte, by comparisons that turn NaN into a limit.
    unsafe { x.to_int_unchecked::<i32>() as u8 }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Rescale};
    use core::arch::x86_64::*;

    /// Returns the bytes of the sums of `LANES` channels from `at` on.
    ///
    /// # Safety
    /// The CPU has AVX2; there are factors and addends for the channels.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn bytes_of(low: __m256i, high: __m256i, at: usize, finish: &Rescale<'_>) -> __m128i {
        let rescale = |sums: __m256i, at: usize| {
            // SAFETY: the channels have factors and addends, by the function's requirements.
            let (factor, bias) =
                unsafe { (_mm256_loadu_ps(finish.factor.as_ptr().add(at)), _mm256_loadu_ps(finish.bias.as_ptr().add(at))) };
            let x = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), factor), bias);
            // Both return the second operand for NaN.
            let x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(finish.low)), _mm256_set1_ps(finish.high));
            _mm256_cvttps_epi32(x)
        };
        // Packing interleaves the halves of the two vectors.
        let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(rescale(low, at), rescale(high, at + 8)));
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words))
    }

    /// Stores the bytes of the sums of `LANES` channels from `at` on.
    ///
    /// # Safety
    /// The CPU has AVX2; there are factors and addends for the channels, and room for the bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store_bytes(out: *mut u8, low: __m256i, high: __m256i, at: usize, finish: &Rescale<'_>) {
        // SAFETY: these are the function's requirements.
        unsafe { _mm_storeu_si128(out.cast(), bytes_of(low, high, at, finish)) };
    }

    /// Stores the floats of the sums of `LANES` channels from `at` on.
    ///
    /// # Safety
    /// The CPU has AVX2; there are factors and addends for the channels, and room for the floats.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store_floats(out: *mut f32, low: __m256i, high: __m256i, at: usize, finish: &Rescale<'_>) {
        for (i, sums) in [low, high].into_iter().enumerate() {
            // SAFETY: these are the function's requirements.
            unsafe {
                let factor = _mm256_loadu_ps(finish.factor.as_ptr().add(at + 8 * i));
                let bias = _mm256_loadu_ps(finish.bias.as_ptr().add(at + 8 * i));
                let x = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), factor), bias);
                // Both return the second operand for NaN.
                let x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(finish.low)), _mm256_set1_ps(finish.high));
                _mm256_storeu_ps(out.add(8 * i), x);
            }
        }
    }

    /// Rescales the first `whole` channels of a row, a multiple of `LANES`.
    ///
    /// # Safety
    /// The CPU has AVX2; `out`, `sums`, and the factors and addends have `whole` elements or more.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn rescale_row(out: &mut [u8], sums: &[i32], finish: &Rescale<'_>, whole: usize) {
        for at in (0..whole).step_by(LANES) {
            // SAFETY: the block's channels are there, by the function's requirements.
            unsafe {
                let low = _mm256_loadu_si256(sums.as_ptr().add(at).cast());
                let high = _mm256_loadu_si256(sums.as_ptr().add(at + 8).cast());
                _mm_storeu_si128(out.as_mut_ptr().add(at).cast(), bytes_of(low, high, at, finish));
            }
        }
    }
}

/// Packs a dense matrix of integers, one row per factor of a sum, for instructions that add the products of `N` neighbouring integers. Returns for each block of
/// [`LANES`] columns and each `N` rows the weights of these, column by column (`[blocks, groups, LANES, N]`), and the sum that each column starts with:
/// minus the zero point times the sum of the column. What a group or a block lacks is zeros.
fn pack_groups<const N: usize, T: Copy + Default + Into<i32>>(matrix: &[T], rows: usize, columns: usize, zero: u8) -> (Vec<T>, Vec<i32>) {
    let (groups, blocks) = (rows.div_ceil(N), columns.div_ceil(LANES));
    let mut weights = vec![T::default(); blocks * groups * LANES * N];
    let mut start = vec![0i32; blocks * LANES];
    for row in 0..rows {
        for (column, &weight) in matrix[row * columns..][..columns].iter().enumerate() {
            weights[((column / LANES * groups + row / N) * LANES + column % LANES) * N + row % N] = weight;
            start[column] = start[column].wrapping_sub(i32::from(zero) * weight.into());
        }
    }
    (weights, start)
}

/// The bytes of sums and patches that stay in the L2 cache of a core.
const BLOCK_BYTES: usize = 96 << 10;

/// Calls `f(first row, rows of the result)` for blocks of rows of `n` elements, on several threads if all take longer than about 10 µs together.
fn for_row_blocks<O: Rescaled>(out: &mut [O], n: usize, bytes_per_row: usize, nanoseconds: usize, f: impl Fn(usize, &mut [O]) + Sync) {
    let rows = out.len() / n.max(1);
    let threads = if parallel::is_worth_forking(nanoseconds) { parallel::threads() } else { 1 };
    let block = (BLOCK_BYTES / bytes_per_row.max(1)).clamp(1, rows.div_ceil(threads).max(1));
    let compute = |i: usize, out: &mut [O]| parallel::alone(|| f(i * block, out));
    if threads == 1 {
        out.chunks_mut(block * n).enumerate().for_each(|(i, out)| compute(i, out));
    } else {
        parallel::chunks(out, block * n, compute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::isa;

    #[test]
    fn floats_become_the_bytes_of_the_nearest_values() {
        let grid = QuantizedValues { min: -1.0, max: 6.5, scale: 0.5, inverse: 2.0, zero: 2.0 };
        let x = [-7.0, -1.0, -0.76, -0.75, 0.0, 0.2, 0.25, 6.4, 9.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN].repeat(3);
        for divides in [false, true] {
            let mut bytes = vec![9; x.len()];
            to_bytes(&mut bytes, &x, grid, divides);
            assert_eq!(bytes, [0, 0, 0, 1, 2, 2, 3, 15, 15, 15, 0, 0].repeat(3));
            let mut floats = vec![9.0; x.len()];
            to_floats(&mut floats, &bytes, grid.scale, 2);
            assert_eq!(floats, [-1.0, -1.0, -1.0, -0.5, 0.0, 0.0, 0.5, 6.5, 6.5, 6.5, -1.0, -1.0].repeat(3));
        }
    }

    #[test]
    fn sums_are_rescaled_within_limits() {
        let (sums, factor, bias) = ([0, 100, -100, i32::MAX, i32::MIN, 7], [0.5, 0.25], [128.5, 10.5]);
        let mut bytes = [0u8; 6];
        u8::rescale(isa(), &mut bytes, &sums, &Rescale { factor: &factor, bias: &bias, low: 3.0, high: 200.0 });
        assert_eq!(bytes, [128, 35, 78, 200, 3, 12]);
        let mut floats = [0.0f32; 6];
        let finish = Rescale { factor: &factor, bias: &bias, low: f32::NEG_INFINITY, high: f32::INFINITY };
        f32::rescale(isa(), &mut floats, &sums, &finish);
        assert_eq!((floats[1], floats[2]), (35.5, 78.5));
    }

    #[test]
    fn bytes_of_two_grids_are_added() {
        let mut out = [0; 3];
        add_bytes(&mut out, &[10, 20, 255], &[5, 5, 0], [10, 5], [1.0, 2.0], 0.5, 0.0, 255.0);
        assert_eq!(out, [0, 10, 235]);
    }
}
