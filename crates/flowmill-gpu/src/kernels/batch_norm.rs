//! `FusedBatchNorm` in its three versions, for inference and training, and its gradients, on images of either layout.

use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F16, DType::BF16, DType::F32];
/// The number of threads of a block.
const THREADS: usize = 256;
/// The least number of elements of a channel that a block sums.
const LEAST_PART: usize = 1024;
/// The most parts of a channel.
const MOST_PARTS: usize = 256;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"] {
        registry.register(op, KernelDef::new(make).constrain("T", TYPES));
    }
    for op in ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"] {
        registry.register(op, KernelDef::new(make_grad).constrain("T", TYPES));
    }
}

struct Norm {
    dtype: DType,
    epsilon: f32,
    average_factor: f32,
    training: bool,
    channels_first: bool,
    sums: CompiledKernel,
    means: CompiledKernel,
    moments: CompiledKernel,
    factors: CompiledKernel,
    normalize: CompiledKernel,
    scale_gradients: CompiledKernel,
    gradient: CompiledKernel,
}

/// The extents of a tensor, as kernels have them.
struct Extent {
    channels: usize,
    elements: usize,
    width: usize,
    parts: usize,
    words: [u32; 6],
}

impl Norm {
    fn new(init: &KernelInit<'_>) -> Result<Norm> {
        let dtype = init.dtype("T")?;
        let program = |name| CompiledKernel::of(include_str!("batch_norm.cu"), name, dtype);
        Ok(Norm {
            dtype,
            epsilon: init.attrs.get_or("epsilon", 1e-4)?,
            average_factor: init.attrs.get_or("exponential_avg_factor", 1.0)?,
            training: init.attrs.get_or("is_training", true)?,
            channels_first: matches!(init.attrs.get_or("data_format", "NHWC")?, "NCHW" | "NCDHW"),
            sums: program("channel_sums")?,
            means: program("channel_means")?,
            moments: program("channel_moments")?,
            factors: program("factors")?,
            normalize: program("normalize")?,
            scale_gradients: program("scale_gradients")?,
            gradient: program("normalize_gradient")?,
        })
    }

    /// Returns the extents of `x`, after a check that it has four or five dimensions and each of `vectors` has an element for each channel.
    fn extent(&self, device: &GpuDevice, x: &Shape, vectors: &[(&str, &Tensor)]) -> Result<Extent> {
        if x.rank() != 4 && x.rank() != 5 {
            bail!(InvalidArgument, "input must be 4 or 5-dimensional{x}");
        }
        let axis = if self.channels_first { 1 } else { x.rank() - 1 };
        let channels = x[axis];
        for (name, vector) in vectors {
            if vector.rank() != 1 || vector.num_elements() != channels {
                bail!(
                    InvalidArgument,
                    "{name} must have the same number of elements as the channels of x, got {} and {channels}",
                    vector.shape()
                );
            }
        }
        let (outer, inner): (usize, usize) = (x[..axis].iter().product(), x[axis + 1..].iter().product());
        let width = if inner == 1 { channels.max(1).next_power_of_two().min(32) } else { 1 };
        let wanted = (device.gpu().properties().multiprocessors as usize * 4).div_ceil(channels.div_ceil(width).max(1));
        let parts = wanted.min(outer * inner / LEAST_PART).clamp(1, MOST_PARTS);
        let part = (outer * inner).div_ceil(parts).max(1);
        let words = [word(outer)?, word(channels)?, word(inner.max(1))?, width as u32, word(part)?, self.epsilon.to_bits()];
        word(x.num_elements())?;
        Ok(Extent { channels, elements: x.num_elements(), width, parts: (outer * inner).div_ceil(part).max(1), words })
    }

    /// Enqueues the sums of all channels, and returns them.
    fn sum(&self, device: &GpuDevice, extent: &Extent, x: &Tensor, gradient: Option<&Tensor>, mean: Option<&Tensor>) -> Result<Tensor> {
        let sums = device.allocate(DType::F32, &Shape::new(&[extent.parts, 2, extent.channels]))?;
        let optional = |tensor: Option<&Tensor>| tensor.map_or(Ok(crate::backend::Address(0)), |tensor| device.address(tensor));
        let addresses = [device.address(&sums)?, device.address(x)?, optional(gradient)?, optional(mean)?].map(Argument::Address);
        let grid =
            Grid { blocks: [word(extent.channels.div_ceil(extent.width))?, extent.parts as u32, 1], threads: [THREADS as u32, 1, 1] };
        let [sums_at, x, gradient, mean] = addresses;
        self.sums.launch(device, grid, &[sums_at, x, gradient, mean, Argument::Words(&extent.words)])?;
        Ok(sums)
    }
}

/// Returns the grid with a thread for each channel.
fn channel_grid(channels: usize) -> Grid {
    Grid { blocks: [channels.div_ceil(THREADS) as u32, 1, 1], threads: [THREADS as u32, 1, 1] }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let norm = Norm::new(init)?;
    let has_reserve_3 = init.op_def.name == "FusedBatchNormV3";
    from_fn(move |ctx| forward(ctx, &norm, has_reserve_3))
}

