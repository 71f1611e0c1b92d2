//! Moving blocks of space to the batch or depth dimension and back: `SpaceToBatch(ND)`, `BatchToSpace(ND)`, `SpaceToDepth`, `DepthToSpace`.

use super::copy::Copier;
use super::pad::{PaddedDim, Padder, pad};
use super::types::MOVABLE;
use crate::backend::Address;
use crate::device::GpuDevice;
use flowmill_kernels::array::args::indices;
use flowmill_kernels::array::nd::row_major;
use flowmill_kernels::array::space::{Blocks, block_size, depth_plan};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let blocks = |make| ["block_shape", "paddings", "crops"].iter().fold(KernelDef::new(make), |def, name| def.host_memory(name));
    for op in ["SpaceToBatch", "SpaceToBatchND"] {
        registry.register(op, blocks(|init| make_block_op(init, true)).constrain("T", MOVABLE));
    }
    for op in ["BatchToSpace", "BatchToSpaceND"] {
        registry.register(op, blocks(|init| make_block_op(init, false)).constrain("T", MOVABLE));
    }
    registry.register("SpaceToDepth", KernelDef::new(|init| make_depth_op(init, true)).constrain("T", MOVABLE));
    registry.register("DepthToSpace", KernelDef::new(|init| make_depth_op(init, false)).constrain("T", MOVABLE));
}

/// The kernels of a block op.
struct Mover {
    dtype: DType,
    copier: Copier,
    padder: Padder,
}

/// Makes the kernel of a block op. The `ND` ops have the block sizes as their second input, the others (two spatial dimensions) as an attribute.
fn make_block_op(init: &KernelInit<'_>, to_batch: bool) -> Result<Arc<dyn Kernel>> {
    let block_size: Option<i64> = if init.attrs.contains("block_size") { Some(init.attrs.get("block_size")?) } else { None };
    let dtype = init.dtype("T")?;
    let mover = Mover { dtype, copier: Copier::new(dtype)?, padder: Padder::new("pad", dtype)? };
    from_fn(move |ctx| {
        let sizes = match block_size {
            Some(size) => SmallVec::from_slice(&[size, size]),
            None => indices(ctx.input(1)?)?,
        };
        let margins = ctx.input(if block_size.is_some() { 1 } else { 2 })?;
        let blocks = Blocks::new(ctx.input(0)?.rank(), &sizes, margins, if to_batch { "paddings" } else { "crops" })?;
        if to_batch { mover.space_to_batch(ctx, &blocks) } else { mover.batch_to_space(ctx, &blocks) }
    })
}

/// Returns the dimensions of the space form with each spatial one split, `[batch, s1, k1, s2, k2, …, rest…]`, and the order of these dimensions in the
/// batch form, `[k1, k2, …, batch, s1, s2, …, rest…]`.
fn split_dims(batch: usize, small: &[usize], blocks: &Blocks, rest: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let n = blocks.sizes.len();
    let spatial = small.iter().zip(&blocks.sizes).flat_map(|(&size, &block)| [size, block]);
    let dims: Vec<usize> = std::iter::once(batch).chain(spatial).chain(rest.iter().copied()).collect();
    let order = (0..n).map(|i| 2 + 2 * i).chain([0]).chain((0..n).map(|i| 1 + 2 * i)).chain(1 + 2 * n..dims.len()).collect();
    (dims, order)
}

impl Mover {
    fn space_to_batch(&self, ctx: &mut KernelContext<'_>, blocks: &Blocks) -> Result<()> {
        let input = ctx.input(0)?.clone();
        let shape = blocks.batch_shape(input.shape())?;
        let output = ctx.allocate_output(0, self.dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if input.num_elements() == 0 {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        let n = blocks.sizes.len();
        let (mut from, mut padded) = (device.address(&input)?, input.shape().clone());
        let mut scratch = None;
        if blocks.margins.iter().any(|&margins| margins != (0, 0)) {
            for (i, &block) in blocks.sizes.iter().enumerate() {
                padded[i + 1] = shape[i + 1] * block;
            }
            let tensor = device.allocate(self.dtype, &padded)?;
            let before = |axis: usize| axis.checked_sub(1).and_then(|i| blocks.margins.get(i)).map_or(0, |margins| margins.0 as usize);
            let dims: SmallVec<[PaddedDim; 8]> = (0..padded.rank()).map(|axis| (padded[axis], before(axis), input.shape()[axis])).collect();
            let at = device.address(&tensor)?;
            pad(device, &self.padder, (at, from, Address(0)), &dims, 0)?;
            from = scratch.insert((at, tensor)).0;
        }
        let (dims, order) = split_dims(padded[0], &shape[1..=n], blocks, &shape[n + 1..]);
        self.copier.transpose(device, &dims, &order, to, from)
    }

    fn batch_to_space(&self, ctx: &mut KernelContext<'_>, blocks: &Blocks) -> Result<()> {
        let input = ctx.input(0)?.clone();
        let shape = blocks.space_shape(input.shape())?;
        let output = ctx.allocate_output(0, self.dtype, &shape)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let n = blocks.sizes.len();
        let (dims, order) = split_dims(shape[0], &input.shape()[1..=n], blocks, &shape[n + 1..]);
        // The batch form's dimensions, and the order of them in the space form.
        let small: Vec<usize> = order.iter().map(|&axis| dims[axis]).collect();
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &axis)| back[axis] = i);
        let (to, from) = (device.address(&output)?, device.address(&input)?);
        if blocks.margins.iter().all(|&margins| margins == (0, 0)) {
            return self.copier.transpose(device, &small, &back, to, from);
        }
        let mut whole = shape.clone();
        for (i, &block) in blocks.sizes.iter().enumerate() {
            whole[i + 1] = input.shape()[i + 1] * block;
        }
        let scratch = device.allocate(self.dtype, &whole)?;
        let at = device.address(&scratch)?;
        self.copier.transpose(device, &small, &back, at, from)?;
        let strides = row_major(&whole);
        let first: isize = blocks.margins.iter().zip(&strides[1..]).map(|(margins, stride)| margins.0 as isize * stride).sum();
        self.copier.copy(device, &shape, (to, &row_major(&shape)), (at.offset(first as usize * self.copier.size()), &strides))
    }
}

fn make_depth_op(init: &KernelInit<'_>, to_depth: bool) -> Result<Arc<dyn Kernel>> {
    let block = block_size(init)?;
    let channels_first = match init.attrs.get_or("data_format", "NHWC")? {
        "NHWC" => false,
        "NCHW" => true,
        other => bail!(Unimplemented, "GPU kernels have images of the formats NHWC and NCHW, and not {other}"),
    };
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let input: Tensor = ctx.input(0)?.clone();
        let plan = depth_plan(input.shape(), block, to_depth, channels_first)?;
        let output = ctx.allocate_output(0, dtype, &Shape::new(&plan.four))?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        copier.transpose(device, &plan.six, &plan.permutation, device.address(&output)?, device.address(&input)?)
    })
}
