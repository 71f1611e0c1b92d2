//! `CropAndResize` and its gradients. Boxes of images that do not exist have the value outside, and no gradient: an error would have to wait for the GPU.

use super::image::{image_dims, size_of};
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::F16, DType::F32, DType::F64];
const TEXT: &str = include_str!("crop.cu");
/// The number of threads that sum the gradients of a box.
const THREADS: u32 = 256;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("CropAndResize", KernelDef::new(make).constrain("T", TYPES).host_memory("crop_size"));
    let gradient = KernelDef::new(make_image_gradient).constrain("T", TYPES);
    registry.register("CropAndResizeGradImage", gradient.host_memory("image_size"));
    registry.register("CropAndResizeGradBoxes", KernelDef::new(make_box_gradient).constrain("T", TYPES));
}

/// The sizes of images and of crops from them.
struct Sizes {
    images: [usize; 4],
    crop: (usize, usize),
    boxes: usize,
}

impl Sizes {
    fn new(images: [usize; 4], crop: (usize, usize), boxes: &Tensor, box_index: &Tensor) -> Result<Sizes> {
        if images[1] == 0 || images[2] == 0 {
            bail!(InvalidArgument, "image dimensions must be positive");
        }
        let &[count, 4] = boxes.shape().dims() else { bail!(InvalidArgument, "boxes must have 4 columns: {}", boxes.shape()) };
        if box_index.rank() != 1 || box_index.num_elements() != count {
            bail!(InvalidArgument, "box_index has incompatible shape: {} for {count} boxes", box_index.shape());
        }
        Ok(Sizes { images, crop, boxes: count })
    }

    /// Returns the sizes for gradients of crops.
    fn of_gradient(images: [usize; 4], gradient: &Tensor, boxes: &Tensor, box_index: &Tensor) -> Result<Sizes> {
        let [count, height, width, depth] = image_dims(gradient.shape())?;
        if height == 0 || width == 0 {
            bail!(InvalidArgument, "grads dimensions must be positive");
        }
        let sizes = Sizes::new(images, (height, width), boxes, box_index)?;
        if count != sizes.boxes {
            bail!(InvalidArgument, "boxes and grads have incompatible shape: {} and {}", boxes.shape(), gradient.shape());
        }
        if depth != images[3] {
            bail!(InvalidArgument, "image, grads depth differ: {} and {depth}", images[3]);
        }
        Ok(sizes)
    }

    /// Returns the words of the structure `Crop` of kernels.
    fn words(&self, is_nearest: bool, outside: f32) -> Result<[u32; 9]> {
        let ([batch, height, width, depth], (crop_height, crop_width)) = (self.images, self.crop);
        let sizes = [batch, height, width, depth, crop_height, crop_width, self.boxes];
        let mut words = [0; 9];
        for (to, size) in words.iter_mut().zip(sizes) {
            *to = word(size)?;
        }
        words[7] = is_nearest.into();
        words[8] = outside.to_bits();
        Ok(words)
    }
}

fn is_nearest(init: &KernelInit<'_>) -> Result<bool> {
    match init.attrs.get_or("method", "bilinear")? {
        "bilinear" => Ok(false),
        "nearest" => Ok(true),
        method => bail!(InvalidArgument, "method must be 'bilinear' or 'nearest', not '{method}'"),
    }
}

/// Enqueues a kernel with a thread for each element of `output`.
fn launch(device: &GpuDevice, program: &CompiledKernel, output: &Tensor, inputs: [&Tensor; 3], words: &[u32]) -> Result<()> {
    let n = output.num_elements();
    if n == 0 {
        return Ok(());
    }
    let [a, b, c] = inputs;
    let [to, a, b, c] = [device.address(output)?, device.address(a)?, device.address(b)?, device.address(c)?].map(Argument::Address);
    program.launch(device, device.linear_grid(n), &[to, a, b, c, Argument::U64(n as u64), Argument::Words(words)])
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_nearest = is_nearest(init)?;
    let outside: f32 = init.attrs.get_or("extrapolation_value", 0.0)?;
    let program = CompiledKernel::of(TEXT, "crop_and_resize", init.dtype("T")?)?;
    from_fn(move |ctx| {
        let (images, boxes, box_index) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let (dims, crop) = (image_dims(images.shape())?, size_of(ctx.input(3)?, "crop_size")?);
        let sizes = Sizes::new(dims, crop, &boxes, &box_index)?;
        let output = ctx.allocate_output(0, DType::F32, &Shape::from([sizes.boxes, crop.0, crop.1, dims[3]]))?.clone();
        let words = sizes.words(is_nearest, outside)?;
        launch(GpuDevice::of(ctx.device())?, &program, &output, [&images, &boxes, &box_index], &words)
    })
}

fn make_image_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (is_nearest, dtype) = (is_nearest(init)?, init.dtype("T")?);
    let program = CompiledKernel::of(TEXT, "image_gradient", dtype)?;
    from_fn(move |ctx| {
        let (gradient, boxes, box_index, size) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone(), ctx.input(3)?);
        if size.rank() != 1 || size.num_elements() != 4 {
            bail!(InvalidArgument, "image_size must have 4 elements: {}", size.shape());
        }
        let shape = size.to_shape()?;
        let sizes = Sizes::of_gradient(image_dims(&shape)?, &gradient, &boxes, &box_index)?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let words = sizes.words(is_nearest, 0.0)?;
        launch(GpuDevice::of(ctx.device())?, &program, &output, [&gradient, &boxes, &box_index], &words)
    })
}

fn make_box_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let program = CompiledKernel::of(TEXT, "box_gradient", init.dtype("T")?)?;
    from_fn(move |ctx| {
        let (gradient, images) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let (boxes, box_index) = (ctx.input(2)?.clone(), ctx.input(3)?.clone());
        let sizes = Sizes::of_gradient(image_dims(images.shape())?, &gradient, &boxes, &box_index)?;
        let output = ctx.allocate_output(0, DType::F32, &Shape::from([sizes.boxes, 4]))?.clone();
        if sizes.boxes == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = sizes.words(false, 0.0)?;
        let tensors = [&output, &gradient, &images, &boxes, &box_index];
        let mut arguments = Vec::with_capacity(6);
        for tensor in tensors {
            arguments.push(Argument::Address(device.address(tensor)?));
        }
        arguments.push(Argument::Words(&words));
        program.launch(device, Grid { blocks: [word(sizes.boxes)?, 1, 1], threads: [THREADS, 1, 1] }, &arguments)
    })
}
