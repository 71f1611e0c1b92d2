//! Gradients of random numbers that depend on parameters.

use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::{DType, Result, f16};

/// Samples come in front of the parameters' dimensions; each sample moves with its parameter if its quantile stays.
pub(crate) fn random_gamma(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (shape, alpha) = (op.inputs[0], op.inputs[1]);
    let slope = b.call("RandomGammaGrad", &[alpha, op.output(0)])?;
    let product = b.mul(dy, slope)?;
    // As many dimensions as the shape has elements.
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let count = b.call("Size", &[shape])?;
    let axes = b.call("Range", &[zero, count, one])?;
    let sum = b.call("Sum", &[product, axes])?;
    let grads = first(sum, 0)?;
    Ok([None].into_iter().chain(grads).collect())
}

/// Input `ALPHA` holds the parameters, whose shape ends that of the samples.
pub(crate) fn stateless_random_gamma<const ALPHA: usize>(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (alpha, sample) = (op.inputs[ALPHA], op.output(0));
    let slope = b.call("RandomGammaGrad", &[alpha, sample])?;
    let product = b.mul(dy, slope)?;
    let [sum, _] = b.unbroadcast(alpha, sample, product, product)?;
    Ok((0..ALPHA).map(|_| None).chain(first(sum, 0)?).collect())
}

/// Each sample moves with the bounds if its quantile stays; with mean and deviation it moves as if the bounds moved along, as in TensorFlow.
pub(crate) fn stateless_truncated_normal(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let ([mean, deviation, min, max], sample) = ([op.inputs[2], op.inputs[3], op.inputs[4], op.inputs[5]], op.output(0));
    let mut standard = |x: OutputId| {
        let distance = b.sub(x, mean)?;
        b.div(distance, deviation)
    };
    let (z, z_min, z_max) = (standard(sample)?, standard(min)?, standard(max)?);
    let (p, p_min, p_max) = (normal_quantile(b, z)?, normal_quantile(b, z_min)?, normal_quantile(b, z_max)?);
    let (below, all) = (b.sub(p, p_min)?, b.sub(p_max, p_min)?);
    let share = b.div(below, all)?;
    // Away from 0 and 1, whose logarithms are infinite.
    let (least, epsilon) = match b.dtype(sample) {
        DType::F16 => (f16::MIN_POSITIVE.to_f64(), f16::EPSILON.to_f64()),
        DType::F32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::EPSILON)),
        _ => (f64::MIN_POSITIVE, f64::EPSILON),
    };
    let (least, most) = (b.number(share, least)?, b.number(share, 1.0 - epsilon)?);
    let share = b.call("Minimum", &[share, most])?;
    let share = b.call("Maximum", &[share, least])?;
    let rest = b.neg(share)?;
    let (log_below, log_above) = (b.call("Log", &[share])?, b.call("Log1p", &[rest])?);
    let z_squared = b.square(z)?;
    let mut slope = |bound: OutputId, log_share: OutputId| {
        let squared = b.square(bound)?;
        let difference = b.sub(z_squared, squared)?;
        let half = b.times(difference, 0.5)?;
        let exponent = b.add(half, log_share)?;
        let slope = b.call("Exp", &[exponent])?;
        b.mul(dy, slope)
    };
    let (by_max, by_min) = (slope(z_max, log_below)?, slope(z_min, log_above)?);
    let by_deviation = b.mul(dy, z)?;
    let mut grads = vec![None, None];
    for (parameter, grad) in [(mean, dy), (deviation, by_deviation), (min, by_min), (max, by_max)] {
        let [sum, _] = b.unbroadcast(parameter, sample, grad, grad)?;
        grads.extend(first(sum, 0)?);
    }
    Ok(grads)
}

/// The share of the standard normal distribution below `x`.
fn normal_quantile(b: &mut ScopedBuilder<'_>, x: OutputId) -> Result<OutputId> {
    let turned = b.times(x, -std::f64::consts::FRAC_1_SQRT_2)?;
    let tail = b.call("Erfc", &[turned])?;
    b.times(tail, 0.5)
}
