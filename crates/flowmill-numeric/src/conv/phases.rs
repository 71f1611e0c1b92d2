//! The gradient of a convolution's input as convolutions of the output's gradient.
//!
//! With stride 1 it is one convolution, with the filter turned around and its channels exchanged. With larger strides, the pixels of the input whose
//! coordinates have the same remainders see the same taps of the filter: each such phase is a convolution with a part of the filter.

use super::backprop::{check_filter, pack_for_patches, scatter};
use super::depthwise::{SPEED, for_each_band, for_each_row};
use super::method::{Method, method_for, nanoseconds, scatter_nanoseconds};
use super::patches::Patches;
use super::winograd::Lifetime;
use super::{PRODUCTS_PER_NANOSECOND, PackedFilter, conv2d, conv2d_rows, padding};
use crate::gemm::{Epilogue, MatrixRef, PackedRhs, Precision, multiply_rows, with_scratch};
use crate::parallel;
use crate::simd::transpose::transpose;
use crate::window::{Axis, Window, pieces_of_rows};

/// The number of tasks for each thread. A thread that is late computes fewer.
const TASKS_PER_THREAD: usize = 4;
/// The multiply-adds that take as long as turning an element of a filter.
const TURNING: usize = SPEED;
/// Nanoseconds for moving an element of a phase to its place.
const INTERLEAVING_NANOSECONDS: f64 = 0.2;

/// The phase of the pixels at `remainder`, `remainder + stride`, … along one dimension.
pub(super) struct Phase {
    pub(super) remainder: usize,
    /// The first tap that these pixels see; the others follow at the distance of the stride.
    pub(super) first_tap: usize,
    pub(super) taps: usize,
    /// The padding of the convolution.
    pad: usize,
    /// The number of pixels.
    pub(super) count: usize,
}

impl Phase {
    /// Returns the phases of rows and of columns; `None` if one of them needs a negative padding, and for a stride together with a dilation.
    pub(super) fn of_window(window: &Window) -> Option<[Vec<Phase>; 2]> {
        let (down, across) = (window.down(), window.across());
        let is_regular = |axis: &Axis| axis.stride == 1 || axis.dilation == 1;
        if !is_regular(&down) || !is_regular(&across) {
            return None;
        }
        Some([Phase::all(&down)?, Phase::all(&across)?])
    }

    /// Returns the window of the convolution of an output's gradient with `channels` that computes the phase of a row and a column of `window`.
    pub(super) fn window(window: &Window, row: &Phase, column: &Phase, channels: usize) -> Window {
        Window {
            in_height: window.out_height,
            in_width: window.out_width,
            channels,
            height: row.taps,
            width: column.taps,
            stride_height: 1,
            stride_width: 1,
            pad_top: row.pad,
            pad_left: column.pad,
            out_height: row.count,
            out_width: column.count,
            ..*window
        }
    }

    /// Returns the phases of a dimension; `None` if one of them needs a negative padding.
    fn all(axis: &Axis) -> Option<Vec<Phase>> {
        let phase = |remainder: usize| {
            let place = remainder + axis.pad;
            let (first_tap, skipped) = (place % axis.stride, place / axis.stride);
            let taps = axis.window.saturating_sub(first_tap).div_ceil(axis.stride);
            let reach = taps.saturating_sub(1) * axis.dilation;
            let pad = if taps == 0 { 0 } else { reach.checked_sub(skipped)? };
            Some(Phase { remainder, first_tap, taps, pad, count: (axis.input - remainder).div_ceil(axis.stride) })
        };
        (0..axis.stride.min(axis.input)).map(phase).collect()
    }
}

/// A filter of [`conv2d_backprop_input`](super::conv2d_backprop_input), packed for many calls with images of one size: that of a transposed convolution.
#[derive(Debug)]
pub struct PackedTransposed {
    /// The window, with a batch of one.
    window: Window,
    groups: usize,
    pub(super) form: TransposedForm,
}

#[derive(Debug)]
pub(super) enum TransposedForm {
    /// The filter of each phase that has taps.
    Phases(Vec<Option<PackedFilter>>),
    /// For each group, the matrix that an output's gradient is multiplied with for those of a patch.
    Patches(Vec<PackedRhs>),
}

