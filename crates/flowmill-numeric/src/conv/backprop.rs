//! The gradient of [`conv2d`](super::conv2d) with respect to its input.

use super::phases::Phases;
use crate::gemm::{MatrixRef, gemm, with_scratch};
use crate::parallel;
use crate::window::Window;

/// Elements of memory for the gradients of patches that are computed at a time.
const PATCH_ELEMENTS: usize = 1 << 20;

/// Checks the sizes of the filter. Returns the numbers of elements of a patch and of output channels, both of one group.
pub(super) fn check_filter(window: &Window, out_channels: usize, groups: usize, filter: usize) -> (usize, usize) {
    assert!(
        groups > 0 && window.channels.is_multiple_of(groups) && out_channels.is_multiple_of(groups),
        "{} and {out_channels} channels in {groups} groups",
        window.channels,
    );
    let k = window.height * window.width * (window.channels / groups);
    assert!(filter >= k * out_channels, "{filter} elements of filter for {k} x {out_channels}");
    (k, out_channels / groups)
}

/// Like [`check_filter`], and checks the size of the output's gradient.
pub(super) fn check(window: &Window, out_channels: usize, groups: usize, filter: usize, out_backprop: usize) -> (usize, usize) {
    let sizes = check_filter(window, out_channels, groups, filter);
    let positions = window.positions();
    assert!(out_backprop >= positions * out_channels, "{out_backprop} gradients for {positions} x {out_channels}",);
    sizes
}

/// Overwrites `input_backprop` with the gradient of the input, from `out_backprop` `[batch, out_height, out_width, out_channels]` and the HWIO filter.
///
/// # Panics
/// If a slice is too short, or `groups` does not divide the channels.
pub fn conv2d_backprop_input(
    window: &Window,
    filter: &[f32],
    out_channels: usize,
    groups: usize,
    out_backprop: &[f32],
    input_backprop: &mut [f32],
) {
    window.check(input_backprop.len());
    let (k, n) = check(window, out_channels, groups, filter.len(), out_backprop.len());
    let input_backprop = &mut input_backprop[..window.input_len()];
    if input_backprop.is_empty() || window.positions() == 0 || k == 0 || n == 0 {
        input_backprop.fill(0.0);
    } else if let Some(phases) = Phases::new(window, out_channels, groups) {
        phases.convolve(filter, out_channels, out_backprop, input_backprop);
    } else {
        scatter(window, filter, (out_channels, groups), (k, n), out_backprop, input_backprop);
    }
}

/// Computes the gradients of all patches by products, and adds them up.
fn scatter(
    window: &Window,
    filter: &[f32],
    (out_channels, groups): (usize, usize),
    (k, n): (usize, usize),
    out_backprop: &[f32],
    input_backprop: &mut [f32],
) {
    input_backprop.fill(0.0);
    let image_len = window.in_height * window.in_width * window.channels;
    let one_image = |image: usize, input_backprop: &mut [f32]| {
        let rows_at_once = (PATCH_ELEMENTS / (k * window.out_width)).clamp(1, window.out_height);
        with_scratch(rows_at_once * window.out_width * k, |patches: &mut [f32]| {
            for group in 0..groups {
                for y0 in (0..window.out_height).step_by(rows_at_once) {
                    let rows = rows_at_once.min(window.out_height - y0);
                    let first = (image * window.out_height + y0) * window.out_width;
                    let out_backprop =
                        MatrixRef { data: &out_backprop[first * out_channels + group * n..], ld: out_channels, transposed: false };
                    let filter = MatrixRef { data: &filter[group * n..], ld: out_channels, transposed: true };
                    gemm(rows * window.out_width, n, k, out_backprop, filter, patches, k, false);
                    add_patches(window, y0..y0 + rows, group, k, patches, input_backprop);
                }
            }
        });
    };
    let threads = parallel::threads();
    if threads == 1 || window.batch < threads || window.work(window.channels) < 500_000 {
        for (image, input_backprop) in input_backprop.chunks_exact_mut(image_len).enumerate() {
            one_image(image, input_backprop);
        }
    } else {
        parallel::chunks(input_backprop, image_len, one_image);
    }
}

/// Adds the gradients of the patches of output rows `ys` to the gradient of one image.
fn add_patches(w: &Window, ys: std::ops::Range<usize>, group: usize, k: usize, patches: &[f32], image: &mut [f32]) {
    let channels = k / (w.height * w.width);
    let mut patches = patches.chunks_exact(k);
    for y in ys {
        let rows = w.rows_inside(y);
        for (x, patch) in (0..w.out_width).zip(&mut patches) {
            let columns = w.columns_inside(x);
            for i in rows.clone() {
                for j in columns.clone() {
                    let position = w.input_row(y, i) * w.in_width + w.input_column(x, j);
                    let to = &mut image[position * w.channels + group * channels..][..channels];
                    let from = &patch[(i * w.width + j) * channels..][..channels];
                    for (t, f) in to.iter_mut().zip(from) {
                        *t += f;
                    }
                }
            }
        }
    }
}
