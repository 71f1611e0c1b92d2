//! The ways to compute a convolution, and estimates of their times.
//!
//! A [`ConvLayer`] describes the convolutions that are computed in one way: it has no batch, so that an image's result does not depend on the images beside
//! it, and rounded sizes, so that a few layers describe images of many sizes. [`ConvLayer::candidates`] ranks the ways by estimated times, and
//! [`ConvTrial`] computes the layer in one of them, on numbers that it makes up, for callers that measure.
//!
//! # Estimates
//! The time of a method is a sum of counts, each times a constant of the instruction set ([`Costs`]). The constants are fitted by
//! least squares of the logarithms of ratios to the times that `cargo bench -p flowmill-numeric --bench methods` prints for whole layers: the least of many runs
//! on one thread, of a Zen 3 for AVX2 and the portable loops, of an Emerald Rapids for AVX-512. The choices by these estimates take 2.8 % (AVX2), 7.5 %
//! (portable) and 4 % (AVX-512) more time than the fastest method, on average over the 232 layers of the grid. These figures were measured before
//! weights counted more than one thread's time for them ([`SHARED_MEMORY`]), and before there was [`Method::Groups`], whose constants, as those of scattered
//! patches, are rounded from a single run for each instruction set. aarch64 has the portable loops and their constants, unmeasured.

use super::winograd::{self, Lifetime, TileSize};
use super::{PackedFilter, conv2d, grouped, narrow, planes};
use crate::gemm::{Epilogue, Precision, has_amx_bf16};
use crate::parallel;
use crate::simd::{Isa, isa};
use crate::window::Window;
use std::fmt;

/// A way to compute a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A matrix product for each group.
    Direct,
    /// Winograd's method.
    Tiles(TileSize),
    /// Dot products of patches and filters.
    Narrow,
    /// Depthwise convolutions of planes.
    Planes,
    /// Sums of products of each group, without copies of patches. A group has few output channels.
    Groups,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 6] =
        [Method::Direct, Method::Tiles(TileSize::Two), Method::Tiles(TileSize::Four), Method::Narrow, Method::Planes, Method::Groups];

    /// Returns a name of one word, under which choices are remembered.
    pub fn name(self) -> &'static str {
        match self {
            Method::Direct => "product",
            Method::Tiles(TileSize::Two) => "winograd2",
            Method::Tiles(TileSize::Four) => "winograd4",
            Method::Narrow => "dots",
            Method::Planes => "planes",
            Method::Groups => "groups",
        }
    }

    /// Returns the method of a packed filter that is fastest by estimate. It does not depend on the number of images.
    pub fn estimated(precision: Precision, window: &Window, out_channels: usize, groups: usize) -> Method {
        method_for(precision, window, out_channels, groups, Lifetime::Kept)
    }

    /// Returns true if the method computes convolutions over `window`.
    fn can_compute(self, window: &Window, out_channels: usize, groups: usize) -> bool {
        match self {
            Method::Direct => true,
            Method::Tiles(_) => winograd::can_compute(window, out_channels, groups),
            Method::Narrow => narrow::can_compute(window, out_channels, groups),
            Method::Planes => planes::can_compute(window, out_channels, groups),
            Method::Groups => grouped::can_compute(out_channels, groups),
        }
    }
}

/// A method and its estimated time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodEstimate {
    /// The method.
    pub method: Method,
    /// Nanoseconds for one image on one core, with a packed filter.
    pub nanoseconds: f64,
    /// Nanoseconds for packing the filter, most of them for memory that is new to the process.
    pub packing_nanoseconds: f64,
}

/// A factor for the time that one thread takes for reading weights. With more threads it becomes shorter by less than the time for arithmetic, as all read
/// from one memory; the method must not depend on the number of threads.
const SHARED_MEMORY: f64 = 1.5;

/// The nanoseconds that packing takes for an element of a packed filter.
const PACKING_NANOSECONDS: f64 = 4.0;

/// The nanoseconds that a core needs for each element of a method's work.
struct Costs {
    product: ProductCosts,
    /// Tiles of 2 × 2 and of 4 × 4.
    tiles: [TileCosts; 2],
    dots: DotCosts,
    planes: PlaneCosts,
    groups: GroupCosts,
    scatter: ScatterCosts,
    /// The speed of products in `bfloat16`, relative to `f32`. The other methods compute in `f32` in any case.
    bf16_speed: f64,
}

