//! Random numbers: `RandomUniform`, `RandomStandardNormal`, `TruncatedNormal`, `RandomUniformInt`, and their stateless forms.
//!
//! The numbers are those of the CPU's kernels: each thread computes its own blocks of the same Philox stream.

use super::types::{FLOATS, INDICES};
use crate::compiled_kernel::CompiledKernel;
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::array::args::{indices, shape_argument};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::philox::{Philox, of_seeds};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

/// The number of blocks of the generator that a stateful op reserves per element.
const RESERVED_PER_ELEMENT: u64 = 256;
/// TensorFlow's numbers of the algorithms: Philox, and the device's choice, which is Philox here.
const PHILOX_NUMBERS: [i64; 2] = [1, 3];

/// Ops, the kernel that draws their numbers, and the source of their generator.
const OPS: [(&str, &str, Source); 9] = [
    ("RandomStandardNormal", "normal", Source::State),
    ("RandomUniform", "uniform", Source::State),
    ("TruncatedNormal", "truncated_normal", Source::State),
    ("StatelessRandomNormal", "normal", Source::Seed(1)),
    ("StatelessRandomUniform", "uniform", Source::Seed(1)),
    ("StatelessTruncatedNormal", "truncated_normal", Source::Seed(1)),
    ("StatelessRandomNormalV2", "normal", Source::Key),
    ("StatelessRandomUniformV2", "uniform", Source::Key),
    ("StatelessTruncatedNormalV2", "truncated_normal", Source::Key),
];

/// Ops that draw integers, the source of their generator, and the number of the input with the lower bound, which the upper one follows. Without
/// bounds, numbers are from the whole range of their type.
const INTEGERS: [(&str, Source, Option<usize>); 5] = [
    ("RandomUniformInt", Source::State, Some(1)),
    ("StatelessRandomUniformFullInt", Source::Seed(1), None),
    ("StatelessRandomUniformFullIntV2", Source::Key, None),
    ("StatelessRandomUniformInt", Source::Seed(1), Some(2)),
    ("StatelessRandomUniformIntV2", Source::Key, Some(4)),
];

/// The source of an op's generator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The node has a generator, which advances.
    State,
    /// Two seeds in this input.
    Seed(usize),
    /// A key, a counter and an algorithm in the inputs from 1 on.
    Key,
}

impl Source {
    /// Returns the registration with the inputs that are in the host's memory.
    fn in_host_memory(self, def: KernelDef) -> KernelDef {
        let names: &[&str] = match self {
            Source::State => &[],
            Source::Seed(_) => &["seed"],
            Source::Key => &["key", "counter", "alg"],
        };
        names.iter().fold(def.host_memory("shape"), |def, name| def.host_memory(name))
    }

    /// Returns the generator of a node that has one.
    pub(super) fn state(self, init: &KernelInit<'_>) -> Result<Option<Mutex<Philox>>> {
        match self {
            Source::State => Ok(Some(Mutex::new(of_seeds(init.attrs.get_or("seed", 0)?, init.attrs.get_or("seed2", 0)?)))),
            _ => Ok(None),
        }
    }

    /// Returns the generator of one call, which draws `each` numbers for each of `n` elements.
    pub(super) fn generator(self, ctx: &KernelContext<'_>, state: Option<&Mutex<Philox>>, each: u64, n: usize) -> Result<Philox> {
        match (state, self) {
            (Some(state), _) => Ok(state.lock().reserve((n as u64).saturating_mul(each * RESERVED_PER_ELEMENT))),
            (None, Source::Key) => keyed(ctx),
            (None, Source::Seed(input)) => seeded(ctx, input),
            (None, Source::State) => bail!(Internal, "a random op without a generator"),
        }
    }
}

/// Returns the words of the structure `Generator` of kernels.
pub(super) fn generator_words(generator: &Philox) -> [u32; 6] {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let ([k0, k1], [low, high]) = (halves(generator.key()), generator.counter().map(halves));
    [k0, k1, low[0], low[1], high[0], high[1]]
}

pub(super) fn register(registry: &mut KernelRegistry) {
    for (op, _, source) in OPS {
        registry.register(op, source.in_host_memory(KernelDef::new(make).constrain("dtype", FLOATS)));
    }
    for (op, source, bounds) in INTEGERS {
        let types = if op == "RandomUniformInt" { INDICES } else { &[DType::I32, DType::I64, DType::U32, DType::U64] };
        let def = source.in_host_memory(KernelDef::new(make_integers)).constrain("dtype", types).constrain("Tout", types);
        registry.register(op, if bounds.is_some() { def.host_memory("minval").host_memory("maxval") } else { def });
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(_, name, source)) = OPS.iter().find(|(name, ..)| *name == op) else {
        bail!(Internal, "GPUs draw no numbers for {op}");
    };
    let dtype = init.attrs.get_or("dtype", DType::F32)?;
    let program = CompiledKernel::of(concat!(include_str!("philox.cu"), include_str!("random.cu")), name, dtype)?;
    let state = source.state(init)?;
    from_fn(move |ctx| {
        let shape = shape_input(ctx)?;
        let n = shape.checked_num_elements()?;
        let generator = source.generator(ctx, state.as_ref(), 1, n)?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = generator_words(&generator);
        let arguments = [Argument::Address(device.address(&output)?), Argument::U64(n as u64), Argument::Words(&words)];
        // Each thread draws two numbers or more.
        program.launch(device, device.linear_grid(n.div_ceil(2)), &arguments)
    })
}

