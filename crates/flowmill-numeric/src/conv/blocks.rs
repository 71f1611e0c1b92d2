//! Blocks of output columns of a depthwise convolution that share what they read.
//!
//! Windows of neighbouring columns overlap, so that a block reads each position of its input once, not once for each window that covers it. The
//! positions before and after the image are left out, which leaves no columns at the borders for other code. A block that lies in the image has code of
//! its own, because the test of each position takes as long as its loads.

use super::runs::Run;
use crate::simd::for_each_isa;
use crate::simd::vector::Vector;
use crate::window::Window;
use std::ops::Range;

/// The output columns of a block: half of the registers of AVX2, so that the weights of a row of seven fit beside them.
pub(super) const BLOCK: usize = 7;

/// A window for which there is a kernel.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Three,
    ThreeByTwo,
    Five,
    FiveByTwo,
    Seven,
    /// A window of so many columns and a stride of 1, whose rows are computed [`PART`] columns at a time.
    Other(usize),
}

/// The columns of a wide window whose weights are in registers at a time.
const PART: usize = 5;

impl Shape {
    /// Returns the kernel of a window, by its width and stride.
    pub(super) fn of(w: &Window) -> Option<Self> {
        match (w.width, w.stride_width, w.dilation_width) {
            (3, 1, 1) => Some(Self::Three),
            (3, 2, 1) => Some(Self::ThreeByTwo),
            (5, 1, 1) => Some(Self::Five),
            (5, 2, 1) => Some(Self::FiveByTwo),
            (7, 1, 1) => Some(Self::Seven),
            (width, 1, 1) if width > 1 => Some(Self::Other(width)),
            _ => None,
        }
    }
}

for_each_isa! {
    pub(super) unsafe fn channels_of_block(run: &Run, shape: Shape, inside: &Range<usize>) = block_kernel::<f32>;
}

/// # Safety
/// The requirements of [`block_columns`] hold for the width and stride of `shape`.
#[inline(always)]
unsafe fn block_kernel<V: Vector<Elem = f32>>(run: &Run, shape: Shape, inside: &Range<usize>) {
    // SAFETY: the caller guarantees the requirements of the callees.
    unsafe {
        match shape {
            Shape::Three => block_columns::<V, 3, 1>(run, 3, inside),
            Shape::ThreeByTwo => block_columns::<V, 3, 2>(run, 3, inside),
            Shape::Five => block_columns::<V, 5, 1>(run, 5, inside),
            Shape::FiveByTwo => block_columns::<V, 5, 2>(run, 5, inside),
            Shape::Seven => block_columns::<V, 7, 1>(run, 7, inside),
            Shape::Other(width) => block_columns::<V, PART, 1>(run, width, inside),
        }
    }
}

/// Computes all channels of a block whose window has `width` columns, of which `K` are computed at a time, and a stride of `S`. `inside` are the positions of
/// its input that lie in the image.
///
/// # Safety
/// The CPU has V's instruction set; the pointers of `run` are good for its sizes, [`BLOCK`] columns and the positions `inside`.
#[inline(always)]
unsafe fn block_columns<V: Vector<Elem = f32>, const K: usize, const S: usize>(run: &Run, width: usize, inside: &Range<usize>) {
    let Range { start, end } = *inside;
    let is_whole = start == 0 && (BLOCK - 1) * S + width <= end;
    // SAFETY: the caller guarantees the requirements of the callees; all positions are inside where none is tested.
    unsafe {
        if is_whole {
            block_channels::<V, K, S>(run, width, |_| true);
        } else {
            block_channels::<V, K, S>(run, width, |position| start <= position && position < end);
        }
    }
}

