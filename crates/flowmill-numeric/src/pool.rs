//! Maximum and average pooling of NDHWC volumes, and their gradients. Images are volumes of one plane ([`Window::volume`](crate::window::Window::volume)).
//!
//! [`Volume::channels`] is the number of channels of input and output; dilations are supported. Windows that extend into the padding use only the
//! elements inside the volume, as in TensorFlow: an average divides by their number.

mod gradient;
mod maxima;
mod taps;

pub use gradient::{avg_pool_grad, max_pool_grad, max_pool_grad_to_equals};

use crate::conv::depthwise::for_each_row;
use crate::window::Volume;
use taps::{RowOfWindows, Taps, for_all_channels, for_channels, for_taps};

/// An element type that can be pooled.
pub trait Pooled: Copy + PartialOrd + Send + Sync + std::ops::AddAssign {
    /// True if there is code for each instruction set. Without it, integers of 32 bits and more take 1.2 to 5 times as long on AVX2; few networks pool
    /// them, and the code is large.
    const WIDE: bool;
    /// True if there is code for each instruction set of gradients that go to all maxima of a window, too. Networks are trained in few types.
    const WIDE_GRADIENT: bool;
    /// The least finite number.
    const LOWEST: Self;
    /// The sum of no elements.
    const ZERO: Self;
    /// Returns `self / count`.
    fn divide(self, count: usize) -> Self;
    /// Adds the gradients of row `y` of plane `z` of windows to the maxima of a volume, or overwrites its elements if `replace` is set.
    #[doc(hidden)]
    fn add_row_to_maxima(v: &Volume, z: usize, y: usize, input: &[Self], gradients: &[Self], to: &mut [Self], replace: bool) {
        gradient::add_row_to_maxima(v, z, y, input, gradients, to, replace);
    }
}

macro_rules! pooled_float {
    ($($t:ty = $wide_gradient:literal $(, $add_row_to_maxima:path)?;)*) => {$(
        impl Pooled for $t {
            const WIDE: bool = true;
            const WIDE_GRADIENT: bool = $wide_gradient;
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                self / count as $t
            }
            $(fn add_row_to_maxima(v: &Volume, z: usize, y: usize, input: &[$t], gradients: &[$t], to: &mut [$t], replace: bool) {
                $add_row_to_maxima(v, z, y, input, gradients, to, replace);
            })?
        }
    )*};
}
pooled_float! {
    f32 = true, maxima::add_row;
    f64 = false;
}

macro_rules! pooled_integer {
    ($($t:ty = $wide:literal),*) => {$(
        impl Pooled for $t {
            const WIDE: bool = $wide;
            const WIDE_GRADIENT: bool = false;
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = 0;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                <$t>::try_from(count).map_or(0, |count| self.checked_div(count).unwrap_or(0))
            }
        }
    )*};
}
pooled_integer!(i8 = true, i32 = false, i64 = false, u8 = true, u64 = false);

/// Computes `N` channels of one output from channel `c` on.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn fold<T: Pooled, S: Fn(T, T) -> T, F: Fn(T, usize) -> T, const N: usize>(
    taps: &Taps,
    c: usize,
    input: &[T],
    output: &mut [T],
    start: T,
    step: &S,
    finish: &F,
) {
    let mut folded = [start; N];
    for_taps!(taps, |place| {
        let Some(from) = input[place + c..].first_chunk::<N>() else { return };
        for l in 0..N {
            folded[l] = step(folded[l], from[l]);
        }
    });
    let (Some(to), len) = (output[c..].first_chunk_mut::<N>(), taps.len()) else { return };
    for l in 0..N {
        to[l] = finish(folded[l], len);
    }
}

/// The most taps of a window whose gradients are added tap by tap, and not channel by channel.
const FEW_TAPS: usize = 16;
/// The taps that are folded into all channels at a time.
const TOGETHER: usize = 8;
/// The fewest taps, and the fewest bytes from one to the next, for which that is faster than some channels of all taps: distant reads defeat the prefetcher.
const MIN_TAPS: usize = 64;
const MIN_BYTES: usize = 2048;

/// Computes all channels of one output, [`TOGETHER`] taps at a time, in the order of memory.
#[inline(always)]
fn fold_all<T: Pooled, S: Fn(T, T) -> T, F: Fn(T, usize) -> T>(taps: &Taps, input: &[T], output: &mut [T], start: T, step: &S, finish: &F) {
    output.fill(start);
    let (mut places, mut count) = ([0; TOGETHER], 0);
    for_taps!(taps, |place| {
        places[count] = place;
        count += 1;
        if count == TOGETHER {
            for_channels!(output.len(), |c| fold_together::<T, S>(&places, c, input, output, step));
            count = 0;
        }
    });
    for &place in &places[..count] {
        for_channels!(output.len(), |c| fold_together::<T, S>(&[place], c, input, output, step));
    }
    let len = taps.len();
    for to in output {
        *to = finish(*to, len);
    }
}

