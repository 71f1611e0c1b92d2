//! Depthwise convolutions of a few channels at a time, copied so that neighbouring positions lie side by side.
//!
//! In an image of many channels, the positions of a window are far apart: each is a cache line of its own for one vector of channels. If the number of
//! channels is a multiple of a large power of two, these lines share few sets of the L1 cache, which evict each other; and if the window is large, they
//! are read from the L2 cache for each block of columns. A copy of one cache line of channels of some rows, and of their filters, stays in the L1 cache.

use super::blocks::BLOCK;
use super::depthwise::{SPEED, for_each_band, rows_of_band};
use super::padding::padded;
use super::runs::{self, Layout};
use crate::gemm::{Epilogue, with_scratch};
use crate::parallel;
use crate::simd::Isa;
use crate::window::Window;

/// The channels that are copied at a time: a cache line.
const CHANNELS: usize = 16;
/// Elements of a copy of rows: a part of a core's L2 cache.
const BAND_ELEMENTS: usize = 1 << 15;

/// The taps of a window from which a copy pays for any number of channels.
const MANY_TAPS: usize = 64;
/// The bytes after which addresses have the same set of the L1 cache, and the lines of a set: those of x86-64 processors, whose caches have at least these.
const WAY_BYTES: usize = 4096;
const WAYS: usize = 8;
const LINE_BYTES: usize = 64;

/// Returns true if the convolution is faster in copies: if the window is large, or if the lines of a block of columns are more than twice as many as fit
/// in the sets that they share. The answer does not depend on the number of threads, each of which copies the rows that its own rows of output need.
pub(super) fn is_worthwhile(w: &Window) -> bool {
    let taps = w.height * w.width;
    let columns = (w.stride_width * (BLOCK - 1) + w.width).min(w.in_width);
    let lines = w.height * columns + taps;
    let distance = w.channels * size_of::<f32>();
    let sets = WAY_BYTES / LINE_BYTES.max(1 << distance.trailing_zeros().min(WAY_BYTES.trailing_zeros()));
    let rows = w.out_height * w.stride_height;
    let is_for_many_taps = taps > MANY_TAPS && rows >= w.height.min(w.in_height);
    let is_for_conflicts = lines > 2 * sets * WAYS && rows >= 3 * w.height;
    w.out_width >= BLOCK && (is_for_many_taps || is_for_conflicts)
}

/// Computes a convolution with one filter per channel. The sizes have been checked, and there are rows.
pub(super) fn compute(isa: Isa, w: &Window, input: &[f32], filter: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    let band = rows_of_band(w, w.in_width * CHANNELS, BAND_ELEMENTS);
    let forks = parallel::is_worth_forking(w.work(w.channels) / SPEED);
    for_each_band(w, w.channels, band, forks, output, |rows, output| {
        let (window, elements) = w.of_rows(rows);
        compute_band(isa, &window, &input[elements], filter, output, epilogue);
        if epilogue.activation.needs_pass() {
            epilogue.activation.apply(output);
        }
    });
}

/// Computes some rows of an image.
fn compute_band(isa: Isa, w: &Window, input: &[f32], filter: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    // The copy has the columns that the windows reach, so that all lie inside.
    let padded = Window { in_width: padded(w).in_width, pad_left: 0, ..*w };
    let (pixels, taps) = (padded.in_height * padded.in_width, w.height * w.width);
    with_scratch((pixels + taps) * CHANNELS, |copies: &mut [f32]| {
        for first in (0..w.channels).step_by(CHANNELS) {
            let channels = CHANNELS.min(w.channels - first);
            let (image, filters) = copies[..(pixels + taps) * channels].split_at_mut(pixels * channels);
            let rows = input.chunks_exact(w.in_width * w.channels).zip(image.chunks_exact_mut(padded.in_width * channels));
            for (from, to) in rows {
                let (left, to) = to.split_at_mut(w.pad_left.min(padded.in_width) * channels);
                left.fill(0.0);
                let (inside, right) = to.split_at_mut(to.len().min(w.in_width * channels));
                copy_channels(from, w.channels, first, channels, inside);
                right.fill(0.0);
            }
            copy_channels(filter, w.channels, first, channels, filters);
            let window = Window { channels, ..padded };
            let layout = Layout { planes: 1, input_plane: 0, filter_plane: 0, filter_column: channels, output_column: w.channels };
            let epilogue = Epilogue { bias: epilogue.bias.map(|bias| &bias[first..]), ..*epilogue };
            for (y, output) in output.chunks_exact_mut(w.out_width * w.channels).enumerate() {
                runs::row(isa, &window, &layout, 0, y, image, filters, &mut output[first..], &epilogue);
            }
        }
    });
}

/// Copies some of the channels of each position.
fn copy_channels(from: &[f32], all: usize, first: usize, channels: usize, to: &mut [f32]) {
    let positions = from.chunks_exact(all).zip(to.chunks_exact_mut(channels));
    if channels == CHANNELS {
        for (from, to) in positions {
            if let (Some(from), Some(to)) = (from[first..].first_chunk::<CHANNELS>(), to.first_chunk_mut()) {
                *to = *from;
            }
        }
    } else {
        for (from, to) in positions {
            to.copy_from_slice(&from[first..first + channels]);
        }
    }
}
