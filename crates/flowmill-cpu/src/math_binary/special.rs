//! Functions of two floating-point numbers.

use crate::elementwise::{BinaryOp, TRANSCENDENTAL, UnaryOp};
use crate::from_fn::from_fn;
use crate::math_unary::Log;
use crate::number::{Number, complex_log_1p};
use crate::special;
use flowmill_numeric::elementwise::inverse_trigonometric;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Result, Shape, bail, bf16, f16, for_dtype};
use std::sync::Arc;

macro_rules! real_ops {
    ($($(#[$doc:meta])* $op:ident, $cost:expr, |$a:ident, $b:ident| $body:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $op;
            real_ops!(@each [f32, f64] $op, $cost, |$a, $b| $body);
            real_ops!(@each [f16, bf16] $op, $cost, |a, b| Self::Out::from_f32(<$op as BinaryOp<f32>>::apply(a.to_f32(), b.to_f32())));
        )*
    };
    (@each [$($t:ty),*] $op:ident, $cost:expr, |$a:ident, $b:ident| $body:expr) => {
        $(impl BinaryOp<$t> for $op {
            type Out = $t;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t { $body }
        })*
    };
}

real_ops! {
    /// `a / b`, or zero if `a` is zero.
    Xdivy, 1, |a, b| if a == 0.0 { 0.0 } else { a / b };
    /// `a log(1 + b)`, or zero if `a` is zero.
    Xlog1py, TRANSCENDENTAL, |a, b| if a == 0.0 { 0.0 } else { a * b.ln_1p() };
}

/// `a log b`, or zero if `a` is zero.
pub(super) struct Xlogy;
real_ops!(@each [f16, bf16] Xlogy, TRANSCENDENTAL, |a, b| Self::Out::from_f32(<Xlogy as BinaryOp<f32>>::apply(a.to_f32(), b.to_f32())));

macro_rules! products_with_logarithms {
    ($($t:ty),*) => {
        $(impl BinaryOp<$t> for Xlogy {
            type Out = $t;
            const COST: usize = TRANSCENDENTAL;
            fn apply(a: $t, b: $t) -> $t { if a == 0.0 { 0.0 } else { a * <Log as UnaryOp<$t>>::apply(b) } }
            fn zip(a: &[$t], b: &[$t], dst: &mut [$t]) {
                <Log as UnaryOp<$t>>::map(b, dst);
                dst.iter_mut().zip(a).for_each(|(y, &a)| *y = if a == 0.0 { 0.0 } else { a * *y });
            }
        })*
    };
}
products_with_logarithms!(f32, f64);

/// The angle of the point `(b, a)` in radians.
pub(super) struct Atan2;
real_ops!(@each [f64] Atan2, TRANSCENDENTAL, |a, b| a.atan2(b));
real_ops!(@each [f32] Atan2, TRANSCENDENTAL, |a, b| inverse_trigonometric::atan2(a, b));
real_ops!(@each [f16, bf16] Atan2, TRANSCENDENTAL, |a, b| Self::Out::from_f32(inverse_trigonometric::atan2(a.to_f32(), b.to_f32())));

macro_rules! complex_ops {
    ($($t:ty),*) => {
        $(
            complex_ops!(@each $t, Xdivy, |a, b| a.over(b));
            complex_ops!(@each $t, Xlogy, |a, b| a * b.ln());
            complex_ops!(@each $t, Xlog1py, |a, b| a * complex_log_1p(b));
        )*
    };
    (@each $t:ty, $op:ident, |$a:ident, $b:ident| $value:expr) => {
        impl BinaryOp<Complex<$t>> for $op {
            type Out = Complex<$t>;
            const COST: usize = 2 * TRANSCENDENTAL;
            fn apply($a: Complex<$t>, $b: Complex<$t>) -> Complex<$t> {
                if $a == Complex::ZERO { $a } else { $value }
            }
        }
    };
}
complex_ops!(f32, f64);

macro_rules! double_precision {
    ($($(#[$doc:meta])* $op:ident, $f:path;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $op;
            impl BinaryOp<f64> for $op {
                type Out = f64;
                const COST: usize = 16 * TRANSCENDENTAL;
                fn apply(a: f64, b: f64) -> f64 { $f(a, b) }
            }
            impl BinaryOp<f32> for $op {
                type Out = f32;
                const COST: usize = 16 * TRANSCENDENTAL;
                fn apply(a: f32, b: f32) -> f32 { $f(f64::from(a), f64::from(b)) as f32 }
            }
        )*
    };
}

double_precision! {
    /// The lower regularised incomplete gamma function.
    Igamma, special::igamma;
    /// The upper regularised incomplete gamma function.
    Igammac, special::igammac;
    /// The derivative of the lower regularised incomplete gamma function by its first argument.
    IgammaGradA, special::igamma_grad_a;
    /// The derivative of a gamma variable by its shape.
    RandomGammaGrad, special::gamma_sample_slope;
    /// The Hurwitz zeta function.
    Zeta, special::zeta;
    /// The `a`-th derivative of the digamma function at `b`.
    Polygamma, special::polygamma;
}

/// The next representable number after `a` in the direction of `b`.
pub(super) struct NextAfter;

impl BinaryOp<f32> for NextAfter {
    type Out = f32;
    fn apply(a: f32, b: f32) -> f32 {
        libm::nextafterf(a, b)
    }
}

impl BinaryOp<f64> for NextAfter {
    type Out = f64;
    fn apply(a: f64, b: f64) -> f64 {
        libm::nextafter(a, b)
    }
}

/// A complex number from its parts.
pub(super) struct MakeComplex;

impl BinaryOp<f32> for MakeComplex {
    type Out = Complex<f32>;
    fn apply(a: f32, b: f32) -> Complex<f32> {
        Complex::new(a, b)
    }
}

impl BinaryOp<f64> for MakeComplex {
    type Out = Complex<f64>;
    fn apply(a: f64, b: f64) -> Complex<f64> {
        Complex::new(a, b)
    }
}

/// Makes the kernel of `Betainc`: three tensors of one shape, each of which may also be a scalar.
pub(super) fn make_betainc(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(|ctx: &mut KernelContext<'_>| {
        let inputs = [ctx.input(0)?, ctx.input(1)?, ctx.input(2)?];
        let shape = inputs.iter().map(|t| t.shape()).find(|s| s.rank() > 0).cloned().unwrap_or_else(Shape::scalar);
        if let Some(other) = inputs.iter().map(|t| t.shape()).find(|s| s.rank() > 0 && **s != shape) {
            bail!(InvalidArgument, "Shapes of a, b and x are inconsistent: {shape} vs. {other}");
        }
        let mut slices: [&[T]; 3] = [&[]; 3];
        for (slice, tensor) in slices.iter_mut().zip(inputs) {
            *slice = tensor.as_slice()?;
        }
        let at = |slice: &[T], i: usize| f64::from(if slice.len() == 1 { slice[0] } else { slice[i] });
        let values: Vec<T> = (0..shape.num_elements()).map(|i| special::betainc(at(slices[0], i), at(slices[1], i), at(slices[2], i)) as T).collect();
        let out = ctx.allocator().from_slice(shape, &values)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}
