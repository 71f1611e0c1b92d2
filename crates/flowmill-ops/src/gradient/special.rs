//! Gradients of special functions, and of element-wise functions of two tensors that are rarer than the arithmetic ones.

use super::formula::Formula;
use super::math::chain;
use super::{Grads, all};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad};
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

/// The gradient of the second of two tensors that broadcast; the first has none.
fn second(b: &mut B<'_>, op: &Backward, slope: OutputId) -> Grads {
    let dz = op.dy(b, 0)?;
    let grad = b.mul(dz, slope)?;
    let [_, grad] = b.unbroadcast(op.inputs[0], op.inputs[1], grad, grad)?;
    Ok(vec![None, Some(grad.into())])
}

fn both(b: &mut B<'_>, op: &Backward, dx: OutputId, dy: OutputId) -> Grads {
    all(b.unbroadcast(op.inputs[0], op.inputs[1], dx, dy)?)
}

pub(crate) fn digamma(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let one = b.number(x, 1.0)?;
        b.call("Polygamma", &[one, x])
    })
}

pub(crate) fn polygamma(b: &mut B<'_>, op: &Backward) -> Grads {
    let (n, x) = (op.inputs[0], op.inputs[1]);
    let one = b.number(n, 1.0)?;
    let next = b.add(n, one)?;
    let slope = b.call("Polygamma", &[next, x])?;
    second(b, op, slope)
}

/// The gradient by the second argument: `-x ζ(x + 1, q)`.
pub(crate) fn zeta(b: &mut B<'_>, op: &Backward) -> Grads {
    let (x, q) = (op.inputs[0], op.inputs[1]);
    let one = b.number(x, 1.0)?;
    let next = b.add(x, one)?;
    let value = b.call("Zeta", &[next, q])?;
    let minus = b.neg(x)?;
    let slope = b.mul(minus, value)?;
    second(b, op, slope)
}

/// `√π/2 exp(y²)`.
pub(crate) fn erfinv(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, _, y| {
        let square = b.square(y)?;
        let exp = b.call("Exp", &[square])?;
        b.times(exp, std::f64::consts::PI.sqrt() / 2.0)
    })
}

/// `√(2π) exp(y²/2)`.
pub(crate) fn ndtri(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, _, y| {
        let square = b.square(y)?;
        let half = b.times(square, 0.5)?;
        let exp = b.call("Exp", &[half])?;
        b.times(exp, std::f64::consts::TAU.sqrt())
    })
}

/// `F' = 1 - 2 x F`.
pub(crate) fn dawsn(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, y| {
        let product = b.mul(x, y)?;
        let twice = b.times(product, 2.0)?;
        let one = b.number(x, 1.0)?;
        b.sub(one, twice)
    })
}

/// `e^x / x`.
pub(crate) fn expint(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let exp = b.call("Exp", &[x])?;
        b.div(exp, x)
    })
}

/// `πx²/2`, the angle that Fresnel's integrals turn through.
fn fresnel_angle(b: &mut B<'_>, x: OutputId) -> Result<OutputId> {
    let square = b.square(x)?;
    b.times(square, std::f64::consts::FRAC_PI_2)
}

pub(crate) fn fresnel_cos(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let angle = fresnel_angle(b, x)?;
        b.call("Cos", &[angle])
    })
}

pub(crate) fn fresnel_sin(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let angle = fresnel_angle(b, x)?;
        b.call("Sin", &[angle])
    })
}

/// `ln(x) / (1 - x)`, which is -1 at 1.
pub(crate) fn spence(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let (one, minus_one) = (b.number(x, 1.0)?, b.number(x, -1.0)?);
        let log = b.call("Log", &[x])?;
        let rest = b.sub(one, x)?;
        let slope = b.div(log, rest)?;
        let is_one = b.call("Equal", &[x, one])?;
        b.select(is_one, minus_one, slope)
    })
}

/// The density of the gamma distribution, the derivative of `P(a, x)` by `x`: `exp((a-1) ln x - x - ln Γ(a))`.
fn gamma_density(b: &mut B<'_>, a: OutputId, x: OutputId) -> Result<OutputId> {
    let one = b.number(a, 1.0)?;
    let less = b.sub(a, one)?;
    let power = b.call("Xlogy", &[less, x])?;
    let gamma = b.call("Lgamma", &[a])?;
    let rest = b.add(x, gamma)?;
    let exponent = b.sub(power, rest)?;
    b.call("Exp", &[exponent])
}

/// The slopes of `P(a, x)`; of half precision that by `x` alone, since the op for the other one has no such type.
fn incomplete_gamma(b: &mut B<'_>, op: &Backward, is_upper: bool) -> Grads {
    let (a, x) = (op.inputs[0], op.inputs[1]);
    let density = gamma_density(b, a, x)?;
    let by_x = if is_upper { b.neg(density)? } else { density };
    if !matches!(b.dtype(a), DType::F32 | DType::F64) {
        return second(b, op, by_x);
    }
    let slope = b.call("IgammaGradA", &[a, x])?;
    let by_a = if is_upper { b.neg(slope)? } else { slope };
    let dy = op.dy(b, 0)?;
    let (da, dx) = (b.mul(dy, by_a)?, b.mul(dy, by_x)?);
    all(b.unbroadcast(a, x, da, dx)?)
}

