//! Sliding windows over images: their positions, and which of their elements lie inside the image.
//!
//! The caller resolves padding: `SAME`, `VALID` and explicit padding all become the `pad` and `output` of an [`Axis`].

use crate::parallel;
use std::ops::Range;

/// The positions of a window along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The size of the input.
    pub input: usize,
    /// The elements of the window.
    pub window: usize,
    /// Input positions between the starts of consecutive windows.
    pub stride: usize,
    /// Input positions between elements of a window.
    pub dilation: usize,
    /// Positions before the input that the first window covers.
    pub pad: usize,
    /// The number of windows.
    pub output: usize,
}

impl Axis {
    /// Returns the elements of window `at` that lie inside of the input.
    #[inline]
    pub fn inside(&self, at: usize) -> Range<usize> {
        let start = at * self.stride;
        let first = self.pad.saturating_sub(start).div_ceil(self.dilation).min(self.window);
        let end = (self.input + self.pad).saturating_sub(start).div_ceil(self.dilation).min(self.window);
        first..end.max(first)
    }

    /// Returns the windows whose elements all lie inside the input.
    pub fn wholly_inside(&self) -> Range<usize> {
        let reach = (self.window - 1) * self.dilation;
        let end = (self.input + self.pad).checked_sub(reach + 1).map_or(0, |last| last / self.stride + 1).min(self.output);
        self.pad.div_ceil(self.stride).min(end)..end
    }

    /// Returns the windows of which an element lies at position `at` of the input, in ascending order.
    pub fn covering(self, at: usize) -> impl Iterator<Item = usize> {
        self.around(at).filter(move |window| self.dilation == 1 || (at + self.pad - window * self.stride).is_multiple_of(self.dilation))
    }

    /// Returns the windows that begin at position `at` of the input or before, and end there or behind.
    pub(crate) fn around(&self, at: usize) -> Range<usize> {
        let at = at + self.pad;
        let reach = (self.window - 1) * self.dilation;
        let end = (at / self.stride + 1).min(self.output);
        at.saturating_sub(reach).div_ceil(self.stride).min(end)..end
    }

    /// Returns the input position under element `tap` of window `at`, for a `tap` in [`Axis::inside`].
    #[inline]
    pub fn place(&self, at: usize, tap: usize) -> usize {
        at * self.stride + tap * self.dilation - self.pad
    }
}

/// Returns about `wanted` ranges of the rows of some images, counted through all of them: whole images, or parts of one that begin at a multiple of
/// `together` in it.
pub(crate) fn pieces_of_rows(images: usize, height: usize, together: usize, wanted: usize) -> Vec<Range<usize>> {
    if wanted <= images {
        return (0..wanted).map(|i| parallel::piece(images, wanted, i)).map(|images| images.start * height..images.end * height).collect();
    }
    let steps = height.div_ceil(together);
    let bands = wanted.div_ceil(images.max(1)).min(steps);
    let band = |image: usize, i: usize| {
        let steps = parallel::piece(steps, bands, i);
        image * height + steps.start * together..image * height + height.min(steps.end * together)
    };
    (0..images).flat_map(|image| (0..bands).map(move |i| band(image, i))).collect()
}

/// The sliding window of a convolution or pooling over a batch of NHWC images. Sizes are in elements, strides and dilations in positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of images.
    pub batch: usize,
    /// Rows of the input.
    pub in_height: usize,
    /// Columns of the input.
    pub in_width: usize,
    /// Input channels.
    pub channels: usize,
    /// Rows of the window.
    pub height: usize,
    /// Columns of the window.
    pub width: usize,
    /// Input rows between windows.
    pub stride_height: usize,
    /// Input columns between windows.
    pub stride_width: usize,
    /// Input rows between rows of the window.
    pub dilation_height: usize,
    /// Input columns between columns of the window.
    pub dilation_width: usize,
    /// Rows of padding above the first input row.
    pub pad_top: usize,
    /// Columns of padding left of the first input column.
    pub pad_left: usize,
    /// Rows of the output.
    pub out_height: usize,
    /// Columns of the output.
    pub out_width: usize,
}