struct ProductCosts {
    /// A multiply-add, with those of the columns that fill up the last vector of a group.
    multiply: f64,
    /// An element of a patch.
    patch: f64,
    /// A weight, which is read from a cache that cores share.
    weight: f64,
    /// A contiguous part of a patch.
    segment: f64,
    /// A position in a group.
    position: f64,
    /// An output of a group that does not fill a vector.
    narrow_output: f64,
}

/// The costs of scattered patches.
struct ScatterCosts {
    /// An element of a patch.
    element: f64,
    /// A tap of a window in a group.
    tap: f64,
}

#[derive(Clone, Copy)]
struct TileCosts {
    multiply: f64,
    /// A transformed element of the input or the output.
    transformed: f64,
    /// A transformed weight.
    weight: f64,
    /// A transformed element of a tile, for all channels together.
    element: f64,
}

struct DotCosts {
    /// A multiply-add, with those that fill up the last vector of a row.
    multiply: f64,
    /// A sum over the lanes of a vector.
    output: f64,
    position: f64,
}

struct PlaneCosts {
    multiply: f64,
    /// An element of a plane.
    expanded: f64,
    output: f64,
    /// An element that is expanded by a loop, because no code is specialised for the group's size.
    filled: f64,
}

struct GroupCosts {
    /// A multiply-add, with those that fill up the last vector of a group.
    multiply: f64,
    /// A vector of outputs.
    vector: f64,
    /// An element of a padded copy of the input.
    copied: f64,
}

const AVX512: Costs = Costs {
    product: ProductCosts { multiply: 0.0116, patch: 0.147, weight: 0.29, segment: 4.9, position: 4.62, narrow_output: 0.745 },
    tiles: [
        TileCosts { multiply: 0.0114, transformed: 0.215, weight: 0.2815, element: 7.44 },
        TileCosts { multiply: 0.0125, transformed: 0.299, weight: 0.2244, element: 7.34 },
    ],
    dots: DotCosts { multiply: 0.0244, output: 1.41, position: 8.44 },
    planes: PlaneCosts { multiply: 0.0462, expanded: 0.1845, output: 0.8, filled: 2.05 },
    groups: GroupCosts { multiply: 0.0165, vector: 1.0, copied: 0.1 },
    scatter: ScatterCosts { element: 0.32, tap: 4.0 },
    bf16_speed: 1.6,
};

/// The speed of products in `bfloat16` with AMX, relative to `f32` in AVX-512: that of sums of a few hundred elements. Shorter ones are slower.
const AMX_BF16_SPEED: f64 = 3.5;

const AVX2: Costs = Costs {
    product: ProductCosts { multiply: 0.02, patch: 0.0864, weight: 0.226, segment: 2.1, position: 9.83, narrow_output: 0.735 },
    tiles: [
        TileCosts { multiply: 0.021, transformed: 0.278, weight: 0.2165, element: 7.03 },
        TileCosts { multiply: 0.023, transformed: 0.537, weight: 0.165, element: 4.02 },
    ],
    dots: DotCosts { multiply: 0.0372, output: 1.14, position: 4.93 },
    planes: PlaneCosts { multiply: 0.0567, expanded: 0.16, output: 0.565, filled: 1.44 },
    groups: GroupCosts { multiply: 0.025, vector: 4.0, copied: 0.15 },
    scatter: ScatterCosts { element: 0.35, tap: 4.0 },
    bf16_speed: 0.8,
};

const PORTABLE: Costs = Costs {
    product: ProductCosts { multiply: 0.0739, patch: 0.0862, weight: 0.0, segment: 3.09, position: 10.4, narrow_output: 0.522 },
    tiles: [
        TileCosts { multiply: 0.0736, transformed: 0.553, weight: 0.0264, element: 7.67 },
        TileCosts { multiply: 0.0712, transformed: 0.925, weight: 0.119, element: 4.07 },
    ],
    dots: DotCosts { multiply: 0.15, output: 0.0892, position: 11.1 },
    planes: PlaneCosts { multiply: 0.199, expanded: 0.231, output: 1.49, filled: 0.858 },
    groups: GroupCosts { multiply: 0.105, vector: 5.0, copied: 0.2 },
    scatter: ScatterCosts { element: 0.6, tap: 4.0 },
    bf16_speed: 0.8,
};

