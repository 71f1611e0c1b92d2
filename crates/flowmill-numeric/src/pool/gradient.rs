//! Gradients of pools.

use super::taps::{RowOfWindows, Taps, for_channels, for_taps};
use super::{FEW_TAPS, Pooled, check, volume_len, work};
use crate::conv::depthwise::for_each_row;
use crate::window::{Axis, Volume};
use std::ops::Range;

/// Adds parts of gradients to some elements, or overwrites them. The parts are computed before, from arrays of their own: loads that depended on comparisons
/// would be branches.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_or_replace<T: Pooled, const N: usize>(to: &mut [T; N], parts: [T; N], replace: bool) {
    if replace {
        *to = parts;
    } else {
        for l in 0..N {
            to[l] += parts[l];
        }
    }
}

/// Adds the gradients of `N` channels of one window, from channel `c` on, to the maxima of its taps. If no other window covers the taps, `replace` is set, and
/// elements of `to` are overwritten instead.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_to_maxima<T: Pooled, const N: usize>(taps: &Taps, c: usize, image: &[T], gradients: &[T], to: &mut [T], replace: bool) {
    let (mut best, mut at) = ([T::LOWEST; N], [u32::MAX; N]);
    let mut tap = 0;
    for_taps!(taps, |place| {
        let Some(from) = image[place + c..].first_chunk::<N>() else { return };
        for l in 0..N {
            let is_higher = from[l] > best[l];
            best[l] = if is_higher { from[l] } else { best[l] };
            at[l] = if is_higher { tap } else { at[l] };
        }
        tap += 1;
    });
    // A window whose elements are all NaN or the lowest value has no maximum, so its gradient is dropped.
    let Some(&gradients) = gradients[c..].first_chunk::<N>() else { return };
    if taps.len() <= FEW_TAPS {
        let mut tap = 0;
        for_taps!(taps, |place| {
            let Some(to) = to[place + c..].first_chunk_mut::<N>() else { return };
            let mut parts = [T::ZERO; N];
            for l in 0..N {
                parts[l] = if at[l] == tap { gradients[l] } else { T::ZERO };
            }
            add_or_replace(to, parts, replace);
            tap += 1;
        });
    } else {
        for l in (0..N).filter(|&l| at[l] != u32::MAX) {
            to[taps.place(at[l] as usize) + c + l] += gradients[l];
        }
    }
}

/// Adds the gradients of `N` channels of one window to every tap that equals the window's maximum, like [`add_to_maxima`].
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_to_equals<T: Pooled, const N: usize>(
    taps: &Taps,
    c: usize,
    image: &[T],
    [maxima, gradients]: [&[T]; 2],
    to: &mut [T],
    replace: bool,
) {
    let (Some(&maxima), Some(&gradients)) = (maxima[c..].first_chunk::<N>(), gradients[c..].first_chunk::<N>()) else { return };
    for_taps!(taps, |place| {
        let (Some(&from), Some(to)) = (image[place + c..].first_chunk::<N>(), to[place + c..].first_chunk_mut::<N>()) else { return };
        let mut parts = [T::ZERO; N];
        for l in 0..N {
            parts[l] = if from[l] == maxima[l] { gradients[l] } else { T::ZERO };
        }
        add_or_replace(to, parts, replace);
    });
}

/// Computes `N` channels of the gradient at one position, from channel `c` on: the sum of the shares of the windows that cover it. A window is named by the
/// place of its first share.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_shares<T: Pooled, const N: usize>(shares: &[T], windows: &[usize], c: usize, to: &mut [T]) {
    let mut sums = [T::ZERO; N];
    for window in windows {
        let Some(share) = shares[window + c..].first_chunk::<N>() else { return };
        for l in 0..N {
            sums[l] += share[l];
        }
    }
    if let Some(to) = to[c..].first_chunk_mut::<N>() {
        *to = sums;
    }
}

/// Adds the gradients of row `y` of plane `z` of windows to the maxima of a volume, or overwrites its elements if `replace` is set.
pub(super) fn add_row_to_maxima<T: Pooled>(v: &Volume, z: usize, y: usize, input: &[T], gradients: &[T], to: &mut [T], replace: bool) {
    let windows = RowOfWindows::new(v, 0, z, y);
    for (x, gradients) in gradients.chunks_exact(v.channels).enumerate() {
        let taps = windows.at(x);
        for_channels!(v.channels, |c| add_to_maxima::<T>(&taps, c, input, gradients, to, replace));
    }
}

crate::dispatch! {
    /// Adds the gradients of row `y` of plane `z` of windows to the elements that equal their maxima.
    fn add_row_to_equals<T>(v: &Volume, z: usize, y: usize, input: &[T], outputs: [&[T]; 2], to: &mut [T], replace: bool)
    where [T: Pooled], if [T::WIDE_GRADIENT] {
        let windows = RowOfWindows::new(v, 0, z, y);
        for (x, (maxima, gradients)) in outputs[0].chunks_exact(v.channels).zip(outputs[1].chunks_exact(v.channels)).enumerate() {
            let taps = windows.at(x);
            for_channels!(v.channels, |c| add_to_equals::<T>(&taps, c, input, [maxima, gradients], to, replace));
        }
    }

    /// Computes row `y` of plane `z` of the gradient of an average from the shares of a volume's windows.
    fn add_shares_to_row<T>(v: &Volume, z: usize, y: usize, shares: &[T], to: &mut [T]) where [T: Pooled], if [T::WIDE] {
        let [planes, rows, columns] = &v.axes;
        // The rows of windows that cover the row.
        let above: Vec<usize> = planes.covering(z).flat_map(|k| rows.covering(y).map(move |i| (k * rows.output + i) * columns.output)).collect();
        let mut windows = Vec::new();
        for (x, to) in to.chunks_exact_mut(v.channels).enumerate() {
            windows.clear();
            for row in &above {
                windows.extend(columns.covering(x).map(|j| (row + j) * v.channels));
            }
            for_channels!(v.channels, |c| add_shares::<T>(shares, &windows, c, to));
        }
    }

    fn divide_all<T>(to: &mut [T], count: usize) where [T: Pooled], if [T::WIDE] {
        for t in to {
            *t = t.divide(count);
        }
    }
}

