//! Concatenation: `Concat`, `ConcatV2`, `Pack`.

use super::copy::Copier;
use super::types::MOVABLE;
use crate::device::GpuDevice;
use flowmill_kernels::array::args::{product, scalar_index};
use flowmill_kernels::array::rearrange::{joined_shape, packed_shape};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("Concat", KernelDef::new(|init| make_concat(init, true)).constrain("T", MOVABLE).host_memory("concat_dim"));
    registry.register("ConcatV2", KernelDef::new(|init| make_concat(init, false)).constrain("T", MOVABLE).host_memory("axis"));
    registry.register("Pack", KernelDef::new(make_pack).constrain("T", MOVABLE));
}

/// Returns the shapes of some inputs.
fn shapes<'a>(ctx: &'a KernelContext<'_>, inputs: Range<usize>) -> Result<SmallVec<[&'a Shape; 8]>> {
    inputs.map(|i| ctx.input(i).map(Tensor::shape)).collect()
}

/// Sets output 0, of this shape, to some inputs one after the other along `axis`.
fn join(ctx: &mut KernelContext<'_>, copier: &Copier, dtype: DType, inputs: Range<usize>, shape: &Shape, axis: usize) -> Result<()> {
    let output = ctx.allocate_output(0, dtype, shape)?.clone();
    if output.num_elements() == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    let outer = product(&shape[..axis]);
    let whole = product(&shape[axis..]) as isize;
    let mut to = device.address(&output)?;
    for i in inputs {
        let input = ctx.input(i)?;
        let row = input.num_elements() / outer;
        if row > 0 {
            copier.copy(device, &[outer, row], (to, &[whole, 1]), (device.address(input)?, &[row as isize, 1]))?;
            to = to.offset(row * copier.size());
        }
    }
    Ok(())
}

/// Makes the kernel of `Concat`, whose first input is the axis, or of `ConcatV2`, whose last input is the axis.
fn make_concat(init: &KernelInit<'_>, axis_first: bool) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let Some(count) = ctx.num_inputs().checked_sub(1).filter(|&n| n > 0) else {
            bail!(InvalidArgument, "ConcatOp : at least one value is needed");
        };
        let (axis_at, first) = if axis_first { (0, 1) } else { (count, 0) };
        let axis = scalar_index(ctx.input(axis_at)?, "Concat dim tensor")?;
        let shape = joined_shape(shapes(ctx, first..first + count)?, axis)?;
        let axis = shape.axis(axis).unwrap_or(0);
        if count == 1 {
            return ctx.forward(first, 0);
        }
        join(ctx, &copier, dtype, first..first + count, &shape, axis)
    })
}

fn make_pack(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", 0)?;
    let dtype = init.dtype("T")?;
    let copier = Copier::new(dtype)?;
    from_fn(move |ctx| {
        let count = ctx.num_inputs();
        let (axis, shape) = packed_shape(shapes(ctx, 0..count)?, axis)?;
        if count == 1 {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        join(ctx, &copier, dtype, 0..count, &shape, axis)
    })
}
