//! Colours of images: `RGBToHSV`, `HSVToRGB`, `AdjustHue`, `AdjustSaturation`, `AdjustContrastv2`.

use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

/// The number of threads of a block that sums pixels.
const THREADS: u32 = 256;
/// A block sums at least this many pixels.
const LEAST_PART: usize = 4096;
/// The most parts of an image.
const MOST_PARTS: usize = 64;

pub(super) fn register(registry: &mut KernelRegistry) {
    let conversion = |make| KernelDef::new(make).constrain("T", &[DType::F32, DType::F64]);
    registry.register("HSVToRGB", conversion(|init| make_conversion(init, "hsv_to_rgb")));
    registry.register("RGBToHSV", conversion(|init| make_conversion(init, "rgb_to_hsv")));
    let adjustment = |make| KernelDef::new(make).constrain("T", &[DType::F16, DType::F32]);
    registry.register("AdjustHue", adjustment(|init| make_adjustment(init, "adjust_hue", "delta")));
    registry.register("AdjustSaturation", adjustment(|init| make_adjustment(init, "adjust_saturation", "scale")));
    registry.register("AdjustContrastv2", adjustment(make_contrast));
}

fn make_conversion(init: &KernelInit<'_>, name: &'static str) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(include_str!("color.cu"), name, dtype)?;
    from_fn(move |ctx| {
        let images = ctx.input(0)?.clone();
        let Some(&channels) = images.shape().last() else { bail!(InvalidArgument, "input must be at least 1D {}", images.shape()) };
        if channels != 3 {
            bail!(FailedPrecondition, "input must have 3 channels but input only has {channels} channels.");
        }
        let output = ctx.allocate_output(0, dtype, images.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements() / 3);
        if n == 0 {
            return Ok(());
        }
        let [to, from] = [device.address(&output)?, device.address(&images)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64)])
    })
}

fn make_adjustment(init: &KernelInit<'_>, name: &'static str, argument: &'static str) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(include_str!("color.cu"), name, dtype)?;
    from_fn(move |ctx| {
        let (images, by) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if images.rank() < 3 {
            bail!(InvalidArgument, "input must be at least 3-D, got shape{}", images.shape());
        }
        if by.rank() != 0 {
            bail!(InvalidArgument, "{argument} must be scalar: {}", by.shape());
        }
        let channels = images.shape()[images.rank() - 1];
        if channels != 3 {
            bail!(InvalidArgument, "input must have 3 channels but instead has {channels} channels.");
        }
        let output = ctx.allocate_output(0, dtype, images.shape())?.clone();
        let (device, n) = (GpuDevice::of(ctx.device())?, output.num_elements() / 3);
        if n == 0 {
            return Ok(());
        }
        let [to, from, by] = [device.address(&output)?, device.address(&images)?, device.address(&by)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, by, Argument::U64(n as u64)])
    })
}

fn make_contrast(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let program = |name| CompiledKernel::of(include_str!("contrast.cu"), name, dtype);
    let (sums, means, adjust) = (program("sum_channels")?, program("mean_channels")?, program("adjust_contrast")?);
    from_fn(move |ctx| {
        let (images, factor) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if images.rank() < 3 {
            bail!(InvalidArgument, "input must be at least 3-D, got shape{}", images.shape());
        }
        if factor.rank() != 0 {
            bail!(InvalidArgument, "contrast_factor must be scalar: {}", factor.shape());
        }
        let output = ctx.allocate_output(0, dtype, images.shape())?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let &[.., height, width, channels] = images.shape().dims() else { bail!(Internal, "images have at least three dimensions") };
        let pixels = height * width;
        let count = n / pixels;
        let part = pixels.div_ceil((pixels / LEAST_PART).clamp(1, MOST_PARTS));
        let parts = pixels.div_ceil(part);
        let (summed, averaged) =
            (device.allocate(DType::F64, &Shape::from([count, parts]))?, device.allocate(DType::F32, &Shape::from([count]))?);
        let addresses = [&images, &factor, &output, &summed, &averaged].map(|tensor| device.address(tensor).map(Argument::Address));
        let [from, factor, to, summed, averaged] = addresses;
        let (from, factor, to, summed, averaged) = (from?, factor?, to?, summed?, averaged?);
        let sizes = [pixels, channels, part, count, parts].map(|n| word(n).map(Argument::U32));
        let [pixels, channels, part, num, num_parts] = sizes;
        let (pixels, channels) = (pixels?, channels?);
        let grid = Grid { blocks: [word(count)?, word(parts)?, 1], threads: [THREADS, 1, 1] };
        sums.launch(device, grid, &[summed, from, pixels, channels, part?])?;
        means.launch(device, device.linear_grid(count), &[averaged, summed, num?, num_parts?, pixels])?;
        let arguments = [to, from, averaged, factor, Argument::U64(n as u64), pixels, channels];
        adjust.launch(device, device.linear_grid(n), &arguments)
    })
}
