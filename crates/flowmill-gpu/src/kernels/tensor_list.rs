//! Tensor lists whose elements are in a GPU's memory, and sums and zeros of variants. The kernels of lists are those of the host, with another storage.

use super::storage::{GpuArithmetic, GpuStorage, Sums};
use super::types::VALUES;
use crate::device::GpuDevice;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::storage::HostStorage;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, TensorArithmetic, bail};
use std::sync::Arc;

/// The inputs and outputs of lists' ops that are in the host's memory for elements of any type.
const IN_HOST_MEMORY: [&str; 9] =
    ["element_shape", "index", "indices", "leading_dims", "length", "lengths", "max_num_elements", "num_elements", "size"];

/// The inputs and outputs that are lists, elements, or tensors of several elements.
const OF_ELEMENTS: [&str; 12] = [
    "handle",
    "input_a",
    "input_b",
    "input_handle",
    "input_handles",
    "item",
    "output",
    "output_handle",
    "output_handles",
    "tensor",
    "tensors",
    "values",
];

/// Ops that read or change the number of elements and the known part of their shapes, and not the elements.
const OF_LENGTHS: [&str; 3] = ["TensorListElementShape", "TensorListLength", "TensorListResize"];

pub(super) fn register(registry: &mut KernelRegistry) {
    let (mut on_gpu, mut on_host) = (KernelRegistry::new(), KernelRegistry::new());
    flowmill_host::register_tensor_lists_in::<GpuStorage>(&mut on_gpu);
    flowmill_host::register_tensor_lists_in::<HostStorage>(&mut on_host);
    let named = |def: &KernelDef, names: &[&'static str], declare: fn(KernelDef, &'static str) -> KernelDef| {
        names.iter().fold(def.clone(), |def, name| declare(def, name))
    };
    for op in on_gpu.ops() {
        for def in on_gpu.defs(op) {
            let def = named(def, &IN_HOST_MEMORY, KernelDef::host_memory);
            if OF_LENGTHS.contains(&op) {
                registry.register(op, named(&def, &OF_ELEMENTS, KernelDef::any_memory));
                continue;
            }
            registry.register(op, def.clone().constrain("element_dtype", VALUES));
            registry.register(op, def.constrain("element_dtype", &[DType::Variant]));
        }
        // The elements of lists of `int32` are in the host's memory, as other tensors of that type are.
        for def in on_host.defs(op).iter().filter(|_| !OF_LENGTHS.contains(&op)) {
            let def = named(&named(def, &IN_HOST_MEMORY, KernelDef::host_memory), &OF_ELEMENTS, KernelDef::host_memory);
            registry.register(op, def.constrain("element_dtype", &[DType::I32]));
        }
    }
    registry.register("AddN", KernelDef::new(make_add_n).constrain("T", &[DType::Variant]));
    registry.register("ZerosLike", KernelDef::new(make_zeros_like).constrain("T", &[DType::Variant]));
}

/// Makes the kernel of `AddN` of variants, which adds from left to right.
fn make_add_n(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sums = Sums::default();
    from_fn(move |ctx| {
        let arithmetic: &dyn TensorArithmetic = &GpuArithmetic { device: GpuDevice::of(ctx.device())?, sums: &sums };
        let mut sum = ctx.input(0)?.clone();
        for i in 1..ctx.num_inputs() {
            let value = ctx.input(i)?;
            if value.shape() != sum.shape() {
                bail!(InvalidArgument, "AddN of variants of shapes {} and {}", sum.shape(), value.shape());
            }
            arithmetic.add_to(&mut sum, value)?;
        }
        ctx.set_output(0, sum);
        Ok(())
    })
}

fn make_zeros_like(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sums = Sums::default();
    from_fn(move |ctx| {
        let arithmetic: &dyn TensorArithmetic = &GpuArithmetic { device: GpuDevice::of(ctx.device())?, sums: &sums };
        let zeros: Tensor = arithmetic.zeros_like(ctx.input(0)?)?;
        ctx.set_output(0, zeros);
        Ok(())
    })
}