/// Like [`block_columns`], for the positions for which `is_inside` returns true.
///
/// # Safety
/// The requirements of [`block_columns`] hold.
#[inline(always)]
unsafe fn block_channels<V: Vector<Elem = f32>, const K: usize, const S: usize>(
    run: &Run,
    width: usize,
    is_inside: impl Fn(usize) -> bool,
) {
    // SAFETY: all offsets stay inside the memory that the caller guarantees.
    unsafe {
        let mut c = 0;
        while c + V::LANES <= run.channels {
            let sums = block_sums::<V, K, S>(run, width, c, &is_inside, |p| V::load(p));
            for (p, sum) in run.finish(c, sums, |p| V::load(p)).into_iter().enumerate() {
                sum.store(run.output.add(p * run.output_column + c));
            }
            c += V::LANES;
        }
        if c < run.channels {
            let rest = run.channels - c;
            let sums = block_sums::<V, K, S>(run, width, c, &is_inside, |p| V::load_part(p, rest));
            for (p, sum) in run.finish(c, sums, |p| V::load_part(p, rest)).into_iter().enumerate() {
                sum.store_part(run.output.add(p * run.output_column + c), rest);
            }
        }
    }
}

/// Returns the sums over the windows for the channels from `c` on. Each sum has the order of [`Run::sums`].
///
/// # Safety
/// The requirements of [`block_columns`] hold.
#[inline(always)]
unsafe fn block_sums<V: Vector<Elem = f32>, const K: usize, const S: usize>(
    run: &Run,
    width: usize,
    c: usize,
    is_inside: &impl Fn(usize) -> bool,
    load: impl Fn(*const f32) -> V,
) -> [V; BLOCK] {
    // SAFETY: the caller guarantees the requirements of the callees; the columns of a part lie in the window.
    unsafe {
        let mut sums = [V::zero(); BLOCK];
        for plane in 0..run.planes {
            let mut input = run.input.wrapping_add(plane * run.input_plane + c);
            let mut filter = run.filter.wrapping_add(plane * run.filter_plane + c);
            for _ in 0..run.rows {
                let mut first = 0;
                while first + K <= width {
                    add_part::<V, K, S>(run, first, input, filter, is_inside, &load, &mut sums);
                    first += K;
                }
                match width - first {
                    1 => add_part::<V, 1, S>(run, first, input, filter, is_inside, &load, &mut sums),
                    2 => add_part::<V, 2, S>(run, first, input, filter, is_inside, &load, &mut sums),
                    3 => add_part::<V, 3, S>(run, first, input, filter, is_inside, &load, &mut sums),
                    4 => add_part::<V, 4, S>(run, first, input, filter, is_inside, &load, &mut sums),
                    _ => {}
                }
                input = input.wrapping_add(run.input_row);
                filter = filter.wrapping_add(run.filter_row);
            }
        }
        sums
    }
}

macro_rules! each {
    ($f:ident, $($position:literal)*) => { $( $f($position); )* };
}

/// Adds the products of `K` columns of a row of the window, from column `first` on.
///
/// # Safety
/// The requirements of [`block_columns`] hold, and the window has these columns.
#[inline(always)]
unsafe fn add_part<V: Vector<Elem = f32>, const K: usize, const S: usize>(
    run: &Run,
    first: usize,
    input: *const f32,
    filter: *const f32,
    is_inside: &impl Fn(usize) -> bool,
    load: &impl Fn(*const f32) -> V,
    sums: &mut [V; BLOCK],
) {
    // SAFETY: the caller guarantees the requirements of the vector methods.
    unsafe {
        let (input, filter) = (input.wrapping_add(first * run.input_column), filter.wrapping_add(first * run.filter_column));
        let weights: [V; K] = std::array::from_fn(|k| load(filter.wrapping_add(k * run.filter_column)));
        let mut add = |position: usize| {
            if position < (BLOCK - 1) * S + K && is_inside(first + position) {
                let x = load(input.wrapping_add(position * run.input_column));
                for p in 0..BLOCK {
                    if p * S <= position && position < p * S + K {
                        sums[p] = x.mul_add(weights[position - p * S], sums[p]);
                    }
                }
            }
        };
        // Written out, since the compiler leaves longer loops as they are, and then keeps the sums in memory.
        each!(add, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }
}
