//! The gradient of [`conv2d`](super::conv2d) with respect to its input.

use super::phases::Phases;
use super::winograd::Lifetime;
use crate::gemm::{Epilogue, PackedRhs, Precision, gemm_packed, with_scratch};
use crate::parallel;
use crate::window::Window;

/// Elements of memory for the gradients of patches that are computed at a time: a part of a core's L2 cache.
const PATCH_ELEMENTS: usize = 1 << 18;

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
    } else if let Some(phases) = Phases::new(window, out_channels, groups, Lifetime::Once) {
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
    let filters: Vec<PackedRhs> =
        (0..groups).map(|group| PackedRhs::pack_strided(Precision::F32, &filter[group * n..], out_channels, n, k, true)).collect();
    let image_len = window.in_height * window.in_width * window.channels;
    // Rows of the output whose patches are computed at a time: a part of an image, or some images.
    let rows_at_once = (PATCH_ELEMENTS / (k * window.out_width)).max(1);
    let images_at_once = (rows_at_once / window.out_height).clamp(1, window.batch.div_ceil(parallel::threads()));
    let some_images = |first: usize, input_backprop: &mut [f32]| {
        input_backprop.fill(0.0);
        let images = input_backprop.len() / image_len;
        let rows_at_once = rows_at_once.min(images * window.out_height);
        with_scratch(rows_at_once * window.out_width * k, |patches: &mut [f32]| {
            for (group, filter) in filters.iter().enumerate() {
                for row in (0..images * window.out_height).step_by(rows_at_once) {
                    let rows = row..(row + rows_at_once).min(images * window.out_height);
                    let position = (first * window.out_height + row) * window.out_width;
                    let out_backprop = &out_backprop[position * out_channels + group * n..];
                    gemm_packed(out_backprop, out_channels, rows.len() * window.out_width, filter, patches, k, &Epilogue::default());
                    add_patches(window, rows, group, k, patches, input_backprop);
                }
            }
        });
    };
    if window.work(window.channels) < 500_000 {
        parallel::alone(|| some_images(0, input_backprop));
    } else {
        parallel::chunks(input_backprop, images_at_once * image_len, |piece, images| some_images(piece * images_at_once, images));
    }
}

crate::dispatch! {
    /// Adds the gradients of the patches of output rows `rows`, which count through all images, to the gradients of the images.
    fn add_patches(w: &Window, rows: std::ops::Range<usize>, group: usize, k: usize, patches: &[f32], images: &mut [f32]) {
        let channels = k / (w.height * w.width);
        let line = w.in_width * w.channels;
        for (row, patches) in rows.zip(patches.chunks_exact(w.out_width * k)) {
            let (image, y) = (row / w.out_height, row % w.out_height);
            for i in w.rows_inside(y) {
                let to = &mut images[(image * w.in_height + w.input_row(y, i)) * line..][..line];
                for (x, patch) in patches.chunks_exact(k).enumerate() {
                    for j in w.columns_inside(x) {
                        let to = &mut to[w.input_column(x, j) * w.channels + group * channels..][..channels];
                        let from = &patch[(i * w.width + j) * channels..][..channels];
                        for (t, f) in to.iter_mut().zip(from) {
                            *t += f;
                        }
                    }
                }
            }
        }
    }
}
