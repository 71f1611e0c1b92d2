//! Seeds of iterations: what shuffles and random datasets share through handles.

use super::args::Args;
use crate::from_fn::from_fn;
use crate::random::{Numbers, Philox};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Resource, ResourceHandle, Result, Tensor, Variant, VariantValue, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["AnonymousSeedGenerator", "AnonymousRandomSeedGenerator"] {
        registry.add(op, make_generator);
    }
    for op in ["DummySeedGenerator", "DummyMemoryCache"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                ctx.set_output(0, Tensor::resource(ResourceHandle::new("", "", None, Vec::new())));
                Ok(())
            })
        });
    }
    for op in ["DeleteSeedGenerator", "DeleteRandomSeedGenerator", "DeleteMemoryCache"] {
        // The object lives as long as handles and datasets hold it.
        registry.add(op, |_| from_fn(|_| Ok(())));
    }
}

/// Gives each iteration its seeds.
pub(super) struct SeedGenerator(Source);

enum Source {
    /// The same for all iterations.
    Fixed([i64; 2]),
    /// Others for each.
    Random(Mutex<Numbers>),
}

impl Resource for SeedGenerator {
    fn type_name(&self) -> &'static str {
        "tensorflow::data::SeedGeneratorManager"
    }
}

impl SeedGenerator {
    /// A generator for these seeds, of which two zeros mean any. If `changes`, iterations get different seeds.
    pub(super) fn new(seed: i64, seed2: i64, changes: bool) -> Arc<SeedGenerator> {
        let [seed, seed2] = any_if_zero(seed, seed2);
        Arc::new(SeedGenerator(match changes {
            true => Source::Random(Mutex::new(numbers([seed, seed2]))),
            false => Source::Fixed([seed, seed2]),
        }))
    }

    /// The generator that a handle holds, if it holds one.
    pub(super) fn of_handle(handle: &ResourceHandle) -> Option<Arc<SeedGenerator>> {
        let object: Arc<dyn std::any::Any + Send + Sync> = handle.object()?.clone();
        object.downcast().ok()
    }

    /// The random numbers of the next iteration.
    pub(super) fn next(&self) -> Numbers {
        match &self.0 {
            Source::Fixed(seeds) => numbers(*seeds),
            Source::Random(source) => {
                let mut source = source.lock();
                let seeds = [i64::from(source.next()), i64::from(source.next())];
                numbers(seeds)
            }
        }
    }
}

/// The numbers that follow from two seeds.
pub(super) fn numbers([seed, seed2]: [i64; 2]) -> Numbers {
    Numbers::new(Philox::from_seeds(seed as u64, seed2 as u64))
}

/// The seeds, or any others if both are 0.
pub(super) fn any_if_zero(seed: i64, seed2: i64) -> [i64; 2] {
    if (seed, seed2) == (0, 0) { [crate::random::entropy() as i64, crate::random::entropy() as i64] } else { [seed, seed2] }
}

/// The output `deleter` of ops that make an anonymous object. Nobody needs it here: objects are counted.
pub(super) struct Deleter;

impl VariantValue for Deleter {
    fn type_name(&self) -> &'static str {
        "tensorflow::ResourceDeleter"
    }

    fn zeros_like(&self) -> Result<Variant> {
        Ok(Variant::new(Deleter))
    }

    fn add(&self, _: &Variant) -> Result<Variant> {
        bail!(Unimplemented, "deleters cannot be added")
    }

    fn owned(&self) -> Result<Option<Variant>> {
        Ok(None)
    }
}

/// Sets the outputs of an op that makes an anonymous object.
pub(super) fn set_anonymous(ctx: &mut KernelContext<'_>, kind: &str, object: Arc<dyn Resource>) {
    ctx.set_output(0, Tensor::resource(ResourceHandle::new("", kind, Some(object), Vec::new())));
    if ctx.num_outputs() > 1 {
        ctx.set_output(1, Tensor::variant(Variant::new(Deleter)));
    }
}

fn make_generator(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let args = Args::of(init)?;
    from_fn(move |ctx| {
        let changes = !args.has("reshuffle") || args.scalar(ctx, "reshuffle")?;
        let generator = SeedGenerator::new(args.scalar(ctx, "seed")?, args.scalar(ctx, "seed2")?, changes);
        set_anonymous(ctx, "SeedGenerator", generator);
        Ok(())
    })
}
