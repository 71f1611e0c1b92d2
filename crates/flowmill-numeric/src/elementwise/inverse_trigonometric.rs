//! Inverse trigonometric functions of `f32` without branches, so that loops over them are compiled to vector instructions.
//!
//! The polynomials and the reductions of the argument are those of Cephes (S. L. Moshier, `atanf`, `asinf`). Errors are at most 3 units in the last
//! place.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Returns the inverse tangent.
#[inline(always)]
pub fn atan(x: f32) -> f32 {
    let a = x.abs();
    // tan(3π/8) and tan(π/8)
    let (is_large, is_medium) = (a > 2.414_213_6, a > 0.414_213_57);
    let numerator = if is_large {
        -1.0
    } else if is_medium {
        a - 1.0
    } else {
        a
    };
    let denominator = if is_large {
        a
    } else if is_medium {
        a + 1.0
    } else {
        1.0
    };
    let start = if is_large {
        FRAC_PI_2
    } else if is_medium {
        FRAC_PI_4
    } else {
        0.0
    };
    (start + near_zero(numerator / denominator)).copysign(x)
}

/// Returns the inverse tangent for arguments of at most tan(π/8).
#[inline(always)]
fn near_zero(t: f32) -> f32 {
    let z = t * t;
    let p = ((8.053_744_5e-2 * z - 1.387_768_6e-1) * z + 1.997_771_1e-1) * z - 3.333_295e-1;
    p * z * t + t
}

/// Returns the angle of the point (`x`, `y`).
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (a, b) = (x.abs(), y.abs());
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // Equal coordinates, infinite ones included, are at 45 degrees, and the origin is at 0.
    let quotient = if low < high {
        low / high
    } else if high == 0.0 {
        0.0
    } else {
        1.0
    };
    let acute = atan(quotient);
    let steep = if a < b { FRAC_PI_2 - acute } else { acute };
    let angle = if x.is_sign_negative() { PI - steep } else { steep };
    if x.is_nan() || y.is_nan() { x + y } else { angle.copysign(y) }
}

/// Returns the inverse sine of a number in 0 to 1/2, and for larger ones the inverse sine of `sqrt((1 - a) / 2)`.
#[inline(always)]
fn asin_part(a: f32) -> f32 {
    let is_large = a > 0.5;
    let z = if is_large { 0.5 * (1.0 - a) } else { a * a };
    let s = if is_large { z.sqrt() } else { a };
    let p = (((4.216_32e-2 * z + 2.418_131_1e-2) * z + 4.547_002_6e-2) * z + 7.495_300_3e-2) * z + 1.666_675_2e-1;
    p * z * s + s
}

/// Returns the inverse sine; NaN for arguments beyond ±1.
#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let a = x.abs();
    let part = asin_part(a);
    (if a > 0.5 { FRAC_PI_2 - 2.0 * part } else { part }).copysign(x)
}

/// Returns the inverse cosine; NaN for arguments beyond ±1.
#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let a = x.abs();
    let part = asin_part(a);
    let far = if x < 0.0 { PI - 2.0 * part } else { 2.0 * part };
    if a > 0.5 { far } else { FRAC_PI_2 - part.copysign(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance in units of the last place of the expected value.
    fn distance(found: f32, expected: f64) -> f64 {
        let unit = (expected as f32).abs().max(f32::MIN_POSITIVE);
        let step = f64::from(f32::from_bits(unit.to_bits() + 1)) - f64::from(unit);
        (f64::from(found) - expected).abs() / step
    }

    fn check(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, values: impl Iterator<Item = f32>) {
        for x in values {
            let (found, expected) = (f(x), exact(x.into()));
            assert!(distance(found, expected) <= 3.0, "{x}: {found} and {expected}");
        }
    }

    #[test]
    fn values_are_within_three_units() {
        let unit = || (-40_000..=40_000).map(|i| i as f32 / 40_000.0);
        check(asin, f64::asin, unit());
        check(acos, f64::acos, unit().filter(|x| *x < 1.0));
        check(atan, f64::atan, unit().flat_map(|x| [x, 10.0 * x, 1.0 / x]));
        check(atan, f64::atan, (0..250).map(|i| 2f32.powi(i - 125)));
        for x in unit().step_by(1009).flat_map(|x| [x, 1e3 * x]) {
            check(|y| atan2(y, x), |y| y.atan2(x.into()), unit().step_by(997));
        }
    }

    #[test]
    fn special_values_are_those_of_the_standard_library() {
        let specials = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 2.0];
        for x in specials {
            for (found, expected) in [(atan(x), x.atan()), (asin(x), x.asin()), (acos(x), x.acos())] {
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{x}: {found} and {expected}");
                assert!(found.is_nan() || found.is_sign_negative() == expected.is_sign_negative(), "{x}");
            }
            for y in specials {
                let (found, expected) = (atan2(y, x), y.atan2(x));
                assert!((found - expected).abs() < 1e-6 || found.is_nan() && expected.is_nan(), "{y}, {x}: {found} and {expected}");
                assert!(found.is_nan() || found.is_sign_negative() == expected.is_sign_negative(), "{y}, {x}");
            }
        }
    }
}
