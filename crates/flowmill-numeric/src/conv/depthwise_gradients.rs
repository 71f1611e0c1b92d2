//! Gradients of depthwise convolutions.
//!
//! The gradient of the input is again a depthwise convolution, of the output's gradient with the filter turned around: one for each phase of the
//! stride, since only every stride-th element of the filter meets an input position. The gradient of a row of the filter is summed in registers along
//! the rows of the image.

use super::depthwise::{add_products, check_shapes, depthwise_conv2d, for_each_row};
use super::phases::Phase;
use super::runs::{self, Layout};
use crate::gemm::{Epilogue, with_scratch};
use crate::simd::vector::Vector;
use crate::simd::{Isa, for_each_isa, isa};
use crate::window::Window;
use std::ops::Range;

/// Elements of both tensors that all rows of the filter read before the next ones: a part of a core's L2 cache.
const BAND_ELEMENTS: usize = 1 << 16;
/// The channels of a row of the filter whose gradient is computed at a time.
const BLOCK_CHANNELS: usize = 32;

/// Overwrites `input_backprop` with the gradient of the input, from `out_backprop` `[batch, out_height, out_width, channels * multiplier]`.
///
/// # Panics
/// If a slice is too short.
pub fn depthwise_backprop_input(window: &Window, multiplier: usize, filter: &[f32], out_backprop: &[f32], input_backprop: &mut [f32]) {
    window.check(input_backprop.len());
    let channels = check_shapes(window, multiplier, filter.len(), out_backprop.len());
    let row_len = window.in_width * window.channels;
    if let Some(phases) = Phases::new(window, multiplier, filter) {
        // With other strides, an image of one row or column has one phase, too, which may have no taps.
        let is_one_convolution = (window.stride_height, window.stride_width) == (1, 1);
        if let ([row], [column], [filter], true) = (&phases.rows[..], &phases.columns[..], &phases.filters[..], is_one_convolution) {
            let window = Phase::window(window, row, column, window.channels);
            return depthwise_conv2d(&window, 1, out_backprop, filter, input_backprop, &Epilogue::default());
        }
        let one_row = |row: usize, to: &mut [f32]| phases.row(row / window.in_height, row % window.in_height, out_backprop, to);
        return for_each_row(window.batch * window.in_height, row_len, window.work(channels), input_backprop, one_row);
    }
    // One row of the input gathers from every output row whose window covers it.
    let one_row = |row: usize, to: &mut [f32]| {
        to.fill(0.0);
        let (image, input_y) = (row / window.in_height, row % window.in_height);
        for i in 0..window.height {
            let below = (input_y + window.pad_top).checked_sub(i * window.dilation_height);
            let Some(y) = below.filter(|y| y.is_multiple_of(window.stride_height)) else {
                continue;
            };
            let y = y / window.stride_height;
            if y >= window.out_height {
                continue;
            }
            for x in 0..window.out_width {
                let position = (image * window.out_height + y) * window.out_width + x;
                let gradient = &out_backprop[position * channels..][..channels];
                for j in window.columns_inside(x) {
                    let to = &mut to[window.input_column(x, j) * window.channels..][..window.channels];
                    let filter = &filter[(i * window.width + j) * channels..][..channels];
                    add_channel_sums(to, gradient, filter, multiplier);
                }
            }
        }
    };
    for_each_row(window.batch * window.in_height, row_len, window.work(channels), input_backprop, one_row);
}

/// Overwrites `filter_backprop` `[height, width, channels, multiplier]` with the gradient of the filter.
///
/// # Panics
/// If a slice is too short.
pub fn depthwise_backprop_filter(window: &Window, multiplier: usize, input: &[f32], out_backprop: &[f32], filter_backprop: &mut [f32]) {
    window.check(input.len());
    let channels = check_shapes(window, multiplier, filter_backprop.len(), out_backprop.len());
    if let Some(columns) = Columns::of(window).filter(|_| multiplier == 1) {
        return filter_rows(window, columns, input, out_backprop, filter_backprop);
    }
    let one_tap = |tap: usize, to: &mut [f32]| {
        to.fill(0.0);
        let (i, j) = (tap / window.width, tap % window.width);
        for image in 0..window.batch {
            for y in (0..window.out_height).filter(|y| window.rows_inside(*y).contains(&i)) {
                let row = (image * window.in_height + window.input_row(y, i)) * window.in_width;
                for x in (0..window.out_width).filter(|x| window.columns_inside(*x).contains(&j)) {
                    let input = &input[(row + window.input_column(x, j)) * window.channels..][..window.channels];
                    let position = (image * window.out_height + y) * window.out_width + x;
                    add_products(to, input, &out_backprop[position * channels..][..channels], multiplier);
                }
            }
        }
    };
    for_each_row(window.height * window.width, channels, window.work(channels), filter_backprop, one_tap);
}

/// The gradient of the input as convolutions of the output's gradient.
struct Phases<'a> {
    window: &'a Window,
    rows: Vec<Phase>,
    columns: Vec<Phase>,
    /// The filters of all phases, by rows: each `[rows.taps, columns.taps, channels]`.
    filters: Vec<Vec<f32>>,
}

