//! Convolutions and matrix products over integers.

use super::panels::Panels;
#[cfg(target_arch = "x86_64")]
use super::quads::Quads;
use super::{Rescale, Rescaled, for_row_blocks};
use crate::gemm::{MatrixRef, PackedBytes, gemm_bytes, with_scratch};
use crate::simd::{Isa, isa};
use crate::window::Window;

/// A filter `[height, width, in_channels, out_channels]` of integers from -255 to 255, packed once.
#[derive(Clone, Debug)]
pub struct IntegerFilter {
    matrix: Matrix,
    height: usize,
    width: usize,
}

/// A filter as a matrix of a row per input and a column per output.
#[derive(Clone, Debug)]
enum Matrix {
    /// For long sums on CPUs that multiply matrices of bytes: sums are stored before they are rescaled.
    Bytes {
        matrix: PackedBytes,
        zero: u8,
    },
    /// For CPUs that multiply vectors of bytes.
    #[cfg(target_arch = "x86_64")]
    Quads(Quads),
    Panels(Panels),
}

impl Matrix {
    fn zero(&self) -> u8 {
        match self {
            Matrix::Bytes { zero, .. } => *zero,
            #[cfg(target_arch = "x86_64")]
            Matrix::Quads(matrix) => matrix.zero(),
            Matrix::Panels(matrix) => matrix.zero(),
        }
    }

    /// Returns the numbers of inputs and of outputs.
    fn sizes(&self) -> (usize, usize) {
        match self {
            Matrix::Bytes { matrix, .. } => (matrix.k(), matrix.n()),
            #[cfg(target_arch = "x86_64")]
            Matrix::Quads(matrix) => matrix.sizes(),
            Matrix::Panels(matrix) => (matrix.k(), matrix.n()),
        }
    }

    /// Computes `rescale((A[m, k] - zero) B[k, n])` with dense A and result.
    fn multiply<O: Rescaled>(&self, isa: Isa, m: usize, a: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        match self {
            Matrix::Panels(matrix) => matrix.multiply(isa, m, a, finish, out),
            // SAFETY: filters are packed so only if the CPU has the instructions.
            #[cfg(target_arch = "x86_64")]
            Matrix::Quads(matrix) => unsafe { matrix.multiply(m, a, finish, out) },
            Matrix::Bytes { matrix, zero } => with_scratch(m * matrix.n(), |sums: &mut [i32]| {
                gemm_bytes(m, MatrixRef { data: a, ld: matrix.k(), transposed: false }, i32::from(*zero), matrix, sums);
                O::rescale(isa, out, sums, finish);
            }),
        }
    }
}

/// A form of the weights of a filter, which decides the instructions that multiply them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// Integers of 16 bits.
    Words,
    /// Bytes with signs, for vectors.
    Vectors,
    /// Bytes with signs, for the tile registers of AMX.
    Tiles,
}

impl Packing {
    /// Returns the forms in which this process can multiply sums of `k` weights, the fastest one last.
    pub(super) fn possible(weights: &[i16], k: usize) -> Vec<Packing> {
        let mut possible = vec![Packing::Words];
        if multiplies_bytes() && weights.iter().all(|&weight| i8::try_from(weight).is_ok()) {
            possible.push(Packing::Vectors);
            possible.extend(PackedBytes::uses_amx(k).then_some(Packing::Tiles));
        }
        possible
    }
}

/// Returns true if this process has instructions that multiply bytes and add up exactly. The instruction of AVX2 saturates.
pub(super) fn multiplies_bytes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return isa() == Isa::Avx512 && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

impl IntegerFilter {
    /// Packs a filter for images in which the byte `zero` means zero.
    ///
    /// # Panics
    /// If there are fewer weights than the sizes say.
    pub fn pack(weights: &[i16], [height, width, inputs, outputs]: [usize; 4], zero: u8) -> Self {
        let packing = Packing::possible(weights, height * width * inputs).pop();
        Self::pack_as(weights, [height, width, inputs, outputs], zero, packing.unwrap_or(Packing::Words))
    }

    /// Packs a filter in a way that is possible.
    pub(super) fn pack_as(weights: &[i16], [height, width, inputs, outputs]: [usize; 4], zero: u8, packing: Packing) -> Self {
        let k = height * width * inputs;
        let bytes = || -> Vec<i8> { weights.iter().map(|&weight| weight as i8).collect() };
        let matrix = match packing {
            Packing::Tiles => {
                let matrix = MatrixRef { data: &bytes()[..], ld: outputs, transposed: false };
                Matrix::Bytes { matrix: PackedBytes::pack_signed(matrix, k, outputs, 0), zero }
            }
            #[cfg(target_arch = "x86_64")]
            Packing::Vectors => {
                assert!(multiplies_bytes());
                Matrix::Quads(Quads::pack(&bytes(), k, outputs, zero))
            }
            _ => Matrix::Panels(Panels::pack(weights, k, outputs, zero)),
        };
        Self { matrix, height, width }
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
        self.apply_with(isa(), window, input, finish, out);
    }

    pub(super) fn apply_with<O: Rescaled>(&self, isa: Isa, window: &Window, input: &[u8], finish: &Rescale<'_>, out: &mut [O]) {
        let (k, n) = self.matrix.sizes();
        window.check(input.len());
        assert!((window.height, window.width) == (self.height, self.width) && self.height * self.width * window.channels == k);
        finish.check(n, size_of::<O>() == 1);
        let out = &mut out[..window.positions() * n];
        if out.is_empty() {
            return;
        }
        let is_plain = (self.height, self.width, window.stride_height, window.stride_width) == (1, 1, 1, 1)
            && (window.out_height, window.out_width) == (window.in_height, window.in_width);
        for_row_blocks(out, n, k + 4 * n, nanoseconds(window.positions(), k, n), |first, out| {
            let rows = out.len() / n;
            if is_plain {
                return self.matrix.multiply(isa, rows, &input[first * k..], finish, out);
            }
            with_scratch(rows * k, |patches: &mut [u8]| {
                copy_patches(window, input, first, self.matrix.zero(), k, patches);
                self.matrix.multiply(isa, rows, patches, finish, out);
            });
        });
    }
}

/// Returns the time of a product on one thread, from about 50 multiply-adds per nanosecond.
fn nanoseconds(m: usize, k: usize, n: usize) -> usize {
    m.saturating_mul(k).saturating_mul(n) / 50
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
