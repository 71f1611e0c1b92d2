//! `QuantizedBatchNormWithGlobalNormalization` and `QuantizedInstanceNorm`.

use super::range::{FromFloats, Range, integers, quantized};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedBatchNormWithGlobalNormalization", make_batch_norm);
    registry.add("QuantizedInstanceNorm", make_instance_norm);
}

/// The range of normalised numbers: 10 of the 32 bits are fractional bits.
const NORMALISED: Range = Range { min: -1_048_576.0, max: 1_048_576.0 };

fn make_batch_norm(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (epsilon, scales): (f32, bool) = (init.attrs.get("variance_epsilon")?, init.attrs.get("scale_after_normalization")?);
    match (init.dtype("Tinput")?, init.dtype("out_type")?) {
        (DType::QU8, DType::QI32) => linear_from_fn(init, move |ctx| batch_norm(ctx, epsilon, scales)),
        _ => init.unsupported(),
    }
}

fn batch_norm(ctx: &mut KernelContext<'_>, epsilon: f32, scales: bool) -> Result<()> {
    let input = integers::<u8>(ctx, 0)?;
    let range = Range::of(ctx, 1, ["t_min", "t_max"])?;
    if input.rank() != 4 {
        bail!(InvalidArgument, "input must be 4-dimensional{}", input.shape());
    }
    let depth = input.shape()[3];
    let [mut mean, mut variance, mut beta, mut gamma] = [const { Vec::new() }; 4];
    for (i, (name, numbers)) in
        [("mean", &mut mean), ("var", &mut variance), ("beta", &mut beta), ("gamma", &mut gamma)].into_iter().enumerate()
    {
        let at = 3 * i + 3;
        let (tensor, range) = (integers::<u8>(ctx, at)?, Range::of(ctx, at + 1, ["min", "max"])?);
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "{name} must be 1-dimensional{}", tensor.shape());
        }
        if tensor.num_elements() != depth {
            bail!(InvalidArgument, "{name} must have {depth} elements, but has {}", tensor.num_elements());
        }
        let _reserved = ctx.allocator().reserve::<[f32; 4]>(depth)?;
        *numbers = tensor.as_slice::<u8>()?.iter().map(|&x| range.to_float(x)).collect();
    }
    let channels: Vec<(i32, i32)> = (0..depth)
        .map(|i| {
            let inverse = 1.0 / (variance[i] + epsilon).sqrt();
            let scale = if scales { inverse * gamma[i] } else { inverse };
            (NORMALISED.quantized(scale), NORMALISED.quantized(-mean[i] * scale + beta[i]))
        })
        .collect();
    let one = NORMALISED.quantized::<i32>(1.0);
    let bytes: [i32; 256] = std::array::from_fn(|x| NORMALISED.quantized(range.to_float(x as u8)));
    let x = input.as_slice::<u8>()?;
    let out = quantized::<i32>(ctx.allocator(), input.shape().clone(), |out| {
        for (out, x) in out.chunks_exact_mut(depth.max(1)).zip(x.chunks_exact(depth.max(1))) {
            for ((out, &x), &(scale, offset)) in out.iter_mut().zip(x).zip(&channels) {
                *out = (bytes[usize::from(x)].wrapping_mul(scale) / one).wrapping_add(offset);
            }
        }
    })?;
    ctx.set_output(0, out);
    NORMALISED.set(ctx, 1);
    Ok(())
}

#[derive(Clone, Copy)]
struct InstanceNorm {
    epsilon: f32,
    min_separation: f32,
    given: Option<Range>,
}

fn make_instance_norm(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let range = Range { min: attrs.get_or("given_y_min", 0.0)?, max: attrs.get_or("given_y_max", 0.0)? };
    let is_given = attrs.get_or("output_range_given", false)?;
    if is_given && !(range.min < range.max) {
        bail!(InvalidArgument, "given_y_min must be less than given_y_max : {} >= {}", range.min, range.max);
    }
    let norm = InstanceNorm {
        epsilon: attrs.get_or("variance_epsilon", 1e-5)?,
        min_separation: attrs.get_or("min_separation", 1e-3)?,
        given: is_given.then_some(range),
    };
    match init.dtype("T")? {
        DType::QU8 => from_fn(move |ctx| instance_norm(ctx, norm)),
        _ => init.unsupported(),
    }
}

/// Normalises each channel of each image to mean 0 and variance 1.
fn instance_norm(ctx: &mut KernelContext<'_>, norm: InstanceNorm) -> Result<()> {
    let range = Range::of(ctx, 1, ["`x_min`", "`x_max`"])?;
    if !(range.min < range.max) {
        bail!(InvalidArgument, "input_min must be less than input_max : {} >= {}", range.min, range.max);
    }
    let scale = (range.max - range.min) / 255.0;
    let input = integers::<u8>(ctx, 0)?;
    let &[_, height, width, channels] = input.shape().dims() else { bail!(InvalidArgument, "x must be 4-dimensional: {}", input.shape()) };
    let x = input.as_slice::<u8>()?;
    let _reserved = ctx.allocator().reserve::<f32>(x.len())?;
    let mut normed: Vec<f32> = x.iter().map(|&x| f32::from(x)).collect();
    if !normed.is_empty() {
        let count = (height * width) as f32;
        for image in normed.chunks_exact_mut(height * width * channels) {
            let mean = sums(image, channels, |x, _| x).into_iter().map(|sum| sum / count).collect::<Vec<_>>();
            let squares = sums(image, channels, |x, c| (scale * (x - mean[c])) * (scale * (x - mean[c])));
            let inverse: Vec<f32> = squares.into_iter().map(|sum| 1.0 / (sum / count + norm.epsilon).sqrt()).collect();
            for pixel in image.chunks_exact_mut(channels) {
                pixel.iter_mut().enumerate().for_each(|(c, x)| *x = scale * (*x - mean[c]) * inverse[c]);
            }
        }
    }
    let mut range = norm.given.unwrap_or_else(|| {
        let (least, greatest) = (f32::INFINITY, f32::NEG_INFINITY);
        normed.iter().fold(Range { min: least, max: greatest }, |r, &x| Range { min: r.min.min(x), max: r.max.max(x) })
    });
    if range.max - range.min < norm.min_separation {
        range.max = range.min + norm.min_separation;
    }
    let to = FromFloats::new::<u8>(range);
    let out =
        quantized::<u8>(ctx.allocator(), input.shape().clone(), |out| out.iter_mut().zip(&normed).for_each(|(out, &x)| *out = to.of(x)))?;
    ctx.set_output(0, out);
    range.set(ctx, 1);
    Ok(())
}

/// Returns the sum of `f` over the pixels of each channel.
fn sums(image: &[f32], channels: usize, f: impl Fn(f32, usize) -> f32) -> Vec<f32> {
    let mut sums = vec![0.0; channels];
    for pixel in image.chunks_exact(channels) {
        sums.iter_mut().zip(pixel).enumerate().for_each(|(c, (sum, &x))| *sum += f(x, c));
    }
    sums
}
