//! Rust's operators on outputs.

use super::{Input, Ops, Output};
use crate::{DType, Result};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};

/// Returns the result, or a failed output whose error the builder keeps.
fn recorded<'b>(operand: Output<'b>, result: Result<Output<'b>>) -> Output<'b> {
    result.unwrap_or_else(|error| operand.builder().fail(error))
}

fn binary<'b>(known: Output<'b>, op: &'static str, left: Input<'b>, right: Input<'b>) -> Output<'b> {
    recorded(known, known.builder().op(op).input(left).input(right).output())
}

fn is_integer(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::U8 | DType::U16 | DType::U32 | DType::U64)
}

fn division(dtype: DType) -> &'static str {
    if is_integer(dtype) { "TruncateDiv" } else { "RealDiv" }
}

fn and(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "LogicalAnd" } else { "BitwiseAnd" }
}

fn or(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "LogicalOr" } else { "BitwiseOr" }
}

/// An operator, its method, and the op for a dtype; with the number types that may be its left operand.
macro_rules! binary_operators {
    ($($operator:ident, $method:ident, $op:expr, [$($number:ty),*];)*) => {$(
        impl<'b, I: Into<Input<'b>>> $operator<I> for Output<'b> {
            type Output = Output<'b>;
            fn $method(self, other: I) -> Output<'b> {
                binary(self, $op(self.dtype()), self.into(), other.into())
            }
        }

        $(impl<'b> $operator<Output<'b>> for $number {
            type Output = Output<'b>;
            fn $method(self, other: Output<'b>) -> Output<'b> {
                binary(other, $op(other.dtype()), self.into(), other.into())
            }
        })*
    )*};
}

binary_operators! {
    Add, add, |_| "AddV2", [f32, f64, i32, i64];
    Sub, sub, |_| "Sub", [f32, f64, i32, i64];
    Mul, mul, |_| "Mul", [f32, f64, i32, i64];
    Div, div, division, [f32, f64, i32, i64];
    Rem, rem, |_| "TruncateMod", [f32, f64, i32, i64];
    BitAnd, bitand, and, [];
    BitOr, bitor, or, [];
}

impl<'b> Neg for Output<'b> {
    type Output = Output<'b>;
    fn neg(self) -> Output<'b> {
        recorded(self, self.builder().neg(self))
    }
}

impl<'b> Not for Output<'b> {
    type Output = Output<'b>;
    fn not(self) -> Output<'b> {
        let b = self.builder();
        recorded(self, if self.dtype() == DType::Bool { b.logical_not(self) } else { b.invert(self) })
    }
}
