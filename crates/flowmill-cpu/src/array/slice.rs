//! `Slice` and the ops with NumPy-like indexing: `StridedSlice`, its gradient, and `TensorStridedSliceUpdate`.

use super::args::shape_argument;
use super::item::{Item, contiguous, for_item};
use super::nd::{Dims, Strides, read_strided, write_strided};
use super::rearrange::{slice_region, value_strides};
use super::slice_spec::{Masks, Region, resolve};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Slice", make_slice);
    registry.add("StridedSlice", make_strided_slice);
    registry.add("StridedSliceGrad", make_strided_slice_grad);
    registry.add("TensorStridedSliceUpdate", make_tensor_strided_slice_update);
}

fn make_slice(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(|ctx| {
        let input = ctx.input(0)?;
        let region = slice_region(input.shape(), ctx.input(1)?, ctx.input(2)?)?;
        if region.sizes[..] == input.shape()[..] {
            return ctx.forward(0, 0);
        }
        let shape = Shape::new(&region.sizes);
        let output = read_region::<T>(ctx.allocator(), input, &region, shape)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Returns the elements of a region as a tensor of shape `shape`.
fn read_region<T: Item>(alloc: &Allocator, input: &Tensor, region: &Region, shape: Shape) -> Result<Tensor> {
    let (offset, strides) = if shape.num_elements() == 0 { (0, Strides::new()) } else { region.strides(input.shape()) };
    if region.is_contiguous(input.shape()) {
        return contiguous::<T>(alloc, input, offset as usize, shape);
    }
    let source = T::items(input)?;
    T::build(alloc, input.dtype(), shape, source, |out| {
        read_strided(out, source, offset, &region.sizes, &strides);
        Ok(())
    })
}

fn make_strided_slice(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let (region, shape) = resolve(input.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        if region.is_whole(input.shape()) {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let output = read_region::<T>(ctx.allocator(), input, &region, shape)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Makes the kernel of `StridedSliceGrad`: zeros of the sliced tensor's shape, with `dy` at the elements that the slice read.
fn make_strided_slice_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    let dtype = init.dtype("T")?;
    for_item!(dtype, T => linear_from_fn(init, move |ctx| {
        let shape = shape_argument(ctx.input(0)?, "shape")?;
        let (region, slice_shape) = resolve(&shape, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        let dy = ctx.input(4)?;
        if *dy.shape() != slice_shape {
            bail!(InvalidArgument, "shape of dy was {} instead of {slice_shape}", dy.shape());
        }
        let source = T::items(dy)?;
        let (offset, strides) = region.strides(&shape);
        let zero = T::zero()?;
        let output = T::build(ctx.allocator(), dtype, shape, source, |out| {
            out.fill(zero);
            write_strided(out, offset, &region.sizes, &strides, source);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

fn make_tensor_strided_slice_update(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| {
        let mut target = ctx.take_writable(0)?;
        assign_slice::<T>(&mut target, ctx, &masks)?;
        ctx.set_output(0, target);
        Ok(())
    }))
}

/// Writes input 4, broadcast if necessary, to the region of `target` that inputs 1 to 3 describe.
fn assign_slice<T: Item>(target: &mut Tensor, ctx: &KernelContext<'_>, masks: &Masks) -> Result<()> {
    let Some(Assigned { sizes, offset, strides, shape, from }) = assigned(target, ctx, masks)? else { return Ok(()) };
    let value = ctx.input(4)?;
    let items = T::items(value)?;
    if items.len() == shape.num_elements() {
        return T::update(target, |out| {
            write_strided(out, offset, &sizes, &strides, items);
            Ok(())
        });
    }
    let spread = T::build(ctx.allocator(), value.dtype(), shape.clone(), items, |out| {
        read_strided(out, items, 0, &shape, &from);
        Ok(())
    })?;
    let spread = T::items(&spread)?;
    T::update(target, |out| {
        write_strided(out, offset, &sizes, &strides, spread);
        Ok(())
    })
}

/// The elements of a target that an op assigns.
struct Assigned {
    sizes: Dims,
    offset: isize,
    strides: Strides,
    /// The shape of the region; a value of this shape has a stride in `from` for each of its dimensions.
    shape: Shape,
    from: Strides,
}

/// Returns the elements that are assigned, or `None` if there are none.
fn assigned(target: &Tensor, ctx: &KernelContext<'_>, masks: &Masks) -> Result<Option<Assigned>> {
    let (region, shape) = resolve(target.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, masks)?;
    let value = ctx.input(4)?;
    if value.dtype() != target.dtype() {
        bail!(InvalidArgument, "l-value dtype {} does not match r-value dtype {}", target.dtype(), value.dtype());
    }
    let Some(from) = value_strides(value.shape(), &shape) else {
        bail!(InvalidArgument, "Cannot broadcast input shape {} into final shape {shape}", value.shape());
    };
    if shape.num_elements() == 0 {
        return Ok(None);
    }
    let (offset, strides) = region.strides(target.shape());
    Ok(Some(Assigned { sizes: region.sizes, offset, strides, shape, from }))
}
