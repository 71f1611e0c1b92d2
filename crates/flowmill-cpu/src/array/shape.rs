//! Ops on shapes: they read or change a tensor's shape and share its elements.

use super::args::{Indices, indices, scalar_index};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ExpandDims", make_expand_dims);
    registry.add("Rank", make_rank);
    registry.add("Reshape", make_reshape);
    registry.add("Shape", make_shape);
    registry.add("ShapeN", make_shape);
    registry.add("Size", make_size);
    registry.add("Squeeze", make_squeeze);
}

fn out_type(init: &KernelInit<'_>) -> Result<DType> {
    match init.attrs.get_or("out_type", DType::I32)? {
        t @ (DType::I32 | DType::I64) => Ok(t),
        _ => init.unsupported(),
    }
}

/// Makes the kernel of `Shape` and `ShapeN`: one vector of sizes for each input.
fn make_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = out_type(init)?;
    from_fn(move |ctx| {
        for i in 0..ctx.num_inputs() {
            let sizes = shape_vector(ctx.allocator(), dtype, ctx.input(i)?.shape())?;
            ctx.set_output(i, sizes);
        }
        Ok(())
    })
}

fn shape_vector(alloc: &Allocator, dtype: DType, shape: &Shape) -> Result<Tensor> {
    let mut sizes = alloc.uninit(dtype, [shape.rank()])?;
    if dtype == DType::I64 {
        sizes.as_mut_slice::<i64>()?.iter_mut().zip(shape.iter()).for_each(|(to, &from)| *to = from as i64);
        return Ok(sizes);
    }
    for (i, (to, &from)) in sizes.as_mut_slice::<i32>()?.iter_mut().zip(shape.iter()).enumerate() {
        *to = i32::try_from(from).map_err(|_| error!(InvalidArgument, "Shape output type is 32-bit but dim {i} is {from}"))?;
    }
    Ok(sizes)
}

fn make_size(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = out_type(init)?;
    from_fn(move |ctx| {
        let n = ctx.input(0)?.num_elements();
        let size = match dtype {
            DType::I64 => Tensor::scalar(n as i64),
            _ => Tensor::scalar(
                i32::try_from(n)
                    .map_err(|_| error!(InvalidArgument, "Number of elements was larger than representable by 32-bit output type"))?,
            ),
        };
        ctx.set_output(0, size);
        Ok(())
    })
}

fn make_rank(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let rank = ctx.input(0)?.rank();
        ctx.set_output(0, Tensor::scalar(rank as i32));
        Ok(())
    })
}

fn make_reshape(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let output = reshaped(ctx)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Takes input 0 and returns it in the shape in input 1.
///
/// # Errors
/// Returns `InvalidArgument` if input 1 is not a shape, or is the shape of another number of elements.
pub(crate) fn reshaped(ctx: &mut KernelContext<'_>) -> Result<Tensor> {
    let sizes = ctx.input(1)?;
    // A scalar −1 is accepted as `[-1]`, as in TensorFlow.
    if sizes.rank() > 1 {
        bail!(InvalidArgument, "sizes input must be 1-D, not {}", sizes.shape());
    }
    if sizes.num_elements() >= Shape::MAX_RANK {
        bail!(InvalidArgument, "too many dimensions: must be < {}, but received {}", Shape::MAX_RANK, sizes.num_elements());
    }
    let shape = reshape_to(ctx.input(0)?.shape(), &indices(sizes)?)?;
    ctx.take(0)?.reshaped(shape)
}

/// Returns the shape with these sizes that has as many elements as `input`; one size may be −1. For an empty tensor, sizes of zero are ignored on
/// both sides when the missing size is computed, as in TensorFlow.
fn reshape_to(input: &Shape, sizes: &[i64]) -> Result<Shape> {
    let n = input.num_elements();
    let mut missing = None;
    let mut known = Indices::from_slice(sizes);
    for (i, size) in known.iter_mut().enumerate() {
        if *size == -1 {
            if let Some(first) = missing.replace(i) {
                bail!(InvalidArgument, "Only one input size may be -1, not both {first} and {i}");
            }
            *size = 1;
        } else if *size < 0 {
            bail!(InvalidArgument, "Size {i} must be non-negative, not {size}");
        }
    }
    let mut shape = Shape::from_i64(&known)?;
    let product = shape.num_elements();
    match missing {
        Some(i) if product == 0 && n == 0 => {
            let but_zeros = |dims: &[usize]| dims.iter().filter(|&&d| d > 0).fold(1usize, |n, &d| n.saturating_mul(d));
            shape[i] = but_zeros(input) / but_zeros(&shape);
            shape.checked_num_elements()?;
        }
        Some(_) if product == 0 => {
            bail!(InvalidArgument, "Input to reshape is a tensor with {n} values, but the requested shape has 0")
        }
        Some(_) if !n.is_multiple_of(product) => {
            bail!(InvalidArgument, "Input to reshape is a tensor with {n} values, but the requested shape requires a multiple of {product}")
        }
        Some(i) => shape[i] = n / product,
        None if product != n => {
            bail!(InvalidArgument, "Input to reshape is a tensor with {n} values, but the requested shape has {product}")
        }
        None => {}
    }
    Ok(shape)
}

fn make_expand_dims(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let dim = scalar_index(ctx.input(1)?, "'dim'")?;
        let mut shape = ctx.input(0)?.shape().clone();
        let rank = shape.rank() as i64;
        if !(-1 - rank..=rank).contains(&dim) {
            bail!(InvalidArgument, "Tried to expand dim index {dim} for tensor with {rank} dimensions.");
        }
        if shape.rank() >= Shape::MAX_RANK {
            bail!(InvalidArgument, "Too many dimensions: {}", rank + 1);
        }
        shape.insert((if dim < 0 { dim + rank + 1 } else { dim }) as usize, 1);
        let output = ctx.take(0)?.reshaped(shape)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_squeeze(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    // The attribute `axis` of TensorFlow's Python API has the name `squeeze_dims` in the graph.
    let axes: Vec<i64> = if init.attrs.contains("squeeze_dims") { init.attrs.list("squeeze_dims")? } else { Vec::new() };
    from_fn(move |ctx| {
        let shape = squeezed(ctx.input(0)?.shape(), &axes)?;
        let output = ctx.take(0)?.reshaped(shape)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns the shape without the dimensions in `axes`, whose sizes must be one, or without all dimensions of size one if `axes` is empty.
fn squeezed(shape: &Shape, axes: &[i64]) -> Result<Shape> {
    if axes.is_empty() {
        return Ok(shape.iter().copied().filter(|&size| size != 1).collect());
    }
    let mut drop = [false; Shape::MAX_RANK];
    for &axis in axes {
        let Some(i) = shape.axis(axis) else {
            bail!(InvalidArgument, "Tried to squeeze dim index {axis} for tensor with {} dimensions.", shape.rank());
        };
        if shape[i] != 1 {
            bail!(InvalidArgument, "Can not squeeze dim[{i}], expected a dimension of 1, got {}", shape[i]);
        }
        drop[i] = true;
    }
    Ok(shape.iter().zip(drop).filter(|&(_, dropped)| !dropped).map(|(&size, _)| size).collect())
}
