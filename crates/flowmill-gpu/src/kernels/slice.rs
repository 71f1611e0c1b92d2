//! Ops that read or write a part of a tensor: `Slice`, `StridedSlice`, `Split`, `Unpack`.

use super::copy::Copier;
use super::types::MOVABLE;
use crate::device::GpuDevice;
use flowmill_kernels::array::args::{indices, product, shape_argument};
use flowmill_kernels::array::nd::row_major;
use flowmill_kernels::array::rearrange::{complete_sizes, equal_parts, slice_region, split_axis, unpacked_shape, value_strides};
use flowmill_kernels::array::slice_spec::{Masks, Region, resolve};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let movable = |make| KernelDef::new(make).constrain("T", MOVABLE);
    registry.register("Slice", movable(make_slice).host_memory("begin").host_memory("size"));
    let strided = |make| movable(make).host_memory("begin").host_memory("end").host_memory("strides");
    registry.register("StridedSlice", strided(make_strided_slice));
    registry.register("StridedSliceGrad", strided(make_strided_slice_grad).host_memory("shape"));
    registry.register("TensorStridedSliceUpdate", strided(make_update));
    registry.register("Split", movable(make_split).host_memory("split_dim"));
    registry.register("SplitV", movable(make_split_v).host_memory("size_splits").host_memory("split_dim"));
    registry.register("Unpack", movable(make_unpack));
}

/// Sets output 0 to the elements of a region of input 0.
fn read_region(ctx: &mut KernelContext<'_>, copier: &Copier, region: &Region, shape: Shape) -> Result<()> {
    let input = ctx.input(0)?.clone();
    if shape.num_elements() == 0 {
        return ctx.allocate_output(0, input.dtype(), &shape).map(drop);
    }
    let device = GpuDevice::of(ctx.device())?;
    let (first, strides) = region.strides(input.shape());
    if region.is_contiguous(input.shape()) {
        let view = device.view(&input, first as usize, shape)?;
        ctx.set_output(0, view);
        return Ok(());
    }
    let output = ctx.allocate_output(0, input.dtype(), &shape)?.clone();
    let from = device.address(&input)?.offset(first as usize * copier.size());
    copier.copy(device, &region.sizes, (device.address(&output)?, &row_major(&region.sizes)), (from, &strides))
}

fn make_slice(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let copier = Copier::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let region = slice_region(input.shape(), ctx.input(1)?, ctx.input(2)?)?;
        if region.sizes[..] == input.shape()[..] {
            return ctx.forward(0, 0);
        }
        let shape = Shape::new(&region.sizes);
        read_region(ctx, &copier, &region, shape)
    })
}

fn make_strided_slice(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    let copier = Copier::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let (region, shape) = resolve(input.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        if region.is_whole(input.shape()) {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        read_region(ctx, &copier, &region, shape)
    })
}

fn make_strided_slice_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let shape = shape_argument(ctx.input(0)?, "shape")?;
        let (region, slice_shape) = resolve(&shape, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        let dy = ctx.input(4)?.clone();
        if *dy.shape() != slice_shape {
            bail!(InvalidArgument, "shape of dy was {} instead of {slice_shape}", dy.shape());
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        let to = device.address(&output)?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        if dy.num_elements() < output.num_elements() {
            device.gpu().fill(to, 0, output.num_bytes())?;
        }
        if dy.num_elements() == 0 {
            return Ok(());
        }
        let (first, strides) = region.strides(&shape);
        let to = to.offset(first as usize * copier.size());
        copier.copy(device, &region.sizes, (to, &strides), (device.address(&dy)?, &row_major(&region.sizes)))
    })
}

