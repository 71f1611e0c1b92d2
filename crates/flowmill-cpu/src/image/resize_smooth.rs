//! `ResizeArea`, `ResizeBicubic` and the gradient of the latter.

use super::resize::{Grid, sizes};
use super::resize_grad::gradient_dims;
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bf16, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ResizeArea", make_area);
    registry.add("ResizeBicubic", make_bicubic);
    registry.add("ResizeBicubicGrad", make_bicubic_grad);
}

/// The input pixels that contribute to one output pixel along one dimension, with their weights.
type Taps = Vec<(usize, f32)>;

fn make_area(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [i8, u8, i16, u16, i32, i64, f16, bf16, f32, f64], T => {
        from_fn(move |ctx| resize::<T>(ctx, |input, output| area_taps(grid, input, output)))
    }, _ => init.unsupported())
}

/// Returns the taps for area averaging: each output pixel covers a part of the input, and the weight of an input pixel is the length of it that is covered.
fn area_taps(grid: Grid, input: usize, output: usize) -> Vec<Taps> {
    let scale = match grid.scale(input, output) {
        // A single output pixel with aligned corners has scale zero.
        0.0 => input as f32 / output as f32,
        scale => scale,
    };
    let of = |i: usize| {
        let (start, end) = (i as f32 * scale, (i + 1) as f32 * scale);
        let covered = |at: i64| {
            let at = at as f32;
            match (at < start, at + 1.0 > end) {
                (true, true) => scale,
                (true, false) => at + 1.0 - start,
                (false, true) => end - at,
                (false, false) => 1.0,
            }
        };
        let pixel = |at: i64| at.clamp(0, input as i64 - 1) as usize;
        (start.floor() as i64..end.ceil() as i64).map(|at| (pixel(at), covered(at) / scale)).collect()
    };
    (0..output).map(of).collect()
}

fn make_bicubic(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [i8, u8, i16, u16, i32, i64, f16, bf16, f32, f64], T => {
        from_fn(move |ctx| resize::<T>(ctx, |input, output| bicubic_taps(grid, input, output)))
    }, _ => init.unsupported())
}

/// Returns the taps of Keys' cubic convolution. Weights are rounded to a table of 1,024 positions between two pixels, as in TensorFlow. With
/// half-pixel centres, weights outside of the image are left out and the others are scaled to a sum of one; otherwise the border's pixels are
/// repeated outside.
fn bicubic_taps(grid: Grid, input: usize, output: usize) -> Vec<Taps> {
    const TABLE: f32 = 1024.0;
    let scale = grid.scale(input, output);
    let a: f32 = if grid.half_pixel_centers { -0.5 } else { -0.75 };
    let near = |x: f32| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    let of = |i: usize| -> Taps {
        let at = grid.position(i, scale);
        let (floor, last) = (at.floor() as i64, input as i64 - 1);
        let x = ((at - floor as f32) * TABLE).round_ties_even() / TABLE;
        let weights = [far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)];
        let places = (floor - 1..=floor + 2).zip(weights);
        let mut taps: Taps = places.clone().map(|(at, weight)| (at.clamp(0, last) as usize, weight)).collect();
        if grid.half_pixel_centers {
            for (tap, (at, _)) in taps.iter_mut().zip(places) {
                tap.1 = if (0..=last).contains(&at) { tap.1 } else { 0.0 };
            }
            let sum: f32 = taps.iter().map(|tap| tap.1).sum();
            if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                taps.iter_mut().for_each(|tap| tap.1 *= 1.0 / sum);
            }
        }
        taps
    };
    (0..output).map(of).collect()
}

/// Resizes images: each output pixel is a weighted sum over rows and columns.
fn resize<T: Element + AsPrimitive<f32>>(ctx: &mut KernelContext<'_>, taps: impl Fn(usize, usize) -> Vec<Taps>) -> Result<()> {
    let images = ctx.input(0)?;
    let ([batch, height, width, channels], (out_height, out_width)) = sizes(ctx.allocator(), images, ctx.input(1)?)?;
    let mut output = ctx.allocator().uninit(DType::F32, [batch, out_height, out_width, channels])?;
    let (rows, columns) = (taps(height, out_height), taps(width, out_width));
    let input = images.as_slice::<T>()?;
    parallel::chunks(output.as_mut_slice::<f32>()?, out_width * channels, |i, row| {
        let image = &input[i / out_height * height * width * channels..][..height * width * channels];
        // Combine the rows first, then the columns of the result.
        let mut mixed = vec![0f32; width * channels];
        for &(y, share) in &rows[i % out_height] {
            let line = &image[y * width * channels..][..width * channels];
            mixed.iter_mut().zip(line).for_each(|(sum, x)| *sum += share * x.as_());
        }
        for (pixel, taps) in row.chunks_exact_mut(channels).zip(&columns) {
            pixel.fill(0.0);
            for &(x, share) in taps {
                pixel.iter_mut().zip(&mixed[x * channels..][..channels]).for_each(|(sum, x)| *sum += share * x);
            }
        }
    });
    ctx.set_output(0, output);
    Ok(())
}

fn make_bicubic_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| bicubic_grad::<T>(ctx, grid)), _ => init.unsupported())
}

/// Adds the gradient of each pixel to the pixels that it was interpolated from.
fn bicubic_grad<T: Element + std::ops::AddAssign>(ctx: &mut KernelContext<'_>, grid: Grid) -> Result<()>
where
    f32: AsPrimitive<T>,
{
    let (gradients, image) = (ctx.input(0)?, ctx.input(1)?);
    let ([_, out_height, out_width, channels], [_, height, width, _]) = gradient_dims(ctx.allocator(), gradients, image)?;
    let (rows, columns) = (bicubic_taps(grid, height, out_height), bicubic_taps(grid, width, out_width));
    let g = gradients.as_slice::<f32>()?;
    let mut out = ctx.allocator().zeros(T::DTYPE, image.shape().clone())?;
    parallel::chunks(out.as_mut_slice::<T>()?, height * width * channels, |b, out| {
        let g = &g[b * out_height * out_width * channels..][..out_height * out_width * channels];
        for (i, g) in g.chunks_exact(channels).enumerate() {
            for &(y, row_share) in &rows[i / out_width] {
                for &(x, share) in &columns[i % out_width] {
                    for (out, &g) in out[(y * width + x) * channels..][..channels].iter_mut().zip(g) {
                        *out += (g * row_share * share).as_();
                    }
                }
            }
        }
    });
    ctx.set_output(0, out);
    Ok(())
}
