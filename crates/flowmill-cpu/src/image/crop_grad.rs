//! The gradients of `CropAndResize`: `CropAndResizeGradImage`, `CropAndResizeGradBoxes`.

use super::crop::positions;
use super::image_dims;
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, Shape, Tensor, bail, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CropAndResizeGradBoxes", make_boxes);
    registry.add("CropAndResizeGradImage", make_image);
}

/// Returns the gradients' dimensions, the boxes, and the indices of their images, which are checked to be within the batch.
fn checked<'a>(gradients: &Tensor, boxes: &'a Tensor, index: &'a Tensor, batch: usize) -> Result<([usize; 4], &'a [[f32; 4]], &'a [i32])> {
    let dims = image_dims(gradients)?;
    if dims[1] == 0 || dims[2] == 0 {
        bail!(InvalidArgument, "grads dimensions must be positive");
    }
    let &[count, 4] = boxes.shape().dims() else { bail!(InvalidArgument, "boxes must have 4 columns: {}", boxes.shape()) };
    if index.rank() != 1 || index.num_elements() != count {
        bail!(InvalidArgument, "box_index has incompatible shape: {} for {count} boxes", index.shape());
    }
    if dims[0] != count {
        bail!(InvalidArgument, "boxes and grads have incompatible shape: {} and {}", boxes.shape(), gradients.shape());
    }
    let indices = index.as_slice::<i32>()?;
    if !indices.iter().all(|&i| usize::try_from(i).is_ok_and(|i| i < batch)) {
        bail!(OutOfRange, "box_index has values outside [0, batch_size)");
    }
    Ok((dims, boxes.as_slice::<f32>()?.as_chunks::<4>().0, indices))
}

fn make_image(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_nearest = init.attrs.get_or("method", "bilinear")? == "nearest";
    for_dtype!(init.dtype("T")?, [f16, f32, f64], T => from_fn(move |ctx| image_grad::<T>(ctx, is_nearest)), _ => init.unsupported())
}

/// Adds the gradient of each pixel of a crop to the pixels of the image that it was interpolated from.
fn image_grad<T: Number>(ctx: &mut KernelContext<'_>, is_nearest: bool) -> Result<()>
where
    f32: AsPrimitive<T::Acc>,
{
    let (gradients, size) = (ctx.input(0)?, ctx.input(3)?);
    if size.rank() != 1 || size.num_elements() != 4 {
        bail!(InvalidArgument, "image_size must have 4 elements: {}", size.shape());
    }
    let shape = Shape::from_i64(&size.to_i64_vec()?)?;
    let (batch, height, width, depth) = (shape[0], shape[1], shape[2], shape[3]);
    if height == 0 || width == 0 {
        bail!(InvalidArgument, "image dimensions must be positive");
    }
    let ([_, crop_height, crop_width, crop_depth], boxes, indices) = checked(gradients, ctx.input(1)?, ctx.input(2)?, batch)?;
    if crop_depth != depth {
        bail!(InvalidArgument, "image_size and grads are incompatible: depths {depth} and {crop_depth}");
    }
    let g = gradients.as_slice::<f32>()?;
    let mut out = ctx.allocator().zeros(T::DTYPE, shape)?;
    let target = out.as_mut_slice::<T>()?;
    let crop_len = crop_height * crop_width * depth;
    for (b, ([y1, x1, y2, x2], &image)) in boxes.iter().zip(indices).enumerate() {
        let (ys, xs) = (positions(*y1, *y2, height, crop_height), positions(*x1, *x2, width, crop_width));
        let target = &mut target[image as usize * height * width * depth..][..height * width * depth];
        let mut give = |y: f32, x: f32, g: &[f32], share: f32| {
            let at = (y as usize * width + x as usize) * depth;
            target[at..][..depth].iter_mut().zip(g).for_each(|(out, g)| *out = out.plus(T::narrow((g * share).as_())));
        };
        for (i, g) in g[b * crop_len..][..crop_len].chunks_exact(depth.max(1)).enumerate() {
            let (Some(y), Some(x)) = (ys(i / crop_width), xs(i % crop_width)) else { continue };
            if is_nearest {
                give(y.round(), x.round(), g, 1.0);
                continue;
            }
            let (y_lerp, x_lerp) = (y - y.floor(), x - x.floor());
            give(y.floor(), x.floor(), g, (1.0 - y_lerp) * (1.0 - x_lerp));
            give(y.floor(), x.ceil(), g, (1.0 - y_lerp) * x_lerp);
            give(y.ceil(), x.floor(), g, y_lerp * (1.0 - x_lerp));
            give(y.ceil(), x.ceil(), g, y_lerp * x_lerp);
        }
    }
    ctx.set_output(0, out);
    Ok(())
}

fn make_boxes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [u8, u16, i8, i16, i32, i64, f16, f32, f64], T => from_fn(boxes_grad::<T>), _ => init.unsupported())
}

