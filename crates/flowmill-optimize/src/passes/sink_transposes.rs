//! Moves transposes behind element-wise functions, where they become fewer.
//!
//! Before: `AddV2(Transpose(x, p), Transpose(y, p))`. After: `Transpose(AddV2(x, y), p)`, one transpose less.
//!
//! Before: `Transpose(Relu(Mul(Transpose(x, p), 2)), q)`, where `q` undoes `p`. After: `Transpose(Transpose(Relu(Mul(x, 2)), p), q)`, which `remove_no_ops`
//! makes `Relu(Mul(x, 2))`.
//!
//! Sound because each element is computed from the same elements. Guards:
//! * all operands are transposed alike, and have one rank, so that broadcasting goes along; other operands are constant scalars;
//! * a transpose alone moves only if functions without other consumers lead to one that undoes it, at most [`MAX_STEPS`] of them;
//! * the transposes have no other consumers, and no control edge orders them or their constants;
//! * all on one device.
//!
//! `remove_no_ops` runs earlier, so that a transpose that moves is none that could go. Images are left to `channels_last`, which gives them a layout.

use crate::rewrite::{constant_input, constant_shape, has_no_control_inputs, integers, node_def, replace, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, OutputId, is_pure};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

/// The largest number of functions between two transposes.
const MAX_STEPS: usize = 16;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(|n| n.is_op("Transpose")) {
        return Ok(0);
    }
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, target, shapes)) else { continue };
        let new = sink(graph, id, &found)?;
        shapes.set_same(new.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

struct Found {
    /// The operands before they are transposed.
    operands: Vec<OutputId>,
    permutation: OutputId,
    /// The transposes that go.
    transposes: Vec<NodeId>,
}

/// Returns the permutation of a transpose of a tensor of that rank.
fn order_of(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Vec<i64>> {
    let is_plain = node.is_op("Transpose") && has_no_control_inputs(graph, node.id());
    let found = constant_input(graph, node.id(), 1).filter(|order| is_plain && order.controls.is_empty())?;
    let rank = shapes.of(graph).rank(graph.input(node.id(), 0)?)?;
    integers(&found.value).filter(|order| order.len() == rank)
}

fn find(graph: &Graph, node: &Node, target: &dyn Target, shapes: &Shapes) -> Option<Found> {
    if node.traits().elementwise.is_none() || node.num_outputs() != 1 || !is_pure(graph, node) {
        return None;
    }
    let mut found = Found { operands: Vec::new(), permutation: node.id().output(0), transposes: Vec::new() };
    let mut common: Option<Vec<i64>> = None;
    for input in graph.inputs(node.id()) {
        if constant_shape(graph, input).is_some_and(|shape| shape.rank() == 0) {
            found.operands.push(input);
            continue;
        }
        let transpose = graph.get(input.node).filter(|n| n.device() == node.device())?;
        let order = order_of(graph, transpose, shapes)?;
        // An operand that is used twice is transposed once.
        let is_own = graph.out_edges(transpose.id()).all(|e| e.dst == node.id() && !e.is_control());
        if !is_own || common.as_ref().is_some_and(|common| *common != order) {
            return None;
        }
        found.operands.push(graph.input(transpose.id(), 0)?);
        found.permutation = graph.input(transpose.id(), 1)?;
        if !found.transposes.contains(&transpose.id()) {
            found.transposes.push(transpose.id());
        }
        common = Some(order);
    }
    let order = common?;
    // Images become channels-last where the target wants that.
    let is_image = matches!(order.len(), 4 | 5) && target.wants_channels_last("Conv2D");
    (found.transposes.len() > 1 || !is_image && is_undone(graph, node, &order, shapes)).then_some(found)
}

/// Returns true if a transpose that undoes `order` comes after functions of the node alone and of constant scalars.
fn is_undone(graph: &Graph, node: &Node, order: &[i64], shapes: &Shapes) -> bool {
    let mut id = node.id();
    for _ in 0..MAX_STEPS {
        let Some(next) = sole_consumer(graph, id).and_then(|edge| graph.get(edge.dst)).filter(|n| n.device() == node.device()) else {
            return false;
        };
        if let Some(second) = order_of(graph, next, shapes) {
            let composed = second.iter().map(|&axis| usize::try_from(axis).ok().and_then(|axis| order.get(axis)).copied());
            return composed.eq((0..order.len() as i64).map(Some));
        }
        let is_scalar = |input: OutputId| input.node == id || constant_shape(graph, input).is_some_and(|shape| shape.rank() == 0);
        if next.traits().elementwise.is_none() || !is_pure(graph, next) || !graph.inputs(next.id()).all(is_scalar) {
            return false;
        }
        id = next.id();
    }
    false
}

/// Computes a node before the transposes of its operands, and transposes the result.
fn sink(graph: &mut Graph, id: NodeId, found: &Found) -> Result<NodeId> {
    let prefix = graph.node(id)?.name().to_owned();
    let name = graph.new_name(&prefix);
    let node = graph.node(id)?;
    let mut attrs = node.attrs().to_map();
    attrs.remove("_output_shapes");
    let dtype = node.output_types().first().map_or(DType::F32, |t| t.dtype);
    let computed = NodeDef { attr: attrs, ..node_def(graph, node.op(), name, &[id]) };
    let controls: Vec<NodeId> = graph.control_inputs(id).collect();
    let computed = graph.add_node_with_inputs(computed, &found.operands, &controls)?;
    let mut def = node_def(graph, "Transpose", String::new(), &found.transposes);
    def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
    def.attr.insert("Tperm".to_owned(), Value::Type(graph.output_type(found.permutation)?.dtype.number()).into());
    let new = replace(graph, id, def, &[computed.output(0), found.permutation], &[])?;
    for &transpose in &found.transposes {
        graph.remove_node(transpose)?;
    }
    Ok(new)
}