impl PackedTransposed {
    /// Packs an HWIO filter; `None` if there is nothing to compute.
    ///
    /// # Panics
    /// If `filter` is too short, or `groups` does not divide the channels.
    pub fn pack(window: &Window, filter: &[f32], out_channels: usize, groups: usize) -> Option<PackedTransposed> {
        let (k, _) = check_filter(window, out_channels, groups, filter.len());
        let window = Window { batch: 1, ..*window };
        if window.input_len() == 0 || window.positions() == 0 || filter.is_empty() {
            return None;
        }
        let Some(phases) = Phases::new(&window, out_channels, groups, Lifetime::Kept) else {
            let form = TransposedForm::Patches(pack_for_patches(filter, out_channels, groups, k));
            return Some(PackedTransposed { window, groups, form });
        };
        let mut filters = Vec::new();
        for row in &phases.rows {
            for column in &phases.columns {
                let len = row.taps * column.taps * (out_channels / groups) * window.channels;
                filters.push((len > 0).then(|| {
                    let mut turned = vec![0.0; len];
                    phases.turn_filter(row, column, filter, out_channels, &mut turned);
                    PackedFilter::pack(Precision::F32, &phases.window_of(row, column, out_channels), &turned, window.channels, groups)
                }));
            }
        }
        Some(PackedTransposed { window, groups, form: TransposedForm::Phases(filters) })
    }

    /// Returns true if the filter is packed for this window.
    pub fn is_for(&self, window: &Window) -> bool {
        self.window == Window { batch: 1, ..*window }
    }

    /// Overwrites `input_backprop` with the gradient of the input, from `out_backprop` `[batch, out_height, out_width, out_channels]`.
    ///
    /// # Panics
    /// If a slice is too short, or the filter is packed for another window.
    pub fn apply(&self, window: &Window, out_channels: usize, out_backprop: &[f32], input_backprop: &mut [f32]) {
        assert!(self.is_for(window), "{window:?} with a filter for {:?}", self.window);
        window.check(input_backprop.len());
        let input_backprop = &mut input_backprop[..window.input_len()];
        let filters = match &self.form {
            TransposedForm::Phases(filters) => filters,
            TransposedForm::Patches(filters) => return scatter(window, filters, out_channels, out_backprop, input_backprop),
        };
        let Some(phases) = Phases::of(window, self.groups) else { return };
        if phases.are_tasks(out_channels) {
            return phases.convolve_in_tasks(filters, out_channels, out_backprop, input_backprop);
        }
        phases.for_each_phase(input_backprop, |number, row, column, pixels| {
            if let Some(filter) = filters.get(number).and_then(Option::as_ref) {
                conv2d(&phases.window_of(row, column, out_channels), out_backprop, filter, pixels, &Epilogue::default());
            }
        });
    }
}

/// The convolutions that compute the gradient of an input.
pub(super) struct Phases<'a> {
    window: &'a Window,
    groups: usize,
    rows: Vec<Phase>,
    columns: Vec<Phase>,
}

impl<'a> Phases<'a> {
    /// Returns the convolutions; `None` if there are none, or by estimate scattered patches take less time: the windows of a convolution reach into the
    /// padding, and those of a small gradient mostly so. With a filter that is kept, the choice does not depend on the number of images.
    pub(super) fn new(window: &'a Window, out_channels: usize, groups: usize, lifetime: Lifetime) -> Option<Phases<'a>> {
        let phases = Phases::of(window, groups)?;
        let batch = lifetime.images(window);
        let scattered = scatter_nanoseconds(&Window { batch, ..*window }, out_channels, groups);
        (phases.nanoseconds(batch, out_channels) <= scattered).then_some(phases)
    }

    /// Returns the convolutions; `None` if there are none.
    fn of(window: &'a Window, groups: usize) -> Option<Phases<'a>> {
        let [rows, columns] = Phase::of_window(window)?;
        Some(Phases { window, groups, rows, columns })
    }

    /// Returns the estimated time of some images.
    fn nanoseconds(&self, batch: usize, out_channels: usize) -> f64 {
        let of_phase = |row: &Phase, column: &Phase| {
            let window = Window { batch, ..self.window_of(row, column, out_channels) };
            let has_taps = window.height * window.width > 0;
            if has_taps { nanoseconds(Precision::F32, &window, self.window.channels, self.groups) } else { 0.0 }
        };
        let convolutions: f64 = self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| of_phase(row, column))).sum();
        let w = self.window;
        let moved = if w.stride_height * w.stride_width > 1 { batch * w.in_height * w.in_width * w.channels } else { 0 };
        convolutions + moved as f64 * INTERLEAVING_NANOSECONDS
    }

