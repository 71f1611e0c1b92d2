//! `BiasAdd` and its gradient.

use crate::elementwise::Binary;
use crate::from_fn::from_fn;
use crate::math_binary::Add;
use crate::number::Number;
use crate::reduction::sum_over;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BiasAdd", make_bias_add);
    registry.add("BiasAddGrad", make_bias_add_grad);
    registry.add("BiasAddV1", make_bias_add);
}

/// Returns true if the second dimension has the channels instead of the last one.
fn channels_first(init: &KernelInit<'_>) -> Result<bool> {
    match init.attrs.get_or("data_format", "NHWC")? {
        "NHWC" => Ok(false),
        "NCHW" => Ok(true),
        _ => bail!(InvalidArgument, "Invalid data format"),
    }
}

/// Returns the dimension of channels.
fn channel_axis(shape: &Shape, channels_first: bool) -> Result<usize> {
    if shape.rank() < 2 {
        bail!(InvalidArgument, "Input tensor must be at least 2D: {shape}");
    }
    Ok(if channels_first { 1 } else { shape.rank() - 1 })
}

fn make_bias_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let channels_first = channels_first(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => from_fn(move |ctx| bias_add::<T>(ctx, channels_first)), _ => init.unsupported())
}

fn bias_add<T: Number>(ctx: &mut KernelContext<'_>, channels_first: bool) -> Result<()> {
    let (value, bias) = (ctx.take(0)?, ctx.take(1)?);
    let axis = channel_axis(value.shape(), channels_first)?;
    if bias.rank() != 1 {
        bail!(InvalidArgument, "Biases must be 1D: {}", bias.shape());
    }
    if bias.num_elements() != value.shape()[axis] {
        let place = if channels_first { "channel" } else { "last" };
        bail!(
            InvalidArgument,
            "Must provide as many biases as the {place} dimension of the input tensor: {} vs. {}",
            bias.shape(),
            value.shape()
        );
    }
    let mut shape = Shape::new(&[bias.num_elements()]);
    (axis + 1..value.rank()).for_each(|_| shape.push(1));
    let out = Binary::<T, T>::of::<Add>().combine(ctx.allocator(), value, bias.reshaped(shape)?)?;
    ctx.set_output(0, out);
    Ok(())
}

fn make_bias_add_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let channels_first = channels_first(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => from_fn(move |ctx| bias_add_grad::<T>(ctx, channels_first)), _ => init.unsupported())
}

fn bias_add_grad<T: Number>(ctx: &mut KernelContext<'_>, channels_first: bool) -> Result<()> {
    let gradient: &Tensor = ctx.input(0)?;
    let axis = channel_axis(gradient.shape(), channels_first)?;
    let others: Vec<i64> = (0..gradient.rank()).filter(|&a| a != axis).map(|a| a as i64).collect();
    let out = sum_over::<T>(ctx.allocator(), gradient, &others)?;
    ctx.set_output(0, out);
    Ok(())
}
