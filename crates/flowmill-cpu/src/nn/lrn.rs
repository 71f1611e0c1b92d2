//! `LRN` (local response normalisation) and its gradient.

use crate::from_fn::from_fn;
use crate::number::Number;
use crate::parallel;
use flowmill_numeric::lrn::{self, Window};
use flowmill_numeric::simd::unary;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The number of elements that one task computes.
const CHUNK: usize = 1 << 11;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("LRN", make);
    registry.add("LRNGrad", make_grad);
}

#[derive(Clone, Copy)]
struct Normalization {
    radius: usize,
    bias: f32,
    alpha: f32,
    beta: f32,
}

impl Normalization {
    fn new(init: &KernelInit<'_>) -> Result<Normalization> {
        let radius: i64 = init.attrs.get_or("depth_radius", 5)?;
        let Some(radius) = usize::try_from(radius).ok().filter(|&r| r < 1 << 31) else {
            bail!(InvalidArgument, "depth_radius = {radius} larger than int max or negative");
        };
        let number = |name, default| init.attrs.get_or::<f32>(name, default);
        Ok(Normalization { radius, bias: number("bias", 1.0)?, alpha: number("alpha", 1.0)?, beta: number("beta", 0.5)? })
    }

    /// Returns, for each channel of some pixels, `bias + alpha * (sum of the squares around it)`.
    fn norms(&self, pixels: &[f32], depth: usize) -> Vec<f32> {
        let mut norms = vec![0.0; pixels.len()];
        lrn::norms(self.window(depth), self.bias, self.alpha, pixels, &mut norms);
        norms
    }

    fn window(&self, depth: usize) -> Window {
        Window::new(depth, self.radius)
    }

    /// Replaces each norm by its power of `-beta`.
    fn raise(&self, norms: &mut [f32]) {
        if self.beta == 0.5 {
            unary::rsqrt_in_place(norms);
        } else if self.bias >= 0.0 && self.alpha >= 0.0 && self.beta != 0.0 {
            // No norm is negative.
            unary::log_in_place(norms);
            norms.iter_mut().for_each(|x| *x *= -self.beta);
            unary::exp_in_place(norms);
        } else {
            norms.iter_mut().for_each(|x| *x = x.powf(-self.beta));
        }
    }
}

/// Fills an output of the shape of `like` by calls of `f(first element, out)`, each of which computes some whole pixels.
fn for_pixels<T: Number>(alloc: &Allocator, like: &Tensor, f: impl Fn(usize, &mut [T]) + Sync) -> Result<Tensor> {
    let depth = like.shape()[3];
    let mut out = alloc.uninit(T::DTYPE, like.shape().clone())?;
    if out.num_elements() > 0 {
        let each = (CHUNK / depth).max(1) * depth;
        parallel::chunks(out.as_mut_slice::<T>()?, each, |i, out| f(i * each, out));
    }
    Ok(out)
}

fn widened<T: Number<Acc = f32>>(pixels: &[T]) -> Vec<f32> {
    let mut widened = vec![0.0; pixels.len()];
    T::widen_all(pixels, &mut widened);
    widened
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let normalization = Normalization::new(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32], T => from_fn(move |ctx| normalize::<T>(ctx, normalization)), _ => init.unsupported())
}

fn normalize<T: Number<Acc = f32>>(ctx: &mut KernelContext<'_>, n: Normalization) -> Result<()> {
    let input = ctx.input(0)?;
    if input.rank() != 4 {
        bail!(InvalidArgument, "in must be 4-dimensional");
    }
    let (x, depth) = (input.as_slice::<T>()?, input.shape()[3]);
    let out = for_pixels::<T>(ctx.allocator(), input, |first, out| {
        let x = widened(&x[first..][..out.len()]);
        let mut results = n.norms(&x, depth);
        n.raise(&mut results);
        results.iter_mut().zip(x).for_each(|(scale, x)| *scale *= x);
        T::narrow_all(&results, out);
    })?;
    ctx.set_output(0, out);
    Ok(())
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let normalization = Normalization::new(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32], T => from_fn(move |ctx| grad::<T>(ctx, normalization)), _ => init.unsupported())
}

fn grad<T: Number<Acc = f32>>(ctx: &mut KernelContext<'_>, n: Normalization) -> Result<()> {
    let (gradient, input, output) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if gradient.rank() != 4 || input.rank() != 4 {
        bail!(InvalidArgument, "inputs must be 4-dimensional");
    }
    if gradient.shape() != input.shape() || output.shape() != input.shape() {
        bail!(InvalidArgument, "input_grads, input_image, and out_image should have the same shape");
    }
    let (g, x, y) = (gradient.as_slice::<T>()?, input.as_slice::<T>()?, output.as_slice::<T>()?);
    let depth = input.shape()[3];
    let out = for_pixels::<T>(ctx.allocator(), input, |first, out| {
        let len = out.len();
        let [g, x, y] = [g, x, y].map(|t| widened(&t[first..][..len]));
        let norms = n.norms(&x, depth);
        let mut scales = norms.clone();
        n.raise(&mut scales);
        let mut sums = vec![0.0; len];
        lrn::gradient(n.window(depth), -2.0 * n.alpha * n.beta, [&g, &x, &y, &norms, &scales], &mut sums);
        T::narrow_all(&sums, out);
    })?;
    ctx.set_output(0, out);
    Ok(())
}
