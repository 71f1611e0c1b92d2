//! `Bincount` and `DenseBincount`. Weights of a bin are added in their order. Negative values are skipped, since an error would have to wait for the GPU.

use super::scatter::Scatterer;
use super::types::{INDICES, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::bincount::Bincount;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let counts = |make| KernelDef::new(make).constrain("T", NUMBERS).constrain("Tidx", INDICES).host_memory("size");
    registry.register("Bincount", counts(|init| make(init, false)));
    registry.register("DenseBincount", counts(|init| make(init, true)));
}

/// Makes the kernel of an op that counts the values of a vector, or with `counts_rows` those of each row of a matrix.
fn make(init: &KernelInit<'_>, counts_rows: bool) -> Result<Arc<dyn Kernel>> {
    let is_binary = init.attrs.get_or("binary_output", false)?;
    let (dtype, index) = (init.dtype("T")?, init.attrs.get_or("Tidx", DType::I32)?);
    let [element, compute] = element_types(dtype)?;
    let index_name = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {index}"))?;
    let types = [element, compute, ("I", index_name)];
    let [count, number_bins, store_counts] =
        ["count", "number_bins", "store_counts"].map(|name| CompiledKernel::new(include_str!("bincount.cu"), name, &types));
    let scatterer = Scatterer::new("struct Add", dtype, DType::I64)?;
    from_fn(move |ctx| {
        let Bincount { bins, width, num_weights, shape } = Bincount::new(ctx, counts_rows)?;
        let (input, weights) = (ctx.input(0)?.clone(), ctx.input(2)?.clone());
        let n = input.num_elements();
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let of = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
        if n == 0 {
            return device.gpu().fill(device.address(&output)?, 0, output.num_bytes());
        }
        let numbers = [word(n)?, word(width)?, word(bins)?].map(Argument::U32);
        let of_bins = |to: Argument<'static>| -> Result<[Argument<'static>; 5]> {
            let [n, width, bins] = numbers;
            Ok([to, Argument::Address(device.address(&input)?), n, width, bins])
        };
        if num_weights > 0 && !is_binary {
            let at = device.allocate(DType::I64, &Shape::new(&[n, 1]))?;
            number_bins.launch(device, device.linear_grid(n), &of_bins(Argument::Address(device.address(&at)?))?)?;
            let flat = device.view(&output, 0, Shape::new(&[output.num_elements()]))?;
            device.gpu().fill(device.address(&flat)?, 0, flat.num_bytes())?;
            return scatterer.scatter(device, &flat, 1, &at, &device.view(&weights, 0, Shape::new(&[n]))?);
        }
        let elements = output.num_elements();
        let counts = device.allocate(DType::U32, &Shape::new(&[elements]))?;
        device.gpu().fill(device.address(&counts)?, 0, counts.num_bytes())?;
        count.launch(device, device.linear_grid(n), &of_bins(Argument::Address(device.address(&counts)?))?)?;
        let arguments = [of(&output)?, of(&counts)?, Argument::U32(word(elements)?), Argument::U32(is_binary.into())];
        store_counts.launch(device, device.linear_grid(elements), &arguments)
    })
}
