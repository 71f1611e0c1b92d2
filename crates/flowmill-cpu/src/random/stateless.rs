//! Ops whose numbers depend on nothing but their arguments.

use super::distribution::draw;
use super::philox::Philox;
use super::stateful::{draw_normal, draw_truncated_normal, draw_uniform, integer_range, shape_input};
use crate::array::args::{indices, scalar_index};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StatelessRandomGetAlg", make_get_alg);
    registry.add("StatelessRandomGetKeyCounter", make_get_key_counter);
    registry.add("StatelessRandomNormal", |init| make_normal(init, seeded));
    registry.add("StatelessRandomNormalV2", |init| make_normal(init, keyed));
    registry.add("StatelessRandomUniform", |init| make_uniform(init, seeded));
    registry.add("StatelessRandomUniformInt", |init| make_uniform_int(init, seeded, 2));
    registry.add("StatelessRandomUniformIntV2", |init| make_uniform_int(init, keyed, 4));
    registry.add("StatelessRandomUniformV2", |init| make_uniform(init, keyed));
    registry.add("StatelessTruncatedNormal", |init| make_truncated_normal(init, seeded));
    registry.add("StatelessTruncatedNormalV2", |init| make_truncated_normal(init, keyed));
}

/// TensorFlow's numbers of the generators: Philox, and the choice left to the device, which is Philox here.
const ALGORITHM_PHILOX: i64 = 1;
const ALGORITHM_AUTO: i64 = 3;

/// How an op's arguments name a generator.
type Generator = fn(&KernelContext<'_>) -> Result<Philox>;

/// The generator of the two seeds in a tensor.
pub(super) fn from_seed(seed: &Tensor) -> Result<Philox> {
    match (seed.rank(), &indices(seed)?[..]) {
        (1, &[a, b]) => Ok(Philox::from_stateless_seed([a as u64, b as u64])),
        _ => bail!(InvalidArgument, "seed must have shape [2], not {}", seed.shape()),
    }
}

/// The first ops have their seeds in input 1.
fn seeded(ctx: &KernelContext<'_>) -> Result<Philox> {
    from_seed(ctx.input(1)?)
}

/// The second ones have key, counter and algorithm in inputs 1 to 3.
fn keyed(ctx: &KernelContext<'_>) -> Result<Philox> {
    let algorithm = scalar_index(ctx.input(3)?, "alg")?;
    if algorithm != ALGORITHM_PHILOX && algorithm != ALGORITHM_AUTO {
        bail!(InvalidArgument, "Unsupported algorithm id: {algorithm}");
    }
    let (key, counter) = (ctx.input(1)?, ctx.input(2)?);
    let &[key_word] = key.as_slice::<u64>()? else { bail!(InvalidArgument, "key must have shape [1], not {}", key.shape()) };
    let [low, high, ..] = *counter.as_slice::<u64>()? else {
        bail!(InvalidArgument, "counter must be a vector with length at least 2; got shape {}", counter.shape());
    };
    Ok(Philox::new(key_word, u128::from(high) << 64 | u128::from(low)))
}

fn make_float(generator: Generator, draw: fn(Philox, Shape) -> Result<Tensor>) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let output = draw(generator(ctx)?, shape_input(ctx)?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_uniform(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_float(generator, draw_uniform::<T>), _ => init.unsupported())
}

fn make_normal(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_float(generator, draw_normal::<T>), _ => init.unsupported())
}

fn make_truncated_normal(init: &KernelInit<'_>, generator: Generator) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f16, bf16, f32, f64], T => make_float(generator, draw_truncated_normal::<T>), _ => init.unsupported())
}

/// The bounds stand in inputs `low` and `low + 1`.
fn make_uniform_int(init: &KernelInit<'_>, generator: Generator, low: usize) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [i32, i64, u32, u64], T => from_fn(move |ctx| {
        let range = integer_range::<T>(ctx, low)?;
        let output = draw(range, generator(ctx)?, shape_input(ctx)?)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

fn make_get_key_counter(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let generator = from_seed(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::vector(&[generator.key()])?);
        ctx.set_output(1, Tensor::vector(&generator.counter())?);
        Ok(())
    })
}

fn make_get_alg(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        ctx.set_output(0, Tensor::scalar(ALGORITHM_PHILOX as i32));
        Ok(())
    })
}
