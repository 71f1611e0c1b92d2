//! Functions of one floating-point or complex number.
//!
//! The 16-bit types are computed in `float32` and rounded once.

use crate::elementwise::{TRANSCENDENTAL, UnaryOp};
use crate::number::{complex_log_1p, map_widened};
use crate::simd::unary;
use crate::special;
use flowmill_numeric::elementwise::complex::{self, ComplexFunctions};
use flowmill_numeric::elementwise::{double, inverse_trigonometric};
use flowmill_tensor::{Complex, bf16, f16};

/// The cost of a function that has a vectorised form for `f32`, in simple operations.
const VECTORISED: usize = 3;

/// The elements of `f64` that a function without branches computes at a time.
const BLOCK: usize = 64;

flowmill_numeric::dispatch! {
    /// Computes `dst[i] = f(src[i])`. Blocks have a constant length, so that compilers make no second copy of `f` for the rest of a slice.
    fn map_blocks<F>(src: &[f64], dst: &mut [f64], f: F)
    where [F: Fn(f64) -> f64] {
        let mut block = [0.0; BLOCK];
        for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
            let n = src.len();
            block[..n].copy_from_slice(src);
            for x in &mut block {
                *x = f(*x);
            }
            dst.copy_from_slice(&block[..n]);
        }
    }
}

