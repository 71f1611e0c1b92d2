//! Fuses the read of an array's element into the matrix product whose left side contains the element.
//!
//! Before, in a loop: `_FusedMatMul(ConcatV2(TensorArrayReadV3(array, i, flow), h, 1), weights, bias)`. After: `_FusedReadMatMul(array, i, flow, h,
//! weights, bias)`. In a recurrent network that processes a sequence, the kernel then sees the whole sequence. The product of `weights` and an
//! element does not depend on earlier iterations, so the kernel can compute it for several elements at once.
//!
//! Sound because the fused kernel reads element `i` as the read did, with the same errors, and returns the product's bits. Products that it computes
//! for later elements are not visible before these are read. Guards:
//! * `float32`; neither side is transposed; the element comes first and exactly one matrix beside it, along axis 1;
//! * `weights` is a constant that the loop takes in as an invariant: the kernel keeps it in packed form, and without a loop there is no
//!   element ahead;
//! * the element and the concatenated matrix have no other consumers; the fused node takes over all control inputs;
//! * all on one device.
//!
//! `fuse_epilogues` runs earlier, so that the product has its bias.

use crate::Target;
use crate::rewrite::{constant_input, constant_shape, integers, is_of_type, node_def, replace, sole_consumer};
use flowmill_graph::{Graph, Node, NodeId, OutputId};
use flowmill_tensor::{DType, Result};

const FUSED: &str = "_FusedReadMatMul";

pub(crate) fn run(graph: &mut Graph, target: &dyn Target) -> Result<usize> {
    if !target.supports(FUSED, DType::F32) {
        return Ok(0);
    }
    let mut count = 0;
    for id in graph.op_node_ids() {
        let Some(found) = graph.get(id).and_then(|product| find(graph, product)) else { continue };
        rewrite(graph, &found)?;
        count += 1;
    }
    Ok(count)
}

struct Found {
    read: NodeId,
    concat: NodeId,
    product: NodeId,
    inputs: Vec<OutputId>,
}

fn find(graph: &Graph, product: &Node) -> Option<Found> {
    let flag = |name: &str| product.attrs().get_or(name, false).unwrap_or(true);
    if !matches!(product.op(), "MatMul" | "_FusedMatMul") || !is_of_type(product, DType::F32) || flag("transpose_a") || flag("transpose_b")
    {
        return None;
    }
    let device = product.device();
    let only_for = |output: OutputId, op: &str| {
        let node = graph.get(output.node).filter(|n| n.is_op(op) && n.device() == device)?;
        sole_consumer(graph, node.id()).map(|_| node)
    };
    let concat = only_for(graph.input(product.id(), 0)?, "ConcatV2").filter(|n| n.num_inputs() == 3 && is_of_type(n, DType::F32))?;
    let axis = constant_input(graph, concat.id(), 2)?;
    if integers(&axis.value)? != [1] {
        return None;
    }
    let read = only_for(graph.input(concat.id(), 0)?, "TensorArrayReadV3")?;
    let weights = graph.input(product.id(), 1)?;
    let enter = graph.get(weights.node).filter(|n| n.is_op("Enter") && n.attrs().get("is_constant").unwrap_or(false))?;
    constant_shape(graph, graph.input(enter.id(), 0)?)?;
    let added = graph.inputs(product.id()).skip(2);
    let inputs = graph.inputs(read.id()).chain([graph.input(concat.id(), 1)?, weights]).chain(added).collect();
    Some(Found { read: read.id(), concat: concat.id(), product: product.id(), inputs })
}

fn rewrite(graph: &mut Graph, found: &Found) -> Result<()> {
    let nodes = [found.read, found.concat, found.product];
    let mut def = node_def(graph, FUSED, String::new(), &nodes);
    let product = graph.node(found.product)?;
    for name in ["T", "num_args", "fused_ops", "leakyrelu_alpha"] {
        if let Some(value) = product.attrs().0.get(name) {
            def.attr.insert(name.to_owned(), value.clone());
        }
    }
    // A product without epilogue has no such attribute.
    def.attr.entry("num_args".to_owned()).or_insert_with(|| 0i64.into());
    let mut controls: Vec<NodeId> = nodes.iter().flat_map(|&n| graph.control_inputs(n)).collect();
    controls.sort_unstable();
    controls.dedup();
    replace(graph, found.product, def, &found.inputs, &controls)?;
    graph.remove_node(found.concat)?;
    graph.remove_node(found.read)
}
