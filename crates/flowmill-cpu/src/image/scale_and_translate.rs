//! `ScaleAndTranslate` and its gradient, which sample images with a kernel at scaled and shifted positions.

use super::{image_dims, size_of};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, bail, bf16, f16, for_dtype};
use num_traits::AsPrimitive;
use std::f32::consts::PI;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ScaleAndTranslate", make);
    registry.add("ScaleAndTranslateGrad", make_grad);
}

/// A sampling kernel: a function of the distance that is zero from `radius` on.
#[derive(Clone, Copy)]
struct Kernel1d {
    radius: f32,
    weight: fn(f32) -> f32,
}

fn lanczos<const RADIUS: usize>(x: f32) -> f32 {
    let radius = RADIUS as f32;
    match x {
        x if x > radius => 0.0,
        x if x <= 1e-3 => 1.0,
        x => radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x),
    }
}

impl Kernel1d {
    /// Returns the kernel with this name, in upper or lower case.
    fn of(name: &str) -> Result<Kernel1d> {
        let (radius, weight): (f32, fn(f32) -> f32) = match name.to_ascii_lowercase().as_str() {
            "lanczos1" => (1.0, lanczos::<1>),
            "lanczos3" => (3.0, lanczos::<3>),
            "lanczos5" => (5.0, lanczos::<5>),
            "gaussian" => (1.5, |x| if x >= 1.5 { 0.0 } else { (-2.0 * x * x).exp() }),
            "box" => (1.0, |x| match x {
                x if x < 0.5 => 1.0,
                0.5 => 0.5,
                _ => 0.0,
            }),
            "triangle" => (1.0, |x| if x < 1.0 { 1.0 - x } else { 0.0 }),
            "keyscubic" => (2.0, |x| match x {
                x if x >= 2.0 => 0.0,
                x if x >= 1.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
                x => (1.5 * x - 2.5) * x * x + 1.0,
            }),
            "mitchellcubic" => (2.0, |x| match x {
                x if x >= 2.0 => 0.0,
                x if x >= 1.0 => ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0,
                x => (7.0 / 6.0 * x - 2.0) * x * x + 8.0 / 9.0,
            }),
            _ => bail!(InvalidArgument, "Unrecognized kernel type: {name}"),
        };
        Ok(Kernel1d { radius, weight })
    }
}

/// The mapping from one dimension of the output to the input.
#[derive(Clone, Copy)]
struct Axis {
    scale: f32,
    translation: f32,
}

/// The attributes of the op.
#[derive(Clone, Copy)]
struct Sampler {
    kernel: Kernel1d,
    antialias: bool,
}

/// The first of the input elements whose weighted sum is one output element, and the weights. There are no weights outside of the input.
type Span = (usize, Vec<f32>);

impl Sampler {
    fn new(init: &KernelInit<'_>) -> Result<Sampler> {
        Ok(Sampler {
            kernel: Kernel1d::of(init.attrs.get_or("kernel_type", "lanczos3")?)?,
            antialias: init.attrs.get_or("antialias", true)?,
        })
    }

    /// Returns the spans of `output` elements in `input`. The weights of a span add up to one.
    fn spans(&self, alloc: &Allocator, axis: Axis, input: usize, output: usize) -> Result<Vec<Span>> {
        let inverse = (1.0 / f64::from(axis.scale)) as f32;
        let stretch = if self.antialias { inverse.max(1.0) } else { 1.0 };
        let reach = self.kernel.radius * stretch;
        // No span is longer than this.
        let longest = ((2.0 * reach.ceil()) as usize).saturating_add(1).min(input);
        let _reserved = alloc.reserve::<f32>(longest.saturating_mul(output).saturating_add(output.saturating_mul(8)))?;
        let last = input as i64 - 1;
        let of = |i: usize| -> Span {
            let at = (i as f32 + 0.5) * inverse + -inverse * axis.translation;
            if !(0.0..=input as f32).contains(&at) {
                return (0, Vec::new());
            }
            let start = ((at - reach - 0.5).ceil() as i64).clamp(0, last) as usize;
            let end = ((at + reach - 0.5).floor() as i64).clamp(0, last) as usize;
            let mut weights: Vec<f32> =
                (start..=end.max(start)).map(|j| (self.kernel.weight)(((j as f32 + 0.5 - at) / stretch).abs())).collect();
            let sum: f32 = weights.iter().sum();
            if sum.abs() < 1000.0 * f32::MIN_POSITIVE {
                return (0, Vec::new());
            }
            weights.iter_mut().for_each(|w| *w *= 1.0 / sum);
            (start, weights)
        };
        Ok((0..output).map(of).collect())
    }
}

