//! Elementary functions on slices of `f32`.
//!
//! Every function treats each element independently: the result of an element does not depend on the length of the slice. NaN stays NaN, infinities
//! and signed zeros follow IEEE 754's recommendations, denormal arguments and results are kept. Each function's documentation gives its error, in
//! units in the last place of the exact result, and the tests check it.

use super::for_each_isa;
use super::math::{self, Map, map_kernel};
use super::{Isa, isa};

for_each_isa! {
    unsafe fn map<F: Map>(f: F, dst: *mut f32, src: *const f32, n: usize) = map_kernel::<f32, F>;
}

fn apply<F: Map>(isa: Isa, f: F, dst: &mut [f32], src: &[f32]) {
    assert_eq!(dst.len(), src.len(), "lengths of destination and source");
    // SAFETY: `isa` is one that the CPU has; both slices have `n` elements and cannot overlap.
    unsafe { map(isa, f, dst.as_mut_ptr(), src.as_ptr(), src.len()) }
}

fn apply_in_place<F: Map>(isa: Isa, f: F, x: &mut [f32]) {
    let (x, len) = (x.as_mut_ptr(), x.len());
    // SAFETY: `isa` is one that the CPU has; source and destination are the same slice.
    unsafe { map(isa, f, x, x.cast_const(), len) }
}

macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident, $in_place:ident $(($param:ident: $ty:ty))? = $map:expr;)*) => {$(
        $(#[$meta])*
        ///
        /// # Panics
        /// If the lengths differ.
        pub fn $name(dst: &mut [f32], src: &[f32] $(, $param: $ty)?) {
            apply(isa(), $map, dst, src);
        }

        #[doc = concat!("[`", stringify!($name), "`] in place.")]
        pub fn $in_place(x: &mut [f32] $(, $param: $ty)?) {
            apply_in_place(isa(), $map, x);
        }
    )*};
}