pub(crate) fn igamma(b: &mut B<'_>, op: &Backward) -> Grads {
    incomplete_gamma(b, op, false)
}

pub(crate) fn igammac(b: &mut B<'_>, op: &Backward) -> Grads {
    incomplete_gamma(b, op, true)
}

/// The gradient by the third argument, as in TensorFlow: `x^(a-1) (1-x)^(b-1) / B(a, b)`.
pub(crate) fn betainc(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (p, q, x) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let (one, minus) = (b.number(x, 1.0)?, b.neg(x)?);
    let (less_p, less_q) = (b.sub(p, one)?, b.sub(q, one)?);
    let left = b.call("Xlogy", &[less_p, x])?;
    let right = b.call("Xlog1py", &[less_q, minus])?;
    let sum = b.add(p, q)?;
    let (of_p, of_q, of_sum) = (b.call("Lgamma", &[p])?, b.call("Lgamma", &[q])?, b.call("Lgamma", &[sum])?);
    let gammas = b.add(of_p, of_q)?;
    let beta = b.sub(gammas, of_sum)?;
    let logs = b.add(left, right)?;
    let exponent = b.sub(logs, beta)?;
    let density = b.call("Exp", &[exponent])?;
    let grad = b.mul(dz, density)?;
    let [grad, _] = b.unbroadcast(x, op.output(0), grad, grad)?;
    Ok(vec![None, None, Some(grad.into())])
}

/// `x y`, zero where `y` is, whatever `x`.
pub(crate) fn mul_no_nan(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let dx = b.call("MulNoNan", &[dz, op.inputs[1]])?;
    let dy = b.call("MulNoNan", &[op.inputs[0], dz])?;
    both(b, op, dx, dy)
}

/// `x f(y)`, zero where `x` is: the slope by `x` is `f(y)` except there, where it is taken as zero.
fn times_function(
    b: &mut B<'_>,
    op: &Backward,
    value: &str,
    slope: impl FnOnce(&mut B<'_>, OutputId, OutputId) -> Result<OutputId>,
) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (op.inputs[0], op.inputs[1]);
    let zero = b.number(x, 0.0)?;
    let differs = b.call("NotEqual", &[x, zero])?;
    let dtype = b.dtype(x);
    let indicator = b.cast(differs, dtype)?;
    let by_x = b.call(value, &[indicator, y])?;
    let by_y = slope(b, x, y)?;
    let (dx, dy) = (b.mul(dz, by_x)?, b.mul(dz, by_y)?);
    both(b, op, dx, dy)
}

pub(crate) fn xlogy(b: &mut B<'_>, op: &Backward) -> Grads {
    times_function(b, op, "Xlogy", |b, x, y| b.call("Xdivy", &[x, y]))
}

pub(crate) fn xlog1py(b: &mut B<'_>, op: &Backward) -> Grads {
    times_function(b, op, "Xlog1py", |b, x, y| {
        let one = b.number(y, 1.0)?;
        let sum = b.add(one, y)?;
        b.call("Xdivy", &[x, sum])
    })
}

pub(crate) fn xdivy(b: &mut B<'_>, op: &Backward) -> Grads {
    times_function(b, op, "Xdivy", |b, x, y| {
        let square = b.square(y)?;
        let minus = b.neg(x)?;
        b.call("Xdivy", &[minus, square])
    })
}

/// The next number towards another one: one by the first, nothing by the other.
pub(crate) fn next_after(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let zeros = b.zeros_like(dz)?;
    both(b, op, dz, zeros)
}

/// `dz·(x × y) = x·(y × dz) = y·(dz × x)`.
pub(crate) fn cross(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (op.inputs[0], op.inputs[1]);
    let (dx, dy) = (b.call("Cross", &[y, dz])?, b.call("Cross", &[dz, x])?);
    all([dx, dy])
}

/// Gradients of clipped elements go to the limit that clipped them.
pub(crate) fn clip_by_value(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, low, high) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let zero = b.number(dz, 0.0)?;
    let is_low = b.call("Less", &[x, low])?;
    let is_high = b.call("Greater", &[x, high])?;
    let is_clipped = b.call("LogicalOr", &[is_low, is_high])?;
    let dx = b.select(is_clipped, zero, dz)?;
    let (to_low, to_high) = (b.select(is_low, dz, zero)?, b.select(is_high, dz, zero)?);
    let [_, to_low] = b.unbroadcast(x, low, dx, to_low)?;
    let [_, to_high] = b.unbroadcast(x, high, dx, to_high)?;
    all([dx, to_low, to_high])
}

/// A gradient that passes by everything but the first input.
pub(crate) fn pass_first(_: &mut B<'_>, op: &Backward) -> Grads {
    let mut grads: Vec<Option<Grad>> = op.grads.iter().take(1).cloned().collect();
    grads.resize(op.inputs.len(), None);
    Ok(grads)
}
