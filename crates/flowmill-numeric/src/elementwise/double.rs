//! Elementary functions of `f64` without branches, so that loops over them are compiled to vector instructions.
//!
//! The approximations and the reductions of the arguments are those of FreeBSD's msun (`e_exp.c`, `s_expm1.c`, `e_log.c`, `s_log1p.c`). No operation is
//! fused, no integer is shifted arithmetically and none is converted, because not every instruction set has these operations: every copy of a loop
//! returns the same bits.
//!
//! NaN stays NaN. A denormal result may be flushed to zero, and a denormal argument of a function that is zero at 0 may be treated as zero. Each
//! function's documentation states its error in units in the last place of the exact result.

#[cfg(test)]
mod tests;

/// The upper bits of `ln(2)`, whose products with integers of up to 11 bits are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238_164_90e-01;
/// The rest of `ln(2)`.
const LN_2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;
/// A number that rounds another to an integer in its lowest bits when it is added.
const ROUNDING: f64 = 1.5 * POWER_52;
/// The number `2^52`, which has an integer in its lowest bits.
const POWER_52: f64 = 4_503_599_627_370_496.0;
/// The bias of the exponent.
const BIAS: f64 = 1023.0;
/// The least argument of which the exponential function is infinite, rounded up.
const OVERFLOW: f64 = 710.0;
/// The greatest argument of which the exponential function is zero, rounded down.
const UNDERFLOW: f64 = -746.0;
/// The magnitude below which a function with slope 1 at 0 returns its argument: `2^-54`.
const TINY: f64 = 1.0 / (4.0 * POWER_52);
const MANTISSA: u64 = (1 << 52) - 1;
/// The bits of `sqrt(1/2)`, rounded down.
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_0000_0000;
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// Returns the nearest integer of a number below `2^51`.
#[inline(always)]
fn rounded(x: f64) -> f64 {
    (x + ROUNDING) - ROUNDING
}

/// Returns `2^k` for an integer k from -1022 to 1023.
#[inline(always)]
fn power(k: f64) -> f64 {
    f64::from_bits((k + (ROUNDING + BIAS)).to_bits() << 52)
}

/// Returns the integer k and the parts h and l of `x = k ln(2) + h - l`, where `|h - l|` is at most `ln(2) / 2`.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, f64) {
    let k = rounded(x * std::f64::consts::LOG2_E);
    (k, x - k * LN_2_HIGH, k * LN_2_LOW)
}

/// Returns `e^x`, within 1 ulp.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = if x > OVERFLOW { OVERFLOW } else { x };
    let x = if x < UNDERFLOW { UNDERFLOW } else { x };
    let (k, high, low) = reduced(x);
    // Two factors, because the power itself may be denormal or 2^1024.
    let first = rounded(k * 0.5);
    exp_reduced(high, low) * power(first) * power(k - first)
}

/// Returns `e^(high - low)` for exponents of at most `ln(2) / 2`.
#[inline(always)]
fn exp_reduced(high: f64, low: f64) -> f64 {
    let r = high - low;
    let z = r * r;
    let p = (((4.138_136_797_057_238_460_39e-08 * z - 1.653_390_220_546_525_153_90e-06) * z + 6.613_756_321_437_934_361_17e-05) * z
        - 2.777_777_777_701_559_338_42e-03)
        * z
        + 1.666_666_666_666_660_190_37e-01;
    let c = r - z * p;
    1.0 - ((low - (r * c) / (2.0 - c)) - high)
}

/// Returns `e^x - 1`, within 1.5 ulp.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    // The result is -1 from -40 down.
    let bounded = if x > OVERFLOW { OVERFLOW } else { x };
    let bounded = if bounded < -40.0 { -40.0 } else { bounded };
    let y = expm1_bounded(bounded);
    if x.abs() < TINY { x } else { y }
}

