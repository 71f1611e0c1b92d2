//! Ops whose random numbers depend only on their arguments.

use super::distribution::draw;
use super::philox::Philox;
use super::stateful::{draw_normal, draw_truncated_normal, draw_uniform, draw_whole, integer_range, shape_input};
use crate::array::args::indices;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StatelessRandomGetAlg", make_get_alg);
    registry.add("StatelessRandomGetKeyCounter", make_get_key_counter);
    registry.add("StatelessRandomGetKeyCounterAlg", make_get_key_counter);
    registry.add("StatelessRandomNormal", |init| make_normal(init, seeded));
    registry.add("StatelessRandomNormalV2", |init| make_normal(init, keyed));
    registry.add("StatelessRandomUniform", |init| make_uniform(init, seeded));
    registry.add("StatelessRandomUniformFullInt", |init| make_whole_int(init, seeded));
    registry.add("StatelessRandomUniformFullIntV2", |init| make_whole_int(init, keyed));
    registry.add("StatelessRandomUniformInt", |init| make_uniform_int(init, seeded, 2));
    registry.add("StatelessRandomUniformIntV2", |init| make_uniform_int(init, keyed, 4));
    registry.add("StatelessRandomUniformV2", |init| make_uniform(init, keyed));
    registry.add("StatelessTruncatedNormal", |init| make_truncated_normal(init, seeded));
    registry.add("StatelessTruncatedNormalV2", |init| make_truncated_normal(init, keyed));
}

/// TensorFlow's numbers of the algorithms: Philox; ThreeFry, which TensorFlow's CPU kernels lack, too; and the device's choice, which is Philox here.
const ALGORITHM_PHILOX: i64 = 1;
const ALGORITHM_THREEFRY: i64 = 2;
const ALGORITHM_AUTO: i64 = 3;

/// The number of 64-bit words of a counter.
pub(super) const COUNTER_WORDS: usize = 2;

/// A function that returns the generator that an op's arguments specify.
pub(super) type Generator = fn(&KernelContext<'_>) -> Result<Philox>;

/// Returns the generator for the two seeds in a tensor.
pub(crate) fn from_seed(seed: &Tensor) -> Result<Philox> {
    if !matches!(seed.dtype(), DType::I32 | DType::I64) {
        bail!(InvalidArgument, "Invalid seed type: {}", seed.dtype());
    }
    match (seed.rank(), &indices(seed)?[..]) {
        (1, &[a, b]) => Ok(Philox::from_stateless_seed([a as u64, b as u64])),
        _ => bail!(InvalidArgument, "seed must have shape [2], not {}", seed.shape()),
    }
}

/// Returns the generator of the ops of the first version, whose seeds are input 1.
pub(super) fn seeded(ctx: &KernelContext<'_>) -> Result<Philox> {
    from_seed(ctx.input(1)?)
}

/// Returns the number in input `i`, which must be a scalar.
pub(super) fn scalar_input(ctx: &KernelContext<'_>, i: usize) -> Result<i64> {
    let input = ctx.input(i)?;
    match (input.rank(), &indices(input)?[..]) {
        (0, &[x]) => Ok(x),
        _ => bail!(InvalidArgument, "input {i} (0-based) must have shape [], not {}", input.shape()),
    }
}

/// Checks that the number in input `i` is that of Philox. ThreeFry is an `Unimplemented` error.
pub(super) fn expect_philox(ctx: &KernelContext<'_>, i: usize) -> Result<()> {
    match scalar_input(ctx, i)? {
        ALGORITHM_PHILOX | ALGORITHM_AUTO => Ok(()),
        ALGORITHM_THREEFRY => bail!(Unimplemented, "Non-XLA devices don't support the ThreeFry algorithm."),
        number => bail!(InvalidArgument, "Unsupported algorithm id: {number}"),
    }
}

/// Returns the generator of the ops of the second version, whose inputs 1 to 3 are key, counter and algorithm.
pub(super) fn keyed(ctx: &KernelContext<'_>) -> Result<Philox> {
    let algorithm = scalar_input(ctx, 3)?;
    let (key, counter) = (ctx.input(1)?, ctx.input(2)?);
    let (1, &[key_word]) = (key.rank(), key.as_slice::<u64>()?) else {
        bail!(InvalidArgument, "key must have shape [1], not {}. (Note that batched keys are not supported yet.)", key.shape());
    };
    let (1, &[low, high, ..]) = (counter.rank(), counter.as_slice::<u64>()?) else {
        bail!(
            InvalidArgument,
            "counter must be a vector with length at least {COUNTER_WORDS}; got shape: {}. (Note that batched counters are not supported yet.)",
            counter.shape()
        );
    };
    if algorithm != ALGORITHM_PHILOX && algorithm != ALGORITHM_AUTO {
        bail!(InvalidArgument, "Unsupported algorithm id: {algorithm}");
    }
    Ok(Philox::new(key_word, u128::from(high) << 64 | u128::from(low)))
}

fn make_drawn(generator: Generator, draw: fn(&Allocator, Philox, Shape) -> Result<Tensor>) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let output = draw(ctx.allocator(), generator(ctx)?, shape_input(ctx, 0)?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_uniform(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_drawn(generator, draw_uniform::<T>), _ => init.unsupported())
}

fn make_normal(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_drawn(generator, draw_normal::<T>), _ => init.unsupported())
}

fn make_truncated_normal(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_drawn(generator, draw_truncated_normal::<T>), _ => init.unsupported())
}

/// Makes the kernel for uniform integers between the bounds in inputs `low` and `low + 1`. If the output is empty, the range may be empty, too.
fn make_uniform_int(init: &KernelInit<'_>, generator: Generator, low: usize) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [i32, i64, u32, u64], T => from_fn(move |ctx| {
        let (generator, shape) = (generator(ctx)?, shape_input(ctx, 0)?);
        let output = if shape.num_elements() == 0 {
            ctx.allocator().zeros(<T as Element>::DTYPE, shape)?
        } else {
            draw(ctx.allocator(), integer_range::<T>(ctx, low)?, generator, shape)?
        };
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

fn make_whole_int(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", u64::DTYPE)?, [i32, i64, u32, u64], T => make_drawn(generator, draw_whole::<T>), _ => init.unsupported())
}

/// Makes the kernel of the ops that output a key and a counter. One of the ops has the algorithm as its third output.
fn make_get_key_counter(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let names_algorithm = init.op_def.name == "StatelessRandomGetKeyCounterAlg";
    from_fn(move |ctx| {
        let generator = from_seed(ctx.input(0)?)?;
        ctx.set_output(0, ctx.allocator().vector(&[generator.key()])?);
        ctx.set_output(1, ctx.allocator().vector(&generator.counter())?);
        if names_algorithm {
            ctx.set_output(2, Tensor::scalar(ALGORITHM_PHILOX as i32));
        }
        Ok(())
    })
}

fn make_get_alg(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        ctx.set_output(0, Tensor::scalar(ALGORITHM_PHILOX as i32));
        Ok(())
    })
}
