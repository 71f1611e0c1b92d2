//! Copies of images with their padding, so that all windows lie inside and patches are read in place.

use super::depthwise::{for_each_band, rows_of_band};
use crate::gemm::with_scratch;
use crate::parallel;
use crate::window::{Window, pieces_of_rows};
use std::ops::Range;

/// Elements of padded images that are computed at a time.
const COPIED_ELEMENTS: usize = 1 << 20;
/// The number of elements for each nanosecond by which copies that are worth sharing are told.
const SHARED_COPIES_PER_NANOSECOND: usize = 32;
/// The least number of multiply-adds for each element of an image from which a copy of it does not count.
const MIN_WORK: usize = 128;
/// Images of which one window in so many reaches into the padding are copied. Such a window costs a copy of the patches of its whole tile.
const OUTSIDE_SHARE: usize = 64;

/// Returns the windows over images that are cut or padded to what the windows reach.
pub(super) fn padded(w: &Window) -> Window {
    let reach = |count: usize, stride: usize, size: usize, dilation: usize| count.saturating_sub(1) * stride + (size - 1) * dilation + 1;
    Window {
        in_height: reach(w.out_height, w.stride_height, w.height, w.dilation_height),
        in_width: reach(w.out_width, w.stride_width, w.width, w.dilation_width),
        pad_top: 0,
        pad_left: 0,
        ..*w
    }
}

/// Returns true if no window reaches into the padding.
pub(super) fn is_inside(w: &Window) -> bool {
    let padded = padded(w);
    (w.pad_top, w.pad_left) == (0, 0) && padded.in_height <= w.in_height && padded.in_width <= w.in_width
}

/// Copies the rows of a padded image from row `first` on.
pub(super) fn copy_rows(w: &Window, padded: &Window, image: usize, first: usize, input: &[f32], to: &mut [f32]) {
    let row_len = padded.in_width * w.channels;
    let left = w.pad_left.min(padded.in_width) * w.channels;
    let inside = (row_len - left).min(w.in_width * w.channels);
    for (row, to) in to.chunks_exact_mut(row_len.max(1)).enumerate() {
        match (first + row).checked_sub(w.pad_top).filter(|&y| y < w.in_height) {
            Some(y) => {
                to[..left].fill(0.0);
                to[left..left + inside].copy_from_slice(&input[(image * w.in_height + y) * w.in_width * w.channels..][..inside]);
                to[left + inside..].fill(0.0);
            }
            None => to.fill(0.0),
        }
    }
}

/// Calls `f` with images, and with their window, for all images: with the images themselves, or, if many windows reach into the padding, with padded
/// copies of some images at a time. `columns` is the number of output channels that a window is multiplied with.
pub(super) fn for_images(w: &Window, columns: usize, input: &[f32], mut f: impl FnMut(Range<usize>, &Window, &[f32])) {
    let inside = w.rows_wholly_inside().len() * w.columns_wholly_inside().len();
    let outside = w.out_height * w.out_width - inside.min(w.out_height * w.out_width);
    if OUTSIDE_SHARE * outside <= w.out_height * w.out_width || w.height * w.width * columns < MIN_WORK {
        return f(0..w.batch, w, input);
    }
    let padded = padded(w);
    let image_len = padded.in_height * padded.in_width * w.channels;
    let at_once = (COPIED_ELEMENTS / image_len.max(1)).clamp(1, w.batch);
    with_scratch(at_once * image_len, |copies: &mut [f32]| {
        for first in (0..w.batch).step_by(at_once) {
            let images = first..w.batch.min(first + at_once);
            let copies = &mut copies[..images.len() * image_len];
            let (height, line) = (padded.in_height, padded.in_width * w.channels);
            // Threads that have no image of their own copy some rows. Part of them comes from another core's cache, so that only large images are worth it.
            let bands = images.len() < parallel::threads() && parallel::is_worth_forking(copies.len() / SHARED_COPIES_PER_NANOSECOND);
            let pieces = pieces_of_rows(images.len(), height, 1, if bands { parallel::threads() } else { images.len() });
            parallel::parts(copies, pieces.iter().map(|rows| rows.len() * line), |i, copy| {
                copy_rows(w, &padded, first + pieces[i].start / height, pieces[i].start % height, input, copy);
            });
            f(images.clone(), &Window { batch: images.len(), ..padded }, copies);
        }
    });
}

/// Calls `f(rows, window, input, output)` for bands of rows of a result of `channels` channels, whose input has about `elements` elements. All windows lie
/// inside the input, which is a padded copy where some of them reach into the padding. If `forks` is set, threads share the bands.
pub(super) fn for_bands(
    w: &Window,
    channels: usize,
    elements: usize,
    forks: bool,
    input: &[f32],
    output: &mut [f32],
    f: impl Fn(Range<usize>, &Window, &[f32], &mut [f32]) + Sync,
) {
    let band = rows_of_band(w, padded(w).in_width.saturating_mul(w.channels), elements);
    for_each_band(w, channels, band, forks, output, |rows, output| {
        let (part, elements) = w.of_rows(rows.clone());
        let input = &input[elements];
        if is_inside(&part) {
            return f(rows, &part, input, output);
        }
        let padded = padded(&part);
        with_scratch(padded.in_height * padded.in_width * w.channels, |copy: &mut [f32]| {
            copy_rows(&part, &padded, 0, 0, input, copy);
            f(rows, &padded, copy, output);
        });
    });
}