impl Costs {
    fn of(isa: Isa) -> &'static Costs {
        match isa {
            Isa::Avx512 => &AVX512,
            Isa::Avx2 => &AVX2,
            Isa::Portable => &PORTABLE,
        }
    }
}

/// Returns the methods that can compute a convolution, with their times for the whole batch.
fn estimates(isa: Isa, precision: Precision, window: &Window, out_channels: usize, groups: usize) -> impl Iterator<Item = MethodEstimate> {
    let possible = Method::ALL.into_iter().filter(move |method| method.can_compute(window, out_channels, groups));
    possible.map(move |method| estimate(isa, method, precision, window, out_channels, groups))
}

/// Returns the method that is fastest by estimate.
pub(super) fn method_for(precision: Precision, window: &Window, out_channels: usize, groups: usize, lifetime: Lifetime) -> Method {
    method_on(isa(), precision, window, out_channels, groups, lifetime)
}

/// Like [`method_for`], for an instruction set.
pub(super) fn method_on(isa: Isa, precision: Precision, window: &Window, out_channels: usize, groups: usize, lifetime: Lifetime) -> Method {
    let packing = f64::from(lifetime == Lifetime::Once);
    let window = Window { batch: lifetime.images(window), ..*window };
    let total = |e: &MethodEstimate| e.nanoseconds + packing * e.packing_nanoseconds;
    let fastest = estimates(isa, precision, &window, out_channels, groups).min_by(|a, b| total(a).total_cmp(&total(b)));
    fastest.map_or(Method::Direct, |e| e.method)
}

fn estimate(isa: Isa, method: Method, precision: Precision, window: &Window, out_channels: usize, groups: usize) -> MethodEstimate {
    let (costs, lanes, groups) = (Costs::of(isa), isa.lanes(), groups.max(1));
    let (taps, depth, per_group) = (window.height * window.width, window.channels / groups, out_channels / groups);
    let (positions, outputs) = (window.positions() as f64, window.positions() as f64 * out_channels as f64);
    let weights = (taps * depth * out_channels) as f64;
    let (nanoseconds, packed) = match method {
        Method::Direct => {
            let ProductCosts { multiply, patch, weight, segment, position, narrow_output } = costs.product;
            let speed = match precision {
                Precision::F32 => 1.0,
                Precision::Bf16 if isa == Isa::Avx512 && has_amx_bf16() => AMX_BF16_SPEED,
                Precision::Bf16 => costs.bf16_speed,
            };
            let columns = per_group.next_multiple_of(lanes) * groups;
            let is_pointwise = groups == 1 && taps * window.stride_height * window.stride_width == 1;
            let segments = if groups > 1 { groups * taps } else { window.height };
            let copied =
                (taps * window.channels) as f64 * patch * f64::from(taps > 1) + segments as f64 * segment * f64::from(!is_pointwise);
            let products = positions * (taps * depth * columns) as f64 * multiply + weights * weight * SHARED_MEMORY;
            let narrow = outputs * narrow_output * f64::from(per_group < lanes);
            (products / speed + positions * (copied + groups as f64 * position) + narrow, weights)
        }
        Method::Tiles(size) => {
            let TileCosts { multiply, transformed, weight, element } = match size {
                TileSize::Two => costs.tiles[0],
                TileSize::Four => costs.tiles[1],
            };
            let elements = size.elements_of(window) as f64;
            let packed = (size.elements() * window.channels * out_channels) as f64;
            let products = (window.channels * out_channels.next_multiple_of(lanes)) as f64 * multiply;
            let transforms = (window.channels + out_channels) as f64 * transformed;
            (elements * (products + transforms + element) + packed * weight * SHARED_MEMORY, packed)
        }
        Method::Narrow => {
            let DotCosts { multiply, output, position } = costs.dots;
            let row = (window.width * window.channels).next_multiple_of(lanes);
            (outputs * ((window.height * row) as f64 * multiply + output) + positions * position, weights)
        }
        Method::Planes => {
            let PlaneCosts { multiply, expanded, output, filled } = costs.planes;
            let pixels = (window.batch * window.in_height * window.in_width) as f64;
            let looped = (window.channels as f64) * filled * f64::from(!planes::is_specialised(per_group));
            let is_expanded = f64::from(!planes::is_depthwise(window, out_channels, groups));
            let expansion = is_expanded * pixels * ((depth * out_channels) as f64 * expanded + looped);
            (positions * weights * multiply + expansion + outputs * output, weights)
        }
        Method::Groups => {
            let GroupCosts { multiply, vector, copied } = costs.groups;
            let vectors = positions * (per_group.div_ceil(lanes) * groups) as f64;
            let elements = (window.batch * window.in_height * window.in_width * window.channels) as f64;
            (vectors * ((taps * depth * lanes) as f64 * multiply + vector) + elements * copied, weights)
        }
    };
    MethodEstimate { method, nanoseconds, packing_nanoseconds: packed * PACKING_NANOSECONDS }
}

