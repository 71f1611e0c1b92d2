//! The gradient of a convolution's filter.
//!
//! It is a matrix product: its rows are the elements of a patch, its columns the output channels, and its steps the output positions. An element of a
//! patch moves by a constant distance from position to position of an output row, so that the images, with their padding, are read in place.
//!
//! A few output channels do not fill the vectors of a row. They are then the rows, and the elements of a patch, which are adjacent for each row of the
//! window, the columns.

use super::backprop::check;
use super::padding::{copy_rows, is_inside, padded};
use crate::gemm::{Ahead, Destination, DirectTile, Operand, Segment, Segments, with_scratch};
use crate::parallel;
use crate::simd::isa;
use crate::window::Window;
use smallvec::SmallVec;
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
    let padded = if is_inside(window) { *window } else { padded(window) };
    let mut tiles = tiles_of_patches(k, n, groups);
    let mut product = Product { window, input, out_backprop, out_channels, padded, k, has_rows_of_channels: false };
    if groups == 1 && n < isa().lanes() && (window.stride_width, window.dilation_width) == (1, 1) {
        let exchanged = tiles_of_channels(&product, n);
        product.has_rows_of_channels = half_cycles(&exchanged) < half_cycles(&tiles);
        if product.has_rows_of_channels {
            tiles = exchanged;
        }
    }
    // The number of parts depends on the sizes alone, so that sums are formed in the same order on any number of threads.
    let is_small = tiles.len() < MANY_TILES && window.work(out_channels) > MANY_TILES * BAND_ELEMENTS;
    let parts = if is_small { window.batch.min(MAX_PARTS) } else { 1 };
    if parts == 1 && !product.has_rows_of_channels {
        return product.add_in_parallel(&tiles, filter_backprop);
    }
    with_scratch(parts * len, |sums: &mut [f32]| {
        sums.fill(0.0);
        if parts == 1 {
            product.add_in_parallel(&tiles, sums);
        } else {
            parallel::chunks(sums, len, |part, sums| {
                // SAFETY: the sums of a part are borrowed exclusively, and have the size of the gradient.
                unsafe { product.add(parallel::piece(window.batch, parts, part), &tiles, sums.as_mut_ptr()) };
            });
        }
        for sums in sums.chunks_exact(len) {
            if product.has_rows_of_channels {
                add_transposed(filter_backprop, sums, k);
            } else {
                add_all(filter_backprop, sums);
            }
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

/// Adds a matrix of `columns` columns to one of as many rows.
fn add_transposed(to: &mut [f32], from: &[f32], columns: usize) {
    let rows = from.len() / columns;
    for (row, from) in from.chunks_exact(columns).enumerate() {
        to[row..].iter_mut().step_by(rows).zip(from).for_each(|(to, from)| *to += from);
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

/// A part of the product.
struct Tile {
    group: usize,
    rows: Range<usize>,
    /// The first element of its columns in the first row of the second operand.
    b: usize,
    /// The first element of its sums.
    c: usize,
    columns: usize,
}

/// Returns the tiles of a product whose rows are the `k` elements of a patch, and whose columns are the `n` output channels of a group.
fn tiles_of_patches(k: usize, n: usize, groups: usize) -> Vec<Tile> {
    let kernels = &f32::kernels(isa()).0;
    let (row_tiles, width) = (k.div_ceil(kernels.max_rows()), kernels.panel_width());
    let tile = |group: usize, row: usize, column: usize| {
        let rows = parallel::piece(k, row_tiles, row);
        let b = group * n + column;
        Tile { group, c: rows.start * groups * n + b, rows, b, columns: (n - column).min(width) }
    };
    let rows = (0..groups).flat_map(|group| (0..row_tiles).map(move |row| (group, row)));
    rows.flat_map(|(group, row)| (0..n).step_by(width).map(move |column| (group, row, column))).map(|(g, r, c)| tile(g, r, c)).collect()
}

/// Returns the tiles of a product whose rows are the `n` output channels, and whose columns are the elements of a patch.
fn tiles_of_channels(product: &Product<'_>, n: usize) -> Vec<Tile> {
    let (w, kernels) = (product.window, &f32::kernels(isa()).0);
    let (row_tiles, width, adjacent) = (n.div_ceil(kernels.max_rows()), kernels.panel_width(), w.width * w.channels);
    let tile = |row: usize, window_row: usize, column: usize| {
        let rows = parallel::piece(n, row_tiles, row);
        let b = window_row * w.dilation_height * product.padded.in_width * w.channels + column;
        Tile { group: 0, c: rows.start * product.k + window_row * adjacent + column, rows, b, columns: (adjacent - column).min(width) }
    };
    let rows = (0..row_tiles).flat_map(|row| (0..w.height).map(move |window_row| (row, window_row)));
    rows.flat_map(|(row, at)| (0..adjacent).step_by(width).map(move |column| (row, at, column))).map(|(r, a, c)| tile(r, a, c)).collect()
}

/// Returns twice the cycles that a step of all tiles takes: a core starts two multiply-adds and two loads at a time, and has to wait four cycles for a sum.
fn half_cycles(tiles: &[Tile]) -> usize {
    let lanes = isa().lanes();
    let of_tile = |tile: &Tile| {
        let (rows, vectors) = (tile.rows.len(), tile.columns.div_ceil(lanes));
        (rows * vectors).max(rows + vectors).max(8)
    };
    tiles.iter().map(of_tile).sum()
}

struct Product<'a> {
    window: &'a Window,
    input: &'a [f32],
    out_backprop: &'a [f32],
    out_channels: usize,
    /// The window over images that are read: the images themselves, or padded ones.
    padded: Window,
    /// The elements of a patch of one group.
    k: usize,
    /// If true, the rows are the output channels.
    has_rows_of_channels: bool,
}

impl Product<'_> {
    /// Adds the gradients of all images to `sums`, which are as large as the filter.
    fn add_in_parallel(&self, tiles: &[Tile], sums: &mut [f32]) {
        assert_eq!(sums.len(), self.k * self.out_channels);
        let to = SharedSums(sums.as_mut_ptr());
        let work = self.window.work(self.out_channels).saturating_mul(self.k / (self.window.height * self.window.width)) / 50;
        let pieces = if parallel::is_worth_forking(work) { parallel::threads().min(tiles.len()) } else { 1 };
        parallel::run(pieces, |piece| {
            // SAFETY: the tiles of all pieces are different, and lie within the sums, which are borrowed exclusively.
            unsafe { self.add(0..self.window.batch, &tiles[parallel::piece(tiles.len(), pieces, piece)], to.get()) };
        });
    }

    /// Adds the gradients of some images to the tiles of `sums`.
    ///
    /// # Safety
    /// `sums` is as large as the filter, and nobody else uses its elements in these tiles.
    unsafe fn add(&self, images: Range<usize>, tiles: &[Tile], sums: *mut f32) {
        let w = self.window;
        // Output rows that are computed together: of several images, or a part of one.
        let row_len = self.padded.in_width * w.channels;
        let reach = (w.height - 1) * w.dilation_height + 1;
        let rows_at_once = ((BAND_ELEMENTS / row_len).saturating_sub(reach) / w.stride_height + 1).clamp(1, w.out_height);
        let band_rows = (rows_at_once - 1) * w.stride_height + reach;
        let is_copied = !is_inside(w);
        let bands_at_once =
            if rows_at_once < w.out_height { 1 } else { (BAND_ELEMENTS / (band_rows * row_len)).clamp(1, images.len().max(1)) };
        // The last vector of the last row reaches past the images.
        let scratch = if is_copied { bands_at_once * band_rows * row_len + f32::kernels(isa()).0.panel_width() } else { 0 };
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
                            band * w.in_height * row_len
                        };
                        segments.extend((0..rows).map(|row| {
                            let (element, position) = (first + row * w.stride_height * row_len, (band * w.out_height + row) * w.out_width);
                            if self.has_rows_of_channels {
                                Segment { a: position * self.out_channels, b: element / w.channels, len: w.out_width }
                            } else {
                                Segment { a: element, b: position, len: w.out_width }
                            }
                        }));
                    }
                    let images = if is_copied { &*copies } else { &self.input[(image * w.in_height + y * w.stride_height) * row_len..] };
                    let gradient = &self.out_backprop[(image * w.out_height + y) * w.out_width * self.out_channels..];
                    for tile in tiles {
                        // SAFETY: the caller guarantees it.
                        unsafe { self.tile(images, &segments, gradient, tile, sums) };
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
    unsafe fn tile(&self, images: &[f32], segments: &[Segment], gradient: &[f32], tile: &Tile, sums: *mut f32) {
        let w = self.window;
        let kernels = &f32::kernels(isa()).0;
        let channels = self.k / (w.height * w.width);
        let place = |row: usize| {
            let (tap, channel) = (row / channels, row % channels);
            let position = tap / w.width * w.dilation_height * self.padded.in_width + tap % w.width * w.dilation_width;
            position * w.channels + tile.group * channels + channel
        };
        let patches = (images, w.stride_width * w.channels);
        let channels = (gradient, self.out_channels);
        let ((a, step), (b, ldb), ldc) =
            if self.has_rows_of_channels { (channels, patches, self.k) } else { (patches, channels, self.out_channels) };
        let places: SmallVec<[usize; 16]> =
            if self.has_rows_of_channels { tile.rows.clone().collect() } else { tile.rows.clone().map(place).collect() };
        let b = &b[tile.b..];
        let vectors = tile.columns.div_ceil(kernels.lanes);
        // SAFETY: the tile lies within the sums.
        let c = unsafe { sums.add(tile.c) };
        let call = |b: *const f32, ldb: usize| {
            // SAFETY: all elements that the places, segments and steps name lie within the operands; the tile of C belongs to the caller; B has whole vectors.
            unsafe {
                kernels.direct(places.len(), vectors)(&DirectTile {
                    segments,
                    a: a.as_ptr(),
                    rows: &places,
                    step,
                    b,
                    ldb,
                    to: Destination { c, ldc, cols: tile.columns, load: true, finish: None },
                    ahead: Ahead::none(b),
                });
            }
        };
        let last = segments.last().map_or(0, |s| s.b + s.len);
        let width = vectors * kernels.lanes;
        if width == tile.columns || b.len() >= (last - 1) * ldb + width {
            call(b.as_ptr(), ldb);
        } else {
            // The last vector of the last row would reach past the end.
            with_scratch(last * width, |copy: &mut [f32]| {
                for (row, to) in copy.chunks_exact_mut(width).enumerate() {
                    to[..tile.columns].copy_from_slice(&b[row * ldb..][..tile.columns]);
                    to[tile.columns..].fill(0.0);
                }
                call(copy.as_ptr(), width);
            });
        }
    }
}
