//! The rows of the matrix that a convolution multiplies: one patch of the input for each output position.

use super::Window;
use crate::gemm::{LDA, Rows};

/// The patches under a window as rows `[height * width * channels]` of a matrix that is never stored as a whole.
pub(super) struct Patches<'a> {
    window: &'a Window,
    input: &'a [f32],
    /// The channels taken of each input position.
    first_channel: usize,
    channels: usize,
    /// A row falls into equal segments that are contiguous in the input (but for padding): a whole row of the window
    /// if its taps are adjacent and take all channels, else one tap.
    taps: usize,
}

impl<'a> Patches<'a> {
    pub(super) fn new(
        window: &'a Window,
        input: &'a [f32],
        first_channel: usize,
        channels: usize,
    ) -> Self {
        let adjacent = window.dilation_width == 1 && channels == window.channels;
        Self {
            window,
            input,
            first_channel,
            channels,
            taps: if adjacent { window.width } else { 1 },
        }
    }

    /// Writes elements `k0..k0 + len` of the patch at output position `row` to the front of `dst`.
    ///
    /// Elements after them may be overwritten, which spares short copies their exact end.
    #[inline]
    fn copy_patch(&self, row: usize, k0: usize, dst: &mut [f32], len: usize) {
        let w = self.window;
        let (x, rest) = (row % w.out_width, row / w.out_width);
        let (y, image) = (rest % w.out_height, rest / w.out_height);
        let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
        let segment_len = self.taps * self.channels;
        let mut done = 0;
        let mut segment = k0 / segment_len;
        let mut from = k0 % segment_len;
        while done < len {
            let to = segment_len.min(from + len - done);
            let first_tap = segment * self.taps;
            let (i, j) = (first_tap / w.width, first_tap % w.width);
            // The elements of this segment that lie inside the image.
            let inside_taps = if rows.contains(&i) {
                columns.start.max(j)..columns.end.min(j + self.taps).max(columns.start.max(j))
            } else {
                j..j
            };
            let start = ((inside_taps.start - j) * self.channels).clamp(from, to);
            let end = ((inside_taps.end - j) * self.channels).clamp(start, to);
            if start > from {
                dst[done..done + start - from].fill(0.0);
            }
            if end > start {
                // Element 0 of the segment would lie at tap `j`, which may be in the padding: start at the first inside.
                let tap = inside_taps.start;
                let position =
                    (image * w.in_height + w.input_row(y, i)) * w.in_width + w.input_column(x, tap);
                let source =
                    position * w.channels + self.first_channel + start - (tap - j) * self.channels;
                copy_short(
                    &mut dst[done + start - from..],
                    &self.input[source..],
                    end - start,
                );
            }
            if end < to {
                dst[done + end - from..done + to - from].fill(0.0);
            }
            done += to - from;
            segment += 1;
            from = 0;
        }
    }
}

/// Copies `len` elements; may overwrite up to 15 more in `dst` where both slices have them.
#[inline(always)]
fn copy_short(dst: &mut [f32], src: &[f32], len: usize) {
    const STEP: usize = 16;
    let rounded = len.next_multiple_of(STEP);
    if rounded <= dst.len() && rounded <= src.len() {
        let (dst, _) = dst[..rounded].as_chunks_mut::<STEP>();
        let (src, _) = src[..rounded].as_chunks::<STEP>();
        for (d, s) in dst.iter_mut().zip(src) {
            *d = *s;
        }
    } else {
        dst[..len].copy_from_slice(&src[..len]);
    }
}

impl Rows<f32> for Patches<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [f32]) {
        for (i, dst) in dst.chunks_mut(LDA).take(rows).enumerate() {
            self.copy_patch(row0 + i, k0, dst, kc);
        }
    }
}

/// The transpose of [`Patches`]: rows are filter elements, columns are output positions from `first_position` on.
pub(super) struct TransposedPatches<'a> {
    pub(super) patches: Patches<'a>,
    pub(super) first_position: usize,
}

impl Rows<f32> for TransposedPatches<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [f32]) {
        let mut patch = [0.0f32; LDA];
        for p in 0..kc {
            let position = self.first_position + k0 + p;
            for start in (0..rows).step_by(LDA - 16) {
                let len = (rows - start).min(LDA - 16);
                self.patches
                    .copy_patch(position, row0 + start, &mut patch, len);
                for (i, x) in patch[..len].iter().enumerate() {
                    dst[(start + i) * LDA + p] = *x;
                }
            }
        }
    }
}
