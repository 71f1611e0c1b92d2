//! Arithmetic with constants that a rewrite needs before kernels fold them.

use flowmill_tensor::{DType, Element, Result, Tensor, bf16, f16, for_dtype};

/// Numbers of which every value, NaN and zeros included, has a negation in the type.
trait Negate: Element + Copy {
    fn negated(self) -> Self;
}

macro_rules! negate {
    ($($t:ty => |$x:ident| $body:expr;)*) => {
        $(impl Negate for $t {
            fn negated(self) -> $t { let $x = self; $body }
        })*
    };
}

negate! {
    f16 => |x| -x;
    bf16 => |x| -x;
    f32 => |x| -x;
    f64 => |x| -x;
    i8 => |x| x.wrapping_neg();
    i16 => |x| x.wrapping_neg();
    i32 => |x| x.wrapping_neg();
    i64 => |x| x.wrapping_neg();
}

/// Returns the negation of each element, or `None` for types without signed arithmetic.
pub(crate) fn negated(value: &Tensor) -> Option<Tensor> {
    fn map<T: Negate>(value: &Tensor) -> Result<Tensor> {
        let values: Vec<T> = value.as_slice::<T>()?.iter().map(|x| x.negated()).collect();
        Tensor::from_slice(value.shape().clone(), &values)
    }
    for_dtype!(value.dtype(), [f16, bf16, f32, f64, i8, i16, i32, i64], T => map::<T>(value).ok(), _ => None)
}

/// Returns one over each element, if these are powers of two whose reciprocals are exact and normal. Products with them are then equal to quotients.
pub(crate) fn exact_reciprocals(value: &Tensor) -> Option<Tensor> {
    match value.dtype() {
        DType::F32 => {
            let values = value.as_slice::<f32>().ok()?.iter().map(|&x| {
                let is_power = x.is_normal() && x.to_bits() & ((1 << 23) - 1) == 0;
                (is_power && (1.0 / x).is_normal()).then_some(1.0 / x)
            });
            Tensor::from_slice(value.shape().clone(), &values.collect::<Option<Vec<f32>>>()?).ok()
        }
        DType::F64 => {
            let values = value.as_slice::<f64>().ok()?.iter().map(|&x| {
                let is_power = x.is_normal() && x.to_bits() & ((1 << 52) - 1) == 0;
                (is_power && (1.0 / x).is_normal()).then_some(1.0 / x)
            });
            Tensor::from_slice(value.shape().clone(), &values.collect::<Option<Vec<f64>>>()?).ok()
        }
        _ => None,
    }
}

/// Returns true if all elements are integers, or floats that are finite and, unless `or_zero`, normal. Two constants may then be combined into this one:
/// the operation with it overflows, and loses bits to underflow, only where the two operations do.
pub(crate) fn is_safe(value: &Tensor, or_zero: bool) -> bool {
    let is_safe = |x: f64, min: f64| x.is_finite() && (or_zero || x.abs() >= min);
    match value.dtype() {
        DType::F32 => value.as_slice::<f32>().is_ok_and(|v| v.iter().all(|&x| is_safe(x.into(), f32::MIN_POSITIVE.into()))),
        DType::F64 => value.as_slice::<f64>().is_ok_and(|v| v.iter().all(|&x| is_safe(x, f64::MIN_POSITIVE))),
        dtype => dtype.is_integer(),
    }
}
