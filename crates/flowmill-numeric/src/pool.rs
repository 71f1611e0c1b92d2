//! Maximum and average pooling of NDHWC volumes, and their gradients. Images are volumes of one plane ([`Window::volume`](crate::window::Window::volume)).
//!
//! [`Volume::channels`] is the number of channels of input and output; dilations are supported. Windows that extend into the padding use only the
//! elements inside the volume, as in TensorFlow: an average divides by their number.

use crate::conv::depthwise::for_each_row;
use crate::window::{Axis, Volume};

/// An element type that can be pooled.
pub trait Pooled: Copy + PartialOrd + Send + Sync + std::ops::AddAssign {
    /// True if there is code for each instruction set. Without it, integers of 32 bits and more take 1.2 to 5 times as long on AVX2; few networks pool
    /// them, and the code is large.
    const WIDE: bool;
    /// The least finite number.
    const LOWEST: Self;
    /// The sum of no elements.
    const ZERO: Self;
    /// Returns `self / count`.
    fn divide(self, count: usize) -> Self;
}

macro_rules! pooled_float {
    ($($t:ty = $wide:literal),*) => {$(
        impl Pooled for $t {
            const WIDE: bool = $wide;
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                self / count as $t
            }
        }
    )*};
}
pooled_float!(f32 = true, f64 = true);

