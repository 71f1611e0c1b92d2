//! Puts constants in the place of computed shapes and sizes.
//!
//! Before: `n = StridedSlice(Shape(x), [1], [2])` where only the batch of `x` is unknown. After: `n = Const() {value=…}`.
//!
//! Before: `y = Reshape(x, Pack(StridedSlice(Shape(x), [0], [1]), 20))`. After: `y = Reshape(x, [-1, 20])`. The computed shape of `BroadcastTo`, `Fill` and
//! `Tile` becomes a constant if the output's shape is known.
//!
//! Sound because the shape analysis follows sizes from `Shape` to the ops that take them. Guards:
//! * a value is not replaced if it depends on a tensor behind control flow or effects: a constant that waited for the tensor would add an order that the
//!   graph does not have, and a step runs effects even if their values are not needed;
//! * a shape of which a size is unknown becomes a constant only if the reshape is sure to keep the number of elements, and no size is 0, beside which −1
//!   has no meaning; a reshape that fails still does;
//! * the node is dead in the same cases without the computed shape, and no node waits for it; in a graph with control flow the constant waits for the
//!   tensor that is reshaped.
//!
//! `fold_constants` runs earlier and evaluates what depends on constants only. What computed the shapes is left to `prune`.

use crate::bypass::{Bypass, Substitute};
use crate::rewrite::{add_constant, constant_attrs, constant_input, follows_effects, node_def, replace};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, OutputId, is_pure};
use flowmill_tensor::{DType, Result, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    if !order.iter().filter_map(|&id| graph.get(id)).any(|n| n.traits().reads_shape) {
        return Ok(0);
    }
    let mut count = resolve_values(graph, &order, shapes, limit)?;
    let is_conditional = graph.op_nodes().any(Node::is_control_flow);
    let mut bypass = Bypass::default();
    for &id in &order {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, shapes)) else { continue };
        let substitute = Substitute { source: found.others, controls: graph.control_inputs(id).collect(), drops_inputs: true };
        if !bypass.may_drop(graph, id, &substitute)? {
            continue;
        }
        let controls = if is_conditional { vec![found.others.node] } else { Vec::new() };
        let sizes = add_constant(graph, &Tensor::index_vector(found.dtype, &found.sizes)?, &controls, id)?;
        graph.update_edge(sizes, id, found.input)?;
        count += 1;
    }
    Ok(count)
}

/// Replaces nodes whose value follows from static shapes, of tensors that every step has once.
fn resolve_values(graph: &mut Graph, order: &[NodeId], shapes: &Shapes, limit: usize) -> Result<usize> {
    let is_kept = follows_effects(graph, order);
    let mut known: Vec<(NodeId, Tensor)> = Vec::new();
    for node in order.iter().filter_map(|&id| graph.get(id)) {
        let id = node.id();
        if !is_kept[id.index()] && node.num_inputs() > 0 && node.num_outputs() == 1 && is_pure(graph, node) {
            let is_computed = (0..node.num_inputs()).any(|i| constant_input(graph, id, i).is_none());
            known.extend(shapes.of(graph).constant(id.output(0)).filter(|_| is_computed).map(|value| (id, value.clone())));
        }
    }
    known.truncate(limit);
    let count = known.len();
    for (id, value) in known {
        let mut def = node_def(graph, "Const", String::new(), &[id]);
        def.attr = constant_attrs(&value)?;
        let controls: Vec<NodeId> = graph.control_inputs(id).collect();
        replace(graph, id, def, &[], &controls)?;
    }
    Ok(count)
}

/// A computed shape that can be a constant.
struct Found {
    /// The input that takes the shape.
    input: usize,
    /// The other input.
    others: OutputId,
    sizes: Vec<i64>,
    dtype: DType,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Found> {
    let (input, other) = match node.op() {
        "Fill" => (0, 1),
        "Reshape" => (1, 0),
        "BroadcastTo" => (1, 0),
        "Tile" => (1, 0),
        _ => return None,
    };
    let computed = graph.input(node.id(), input)?;
    if constant_input(graph, node.id(), input).is_some() || !is_pure(graph, node) {
        return None;
    }
    let others = graph.input(node.id(), other)?;
    let shapes = shapes.of(graph);
    let output = shapes.shape(node.id().output(0));
    let mut sizes = output.dims()?.to_vec();
    if node.is_op("Tile") {
        let before = shapes.shape(others).to_shape()?;
        let after = output.to_shape()?;
        let divisible = after.iter().zip(before.iter()).all(|(&after, &before)| before > 0 && after % before == 0);
        sizes = after.iter().zip(before.iter()).map(|(&after, &before)| (after / before.max(1)) as i64).collect();
        (divisible && before.rank() == after.rank()).then_some(())?;
    } else if node.is_op("Reshape") {
        let num_unknown = sizes.iter().filter(|&&size| size < 0).count();
        let is_admitted = num_unknown == 0 || (num_unknown == 1 && !sizes.contains(&0));
        (is_admitted && shapes.are_equal_in_number(others, node.id().output(0))).then_some(())?;
        sizes.iter_mut().for_each(|size| *size = (*size).max(-1));
    } else if !output.is_fully_defined() {
        return None;
    }
    // An error of a broadcast depends on the computed shape; of a known shape the analysis has found it.
    let is_sure = !node.is_op("BroadcastTo") || shapes.shape(others).is_fully_defined();
    let dtype = graph.output_type(computed).ok()?.dtype;
    is_sure.then_some(Found { input, others, sizes, dtype })
}
