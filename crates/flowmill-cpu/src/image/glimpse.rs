//! `ExtractGlimpse`: a window of each image. Pixels outside of the image are noise.

use crate::from_fn::from_fn;
use crate::parallel;
use crate::random::{normal_noise, uniform_noise};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ExtractGlimpse", |init| make(init, true));
    registry.add("ExtractGlimpseV2", |init| make(init, false));
}

#[derive(Clone, Copy)]
enum Noise {
    Zero,
    /// Uniform between the least and the greatest element of the image.
    Uniform,
    /// Normal with each channel's mean and deviation, clipped to the least and greatest element of the channel.
    Gaussian,
}

/// The interpretation of offsets.
#[derive(Clone, Copy)]
struct Offsets {
    /// True if offsets are relative to the centre of the image.
    centered: bool,
    /// True if offsets are fractions of the image's size.
    normalized: bool,
    /// True for the first version, in which offsets always point to the centre of the glimpse.
    is_first: bool,
}

fn make(init: &KernelInit<'_>, is_first: bool) -> Result<Arc<dyn Kernel>> {
    let uniform: bool = init.attrs.get_or("uniform_noise", true)?;
    let noise = match init.attrs.get_or("noise", "uniform")? {
        noise if uniform && !matches!(noise, "" | "uniform") => {
            bail!(InvalidArgument, "The uniform_noise and noise could not be specified at the same time")
        }
        "uniform" => Noise::Uniform,
        "gaussian" => Noise::Gaussian,
        "zero" => Noise::Zero,
        "" if uniform => Noise::Uniform,
        "" => Noise::Gaussian,
        noise => bail!(InvalidArgument, "The noise could only be uniform, gaussian, or zero, got {noise}"),
    };
    let offsets = Offsets { centered: init.attrs.get_or("centered", true)?, normalized: init.attrs.get_or("normalized", true)?, is_first };
    from_fn(move |ctx| glimpses(ctx, offsets, noise))
}

impl Offsets {
    /// Returns the first pixel of a glimpse of `size` pixels in an image of `len` pixels. NaN returns a value far outside of the image.
    fn first(&self, offset: f32, len: usize, size: usize) -> i64 {
        let len = len as f32;
        let mut at = if self.normalized { offset * len } else { offset };
        if self.centered {
            let at_once = if self.is_first || self.normalized { at / 2.0 } else { at };
            at = at_once + len / 2.0;
        }
        if self.is_first || self.centered && self.normalized {
            at -= size as f32 / 2.0;
        }
        if at.is_nan() { i64::MIN } else { at as i64 }
    }
}

/// A glimpse along one dimension.
struct Span {
    first: i64,
    /// The pixels of the glimpse that are inside the image.
    inside: Range<usize>,
}

impl Span {
    fn new(first: i64, len: usize, size: usize) -> Span {
        let limit = size as i64;
        let start = first.saturating_neg().clamp(0, limit);
        let end = (len as i64).saturating_sub(first).clamp(start, limit);
        Span { first, inside: start as usize..end as usize }
    }

    /// Returns the pixel of the image at pixel `i` of the glimpse, which must be inside.
    fn at(&self, i: usize) -> usize {
        self.first.saturating_add(i as i64).max(0) as usize
    }
}

