//! `ParameterizedTruncatedNormal` and `StatelessParameterizedTruncatedNormal`: normal numbers between bounds, number for number as a single thread
//! of TensorFlow draws them.

use super::distribution::RandomFloat;
use super::gamma::sample_shapes;
use super::philox::Philox;
use super::stateful::{SharedGenerator, shape_input};
use super::stateless::seeded;
use crate::elementwise::broadcast_positions;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Tensor, bail, f16, for_dtype};
use num_traits::Float;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ParameterizedTruncatedNormal", make_with_state);
    registry.add("StatelessParameterizedTruncatedNormal", make_truncated_normal);
}

/// The most proposals that may be rejected in a row.
const MAX_REFUSED: usize = 1000;
/// The number of samples that are drawn one after the other if all have the same distribution.
const SAMPLES_PER_BATCH: usize = 100;
/// If a bound is at least this many deviations from the mean, and the mean is between the bounds, proposals are normal numbers.
const NORMAL_FROM: f64 = 1.3;

/// The distribution of proposals, which is named in errors.
#[derive(Clone, Copy)]
enum Proposal {
    Normal,
    Uniform,
    Exponential,
}

impl Proposal {
    fn failure(self) -> &'static str {
        match self {
            Proposal::Normal => "TruncatedNormal randn rejection sampler failed to accept a sample.",
            Proposal::Uniform => "TruncatedNormal uniform rejection sampler failed to  accept a sample.",
            Proposal::Exponential => "TruncatedNormal exponential distribution rejection sampler failed to accept a sample.",
        }
    }

    /// Returns the number of rejected proposals in a row that is an error.
    fn too_many(self) -> usize {
        match self {
            Proposal::Normal => MAX_REFUSED + 1,
            _ => MAX_REFUSED,
        }
    }
}

/// One distribution: `mean + deviation · z`, `min ≤ z ≤ max`. The deviation is negative if the bounds are mirrored.
struct Truncated<T> {
    mean: T,
    deviation: T,
    min: T,
    max: T,
    proposal: Proposal,
}

impl<T: RandomFloat + Float> Truncated<T> {
    /// Returns the distribution, after a check of its parameters.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a deviation that is not positive, bounds in the wrong order or both infinite.
    fn new(mean: T, deviation: T, min: T, max: T) -> Result<Truncated<T>> {
        if !(deviation > T::zero() && min < max && (min.is_finite() || max.is_finite())) {
            bail!(InvalidArgument, "Invalid parameters");
        }
        // A single bound becomes the lower one, and bounds below the mean are mirrored to be above it.
        let turned = min == T::neg_infinity() || max < mean;
        let (deviation, min, max) = if turned { (-deviation, max, min) } else { (deviation, min, max) };
        let (min, max) = ((min - mean) / deviation, (max - mean) / deviation);
        let (two, four) = (number::<T>(2.0), number::<T>(4.0));
        let root = (min * min + four).sqrt();
        let cutoff = two * (number::<T>(0.5) + (min * (min - root)) / four).exp() / (min + root);
        let far = number::<T>(NORMAL_FROM);
        let proposal = if (min < -far && max >= T::zero()) || (max > far && min <= T::zero()) {
            Proposal::Normal
        } else if max - min < cutoff {
            Proposal::Uniform
        } else {
            Proposal::Exponential
        };
        Ok(Truncated { mean, deviation, min, max, proposal })
    }

