//! Sign, square and similar functions for every numeric type; integers wrap around.

use crate::elementwise::UnaryOp;
use crate::number::Number;
use flowmill_tensor::{Complex, bf16, f16};
use num_traits::Zero;

/// The absolute value; that of the most negative integer is the integer itself.
pub(crate) struct Abs;
/// Minus x.
pub(crate) struct Neg;
/// -1, 0 or 1; NaN for NaN; `z / |z|` for complex numbers.
pub(crate) struct Sign;
/// x times x.
pub(crate) struct Square;
/// Every bit flipped.
pub(crate) struct Invert;
/// The number of bits that are set.
pub(crate) struct PopulationCount;
/// Logical not.
pub(crate) struct LogicalNot;
/// A test for NaN.
pub(crate) struct IsNan;
/// A test for infinities.
pub(crate) struct IsInf;
/// A test for numbers that are neither infinite nor NaN.
pub(crate) struct IsFinite;

impl<T: Number> UnaryOp<T> for Square {
    type Out = T;
    #[inline(always)]
    fn apply(x: T) -> T {
        x.times(x)
    }
}

impl UnaryOp<bool> for LogicalNot {
    type Out = bool;
    #[inline(always)]
    fn apply(x: bool) -> bool {
        !x
    }
}

macro_rules! to_type {
    ($($op:ident for [$($t:ty),*] -> $out:ty, |$x:ident| $body:expr;)*) => {
        $($(impl UnaryOp<$t> for $op {
            type Out = $out;
            #[inline(always)]
            fn apply($x: $t) -> $out { $body }
        })*)*
    };
}

macro_rules! same_type {
    ($($op:ident for [$($t:ty),*], |$x:ident| $body:expr;)*) => {
        $($(impl UnaryOp<$t> for $op {
            type Out = $t;
            #[inline(always)]
            fn apply($x: $t) -> $t { $body }
        })*)*
    };
}

same_type! {
    Abs for [f32, f64], |x| x.abs();
    Abs for [f16], |x| f16::from_bits(x.to_bits() & 0x7fff);
    Abs for [bf16], |x| bf16::from_bits(x.to_bits() & 0x7fff);
    Abs for [i8, i16, i32, i64], |x| x.wrapping_abs();
    Neg for [f16, bf16, f32, f64, Complex<f32>, Complex<f64>], |x| -x;
    Neg for [i8, i16, i32, i64], |x| x.wrapping_neg();
    Sign for [f32, f64], |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else if x.is_nan() { x } else { 0.0 };
    Sign for [f16, bf16], |x| if x.is_nan() || x.to_f32() == 0.0 { x } else { x.signum() };
    Sign for [i8, i16, i32, i64], |x| x.signum();
    Sign for [Complex<f32>, Complex<f64>], |x| if x.is_zero() { x } else { x / x.norm() };
    Invert for [i8, i16, i32, i64, u8, u16, u32, u64], |x| !x;
}

to_type! {
    PopulationCount for [i8, i16, i32, i64, u8, u16, u32, u64] -> u8, |x| x.count_ones() as u8;
    IsNan for [f16, bf16, f32, f64] -> bool, |x| x.is_nan();
    IsInf for [f16, bf16, f32, f64] -> bool, |x| x.is_infinite();
    IsFinite for [f16, bf16, f32, f64] -> bool, |x| x.is_finite();
}
