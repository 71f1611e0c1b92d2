//! Partitioning and stitching of rows: `DynamicPartition`, `DynamicStitch`, `ParallelDynamicStitch`.
//!
//! The sizes of results depend on the partitions and indices, which are in the host's memory for that reason.

use super::gather::Gatherer;
use super::types::MOVABLE;
use crate::compiled_kernel::word;
use crate::device::GpuDevice;
use flowmill_kernels::array::args::product;
use flowmill_kernels::array::partition::{num_partitions, partition_members, partitioned_slice, stitched_inner_shape, stitched_rows};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry
        .register("DynamicPartition", KernelDef::new(make_partition).constrain("T", MOVABLE).host_memory("partitions").copies_from_host());
    for op in ["DynamicStitch", "ParallelDynamicStitch"] {
        registry.register(op, KernelDef::new(make_stitch).constrain("T", MOVABLE).host_memory("indices").copies_from_host());
    }
}

/// Makes the kernel of `DynamicPartition`: output `p` has the slices whose entry in `partitions` is `p`, in their order.
fn make_partition(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let count = num_partitions(init)?;
    let dtype = init.dtype("T")?;
    let gatherer = Gatherer::new("gather", dtype, DType::I32)?;
    from_fn(move |ctx| {
        let (data, partitions) = (ctx.input(0)?.clone(), ctx.input(1)?);
        let inner = partitioned_slice(data.shape(), partitions.shape())?;
        let members = partition_members(partitions, count)?;
        let rows = partitions.num_elements();
        for (i, members) in members.iter().enumerate() {
            let shape: Shape = std::iter::once(members.len()).chain(inner.iter().copied()).collect();
            let output = ctx.allocate_output(i, dtype, &shape)?.clone();
            if output.num_elements() == 0 {
                continue;
            }
            let device = GpuDevice::of(ctx.device())?;
            gatherer.gather_rows(device, &data, rows, &upload(device, members)?, &output)?;
        }
        Ok(())
    })
}

/// Copies row numbers to the GPU.
fn upload(device: &GpuDevice, rows: &[usize]) -> Result<Tensor> {
    let rows = rows.iter().map(|&row| word(row).map(|row| row as i32)).collect::<Result<Vec<i32>>>()?;
    device.upload(&device.host_allocator().vector(&rows)?)
}

/// Makes the kernel of `DynamicStitch`: slice `i` of `data[m]` goes to the position in `indices[m]`. If several slices have the same position, the last
/// one is kept; positions without a slice are zeros.
fn make_stitch(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let gatherer = Gatherer::new("gather", dtype, DType::I32)?;
    let placer = Gatherer::new("place_rows", dtype, DType::I32)?;
    from_fn(move |ctx| {
        let count = ctx.num_inputs() / 2;
        let inner = stitched_inner_shape(ctx, count)?;
        let rows = stitched_rows(ctx, count)?;
        let shape: Shape = std::iter::once(rows).chain(inner.iter().copied()).collect();
        shape.checked_num_elements()?;
        // The input and its row that each row of the result comes from.
        let mut sources: Vec<Option<(usize, usize)>> = vec![None; rows];
        for m in 0..count {
            for (i, &index) in ctx.input(m)?.as_slice::<i32>()?.iter().enumerate() {
                sources[index as usize] = Some((m, i));
            }
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        if sources.iter().any(Option::is_none) {
            device.gpu().fill(device.address(&output)?, 0, output.num_bytes())?;
        }
        let width = product(&inner);
        for m in 0..count {
            let data = ctx.input(count + m)?;
            let of_input = |(row, source): (usize, &Option<(usize, usize)>)| source.filter(|(input, _)| *input == m).map(|(_, i)| (row, i));
            let (to, from): (Vec<usize>, Vec<usize>) = sources.iter().enumerate().filter_map(of_input).unzip();
            if to.is_empty() {
                continue;
            }
            let in_order = |rows: &[usize]| rows.iter().enumerate().all(|(i, &row)| i == row);
            if in_order(&to) && to.len() == rows {
                gatherer.gather_rows(device, data, data.num_elements() / width, &upload(device, &from)?, &output)?;
            } else {
                placer.place_rows(device, data, width, [&upload(device, &to)?, &upload(device, &from)?], &output)?;
            }
        }
        Ok(())
    })
}