/// Declares an op: its name, its cost, its function on `f32` and `f64`, the vectorised form that `f32` has instead (whose bits do not
/// depend on the length, so that scalars and tensors agree), and the function on complex numbers. With a vectorised form, the first function is only
/// that of `f64`, and in the same way `slices` is a function of slices that `f32` or `Complex<f32>` has instead. `in_blocks` is
/// for functions of `f64` without branches.
macro_rules! float_ops {
    ($($(#[$doc:meta])* $name:ident, $cost:expr, |$x:ident| $real:expr $(, f64 $blocks:ident)? $(, simd $simd:ident $in_place:ident)? $(, slices $slices:path)? $(, complex |$z:ident| $complex:expr $(, slices $complex_slices:path)?)?;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name;
            float_ops!(@f64 $name, $cost, |$x| $real $(, $blocks)?);
            float_ops!(@f32 $name, $cost, |$x| $real $(, $simd, $in_place)? $(, slices $slices)?);
            float_ops!(@small [f16, bf16] $name, $cost);
            $(float_ops!(@complex $name, $cost, |$z| $complex $(, $complex_slices)?);)?
        )*
    };
    (@each [$($t:ty),*] $name:ident, $cost:expr, |$x:ident| $body:expr) => {
        $(impl UnaryOp<$t> for $name {
            type Out = $t;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply($x: $t) -> $t { $body }
        })*
    };
    (@f64 $name:ident, $cost:expr, |$x:ident| $body:expr) => { float_ops!(@each [f64] $name, $cost, |$x| $body); };
    (@f64 $name:ident, $cost:expr, |$x:ident| $body:expr, in_blocks) => {
        impl UnaryOp<f64> for $name {
            type Out = f64;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply($x: f64) -> f64 { $body }
            fn map(src: &[f64], dst: &mut [f64]) { map_blocks(src, dst, Self::apply); }
        }
    };
    (@f32 $name:ident, $cost:expr, |$x:ident| $body:expr) => { float_ops!(@each [f32] $name, $cost, |$x| $body); };
    (@f32 $name:ident, $cost:expr, |$x:ident| $body:expr, $simd:ident, $in_place:ident) => {
        impl UnaryOp<f32> for $name {
            type Out = f32;
            const COST: usize = VECTORISED;
            fn apply(x: f32) -> f32 {
                let mut x = [x];
                unary::$in_place(&mut x);
                x[0]
            }
            fn map(src: &[f32], dst: &mut [f32]) {
                unary::$simd(dst, src);
            }
        }
    };
    (@f32 $name:ident, $cost:expr, |$x:ident| $body:expr, slices $slices:path) => { float_ops!(@slices f32, $name, $cost, $slices); };
    (@complex $name:ident, $cost:expr, |$z:ident| $body:expr) => { float_ops!(@each [Complex<f32>, Complex<f64>] $name, $cost, |$z| $body); };
    (@complex $name:ident, $cost:expr, |$z:ident| $body:expr, $slices:path) => {
        float_ops!(@each [Complex<f64>] $name, $cost, |$z| $body);
        float_ops!(@slices Complex<f32>, $name, $cost, $slices);
    };
    (@slices $t:ty, $name:ident, $cost:expr, $slices:path) => {
        impl UnaryOp<$t> for $name {
            type Out = $t;
            const COST: usize = $cost;
            fn apply(x: $t) -> $t {
                let mut y = [x];
                $slices(&[x], &mut y);
                y[0]
            }
            fn map(src: &[$t], dst: &mut [$t]) {
                $slices(src, dst);
            }
        }
    };
    (@small [$($t:ty),*] $name:ident, $cost:expr) => {
        $(impl UnaryOp<$t> for $name {
            type Out = $t;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply(x: $t) -> $t { <$t>::from_f32(<$name as UnaryOp<f32>>::apply(x.to_f32())) }
            fn map(src: &[$t], dst: &mut [$t]) { map_widened(src, dst, <$name as UnaryOp<f32>>::map) }
        })*
    };
}

/// Functions of `f32` and `f64` beyond the standard library, or in a form that is compiled to vector instructions. `f32` is computed in `f64` if a series is
/// summed.
pub(super) trait Special: Sized {
    fn special(self, f: fn(f64) -> f64) -> Self;
    fn inverse_sine(self) -> Self;
    fn inverse_cosine(self) -> Self;
    fn inverse_tangent(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
}

impl Special for f32 {
    fn special(self, f: fn(f64) -> f64) -> f32 {
        f(f64::from(self)) as f32
    }
    #[inline(always)]
    fn inverse_sine(self) -> f32 {
        inverse_trigonometric::asin(self)
    }
    #[inline(always)]
    fn inverse_cosine(self) -> f32 {
        inverse_trigonometric::acos(self)
    }
    #[inline(always)]
    fn inverse_tangent(self) -> f32 {
        inverse_trigonometric::atan(self)
    }
    fn erf(self) -> f32 {
        libm::erff(self)
    }
    fn erfc(self) -> f32 {
        libm::erfcf(self)
    }
}

impl Special for f64 {
    fn special(self, f: fn(f64) -> f64) -> f64 {
        f(self)
    }
    fn inverse_sine(self) -> f64 {
        self.asin()
    }
    fn inverse_cosine(self) -> f64 {
        self.acos()
    }
    fn inverse_tangent(self) -> f64 {
        self.atan()
    }
    fn erf(self) -> f64 {
        libm::erf(self)
    }
    fn erfc(self) -> f64 {
        libm::erfc(self)
    }
}

float_ops! {
    /// Square root.
    Sqrt, 2, |x| x.sqrt(), complex |z| z.root(), slices complex::roots;
    /// One over the square root.
    Rsqrt, 3, |x| 1.0 / x.sqrt(), complex |z| Complex::from(1.0).usual_quotient(z.root());
    /// One over x.
    Reciprocal, 1, |x| 1.0 / x, complex |z| Complex::from(1.0).usual_quotient(z);
    /// The exponential function.
    Exp, TRANSCENDENTAL, |x| double::exp(x), f64 in_blocks, simd exp exp_in_place, complex |z| z.exp(), slices complex::exp;
    /// `exp(x) - 1` without cancellation.
    Expm1, TRANSCENDENTAL, |x| double::expm1(x), f64 in_blocks, simd expm1 expm1_in_place, complex |z| {
        // exp(a + ib) - 1 = expm1(a) cos b - 2 sin²(b / 2) + i exp(a) sin b
        let half = (z.im / 2.0).sin();
        Complex::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
    };
    /// The natural logarithm.
    Log, TRANSCENDENTAL, |x| double::log(x), f64 in_blocks, simd log log_in_place, complex |z| z.ln();
    /// `log(1 + x)` without cancellation.
    Log1p, TRANSCENDENTAL, |x| double::log1p(x), f64 in_blocks, simd log1p log1p_in_place, complex |z| complex_log_1p(z);
    /// Sine.
    Sin, TRANSCENDENTAL, |x| x.sin(), simd sin sin_in_place, complex |z| z.sin();
    /// Cosine.
    Cos, TRANSCENDENTAL, |x| x.cos(), simd cos cos_in_place, complex |z| z.cos();
    /// Tangent.
    Tan, TRANSCENDENTAL, |x| x.tan(), complex |z| z.tan();
    /// Hyperbolic sine.
    Sinh, TRANSCENDENTAL, |x| x.sinh(), simd sinh sinh_in_place, complex |z| z.sinh();
    /// Hyperbolic cosine.
    Cosh, TRANSCENDENTAL, |x| x.cosh(), simd cosh cosh_in_place, complex |z| z.cosh();
    /// Hyperbolic tangent.
    Tanh, TRANSCENDENTAL, |x| double::tanh(x), f64 in_blocks, simd tanh tanh_in_place, complex |z| z.tanh();
    /// Inverse sine.
    Asin, TRANSCENDENTAL, |x| Special::inverse_sine(x), complex |z| z.asin();
    /// Inverse cosine.
    Acos, TRANSCENDENTAL, |x| Special::inverse_cosine(x), complex |z| z.acos();
    /// Inverse tangent.
    Atan, TRANSCENDENTAL, |x| Special::inverse_tangent(x), complex |z| z.atan();
    /// Inverse hyperbolic sine.
    Asinh, TRANSCENDENTAL, |x| x.asinh(), simd asinh asinh_in_place, complex |z| z.asinh();
    /// Inverse hyperbolic cosine.
    Acosh, TRANSCENDENTAL, |x| x.acosh(), simd acosh acosh_in_place, complex |z| z.acosh();
    /// Inverse hyperbolic tangent.
    Atanh, TRANSCENDENTAL, |x| x.atanh(), simd atanh atanh_in_place, complex |z| z.atanh();
    /// `1 / (1 + exp(-x))`.
    Sigmoid, TRANSCENDENTAL, |x| double::sigmoid(x), f64 in_blocks, simd sigmoid sigmoid_in_place, complex |z| (Complex::from(1.0) + (-z).exp()).inv();
    /// The error function.
    Erf, TRANSCENDENTAL, |x| Special::erf(x), simd erf erf_in_place;
    /// One minus the error function.
    Erfc, TRANSCENDENTAL, |x| Special::erfc(x), simd erfc erfc_in_place;
    /// The inverse of the error function.
    Erfinv, 4 * TRANSCENDENTAL, |x| special::erfinv(x), slices special::erfinv_of_slice;
    /// The quantile function of the normal distribution.
    Ndtri, 4 * TRANSCENDENTAL, |x| special::ndtri(x), slices special::ndtri_of_slice;
    /// The logarithm of the absolute value of the gamma function.
    Lgamma, 4 * TRANSCENDENTAL, |x| x.special(libm::lgamma);
    /// The derivative of `Lgamma`.
    Digamma, 4 * TRANSCENDENTAL, |x| x.special(special::digamma);
    /// The modified Bessel function of order 0, times `exp(-|x|)`.
    BesselI0, 5 * TRANSCENDENTAL, |x| x.special(special::bessel_i0);
    BesselI0e, 4 * TRANSCENDENTAL, |x| special::bessel_i0e(x), slices special::bessel_i0e_of_slice;
    /// The modified Bessel function of order 1, times `exp(-|x|)`.
    BesselI1, 5 * TRANSCENDENTAL, |x| x.special(special::bessel_i1);
    BesselI1e, 4 * TRANSCENDENTAL, |x| special::bessel_i1e(x), slices special::bessel_i1e_of_slice;
    /// The Bessel function of the first kind of order 0.
    BesselJ0, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_j0);
    /// The Bessel function of the first kind of order 1.
    BesselJ1, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_j1);
    /// The modified Bessel function of the second kind of order 0.
    BesselK0, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_k0);
    /// The modified Bessel function of the second kind of order 0, times `exp(x)`.
    BesselK0e, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_k0e);
    /// The modified Bessel function of the second kind of order 1.
    BesselK1, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_k1);
    /// The modified Bessel function of the second kind of order 1, times `exp(x)`.
    BesselK1e, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_k1e);
    /// The Bessel function of the second kind of order 0.
    BesselY0, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_y0);
    /// The Bessel function of the second kind of order 1.
    BesselY1, 4 * TRANSCENDENTAL, |x| x.special(special::bessel_y1);
    /// Dawson's integral.
    Dawsn, 4 * TRANSCENDENTAL, |x| x.special(special::dawsn);
    /// The exponential integral.
    Expint, 4 * TRANSCENDENTAL, |x| x.special(special::expint);
    /// Fresnel's cosine integral.
    FresnelCos, 4 * TRANSCENDENTAL, |x| x.special(special::fresnel_cos);
    /// Fresnel's sine integral.
    FresnelSin, 4 * TRANSCENDENTAL, |x| x.special(special::fresnel_sin);
    /// The dilogarithm of one minus x.
    Spence, 4 * TRANSCENDENTAL, |x| x.special(special::spence);
    /// The least integer that is not less.
    Ceil, 1, |x| x.ceil();
    /// The greatest integer that is not greater.
    Floor, 1, |x| x.floor();
    /// The nearest integer, halves to even.
    Round, 1, |x| x.round_ties_even();
}

impl UnaryOp<i32> for Round {
    type Out = i32;
    fn apply(x: i32) -> i32 {
        x
    }
}

impl UnaryOp<i64> for Round {
    type Out = i64;
    fn apply(x: i64) -> i64 {
        x
    }
}
