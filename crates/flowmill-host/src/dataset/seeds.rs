//! Seeds of iterations: the generators that shuffles and random datasets share through handles.

use super::args::Args;
use crate::from_fn::from_fn;
use flowmill_kernels::philox::{Numbers, Philox, entropy};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Resource, ResourceHandle, Result, Tensor, TensorArithmetic, Variant, VariantValue, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["AnonymousSeedGenerator", "AnonymousRandomSeedGenerator"] {
        registry.add(op, make_generator);
    }
    for op in ["DummySeedGenerator", "DummyMemoryCache"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                ctx.set_output(0, ctx.resources().handle("", "", None, Vec::new()));
                Ok(())
            })
        });
    }
    for op in ["DeleteSeedGenerator", "DeleteRandomSeedGenerator", "DeleteMemoryCache"] {
        // There is nothing to delete: the object lives as long as handles and datasets hold it.
        registry.add(op, |_| from_fn(|_| Ok(())));
    }
}

/// A generator of the seeds of each iteration.
pub(super) struct SeedGenerator(Source);

enum Source {
    /// All iterations get these seeds.
    Fixed([i64; 2]),
    /// Each iteration gets other seeds, drawn from the random numbers that two seeds start.
    Random { seeds: [i64; 2], drawn: Mutex<Drawn> },
}

/// A position in a sequence of random numbers.
struct Drawn {
    numbers: Numbers,
    count: i64,
}

impl Resource for SeedGenerator {
    fn type_name(&self) -> &'static str {
        "tensorflow::data::SeedGeneratorManager"
    }
}

impl SeedGenerator {
    /// Returns a generator for these seeds; two zeros mean random seeds. If `changes`, iterations get different seeds.
    pub(super) fn new(seed: i64, seed2: i64, changes: bool) -> Arc<SeedGenerator> {
        let [seed, seed2] = any_if_zero(seed, seed2);
        Arc::new(SeedGenerator(match changes {
            true => Source::Random { seeds: [seed, seed2], drawn: Mutex::new(Drawn { numbers: numbers([seed, seed2]), count: 0 }) },
            false => Source::Fixed([seed, seed2]),
        }))
    }

    /// Returns the generator that a handle refers to, if it refers to one.
    pub(super) fn of_handle(handle: &ResourceHandle) -> Option<Arc<SeedGenerator>> {
        let object: Arc<dyn std::any::Any + Send + Sync> = handle.object()?.clone();
        object.downcast().ok()
    }

    /// Draws the seeds of the next iteration.
    fn draw(&self) -> Draw {
        match &self.0 {
            Source::Fixed(seeds) => Draw { seeds: *seeds, count: 0 },
            Source::Random { drawn, .. } => {
                let mut drawn = drawn.lock();
                drawn.count += 2;
                Draw { seeds: [i64::from(drawn.numbers.next()), i64::from(drawn.numbers.next())], count: drawn.count }
            }
        }
    }

    /// Moves to the position after a draw that was recorded.
    fn go_on_after(&self, draw: &Draw) {
        let Source::Random { seeds, drawn } = &self.0 else { return };
        let mut drawn = drawn.lock();
        if draw.count < drawn.count {
            *drawn = Drawn { numbers: numbers(*seeds), count: 0 };
        }
        while drawn.count < draw.count {
            drawn.numbers.next();
            drawn.count += 1;
        }
    }
}

/// The seeds of an iteration, and the number of random numbers that the generator had drawn after them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Draw {
    seeds: [i64; 2],
    count: i64,
}

/// The seeds that an iterator has drawn, in order. A restored iterator draws them again.
#[derive(Default)]
pub(super) struct SeedLog(Mutex<Log>);

#[derive(Default)]
struct Log {
    draws: Vec<Draw>,
    next: usize,
}

/// The numbers per draw in [`SeedLog::values`].
const DRAW_LEN: usize = 3;

/// The most numbers that a restored generator skips.
const MAX_DRAWN: i64 = 1 << 32;

impl SeedLog {
    /// Returns a log that repeats the draws in `values`, a result of [`SeedLog::values`].
    ///
    /// # Errors
    /// Returns `DataLoss` if the numbers are no draws.
    pub(super) fn of_values(values: &[i64]) -> Result<SeedLog> {
        let draw = |draw: &[i64]| match draw {
            &[seed, seed2, count @ 0..MAX_DRAWN] => Ok(Draw { seeds: [seed, seed2], count }),
            _ => bail!(DataLoss, "the seeds in the saved state of an iterator are invalid"),
        };
        let draws = values.chunks(DRAW_LEN).map(draw).collect::<Result<_>>()?;
        Ok(SeedLog(Mutex::new(Log { draws, next: 0 })))
    }

    /// Returns the draws so far.
    pub(super) fn values(&self) -> Vec<i64> {
        let log = self.0.lock();
        log.draws.iter().flat_map(|draw| [draw.seeds[0], draw.seeds[1], draw.count]).collect()
    }

    /// Returns the random numbers of the next iteration over a dataset.
    pub(super) fn draw(&self, generator: &SeedGenerator) -> Numbers {
        let mut log = self.0.lock();
        let next = log.next;
        log.next += 1;
        let draw = match log.draws.get(next).copied() {
            Some(draw) => {
                generator.go_on_after(&draw);
                draw
            }
            None => {
                let draw = generator.draw();
                log.draws.push(draw);
                draw
            }
        };
        numbers(draw.seeds)
    }
}

/// Returns the random numbers that two seeds start.
pub(super) fn numbers([seed, seed2]: [i64; 2]) -> Numbers {
    Numbers::new(Philox::from_seeds(seed as u64, seed2 as u64))
}

/// Returns the seeds, or random ones if both are 0.
pub(super) fn any_if_zero(seed: i64, seed2: i64) -> [i64; 2] {
    if (seed, seed2) == (0, 0) { [entropy() as i64, entropy() as i64] } else { [seed, seed2] }
}

/// The output `deleter` of ops that make an anonymous object. It has no effect here, because objects are reference-counted.
pub(super) struct Deleter;

impl VariantValue for Deleter {
    fn type_name(&self) -> &'static str {
        "tensorflow::ResourceDeleter"
    }

    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        Ok(Variant::new(Deleter))
    }

    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "deleters cannot be added")
    }
}

/// Sets the outputs of an op that makes an anonymous object.
pub(super) fn set_anonymous(ctx: &mut KernelContext<'_>, kind: &str, object: Arc<dyn Resource>) {
    ctx.set_output(0, ctx.resources().handle("", kind, Some(object), Vec::new()));
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
