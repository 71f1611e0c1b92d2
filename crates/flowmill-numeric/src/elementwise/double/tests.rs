//! Errors of the functions against values in twice the precision.

use super::*;

/// The sum of two numbers, of which the second is at most half a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

impl Pair {
    fn plus(self, other: Pair) -> Pair {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (other.0 - part);
        Pair::normalised(sum, error + self.1 + other.1)
    }

    fn times(self, other: Pair) -> Pair {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        Pair::normalised(product, error + self.0 * other.1 + self.1 * other.0)
    }

    fn over(self, other: Pair) -> Pair {
        let first = self.0 / other.0;
        let rest = self.plus(other.times(Pair(-first, 0.0)));
        Pair::normalised(first, rest.0 / other.0)
    }

    fn scaled(self, power: f64) -> Pair {
        Pair(self.0 * power, self.1 * power)
    }

    fn normalised(high: f64, low: f64) -> Pair {
        let sum = high + low;
        Pair(sum, low - (sum - high))
    }
}

/// The most digits of `ln(2)` that a pair has.
const LN_2: Pair = Pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// Returns `e^x - 1` by its series after a division of the reduced argument by 256, and the exponent of the factor that is left.
fn exact_parts(x: Pair) -> (Pair, i32) {
    let k = (x.0 / LN_2.0).round();
    let r = x.plus(LN_2.times(Pair(-k, 0.0))).scaled(1.0 / 256.0);
    let mut sum = Pair(0.0, 0.0);
    for n in (1..=14).rev() {
        // r / n (1 + sum)
        sum = r.times(sum.plus(Pair(1.0, 0.0))).over(Pair(f64::from(n), 0.0));
    }
    for _ in 0..8 {
        // (1 + s)² - 1
        sum = sum.times(sum).plus(sum.scaled(2.0));
    }
    (sum, k as i32)
}

fn exact_exp(x: Pair) -> Pair {
    let (e, k) = exact_parts(x);
    let first = k / 2;
    e.plus(Pair(1.0, 0.0)).scaled(2f64.powi(first)).scaled(2f64.powi(k - first))
}

fn exact_expm1(x: Pair) -> Pair {
    let (e, k) = exact_parts(x);
    if k == 0 { e } else { exact_exp(x).plus(Pair(-1.0, 0.0)) }
}

/// Returns the logarithm of a number near `e^guess` by a step of Newton's method.
fn exact_log(x: Pair, guess: f64) -> Pair {
    let e = x.times(exact_exp(Pair(-guess, 0.0))).plus(Pair(-1.0, 0.0));
    Pair(guess, 0.0).plus(e.plus(e.times(e).scaled(-0.5)))
}

fn exact_log1p(x: f64) -> Pair {
    if x.abs() < 1e-9 {
        let x = Pair(x, 0.0);
        return x.plus(x.times(x).scaled(-0.5)).plus(x.times(x).times(x).over(Pair(3.0, 0.0)));
    }
    exact_log(Pair(1.0, 0.0).plus(Pair(x, 0.0)), x.ln_1p())
}

fn exact_sigmoid(x: f64) -> Pair {
    let e = exact_exp(Pair(-x.abs(), 0.0));
    (if x < 0.0 { e } else { Pair(1.0, 0.0) }).over(e.plus(Pair(1.0, 0.0)))
}

fn exact_tanh(x: f64) -> Pair {
    let t = exact_expm1(Pair(2.0 * x, 0.0));
    t.over(t.plus(Pair(2.0, 0.0)))
}

/// Returns the greatest error of `f` in units of the last place.
fn worst(f: fn(f64) -> f64, exact: impl Fn(f64) -> Pair, arguments: impl Iterator<Item = f64>) -> f64 {
    let mut worst = 0.0f64;
    for x in arguments {
        let expected = exact(x);
        let size = expected.0.abs().max(f64::MIN_POSITIVE);
        let unit = f64::from_bits(size.to_bits() + 1) - size;
        let error = ((f(x) - expected.0) - expected.1).abs() / unit;
        assert!(!error.is_nan(), "{x:e}: {:e} and {:e}", f(x), expected.0);
        worst = worst.max(error);
    }
    worst
}

/// Returns numbers of both signs from -limit to limit, dense near zero and evenly spaced.
fn numbers(limit: f64) -> impl Iterator<Item = f64> {
    let even = (-50_000..=50_000).map(move |i| f64::from(i) * limit / 50_001.3);
    let sizes = (0..50_000).map(move |i| (1.0 - 2.0 * f64::from(i % 2)) * limit * (-f64::from(i) * 8.1e-4).exp());
    even.chain(sizes).filter(|x| *x != 0.0)
}

