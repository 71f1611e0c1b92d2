//! Elementary functions of `f32`, lane by lane, for every instruction set.
//!
//! Each function reduces its argument, evaluates a polynomial and puts the result together with bit arithmetic; there
//! are no tables and no data-dependent branches except for arguments of sine and cosine beyond [`TRIG_LIMIT`]. Errors are bounded
//! by tests against `f64`: see [`unary`](super::unary). Polynomials are the single-precision ones of Cephes (S. Moshier), N. Juffa's for erf,
//! and, for erfc, one in the variable of Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981).

use super::vector::MathVector;

/// A lane-wise function of one vector.
pub(crate) trait Map: Copy + Send + Sync {
    /// # Safety
    /// The CPU has V's instruction set.
    unsafe fn apply<V: MathVector>(self, x: V) -> V;
}

/// Defines lane-wise functions that call only lane-wise operations.
///
/// Each is `unsafe` to call for one reason only: the CPU must have V's instruction set.
macro_rules! lanes {
    ($(
        $(#[$meta:meta])*
        fn $name:ident <$v:ident> ($($arg:ident),*) -> $ret:ty $body:block
    )*) => {$(
        $(#[$meta])*
        #[inline(always)]
        pub(crate) unsafe fn $name<$v: MathVector>($($arg: $v),*) -> $ret {
            // SAFETY: the caller's CPU has V's instruction set; nothing here touches memory.
            unsafe { $body }
        }
    )*};
}

/// Evaluates a polynomial by Horner's rule, highest coefficient first.
macro_rules! polynomial {
    ($v:ident, $x:expr, $first:literal $(, $c:literal)*) => {{
        let mut p = $v::splat($first);
        $(p = p.mul_add($x, $v::splat($c));)*
        p
    }};
}

const LOG2_E: f32 = std::f32::consts::LOG2_E;
// ln 2 in two parts; the first has so few bits that its product with any exponent is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// A sum with this number is rounded to an integer, whose low bits are those of the sum. 1.5 instead of 1 keeps negative integers in the same binade.
const ROUNDING: f32 = 1.5 * 8_388_608.0;
/// The bias of an exponent.
const BIAS: f32 = 127.0;
/// A factor for numbers that may be denormal: the least denormal number times this is normal.
const SCALE: f32 = 16_777_216.0;
const LOG2_SCALE: f32 = 24.0;

/// Above this magnitude, the scalar library reduces the argument of sine and cosine.
pub(crate) const TRIG_LIMIT: f32 = 8192.0;

lanes! {
    fn copy_sign<V>(magnitude, sign) -> V {
        let sign = V::int_and(sign.bits(), V::int_splat(i32::MIN));
        V::from_bits(V::int_or(magnitude.bits(), sign))
    }

    fn negate<V>(x) -> V {
        V::from_bits(V::int_xor(x.bits(), V::int_splat(i32::MIN)))
    }

    /// Returns `result`, or `x` itself if it is a zero of either sign or NaN.
    fn zero_to_zero<V>(x, result) -> V {
        V::select(x.lt(V::zero()), result, V::select(V::zero().lt(x), result, x))
    }

    /// Returns `exp(r) - 1` for |r| <= ln(2) / 2.
    fn exp_minus_one_reduced<V>(r) -> V {
        let p = polynomial!(V, r, 1.987_569_2e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5);
        p.mul_add(r.mul(r), r)
    }

    /// Returns `x - n ln 2`.
    fn minus_n_ln2<V>(x, n) -> V {
        let r = n.mul_add(V::splat(-LN2_HIGH), x);
        n.mul_add(V::splat(-LN2_LOW), r)
    }

    /// Returns `2^n`, where `sum` is `n + BIAS + ROUNDING` for an integer `n` in -126..=127.
    fn power_of_two<V>(sum) -> V {
        V::from_bits(V::int_shl::<23>(sum.bits()))
    }

    /// Returns `2^ceil(n / 2)` and `2^floor(n / 2)`, whose product is `2^n` even if that overflows or is denormal, where `sum` is `n + ROUNDING` for an
    /// integer `n` in -252..=254.
    fn factors_of_power<V>(sum) -> (V, V) {
        let n = V::int_sub(sum.bits(), V::splat(ROUNDING).bits());
        let half = V::int_sar::<1>(n);
        let power = |n| V::from_bits(V::int_shl::<23>(V::int_add(n, V::int_splat(127))));
        (power(V::int_sub(n, half)), power(half))
    }

    fn exp<V>(x) -> V {
        // Outside of these bounds the result is 0 or infinite; NaN is kept.
        let x = V::splat(-104.0).max(V::splat(89.0).min(x));
        let sum = x.mul_add(V::splat(LOG2_E), V::splat(ROUNDING));
        let p = exp_minus_one_reduced(minus_n_ln2(x, sum.sub(V::splat(ROUNDING)))).add(V::splat(1.0));
        let (one, other) = factors_of_power(sum);
        p.mul(one).mul(other)
    }

    /// Returns `exp(x)` for `x <= 0`.
    fn exp_of_negative<V>(x) -> V {
        scaled_exp_of_negative(x).mul(V::splat(1.0 / SCALE))
    }

    /// Returns `SCALE exp(x)` for `x <= 0`, which is never denormal.
    fn scaled_exp_of_negative<V>(x) -> V {
        let x = V::splat(-104.0).max(x);
        let sum = x.mul_add(V::splat(LOG2_E), V::splat(ROUNDING + BIAS + LOG2_SCALE));
        let q = exp_minus_one_reduced(minus_n_ln2(x, sum.sub(V::splat(ROUNDING + BIAS + LOG2_SCALE))));
        let power = power_of_two(sum);
        q.mul_add(power, power)
    }

    /// Returns `exp(x) - 1` for x in -20..=89; the sign of a zero is kept.
    fn expm1_bounded<V>(x) -> V {
        let sum = x.mul_add(V::splat(LOG2_E), V::splat(ROUNDING + BIAS - 1.0));
        let q = exp_minus_one_reduced(minus_n_ln2(x, sum.sub(V::splat(ROUNDING + BIAS - 1.0))));
        // 2^n q + (2^n - 1), halved so that n = 128 does not overflow early.
        let s = power_of_two(sum);
        let result = s.mul_add(q, s.sub(V::splat(0.5)));
        result.add(result)
    }

    fn expm1<V>(x) -> V {
        zero_to_zero(x, expm1_bounded(V::splat(-20.0).max(V::splat(89.0).min(x))))
    }

    fn log<V>(x) -> V {
        let smallest = V::splat(f32::MIN_POSITIVE);
        let tiny = x.lt(smallest);
        let scaled = V::select(tiny, x.mul(V::splat(8_388_608.0)), x);
        // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
        let bits = V::int_sub(scaled.bits(), V::int_splat(0x3f35_04f3));
        let e = V::from_int(V::int_sar::<23>(bits));
        let e = V::select(tiny, e.sub(V::splat(23.0)), e);
        let mantissa = V::int_and(bits, V::int_splat(0x007f_ffff));
        let m = V::from_bits(V::int_add(mantissa, V::int_splat(0x3f35_04f3)));
        let f = m.sub(V::splat(1.0));
        let p = polynomial!(
            V, f, 7.037_683_6e-2, -0.115_146_1, 0.116_769_98, -0.124_201_41, 0.142_493_23, -0.166_680_57,
            0.200_007_15, -0.249_999_94, 0.333_333_3
        );
        let z = f.mul(f);
        let tail = e.mul_add(V::splat(LN2_LOW), p.mul(f).mul(z));
        let tail = z.mul_add(V::splat(-0.5), tail);
        let result = e.mul_add(V::splat(LN2_HIGH), f.add(tail));
        let result = V::select(x.lt(V::splat(f32::INFINITY)), result, x);
        let result = V::select(V::zero().lt(x), result, V::splat(f32::NEG_INFINITY));
        // The result is NaN for negative numbers and NaN.
        let result = V::select(x.lt(V::zero()), V::splat(f32::NAN), result);
        V::select(x.is_nan(), x, result)
    }

    fn log1p<V>(x) -> V {
        // The ratio x / ((1 + x) - 1) compensates for the rounding error of 1 + x.
        let u = x.add(V::splat(1.0));
        let d = u.sub(V::splat(1.0));
        let corrected = log(u).mul(x.div(d));
        let small = d.abs().lt(V::splat(f32::MIN_POSITIVE));
        let result = V::select(small, x, corrected);
        V::select(V::splat(1e10).lt(x), log(u), V::select(x.lt(V::splat(-0.999_999_9)), log(u), result))
    }

    fn tanh<V>(x) -> V {
        // (exp(2 |x|) - 1) / (exp(2 |x|) + 1), which is 1 beyond 10; NaN is kept.
        let a = V::splat(10.0).min(x.abs());
        let t = expm1_bounded(a.add(a));
        copy_sign(t.div(t.add(V::splat(2.0))), x)
    }

    /// Returns `exp(x) / 2` for x >= 0, which overflows later than `exp(x)`.
    fn half_exp<V>(x) -> V {
        let x = V::splat(90.0).min(x);
        let sum = x.mul_add(V::splat(LOG2_E), V::splat(ROUNDING));
        let p = exp_minus_one_reduced(minus_n_ln2(x, sum.sub(V::splat(ROUNDING)))).add(V::splat(1.0));
        let (one, other) = factors_of_power(sum.sub(V::splat(1.0)));
        p.mul(one).mul(other)
    }

    fn sinh<V>(x) -> V {
        let a = x.abs();
        let h = half_exp(a);
        let large = h.sub(V::splat(0.25).div(h));
        // (t + t / (t + 1)) / 2 with t = exp(a) - 1, without cancellation.
        let t = expm1_bounded(V::splat(1.0).min(a));
        let small = t.add(t.div(t.add(V::splat(1.0)))).mul(V::splat(0.5));
        zero_to_zero(x, copy_sign(V::select(a.lt(V::splat(1.0)), small, large), x))
    }

    fn cosh<V>(x) -> V {
        let h = half_exp(x.abs());
        h.add(V::splat(0.25).div(h))
    }

    /// Returns `log(2 x)` for large x.
    fn log_of_double<V>(x) -> V {
        log(x).add(V::splat(std::f32::consts::LN_2))
    }

    fn asinh<V>(x) -> V {
        let a = x.abs();
        let square = a.mul(a);
        let root = square.add(V::splat(1.0)).sqrt();
        let small = log1p(a.add(square.div(root.add(V::splat(1.0)))));
        zero_to_zero(x, copy_sign(V::select(V::splat(1e9).lt(a), log_of_double(a), small), x))
    }

    fn acosh<V>(x) -> V {
        let t = x.sub(V::splat(1.0));
        let small = log1p(t.add(t.mul(t.add(V::splat(2.0))).sqrt()));
        let result = V::select(V::splat(1e9).lt(x), log_of_double(x), small);
        V::select(x.lt(V::splat(1.0)), V::splat(f32::NAN), result)
    }

    fn atanh<V>(x) -> V {
        let a = x.abs();
        let quotient = a.add(a).div(V::splat(1.0).sub(a));
        zero_to_zero(x, copy_sign(log1p(quotient).mul(V::splat(0.5)), x))
    }

    fn sigmoid<V>(x) -> V {
        let e = scaled_exp_of_negative(negate(x.abs()));
        let one = V::splat(SCALE);
        V::select(x.lt(V::zero()), e, one).div(e.add(one))
    }

    fn erf<V>(x) -> V {
        let t = x.abs();
        let s = x.mul(x);
        let r = polynomial!(V, t, -1.728_534_7e-5, 3.831_971_3e-4);
        let u = polynomial!(V, t, -3.883_964_4e-3, 2.425_462_2e-2);
        let r = r.mul_add(s, u);
        let r = r.mul_add(t, V::splat(-0.106_777_88));
        let r = r.mul_add(t, V::splat(-0.634_846_7));
        let r = r.mul_add(t, V::splat(-0.128_717_51));
        let r = r.mul_add(t, negate(t));
        let large = copy_sign(V::splat(1.0).sub(exp_of_negative(r)), x);
        let p = polynomial!(
            V, s, -5.967_617e-4, 4.991_194_2e-3, -2.676_813_5e-2, 0.112_819_925, -0.376_125_34, 0.128_379_17
        );
        let small = p.mul_add(x, x);
        let result = V::select(t.lt(V::splat(0.927_734_4)), small, large);
        // The polynomial of the tail is not monotonic for huge arguments.
        V::select(V::splat(4.0).lt(t), copy_sign(V::splat(1.0), x), result)
    }

    fn erfc<V>(x) -> V {
        let one = V::splat(1.0);
        // Beyond 11 the result is 0 or 2; NaN is kept.
        let a = V::splat(11.0).min(x.abs());
        // erfc(a) = exp(-a^2) p((a - 2) / (a + 2)) / (1 + 2 a), where p was fitted for a in 0.5..=10.2.
        let q = a.sub(V::splat(2.0)).div(a.add(V::splat(2.0)));
        let p = polynomial!(
            V, q, -1.340_495_7e-3, 9.518_173e-4, 8.711_559e-3, -7.948_917e-3, -5.422_255e-2, 0.164_042_52, -0.166_030_06,
            -9.276_358e-2, 1.276_978_4
        );
        // a^2 in two parts: the square of the upper half of the bits, which is exact, and the rest.
        let upper = V::from_bits(V::int_and(a.bits(), V::int_splat(!0xfff)));
        let rest = upper.sub(a).mul(upper.add(a));
        let power = exp(negate(upper.mul(upper)));
        let power = exp_minus_one_reduced(rest).mul_add(power, power);
        let tail = power.mul(p.div(a.add(a).add(one)));
        let tail = V::select(x.lt(V::zero()), V::splat(2.0).sub(tail), tail);
        let result = V::select(a.lt(V::splat(0.5)), one.sub(erf(x)), tail);
        V::select(x.is_nan(), x, result)
    }

    /// Returns the sine of `x + quarter turns * pi / 2` for |x| up to [`TRIG_LIMIT`].
    fn sine_shifted<V>(x, quarter_turns) -> V {
        let n = x.mul(V::splat(std::f32::consts::FRAC_2_PI)).round();
        // pi / 2 in three parts, the first two with so few bits that products are exact.
        let r = n.mul_add(V::splat(-1.570_312_5), x);
        let r = n.mul_add(V::splat(-4.837_513e-4), r);
        let r = n.mul_add(V::splat(-7.549_79e-8), r);
        let quadrant = V::int_add(n.to_int(), quarter_turns.to_int());
        let z = r.mul(r);
        let s = polynomial!(V, z, -1.951_529_6e-4, 8.332_161e-3, -0.166_666_55);
        let s = s.mul(z).mul_add(r, r);
        let c = polynomial!(V, z, 2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2);
        let c = c.mul(z).mul_add(z, V::splat(-0.5).mul_add(z, V::splat(1.0)));
        let even = V::int_eq(V::int_and(quadrant, V::int_splat(1)), V::int_splat(0));
        let sign = V::int_shl::<31>(V::int_sar::<1>(quadrant));
        V::from_bits(V::int_xor(V::select(even, s, c).bits(), sign))
    }

    fn relu<V>(x) -> V {
        V::zero().max(x)
    }

    fn relu6<V>(x) -> V {
        V::splat(6.0).min(V::zero().max(x))
    }

    fn elu<V>(x) -> V {
        V::select(x.lt(V::zero()), expm1(x), x)
    }

    fn softplus<V>(x) -> V {
        // max(x, 0) + log1p(exp(-|x|)).
        V::select(x.is_nan(), x, log1p_of_share(exp_of_negative(negate(x.abs()))).add(V::zero().max(x)))
    }

    /// Returns `log(1 + x)` for x from 0 to 1: twice the inverse hyperbolic tangent of `x / (2 + x)`, which is at most a third, by its series.
    fn log1p_of_share<V>(x) -> V {
        let s = x.div(x.add(V::splat(2.0)));
        let series = polynomial!(
            V, s.mul(s), 0.066_666_67, 0.076_923_08, 0.090_909_09, 0.111_111_11, 0.142_857_14, 0.2, 0.333_333_34, 1.0
        );
        s.add(s).mul(series)
    }

    fn rsqrt<V>(x) -> V {
        V::splat(1.0).div(x.sqrt())
    }

    /// Returns the error function within 6 ulp, in half the time of [`erf`]: a quotient of polynomials, with the coefficients of Eigen and XLA, which
    /// TensorFlow computes it with.
    fn erf_by_quotient<V>(x) -> V {
        let limit = V::splat(3.832_506_9);
        let s = limit.mul(limit).min(x.mul(x));
        let p = polynomial!(V, s, 2.290_506_6e-4, 3.408_291e-3, 5.095_569_5e-2, 0.185_208_32, 1.128_379_1);
        let q = polynomial!(V, s, -1.179_160_3e-7, 2.354_796_6e-5, 1.017_962_6e-3, 1.407_047e-2, 0.110_985_05, 0.497_469_25, 1.0);
        let one = V::splat(1.0);
        let quotient = one.min(negate(one).max(x.mul(p).div(q)));
        V::select(limit.lt(x.abs()), copy_sign(one, x), quotient)
    }

    fn gelu_exact<V>(x) -> V {
        let e = erf_by_quotient(x.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2)));
        x.mul(V::splat(0.5)).mul(e.add(V::splat(1.0)))
    }

    fn gelu_approximate<V>(x) -> V {
        let cube = x.mul(x).mul(x);
        let inner = cube.mul_add(V::splat(0.044_715), x);
        // sqrt(2 / pi)
        let t = tanh(inner.mul(V::splat(0.797_884_6)));
        x.mul(V::splat(0.5)).mul(t.add(V::splat(1.0)))
    }

    fn silu<V>(x) -> V {
        x.mul(sigmoid(x))
    }

    fn hard_sigmoid<V>(x) -> V {
        relu6(x.add(V::splat(3.0))).mul(V::splat(1.0 / 6.0))
    }

    fn hard_swish<V>(x) -> V {
        x.mul(hard_sigmoid(x))
    }

    fn selu<V>(x) -> V {
        let negative = expm1(x).mul(V::splat(1.758_099_3));
        V::select(x.lt(V::zero()), negative, x.mul(V::splat(1.050_701)))
    }

    fn mish<V>(x) -> V {
        // tanh(log(1 + e)) is ((1 + e)² - 1) / ((1 + e)² + 1), of which both parts are divided by e² for positive numbers: no difference is left.
        let e = exp_of_negative(negate(x.abs()));
        let (twice, square) = (e.add(e), e.mul(e));
        let is_negative = x.lt(V::zero());
        let dividend = twice.add(V::select(is_negative, square, V::splat(1.0)));
        let rest = V::select(is_negative, V::splat(2.0), square.add(square));
        V::select(x.is_nan(), x, x.mul(dividend.div(dividend.add(rest))))
    }
}