/// Folds some taps into `N` channels of one output, from channel `c` on.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn fold_together<T: Pooled, S: Fn(T, T) -> T, const N: usize>(places: &[usize], c: usize, input: &[T], output: &mut [T], step: &S) {
    let Some(to) = output[c..].first_chunk_mut::<N>() else { return };
    let mut folded = *to;
    for place in places {
        let Some(from) = input[place + c..].first_chunk::<N>() else { return };
        for l in 0..N {
            folded[l] = step(folded[l], from[l]);
        }
    }
    *to = folded;
}

crate::dispatch! {
    /// Computes one row of the output: for each position, `finish` of the number of the window's elements inside the image and of `step` folded over
    /// them, beginning with `start`.
    fn pool_row<T, S, F>(v: &Volume, row: usize, input: &[T], output: &mut [T], start: T, step: S, finish: F)
    where [T: Pooled, S: Fn(T, T) -> T, F: Fn(T, usize) -> T], if [T::WIDE] {
        let [planes, rows, _] = &v.axes;
        let (rest, y) = (row / rows.output, row % rows.output);
        let (volume, z) = (rest / planes.output, rest % planes.output);
        let windows = RowOfWindows::new(v, volume * volume_len(v), z, y);
        for (x, output) in output.chunks_exact_mut(v.channels).enumerate() {
            let taps = windows.at(x);
            if taps.len() >= MIN_TAPS && size_of_val(output) >= MIN_BYTES {
                fold_all::<T, S, F>(&taps, input, output, start, &step, &finish);
            } else {
                for_all_channels!(v.channels, |c| fold::<T, S, F>(&taps, c, input, output, start, &step, &finish));
            }
        }
    }
}

/// Returns the elements of one volume of the input.
#[inline(always)]
fn volume_len(v: &Volume) -> usize {
    v.axes.iter().map(|axis| axis.input).product::<usize>() * v.channels
}

/// Returns the rows of windows of all volumes, and the elements of the output of one.
fn output_rows(v: &Volume) -> (usize, usize) {
    let [planes, rows, columns] = &v.axes;
    (v.batch * planes.output * rows.output, columns.output * v.channels)
}

/// Returns the number of steps, `per_tap` for each channel and element of a window.
fn work(v: &Volume, per_tap: usize) -> usize {
    v.positions().saturating_mul(v.taps()).saturating_mul(v.channels).saturating_mul(per_tap)
}

fn check(v: &Volume, input: usize, output: usize) {
    assert!(v.axes.iter().all(|axis| axis.stride > 0 && axis.dilation > 0), "strides and dilations are positive: {v:?}");
    assert!(input >= v.batch * volume_len(v), "{input} elements of input for {v:?}");
    assert!(output >= v.positions() * v.channels, "{output} elements of output for {v:?}");
}

/// Computes the maximum of `lowest` and each window's elements: `[batch, planes, rows, columns, channels]`. A NaN never replaces a number.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool<T: Pooled>(v: &Volume, input: &[T], output: &mut [T], lowest: T) {
    check(v, input.len(), output.len());
    let one_row = |row: usize, output: &mut [T]| {
        pool_row(v, row, input, output, lowest, |t: T, f: T| if f > t { f } else { t }, |t: T, _| t);
    };
    let (rows, row_len) = output_rows(v);
    for_each_row(rows, row_len, work(v, 1), output, one_row);
}

/// Computes the average of each window over its elements inside the volume, or 0 for windows without any.
///
/// # Panics
/// If a slice is too short.
pub fn avg_pool<T: Pooled>(v: &Volume, input: &[T], output: &mut [T]) {
    check(v, input.len(), output.len());
    let one_row = |row: usize, output: &mut [T]| {
        let add = |t: T, f: T| {
            let mut sum = t;
            sum += f;
            sum
        };
        pool_row(v, row, input, output, T::ZERO, add, |sum: T, count: usize| sum.divide(count.max(1)));
    };
    let (rows, row_len) = output_rows(v);
    for_each_row(rows, row_len, work(v, 1), output, one_row);
}

#[cfg(test)]
mod tests;