/// True if windows lie side by side along an axis and cover all of it.
fn is_tiled(axis: &Axis) -> bool {
    let is_dense = axis.window == 1 || axis.dilation == 1;
    is_dense && axis.stride == axis.window && axis.pad == 0 && axis.input == axis.output * axis.window
}

/// Returns the same windows over more, smaller volumes: a volume is divided where no window covers elements on both sides.
fn divided(v: &Volume) -> Volume {
    let mut v = *v;
    for d in 0..v.axes.len() {
        let axis = v.axes[d];
        if !is_tiled(&axis) {
            break;
        }
        v.batch *= axis.output;
        v.axes[d] = Axis { input: axis.window, output: 1, ..axis };
        if axis.window > 1 {
            break;
        }
    }
    v
}

/// Overwrites `input_backprop` volume by volume, on several threads: `one_row(v, z, y, range, at, to, replace)` gives the gradients of a row of windows to the
/// volume `to`, which lies at the elements `at` of the input. The elements of the row's windows are `range`. The gradients are added, or replace elements.
fn for_rows_of_windows<T: Pooled>(
    v: &Volume,
    input_backprop: &mut [T],
    one_row: impl Fn(&Volume, [usize; 2], Range<usize>, Range<usize>, &mut [T], bool) + Sync,
) {
    let is_alone = v.axes.iter().all(is_tiled) && v.taps() <= FEW_TAPS;
    let v = divided(v);
    let [planes, rows, columns] = &v.axes;
    let (volume_len, row_len, rows_of_windows) = (volume_len(&v), columns.output * v.channels, planes.output * rows.output);
    for_each_row(v.batch, volume_len, work(&v, 2), input_backprop, |volume, to| {
        if !is_alone {
            to.fill(T::ZERO);
        }
        for row in 0..rows_of_windows {
            let first = (volume * rows_of_windows + row) * row_len;
            let at = volume * volume_len..(volume + 1) * volume_len;
            one_row(&v, [row / rows.output, row % rows.output], first..first + row_len, at, to, is_alone);
        }
    });
}

/// Overwrites `input_backprop` with the gradient of [`max_pool`](super::max_pool): each window's gradient is added to its first maximum in row-major order.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool_grad<T: Pooled>(v: &Volume, input: &[T], out_backprop: &[T], input_backprop: &mut [T]) {
    check(v, input.len().min(input_backprop.len()), out_backprop.len());
    for_rows_of_windows(v, input_backprop, |v, [z, y], windows, at, to, replace| {
        T::add_row_to_maxima(v, z, y, &input[at], &out_backprop[windows], to, replace);
    });
}

/// Overwrites `input_backprop` with another gradient of [`max_pool`](super::max_pool), whose result is `output`: each window's gradient is added to every
/// element that equals its maximum.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool_grad_to_equals<T: Pooled>(v: &Volume, input: &[T], output: &[T], out_backprop: &[T], input_backprop: &mut [T]) {
    check(v, input.len().min(input_backprop.len()), out_backprop.len().min(output.len()));
    for_rows_of_windows(v, input_backprop, |v, [z, y], windows, at, to, replace| {
        add_row_to_equals(v, z, y, &input[at], [&output[windows.clone()], &out_backprop[windows]], to, replace);
    });
}

/// Overwrites `input_backprop` with the gradient of [`avg_pool`](super::avg_pool): each window's gradient is spread evenly over its elements inside the volume.
///
/// # Panics
/// If a slice is too short.
pub fn avg_pool_grad<T: Pooled>(v: &Volume, out_backprop: &[T], input_backprop: &mut [T]) {
    check(v, input_backprop.len(), out_backprop.len());
    let [planes, rows, columns] = &v.axes;
    let volume_len = volume_len(v);
    let one_volume = |volume: usize, to: &mut [T]| {
        let windows = planes.output * rows.output * columns.output * v.channels;
        let mut shares = out_backprop[volume * windows..][..windows].to_vec();
        for (i, share) in shares.chunks_exact_mut(v.channels).enumerate() {
            let (rest, x) = (i / columns.output, i % columns.output);
            let (z, y) = (rest / rows.output, rest % rows.output);
            divide_all(share, (planes.inside(z).len() * rows.inside(y).len() * columns.inside(x).len()).max(1));
        }
        for (row, to) in to.chunks_exact_mut(columns.input * v.channels).enumerate() {
            add_shares_to_row(v, row / rows.input, row % rows.input, &shares, to);
        }
    };
    for_each_row(v.batch, volume_len, work(v, 2), input_backprop, one_volume);
}
