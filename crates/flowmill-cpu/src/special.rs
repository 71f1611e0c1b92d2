//! Special functions of real numbers, in double precision.
//!
//! Relative errors are about 1e-14 where the function is well conditioned. Outside of their domains they give what TensorFlow gives, mostly NaN.

use std::f64::consts::{PI, SQRT_2};

/// Below this relative size of a term a series has converged.
const EPSILON: f64 = 1e-16;
/// The most terms of a series or steps of a continued fraction.
const MAX_TERMS: usize = 20_000;

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The derivative of the logarithm of the gamma function; NaN at its poles.
pub(crate) fn digamma(x: f64) -> f64 {
    /// `-B(2k) / 2k` for k = 1, 2, …: the asymptotic series in `1 / x²`.
    const SERIES: [f64; 7] = [-1.0 / 12.0, 1.0 / 120.0, -1.0 / 252.0, 1.0 / 240.0, -1.0 / 132.0, 691.0 / 32760.0, -1.0 / 12.0];
    if x <= 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        // Reflection; the tangent has period 1 in x.
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    x.ln() - 0.5 / x + square * polynomial(square, &SERIES) - shift
}

/// The quantile of the normal distribution at `0.5 + q`; `tail` is the smaller of the probability and its complement.
///
/// Wichura's rational approximations (Algorithm AS 241, Applied Statistics 37, 1988).
fn normal_quantile(q: f64, tail: f64) -> f64 {
    const CENTRE: [[f64; 8]; 2] = [
        [
            3.387_132_872_796_366_6,
            133.141_667_891_784_38,
            1_971.590_950_306_551_4,
            13_731.693_765_509_461,
            45_921.953_931_549_87,
            67_265.770_927_008_7,
            33_430.575_583_588_13,
            2_509.080_928_730_122_7,
        ],
        [
            1.0,
            42.313_330_701_600_91,
            687.187_007_492_057_9,
            5_394.196_021_424_751,
            21_213.794_301_586_597,
            39_307.895_800_092_71,
            28_729.085_735_721_943,
            5_226.495_278_852_854,
        ],
    ];
    const MIDDLE: [[f64; 8]; 2] = [
        [
            1.423_437_110_749_683_5,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            0.241_780_725_177_450_6,
            0.022_723_844_989_269_184,
            7.745_450_142_783_414e-4,
        ],
        [
            1.0,
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            0.689_767_334_985_1,
            0.148_103_976_427_480_08,
            0.015_198_666_563_616_457,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ],
    ];
    const FAR: [[f64; 8]; 2] = [
        [
            6.657_904_643_501_103,
            5.463_784_911_164_114,
            1.784_826_539_917_291_3,
            0.296_560_571_828_504_87,
            0.026_532_189_526_576_124,
            1.242_660_947_388_078_4e-3,
            2.711_555_568_743_487_6e-5,
            2.010_334_399_292_288_1e-7,
        ],
        [
            1.0,
            0.599_832_206_555_888,
            0.136_929_880_922_735_8,
            0.014_875_361_290_850_615,
            7.868_691_311_456_133e-4,
            1.846_318_317_510_054_8e-5,
            1.421_511_758_316_446e-7,
            2.044_263_103_389_939_8e-15,
        ],
    ];
    let ratio = |x: f64, [p, q]: &[[f64; 8]; 2]| polynomial(x, p) / polynomial(x, q);
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-tail.ln()).sqrt();
    let size = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) };
    size.copysign(q)
}

/// The inverse of the error function; infinite at ±1, NaN outside.
pub(crate) fn erfinv(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    normal_quantile(x / 2.0, (1.0 - x.abs()) / 2.0) / SQRT_2
}

/// The quantile function of the normal distribution; infinite at 0 and 1, NaN outside.
pub(crate) fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    normal_quantile(p - 0.5, p.min(1.0 - p))
}

/// From this argument on the asymptotic series of the Bessel functions is exact to double precision.
const BESSEL_ASYMPTOTIC: f64 = 30.0;