impl<'a> Phases<'a> {
    /// Returns `None` for channel multipliers, for strides together with dilations, and for paddings that are larger than the window.
    fn new(window: &'a Window, multiplier: usize, filter: &[f32]) -> Option<Self> {
        let [rows, columns] = Phase::of_window(window).filter(|_| multiplier == 1)?;
        let turned = |row: &Phase, column: &Phase| {
            let mut turned = Vec::with_capacity(row.taps * column.taps * window.channels);
            for i in (0..row.taps).rev().map(|i| row.first_tap + i * window.stride_height) {
                for j in (0..column.taps).rev().map(|j| column.first_tap + j * window.stride_width) {
                    turned.extend_from_slice(&filter[(i * window.width + j) * window.channels..][..window.channels]);
                }
            }
            turned
        };
        let filters = rows.iter().flat_map(|row| columns.iter().map(|column| turned(row, column))).collect();
        Some(Self { window, rows, columns, filters })
    }

    /// Computes row `y` of the gradient of an image.
    fn row(&self, image: usize, y: usize, out_backprop: &[f32], to: &mut [f32]) {
        let w = self.window;
        let row = &self.rows[y % w.stride_height];
        for (column, filter) in self.columns.iter().zip(&self.filters[row.remainder * self.columns.len()..]) {
            let window = Phase::window(w, row, column, w.channels);
            let layout = Layout {
                planes: 1,
                input_plane: 0,
                filter_plane: 0,
                filter_column: w.channels,
                output_column: w.stride_width * w.channels,
            };
            let to = &mut to[column.remainder * w.channels..];
            runs::row(isa(), &window, &layout, image, y / w.stride_height, out_backprop, filter, to, &Epilogue::default());
        }
    }
}

/// The width of a window for which rows of the filter's gradient are summed in registers.
#[derive(Clone, Copy)]
enum Columns {
    Three,
    Five,
    Seven,
}

impl Columns {
    fn of(w: &Window) -> Option<Self> {
        match w.width {
            3 => Some(Self::Three),
            5 => Some(Self::Five),
            7 => Some(Self::Seven),
            _ => None,
        }
    }
}

/// Computes the gradient of a filter whose channel multiplier is 1, in tasks of a row of the filter and some channels each.
fn filter_rows(w: &Window, columns: Columns, input: &[f32], out_backprop: &[f32], filter_backprop: &mut [f32]) {
    let blocks = w.channels.div_ceil(BLOCK_CHANNELS);
    let len = w.width * BLOCK_CHANNELS;
    let line = w.in_width * w.channels * w.stride_height + w.out_width * w.channels;
    let rows_at_once = (BAND_ELEMENTS / line.max(1)).max(1);
    with_scratch(w.height * blocks * len, |parts: &mut [f32]| {
        parts.fill(0.0);
        let rows = w.batch * w.out_height;
        for first_row in (0..rows).step_by(rows_at_once) {
            let band = first_row..rows.min(first_row + rows_at_once);
            let sum = |task: usize, to: &mut [f32]| {
                let (i, first) = (task / blocks, task % blocks * BLOCK_CHANNELS);
                let channels = first..w.channels.min(first + BLOCK_CHANNELS);
                FilterRow { w, columns, i, channels }.sum(isa(), band.clone(), input, out_backprop, to);
            };
            for_each_row(w.height * blocks, len, w.work(w.channels) / rows * band.len(), parts, sum);
        }
        for (task, part) in parts.chunks_exact(len).enumerate() {
            let (i, first) = (task / blocks, task % blocks * BLOCK_CHANNELS);
            let count = BLOCK_CHANNELS.min(w.channels - first);
            for (j, part) in part.chunks_exact(BLOCK_CHANNELS).enumerate() {
                filter_backprop[(i * w.width + j) * w.channels + first..][..count].copy_from_slice(&part[..count]);
            }
        }
    });
}

/// Some channels of row `i` of a filter's gradient.
struct FilterRow<'a> {
    w: &'a Window,
    columns: Columns,
    i: usize,
    channels: Range<usize>,
}

impl FilterRow<'_> {
    /// Adds the products of some rows of the output, which count through all images, to `to`, `[width, BLOCK_CHANNELS]`.
    fn sum(&self, isa: Isa, rows: Range<usize>, input: &[f32], out_backprop: &[f32], to: &mut [f32]) {
        let w = self.w;
        let places = rows.map(|row| (row / w.out_height, row % w.out_height));
        for (image, y) in places.filter(|(_, y)| w.rows_inside(*y).contains(&self.i)) {
            let pixels = &input[(image * w.in_height + w.input_row(y, self.i)) * w.in_width * w.channels..][..w.in_width * w.channels];
            let gradient = &out_backprop[(image * w.out_height + y) * w.out_width * w.channels..][..w.out_width * w.channels];
            let row = Row {
                w,
                whole: w.columns_wholly_inside(),
                // Columns in the padding are not read.
                input: pixels[self.channels.start..].as_ptr().wrapping_sub(w.pad_left * w.channels),
                gradient: gradient[self.channels.start..].as_ptr(),
                to: to.as_mut_ptr(),
                channels: self.channels.len(),
            };
            // SAFETY: the CPU has `isa`; pixels and gradient are whole rows, and `to` has a row of channels for each column of the window.
            unsafe { add_row(isa, &row, self.columns) };
        }
    }
}