/// Returns the sine or cosine: by the vector function, and by the scalar library for lanes beyond [`TRIG_LIMIT`].
///
/// # Safety
/// The CPU has V's instruction set.
#[inline(always)]
unsafe fn sine_or_scalar<V: MathVector>(x: V, quarter_turns: f32, scalar: fn(f32) -> f32) -> V {
    // SAFETY: the caller's CPU has V's instruction set; the arrays hold a whole vector.
    unsafe {
        let result = sine_shifted(x, V::splat(quarter_turns));
        let in_range = x.abs().lt(V::splat(TRIG_LIMIT));
        let outside = V::select(in_range, V::zero(), V::splat(1.0));
        if !V::any(V::zero().lt(outside)) {
            return result;
        }
        let (mut xs, mut ys) = ([0.0f32; 16], [0.0f32; 16]);
        x.store(xs.as_mut_ptr());
        result.store(ys.as_mut_ptr());
        for (x, y) in xs.iter().zip(&mut ys).take(V::LANES) {
            if x.is_nan() || x.abs() >= TRIG_LIMIT {
                *y = scalar(*x);
            }
        }
        V::load(ys.as_ptr())
    }
}

macro_rules! maps {
    ($($name:ident = |$x:ident| $body:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(crate) struct $name;
        impl Map for $name {
            #[inline(always)]
            unsafe fn apply<V: MathVector>(self, $x: V) -> V {
                // SAFETY: the caller's CPU has V's instruction set.
                unsafe { $body }
            }
        }
    )*};
}

