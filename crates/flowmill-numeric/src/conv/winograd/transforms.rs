//! The loops that transform tiles of images, and products back into tiles of outputs.

use super::tiling::{MAX_IN, MAX_OUT, Tiling};
use super::{Convolution, Place};
use crate::simd::for_each_isa;
use crate::simd::vector::Vector;
use std::ops::Range;

for_each_isa! {
    /// Transforms the pixels under some tiles. Element `e` of tile `t` goes to row `t` of matrix `e` of `to`, whose columns are the channels.
    pub(super) unsafe fn transform_inputs<T: Tiling>(convolution: &Convolution<'_, T>, tiles: Range<usize>, to: *mut f32)
        = inputs_with::<f32, T>;
}

for_each_isa! {
    /// Writes the outputs of some tiles. Row `t` of matrix `e` of `from` has the products that belong to element `e` of tile `t`.
    pub(super) unsafe fn transform_products<T: Tiling>(convolution: &Convolution<'_, T>, tiles: Range<usize>, from: *const f32)
        = products_with::<f32, T>;
}

/// # Safety
/// The CPU has V's instruction set; `to` is writable for `T::IN²` matrices of as many rows as tiles and as many columns as input channels.
#[inline(always)]
unsafe fn inputs_with<V: Vector<Elem = f32>, T: Tiling>(convolution: &Convolution<'_, T>, tiles: Range<usize>, to: *mut f32) {
    let channels = convolution.window.channels;
    let matrix = tiles.len() * channels;
    for (row, tile) in tiles.enumerate() {
        let pixels = convolution.pixels(convolution.place(tile));
        for c in (0..channels).step_by(V::LANES) {
            let lanes = V::LANES.min(channels - c);
            // SAFETY: each pixel has `channels` elements, and `to` has as many for each row of each matrix.
            unsafe {
                let mut down = [[V::zero(); MAX_IN]; MAX_IN];
                for (j, column) in down.iter_mut().enumerate().take(T::IN) {
                    let mut x = [V::zero(); MAX_IN];
                    for (i, x) in x.iter_mut().enumerate().take(T::IN) {
                        *x = load(pixels[i][j].add(c), lanes);
                    }
                    *column = T::input(x);
                }
                for i in 0..T::IN {
                    let mut x = [V::zero(); MAX_IN];
                    for (x, column) in x.iter_mut().zip(&down).take(T::IN) {
                        *x = column[i];
                    }
                    let x = T::input(x);
                    for (j, x) in x.iter().enumerate().take(T::IN) {
                        store(*x, to.add((i * T::IN + j) * matrix + row * channels + c), lanes);
                    }
                }
            }
        }
    }
}

/// # Safety
/// The CPU has V's instruction set; `from` is readable for `T::IN²` matrices of as many rows as tiles and as many columns as output channels; the
/// outputs of the tiles are not otherwise used.
#[inline(always)]
unsafe fn products_with<V: Vector<Elem = f32>, T: Tiling>(convolution: &Convolution<'_, T>, tiles: Range<usize>, from: *const f32) {
    let (window, channels) = (convolution.window, convolution.out_channels);
    let matrix = tiles.len() * channels;
    for (row, tile) in tiles.enumerate() {
        let Place { image, y, x } = convolution.place(tile);
        let (height, width) = (T::OUT.min(window.out_height - y), T::OUT.min(window.out_width - x));
        let position = |i: usize, j: usize| (image * window.out_height + y + i) * window.out_width + x + j;
        for c in (0..channels).step_by(V::LANES) {
            let lanes = V::LANES.min(channels - c);
            // SAFETY: each row of `from` and each position of the output has `channels` elements.
            unsafe {
                let mut down = [[V::zero(); MAX_OUT]; MAX_IN];
                for (j, column) in down.iter_mut().enumerate().take(T::IN) {
                    let mut products = [V::zero(); MAX_IN];
                    for (i, product) in products.iter_mut().enumerate().take(T::IN) {
                        *product = load(from.add((i * T::IN + j) * matrix + row * channels + c), lanes);
                    }
                    *column = T::output(products);
                }
                for i in 0..height {
                    let mut products = [V::zero(); MAX_IN];
                    for (product, column) in products.iter_mut().zip(&down).take(T::IN) {
                        *product = column[i];
                    }
                    let outputs = T::output(products);
                    for (j, output) in outputs.iter().enumerate().take(width) {
                        let at = position(i, j);
                        let output = convolution.finished(*output, at, c, lanes);
                        store(output, convolution.output.add(at * channels + c), lanes);
                    }
                }
            }
        }
        if convolution.epilogue.activation.needs_pass() {
            for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                // SAFETY: these are outputs of the tile, written above.
                let output = unsafe { std::slice::from_raw_parts_mut(convolution.output.add(position(i, j) * channels), channels) };
                convolution.epilogue.activation.apply(output);
            }
        }
    }
}

impl<T: Tiling> Convolution<'_, T> {
    /// Returns the pixels under a tile; those of the padding are zeros.
    #[inline(always)]
    fn pixels(&self, Place { image, y, x }: Place) -> [[*const f32; MAX_IN]; MAX_IN] {
        let window = self.window;
        let mut pixels = [[self.zeros.as_ptr(); MAX_IN]; MAX_IN];
        for (i, row) in pixels.iter_mut().enumerate().take(T::IN) {
            let Some(y) = (y + i).checked_sub(window.pad_top).filter(|&y| y < window.in_height) else { continue };
            for (j, pixel) in row.iter_mut().enumerate().take(T::IN) {
                let Some(x) = (x + j).checked_sub(window.pad_left).filter(|&x| x < window.in_width) else { continue };
                *pixel = self.input[((image * window.in_height + y) * window.in_width + x) * window.channels..].as_ptr();
            }
        }
        pixels
    }

    /// Applies the part of the epilogue that is done in registers, for `lanes` channels from `c` of a position of the output.
    ///
    /// # Safety
    /// The CPU has V's instruction set; the position and the channels exist.
    #[inline(always)]
    unsafe fn finished<V: Vector<Elem = f32>>(&self, mut output: V, position: usize, c: usize, lanes: usize) -> V {
        // SAFETY: the epilogue's operands were checked to have the shape of the output.
        unsafe {
            if self.epilogue.accumulate {
                output = output.add(load(self.output.add(position * self.out_channels + c), lanes));
            }
            let Some(finish) = self.finish else { return output };
            if !finish.bias.is_null() {
                output = output.add(load(finish.bias.add(c), lanes));
            }
            if !finish.residual.is_null() {
                output = output.add(load(finish.residual.add(position * finish.ld_residual + c), lanes));
            }
            if let Some(low) = finish.low {
                output = V::splat(low).max(output);
            }
            if let Some(high) = finish.high {
                output = V::splat(high).min(output);
            }
            output
        }
    }
}

/// Returns the first `lanes` elements at `from`.
///
/// # Safety
/// The CPU has V's instruction set; the elements are readable.
#[inline(always)]
unsafe fn load<V: Vector<Elem = f32>>(from: *const f32, lanes: usize) -> V {
    // SAFETY: the caller guarantees it.
    unsafe { if lanes == V::LANES { V::load(from) } else { V::load_part(from, lanes) } }
}

/// Stores the first `lanes` elements of `x` at `to`.
///
/// # Safety
/// The CPU has V's instruction set; the elements are writable.
#[inline(always)]
unsafe fn store<V: Vector<Elem = f32>>(x: V, to: *mut f32, lanes: usize) {
    // SAFETY: the caller guarantees it.
    unsafe { if lanes == V::LANES { x.store(to) } else { x.store_part(to, lanes) } }
}