impl Window {
    /// Returns the window of `window` rows and columns over square images of `size` rows and columns with `pad` of padding on all sides.
    pub fn square(batch: usize, size: usize, channels: usize, window: usize, stride: usize, pad: usize) -> Window {
        let output = (size + 2 * pad).saturating_sub(window) / stride.max(1) + 1;
        Window {
            batch,
            in_height: size,
            in_width: size,
            channels,
            height: window,
            width: window,
            stride_height: stride,
            stride_width: stride,
            dilation_height: 1,
            dilation_width: 1,
            pad_top: pad,
            pad_left: pad,
            out_height: output,
            out_width: output,
        }
    }

    /// Returns the number of elements of the input.
    pub fn input_len(&self) -> usize {
        self.batch * self.in_height * self.in_width * self.channels
    }

    /// Returns the number of positions of the output: `batch * out_height * out_width`.
    pub fn positions(&self) -> usize {
        self.batch * self.out_height * self.out_width
    }

    /// Returns the window's positions along the image's height.
    #[inline]
    pub(crate) fn down(&self) -> Axis {
        Axis {
            input: self.in_height,
            window: self.height,
            stride: self.stride_height,
            dilation: self.dilation_height,
            pad: self.pad_top,
            output: self.out_height,
        }
    }

    /// Returns the window's positions along the image's width.
    #[inline]
    pub(crate) fn across(&self) -> Axis {
        Axis {
            input: self.in_width,
            window: self.width,
            stride: self.stride_width,
            dilation: self.dilation_width,
            pad: self.pad_left,
            output: self.out_width,
        }
    }

    /// Returns the window over images as volumes of one plane.
    pub fn volume(&self) -> Volume {
        let plane = Axis { input: 1, window: 1, stride: 1, dilation: 1, pad: 0, output: 1 };
        Volume { batch: self.batch, axes: [plane, self.down(), self.across()], channels: self.channels }
    }

    /// Returns the rows of the window that lie inside the image at output row `y`: for `i` in the range, window row `i` is at input
    /// row [`Window::input_row`]`(y, i)`.
    #[inline]
    pub fn rows_inside(&self, y: usize) -> Range<usize> {
        self.down().inside(y)
    }

    /// Returns the columns of the window that lie inside the image at output column `x`.
    #[inline]
    pub fn columns_inside(&self, x: usize) -> Range<usize> {
        self.across().inside(x)
    }

    /// Returns the output rows at which no window row lies in the padding.
    pub(crate) fn rows_wholly_inside(&self) -> Range<usize> {
        self.down().wholly_inside()
    }

    /// Returns the output columns at which no window column lies in the padding.
    pub(crate) fn columns_wholly_inside(&self) -> Range<usize> {
        self.across().wholly_inside()
    }

    /// Returns the input row under window row `i` at output row `y`, for `i` in [`Window::rows_inside`].
    #[inline]
    pub fn input_row(&self, y: usize, i: usize) -> usize {
        self.down().place(y, i)
    }

    /// Returns the input column under window column `j` at output column `x`, for `j` in [`Window::columns_inside`].
    #[inline]
    pub fn input_column(&self, x: usize, j: usize) -> usize {
        self.across().place(x, j)
    }

