//! Folds per-channel scales and shifts into the convolution or matrix product before them.
//!
//! Before: `AddV2(Mul(BiasAdd(Conv2D(x, w), b), s), t)` with constants `w`, `b`, `s`, `t`, or `FusedBatchNormV3` without training.
//! After: `BiasAdd(Conv2D(x, w·s), b·s + t)`.
//!
//! Sound because the op is linear in its weights: scaling an output channel is the same as scaling the weights that compute it. Zero padding stays
//! zero. Rounding differs. Guards:
//! * weights, factors and addends are constant `float32`, one value a channel, and do not widen the output;
//! * intermediate tensors have no other consumers, and no control edge orders the nodes that are removed;
//! * of a batch norm only output 0 is used;
//! * all on one device; the folded values are finite.
//!
//! `fold_constants` runs earlier: the factors of Keras' batch norm are computed from variance, mean and gamma.

use crate::PassContext;
use crate::linear::{Linear, is_bias_add, per_channel};
use crate::rewrite::{
    Constant, add_constant, bypass, constant_input, has_no_control_inputs, is_channels_last, node_def, replace, sole_consumer,
};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId};
use flowmill_proto::DataType;
use flowmill_tensor::{DType, Result, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        if let Some(found) = find(graph, id) {
            rewrite(graph, id, found)?;
            count += 1;
        }
    }
    Ok(count)
}

/// A node that scales and shifts the output of a linear op.
struct Found {
    producer: NodeId,
    /// The `BiasAdd` between the two.
    bias_add: Option<NodeId>,
    /// The new weights; `None` if they do not change.
    weights: Option<Constant>,
    /// The new bias; `None` if there is none before and after.
    bias: Option<Constant>,
}

/// Multiply by the first, then add the second, each one value a channel.
struct Affine {
    scale: Option<Vec<f32>>,
    shift: Option<Vec<f32>>,
    controls: Vec<NodeId>,
}

fn find(graph: &Graph, id: NodeId) -> Option<Found> {
    let node = graph.get(id).filter(|n| has_no_control_inputs(graph, n.id()))?;
    for operand in 0..operands(node)? {
        let before = graph.input(id, operand).filter(|o| o.slot == 0).and_then(|o| graph.get(o.node))?;
        let Some((producer, bias_add)) = producer_of(graph, before).filter(|(p, _)| p.device() == node.device()) else { continue };
        let op = Linear::of(producer)?;
        let channels = op.constant_channels(graph, producer)?;
        if node.is_op("BiasAdd") && bias_add.is_none() {
            return None;
        }
        let Some(affine) = affine(graph, node, operand, channels, op.rank()) else { continue };
        return combine(graph, op, producer, bias_add, channels, affine);
    }
    None
}

/// Returns the number of leading inputs of a node that may be the tensor that it scales or shifts.
fn operands(node: &Node) -> Option<usize> {
    match node.traits().elementwise {
        Some(ElementwiseFunction::Mul | ElementwiseFunction::Add) => Some(2),
        Some(ElementwiseFunction::Sub) => Some(1),
        // A `BiasAdd` may follow another bias, which the sum of both replaces.
        _ => (is_batch_norm(node) || is_bias_add(node)).then_some(1),
    }
}

/// Returns the linear op that `node` is or adds a bias to, and the `BiasAdd`, if there is one. Their outputs have no other consumers.
fn producer_of<'a>(graph: &'a Graph, node: &'a Node) -> Option<(&'a Node, Option<&'a Node>)> {
    sole_consumer(graph, node.id())?;
    if Linear::of(node).is_some() {
        return Some((node, None));
    }
    let producer = graph.get(graph.input(node.id(), 0)?.node)?;
    sole_consumer(graph, producer.id())?;
    let fits = is_bias_add(node) && has_no_control_inputs(graph, node.id()) && producer.device() == node.device();
    (fits && Linear::of(producer).is_some()).then_some((producer, Some(node)))
}

/// Returns true for `FusedBatchNorm` and its later versions.
pub(super) fn is_batch_norm(node: &Node) -> bool {
    matches!(node.op(), "FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3")
}

