//! Depthwise convolutions over integers.

#[cfg(target_arch = "x86_64")]
use super::depthwise_vnni::{InterleavedFilter, InterleavedRescale};
use super::{LANES, Rescale, Rescaled, for_row_blocks, pack_groups};
use crate::gemm::with_scratch;
use crate::simd::{Isa, isa};
use crate::window::Window;
#[cfg(target_arch = "x86_64")]
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// A filter `[height, width, channels]` of integers from -255 to 255, packed once.
///
/// Taps are multiplied in pairs, because the instructions of x86 add the products of two neighbouring integers of 16 bits. The last of an odd number of taps is
/// paired with weights of zero.
#[derive(Clone, Debug)]
pub struct DepthwiseFilter {
    /// For each block of channels and each pair of taps the weights of both, channel by channel: `[blocks, pairs, LANES, 2]`.
    weights: Vec<i16>,
    /// The sum that each channel starts with: minus the zero point times the sum of the weights.
    start: Vec<i32>,
    zero: u8,
    height: usize,
    width: usize,
    channels: usize,
    #[cfg(target_arch = "x86_64")]
    interleaved: Option<InterleavedFilter>,
}

impl DepthwiseFilter {
    /// Packs a filter for images in which the byte `zero` means zero.
    ///
    /// # Panics
    /// If there are fewer weights than the sizes say.
    pub fn pack(weights: &[i16], [height, width, channels]: [usize; 3], zero: u8) -> Self {
        let (packed, start) = pack_groups::<2, _>(weights, height * width, channels, zero);
        Self {
            weights: packed,
            start,
            zero,
            height,
            width,
            channels,
            #[cfg(target_arch = "x86_64")]
            interleaved: InterleavedFilter::pack(weights, height * width, channels, zero),
        }
    }

    /// Returns true if the filter was packed for images in which `zero` means zero.
    pub fn is_for(&self, zero: u8) -> bool {
        self.zero == zero
    }

    /// Convolves each channel of the images by itself, and rescales the sums. Positions outside of an image are zeros.
    ///
    /// # Panics
    /// If a slice is too short for its shape, or the window is not that of the filter.
    pub fn apply<O: Rescaled>(&self, window: &Window, input: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        self.apply_with(isa(), window, input, finish, out);
    }

    fn apply_with<O: Rescaled>(&self, isa: Isa, window: &Window, input: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        let channels = self.channels;
        window.check(input.len());
        assert!((window.height, window.width, window.channels) == (self.height, self.width, channels), "{window:?}");
        finish.check(channels, size_of::<O>() == 1);
        let line = window.out_width * channels;
        let out = &mut out[..window.positions() * channels];
        if out.is_empty() {
            return;
        }
        // A core does about 10 multiply-adds per nanosecond.
        let nanoseconds = out.len().saturating_mul(self.height * self.width) / 10;
        // What a pair or a block lacks is read from here.
        let zeros = vec![self.zero; channels.next_multiple_of(LANES)];
        #[cfg(target_arch = "x86_64")]
        if let (Some(filter), Isa::Avx512) = (&self.interleaved, isa)
            && let Some(out) = O::as_bytes(out)
        {
            let finish = filter.finish(finish);
            return for_row_blocks(out, line, 4 * line, nanoseconds, |first, out| {
                for (i, out) in out.chunks_exact_mut(line).enumerate() {
                    let at = ((first + i) / window.out_height, (first + i) % window.out_height);
                    self.compute_interleaved(filter, window, input, at, &zeros, &finish, out);
                }
            });
        }
        for_row_blocks(out, line, 4 * line, nanoseconds, |first, out| {
            with_scratch(channels, |sums: &mut [i32]| {
                let mut taps = vec![&zeros[..]; (self.height * self.width).next_multiple_of(2)];
                for (i, out) in out.chunks_exact_mut(line).enumerate() {
                    let at = ((first + i) / window.out_height, (first + i) % window.out_height);
                    let inside = self.compute_inside(isa, window, input, at, finish, out);
                    for x in (0..inside.start).chain(inside.end..window.out_width) {
                        self.find_taps(window, input, (at.0, at.1, x), &zeros, &mut taps);
                        self.sum_pixel(isa, &taps, sums);
                        O::rescale(isa, &mut out[x * channels..][..channels], sums, finish);
                    }
                }
            });
        });
    }

