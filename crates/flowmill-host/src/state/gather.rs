//! Kernels that read parts of resource variables.

use super::Variable;
use super::indices::{batched_row_starts, slice_starts};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ResourceGather", make_gather);
    registry.add("ResourceGatherNd", make_gather_nd);
}

fn read(ctx: &KernelContext<'_>, dtype: DType) -> Result<Tensor> {
    let value = Variable::from_input(ctx, 0)?.read()?;
    if value.dtype() != dtype {
        bail!(InvalidArgument, "Trying to read variable with wrong dtype. Expected {} got {}", dtype.cpp_name(), value.dtype().cpp_name());
    }
    Ok(value)
}

/// Makes the kernel of `ResourceGather`, which gathers rows of the variable along dimension `batch_dims`. The outer dimensions are shared with the indices.
fn make_gather(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let batch_dims = init.attrs.get_or("batch_dims", 0i64)?;
    from_fn(move |ctx| {
        let (params, indices) = (read(ctx, dtype)?, ctx.input(1)?);
        let axis = if batch_dims < 0 { batch_dims + indices.rank() as i64 } else { batch_dims };
        let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis <= indices.rank()) else {
            bail!(InvalidArgument, "batch_dims must be in [-{rank}, {rank}], got {batch_dims}", rank = indices.rank());
        };
        let (Some(batch), Some((&rows, row))) = (params.shape().get(..axis), params.shape().get(axis..).and_then(<[usize]>::split_first))
        else {
            bail!(InvalidArgument, "params must be at least {} dimensional", axis + 1);
        };
        if indices.shape().get(..axis) != Some(batch) {
            bail!(
                InvalidArgument,
                "The first {axis} dimensions of params ({}) and indices ({}) must be equal",
                params.shape(),
                indices.shape()
            );
        }
        let block = Shape::new(row).num_elements();
        let starts = batched_row_starts(indices, Shape::new(batch).num_elements(), rows, block)?;
        let shape: Shape = indices.shape().iter().chain(row).copied().collect();
        let out = gather(ctx.allocator(), &params, shape, &starts, block)?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Makes the kernel of `ResourceGatherNd`, which gathers slices of the variable by the rows of the indices.
fn make_gather_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let name = init.name.to_owned();
    from_fn(move |ctx| {
        let (params, indices) = (read(ctx, dtype)?, ctx.input(1)?);
        let Some((&depth, batch)) = indices.shape().split_last() else {
            bail!(InvalidArgument, "indices must be at least a vector");
        };
        let Some(slice) = params.shape().get(depth..) else {
            bail!(InvalidArgument, "index innermost dimension length must be <= params rank; saw: {depth} vs. {}", params.rank());
        };
        let starts = match slice_starts(indices, params.shape())? {
            Ok(starts) => starts,
            Err(bad) => bail!(InvalidArgument, "{bad} does not index into param shape {}, node name: {name}", params.shape()),
        };
        let shape: Shape = batch.iter().chain(slice).copied().collect();
        let out = gather(ctx.allocator(), &params, shape, &starts, Shape::new(slice).num_elements())?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn gather(alloc: &Allocator, params: &Tensor, shape: Shape, starts: &[usize], block: usize) -> Result<Tensor> {
    shape.checked_num_elements()?;
    concat_blocks(alloc, params.dtype(), shape, starts.iter().map(|&start| (params, start..start + block)))
}
