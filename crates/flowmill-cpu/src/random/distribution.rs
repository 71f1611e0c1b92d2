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

/// The number of blocks that are made together.
const BLOCKS: usize = 64;

/// A distribution whose elements are drawn in groups.
pub(super) trait Distribution: Copy + Send + Sync {
    /// The type of its elements.
    type Output: Element;
    /// The number of elements per group.
    const GROUP: usize;
    /// The number of blocks between the random numbers of consecutive groups.
    const BLOCKS_PER_GROUP: u64;
    /// Fills `out`, groups of which the last may be shorter, with numbers from the generator.
    fn fill(&self, generator: Philox, out: &mut [Self::Output]);
}

/// Fills `out` with numbers that `convert` makes of whole blocks, `per_block` of each.
fn fill_from_blocks<T>(mut generator: Philox, per_block: usize, out: &mut [T], convert: impl Fn(&[u32], &mut [T])) {
    let mut blocks = [[0; 4]; BLOCKS];
    for out in out.chunks_mut(BLOCKS * per_block) {
        let blocks = &mut blocks[..out.len().div_ceil(per_block)];
        generator.fill(blocks);
        convert(blocks.as_flattened(), out);
    }
}

/// Returns a tensor of this shape, filled with numbers from `generator`.
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
pub(super) fn draw<D: Distribution>(alloc: &Allocator, distribution: D, generator: Philox, shape: Shape) -> Result<Tensor> {
    let mut tensor = alloc.uninit(D::Output::DTYPE, shape)?;
    let out = tensor.as_mut_slice::<D::Output>()?;
    if out.len() < PARALLEL_MIN {
        distribution.fill(generator, out);
    } else {
        parallel::chunks(out, GROUPS_PER_TASK * D::GROUP, |i, chunk| {
            let mut generator = generator;
            generator.skip((i * GROUPS_PER_TASK) as u64 * D::BLOCKS_PER_GROUP);
            distribution.fill(generator, chunk);
        });
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
    fn uniform(block: [u32; 4]) -> [Self; 4] {
        let mut elements = [Self::default(); 4];
        Self::fill_uniform(&block, &mut elements);
        elements
    }
    /// Fills `out` with the elements of consecutive blocks that are uniform in [0, 1).
    fn fill_uniform(words: &[u32], out: &mut [Self]);
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

            fn fill_uniform(words: &[u32], out: &mut [$t]) {
                words.iter().zip(out).for_each(|(&x, out)| *out = $uniform(x));
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

    fn fill_uniform(words: &[u32], out: &mut [f64]) {
        words.as_chunks::<2>().0.iter().zip(out).for_each(|(&[low, high], out)| *out = uniform_f64(low, high));
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

    fn fill(&self, generator: Philox, out: &mut [T]) {
        fill_from_blocks(generator, T::PER_BLOCK, out, T::fill_uniform);
    }
}

/// The normal distribution with mean 0 and deviation 1.
#[derive(Clone, Copy)]
pub(super) struct Normal<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomFloat> Distribution for Normal<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, generator: Philox, out: &mut [T]) {
        fill_from_blocks(generator, T::PER_BLOCK, out, |words, out| {
            for (out, block) in out.chunks_mut(T::PER_BLOCK).zip(words.as_chunks::<4>().0) {
                out.copy_from_slice(&T::normal(*block)[..out.len()]);
            }
        });
    }
}

/// The normal distribution without numbers that are two deviations or more from the mean, which are drawn again.
#[derive(Clone, Copy)]
pub(super) struct TruncatedNormal<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomFloat> Distribution for TruncatedNormal<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = T::PER_BLOCK as u64 * RESERVED_PER_ELEMENT / 4;

    fn fill(&self, mut generator: Philox, out: &mut [T]) {
        for out in out.chunks_mut(Self::GROUP) {
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
            generator.skip(Self::BLOCKS_PER_GROUP);
        }
    }
}

/// An integer type with its uniform distribution.
pub(super) trait RandomInteger: Element + PartialOrd + std::fmt::Display {
    /// The number of elements per block.
    const PER_BLOCK: usize;
    /// Fills `out` with the elements of consecutive blocks, from the whole range of the type.
    fn fill_whole(words: &[u32], out: &mut [Self]);
    /// Fills `out` with the elements of consecutive blocks, from `low..high`, which must not be empty.
    fn fill_within(words: &[u32], out: &mut [Self], low: Self, high: Self);
}

macro_rules! random_integer {
    ($($t:ty, $unsigned:ty, $words:literal, |$w:ident| $bits:expr;)*) => {$(
        impl RandomInteger for $t {
            const PER_BLOCK: usize = 4 / $words;

            fn fill_whole(words: &[u32], out: &mut [$t]) {
                words.as_chunks::<$words>().0.iter().zip(out).for_each(|(&$w, out)| *out = $bits as $t);
            }

            fn fill_within(words: &[u32], out: &mut [$t], low: $t, high: $t) {
                let range = (high.wrapping_sub(low) as $unsigned).max(1);
                <$t>::fill_whole(words, out);
                out.iter_mut().for_each(|x| *x = low.wrapping_add((*x as $unsigned % range) as $t));
            }
        }
    )*};
}

random_integer! {
    i32, u32, 1, |w| w[0];
    u32, u32, 1, |w| w[0];
    i64, u64, 2, |w| u64::from(w[1]) << 32 | u64::from(w[0]);
    u64, u64, 2, |w| u64::from(w[1]) << 32 | u64::from(w[0]);
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

    fn fill(&self, generator: Philox, out: &mut [T]) {
        fill_from_blocks(generator, T::PER_BLOCK, out, |words, out| T::fill_within(words, out, self.low, self.high));
    }
}

/// The uniform distribution of integers over the whole range of their type.
#[derive(Clone, Copy)]
pub(super) struct WholeInteger<T>(pub(super) std::marker::PhantomData<T>);

impl<T: RandomInteger> Distribution for WholeInteger<T> {
    type Output = T;
    const GROUP: usize = T::PER_BLOCK;
    const BLOCKS_PER_GROUP: u64 = 1;

    fn fill(&self, generator: Philox, out: &mut [T]) {
        fill_from_blocks(generator, T::PER_BLOCK, out, T::fill_whole);
    }
}