/// Returns the estimated time of the fastest method for all images of a window, with a packed filter.
pub(super) fn nanoseconds(precision: Precision, window: &Window, out_channels: usize, groups: usize) -> f64 {
    estimates(isa(), precision, window, out_channels, groups).map(|e| e.nanoseconds).fold(f64::INFINITY, f64::min)
}

/// Returns the estimated time of an input gradient that is scattered: a product for each group, whose elements are added to the patches.
pub(super) fn scatter_nanoseconds(window: &Window, out_channels: usize, groups: usize) -> f64 {
    let (costs, lanes, groups) = (Costs::of(isa()), isa().lanes(), groups.max(1));
    let patch = window.height * window.width * (window.channels / groups);
    let product = (patch.next_multiple_of(lanes) * (out_channels / groups)) as f64 * costs.product.multiply;
    let segments = (window.height * window.width) as f64 * costs.scatter.tap;
    let weights = (patch * out_channels) as f64 * costs.product.weight * SHARED_MEMORY;
    (window.positions() * groups) as f64 * (product + patch as f64 * costs.scatter.element + segments) + weights
}

/// A description of the convolutions that are computed in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvLayer {
    precision: Precision,
    /// The window over one image of rounded size.
    window: Window,
    out_channels: usize,
    groups: usize,
}

/// Rounds a size up to three significant bits above 16: 20, 24, 28, 32, 40, 48, 56, 64, 80 and so on.
fn rounded(size: usize) -> usize {
    const EXACT: usize = 16;
    if size <= EXACT {
        return size;
    }
    let step = 1 << (size - 1).ilog2().saturating_sub(2);
    size.checked_next_multiple_of(step).unwrap_or(size)
}

/// The largest size along any axis of a layer: with it, sizes of synthetic data do not overflow.
const MAX_SIZE: usize = 1 << 14;

impl ConvLayer {
    /// Returns the layer of a convolution. Returns `None` if it has no elements, or a size that no layer of a network has.
    pub fn new(precision: Precision, window: &Window, out_channels: usize, groups: usize) -> Option<ConvLayer> {
        let w = window;
        let sizes = [w.out_height, w.out_width, w.channels, w.height, w.width, out_channels, groups];
        let steps = [w.stride_height, w.stride_width, w.dilation_height, w.dilation_width];
        if sizes.iter().chain(&steps).any(|size| !(1..=MAX_SIZE).contains(size)) {
            return None;
        }
        if !w.channels.is_multiple_of(groups) || !out_channels.is_multiple_of(groups) {
            return None;
        }
        let axis = |size: usize, stride: usize, window: usize, dilation: usize, pad: usize| {
            let (output, reach) = (rounded(size), (window - 1) * dilation + 1);
            let pad = if pad > 0 { reach / 2 } else { 0 };
            (output, pad, ((output - 1) * stride + reach).saturating_sub(2 * pad).max(1))
        };
        let (out_height, pad_top, in_height) = axis(w.out_height, w.stride_height, w.height, w.dilation_height, w.pad_top);
        let (out_width, pad_left, in_width) = axis(w.out_width, w.stride_width, w.width, w.dilation_width, w.pad_left);
        let window = Window { batch: 1, out_height, pad_top, in_height, out_width, pad_left, in_width, ..*w };
        Some(ConvLayer { precision, window, out_channels, groups })
    }

    /// Returns the methods that can compute the layer, the fastest by estimate first.
    pub fn candidates(&self) -> Vec<MethodEstimate> {
        let mut candidates: Vec<_> = estimates(isa(), self.precision, &self.window, self.out_channels, self.groups).collect();
        candidates.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
        candidates
    }

