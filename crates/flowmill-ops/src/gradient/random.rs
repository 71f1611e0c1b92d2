//! Gradients of random numbers that depend on parameters.

use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::builder::GraphBuilder;
use flowmill_graph::builder::gradients::Backward;

/// Samples come in front of the parameters' dimensions; each sample moves with its parameter where its quantile stays.
pub(crate) fn random_gamma(b: &mut GraphBuilder<'_>, op: &Backward) -> Grads {
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
