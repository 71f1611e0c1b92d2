//! Sums, products, quotients and remainders. Integers wrap around, except that a zero divisor is an error.

use crate::elementwise::{BinaryOp, Check, TRANSCENDENTAL};
use crate::number::{Number, Ordered};
use flowmill_numeric::elementwise::{floor_quotient, floor_quotients};
use flowmill_tensor::{Complex, Result, bail, bf16, f16};

/// `a + b`.
pub(crate) struct Add;
/// `a - b`.
pub(super) struct Sub;
/// `a b`.
pub(crate) struct Mul;
/// `a / b`, rounded towards zero for integers.
pub(super) struct Div;
/// `a / b` of floating-point and complex numbers.
pub(super) struct RealDiv;
/// `a / b`, or zero if `b` is zero.
pub(super) struct DivNoNan;
/// `a b`, or zero if `b` is zero, whatever `a` is.
pub(super) struct MulNoNan;
/// The greatest integer that is not greater than `a / b`.
pub(super) struct FloorDiv;
/// The remainder of `FloorDiv`, which has the sign of `b`.
pub(super) struct FloorMod;
/// The remainder of a division rounded towards zero, which has the sign of `a`.
pub(super) struct TruncateMod;
/// `a / b`, rounded towards zero.
pub(super) struct TruncateDiv;
/// The larger of both; NaN if either is NaN.
pub(super) struct Maximum;
/// The smaller of both; NaN if either is NaN.
pub(super) struct Minimum;
/// `(a - b)` times its conjugate.
pub(super) struct SquaredDifference;
/// `a` to the power of `b`; negative powers of integers are an error.
pub(super) struct Pow;

/// Implements functions of any type of numbers. Types of 16 bits compute those that are marked as `rounded_once` in blocks, if that is faster.
macro_rules! for_all {
    ($($op:ident: $bound:ident, |$a:ident, $b:ident| $body:expr $(, $rounded_once:ident)?;)*) => {
        $(impl<T: $bound> BinaryOp<T> for $op {
            type Out = T;
            #[inline(always)]
            fn apply($a: T, $b: T) -> T { $body }
            $(for_all!(@$rounded_once $op);)?
        })*
    };
    (@rounded_once $op:ident) => {
        fn zip(a: &[T], b: &[T], dst: &mut [T]) {
            T::zip_rounded(a, b, dst, Self::apply, <$op as BinaryOp<f32>>::zip);
        }
    };
}

for_all! {
    Add: Number, |a, b| a.plus(b), rounded_once;
    Sub: Number, |a, b| a.minus(b), rounded_once;
    Mul: Number, |a, b| a.times(b), rounded_once;
    DivNoNan: Number, |a, b| a.over_no_nan(b);
    MulNoNan: Number, |a, b| if b == T::ZERO { T::ZERO } else { a.times(b) };
    Maximum: Ordered, |a, b| a.larger(b), rounded_once;
    Minimum: Ordered, |a, b| a.smaller(b), rounded_once;
    SquaredDifference: Number, |a, b| { let d = a.minus(b); d.conj().times(d) };
}

impl<T: Number> BinaryOp<T> for RealDiv {
    type Out = T;
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.over(b)
    }
    fn zip(a: &[T], b: &[T], dst: &mut [T]) {
        T::zip_over(a, b, dst, <RealDiv as BinaryOp<f32>>::zip);
    }
}

/// Checks for zero divisors. If there are no dividends, nothing is divided and every divisor is accepted.
fn check_divisors<T: Number>(dividends: &[T], divisors: &[T]) -> Result<()> {
    if !dividends.is_empty() && divisors.contains(&T::ZERO) {
        bail!(InvalidArgument, "Integer division by zero");
    }
    Ok(())
}

