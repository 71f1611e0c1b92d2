//! Gradients of ops on complex numbers. The gradient of a real `L` by `z = x + iy` is `dL/dx + i dL/dy`.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

fn type_attr(dtype: DType) -> AttrValue {
    AttrValue::from(Value::Type(dtype.number()))
}

/// The real type that a complex one is made of.
pub(super) fn real_of(dtype: DType) -> DType {
    if dtype == DType::C128 { DType::F64 } else { DType::F32 }
}

/// `Real` or `Imag` of a complex tensor.
pub(super) fn part(b: &mut B<'_>, kind: &str, z: OutputId) -> Result<OutputId> {
    let real = real_of(b.dtype(z));
    b.op(kind).input(z).attr("Tout", type_attr(real)).output()
}

/// `x + iy`.
pub(super) fn complex_of(b: &mut B<'_>, x: OutputId, y: OutputId) -> Result<OutputId> {
    let whole = if b.dtype(x) == DType::F64 { DType::C128 } else { DType::C64 };
    b.op("Complex").inputs(&[x, y]).attr("Tout", type_attr(whole)).output()
}

pub(crate) fn complex(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (dx, dy) = (part(b, "Real", dz)?, part(b, "Imag", dz)?);
    all(b.unbroadcast(op.inputs[0], op.inputs[1], dx, dy)?)
}

pub(crate) fn real(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let zero = b.number(dy, 0.0)?;
    first(complex_of(b, dy, zero)?, 0)
}

pub(crate) fn imag(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let zero = b.number(dy, 0.0)?;
    first(complex_of(b, zero, dy)?, 0)
}

pub(crate) fn conj(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.conj(dy)?, 0)
}

/// `z / |z|`, zero at zero.
pub(crate) fn complex_abs(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let zero = b.number(dy, 0.0)?;
    let scale = b.call("DivNoNan", &[dy, op.output(0)])?;
    let scale = complex_of(b, scale, zero)?;
    first(b.mul(scale, op.inputs[0])?, 0)
}

/// `i / conj(z)`.
pub(crate) fn angle(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let zero = b.number(dy, 0.0)?;
    let turned = complex_of(b, zero, dy)?;
    let conj = b.conj(op.inputs[0])?;
    first(b.div(turned, conj)?, 0)
}
