//! Bessel functions of orders 0 and 1.

use super::{EPSILON, MAX_TERMS, in_blocks, short_polynomial};
use std::f64::consts::PI;

/// The Euler-Mascheroni constant.
pub(super) const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;

/// The argument from which the asymptotic series of the Bessel functions is exact to double precision.
const BESSEL_ASYMPTOTIC: f64 = 30.0;

/// Returns `exp(-|x|) I(order, |x|)` for order 0 or 1.
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

/// Returns the modified Bessel function of order 0.
pub fn bessel_i0(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { x.abs().exp() * bessel_i0e(x) }
}

/// Returns the modified Bessel function of order 1.
pub fn bessel_i1(x: f64) -> f64 {
    if x.is_infinite() { x } else { x.abs().exp() * bessel_i1e(x) }
}

/// Returns the modified Bessel function of order 0, scaled by `exp(-|x|)`.
pub fn bessel_i0e(x: f64) -> f64 {
    if x.is_nan() { x } else { bessel_ie(0, x) }
}

/// Returns the modified Bessel function of order 1, scaled by `exp(-|x|)`.
pub fn bessel_i1e(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 { x } else { bessel_ie(1, x).copysign(x) }
}

/// The argument at which the polynomials of the functions of `f32` change.
const SINGLE_SPLIT: f64 = 8.0;

/// Coefficients of the scaled Bessel functions of `f32`, lowest powers first: truncated Chebyshev series.
struct ScaledBessel {
    /// The function over the power of the magnitude `a` that is its order, as a polynomial of `a / 4 - 1`, for magnitudes up to [`SINGLE_SPLIT`].
    near: [f64; 18],
    /// The function times `sqrt(a)`, as a polynomial of `16 / a - 1`, for greater magnitudes.
    far: [f64; 6],
    /// The order, 0 or 1.
    order: f64,
    /// The bits of an argument that the result takes over.
    sign: u64,
}

const SCALED_I0: ScaledBessel = ScaledBessel {
    near: [
        2.07001923790e-01,
        -1.13004336395e-01,
        9.45152163066e-02,
        -8.90428753634e-02,
        8.73542955928e-02,
        -8.49732439638e-02,
        7.91650042755e-02,
        -6.94632887811e-02,
        5.73339834322e-02,
        -4.33178930710e-02,
        2.86079623043e-02,
        -1.88573547488e-02,
        1.45283017061e-02,
        -8.01823686164e-03,
        1.22772144193e-03,
        -7.54894951627e-04,
        1.98147931947e-03,
        -8.51984398473e-04,
    ],
    far: [4.02176512815e-01, 3.36055570014e-03, 1.36156032067e-04, 1.11121482864e-05, 1.63913487107e-06, 3.62667037752e-07],
    order: 0.0,
    sign: 0,
};
const SCALED_I1: ScaledBessel = ScaledBessel {
    near: [
        4.46877102267e-02,
        -6.11243392552e-02,
        6.80575434463e-02,
        -6.84825331979e-02,
        6.37688955285e-02,
        -5.52813127643e-02,
        4.46594370817e-02,
        -3.36612828559e-02,
        2.37626420252e-02,
        -1.56143010192e-02,
        9.36740037900e-03,
        -5.42742128008e-03,
        3.36142034470e-03,
        -1.69859435515e-03,
        4.11442211373e-04,
        -2.02626569137e-04,
        3.07414212610e-04,
        -1.23682803705e-04,
    ],
    far: [3.89398455224e-01, -9.74958137038e-03, -2.19168088535e-04, -1.50039654652e-05, -2.00978899059e-06, -4.21035016173e-07],
    order: 1.0,
    sign: 1 << 63,
};

crate::dispatch! {
    fn scaled_bessel(src: &[f32], dst: &mut [f32], series: &ScaledBessel) {
        let &ScaledBessel { near, far, order, sign } = series;
        in_blocks(src, dst, |x| {
            let a = x.abs();
            let inverse = 1.0 / a;
            let beyond = short_polynomial(2.0 * SINGLE_SPLIT * inverse - 1.0, &far) * inverse.sqrt();
            let within = short_polynomial(a * (2.0 / SINGLE_SPLIT) - 1.0, &near) * ((1.0 - order) + order * a);
            let size = if a <= SINGLE_SPLIT { within } else { beyond };
            f64::from_bits(size.to_bits() | x.to_bits() & sign)
        });
    }
}

/// Computes `dst[i] = bessel_i0e(src[i])`, within 1 ulp.
pub fn bessel_i0e_of_slice(src: &[f32], dst: &mut [f32]) {
    scaled_bessel(src, dst, &SCALED_I0);
}

