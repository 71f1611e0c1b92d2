//! Ops whose generator state is the value of a variable: a counter followed by a key. `tf.random.Generator` uses them.

use super::distribution::{RESERVED_PER_ELEMENT, draw};
use super::philox::{Philox, entropy};
use super::stateful::{draw_normal, draw_truncated_normal, draw_uniform, draw_whole, integer_range, shape_input};
use super::stateless::{COUNTER_WORDS, expect_philox, scalar_input};
use crate::from_fn::from_fn;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The number of words of a state that Philox uses; there may be more.
const STATE_WORDS: usize = COUNTER_WORDS + 1;

/// TensorFlow's number of ThreeFry, an algorithm that has no kernels on CPUs.
const THREE_FRY: i64 = 2;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("NonDeterministicInts", make_non_deterministic);
    registry.add("RngReadAndSkip", |_| from_fn(read_and_skip));
    registry.add("RngSkip", |_| from_fn(skip));
    registry.add("StatefulStandardNormal", make_first_normal);
    registry.add("StatefulStandardNormalV2", make_normal);
    registry.add("StatefulTruncatedNormal", make_truncated_normal);
    registry.add("StatefulUniform", make_uniform);
    registry.add("StatefulUniformFullInt", make_whole_int);
    registry.add("StatefulUniformInt", make_uniform_int);
}

/// Returns the first words of the state of the variable in input 0, and advances the state by `blocks`.
fn advance(ctx: &KernelContext<'_>, blocks: u64) -> Result<[i64; STATE_WORDS]> {
    advance_after(ctx, 0, blocks)
}

/// Like [`advance`], for a state after `tags` words, the first of which is the number of the algorithm.
fn advance_after(ctx: &KernelContext<'_>, tags: usize, blocks: u64) -> Result<[i64; STATE_WORDS]> {
    Variable::from_input(ctx, 0)?.update(|state| {
        if state.dtype() != DType::I64 {
            bail!(InvalidArgument, "dtype of RNG state variable must be int64, not {}", state.dtype().cpp_name());
        }
        if state.rank() != 1 {
            bail!(InvalidArgument, "RNG state must have one and only one dimension, not {}", state.rank());
        }
        let length = state.num_elements();
        let words = state.as_mut_slice::<i64>()?;
        if let Some(&algorithm) = words.first().filter(|algorithm| tags > 0 && !matches!(algorithm, 1 | 3)) {
            if algorithm == THREE_FRY {
                bail!(Unimplemented, "Non-XLA devices don't support the ThreeFry algorithm.");
            }
            bail!(InvalidArgument, "Unsupported algorithm id: {algorithm}");
        }
        let Some(&mut [ref mut low, ref mut high, key, ..]) = words.get_mut(tags..) else {
            let least = STATE_WORDS + tags;
            bail!(InvalidArgument, "For the Philox algorithm, the size of state must be at least {least}; got {length}");
        };
        let old = [*low, *high, key];
        let mut generator = philox(old);
        generator.skip(blocks);
        [*low, *high] = generator.counter().map(|word| word as i64);
        Ok(old)
    })
}

fn philox([low, high, key]: [i64; STATE_WORDS]) -> Philox {
    Philox::new(key as u64, u128::from(high as u64) << 64 | u128::from(low as u64))
}

/// Returns the generator for a call that uses at most `blocks` blocks.
pub(super) fn reserve_blocks(ctx: &KernelContext<'_>, blocks: u64) -> Result<Philox> {
    advance(ctx, blocks).map(philox)
}

/// Returns the generator for a call that draws `elements` elements.
fn reserve(ctx: &KernelContext<'_>, elements: usize) -> Result<Philox> {
    reserve_blocks(ctx, (elements as u64).wrapping_mul(RESERVED_PER_ELEMENT))
}

/// Makes a kernel that draws a tensor, whose shape is input 2.
fn make_drawn(draw: fn(&Allocator, Philox, Shape) -> Result<Tensor>) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        expect_philox(ctx, 1)?;
        let shape = shape_input(ctx, 2)?;
        let generator = reserve(ctx, shape.num_elements())?;
        ctx.set_output(0, draw(ctx.allocator(), generator, shape)?);
        Ok(())
    })
}

fn make_uniform(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::F32)?, [f16, bf16, f32, f64], T => make_drawn(draw_uniform::<T>), _ => init.unsupported())
}

fn make_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::F32)?, [f16, bf16, f32, f64], T => make_drawn(draw_normal::<T>), _ => init.unsupported())
}

/// Makes the kernel of the first version, whose state begins with the number of the algorithm.
fn make_first_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::F32)?, [f16, bf16, f32, f64], T => from_fn(|ctx| {
        let shape = shape_input(ctx, 1)?;
        let blocks = (shape.num_elements() as u64).wrapping_mul(RESERVED_PER_ELEMENT);
        let generator = philox(advance_after(ctx, 1, blocks)?);
        ctx.set_output(0, draw_normal::<T>(ctx.allocator(), generator, shape)?);
        Ok(())
    }), _ => init.unsupported())
}

fn make_truncated_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::F32)?, [f16, bf16, f32, f64], T => make_drawn(draw_truncated_normal::<T>),
        _ => init.unsupported())
}

fn make_whole_int(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::U64)?, [i32, i64, u32, u64], T => make_drawn(draw_whole::<T>), _ => init.unsupported())
}

/// Makes the kernel for uniform integers between the bounds in inputs 3 and 4.
fn make_uniform_int(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::I64)?, [i32, i64], T => from_fn(move |ctx| {
        expect_philox(ctx, 1)?;
        let range = integer_range::<T>(ctx, 3)?;
        let shape = shape_input(ctx, 2)?;
        let generator = reserve(ctx, shape.num_elements())?;
        ctx.set_output(0, draw(ctx.allocator(), range, generator, shape)?);
        Ok(())
    }), _ => init.unsupported())
}

/// Computes `RngReadAndSkip`, whose output is the old state. Inputs: variable, algorithm, elements to skip.
fn read_and_skip(ctx: &mut KernelContext<'_>) -> Result<()> {
    expect_philox(ctx, 1)?;
    let input = ctx.input(2)?;
    let (0, &[elements]) = (input.rank(), input.as_slice::<u64>()?) else {
        bail!(InvalidArgument, "input 2 (0-based) must have shape [], not {}", input.shape());
    };
    let old = advance(ctx, elements.wrapping_mul(RESERVED_PER_ELEMENT))?;
    ctx.set_output(0, ctx.allocator().vector(&old)?);
    Ok(())
}

/// Computes `RngSkip`, which is like [`read_and_skip`] without an output.
fn skip(ctx: &mut KernelContext<'_>) -> Result<()> {
    expect_philox(ctx, 1)?;
    let elements = scalar_input(ctx, 2)? as u64;
    advance(ctx, elements.wrapping_mul(RESERVED_PER_ELEMENT)).map(drop)
}

/// Makes the kernel of `NonDeterministicInts`, which draws numbers from the operating system's entropy.
fn make_non_deterministic(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", DType::I64)?, [i32, i64, u32, u64], T => from_fn(move |ctx| {
        let generator = Philox::new(entropy(), u128::from(entropy()) << 64 | u128::from(entropy()));
        let output = draw_whole::<T>(ctx.allocator(), generator, shape_input(ctx, 0)?)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}