fn affine(graph: &Graph, node: &Node, operand: usize, channels: usize, rank: usize) -> Option<Affine> {
    if is_batch_norm(node) {
        return batch_norm(graph, node, channels);
    }
    let other = constant_input(graph, node.id(), 1 - operand).filter(|c| c.value.dtype() == DType::F32)?;
    let values = per_channel(&other.value, channels, rank)?;
    let controls = other.controls;
    Some(match node.traits().elementwise {
        Some(ElementwiseFunction::Mul) => Affine { scale: Some(values), shift: None, controls },
        Some(ElementwiseFunction::Sub) => Affine { scale: None, shift: Some(values.iter().map(|v| -v).collect()), controls },
        // One value for all channels is no legal bias.
        None if other.value.num_elements() != channels => return None,
        _ => Affine { scale: None, shift: Some(values), controls },
    })
}

/// `(x - mean) · scale / √(variance + ε) + offset`.
fn batch_norm(graph: &Graph, node: &Node, channels: usize) -> Option<Affine> {
    let attrs = node.attrs();
    let uses_statistics = graph.out_edges(node.id()).any(|e| e.src_output > 0);
    if attrs.get_or("is_training", true).ok()? || uses_statistics || !is_channels_last(node) {
        return None;
    }
    let epsilon: f32 = attrs.get_or("epsilon", 1e-4).ok()?;
    let mut controls = Vec::new();
    let mut input = |i: usize| {
        let constant = constant_input(graph, node.id(), i)?;
        controls.extend(constant.controls);
        let values = constant.value.as_slice::<f32>().ok()?.to_vec();
        (values.len() == channels).then_some(values)
    };
    let (gamma, beta, mean, variance) = (input(1)?, input(2)?, input(3)?, input(4)?);
    let scale: Vec<f32> = gamma.iter().zip(&variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
    let shift = beta.iter().zip(mean.iter().zip(&scale)).map(|(b, (m, s))| b - m * s).collect();
    Some(Affine { scale: Some(scale), shift: Some(shift), controls })
}

fn combine(graph: &Graph, op: Linear, producer: &Node, bias_add: Option<&Node>, channels: usize, affine: Affine) -> Option<Found> {
    let mut bias = match bias_add {
        Some(node) => {
            let constant = constant_input(graph, node.id(), 1)?;
            let values = constant.value.as_slice::<f32>().ok().filter(|v| v.len() == channels)?.to_vec();
            Some((values, constant.controls))
        }
        None => None,
    };
    let mut weights = None;
    if let Some(scale) = &affine.scale {
        let old = constant_input(graph, producer.id(), 1)?;
        let controls = [&old.controls[..], &affine.controls].concat();
        weights = Some(Constant { value: op.scaled(producer, &old.value, scale)?, controls });
        if let Some((bias, controls)) = &mut bias {
            bias.iter_mut().zip(scale).for_each(|(b, s)| *b *= s);
            controls.extend(&affine.controls);
        }
    }
    if let Some(shift) = &affine.shift {
        let (bias, controls) = bias.get_or_insert_with(|| (vec![0.0; channels], Vec::new()));
        bias.iter_mut().zip(shift).for_each(|(b, s)| *b += s);
        controls.extend(&affine.controls);
    }
    let bias = match bias {
        Some((values, _)) if values.iter().any(|v| !v.is_finite()) => return None,
        Some((values, controls)) => Some(Constant { value: Tensor::vector(&values).ok()?, controls }),
        None => None,
    };
    Some(Found { producer: producer.id(), bias_add: bias_add.map(Node::id), weights, bias })
}

fn rewrite(graph: &mut Graph, node: NodeId, found: Found) -> Result<()> {
    if let Some(weights) = found.weights {
        let weights = add_constant(graph, &weights.value, &weights.controls, found.producer)?;
        graph.update_edge(weights, found.producer, 1)?;
    }
    let Some(bias) = found.bias else { return bypass(graph, node, found.producer.output(0)) };
    let bias = add_constant(graph, &bias.value, &bias.controls, node)?;
    if let Some(bias_add) = found.bias_add {
        graph.update_edge(bias, bias_add, 1)?;
        return bypass(graph, node, bias_add.output(0));
    }
    let mut def = node_def(graph, "BiasAdd", String::new(), &[node]);
    def.attr.insert("T".to_owned(), DataType::DtFloat.into());
    replace(graph, node, def, &[found.producer.output(0), bias], &[]).map(|_| ())
}
