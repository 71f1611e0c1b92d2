//! Makes one node of an activation that is written out, in any spelling.
//!
//! Before: `x · 0.5 · (1 + erf(x / √2))`, `0.5 · x · erfc(-x · √½)`, `x · sigmoid(x)`, `x / (1 + exp(-x))`, `x · relu6(x + 3) / 6`, `max(x, 0.1 · x)`.
//! After: `_GeluExact(x)`, `_GeluExact(x)`, `_Silu(x)`, `_Silu(x)`, `_HardSwish(x)`, `LeakyRelu(x) {alpha=0.1}`.
//!
//! A group of element-wise nodes on one tensor and constant scalars is a function of one number. Its values, computed as TensorFlow computes them in
//! `float32`, are compared with those of each activation at some hundred numbers: everywhere on the scale of the formulas, close to each constant of the
//! group, at numbers so large that terms overflow, at infinities and at NaN. So the pass knows no formulas, and a group that differs from an
//! activation beyond rounding, be it for huge numbers only, is left alone.
//!
//! Sound because the new node computes the same function; rounding differs. Guards: `float32`; constants are finite and have one element, and do not raise the rank;
//! intermediate tensors have no other consumers; no control edge orders the nodes that go; all on one device; the target has a kernel of the
//! activation.
//!
//! `fold_constants` runs earlier, because constants may be computed. `sink_reshapes`, `fuse_epilogues` and `fuse_elementwise` run later: the node is an
//! element-wise function to them.

use crate::linear::is_bias_add;
use crate::rewrite::{constant, constant_shape, has_no_control_inputs, is_of_type, node_def, replace};
use crate::values::apply;
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};
use rustc_hash::FxHashMap;

mod samples;

use samples::{Activation, Samples};

/// The largest number of nodes of a group.
const MAX_NODES: usize = 20;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    let mut count = 0;
    // Groups are found from their ends, so that the largest ones come first.
    for &last in order.iter().rev() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(last).and_then(|node| find(graph, node, shapes, target)) else { continue };
        // What computed intermediate tensors is left to `prune`, but may not be taken for a group of its own.
        let members = found.members;
        let mut def = node_def(graph, found.activation.op(), String::new(), &members);
        def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
        if let Activation::LeakyRelu(alpha) = found.activation {
            def.attr.insert("alpha".to_owned(), alpha.into());
        }
        let node = replace(graph, last, def, &[found.argument], &[])?;
        shapes.set_same(node.output(0), last.output(0));
        for id in members.into_iter().filter(|&id| id != last) {
            graph.remove_node(id)?;
        }
        count += 1;
    }
    Ok(count)
}

struct Found {
    /// The nodes that the activation replaces, consumers first.
    members: Vec<NodeId>,
    argument: OutputId,
    activation: Activation,
}

/// Returns the activation that ends in `last`.
fn find(graph: &Graph, last: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    if !is_member(graph, last, last.device()) || !may_end(last) {
        return None;
    }
    let group = Group::of(graph, last)?;
    for argument in group.arguments() {
        let Some(members) = group.members_above(graph, argument) else { continue };
        // A single node of one operand is the activation, if it is one.
        if members.len() < 2 && last.num_inputs() < 2 || !keeps_rank(graph, &group, last, argument, shapes) {
            continue;
        }
        if let Some(activation) = group.activation(graph, last, argument, target) {
            return Some(Found { members, argument, activation });
        }
    }
    None
}

/// Returns true if an activation may end in the node: a product, a quotient, a bound or a choice, or for softplus and sigmoid a logarithm or an inverse.
fn may_end(node: &Node) -> bool {
    use ElementwiseFunction::*;
    matches!(
        node.traits().elementwise,
        Some(Mul | RealDiv | Div | Maximum | Minimum | SelectV2 | Add | Sub | Log | Log1p | Reciprocal | Relu6 | ClipByValue)
    )
}

/// Returns true if a node computes a function of `float32` element by element, alone.
fn is_member(graph: &Graph, node: &Node, device: &str) -> bool {
    let is_float = is_of_type(node, DType::F32) && !node.input_types().iter().any(|t| t.is_ref);
    node.traits().elementwise.is_some()
        && !is_bias_add(node)
        && is_float
        && node.device() == device
        && has_no_control_inputs(graph, node.id())
}

/// The element-wise nodes that only lead to one node.
struct Group {
    /// Consumers first; the first is the end of the group.
    members: Vec<NodeId>,
    /// The values of constants that members read.
    constants: FxHashMap<OutputId, f32>,
    /// The other tensors that members read.
    tensors: Vec<OutputId>,
    /// The greatest rank of a constant.
    rank: usize,
}

impl Group {
    /// Returns `None` if members read more than two tensors: inner tensors may be the argument of the function, but there is little hope.
    fn of(graph: &Graph, last: &Node) -> Option<Group> {
        let mut group = Group { members: vec![last.id()], constants: FxHashMap::default(), tensors: Vec::new(), rank: 0 };
        let mut at = 0;
        while let Some(&id) = group.members.get(at) {
            at += 1;
            for input in graph.inputs(id) {
                group.visit(graph, input, last.device());
            }
        }
        // A node that was reached before all of its consumers is a tensor to the others.
        let members = group.members.clone();
        group.tensors.retain(|tensor| !members.contains(&tensor.node));
        Some(group)
    }

