//! `ImageProjectiveTransformV2` and `V3`, which apply a projective transform of the plane to images.

use super::{image_dims, size_of};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Element, Result, bail, bf16, f16, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ImageProjectiveTransformV2", make);
    registry.add("ImageProjectiveTransformV3", make);
}

/// The fill mode for pixels outside of an image.
#[derive(Clone, Copy)]
enum Outside {
    /// The image is mirrored, with its border repeated.
    Reflect,
    /// The image is repeated.
    Wrap,
    /// A constant value is used.
    Constant,
    /// The nearest pixel is used.
    Nearest,
}

impl Outside {
    /// Returns the coordinate inside a dimension of `len` pixels that replaces `at`.
    fn inside(self, at: f32, len: usize) -> f32 {
        let (last, len) = ((len - 1) as f32, len as f32);
        let is_outside = at < 0.0 || at > last;
        let moved = match self {
            Outside::Constant => return at,
            Outside::Nearest => at,
            Outside::Reflect | Outside::Wrap if is_outside && len <= 1.0 => 0.0,
            Outside::Reflect if at < 0.0 => {
                let at = 2.0 * len * (-at / (2.0 * len)).trunc() + at;
                if at < -len { at + 2.0 * len } else { -at - 1.0 }
            }
            Outside::Reflect if is_outside => {
                let at = at - 2.0 * len * (at / (2.0 * len)).trunc();
                if at >= len { 2.0 * len - at - 1.0 } else { at }
            }
            Outside::Wrap if at < 0.0 => at + len * ((-at / last).trunc() + 1.0),
            Outside::Wrap if is_outside => at - len * (at / last).trunc(),
            _ => at,
        };
        moved.clamp(0.0, last)
    }
}

#[derive(Clone, Copy)]
struct Options {
    bilinear: bool,
    outside: Outside,
}

impl Options {
    fn new(init: &KernelInit<'_>) -> Result<Options> {
        let bilinear = match init.attrs.get("interpolation")? {
            "NEAREST" => false,
            "BILINEAR" => true,
            other => bail!(InvalidArgument, "Invalid interpolation {other}. Supported types: NEAREST, BILINEAR"),
        };
        let outside = match init.attrs.get_or("fill_mode", "CONSTANT")? {
            "REFLECT" => Outside::Reflect,
            "WRAP" => Outside::Wrap,
            "CONSTANT" => Outside::Constant,
            "NEAREST" => Outside::Nearest,
            other => bail!(InvalidArgument, "Invalid mode {other}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST"),
        };
        Ok(Options { bilinear, outside })
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let options = Options::new(init)?;
    for_dtype!(init.dtype("dtype")?, [u8, i32, i64, f16, bf16, f32, f64], T => {
        from_fn(move |ctx| transform::<T>(ctx, options))
    }, _ => init.unsupported())
}

/// An image: its pixels, its sizes, and the value outside.
struct Image<'a, T> {
    pixels: &'a [T],
    sizes: [usize; 3],
    fill: T,
}

impl<T: Copy> Image<'_, T> {
    /// Returns channel `c` of the pixel at row `y` and column `x`.
    fn get(&self, y: f32, x: f32, c: usize) -> T {
        let [height, width, channels] = self.sizes;
        if (0.0..height as f32).contains(&y) && (0.0..width as f32).contains(&x) {
            self.pixels[(y as usize * width + x as usize) * channels + c]
        } else {
            self.fill
        }
    }
}

/// Computes the transform. Inputs: images, a transform for each or for all, the size of the output, and in the third version the value outside. The
/// output's pixel `(x, y)` is the input's at `((a x + b y + c) / k, (d x + e y + f) / k)`, with `k = g x + h y + 1`.
fn transform<T: Element + AsPrimitive<f32>>(ctx: &mut KernelContext<'_>, options: Options) -> Result<()>
where
    f32: AsPrimitive<T>,
{
    let (images, transforms) = (ctx.input(0)?, ctx.input(1)?);
    let [batch, height, width, channels] = image_dims(images)?;
    let shared = match *transforms.shape().dims() {
        [1, 8] => true,
        [n, 8] if n == batch => false,
        _ => bail!(InvalidArgument, "Input transform should be num_images x 8 or 1 x 8, got {}", transforms.shape()),
    };
    let (out_height, out_width) = size_of(ctx.input(2)?, "output shape")?;
    let fill: T = if ctx.num_inputs() > 3 { ctx.input(3)?.to_scalar::<f32>()?.as_() } else { T::default() };
    let transforms = transforms.as_slice::<f32>()?;
    let pixels = images.as_slice::<T>()?;
    let mut output = ctx.allocator().uninit(T::DTYPE, [batch, out_height, out_width, channels])?;
    if output.num_elements() == 0 {
        ctx.set_output(0, output);
        return Ok(());
    }
    parallel::chunks(output.as_mut_slice::<T>()?, out_width * channels, |i, row| {
        let (b, out_y) = (i / out_height, (i % out_height) as f32);
        let image =
            Image { pixels: &pixels[b * height * width * channels..][..height * width * channels], sizes: [height, width, channels], fill };
        let t = &transforms[if shared { 0 } else { 8 * b }..][..8];
        for (out_x, pixel) in row.chunks_exact_mut(channels).enumerate() {
            let out_x = out_x as f32;
            let projection = t[6] * out_x + t[7] * out_y + 1.0;
            if projection == 0.0 || height == 0 || width == 0 {
                pixel.fill(fill);
                continue;
            }
            let x = options.outside.inside((t[0] * out_x + t[1] * out_y + t[2]) / projection, width);
            let y = options.outside.inside((t[3] * out_x + t[4] * out_y + t[5]) / projection, height);
            let (top, left) = (y.floor(), x.floor());
            for (c, out) in pixel.iter_mut().enumerate() {
                if !options.bilinear {
                    *out = image.get(y.round(), x.round(), c);
                    continue;
                }
                let line = |y: f32| (left + 1.0 - x) * image.get(y, left, c).as_() + (x - left) * image.get(y, left + 1.0, c).as_();
                *out = ((top + 1.0 - y) * line(top) + (y - top) * line(top + 1.0)).as_();
            }
        }
    });
    ctx.set_output(0, output);
    Ok(())
}
