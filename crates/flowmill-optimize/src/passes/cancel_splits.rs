//! Removes splits of what was joined, and joins of what was split.
//!
//! | before | after |
//! |---|---|
//! | `ConcatV2` of all parts of `Split(x)`, in order | `x` |
//! | `Pack` of all parts of `Unpack(x)`, in order, along the same axis | `x` |
//! | `Split(ConcatV2(a, b))` into parts of the sizes of `a` and `b` | `a`, `b` |
//! | `Unpack(Pack(a, b))` along the same axis | `a`, `b` |
//! | `ConcatV2(ConcatV2(a, b), c)` along one axis | `ConcatV2(a, b, c)` |
//! | `Pack(a)` | `ExpandDims(a)` |
//! | `AddN` and `ConcatV2` with several constants, side by side for `ConcatV2` | one of them is of constants only, which `fold_constants` evaluates |
//!
//! Sound because the elements stay, and their order. Sums of floats are rounded in another order. Guards:
//! * shapes are known to be equal, so that the axes are the same and the nodes that go cannot fail; axes of `Pack` and `Unpack` are equal;
//! * the parts are live together with the whole ([`Bypass`]);
//! * an inner `ConcatV2` has no other consumer, both axes are constant and from the front, and no control edge orders the inner one;
//! * constants have no control inputs; the sum of constants is finite if it is of floats.
//!
//! `remove_no_ops` runs earlier: what lies between two such nodes is gone.

use crate::bypass::{Bypass, Substitute};
use crate::rewrite::{constant_input, has_no_control_inputs, integers, node_def, replace, sole_consumer};
use crate::splat::{Splat, splat};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, OutputId, is_pure};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let (mut bypass, mut count) = (Bypass::default(), 0);
    // A constant in a frame would have to wait for a node of that frame.
    let has_frames = graph.op_nodes().any(Node::is_enter);
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(node) = graph.get(id).filter(|n| is_pure(graph, n) && n.num_inputs() > 0) else { continue };
        let is_changed = if let Some(whole) = whole_of(graph, node, shapes) {
            let controls = parts_controls(graph, node, whole);
            bypass.try_remove(graph, id, Substitute { source: whole, controls, drops_inputs: true })?
        } else if let Some(parts) = parts_of(graph, node, shapes) {
            bypass.try_remove_all(graph, id, &parts)?
        } else if let Some(new) = rewritten(graph, node, target, shapes, has_frames) {
            let new = new.apply(graph, id)?;
            bypass.set_same(new, id);
            shapes.set_same(new.output(0), id.output(0));
            true
        } else {
            false
        };
        count += usize::from(is_changed);
    }
    Ok(count)
}

/// Returns true for an op that cuts a tensor along an axis that stays.
fn is_split(node: &Node) -> bool {
    node.is_op("Split") || node.is_op("SplitV")
}

/// Returns the tensor that a split or an unpacking cuts.
fn cut_tensor(graph: &Graph, node: &Node) -> Option<OutputId> {
    graph.input(node.id(), usize::from(node.is_op("Split")))
}

fn axis_attr(node: &Node) -> Option<i64> {
    node.attrs().get_or("axis", 0).ok()
}

/// Returns the axis of a `Pack` or an `Unpack`, whose larger tensor has this rank, from the front.
fn packed_axis(node: &Node, rank: usize) -> Option<i64> {
    let axis = axis_attr(node)?;
    Some(if axis < 0 { axis + rank as i64 } else { axis })
}

/// Returns the tensors that a node joins.
fn joined(graph: &Graph, node: &Node) -> Option<Vec<OutputId>> {
    let count = if node.is_op("ConcatV2") { node.num_inputs().checked_sub(1)? } else { node.num_inputs() };
    (node.is_op("ConcatV2") || node.is_op("Pack")).then(|| graph.inputs(node.id()).take(count).collect())
}