maps! {
    Exp = |x| exp(x);
    Expm1 = |x| expm1(x);
    Log = |x| log(x);
    Log1p = |x| log1p(x);
    Tanh = |x| tanh(x);
    Sinh = |x| sinh(x);
    Cosh = |x| cosh(x);
    Asinh = |x| asinh(x);
    Acosh = |x| acosh(x);
    Atanh = |x| atanh(x);
    Sigmoid = |x| sigmoid(x);
    Erf = |x| erf(x);
    Erfc = |x| erfc(x);
    Sin = |x| zero_to_zero(x, sine_or_scalar(x, 0.0, libm::sinf));
    Cos = |x| sine_or_scalar(x, 1.0, libm::cosf);
    Sqrt = |x| x.sqrt();
    Rsqrt = |x| rsqrt(x);
    Relu = |x| relu(x);
    Relu6 = |x| relu6(x);
    Elu = |x| elu(x);
    Softplus = |x| softplus(x);
    GeluExact = |x| gelu_exact(x);
    GeluApproximate = |x| gelu_approximate(x);
    Silu = |x| silu(x);
    HardSigmoid = |x| hard_sigmoid(x);
    HardSwish = |x| hard_swish(x);
    Selu = |x| selu(x);
    Mish = |x| mish(x);
}