/// Computes `dst[i] = bessel_i1e(src[i])`, within 1 ulp.
pub fn bessel_i1e_of_slice(src: &[f32], dst: &mut [f32]) {
    scaled_bessel(src, dst, &SCALED_I1);
}

/// Returns `exp(x) K(0, x)` and `exp(x) K(1, x)` for `x > 0`.
fn bessel_ke(x: f64) -> (f64, f64) {
    /// The largest argument at which the power series loses no more than one digit.
    const SMALL: f64 = 2.0;
    if x.is_infinite() {
        return (0.0, 0.0);
    }
    if x > SMALL { bessel_ke_by_fraction(x) } else { bessel_ke_by_series(x) }
}

/// Returns `K(0, x) = Σ H(k) (x²/4)^k / k!² - (ln(x/2) + γ) I(0, x)` with harmonic numbers `H`; `K(1, x)` by the Wronskian `I(0) K(1) + I(1) K(0) =
/// 1/x`.
fn bessel_ke_by_series(x: f64) -> (f64, f64) {
    let quarter = x * x / 4.0;
    let (mut term, mut harmonic, mut k) = (1.0, 0.0, 0.0);
    let (mut i0, mut i1, mut sum) = (0.0, 0.0, 0.0);
    while term > i0 * EPSILON {
        i0 += term;
        i1 += term * x / 2.0 / (k + 1.0);
        sum += term * harmonic;
        k += 1.0;
        harmonic += 1.0 / k;
        term *= quarter / (k * k);
    }
    let k0 = sum - ((x / 2.0).ln() + EULER_GAMMA) * i0;
    let k1 = (1.0 / x - i1 * k0) / i0;
    (k0 * x.exp(), k1 * x.exp())
}

/// Returns the continued fraction of `K(1) / K(0)`, evaluated with the sum that normalises both (N. M. Temme, Journal of Computational Physics 19,
/// 1975).
fn bessel_ke_by_fraction(x: f64) -> (f64, f64) {
    let mut b = 2.0 * (x + 1.0);
    let mut d = 1.0 / b;
    let (mut step, mut fraction) = (d, d);
    let (mut a, mut c) = (-0.25, 0.25);
    let (mut before, mut last, mut weight) = (0.0, 1.0, 0.25);
    let mut norm = 1.0 + weight * step;
    for i in 2..MAX_TERMS {
        let i = i as f64;
        a -= 2.0 * (i - 1.0);
        c *= -a / i;
        (before, last) = (last, (before - b * last) / a);
        weight += c * last;
        b += 2.0;
        d = 1.0 / (b + a * d);
        step *= b * d - 1.0;
        fraction += step;
        let term = weight * step;
        norm += term;
        if term.abs() <= norm.abs() * EPSILON {
            break;
        }
    }
    let k0 = (PI / (2.0 * x)).sqrt() / norm;
    (k0, k0 * (x + 0.5 - fraction / 4.0) / x)
}

/// Returns the value at a pole if `x` is not positive, otherwise `f(x)`: the functions of the second kind have a pole at zero.
fn right_of_pole(x: f64, pole: f64, f: impl FnOnce(f64) -> f64) -> f64 {
    if x <= 0.0 { pole } else { f(x) }
}

/// Returns the modified Bessel function of the second kind of order 0, scaled by `exp(x)`; infinite for `x <= 0`.
pub fn bessel_k0e(x: f64) -> f64 {
    right_of_pole(x, f64::INFINITY, |x| bessel_ke(x).0)
}

/// Returns the modified Bessel function of the second kind of order 1, scaled by `exp(x)`; infinite for `x <= 0`.
pub fn bessel_k1e(x: f64) -> f64 {
    right_of_pole(x, f64::INFINITY, |x| bessel_ke(x).1)
}

/// Returns the modified Bessel function of the second kind of order 0; infinite for `x <= 0`.
pub fn bessel_k0(x: f64) -> f64 {
    right_of_pole(x, f64::INFINITY, |x| bessel_ke(x).0 * (-x).exp())
}

/// Returns the modified Bessel function of the second kind of order 1; infinite for `x <= 0`.
pub fn bessel_k1(x: f64) -> f64 {
    right_of_pole(x, f64::INFINITY, |x| bessel_ke(x).1 * (-x).exp())
}

/// Returns the value of an oscillating function. Its value at infinity is NaN, as in TensorFlow.
fn oscillating(x: f64, f: fn(f64) -> f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { f(x) }
}

/// Returns the Bessel function of the first kind of order 0.
pub fn bessel_j0(x: f64) -> f64 {
    oscillating(x, libm::j0)
}

