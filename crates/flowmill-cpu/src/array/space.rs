//! Moving blocks of space to the batch or depth dimension and back: `SpaceToBatch(ND)`, `BatchToSpace(ND)`, `SpaceToDepth`, `DepthToSpace`, and
//! `ExtractImagePatches`.

use super::args::indices;
use super::item::{Item, for_item};
use super::nd::copy_strided;
use super::transpose::transposed;
use crate::from_fn::linear_from_fn;
use flowmill_kernels::array::space::{Blocks, block_size, depth_plan};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BatchToSpace", |init| make_block_op(init, false));
    registry.add("BatchToSpaceND", |init| make_block_op(init, false));
    registry.add("DepthToSpace", |init| make_depth_op(init, false));
    registry.add("SpaceToBatch", |init| make_block_op(init, true));
    registry.add("SpaceToBatchND", |init| make_block_op(init, true));
    registry.add("SpaceToDepth", |init| make_depth_op(init, true));
}

/// Makes the kernel of a block op. The `ND` ops take the block sizes as their second input, the others (two spatial dimensions) as an attribute.
fn make_block_op(init: &KernelInit<'_>, to_batch: bool) -> Result<Arc<dyn Kernel>> {
    let block_size: Option<i64> = if init.attrs.contains("block_size") { Some(init.attrs.get("block_size")?) } else { None };
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let sizes = match block_size {
            Some(size) => SmallVec::from_slice(&[size, size]),
            None => indices(ctx.input(1)?)?,
        };
        let margins = ctx.input(if block_size.is_some() { 1 } else { 2 })?;
        let input = ctx.input(0)?;
        let blocks = Blocks::new(input.rank(), &sizes, margins, if to_batch { "paddings" } else { "crops" })?;
        let output = if to_batch { space_to_batch::<T>(ctx.allocator(), input, &blocks)? } else { batch_to_space::<T>(ctx.allocator(), input, &blocks)? };
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Converts `[batch, spatial…, rest…]` to `[blocks · batch, (padded spatial / block)…, rest…]`.
fn space_to_batch<T: Item>(alloc: &Allocator, input: &Tensor, blocks: &Blocks) -> Result<Tensor> {
    let shape = blocks.batch_shape(input.shape())?;
    let source = T::items(input)?;
    let zero = T::zero()?;
    T::build(alloc, input.dtype(), shape.clone(), source, |out| {
        out.fill(zero);
        if !source.is_empty() && !out.is_empty() {
            blocks.for_each(&shape, input.shape(), |small, large, dims| {
                copy_strided((out, small.0, small.1), (source, large.0, large.1), dims)
            });
        }
        Ok(())
    })
}

/// Computes the reverse of [`space_to_batch`]; the margins are cropped.
fn batch_to_space<T: Item>(alloc: &Allocator, input: &Tensor, blocks: &Blocks) -> Result<Tensor> {
    let shape = blocks.space_shape(input.shape())?;
    let source = T::items(input)?;
    T::build(alloc, input.dtype(), shape.clone(), source, |out| {
        if !source.is_empty() && !out.is_empty() {
            blocks.for_each(input.shape(), &shape, |small, large, dims| {
                copy_strided((out, large.0, large.1), (source, small.0, small.1), dims)
            });
        }
        Ok(())
    })
}

fn make_depth_op(init: &KernelInit<'_>, to_depth: bool) -> Result<Arc<dyn Kernel>> {
    let block = block_size(init)?;
    let channels_first = match init.attrs.get_or("data_format", "NHWC")? {
        "NHWC" => false,
        "NCHW" => true,
        other => bail!(InvalidArgument, "Only NHWC and NCHW data_format supported on CPU. Got {other}"),
    };
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let plan = depth_plan(ctx.input(0)?.shape(), block, to_depth, channels_first)?;
        let split = ctx.take(0)?.reshaped(plan.six)?;
        let output = transposed::<T>(ctx.allocator(), &split, &plan.permutation)?.reshaped(plan.four)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}
