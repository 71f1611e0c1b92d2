//! Convolutions of NHWC images.
//!
//! [`conv2d`] is an implicit matrix product: rows are output positions, columns are output channels, and the patches
//! that make up A are copied block by block into the cache, never as a whole. Filters (HWIO) are packed once in a
//! [`PackedFilter`]. [`depthwise`] holds the channel-by-channel kernels, [`pool`] the pooling windows, which share
//! [`Window`].
//!
//! Padding is resolved by the caller (`SAME`, `VALID` and explicit all become [`Window`]'s `pad_*` and `out_*`).
//! Results are bit-identical for any number of threads.

mod backprop;
pub mod depthwise;
mod patches;
pub mod pool;
#[cfg(test)]
mod tests;

pub use backprop::{conv2d_backprop_filter, conv2d_backprop_input};

use crate::gemm::{Epilogue, PackedB, gemm_packed, gemm_rows};
use patches::Patches;

/// The sliding window of a convolution or pooling over a batch of NHWC images: sizes in elements, steps in positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Images.
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
    /// Elements of the input.
    pub fn input_len(&self) -> usize {
        self.batch * self.in_height * self.in_width * self.channels
    }

    /// Positions of the output: `batch * out_height * out_width`.
    pub fn positions(&self) -> usize {
        self.batch * self.out_height * self.out_width
    }

    /// The rows of the window that meet the input at output row `y`: for `i` in the range, window row `i` lies on input
    /// row [`Window::input_row`]`(y, i)`.
    #[inline]
    pub fn rows_inside(&self, y: usize) -> std::ops::Range<usize> {
        inside(y * self.stride_height, self.pad_top, self.height, self.dilation_height, self.in_height)
    }

    /// The columns of the window that meet the input at output column `x`.
    #[inline]
    pub fn columns_inside(&self, x: usize) -> std::ops::Range<usize> {
        inside(x * self.stride_width, self.pad_left, self.width, self.dilation_width, self.in_width)
    }

    /// The output rows at which no window row lies in the padding.
    pub(crate) fn rows_wholly_inside(&self) -> std::ops::Range<usize> {
        wholly_inside(self.stride_height, self.pad_top, (self.height - 1) * self.dilation_height, self.in_height, self.out_height)
    }

    /// The output columns at which no window column lies in the padding.
    pub(crate) fn columns_wholly_inside(&self) -> std::ops::Range<usize> {
        wholly_inside(self.stride_width, self.pad_left, (self.width - 1) * self.dilation_width, self.in_width, self.out_width)
    }

    /// The input row under window row `i` at output row `y`, for `i` in [`Window::rows_inside`].
    #[inline]
    pub fn input_row(&self, y: usize, i: usize) -> usize {
        y * self.stride_height + i * self.dilation_height - self.pad_top
    }

    /// The input column under window column `j` at output column `x`, for `j` in [`Window::columns_inside`].
    #[inline]
    pub fn input_column(&self, x: usize, j: usize) -> usize {
        x * self.stride_width + j * self.dilation_width - self.pad_left
    }

    /// Multiply-adds of a convolution with `per_tap` of them for each window element and output position.
    pub(crate) fn work(&self, per_tap: usize) -> usize {
        self.positions().saturating_mul(self.height * self.width).saturating_mul(per_tap)
    }

    /// Asserts that no step is zero and that `input` holds the whole input.
    fn check(&self, input: usize) {
        let steps = [self.stride_height, self.stride_width, self.dilation_height, self.dilation_width];
        assert!(!steps.contains(&0), "strides and dilations are positive: {self:?}");
        assert!(input >= self.input_len(), "{input} elements of input for {self:?}");
    }
}

/// Which of `size` taps, `step` apart and starting at `start - pad`, fall inside `0..len`.
#[inline]
fn inside(start: usize, pad: usize, size: usize, step: usize, len: usize) -> std::ops::Range<usize> {
    let first = pad.saturating_sub(start).div_ceil(step).min(size);
    let end = (len + pad).saturating_sub(start).div_ceil(step).min(size);
    first..end.max(first)
}

/// The steps at which a window that reaches `reach` beyond its start lies inside `0..len`, of `count` steps from `-pad` on.
fn wholly_inside(stride: usize, pad: usize, reach: usize, len: usize, count: usize) -> std::ops::Range<usize> {
    let end = (len + pad).checked_sub(reach + 1).map_or(0, |last| last / stride + 1).min(count);
    pad.div_ceil(stride).min(end)..end
}

/// A filter `[height, width, in_channels / groups, out_channels]`, packed for [`conv2d`].
#[derive(Clone, Debug)]
pub struct PackedFilter {
    /// One matrix `[height * width * in_channels / groups, out_channels / groups]` a group.
    groups: Vec<PackedB>,
    height: usize,
    width: usize,
    /// Input channels of one group.
    in_channels: usize,
    out_channels: usize,
}

impl PackedFilter {
    /// Packs an HWIO filter; `in_channels` are those of one group, `out_channels` those of all groups.
    ///
    /// # Panics
    /// If `filter` is too short, or `groups` does not divide `out_channels`.
    pub fn pack(filter: &[f32], height: usize, width: usize, in_channels: usize, out_channels: usize, groups: usize) -> Self {
        assert!(groups > 0 && out_channels.is_multiple_of(groups), "{out_channels} channels in {groups} groups");
        let k = height * width * in_channels;
        let n = out_channels / groups;
        assert!(filter.len() >= k * out_channels, "{} elements of filter for {k} x {out_channels}", filter.len());
        let groups = (0..groups).map(|group| PackedB::pack_columns(filter, k, out_channels, group * n..(group + 1) * n)).collect();
        Self { groups, height, width, in_channels, out_channels }
    }

    /// Output channels of all groups.
    pub fn out_channels(&self) -> usize {
        self.out_channels
    }

    /// Memory held, in bytes.
    pub fn bytes(&self) -> usize {
        self.groups.iter().map(PackedB::bytes).sum()
    }
}

/// `output[n, y, x, :] = epilogue(sum over the window of input * filter)`, NHWC.
///
/// `epilogue.residual` has the shape of the output, dense. Forks on the current rayon pool when it takes longer than
/// some 10 µs.
///
/// # Panics
/// If a slice is too short, or the filter's sizes are not the window's.
pub fn conv2d(window: &Window, input: &[f32], filter: &PackedFilter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    window.check(input.len());
    let groups = filter.groups.len();
    assert!(
        (filter.height, filter.width, filter.in_channels * groups) == (window.height, window.width, window.channels),
        "{filter:?} for {window:?}",
    );
    let (m, n) = (window.positions(), filter.out_channels);
    assert!(output.len() >= m * n, "{} elements of output for {m} x {n}", output.len());
    if m == 0 {
        return;
    }
    let pointwise = window.height * window.width == 1
        && (window.stride_height, window.stride_width) == (1, 1)
        && (window.pad_top, window.pad_left) == (0, 0)
        && (window.in_height, window.in_width) == (window.out_height, window.out_width);
    if groups == 1 && pointwise {
        return gemm_packed(input, window.channels, m, &filter.groups[0], output, n, epilogue);
    }
    for (group, packed) in filter.groups.iter().enumerate() {
        let patches = Patches::new(window, input, group * filter.in_channels, filter.in_channels);
        let first = group * packed.n();
        let epilogue = Epilogue {
            bias: epilogue.bias.map(|b| &b[first..]),
            residual: epilogue.residual.map(|(r, ld)| (&r[first..], ld)),
            ..*epilogue
        };
        gemm_rows(&patches, m, packed, &mut output[first..], n, &epilogue);
    }
}
