//! Depthwise convolution of NHWC images: each input channel has its own filters.

use super::{depthwise_bands, depthwise_wide, runs};
use crate::gemm::{Epilogue, with_scratch};
use crate::parallel;
use crate::simd::{Isa, isa};
use crate::window::Window;
use std::ops::Range;

/// The approximate number of multiply-adds of one core per nanosecond.
pub(super) const SPEED: usize = 20;

pub use super::depthwise_gradients::{depthwise_backprop_filter, depthwise_backprop_input};

/// Computes `output[n, y, x, c * multiplier + q] = activation(bias + sum over the window of input[.., c] * filter[.., c, q])`.
///
/// `filter` is `[height, width, channels, multiplier]`. Of `epilogue`, only `bias` and `activation` are supported.
///
/// # Panics
/// If a slice is too short, or `epilogue` has a residual or accumulates.
pub fn depthwise_conv2d(window: &Window, multiplier: usize, input: &[f32], filter: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    depthwise_for(isa(), window, multiplier, input, filter, output, epilogue);
}

/// Computes some rows of the result of [`depthwise_conv2d`], counted through all images: part of one image, or whole images.
///
/// # Panics
/// The function panics like [`depthwise_conv2d`], with an output of these rows.
#[allow(clippy::too_many_arguments)]
pub fn depthwise_conv2d_rows(
    window: &Window,
    multiplier: usize,
    rows: Range<usize>,
    input: &[f32],
    filter: &[f32],
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    let (part, elements) = window.of_rows(rows);
    depthwise_conv2d(&part, multiplier, &input[elements], filter, output, epilogue);
}

pub(super) fn depthwise_for(
    isa: Isa,
    window: &Window,
    multiplier: usize,
    input: &[f32],
    filter: &[f32],
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    window.check(input.len());
    let channels = check_shapes(window, multiplier, filter.len(), output.len());
    assert!(epilogue.residual.is_none() && !epilogue.accumulate, "depthwise convolution has neither residual nor accumulation",);
    assert!(epilogue.bias.is_none_or(|b| b.len() >= channels), "bias of fewer than {channels} channels");
    let row_len = window.out_width * channels;
    if row_len * window.out_height == 0 {
        return;
    }
    if multiplier > 1 {
        return with_repeated_channels(isa, window, multiplier, input, filter, output, epilogue);
    }
    if depthwise_wide::is_worthwhile(isa, window) {
        depthwise_wide::compute(isa, window, input, filter, output, epilogue);
        return;
    }
    if depthwise_bands::is_worthwhile(window) {
        depthwise_bands::compute(isa, window, input, filter, output, epilogue);
        return;
    }
    let layout = runs::Layout { planes: 1, input_plane: 0, filter_plane: 0, filter_column: channels, output_column: channels };
    for_each_row(window.batch * window.out_height, row_len, window.work(channels), output, |row, output| {
        let (image, y) = (row / window.out_height, row % window.out_height);
        runs::row(isa, window, &layout, image, y, input, filter, output, epilogue);
        if epilogue.activation.needs_pass() {
            epilogue.activation.apply(output);
        }
    });
}

/// Computes images whose channels are repeated, one after the other, so that each channel has one filter.
fn with_repeated_channels(
    isa: Isa,
    window: &Window,
    multiplier: usize,
    input: &[f32],
    filter: &[f32],
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    let image = Window { batch: 1, channels: window.channels * multiplier, ..*window };
    let pixels = image.in_height * image.in_width * window.channels;
    with_scratch(pixels * multiplier, |repeated: &mut [f32]| {
        for (i, output) in output.chunks_exact_mut(image.positions() * image.channels).take(window.batch).enumerate() {
            let channels = &input[i * pixels..][..pixels];
            repeated.chunks_exact_mut(multiplier).zip(channels).for_each(|(repeated, &x)| repeated.fill(x));
            depthwise_for(isa, &image, 1, repeated, filter, output, epilogue);
        }
    });
}

/// Checks the sizes of filter and output, and returns the number of output channels.
pub(super) fn check_shapes(window: &Window, multiplier: usize, filter: usize, output: usize) -> usize {
    assert!(multiplier > 0, "a channel multiplier of 0");
    let channels = window.channels * multiplier;
    let taps = window.height * window.width;
    assert!(filter >= taps * channels, "{filter} elements of filter for {taps} x {channels}");
    let positions = window.positions();
    assert!(output >= positions * channels, "{output} elements of output for {positions} x {channels}");
    channels
}

/// Returns the number of output rows whose input has about `elements` elements, at `line` elements per row: at least one.
pub(super) fn rows_of_band(w: &Window, line: usize, elements: usize) -> usize {
    let reach = (w.height - 1) * w.dilation_height + 1;
    ((elements / line.max(1)).saturating_sub(reach) / w.stride_height + 1).clamp(1, w.out_height)
}

/// Calls `f(rows, output)` for all rows of a result of `channels` channels, at most `band` rows of one image at a time. Rows are counted through all images.
/// If `forks` is set, threads share the bands.
pub(super) fn for_each_band(
    w: &Window,
    channels: usize,
    band: usize,
    forks: bool,
    output: &mut [f32],
    f: impl Fn(Range<usize>, &mut [f32]) + Sync,
) {
    let (rows, row_len) = (w.batch * w.out_height, w.out_width * channels);
    let at_once = if forks { band.min(rows.div_ceil(parallel::threads())) } else { rows };
    parallel::chunks(&mut output[..rows * row_len], at_once * row_len, |chunk, mut output| {
        let mut row = chunk * at_once;
        while !output.is_empty() {
            let count = band.min(w.out_height - row % w.out_height).min(output.len() / row_len);
            let (now, later) = std::mem::take(&mut output).split_at_mut(count * row_len);
            f(row..row + count, now);
            output = later;
            row += count;
        }
    });
}

/// Calls `f(row, slice)` for each of `rows` rows of `row_len` elements of `data`, on several threads if `work` multiply-adds are worth the fork.
pub(crate) fn for_each_row<T: Send>(rows: usize, row_len: usize, work: usize, data: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    if row_len == 0 {
        return;
    }
    let data = &mut data[..rows * row_len];
    let threads = parallel::threads();
    if rows == 1 || !parallel::is_worth_forking(work / SPEED) {
        for (row, slice) in data.chunks_exact_mut(row_len).enumerate() {
            f(row, slice);
        }
    } else {
        let at_once = rows.div_ceil(4 * threads);
        parallel::chunks(data, at_once * row_len, |chunk, slices| {
            for (i, slice) in slices.chunks_exact_mut(row_len).enumerate() {
                f(chunk * at_once + i, slice);
            }
        });
    }
}

crate::dispatch! {
    /// Computes `output[c * multiplier + q] += input[c] * filter[c * multiplier + q]`.
    pub(super) fn add_products(output: &mut [f32], input: &[f32], filter: &[f32], multiplier: usize) {
        if multiplier == 1 {
            for ((o, f), x) in output.iter_mut().zip(filter).zip(input) {
                *o += x * f;
            }
        } else {
            let per_channel = output.chunks_exact_mut(multiplier).zip(filter.chunks_exact(multiplier));
            for ((output, filter), x) in per_channel.zip(input) {
                for (o, f) in output.iter_mut().zip(filter) {
                    *o += x * f;
                }
            }
        }
    }
}