/// Computes the gradients with respect to the corners of the boxes.
fn boxes_grad<T: Element + AsPrimitive<f32>>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (gradients, image) = (ctx.input(0)?, ctx.input(1)?);
    let [batch, height, width, depth] = image_dims(image)?;
    if height == 0 || width == 0 {
        bail!(InvalidArgument, "image dimensions must be positive");
    }
    let ([count, crop_height, crop_width, crop_depth], boxes, indices) = checked(gradients, ctx.input(2)?, ctx.input(3)?, batch)?;
    if crop_depth != depth {
        bail!(InvalidArgument, "image, grads depth differ: {depth} and {crop_depth}");
    }
    let (g, pixels) = (gradients.as_slice::<f32>()?, image.as_slice::<T>()?);
    let mut out = ctx.allocator().zeros(DType::F32, [count, 4])?;
    let crop_len = crop_height * crop_width * depth;
    let rows = out.as_mut_slice::<f32>()?.as_chunks_mut::<4>().0;
    for (b, out) in rows.iter_mut().enumerate() {
        let ([y1, x1, y2, x2], image) = (boxes[b], indices[b] as usize);
        let (ys, xs) = (positions(y1, y2, height, crop_height), positions(x1, x2, width, crop_width));
        let (end_y, end_x) = ((height - 1) as f32, (width - 1) as f32);
        let image = &pixels[image * height * width * depth..][..height * width * depth];
        let value = |y: f32, x: f32, c: usize| -> f32 { image[(y as usize * width + x as usize) * depth + c].as_() };
        // The relative position of a pixel of the crop between the first and the second corner.
        let part = |i: usize, size: usize| if size > 1 { i as f32 / (size - 1) as f32 } else { 0.5 };
        for (i, g) in g[b * crop_len..][..crop_len].chunks_exact(depth.max(1)).enumerate() {
            let (Some(y), Some(x)) = (ys(i / crop_width), xs(i % crop_width)) else { continue };
            let (y_part, x_part) = (part(i / crop_width, crop_height), part(i % crop_width, crop_width));
            let (y_lerp, x_lerp) = (y - y.floor(), x - x.floor());
            for (c, g) in g.iter().enumerate() {
                let (top_left, top_right) = (value(y.floor(), x.floor(), c), value(y.floor(), x.ceil(), c));
                let (bottom_left, bottom_right) = (value(y.ceil(), x.floor(), c), value(y.ceil(), x.ceil(), c));
                let by_y = (1.0 - x_lerp) * (bottom_left - top_left) + x_lerp * (bottom_right - top_right);
                let by_x = (1.0 - y_lerp) * (top_right - top_left) + y_lerp * (bottom_right - bottom_left);
                let (by_y, by_x) = (by_y * g * end_y, by_x * g * end_x);
                out[0] += by_y * (1.0 - y_part);
                out[2] += by_y * y_part;
                out[1] += by_x * (1.0 - x_part);
                out[3] += by_x * x_part;
            }
        }
    }
    ctx.set_output(0, out);
    Ok(())
}
