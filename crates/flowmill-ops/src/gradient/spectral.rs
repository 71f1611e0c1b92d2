//! Gradients of Fourier transforms.

use super::complex::{complex_of, part, real_of};
use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::GraphBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

type B<'a> = GraphBuilder<'a>;

/// The number of elements that are transformed: the product of the last `rank` dimensions, as a complex scalar like `like`.
fn size(b: &mut B<'_>, x: OutputId, rank: i32, like: OutputId) -> Result<OutputId> {
    let shape = b.dynamic_shape_of(x)?;
    let (begin, end, step) = (b.ints(&[-rank])?, b.ints(&[0])?, b.ints(&[1])?);
    let last = b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("end_mask", 1i64).output()?;
    let axes = b.ints(&[0])?;
    let count = b.call("Prod", &[last, axes])?;
    let dtype = b.dtype(like);
    let count = b.cast(count, real_of(dtype))?;
    b.cast(count, dtype)
}

/// A transform's gradient is the other direction's, which differ by the number of elements.
fn transform(b: &mut B<'_>, op: &Backward, other: &str, rank: i32, is_forward: bool) -> Grads {
    let dy = op.dy(b, 0)?;
    let grad = b.call(other, &[dy])?;
    let count = size(b, dy, rank, grad)?;
    first(if is_forward { b.mul(grad, count)? } else { b.div(grad, count)? }, 0)
}

pub(crate) fn fft(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "IFFT", 1, true)
}

pub(crate) fn ifft(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "FFT", 1, false)
}

pub(crate) fn fft_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "IFFT2D", 2, true)
}

pub(crate) fn ifft_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "FFT2D", 2, false)
}

pub(crate) fn fft_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "IFFT3D", 3, true)
}

pub(crate) fn ifft_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    transform(b, op, "FFT3D", 3, false)
}

/// The last dimension of `x`, as an `int32` scalar.
fn last_dim(b: &mut B<'_>, x: OutputId) -> Result<OutputId> {
    let shape = b.dynamic_shape_of(x)?;
    let (begin, end, step) = (b.ints(&[-1])?, b.ints(&[0])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("end_mask", 1i64).attr("shrink_axis_mask", 1i64).output()
}

/// `x` with its last dimension cut to `wanted`, or filled up to it with zeros.
fn fit(b: &mut B<'_>, x: OutputId, wanted: OutputId) -> Result<OutputId> {
    let have = last_dim(b, x)?;
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let missing = b.sub(wanted, have)?;
    let missing = b.call("Maximum", &[missing, zero])?;
    // [[0, 0], ..., [0, missing]]
    let rank = b.rank_of(x)?;
    let less = b.sub(rank, one)?;
    let two = b.int(2)?;
    let none_shape = b.op("Pack").inputs(&[less, two]).output()?;
    let none = b.call("Fill", &[none_shape, zero])?;
    let row = b.op("Pack").inputs(&[zero, missing]).output()?;
    let row = b.call("ExpandDims", &[row, zero])?;
    let paddings = b.call("ConcatV2", &[none, row, zero])?;
    let filled = b.call("Pad", &[x, paddings])?;
    let (begin, step, end) = (b.ints(&[0, 0])?, b.ints(&[1, 1])?, b.op("Pack").inputs(&[zero, wanted]).output()?);
    // An ellipsis in front of the last dimension.
    b.op("StridedSlice").inputs(&[filled, begin, end, step]).attr("ellipsis_mask", 1i64).output()
}

/// `RFFT` of `n` numbers gives the first `n/2 + 1` of the whole transform: the rest has no gradient. `n Re(IFFT(dy))`, in the input's length.
pub(crate) fn rfft(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let length = scalar_of(b, op.inputs[1])?;
    let whole = fit(b, dy, length)?;
    let inverse = b.call("IFFT", &[whole])?;
    let real = part(b, "Real", inverse)?;
    let dtype = b.dtype(real);
    let count = b.cast(length, dtype)?;
    let grad = b.mul(real, count)?;
    let width = last_dim(b, op.inputs[0])?;
    first(fit(b, grad, width)?, 1)
}

/// `IRFFT` takes the first and, for an even length `n`, the last column once, the others twice. `c/n RFFT(dy)`, in the input's length.
pub(crate) fn irfft(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let length = scalar_of(b, op.inputs[1])?;
    let complex = b.dtype(op.inputs[0]);
    let transformed = b.op("RFFT").inputs(&[dy, op.inputs[1]]).attr("Tcomplex", AttrValue::from(Value::Type(complex.number()))).output()?;
    let columns = last_dim(b, transformed)?;
    let (zero, one, two) = (b.int(0)?, b.int(1)?, b.int(2)?);
    let indices = b.call("Range", &[zero, columns, one])?;
    let twice = b.call("Mul", &[indices, two])?;
    // 0 for the first column, the length for the last of an even one.
    let rest = b.call("FloorMod", &[twice, length])?;
    let is_once = b.call("Equal", &[rest, zero])?;
    let factors = b.select(is_once, one, two)?;
    let real = real_of(complex);
    let factors = b.cast(factors, real)?;
    let count = b.cast(length, real)?;
    let factors = b.div(factors, count)?;
    let none = b.number(factors, 0.0)?;
    let factors = complex_of(b, factors, none)?;
    let grad = b.mul(transformed, factors)?;
    let width = last_dim(b, op.inputs[0])?;
    first(fit(b, grad, width)?, 1)
}

/// A vector of one element as a scalar.
fn scalar_of(b: &mut B<'_>, vector: OutputId) -> Result<OutputId> {
    let shape = b.constant("Const", &flowmill_tensor::Tensor::vector::<i32>(&[])?)?;
    let scalar = b.reshape(vector, shape)?;
    b.cast(scalar, DType::I32)
}