    /// Returns a layer of the same window, channels and width with so few rows that `method` takes about `nanoseconds`, and with how many times its
    /// rows the whole layer has.
    fn sample(&self, method: &MethodEstimate, nanoseconds: f64) -> (ConvLayer, f64) {
        let w = &self.window;
        let rows = (w.out_height as f64 * nanoseconds / method.nanoseconds.max(1.0)) as usize;
        let out_height = rows.next_multiple_of(SAMPLE_ROWS).clamp(1, w.out_height);
        let removed = (w.out_height - out_height) * w.stride_height;
        let window = Window { out_height, in_height: w.in_height.saturating_sub(removed).max(1), ..*w };
        (ConvLayer { window, ..*self }, w.out_height as f64 / out_height as f64)
    }
}

/// Rows of a sample are a multiple of this: whole tiles of all methods.
const SAMPLE_ROWS: usize = 8;

/// Writes the layer in a canonical form, the key of a table: instruction set, precision, window, strides, dilations, `p` if there is padding before the image, channels, groups and
/// the output's rounded size.
impl fmt::Display for ConvLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = &self.window;
        let precision = match self.precision {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
        };
        let pad = |pad: usize| if pad > 0 { "p" } else { "v" };
        let isa = match isa() {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        };
        // What the environment turns off is no candidate, so that other choices are the fastest.
        let kind = if winograd::is_allowed() { "conv" } else { "conv-without-winograd" };
        write!(f, "{kind} {isa} {precision} {}x{} s{}x{} ", w.height, w.width, w.stride_height, w.stride_width)?;
        write!(f, "d{}x{} {}{} ", w.dilation_height, w.dilation_width, pad(w.pad_top), pad(w.pad_left))?;
        write!(f, "{}>{} g{} {}x{}", w.channels, self.out_channels, self.groups, w.out_height, w.out_width)
    }
}

/// A layer that can be computed in one way on synthetic data, on the calling thread.
pub struct ConvTrial {
    window: Window,
    input: Vec<f32>,
    filter: PackedFilter,
    output: Vec<f32>,
}

impl ConvTrial {
    /// The time of a run by the fastest method, in nanoseconds. Trials of layers that take longer have fewer rows.
    pub const RUN_NANOSECONDS: f64 = 1e6;

    /// Makes the data of a layer, of which all trials have the same rows. Allocates and packs a filter, which may take several times as long as a run.
    pub fn new(layer: &ConvLayer, method: Method) -> ConvTrial {
        let sample = layer.candidates().first().map_or(*layer, |fastest| layer.sample(fastest, Self::RUN_NANOSECONDS).0);
        let ConvLayer { precision, window, out_channels, groups } = sample;
        let len = window.height * window.width * (window.channels / groups) * out_channels;
        // Numbers that are neither zero nor denormal after any transform.
        let numbers = |len: usize| -> Vec<f32> { (0..len).map(|i| (i % 61) as f32 / 64.0 - 0.45).collect() };
        let filter = PackedFilter::pack_for(method, precision, &window, &numbers(len), out_channels, groups);
        let (input, output) = (numbers(window.input_len()), vec![0.0; window.positions() * out_channels]);
        ConvTrial { window, input, filter, output }
    }

    /// Returns the estimated nanoseconds of [`ConvTrial::new`] and of [`ConvTrial::run`] for one of the layer's candidates.
    pub fn estimate(layer: &ConvLayer, candidate: &MethodEstimate) -> (f64, f64) {
        let share = layer.candidates().first().map_or(1.0, |fastest| layer.sample(fastest, Self::RUN_NANOSECONDS).1);
        let w = &layer.window;
        let elements = w.input_len() + w.positions() * layer.out_channels;
        let filter = candidate.packing_nanoseconds / PACKING_NANOSECONDS;
        (candidate.packing_nanoseconds + (elements as f64 / share + filter) * FILL_NANOSECONDS, candidate.nanoseconds / share)
    }

    /// Computes the layer once.
    pub fn run(&mut self) {
        parallel::alone(|| conv2d(&self.window, &self.input, &self.filter, &mut self.output, &Epilogue::default()));
    }
}

/// Nanoseconds for an element of synthetic data, most of them for memory that is new to the process.
const FILL_NANOSECONDS: f64 = 1.5;