/// Returns positive normal numbers of all sizes, most of them near 1.
fn positive() -> impl Iterator<Item = f64> {
    let bits = (1u64 << 52..f64::INFINITY.to_bits()).step_by(100_003_000_000_007).map(f64::from_bits);
    bits.chain((1..80_000).map(|i| f64::from(i) / 40_000.7))
}

#[track_caller]
fn check(name: &str, limit: f64, worst: f64) {
    assert!(worst <= limit, "{name}: {worst} ulp");
    assert!(worst > limit - 0.75, "{name}: only {worst} ulp, so that the limit is too high");
}

#[test]
fn errors_are_within_their_limits() {
    let one = |f: fn(Pair) -> Pair| move |x| f(Pair(x, 0.0));
    check("exp", 1.0, worst(exp, one(exact_exp), numbers(670.0).chain(numbers(2.0))));
    check("expm1", 1.5, worst(expm1, one(exact_expm1), numbers(709.0).chain(numbers(2.0))));
    check("log", 1.0, worst(log, |x| exact_log(Pair(x, 0.0), x.ln()), positive()));
    check("log1p", 1.5, worst(log1p, exact_log1p, positive().chain(numbers(0.99)).chain(numbers(5.0)).filter(|x| *x > -1.0)));
    check("tanh", 2.5, worst(tanh, exact_tanh, numbers(25.0).chain(numbers(2.0))));
    check("sigmoid", 2.5, worst(sigmoid, exact_sigmoid, numbers(700.0).chain(numbers(10.0))));
}

/// Asserts that `f` returns `expected` with the same sign, or NaN.
#[track_caller]
fn same(found: f64, expected: f64) {
    assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{found:e} and {expected:e}");
}

#[test]
fn special_values_are_those_of_the_standard_library() {
    let (inf, max, min) = (f64::INFINITY, f64::MAX, f64::MIN_POSITIVE);
    let denormal = f64::from_bits(1);
    for x in [0.0, -0.0, inf, -inf, f64::NAN, max, -max, 1e4, -1e4, 709.8, -745.2, denormal, -denormal, min, -min] {
        same(exp(x), x.exp());
        same(expm1(x), x.exp_m1());
        same(tanh(x), x.tanh());
        same(sigmoid(x), if x == 709.8 { 1.0 } else { 1.0 / (1.0 + (-x).exp()) });
    }
    for x in [0.0, -0.0, inf, -inf, f64::NAN, 1.0, -1.0, -denormal, -min, -max] {
        same(log(x), x.ln());
    }
    for x in [0.0, -0.0, inf, -inf, f64::NAN, -1.0, -1.5, -max, denormal, -denormal, min, -min] {
        same(log1p(x), x.ln_1p());
    }
}

#[test]
fn denormal_numbers_are_computed() {
    // The logarithms of the least numbers of all binary sizes.
    for i in 0..52 {
        let x = f64::from_bits(3 << i);
        assert!((log(x) - x.ln()).abs() <= 2e-13, "{x:e}: {} and {}", log(x), x.ln());
    }
    for x in (7_085..7_451).map(|i| f64::from(-i) * 0.1) {
        let found = exp(x);
        assert!((found - x.exp()).abs() <= f64::from_bits(1), "{x}: {found:e} and {:e}", x.exp());
    }
    assert!(exp(709.7).is_finite() && expm1(709.7).is_finite());
}

crate::dispatch! {
    /// Applies all functions, so that every copy of the loop is compiled for its instruction set.
    fn apply_all(src: &[f64], dst: &mut [[f64; 6]]) {
        for (x, y) in src.iter().zip(dst) {
            *y = [exp(*x), expm1(*x), log(*x), log1p(*x), tanh(*x), sigmoid(*x)];
        }
    }
}

#[test]
fn loops_return_the_bits_of_single_calls() {
    let x: Vec<f64> = numbers(800.0).collect();
    let mut y = vec![[0.0; 6]; x.len()];
    apply_all(&x, &mut y);
    for (x, y) in x.iter().zip(&y).step_by(37) {
        let functions = [exp, expm1, log, log1p, tanh, sigmoid];
        functions.iter().zip(y).for_each(|(f, y)| same(f(std::hint::black_box(*x)), *y));
    }
}
