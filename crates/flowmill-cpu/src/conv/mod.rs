//! Kernels of convolutions, based on `flowmill_numeric::conv`.

mod any_rank;
mod choice;
mod conv2d;
mod conv3d;
mod depthwise;
mod dilation;
mod padded;
mod products;
mod separable;

use crate::cast::cast_tensor;
pub(crate) use conv2d::Conv2d;
pub(crate) use depthwise::Depthwise;
use flowmill_runtime::{KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    any_rank::register(registry);
    conv2d::register(registry);
    conv3d::register(registry);
    depthwise::register(registry);
    dilation::register(registry);
    padded::register(registry);
    separable::register(registry);
}

/// Sets output 0 to a tensor of type `dtype` that `compute` makes of `inputs`, in `float32`: types of 16 bits are widened, and results rounded once. `compute`
/// writes all elements of the output, which holds anything before.
///
/// # Errors
/// Returns the errors of the allocator.
fn in_float32<const N: usize>(
    ctx: &mut KernelContext<'_>,
    dtype: DType,
    inputs: [Tensor; N],
    shape: Shape,
    compute: impl FnOnce([&[f32]; N], &mut [f32]),
) -> Result<()> {
    let alloc = ctx.allocator();
    let mut wide = Vec::with_capacity(N);
    for input in inputs {
        wide.push(cast_tensor(alloc, &input, DType::F32)?);
    }
    let mut slices: [&[f32]; N] = [&[]; N];
    for (slice, tensor) in slices.iter_mut().zip(&wide) {
        *slice = tensor.as_slice()?;
    }
    let mut out = alloc.uninit(DType::F32, shape)?;
    compute(slices, out.as_mut_slice()?);
    let out = cast_tensor(alloc, &out, dtype)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Sets output 0 to a tensor of `dtype` that `compute` makes of zeros.
///
/// # Errors
/// Returns the errors of the allocator and of `compute`.
fn from_zeros(ctx: &mut KernelContext<'_>, dtype: DType, shape: Shape, compute: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
    let mut out = ctx.allocator().zeros(dtype, shape)?;
    compute(&mut out)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the element type of a node: a float, or one of `others`.
///
/// # Errors
/// Returns `NotFound` for another type.
fn checked_type(init: &KernelInit<'_>, others: &[DType]) -> Result<DType> {
    let dtype = init.dtype("T")?;
    let is_float = [DType::F32, DType::F64, DType::F16, DType::BF16].contains(&dtype);
    if is_float || others.contains(&dtype) { Ok(dtype) } else { init.unsupported() }
}
