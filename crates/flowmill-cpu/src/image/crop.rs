//! `CropAndResize`, which crops boxes from images and resizes them to one size.

use super::{image_dims, size_of};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bail, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CropAndResize", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_nearest = match init.attrs.get_or("method", "bilinear")? {
        "bilinear" => false,
        "nearest" => true,
        method => bail!(InvalidArgument, "method must be 'bilinear' or 'nearest', not '{method}'"),
    };
    let outside: f32 = init.attrs.get_or("extrapolation_value", 0.0)?;
    for_dtype!(init.dtype("T")?, [u8, u16, i8, i16, i32, i64, f16, f32, f64], T => crop::<T>(is_nearest, outside), _ => init.unsupported())
}

/// Returns a function from pixel `i` of the crop to its position along one dimension of the image, or `None` if that is outside.
pub(super) fn positions(first: f32, last: f32, size: usize, crop: usize) -> impl Fn(usize) -> Option<f32> {
    let end = (size - 1) as f32;
    let scale = if crop > 1 { (last - first) * end / (crop - 1) as f32 } else { 0.0 };
    move |i| {
        let at = if crop > 1 { first * end + i as f32 * scale } else { 0.5 * (first + last) * end };
        (at >= 0.0 && at <= end).then_some(at)
    }
}

fn crop<T: Element + AsPrimitive<f32>>(is_nearest: bool, outside: f32) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let (image, boxes, box_index) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let [batch, height, width, depth] = image_dims(image)?;
        let (crop_height, crop_width) = size_of(ctx.input(3)?, "crop_size")?;
        if height == 0 || width == 0 {
            bail!(InvalidArgument, "image dimensions must be positive");
        }
        let num_boxes = match boxes.shape().dims() {
            &[n, 4] => n,
            _ => bail!(InvalidArgument, "boxes must have 4 columns: {}", boxes.shape()),
        };
        if box_index.rank() != 1 || box_index.num_elements() != num_boxes {
            bail!(InvalidArgument, "box_index has incompatible shape: {} for {num_boxes} boxes", box_index.shape());
        }
        let indices = box_index.as_slice::<i32>()?;
        if !indices.iter().all(|&i| usize::try_from(i).is_ok_and(|i| i < batch)) {
            bail!(OutOfRange, "box_index has values outside [0, batch_size)");
        }
        let mut output = ctx.allocator().uninit(DType::F32, [num_boxes, crop_height, crop_width, depth])?;
        let (input, boxes) = (image.as_slice::<T>()?, boxes.as_slice::<f32>()?);
        if depth > 0 {
            parallel::chunks(output.as_mut_slice::<f32>()?, crop_height * crop_width * depth, |b, crop| {
                let &[y1, x1, y2, x2] = &boxes[b * 4..b * 4 + 4] else { return };
                let (ys, xs) = (positions(y1, y2, height, crop_height), positions(x1, x2, width, crop_width));
                let image = &input[indices[b] as usize * height * width * depth..][..height * width * depth];
                let value = |y: f32, x: f32, c: usize| -> f32 { image[(y as usize * width + x as usize) * depth + c].as_() };
                for (i, pixel) in crop.chunks_exact_mut(depth).enumerate() {
                    let (Some(y), Some(x)) = (ys(i / crop_width), xs(i % crop_width)) else {
                        pixel.fill(outside);
                        continue;
                    };
                    for (c, out) in pixel.iter_mut().enumerate() {
                        *out = if is_nearest {
                            value(y.round(), x.round(), c)
                        } else {
                            let (x_lerp, y_lerp) = (x - x.floor(), y - y.floor());
                            let mix = |y: f32| value(y, x.floor(), c) + (value(y, x.ceil(), c) - value(y, x.floor(), c)) * x_lerp;
                            let (top, bottom) = (mix(y.floor()), mix(y.ceil()));
                            top + (bottom - top) * y_lerp
                        };
                    }
                }
            });
        }
        ctx.set_output(0, output);
        Ok(())
    })
}
