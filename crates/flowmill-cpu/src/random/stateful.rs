//! Ops whose generator advances at each call: `RandomUniform` and related ops.

use super::distribution::{
    Normal, RESERVED_PER_ELEMENT, RandomFloat, RandomInteger, TruncatedNormal, Uniform, UniformInteger, WholeInteger, draw,
};
use super::philox::{Philox, of_seeds};
use crate::array::args::{indices, shape_argument};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RandomStandardNormal", make_normal);
    registry.add("RandomUniform", make_uniform);
    registry.add("RandomUniformInt", make_uniform_int);
    registry.add("TruncatedNormal", make_truncated_normal);
}

/// The generator state of one node. Each call takes its own part of the stream, one call after the other.
pub(crate) struct SharedGenerator(Mutex<Philox>);

impl SharedGenerator {
    /// Returns a generator for the attributes `seed` and `seed2`, or one seeded from the operating system's entropy if both are zero.
    pub(crate) fn from_attrs(init: &KernelInit<'_>) -> Result<SharedGenerator> {
        let generator = of_seeds(init.attrs.get_or("seed", 0)?, init.attrs.get_or("seed2", 0)?);
        Ok(SharedGenerator(Mutex::new(generator)))
    }

    /// Returns the generator for a call that draws `elements` elements.
    pub(super) fn reserve(&self, elements: usize) -> Philox {
        self.reserve_blocks((elements as u64).saturating_mul(RESERVED_PER_ELEMENT))
    }

    /// Returns the generator for a call that uses at most `blocks` blocks.
    pub(crate) fn reserve_blocks(&self, blocks: u64) -> Philox {
        self.0.lock().reserve(blocks)
    }
}

/// Returns the shape that input `i` describes, which must not be a scalar.
pub(super) fn shape_input(ctx: &KernelContext<'_>, i: usize) -> Result<Shape> {
    let sizes = ctx.input(i)?;
    if sizes.rank() == 1
        && let Some(size) = indices(sizes)?.into_iter().find(|&size| size < 0)
    {
        bail!(InvalidArgument, "Dimension {size} must be >= 0");
    }
    shape_argument(sizes, "shape")
}

fn make_float(init: &KernelInit<'_>, draw: fn(&Allocator, Philox, Shape) -> Result<Tensor>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    from_fn(move |ctx| {
        let shape = shape_input(ctx, 0)?;
        let generator = generator.reserve(shape.num_elements());
        ctx.set_output(0, draw(ctx.allocator(), generator, shape)?);
        Ok(())
    })
}

pub(super) fn draw_uniform<T: RandomFloat>(alloc: &Allocator, generator: Philox, shape: Shape) -> Result<Tensor> {
    draw(alloc, Uniform::<T>(PhantomData), generator, shape)
}

pub(super) fn draw_normal<T: RandomFloat>(alloc: &Allocator, generator: Philox, shape: Shape) -> Result<Tensor> {
    draw(alloc, Normal::<T>(PhantomData), generator, shape)
}

pub(super) fn draw_truncated_normal<T: RandomFloat>(alloc: &Allocator, generator: Philox, shape: Shape) -> Result<Tensor> {
    draw(alloc, TruncatedNormal::<T>(PhantomData), generator, shape)
}

pub(super) fn draw_whole<T: RandomInteger>(alloc: &Allocator, generator: Philox, shape: Shape) -> Result<Tensor> {
    draw(alloc, WholeInteger::<T>(PhantomData), generator, shape)
}

fn make_uniform(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, bf16, f32, f64], T => make_float(init, draw_uniform::<T>), _ => init.unsupported())
}

fn make_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, bf16, f32, f64], T => make_float(init, draw_normal::<T>), _ => init.unsupported())
}

fn make_truncated_normal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, bf16, f32, f64], T => make_float(init, draw_truncated_normal::<T>), _ => init.unsupported())
}

/// Returns the distribution of integers from the scalar in input `low` (inclusive) to that in input `low + 1` (exclusive).
///
/// # Errors
/// Returns `InvalidArgument` if the range is empty.
pub(super) fn integer_range<T: RandomInteger>(ctx: &KernelContext<'_>, low: usize) -> Result<UniformInteger<T>> {
    let bound = |i: usize, name: &str| -> Result<T> {
        match ctx.input(i)? {
            t if t.rank() == 0 => t.to_scalar(),
            t => bail!(InvalidArgument, "{name} must be 0-D, got shape {}", t.shape()),
        }
    };
    let (low, high) = (bound(low, "minval")?, bound(low + 1, "maxval")?);
    if low >= high {
        bail!(InvalidArgument, "Need minval < maxval, got {low} >= {high}");
    }
    Ok(UniformInteger { low, high })
}

fn make_uniform_int(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    for_dtype!(init.dtype("Tout")?, [i32, i64], T => from_fn(move |ctx| {
        let shape = shape_input(ctx, 0)?;
        let output = if shape.num_elements() == 0 {
            ctx.allocator().zeros(<T as Element>::DTYPE, shape)?
        } else {
            let range = integer_range::<T>(ctx, 1)?;
            draw(ctx.allocator(), range, generator.reserve(shape.num_elements()), shape)?
        };
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}
