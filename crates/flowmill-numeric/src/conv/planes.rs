//! Convolutions in groups of few channels.
//!
//! One matrix product for each group would leave most lanes of its vectors without a column. Instead, the input is expanded to as many planes as a group
//! has input channels: plane `r` has, for each output channel, channel `r` of its group. The convolution is then the sum of depthwise ones, one for each
//! plane, whose filters lie side by side in the HWIO filter as it is.

use super::depthwise::{depthwise_conv2d, for_each_band, rows_of_band};
use super::runs::{self, Layout};
use crate::gemm::{Epilogue, with_scratch};
use crate::parallel;
use crate::simd::isa;
use crate::window::Window;
use std::ops::Range;

/// The most input and output channels of a group.
const MAX_CHANNELS: usize = 64;
/// Elements of planes that are computed at a time: a part of a core's L2 cache.
const BAND_ELEMENTS: usize = 1 << 17;
/// The number of output channels that are computed at a time, rounded to whole groups.
const BLOCK_CHANNELS: usize = 64;

/// Returns true if convolutions over the window should be considered for planes: there are groups, and they are small, or it is a depthwise convolution.
pub(super) fn can_compute(w: &Window, out_channels: usize, groups: usize) -> bool {
    let are_small = out_channels / groups <= MAX_CHANNELS && w.channels / groups <= MAX_CHANNELS;
    groups > 1 && are_small || is_depthwise(w, out_channels, groups)
}

/// Returns true if each input channel has one filter, so that the input is its only plane.
pub(super) fn is_depthwise(w: &Window, out_channels: usize, groups: usize) -> bool {
    w.channels == groups && out_channels == groups
}

/// Computes the convolution. The sizes have been checked.
pub(super) fn conv2d(
    w: &Window,
    groups: usize,
    input: &[f32],
    filter: &[f32],
    channels: usize,
    output: &mut [f32],
    epilogue: &Epilogue<'_>,
) {
    if is_depthwise(w, channels, groups) {
        return one_plane(w, input, filter, output, epilogue);
    }
    let per_group = channels / groups;
    let block_groups = (BLOCK_CHANNELS / per_group).clamp(1, groups);
    let band = rows_of_band(w, w.in_width * w.channels / groups * block_groups * per_group, BAND_ELEMENTS);
    let forks = parallel::is_worth_forking(w.work(channels).saturating_mul(w.channels / groups) / 20);
    let bands = Band { w, groups, block_groups, channels, epilogue };
    for_each_band(w, channels, band, forks, output, |rows, output| bands.compute(rows, input, filter, output));
}

/// Computes a depthwise convolution.
fn one_plane(w: &Window, input: &[f32], filter: &[f32], output: &mut [f32], epilogue: &Epilogue<'_>) {
    if epilogue.residual.is_none() {
        return depthwise_conv2d(w, 1, input, filter, output, epilogue);
    }
    depthwise_conv2d(w, 1, input, filter, output, &Epilogue::default());
    epilogue.apply(0, w.channels, &mut output[..w.positions() * w.channels]);
}

struct Band<'a> {
    w: &'a Window,
    groups: usize,
    /// The groups that are computed at a time.
    block_groups: usize,
    /// Output channels of all groups.
    channels: usize,
    epilogue: &'a Epilogue<'a>,
}

impl Band<'_> {
    /// Computes some rows of an image.
    fn compute(&self, rows: Range<usize>, input: &[f32], filter: &[f32], output: &mut [f32]) {
        let w = self.w;
        let (window, elements) = w.of_rows(rows.clone());
        let pixels = &input[elements];
        for group in (0..self.groups).step_by(self.block_groups) {
            self.compute_groups(group..self.groups.min(group + self.block_groups), &window, pixels, filter, output);
        }
        for (y, output) in output.chunks_exact_mut(w.out_width * self.channels).enumerate() {
            if self.epilogue.residual.is_some() {
                self.epilogue.apply((rows.start + y) * w.out_width, self.channels, output);
            } else if self.epilogue.activation.needs_pass() {
                self.epilogue.activation.apply(output);
            }
        }
    }

    /// Computes the output channels of some groups, with the epilogue as far as the kernel applies it.
    fn compute_groups(&self, groups: Range<usize>, window: &Window, pixels: &[f32], filter: &[f32], output: &mut [f32]) {
        let (depth, per_group) = (window.channels / self.groups, self.channels / self.groups);
        let (first, channels) = (groups.start * per_group, groups.len() * per_group);
        let plane = window.in_height * window.in_width * channels;
        // If there is a residual, which the kernel does not add, the whole epilogue comes later.
        let epilogue = match self.epilogue.residual {
            None => Epilogue { bias: self.epilogue.bias.map(|bias| &bias[first..]), ..*self.epilogue },
            Some(_) => Epilogue::default(),
        };
        let layout = Layout {
            planes: depth,
            input_plane: plane,
            filter_plane: self.channels,
            filter_column: depth * self.channels,
            output_column: self.channels,
        };
        with_scratch(depth * plane, |planes: &mut [f32]| {
            for (at, pixel) in pixels.chunks_exact(window.channels).enumerate() {
                let pixel = &pixel[groups.start * depth..][..groups.len() * depth];
                expand(pixel, depth, per_group, &mut planes[at * channels..], plane);
            }
            let window = Window { channels, ..*window };
            for (y, output) in output.chunks_exact_mut(window.out_width * self.channels).enumerate() {
                runs::row(isa(), &window, &layout, 0, y, planes, &filter[first..], &mut output[first..], &epilogue);
            }
        });
    }
}

/// Returns true if there is code for the copies of groups of `count` output channels.
pub(super) fn is_specialised(count: usize) -> bool {
    matches!(count, 4 | 8 | 16)
}

/// Writes `count` copies of channel `r` of each group of `depth` to plane `r`; the planes are `distance` apart.
fn expand(pixel: &[f32], depth: usize, count: usize, planes: &mut [f32], distance: usize) {
    match count {
        4 => expand_exactly::<4>(pixel, depth, planes, distance),
        8 => expand_exactly::<8>(pixel, depth, planes, distance),
        16 => expand_exactly::<16>(pixel, depth, planes, distance),
        _ => {
            for (group, channels) in pixel.chunks_exact(depth).enumerate() {
                for (r, x) in channels.iter().enumerate() {
                    planes[r * distance + group * count..][..count].fill(*x);
                }
            }
        }
    }
}

fn expand_exactly<const N: usize>(pixel: &[f32], depth: usize, planes: &mut [f32], distance: usize) {
    for (group, channels) in pixel.chunks_exact(depth).enumerate() {
        for (r, x) in channels.iter().enumerate() {
            if let Some(to) = planes[r * distance + group * N..].first_chunk_mut() {
                *to = [*x; N];
            }
        }
    }
}
