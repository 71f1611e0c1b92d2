//! The gradient of a convolution's filter.
//!
//! It is a matrix product: its rows are the elements of a patch, its columns the output channels, and its steps the output positions. An element of a
//! patch moves by a constant distance from position to position of an output row, so that the images, with their padding, are read in place.

use super::backprop::check;
use super::padding::{copy_rows, is_inside, padded};
use crate::gemm::{Destination, DirectTile, Operand, Segment, Segments, with_scratch};
use crate::parallel;
use crate::simd::isa;
use crate::window::Window;
use std::ops::Range;

/// Elements of padded images that are multiplied at a time: a part of a core's L2 cache.
const BAND_ELEMENTS: usize = 1 << 16;
/// The number of tiles from which they are enough for many threads. If there are fewer, groups of images are summed apart.
const MANY_TILES: usize = 16;
/// The most groups of images that are summed apart.
const MAX_PARTS: usize = 8;

/// Overwrites the HWIO `filter_backprop` with the gradient of the filter, from the input and `out_backprop` `[batch, out_height, out_width, out_channels]`.
///
/// # Panics
/// If a slice is too short, or `groups` does not divide the channels.
pub fn conv2d_backprop_filter(
    window: &Window,
    input: &[f32],
    out_channels: usize,
    groups: usize,
    out_backprop: &[f32],
    filter_backprop: &mut [f32],
) {
    window.check(input.len());
    let (k, n) = check(window, out_channels, groups, filter_backprop.len(), out_backprop.len());
    let len = k * out_channels;
    let filter_backprop = &mut filter_backprop[..len];
    filter_backprop.fill(0.0);
    if len == 0 || window.positions() == 0 {
        return;
    }
    let product = Product { window, input, out_backprop, out_channels, padded: if is_inside(window) { *window } else { padded(window) } };
    let kernels = &f32::kernels(isa()).0;
    let row_tiles = k.div_ceil(kernels.max_rows());
    let column_tiles = n.div_ceil(kernels.panel_width());
    // The number of parts depends on the sizes alone, so that sums are formed in the same order on any number of threads.
    let is_small = groups * row_tiles * column_tiles < MANY_TILES && window.work(out_channels) > MANY_TILES * BAND_ELEMENTS;
    let parts = if is_small { window.batch.min(MAX_PARTS) } else { 1 };
    let tiles = groups * row_tiles * column_tiles;
    let tile = |at: usize| {
        let (rest, column) = (at / column_tiles, at % column_tiles * kernels.panel_width());
        let rows = parallel::piece(k, row_tiles, rest % row_tiles);
        Tile { group: rest / row_tiles, rows, column, columns: (n - column).min(kernels.panel_width()), n }
    };
    if parts == 1 {
        let to = SharedSums(filter_backprop.as_mut_ptr());
        let forks = parallel::is_worth_forking(window.work(out_channels).saturating_mul(window.channels / groups) / 50);
        let pieces = if forks { parallel::threads().min(tiles) } else { 1 };
        parallel::run(pieces, |piece| {
            let tiles = parallel::piece(tiles, pieces, piece).map(tile);
            // SAFETY: the tiles of all pieces are different, and lie within the gradient, which is borrowed exclusively.
            unsafe { product.add(0..window.batch, tiles, to.get()) };
        });
        return;
    }
    with_scratch(parts * len, |sums: &mut [f32]| {
        sums.fill(0.0);
        parallel::chunks(sums, len, |part, sums| {
            // SAFETY: the sums of a part are borrowed exclusively, and have the size of the gradient.
            unsafe { product.add(parallel::piece(window.batch, parts, part), (0..tiles).map(tile), sums.as_mut_ptr()) };
        });
        for sums in sums.chunks_exact(len) {
            add_all(filter_backprop, sums);
        }
    });
}

crate::dispatch! {
    fn add_all(to: &mut [f32], from: &[f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += from;
        }
    }
}

/// A pointer to sums of which several threads write different ones.
struct SharedSums(*mut f32);

// SAFETY: the pointer is only handed on; whoever writes through it guarantees that nobody else writes the same elements.
unsafe impl Sync for SharedSums {}

impl SharedSums {
    fn get(&self) -> *mut f32 {
        self.0
    }
}

/// A part of the gradient: some elements of patches, by some output channels of a group.
struct Tile {
    group: usize,
    rows: Range<usize>,
    column: usize,
    columns: usize,
    /// The number of output channels of a group.
    n: usize,
}

struct Product<'a> {
    window: &'a Window,
    input: &'a [f32],
    out_backprop: &'a [f32],
    out_channels: usize,
    /// The window over images that are read: the images themselves, or padded ones.
    padded: Window,
}

