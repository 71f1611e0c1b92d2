//! Random numbers: `RandomUniform`, `RandomStandardNormal`, `TruncatedNormal`, and their stateless forms.
//!
//! The numbers are those of the CPU's kernels: each thread computes its own blocks of the same Philox stream.

use super::types::FLOATS;
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
    ("StatelessRandomNormal", "normal", Source::Seed),
    ("StatelessRandomUniform", "uniform", Source::Seed),
    ("StatelessTruncatedNormal", "truncated_normal", Source::Seed),
    ("StatelessRandomNormalV2", "normal", Source::Key),
    ("StatelessRandomUniformV2", "uniform", Source::Key),
    ("StatelessTruncatedNormalV2", "truncated_normal", Source::Key),
];

/// The source of an op's generator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The node has a generator, which advances.
    State,
    /// Two seeds in input 1.
    Seed,
    /// A key, a counter and an algorithm in the inputs from 1 on.
    Key,
}

pub(super) fn register(registry: &mut KernelRegistry) {
    for (op, _, source) in OPS {
        let def = KernelDef::new(make).constrain("dtype", FLOATS).host_memory("shape");
        let def = match source {
            Source::State => def,
            Source::Seed => def.host_memory("seed"),
            Source::Key => def.host_memory("key").host_memory("counter").host_memory("alg"),
        };
        registry.register(op, def);
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(_, name, source)) = OPS.iter().find(|(name, ..)| *name == op) else {
        bail!(Internal, "GPUs draw no numbers for {op}");
    };
    let dtype = init.attrs.get_or("dtype", DType::F32)?;
    let program = CompiledKernel::of(include_str!("random.cu"), name, dtype)?;
    let state = match source {
        Source::State => Some(Mutex::new(of_seeds(init.attrs.get_or("seed", 0)?, init.attrs.get_or("seed2", 0)?))),
        _ => None,
    };
    from_fn(move |ctx| {
        let shape = shape_input(ctx)?;
        let n = shape.checked_num_elements()?;
        let generator = match (&state, source) {
            (Some(state), _) => state.lock().reserve((n as u64).saturating_mul(RESERVED_PER_ELEMENT)),
            (None, Source::Key) => keyed(ctx)?,
            (None, _) => seeded(ctx)?,
        };
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let ([k0, k1], [low, high]) = (halves(generator.key()), generator.counter().map(halves));
        let words = [k0, k1, low[0], low[1], high[0], high[1]];
        let arguments = [Argument::Address(device.address(&output)?), Argument::U64(n as u64), Argument::Words(&words)];
        // Each thread draws two numbers or more.
        program.launch(device, device.linear_grid(n.div_ceil(2)), &arguments)
    })
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

fn seeded(ctx: &KernelContext<'_>) -> Result<Philox> {
    let seed = ctx.input(1)?;
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