functions! {
    /// Computes `e^x`, within 1.5 ulp.
    exp, exp_in_place = math::Exp;
    /// Computes `e^x - 1`, within 2 ulp.
    expm1, expm1_in_place = math::Expm1;
    /// Computes the natural logarithm, within 1.5 ulp.
    log, log_in_place = math::Log;
    /// Computes `ln(1 + x)`, within 3 ulp.
    log1p, log1p_in_place = math::Log1p;
    /// Computes the hyperbolic tangent, within 2.5 ulp.
    tanh, tanh_in_place = math::Tanh;
    /// Computes the hyperbolic sine, within 2.5 ulp.
    sinh, sinh_in_place = math::Sinh;
    /// Computes the hyperbolic cosine, within 2.5 ulp.
    cosh, cosh_in_place = math::Cosh;
    /// Computes the inverse hyperbolic sine, within 4 ulp.
    asinh, asinh_in_place = math::Asinh;
    /// Computes the inverse hyperbolic cosine, within 4 ulp.
    acosh, acosh_in_place = math::Acosh;
    /// Computes the inverse hyperbolic tangent, within 4 ulp.
    atanh, atanh_in_place = math::Atanh;
    /// Computes `1 / (1 + e^-x)`, within 2.5 ulp.
    sigmoid, sigmoid_in_place = math::Sigmoid;
    /// Computes the error function, within 1.5 ulp.
    erf, erf_in_place = math::Erf;
    /// Computes one minus the error function, within 4 ulp.
    erfc, erfc_in_place = math::Erfc;
    /// Computes the sine, within 1.5 ulp, or 1e-7 near zeros other than 0.
    sin, sin_in_place = math::Sin;
    /// Computes the cosine, within 1.5 ulp, or 1e-7 near zeros.
    cos, cos_in_place = math::Cos;
    /// Computes the square root, correctly rounded.
    sqrt, sqrt_in_place = math::Sqrt;
    /// Computes `1 / sqrt(x)`, within 1.5 ulp.
    rsqrt, rsqrt_in_place = math::Rsqrt;
    /// Computes `max(x, 0)`.
    relu, relu_in_place = math::Relu;
    /// Computes `min(max(x, 0), 6)`.
    relu6, relu6_in_place = math::Relu6;
    /// Computes `x > 0 ? x : alpha x`.
    leaky_relu, leaky_relu_in_place (alpha: f32) = math::LeakyRelu(alpha);
    /// Computes `x < 0 ? e^x - 1 : x`.
    elu, elu_in_place = math::Elu;
    /// Computes `ln(1 + e^x)`.
    softplus, softplus_in_place = math::Softplus;
    /// Computes `x / 2 (1 + erf(x / sqrt 2))`, within 4 ulp, or 1e-6 below 0.
    gelu_exact, gelu_exact_in_place = math::GeluExact;
    /// Computes `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    gelu_approximate, gelu_approximate_in_place = math::GeluApproximate;
    /// Computes `x sigmoid(x)`.
    silu, silu_in_place = math::Silu;
    /// Computes `min(max(x + 3, 0), 6) / 6`.
    hard_sigmoid, hard_sigmoid_in_place = math::HardSigmoid;
    /// Computes `x min(max(x + 3, 0), 6) / 6`.
    hard_swish, hard_swish_in_place = math::HardSwish;
    /// Computes `x < 0 ? scale alpha (e^x - 1) : scale x`, with the constants of Klambauer et al. (2017).
    selu, selu_in_place = math::Selu;
    /// Computes `x tanh(ln(1 + e^x))`.
    mish, mish_in_place = math::Mish;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the distance of `got` from `exact` in units of the last place of `exact` rounded to `f32`.
    fn ulps(got: f32, exact: f64) -> f64 {
        let nearest = exact as f32;
        if got == nearest || (got.is_nan() && nearest.is_nan()) {
            return 0.0;
        }
        if !got.is_finite() || !nearest.is_finite() {
            return f64::INFINITY;
        }
        let magnitude = nearest.abs().max(f32::MIN_POSITIVE);
        let ulp = f64::from(f32::from_bits(magnitude.to_bits() + 1)) - f64::from(magnitude);
        (f64::from(got) - exact).abs() / ulp
    }

    /// Returns about 200,000 values: every 20,011th bit pattern, and a fine grid around 0.
    fn arguments() -> Vec<f32> {
        let patterns = (0..=u32::MAX).step_by(20_011).map(f32::from_bits);
        let grid = (-40_000..40_000).map(|i| i as f32 * 1.234_567e-3 * 0.5);
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        patterns.chain(grid).chain(special).collect()
    }

    fn check<F: Map>(name: &str, f: F, exact: impl Fn(f64) -> f64, limit: f64, absolute: f64) {
        let xs = arguments();
        for isa in Isa::available() {
            // Without fused multiply-add, the polynomials are a little less accurate.
            let limit = if isa == Isa::Portable { limit + 1.5 } else { limit };
            let mut ys = vec![0.0; xs.len()];
            apply(isa, f, &mut ys, &xs);
            let mut worst = (0.0, 0.0, 0.0);
            for (x, y) in xs.iter().zip(&ys) {
                let want = exact(f64::from(*x));
                let error = ulps(*y, want);
                if error > worst.0 && (f64::from(*y) - want).abs() > absolute || error.is_nan() {
                    worst = (error, *x, *y);
                }
            }
            assert!(
                worst.0 <= limit,
                "{name} on {isa:?}: {} ulp at {:e}, got {:e}, want {:e}",
                worst.0,
                worst.1,
                worst.2,
                exact(f64::from(worst.1)),
            );
            for (x, y) in xs.iter().zip(&ys).step_by(97) {
                let mut one = [*x];
                apply_in_place(isa, f, &mut one);
                assert_eq!(one[0].to_bits(), y.to_bits(), "{name} on {isa:?}: one element at {x:e}");
            }
        }
    }

    #[test]
    fn exponentials_and_logarithms_are_accurate() {
        check("exp", math::Exp, f64::exp, 1.5, 0.0);
        check("expm1", math::Expm1, f64::exp_m1, 2.0, 0.0);
        check("log", math::Log, f64::ln, 1.5, 0.0);
        check("log1p", math::Log1p, f64::ln_1p, 3.0, 0.0);
    }

    #[test]
    fn sigmoids_are_accurate() {
        check("tanh", math::Tanh, f64::tanh, 2.5, 0.0);
        check("sigmoid", math::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2.5, 0.0);
        check("erf", math::Erf, libm::erf, 1.5, 0.0);
        check("erfc", math::Erfc, libm::erfc, 4.0, 0.0);
    }

    #[test]
    fn hyperbolic_functions_are_accurate() {
        check("sinh", math::Sinh, f64::sinh, 2.5, 0.0);
        check("cosh", math::Cosh, f64::cosh, 2.5, 0.0);
        check("asinh", math::Asinh, f64::asinh, 4.0, 0.0);
        check("acosh", math::Acosh, f64::acosh, 4.0, 0.0);
        check("atanh", math::Atanh, f64::atanh, 4.0, 0.0);
    }

    #[test]
    fn sine_and_cosine_are_accurate() {
        check("sin", math::Sin, f64::sin, 1.5, 1e-7);
        check("cos", math::Cos, f64::cos, 1.5, 1e-7);
    }

    #[test]
    fn roots_are_accurate() {
        check("sqrt", math::Sqrt, f64::sqrt, 0.51, 0.0);
        check("rsqrt", math::Rsqrt, |x| 1.0 / x.sqrt(), 1.5, 0.0);
    }

    #[test]
    fn activations_match_their_formulas() {
        let elu = |x: f64| if x < 0.0 { x.exp_m1() } else { x };
        check("relu", math::Relu, |x| if x < 0.0 { 0.0 } else { x }, 0.0, 0.0);
        check("relu6", math::Relu6, |x| if x.is_nan() { x } else { x.clamp(0.0, 6.0) }, 0.0, 0.0);
        check("elu", math::Elu, elu, 2.0, 0.0);
        check("softplus", math::Softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + 0.0 * x.signum(), 3.0, 0.0);
        check("silu", math::Silu, |x| x / (1.0 + (-x).exp()), 3.5, 1e-37);
        let clamped = |x: f64| if x.is_nan() { x } else { (x + 3.0).clamp(0.0, 6.0) / 6.0 };
        check("hard_sigmoid", math::HardSigmoid, clamped, 2.0, 2e-7);
        check("hard_swish", math::HardSwish, |x| x * clamped(x), 2.5, 5e-7);
        check("selu", math::Selu, |x| if x < 0.0 { 1.758_099_340_847_376_6 * x.exp_m1() } else { 1.050_700_987_355_480_5 * x }, 4.0, 0.0);
        check("mish", math::Mish, |x| x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh(), 6.0, 1e-37);
        let gelu = |x: f64| 0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2));
        check("gelu", math::GeluExact, gelu, 4.0, 1e-6);
        let tail = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
        check("gelu_tanh", math::GeluApproximate, |x| 0.5 * x * (1.0 + tail(x).tanh()), 4.0, 5e-7);
    }

    #[test]
    fn signed_zeros_survive() {
        for isa in Isa::available() {
            for f in [-0.0f32, 0.0] {
                let mut x = [f];
                apply_in_place(isa, math::Tanh, &mut x);
                assert_eq!(x[0].to_bits(), f.to_bits());
                apply_in_place(isa, math::Expm1, &mut x);
                assert_eq!(x[0].to_bits(), f.to_bits());
                apply_in_place(isa, math::Erf, &mut x);
                assert_eq!(x[0].to_bits(), f.to_bits());
                apply_in_place(isa, math::Sin, &mut x);
                assert_eq!(x[0].to_bits(), f.to_bits());
            }
        }
    }
}
