//! The transforms of Winograd's minimal filtering for windows of three elements, along one dimension.
//!
//! The interpolation points are 0, ±1 (and ±2 for the larger tile) and infinity; the matrices are those of Lavin and Gray, "Fast Algorithms for
//! Convolutional Neural Networks" (2016). `F(m, 3)` computes `m` sums of three products each from `m + 2` products.

use crate::simd::vector::Vector;

/// The most elements that a tile covers along one dimension of the input.
pub(super) const MAX_IN: usize = 6;
/// The most elements that a tile covers along one dimension of the output.
pub(super) const MAX_OUT: usize = 4;

/// A size of tiles, with its transforms.
///
/// # Safety
/// The methods need the CPU to have the instruction set of `V`. Only the first [`Tiling::IN`] and [`Tiling::OUT`] elements of arrays have meaning.
pub(super) trait Tiling: Copy + Sync {
    /// Outputs along one dimension.
    const OUT: usize;
    /// Inputs, and products, along one dimension.
    const IN: usize = Self::OUT + 2;
    /// The matrix that transforms a filter.
    const FILTER: &'static [[f32; 3]];

    unsafe fn input<V: Vector<Elem = f32>>(x: [V; MAX_IN]) -> [V; MAX_IN];
    unsafe fn output<V: Vector<Elem = f32>>(x: [V; MAX_IN]) -> [V; MAX_OUT];
}

/// `F(2, 3)`: 16 products instead of 36 for each tile. All coefficients are powers of two.
#[derive(Clone, Copy)]
pub(super) struct F2;

impl Tiling for F2 {
    const OUT: usize = 2;
    const FILTER: &'static [[f32; 3]] = &[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]];

    #[inline(always)]
    unsafe fn input<V: Vector<Elem = f32>>([a, b, c, d, e, f]: [V; MAX_IN]) -> [V; MAX_IN] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe { [a.sub(c), b.add(c), c.sub(b), b.sub(d), e, f] }
    }

    #[inline(always)]
    unsafe fn output<V: Vector<Elem = f32>>([a, b, c, d, ..]: [V; MAX_IN]) -> [V; MAX_OUT] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe { [a.add(b.add(c)), b.sub(c).sub(d), a, a] }
    }
}

/// `F(4, 3)`: 36 products instead of 144 for each tile.
#[derive(Clone, Copy)]
pub(super) struct F4;

impl Tiling for F4 {
    const OUT: usize = 4;
    const FILTER: &'static [[f32; 3]] = &[
        [1.0 / 4.0, 0.0, 0.0],
        [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
        [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
        [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
        [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
        [0.0, 0.0, 1.0],
    ];

    #[inline(always)]
    unsafe fn input<V: Vector<Elem = f32>>([a, b, c, d, e, f]: [V; MAX_IN]) -> [V; MAX_IN] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let (two, four, minus_four, minus_five) = (V::splat(2.0), V::splat(4.0), V::splat(-4.0), V::splat(-5.0));
            let (even, odd) = (c.mul_add(minus_four, e), b.mul_add(minus_four, d));
            let (near, far) = (e.sub(c), d.sub(b).mul(two));
            [
                a.mul_add(four, c.mul_add(minus_five, e)),
                even.add(odd),
                even.sub(odd),
                near.add(far),
                near.sub(far),
                b.mul_add(four, d.mul_add(minus_five, f)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn output<V: Vector<Elem = f32>>([a, b, c, d, e, f]: [V; MAX_IN]) -> [V; MAX_OUT] {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let (sum, difference) = (b.add(c), b.sub(c));
            let (far_sum, far_difference) = (d.add(e), d.sub(e));
            [
                a.add(sum).add(far_sum),
                far_difference.mul_add(V::splat(2.0), difference),
                far_sum.mul_add(V::splat(4.0), sum),
                far_difference.mul_add(V::splat(8.0), difference).add(f),
            ]
        }
    }
}
