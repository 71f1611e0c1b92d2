//! The patches of an image, which are the rows of the matrix that a convolution multiplies: one patch per output position.

use crate::gemm::{LDA, NOWHERE, Places, Rows, Segment, Segments, copy_rows, crowds_cache};
use crate::window::Window;
use std::ops::Range;

/// The patches under a window as rows `[height * width * channels]` of a matrix that is never stored as a whole.
pub(super) struct Patches<'a> {
    window: &'a Window,
    input: &'a [f32],
    /// The first of the channels that a patch takes of each input position.
    first_channel: usize,
    channels: usize,
    /// Taps per segment. A row consists of equal segments that are contiguous in the input (except for padding): a whole row of the window if its
    /// taps are adjacent and take all channels, otherwise one tap.
    taps: usize,
}

impl<'a> Patches<'a> {
    pub(super) fn new(window: &'a Window, input: &'a [f32], first_channel: usize, channels: usize) -> Self {
        let adjacent = window.dilation_width == 1 && channels == window.channels;
        Self { window, input, first_channel, channels, taps: if adjacent { window.width } else { 1 } }
    }

    /// Returns the number of elements of a segment.
    fn segment_len(&self) -> usize {
        self.taps * self.channels
    }

    /// Writes elements `k0..k0 + len` of the patches at the positions `rows`: patch `r` to `dst[r * ld..]`.
    ///
    /// Elements after a patch may be overwritten, so that short copies can write more than their exact length.
    fn copy_patches(&self, rows: std::ops::Range<usize>, k0: usize, len: usize, dst: &mut [f32], ld: usize) {
        let w = self.window;
        let first = k0 / self.segment_len() * self.taps;
        let start = Start { i: first / w.width, j: first % w.width, element: k0 % self.segment_len() };
        let (mut x, rest) = (rows.start % w.out_width, rows.start / w.out_width);
        let (mut y, mut image) = (rest % w.out_height, rest / w.out_height);
        let (inside_rows, inside_columns) = (w.rows_wholly_inside(), w.columns_wholly_inside());
        let mut dst = &mut dst[..];
        let mut left = rows.len();
        while left > 0 {
            // Take either a run of patches in one row of the output that are all inside the image, or one patch that is not.
            let is_inside = inside_rows.contains(&y) && inside_columns.contains(&x);
            let run = if is_inside { left.min(inside_columns.end - x) } else { 1 };
            if is_inside {
                let corner = (image * w.in_height + w.input_row(y, 0)) * w.in_width + w.input_column(x, 0);
                self.copy_inside(corner, run, start, len, dst, ld);
            } else {
                self.copy_clipped((image, y, x), start, len, dst);
            }
            left -= run;
            if left > 0 {
                dst = &mut dst[run * ld..];
            }
            x += run;
            if x == w.out_width {
                (x, y) = (0, y + 1);
                if y == w.out_height {
                    (y, image) = (0, image + 1);
                }
            }
        }
    }

    /// Copies `count` adjacent patches that are all inside the image. The first tap of the first patch is at input position `corner`.
    #[inline]
    fn copy_inside(&self, corner: usize, count: usize, start: Start, len: usize, dst: &mut [f32], ld: usize) {
        let w = self.window;
        let Start { mut i, mut j, mut element } = start;
        let mut done = 0;
        // Copy segment by segment: each segment overwrites the excess that the previous one wrote.
        while done < len {
            let elements = (self.segment_len() - element).min(len - done);
            let position = corner + i * w.dilation_height * w.in_width + j * w.dilation_width;
            let source = &self.input[position * w.channels + self.first_channel + element..];
            copy_rows(&mut dst[done..], ld, source, w.stride_width * w.channels, count, elements);
            done += elements;
            element = 0;
            j += self.taps;
            if j == w.width {
                (i, j) = (i + 1, 0);
            }
        }
    }

    /// Copies the patch at output position (image, y, x), whose elements in the padding are zero.
    #[cold]
    fn copy_clipped(&self, (image, y, x): (usize, usize, usize), start: Start, len: usize, dst: &mut [f32]) {
        let w = self.window;
        let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
        let Start { mut i, mut j, element: mut from } = start;
        let mut done = 0;
        while done < len {
            let to = self.segment_len().min(from + len - done);
            // Find the elements of this segment that lie inside the image.
            let taps = if rows.contains(&i) {
                let first = columns.start.max(j);
                first..columns.end.min(j + self.taps).max(first)
            } else {
                j..j
            };
            let first = ((taps.start - j) * self.channels).clamp(from, to);
            let end = ((taps.end - j) * self.channels).clamp(first, to);
            let dst = &mut dst[done..];
            dst[..first - from].fill(0.0);
            if end > first {
                let row = (image * w.in_height + w.input_row(y, i)) * w.in_width;
                let position = row + w.input_column(x, taps.start);
                let source = position * w.channels + self.first_channel + first - (taps.start - j) * self.channels;
                dst[first - from..end - from].copy_from_slice(&self.input[source..][..end - first]);
            }
            dst[end - from..to - from].fill(0.0);
            done += to - from;
            from = 0;
            j += self.taps;
            if j == w.width {
                (i, j) = (i + 1, 0);
            }
        }
    }
}

/// The element of a patch at which a copy starts: the first tap of a segment, and the offset within that segment.
#[derive(Clone, Copy)]
struct Start {
    i: usize,
    j: usize,
    element: usize,
}

impl Rows<f32> for Patches<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [f32]) {
        if kc > 0 {
            self.copy_patches(row0..row0 + rows, k0, kc, dst, LDA);
        }
    }

    fn in_place(&self) -> Option<(&[f32], Segments)> {
        let w = self.window;
        let len = self.segment_len();
        let firsts = (0..w.height).flat_map(|i| (0..w.width).step_by(self.taps).map(move |j| (i, j)));
        let place = |(i, j): (usize, usize)| (i * w.dilation_height * w.in_width + j * w.dilation_width) * w.channels;
        Some((self.input, firsts.enumerate().map(|(at, tap)| Segment { a: place(tap), b: at * len, len }).collect()))
    }

    fn crowds_cache(&self) -> bool {
        crowds_cache::<f32>(self.window.stride_width * self.window.channels)
    }

    fn add_places(&self, rows: Range<usize>, places: &mut Places) {
        let w = self.window;
        let (inside_rows, inside_columns) = (w.rows_wholly_inside(), w.columns_wholly_inside());
        let (mut x, rest) = (rows.start % w.out_width, rows.start / w.out_width);
        let (mut y, mut image) = (rest % w.out_height, rest / w.out_height);
        let mut left = rows.len();
        while left > 0 {
            let run = left.min(w.out_width - x);
            if inside_rows.contains(&y) && !inside_columns.is_empty() {
                let line = (image * w.in_height + w.input_row(y, 0)) * w.in_width * w.channels + self.first_channel;
                let inside = inside_columns.start.clamp(x, x + run)..inside_columns.end.clamp(x, x + run);
                places.resize(places.len() + inside.start - x, NOWHERE);
                let (first, step) = (w.input_column(inside_columns.start, 0) * w.channels, w.stride_width * w.channels);
                places.extend(inside.clone().map(|x| line + first + (x - inside_columns.start) * step));
                places.resize(places.len() + x + run - inside.end, NOWHERE);
            } else {
                places.resize(places.len() + run, NOWHERE);
            }
            left -= run;
            (x, y) = (0, y + 1);
            if y == w.out_height {
                (y, image) = (0, image + 1);
            }
        }
    }
}