/// Returns the Bessel function of the first kind of order 1.
pub fn bessel_j1(x: f64) -> f64 {
    oscillating(x, libm::j1)
}

/// Returns the Bessel function of the second kind of order 0; `-∞` for `x <= 0`.
pub fn bessel_y0(x: f64) -> f64 {
    right_of_pole(x, f64::NEG_INFINITY, |x| oscillating(x, libm::y0))
}

/// Returns the Bessel function of the second kind of order 1; `-∞` for `x <= 0`.
pub fn bessel_y1(x: f64) -> f64 {
    right_of_pole(x, f64::NEG_INFINITY, |x| oscillating(x, libm::y1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, within};
    use super::*;

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
    fn bessel_functions_in_single_precision() {
        let sizes = || (0..4_000).map(|i| 1e-30 * (i as f32 * 0.038).exp()).chain((0..40_000).map(|i| i as f32 * 7.3e-4));
        let arguments = || sizes().flat_map(|x| [x, -x]).chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 8.0, 8.000_001]);
        within(1.0, bessel_i0e_of_slice, bessel_i0e, arguments());
        within(1.0, bessel_i1e_of_slice, bessel_i1e, arguments());
        let mut zero = [1.0];
        bessel_i1e_of_slice(&[-0.0], &mut zero);
        assert!(zero[0] == 0.0 && zero[0].is_sign_negative());
    }

    #[test]
    fn bessel_functions_of_the_second_kind() {
        for (x, k0, k0e, k1, k1e) in [
            (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY),
            (-1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY),
            (0.0, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY),
            (1e-30, 69.193_484_305_479_79, 69.193_484_305_479_79, 9.999_999_999_999_999e29, 9.999_999_999_999_999e29),
            (0.1, 2.427_069_024_702_016, 2.682_326_102_262_894, 9.853_844_780_870_606, 10.890_182_683_049_698),
            (1.0, 0.421_024_438_240_708_23, 1.144_463_079_806_894_7, 0.601_907_230_197_234_8, 1.636_153_486_263_258_7),
            (2.0, 0.113_893_872_749_533_5, 0.841_568_215_070_772, 0.139_865_881_816_522_43, 1.033_476_847_068_688_6),
            (2.5, 0.062_347_553_200_366_196, 0.759_548_690_328_099_7, 0.073_890_816_347_747_07, 0.900_174_423_907_878),
            (8.0, 0.000_146_470_705_222_815_42, 0.436_623_018_601_586_14, 0.000_155_369_211_805_001_12, 0.463_149_092_870_496_05),
            (100.0, 4.656_628_229_175_902_5e-45, 0.125_175_621_659_126_6, 4.679_853_735_636_911e-45, 0.125_799_950_479_578_57),
            (700.0, 4.669_776_431_685_376e-306, 0.047_362_369_454_613_56, 4.673_110_796_707_966e-306, 0.047_396_187_653_494_54),
            (f64::INFINITY, 0.0, 0.0, 0.0, 0.0),
            (f64::NAN, f64::NAN, f64::NAN, f64::NAN, f64::NAN),
        ] {
            close(bessel_k0(x), k0);
            close(bessel_k0e(x), k0e);
            close(bessel_k1(x), k1);
            close(bessel_k1e(x), k1e);
        }
    }

    #[test]
    fn oscillating_bessel_functions() {
        for (x, j0, j1, y0, y1) in [
            (0.0, 1.0, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY),
            (1e-30, 1.0, 5.000_000_000_000_001e-31, -44.049_940_227_874_35, -6.366_197_723_675_814e29),
            (0.1, 0.997_501_562_066_04, 0.049_937_526_036_242, -1.534_238_651_350_366_7, -6.458_951_094_702_027),
            (1.0, 0.765_197_686_557_966_5, 0.440_050_585_744_933_55, 0.088_256_964_215_676_97, -0.781_212_821_300_288_8),
            (5.0, -0.177_596_771_314_338_3, -0.327_579_137_591_465_3, -0.308_517_625_249_033_03, 0.147_863_143_391_226_91),
            (20.0, 0.167_024_664_340_583_25, 0.066_833_124_175_850_2, 0.062_640_596_809_383_7, -0.165_511_614_362_521_24),
            (f64::INFINITY, f64::NAN, f64::NAN, f64::NAN, f64::NAN),
            (f64::NAN, f64::NAN, f64::NAN, f64::NAN, f64::NAN),
        ] {
            close(bessel_j0(x), j0);
            close(bessel_j1(x), j1);
            close(bessel_y0(x), y0);
            close(bessel_y1(x), y1);
        }
    }
}
