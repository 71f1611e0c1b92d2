//! Resizing of images and its gradients, and local response normalization.

use super::types::{FLOATS, NARROW_FLOATS, word_of};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// The types of pixels that can be resized.
const PIXELS: &[DType] =
    &[DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::I64];

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("ResizeBilinear", KernelDef::new(make_bilinear).constrain("T", PIXELS).host_memory("size"));
    registry.register("ResizeNearestNeighbor", KernelDef::new(make_nearest).constrain("T", PIXELS).host_memory("size"));
    registry.register("ResizeBilinearGrad", KernelDef::new(make_bilinear_gradient).constrain("T", FLOATS));
    let nearest = KernelDef::new(make_nearest_gradient);
    let types = &[DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::U8, DType::I32];
    registry.register("ResizeNearestNeighborGrad", nearest.constrain("T", types).host_memory("size"));
    registry.register("LRN", KernelDef::new(make_lrn).constrain("T", NARROW_FLOATS));
    registry.register("LRNGrad", KernelDef::new(make_lrn_gradient).constrain("T", NARROW_FLOATS));
}

/// The mapping from pixels of a resized image to positions in the original one.
#[derive(Clone, Copy)]
struct Mapping {
    align_corners: bool,
    half_pixel_centers: bool,
}

impl Mapping {
    fn new(init: &KernelInit<'_>) -> Result<Mapping> {
        let flag = |name| init.attrs.get_or(name, false);
        let mapping = Mapping { align_corners: flag("align_corners")?, half_pixel_centers: flag("half_pixel_centers")? };
        if mapping.align_corners && mapping.half_pixel_centers {
            bail!(InvalidArgument, "If half_pixel_centers is True, align_corners must be False.");
        }
        Ok(mapping)
    }

    /// Returns the number of original pixels per resized one.
    fn scale(self, original: usize, resized: usize) -> f32 {
        if self.align_corners && resized > 1 { (original - 1) as f32 / (resized - 1) as f32 } else { original as f32 / resized as f32 }
    }

    /// Returns the words of the structure `Resize` of kernels.
    fn words(self, original: [usize; 4], (height, width): (usize, usize)) -> Result<[u32; 9]> {
        let [_, in_height, in_width, channels] = original;
        let scales = [self.scale(in_height, height), self.scale(in_width, width)].map(f32::to_bits);
        Ok([
            word(in_height)?,
            word(in_width)?,
            word(height)?,
            word(width)?,
            word(channels)?,
            scales[0],
            scales[1],
            self.align_corners.into(),
            self.half_pixel_centers.into(),
        ])
    }
}

pub(super) fn image_dims(images: &Shape) -> Result<[usize; 4]> {
    match images.dims() {
        &[batch, height, width, channels] => Ok([batch, height, width, channels]),
        _ => bail!(InvalidArgument, "input must be 4-dimensional {images}"),
    }
}

pub(super) fn size_of(tensor: &Tensor, name: &str) -> Result<(usize, usize)> {
    if tensor.rank() != 1 || tensor.num_elements() != 2 {
        bail!(InvalidArgument, "{name} must have two elements: {}", tensor.shape());
    }
    match tensor.as_slice::<i32>()? {
        &[height, width] if height > 0 && width > 0 => Ok((height as usize, width as usize)),
        sizes => bail!(InvalidArgument, "{name} must be positive, not {sizes:?}"),
    }
}

const TEXT: &str = include_str!("image.cu");

/// Enqueues a kernel with a thread for each element of `output`.
fn launch(ctx: &KernelContext<'_>, program: &CompiledKernel, output: &Tensor, from: &Tensor, words: &[u32]) -> Result<()> {
    let n = output.num_elements();
    if n == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    let [to, from] = [device.address(output)?, device.address(from)?].map(Argument::Address);
    program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64), Argument::Words(words)])
}

fn make_bilinear(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mapping = Mapping::new(init)?;
    let program = CompiledKernel::of(TEXT, "resize_bilinear", init.dtype("T")?)?;
    from_fn(move |ctx| resize(ctx, mapping, &program, DType::F32))
}

fn make_nearest(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (mapping, dtype) = (Mapping::new(init)?, init.dtype("T")?);
    // The elements are copied: only their size matters.
    let program = CompiledKernel::new(TEXT, "resize_nearest", &[("T", word_of(dtype)?), ("C", "float")]);
    from_fn(move |ctx| resize(ctx, mapping, &program, dtype))
}

fn resize(ctx: &mut KernelContext<'_>, mapping: Mapping, program: &CompiledKernel, to: DType) -> Result<()> {
    let images = ctx.input(0)?.clone();
    let dims = image_dims(images.shape())?;
    let size = size_of(ctx.input(1)?, "shape_t")?;
    if dims[1..].contains(&0) {
        bail!(InvalidArgument, "input image must be of non-zero size");
    }
    let output = ctx.allocate_output(0, to, &Shape::from([dims[0], size.0, size.1, dims[3]]))?.clone();
    launch(ctx, program, &output, &images, &mapping.words(dims, size)?)
}