/// Returns the tensor whose parts, all and in order, a node joins.
fn whole_of(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<OutputId> {
    let parts = joined(graph, node)?;
    let cut = graph.get(parts.first()?.node).filter(|n| n.device() == node.device() && is_pure(graph, n))?;
    let is_in_order = parts.len() == cut.num_outputs() && parts.iter().enumerate().all(|(i, part)| *part == cut.id().output(i as u32));
    let whole = cut_tensor(graph, cut).filter(|_| is_in_order)?;
    let shapes = shapes.of(graph);
    let is_same_axis = if node.is_op("Pack") {
        let rank = shapes.rank(whole)?;
        cut.is_op("Unpack") && packed_axis(node, rank)? == packed_axis(cut, rank)?
    } else {
        is_split(cut) && parts.len() > 1
    };
    (is_same_axis && shapes.are_equal(whole, node.id().output(0))).then_some(whole)
}

/// Returns the nodes that a join and the cut before it wait for.
fn parts_controls(graph: &Graph, join: &Node, whole: OutputId) -> Vec<NodeId> {
    let cut = graph.input(join.id(), 0).map(|part| part.node).filter(|&cut| cut != whole.node);
    let nodes = [Some(join.id()), cut];
    nodes.into_iter().flatten().flat_map(|id| graph.control_inputs(id).chain(axis_controls(graph, id))).collect()
}

/// Returns the nodes that the constant inputs of a node wait for.
fn axis_controls(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let num_inputs = graph.get(id).map_or(0, Node::num_inputs);
    (0..num_inputs).filter_map(|i| constant_input(graph, id, i)).flat_map(|constant| constant.controls).collect()
}

/// Returns the tensors that were joined to what a node cuts, if its outputs are these.
fn parts_of(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Vec<OutputId>> {
    let whole = cut_tensor(graph, node).filter(|_| is_split(node) || node.is_op("Unpack"))?;
    let join = graph.get(whole.node).filter(|n| n.device() == node.device() && is_pure(graph, n))?;
    let parts = joined(graph, join).filter(|parts| parts.len() == node.num_outputs())?;
    let shapes = shapes.of(graph);
    let is_same_axis = if join.is_op("Pack") {
        let rank = shapes.rank(whole)?;
        node.is_op("Unpack") && packed_axis(node, rank)? == packed_axis(join, rank)?
    } else {
        is_split(node) && parts.len() > 1
    };
    let are_equal = parts.iter().enumerate().all(|(i, &part)| shapes.are_equal(part, node.id().output(i as u32)));
    (is_same_axis && are_equal && has_no_control_inputs(graph, join.id()) && axis_controls(graph, join.id()).is_empty()).then_some(parts)
}

/// A node that replaces another.
struct Replacement {
    op: &'static str,
    inputs: Vec<OutputId>,
    /// A new constant behind the inputs.
    last: Option<Tensor>,
    /// True if the number of inputs of a list is the attribute `N`.
    counts: bool,
    /// The inputs, by a range, that a node of the same op takes first.
    inner: Option<std::ops::Range<usize>>,
}

impl Replacement {
    fn apply(mut self, graph: &mut Graph, id: NodeId) -> Result<NodeId> {
        let node = graph.node(id)?;
        let dtype = node.output_types().first().map_or(DType::F32, |t| t.dtype);
        let has_axis = self.op == "ConcatV2";
        let def = |graph: &Graph, op: &str, num_inputs: usize, counts: bool| -> Result<NodeDef> {
            let mut def = node_def(graph, op, String::new(), &[id]);
            def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
            if counts {
                def.attr.insert("N".to_owned(), ((num_inputs - usize::from(has_axis)) as i64).into());
                if let Some(index) = graph.node(id)?.attrs().attr("Tidx").filter(|_| has_axis) {
                    def.attr.insert("Tidx".to_owned(), index.clone());
                }
            }
            Ok(def)
        };
        if let Some(range) = self.inner.take() {
            let mut taken = self.inputs[range.clone()].to_vec();
            taken.extend(self.inputs.last().filter(|_| has_axis));
            let mut inner = def(graph, self.op, taken.len(), true)?;
            let prefix = graph.node(id)?.name().to_owned();
            inner.name = graph.new_name(&prefix);
            let inner = graph.add_node_with_inputs(inner, &taken, &[])?;
            self.inputs.splice(range, [inner.output(0)]);
        }
        if let Some(value) = &self.last {
            let controls: Vec<NodeId> = graph.control_inputs(id).collect();
            self.inputs.push(crate::rewrite::add_constant(graph, value, &controls, id)?);
        }
        let controls: Vec<NodeId> = graph.control_inputs(id).collect();
        let def = def(graph, self.op, self.inputs.len(), self.counts)?;
        replace(graph, id, def, &self.inputs, &controls)
    }
}

/// Returns a simpler join or sum.
fn rewritten(graph: &Graph, node: &Node, target: &dyn Target, shapes: &Shapes, has_frames: bool) -> Option<Replacement> {
    let inputs: Vec<OutputId> = graph.inputs(node.id()).collect();
    match (node.op(), &inputs[..]) {
        ("Pack", &[one]) => {
            let axis = Tensor::index_scalar(DType::I32, axis_attr(node)?).ok().filter(|_| !has_frames)?;
            shapes.of(graph).rank(one)?;
            let dtype = graph.output_type(one).ok()?.dtype;
            let new = Replacement { op: "ExpandDims", inputs, last: Some(axis), counts: false, inner: None };
            target.supports(new.op, dtype).then_some(new)
        }
        ("ConcatV2", _) => flattened(graph, node).or_else(|| {
            let parts = &inputs[..inputs.len().checked_sub(1)?];
            let is_constant = |tensor: &OutputId| is_plain_constant(graph, *tensor);
            axis_of(graph, node)?;
            let runs = parts.chunk_by(|a, b| is_constant(a) == is_constant(b));
            let mut start = 0;
            for run in runs {
                if run.len() > 1 && run.len() < parts.len() && is_constant(&run[0]) {
                    let inner = Some(start..start + run.len());
                    // A `ConcatV2` has two inputs or more.
                    return (parts.len() - run.len() + 1 > 1).then(|| Replacement {
                        op: "ConcatV2",
                        inputs: inputs.clone(),
                        last: None,
                        counts: true,
                        inner,
                    });
                }
                start += run.len();
            }
            None
        }),
        ("AddN", _) => {
            let (constants, others): (Vec<OutputId>, Vec<OutputId>) = inputs.iter().partition(|&&tensor| is_plain_constant(graph, tensor));
            let is_finite = |tensor: &OutputId| match splat(graph, *tensor) {
                Some((Splat::Float(value), _)) => value.abs() < 1e30,
                Some((Splat::Integer(_), _)) => true,
                _ => false,
            };
            let is_admitted = constants.len() > 1 && !others.is_empty() && constants.iter().all(is_finite);
            let inner = Some(others.len()..inputs.len());
            let inputs = [others, constants].concat();
            is_admitted.then_some(Replacement { op: "AddN", inputs, last: None, counts: true, inner })
        }
        _ => None,
    }
}

/// Returns true for a constant that waits for nothing.
fn is_plain_constant(graph: &Graph, tensor: OutputId) -> bool {
    graph.get(tensor.node).is_some_and(|n| n.role() == flowmill_graph::Role::Const) && has_no_control_inputs(graph, tensor.node)
}

/// Returns the constant axis of a `ConcatV2`, if it is counted from the front and the constant waits for nothing.
fn axis_of(graph: &Graph, concat: &Node) -> Option<i64> {
    let axis = constant_input(graph, concat.id(), concat.num_inputs().checked_sub(1)?).filter(|axis| axis.controls.is_empty())?;
    integers(&axis.value)?.first().copied()
}

/// Returns a `ConcatV2` with the inputs of those that it joins.
fn flattened(graph: &Graph, node: &Node) -> Option<Replacement> {
    let axis = axis_of(graph, node)?;
    let parts = joined(graph, node)?;
    let mut inputs = Vec::with_capacity(parts.len() + 1);
    for &part in &parts {
        let inner = graph.get(part.node).filter(|n| {
            let is_own = sole_consumer(graph, n.id()).is_some() && has_no_control_inputs(graph, n.id());
            n.is_op("ConcatV2") && n.device() == node.device() && is_own && axis_of(graph, n) == Some(axis) && is_pure(graph, n)
        });
        match inner.and_then(|inner| joined(graph, inner)).filter(|parts| !parts.iter().all(|&part| is_plain_constant(graph, part))) {
            Some(inner) => inputs.extend(inner),
            None => inputs.push(part),
        }
    }
    let is_flat = inputs.len() == parts.len();
    inputs.push(graph.input(node.id(), parts.len())?);
    (!is_flat).then_some(Replacement { op: "ConcatV2", inputs, last: None, counts: true, inner: None })
}