fn make_integers(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(_, source, bounds)) = INTEGERS.iter().find(|(name, ..)| *name == op) else {
        bail!(Internal, "GPUs draw no numbers for {op}");
    };
    let Some(&dtype) = init.output_types.first() else { bail!(Internal, "{op} has no output") };
    let text = concat!(include_str!("philox.cu"), include_str!("random_integer.cu"));
    let program = CompiledKernel::of(text, "integers", dtype)?;
    let state = source.state(init)?;
    from_fn(move |ctx| {
        let shape = shape_input(ctx)?;
        let n = shape.checked_num_elements()?;
        let generator = if n > 0 || state.is_none() { Some(source.generator(ctx, state.as_ref(), 1, n)?) } else { None };
        let (low, range) = match bounds.filter(|_| n > 0) {
            Some(low) => integer_range(ctx, low)?,
            None => (0, 0),
        };
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let Some(generator) = generator.filter(|_| n > 0) else { return Ok(()) };
        let device = GpuDevice::of(ctx.device())?;
        let words = generator_words(&generator);
        let to = Argument::Address(device.address(&output)?);
        let arguments = [to, Argument::U64(n as u64), Argument::Words(&words), Argument::U64(low), Argument::U64(range)];
        program.launch(device, device.linear_grid(n.div_ceil(2)), &arguments)
    })
}

/// Returns the lower bound in an input, and the number of integers up to the upper bound in the next one.
fn integer_range(ctx: &KernelContext<'_>, low: usize) -> Result<(u64, u64)> {
    let bound = |i: usize, name: &str| -> Result<i128> {
        let input = ctx.input(i)?;
        if input.rank() != 0 {
            bail!(InvalidArgument, "{name} must be 0-D, got shape {}", input.shape());
        }
        Ok(match input.dtype() {
            DType::I32 => input.to_scalar::<i32>()?.into(),
            DType::U32 => input.to_scalar::<u32>()?.into(),
            DType::U64 => input.to_scalar::<u64>()?.into(),
            _ => input.to_scalar::<i64>()?.into(),
        })
    };
    let (low, high) = (bound(low, "minval")?, bound(low + 1, "maxval")?);
    if low >= high {
        bail!(InvalidArgument, "Need minval < maxval, got {low} >= {high}");
    }
    Ok((low as u64, (high - low) as u64))
}

/// Returns the shape in input 0, which must not be a scalar.
fn shape_input(ctx: &KernelContext<'_>) -> Result<Shape> {
    let sizes = ctx.input(0)?;
    if sizes.rank() == 1
        && let Some(size) = indices(sizes)?.into_iter().find(|&size| size < 0)
    {
        bail!(InvalidArgument, "Dimension {size} must be >= 0");
    }
    shape_argument(sizes, "shape")
}

/// Returns the generator for the two seeds in an input.
fn seeded(ctx: &KernelContext<'_>, input: usize) -> Result<Philox> {
    let seed = ctx.input(input)?;
    if !matches!(seed.dtype(), DType::I32 | DType::I64) {
        bail!(InvalidArgument, "Invalid seed type: {}", seed.dtype());
    }
    match (seed.rank(), &indices(seed)?[..]) {
        (1, &[a, b]) => Ok(Philox::from_stateless_seed([a as u64, b as u64])),
        _ => bail!(InvalidArgument, "seed must have shape [2], not {}", seed.shape()),
    }
}

fn keyed(ctx: &KernelContext<'_>) -> Result<Philox> {
    let (key, counter, algorithm) = (ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
    let algorithm = match (algorithm.rank(), &indices(algorithm)?[..]) {
        (0, &[number]) => number,
        _ => bail!(InvalidArgument, "input 3 (0-based) must have shape [], not {}", algorithm.shape()),
    };
    let (1, &[key_word]) = (key.rank(), key.as_slice::<u64>()?) else {
        bail!(InvalidArgument, "key must have shape [1], not {}. (Note that batched keys are not supported yet.)", key.shape());
    };
    let (1, &[low, high, ..]) = (counter.rank(), counter.as_slice::<u64>()?) else {
        bail!(
            InvalidArgument,
            "counter must be a vector with length at least 2; got shape: {}. (Note that batched counters are not supported yet.)",
            counter.shape()
        );
    };
    if !PHILOX_NUMBERS.contains(&algorithm) {
        bail!(InvalidArgument, "Unsupported algorithm id: {algorithm}");
    }
    Ok(Philox::new(key_word, u128::from(high) << 64 | u128::from(low)))
}
