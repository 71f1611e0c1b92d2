//! From random bits to numbers, element for element as TensorFlow does it.

use super::philox::{Numbers, Philox, uniform_f32, uniform_f64};
use crate::parallel;
use flowmill_tensor::{Element, Result, Shape, Tensor, bf16, f16};

/// Blocks of the generator that a call reserves for each element it makes, whatever it uses.
pub(super) const RESERVED_PER_ELEMENT: u64 = 256;
/// Numbers from this many elements on are drawn by several threads.
const PARALLEL_MIN: usize = 1 << 15;
/// Groups that one task draws.
const GROUPS_PER_TASK: usize = 1 << 11;
/// The least uniform number whose logarithm is taken.
const LEAST_UNIFORM: f64 = 1.0e-7;
/// Truncated normal numbers have smaller magnitudes.
const TRUNCATE_AT: f64 = 2.0;

/// A way to make groups of elements.
pub(super) trait Distribution: Copy + Send + Sync {
    /// What it makes.
    type Output: Element;
    /// Elements made at a time.
    const GROUP: usize;
    /// Blocks from one group's numbers to the next one's.
    const BLOCKS_PER_GROUP: u64;
    /// Fills `out` (at most a group) from the generator.
    fn fill(&self, generator: Philox, out: &mut [Self::Output]);
}

/// A tensor of this shape with numbers from `generator` on.
///
/// # Errors
/// `ResourceExhausted` past the memory limit.
pub(super) fn draw<D: Distribution>(distribution: D, generator: Philox, shape: Shape) -> Result<Tensor> {
    let mut tensor = Tensor::uninit(D::Output::DTYPE, shape)?;
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

/// Two normal numbers out of two uniform ones, by Box and Muller.
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

/// A floating type with its distributions.
pub(super) trait RandomFloat: Element {
    /// Elements out of one block.
    const PER_BLOCK: usize;
    /// Elements uniform in [0, 1), [`RandomFloat::PER_BLOCK`] of them.
    fn uniform(block: [u32; 4]) -> [Self; 4];
    /// Normal elements, [`RandomFloat::PER_BLOCK`] of them.
    fn normal(block: [u32; 4]) -> [Self; 4];
    /// Two normal elements that may be too large, and whether they are not.
    fn truncated_pair(numbers: &mut Numbers) -> [(Self, bool); 2];
}

/// The types that are made four a block, the normal ones by way of `f32`.
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

/// Uniform in [0, 1).
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

/// Normal with mean 0 and deviation 1.
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

/// Normal, drawn again while two deviations or more from the mean.
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
    /// Elements out of one block.
    const PER_BLOCK: usize;
    /// The `i`-th element of a block, of all that the type has.
    fn whole(block: [u32; 4], i: usize) -> Self;
    /// The `i`-th element of a block in `low..high`, which is not empty.
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

/// Integers in `low..high`; the larger ranges favour small values a little, as in TensorFlow.
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

/// Integers of the whole range of their type.
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
