//! Lets a matrix product with a bias apply the exact GELU that follows it.
//!
//! Before: `y = _FusedMatMul(x, w, b) {fused_ops=["BiasAdd"]}`, then `y · 0.5 · (1 + erf(y / √2))`, its three factors multiplied in any order,
//! maybe on a `Reshape` of `y`. After: `_FusedMatMul(x, w, b) {fused_ops=["BiasAdd","GeluExact"]}`, and the `Reshape` of that.
//!
//! Sound because the activation works element by element, so that it does not matter on which side of a `Reshape` it stands. Rounding differs.
//! Guards: `float32`; the constants are scalars; nobody else sees the product or what lies between; no control edge orders the nodes that go;
//! all on one device.
//!
//! `fuse_epilogues` runs earlier: it makes the product with a bias.

use crate::Evaluator;
use crate::rewrite::{bypass, constant, factors, is_of_type, is_plain, sole_consumer};
use flowmill_graph::{Graph, Node, NodeId, OutputId};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Bytes, DType, Result};

/// How far a constant may be from what the formula says: models store √½ with few digits.
const TOLERANCE: f32 = 1e-5;

pub(crate) fn run(graph: &mut Graph, _: &dyn Evaluator) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        let Some((product, argument)) = graph.get(id).and_then(|node| find(graph, node)) else { continue };
        // What computed the factors is left to `prune`.
        let ops = ["BiasAdd", "GeluExact"].map(|op| Bytes::from_static(op.as_bytes())).to_vec();
        graph.set_attr(product, "fused_ops", AttrValue::from(ops))?;
        bypass(graph, id, argument)?;
        count += 1;
    }
    Ok(count)
}

/// The product whose activation ends in the multiplication `last`, and the tensor that is its argument.
fn find(graph: &Graph, last: &Node) -> Option<(NodeId, OutputId)> {
    let mut factors = factors(graph, last, last.device())?;
    let half = factors.iter().position(|&f| is_scalar(graph, f, 0.5))?;
    factors.swap_remove(half);
    let &[a, b] = &factors[..] else { return None };
    let argument = if erf_argument(graph, b, last.device()) == Some(a) {
        a
    } else if erf_argument(graph, a, last.device()) == Some(b) {
        b
    } else {
        return None;
    };
    let product = product_behind(graph, argument, last.device())?;
    Some((product, argument))
}

/// `x`, where the tensor is `1 + erf(x / √2)` and nobody else sees what lies between.
fn erf_argument(graph: &Graph, output: OutputId, device: &str) -> Option<OutputId> {
    let inner = |output: OutputId, op: &str| {
        let node = graph.get(output.node).filter(|n| is_plain(graph, n, op, device))?;
        sole_consumer(graph, node.id()).map(|_| node)
    };
    let sum = inner(output, "AddV2").or_else(|| inner(output, "Add"))?;
    let erf = inner(other_than(graph, sum, 1.0)?, "Erf")?;
    let scaled = graph.input(erf.id(), 0)?;
    match inner(scaled, "Mul") {
        Some(node) => other_than(graph, node, std::f32::consts::FRAC_1_SQRT_2),
        None => {
            let node = inner(scaled, "RealDiv")?;
            graph.input(node.id(), 0).filter(|_| graph.input(node.id(), 1).is_some_and(|o| is_scalar(graph, o, std::f32::consts::SQRT_2)))
        }
    }
}

/// The input of a node with two that is not the scalar `value`; the other is.
fn other_than(graph: &Graph, node: &Node, value: f32) -> Option<OutputId> {
    let (a, b) = (graph.input(node.id(), 0)?, graph.input(node.id(), 1)?);
    if is_scalar(graph, a, value) { Some(b) } else { is_scalar(graph, b, value).then_some(a) }
}

/// The product with a bias that a tensor is or is a `Reshape` of, where the activation alone sees it: once as a factor, once in `erf`.
fn product_behind(graph: &Graph, argument: OutputId, device: &str) -> Option<NodeId> {
    let node = graph.get(argument.node)?;
    if graph.out_edges(node.id()).count() != 2 {
        return None;
    }
    let product = if node.is_op("Reshape") && node.device() == device {
        let product = graph.get(graph.input_node(node.id(), 0)?)?;
        sole_consumer(graph, product.id()).filter(|e| e.dst_input == 0).map(|_| product)?
    } else {
        node
    };
    let is_fusable = product.is_op("_FusedMatMul") && is_of_type(product, DType::F32) && product.device() == device;
    (is_fusable && product.attrs().list::<&str>("fused_ops").ok()? == ["BiasAdd"]).then_some(product.id())
}

fn is_scalar(graph: &Graph, output: OutputId, value: f32) -> bool {
    constant(graph, output).is_some_and(|c| c.value.rank() == 0 && c.value.to_scalar::<f32>().is_ok_and(|v| (v - value).abs() <= TOLERANCE))
}
