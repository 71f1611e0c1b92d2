//! Integrals without an elementary form: Dawson's integral, the exponential integral, Fresnel's integrals, the dilogarithm.

use super::bessel::EULER_GAMMA;
use super::{EPSILON, MAX_TERMS, polynomial};
use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, PI};

/// Returns Dawson's integral `exp(-x²) ∫ exp(t²) dt` from 0 to `x`.
///
/// In the middle it is a sum of exponentials whose error is at most `exp(-(π/2h)²)` for steps `h` (G. B. Rybicki, Computers in Physics 3, 1989).
pub fn dawsn(x: f64) -> f64 {
    /// The argument below which the power series is used.
    const SMALL: f64 = 1.0;
    /// The argument from which the asymptotic series is exact to double precision.
    const LARGE: f64 = 7.0;
    const STEP: f64 = 0.25;
    /// The distance beyond which exponentials are negligible.
    const REACH: f64 = 6.5;
    let size = x.abs();
    if size < SMALL {
        return sum_of_terms(x, |k| -2.0 * x * x / (2.0 * k + 1.0));
    }
    if size >= LARGE {
        let square = 2.0 * x * x;
        return sum_of_terms(0.5 / x, |k| (2.0 * k - 1.0) / square);
    }
    if x.is_nan() {
        return x;
    }
    let (first, last) = (((x - REACH) / STEP).floor() as i64 | 1, ((x + REACH) / STEP) as i64);
    let terms = (first..=last).step_by(2).map(|n| {
        let distance = x - n as f64 * STEP;
        (-distance * distance).exp() / n as f64
    });
    terms.sum::<f64>() / PI.sqrt()
}

/// Returns the sum of terms: the first is `term`, and the `k`-th is `ratio(k)` times the previous one.
fn sum_of_terms(mut term: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut k) = (term, 1.0);
    loop {
        term *= ratio(k);
        if !(term.abs() > sum.abs() * EPSILON) {
            return sum;
        }
        sum += term;
        k += 1.0;
    }
}

/// Returns the exponential integral `Ei(x)`, the principal value of `∫ exp(t) / t dt` from `-∞` to `x`; NaN for `x < 0`, as in TensorFlow.
pub fn expint(x: f64) -> f64 {
    /// The argument from which the asymptotic series is exact to double precision.
    const LARGE: f64 = 40.0;
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if !(x > 0.0) || x.is_infinite() {
        return f64::NAN;
    }
    if x >= LARGE {
        return x.exp() / x * sum_of_terms(1.0, |k| k / x);
    }
    // Σ x^k / (k k!)
    let (mut power, mut sum, mut k) = (x, x, 1.0);
    while power > sum * EPSILON {
        k += 1.0;
        power *= x / k;
        sum += power / k;
    }
    EULER_GAMMA + x.ln() + sum
}

/// Returns Fresnel's integrals `∫ exp(iπt²/2) dt` from 0 to `x >= 0`: the real part is the cosine integral, the imaginary part the sine integral.
fn fresnel(x: f64) -> Complex<f64> {
    /// The largest argument at which the power series loses no more than one digit.
    const SMALL: f64 = 2.0;
    /// The argument from which TensorFlow returns the limit.
    const LARGE: f64 = 36_974.0;
    if x > LARGE {
        return Complex::new(0.5, 0.5);
    }
    let angle = FRAC_PI_2 * (x * x);
    if x <= SMALL {
        // Σ (i angle)^k / (k! (2k + 1))
        let (mut power, mut sum, mut k) = (Complex::new(x, 0.0), Complex::new(0.0, 0.0), 0.0);
        while power.norm_sqr() > 0.0 && k < 60.0 {
            sum += power / (2.0 * k + 1.0);
            k += 1.0;
            power *= Complex::new(0.0, angle / k);
        }
        return sum;
    }
    let turn = FRAC_PI_2 * (x * x % 4.0);
    Complex::new(0.5, 0.5) - Complex::new(turn.cos(), turn.sin()) * x * complementary_fraction(Complex::new(0.0, -2.0 * angle))
}

/// Returns `√π exp(z²) erfc(z) / 2z` of `2z²`: the even part of its continued fraction, `1/(2z² + 1 - 1·2/(2z² + 5 - 3·4/(2z² + 9 - …)))`, by
/// Lentz's evaluation.
fn complementary_fraction(twice_square: Complex<f64>) -> Complex<f64> {
    const CONVERGED: f64 = 1e-15;
    let mut b = twice_square + 1.0;
    let mut c = Complex::new(1e300, 0.0);
    let mut d = b.inv();
    let mut h = d;
    for i in 1..MAX_TERMS {
        let n = (2 * i - 1) as f64;
        let a = -n * (n + 1.0);
        b += 4.0;
        d = (d * a + b).inv();
        c = b + c.inv() * a;
        let step = c * d;
        h *= step;
        if (step - 1.0).l1_norm() < CONVERGED {
            break;
        }
    }
    h
}

/// Returns Fresnel's cosine integral `∫ cos(πt²/2) dt` from 0 to `x`.
pub fn fresnel_cos(x: f64) -> f64 {
    if x.is_nan() { x } else { fresnel(x.abs()).re.copysign(x) }
}

