//! `BatchNormWithGlobalNormalization`, the first version of batch normalisation, and its gradient.

use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Element, Result, bail, bf16, f16, for_dtype};
use num_traits::{AsPrimitive, Float};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BatchNormWithGlobalNormalization", make);
    registry.add("BatchNormWithGlobalNormalizationGrad", make_grad);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (epsilon, scales) = (init.attrs.get_or("variance_epsilon", 0f32)?, init.attrs.get_or("scale_after_normalization", false)?);
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(move |ctx| normalize::<T>(ctx, epsilon, scales)), _ => init.unsupported())
}

/// Computes `(t - mean) * rsqrt(variance + epsilon) * gamma + beta`. Inputs: t, mean, variance, beta, gamma, which is used if `scales`.
fn normalize<T: Number + Element>(ctx: &mut KernelContext<'_>, epsilon: f32, scales: bool) -> Result<()>
where
    T::Acc: Float + 'static,
    f32: AsPrimitive<T::Acc>,
{
    let x = ctx.input(0)?;
    if x.rank() != 4 {
        bail!(InvalidArgument, "input must be 4-dimensional{}", x.shape());
    }
    let depth = x.shape()[3];
    let vector = |i: usize, name: &str| -> Result<Vec<T::Acc>> {
        let vector = ctx.input(i)?;
        if vector.shape().dims() != [depth] {
            bail!(InvalidArgument, "{name} must be 1-dimensional with {depth} elements: {}", vector.shape());
        }
        Ok(vector.as_slice::<T>()?.iter().map(|v| v.widen()).collect())
    };
    let (mean, variance, beta) = (vector(1, "mean")?, vector(2, "var")?, vector(3, "beta")?);
    let epsilon: T::Acc = epsilon.as_();
    let mut factors: Vec<T::Acc> = variance.iter().map(|&v| <T::Acc as Number>::ONE / (v + epsilon).sqrt()).collect();
    if scales {
        factors.iter_mut().zip(vector(4, "gamma")?).for_each(|(factor, gamma)| *factor = *factor * gamma);
    }
    let shifts: Vec<T::Acc> = beta.iter().zip(&mean).zip(&factors).map(|((&b, &m), &f)| b - m * f).collect();
    let mut out = ctx.allocator().uninit(T::DTYPE, x.shape().clone())?;
    let width = depth.max(1);
    for (out, x) in out.as_mut_slice::<T>()?.chunks_exact_mut(width).zip(x.as_slice::<T>()?.chunks_exact(width)) {
        for ((out, x), (&factor, &shift)) in out.iter_mut().zip(x).zip(factors.iter().zip(&shifts)) {
            *out = T::narrow(x.widen() * factor + shift);
        }
    }
    ctx.set_output(0, out);
    Ok(())
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (epsilon, scales) = (init.attrs.get::<f32>("variance_epsilon")?, init.attrs.get_or("scale_after_normalization", false)?);
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(move |ctx| grad::<T>(ctx, epsilon, scales)), _ => init.unsupported())
}

/// Computes the op. Inputs: t, mean, variance, gamma, the gradient `g` of the result. Outputs, with `r = rsqrt(variance + epsilon)` and sums over
/// all dimensions except channels:
/// `g r gamma`, `-sum(g) r gamma`, `-sum(g (t - mean)) gamma r³ / 2`, `sum(g)`, `sum(g (t - mean)) r`. Without scaling, `gamma` is one and its
/// gradient is zero.
fn grad<T: Number + Element>(ctx: &mut KernelContext<'_>, epsilon: f32, scales: bool) -> Result<()>
where
    T::Acc: Float + 'static,
    f32: AsPrimitive<T::Acc>,
{
    let (x, g) = (ctx.input(0)?, ctx.input(4)?);
    if x.rank() != 4 {
        bail!(InvalidArgument, "input must be 4-dimensional{}", x.shape());
    }
    if x.shape() != g.shape() {
        bail!(InvalidArgument, "input and out_backprop must have the same shape: {} vs. {}", x.shape(), g.shape());
    }
    let depth = x.shape()[3];
    let mut vectors = Vec::with_capacity(3);
    for (i, name) in [(1, "mean"), (2, "var"), (3, "gamma")] {
        let vector = ctx.input(i)?;
        if vector.shape().dims() != [depth] {
            bail!(InvalidArgument, "{name} must be 1-dimensional with {depth} elements: {}", vector.shape());
        }
        vectors.push(vector.as_slice::<T>()?.iter().map(|v| v.widen()).collect::<Vec<T::Acc>>());
    }
    let (epsilon, half): (T::Acc, T::Acc) = (epsilon.as_(), 0.5f32.as_());
    let (one, zero) = (<T::Acc as Number>::ONE, <T::Acc as Number>::ZERO);
    let (mut sums, mut weighted) = (vec![zero; depth], vec![zero; depth]);
    let pixels = x.as_slice::<T>()?.chunks_exact(depth.max(1)).zip(g.as_slice::<T>()?.chunks_exact(depth.max(1)));
    for (x, g) in pixels {
        for (c, (x, g)) in x.iter().zip(g).enumerate() {
            sums[c] = sums[c] + g.widen();
            weighted[c] = weighted[c] + g.widen() * (x.widen() - vectors[0][c]);
        }
    }
    let inverse: Vec<T::Acc> = vectors[1].iter().map(|&v| one / (v + epsilon).sqrt()).collect();
    let factors: Vec<T::Acc> = inverse.iter().zip(&vectors[2]).map(|(&r, &gamma)| if scales { r * gamma } else { r }).collect();
    let mut dx = ctx.allocator().uninit(T::DTYPE, x.shape().clone())?;
    for (i, (out, g)) in dx.as_mut_slice::<T>()?.iter_mut().zip(g.as_slice::<T>()?).enumerate() {
        *out = T::narrow(g.widen() * factors[i % depth]);
    }
    let vector =
        |f: &dyn Fn(usize) -> T::Acc| ctx.allocator().from_slice([depth], &(0..depth).map(|c| T::narrow(f(c))).collect::<Vec<_>>());
    let outputs = [
        dx,
        vector(&|c| -sums[c] * factors[c])?,
        vector(&|c| -half * weighted[c] * factors[c] / (vectors[1][c] + epsilon))?,
        vector(&|c| sums[c])?,
        vector(&|c| if scales { weighted[c] * inverse[c] } else { zero })?,
    ];
    for (i, output) in outputs.into_iter().enumerate() {
        ctx.set_output(i, output);
    }
    Ok(())
}
