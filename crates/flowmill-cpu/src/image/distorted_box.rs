//! `SampleDistortedBoundingBox` in its two versions, and the stateless one: a random part of an image that covers enough of one of the boxes. Equal
//! seeds produce the same parts as in TensorFlow, so that all numbers are rounded and wrap around as they do there.

use crate::array::args::indices;
use crate::from_fn::from_fn;
use crate::random::philox::Numbers;
use crate::random::stateful::SharedGenerator;
use crate::random::stateless::from_seed;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail, for_dtype};
use std::sync::Arc;

/// The least area, in pixels, of rectangles that are considered.
const MIN_AREA: f32 = 1.0;
/// A margin that keeps a width from being rounded up past the image's width.
const MARGIN: f32 = 1e-7;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SampleDistortedBoundingBox", make);
    registry.add("SampleDistortedBoundingBoxV2", make);
    registry.add("StatelessSampleDistortedBoundingBox", make);
}

/// A rectangle of pixels, from top and left (inclusive) to bottom and right (exclusive).
#[derive(Clone, Copy)]
struct Rectangle {
    top: i32,
    left: i32,
    bottom: i32,
    right: i32,
}

impl Rectangle {
    /// Returns the product of both differences, regardless of their signs, so that it may be positive for corners in the wrong order.
    fn area(&self) -> f32 {
        self.right.wrapping_sub(self.left).wrapping_mul(self.bottom.wrapping_sub(self.top)) as f32
    }

    /// Returns the area of the intersection with `other`.
    fn shared_area(&self, other: &Rectangle) -> f32 {
        let shared = Rectangle {
            top: self.top.max(other.top),
            left: self.left.max(other.left),
            bottom: self.bottom.min(other.bottom),
            right: self.right.min(other.right),
        };
        if shared.left > shared.right || shared.top > shared.bottom { 0.0 } else { shared.area() }
    }

    /// Returns true if the rectangle covers at least the fraction `part` of one of the boxes.
    fn covers(&self, boxes: &[Rectangle], part: f32) -> bool {
        let covers = |object: &Rectangle| object.area() >= MIN_AREA && self.shared_area(object) / object.area() >= part;
        self.area() >= MIN_AREA && boxes.iter().any(covers)
    }
}

/// Returns the nearest integer, ties to even. NaN and values out of range become the least integer, as on x86.
fn rounded(x: f32) -> i64 {
    let whole = x.round_ties_even();
    if whole.abs() < i64::MAX as f32 { whole as i64 } else { i64::MIN }
}

/// Returns the integer part. NaN and values out of range become the least integer, as on x86.
fn truncated(x: f64) -> i32 {
    if x.abs() < f64::from(i32::MAX) + 1.0 { x as i32 } else { i32::MIN }
}

/// The attributes of the op.
struct Sampler {
    /// The least and the greatest ratio of width to height.
    aspect_ratios: [f32; 2],
    /// The least and the greatest fraction of the image's area.
    areas: [f32; 2],
    max_attempts: i32,
    takes_image_for_box: bool,
    /// The attribute of the first version, which has no input for it.
    min_covered: Option<f32>,
}

impl Sampler {
    fn new(init: &KernelInit<'_>) -> Result<Sampler> {
        let attrs = init.attrs;
        let min_covered = match init.op_def.name.as_str() {
            "SampleDistortedBoundingBox" => Some(check_covered(attrs.get("min_object_covered")?)?),
            _ => None,
        };
        let Ok(aspect_ratios @ [low, high]) = <[f32; 2]>::try_from(attrs.list("aspect_ratio_range")?) else {
            bail!(InvalidArgument, "Aspect ratio range field must specify 2 dimensions");
        };
        if !(low > 0.0 && high > 0.0) {
            bail!(InvalidArgument, "Aspect ratio range must be non-negative: [{low}, {high}]");
        }
        let Ok(areas @ [low, high]) = <[f32; 2]>::try_from(attrs.list("area_range")?) else {
            bail!(InvalidArgument, "Area range field must specify 2 dimensions");
        };
        if !(low > 0.0 && high > 0.0) {
            bail!(InvalidArgument, "Area range must be non-negative: [{low}, {high}]");
        }
        if low > 1.0 || high > 1.0 {
            bail!(InvalidArgument, "Area range must be less then or equal to 1.0: [{low}, {high}]");
        }
        let attempts: i64 = attrs.get("max_attempts")?;
        let Ok(max_attempts) = i32::try_from(attempts) else {
            bail!(InvalidArgument, "Attr max_attempts has value {attempts} out of range for an int32");
        };
        if max_attempts <= 0 {
            bail!(InvalidArgument, "Max attempts must be non-negative: {max_attempts}");
        }
        let takes_image_for_box = attrs.get("use_image_if_no_bounding_boxes")?;
        Ok(Sampler { aspect_ratios, areas, max_attempts, takes_image_for_box, min_covered })
    }