/// Returns the scales of rows and columns in input 2, and their translations in input 3.
fn axes(ctx: &KernelContext<'_>) -> Result<[Axis; 2]> {
    let pair = |i: usize| {
        let tensor = ctx.input(i)?;
        match tensor.as_slice::<f32>()? {
            &[rows, columns] if tensor.rank() == 1 => Ok([rows, columns]),
            _ => bail!(InvalidArgument, "t must be 1-dimensional with two elements: {}", tensor.shape()),
        }
    };
    let (scales, translations) = (pair(2)?, pair(3)?);
    if !scales.iter().all(|&scale| scale > 0.0) {
        bail!(InvalidArgument, "Scale must be greater than zero.");
    }
    Ok([0, 1].map(|i| Axis { scale: scales[i], translation: translations[i] }))
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sampler = Sampler::new(init)?;
    for_dtype!(init.dtype("T")?, [i8, u8, i16, u16, i32, i64, f16, bf16, f32, f64], T => {
        from_fn(move |ctx| sample::<T>(ctx, sampler))
    }, _ => init.unsupported())
}

fn sample<T: Element + AsPrimitive<f32>>(ctx: &mut KernelContext<'_>, sampler: Sampler) -> Result<()> {
    let images = ctx.input(0)?;
    let [batch, height, width, channels] = image_dims(images)?;
    let (out_height, out_width) = size_of(ctx.input(1)?, "output_shape_t")?;
    if channels == 0 {
        bail!(InvalidArgument, "image must have at least one channel");
    }
    if height == 0 || width == 0 {
        bail!(InvalidArgument, "input image must be of non-zero size");
    }
    let [y_axis, x_axis] = axes(ctx)?;
    let (rows, columns) =
        (sampler.spans(ctx.allocator(), y_axis, height, out_height)?, sampler.spans(ctx.allocator(), x_axis, width, out_width)?);
    let mut output = ctx.allocator().zeros(DType::F32, [batch, out_height, out_width, channels])?;
    let input = images.as_slice::<T>()?;
    parallel::chunks(output.as_mut_slice::<f32>()?, out_width * channels, |i, row| {
        let image = &input[i / out_height * height * width * channels..][..height * width * channels];
        let (first, weights) = &rows[i % out_height];
        let mut mixed = vec![0f32; width * channels];
        for (line, &weight) in image.chunks_exact(width * channels).skip(*first).zip(weights) {
            mixed.iter_mut().zip(line).for_each(|(sum, x)| *sum += weight * x.as_());
        }
        for (pixel, (first, weights)) in row.chunks_exact_mut(channels).zip(&columns) {
            for (from, &weight) in mixed.chunks_exact(channels).skip(*first).zip(weights) {
                pixel.iter_mut().zip(from).for_each(|(sum, x)| *sum += weight * x);
            }
        }
    });
    ctx.set_output(0, output);
    Ok(())
}

/// Makes the kernel of `ScaleAndTranslateGrad`, which adds the gradient of each pixel to the pixels that it was the sum of. Inputs: gradients, the
/// original image, scales, translations.
fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sampler = Sampler::new(init)?;
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    from_fn(move |ctx| {
        let (gradients, image) = (ctx.input(0)?, ctx.input(1)?);
        let ([batch, out_height, out_width, channels], [images, height, width, depth]) = (image_dims(gradients)?, image_dims(image)?);
        if batch != images || channels != depth {
            bail!(InvalidArgument, "gradients of shape {} do not match an image of shape {}", gradients.shape(), image.shape());
        }
        if [out_height, out_width, height, width].contains(&0) {
            bail!(InvalidArgument, "original_image and grads must be of non-zero size, got {} and {}", image.shape(), gradients.shape());
        }
        let [y_axis, x_axis] = axes(ctx)?;
        let (rows, columns) =
            (sampler.spans(ctx.allocator(), y_axis, height, out_height)?, sampler.spans(ctx.allocator(), x_axis, width, out_width)?);
        let g = gradients.as_slice::<f32>()?;
        let mut out = ctx.allocator().zeros(DType::F32, image.shape().clone())?;
        let len = height * width * channels;
        if len > 0 {
            parallel::chunks(out.as_mut_slice::<f32>()?, len, |b, out| {
                let g = &g[b * out_height * out_width * channels..][..out_height * out_width * channels];
                for (i, g) in g.chunks_exact(channels).enumerate() {
                    let ((y, row_weights), (x, weights)) = (&rows[i / out_width], &columns[i % out_width]);
                    for (y, row_weight) in (*y..).zip(row_weights) {
                        for (x, weight) in (*x..).zip(weights) {
                            for (out, g) in out[(y * width + x) * channels..][..channels].iter_mut().zip(g) {
                                *out += g * row_weight * weight;
                            }
                        }
                    }
                }
            });
        }
        ctx.set_output(0, out);
        Ok(())
    })
}