/// Returns Fresnel's sine integral `∫ sin(πt²/2) dt` from 0 to `x`.
pub fn fresnel_sin(x: f64) -> f64 {
    if x.is_nan() { x } else { fresnel(x.abs()).im.copysign(x) }
}

/// Returns Spence's function `∫ ln(t) / (1 - t) dt` from 1 to `x`, which is the dilogarithm of `1 - x`; NaN for `x < 0` and at infinity.
///
/// Near 1 it is computed by a series in `ln(x)` with Bernoulli numbers (G. 't Hooft and M. Veltman, Nuclear Physics B 153, 1979), elsewhere by reflections.
pub fn spence(x: f64) -> f64 {
    const LIMIT: f64 = PI * PI / 6.0;
    /// `B(2k) / (2k + 1)!` for k = 1, 2, …
    const SERIES: [f64; 8] = [
        1.0 / 36.0,
        -1.0 / 3600.0,
        1.0 / 211_680.0,
        -1.0 / 10_886_400.0,
        1.0 / 526_901_760.0,
        -691.0 / 2730.0 / 6_227_020_800.0,
        7.0 / 6.0 / 1_307_674_368_000.0,
        -3617.0 / 510.0 / 355_687_428_096_000.0,
    ];
    if !(x >= 0.0) || x.is_infinite() {
        return f64::NAN;
    }
    if x == 0.0 {
        return LIMIT;
    }
    if x > 2.0 {
        return -0.5 * x.ln().powi(2) - spence(1.0 / x);
    }
    if x < 0.5 {
        return LIMIT - x.ln() * (-x).ln_1p() - spence(1.0 - x);
    }
    let u = -x.ln();
    let square = u * u;
    u - square / 4.0 + u * square * polynomial(square, &SERIES)
}

#[cfg(test)]
mod tests {
    use super::super::tests::close;
    use super::*;

    #[test]
    fn dawson() {
        for (x, y) in [
            (0.0, 0.0),
            (1e-30, 1e-30),
            (0.1, 0.099_335_992_397_852_86),
            (-0.9, -0.540_724_318_726_298_7),
            (1.0, 0.538_079_506_912_768_4),
            (-2.0, -0.301_340_388_923_791_95),
            (5.0, 0.102_134_074_424_276_84),
            (6.9, 0.073_250_120_258_635_39),
            (7.1, 0.071_142_926_911_234_74),
            (30.0, 0.016_675_941_401_059_175),
            (1e300, 5e-301),
            (f64::NEG_INFINITY, 0.0),
            (f64::NAN, f64::NAN),
        ] {
            close(dawsn(x), y);
        }
    }

    #[test]
    fn exponential_integral() {
        for (x, y) in [
            (-1.0, f64::NAN),
            (0.0, f64::NEG_INFINITY),
            (1e-30, -68.500_337_124_919_84),
            (0.1, -1.622_812_813_969_276_6),
            (1.0, 1.895_117_816_355_937),
            (5.0, 40.185_275_355_803_18),
            (30.0, 368_973_209_407.274_2),
            (39.9, 5_479_032_048_901_893.0),
            (40.1, 6_657_825_191_607_100.0),
            (500.0, 2.812_821_397_886_294_5e214),
            (1e300, f64::INFINITY),
            (f64::INFINITY, f64::NAN),
            (f64::NAN, f64::NAN),
        ] {
            close(expint(x), y);
        }
    }

    #[test]
    fn fresnel_integrals() {
        for (x, c, s) in [
            (0.0, 0.0, 0.0),
            (1e-30, 1e-30, 5.235_987_755_982_99e-91),
            (0.1, 0.099_997_532_627_085_06, 0.000_523_589_547_612_210_8),
            (-1.0, -0.779_893_400_376_823, -0.438_259_147_390_354_7),
            (1.9, 0.394_470_534_891_522_9, 0.373_347_317_816_981_16),
            (2.1, 0.581_564_135_060_833_8, 0.374_273_359_378_103_7),
            (-5.0, -0.563_631_188_704_012_2, -0.499_191_381_917_116_9),
            (30.0, 0.499_996_247_370_609_1, 0.489_389_674_442_193_8),
            (100_000.0, 0.5, 0.5),
            (f64::NEG_INFINITY, -0.5, -0.5),
            (f64::NAN, f64::NAN, f64::NAN),
        ] {
            close(fresnel_cos(x), c);
            close(fresnel_sin(x), s);
        }
    }

    #[test]
    fn spences_function() {
        for (x, y) in [
            (-1.0, f64::NAN),
            (0.0, 1.644_934_066_848_226_4),
            (1e-30, 1.644_934_066_848_226_4),
            (0.1, 1.299_714_723_004_958_8),
            (0.49, 0.596_165_361_377_950_2),
            (0.6, 0.449_282_974_471_282),
            (1.0, 0.0),
            (1.1, -0.097_605_235_229_321_67),
            (1.9, -0.752_163_179_217_262_3),
            (2.5, -1.147_380_660_375_570_3),
            (30.0, -7.280_084_707_384_272),
            (1e16, -680.287_892_208_083_3),
            (1e300, -238_587.059_905_594_77),
            (f64::INFINITY, f64::NAN),
            (f64::NAN, f64::NAN),
        ] {
            close(spence(x), y);
        }
    }
}