    /// Draws a few proposals of `z`, and calls `take` with each and true if it is accepted, until `take` returns true.
    fn propose(&self, generator: &mut Philox, mut take: impl FnMut(T, bool) -> Result<bool>) -> Result<bool> {
        let (two, min, max) = (number::<T>(2.0), self.min, self.max);
        match self.proposal {
            Proposal::Normal => {
                for &z in &T::normal(generator.next())[..T::PER_BLOCK] {
                    if take(z, z >= min && z <= max)? {
                        return Ok(true);
                    }
                }
            }
            Proposal::Uniform => {
                let width = max - min;
                let highest = if min < T::zero() { T::zero() } else { min * min };
                let (places, heights) = (T::uniform(generator.next()), T::uniform(generator.next()));
                for (&place, &height) in places[..T::PER_BLOCK].iter().zip(&heights) {
                    let z = place * width + min;
                    if take(z, height <= ((highest - z * z) / two).exp())? {
                        return Ok(true);
                    }
                }
            }
            Proposal::Exponential => {
                let alpha = (min + (min * min + number::<T>(4.0)).sqrt()) / two;
                for pair in T::uniform(generator.next())[..T::PER_BLOCK].chunks_exact(2) {
                    let z = -pair[0].ln() / alpha + min;
                    let x = if min < alpha { alpha - z } else { min - alpha };
                    if take(z, pair[1] <= (-x * x / two).exp() && z < max)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Calls `put` with `count` samples.
    ///
    /// # Errors
    /// Returns `Internal` if too many proposals in a row are rejected.
    fn draw(&self, generator: &mut Philox, count: usize, mut put: impl FnMut(usize, T)) -> Result<()> {
        let (mut drawn, mut refused) = (0, 0);
        let mut take = |z: T, accepted: bool| {
            if accepted {
                put(drawn, z * self.deviation + self.mean);
                drawn += 1;
                refused = 0;
            } else {
                refused += 1;
                if refused >= self.proposal.too_many() {
                    bail!(Internal, "{}", self.proposal.failure());
                }
            }
            Ok(drawn == count)
        };
        while !self.propose(generator, &mut take)? {}
        Ok(())
    }
}

/// Returns a constant as a `T`, which represents it exactly or nearly so.
fn number<T: Float>(value: f64) -> T {
    T::from(value).unwrap_or_else(T::zero)
}

/// Draws samples. Inputs: shape, seed, means, deviations, lower and upper bounds. The samples of a distribution are a row apart, and are drawn one
/// after the other.
fn truncated_normal<T: RandomFloat + Float>(ctx: &KernelContext<'_>) -> Result<Tensor> {
    let mut generator = seeded(ctx)?;
    let (shape, distributions) = sample_shapes(ctx, 0, 2..6, "means, stddevs, minvals, maxvals")?;
    let mut output = ctx.allocator().zeros(T::DTYPE, shape)?;
    let (total, count) = (output.num_elements(), distributions.num_elements());
    if total == 0 {
        return Ok(output);
    }
    let _reserved = ctx.allocator().reserve::<[usize; 4]>(count)?;
    let mut parameters = Vec::with_capacity(4);
    for i in 2..6 {
        let input = ctx.input(i)?;
        parameters.push((input.as_slice::<T>()?, broadcast_positions(input.shape(), &distributions)));
    }
    let out = output.as_mut_slice::<T>()?;
    for d in 0..count {
        let of = |i: usize| parameters[i].0[parameters[i].1[d]];
        let distribution = Truncated::new(of(0), of(1), of(2), of(3))?;
        distribution.draw(&mut generator, total / count, |sample, value| out[sample * count + d] = value)?;
    }
    Ok(output)
}

fn make_truncated_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, f32, f64], T => from_fn(|ctx| {
        let output = truncated_normal::<T>(ctx)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

fn make_with_state(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    for_dtype!(init.dtype("dtype")?, [f16, f32, f64], T => from_fn(move |ctx| {
        let output = rows_of_distributions::<T>(ctx, &generator)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

/// Draws samples for rows. Inputs: shape, means, deviations, lower and upper bounds, each a scalar, or a vector with one for each index of the
/// first dimension.
fn rows_of_distributions<T: RandomFloat + Float>(ctx: &KernelContext<'_>, generator: &SharedGenerator) -> Result<Tensor> {
    let sizes = ctx.input(0)?;
    if sizes.rank() != 1 {
        bail!(InvalidArgument, "Input shape should be a vector, got shape: {}", sizes.shape());
    }
    let shape = shape_input(ctx, 0)?;
    let Some(&rows) = shape.first() else { bail!(InvalidArgument, "Shape tensor must not be empty, got {}", sizes.shape()) };
    let mut parameters = Vec::with_capacity(4);
    for (i, name) in (1..).zip(["means", "stddevs", "minvals", "maxvals"]) {
        let input = ctx.input(i)?;
        if input.rank() > 1 {
            bail!(InvalidArgument, "Input {name} should be a scalar or vector, got shape: {}", input.shape());
        }
        if input.num_elements() != 1 && input.num_elements() != rows {
            bail!(InvalidArgument, "Input {name} should have length 1 or shape[0], got shape: {}", input.shape());
        }
        parameters.push(input.as_slice::<T>()?);
    }
    let is_one = parameters[..2].iter().all(|p| p.len() == 1) && ctx.input(3)?.rank() == 0 && ctx.input(4)?.rank() == 0;
    let mut output = ctx.allocator().zeros(T::DTYPE, shape)?;
    let out = output.as_mut_slice::<T>()?;
    let per_row = out.len().checked_div(rows).unwrap_or(0);
    let (batches, per_batch) = if is_one { (out.len().div_ceil(SAMPLES_PER_BATCH), SAMPLES_PER_BATCH) } else { (rows, per_row) };
    let blocks = (batches as u64).wrapping_mul(2 * MAX_REFUSED as u64).wrapping_mul(per_batch as u64 + 3) / 4;
    let mut generator = generator.reserve_blocks(blocks);
    for (row, samples) in out.chunks_mut(per_batch.max(1)).enumerate() {
        let of = |i: usize| parameters[i][if parameters[i].len() == 1 { 0 } else { row }];
        let distribution = Truncated::new(of(0), of(1), of(2), of(3))?;
        distribution.draw(&mut generator, samples.len(), |sample, value| samples[sample] = value)?;
    }
    Ok(output)
}