fn make_bilinear_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (mapping, dtype) = (Mapping::new(init)?, init.dtype("T")?);
    let program = CompiledKernel::of(TEXT, "resize_bilinear_gradient", dtype)?;
    from_fn(move |ctx| {
        let (gradients, image) = (ctx.input(0)?.clone(), ctx.input(1)?.shape().clone());
        let (from, to) = (image_dims(gradients.shape())?, image_dims(&image)?);
        if from[0] != to[0] || from[3] != to[3] {
            bail!(InvalidArgument, "gradients of shape {} do not match an image of shape {image}", gradients.shape());
        }
        if to[1..].contains(&0) || from[1..].contains(&0) {
            bail!(InvalidArgument, "original_image and grads must be of non-zero size, got {image} and {}", gradients.shape());
        }
        let output = ctx.allocate_output(0, dtype, &image)?.clone();
        launch(ctx, &program, &output, &gradients, &mapping.words(to, (from[1], from[2]))?)
    })
}

fn make_nearest_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (mapping, dtype) = (Mapping::new(init)?, init.dtype("T")?);
    let program = CompiledKernel::of(TEXT, "resize_nearest_gradient", dtype)?;
    from_fn(move |ctx| {
        let gradients = ctx.input(0)?.clone();
        let from = image_dims(gradients.shape())?;
        let (height, width) = size_of(ctx.input(1)?, "shape_t")?;
        if from[1..].contains(&0) {
            bail!(InvalidArgument, "grads must be of non-zero size, got {}", gradients.shape());
        }
        let to = [from[0], height, width, from[3]];
        let output = ctx.allocate_output(0, dtype, &Shape::new(&to))?.clone();
        launch(ctx, &program, &output, &gradients, &mapping.words(to, (from[1], from[2]))?)
    })
}

/// The attributes of a local response normalization.
struct Normalization {
    radius: u32,
    /// The bias, alpha and beta.
    factors: [f32; 3],
}

impl Normalization {
    fn new(init: &KernelInit<'_>) -> Result<Normalization> {
        let radius: i64 = init.attrs.get_or("depth_radius", 5)?;
        let Some(radius) = u32::try_from(radius).ok().filter(|&r| r < 1 << 31) else {
            bail!(InvalidArgument, "depth_radius = {radius} larger than int max or negative");
        };
        let number = |name, default| init.attrs.get_or::<f32>(name, default);
        Ok(Normalization { radius, factors: [number("bias", 1.0)?, number("alpha", 1.0)?, number("beta", 0.5)?] })
    }

    /// Returns the words of the structure `Normalization` of kernels.
    fn words(&self, depth: usize) -> Result<[u32; 5]> {
        let [bias, alpha, beta] = self.factors.map(f32::to_bits);
        // A greater radius has the channels that there are.
        Ok([word(depth)?, self.radius.min(word(depth)?), bias, alpha, beta])
    }
}

fn lrn_program(name: &'static str, dtype: DType) -> Result<CompiledKernel> {
    Ok(CompiledKernel::new(include_str!("lrn.cu"), name, &element_types(dtype)?))
}

fn make_lrn(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (normalization, dtype) = (Normalization::new(init)?, init.dtype("T")?);
    let program = lrn_program("normalize", dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let &[.., depth] = input.shape().dims() else { bail!(InvalidArgument, "in must be 4-dimensional") };
        if input.rank() != 4 {
            bail!(InvalidArgument, "in must be 4-dimensional");
        }
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        launch(ctx, &program, &output, &input, &normalization.words(depth)?)
    })
}

fn make_lrn_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (normalization, dtype) = (Normalization::new(init)?, init.dtype("T")?);
    let (norms, program) = (lrn_program("norms", dtype)?, lrn_program("gradient", dtype)?);
    from_fn(move |ctx| {
        let (gradient, input, output) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        if gradient.rank() != 4 || input.rank() != 4 {
            bail!(InvalidArgument, "inputs must be 4-dimensional");
        }
        if gradient.shape() != input.shape() || output.shape() != input.shape() {
            bail!(InvalidArgument, "input_grads, input_image, and out_image should have the same shape");
        }
        let result = ctx.allocate_output(0, dtype, input.shape())?.clone();
        let n = result.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = normalization.words(input.shape()[3])?;
        let scratch = device.allocate(DType::F32, input.shape())?;
        launch(ctx, &norms, &scratch, &input, &words)?;
        let tensors = [&result, &gradient, &input, &output, &scratch];
        let mut arguments = Vec::with_capacity(7);
        for tensor in tensors {
            arguments.push(Argument::Address(device.address(tensor)?));
        }
        arguments.extend([Argument::U64(n as u64), Argument::Words(&words)]);
        program.launch(device, device.linear_grid(n), &arguments)
    })
}
