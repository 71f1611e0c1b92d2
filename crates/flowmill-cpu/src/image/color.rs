//! Colour conversions: `RGBToHSV`, `HSVToRGB`, `AdjustContrastv2`, `AdjustHue`, `AdjustSaturation`.

use crate::from_fn::from_fn;
use crate::number::Number;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail, bf16, f16};
use num_traits::{AsPrimitive, Float};
use std::sync::Arc;

/// The number of pixels that one task converts.
const CHUNK: usize = 1 << 12;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AdjustContrastv2", make_contrast);
    registry.add("AdjustHue", |init| make_adjust(init, "delta", shift_hue));
    registry.add("AdjustSaturation", |init| make_adjust(init, "scale", scale_saturation));
    registry.add("HSVToRGB", |init| make_convert(init, hsv_to_rgb::<f32>, hsv_to_rgb::<f64>));
    registry.add("RGBToHSV", |init| make_convert(init, rgb_to_hsv::<f32>, rgb_to_hsv::<f64>));
}

type Pixel<T> = [T; 3];

fn number<T: Float + 'static>(x: f64) -> T
where
    f64: AsPrimitive<T>,
{
    x.as_()
}

/// Returns hue, saturation and value, all between 0 and 1 for colours between 0 and 1.
fn rgb_to_hsv<T: Float + 'static>([r, g, b]: Pixel<T>) -> Pixel<T>
where
    f64: AsPrimitive<T>,
{
    let (value, least) = (r.max(g).max(b), r.min(g).min(b));
    let range = value - least;
    let saturation = if value > T::zero() { range / value } else { T::zero() };
    let norm = (number::<T>(6.0) * range).recip();
    let hue = match () {
        () if !(range > T::zero()) => T::zero(),
        () if r == value => norm * (g - b),
        () if g == value => norm * (b - r) + number::<T>(2.0 / 6.0),
        () => norm * (r - g) + number::<T>(4.0 / 6.0),
    };
    [if hue < T::zero() { hue + T::one() } else { hue }, saturation, value]
}

/// Returns the colour of a hue, saturation and value, as the inverse of [`rgb_to_hsv`].
fn hsv_to_rgb<T: Float + 'static>([hue, saturation, value]: Pixel<T>) -> Pixel<T>
where
    f64: AsPrimitive<T>,
{
    let at = hue * number::<T>(6.0);
    let clamped = |x: T| x.max(T::zero()).min(T::one());
    let (two, three, four) = (number::<T>(2.0), number::<T>(3.0), number::<T>(4.0));
    let share = [clamped((at - three).abs() - T::one()), clamped(two - (at - two).abs()), clamped(two - (at - four).abs())];
    share.map(|share| (T::one() - saturation + saturation * share) * value)
}

/// Rotates the hue by a fraction of the circle; the greatest and the least channel values are kept.
fn shift_hue(pixel: Pixel<f32>, delta: f32) -> Pixel<f32> {
    let [hue, _, value] = rgb_to_hsv(pixel);
    let least = pixel[0].min(pixel[1]).min(pixel[2]);
    let turned = (hue + delta).rem_euclid(1.0);
    hsv_to_rgb([turned, 1.0, 1.0]).map(|share| least + share * (value - least))
}

fn scale_saturation(pixel: Pixel<f32>, scale: f32) -> Pixel<f32> {
    let [hue, saturation, value] = rgb_to_hsv(pixel);
    hsv_to_rgb([hue, (saturation * scale).clamp(0.0, 1.0), value])
}

/// Applies `f` to every pixel of an image with three channels, in the accumulator's type.
fn map_pixels<T: Number>(alloc: &Allocator, image: &Tensor, f: impl Fn(Pixel<T::Acc>) -> Pixel<T::Acc> + Sync) -> Result<Tensor> {
    let mut out = alloc.uninit(T::DTYPE, image.shape().clone())?;
    let pixels = image.as_slice::<T>()?;
    parallel::chunks(out.as_mut_slice::<T>()?, CHUNK * 3, |i, out| {
        let from = pixels[i * CHUNK * 3..][..out.len()].as_chunks::<3>().0;
        for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(from) {
            *out = f(pixel.map(T::widen)).map(T::narrow);
        }
    });
    Ok(out)
}