fn forward(ctx: &mut KernelContext<'_>, norm: &Norm, has_reserve_3: bool) -> Result<()> {
    let [x, scale, offset, mean, variance] = [0, 1, 2, 3, 4].map(|i| ctx.input(i).cloned());
    let (x, scale, offset, mean, variance) = (x?, scale?, offset?, mean?, variance?);
    let device = GpuDevice::of(ctx.device())?;
    let extent = norm.extent(device, x.shape(), &[("scale", &scale), ("offset", &offset)])?;
    if !norm.training || norm.average_factor != 1.0 {
        norm.extent(device, x.shape(), &[("mean", &mean), ("variance", &variance)])?;
    }
    let vector = Shape::new(&[extent.channels]);
    let y = ctx.allocate_output(0, norm.dtype, x.shape())?.clone();
    if has_reserve_3 {
        ctx.allocate_output(5, DType::F32, &Shape::new(&[0]))?;
    }
    if !norm.training {
        (1..5).for_each(|i| ctx.set_output(i, if i % 2 == 1 { mean.clone() } else { variance.clone() }));
        return normalize(device, norm, &extent, &y, [&x, &scale, &offset, &mean, &variance]);
    }
    let mut outputs = Vec::with_capacity(4);
    for i in 1..5 {
        outputs.push(ctx.allocate_output(i, DType::F32, &vector)?.clone());
    }
    if extent.channels == 0 {
        return Ok(());
    }
    let [running_mean, running_variance, batch_mean, batch_variance] = &outputs[..] else { return Ok(()) };
    let words = Argument::Words(&extent.words);
    let parts = Argument::U32(extent.parts as u32);
    let grid = channel_grid(extent.channels);
    let sums = norm.sum(device, &extent, &x, None, None)?;
    let address = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
    norm.means.launch(device, grid, &[address(batch_mean)?, address(&sums)?, parts, words])?;
    let sums = norm.sum(device, &extent, &x, None, Some(batch_mean))?;
    let factor = Argument::F32(norm.average_factor);
    // The old averages are read only if they count.
    let (old_mean, old_variance) = if norm.average_factor == 1.0 { (batch_mean, batch_variance) } else { (&mean, &variance) };
    let arguments = [
        address(batch_mean)?,
        address(batch_variance)?,
        address(running_mean)?,
        address(running_variance)?,
        address(old_mean)?,
        address(old_variance)?,
        address(&sums)?,
        parts,
        factor,
        words,
    ];
    norm.moments.launch(device, grid, &arguments)?;
    normalize(device, norm, &extent, &y, [&x, &scale, &offset, batch_mean, batch_variance])
}

fn normalize(device: &GpuDevice, norm: &Norm, extent: &Extent, y: &Tensor, inputs: [&Tensor; 5]) -> Result<()> {
    if extent.elements == 0 {
        return Ok(());
    }
    let address = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
    let [x, scale, offset, mean, variance] = inputs;
    let factors = device.allocate(DType::F32, &Shape::new(&[2, extent.channels]))?;
    let words = Argument::Words(&extent.words);
    let arguments = [address(&factors)?, address(scale)?, address(offset)?, address(mean)?, address(variance)?, words];
    norm.factors.launch(device, channel_grid(extent.channels), &arguments)?;
    let arguments = [address(y)?, address(x)?, address(&factors)?, Argument::U32(extent.elements as u32), words];
    norm.normalize.launch(device, device.linear_grid(extent.elements), &arguments)
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let norm = Norm::new(init)?;
    from_fn(move |ctx| backward(ctx, &norm))
}

fn backward(ctx: &mut KernelContext<'_>, norm: &Norm) -> Result<()> {
    let [gradient, x, scale, mean, variance] = [0, 1, 2, 3, 4].map(|i| ctx.input(i).cloned());
    let (gradient, x, scale, mean, variance) = (gradient?, x?, scale?, mean?, variance?);
    let device = GpuDevice::of(ctx.device())?;
    let vectors = [("scale", &scale), ("reserve_space_1", &mean), ("reserve_space_2", &variance)];
    let extent = norm.extent(device, x.shape(), &vectors)?;
    if gradient.shape() != x.shape() {
        bail!(InvalidArgument, "x and y_backprop must have same shape, got {} and {}", x.shape(), gradient.shape());
    }
    let vector = Shape::new(&[extent.channels]);
    let dx = ctx.allocate_output(0, norm.dtype, x.shape())?.clone();
    let scale_gradient = ctx.allocate_output(1, DType::F32, &vector)?.clone();
    let offset_gradient = ctx.allocate_output(2, DType::F32, &vector)?.clone();
    for i in 3..ctx.num_outputs() {
        ctx.allocate_output(i, DType::F32, &Shape::new(&[0]))?;
    }
    if extent.channels == 0 {
        return Ok(());
    }
    let sums = norm.sum(device, &extent, &x, Some(&gradient), Some(&mean))?;
    let words = Argument::Words(&extent.words);
    let address = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
    let parts = Argument::U32(extent.parts as u32);
    let factors = device.allocate(DType::F32, &Shape::new(&[4, extent.channels]))?;
    let arguments = [
        address(&scale_gradient)?,
        address(&offset_gradient)?,
        address(&factors)?,
        address(&sums)?,
        address(&scale)?,
        address(&mean)?,
        address(&variance)?,
        parts,
        Argument::U32(norm.training.into()),
        words,
    ];
    norm.scale_gradients.launch(device, channel_grid(extent.channels), &arguments)?;
    if extent.elements == 0 {
        return Ok(());
    }
    let n = Argument::U32(extent.elements as u32);
    let arguments = [address(&dx)?, address(&gradient)?, address(&x)?, address(&factors)?, n, words];
    norm.gradient.launch(device, device.linear_grid(extent.elements), &arguments)
}