/// Makes the kernel of `TensorStridedSliceUpdate`: a copy of the tensor in which a region has other values.
fn make_update(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let (target, value) = (ctx.input(0)?.clone(), ctx.input(4)?.clone());
        let (region, shape) = resolve(target.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        let Some(from) = value_strides(value.shape(), &shape) else {
            bail!(InvalidArgument, "Cannot broadcast input shape {} into final shape {shape}", value.shape());
        };
        let output = ctx.allocate_output(0, dtype, target.shape())?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        device.gpu().copy(to, device.address(&target)?, output.num_bytes())?;
        if shape.num_elements() == 0 {
            return Ok(());
        }
        let (first, strides) = region.strides(target.shape());
        // The value has a dimension for each of the slice's, which lacks some of the region's and has some of size 1 more.
        let mut sizes = from.iter().zip(shape.iter()).filter(|&(_, &dim)| dim != 1).map(|(&stride, _)| stride);
        let from = region.sizes.iter().map(|&size| if size == 1 { 0 } else { sizes.next().unwrap_or(0) });
        let from: flowmill_kernels::array::nd::Strides = from.collect();
        copier.copy(device, &region.sizes, (to.offset(first as usize * copier.size()), &strides), (device.address(&value)?, &from))
    })
}

/// Returns the elements `start..start + length` of dimension `axis`, as a tensor of shape `shape`, which may lack the axis if `length` is one.
fn part(device: &GpuDevice, copier: &Copier, input: &Tensor, axis: usize, (start, length): (usize, usize), shape: Shape) -> Result<Tensor> {
    let (outer, inner) = (product(&input.shape()[..axis]), product(&input.shape()[axis + 1..]));
    if outer == 1 {
        return device.view(input, start * inner, shape);
    }
    let output = flowmill_runtime::Device::allocate(device, input.dtype(), &shape)?;
    if output.num_elements() > 0 {
        let from = device.address(input)?.offset(start * inner * copier.size());
        let (row, whole) = ((length * inner) as isize, (input.shape()[axis] * inner) as isize);
        copier.copy(device, &[outer, length * inner], (device.address(&output)?, &[row, 1]), (from, &[whole, 1]))?;
    }
    Ok(output)
}

fn make_split(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let copier = Copier::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let count = ctx.num_outputs();
        let input = ctx.input(1)?.clone();
        let axis = split_axis(input.shape(), ctx.input(0)?, count)?;
        if count == 1 {
            return ctx.forward(1, 0);
        }
        let length = equal_parts(axis, input.shape()[axis], count)?;
        split(ctx, &copier, &input, axis, &vec![length; count])
    })
}

fn split(ctx: &mut KernelContext<'_>, copier: &Copier, input: &Tensor, axis: usize, lengths: &[usize]) -> Result<()> {
    let device = GpuDevice::of(ctx.device())?;
    let mut start = 0;
    for (i, &length) in lengths.iter().enumerate() {
        let mut shape = input.shape().clone();
        shape[axis] = length;
        let output = part(device, copier, input, axis, (start, length), shape)?;
        ctx.set_output(i, output);
        start += length;
    }
    Ok(())
}

fn make_split_v(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let copier = Copier::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let count = ctx.num_outputs();
        let (input, sizes) = (ctx.input(0)?.clone(), ctx.input(1)?);
        let axis = split_axis(input.shape(), ctx.input(2)?, count)?;
        if sizes.rank() != 1 || sizes.num_elements() != count {
            bail!(
                InvalidArgument,
                "size of the split_tensor must be 1-D and have the same elements as outputs got {} and {count}",
                sizes.shape()
            );
        }
        let sizes = complete_sizes(indices(sizes)?, input.shape()[axis])?;
        if count == 1 {
            return ctx.forward(0, 0);
        }
        let lengths: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
        split(ctx, &copier, &input, axis, &lengths)
    })
}

fn make_unpack(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", 0)?;
    let copier = Copier::new(init.dtype("T")?)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let (axis, shape) = unpacked_shape(input.shape(), axis, ctx.num_outputs())?;
        let device = GpuDevice::of(ctx.device())?;
        for i in 0..ctx.num_outputs() {
            let output = part(device, &copier, &input, axis, (i, 1), shape.clone())?;
            ctx.set_output(i, output);
        }
        Ok(())
    })
}
