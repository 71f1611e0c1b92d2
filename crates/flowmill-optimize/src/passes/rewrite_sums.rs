//! Chooses between `AddN` and chains of additions.
//!
//! Before: `AddV2(AddV2(AddV2(a, b), c), d)` of tensors of one shape, where the target does not fuse additions of that type. After: `AddN(a, b, c, d)`, one
//! pass over memory instead of three.
//!
//! Before: `Relu(AddN(a, b, c))`, where the target fuses element-wise functions. After: `Relu(AddV2(AddV2(a, b), c))`, which `fuse_elementwise` makes one
//! node. An `AddN` of two tensors always becomes an `AddV2`.
//!
//! Sound because a sum has the same terms; a chain that is not from left to right is rounded in another order. Guards:
//! * all terms are known to have the shape of the sum, and at least one dimension: scalars are added by programs;
//! * the inner sums have no other consumers, and no control edge orders them;
//! * a chain is made of at most [`MAX_TERMS`] terms, and only if the sum has a neighbour that can be fused with it;
//! * the target has the new op for the type; all on one device.
//!
//! `simplify_arithmetic` runs earlier and removes terms. `fuse_elementwise` runs later.

use crate::rewrite::{has_no_control_inputs, node_def, replace, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId, is_pure};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

/// The op that computes fused functions.
const FUSED: &str = "_FusedElementwise";
/// The most terms of a chain.
const MAX_TERMS: usize = 8;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some((sum, dtype)) = graph.get(id).and_then(|node| find(graph, node, target, shapes)) else { continue };
        let new = match sum {
            Sum::AtOnce(terms, inner) => add_at_once(graph, id, dtype, &terms, &inner)?,
            Sum::Chain(terms) => add_in_a_chain(graph, id, dtype, &terms, shapes)?,
        };
        shapes.set_same(new.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

enum Sum {
    /// The terms of an `AddN`, and the inner sums that it makes superfluous.
    AtOnce(Vec<OutputId>, Vec<NodeId>),
    /// The terms of a chain.
    Chain(Vec<OutputId>),
}

fn find(graph: &Graph, node: &Node, target: &dyn Target, shapes: &Shapes) -> Option<(Sum, DType)> {
    let function = node.traits().elementwise.filter(|_| is_pure(graph, node))?;
    let dtype: DType = node.attrs().get("T").ok()?;
    let output = node.id().output(0);
    // `fuse_elementwise` fuses no other type.
    let fuses = dtype == DType::F32 && target.fuses(FUSED, ElementwiseFunction::Add, dtype);
    if !shapes.of(graph).has_dimensions(output) {
        return None;
    }
    if function == ElementwiseFunction::AddN {
        let terms: Vec<OutputId> = graph.inputs(node.id()).collect();
        let is_admitted = match terms.len() {
            2 => true,
            n => (3..=MAX_TERMS).contains(&n) && fuses && has_fusable_neighbour(graph, node, target, dtype),
        };
        let are_equal = |terms: &[OutputId]| terms.iter().all(|&term| shapes.of(graph).are_equal(term, output));
        return (is_admitted && target.supports("AddV2", dtype) && are_equal(&terms)).then_some((Sum::Chain(terms), dtype));
    }
    let is_addition = |n: &Node| n.traits().elementwise == Some(ElementwiseFunction::Add) && n.device() == node.device();
    let is_inner = |n: &Node| is_addition(n) && sole_consumer(graph, n.id()).is_some() && has_no_control_inputs(graph, n.id());
    let is_last = function == ElementwiseFunction::Add
        && !sole_consumer(graph, node.id()).and_then(|e| graph.get(e.dst)).is_some_and(|n| is_addition(n) && is_inner(node));
    if fuses || !is_last || !target.supports("AddN", dtype) {
        return None;
    }
    let (mut terms, mut inner) = (Vec::new(), Vec::new());
    let mut stack = vec![graph.input(node.id(), 1)?, graph.input(node.id(), 0)?];
    while let Some(tensor) = stack.pop() {
        if !shapes.of(graph).are_equal(tensor, output) {
            return None;
        }
        match graph.get(tensor.node).filter(|n| is_inner(n) && is_pure(graph, n)) {
            Some(sum) => {
                inner.push(sum.id());
                stack.extend([graph.input(sum.id(), 1)?, graph.input(sum.id(), 0)?]);
            }
            None => terms.push(tensor),
        }
    }
    (terms.len() > 2).then_some((Sum::AtOnce(terms, inner), dtype))
}

/// Returns true if the only consumer of a node, or a producer that has no other consumer, is a function that can be fused.
fn has_fusable_neighbour(graph: &Graph, node: &Node, target: &dyn Target, dtype: DType) -> bool {
    let is_fusable = |n: &Node| {
        let function = n.traits().elementwise.filter(|_| n.device() == node.device());
        function.is_some_and(|function| target.fuses(FUSED, function, dtype)) && n.attrs().get::<DType>("T").is_ok_and(|t| t == dtype)
    };
    let consumer = sole_consumer(graph, node.id()).and_then(|e| graph.get(e.dst));
    let mut producers = graph.inputs(node.id()).filter_map(|input| graph.get(input.node));
    consumer.is_some_and(is_fusable) || producers.any(|n| is_fusable(n) && sole_consumer(graph, n.id()).is_some())
}

fn add_at_once(graph: &mut Graph, id: NodeId, dtype: DType, terms: &[OutputId], inner: &[NodeId]) -> Result<NodeId> {
    let mut def = node_def(graph, "AddN", String::new(), &[inner, &[id]].concat());
    def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
    def.attr.insert("N".to_owned(), (terms.len() as i64).into());
    let controls: Vec<NodeId> = graph.control_inputs(id).collect();
    let new = replace(graph, id, def, terms, &controls)?;
    for &sum in inner {
        graph.remove_node(sum)?;
    }
    Ok(new)
}

fn add_in_a_chain(graph: &mut Graph, id: NodeId, dtype: DType, terms: &[OutputId], shapes: &mut Shapes) -> Result<NodeId> {
    let controls: Vec<NodeId> = graph.control_inputs(id).collect();
    let prefix = graph.node(id)?.name().to_owned();
    let Some((&first, rest)) = terms.split_first() else { return Ok(id) };
    let (mut sum, mut last) = (first, id);
    for (i, &term) in rest.iter().enumerate() {
        let mut def = node_def(graph, "AddV2", String::new(), &[id]);
        def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
        if i + 1 == rest.len() {
            last = replace(graph, id, def, &[sum, term], &controls)?;
        } else {
            def.name = graph.new_name(&prefix);
            last = graph.add_node_with_inputs(def, &[sum, term], &[])?;
            shapes.set_same(last.output(0), id.output(0));
        }
        sum = last.output(0);
    }
    Ok(last)
}
