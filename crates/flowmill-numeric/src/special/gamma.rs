//! The derivatives of the logarithm of the gamma function, and the Hurwitz zeta function, from which they are computed.

use super::{EPSILON, polynomial};
use std::f64::consts::PI;

/// Returns the derivative of the logarithm of the gamma function; NaN at its poles.
pub fn digamma(x: f64) -> f64 {
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

/// Returns the Hurwitz zeta function `Σ (q + k)^-s`; infinite at `s = 1`, NaN for `s < 1`.
pub fn zeta(s: f64, q: f64) -> f64 {
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
    /// The number of terms that are summed one by one; the corrections need a large `q + TERMS`.
    const TERMS: f64 = 12.0;
    /// The least argument at which the first term may start; below it, too many steps would be necessary.
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

/// Returns the `n`-th derivative of the digamma function if `n` is an integer, otherwise NaN.
pub fn polygamma(n: f64, x: f64) -> f64 {
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
    use super::super::tests::close;
    use super::*;

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
