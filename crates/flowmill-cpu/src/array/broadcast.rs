//! Repetition of elements: `BroadcastTo`, `Tile`, and the arithmetic of broadcast shapes.

use super::args::{Indices, indices};
use super::item::{Item, for_item};
use super::nd::read_strided;
use super::rearrange::{broadcast_target, tiling};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BroadcastArgs", make_broadcast_args);
    registry.add("BroadcastGradientArgs", make_broadcast_gradient_args);
    registry.add("BroadcastTo", make_broadcast_to);
    registry.add("Tile", make_tile);
}

fn make_broadcast_to(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    for_item!(dtype, T => linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        let (shape, strides) = broadcast_target(input.shape(), ctx.input(1)?)?;
        if *input.shape() == shape {
            return ctx.forward(0, 0);
        }
        let source = T::items(input)?;
        let output = T::build(ctx.allocator(), dtype, shape.clone(), source, |out| {
            read_strided(out, source, 0, &shape, &strides);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

fn make_tile(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_from_fn(init, tile::<T>))
}

fn tile<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (input, multiples) = (ctx.input(0)?, ctx.input(1)?);
    let tiling = tiling(input.shape(), multiples)?;
    if tiling.shape == *input.shape() {
        return ctx.forward(0, 0);
    }
    let source = T::items(input)?;
    let output = T::build(ctx.allocator(), input.dtype(), tiling.shape, source, |out| {
        read_strided(out, source, 0, &tiling.dims, &tiling.strides);
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}

/// Returns the shape argument `i`, as sizes.
fn shape_sizes(ctx: &KernelContext<'_>, i: usize) -> Result<Indices> {
    let sizes = ctx.input(i)?;
    if sizes.rank() != 1 {
        bail!(InvalidArgument, "In[{i}] must be a vector.{}", sizes.shape());
    }
    indices(sizes)
}

/// Returns size `i`, counted from the innermost dimension of a shape of rank `rank`, or one past its outermost dimension.
fn aligned(sizes: &[i64], rank: usize, i: usize) -> i64 {
    (i + sizes.len()).checked_sub(rank).map_or(1, |at| sizes[at])
}

fn make_broadcast_args(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let (a, b) = (shape_sizes(ctx, 0)?, shape_sizes(ctx, 1)?);
        let rank = a.len().max(b.len());
        let mut sizes = Indices::new();
        for i in 0..rank {
            sizes.push(match (aligned(&a, rank, i), aligned(&b, rank, i)) {
                (x, y) if x == y || y == 1 => x,
                (1, y) => y,
                _ => return incompatible(&a, &b),
            });
        }
        let output = ctx.allocator().index_vector(dtype, &sizes)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn incompatible(a: &[i64], b: &[i64]) -> Result<()> {
    let show = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    bail!(InvalidArgument, "Incompatible shapes: [{}] vs. [{}]", show(a), show(b))
}

/// Makes the kernel of `BroadcastGradientArgs`: the axes along which the gradient of a broadcasting op must be summed for each of its arguments.
///
/// An axis whose size is one in both shapes is in both results, as in TensorFlow: the sum along it changes nothing.
fn make_broadcast_gradient_args(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let (a, b) = (shape_sizes(ctx, 0)?, shape_sizes(ctx, 1)?);
        let (mut for_a, mut for_b) = (Indices::new(), Indices::new());
        if a != b {
            let rank = a.len().max(b.len());
            for i in 0..rank {
                let (x, y) = (aligned(&a, rank, i), aligned(&b, rank, i));
                if x != y && x != 1 && y != 1 {
                    return incompatible(&a, &b);
                }
                if x == 1 {
                    for_a.push(i as i64);
                }
                if y == 1 {
                    for_b.push(i as i64);
                }
            }
        }
        let (for_a, for_b) = (ctx.allocator().index_vector(dtype, &for_a)?, ctx.allocator().index_vector(dtype, &for_b)?);
        ctx.set_output(0, for_a);
        ctx.set_output(1, for_b);
        Ok(())
    })
}
