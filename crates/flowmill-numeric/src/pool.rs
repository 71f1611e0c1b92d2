//! Maximum and average pooling of NHWC images, and their gradients.
//!
//! [`Window::channels`] is the number of channels of input and output; dilations are supported. Windows that extend into the padding use only the
//! elements inside the image, as in TensorFlow: an average divides by their number.

use crate::conv::depthwise::for_each_row;
use crate::window::Window;

/// An element type that can be pooled.
pub trait Pooled: Copy + PartialOrd + Send + Sync + std::ops::AddAssign {
    /// The maximum of no elements.
    const LOWEST: Self;
    /// The sum of no elements.
    const ZERO: Self;
    /// Returns `self / count`.
    fn divide(self, count: usize) -> Self;
}

macro_rules! pooled_float {
    ($($t:ty)*) => {$(
        impl Pooled for $t {
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                self / count as $t
            }
        }
    )*};
}
pooled_float!(f32 f64);

macro_rules! pooled_integer {
    ($($t:ty)*) => {$(
        impl Pooled for $t {
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = 0;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                <$t>::try_from(count).map_or(0, |count| self.checked_div(count).unwrap_or(0))
            }
        }
    )*};
}
pooled_integer!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! pooled_half {
    ($($t:ty)*) => {$(
        impl Pooled for $t {
            const LOWEST: Self = <$t>::MIN;
            const ZERO: Self = <$t>::ZERO;
            #[inline(always)]
            fn divide(self, count: usize) -> Self {
                <$t>::from_f32(self.to_f32() / count as f32)
            }
        }
    )*};
}
pooled_half!(half::f16 half::bf16);

/// The elements of a window that lie inside the image.
struct Taps {
    /// The first channel of the first tap, in the whole input or in one image.
    first: usize,
    rows: usize,
    columns: usize,
    /// Elements between rows, and between columns, of the window.
    row_step: usize,
    column_step: usize,
}

impl Taps {
    /// Returns the taps of the window at (`y`, `x`) of an image that begins at element `image`.
    #[inline(always)]
    fn new(w: &Window, image: usize, y: usize, x: usize) -> Taps {
        let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
        let is_empty = rows.is_empty() || columns.is_empty();
        let corner = if is_empty { 0 } else { w.input_row(y, rows.start) * w.in_width + w.input_column(x, columns.start) };
        Taps {
            first: image + corner * w.channels,
            rows: if is_empty { 0 } else { rows.len() },
            columns: columns.len(),
            row_step: w.dilation_height * w.in_width * w.channels,
            column_step: w.dilation_width * w.channels,
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// Returns the first channel of the tap in row `i` and column `j` of those inside.
    #[inline(always)]
    fn place(&self, i: usize, j: usize) -> usize {
        self.first + i * self.row_step + j * self.column_step
    }
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
    for i in 0..taps.rows {
        for j in 0..taps.columns {
            let Some(from) = input[taps.place(i, j) + c..].first_chunk::<N>() else { return };
            for l in 0..N {
                folded[l] = step(folded[l], from[l]);
            }
        }
    }
    let (Some(to), len) = (output[c..].first_chunk_mut::<N>(), taps.len()) else { return };
    for l in 0..N {
        to[l] = finish(folded[l], len);
    }
}

/// The most taps of a window whose gradients are added tap by tap, and not channel by channel.
const FEW_TAPS: usize = 16;

/// Adds the gradients of `N` channels of one window, from channel `c` on, to the maxima of its taps.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_to_maxima<T: Pooled, const N: usize>(taps: &Taps, c: usize, image: &[T], gradients: &[T], to: &mut [T]) {
    let (mut best, mut at) = ([T::LOWEST; N], [u32::MAX; N]);
    let mut tap = 0;
    for i in 0..taps.rows {
        for j in 0..taps.columns {
            let Some(from) = image[taps.place(i, j) + c..].first_chunk::<N>() else { return };
            for l in 0..N {
                let is_higher = from[l] > best[l];
                best[l] = if is_higher { from[l] } else { best[l] };
                at[l] = if is_higher { tap } else { at[l] };
            }
            tap += 1;
        }
    }
    // A window whose elements are all NaN or the lowest value has no maximum, so its gradient is dropped.
    let Some(gradients) = gradients[c..].first_chunk::<N>() else { return };
    if taps.len() <= FEW_TAPS {
        let mut tap = 0;
        for i in 0..taps.rows {
            for j in 0..taps.columns {
                let Some(to) = to[taps.place(i, j) + c..].first_chunk_mut::<N>() else { return };
                for l in 0..N {
                    to[l] += if at[l] == tap { gradients[l] } else { T::ZERO };
                }
                tap += 1;
            }
        }
    } else {
        for l in (0..N).filter(|&l| at[l] != u32::MAX) {
            let (i, j) = (at[l] as usize / taps.columns, at[l] as usize % taps.columns);
            to[taps.place(i, j) + c + l] += gradients[l];
        }
    }
}

/// Computes `N` channels of the gradient at one position, from channel `c` on: the sum of the shares of the windows that cover it.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn add_shares<T: Pooled, const N: usize>(w: &Window, shares: &[T], rows: &[usize], columns: &[usize], c: usize, to: &mut [T]) {
    let mut sums = [T::ZERO; N];
    for y in rows {
        for x in columns {
            let Some(share) = shares[(y * w.out_width + x) * w.channels + c..].first_chunk::<N>() else { return };
            for l in 0..N {
                sums[l] += share[l];
            }
        }
    }
    if let Some(to) = to[c..].first_chunk_mut::<N>() {
        *to = sums;
    }
}