/// `exp(-|x|) I(order, |x|)` for order 0 or 1.
fn bessel_ie(order: u32, x: f64) -> f64 {
    let x = x.abs();
    let nu = f64::from(order);
    if x < BESSEL_ASYMPTOTIC {
        let quarter = x * x / 4.0;
        let mut term = if order == 0 { 1.0 } else { x / 2.0 };
        let (mut sum, mut k) = (term, 1.0);
        while term > sum * EPSILON {
            term *= quarter / (k * (k + nu));
            sum += term;
            k += 1.0;
        }
        return sum * (-x).exp();
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while k < 60.0 {
        let odd = 2.0 * k - 1.0;
        term *= (odd * odd - 4.0 * nu * nu) / (8.0 * k * x);
        if term.abs() < EPSILON {
            break;
        }
        sum += term;
        k += 1.0;
    }
    sum / (2.0 * PI * x).sqrt()
}

/// The modified Bessel function of order 0, scaled by `exp(-|x|)`.
pub(crate) fn bessel_i0e(x: f64) -> f64 {
    if x.is_nan() { x } else { bessel_ie(0, x) }
}

/// The modified Bessel function of order 1, scaled by `exp(-|x|)`.
pub(crate) fn bessel_i1e(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 { x } else { bessel_ie(1, x).copysign(x) }
}

/// `x^a exp(-x) / Γ(a)`, the factor that both expansions of the incomplete gamma function share.
fn gamma_factor(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - libm::lgamma(a)).exp()
}

/// `P(a, x)` by its power series, good for `x < a + 1`.
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    for _ in 0..MAX_TERMS {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < sum * EPSILON {
            break;
        }
    }
    sum * gamma_factor(a, x)
}

/// `Q(a, x)` by Lentz's evaluation of its continued fraction, good for `x >= a + 1`.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..MAX_TERMS {
        let i = i as f64;
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / nonzero(an * d + b, TINY);
        c = nonzero(b + an / c, TINY);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < EPSILON {
            break;
        }
    }
    h * gamma_factor(a, x)
}

/// How fast a sample of the gamma distribution of shape `a` changes with `a` where its quantile stays: minus the derivative of `P(a, x)` by `a`, divided
/// by the density. Of the power series, whose terms are of one size with the density; of the continued fraction, differentiated step by step.
pub(crate) fn gamma_sample_slope(a: f64, x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    if !(x > 0.0 && a > 0.0) || x.is_infinite() || a.is_infinite() {
        return f64::NAN;
    }
    if x < a + 1.0 { slope_of_series(a, x) } else { slope_of_fraction(a, x) }
}

/// The derivative of `P(a, x)` by `a`.
pub(crate) fn igamma_grad_a(a: f64, x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    -gamma_sample_slope(a, x) * gamma_factor(a, x) / x
}

fn slope_of_series(a: f64, x: f64) -> f64 {
    let (mut term, mut n, mut digamma) = (x / a, a, digamma(a) + 1.0 / a);
    let (mut sum, log) = (0.0, x.ln());
    for _ in 0..MAX_TERMS {
        let step = term * (log - digamma);
        sum += step;
        n += 1.0;
        // Behind the first terms, whose sign may be the other one, they fall.
        if n > x && step.abs() < sum.abs() * EPSILON {
            break;
        }
        term *= x / n;
        digamma += 1.0 / n;
    }
    -sum
}

fn slope_of_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // Each number with its derivative.
    let (mut b, db) = (x + 1.0 - a, -1.0);
    let (mut c, mut dc) = (1.0 / TINY, 0.0);
    let mut d = 1.0 / b;
    let mut dd = -d * d * db;
    let (mut h, mut dh) = (d, dd);
    for i in 1..MAX_TERMS {
        let i = i as f64;
        let (an, dan) = (-i * (i - a), i);
        b += 2.0;
        let inverse = nonzero(an * d + b, TINY);
        let d_inverse = dan * d + an * dd + db;
        (d, dd) = (1.0 / inverse, -d_inverse / (inverse * inverse));
        (c, dc) = (nonzero(b + an / c, TINY), db + dan / c - an * dc / (c * c));
        let (step, d_step) = (d * c, dd * c + d * dc);
        (h, dh) = (h * step, dh * step + h * d_step);
        if (step - 1.0).abs() < EPSILON && d_step.abs() < EPSILON {
            break;
        }
    }
    x * (dh + h * (x.ln() - digamma(a)))
}

fn nonzero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