/// Returns `e^x - 1` for x from -40 to [`OVERFLOW`], and 0 for zeros of both signs.
#[inline(always)]
fn expm1_bounded(x: f64) -> f64 {
    let (k, high, low) = reduced(x);
    let r = high - low;
    let rest = (high - r) - low;
    let half = 0.5 * r;
    let square = r * half;
    let q = ((((-2.010_992_181_836_243_713_26e-07 * square + 4.008_217_827_329_362_395_52e-06) * square
        - 7.936_507_578_674_879_424_73e-05)
        * square
        + 1.587_301_587_254_814_601_65e-03)
        * square
        - 3.333_333_333_333_313_164_28e-02)
        * square
        + 1.0;
    let t = 3.0 - q * half;
    let e = square * ((q - t) / (6.0 - r * t));
    // e^r - 1 is r - e.
    let e = (r * (e - rest) - rest) - square;
    // Half of the result, because 2^k may be 2^1024.
    let scale = power(k - 1.0);
    ((scale * r + (scale - 0.5)) - scale * e) * 2.0
}

/// Returns `k ln(2) + ln(1 + f) + low` for `1 + f` from `sqrt(1/2)` to `sqrt(2)` and a small correction.
#[inline(always)]
fn log_sum(k: f64, f: f64, low: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = ((1.531_383_769_920_937_332e-01 * w + 2.222_219_843_214_978_396e-01) * w + 3.999_999_999_940_941_908e-01) * w;
    let odd = (((1.479_819_860_511_658_591e-01 * w + 1.818_357_216_161_805_012e-01) * w + 2.857_142_874_366_239_149e-01) * w
        + 6.666_666_666_666_735_130e-01)
        * z;
    let half_square = 0.5 * f * f;
    k * LN_2_HIGH - ((half_square - (s * (half_square + (even + odd)) + (k * LN_2_LOW + low))) - f)
}

/// Returns the integer k and the number m from `sqrt(1/2)` to `sqrt(2)` such that the normal positive number is `2^k m`.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let shifted = x.to_bits().wrapping_add(ONE - ROOT_OF_HALF);
    let k = f64::from_bits(shifted >> 52 | POWER_52.to_bits()) - (POWER_52 + BIAS);
    (k, f64::from_bits((shifted & MANTISSA) + ROOT_OF_HALF))
}

/// Returns the logarithm of `x` if the finite result for positive `x` is `result`.
#[inline(always)]
fn log_or_special(x: f64, result: f64) -> f64 {
    let result = if x < f64::INFINITY { result } else { x };
    let result = if x < 0.0 { f64::NAN } else { result };
    if x == 0.0 { f64::NEG_INFINITY } else { result }
}

/// Returns the natural logarithm, within 1 ulp.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    // A denormal number is its mantissa times 2^-1074. It is converted by bits, because it may count as zero in arithmetic.
    let is_small = x.abs() < f64::MIN_POSITIVE;
    let mantissa = f64::from_bits(x.to_bits() & MANTISSA | POWER_52.to_bits()) - POWER_52;
    let y = if is_small { mantissa.copysign(x) } else { x };
    let (k, m) = split(y);
    let k = if is_small { k - 1074.0 } else { k };
    log_or_special(y, log_sum(k, m - 1.0, 0.0))
}

/// Returns the natural logarithm of a positive normal number, within 1 ulp.
#[inline(always)]
pub(crate) fn log_of_normal(x: f64) -> f64 {
    let (k, m) = split(x);
    log_sum(k, m - 1.0, 0.0)
}

/// Returns `ln(1 + x)`, within 1.5 ulp.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let (k, m) = split(u);
    // The rounding error of the sum, relative to it. Without a power of two, x itself is the fraction.
    let error = if k < 2.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let is_near = k == 0.0;
    let f = if is_near { x } else { m - 1.0 };
    let low = if is_near { 0.0 } else { error / u };
    let result = log_or_special(u, log_sum(k, f, low));
    if x.abs() < TINY { x } else { result }
}

/// Returns the hyperbolic tangent, within 2.5 ulp.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    // The result is ±1 from 22 on.
    let a = x.abs();
    let a = if a > 22.0 { 22.0 } else { a };
    let t = expm1_bounded(a + a);
    (t / (t + 2.0)).copysign(x)
}

/// Returns `1 / (1 + e^-x)`, within 2.5 ulp.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}