crate::dispatch! {
    /// Computes one row of the output: for each position, `finish` of the number of the window's elements inside the image and of `step` folded over
    /// them, beginning with `start`.
    fn pool_row<T, S, F>(w: &Window, row: usize, input: &[T], output: &mut [T], start: T, step: S, finish: F)
    where [T: Pooled, S: Fn(T, T) -> T, F: Fn(T, usize) -> T] {
        let (image, y) = (row / w.out_height, row % w.out_height);
        for (x, output) in output.chunks_exact_mut(w.channels).enumerate() {
            let taps = Taps::new(w, image * w.in_height * w.in_width * w.channels, y, x);
            for_channels!(w.channels, |c| fold::<T, S, F>(&taps, c, input, output, start, &step, &finish));
        }
    }

    /// Adds the gradients of one row of windows to the maxima of an image.
    fn add_row_to_maxima<T>(w: &Window, y: usize, image: &[T], gradients: &[T], to: &mut [T]) where [T: Pooled] {
        for (x, gradients) in gradients.chunks_exact(w.channels).enumerate() {
            let taps = Taps::new(w, 0, y, x);
            for_channels!(w.channels, |c| add_to_maxima::<T>(&taps, c, image, gradients, to));
        }
    }

    /// Computes row `y` of the gradient of an average from the shares of an image's windows.
    fn add_shares_to_row<T>(w: &Window, y: usize, shares: &[T], to: &mut [T]) where [T: Pooled] {
        let (rows, mut columns) = (w.down().covering(y).collect::<Vec<_>>(), Vec::new());
        for (x, to) in to.chunks_exact_mut(w.channels).enumerate() {
            columns.clear();
            columns.extend(w.across().covering(x));
            for_channels!(w.channels, |c| add_shares::<T>(w, shares, &rows, &columns, c, to));
        }
    }

    fn divide_all<T>(to: &mut [T], count: usize) where [T: Pooled] {
        for t in to {
            *t = t.divide(count);
        }
    }
}

fn check(window: &Window, input: usize, output: usize) {
    window.check(input);
    let len = window.positions() * window.channels;
    assert!(output >= len, "{output} elements of output for {window:?}");
}

/// Computes the maximum of each window: `[batch, out_height, out_width, channels]`. A NaN never replaces a number.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool<T: Pooled>(window: &Window, input: &[T], output: &mut [T]) {
    let w = window;
    check(w, input.len(), output.len());
    let one_row = |row: usize, output: &mut [T]| {
        pool_row(w, row, input, output, T::LOWEST, |t: T, f: T| if f > t { f } else { t }, |t: T, _| t);
    };
    for_each_row(w.batch * w.out_height, w.out_width * w.channels, w.work(w.channels), output, one_row);
}

/// Computes the average of each window over its elements inside the image, or 0 for windows without any.
///
/// # Panics
/// If a slice is too short.
pub fn avg_pool<T: Pooled>(window: &Window, input: &[T], output: &mut [T]) {
    let w = window;
    check(w, input.len(), output.len());
    let one_row = |row: usize, output: &mut [T]| {
        let add = |t: T, f: T| {
            let mut sum = t;
            sum += f;
            sum
        };
        pool_row(w, row, input, output, T::ZERO, add, |sum: T, count: usize| sum.divide(count.max(1)));
    };
    for_each_row(w.batch * w.out_height, w.out_width * w.channels, w.work(w.channels), output, one_row);
}

