//! Sampling of classes: the candidate samplers and `ComputeAccidentalHits`.

use super::class_distribution::{Classes, Counts, Distribution, Weights};
use super::philox::Numbers;
use super::stateful::SharedGenerator;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry, Step};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, bail, error};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ComputeAccidentalHits", make_accidental_hits);
    registry.add("AllCandidateSampler", |init| make_sampler(init, |_, _| Ok(Distribution::All)));
    registry.add("FixedUnigramCandidateSampler", |init| {
        make_sampler(init, |init, range| Ok(Distribution::Fixed(Weights::from_attrs(init, range)?)))
    });
    for op in ["LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"] {
        registry.add(op, |init| make_sampler(init, |_, range| Ok(Distribution::Learned(Mutex::new(Counts::new(range)?)))));
    }
    registry.add("LogUniformCandidateSampler", |init| {
        make_sampler(init, |_, range| Ok(Distribution::LogUniform { range, log_range: (range as f64).ln_1p() }))
    });
    registry.add("UniformCandidateSampler", |init| make_sampler(init, |_, range| Ok(Distribution::Uniform { range })));
}

/// Returns the true classes of a batch: a matrix with `num_true` columns.
fn true_classes<'a>(ctx: &'a KernelContext<'_>, num_true: i64) -> Result<&'a [i64]> {
    let tensor = ctx.input(0)?;
    match *tensor.shape().dims() {
        [_, columns] if columns as i64 == num_true => tensor.as_slice(),
        [_, columns] => bail!(InvalidArgument, "true_classes must have num_true columns, expected: {columns} was: {num_true}"),
        _ => bail!(InvalidArgument, "true_classes must be a matrix"),
    }
}

fn make_sampler(init: &KernelInit<'_>, make: fn(&KernelInit<'_>, i64) -> Result<Distribution>) -> Result<Arc<dyn Kernel>> {
    /// The numbers that a call may draw per sample before they overlap with those of the next call.
    const NUMBERS_PER_SAMPLE: u64 = 2048;
    let attrs = init.attrs;
    let (num_sampled, unique): (i64, bool) = (attrs.get("num_sampled")?, attrs.get("unique")?);
    let num_true: i64 = attrs.get("num_true")?;
    // All classes are sampled if the op does not specify their number.
    let range: i64 = attrs.get_or("range_max", num_sampled)?;
    let count = usize::try_from(num_sampled).map_err(|_| error!(InvalidArgument, "num_sampled must be positive, got {num_sampled}"))?;
    if range < 1 {
        bail!(InvalidArgument, "range_max must be positive, got {range}");
    }
    let distribution = make(init, range)?;
    let generator = SharedGenerator::from_attrs(init)?;
    from_fn(move |ctx| {
        let classes = true_classes(ctx, num_true)?;
        if unique && num_sampled > range {
            bail!(InvalidArgument, "Sampler's range is too small.");
        }
        if let Some(class) = classes.iter().find(|&&class| class < 0 || class >= range) {
            bail!(InvalidArgument, "`true_candidate` out of range [0, {range}), received {class}");
        }
        let _reserved = ctx.allocator().reserve::<i64>(count)?;
        let mut numbers = Numbers::new(generator.reserve_blocks((count as u64).saturating_mul(NUMBERS_PER_SAMPLE).div_ceil(4)));
        let (sampled, of_true, of_sampled) = distribution.with(|of| -> Result<_> {
            if matches!(distribution, Distribution::All) {
                return Ok(((0..num_sampled).collect(), vec![1.0; classes.len()], vec![1.0; count]));
            }
            let (sampled, tries) = sample(of, count, unique, &mut numbers, ctx.step())?;
            let expected =
                |classes: &[i64]| -> Vec<f32> { classes.iter().map(|&class| expected(of.probability(class), count, tries)).collect() };
            let counts = (expected(classes), expected(&sampled));
            Ok((sampled, counts.0, counts.1))
        })?;
        distribution.learn(classes);
        let of_true = ctx.allocator().from_slice(ctx.input(0)?.shape().clone(), &of_true)?;
        ctx.set_output(0, ctx.allocator().vector(&sampled)?);
        ctx.set_output(1, of_true);
        ctx.set_output(2, ctx.allocator().vector(&of_sampled)?);
        Ok(())
    })
}

/// Returns the expected number of occurrences of a class with this probability among `count` samples that took `tries` draws.
fn expected(probability: f32, count: usize, tries: usize) -> f32 {
    if tries == count {
        return probability * count as f32;
    }
    -(tries as f64 * f64::from(-probability).ln_1p()).exp_m1() as f32
}

/// Returns `count` classes, distinct ones if `unique`, and the number of draws that were necessary.
fn sample(of: &dyn Classes, count: usize, unique: bool, numbers: &mut Numbers, step: &Step) -> Result<(Vec<i64>, usize)> {
    if unique && of.num_possible().is_some_and(|possible| possible < count) {
        bail!(InvalidArgument, "Only {} classes can be sampled, fewer than num_sampled={count}", of.num_possible().unwrap_or(0));
    }
    let (mut sampled, mut seen, mut tries) = (Vec::new(), BTreeSet::new(), 0usize);
    while sampled.len() < count {
        let class = of.draw(numbers);
        tries += 1;
        if tries.is_multiple_of(1 << 16) {
            step.look_up()?;
        }
        if !unique || seen.insert(class) {
            sampled.push(class);
        }
    }
    Ok((sampled, tries))
}

fn make_accidental_hits(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let num_true: i64 = init.attrs.get("num_true")?;
    from_fn(move |ctx| {
        let sampled = ctx.input(1)?;
        if sampled.rank() != 1 {
            bail!(InvalidArgument, "sampled_candidates must be a vector, which is typically an output from CandidateSampler");
        }
        let classes = true_classes(ctx, num_true)?;
        // If a class was sampled several times, its last position is used.
        let places: BTreeMap<i64, i64> = sampled.as_slice::<i64>()?.iter().zip(0..).map(|(&class, at)| (class, at)).collect();
        let (mut indices, mut ids) = (Vec::new(), Vec::new());
        for (i, class) in classes.iter().enumerate() {
            if let Some(&at) = places.get(class) {
                indices.push((i / num_true.max(1) as usize) as i32);
                ids.push(at);
            }
        }
        let weights = vec![f32::MIN; ids.len()];
        ctx.set_output(0, ctx.allocator().vector(&indices)?);
        ctx.set_output(1, ctx.allocator().vector(&ids)?);
        ctx.set_output(2, ctx.allocator().vector(&weights)?);
        Ok(())
    })
}