    /// Returns the boxes of input 1 in pixels.
    fn boxes(&self, tensor: &Tensor, image: &Rectangle) -> Result<Vec<Rectangle>> {
        match tensor.shape().dims() {
            [_, _, 4] => {}
            [_, _, _] => bail!(InvalidArgument, "bounding boxes must have shape [4] or [*, 4], got {}", tensor.shape()),
            _ => bail!(InvalidArgument, "input boxes must be 3-dimensional [batch, num_boxes, coords]: {}", tensor.shape()),
        }
        let corners = tensor.as_slice::<f32>()?;
        if let Some(outside) = corners.iter().find(|corner| !(0.0..=1.0).contains(*corner)) {
            bail!(InvalidArgument, "All bounding box coordinates must be in [0.0, 1.0]: {outside}");
        }
        let (height, width) = (image.bottom as f32, image.right as f32);
        let pixel = |part: f32, size: f32| truncated(f64::from(part * size));
        let mut boxes: Vec<Rectangle> = corners
            .chunks_exact(4)
            .map(|b| Rectangle {
                top: pixel(b[0], height),
                left: pixel(b[1], width),
                bottom: pixel(b[2], height),
                right: pixel(b[3], width),
            })
            .collect();
        if boxes.is_empty() {
            if !self.takes_image_for_box {
                bail!(
                    InvalidArgument,
                    "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
                );
            }
            boxes.push(*image);
        }
        Ok(boxes)
    }

    /// Returns a random part with this ratio of width to height, or `None` if rounding or the limits make that impossible. All heights are equally likely.
    fn part(&self, image: &Rectangle, ratio: f32, numbers: &mut Numbers) -> Option<Rectangle> {
        let (width, height) = (image.right, image.bottom);
        let [least, largest] = self.areas;
        if ratio <= 0.0 || width == 0 || height == 0 || least > largest {
            return None;
        }
        let [least, largest] = [least, largest].map(|part| part * width as f32 * height as f32);
        let width_of = |height: i32| rounded(height as f32 * ratio);
        let height_of = |area: f32| rounded((area / ratio).sqrt()) as i32;
        let mut tallest = height_of(largest);
        if width_of(tallest) > i64::from(width) {
            tallest = truncated((f64::from(width) + 0.5 - f64::from(MARGIN)) / f64::from(ratio));
            if width_of(tallest) > i64::from(width) {
                tallest = tallest.wrapping_sub(1);
            }
        }
        let tallest = tallest.min(height);
        let mut tall = height_of(least).min(tallest);
        if tall < tallest {
            tall = tall.wrapping_add(numbers.below(tallest.wrapping_sub(tall).wrapping_add(1) as u32) as i32);
        }
        let measured = |tall: i32| {
            let wide = width_of(tall) as i32;
            (tall, wide, wide.wrapping_mul(tall) as f32)
        };
        // If rounding made the area too small, the part is enlarged by one pixel; if it is then too large, it is reduced by one pixel.
        let mut found = measured(tall);
        if found.2 < least {
            found = measured(found.0.wrapping_add(1));
        }
        if found.2 > largest {
            found = measured(found.0.wrapping_sub(1));
        }
        let (tall, wide, area) = found;
        if area < least || area > largest || !(1..=width).contains(&wide) || !(1..=height).contains(&tall) {
            return None;
        }
        let mut start = |left_over: i32| if left_over > 0 { numbers.below(left_over as u32) as i32 } else { 0 };
        let (top, left) = (start(height - tall), start(width - wide));
        Some(Rectangle { top, left, bottom: top + tall, right: left + wide })
    }

