//! Depthwise convolutions of bytes by AVX512-VNNI, four taps of 64 channels at a time.

use super::Rescale;
use super::conv::multiplies_bytes;
use core::arch::x86_64::*;

/// The channels of a block.
const CHANNELS: usize = 64;
/// The least channels of a filter: fewer leave most of a block empty.
const LEAST_CHANNELS: usize = 32;
/// The channels of a vector of sums.
const LANES: usize = 16;

/// The weights `[taps, channels]` of a filter that are bytes with signs, in blocks of [`CHANNELS`].
///
/// Bytes of four taps are interleaved within parts of 16 bytes. So the four vectors of sums of a block do not hold its channels in order: [`channel_of`] says
/// which. What the last four of taps or the last block lacks has weights of zero.
#[derive(Clone, Debug)]
pub(super) struct InterleavedFilter {
    /// `[blocks, fours, vectors, LANES, 4]`.
    weights: Vec<i8>,
    /// The sum that each channel starts with: minus the zero point times the sum of the weights.
    start: Vec<i32>,
    channels: usize,
    fours: usize,
}

/// Returns the channel of the sum at a place among all sums.
fn channel_of(place: usize) -> usize {
    let (block, vector, part, element) = (place / CHANNELS, place / LANES % 4, place / 4 % 4, place % 4);
    block * CHANNELS + part * LANES + vector * 4 + element
}

/// Returns numbers of channels in the order of the sums; those of channels that do not exist are zero.
fn in_order_of_sums(numbers: &[f32]) -> Vec<f32> {
    (0..numbers.len().next_multiple_of(CHANNELS)).map(|place| numbers.get(channel_of(place)).copied().unwrap_or(0.0)).collect()
}

impl InterleavedFilter {
    /// Packs a filter for images in which the byte `zero` means zero. Returns `None` if the process has no AVX512-VNNI, the weights need more than a byte with a sign, or
    /// there are so few channels that vectors of 16 bits take less time.
    pub(super) fn pack(weights: &[i16], taps: usize, channels: usize, zero: u8) -> Option<Self> {
        let weights: Vec<i8> = weights.iter().map(|&weight| i8::try_from(weight).ok()).collect::<Option<_>>()?;
        if channels < LEAST_CHANNELS || !multiplies_bytes() {
            return None;
        }
        let (fours, blocks) = (taps.div_ceil(4), channels.div_ceil(CHANNELS));
        let (mut packed, mut start) = (vec![0; blocks * fours * CHANNELS * 4], vec![0i32; blocks * CHANNELS]);
        for (place, start) in start.iter_mut().enumerate() {
            let channel = channel_of(place);
            for tap in (0..taps).filter(|_| channel < channels) {
                let weight = weights[tap * channels + channel];
                packed[((place / CHANNELS * fours + tap / 4) * CHANNELS + place % CHANNELS) * 4 + tap % 4] = weight;
                *start = start.wrapping_sub(i32::from(zero) * i32::from(weight));
            }
        }
        Some(Self { weights: packed, start, channels, fours })
    }

    /// Returns the function of the sums in the order of these.
    pub(super) fn finish(&self, finish: &Rescale<'_>) -> InterleavedRescale {
        finish.check(self.channels, true);
        InterleavedRescale {
            factor: in_order_of_sums(finish.factor),
            bias: in_order_of_sums(finish.bias),
            low: finish.low,
            high: finish.high,
        }
    }

    /// Computes the bytes of adjacent pixels from the first pixels of all taps, whose number is a multiple of four; the pixels of a tap are `step` bytes apart.
    ///
    /// # Safety
    /// The channels of all pixels of the taps can be read, and `out` has room for those of the results.
    pub(super) unsafe fn run(&self, taps: &[*const u8], step: usize, pixels: usize, finish: &InterleavedRescale, out: *mut u8) {
        debug_assert_eq!(taps.len(), 4 * self.fours);
        // SAFETY: the filter was packed for a CPU that has the instructions; the rest is the caller's duty.
        unsafe { self.run_vectors(taps, step, pixels, finish, out) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
    unsafe fn run_vectors(&self, taps: &[*const u8], step: usize, pixels: usize, finish: &InterleavedRescale, out: *mut u8) {
        for at in (0..self.channels).step_by(CHANNELS) {
            let mask = u64::MAX >> (CHANNELS - CHANNELS.min(self.channels - at));
            // SAFETY: all accesses lie within the channels of the block that exist, and within the packed weights and numbers, which have whole blocks.
            unsafe {
                let numbers = |x: &[f32]| -> [__m512; 4] { std::array::from_fn(|j| _mm512_loadu_ps(x.as_ptr().add(at + j * LANES))) };
                let (factor, bias) = (numbers(&finish.factor), numbers(&finish.bias));
                let start: [__m512i; 4] = std::array::from_fn(|j| _mm512_loadu_si512(self.start.as_ptr().add(at + j * LANES).cast()));
                let (low, high) = (_mm512_set1_ps(finish.low), _mm512_set1_ps(finish.high));
                for pixel in 0..pixels {
                    let mut sums = start;
                    let mut weights: *const __m512i = self.weights.as_ptr().add(at * self.fours * 4).cast();
                    for four in taps.chunks_exact(4) {
                        let load = |tap: *const u8| _mm512_maskz_loadu_epi8(mask, tap.add(pixel * step + at).cast());
                        let [a, b, c, d] = [load(four[0]), load(four[1]), load(four[2]), load(four[3])];
                        let (low_ab, high_ab) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
                        let (low_cd, high_cd) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
                        let bytes = [
                            _mm512_unpacklo_epi16(low_ab, low_cd),
                            _mm512_unpackhi_epi16(low_ab, low_cd),
                            _mm512_unpacklo_epi16(high_ab, high_cd),
                            _mm512_unpackhi_epi16(high_ab, high_cd),
                        ];
                        for (sum, bytes) in sums.iter_mut().zip(bytes) {
                            *sum = _mm512_dpbusd_epi32(*sum, bytes, weights.read_unaligned());
                            weights = weights.add(1);
                        }
                    }
                    let mut integers = sums;
                    for j in 0..4 {
                        let x = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums[j]), factor[j]), bias[j]);
                        // Both return the second operand for NaN.
                        integers[j] = _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(x, low), high));
                    }
                    // Packing puts the channels of each part in order again.
                    let words = [_mm512_packus_epi32(integers[0], integers[1]), _mm512_packus_epi32(integers[2], integers[3])];
                    _mm512_mask_storeu_epi8(out.add(pixel * self.channels + at).cast(), mask, _mm512_packus_epi16(words[0], words[1]));
                }
            }
        }
    }
}

/// A [`Rescale`] whose factors and addends are in the order of an [`InterleavedFilter`]'s sums.
pub(super) struct InterleavedRescale {
    factor: Vec<f32>,
    bias: Vec<f32>,
    low: f32,
    high: f32,
}
