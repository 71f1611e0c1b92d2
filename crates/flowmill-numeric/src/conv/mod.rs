//! Convolutions of NHWC images.
//!
//! [`conv2d`] is an implicit matrix product: rows are output positions, columns are output channels, and the patches
//! that make up A are read in place, or copied block by block into the cache, never as a whole. Windows of 3 × 3 with stride 1 are computed by
//! Winograd's method where that is faster, few output channels by dot products along patches, and groups of few channels without copies of patches or as
//! sums of depthwise convolutions. Filters (HWIO) are packed once in a [`PackedFilter`]. [`depthwise`] holds the channel-by-channel kernels.
//!
//! The caller resolves padding (`SAME`, `VALID` and explicit padding all become [`Window`]'s `pad_*` and `out_*`).
//! Results are bit-identical for any number of threads.

mod backprop;
mod blocks;
pub mod depthwise;
mod depthwise_bands;
mod depthwise_gradients;
mod depthwise_wide;
mod filter_gradient;
mod grouped;
mod method;
mod narrow;
mod padding;
mod patches;
mod phases;
mod planes;
mod runs;
pub mod separable;
#[cfg(test)]
mod tests;
pub mod volume;
mod winograd;

pub use backprop::conv2d_backprop_input;
pub use filter_gradient::conv2d_backprop_filter;
pub use method::{ConvLayer, ConvTrial, Method, MethodEstimate};
pub use phases::PackedTransposed;
pub use winograd::TileSize;

use crate::gemm::{Epilogue, PackedRhs, Precision, gemm_packed, gemm_rows};
use crate::parallel;
use crate::simd::isa;
use crate::window::Window;
use method::method_for;
use patches::Patches;
use std::ops::Range;
use winograd::Lifetime;

/// The approximate number of multiply-adds of one core per nanosecond.
const PRODUCTS_PER_NANOSECOND: usize = 50;

/// A filter `[height, width, in_channels / groups, out_channels]`, packed for [`conv2d`].
#[derive(Clone, Debug)]
pub struct PackedFilter {
    form: Form,
    /// The precision that was asked for.
    precision: Precision,
    height: usize,
    width: usize,
    /// Input channels of one group.
    in_channels: usize,
    out_channels: usize,
    groups: usize,
}

#[derive(Clone, Debug)]
enum Form {
    /// For each group, one matrix `[height * width * in_channels / groups, out_channels / groups]`.
    Direct(Vec<PackedRhs>),
    Tiles(winograd::Filter),
    Narrow(narrow::Filter),
    /// The filter as it is.
    Planes(Vec<f32>),
    Groups(grouped::Filter),
}

impl PackedFilter {
    /// Packs an HWIO filter for convolutions over `window`; `out_channels` is the number of all `groups` together. The precision is the least one in
    /// which the convolution may be computed. The method is the fastest by estimate.
    ///
    /// # Panics
    /// If `filter` is too short, or `groups` does not divide the channels.
    pub fn pack(precision: Precision, window: &Window, filter: &[f32], out_channels: usize, groups: usize) -> Self {
        let method = method_for(precision, window, out_channels, groups, Lifetime::Kept);
        Self::pack_for(method, precision, window, filter, out_channels, groups)
    }

    /// Like [`PackedFilter::pack`], for one of [`ConvLayer::candidates`].
    ///
    /// # Panics
    /// If `filter` is too short, or `groups` does not divide the channels.
    pub fn pack_for(method: Method, precision: Precision, window: &Window, filter: &[f32], out_channels: usize, groups: usize) -> Self {
        let &Window { height, width, channels, .. } = window;
        assert!(
            groups > 0 && channels.is_multiple_of(groups) && out_channels.is_multiple_of(groups),
            "{channels} and {out_channels} channels in {groups} groups",
        );
        let in_channels = channels / groups;
        let k = height * width * in_channels;
        assert!(filter.len() >= k * out_channels, "{} elements of filter for {k} x {out_channels}", filter.len());
        let form = match method {
            Method::Tiles(size) => Form::Tiles(winograd::Filter::new(isa(), size, filter, in_channels, out_channels)),
            Method::Narrow => Form::Narrow(narrow::Filter::new(isa(), filter, k, out_channels)),
            Method::Planes => Form::Planes(filter[..k * out_channels].to_vec()),
            Method::Groups => Form::Groups(grouped::Filter::new(isa(), filter, height * width, in_channels, out_channels, groups)),
            Method::Direct => {
                let n = out_channels / groups;
                let columns = |group: usize| group * n..(group + 1) * n;
                Form::Direct((0..groups).map(|group| PackedRhs::pack_columns(precision, filter, k, out_channels, columns(group))).collect())
            }
        };
        Self { form, precision, height, width, in_channels, out_channels, groups }
    }

    /// Returns true if the filter is what [`PackedFilter::pack_for`] makes of the same weights for these arguments. Another form gives other roundings.
    pub fn is_for(&self, method: Method, precision: Precision, window: &Window, out_channels: usize, groups: usize) -> bool {
        (self.precision, self.out_channels, self.groups) == (precision, out_channels, groups)
            && (self.height, self.width, self.in_channels * groups) == (window.height, window.width, window.channels)
            && self.method() == method
    }