    /// Computes a row of the output.
    #[cfg(target_arch = "x86_64")]
    #[allow(clippy::too_many_arguments)]
    fn compute_interleaved(
        &self,
        filter: &InterleavedFilter,
        window: &Window,
        input: &[u8],
        (image, y): (usize, usize),
        zeros: &[u8],
        finish: &InterleavedRescale,
        out: &mut [u8],
    ) {
        let channels = self.channels;
        assert!(out.len() >= window.out_width * channels);
        let inside = if window.rows_wholly_inside().contains(&y) { window.columns_wholly_inside() } else { 0..0 };
        let mut taps: SmallVec<[&[u8]; 25]> = smallvec![zeros; self.height * self.width];
        let mut pointers: SmallVec<[*const u8; 28]> = SmallVec::new();
        let step = window.stride_width * channels;
        let mut run = |x: usize, pixels: usize| {
            self.find_taps(window, input, (image, y, x), zeros, &mut taps);
            let read = (pixels - 1) * step + channels;
            assert!(taps.iter().all(|tap| tap.len() >= read));
            pointers.clear();
            pointers.extend(taps.iter().map(|tap| tap.as_ptr()));
            // What the last four taps lack has weights of zero.
            let first = pointers.first().copied().unwrap_or(zeros.as_ptr());
            pointers.resize(taps.len().next_multiple_of(4), first);
            // SAFETY: the asserted lengths hold the channels of all pixels, and the row holds the results.
            unsafe { filter.run(&pointers, step, pixels, finish, out.as_mut_ptr().add(x * channels)) };
        };
        (0..inside.start).chain(inside.end..window.out_width).for_each(|x| run(x, 1));
        if !inside.is_empty() {
            run(inside.start, inside.len());
        }
    }

    /// Computes the pixels of a row of the output whose windows lie inside of the image, and returns their columns: none if there is no kernel for them, which
    /// there is for bytes of whole blocks of channels.
    fn compute_inside<O: Rescaled>(
        &self,
        isa: Isa,
        window: &Window,
        input: &[u8],
        (image, y): (usize, usize),
        finish: &Rescale<'_>,
        out: &mut [O],
    ) -> Range<usize> {
        let columns = window.columns_wholly_inside();
        let is_inside = window.rows_wholly_inside().contains(&y) && !columns.is_empty();
        if isa < Isa::Avx2 || !is_inside || !self.channels.is_multiple_of(LANES) {
            return 0..0;
        }
        let Some(out) = O::as_bytes(out) else { return 0..0 };
        #[cfg(target_arch = "x86_64")]
        {
            let pixel = |i: usize, j: usize| {
                let row = (image * window.in_height + window.input_row(y, i)) * window.in_width;
                (row + window.input_column(columns.start, j)) * self.channels
            };
            let first = pixel(0, 0);
            let mut taps: SmallVec<[usize; 26]> =
                (0..self.height).flat_map(|i| (0..self.width).map(move |j| (i, j))).map(|(i, j)| pixel(i, j) - first).collect();
            // The other one of the last pair has weights of zero.
            if taps.len() % 2 == 1 {
                taps.push(0);
            }
            let step = window.stride_width * self.channels;
            let last = first + (columns.len() - 1) * step + taps.iter().max().unwrap_or(&0) + self.channels;
            assert!(last <= input.len() && out.len() >= columns.end * self.channels);
            let out = &mut out[columns.start * self.channels..];
            let run = x86::Run { taps: &taps, step, pixels: columns.len(), channels: self.channels };
            // SAFETY: the CPU has AVX2, which `isa` says; the asserted sizes hold all pixels under the windows, and the results; `check` has found a factor and an
            // addend for each channel.
            unsafe { x86::run(&run, &input[first..], &self.weights, &self.start, finish, out) };
        }
        columns
    }

