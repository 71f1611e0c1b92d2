//! `OneHot`, and `Select` with a condition of rows.

use super::types::{INDICES, MOVABLE, word_of};
use crate::compiled_kernel::CompiledKernel;
use crate::compiled_kernel::word;
use crate::device::{Argument, GpuDevice};
use crate::elementwise::{self, ElementwiseKernel, Operation, Types};
use crate::text::element_name;
use flowmill_kernels::array::args::{product, scalar_index};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("OneHot", KernelDef::new(make_one_hot).constrain("T", MOVABLE).constrain("TI", INDICES).host_memory("depth"));
    registry.register("Select", KernelDef::new(make_select).constrain("T", Types::All.list()));
}

fn make_one_hot(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", -1)?;
    let (dtype, indices) = (init.dtype("T")?, init.dtype("TI")?);
    let index = element_name(indices).ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {indices}"))?;
    let program = CompiledKernel::new(include_str!("one_hot.cu"), "one_hot", &[("T", word_of(dtype)?), ("I", index)]);
    from_fn(move |ctx| {
        let (index, depth, on, off) = (ctx.input(0)?.clone(), ctx.input(1)?, ctx.input(2)?.clone(), ctx.input(3)?.clone());
        let rank = index.rank();
        let at = match usize::try_from(axis) {
            Ok(axis) if axis <= rank => axis,
            _ if axis == -1 => rank,
            _ => bail!(InvalidArgument, "Expected axis to be -1 or between [0, {}).  But received: {axis}", rank + 1),
        };
        for (name, scalar) in [("depth", depth), ("on_value", &on), ("off_value", &off)] {
            if scalar.rank() != 0 {
                bail!(InvalidArgument, "{name} must be a scalar, but got: {}", scalar.shape());
            }
        }
        let depth = scalar_index(depth, "depth")?;
        let Ok(depth) = usize::try_from(depth) else { bail!(InvalidArgument, "depth must be non-negative, got: {depth}") };
        let mut shape = index.shape().clone();
        let suffix = product(&shape[at..]);
        shape.insert(at, depth);
        shape.checked_num_elements()?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let addresses = [device.address(&output)?, device.address(&index)?, device.address(&on)?, device.address(&off)?];
        let [to, index, on, off] = addresses.map(Argument::Address);
        let sizes = [Argument::U32(word(depth)?), Argument::U32(word(suffix)?)];
        program.launch(device, device.linear_grid(n), &[to, index, on, off, Argument::U64(n as u64), sizes[0], sizes[1]])
    })
}

/// Makes the kernel of `Select`: both values have the same shape, which the condition has, too, unless it is a scalar, or a vector that selects rows.
fn make_select(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let select = ElementwiseKernel::new(elementwise::Program::of(Operation::Select, &[DType::Bool, dtype, dtype], dtype));
    from_fn(move |ctx| {
        let (condition, then, otherwise) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let shape = then.shape().clone();
        if shape != *otherwise.shape() {
            bail!(InvalidArgument, "'then' and 'else' must have the same size.  but received: {shape} vs. {}", otherwise.shape());
        }
        let condition = if condition.rank() == 0 || *condition.shape() == shape {
            condition
        } else if condition.rank() == 1 {
            if shape.first() != condition.shape().first() {
                bail!(
                    InvalidArgument,
                    "Number of batches of 'then' must match size of 'cond', but saw: {} vs. {}",
                    shape.first().copied().unwrap_or(0),
                    condition.num_elements()
                );
            }
            let mut rows = Shape::new(&vec![1; shape.rank()]);
            rows[0] = condition.num_elements();
            condition.reshaped(rows)?
        } else {
            bail!(
                InvalidArgument,
                "Inputs to operation Select of type Select must have the same size and shape.  Input 0: {} != input 1: {shape}",
                condition.shape()
            );
        };
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        select.apply(GpuDevice::of(ctx.device())?, &[&condition, &then, &otherwise], &output)
    })
}
