//! Gradients of normalisations.

use super::formula::Formula;
use super::{Grads, all, like};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::{Backward, Grad, GradientOptions, add_gradients};
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

const BATCH_NORM: &[&str] = &["epsilon", "data_format", "is_training"];

fn is_training(b: &B<'_>, op: &Backward) -> Result<bool> {
    b.graph().node(op.node)?.attrs().get_or("is_training", true)
}

/// `FusedBatchNorm` and its later versions, of (x, scale, offset, mean, variance): the op's reserved outputs are what its gradient op takes;
/// out of training that are mean and variance.
pub(crate) fn fused_batch_norm(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let version = b.graph().node(op.node)?.op().trim_start_matches("FusedBatchNorm").to_owned();
    let kind = format!("FusedBatchNormGrad{version}");
    let mut inputs = vec![dy, op.inputs[0], op.inputs[1]];
    match is_training(b, op)? {
        true => inputs.extend([op.output(3), op.output(4)]),
        false => inputs.extend([op.inputs[3], op.inputs[4]]),
    }
    if version == "V3" {
        inputs.push(op.output(5));
    }
    let dx = like(b, op, &kind, &inputs, BATCH_NORM)?;
    let grads = [0, 1, 2].map(|slot| Some(Grad::Dense(dx.node.output(slot))));
    Ok(grads.into_iter().chain([None, None]).collect())
}

/// The gradient's gradient: what the gradient op computes, written in ops that have gradients, is differentiated.
pub(crate) fn fused_batch_norm_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    let (dy, x, scale) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let attrs = b.graph().node(op.node)?.attrs();
    let epsilon = f64::from(attrs.get_or("epsilon", 1e-4f32)?);
    let format = attrs.get_or("data_format", "NHWC")?;
    let (channels_first, rank) = (format.starts_with("NC"), b.shape(x).rank().unwrap_or(format.len()));
    let training = is_training(b, op)?;
    let channel_axis = if channels_first { 1 } else { rank - 1 };
    let axes: Vec<i32> = (0..rank).filter(|&axis| axis != channel_axis).map(|axis| axis as i32).collect();
    let axes = b.ints(&axes)?;
    // A value per channel in a shape that broadcasts.
    let per_channel = |b: &mut B<'_>, v: OutputId| {
        if !channels_first {
            return Ok(v);
        }
        let mut shape = vec![1; rank];
        shape[1] = -1;
        let shape = b.ints(&shape)?;
        b.reshape(v, shape)
    };
    let sum = |b: &mut B<'_>, v: OutputId, keep: bool| b.op("Sum").inputs(&[v, axes]).attr("keep_dims", keep).output();
    let mean = |b: &mut B<'_>, v: OutputId| b.op("Mean").inputs(&[v, axes]).attr("keep_dims", true).output();
    let (centre, variance) = match training {
        true => {
            let centre = mean(b, x)?;
            let centred = b.sub(x, centre)?;
            let square = b.square(centred)?;
            (centre, mean(b, square)?)
        }
        false => (per_channel(b, op.inputs[3])?, per_channel(b, op.inputs[4])?),
    };
    let epsilon = b.number(variance, epsilon)?;
    let sum_of = b.add(variance, epsilon)?;
    let inverse = b.call("Rsqrt", &[sum_of])?;
    let centred = b.sub(x, centre)?;
    let normal = b.mul(centred, inverse)?;
    let weights = per_channel(b, scale)?;
    let slope = b.mul(weights, inverse)?;
    let weighted = b.mul(dy, normal)?;
    let inner = match training {
        true => {
            let (mean_dy, mean_weighted) = (mean(b, dy)?, mean(b, weighted)?);
            let along = b.mul(normal, mean_weighted)?;
            let rest = b.sub(dy, mean_dy)?;
            b.sub(rest, along)?
        }
        false => dy,
    };
    let results = [b.mul(slope, inner)?, sum(b, weighted, false)?, sum(b, dy, false)?];
    let given: Vec<Option<OutputId>> = (0..3).map(|i| op.dy(b, i).map(Some)).collect::<Result<_>>()?;
    // What comes depends on x as well, by ways that are not this op's.
    let options = GradientOptions { stop_gradients: vec![dy, x, scale], ..GradientOptions::default() };
    let mut grads = add_gradients(b, &results, &[dy, x, scale], &given, &options)?;
    grads.resize(op.inputs.len(), None);
    Ok(grads)
}

/// `(t - m) / sqrt(v + epsilon) * gamma + beta`, of (t, m, v, beta, gamma), over the last dimension.
pub(crate) fn batch_norm_with_global_normalization(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (t, m, v, gamma) = (op.inputs[0], op.inputs[1], op.inputs[2], op.inputs[4]);
    let attrs = b.graph().node(op.node)?.attrs();
    let (epsilon, scales) = (f64::from(attrs.get_or("variance_epsilon", 0f32)?), attrs.get_or("scale_after_normalization", false)?);
    let axes = b.ints(&[0, 1, 2])?;
    let epsilon = b.number(v, epsilon)?;
    let sum = b.add(v, epsilon)?;
    let inverse = b.call("Rsqrt", &[sum])?;
    let slope = if scales { b.mul(inverse, gamma)? } else { inverse };
    let centred = b.sub(t, m)?;
    let weighted = b.mul(dy, centred)?;
    let total = b.call("Sum", &[weighted, axes])?;
    let dbeta = b.call("Sum", &[dy, axes])?;
    let dt = b.mul(dy, slope)?;
    let along = b.mul(dbeta, slope)?;
    let dm = b.neg(along)?;
    let cube = b.square(inverse)?;
    let cube = b.mul(cube, slope)?;
    let dv = b.mul(total, cube)?;
    let dv = b.times(dv, -0.5)?;
    let dgamma = if scales { b.mul(total, inverse)? } else { b.zeros_like(gamma)? };
    all([dt, dm, dv, dbeta, dgamma])
}

pub(crate) fn lrn(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    all([like(b, op, "LRNGrad", &[dy, op.inputs[0], op.output(0)], &["depth_radius", "bias", "alpha", "beta"])?])
}
