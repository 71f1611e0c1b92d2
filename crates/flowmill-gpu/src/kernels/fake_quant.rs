//! `FakeQuantWithMinMaxArgs`, `FakeQuantWithMinMaxVars`, `FakeQuantWithMinMaxVarsPerChannel` and their gradients.

use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::fake_quant::{Levels, check_same_size, num_limits, values_of_attributes};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape};
use std::sync::Arc;

/// The number of threads of a block that sums gradients.
const THREADS: u32 = 256;
/// A block sums at least this many elements of a channel.
const LEAST_PART: usize = 4096;
/// The most parts of a channel.
const MOST_PARTS: usize = 64;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FakeQuantWithMinMaxArgs", make_of_attributes);
    registry.add("FakeQuantWithMinMaxArgsGradient", make_gradient_of_attributes);
    registry.add("FakeQuantWithMinMaxVars", |init| make(init, false));
    registry.add("FakeQuantWithMinMaxVarsGradient", |init| make_gradient(init, false));
    registry.add("FakeQuantWithMinMaxVarsPerChannel", |init| make(init, true));
    registry.add("FakeQuantWithMinMaxVarsPerChannelGradient", |init| make_gradient(init, true));
}

/// Returns the words of the structure `Levels` of kernels.
fn words(levels: Levels) -> [u32; 2] {
    [levels.least, levels.greatest].map(f32::to_bits)
}

fn program(name: &'static str) -> CompiledKernel {
    CompiledKernel::new(include_str!("fake_quant.cu"), name, &[])
}

fn make_of_attributes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = values_of_attributes(init)?;
    let words = [values.min, values.max, values.scale, values.inverse, values.zero].map(f32::to_bits);
    let program = program("round_to_values");
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            return Ok(());
        }
        let [to, from] = [device.address(&output)?, device.address(&input)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64), Argument::Words(&words)])
    })
}

fn make_gradient_of_attributes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = values_of_attributes(init)?;
    let program = program("gradient_within");
    from_fn(move |ctx| {
        let (gradient, input) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        check_same_size(&gradient, &input)?;
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            return Ok(());
        }
        let [to, g, x] = [device.address(&output)?, device.address(&gradient)?, device.address(&input)?].map(Argument::Address);
        program.launch(
            device,
            device.linear_grid(n),
            &[to, g, x, Argument::U64(n as u64), Argument::F32(values.min), Argument::F32(values.max)],
        )
    })
}

fn make(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    let program = program(if per_channel { "round_to_levels" } else { "round_to_levels_by_division" });
    from_fn(move |ctx| {
        let (input, min, max) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let channels = num_limits(ctx, 1, input.shape(), per_channel)?;
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            return Ok(());
        }
        let addresses = [device.address(&output)?, device.address(&input)?, device.address(&min)?, device.address(&max)?];
        let [to, from, min, max] = addresses.map(Argument::Address);
        let words = words(levels);
        let sizes = [Argument::U64(n as u64), Argument::U32(word(channels)?), Argument::Words(&words)];
        program.launch(device, device.linear_grid(n), &[to, from, min, max, sizes[0], sizes[1], sizes[2]])
    })
}

fn make_gradient(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    let (of_input, of_limits, sum) = (program("input_gradient"), program("limit_gradients"), program("sum_limit_gradients"));
    from_fn(move |ctx| {
        let (gradient, input) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (min, max) = (ctx.input(2)?.clone(), ctx.input(3)?.clone());
        check_same_size(&gradient, &input)?;
        let channels = num_limits(ctx, 2, input.shape(), per_channel)?;
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let shape = if per_channel { Shape::from([channels]) } else { Shape::scalar() };
        let below = ctx.allocate_output(1, DType::F32, &shape)?.clone();
        let above = ctx.allocate_output(2, DType::F32, &shape)?.clone();
        if channels == 0 {
            return Ok(());
        }
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            device.gpu().fill(device.address(&below)?, 0, below.num_bytes())?;
            return device.gpu().fill(device.address(&above)?, 0, above.num_bytes());
        }
        let words = words(levels);
        let (levels, count) = (Argument::Words(&words), Argument::U32(word(channels)?));
        let addresses = [device.address(&gradient)?, device.address(&input)?, device.address(&min)?, device.address(&max)?];
        let [g, x, min, max] = addresses.map(Argument::Address);
        let to = Argument::Address(device.address(&output)?);
        of_input.launch(device, device.linear_grid(n), &[to, g, x, min, max, Argument::U64(n as u64), count, levels])?;
        let rows = n / channels;
        let part = rows.div_ceil((rows / LEAST_PART).clamp(1, MOST_PARTS));
        let parts = rows.div_ceil(part);
        let scratch = device.allocate(DType::F32, &Shape::from([2, parts, channels]))?;
        let partial = Argument::Address(device.address(&scratch)?);
        let grid = Grid { blocks: [word(channels)?, word(parts)?, 1], threads: [THREADS, 1, 1] };
        let [rows, part] = [rows, part].map(|n| Argument::U64(n as u64));
        of_limits.launch(device, grid, &[partial, g, x, min, max, rows, count, part, levels])?;
        let [below, above] = [device.address(&below)?, device.address(&above)?].map(Argument::Address);
        sum.launch(device, device.linear_grid(channels), &[below, above, partial, count, Argument::U32(word(parts)?)])
    })
}
