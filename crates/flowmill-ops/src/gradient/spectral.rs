//! Gradients of Fourier transforms.

use super::complex::{complex_of, part, real_of};
use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

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

/// The last `rank` dimensions of `x`, as a vector of `int32`.
fn last_dims(b: &mut B<'_>, x: OutputId, rank: i32) -> Result<OutputId> {
    let shape = b.dynamic_shape_of(x)?;
    let (begin, end, step) = (b.ints(&[-rank])?, b.ints(&[0])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("end_mask", 1i64).output()
}

/// `x` with its last `rank` dimensions cut to those `wanted`, or filled up to them with zeros.
fn fit(b: &mut B<'_>, x: OutputId, wanted: OutputId, rank: i32) -> Result<OutputId> {
    let have = last_dims(b, x, rank)?;
    let (zero, two, count) = (b.int(0)?, b.int(2)?, b.int(rank)?);
    let missing = b.sub(wanted, have)?;
    let missing = b.call("Maximum", &[missing, zero])?;
    // [[0, 0], ..., [0, missing], ...]
    let all = b.rank_of(x)?;
    let outer = b.sub(all, count)?;
    let outer_shape = b.op("Pack").inputs(&[outer, two]).output()?;
    let none = b.call("Fill", &[outer_shape, zero])?;
    let before = b.ints(&vec![0; rank as usize])?;
    let rows = b.op("Pack").inputs(&[before, missing]).attr("axis", 1i64).output()?;
    let paddings = b.call("ConcatV2", &[none, rows, zero])?;
    let filled = b.call("Pad", &[x, paddings])?;
    // An ellipsis in front of the last dimensions.
    let (begin, step) = (b.ints(&vec![0; rank as usize + 1])?, b.ints(&vec![1; rank as usize + 1])?);
    let ellipsis = b.ints(&[0])?;
    let end = b.call("ConcatV2", &[ellipsis, wanted, zero])?;
    b.op("StridedSlice").inputs(&[filled, begin, end, step]).attr("ellipsis_mask", 1i64).output()
}

/// Returns the number of elements of a transform of these lengths.
fn count_of(b: &mut B<'_>, lengths: OutputId, dtype: DType) -> Result<OutputId> {
    let axes = b.ints(&[0])?;
    let count = b.call("Prod", &[lengths, axes])?;
    b.cast(count, dtype)
}

/// `RFFT` of `n` numbers gives the first `n/2 + 1` of the whole transform: the rest has no gradient. `n Re(IFFT(dy))`, in the input's sizes.
fn of_rfft(b: &mut B<'_>, op: &Backward, inverse: &str, rank: i32) -> Grads {
    let dy = op.dy(b, 0)?;
    let lengths = op.inputs[1];
    let whole = fit(b, dy, lengths, rank)?;
    let inverse = b.call(inverse, &[whole])?;
    let real = part(b, "Real", inverse)?;
    let dtype = b.dtype(real);
    let count = count_of(b, lengths, dtype)?;
    let grad = b.mul(real, count)?;
    let sizes = last_dims(b, op.inputs[0], rank)?;
    first(fit(b, grad, sizes, rank)?, 1)
}

pub(crate) fn rfft(b: &mut B<'_>, op: &Backward) -> Grads {
    of_rfft(b, op, "IFFT", 1)
}

pub(crate) fn rfft_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    of_rfft(b, op, "IFFT2D", 2)
}

/// TensorFlow has none.
pub(crate) fn rfft_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    of_rfft(b, op, "IFFT3D", 3)
}

/// `IRFFT` takes the first and, for an even length `n`, the last column once, the others twice. `c/n RFFT(dy)`, in the input's sizes.
fn of_irfft(b: &mut B<'_>, op: &Backward, forward: &str, rank: i32) -> Grads {
    let dy = op.dy(b, 0)?;
    let lengths = op.inputs[1];
    let complex = b.dtype(op.inputs[0]);
    let transformed = b.op(forward).inputs(&[dy, lengths]).attr("Tcomplex", AttrValue::from(Value::Type(complex.number()))).output()?;
    let (zero, one, two, last) = (b.int(0)?, b.int(1)?, b.int(2)?, b.int(rank - 1)?);
    let length = b.call("GatherV2", &[lengths, last, zero])?;
    let sizes = last_dims(b, transformed, 1)?;
    let columns = b.call("GatherV2", &[sizes, zero, zero])?;
    let indices = b.call("Range", &[zero, columns, one])?;
    let twice = b.call("Mul", &[indices, two])?;
    // 0 for the first column, the length for the last of an even one.
    let rest = b.call("FloorMod", &[twice, length])?;
    let is_once = b.call("Equal", &[rest, zero])?;
    let factors = b.select(is_once, one, two)?;
    let real = real_of(complex);
    let factors = b.cast(factors, real)?;
    let count = count_of(b, lengths, real)?;
    let factors = b.div(factors, count)?;
    let none = b.number(factors, 0.0)?;
    let factors = complex_of(b, factors, none)?;
    let grad = b.mul(transformed, factors)?;
    let sizes = last_dims(b, op.inputs[0], rank)?;
    first(fit(b, grad, sizes, rank)?, 1)
}

pub(crate) fn irfft(b: &mut B<'_>, op: &Backward) -> Grads {
    of_irfft(b, op, "RFFT", 1)
}

pub(crate) fn irfft_2d(b: &mut B<'_>, op: &Backward) -> Grads {
    of_irfft(b, op, "RFFT2D", 2)
}

/// TensorFlow has none.
pub(crate) fn irfft_3d(b: &mut B<'_>, op: &Backward) -> Grads {
    of_irfft(b, op, "RFFT3D", 3)
}
