//! `SparseTensorDenseMatMul`. Elements whose indices are out of range are skipped: an error would have to wait for the GPU.

use super::ordered::{Slices, Sorter, sorted_argument};
use super::types::{FLOATS, INDICES};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::sparse_product::SparseProduct;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let product = KernelDef::new(make).constrain("T", FLOATS).constrain("Tindices", INDICES);
    registry.register("SparseTensorDenseMatMul", product.host_memory("a_shape"));
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (adjoint_a, adjoint_b) = (init.attrs.get_or("adjoint_a", false)?, init.attrs.get_or("adjoint_b", false)?);
    let (dtype, index) = (init.dtype("T")?, init.dtype("Tindices")?);
    let [element, compute] = element_types(dtype)?;
    let name = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {index}"))?;
    let text = concat!(include_str!("ordered.cu"), include_str!("sparse_product.cu"));
    let program = CompiledKernel::new(text, "sparse_product", &[element, compute, ("I", name)]);
    let sorter = Sorter::new(index)?;
    from_fn(move |ctx| {
        let (indices, values, b) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(3)?.clone());
        let SparseProduct { rows, columns, count, b_columns, outer, b_outer, .. } = SparseProduct::new(ctx, adjoint_a, adjoint_b)?;
        let output = ctx.allocate_output(0, dtype, &Shape::from([outer, b_outer]))?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let to = device.address(&output)?;
        device.gpu().fill(to, 0, output.num_bytes())?;
        if count == 0 {
            return Ok(());
        }
        // The row of the result is the one of the two indices that has a stride.
        let slices = Slices::with_strides([(rows, usize::from(!adjoint_a)), (columns, usize::from(adjoint_a))], b_outer, count)?;
        let keys = sorter.sort(device, &slices, &indices)?;
        let (row_stride, column_stride) = if adjoint_b { (1, b_columns) } else { (b_columns, 1) };
        let product = [u32::from(!adjoint_a), word(row_stride)?, word(column_stride)?];
        let arguments = [
            Argument::Address(to),
            Argument::Address(device.address(&values)?),
            Argument::Address(device.address(&indices)?),
            Argument::Address(device.address(&b)?),
            sorted_argument(device, keys.as_ref())?,
            Argument::Words(&product),
            Argument::Words(&slices.words),
        ];
        program.launch(device, slices.grid(), &arguments)
    })
}
