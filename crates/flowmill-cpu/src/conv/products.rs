//! Convolutions of `float64` and their gradients, as products of matrices whose rows are patches of the input, a few rows at a time.

use crate::gemm::{MatrixRef, gemm};
use crate::parallel;
use flowmill_numeric::window::Volume;

/// The number of elements of patches that are held at a time.
const PATCH_ELEMENTS: usize = 1 << 17;
/// The number of elements that one task copies.
const CHUNK: usize = 1 << 13;

/// Returns the number of elements of a patch, and the number of patches that are held at a time.
fn patch_sizes(volume: &Volume) -> (usize, usize) {
    let width = volume.taps() * volume.channels;
    (width, (PATCH_ELEMENTS / width.max(1)).clamp(1, volume.positions().max(1)))
}

/// Calls `f(first, count, patches)` for all positions, a few at a time. A patch is a row, with zeros outside of the input.
fn for_patches(volume: &Volume, input: &[f64], mut f: impl FnMut(usize, usize, &[f64])) {
    let channels = volume.channels;
    let (width, each) = patch_sizes(volume);
    let positions = volume.positions();
    let mut patches = vec![0.0; each * width];
    for first in (0..positions).step_by(each) {
        let count = each.min(positions - first);
        let rows = (CHUNK / width).max(1);
        parallel::chunks(&mut patches[..count * width], rows * width, |i, chunk| {
            for (row, patch) in chunk.chunks_exact_mut(width).enumerate() {
                patch.fill(0.0);
                volume.for_each_tap(first + i * rows + row, |tap, pixel| {
                    patch[tap * channels..][..channels].copy_from_slice(&input[pixel * channels..][..channels]);
                });
            }
        });
        f(first, count, &patches[..count * width]);
    }
}

/// Computes the convolution of `input` with a filter `[taps, channels, n]` into zeros, `[positions, n]`.
pub(super) fn convolve(volume: &Volume, n: usize, input: &[f64], filter: &[f64], output: &mut [f64]) {
    let (width, _) = patch_sizes(volume);
    if output.is_empty() || width == 0 {
        return;
    }
    let filter = MatrixRef { data: filter, ld: n, transposed: false };
    for_patches(volume, input, |first, count, patches| {
        let patches = MatrixRef { data: patches, ld: width, transposed: false };
        gemm(count, width, n, patches, filter, &mut output[first * n..][..count * n], n, false);
    });
}

/// Adds the gradient with respect to the filter, `[taps, channels, n]`, to `output`. `gradient` is `[positions, n]`.
pub(super) fn filter_gradient(volume: &Volume, n: usize, input: &[f64], gradient: &[f64], output: &mut [f64]) {
    let (width, _) = patch_sizes(volume);
    if output.is_empty() {
        return;
    }
    for_patches(volume, input, |first, count, patches| {
        let patches = MatrixRef { data: patches, ld: width, transposed: true };
        let gradient = MatrixRef { data: &gradient[first * n..][..count * n], ld: n, transposed: false };
        gemm(width, count, n, patches, gradient, output, n, true);
    });
}

/// Adds the gradient with respect to the input to `output`. `filter` is `[taps, channels, n]` and `gradient` `[positions, n]`.
pub(super) fn input_gradient(volume: &Volume, n: usize, filter: &[f64], gradient: &[f64], output: &mut [f64]) {
    let channels = volume.channels;
    let (width, each) = patch_sizes(volume);
    if output.is_empty() || width == 0 || n == 0 {
        return;
    }
    let filter = MatrixRef { data: filter, ld: n, transposed: true };
    let positions = volume.positions();
    let mut patches = vec![0.0; each * width];
    for first in (0..positions).step_by(each) {
        let count = each.min(positions - first);
        let gradient = MatrixRef { data: &gradient[first * n..][..count * n], ld: n, transposed: false };
        gemm(count, n, width, gradient, filter, &mut patches[..count * width], width, false);
        for (row, patch) in patches[..count * width].chunks_exact(width).enumerate() {
            volume.for_each_tap(first + row, |tap, pixel| {
                let from = &patch[tap * channels..][..channels];
                output[pixel * channels..][..channels].iter_mut().zip(from).for_each(|(sum, &x)| *sum += x);
            });
        }
    }
}