/// Overwrites `input_backprop` with the gradient of [`max_pool`]: each window's gradient is added to its first maximum in row-major order.
///
/// # Panics
/// If a slice is too short.
pub fn max_pool_grad<T: Pooled>(window: &Window, input: &[T], out_backprop: &[T], input_backprop: &mut [T]) {
    let w = window;
    check(w, input.len().min(input_backprop.len()), out_backprop.len());
    let image_len = w.in_height * w.in_width * w.channels;
    let one_image = |image: usize, to: &mut [T]| {
        to.fill(T::ZERO);
        let row_len = w.out_width * w.channels;
        for y in 0..w.out_height {
            let gradients = &out_backprop[(image * w.out_height + y) * row_len..][..row_len];
            add_row_to_maxima(w, y, &input[image * image_len..][..image_len], gradients, to);
        }
    };
    for_each_row(w.batch, image_len, w.work(2 * w.channels), input_backprop, one_image);
}

/// Overwrites `input_backprop` with the gradient of [`avg_pool`]: each window's gradient is spread evenly over its elements inside the image.
///
/// # Panics
/// If a slice is too short.
pub fn avg_pool_grad<T: Pooled>(window: &Window, out_backprop: &[T], input_backprop: &mut [T]) {
    let w = window;
    check(w, input_backprop.len(), out_backprop.len());
    let image_len = w.in_height * w.in_width * w.channels;
    let one_image = |image: usize, to: &mut [T]| {
        let windows = w.out_height * w.out_width * w.channels;
        let mut shares = out_backprop[image * windows..][..windows].to_vec();
        for (i, share) in shares.chunks_exact_mut(w.channels).enumerate() {
            let (y, x) = (i / w.out_width, i % w.out_width);
            divide_all(share, (w.rows_inside(y).len() * w.columns_inside(x).len()).max(1));
        }
        for (y, to) in to.chunks_exact_mut(w.in_width * w.channels).enumerate() {
            add_shares_to_row(w, y, &shares, to);
        }
    };
    for_each_row(w.batch, image_len, w.work(2 * w.channels), input_backprop, one_image);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_of_averages_is_spread_over_the_windows() {
        for (height, width, channels, kernel, stride, dilation, pad) in [
            (7, 6, 43, (3, 3), 1, 1, 1),
            (9, 8, 3, (3, 2), 2, 1, 0),
            (8, 9, 9, (2, 2), 3, 1, 0),
            (11, 10, 2, (3, 2), 2, 3, 2),
            (5, 4, 1, (5, 4), 1, 1, 3),
        ] {
            let reach = |taps: usize| (taps - 1) * dilation + 1;
            let count = |size: usize, taps: usize| (size + 2 * pad - reach(taps)) / stride + 1;
            let w = Window {
                batch: 2,
                in_height: height,
                in_width: width,
                channels,
                height: kernel.0,
                width: kernel.1,
                stride_height: stride,
                stride_width: stride,
                dilation_height: dilation,
                dilation_width: dilation,
                pad_top: pad,
                pad_left: pad,
                out_height: count(height, kernel.0),
                out_width: count(width, kernel.1),
            };
            let gradient: Vec<f32> = (0..w.positions() * channels).map(|i| 1.0 / (i as f32 + 1.0)).collect();
            let mut want = vec![0.0f32; 2 * height * width * channels];
            for (at, share) in gradient.chunks_exact(channels).enumerate() {
                let (x, y, image) = (at % w.out_width, at / w.out_width % w.out_height, at / w.out_width / w.out_height);
                let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
                let taps = rows.len() * columns.len();
                for (i, j) in rows.flat_map(|i| columns.clone().map(move |j| (i, j))) {
                    let to = (image * height + w.input_row(y, i)) * width + w.input_column(x, j);
                    want[to * channels..][..channels].iter_mut().zip(share).for_each(|(to, share)| *to += share / taps as f32);
                }
            }
            let mut got = vec![f32::NAN; want.len()];
            avg_pool_grad(&w, &gradient, &mut got);
            assert_eq!(got, want, "{w:?}");
        }
    }
}