impl Product<'_> {
    /// Adds the gradients of some images to the tiles of `sums`.
    ///
    /// # Safety
    /// `sums` is as large as the filter, and nobody else uses its elements in these tiles.
    unsafe fn add(&self, images: Range<usize>, tiles: impl Iterator<Item = Tile> + Clone, sums: *mut f32) {
        let w = self.window;
        // Output rows that are computed together: of several images, or a part of one.
        let row_len = self.padded.in_width * w.channels;
        let reach = (w.height - 1) * w.dilation_height + 1;
        let rows_at_once = ((BAND_ELEMENTS / row_len).saturating_sub(reach) / w.stride_height + 1).clamp(1, w.out_height);
        let band_rows = (rows_at_once - 1) * w.stride_height + reach;
        let is_copied = !is_inside(w);
        let bands_at_once =
            if rows_at_once < w.out_height { 1 } else { (BAND_ELEMENTS / (band_rows * row_len)).clamp(1, images.len().max(1)) };
        let scratch = if is_copied { bands_at_once * band_rows * row_len } else { 0 };
        with_scratch(scratch, |copies: &mut [f32]| {
            let mut image = images.start;
            while image < images.end {
                let count = bands_at_once.min(images.end - image);
                for y in (0..w.out_height).step_by(rows_at_once) {
                    let rows = rows_at_once.min(w.out_height - y);
                    let mut segments = Segments::new();
                    for band in 0..count {
                        let first = if is_copied {
                            let copy = &mut copies[band * band_rows * row_len..][..band_rows * row_len];
                            copy_rows(w, &self.padded, image + band, y * w.stride_height, self.input, copy);
                            band * band_rows * row_len
                        } else {
                            ((image + band) * w.in_height + y * w.stride_height) * row_len
                        };
                        segments.extend((0..rows).map(|row| Segment {
                            a: first + row * w.stride_height * row_len,
                            b: (band * w.out_height + row) * w.out_width,
                            len: w.out_width,
                        }));
                    }
                    let images = if is_copied { &*copies } else { self.input };
                    let gradient = &self.out_backprop[(image * w.out_height + y) * w.out_width * self.out_channels..];
                    for tile in tiles.clone() {
                        // SAFETY: the caller guarantees it.
                        unsafe { self.tile(images, &segments, gradient, &tile, sums) };
                    }
                }
                image += count;
            }
        });
    }

    /// Adds the products of one tile.
    ///
    /// # Safety
    /// `sums` is as large as the filter, and nobody else uses its elements in the tile.
    unsafe fn tile(&self, images: &[f32], segments: &Segments, gradient: &[f32], tile: &Tile, sums: *mut f32) {
        let w = self.window;
        let kernels = &f32::kernels(isa()).0;
        let channels = w.channels / (self.out_channels / tile.n);
        let place = |row: usize| {
            let (tap, channel) = (row / channels, row % channels);
            let position = tap / w.width * w.dilation_height * self.padded.in_width + tap % w.width * w.dilation_width;
            position * w.channels + tile.group * channels + channel
        };
        let places: smallvec::SmallVec<[usize; 16]> = tile.rows.clone().map(place).collect();
        let column = tile.group * tile.n + tile.column;
        let gradient = &gradient[column..];
        let vectors = tile.columns.div_ceil(kernels.lanes);
        // SAFETY: the tile lies within the filter.
        let c = unsafe { sums.add(tile.rows.start * self.out_channels + column) };
        let call = |b: *const f32, ldb: usize| {
            // SAFETY: all elements of patches that the segments name lie within `images`; the tile of C belongs to the caller; B has whole vectors.
            unsafe {
                kernels.direct(places.len(), vectors)(&DirectTile {
                    segments,
                    a: images.as_ptr(),
                    rows: &places,
                    step: w.stride_width * w.channels,
                    b,
                    ldb,
                    to: Destination { c, ldc: self.out_channels, cols: tile.columns, load: true, finish: None },
                    ahead: 0,
                });
            }
        };
        let last = segments.last().map_or(0, |s| s.b + s.len);
        let width = vectors * kernels.lanes;
        if width == tile.columns || gradient.len() >= (last - 1) * self.out_channels + width {
            call(gradient.as_ptr(), self.out_channels);
        } else {
            // The last vector of the last row would reach past the end.
            with_scratch(last * width, |copy: &mut [f32]| {
                for (row, to) in copy.chunks_exact_mut(width).enumerate() {
                    to[..tile.columns].copy_from_slice(&gradient[row * self.out_channels..][..tile.columns]);
                    to[tile.columns..].fill(0.0);
                }
                call(copy.as_ptr(), width);
            });
        }
    }
}
