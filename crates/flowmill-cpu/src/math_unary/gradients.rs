//! Derivatives of unary functions, from the function's result `y` and the gradient `dy`.
//!
//! Complex results are conjugated first, except for those of `TanhGrad` and `SigmoidGrad`, which TensorFlow's gradient functions conjugate.

use crate::elementwise::{BinaryOp, Operands};
use flowmill_tensor::{Complex, bf16, f16};

macro_rules! gradients {
    ($($(#[$doc:meta])* $op:ident, |$y:ident, $dy:ident| $real:expr, complex |$yc:ident, $dyc:ident| $complex:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $op;
            gradients!(@each [f32, f64] $op, |$y, $dy| $real);
            gradients!(@small [f16, bf16] $op);
            gradients!(@each [Complex<f32>, Complex<f64>] $op, |$yc, $dyc| $complex);
        )*
    };
    (@each [$($t:ty),*] $op:ident, |$y:ident, $dy:ident| $body:expr) => {
        $(impl BinaryOp<$t> for $op {
            type Out = $t;
            const OPERANDS: Operands = Operands::SameCount;
            #[inline(always)]
            fn apply($y: $t, $dy: $t) -> $t { $body }
        })*
    };
    (@small [$($t:ty),*] $op:ident) => {
        $(impl BinaryOp<$t> for $op {
            type Out = $t;
            const OPERANDS: Operands = Operands::SameCount;
            #[inline(always)]
            fn apply(y: $t, dy: $t) -> $t { <$t>::from_f32(<$op as BinaryOp<f32>>::apply(y.to_f32(), dy.to_f32())) }
        })*
    };
}

gradients! {
    /// `dy (1 - y²)`.
    TanhGrad, |y, dy| dy * (1.0 - y * y), complex |y, dy| dy * (Complex::from(1.0) - y * y);
    /// `dy y (1 - y)`.
    SigmoidGrad, |y, dy| dy * (1.0 - y) * y, complex |y, dy| dy * (Complex::from(1.0) - y) * y;
    /// `-dy y²`.
    ReciprocalGrad, |y, dy| -dy * (y * y), complex |y, dy| -dy * (y.conj() * y.conj());
    /// `dy / 2 / y`.
    SqrtGrad, |y, dy| dy * 0.5 / y, complex |y, dy| dy * 0.5 / y.conj();
    /// `-dy / 2 y³`.
    RsqrtGrad, |y, dy| dy * (y * -0.5) * (y * y), complex |y, dy| dy * (y.conj() * -0.5) * (y.conj() * y.conj());
}