    /// Overwrites `input_backprop` with the gradient.
    pub(super) fn convolve(&self, filter: &[f32], out_channels: usize, out_backprop: &[f32], input_backprop: &mut [f32]) {
        self.for_each_phase(input_backprop, |_, row, column, pixels| {
            self.convolve_phase(row, column, filter, out_channels, out_backprop, pixels);
        });
    }

    /// Returns true if threads compute different rows of the phases, instead of sharing the products of each: then a thread reads the weights of a phase for
    /// enough positions, and no phase waits for the one before.
    fn are_tasks(&self, out_channels: usize) -> bool {
        let w = self.window;
        let positions = self.rows[0].count * self.columns[0].count * w.batch;
        let nanoseconds = w.work(w.channels).saturating_mul(out_channels / self.groups) / PRODUCTS_PER_NANOSECOND;
        self.rows.len() * self.columns.len() > 1 && 2 * positions >= w.channels && parallel::is_worth_forking(nanoseconds)
    }

    /// Like [`Phases::convolve`], with a packed filter for each phase that has taps. Threads compute different rows.
    fn convolve_in_tasks(&self, filters: &[Option<PackedFilter>], out_channels: usize, out_backprop: &[f32], input_backprop: &mut [f32]) {
        let wanted = (TASKS_PER_THREAD * parallel::threads()).div_ceil(filters.len());
        let mut tasks = Vec::new();
        let mut starts = Vec::with_capacity(filters.len());
        let mut start = 0;
        let phases = self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| (row, column)));
        for ((row, column), filter) in phases.zip(filters) {
            starts.push(start);
            let window = self.window_of(row, column, out_channels);
            start += window.positions() * self.window.channels;
            let together = filter.as_ref().map_or(1, PackedFilter::rows_together);
            for rows in pieces_of_rows(window.batch, window.out_height, together, wanted) {
                tasks.push((window, rows, filter));
            }
        }
        with_scratch(input_backprop.len(), |pixels: &mut [f32]| {
            let lengths = tasks.iter().map(|(window, rows, _)| rows.len() * window.out_width * self.window.channels);
            parallel::parts(pixels, lengths, |task, pixels| {
                let (window, rows, filter) = &tasks[task];
                match filter {
                    Some(filter) => {
                        parallel::alone(|| conv2d_rows(window, rows.clone(), out_backprop, filter, pixels, &Epilogue::default()));
                    }
                    None => pixels.fill(0.0),
                }
            });
            self.interleave(pixels, &starts, input_backprop);
        });
    }

    /// Calls `f(number, row, column, pixels)` for each phase that has taps, which computes its pixels, and puts the pixels to their places.
    fn for_each_phase(&self, input_backprop: &mut [f32], mut f: impl FnMut(usize, &Phase, &Phase, &mut [f32])) {
        let mut compute = |number: usize, row: &Phase, column: &Phase, pixels: &mut [f32]| {
            if row.taps == 0 || column.taps == 0 { pixels.fill(0.0) } else { f(number, row, column, pixels) }
        };
        if (self.window.stride_height, self.window.stride_width) == (1, 1) {
            return compute(0, &self.rows[0], &self.columns[0], input_backprop);
        }
        with_scratch(input_backprop.len(), |pixels: &mut [f32]| {
            let mut starts = Vec::with_capacity(self.rows.len() * self.columns.len());
            let mut start = 0;
            for row in &self.rows {
                for column in &self.columns {
                    let len = self.window.batch * row.count * column.count * self.window.channels;
                    compute(starts.len(), row, column, &mut pixels[start..start + len]);
                    starts.push(start);
                    start += len;
                }
            }
            self.interleave(pixels, &starts, input_backprop);
        });
    }

    /// Returns the window of the convolution that computes a phase.
    fn window_of(&self, row: &Phase, column: &Phase, out_channels: usize) -> Window {
        Phase::window(self.window, row, column, out_channels)
    }

    /// Computes the gradients of the pixels of one phase, side by side.
    fn convolve_phase(&self, row: &Phase, column: &Phase, filter: &[f32], out_channels: usize, out_backprop: &[f32], pixels: &mut [f32]) {
        let window = self.window_of(row, column, out_channels);
        let (k, n) = (row.taps * column.taps * (out_channels / self.groups), self.window.channels);
        with_scratch(k * n, |turned: &mut [f32]| {
            self.turn_filter(row, column, filter, out_channels, turned);
            let method = method_for(Precision::F32, &window, n, self.groups, Lifetime::Once);
            if method != Method::Direct {
                let packed = PackedFilter::pack_for(method, Precision::F32, &window, turned, n, self.groups);
                return conv2d(&window, out_backprop, &packed, pixels, &Epilogue::default());
            }
            let nanoseconds = window.work(out_channels).saturating_mul(n / self.groups) / PRODUCTS_PER_NANOSECOND;
            if self.groups > 1 && parallel::is_worth_forking(nanoseconds) {
                return for_each_band(&window, n, window.out_height, true, pixels, |rows, pixels| {
                    let (part, elements) = window.of_rows(rows);
                    parallel::alone(|| self.multiply_groups(&part, turned, out_channels, &out_backprop[elements], pixels));
                });
            }
            self.multiply_groups(&window, turned, out_channels, out_backprop, pixels);
        });
    }

    /// Multiplies the patches of each group with its part of a filter that [`Phases::turn_filter`] has written.
    fn multiply_groups(&self, window: &Window, turned: &[f32], out_channels: usize, out_backprop: &[f32], pixels: &mut [f32]) {
        let n = self.window.channels;
        let (depth, per_group) = (n / self.groups, out_channels / self.groups);
        let k = window.height * window.width * per_group;
        padding::for_images(window, depth, out_backprop, |images, window, out_backprop| {
            let pixels = &mut pixels[images.start * window.out_height * window.out_width * n..];
            for group in 0..self.groups {
                let patches = Patches::new(window, out_backprop, group * per_group, per_group);
                let filter = MatrixRef { data: &turned[group * depth..], ld: n, transposed: false };
                multiply_rows(&patches, window.positions(), k, depth, filter, &mut pixels[group * depth..], n, false);
            }
        });
    }

    /// Writes the taps of a phase in reverse order, with input and output channels exchanged: `[height, width, out_channels / groups, channels]`.
    fn turn_filter(&self, row: &Phase, column: &Phase, filter: &[f32], out_channels: usize, turned: &mut [f32]) {
        let window = self.window;
        let (depth, per_group) = (window.channels / self.groups, out_channels / self.groups);
        let turn = |tap: usize, to: &mut [f32]| {
            let (i, j) = (row.taps - 1 - tap / column.taps, column.taps - 1 - tap % column.taps);
            let (i, j) = (row.first_tap + i * window.stride_height, column.first_tap + j * window.stride_width);
            let from = &filter[(i * window.width + j) * depth * out_channels..][..depth * out_channels];
            for group in 0..self.groups {
                transpose(&from[group * per_group..], out_channels, depth, per_group, &mut to[group * depth..], window.channels);
            }
        };
        let (taps, size) = (row.taps * column.taps, per_group * window.channels);
        for_each_row(taps, size, TURNING * taps * size, turned, turn);
    }

    /// Copies the pixels of all phases to their places. The phases begin at `starts`.
    fn interleave(&self, pixels: &[f32], starts: &[usize], input_backprop: &mut [f32]) {
        let window = self.window;
        let channels = window.channels;
        let (lines, line_len) = (window.batch * window.in_height, window.in_width * channels);
        for_each_row(lines, line_len, 4 * input_backprop.len(), input_backprop, |line, to| {
            let (image, y) = (line / window.in_height, line % window.in_height);
            let row = &self.rows[y % window.stride_height];
            let starts = &starts[row.remainder * self.columns.len()..];
            for (column, start) in self.columns.iter().zip(starts) {
                let first = start + (image * row.count + y / window.stride_height) * column.count * channels;
                let from = pixels[first..][..column.count * channels].chunks_exact(channels);
                let to = to[column.remainder * channels..].chunks_mut(channels).step_by(window.stride_width);
                for (to, from) in to.zip(from) {
                    to.copy_from_slice(from);
                }
            }
        });
    }
}
