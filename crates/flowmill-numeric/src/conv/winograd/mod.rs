//! Convolutions of 3 × 3 windows with stride 1 by Winograd's minimal filtering.
//!
//! The output is cut into tiles of 2 × 2 or 4 × 4. The pixels under a tile, channel by channel, and the filter are transformed so that the convolution
//! of a tile becomes one product for each of the 16 or 36 transformed elements; for all tiles together these are as many matrix products. That is
//! 2.25 or 4 times less work than the direct form.
//!
//! Sums are formed in another order and with other roundings than in the direct form. With tiles of 2, all coefficients are powers of two, so that sums
//! of small integers stay exact; with tiles of 4, the largest error is some units of 1e-6 of the largest output. A pixel that is infinite or NaN makes all outputs of its tiles NaN.
//! `FLOWMILL_WINOGRAD=0` in the environment turns these forms off.

mod tiling;
mod transforms;

use super::PRODUCTS_PER_NANOSECOND;
use crate::gemm::{Epilogue, Finish, PackedB, PackedRhs, gemm_packed, with_scratch};
use crate::parallel;
use crate::simd::Isa;
use crate::window::Window;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use tiling::{F2, F4, Tiling};
use transforms::{transform_inputs, transform_products};

/// The size of the square tiles of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileSize {
    /// Tiles of 2 × 2.
    Two,
    /// Tiles of 4 × 4.
    Four,
}

impl TileSize {
    /// Returns the method's name.
    pub(super) fn algorithm(self) -> &'static str {
        match self {
            TileSize::Two => "Winograd F(2x2)",
            TileSize::Four => "Winograd F(4x4)",
        }
    }

    /// Returns the outputs of a tile along one dimension.
    pub(super) fn outputs(self) -> usize {
        match self {
            TileSize::Two => F2::OUT,
            TileSize::Four => F4::OUT,
        }
    }

    /// Returns the number of transformed elements of a tile.
    pub(super) fn elements(self) -> usize {
        (self.outputs() + 2).pow(2)
    }

    /// Returns the number of transformed elements of all tiles, per channel.
    pub(super) fn elements_of(self, window: &Window) -> usize {
        let (rows, columns) = self.grid(window);
        window.batch * rows * columns * self.elements()
    }

    /// Returns the numbers of rows and columns of tiles in one image.
    fn grid(self, window: &Window) -> (usize, usize) {
        (window.out_height.div_ceil(self.outputs()), window.out_width.div_ceil(self.outputs()))
    }
}

/// The use that is made of a packed filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// For many convolutions: the time of packing does not count.
    Kept,
    /// For one convolution.
    Once,
}

impl Lifetime {
    /// Returns the number of images for which to choose a method. For a filter that is kept it is one, so that the result for an image does not depend on those
    /// beside it.
    pub(super) fn images(self, window: &Window) -> usize {
        match self {
            Lifetime::Kept => 1,
            Lifetime::Once => window.batch,
        }
    }
}

/// The least number of channels, in and out, for which products of tiles are worth their transforms.
const MIN_CHANNELS: usize = 8;

/// Returns true if convolutions over the window can be computed in tiles.
pub(super) fn can_compute(window: &Window, out_channels: usize, groups: usize) -> bool {
    is_plain(window) && groups == 1 && window.channels >= MIN_CHANNELS && out_channels >= MIN_CHANNELS && is_allowed()
}

/// Returns true for windows of 3 × 3 that move by one pixel and have no dilation.
pub(super) fn is_plain(window: &Window) -> bool {
    (window.height, window.width) == (3, 3)
        && (window.stride_height, window.stride_width, window.dilation_height, window.dilation_width) == (1, 1, 1, 1)
}

/// Returns false if the environment turns these forms off. Read once.
pub(super) fn is_allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| std::env::var("FLOWMILL_WINOGRAD").map_or(true, |value| value != "0"))
}

/// A transformed filter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) size: TileSize,
    isa: Isa,
    /// One matrix `[in_channels, out_channels]` for each transformed element.
    matrices: Vec<PackedRhs>,
}