    /// Returns the method in which a convolution with this filter is computed.
    pub fn method(&self) -> Method {
        match &self.form {
            Form::Direct(_) => Method::Direct,
            Form::Tiles(filter) => Method::Tiles(filter.size),
            Form::Narrow(_) => Method::Narrow,
            Form::Planes(_) => Method::Planes,
            Form::Groups(_) => Method::Groups,
        }
    }

    /// Returns the name of the way in which a convolution with this filter is computed.
    pub fn algorithm(&self) -> &'static str {
        match self.method() {
            Method::Direct if self.groups > 1 => "a product per group",
            Method::Direct if self.height * self.width == 1 => "product of positions",
            Method::Direct => "product of patches",
            Method::Tiles(size) => size.algorithm(),
            Method::Narrow => "dot products of patches",
            Method::Planes => "depthwise planes",
            Method::Groups if self.groups > 1 => "groups in place",
            Method::Groups => "patches in place",
        }
    }

    /// Returns the number of rows of an image's output that are computed together. A convolution of other rows than a multiple of it, from row 0 on, may
    /// round in another way.
    pub fn rows_together(&self) -> usize {
        match self.method() {
            Method::Tiles(size) => size.outputs(),
            _ => 1,
        }
    }

    /// Returns the number of output channels of all groups together.
    pub fn out_channels(&self) -> usize {
        self.out_channels
    }

    /// Returns the size of the packed filter in bytes.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Direct(matrices) => matrices.iter().map(PackedRhs::bytes).sum(),
            Form::Tiles(filter) => filter.bytes(),
            Form::Narrow(filter) => filter.bytes(),
            Form::Planes(filter) => size_of_val(&filter[..]),
            Form::Groups(filter) => filter.bytes(),
        }
    }
}

/// Computes some rows of the result of [`conv2d`], counted through all images, to the bits of the whole result. A range is part of one image, from a multiple of
/// [`PackedFilter::rows_together`] on and up to one or to the image's end, or consists of whole images.
///
/// # Panics
/// The function panics like [`conv2d`], with an output of these rows.
pub fn conv2d_rows(window: &Window, rows: Range<usize>, input: &[f32], filter: &PackedFilter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    let (part, elements) = window.of_rows(rows.clone());
    conv2d(&part, &input[elements], filter, output, &epilogue.from_row(rows.start * window.out_width));
}

/// Computes `output[n, y, x, :] = epilogue(sum over the window of input * filter)` for NHWC images.
///
/// `epilogue.residual` has the shape of the output and is dense. The function forks on the current rayon pool if it takes longer than about 10 µs.
///
/// # Panics
/// If a slice is too short, the filter's sizes are not the window's, or it is packed in a form that has no strides or dilations and the window has some.
pub fn conv2d(window: &Window, input: &[f32], filter: &PackedFilter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    window.check(input.len());
    assert!(
        (filter.height, filter.width, filter.in_channels * filter.groups) == (window.height, window.width, window.channels),
        "{filter:?} for {window:?}",
    );
    let (m, n) = (window.positions(), filter.out_channels);
    assert!(output.len() >= m * n, "{} elements of output for {m} x {n}", output.len());
    if m == 0 {
        return;
    }
    let matrices = match &filter.form {
        Form::Direct(matrices) => matrices,
        Form::Tiles(filter) => {
            assert!(winograd::is_plain(window), "{window:?} for a filter packed in tiles");
            return winograd::conv2d(window, input, filter, n, output, epilogue);
        }
        Form::Narrow(filter) => {
            assert!(window.dilation_width == 1 || window.width == 1, "{window:?} for a filter packed in rows");
            return narrow::conv2d(window, input, filter, n, output, epilogue);
        }
        Form::Groups(filter) => return grouped::conv2d(window, input, filter, output, epilogue),
        Form::Planes(weights) => return planes::conv2d(window, filter.groups, input, weights, n, output, epilogue),
    };
    let pointwise = window.height * window.width == 1
        && (window.stride_height, window.stride_width) == (1, 1)
        && (window.pad_top, window.pad_left) == (0, 0)
        && (window.in_height, window.in_width) == (window.out_height, window.out_width);
    if filter.groups == 1 && pointwise {
        return gemm_packed(input, window.channels, m, &matrices[0], output, n, epilogue);
    }
    let nanoseconds = window.work(n).saturating_mul(filter.in_channels) / PRODUCTS_PER_NANOSECOND;
    if filter.groups > 1 && parallel::is_worth_forking(nanoseconds) {
        // Threads compute different rows for all groups: the product of one group is seldom worth a fork.
        return depthwise::for_each_band(window, n, window.out_height, true, output, |rows, output| {
            parallel::alone(|| conv2d_rows(window, rows, input, filter, output, epilogue));
        });
    }
    padding::for_images(window, n / filter.groups, input, |images, window, input| {
        let (first_row, m) = (images.start * window.out_height * window.out_width, window.positions());
        for (group, packed) in matrices.iter().enumerate() {
            let patches = Patches::new(window, input, group * filter.in_channels, filter.in_channels);
            let first = group * packed.n();
            let epilogue = Epilogue {
                bias: epilogue.bias.map(|b| &b[first..]),
                residual: epilogue.residual.map(|(r, ld)| (&r[first_row * ld + first..], ld)),
                ..*epilogue
            };
            gemm_rows(&patches, m, packed, &mut output[first_row * n + first..], n, &epilogue);
        }
    });
}
