//! Gradients of Bessel functions, by their recurrences.

use super::Grads;
use super::formula::Formula;
use super::math::chain;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// `I₀(x)`: `I₁(x)`.
pub(crate) fn bessel_i0(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("BesselI1", &[x]))
}

/// `I₁(x)`: `I₀(x) - y / x`, which is 1/2 at zero, where TensorFlow has 1.
pub(crate) fn bessel_i1(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let zero = b.number(x, 0.0)?;
        let is_zero = b.call("Equal", &[x, zero])?;
        let i0 = b.call("BesselI0", &[x])?;
        let quotient = b.call("RealDiv", &[y, x])?;
        let slope = b.sub(i0, quotient)?;
        let half = b.number(x, 0.5)?;
        b.select(is_zero, half, slope)
    })
}

/// `e^-|x| I₀(x)`: `I1e(x) - sign(x) I0e(x)`.
pub(crate) fn bessel_i0e(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let i1e = b.call("BesselI1e", &[x])?;
        let sign = b.call("Sign", &[x])?;
        let signed = b.mul(sign, y)?;
        b.sub(i1e, signed)
    })
}

/// `e^-|x| I₁(x)`: `I0e(x) - y (sign(x) + 1/x)`, which is 1/2 at zero.
pub(crate) fn bessel_i1e(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let zero = b.number(x, 0.0)?;
        let is_zero = b.call("Equal", &[x, zero])?;
        let one = b.number(x, 1.0)?;
        let safe = b.select(is_zero, one, x)?;
        let i0e = b.call("BesselI0e", &[safe])?;
        let sign = b.call("Sign", &[safe])?;
        let inverse = b.reciprocal(safe)?;
        let factor = b.add(sign, inverse)?;
        let product = b.mul(y, factor)?;
        let slope = b.sub(i0e, product)?;
        let half = b.number(x, 0.5)?;
        b.select(is_zero, half, slope)
    })
}

/// Minus the function `kind`, of order 1, whose integral that of order 0 is.
fn minus_order_1(b: &mut B<'_>, op: &Backward, kind: &str) -> Grads {
    chain(b, op, |b, x, _| {
        let value = b.call(kind, &[x])?;
        b.neg(value)
    })
}

/// Returns `kind`, the function of order 0, minus `y / x`.
fn order_0_less_ratio(b: &mut B<'_>, x: OutputId, y: OutputId, kind: &str) -> Result<OutputId> {
    let value = b.call(kind, &[x])?;
    let ratio = b.div(y, x)?;
    b.sub(value, ratio)
}

pub(crate) fn bessel_j0(b: &mut B<'_>, op: &Backward) -> Grads {
    minus_order_1(b, op, "BesselJ1")
}

/// `J₀(x) - J₁(x) / x`, which is 1/2 at zero.
pub(crate) fn bessel_j1(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let (zero, one, half) = (b.number(x, 0.0)?, b.number(x, 1.0)?, b.number(x, 0.5)?);
        let is_zero = b.call("Equal", &[x, zero])?;
        let safe = b.select(is_zero, one, x)?;
        let slope = order_0_less_ratio(b, safe, y, "BesselJ0")?;
        b.select(is_zero, half, slope)
    })
}

pub(crate) fn bessel_y0(b: &mut B<'_>, op: &Backward) -> Grads {
    minus_order_1(b, op, "BesselY1")
}

/// `Y₀(x) - Y₁(x) / x`.
pub(crate) fn bessel_y1(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| order_0_less_ratio(b, x, y, "BesselY0"))
}

pub(crate) fn bessel_k0(b: &mut B<'_>, op: &Backward) -> Grads {
    minus_order_1(b, op, "BesselK1")
}

/// `-K₀(x) - K₁(x) / x`.
pub(crate) fn bessel_k1(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let k0 = b.call("BesselK0", &[x])?;
        let ratio = b.div(y, x)?;
        let sum = b.add(k0, ratio)?;
        b.neg(sum)
    })
}

/// `e^x (K₀(x) - K₁(x))`.
pub(crate) fn bessel_k0e(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let k1e = b.call("BesselK1e", &[x])?;
        b.sub(y, k1e)
    })
}

/// `y (1 - 1/x) - K0e(x)`.
pub(crate) fn bessel_k1e(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let (one, inverse) = (b.number(x, 1.0)?, b.reciprocal(x)?);
        let factor = b.sub(one, inverse)?;
        let scaled = b.mul(y, factor)?;
        let k0e = b.call("BesselK0e", &[x])?;
        b.sub(scaled, k0e)
    })
}