/// A row of an image and of the output's gradient, and what their products are added to.
struct Row<'a> {
    w: &'a Window,
    /// The windows without padding.
    whole: Range<usize>,
    /// The first channel of the first column of the first window, which may lie before the image.
    input: *const f32,
    /// The first channel of the first window.
    gradient: *const f32,
    to: *mut f32,
    channels: usize,
}

for_each_isa! {
    unsafe fn add_row(row: &Row<'_>, columns: Columns) = add_row_kernel::<f32>;
}

/// # Safety
/// The requirements of [`add_channels`] hold for the width of `columns`.
#[inline(always)]
unsafe fn add_row_kernel<V: Vector<Elem = f32>>(row: &Row<'_>, columns: Columns) {
    // SAFETY: the caller guarantees the requirements of the callees.
    unsafe {
        match columns {
            Columns::Three => add_channels::<V, 3>(row),
            Columns::Five => add_channels::<V, 5>(row),
            Columns::Seven => add_channels::<V, 7>(row),
        }
    }
}

/// Adds the products of a row to `K` columns of the filter.
///
/// # Safety
/// The CPU has V's instruction set; the pointers of `row` are good for its sizes.
#[inline(always)]
unsafe fn add_channels<V: Vector<Elem = f32>, const K: usize>(row: &Row<'_>) {
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        let mut c = 0;
        while c + 2 * V::LANES <= row.channels {
            add_sums::<V, K, 2>(row, c);
            c += 2 * V::LANES;
        }
        while c + V::LANES <= row.channels {
            add_sums::<V, K, 1>(row, c);
            c += V::LANES;
        }
        if c < row.channels {
            let rest = row.channels - c;
            let [sums] = column_sums::<V, K, 1>(row, c, |p| V::load_part(p, rest));
            for (k, sum) in sums.into_iter().enumerate() {
                let to = row.to.add(k * BLOCK_CHANNELS + c);
                V::load_part(to, rest).add(sum).store_part(to, rest);
            }
        }
    }
}

/// Adds the products for `N` vectors of channels from `c` on.
///
/// # Safety
/// The requirements of [`add_channels`] hold.
#[inline(always)]
unsafe fn add_sums<V: Vector<Elem = f32>, const K: usize, const N: usize>(row: &Row<'_>, c: usize) {
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        for (n, sums) in column_sums::<V, K, N>(row, c, |p| V::load(p)).into_iter().enumerate() {
            for (k, sum) in sums.into_iter().enumerate() {
                let to = row.to.add(k * BLOCK_CHANNELS + c + n * V::LANES);
                V::load(to).add(sum).store(to);
            }
        }
    }
}

/// Returns the sums over the row for each column of the filter, for `N` vectors of channels from `c` on.
///
/// # Safety
/// The requirements of [`add_channels`] hold.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn column_sums<V: Vector<Elem = f32>, const K: usize, const N: usize>(
    row: &Row<'_>,
    c: usize,
    load: impl Fn(*const f32) -> V,
) -> [[V; K]; N] {
    let w = row.w;
    let (step, column) = (w.stride_width * w.channels, w.dilation_width * w.channels);
    // SAFETY: the caller guarantees the requirements of the vector methods.
    unsafe {
        let mut sums = [[V::zero(); K]; N];
        for x in 0..w.out_width {
            let gradient = row.gradient.wrapping_add(x * w.channels + c);
            let gradient: [V; N] = std::array::from_fn(|n| load(gradient.wrapping_add(n * V::LANES)));
            let input = row.input.wrapping_add(x * step + c);
            let inside = if row.whole.contains(&x) { 0..K } else { w.columns_inside(x) };
            for k in 0..K {
                if inside.contains(&k) {
                    for n in 0..N {
                        sums[n][k] = load(input.wrapping_add(k * column + n * V::LANES)).mul_add(gradient[n], sums[n][k]);
                    }
                }
            }
        }
        sums
    }
}

crate::dispatch! {
    /// Computes `to[c] += sum over q of gradient[c * multiplier + q] * filter[c * multiplier + q]`.
    fn add_channel_sums(to: &mut [f32], gradient: &[f32], filter: &[f32], multiplier: usize) {
        if multiplier == 1 {
            for ((t, g), f) in to.iter_mut().zip(gradient).zip(filter) {
                *t += g * f;
            }
        } else {
            let per_channel = gradient.chunks_exact(multiplier).zip(filter.chunks_exact(multiplier));
            for (t, (gradient, filter)) in to.iter_mut().zip(per_channel) {
                for (g, f) in gradient.iter().zip(filter) {
                    *t += g * f;
                }
            }
        }
    }
}
