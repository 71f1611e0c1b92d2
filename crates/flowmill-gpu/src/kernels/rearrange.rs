//! Ops that permute or repeat elements: `Transpose`, `Reverse`, `Tile`, `BroadcastTo`.

use super::copy::Copier;
use super::types::MOVABLE;
use crate::device::GpuDevice;
use flowmill_kernels::array::nd::{Strides, row_major};
use flowmill_kernels::array::rearrange::{broadcast_target, permutation, reversed_axes, reversed_strides, tiling};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("BroadcastTo", KernelDef::new(make_broadcast_to).constrain("T", MOVABLE).host_memory("shape"));
    registry.register("Reverse", KernelDef::new(make_reverse).constrain("T", MOVABLE).host_memory("dims"));
    registry.register("ReverseV2", KernelDef::new(make_reverse_v2).constrain("T", MOVABLE).host_memory("axis"));
    registry.register("Tile", KernelDef::new(make_tile).constrain("T", MOVABLE).host_memory("multiples"));
    registry.register("Transpose", KernelDef::new(make_transpose).constrain("T", MOVABLE).host_memory("perm"));
}

/// A loop over the elements of input 0: its dimensions, the number of the first element, and the strides.
struct Read<'a> {
    dims: &'a [usize],
    first: isize,
    strides: &'a [isize],
}

/// Sets output 0, of this shape, to the elements of input 0 in the order of a loop.
fn read(ctx: &mut KernelContext<'_>, copier: &Copier, dtype: DType, shape: &Shape, order: &Read<'_>) -> Result<()> {
    let input = ctx.input(0)?.clone();
    let output = ctx.allocate_output(0, dtype, shape)?.clone();
    if output.num_elements() == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    let from = device.address(&input)?.offset(order.first as usize * copier.size());
    copier.copy(device, order.dims, (device.address(&output)?, &row_major(order.dims)), (from, order.strides))
}

fn make_transpose(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let from = ctx.input(0)?.shape().clone();
        let axes = permutation(ctx.input(1)?, &from)?;
        let shape: Shape = axes.iter().map(|&axis| from[axis]).collect();
        if axes.iter().filter(|&&axis| from[axis] != 1).is_sorted() {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let own = row_major(&from);
        let strides: Strides = axes.iter().map(|&axis| own[axis]).collect();
        read(ctx, &copier, dtype, &shape, &Read { dims: &shape, first: 0, strides: &strides })
    })
}

fn make_reverse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let (input, dims) = (ctx.input(0)?, ctx.input(1)?);
        if dims.rank() != 1 {
            bail!(InvalidArgument, "'dims' must be 1-dimension, not {}", dims.rank());
        }
        if dims.num_elements() != input.rank() {
            bail!(
                InvalidArgument,
                "'dims' must have the same number of values as 'input' has dimensions. 'input' has {}'dims' has {} values",
                input.rank(),
                dims.num_elements()
            );
        }
        let flags = dims.as_slice::<bool>()?.to_vec();
        reverse(ctx, &copier, dtype, &flags)
    })
}

fn make_reverse_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let flags = reversed_axes(ctx.input(0)?.shape(), ctx.input(1)?)?;
        reverse(ctx, &copier, dtype, &flags)
    })
}

fn reverse(ctx: &mut KernelContext<'_>, copier: &Copier, dtype: DType, flags: &[bool]) -> Result<()> {
    let shape = ctx.input(0)?.shape().clone();
    let (first, strides) = reversed_strides(&shape, flags);
    if strides.iter().all(|&stride| stride > 0) {
        return ctx.forward(0, 0);
    }
    read(ctx, copier, dtype, &shape, &Read { dims: &shape, first, strides: &strides })
}

fn make_tile(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let tiling = tiling(ctx.input(0)?.shape(), ctx.input(1)?)?;
        if tiling.shape == *ctx.input(0)?.shape() {
            return ctx.forward(0, 0);
        }
        read(ctx, &copier, dtype, &tiling.shape, &Read { dims: &tiling.dims, first: 0, strides: &tiling.strides })
    })
}

fn make_broadcast_to(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let (shape, strides) = broadcast_target(ctx.input(0)?.shape(), ctx.input(1)?)?;
        if *ctx.input(0)?.shape() == shape {
            return ctx.forward(0, 0);
        }
        read(ctx, &copier, dtype, &shape, &Read { dims: &shape, first: 0, strides: &strides })
    })
}