/// The regularised lower incomplete gamma function `P(a, x)`.
pub(crate) fn igamma(a: f64, x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    if x < 0.0 || a <= 0.0 || x.is_nan() || a.is_nan() {
        return f64::NAN;
    }
    if a.is_infinite() {
        return if x.is_infinite() { f64::NAN } else { 0.0 };
    }
    if x.is_infinite() {
        return 1.0;
    }
    if x < a + 1.0 { gamma_series(a, x) } else { 1.0 - gamma_fraction(a, x) }
}

/// The regularised upper incomplete gamma function `Q(a, x)`.
pub(crate) fn igammac(a: f64, x: f64) -> f64 {
    if x < 0.0 || a <= 0.0 || x.is_nan() || a.is_nan() {
        return f64::NAN;
    }
    if a.is_infinite() {
        return if x.is_infinite() { f64::NAN } else { 1.0 };
    }
    if x == 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    if x < a + 1.0 { 1.0 - gamma_series(a, x) } else { gamma_fraction(a, x) }
}

/// The regularised incomplete beta function `I(x; a, b)`.
pub(crate) fn betainc(a: f64, b: f64, x: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&x)) {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return x;
    }
    let factor = (libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) { factor * beta_fraction(a, b, x) / a } else { 1.0 - factor * beta_fraction(b, a, 1.0 - x) / b }
}

/// Lentz's evaluation of the continued fraction of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0), TINY);
    let mut h = d;
    for m in 1..MAX_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / nonzero(1.0 + coefficient * d, TINY);
            c = nonzero(1.0 + coefficient / c, TINY);
            step = c * d;
            h *= step;
        }
        if (step - 1.0).abs() < EPSILON {
            break;
        }
    }
    h
}

/// The Hurwitz zeta function `Σ (q + k)^-s`; infinite at `s = 1`, NaN for `s < 1`.
pub(crate) fn zeta(s: f64, q: f64) -> f64 {
    /// `(2k)! / B(2k)` for k = 1, 2, …: the correction terms of the Euler-Maclaurin formula.
    const CORRECTIONS: [f64; 10] = [
        12.0,
        -720.0,
        30_240.0,
        -1_209_600.0,
        47_900_160.0,
        -1_892_437_580.318_379_3,
        74_724_249_600.0,
        -2_950_130_727_918.164,
        116_467_828_143_500.67,
        -4_597_978_722_407_472.0,
    ];
    /// Terms summed one by one; the corrections need `q + TERMS` to be large.
    const TERMS: f64 = 12.0;
    /// A first term further left would need too many steps.
    const LEFTMOST: f64 = -1e6;
    if s == 1.0 {
        return f64::INFINITY;
    }
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return if s % 2.0 == 0.0 { f64::INFINITY } else { f64::NAN };
        }
        if s != s.floor() || q < LEFTMOST {
            return f64::NAN;
        }
    }
    let (mut sum, mut x, mut n) = (0.0, q, 0.0);
    while n < TERMS || x < TERMS {
        let term = x.powf(-s);
        sum += term;
        if x > 0.0 && term < sum * EPSILON {
            return sum;
        }
        x += 1.0;
        n += 1.0;
    }
    let power = x.powf(-s);
    sum += x * power / (s - 1.0) + power / 2.0;
    let (mut factor, mut k) = (s * power / x, 1.0);
    for correction in CORRECTIONS {
        let term = factor / correction;
        sum += term;
        if term.abs() < sum.abs() * EPSILON {
            break;
        }
        factor *= (s + k) * (s + k + 1.0) / (x * x);
        k += 2.0;
    }
    sum
}