    /// Returns the window of some rows of the output over the input rows that they need, and the elements of the input that these rows are. Rows are counted
    /// through all images; a range is part of one image, or consists of whole images.
    pub fn of_rows(&self, rows: Range<usize>) -> (Window, Range<usize>) {
        let height = self.out_height.max(1);
        let (image, y) = (rows.start / height, rows.start % height);
        let line = self.in_width * self.channels;
        if y == 0 && rows.len().is_multiple_of(height) {
            let batch = rows.len() / height;
            return (Window { batch, ..*self }, image * self.in_height * line..(image + batch) * self.in_height * line);
        }
        debug_assert!(y + rows.len() <= height, "{rows:?} of images of {height} rows");
        let above = y * self.stride_height;
        let reach = rows.len().saturating_sub(1) * self.stride_height + (self.height - 1) * self.dilation_height + 1;
        let first = above.saturating_sub(self.pad_top).min(self.in_height);
        let end = (above + reach).saturating_sub(self.pad_top).clamp(first, self.in_height);
        let pad_top = self.pad_top.saturating_sub(above);
        let window = Window { batch: 1, in_height: end - first, pad_top, out_height: rows.len(), ..*self };
        let start = image * self.in_height + first;
        (window, start * line..(start + window.in_height) * line)
    }

    /// Returns the number of multiply-adds of a convolution that needs `per_tap` of them for each window element and output position.
    pub(crate) fn work(&self, per_tap: usize) -> usize {
        self.positions().saturating_mul(self.height * self.width).saturating_mul(per_tap)
    }

    /// Asserts that no stride or dilation is zero and that `input` elements are enough for the whole input.
    pub(crate) fn check(&self, input: usize) {
        let steps = [self.stride_height, self.stride_width, self.dilation_height, self.dilation_width];
        assert!(!steps.contains(&0), "strides and dilations are positive: {self:?}");
        assert!(input >= self.input_len(), "{input} elements of input for {self:?}");
    }
}

/// A window that slides over a batch of NDHWC volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The number of volumes.
    pub batch: usize,
    /// The window's positions along the planes, rows and columns.
    pub axes: [Axis; 3],
    /// Input channels.
    pub channels: usize,
}

impl Volume {
    /// Returns the number of output positions in all volumes.
    pub fn positions(&self) -> usize {
        self.axes.iter().fold(self.batch, |n, axis| n.saturating_mul(axis.output))
    }

    /// Returns the number of elements of the window.
    pub fn taps(&self) -> usize {
        self.axes.iter().map(|axis| axis.window).product()
    }

    /// Calls `f(tap, pixel)` for the elements of the window at `position` that are inside the volume, in row-major order, with the index of the
    /// window's element and the index of the input's pixel in the whole batch.
    pub fn for_each_tap(&self, position: usize, mut f: impl FnMut(usize, usize)) {
        let [planes, rows, columns] = &self.axes;
        let (rest, x) = (position / columns.output, position % columns.output);
        let (rest, y) = (rest / rows.output, rest % rows.output);
        let (batch, z) = (rest / planes.output, rest % planes.output);
        for k in planes.inside(z) {
            let plane = batch * planes.input + planes.place(z, k);
            for i in rows.inside(y) {
                let row = plane * rows.input + rows.place(y, i);
                for j in columns.inside(x) {
                    f((k * rows.window + i) * columns.window + j, row * columns.input + columns.place(x, j));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn elements_inside_are_those_with_a_place_in_the_input() {
        for (input, window, stride, dilation, pad) in
            [(5usize, 3usize, 1, 1, 1), (5, 3, 2, 1, 0), (7, 2, 3, 4, 2), (1, 5, 1, 1, 2), (4, 3, 2, 3, 3)]
        {
            let output = (input + 2 * pad).saturating_sub((window - 1) * dilation + 1) / stride + 1;
            let axis = Axis { input, window, stride, dilation, pad, output };
            let place = |at: usize, tap: usize| (at * stride + tap * dilation).checked_sub(pad).filter(|&place| place < input);
            for at in 0..output {
                let inside: Vec<usize> = (0..window).filter(|&tap| place(at, tap).is_some()).collect();
                assert_eq!(axis.inside(at).collect::<Vec<_>>(), inside, "{axis:?} at {at}");
                assert!(inside.iter().all(|&tap| Some(axis.place(at, tap)) == place(at, tap)));
                assert_eq!(axis.wholly_inside().contains(&at), inside.len() == window, "{axis:?} at {at}");
            }
        }
    }
}