/// The function `x > 0 ? x : alpha * x`.
#[derive(Clone, Copy)]
pub(crate) struct LeakyRelu(pub(crate) f32);

impl Map for LeakyRelu {
    #[inline(always)]
    unsafe fn apply<V: MathVector>(self, x: V) -> V {
        // SAFETY: the caller's CPU has V's instruction set.
        unsafe { V::select(V::zero().lt(x), x, x.mul(V::splat(self.0))) }
    }
}

/// Computes `dst[i] = f(src[i])` for `i < n`.
///
/// # Safety
/// The CPU has V's instruction set; `src` and `dst` are good for `n` elements and equal or disjoint.
#[inline(always)]
pub(crate) unsafe fn map_kernel<V: MathVector, F: Map>(f: F, dst: *mut f32, src: *const f32, n: usize) {
    let whole = n / V::LANES * V::LANES;
    // SAFETY: `i + LANES <= n` in the loop, and the tail takes the `n - whole` elements after it.
    unsafe {
        let mut i = 0;
        while i < whole {
            f.apply(V::load(src.add(i))).store(dst.add(i));
            i += V::LANES;
        }
        if whole < n {
            let rest = n - whole;
            f.apply(V::load_part(src.add(whole), rest)).store_part(dst.add(whole), rest);
        }
    }
}
