//! Partitioning and stitching of rows: `DynamicPartition`, `DynamicStitch`, `ParallelDynamicStitch`.

use super::args::product;
use super::item::{Item, for_item};
use crate::from_fn::from_fn;
use flowmill_kernels::array::partition::{num_partitions, partition_members, partitioned_slice, stitched_inner_shape, stitched_rows};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DynamicPartition", make_dynamic_partition);
    registry.add("DynamicStitch", make_dynamic_stitch);
    registry.add("ParallelDynamicStitch", make_dynamic_stitch);
}

fn make_dynamic_partition(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let count = num_partitions(init)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| dynamic_partition::<T>(ctx, count)))
}

/// Computes `DynamicPartition`: output `p` has the slices whose entry in `partitions` is `p`, in their order.
fn dynamic_partition<T: Item>(ctx: &mut KernelContext<'_>, count: usize) -> Result<()> {
    let (data, partitions) = (ctx.input(0)?, ctx.input(1)?);
    let inner = partitioned_slice(data.shape(), partitions.shape())?;
    if count > ctx.num_outputs() {
        bail!(Internal, "{count} partitions for {} outputs", ctx.num_outputs());
    }
    let members = partition_members(partitions, count)?;
    let source = T::items(data)?;
    let run = product(inner);
    let mut outputs = Vec::with_capacity(count);
    for rows in members {
        let shape: Shape = std::iter::once(rows.len()).chain(inner.iter().copied()).collect();
        outputs.push(T::build(ctx.allocator(), data.dtype(), shape, source, |out| {
            if run > 0 {
                out.chunks_exact_mut(run).zip(&rows).for_each(|(to, &row)| to.clone_from_slice(&source[row * run..][..run]));
            }
            Ok(())
        })?);
    }
    for (i, output) in outputs.into_iter().enumerate() {
        ctx.set_output(i, output);
    }
    Ok(())
}

fn make_dynamic_stitch(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(dynamic_stitch::<T>))
}

/// Writes the slices of every `data[m]` to the positions in `indices[m]`. If several slices have the same position, the last one is kept. Positions
/// without a slice are unspecified in TensorFlow and zero here.
fn dynamic_stitch<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let count = ctx.num_inputs() / 2;
    let inner = stitched_inner_shape(ctx, count)?;
    let rows = stitched_rows(ctx, count)?;
    let sizes: Vec<i64> = std::iter::once(rows).chain(inner.iter().copied()).map(|d| d as i64).collect();
    let shape = Shape::from_i64(&sizes)?;
    let run = product(&inner);
    let data = (0..count).map(|m| T::items(ctx.input(count + m)?)).collect::<Result<Vec<_>>>()?;
    let like = data.iter().find(|items| !items.is_empty()).copied().unwrap_or(&[]);
    let output = T::build(ctx.allocator(), ctx.input(count)?.dtype(), shape, like, |out| {
        if let Ok(zero) = T::zero() {
            out.fill(zero);
        }
        if run > 0 {
            for (m, items) in data.iter().enumerate() {
                for (&index, from) in ctx.input(m)?.as_slice::<i32>()?.iter().zip(items.chunks_exact(run)) {
                    out[index as usize * run..][..run].clone_from_slice(from);
                }
            }
        }
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}
