//! `ImageSummary`, which encodes images as PNG files for event files.

use crate::from_fn::from_fn;
use flowmill_codecs::png;
use flowmill_proto::summary::{Image, Value, value};
use flowmill_proto::{Message, Summary, TensorProto};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, Tensor, bail, f16};
use num_traits::Float;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ImageSummary", make_image_summary);
}

fn make_image_summary(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let max_images: i64 = init.attrs.get_or("max_images", 3)?;
    let bad_color = match init.attrs.get::<&TensorProto>("bad_color") {
        Ok(color) => Tensor::from_proto(color)?,
        Err(_) => Tensor::vector(&[255u8, 0, 0, 255])?,
    };
    if bad_color.dtype() != DType::U8 {
        bail!(InvalidArgument, "bad_color must be uint8, got {}", bad_color.dtype());
    }
    if bad_color.rank() != 1 {
        bail!(InvalidArgument, "bad_color must be a vector, got shape {}", bad_color.shape());
    }
    let bad_color = bad_color.as_slice::<u8>()?.to_vec();
    from_fn(move |ctx| {
        let (tag, images) = (ctx.input(0)?, ctx.input(1)?);
        let [tag] = tag.as_strings()? else { bail!(InvalidArgument, "Tags must be a scalar") };
        let tag = String::from_utf8_lossy(tag);
        let &[batch, height, width, depth] = images.shape().dims() else {
            bail!(InvalidArgument, "Tensor must be 4-D with last dim 1, 3, or 4, not {}", images.shape());
        };
        if !matches!(depth, 1 | 3 | 4) {
            bail!(InvalidArgument, "Tensor must be 4-D with last dim 1, 3, or 4, not {}", images.shape());
        }
        if images.dtype() != DType::U8 && bad_color.len() < depth {
            bail!(InvalidArgument, "expected depth <= bad_color.size, got depth = {depth}, bad_color.size = {}", bad_color.len());
        }
        let mut summary = Summary::default();
        let count = batch.min(usize::try_from(max_images).unwrap_or(0));
        let each = height * width * depth;
        for i in 0..count {
            let pixels = match images.dtype() {
                DType::U8 => images.as_slice::<u8>()?[i * each..][..each].to_vec(),
                DType::F16 => normalized::<f16>(images, i, each, depth, &bad_color)?,
                DType::F32 => normalized::<f32>(images, i, each, depth, &bad_color)?,
                DType::F64 => normalized::<f64>(images, i, each, depth, &bad_color)?,
                other => bail!(InvalidArgument, "ImageSummary has no images of type {other}"),
            };
            if pixels.is_empty() {
                bail!(InvalidArgument, "Image must not be empty: {}", images.shape());
            }
            let file = png::encode(height, width, depth, false, &pixels, -1)?;
            let image = Image {
                height: height as i32,
                width: width as i32,
                colorspace: depth as i32,
                encoded_image_string: file.into(),
                ..Image::default()
            };
            let tag = if max_images > 1 { format!("{tag}/image/{i}") } else { format!("{tag}/image") };
            summary.value.push(Value { tag, value: Some(value::Value::Image(image)), ..Value::default() });
        }
        ctx.set_output(0, ctx.allocator().string(summary.encode_to_vec())?);
        Ok(())
    })
}

/// Returns image `i` as bytes, scaled so that the largest value becomes 255. If there are negative values, zero becomes 128 and the largest
/// absolute value is scaled to 127 on either side. Pixels with a value that is not finite get `bad_color`.
fn normalized<T: Element + Float>(images: &Tensor, i: usize, each: usize, depth: usize, bad_color: &[u8]) -> Result<Vec<u8>> {
    const ZERO: f32 = 1e-6;
    let values = &images.as_slice::<T>()?[i * each..][..each];
    let is_finite = |pixel: &&[T]| pixel.iter().all(|v| v.is_finite());
    let finite = values.chunks_exact(depth).filter(is_finite).flatten().map(|v| v.to_f32().unwrap_or(0.0));
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let convert = |v: f32| T::from(v).unwrap_or_else(T::zero);
    let (scale, offset) = if low < 0.0 {
        let largest = low.abs().max(high.abs());
        (convert(if largest < ZERO { 0.0 } else { 127.0 / largest }), convert(128.0))
    } else {
        (convert(if high < ZERO { 0.0 } else { 255.0 / high }), T::zero())
    };
    let mut bytes = Vec::with_capacity(each);
    for pixel in values.chunks_exact(depth) {
        if is_finite(&pixel) {
            bytes.extend(pixel.iter().map(|&v| (v * scale + offset).to_f64().unwrap_or(0.0) as u8));
        } else {
            bytes.extend(&bad_color[..depth]);
        }
    }
    Ok(bytes)
}
