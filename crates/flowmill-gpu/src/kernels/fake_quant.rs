//! `FakeQuantWithMinMaxArgs`, `FakeQuantWithMinMaxVars`, `FakeQuantWithMinMaxVarsPerChannel` and their gradients.

use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::cmp::Ordering;
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

/// The least and the greatest of the integers that values are rounded to.
#[derive(Clone, Copy)]
struct Levels([f32; 2]);

impl Levels {
    fn new(init: &KernelInit<'_>) -> Result<Levels> {
        let bits: i64 = init.attrs.get_or("num_bits", 8)?;
        if !(2..=16).contains(&bits) {
            bail!(InvalidArgument, "num_bits must be between 2 and 16, inclusive");
        }
        let least = if init.attrs.get_or("narrow_range", false)? { 1.0 } else { 0.0 };
        Ok(Levels([least, ((1i64 << bits) - 1) as f32]))
    }

    /// Returns the least and the greatest value and their distance for the limits in the attributes, shifted so that zero is a value.
    fn of_attributes(self, init: &KernelInit<'_>) -> Result<[f32; 3]> {
        let (min, max): (f32, f32) = (init.attrs.get_or("min", -6.0)?, init.attrs.get_or("max", 6.0)?);
        if min.partial_cmp(&max) != Some(Ordering::Less) {
            bail!(InvalidArgument, "min has to be smaller than max, was: {min} >= {max}");
        }
        let [least, greatest] = self.0;
        let scale = (max - min) / (greatest - least);
        let zero = (least - min / scale).round().clamp(least, greatest);
        Ok([(least - zero) * scale, (greatest - zero) * scale, scale])
    }

    /// Returns the words of the structure `Levels` of kernels.
    fn words(self) -> [u32; 2] {
        self.0.map(f32::to_bits)
    }
}

fn program(name: &'static str) -> CompiledKernel {
    CompiledKernel::new(include_str!("fake_quant.cu"), name, &[])
}

fn make_of_attributes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = Levels::new(init)?.of_attributes(init)?.map(Argument::F32);
    let program = program("round_to_values");
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            return Ok(());
        }
        let [to, from] = [device.address(&output)?, device.address(&input)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64), values[0], values[1], values[2]])
    })
}

fn make_gradient_of_attributes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let values = Levels::new(init)?.of_attributes(init)?.map(Argument::F32);
    let program = program("gradient_within");
    from_fn(move |ctx| {
        let (gradient, input) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        check_sizes(&gradient, &input)?;
        let output = ctx.allocate_output(0, DType::F32, input.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements());
        if n == 0 {
            return Ok(());
        }
        let [to, g, x] = [device.address(&output)?, device.address(&gradient)?, device.address(&input)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, g, x, Argument::U64(n as u64), values[0], values[1]])
    })
}

fn check_sizes(gradient: &Tensor, input: &Tensor) -> Result<()> {
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "gradient and input must be the same size");
    }
    Ok(())
}

/// Returns the number of limits, which are the inputs from `at` on: one, or one for each index of the input's last dimension.
fn num_limits(ctx: &KernelContext<'_>, at: usize, input: &Shape, per_channel: bool) -> Result<usize> {
    let depth = match (per_channel, input.last()) {
        (true, Some(&depth)) => depth,
        (true, None) => bail!(InvalidArgument, "inputs must be at least rank 1"),
        (false, _) => 1,
    };
    for (i, name) in [(at, "min"), (at + 1, "max")] {
        let tensor = ctx.input(i)?;
        if tensor.rank() != usize::from(per_channel) {
            bail!(InvalidArgument, "`{name}` must be rank {} but is rank {}", usize::from(per_channel), tensor.rank());
        }
        if tensor.num_elements() != depth {
            bail!(InvalidArgument, "{name} has incorrect size, expected {depth} was {}", tensor.num_elements());
        }
    }
    Ok(depth)
}

fn make(init: &KernelInit<'_>, per_channel: bool) -> Result<Arc<dyn Kernel>> {
    let levels = Levels::new(init)?;
    let program = program("round_to_levels");
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
        let words = levels.words();
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
        check_sizes(&gradient, &input)?;
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
        let words = levels.words();
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