impl Filter {
    /// Transforms an HWIO filter of 3 × 3.
    pub(super) fn new(isa: Isa, size: TileSize, filter: &[f32], in_channels: usize, out_channels: usize) -> Filter {
        let rows = match size {
            TileSize::Two => F2::FILTER,
            TileSize::Four => F4::FILTER,
        };
        let matrices = PackedB::pack_many(isa, size.elements(), in_channels, out_channels, |row, columns, to| {
            let tap = |i: usize| &filter[(i * in_channels + row) * out_channels..][columns.clone()];
            transform_taps(&std::array::from_fn(tap), rows, to);
        });
        Filter { size, isa, matrices: matrices.into_iter().map(PackedRhs::F32).collect() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.matrices.iter().map(PackedRhs::bytes).sum()
    }
}

/// The most columns that are transformed at a time.
const COLUMNS: usize = 32;

crate::dispatch! {
    /// Transforms some columns of one row of each of the nine taps to one of each transformed element.
    fn transform_taps(taps: &[&[f32]; 9], rows: &[[f32; 3]], to: &mut [&mut [f32]]) {
        let columns = taps[0].len().min(COLUMNS);
        let sum = |weights: &[f32; 3], [a, b, c]: [&[f32]; 3], to: &mut [f32]| {
            for (((to, a), b), c) in to.iter_mut().zip(a).zip(b).zip(c) {
                *to = weights[0] * a + weights[1] * b + weights[2] * c;
            }
        };
        for (down, to) in rows.iter().zip(to.chunks_mut(rows.len())) {
            let mut across = [[0.0; COLUMNS]; 3];
            for (j, across) in across.iter_mut().enumerate() {
                sum(down, [taps[j], taps[3 + j], taps[6 + j]], &mut across[..columns]);
            }
            for (weights, to) in rows.iter().zip(to) {
                let to = &mut to[..columns];
                sum(weights, [&across[0][..columns], &across[1][..columns], &across[2][..columns]], to);
            }
        }
    }
}

/// The most elements of transformed input and output of the tiles that are computed at a time: a part of a core's L2 cache.
const BLOCK_ELEMENTS: usize = 1 << 17;
/// The least number of tiles that are computed at a time, if there are as many: products of fewer rows read weights more than they compute.
const BLOCK_TILES: usize = 28;

/// Computes the convolution. The sizes have been checked.
pub(super) fn conv2d(window: &Window, input: &[f32], filter: &Filter, out_channels: usize, output: &mut [f32], epilogue: &Epilogue<'_>) {
    match filter.size {
        TileSize::Two => tiled::<F2>(window, input, filter, out_channels, output, epilogue),
        TileSize::Four => tiled::<F4>(window, input, filter, out_channels, output, epilogue),
    }
}

fn tiled<T: Tiling>(window: &Window, input: &[f32], filter: &Filter, out_channels: usize, output: &mut [f32], epilogue: &Epilogue<'_>) {
    let (rows, columns) = filter.size.grid(window);
    let num_tiles = window.batch * rows * columns;
    let per_tile = T::IN * T::IN * (window.channels + out_channels);
    let at_once = (BLOCK_ELEMENTS / per_tile).max(BLOCK_TILES);
    let threads = parallel::threads();
    // As many blocks for each thread, unless they would have too few tiles.
    let blocks = num_tiles.div_ceil(at_once).next_multiple_of(threads).min(num_tiles.div_ceil(BLOCK_TILES / 2));
    let products = (num_tiles * T::IN * T::IN).saturating_mul(window.channels).saturating_mul(out_channels);
    let forks = parallel::is_worth_forking(products / PRODUCTS_PER_NANOSECOND);
    let convolution = Convolution::<T> {
        window,
        input,
        filter,
        rows,
        columns,
        out_channels,
        output: output.as_mut_ptr(),
        epilogue,
        finish: epilogue.finish(window.positions(), out_channels),
        zeros: vec![0.0; window.channels],
        forks_in_block: forks && blocks == 1,
        tiling: PhantomData,
    };
    let block = |i: usize| {
        // SAFETY: the blocks have different tiles, and so write different outputs.
        unsafe { convolution.block(parallel::piece(num_tiles, blocks, i)) };
    };
    if blocks > 1 && forks {
        parallel::run(blocks, block);
    } else {
        (0..blocks).for_each(block);
    }
}

/// A convolution to compute.
struct Convolution<'a, T> {
    window: &'a Window,
    input: &'a [f32],
    filter: &'a Filter,
    /// Rows of tiles of an image.
    rows: usize,
    /// Columns of tiles of an image.
    columns: usize,
    out_channels: usize,
    output: *mut f32,
    epilogue: &'a Epilogue<'a>,
    finish: Option<Finish<f32>>,
    /// A pixel of the padding.
    zeros: Vec<f32>,
    /// True if the products of a block go to several threads, because there is one block only.
    forks_in_block: bool,
    tiling: PhantomData<T>,
}

// SAFETY: `output` is borrowed exclusively for the whole convolution, and its blocks write disjoint parts; the pointers of `finish` are only read.
unsafe impl<T: Sync> Sync for Convolution<'_, T> {}

/// The place of a tile: its image, and its first row and column of the output.
#[derive(Clone, Copy)]
struct Place {
    image: usize,
    y: usize,
    x: usize,
}

impl<T: Tiling> Convolution<'_, T> {
    fn place(&self, tile: usize) -> Place {
        let (row, column) = (tile / self.columns, tile % self.columns);
        Place { image: row / self.rows, y: row % self.rows * T::OUT, x: column * T::OUT }
    }

    /// Computes the outputs of some tiles.
    ///
    /// # Safety
    /// No other thread computes these tiles.
    unsafe fn block(&self, tiles: Range<usize>) {
        let (count, channels, out_channels) = (tiles.len(), self.window.channels, self.out_channels);
        let elements = T::IN * T::IN;
        let (from, to) = (count * channels, count * out_channels);
        with_scratch(elements * (from + to), |scratch: &mut [f32]| {
            let (inputs, products) = scratch.split_at_mut(elements * from);
            // SAFETY: the CPU has the instruction set that the filter is packed for; the scratch holds `elements` matrices of the sizes that the
            // kernels write and read; the tiles are ours.
            unsafe { transform_inputs::<T>(self.filter.isa, self, tiles.clone(), inputs.as_mut_ptr()) };
            self.multiply(count, inputs, products);
            // SAFETY: as above.
            unsafe { transform_products::<T>(self.filter.isa, self, tiles, products.as_ptr()) };
        });
    }

    /// Multiplies the transformed inputs of `rows` tiles with the transformed filter.
    fn multiply(&self, rows: usize, inputs: &[f32], products: &mut [f32]) {
        let (channels, out_channels) = (self.window.channels, self.out_channels);
        let one = |i: usize, product: &mut [f32]| {
            let input = &inputs[i * rows * channels..][..rows * channels];
            gemm_packed(input, channels, rows, &self.filter.matrices[i], product, out_channels, &Epilogue::default());
        };
        if self.forks_in_block {
            parallel::chunks(products, rows * out_channels, one);
        } else {
            products.chunks_exact_mut(rows * out_channels).enumerate().for_each(|(i, product)| one(i, product));
        }
    }
}