    fn visit(&mut self, graph: &Graph, input: OutputId, device: &str) {
        let Some(node) = graph.get(input.node) else { return };
        if self.members.contains(&input.node) || self.constants.contains_key(&input) {
            return;
        }
        let is_private = graph.out_edges(node.id()).all(|e| !e.is_control() && self.members.contains(&e.dst));
        if is_member(graph, node, device) && is_private && self.members.len() < MAX_NODES {
            self.members.push(input.node);
            return;
        }
        let is_scalar = constant_shape(graph, input).is_some_and(|shape| shape.num_elements() == 1);
        let scalar = if is_scalar { constant(graph, input) } else { None };
        let scalar = scalar.filter(|c| c.controls.is_empty() && c.value.dtype() == DType::F32);
        match scalar.and_then(|c| Some((c.value.rank(), *c.value.as_slice::<f32>().ok()?.first()?))) {
            Some((rank, value)) if value.is_finite() => {
                self.rank = self.rank.max(rank);
                self.constants.insert(input, value);
            }
            _ if self.tensors.contains(&input) => {}
            _ => self.tensors.push(input),
        }
    }

    /// Returns the tensors that the group may be a function of, the farthest first.
    fn arguments(&self) -> Vec<OutputId> {
        let outside = if let [one] = self.tensors[..] { Some(one) } else { None };
        let inside = self.members.iter().skip(1).rev().map(|id| id.output(0));
        outside.into_iter().chain(inside).collect()
    }

    /// Returns the members that lie on a path from `argument` to the end, consumers first. `None` if others consume one of them.
    fn members_above(&self, graph: &Graph, argument: OutputId) -> Option<Vec<NodeId>> {
        let mut needed = vec![*self.members.first()?];
        let mut at = 0;
        while let Some(&id) = needed.get(at) {
            at += 1;
            for input in graph.inputs(id) {
                if input != argument && self.members.contains(&input.node) && !needed.contains(&input.node) {
                    needed.push(input.node);
                }
            }
        }
        if needed.iter().skip(1).any(|&id| graph.out_edges(id).any(|e| !needed.contains(&e.dst))) {
            return None;
        }
        let mut members: Vec<NodeId> = Vec::new();
        while let Some(i) = needed.iter().position(|&id| graph.out_edges(id).all(|e| !needed.contains(&e.dst))) {
            members.push(needed.remove(i));
        }
        needed.is_empty().then_some(members)
    }

    /// Returns the activation whose values the group has as a function of `argument`.
    fn activation(&self, graph: &Graph, last: &Node, argument: OutputId, target: &dyn Target) -> Option<Activation> {
        // Nearly all groups differ from all activations at a few numbers.
        let few = Samples::few();
        let values = self.values(graph, last.id().output(0), argument, &few, &mut FxHashMap::default())?;
        let candidates: Vec<Activation> = Activation::likely(&values).into_iter().filter(|a| target.supports(a.op(), DType::F32)).collect();
        if candidates.is_empty() {
            return None;
        }
        let mut constants: Vec<f32> = self.constants.values().copied().collect();
        constants.sort_unstable_by(f32::total_cmp);
        let many = Samples::many(&constants);
        let values = self.values(graph, last.id().output(0), argument, &many, &mut FxHashMap::default())?;
        candidates.into_iter().find(|activation| activation.is_like(&many, &values))
    }

    /// Returns the values of a tensor of the group for samples of `argument`, or `None` if it depends on other tensors or on an unknown function.
    fn values(
        &self,
        graph: &Graph,
        tensor: OutputId,
        argument: OutputId,
        samples: &Samples,
        known: &mut FxHashMap<OutputId, Vec<f32>>,
    ) -> Option<Vec<f32>> {
        if tensor == argument {
            return Some(samples.values().to_vec());
        }
        if let Some(&value) = self.constants.get(&tensor) {
            return Some(vec![value; samples.values().len()]);
        }
        if let Some(values) = known.get(&tensor) {
            return Some(values.clone());
        }
        let node = graph.get(tensor.node).filter(|node| self.members.contains(&node.id()))?;
        let operands: Vec<Vec<f32>> =
            graph.inputs(node.id()).map(|input| self.values(graph, input, argument, samples, known)).collect::<Option<_>>()?;
        let alpha = node.attrs().get("alpha").ok();
        let values = apply(node.traits().elementwise?, &operands, alpha)?;
        known.insert(tensor, values.clone());
        Some(values)
    }
}

/// Returns true if the result is sure to have the shape of the argument: constants of one element do not raise its rank.
fn keeps_rank(graph: &Graph, group: &Group, last: &Node, argument: OutputId, shapes: &Shapes) -> bool {
    group.rank == 0 || shapes.of(graph).are_equal(argument, last.id().output(0))
}
