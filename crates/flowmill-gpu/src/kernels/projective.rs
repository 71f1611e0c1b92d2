//! `ImageProjectiveTransformV2` and `V3`, which apply a projective transform of the plane to images.

use super::image::{image_dims, size_of};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::sync::Arc;

const TYPES: &[DType] = &[DType::U8, DType::I32, DType::I64, DType::F16, DType::F32, DType::F64];

pub(super) fn register(registry: &mut KernelRegistry) {
    let transform = || KernelDef::new(make).constrain("dtype", TYPES).host_memory("output_shape");
    registry.register("ImageProjectiveTransformV2", transform());
    registry.register("ImageProjectiveTransformV3", transform().host_memory("fill_value"));
}

/// Makes the kernel. Its inputs are images, a transform for each or for all, the size of the output, and in the third version the value outside.
fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_bilinear = match init.attrs.get("interpolation")? {
        "NEAREST" => false,
        "BILINEAR" => true,
        other => bail!(InvalidArgument, "Invalid interpolation {other}. Supported types: NEAREST, BILINEAR"),
    };
    let mode = match init.attrs.get_or("fill_mode", "CONSTANT")? {
        "REFLECT" => 0,
        "WRAP" => 1,
        "CONSTANT" => 2,
        "NEAREST" => 3,
        other => bail!(InvalidArgument, "Invalid mode {other}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST"),
    };
    let dtype = init.dtype("dtype")?;
    let program = CompiledKernel::of(include_str!("projective.cu"), "transform", dtype)?;
    from_fn(move |ctx| {
        let (images, transforms) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let [batch, height, width, channels] = image_dims(images.shape())?;
        let is_shared = match *transforms.shape().dims() {
            [1, 8] => true,
            [n, 8] if n == batch => false,
            _ => bail!(InvalidArgument, "Input transform should be num_images x 8 or 1 x 8, got {}", transforms.shape()),
        };
        let (out_height, out_width) = size_of(ctx.input(2)?, "output shape")?;
        let fill: f32 = if ctx.num_inputs() > 3 { ctx.input(3)?.to_scalar()? } else { 0.0 };
        let output = ctx.allocate_output(0, dtype, &Shape::from([batch, out_height, out_width, channels]))?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let words = [
            word(height)?,
            word(width)?,
            word(channels)?,
            word(out_height)?,
            word(out_width)?,
            is_shared.into(),
            is_bilinear.into(),
            mode,
            fill.to_bits(),
        ];
        let [to, from, by] = [device.address(&output)?, device.address(&images)?, device.address(&transforms)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, by, Argument::U64(n as u64), Argument::Words(&words)])
    })
}
