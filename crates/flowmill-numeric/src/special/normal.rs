//! Quantiles of the normal distribution.

use super::{in_blocks, polynomial, short_polynomial};
use crate::elementwise::double::log_of_normal;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Returns the quantile of the normal distribution at `0.5 + q`; `tail` is the smaller of the probability and its complement.
///
/// The method is Wichura's rational approximation (Algorithm AS 241, Applied Statistics 37, 1988).
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

/// Returns the inverse of the error function; infinite at ±1, NaN outside.
pub fn erfinv(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    normal_quantile(x / 2.0, (1.0 - x.abs()) / 2.0) / SQRT_2
}

/// Returns the quantile function of the normal distribution; infinite at 0 and 1, NaN outside.
pub fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    normal_quantile(p - 0.5, p.min(1.0 - p))
}

/// Like [`normal_quantile`], with a relative error of at most 1e-8 for a tail of at least `2^-149`.
///
/// Rational functions of lower degrees were fitted to those of [`normal_quantile`].
#[inline(always)]
fn short_quantile(q: f64, tail: f64) -> f64 {
    let square = 0.180_625 - q * q;
    let centre =
        short_polynomial(square, &[3.387_132_857_742, 58.818_861_784_10, 247.027_935_225_7, 174.933_870_319_5, -26.423_108_510_64])
            / short_polynomial(square, &[1.0, 20.370_634_875_90, 112.093_575_610_2, 147.366_081_781_2]);
    let r = (-log_of_normal(tail)).sqrt();
    let far = short_polynomial(r, &[-3.068_385_651_166, -8.061_385_177_765, 6.154_204_962_899, 8.481_192_591_270, 1.290_522_884_213])
        / short_polynomial(r, &[1.0, 6.275_972_967_157, 6.023_819_390_536, 0.911_920_269_898_2, 9.247_114_175_371e-6]);
    let special = if tail == 0.0 { f64::INFINITY } else { f64::NAN };
    let far = if tail > 0.0 { far } else { special };
    if q.abs() <= 0.425 { q * centre } else { far.copysign(q) }
}

crate::dispatch! {
    /// Computes `factor` times the quantile of the normal distribution at the probability `slope x - centre + 1/2`, where `centre` is 0 or 1/2.
    fn quantiles(src: &[f32], dst: &mut [f32], slope: f64, centre: f64, factor: f64) {
        in_blocks(src, dst, |x| {
            let x = x * slope;
            let (below, above) = ((0.5 - centre) + x, (0.5 + centre) - x);
            let tail = if x < centre { below } else { above };
            short_quantile(x - centre, tail) * factor
        });
    }
}

/// Computes `dst[i] = erfinv(src[i])`, within 1 ulp.
pub fn erfinv_of_slice(src: &[f32], dst: &mut [f32]) {
    quantiles(src, dst, 0.5, 0.0, FRAC_1_SQRT_2);
}

/// Computes `dst[i] = ndtri(src[i])`, within 1 ulp.
pub fn ndtri_of_slice(src: &[f32], dst: &mut [f32]) {
    quantiles(src, dst, 1.0, 0.5, 1.0);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, within};
    use super::*;

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
    fn quantiles_in_single_precision() {
        let unit = || (0..=100_000).map(|i| i as f32 / 100_000.0);
        let small = || (0..2_000).map(|i| 0.5 * (i as f32 * -0.051).exp());
        let specials = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2.0, -1e-9, 1.0 - f32::EPSILON / 2.0, f32::from_bits(1)];
        let arguments = || unit().chain(small()).chain(small().map(|x| 1.0 - x)).chain(specials);
        within(1.0, erfinv_of_slice, erfinv, arguments().flat_map(|x| [x, -x]));
        within(1.0, ndtri_of_slice, ndtri, arguments());
        let mut zero = [1.0];
        erfinv_of_slice(&[-0.0], &mut zero);
        assert!(zero[0] == 0.0 && zero[0].is_sign_negative());
    }
}
