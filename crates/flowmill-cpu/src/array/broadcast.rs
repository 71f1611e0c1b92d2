//! Repetition of elements: `BroadcastTo`, `Tile`, and the arithmetic of broadcast shapes.

use super::args::{Indices, indices, shape_argument};
use super::item::{Item, for_item};
use super::nd::{Dims, Strides, read_strided, row_major};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BroadcastArgs", make_broadcast_args);
    registry.add("BroadcastGradientArgs", make_broadcast_gradient_args);
    registry.add("BroadcastTo", make_broadcast_to);
    registry.add("Tile", make_tile);
}

/// Returns the strides with which row-major data of shape `from` is read as if it had shape `to`, or `None` if `from` does not broadcast to `to`.
pub(super) fn broadcast_strides(from: &Shape, to: &Shape) -> Option<Strides> {
    let added = to.rank().checked_sub(from.rank())?;
    let own = row_major(from);
    let mut strides: Strides = SmallVec::from_elem(0, to.rank());
    for (i, (&size, &stride)) in from.iter().zip(&own).enumerate() {
        if size == to[added + i] {
            strides[added + i] = stride;
        } else if size != 1 {
            return None;
        }
    }
    Some(strides)
}

fn make_broadcast_to(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    for_item!(dtype, T => linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        let shape = if ctx.input(1)?.num_elements() == 0 { Shape::scalar() } else { shape_argument(ctx.input(1)?, "shape")? };
        if *input.shape() == shape {
            return ctx.forward(0, 0);
        }
        if input.rank() > shape.rank() {
            bail!(InvalidArgument, "Rank of input ({}) must be no greater than rank of output shape ({}).", input.rank(), shape.rank());
        }
        let Some(strides) = broadcast_strides(input.shape(), &shape) else {
            bail!(InvalidArgument, "Incompatible shapes: {} vs. {shape}", input.shape());
        };
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
    if multiples.rank() != 1 {
        bail!(InvalidArgument, "Expected multiples to be 1-D, but got shape {}", multiples.shape());
    }
    if multiples.num_elements() != input.rank() {
        bail!(
            InvalidArgument,
            "Expected multiples argument to be a vector of length {} but got length {}",
            input.rank(),
            multiples.num_elements()
        );
    }
    let multiples = indices(multiples)?;
    if multiples.iter().all(|&m| m == 1) {
        return ctx.forward(0, 0);
    }
    let own = row_major(input.shape());
    let mut sizes = Indices::new();
    // Each dimension becomes two: the repetitions, whose stride is zero, and the elements.
    let (mut dims, mut strides) = (Dims::new(), Strides::new());
    for (i, &multiple) in multiples.iter().enumerate() {
        let Ok(repeat) = usize::try_from(multiple) else { bail!(InvalidArgument, "Expected multiples[{i}] >= 0, but got {multiple}") };
        let Some(size) = multiple.checked_mul(input.shape()[i] as i64) else {
            bail!(InvalidArgument, "the size of dimension {i} overflows")
        };
        sizes.push(size);
        dims.extend([repeat, input.shape()[i]]);
        strides.extend([0, own[i]]);
    }
    let source = T::items(input)?;
    let output = T::build(ctx.allocator(), input.dtype(), Shape::from_i64(&sizes)?, source, |out| {
        read_strided(out, source, 0, &dims, &strides);
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
