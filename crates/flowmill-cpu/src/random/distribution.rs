//! Conversion of random bits to numbers, element for element as in TensorFlow.

use super::philox::{Numbers, Philox, uniform_f32, uniform_f64};
use crate::parallel;
use flowmill_tensor::{Allocator, Element, Result, Shape, Tensor, bf16, f16};

/// The number of blocks of the generator that a call reserves per element, regardless of how many it uses.
pub(super) const RESERVED_PER_ELEMENT: u64 = 256;
/// The number of elements from which numbers are drawn on several threads.
const PARALLEL_MIN: usize = 1 << 15;
/// The number of groups per task.
const GROUPS_PER_TASK: usize = 1 << 11;
/// The lower bound for uniform numbers whose logarithm is computed.
const LEAST_UNIFORM: f64 = 1.0e-7;
/// The bound for the absolute value of truncated normal numbers.
const TRUNCATE_AT: f64 = 2.0;

/// A distribution whose elements are drawn in groups.
pub(super) trait Distribution: Copy + Send + Sync {
    /// The type of its elements.
    type Output: Element;
    /// The number of elements per group.
    const GROUP: usize;
    /// The number of blocks between the random numbers of consecutive groups.
    const BLOCKS_PER_GROUP: u64;
    /// Fills `out`, at most a group, with numbers from the generator.
    fn fill(&self, generator: Philox, out: &mut [Self::Output]);
}

/// Returns a tensor of this shape, filled with numbers from `generator`.
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
pub(super) fn draw<D: Distribution>(alloc: &Allocator, distribution: D, generator: Philox, shape: Shape) -> Result<Tensor> {
    let mut tensor = alloc.uninit(D::Output::DTYPE, shape)?;
    let out = tensor.as_mut_slice::<D::Output>()?;
    let fill = |first_group: usize, out: &mut [D::Output]| {
        let mut generator = generator;
        generator.skip(first_group as u64 * D::BLOCKS_PER_GROUP);
        for group in out.chunks_mut(D::GROUP) {
            distribution.fill(generator, group);
            generator.skip(D::BLOCKS_PER_GROUP);
        }
    };
    if out.len() < PARALLEL_MIN {
        fill(0, out);
    } else {
        parallel::chunks(out, GROUPS_PER_TASK * D::GROUP, |i, chunk| fill(i * GROUPS_PER_TASK, chunk));
    }
    Ok(tensor)
}

/// Converts two uniform numbers to two normal ones by the Box-Muller transform.
fn normal_f32(x: u32, y: u32) -> [f32; 2] {
    let radius = (-2.0 * uniform_f32(x).max(LEAST_UNIFORM as f32).ln()).sqrt();
    let angle = (2.0 * std::f64::consts::PI * f64::from(uniform_f32(y))) as f32;
    [angle.sin() * radius, angle.cos() * radius]
}

pub(super) fn normal_f64(x: [u32; 4]) -> [f64; 2] {
    let radius = (-2.0 * uniform_f64(x[0], x[1]).max(LEAST_UNIFORM).ln()).sqrt();
    let angle = 2.0 * std::f64::consts::PI * uniform_f64(x[2], x[3]);
    [angle.sin() * radius, angle.cos() * radius]
}

/// A floating-point type with its distributions.
pub(super) trait RandomFloat: Element {
    /// The number of elements per block.
    const PER_BLOCK: usize;
    /// Returns [`RandomFloat::PER_BLOCK`] elements that are uniform in [0, 1).
    fn uniform(block: [u32; 4]) -> [Self; 4];
    /// Returns [`RandomFloat::PER_BLOCK`] normal elements.
    fn normal(block: [u32; 4]) -> [Self; 4];
    /// Returns two normal elements, each with true if it is within the bounds.
    fn truncated_pair(numbers: &mut Numbers) -> [(Self, bool); 2];
}

/// Implements the types that have four elements per block. Normal elements are computed in `f32`.
macro_rules! narrow_float {
    ($($t:ty, $uniform:expr, $from:expr;)*) => {$(
        impl RandomFloat for $t {
            const PER_BLOCK: usize = 4;

            fn uniform(block: [u32; 4]) -> [$t; 4] {
                block.map($uniform)
            }

            fn normal(block: [u32; 4]) -> [$t; 4] {
                let ([a, b], [c, d]) = (normal_f32(block[0], block[1]), normal_f32(block[2], block[3]));
                [a, b, c, d].map($from)
            }

            fn truncated_pair(numbers: &mut Numbers) -> [($t, bool); 2] {
                let (x, y) = (numbers.next(), numbers.next());
                normal_f32(x, y).map(|z| ($from(z), z.abs() < TRUNCATE_AT as f32))
            }
        }
    )*};
}