/// The `n`-th derivative of the digamma function, for whole `n`; NaN for others.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * libm::tgamma(n + 1.0) * zeta(n + 1.0, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with values that TensorFlow computes in double precision.
    #[track_caller]
    fn close(found: f64, expected: f64) {
        let equal = found == expected || (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= 2e-14 * expected.abs();
        assert!(equal, "{found:e} for {expected:e}");
    }

    #[test]
    fn digamma_and_polygamma() {
        for (x, y) in [
            (-0.5, 0.036_489_973_978_576_45),
            (1.0, -0.577_215_664_901_532_3),
            (0.1, -10.423_754_940_411_076),
            (10.0, 2.251_752_589_066_721_4),
            (1e10, 23.025_850_929_890_456),
        ] {
            assert!((digamma(x) - y).abs() < 1e-13 * y.abs().max(0.1), "{x}");
        }
        assert!([0.0, -1.0, f64::NEG_INFINITY].iter().all(|&x| digamma(x).is_nan()));
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        close(polygamma(1.0, 2.0), 0.644_934_066_848_226_6);
        close(polygamma(2.0, 0.5), -16.828_796_644_234_32);
        close(polygamma(3.0, 10.0), 2.319_901_304_289_868_6e-3);
        assert!(polygamma(1.5, 1.0).is_nan() && polygamma(2.0, -1.0).is_nan());
        assert_eq!(polygamma(1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn quantiles() {
        for (x, y) in [
            (0.0, 0.0),
            (-0.5, -0.476_936_276_204_469_9),
            (0.1, 0.088_855_990_494_257_78),
            (0.999, 2.326_753_765_513_546_4),
            (1e-10, 8.862_269_254_527_58e-11),
            (1.0, f64::INFINITY),
            (2.0, f64::NAN),
        ] {
            close(erfinv(x), y);
        }
        for (p, y) in [
            (0.0, f64::NEG_INFINITY),
            (0.5, 0.0),
            (0.1, -1.281_551_565_544_600_4),
            (0.999, 3.090_232_306_167_813),
            (1e-10, -6.361_340_902_404_056),
            (-1.0, f64::NAN),
        ] {
            close(ndtri(p), y);
        }
    }

    #[test]
    fn bessel_functions() {
        for (x, i0, i1) in [
            (0.0, 1.0, 0.0),
            (-1.0, 0.465_759_607_593_640_43, -0.207_910_415_349_708_44),
            (8.0, 0.143_431_781_856_850_3, 0.134_142_493_292_698_12),
            (20.0, 0.089_780_311_884_826_03, 0.087_506_222_183_288_67),
            (100.0, 0.039_944_379_299_096_69, 0.039_744_153_025_130_25),
            (1e10, 3.989_422_804_064_194_5e-6, 3.989_422_803_864_723_3e-6),
            (f64::INFINITY, 0.0, 0.0),
        ] {
            close(bessel_i0e(x), i0);
            close(bessel_i1e(x), i1);
        }
    }

    #[test]
    fn incomplete_gamma_and_beta() {
        for (a, x, p, q) in [
            (1.0, 1.0, 0.632_120_558_828_557_7, 0.367_879_441_171_442_33),
            (2.0, 3.0, 0.800_851_726_528_544_2, 0.199_148_273_471_455_8),
            (10.0, 20.0, 0.995_004_587_691_692_4, 0.004_995_412_308_307_57),
        ] {
            close(igamma(a, x), p);
            assert!((igammac(a, x) - q).abs() < 1e-13 * q);
        }
        assert!((igamma(100.0, 100.0) - 0.513_298_798_279_131_3).abs() < 1e-12);
        assert!(igamma(-1.0, 1.0).is_nan() && igamma(1.0, -1.0).is_nan() && igammac(0.0, 1.0).is_nan());
        assert_eq!((igamma(1.0, f64::INFINITY), igammac(f64::INFINITY, 1.0)), (1.0, 1.0));
        for (a, b, x, y) in [
            (1.0, 1.0, 0.3, 0.3),
            (2.0, 3.0, 0.2, 0.180_8),
            (0.5, 0.5, 0.7, 0.630_989_880_434_454_6),
            (10.0, 20.0, 0.4, 0.785_318_389_762_824_1),
        ] {
            assert!((betainc(a, b, x) - y).abs() < 1e-13);
        }
        assert!(betainc(0.0, 1.0, 0.5).is_nan() && betainc(2.0, 2.0, 1.5).is_nan());
    }

    #[test]
    fn hurwitz_zeta() {
        for (s, q, y) in [
            (2.0, 1.0, 1.644_934_066_848_226_6),
            (3.0, 2.0, 0.202_056_903_159_594_3),
            (1.0, 1.0, f64::INFINITY),
            (0.5, 1.0, f64::NAN),
            (2.0, -1.0, f64::INFINITY),
            (3.0, -0.5, 0.414_398_322_117_16),
            (2.5, -0.5, f64::NAN),
            (2.0, 1e6, 1.000_000_500_000_166_7e-6),
            (50.0, 1.5, 1.568_328_545_496_635_2e-9),
        ] {
            let found = zeta(s, q);
            assert!(found == y || (found.is_nan() && y.is_nan()) || (found - y).abs() < 1e-13 * y.abs(), "zeta({s}, {q}) = {found}");
        }
    }
}
