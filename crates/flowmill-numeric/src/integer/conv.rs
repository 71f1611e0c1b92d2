//! Convolutions and matrix products over integers.

use super::{Rescale, Rescaled, for_row_blocks};
use crate::gemm::{PackedIntegers, with_scratch};
use crate::simd::isa;
use crate::window::Window;

/// A filter `[height, width, in_channels, out_channels]` of integers from -255 to 255, packed once.
#[derive(Clone, Debug)]
pub struct IntegerFilter {
    matrix: PackedIntegers,
    height: usize,
    width: usize,
}

impl IntegerFilter {
    /// Packs a filter for images in which the byte `zero` means zero.
    ///
    /// # Panics
    /// If there are fewer weights than the sizes say.
    pub fn pack(weights: &[i16], [height, width, inputs, outputs]: [usize; 4], zero: u8) -> Self {
        Self { matrix: PackedIntegers::pack(weights, height * width * inputs, outputs, zero), height, width }
    }

    /// Returns true if the filter was packed for images in which `zero` means zero.
    pub fn is_for(&self, zero: u8) -> bool {
        self.matrix.zero() == zero
    }

    /// Convolves images, and rescales the sums. Positions outside of an image are zeros.
    ///
    /// # Panics
    /// If a slice is too short for its shape, or the window is not that of the filter.
    pub fn apply<O: Rescaled>(&self, window: &Window, input: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        let (k, n) = (self.matrix.k(), self.matrix.n());
        window.check(input.len());
        assert!((window.height, window.width) == (self.height, self.width) && self.height * self.width * window.channels == k);
        let is_plain = (self.height, self.width, window.stride_height, window.stride_width) == (1, 1, 1, 1);
        if is_plain && (window.out_height, window.out_width) == (window.in_height, window.in_width) {
            return multiply(window.positions(), input, &self.matrix, finish, out);
        }
        finish.check(n, size_of::<O>() == 1);
        let out = &mut out[..window.positions() * n];
        if out.is_empty() {
            return;
        }
        for_row_blocks(out, n, k + 4 * n, nanoseconds(window.positions(), k, n), |first, out| {
            let rows = out.len() / n;
            with_scratch(rows * k, |patches: &mut [u8]| {
                copy_patches(window, input, first, self.matrix.zero(), k, patches);
                with_scratch(rows * n, |sums: &mut [i32]| {
                    self.matrix.multiply(rows, patches, k, sums);
                    O::rescale(isa(), out, sums, finish);
                });
            });
        });
    }
}

/// Returns the time of a product on one thread, from about 50 multiply-adds per nanosecond.
fn nanoseconds(m: usize, k: usize, n: usize) -> usize {
    m.saturating_mul(k).saturating_mul(n) / 50
}

/// Computes `rescale((A[m, k] - zero) B[k, n])` with dense A and result.
///
/// # Panics
/// If a slice is too short for its shape.
fn multiply<O: Rescaled>(m: usize, a: &[u8], b: &PackedIntegers, finish: &Rescale<'_>, out: &mut [O]) {
    let (k, n) = (b.k(), b.n());
    finish.check(n, size_of::<O>() == 1);
    let out = &mut out[..m * n];
    if out.is_empty() {
        return;
    }
    for_row_blocks(out, n, k + 4 * n, nanoseconds(m, k, n), |first, out| {
        let rows = out.len() / n;
        with_scratch(rows * n, |sums: &mut [i32]| {
            b.multiply(rows, &a[first * k..], k, sums);
            O::rescale(isa(), out, sums, finish);
        });
    });
}

/// Copies the patches under the windows from position `first` on, each of `len` bytes. Bytes outside of the image are `zero`.
fn copy_patches(window: &Window, input: &[u8], first: usize, zero: u8, len: usize, patches: &mut [u8]) {
    let depth = window.channels;
    let row_len = window.width * depth;
    let (mut x, mut y, mut image) =
        (first % window.out_width, first / window.out_width % window.out_height, first / window.out_width / window.out_height);
    for patch in patches.chunks_exact_mut(len.max(1)) {
        let (rows, columns) = (window.rows_inside(y), window.columns_inside(x));
        if rows.len() < window.height || columns.len() < window.width {
            patch.fill(zero);
        }
        for i in rows {
            let pixels = &input[(image * window.in_height + window.input_row(y, i)) * window.in_width * depth..][..window.in_width * depth];
            let to = &mut patch[i * row_len..][..row_len];
            if window.dilation_width == 1 && !columns.is_empty() {
                let from = window.input_column(x, columns.start) * depth;
                let bytes = columns.len() * depth;
                to[columns.start * depth..][..bytes].copy_from_slice(&pixels[from..][..bytes]);
            } else {
                for j in columns.clone() {
                    to[j * depth..][..depth].copy_from_slice(&pixels[window.input_column(x, j) * depth..][..depth]);
                }
            }
        }
        x += 1;
        if x == window.out_width {
            (x, y) = (0, y + 1);
            if y == window.out_height {
                (y, image) = (0, image + 1);
            }
        }
    }
}
