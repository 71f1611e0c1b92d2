//! Depthwise convolutions of fewer channels than a vector has lanes.
//!
//! A vector of channels would leave lanes without work. With a stride of 1, neighbouring positions have the same taps, so a row of the output is computed
//! as a row of wide positions: each holds the channels of several neighbouring positions. Taps lie one narrow position apart, and the filter and the bias
//! are repeated for each narrow position.

use super::depthwise::SPEED;
use super::padding::for_bands;
use super::runs::{self, Steps};
use crate::gemm::{Epilogue, with_scratch};
use crate::parallel;
use crate::simd::Isa;
use crate::window::Window;

/// The lanes that a wide position fills: those of the widest vectors.
const LANES: usize = 16;
/// Elements of a copy of padded rows: a part of a core's L1 cache.
const BAND_ELEMENTS: usize = 1 << 13;

/// The taps of a window from which wide positions pay for more channels: no other code keeps that many in the L1 cache.
const MANY_TAPS: usize = 64;

/// Returns true if channels fill at most half of a vector, or less than a vector if the window is large, and rows fill a vector or more.
pub(super) fn is_worthwhile(isa: Isa, w: &Window) -> bool {
    let most_channels = if w.height * w.width > MANY_TAPS { 3 * LANES / 4 } else { isa.lanes() / 2 };
    w.height * w.width > 0 && w.stride_width == 1 && w.channels <= most_channels && w.out_width * w.channels >= LANES
}

/// Returns the elements of a wide position: the least that are whole narrow positions and whole vectors.
fn wide_channels(channels: usize) -> usize {
    LANES * (channels >> channels.trailing_zeros().min(LANES.trailing_zeros()))
}

/// Computes a convolution with one filter per channel. The sizes have been checked, and there are rows.
pub(super) fn compute(isa: Isa, w: &Window, input: &[f32], filter: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    let channels = wide_channels(w.channels);
    let taps = w.height * w.width;
    with_scratch((taps + 1) * channels, |repeated: &mut [f32]| {
        let (filters, bias) = repeated.split_at_mut(taps * channels);
        for (to, from) in filters.chunks_exact_mut(channels).zip(filter.chunks_exact(w.channels)) {
            repeat(from, to);
        }
        if let Some(narrow) = epilogue.bias {
            repeat(&narrow[..w.channels], bias);
        }
        let epilogue = Epilogue { bias: epilogue.bias.map(|_| &*bias), ..*epilogue };
        let forks = parallel::is_worth_forking(w.work(w.channels) / SPEED);
        for_bands(w, w.channels, BAND_ELEMENTS, forks, input, output, |_, window, input, output| {
            compute_rows(isa, window, input, filters, output, &epilogue);
            if epilogue.activation.needs_pass() {
                epilogue.activation.apply(output);
            }
        });
    });
}

/// Fills `to` with copies of `from`.
fn repeat(from: &[f32], to: &mut [f32]) {
    to.chunks_exact_mut(from.len()).for_each(|to| to.copy_from_slice(from));
}

/// Computes some rows of an image. All windows lie inside the image.
fn compute_rows(isa: Isa, w: &Window, input: &[f32], filters: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    let channels = wide_channels(w.channels);
    let (row_len, line) = (w.out_width * w.channels, w.in_width * w.channels);
    let steps = Steps { position: channels, row: w.dilation_height * line, column: w.dilation_width * w.channels };
    for (y, output) in output.chunks_exact_mut(row_len).enumerate() {
        let input = &input[y * w.stride_height * line..];
        runs::wide_row(isa, (w.height, w.width), steps, input, filters, output, epilogue);
    }
}
