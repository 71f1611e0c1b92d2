//! The array ops, compared with values obtained from TensorFlow 2.21.
mod borders;
mod indexing;
mod joining;
mod making;
mod searching;
mod shapes;
mod slices;
mod spaces;

use crate::testing::{Call, ty};
use flowmill_tensor::{Code, DType, Element, Result, Tensor};

/// Returns a tensor of these elements.
pub(super) fn t<T: Element, const N: usize>(shape: [usize; N], values: &[T]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap()
}

/// Returns a vector of `int32`.
pub(super) fn v(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// Returns a scalar `int32`.
pub(super) fn s(value: i32) -> Tensor {
    Tensor::scalar(value)
}

/// Returns `0, 1, 2 …` in this shape.
pub(super) fn iota<const N: usize>(shape: [usize; N]) -> Tensor {
    let n: usize = shape.iter().product();
    t(shape, &(0..n as i32).collect::<Vec<_>>())
}

/// Returns a call of an op on elements of the first input's type.
pub(super) fn call(op: &str, dtype: DType) -> Call {
    Call::new(op).attr("T", ty(dtype))
}

/// Checks the code and the message of a failure.
#[track_caller]
pub(super) fn fails<T: std::fmt::Debug>(result: Result<T>, code: Code, phrase: &str) {
    let e = result.unwrap_err();
    assert_eq!(e.code(), code, "{e}");
    assert!(e.message().contains(phrase), "{e}\n  lacks: {phrase}");
}

/// Checks that a call fails with `InvalidArgument`, TensorFlow's code for nearly all of these errors.
#[track_caller]
pub(super) fn invalid<T: std::fmt::Debug>(result: Result<T>, phrase: &str) {
    fails(result, Code::InvalidArgument, phrase);
}
