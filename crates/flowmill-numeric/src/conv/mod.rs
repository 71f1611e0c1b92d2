//! Convolutions of NHWC images.
//!
//! [`conv2d`] is an implicit matrix product: rows are output positions, columns are output channels, and the patches
//! that make up A are copied block by block into the cache, never as a whole. Filters (HWIO) are packed once in a
//! [`PackedFilter`]. [`depthwise`] holds the channel-by-channel kernels.
//!
//! The caller resolves padding (`SAME`, `VALID` and explicit padding all become [`Window`]'s `pad_*` and `out_*`).
//! Results are bit-identical for any number of threads.

mod backprop;
pub mod depthwise;
mod patches;
#[cfg(test)]
mod tests;

pub use backprop::{conv2d_backprop_filter, conv2d_backprop_input};

use crate::gemm::{Epilogue, PackedB, gemm_packed, gemm_rows};
use crate::window::Window;
use patches::Patches;

/// A filter `[height, width, in_channels / groups, out_channels]`, packed for [`conv2d`].
#[derive(Clone, Debug)]
pub struct PackedFilter {
    /// For each group, one matrix `[height * width * in_channels / groups, out_channels / groups]`.
    groups: Vec<PackedB>,
    height: usize,
    width: usize,
    /// Input channels of one group.
    in_channels: usize,
    out_channels: usize,
}

impl PackedFilter {
    /// Packs an HWIO filter; `in_channels` is the number per group, `out_channels` the number of all groups together.
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

    /// Returns the number of output channels of all groups together.
    pub fn out_channels(&self) -> usize {
        self.out_channels
    }

    /// Returns the size of the packed filter in bytes.
    pub fn bytes(&self) -> usize {
        self.groups.iter().map(PackedB::bytes).sum()
    }
}

/// Computes `output[n, y, x, :] = epilogue(sum over the window of input * filter)` for NHWC images.
///
/// `epilogue.residual` has the shape of the output and is dense. The function forks on the current rayon pool if it takes longer than about 10 µs.
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