fn glimpses(ctx: &mut KernelContext<'_>, meaning: Offsets, noise: Noise) -> Result<()> {
    let (images, size, offsets) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let &[batch, height, width, channels] = images.shape().dims() else {
        bail!(InvalidArgument, "input must be 4-dimensional (batch_size, height, width, depth){}", images.shape());
    };
    let (1, &[out_height, out_width]) = (size.rank(), size.as_slice::<i32>()?) else {
        bail!(InvalidArgument, "input must be a vector of size 2 (height, width){}", size.shape());
    };
    if let Some(size) = [out_height, out_width].into_iter().find(|&size| size < 0) {
        bail!(InvalidArgument, "Expected a non-negative size, got {size}");
    }
    match *offsets.shape().dims() {
        [rows, _] if rows != batch => bail!(InvalidArgument, "first dimension should be batch{}", offsets.shape()),
        [_, 2] => {}
        [_, _] => bail!(InvalidArgument, "second dimension should be of size 2 (y,x){}", offsets.shape()),
        _ => bail!(InvalidArgument, "input must be a matrix{}", offsets.shape()),
    }
    let (out_height, out_width) = (out_height as usize, out_width as usize);
    let shape: Shape = [batch, out_height, out_width, channels].into_iter().collect();
    if shape.checked_num_elements()? == 0 {
        ctx.set_output(0, ctx.allocator().zeros(DType::F32, shape)?);
        return Ok(());
    }
    let spans = |offset: &[f32]| -> [Span; 2] {
        let span = |i: usize, len, size| Span::new(meaning.first(offset[i], len, size), len, size);
        [span(0, height, out_height), span(1, width, out_width)]
    };
    let places: Vec<[Span; 2]> = offsets.as_slice::<f32>()?.chunks_exact(2).map(spans).collect();
    let is_whole = |[rows, columns]: &[Span; 2]| rows.inside == (0..out_height) && columns.inside == (0..out_width);
    let mut out = match noise {
        _ if places.iter().all(is_whole) => ctx.allocator().uninit(DType::F32, shape)?,
        Noise::Zero => ctx.allocator().zeros(DType::F32, shape)?,
        Noise::Uniform => uniform_noise(ctx.allocator(), shape)?,
        Noise::Gaussian => normal_noise(ctx.allocator(), shape)?,
    };
    let pixels = images.as_slice::<f32>()?;
    let (image_len, row_len) = (height * width * channels, out_width * channels);
    parallel::chunks(out.as_mut_slice::<f32>()?, out_height * row_len, |i, out| {
        let image = &pixels[i * image_len..][..image_len];
        let [rows, columns] = &places[i];
        if !is_whole(&places[i]) {
            match noise {
                Noise::Zero => {}
                Noise::Uniform => scale_uniform(image, out),
                Noise::Gaussian => (0..channels).for_each(|c| scale_normal(image, out, c, channels)),
            }
        }
        if columns.inside.is_empty() {
            return;
        }
        for y in rows.inside.clone() {
            let from = (rows.at(y) * width + columns.at(columns.inside.start)) * channels;
            let len = columns.inside.len() * channels;
            out[y * row_len + columns.inside.start * channels..][..len].copy_from_slice(&image[from..][..len]);
        }
    });
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the least and the greatest number. If there are none, these are infinity and minus infinity, which make the noise NaN.
fn extremes(numbers: impl Iterator<Item = f32>) -> (f32, f32) {
    numbers.fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), x| (if x < min { x } else { min }, if x > max { x } else { max }))
}

/// Scales numbers between 0 and 1 to the range of the image.
fn scale_uniform(image: &[f32], out: &mut [f32]) {
    let (min, max) = extremes(image.iter().copied());
    out.iter_mut().for_each(|out| *out = min + *out * (max - min));
}

/// Scales normal numbers to the mean and the deviation of a channel, and clips them to its range.
fn scale_normal(image: &[f32], out: &mut [f32], channel: usize, channels: usize) {
    let of_channel = || image.iter().skip(channel).step_by(channels).copied();
    let (min, max) = extremes(of_channel());
    let count = (image.len() / channels) as f64;
    let mean = of_channel().map(f64::from).sum::<f64>() / count;
    let variance = of_channel().map(|x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let (mean, sigma) = (mean as f32, variance.sqrt() as f32);
    for out in out.iter_mut().skip(channel).step_by(channels) {
        let x = mean + *out * sigma;
        *out = if x > max { max } else { x };
        *out = if *out < min { min } else { *out };
    }
}
