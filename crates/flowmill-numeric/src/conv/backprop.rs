//! The gradient of [`conv2d`](super::conv2d) with respect to its input.

use super::PRODUCTS_PER_NANOSECOND;
use super::phases::Phases;
use super::winograd::Lifetime;
use crate::gemm::{Epilogue, PackedRhs, Precision, gemm_packed, with_scratch};
use crate::parallel;
use crate::window::{Window, pieces_of_rows};
use std::ops::Range;

/// Elements of memory for the gradients of patches that are computed at a time: a part of a core's L2 cache.
const PATCH_ELEMENTS: usize = 1 << 18;
/// The approximate number of additions of one core per nanosecond.
const ADDITIONS_PER_NANOSECOND: usize = 4;

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
        let filters = pack_for_patches(filter, out_channels, groups, k);
        scatter(window, &filters, out_channels, out_backprop, input_backprop);
    }
}

/// Packs each group's filter for the gradients of patches of `k` elements.
pub(super) fn pack_for_patches(filter: &[f32], out_channels: usize, groups: usize, k: usize) -> Vec<PackedRhs> {
    let n = out_channels / groups;
    (0..groups).map(|group| PackedRhs::pack_strided(Precision::F32, &filter[group * n..], out_channels, n, k, true)).collect()
}

/// Computes the gradients of all patches by products, and adds them up. There is a filter for each group.
///
/// Threads compute different rows of the input: each multiplies the patches that reach into its rows, so that some are multiplied twice. If an image has few
/// patches, each thread would read all weights for a few of them: then threads share each product.
pub(super) fn scatter(window: &Window, filters: &[PackedRhs], out_channels: usize, out_backprop: &[f32], input_backprop: &mut [f32]) {
    let scatter = Scatter { window, filters, out_channels, out_backprop };
    let (height, line) = (window.in_height, window.in_width * window.channels);
    let rows = window.batch * height;
    let work = window.work(window.channels).saturating_mul(out_channels / filters.len());
    let (threads, positions) = (parallel::threads(), window.out_height * window.out_width);
    if !parallel::is_worth_forking(work / PRODUCTS_PER_NANOSECOND) {
        parallel::alone(|| scatter.add_rows(0..rows, input_backprop));
    } else if window.batch < threads && 2 * positions < out_channels {
        scatter.add_rows(0..rows, input_backprop);
    } else {
        let pieces = pieces_of_rows(window.batch, height, 1, threads);
        parallel::parts(input_backprop, pieces.iter().map(|rows| rows.len() * line), |i, to| {
            parallel::alone(|| scatter.add_rows(pieces[i].clone(), to));
        });
    }
}

/// Gradients of patches that are added to an input's gradient.
struct Scatter<'a> {
    window: &'a Window,
    /// The filter of each group.
    filters: &'a [PackedRhs],
    out_channels: usize,
    out_backprop: &'a [f32],
}

impl Scatter<'_> {
    /// Overwrites some rows of the input's gradient, counted through all images: whole images, or a part of one.
    fn add_rows(&self, rows: Range<usize>, to: &mut [f32]) {
        let (w, down) = (self.window, self.window.down());
        let line = w.in_width * w.channels;
        to.fill(0.0);
        // The rows of the output whose patches reach into these rows.
        let around = |row: usize| (row / w.in_height * w.out_height, down.around(row % w.in_height));
        let ((first_image, first), (last_image, last)) = (around(rows.start), around(rows.end.saturating_sub(1)));
        let outputs = first_image + first.start..last_image + last.end;
        // Rows of the output whose patches are computed at a time.
        let Some(k) = self.filters.first().map(PackedRhs::n) else { return };
        let at_once = (PATCH_ELEMENTS / (k * w.out_width)).clamp(1, outputs.len().max(1));
        with_scratch(at_once * w.out_width * k, |patches: &mut [f32]| {
            for start in outputs.clone().step_by(at_once) {
                let outputs = start..outputs.end.min(start + at_once);
                for (group, filter) in self.filters.iter().enumerate() {
                    let gradients = &self.out_backprop[start * w.out_width * self.out_channels + group * filter.k()..];
                    let positions = outputs.len() * w.out_width;
                    gemm_packed(gradients, self.out_channels, positions, filter, patches, k, &Epilogue::default());
                    for_each_row_of(rows.clone(), line, positions * k, to, |rows, to| {
                        add_patches(w, outputs.clone(), rows, group, k, patches, to);
                    });
                }
            }
        });
    }
}

/// Calls `f` with ranges of rows and their elements, on several threads if so many additions are worth a fork.
fn for_each_row_of(rows: Range<usize>, line: usize, additions: usize, to: &mut [f32], f: impl Fn(Range<usize>, &mut [f32]) + Sync) {
    let forks = parallel::is_worth_forking(additions / ADDITIONS_PER_NANOSECOND);
    let at_once = if forks { rows.len().div_ceil(parallel::threads()) } else { rows.len() };
    parallel::chunks(to, at_once * line, |chunk, to| {
        let first = rows.start + chunk * at_once;
        f(first..rows.end.min(first + at_once), to);
    });
}

crate::dispatch! {
    /// Adds the gradients of the patches of output rows `outputs` to `to`, the input's gradient in `rows`. Both count through all images.
    fn add_patches(w: &Window, outputs: Range<usize>, rows: Range<usize>, group: usize, k: usize, patches: &[f32], to: &mut [f32]) {
        let channels = k / (w.height * w.width);
        let line = w.in_width * w.channels;
        for (output, patches) in outputs.zip(patches.chunks_exact(w.out_width * k)) {
            let (image, y) = (output / w.out_height, output % w.out_height);
            for i in w.rows_inside(y) {
                let row = image * w.in_height + w.input_row(y, i);
                if !rows.contains(&row) {
                    continue;
                }
                let to = &mut to[(row - rows.start) * line..][..line];
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
