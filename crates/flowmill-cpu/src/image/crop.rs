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
        let (input, boxes) = (image.as_slice::<T>()?, boxes.as_slice::<f32>()?.as_chunks::<4>().0);
        let nanoseconds = crop_width.saturating_mul(10 + depth / 2);
        parallel::rows(output.as_mut_slice::<f32>()?, crop_width * depth, nanoseconds, Columns::default, |i, row, columns| {
            let (number, y) = (i / crop_height, i % crop_height);
            let [y1, x1, y2, x2] = boxes[number];
            let Some(y) = positions(y1, y2, height, crop_height)(y) else { return row.fill(outside) };
            columns.prepare(number, positions(x1, x2, width, crop_width), crop_width, is_nearest);
            let image = &input[indices[number] as usize * height * width * depth..][..height * width * depth];
            let pixel = |y: usize, x: usize| &image[(y * width + x) * depth..][..depth];
            let y = Between::new(y, is_nearest);
            for (out, x) in row.chunks_exact_mut(depth).zip(&columns.places) {
                let Some(x) = x else {
                    out.fill(outside);
                    continue;
                };
                if is_nearest {
                    out.iter_mut().zip(pixel(y.low, x.low)).for_each(|(out, value)| *out = value.as_());
                    continue;
                }
                let (top, bottom) = ([pixel(y.low, x.low), pixel(y.low, x.high)], [pixel(y.high, x.low), pixel(y.high, x.high)]);
                for (c, out) in out.iter_mut().enumerate() {
                    let mix = |[left, right]: [&[T]; 2]| -> f32 { left[c].as_() + (right[c].as_() - left[c].as_()) * x.share };
                    let (top, bottom) = (mix(top), mix(bottom));
                    *out = top + (bottom - top) * y.share;
                }
            }
        });
        ctx.set_output(0, output);
        Ok(())
    })
}

/// A position between two pixels, and its distance from the first one.
#[derive(Clone, Copy)]
struct Between {
    low: usize,
    high: usize,
    share: f32,
}

impl Between {
    /// Returns the pixels beside a position, or twice the nearest one.
    fn new(at: f32, is_nearest: bool) -> Between {
        let (low, high) = if is_nearest { (at.round(), at.round()) } else { (at.floor(), at.ceil()) };
        Between { low: low as usize, high: high as usize, share: at - low }
    }
}

/// The positions of the columns of one crop, which all of its rows share. A position outside of the image is `None`.
#[derive(Default)]
struct Columns {
    number: Option<usize>,
    places: Vec<Option<Between>>,
}

impl Columns {
    /// Computes the positions for the crop with this number, unless they are known.
    fn prepare(&mut self, number: usize, position: impl Fn(usize) -> Option<f32>, count: usize, is_nearest: bool) {
        if self.number != Some(number) {
            self.number = Some(number);
            self.places.clear();
            self.places.extend((0..count).map(|i| Some(Between::new(position(i)?, is_nearest))));
        }
    }
}