narrow_float! {
    f32, uniform_f32, |x: f32| x;
    f16, |x| f16::from_bits(15 << 10 | x as u16 & 0x3ff) - f16::ONE, f16::from_f32;
    bf16, |x| bf16::from_bits(127 << 7 | x as u16 & 0x7f) - bf16::ONE, bf16::from_f32;
}

impl RandomFloat for f64 {
    const PER_BLOCK: usize = 2;

    fn uniform(x: [u32; 4]) -> [f64; 4] {
        [uniform_f64(x[0], x[1]), uniform_f64(x[2], x[3]), 0.0, 0.0]
    }

    fn normal(x: [u32; 4]) -> [f64; 4] {
        let [a, b] = normal_f64(x);
        [a, b, 0.0, 0.0]
    }

    fn truncated_pair(numbers: &mut Numbers) -> [(f64, bool); 2] {
        let block = [numbers.next(), numbers.next(), numbers.next(), numbers.next()];
        normal_f64(block).map(|z| (z, z.abs() < TRUNCATE_AT))
    }
}

/// The uniform distribution in [0, 1).
#[derive(Clone, Copy)]
pub(super) struct Uniform<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomFloat> Distribution for Uniform<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, mut generator: Philox, out: &mut [T]) {
        out.copy_from_slice(&T::uniform(generator.next())[..out.len()]);
    }
}

/// The normal distribution with mean 0 and deviation 1.
#[derive(Clone, Copy)]
pub(super) struct Normal<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomFloat> Distribution for Normal<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, mut generator: Philox, out: &mut [T]) {
        out.copy_from_slice(&T::normal(generator.next())[..out.len()]);
    }
}

/// The normal distribution without numbers that are two deviations or more from the mean, which are drawn again.
#[derive(Clone, Copy)]
pub(super) struct TruncatedNormal<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomFloat> Distribution for TruncatedNormal<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = T::PER_BLOCK as u64 * RESERVED_PER_ELEMENT / 4;

    fn fill(&self, generator: Philox, out: &mut [T]) {
        let mut numbers = Numbers::new(generator);
        let mut filled = 0;
        while filled < out.len() {
            for (value, small) in T::truncated_pair(&mut numbers) {
                if small && filled < out.len() {
                    out[filled] = value;
                    filled += 1;
                }
            }
        }
    }
}

/// An integer type with its uniform distribution.
pub(super) trait RandomInteger: Element + PartialOrd + std::fmt::Display {
    /// The number of elements per block.
    const PER_BLOCK: usize;
    /// Returns the `i`-th element of a block, from the whole range of the type.
    fn whole(block: [u32; 4], i: usize) -> Self;
    /// Returns the `i`-th element of a block, from `low..high`, which must not be empty.
    fn pick(block: [u32; 4], i: usize, low: Self, high: Self) -> Self;
}

macro_rules! random_integer {
    ($($t:ty, $unsigned:ty, $per_block:expr, $bits:expr;)*) => {$(
        impl RandomInteger for $t {
            const PER_BLOCK: usize = $per_block;

            fn whole(block: [u32; 4], i: usize) -> $t {
                let bits: fn([u32; 4], usize) -> $unsigned = $bits;
                bits(block, i) as $t
            }

            fn pick(block: [u32; 4], i: usize, low: $t, high: $t) -> $t {
                let range = high.wrapping_sub(low) as $unsigned;
                low.wrapping_add((<$t>::whole(block, i) as $unsigned % range.max(1)) as $t)
            }
        }
    )*};
}

random_integer! {
    i32, u32, 4, |block, i| block[i];
    u32, u32, 4, |block, i| block[i];
    i64, u64, 2, |block, i| u64::from(block[2 * i + 1]) << 32 | u64::from(block[2 * i]);
    u64, u64, 2, |block, i| u64::from(block[2 * i + 1]) << 32 | u64::from(block[2 * i]);
}

/// The uniform distribution of integers in `low..high`. In large ranges, small values are slightly more likely, as in TensorFlow.
#[derive(Clone, Copy)]
pub(super) struct UniformInteger<T> {
    pub(super) low: T,
    pub(super) high: T,
}

impl<T: RandomInteger> Distribution for UniformInteger<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, mut generator: Philox, out: &mut [T]) {
        let block = generator.next();
        out.iter_mut().enumerate().for_each(|(i, slot)| *slot = T::pick(block, i, self.low, self.high));
    }
}

/// The uniform distribution of integers over the whole range of their type.
#[derive(Clone, Copy)]
pub(super) struct WholeInteger<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomInteger> Distribution for WholeInteger<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, mut generator: Philox, out: &mut [T]) {
        let block = generator.next();
        out.iter_mut().enumerate().for_each(|(i, slot)| *slot = T::whole(block, i));
    }
}
