//! `FusedPadConv2D` and `FusedResizeAndPadConv2D`, which resize an image, mirror its borders and convolve it. Tools that prepare graphs for small
//! devices make these ops. Each step runs the kernel of the op that it replaces.

use super::conv2d;
use crate::array::make_mirror_pad;
use crate::from_fn::from_fn;
use crate::fused_ops::FusedOps;
use crate::image::resize::{Grid, sizes};
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Element, Result, Tensor, bail, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FusedPadConv2D", make_pad_conv);
    registry.add("FusedResizeAndPadConv2D", |init| {
        let grid = Grid::of_corners(init.attrs.get_or("resize_align_corners", false)?);
        for_dtype!(init.dtype("T")?, [f16, f32, f64], T => {
            let convolve = make_pad_conv(init)?;
            from_fn(move |ctx| {
                let resized = resized::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, grid)?;
                let output = run(&convolve, vec![resized, ctx.take(2)?, ctx.take(3)?], ctx)?;
                ctx.set_output(0, output);
                Ok(())
            })
        }, _ => init.unsupported())
    });
}

/// Returns the outputs of `kernel` for these inputs.
fn run(kernel: &Arc<dyn Kernel>, inputs: Vec<Tensor>, ctx: &KernelContext<'_>) -> Result<Tensor> {
    let (mut inputs, mut outputs) = (inputs.into_iter().map(Some).collect::<Vec<_>>(), [None]);
    kernel.compute(&mut KernelContext::new(&mut inputs, &mut outputs, ctx.device_step()))?;
    match outputs {
        [Some(output)] => Ok(output),
        _ => bail!(Internal, "a step of a convolution has no output"),
    }
}

/// Makes the kernel of `FusedPadConv2D`. Inputs: image, paddings, filter.
fn make_pad_conv(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let inner = KernelInit { input_shapes: &[], constants: &[], ..*init };
    let (pad, convolve) = (make_mirror_pad(&inner)?, conv2d::make(&inner, FusedOps::default())?);
    from_fn(move |ctx| {
        let (image, paddings, filter) = (ctx.take(0)?, ctx.take(1)?, ctx.take(2)?);
        if image.num_elements() == 0 {
            bail!(InvalidArgument, "Input tensor can't be empty");
        }
        if image.rank() != 4 || filter.rank() != 4 {
            bail!(InvalidArgument, "input and filter must be 4-dimensional: {}, {}", image.shape(), filter.shape());
        }
        let amounts = paddings.to_i64_vec()?;
        if paddings.shape().dims() == [4, 2] && (amounts[..2] != [0, 0] || amounts[6..] != [0, 0]) {
            bail!(InvalidArgument, "Fused mirror padding only support spatial padding, not batches or channels: {amounts:?}");
        }
        if image.shape()[3] != filter.shape()[2] {
            bail!(InvalidArgument, "input and filter must have the same depth: {} vs {}", image.shape()[3], filter.shape()[2]);
        }
        let padded = run(&pad, vec![image, paddings], ctx)?;
        let output = run(&convolve, vec![padded, filter], ctx)?;
        if output.num_elements() == 0 {
            bail!(InvalidArgument, "Output tensor can't be empty");
        }
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Resizes images by bilinear interpolation, in their own element type.
fn resized<T: Number + Element>(alloc: &Allocator, images: &Tensor, size: &Tensor, grid: Grid) -> Result<Tensor>
where
    T::Acc: num_traits::Float + 'static,
    f32: num_traits::AsPrimitive<T::Acc>,
{
    let ([batch, height, width, channels], (out_height, out_width)) = sizes(alloc, images, size)?;
    let mut output = alloc.uninit(T::DTYPE, [batch, out_height, out_width, channels])?;
    let (rows, columns) = (grid.between(height, out_height), grid.between(width, out_width));
    let input = images.as_slice::<T>()?;
    for (i, row) in output.as_mut_slice::<T>()?.chunks_exact_mut(out_width * channels).enumerate() {
        let y = rows[i % out_height];
        let line = |y: usize| &input[(i / out_height * height + y) * width * channels..][..width * channels];
        let (top, bottom) = (line(y.lower), line(y.upper));
        for (pixel, x) in row.chunks_exact_mut(channels).zip(&columns) {
            for (c, out) in pixel.iter_mut().enumerate() {
                let between = |from: T::Acc, to: T::Acc, share: f32| from + (to - from) * num_traits::AsPrimitive::as_(share);
                let mix = |line: &[T]| between(line[x.lower * channels + c].widen(), line[x.upper * channels + c].widen(), x.lerp);
                *out = T::narrow(between(mix(top), mix(bottom), y.lerp));
            }
        }
    }
    Ok(output)
}
