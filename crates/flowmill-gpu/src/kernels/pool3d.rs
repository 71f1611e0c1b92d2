//! `MaxPool3D`, `AvgPool3D` and their gradients.

use super::im2col::Windows;
use super::layout::in_any_layout;
use super::types::NARROW_FLOATS;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::volume::{Pool, Volume, check_outputs, input_shape, output_shape};
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, SmallVec, Tensor, bail};
use std::sync::Arc;

const TEXT: &str = concat!(include_str!("volume.cu"), include_str!("pool3d.cu"));

pub(super) fn register(registry: &mut KernelRegistry) {
    let pool = |make| KernelDef::new(make).constrain("T", NARROW_FLOATS).channels_last();
    registry.register("AvgPool3D", pool(|init| in_any_layout(init, |init| make(init, "average_pool"))));
    registry.register("AvgPool3DGrad", pool(|init| in_any_layout(init, make_average_gradient)).host_memory("orig_input_shape"));
    registry.register("MaxPool3D", pool(|init| in_any_layout(init, |init| make(init, "max_pool"))));
    registry.register("MaxPool3DGrad", pool(|init| in_any_layout(init, make_max_gradient)));
    registry.register("MaxPool3DGradGrad", pool(|init| in_any_layout(init, make_max_gradient_gradient)));
}

/// Reads the attributes of a node, and returns its windows, type and kernel.
fn parts(init: &KernelInit<'_>, name: &'static str) -> Result<(Pool, DType, CompiledKernel)> {
    let dtype = init.dtype("T")?;
    Ok((Pool::new(init)?, dtype, CompiledKernel::of(TEXT, name, dtype)?))
}

/// Enqueues a kernel with a thread for each element of `output`.
fn launch(device: &GpuDevice, program: &CompiledKernel, volume: &Volume, output: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    let n = output.num_elements();
    if n == 0 {
        return Ok(());
    }
    let words = volume.words()?;
    let mut arguments: SmallVec<[Argument<'_>; 6]> = SmallVec::new();
    for tensor in std::iter::once(&output).chain(inputs) {
        arguments.push(Argument::Address(device.address(tensor)?));
    }
    arguments.extend([Argument::U32(word(n)?), Argument::Words(&words)]);
    program.launch(device, device.linear_grid(n), &arguments)
}

fn make(init: &KernelInit<'_>, name: &'static str) -> Result<Arc<dyn Kernel>> {
    let (pool, dtype, program) = parts(init, name)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let volume = pool.volume(input.shape())?;
        let output = ctx.allocate_output(0, dtype, &output_shape(&volume, volume.channels))?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &volume, &output, &[&input])
    })
}

fn make_average_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pool, dtype, program) = parts(init, "average_pool_gradient")?;
    from_fn(move |ctx| {
        let (shape, gradient) = (input_shape(ctx.input(0)?)?, ctx.input(1)?.clone());
        let volume = pool.volume(&shape)?;
        check_outputs(&volume, &[("grad", gradient.shape())])?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &volume, &output, &[&gradient])
    })
}

fn make_max_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pool, dtype, program) = parts(init, "max_pool_gradient")?;
    if init.dtype("TInput")? != dtype {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let (input, maxima, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let volume = pool.volume(input.shape())?;
        check_outputs(&volume, &[("orig_output", maxima.shape()), ("grad", gradient.shape())])?;
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &volume, &output, &[&input, &maxima, &gradient])
    })
}

fn make_max_gradient_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pool, dtype, program) = parts(init, "max_pool_gradient_gradient")?;
    from_fn(move |ctx| {
        let (input, maxima, gradient) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let volume = pool.volume(input.shape())?;
        check_outputs(&volume, &[("orig_output", maxima.shape())])?;
        if gradient.shape() != input.shape() {
            bail!(InvalidArgument, "Expected grad shape to be {}, but got {}", input.shape(), gradient.shape());
        }
        let output = ctx.allocate_output(0, dtype, maxima.shape())?.clone();
        launch(GpuDevice::of(ctx.device())?, &program, &volume, &output, &[&input, &gradient])
    })
}
