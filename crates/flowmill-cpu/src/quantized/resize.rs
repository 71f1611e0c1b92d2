//! `QuantizedResizeBilinear`, which interpolates between the integers of adjacent pixels and keeps their range.

use super::range::Range;
use crate::from_fn::from_fn;
use crate::image::resize::{Between, Grid, sizes};
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedResizeBilinear", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grid = Grid::new(init)?;
    match init.dtype("T")? {
        DType::QU8 => from_fn(move |ctx| resize::<u8>(ctx, grid)),
        DType::QI32 => from_fn(move |ctx| resize::<i32>(ctx, grid)),
        DType::F32 => from_fn(move |ctx| resize::<f32>(ctx, grid)),
        _ => init.unsupported(),
    }
}

/// A type whose elements can be interpolated.
trait Mixed: Element {
    /// Interpolates between four pixels (top left, top right, bottom left, bottom right) at `x` and `y`.
    fn mixed(pixels: [Self; 4], x: f32, y: f32) -> Self;
}

impl Mixed for f32 {
    fn mixed([a, b, c, d]: [f32; 4], x: f32, y: f32) -> f32 {
        let (top, bottom) = (a + (b - a) * x, c + (d - c) * x);
        top + (bottom - top) * y
    }
}

/// Interpolates in fixed-point arithmetic with `bits` fractional bits.
fn mixed(pixels: [i64; 4], x: f32, y: f32, bits: u32) -> i64 {
    let one = 1i64 << bits;
    let (x, y) = ((x * one as f32) as i64, (y * one as f32) as i64);
    let [a, b, c, d] = pixels;
    let (top, bottom) = (a * one + (b - a) * x, c * one + (d - c) * x);
    (top + (bottom - top) / one * y + one / 2) / one
}

impl Mixed for u8 {
    fn mixed(pixels: [u8; 4], x: f32, y: f32) -> u8 {
        mixed(pixels.map(i64::from), x, y, 7) as u8
    }
}

impl Mixed for i32 {
    fn mixed(pixels: [i32; 4], x: f32, y: f32) -> i32 {
        // TensorFlow converts the integers to single precision first.
        mixed(pixels.map(|pixel| pixel as f32 as i64), x, y, 30) as i32
    }
}

fn resize<T: Mixed>(ctx: &mut KernelContext<'_>, grid: Grid) -> Result<()> {
    let range = Range::of(ctx, 2, ["min", "max"])?;
    let images = ctx.input(0)?.clone();
    let dtype = images.dtype();
    let ([batch, height, width, channels], (out_height, out_width)) = sizes(ctx.allocator(), &images, ctx.input(1)?)?;
    if (out_height, out_width) == (height, width) {
        ctx.set_output(0, images);
        range.set(ctx, 1);
        return Ok(());
    }
    let (rows, columns) = (grid.between(height, out_height), grid.between(width, out_width));
    let images = images.bitcast(T::DTYPE)?;
    let input = images.as_slice::<T>()?;
    let mut output = ctx.allocator().uninit(T::DTYPE, [batch, out_height, out_width, channels])?;
    parallel::chunks(output.as_mut_slice::<T>()?, out_width * channels, |i, row| {
        let y = rows[i % out_height];
        let line = |y: usize| &input[(i / out_height * height + y) * width * channels..][..width * channels];
        let (top, bottom) = (line(y.lower), line(y.upper));
        for (pixel, &Between { lower, upper, lerp }) in row.chunks_exact_mut(channels).zip(&columns) {
            for (c, out) in pixel.iter_mut().enumerate() {
                let (left, right) = (lower * channels + c, upper * channels + c);
                *out = T::mixed([top[left], top[right], bottom[left], bottom[right]], lerp, y.lerp);
            }
        }
    });
    ctx.set_output(0, output.bitcast(dtype)?);
    range.set(ctx, 1);
    Ok(())
}