fn make_convert(
    init: &KernelInit<'_>,
    single: fn(Pixel<f32>) -> Pixel<f32>,
    double: fn(Pixel<f64>) -> Pixel<f64>,
) -> Result<Arc<dyn Kernel>> {
    fn convert<T: Number>(ctx: &mut KernelContext<'_>, f: fn(Pixel<T::Acc>) -> Pixel<T::Acc>) -> Result<()> {
        let image = ctx.input(0)?;
        let Some(&channels) = image.shape().last() else { bail!(InvalidArgument, "input must be at least 1D {}", image.shape()) };
        if channels != 3 {
            bail!(FailedPrecondition, "input must have 3 channels but input only has {channels} channels.");
        }
        let out = map_pixels::<T>(ctx.allocator(), image, f)?;
        ctx.set_output(0, out);
        Ok(())
    }
    match init.attrs.get_or("T", DType::F32)? {
        DType::F16 => from_fn(move |ctx| convert::<f16>(ctx, single)),
        DType::BF16 => from_fn(move |ctx| convert::<bf16>(ctx, single)),
        DType::F32 => from_fn(move |ctx| convert::<f32>(ctx, single)),
        DType::F64 => from_fn(move |ctx| convert::<f64>(ctx, double)),
        _ => init.unsupported(),
    }
}

/// Makes a kernel that changes each pixel of three channels by the scalar in input 1.
fn make_adjust(init: &KernelInit<'_>, name: &'static str, f: fn(Pixel<f32>, f32) -> Pixel<f32>) -> Result<Arc<dyn Kernel>> {
    fn adjust<T: Number<Acc = f32>>(ctx: &mut KernelContext<'_>, name: &str, f: fn(Pixel<f32>, f32) -> Pixel<f32>) -> Result<()> {
        let (image, by) = (ctx.input(0)?, ctx.input(1)?);
        if image.rank() < 3 {
            bail!(InvalidArgument, "input must be at least 3-D, got shape{}", image.shape());
        }
        if by.rank() != 0 {
            bail!(InvalidArgument, "{name} must be scalar: {}", by.shape());
        }
        let channels = image.shape()[image.rank() - 1];
        if channels != 3 {
            bail!(InvalidArgument, "input must have 3 channels but instead has {channels} channels.");
        }
        let by = by.to_scalar::<f32>()?;
        let out = map_pixels::<T>(ctx.allocator(), image, |pixel| f(pixel, by))?;
        ctx.set_output(0, out);
        Ok(())
    }
    match init.attrs.get_or("T", DType::F32)? {
        DType::F16 => from_fn(move |ctx| adjust::<f16>(ctx, name, f)),
        DType::F32 => from_fn(move |ctx| adjust::<f32>(ctx, name, f)),
        _ => init.unsupported(),
    }
}

fn make_contrast(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.attrs.get_or("T", DType::F32)? {
        DType::F16 => from_fn(contrast::<f16>),
        DType::F32 => from_fn(contrast::<f32>),
        _ => init.unsupported(),
    }
}

/// The elements that [`contrast`] computes at a time, unless a pixel has more.
const RUN: usize = 96;

/// Scales the distance of each channel from its mean over the image.
fn contrast<T: Number<Acc = f32>>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (images, factor) = (ctx.input(0)?, ctx.input(1)?);
    if images.rank() < 3 {
        bail!(InvalidArgument, "input must be at least 3-D, got shape{}", images.shape());
    }
    if factor.rank() != 0 {
        bail!(InvalidArgument, "contrast_factor must be scalar: {}", factor.shape());
    }
    let factor = factor.to_scalar::<f32>()?;
    let rank = images.rank();
    let channels = images.shape()[rank - 1];
    let len = images.shape()[rank - 3..].iter().product::<usize>();
    let pixels = images.as_slice::<T>()?;
    let mut out = ctx.allocator().uninit(T::DTYPE, images.shape().clone())?;
    if len > 0 {
        parallel::chunks(out.as_mut_slice::<T>()?, len, |i, out| {
            let image = &pixels[i * len..][..len];
            // The channels of several pixels are one run, whose loops are long enough for vectors.
            let run = (RUN / channels).max(1) * channels;
            let mut sums = vec![0f64; run];
            for pixels in image.chunks(run) {
                sums.iter_mut().zip(pixels).for_each(|(sum, x)| *sum += f64::from(x.widen()));
            }
            let mean = |channel: usize| (sums[channel..].iter().step_by(channels).sum::<f64>() / (len / channels) as f64) as f32;
            let means: Vec<f32> = (0..channels).map(mean).collect::<Vec<_>>().repeat(run / channels);
            for (out, pixels) in out.chunks_mut(run).zip(image.chunks(run)) {
                for ((out, x), mean) in out.iter_mut().zip(pixels).zip(&means) {
                    *out = T::narrow((x.widen() - mean) * factor + mean);
                }
            }
        });
    }
    ctx.set_output(0, out);
    Ok(())
}
