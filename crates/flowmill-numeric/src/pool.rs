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

/// Channels that are reduced at a time.
const CHANNELS: usize = 32;

crate::dispatch! {
    /// Computes one row of the output: for each position, `step` folded over the window's elements inside the image, beginning with `start`.
    fn pool_row<T, S>(w: &Window, row: usize, input: &[T], output: &mut [T], start: T, step: S)
    where [T: Pooled, S: Fn(T, T) -> T] {
        let (image, y) = (row / w.out_height, row % w.out_height);
        let rows = w.rows_inside(y);
        for (x, output) in output.chunks_exact_mut(w.channels).enumerate() {
            let columns = w.columns_inside(x);
            // Process a few channels at a time, so that they stay in registers for the whole window.
            for c in (0..w.channels).step_by(CHANNELS) {
                let mut folded = [start; CHANNELS];
                let count = CHANNELS.min(w.channels - c);
                for i in rows.clone() {
                    let first = (image * w.in_height + w.input_row(y, i)) * w.in_width;
                    for j in columns.clone() {
                        let from = &input[(first + w.input_column(x, j)) * w.channels + c..][..count];
                        if let Ok(from) = <&[T; CHANNELS]>::try_from(from) {
                            for l in 0..CHANNELS {
                                folded[l] = step(folded[l], from[l]);
                            }
                        } else {
                            for (o, f) in folded.iter_mut().zip(from) {
                                *o = step(*o, *f);
                            }
                        }
                    }
                }
                output[c..c + count].copy_from_slice(&folded[..count]);
            }
        }
    }

    /// Computes `to[c] += from[c]`.
    fn add_all<T>(to: &mut [T], from: &[T]) where [T: Pooled] {
        for (t, f) in to.iter_mut().zip(from) {
            *t += *f;
        }
    }

    fn divide_all<T>(to: &mut [T], count: usize) where [T: Pooled] {
        for t in to {
            *t = t.divide(count);
        }
    }

    /// For each `c` with `from[c] > best[c]`, stores that value in `best` and `position` in `at`.
    fn keep_maxima_at<T>(best: &mut [T], at: &mut [u32], from: &[T], position: u32) where [T: Pooled] {
        for ((b, a), f) in best.iter_mut().zip(at).zip(from) {
            let higher = *f > *b;
            *b = if higher { *f } else { *b };
            *a = if higher { position } else { *a };
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
        pool_row(w, row, input, output, T::LOWEST, |t: T, f: T| if f > t { f } else { t });
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
        pool_row(w, row, input, output, T::ZERO, add);
        let rows = w.rows_inside(row % w.out_height).len();
        for (x, output) in output.chunks_exact_mut(w.channels).enumerate() {
            divide_all(output, (rows * w.columns_inside(x).len()).max(1));
        }
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
        let (mut best, mut at) = (vec![T::LOWEST; w.channels], vec![0u32; w.channels]);
        for (y, x) in (0..w.out_height).flat_map(|y| (0..w.out_width).map(move |x| (y, x))) {
            best.fill(T::LOWEST);
            at.fill(u32::MAX);
            let columns = w.columns_inside(x);
            for i in w.rows_inside(y) {
                for j in columns.clone() {
                    let position = w.input_row(y, i) * w.in_width + w.input_column(x, j);
                    let from = &input[image * image_len + position * w.channels..][..w.channels];
                    let tap = (i * w.width + j) as u32;
                    keep_maxima_at(&mut best, &mut at, from, tap);
                }
            }
            let gradient = ((image * w.out_height + y) * w.out_width + x) * w.channels;
            let gradients = &out_backprop[gradient..][..w.channels];
            for (c, (tap, gradient)) in at.iter().zip(gradients).enumerate() {
                // A window whose elements are all NaN or the lowest value has no maximum, so its gradient is dropped.
                if *tap != u32::MAX {
                    let (i, j) = (*tap as usize / w.width, *tap as usize % w.width);
                    let position = w.input_row(y, i) * w.in_width + w.input_column(x, j);
                    to[position * w.channels + c] += *gradient;
                }
            }
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
        to.fill(T::ZERO);
        let mut share = vec![T::ZERO; w.channels];
        for (y, x) in (0..w.out_height).flat_map(|y| (0..w.out_width).map(move |x| (y, x))) {
            let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
            let gradient = ((image * w.out_height + y) * w.out_width + x) * w.channels;
            share.copy_from_slice(&out_backprop[gradient..][..w.channels]);
            divide_all(&mut share, (rows.len() * columns.len()).max(1));
            for i in rows {
                for j in columns.clone() {
                    let position = w.input_row(y, i) * w.in_width + w.input_column(x, j);
                    add_all(&mut to[position * w.channels..][..w.channels], &share);
                }
            }
        }
    };
    for_each_row(w.batch, image_len, w.work(2 * w.channels), input_backprop, one_image);
}