macro_rules! pooled_integer {
    ($($t:ty = $wide:literal),*) => {$(
        impl Pooled for $t {
            const WIDE: bool = $wide;
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

/// The elements of a window that lie inside the volume.
struct Taps {
    /// The first channel of the first tap, in the whole input or in one volume.
    first: usize,
    /// The numbers of planes, rows and columns, all zero if there are no elements.
    sizes: [usize; 3],
    /// Elements between planes, between rows, and between columns, of the window.
    steps: [usize; 3],
}

impl Taps {
    /// Returns the taps of the window at plane `z`, row `y` and column `x` of a volume that begins at element `volume`.
    #[inline(always)]
    fn new(v: &Volume, volume: usize, [z, y, x]: [usize; 3]) -> Taps {
        let [planes, rows, columns] = &v.axes;
        let (k, i, j) = (planes.inside(z), rows.inside(y), columns.inside(x));
        let steps = [rows.input * columns.input * v.channels, columns.input * v.channels, v.channels];
        let is_empty = k.is_empty() || i.is_empty() || j.is_empty();
        let corner = |axis: &Axis, at: usize, tap: usize| if is_empty { 0 } else { axis.place(at, tap) };
        Taps {
            first: volume
                + corner(planes, z, k.start) * steps[0]
                + corner(rows, y, i.start) * steps[1]
                + corner(columns, x, j.start) * steps[2],
            sizes: if is_empty { [0; 3] } else { [k.len(), i.len(), j.len()] },
            steps: [planes.dilation * steps[0], rows.dilation * steps[1], columns.dilation * steps[2]],
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns the first channel of a tap, whose number counts in the order of memory.
    #[inline(always)]
    fn place(&self, tap: usize) -> usize {
        let [_, rows, columns] = self.sizes;
        let (k, i, j) = (tap / columns / rows, tap / columns % rows, tap % columns);
        self.first + k * self.steps[0] + i * self.steps[1] + j * self.steps[2]
    }
}

/// Runs a block for each tap, with the place of its first channel, in the order of memory. A macro, so that the block is compiled for the instruction set of
/// the function around it.
macro_rules! for_taps {
    ($taps:expr, |$place:ident| $body:block) => {
        for k in 0..$taps.sizes[0] {
            for i in 0..$taps.sizes[1] {
                let row = $taps.first + k * $taps.steps[0] + i * $taps.steps[1];
                for j in 0..$taps.sizes[2] {
                    let $place = row + j * $taps.steps[2];
                    $body
                }
            }
        }
    };
}

/// Calls a function of some channels, which takes their number as its last constant, for all channels: as many at a time as stay in registers.
macro_rules! for_channels {
    ($channels:expr, |$c:ident| $function:ident::<$($t:ty),+>($($arg:expr),*)) => {
        let mut $c = 0;
        while $c + 32 <= $channels {
            $function::<$($t),+, 32>($($arg),*);
            $c += 32;
        }
        while $c + 8 <= $channels {
            $function::<$($t),+, 8>($($arg),*);
            $c += 8;
        }
        while $c < $channels {
            $function::<$($t),+, 1>($($arg),*);
            $c += 1;
        }
    };
}

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

/// The most taps of a window whose gradients are added tap by tap, and not channel by channel.
const FEW_TAPS: usize = 16;

/// Adds the gradients of `N` channels of one window, from channel `c` on, to the maxima of its taps.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_to_maxima<T: Pooled, const N: usize>(taps: &Taps, c: usize, image: &[T], gradients: &[T], to: &mut [T]) {
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
    let Some(gradients) = gradients[c..].first_chunk::<N>() else { return };
    if taps.len() <= FEW_TAPS {
        let mut tap = 0;
        for_taps!(taps, |place| {
            let Some(to) = to[place + c..].first_chunk_mut::<N>() else { return };
            for l in 0..N {
                to[l] += if at[l] == tap { gradients[l] } else { T::ZERO };
            }
            tap += 1;
        });
    } else {
        for l in (0..N).filter(|&l| at[l] != u32::MAX) {
            to[taps.place(at[l] as usize) + c + l] += gradients[l];
        }
    }
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

crate::dispatch! {
    /// Computes one row of the output: for each position, `finish` of the number of the window's elements inside the image and of `step` folded over
    /// them, beginning with `start`.
    fn pool_row<T, S, F>(v: &Volume, row: usize, input: &[T], output: &mut [T], start: T, step: S, finish: F)
    where [T: Pooled, S: Fn(T, T) -> T, F: Fn(T, usize) -> T], if [T::WIDE] {
        let [planes, rows, _] = &v.axes;
        let (rest, y) = (row / rows.output, row % rows.output);
        let (volume, z) = (rest / planes.output, rest % planes.output);
        for (x, output) in output.chunks_exact_mut(v.channels).enumerate() {
            let taps = Taps::new(v, volume * volume_len(v), [z, y, x]);
            if taps.len() >= MIN_TAPS && size_of_val(output) >= MIN_BYTES {
                fold_all::<T, S, F>(&taps, input, output, start, &step, &finish);
            } else {
                for_channels!(v.channels, |c| fold::<T, S, F>(&taps, c, input, output, start, &step, &finish));
            }
        }
    }

    /// Adds the gradients of row `y` of plane `z` of windows to the maxima of a volume.
    fn add_row_to_maxima<T>(v: &Volume, z: usize, y: usize, input: &[T], gradients: &[T], to: &mut [T]) where [T: Pooled], if [T::WIDE] {
        for (x, gradients) in gradients.chunks_exact(v.channels).enumerate() {
            let taps = Taps::new(v, 0, [z, y, x]);
            for_channels!(v.channels, |c| add_to_maxima::<T>(&taps, c, input, gradients, to));
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

/// Overwrites `input_backprop` with the gradient of [`max_pool`]: each window's gradient is added to its first maximum in row-major order.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool_grad<T: Pooled>(v: &Volume, input: &[T], out_backprop: &[T], input_backprop: &mut [T]) {
    check(v, input.len().min(input_backprop.len()), out_backprop.len());
    let [planes, rows, columns] = &v.axes;
    let (volume_len, row_len) = (volume_len(v), columns.output * v.channels);
    let one_volume = |volume: usize, to: &mut [T]| {
        to.fill(T::ZERO);
        for row in 0..planes.output * rows.output {
            let gradients = &out_backprop[(volume * planes.output * rows.output + row) * row_len..][..row_len];
            let input = &input[volume * volume_len..][..volume_len];
            add_row_to_maxima(v, row / rows.output, row % rows.output, input, gradients, to);
        }
    };
    for_each_row(v.batch, volume_len, work(v, 2), input_backprop, one_volume);
}

/// Overwrites `input_backprop` with the gradient of [`avg_pool`]: each window's gradient is spread evenly over its elements inside the volume.
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

#[cfg(test)]
mod tests;
