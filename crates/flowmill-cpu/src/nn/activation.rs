//! Activations and their gradients.

use crate::elementwise::{BinaryOp, Function, Operands, TRANSCENDENTAL, UnaryOp, binary, for_blocks, unary};
use crate::from_fn::from_fn;
use crate::math_unary::{Exp, Expm1, Log1p, Sigmoid};
use crate::number::{Number, Ordered, map_widened};
use crate::simd::unary as simd;
use flowmill_graph::ElementwiseFunction;
use flowmill_numeric::elementwise::{Word, double, map_in_place};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Returns the code of an activation on `float32` that can be fused with others.
pub(super) fn function(function: ElementwiseFunction) -> Option<Function> {
    Some(match function {
        ElementwiseFunction::Elu => Function::one::<Elu>(),
        ElementwiseFunction::Relu => Function::one::<Relu>(),
        ElementwiseFunction::Relu6 => Function::one::<Relu6>(),
        ElementwiseFunction::Selu => Function::one::<Selu>(),
        ElementwiseFunction::Softplus => Function::one::<Softplus>(),
        ElementwiseFunction::Softsign => Function::one::<Softsign>(),
        ElementwiseFunction::GeluExact => Function::one::<GeluExact>(),
        ElementwiseFunction::GeluApproximate => Function::one::<GeluApproximate>(),
        ElementwiseFunction::Silu => Function::one::<Silu>(),
        ElementwiseFunction::HardSigmoid => Function::one::<HardSigmoid>(),
        ElementwiseFunction::HardSwish => Function::one::<HardSwish>(),
        ElementwiseFunction::Mish => Function::one::<Mish>(),
        _ => return None,
    })
}

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Elu", unary!(Elu, [f16, bf16, f32, f64]));
    registry.add("EluGrad", binary!(EluGrad, [f16, bf16, f32, f64]));
    registry.add("Flowmill>Softclip", make_softclip);
    registry.add("LeakyRelu", make_leaky_relu);
    registry.add("LeakyReluGrad", make_leaky_relu);
    registry.add("Relu", unary!(Relu, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("Relu6", unary!(Relu6, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("Relu6Grad", binary!(Relu6Grad, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("ReluGrad", binary!(ReluGrad, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("Selu", unary!(Selu, [f16, bf16, f32, f64]));
    registry.add("SeluGrad", binary!(SeluGrad, [f16, bf16, f32, f64]));
    registry.add("Softplus", unary!(Softplus, [f16, bf16, f32, f64]));
    registry.add("SoftplusGrad", binary!(SoftplusGrad, [f16, bf16, f32, f64]));
    registry.add("Softsign", unary!(Softsign, [f16, bf16, f32, f64]));
    registry.add("SoftsignGrad", binary!(SoftsignGrad, [f16, bf16, f32, f64]));
    registry.add("_GeluApproximate", unary!(GeluApproximate, [f32]));
    registry.add("_GeluExact", unary!(GeluExact, [f32]));
    registry.add("_HardSigmoid", unary!(HardSigmoid, [f32]));
    registry.add("_HardSwish", unary!(HardSwish, [f32]));
    registry.add("_Mish", unary!(Mish, [f32]));
    registry.add("_Silu", unary!(Silu, [f32]));
}

/// `max(x, 0)`; NaN stays NaN.
struct Relu;
/// `min(max(x, 0), 6)`; NaN stays NaN.
struct Relu6;

impl<T: Ordered> UnaryOp<T> for Relu {
    type Out = T;
    #[inline(always)]
    fn apply(x: T) -> T {
        if x < T::ZERO { T::ZERO } else { x }
    }
    fn map(src: &[T], dst: &mut [T]) {
        T::map_rounded(src, dst, Self::apply, <Relu as UnaryOp<f32>>::map);
    }
}

impl<T: Ordered> UnaryOp<T> for Relu6 {
    type Out = T;
    #[inline(always)]
    fn apply(x: T) -> T {
        let six = T::from_count(6);
        if x < T::ZERO {
            T::ZERO
        } else if x > six {
            six
        } else {
            x
        }
    }
    fn map(src: &[T], dst: &mut [T]) {
        T::map_rounded(src, dst, Self::apply, <Relu6 as UnaryOp<f32>>::map);
    }
}

/// The constants of self-normalising networks (Klambauer et al., 2017).
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_6;

macro_rules! activations {
    ($($(#[$doc:meta])* $op:ident, |$x:ident| $body:expr $(, f64 $map_f64:expr)?, f32 $apply:expr, $map:expr;)*) => {
        $(
            $(#[$doc])*
            struct $op;
            impl UnaryOp<f64> for $op {
                type Out = f64;
                const COST: usize = TRANSCENDENTAL;
                #[inline(always)]
                fn apply($x: f64) -> f64 { $body }
                $(fn map(src: &[f64], dst: &mut [f64]) { $map_f64(dst, src) })?
            }
            impl UnaryOp<f32> for $op {
                type Out = f32;
                const COST: usize = 3;
                fn apply(x: f32) -> f32 { $apply(x) }
                fn map(src: &[f32], dst: &mut [f32]) { $map(dst, src) }
            }
            activations!(@small $op, f16);
            activations!(@small $op, bf16);
        )*
    };
    (@small $op:ident, $t:ty) => {
        impl UnaryOp<$t> for $op {
            type Out = $t;
            const COST: usize = TRANSCENDENTAL;
            fn apply(x: $t) -> $t { <$t>::from_f32(<$op as UnaryOp<f32>>::apply(x.to_f32())) }
            fn map(src: &[$t], dst: &mut [$t]) { map_widened(src, dst, <$op as UnaryOp<f32>>::map) }
        }
    };
}

fn one(f: fn(&mut [f32]), x: f32) -> f32 {
    let mut x = [x];
    f(&mut x);
    x[0]
}

/// Returns the activation. `expm1` is computed by the same vectorised function for scalars and for tensors, so that they agree.
fn selu(x: f32, expm1: f32) -> f32 {
    if x < 0.0 { SELU_SCALE_ALPHA as f32 * expm1 } else { SELU_SCALE as f32 * x }
}

fn map_selu(dst: &mut [f32], src: &[f32]) {
    simd::expm1(dst, src);
    for (y, &x) in dst.iter_mut().zip(src) {
        *y = selu(x, *y);
    }
}

/// Computes `scale (exp(x) - 1)` below zero, otherwise `slope x`.
fn map_elu_f64(dst: &mut [f64], src: &[f64], scale: f64, slope: f64) {
    <Expm1 as UnaryOp<f64>>::map(src, dst);
    for (y, &x) in dst.iter_mut().zip(src) {
        *y = if x < 0.0 { scale * *y } else { slope * x };
    }
}

/// Computes `log(1 + exp(x))` by the loops of other ops, in the operations of `Softplus`.
fn map_softplus_f64(dst: &mut [f64], src: &[f64]) {
    dst.iter_mut().zip(src).for_each(|(y, x)| *y = -x.abs());
    map_in_place::<f64, f64>(<Exp as UnaryOp<f64>>::map, 1, dst);
    map_in_place::<f64, f64>(<Log1p as UnaryOp<f64>>::map, 1, dst);
    dst.iter_mut().zip(src).for_each(|(y, &x)| *y += if x > 0.0 { x } else { 0.0 });
}

fn softsign(x: f32) -> f32 {
    x / (1.0 + x.abs())
}

activations! {
    /// `exp(x) - 1` below zero, otherwise x.
    Elu, |x| if x < 0.0 { double::expm1(x) } else { x }, f64 |dst, src| map_elu_f64(dst, src, 1.0, 1.0), f32 |x| one(simd::elu_in_place, x), simd::elu;
    /// `Elu`, scaled so that means and variances are kept.
    Selu, |x| if x < 0.0 { SELU_SCALE_ALPHA * double::expm1(x) } else { SELU_SCALE * x }, f64 |dst, src| map_elu_f64(dst, src, SELU_SCALE_ALPHA, SELU_SCALE), f32 |x| selu(x, one(simd::expm1_in_place, x)), map_selu;
    /// `log(1 + exp(x))`.
    Softplus, |x| double::log1p(double::exp(-x.abs())) + if x > 0.0 { x } else { 0.0 }, f64 map_softplus_f64, f32 |x| one(simd::softplus_in_place, x), simd::softplus;
    /// `x / (1 + |x|)`.
    Softsign, |x| x / (1.0 + x.abs()), f32 softsign, |dst, src| f32::map(src, dst, softsign);
}

/// Defines activations that only passes make, on `float32`.
macro_rules! recognised {
    ($($(#[$doc:meta])* $op:ident, $cost:expr, $map:ident $in_place:ident;)*) => {$(
        $(#[$doc])*
        struct $op;
        impl UnaryOp<f32> for $op {
            type Out = f32;
            const COST: usize = $cost;
            fn apply(x: f32) -> f32 { one(simd::$in_place, x) }
            fn map(src: &[f32], dst: &mut [f32]) { simd::$map(dst, src) }
        }
    )*};
}

recognised! {
    /// `x / 2 (1 + erf(x / sqrt(2)))`.
    GeluExact, TRANSCENDENTAL, gelu_exact gelu_exact_in_place;
    /// `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    GeluApproximate, TRANSCENDENTAL, gelu_approximate gelu_approximate_in_place;
    /// `x sigmoid(x)`.
    Silu, TRANSCENDENTAL, silu silu_in_place;
    /// `min(max(x + 3, 0), 6) / 6`.
    HardSigmoid, 2, hard_sigmoid hard_sigmoid_in_place;
    /// `x min(max(x + 3, 0), 6) / 6`.
    HardSwish, 2, hard_swish hard_swish_in_place;
    /// `x tanh(ln(1 + exp(x)))`.
    Mish, 2 * TRANSCENDENTAL, mish mish_in_place;
}

/// `g` if the feature is positive, otherwise zero.
struct ReluGrad;
/// `g` if the feature is between 0 and 6, otherwise zero.
struct Relu6Grad;

impl<T: Ordered> BinaryOp<T> for ReluGrad {
    type Out = T;
    const OPERANDS: Operands = Operands::SameShape;
    #[inline(always)]
    fn apply(g: T, x: T) -> T {
        if x > T::ZERO { g } else { T::ZERO }
    }
}

impl<T: Ordered> BinaryOp<T> for Relu6Grad {
    type Out = T;
    const OPERANDS: Operands = Operands::SameShape;
    #[inline(always)]
    fn apply(g: T, x: T) -> T {
        if x > T::ZERO && x < T::from_count(6) { g } else { T::ZERO }
    }
}

macro_rules! gradients {
    ($($(#[$doc:meta])* $op:ident, $cost:expr, |$g:ident, $y:ident| $body:expr;)*) => {
        $(
            $(#[$doc])*
            struct $op;
            gradients!(@each [f32, f64] $op, $cost, |$g, $y| $body);
            gradients!(@each [f16, bf16] $op, $cost, |g, y| Number::narrow(<$op as BinaryOp<f32>>::apply(g.to_f32(), y.to_f32())));
        )*
    };
    (@each [$($t:ty),*] $op:ident, $cost:expr, |$g:ident, $y:ident| $body:expr) => {
        $(impl BinaryOp<$t> for $op {
            type Out = $t;
            const COST: usize = $cost;
            const OPERANDS: Operands = Operands::SameShape;
            #[inline(always)]
            fn apply($g: $t, $y: $t) -> $t { $body }
        })*
    };
}

gradients! {
    /// `g (y + 1)` below zero, otherwise `g`, from the output `y`.
    EluGrad, 1, |g, y| if y < 0.0 { (y + 1.0) * g } else { g };
    /// `g / (1 + |x|)²`.
    SoftsignGrad, 1, |g, x| g / ((1.0 + x.abs()) * (1.0 + x.abs()));
}

/// `g sigmoid(x)`.
struct SoftplusGrad;
gradients!(@each [f16, bf16] SoftplusGrad, TRANSCENDENTAL, |g, x| Number::narrow(<SoftplusGrad as BinaryOp<f32>>::apply(g.to_f32(), x.to_f32())));

macro_rules! softplus_gradients {
    ($($t:ty),*) => {
        $(impl BinaryOp<$t> for SoftplusGrad {
            type Out = $t;
            const COST: usize = TRANSCENDENTAL;
            const OPERANDS: Operands = Operands::SameShape;
            fn apply(g: $t, x: $t) -> $t { g * <Sigmoid as UnaryOp<$t>>::apply(x) }
            fn zip(g: &[$t], x: &[$t], dst: &mut [$t]) {
                <Sigmoid as UnaryOp<$t>>::map(x, dst);
                dst.iter_mut().zip(g).for_each(|(y, g)| *y *= g);
            }
        })*
    };
}
softplus_gradients!(f32, f64);

/// The gradient of `Selu`, from its output.
struct SeluGrad;
gradients!(@each [f32] SeluGrad, 1, |g, y| if y < 0.0 { g * (y + SELU_SCALE_ALPHA as f32) } else { g * SELU_SCALE as f32 });
gradients!(@each [f64] SeluGrad, 1, |g, y| if y < 0.0 { g * (y + SELU_SCALE_ALPHA) } else { g * SELU_SCALE });
gradients!(@each [f16, bf16] SeluGrad, 1, |g, y| Number::narrow(<SeluGrad as BinaryOp<f32>>::apply(g.to_f32(), y.to_f32())));

/// Makes the kernel of `LeakyRelu` (one input) or `LeakyReluGrad` (a gradient and the features), which multiplies by the slope if the feature is
/// not positive.
fn leaky<T: Ordered>(init: &KernelInit<'_>, slope: T) -> Result<Arc<dyn Kernel>> {
    let scale = move |y: T, x: T| if x > T::ZERO { y } else { y.times(slope) };
    if init.op_def.name == "LeakyRelu" {
        return from_fn(move |ctx| {
            let mut x = ctx.take_writable(0)?;
            for_blocks(x.as_mut_slice::<T>()?, 1, &|_, block| block.iter_mut().for_each(|x| *x = scale(*x, *x)));
            ctx.set_output(0, x);
            Ok(())
        });
    }
    from_fn(move |ctx| {
        let (mut g, x) = (ctx.take_writable(0)?, ctx.take(1)?);
        if g.shape() != x.shape() {
            bail!(InvalidArgument, "Inputs must have the same size and shape.  Input 0: {} != input 1: {}", g.shape(), x.shape());
        }
        let features = x.as_slice::<T>()?;
        for_blocks(g.as_mut_slice::<T>()?, 1, &|start, block| {
            block.iter_mut().zip(&features[start..]).for_each(|(g, &x)| *g = scale(*g, x))
        });
        ctx.set_output(0, g);
        Ok(())
    })
}

fn make_leaky_relu(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let slope: f32 = init.attrs.get_or("alpha", 0.2f32)?;
    match init.dtype("T")? {
        DType::F32 => leaky::<f32>(init, slope),
        DType::F64 => leaky::<f64>(init, f64::from(slope)),
        t => for_dtype!(t, [f16, bf16], T => leaky::<T>(init, T::from_f32(slope)), _ => init.unsupported()),
    }
}

/// `(softplus(p x) - softplus(p (x - 1))) / p`, where p is the sharpness, without a difference of large numbers.
fn softclip(x: f64, sharpness: f64) -> f64 {
    let (u, v) = (sharpness * x, sharpness * (x - 1.0));
    // softplus(t) = max(t, 0) + log(1 + exp(-|t|)), and max(u, 0) - max(v, 0) is u clipped to [0, p].
    let corners = (-u.abs()).exp().ln_1p() - (-v.abs()).exp().ln_1p();
    (u.clamp(0.0, sharpness) + corners) / sharpness
}

/// Makes the kernel of `Flowmill>Softclip`, which computes all types in `float64`.
fn make_softclip(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sharpness: f32 = init.attrs.get_or("sharpness", 1.0)?;
    if !(sharpness.is_finite() && sharpness > 0.0) {
        bail!(InvalidArgument, "sharpness must be positive and finite, not {sharpness}");
    }
    let sharpness = f64::from(sharpness);
    fn kernel<T: Number>(apply: impl Fn(T) -> T + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
        from_fn(move |ctx| {
            let mut x = ctx.take_writable(0)?;
            for_blocks(x.as_mut_slice::<T>()?, TRANSCENDENTAL, &|_, block| block.iter_mut().for_each(|x| *x = apply(*x)));
            ctx.set_output(0, x);
            Ok(())
        })
    }
    match init.dtype("T")? {
        DType::F64 => kernel::<f64>(move |x| softclip(x, sharpness)),
        DType::F32 => kernel::<f32>(move |x| softclip(x.into(), sharpness) as f32),
        t => for_dtype!(t, [f16, bf16], T => kernel::<T>(move |x| T::from_f64(softclip(x.to_f64(), sharpness))), _ => init.unsupported()),
    }
}