macro_rules! integer_division {
    ($($t:ty),*) => {
        $(
            integer_division!(@truncated $t);
            integer_division!(@each $t, FloorDiv, |a, b| {
                let (quotient, rest) = (a.over(b), if b == 0 { 0 } else { a.wrapping_rem(b) });
                #[allow(unused_comparisons)]
                if rest != 0 && (rest < 0) != (b < 0) { quotient.wrapping_sub(1) } else { quotient }
            });
        )*
    };
    (@truncated $t:ty) => {
        integer_division!(@each $t, Div, |a, b| a.over(b));
        integer_division!(@each $t, TruncateDiv, |a, b| a.over(b));
        integer_division!(@each $t, FloorMod, |a, b| {
            let rest = if b == 0 { 0 } else { a.wrapping_rem(b) };
            #[allow(unused_comparisons)]
            if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
        });
    };
    (@each $t:ty, $op:ident, |$a:ident, $b:ident| $body:expr $(, $zip:path)?) => {
        impl BinaryOp<$t> for $op {
            type Out = $t;
            const COST: usize = 4;
            const CHECK: Option<Check<$t>> = Some(check_divisors);
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t { $body }
            $(fn zip(a: &[$t], b: &[$t], dst: &mut [$t]) { $zip(a, b, dst) })?
        }
    };
}
integer_division!(i8, i16, u8, u16, u32, u64);
integer_division!(@truncated i64);
integer_division!(@each i64, TruncateMod, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
integer_division!(@each i64, FloorDiv, |a, b| floor_quotient(a, b), floor_quotients);
// Quotients of `f64` are exact after rounding down, because both numbers have far fewer bits, and vectors have them. Divisors of zero were refused.
integer_division!(@each i32, Div, |a, b| truncated(a, b));
integer_division!(@each i32, TruncateDiv, |a, b| truncated(a, b));
integer_division!(@each i32, TruncateMod, |a, b| a.wrapping_sub(truncated(a, b).wrapping_mul(b)));
integer_division!(@each i32, FloorDiv, |a, b| floored(a, b));
integer_division!(@each i32, FloorMod, |a, b| a.wrapping_sub(floored(a, b).wrapping_mul(b)));

/// Returns the quotient, rounded towards zero.
#[inline(always)]
fn truncated(a: i32, b: i32) -> i32 {
    if b == -1 { a.wrapping_neg() } else { (f64::from(a) / f64::from(b)) as i32 }
}

/// Returns the quotient, rounded down.
#[inline(always)]
fn floored(a: i32, b: i32) -> i32 {
    if b == -1 { a.wrapping_neg() } else { (f64::from(a) / f64::from(b)).floor() as i32 }
}

macro_rules! integer_powers {
    ($($t:ty),*) => {
        $(impl BinaryOp<$t> for Pow {
            type Out = $t;
            const COST: usize = TRANSCENDENTAL;
            const CHECK: Option<Check<$t>> = Some(|bases: &[$t], exponents: &[$t]| {
                if !bases.is_empty() && exponents.iter().any(|&e| e < 0) {
                    bail!(InvalidArgument, "Integers to negative integer powers are not allowed");
                }
                Ok(())
            });
            fn apply(base: $t, exponent: $t) -> $t {
                let (mut base, mut exponent, mut power) = (base, exponent, 1 as $t);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                power
            }
        })*
    };
}
integer_powers!(i8, i16, i32, i64);

/// Ops on `f32` and `f64`, which the 16-bit types use through `f32`.
macro_rules! float_ops {
    ($($op:ident, $cost:expr, |$a:ident, $b:ident| $body:expr;)*) => {
        $(
            float_ops!(@each [f32, f64] $op, $cost, |$a, $b| $body);
            float_ops!(@each [f16, bf16] $op, $cost, |a, b| Number::narrow(<$op as BinaryOp<f32>>::apply(a.widen(), b.widen())));
        )*
    };
    (@each [$($t:ty),*] $op:ident, $cost:expr, |$a:ident, $b:ident| $body:expr) => {
        $(impl BinaryOp<$t> for $op {
            type Out = $t;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t { $body }
        })*
    };
}

/// The rest of a division that rounds towards zero.
trait Rest {
    /// Returns what `%` does.
    fn rest(self, divisor: Self) -> Self;
}

impl Rest for f32 {
    #[inline(always)]
    fn rest(self, divisor: f32) -> f32 {
        let (a, b) = (f64::from(self), f64::from(divisor));
        let quotient = (a / b).trunc();
        // The numbers have 24 bits, so that a product with a quotient of 28 is exact, and so is the difference. `%` is a loop over the bits of the quotient.
        if quotient.abs() < f64::from(1 << 28) && divisor.is_finite() { ((a - quotient * b) as f32).copysign(self) } else { self % divisor }
    }
}

impl Rest for f64 {
    #[inline(always)]
    fn rest(self, divisor: f64) -> f64 {
        self % divisor
    }
}

float_ops! {
    Div, 1, |a, b| a / b;
    TruncateDiv, 1, |a, b| (a / b).trunc();
    TruncateMod, TRANSCENDENTAL, |a, b| a.rest(b);
    FloorDiv, 1, |a, b| (a / b).floor();
    FloorMod, TRANSCENDENTAL, |a, b| {
        let rest = a.rest(b);
        if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
    };
    Pow, 2 * TRANSCENDENTAL, |a, b| a.powf(b);
}

macro_rules! complex_ops {
    ($($t:ty),*) => {
        $(impl BinaryOp<Complex<$t>> for Div {
            type Out = Complex<$t>;
            #[inline(always)]
            fn apply(a: Complex<$t>, b: Complex<$t>) -> Complex<$t> { a.over(b) }
        }
        impl BinaryOp<Complex<$t>> for Pow {
            type Out = Complex<$t>;
            const COST: usize = 4 * TRANSCENDENTAL;
            fn apply(a: Complex<$t>, b: Complex<$t>) -> Complex<$t> {
                if b == Complex::ZERO {
                    Complex::ONE
                } else if a == Complex::ZERO && b.re > 0.0 {
                    Complex::ZERO
                } else {
                    a.powc(b)
                }
            }
        })*
    };
}
complex_ops!(f32, f64);
