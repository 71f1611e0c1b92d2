//! The gradients of resizing: `ResizeBilinearGrad`, `ResizeNearestNeighborGrad`.

use super::resize::{Grid, check_tables};
use super::{image_dims, size_of};
use crate::from_fn::from_fn;
use crate::number::Number;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Tensor, bail, bf16, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ResizeBilinearGrad", make_bilinear);
    registry.add("ResizeNearestNeighborGrad", make_nearest);
}

fn make_bilinear(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(move |ctx| bilinear::<T>(ctx, grid)), _ => init.unsupported())
}

/// Returns the dimensions of gradients and of the image that was resized, whose batch and depth must be equal.
pub(super) fn gradient_dims(alloc: &Allocator, gradients: &Tensor, image: &Tensor) -> Result<([usize; 4], [usize; 4])> {
    let (from, to) = (image_dims(gradients)?, image_dims(image)?);
    if from[0] != to[0] || from[3] != to[3] {
        bail!(InvalidArgument, "gradients of shape {} do not match an image of shape {}", gradients.shape(), image.shape());
    }
    if to[1..].contains(&0) || from[1..].contains(&0) {
        bail!(InvalidArgument, "original_image and grads must be of non-zero size, got {} and {}", image.shape(), gradients.shape());
    }
    check_tables(alloc, [from[1], from[2], to[1], to[2]])?;
    Ok((from, to))
}

/// Adds the gradient of each pixel to the four pixels that it was interpolated from.
fn bilinear<T: Number>(ctx: &mut KernelContext<'_>, grid: Grid) -> Result<()>
where
    f32: AsPrimitive<T::Acc>,
{
    let (gradients, image) = (ctx.input(0)?, ctx.input(1)?);
    let ([_, out_height, out_width, channels], [_, height, width, _]) = gradient_dims(ctx.allocator(), gradients, image)?;
    let (rows, columns) = (grid.between(height, out_height), grid.between(width, out_width));
    let g = gradients.as_slice::<f32>()?;
    let mut out = ctx.allocator().zeros(T::DTYPE, image.shape().clone())?;
    parallel::chunks(out.as_mut_slice::<T>()?, height * width * channels, |b, out| {
        let g = &g[b * out_height * out_width * channels..][..out_height * out_width * channels];
        for (i, g) in g.chunks_exact(channels).enumerate() {
            let (y, x) = (&rows[i / out_width], &columns[i % out_width]);
            for (row, row_share) in [(y.lower, 1.0 - y.lerp), (y.upper, y.lerp)] {
                for (column, share) in [(x.lower, 1.0 - x.lerp), (x.upper, x.lerp)] {
                    for (out, &g) in out[(row * width + column) * channels..][..channels].iter_mut().zip(g) {
                        let part: f32 = g * row_share * share;
                        *out = out.plus(T::narrow(part.as_()));
                    }
                }
            }
        }
    });
    ctx.set_output(0, out);
    Ok(())
}

fn make_nearest(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [u8, i8, i32, f16, bf16, f32, f64], T => from_fn(move |ctx| nearest::<T>(ctx, grid)), _ => init.unsupported())
}

/// Adds the gradient of each pixel to the pixel that it was copied from.
fn nearest<T: Number>(ctx: &mut KernelContext<'_>, grid: Grid) -> Result<()> {
    let gradients = ctx.input(0)?;
    let [batch, out_height, out_width, channels] = image_dims(gradients)?;
    let (height, width) = size_of(ctx.input(1)?, "shape_t")?;
    if out_height == 0 || out_width == 0 || channels == 0 {
        bail!(InvalidArgument, "grads must be of non-zero size, got {}", gradients.shape());
    }
    check_tables(ctx.allocator(), [height, width, out_height, out_width])?;
    let (rows, columns) = (grid.nearest(height, out_height), grid.nearest(width, out_width));
    let g = gradients.as_slice::<T>()?;
    let mut out = ctx.allocator().zeros(T::DTYPE, [batch, height, width, channels])?;
    parallel::chunks(out.as_mut_slice::<T>()?, height * width * channels, |b, out| {
        let g = &g[b * out_height * out_width * channels..][..out_height * out_width * channels];
        for (i, g) in g.chunks_exact(channels).enumerate() {
            let at = rows[i / out_width] * width + columns[i % out_width];
            out[at * channels..][..channels].iter_mut().zip(g).for_each(|(out, &g)| *out = out.plus(g));
        }
    });
    ctx.set_output(0, out);
    Ok(())
}