    /// Returns the first part that covers enough of a box, or the whole image if no attempt succeeds.
    ///
    /// # Errors
    /// Returns `Cancelled` if the step is cancelled.
    fn sample(
        &self,
        ctx: &KernelContext<'_>,
        image: &Rectangle,
        boxes: &[Rectangle],
        min_covered: f32,
        mut numbers: Numbers,
    ) -> Result<Rectangle> {
        let [low, high] = self.aspect_ratios;
        for _ in 0..self.max_attempts {
            ctx.step().cancel.check()?;
            let ratio = numbers.uniform() * (high - low) + low;
            if let Some(part) = self.part(image, ratio, &mut numbers)
                && part.covers(boxes, min_covered)
            {
                return Ok(part);
            }
        }
        Ok(*image)
    }
}

fn check_covered(part: f32) -> Result<f32> {
    match part >= 0.0 {
        true => Ok(part),
        false => bail!(InvalidArgument, "Min object covered must be non-negative: {part}"),
    }
}

/// Returns the image whose height and width are the first two of three numbers.
fn image_of(size: &Tensor) -> Result<Rectangle> {
    if size.rank() != 1 {
        bail!(InvalidArgument, "image_size must be 1-dimensional{}", size.shape());
    }
    let [height, width, _] = indices(size)?[..] else {
        bail!(InvalidArgument, "image_size must contain 3 elements{}", size.shape());
    };
    let checked = |size: i64, name: &str| match (0..i64::from(i32::MAX)).contains(&size) {
        true => Ok(size as i32),
        false => bail!(InvalidArgument, "image {name} cannot be >= int32 max"),
    };
    Ok(Rectangle { top: 0, left: 0, bottom: checked(height, "height")?, right: checked(width, "width")? })
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sampler = Sampler::new(init)?;
    let has_seed_input = init.op_def.name == "StatelessSampleDistortedBoundingBox";
    let generator = if has_seed_input { None } else { Some(SharedGenerator::from_attrs(init)?) };
    from_fn(move |ctx| {
        let numbers = Numbers::new(match &generator {
            Some(generator) => generator.reserve_blocks(sampler.max_attempts as u64),
            None => from_seed(ctx.input(3)?)?,
        });
        let image = image_of(ctx.input(0)?)?;
        let boxes = sampler.boxes(ctx.input(1)?, &image)?;
        let min_covered = match sampler.min_covered {
            Some(part) => part,
            None => match ctx.input(2)? {
                part if part.rank() == 0 => check_covered(part.to_scalar()?)?,
                part => bail!(InvalidArgument, "min_object_covered must be 0-D, got shape {}", part.shape()),
            },
        };
        let part = sampler.sample(ctx, &image, &boxes, min_covered, numbers)?;
        let dtype = ctx.input(0)?.dtype();
        let (height, width) = (image.bottom as f32, image.right as f32);
        let corners = [part.top as f32 / height, part.left as f32 / width, part.bottom as f32 / height, part.right as f32 / width];
        ctx.set_output(0, vector(ctx.allocator(), dtype, [part.top, part.left, 0])?);
        // The part has all channels.
        ctx.set_output(1, vector(ctx.allocator(), dtype, [part.bottom - part.top, part.right - part.left, -1])?);
        ctx.set_output(2, ctx.allocator().from_slice([1, 1, 4], &corners)?);
        Ok(())
    })
}

fn vector(alloc: &Allocator, dtype: DType, values: [i32; 3]) -> Result<Tensor> {
    for_dtype!(dtype, [u8, i8, i16, i32, i64], T => alloc.vector(&values.map(|v| v as T)), _ => bail!(InvalidArgument, "sizes of images must be integers, got {dtype}"))
}