    /// Finds the pixels under the window at a position, each with all that follows it; those outside of the image are `zeros`.
    fn find_taps<'a>(&self, window: &Window, input: &'a [u8], at: (usize, usize, usize), zeros: &'a [u8], taps: &mut [&'a [u8]]) {
        let (image, y, x) = at;
        let (rows, columns) = (window.rows_inside(y), window.columns_inside(x));
        if rows.len() < self.height || columns.len() < self.width {
            taps.fill(zeros);
        }
        for i in rows {
            let row = (image * window.in_height + window.input_row(y, i)) * window.in_width;
            for j in columns.clone() {
                let pixel = (row + window.input_column(x, j)) * self.channels;
                taps[i * self.width + j] = &input[pixel..];
            }
        }
    }

    /// Computes the sums of one pixel. All taps have as many elements as there are channels, or more.
    fn sum_pixel(&self, isa: Isa, taps: &[&[u8]], sums: &mut [i32]) {
        let pairs = taps.len() / 2;
        let whole = if isa >= Isa::Avx2 { self.channels / LANES } else { 0 };
        #[cfg(target_arch = "x86_64")]
        if whole > 0 {
            // SAFETY: the CPU has AVX2, which `isa` says; taps and sums have `whole` blocks of channels, weights and starts as many blocks as there are.
            unsafe { x86::sum_blocks(taps, &self.weights, &self.start, sums, whole) };
        }
        for channel in whole * LANES..self.channels {
            let weights = &self.weights[channel / LANES * pairs * LANES * 2..][..pairs * LANES * 2];
            let mut sum = self.start[channel];
            for (pair, taps) in taps.chunks_exact(2).enumerate() {
                let at = (pair * LANES + channel % LANES) * 2;
                sum = sum.wrapping_add(i32::from(taps[0][channel]) * i32::from(weights[at]));
                sum = sum.wrapping_add(i32::from(taps[1][channel]) * i32::from(weights[at + 1]));
            }
            sums[channel] = sum;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::x86::bytes_of;
    use super::{LANES, Rescale};
    use core::arch::x86_64::*;

    /// The pixels of a row whose windows lie inside of the image.
    pub(super) struct Run<'a> {
        /// The distances of the taps from the first one, an even number of them.
        pub(super) taps: &'a [usize],
        /// The distance of two windows.
        pub(super) step: usize,
        pub(super) pixels: usize,
        /// A multiple of `LANES`.
        pub(super) channels: usize,
    }

    /// Computes the bytes of a run.
    ///
    /// # Safety
    /// The CPU has AVX2; `input` holds the channels of all taps of all windows, `out` those of all pixels; `weights` and `start` are those of a filter of as many
    /// channels and taps, and there are factors and addends for the channels.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn run(run: &Run<'_>, input: &[u8], weights: &[i16], start: &[i32], finish: &Rescale<'_>, out: &mut [u8]) {
        let pairs = run.taps.len() / 2;
        for at in (0..run.channels).step_by(LANES) {
            // SAFETY: all loads and stores lie within the channels of the block, by the function's requirements.
            unsafe {
                let first = _mm256_loadu_si256(start.as_ptr().add(at).cast());
                let second = _mm256_loadu_si256(start.as_ptr().add(at + 8).cast());
                let weights = weights.as_ptr().add(at / LANES * pairs * LANES * 2);
                for pixel in 0..run.pixels {
                    let (mut low, mut high) = (first, second);
                    let from = input.as_ptr().add(pixel * run.step + at);
                    let mut weights = weights;
                    for pair in run.taps.chunks_exact(2) {
                        let a = _mm_loadu_si128(from.add(pair[0]).cast());
                        let b = _mm_loadu_si128(from.add(pair[1]).cast());
                        let even = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
                        let odd = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
                        low = _mm256_add_epi32(low, _mm256_madd_epi16(even, _mm256_loadu_si256(weights.cast())));
                        high = _mm256_add_epi32(high, _mm256_madd_epi16(odd, _mm256_loadu_si256(weights.add(LANES).cast())));
                        weights = weights.add(2 * LANES);
                    }
                    _mm_storeu_si128(out.as_mut_ptr().add(pixel * run.channels + at).cast(), bytes_of(low, high, at, finish));
                }
            }
        }
    }

    /// Computes the sums of `blocks` blocks of channels.
    ///
    /// # Safety
    /// The CPU has AVX2; `sums` and each of `taps`, whose number is even, have `blocks * LANES` elements or more, and so has `start`; `weights` has those of all
    /// blocks and pairs.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn sum_blocks(taps: &[&[u8]], weights: &[i16], start: &[i32], sums: &mut [i32], blocks: usize) {
        let pairs = taps.len() / 2;
        debug_assert!(weights.len() >= blocks * pairs * LANES * 2 && start.len() >= blocks * LANES && sums.len() >= blocks * LANES);
        for block in 0..blocks {
            let at = block * LANES;
            // SAFETY: all loads and stores lie within the block's channels, by the function's requirements.
            unsafe {
                let mut low = _mm256_loadu_si256(start.as_ptr().add(at).cast());
                let mut high = _mm256_loadu_si256(start.as_ptr().add(at + 8).cast());
                let mut weights = weights.as_ptr().add(block * pairs * LANES * 2);
                for pair in taps.chunks_exact(2) {
                    // Bytes of both taps, alternating: channels 0 to 7, and 8 to 15.
                    let a = _mm_loadu_si128(pair[0].as_ptr().add(at).cast());
                    let b = _mm_loadu_si128(pair[1].as_ptr().add(at).cast());
                    let first = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
                    let second = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
                    low = _mm256_add_epi32(low, _mm256_madd_epi16(first, _mm256_loadu_si256(weights.cast())));
                    high = _mm256_add_epi32(high, _mm256_madd_epi16(second, _mm256_loadu_si256(weights.add(LANES).cast())));
                    weights = weights.add(2 * LANES);
                }
                _mm256_storeu_si256(sums.as_mut_ptr().add(at).cast(), low);
                _mm256_storeu_si256(sums.as_mut_ptr().add(at + 8).cast(), high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::IntegerFilter;
    use super::super::conv::Packing;
    use super::*;
    use crate::parallel;

    /// Returns a window with padding `pad` on all sides.
    fn window(
        batch: usize,
        size: (usize, usize),
        channels: usize,
        taps: (usize, usize),
        stride: usize,
        dilation: usize,
        pad: usize,
    ) -> Window {
        let out = |input: usize, taps: usize| (input + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
        Window {
            batch,
            in_height: size.0,
            in_width: size.1,
            channels,
            height: taps.0,
            width: taps.1,
            stride_height: stride,
            stride_width: stride,
            dilation_height: dilation,
            dilation_width: dilation,
            pad_top: pad,
            pad_left: pad,
            out_height: out(size.0, taps.0),
            out_width: out(size.1, taps.1),
        }
    }

    fn integers(seed: usize, len: usize, limit: i32) -> Vec<i32> {
        (0..len).map(|i| ((i * 7919 + seed * 104_729) % 7867) as i32 % (2 * limit + 1) - limit).collect()
    }

    /// Calls `f(output, input, tap, channel)` for every product; positions are pixels.
    fn for_each_tap(w: &Window, mut f: impl FnMut(usize, usize, usize)) {
        for position in 0..w.positions() {
            w.volume().for_each_tap(position, |tap, pixel| f(position, pixel, tap));
        }
    }

    #[test]
    fn layers_equal_plain_loops() {
        for (w, outputs) in [
            (window(2, (9, 7), 20, (3, 3), 1, 1, 1), 5),
            (window(1, (12, 12), 48, (3, 3), 2, 1, 1), 33),
            (window(1, (11, 6), 16, (2, 2), 1, 2, 0), 8),
            (window(3, (5, 5), 3, (1, 1), 1, 1, 0), 40),
            (window(1, (40, 40), 32, (5, 3), 1, 1, 2), 16),
            (window(1, (8, 8), 1, (1, 1), 2, 1, 0), 1),
            (window(1, (7, 9), 144, (3, 3), 1, 1, 1), 20),
            (window(2, (6, 6), 100, (2, 2), 2, 1, 0), 17),
            (window(1, (9, 5), 64, (1, 2), 1, 2, 0), 16),
            (window(1, (6, 8), 33, (2, 3), 2, 2, 1), 3),
        ] {
            for (zero, limit) in [(0u8, 127), (137, 127), (137, 255)] {
                let input: Vec<u8> = integers(3, w.input_len(), 127).iter().map(|x| (x + 127) as u8).collect();
                let (channels, taps) = (w.channels, w.height * w.width);
                let value = |pixel: usize, channel: usize| i32::from(input[pixel * channels + channel]) - i32::from(zero);
                let check = |n: usize, sums: &[i32], bytes: &dyn Fn(&Rescale<'_>, &mut [u8]), floats: &dyn Fn(&Rescale<'_>, &mut [f32])| {
                    let (factor, bias) = (vec![0.01f32; n], vec![100.5f32; n]);
                    let finish = Rescale { factor: &factor, bias: &bias, low: 10.0, high: 250.0 };
                    let exact = Rescale { factor: &vec![1.0; n], bias: &vec![0.0; n], low: f32::NEG_INFINITY, high: f32::INFINITY };
                    let (mut found, mut exactly) = (vec![0; sums.len()], vec![0.0; sums.len()]);
                    bytes(&finish, &mut found);
                    floats(&exact, &mut exactly);
                    assert_eq!(exactly, sums.iter().map(|&sum| sum as f32).collect::<Vec<_>>(), "{w:?}");
                    let want: Vec<u8> = sums.iter().map(|&sum| (sum as f32 * 0.01 + 100.5).clamp(10.0, 250.0) as u8).collect();
                    assert_eq!(found, want, "{w:?}");
                    let mut alone = vec![0; sums.len()];
                    parallel::alone(|| bytes(&finish, &mut alone));
                    assert_eq!(found, alone);
                };
                let weights: Vec<i16> = integers(5, taps * channels, limit).iter().map(|&x| x as i16).collect();
                let mut sums = vec![0; w.positions() * channels];
                for_each_tap(&w, |at, pixel, tap| {
                    for c in 0..channels {
                        sums[at * channels + c] += value(pixel, c) * i32::from(weights[tap * channels + c]);
                    }
                });
                let filter = DepthwiseFilter::pack(&weights, [w.height, w.width, channels], zero);
                for isa in Isa::available() {
                    let bytes = |finish: &Rescale<'_>, out: &mut [u8]| filter.apply_with(isa, &w, &input, finish, out);
                    check(channels, &sums, &bytes, &|finish, out| filter.apply_with(isa, &w, &input, finish, out));
                }
                let weights: Vec<i16> = integers(6, taps * channels * outputs, limit).iter().map(|&x| x as i16).collect();
                let mut sums = vec![0; w.positions() * outputs];
                for_each_tap(&w, |at, pixel, tap| {
                    for (c, o) in (0..channels).flat_map(|c| (0..outputs).map(move |o| (c, o))) {
                        sums[at * outputs + o] += value(pixel, c) * i32::from(weights[(tap * channels + c) * outputs + o]);
                    }
                });
                let shape = [w.height, w.width, channels, outputs];
                for packing in Packing::possible(&weights, taps * channels) {
                    let filter = IntegerFilter::pack_as(&weights, shape, zero, packing);
                    assert!(filter.is_for(zero) && !filter.is_for(zero ^ 1));
                    for isa in Isa::available() {
                        let bytes = |finish: &Rescale<'_>, out: &mut [u8]| filter.apply_with(isa, &w, &input, finish, out);
                        check(outputs, &sums, &bytes, &|finish, out| filter.apply_with(isa, &w, &input, finish, out));
                    }
                }
            }
        }
    }
}
