//! Fuses reductions over the same axes with the element-wise functions around them: normalisations and softmax, in any spelling.
//!
//! Before: `m = Mean(x, axes)`, `v = Mean(SquaredDifference(x, m), axes)`, `y = (x - m) · rsqrt(v + ε) · γ + β`. After: `y = _FusedReduction(x, ε, γ, β)
//! {axes=…, program=["Mean 0", "SquaredDifference 0 4", …]}`. Layer, group and instance norms, divisions by the root of the mean square, softmax that
//! is written out, and normalised vectors are found as what they have in common: a result of the shape of what is reduced.
//!
//! Sound because the kernel computes the same functions in the same order; sums are added in another order. Guards:
//! * `float32`, functions that the target's kernel has, all on one device; at most [`MAX_NODES`] functions and [`MAX_ARGS`] arguments;
//! * all reductions are over the same constant axes and keep them as dimensions of one element, and what they reduce is sure to have the result's
//!   shape;
//! * only the result has consumers outside, no control edge leads out of the nodes that go, and what they wait for, the fused node waits for;
//! * functions of many operations in front of the first reduction stay outside, because the kernel may compute them again for each reduction.
//!
//! A group whose values at some rows are those of a layer norm becomes `_FusedLayerNorm`, whose kernel is faster.
//!
//! `fuse_layer_norm` runs earlier, because it also finds layer norms whose rounding errors are large. `fuse_epilogues` runs earlier: what a product computes by itself
//! is cheaper there. `fuse_elementwise` runs later.

use crate::linear::is_bias_add;
use crate::rewrite::{add_constant, constant_input, integers, is_of_type, node_def, replace};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{
    ElementwiseFunction, ElementwiseInstruction, Graph, Node, NodeId, OutputId, ReductionFunction, ReductionInstruction, ReductionProgram,
};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BinaryHeap};

mod layer_norm;

/// The op that computes all functions at once.
const FUSED: &str = "_FusedReduction";
/// The op that computes a layer norm.
const LAYER_NORM: &str = "_FusedLayerNorm";
/// Functions and reductions of one node.
const MAX_NODES: usize = 48;
/// Arguments of one node.
const MAX_ARGS: usize = 24;
/// The number of operations of a function that is cheap enough to be computed again for each reduction.
const MAX_OPERATIONS: u16 = 3;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !target.supports(FUSED, DType::F32) || !graph.op_nodes().any(|n| reduction_of(n).is_some()) {
        return Ok(0);
    }
    let order = topological_order(graph)?;
    let position: FxHashMap<NodeId, u32> = order.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
    let mut count = 0;
    // Later results first, so that a node is taken in by the last group that it can be in.
    for &last in order.iter().rev() {
        if count == limit {
            break;
        }
        let search = Search { graph, target, shapes, position: &position };
        let Some(group) = search.group(last) else { continue };
        let (program, args) = program(graph, &group)?;
        let norm = if target.supports(LAYER_NORM, DType::F32) { layer_norm::find(graph, &program, &args) } else { None };
        let fused = match norm {
            Some(norm) => {
                let gamma = add_constant(graph, &Tensor::vector(&norm.gamma)?, &[], last)?;
                let beta = add_constant(graph, &Tensor::vector(&norm.beta)?, &[], last)?;
                let attrs = [("epsilon".to_owned(), norm.epsilon.into())].into();
                rewrite(graph, &group, last, LAYER_NORM, attrs, &[norm.x, gamma, beta])?
            }
            None => rewrite(graph, &group, last, FUSED, program.to_attrs().into(), &args)?,
        };
        shapes.set_same(fused.output(0), last.output(0));
        count += 1;
    }
    Ok(count)
}

/// Nodes that are fused, in order, and the axes from the last, which is 1.
struct Group {
    members: Vec<NodeId>,
    axes: Vec<usize>,
}

struct Search<'a> {
    graph: &'a Graph,
    target: &'a dyn Target,
    shapes: &'a Shapes,
    /// Places of the nodes that were there at the start, producers first.
    position: &'a FxHashMap<NodeId, u32>,
}

impl Search<'_> {
    /// Returns the nodes that are fused with `last`, which all others lead to.
    fn group(&self, last: NodeId) -> Option<Group> {
        let root = self.graph.get(last).filter(|n| self.is_function(n))?;
        let mut members = FxHashSet::from_iter([last]);
        let mut axes: Option<Vec<usize>> = None;
        let mut candidates: BinaryHeap<(u32, NodeId)> = BinaryHeap::new();
        let push = |candidates: &mut BinaryHeap<(u32, NodeId)>, id: NodeId| {
            let data = self.graph.get(id).map_or(0, |n| if reduction_of(n).is_some() { 1 } else { n.num_inputs() });
            candidates.extend(self.graph.inputs(id).take(data).filter_map(|o| Some((*self.position.get(&o.node)?, o.node))));
        };
        push(&mut candidates, last);
        while let Some((_, id)) = candidates.pop() {
            let is_private = self.graph.out_edges(id).all(|e| !e.is_control() && members.contains(&e.dst));
            if members.contains(&id) || !is_private || members.len() == MAX_NODES {
                continue;
            }
            let Some(node) = self.graph.get(id).filter(|n| n.device() == root.device()) else { continue };
            if reduction_of(node).is_some() {
                let Some(own) = self.axes(node, last).filter(|own| axes.as_ref().is_none_or(|axes| axes == own)) else { continue };
                axes = Some(own);
            } else if !self.is_function(node) {
                continue;
            }
            members.insert(id);
            push(&mut candidates, id);
        }
        let axes = axes?;
        let mut members: Vec<NodeId> = members.into_iter().collect();
        members.sort_unstable_by_key(|id| self.position.get(id));
        let members = self.without_costly_arguments(members, last);
        let num_args = args(self.graph, &members).len();
        let has_reduction = members.iter().any(|&id| self.graph.get(id).is_some_and(|n| reduction_of(n).is_some()));
        (has_reduction && (1..=MAX_ARGS).contains(&num_args)).then_some(Group { members, axes })
    }

    /// Removes functions of many operations that no reduction leads to, and what leads to them only.
    fn without_costly_arguments(&self, members: Vec<NodeId>, last: NodeId) -> Vec<NodeId> {
        let mut follows_reduction: FxHashSet<NodeId> = FxHashSet::default();
        let mut kept: FxHashSet<NodeId> = FxHashSet::default();
        for &id in &members {
            let Some(node) = self.graph.get(id) else { continue };
            if reduction_of(node).is_some() || self.graph.inputs(id).any(|o| follows_reduction.contains(&o.node)) {
                follows_reduction.insert(id);
            }
            let is_cheap = function_of(node).is_none_or(|function| function.operations() <= MAX_OPERATIONS);
            if follows_reduction.contains(&id) || is_cheap {
                kept.insert(id);
            }
        }
        // A node whose consumers went would be a second result.
        for &id in members.iter().rev().filter(|&&id| id != last) {
            if self.graph.out_edges(id).any(|e| !kept.contains(&e.dst)) {
                kept.remove(&id);
            }
        }
        members.into_iter().filter(|id| kept.contains(id)).collect()
    }

    fn is_function(&self, node: &Node) -> bool {
        is_of_type(node, DType::F32)
            && function_of(node).is_some_and(|function| self.target.fuses(FUSED, function, DType::F32))
            && self.position.contains_key(&node.id())
            && !node.input_types().iter().any(|t| t.is_ref)
            && self.graph.inputs(node.id()).count() == node.num_inputs()
    }

    /// Returns the axes of a reduction of a tensor of the shape of `last`.
    fn axes(&self, node: &Node, last: NodeId) -> Option<Vec<usize>> {
        let keeps = node.attrs().get_or("keep_dims", false).unwrap_or(false);
        let input = self.graph.input(node.id(), 0)?;
        if !keeps || !is_of_type(node, DType::F32) || node.input_types().iter().any(|t| t.is_ref) {
            return None;
        }
        let shapes = self.shapes.of(self.graph);
        let rank = shapes.rank(input);
        if !shapes.are_equal(input, last.output(0)) {
            return None;
        }
        let constant = constant_input(self.graph, node.id(), 1).filter(|c| c.controls.is_empty())?;
        let from_end = |axis: i64| match (axis, rank) {
            (..0, None) => usize::try_from(-axis).ok(),
            (_, Some(rank)) => {
                let axis = if axis < 0 { -axis } else { rank as i64 - axis };
                usize::try_from(axis).ok().filter(|axis| (1..=rank).contains(axis))
            }
            _ => None,
        };
        let mut axes: Vec<usize> = integers(&constant.value)?.into_iter().map(from_end).collect::<Option<_>>()?;
        axes.sort_unstable_by_key(|&axis| std::cmp::Reverse(axis));
        let num_axes = axes.len();
        axes.dedup();
        (num_axes > 0 && axes.len() == num_axes).then_some(axes)
    }
}

/// Returns the function that a node computes element by element, if it computes one.
fn function_of(node: &Node) -> Option<ElementwiseFunction> {
    node.traits().elementwise.or_else(|| is_bias_add(node).then_some(ElementwiseFunction::BiasAdd))
}

/// Returns the function by which a node reduces its input, if it reduces one.
fn reduction_of(node: &Node) -> Option<ReductionFunction> {
    ReductionFunction::of_op(node.op()).filter(|_| node.traits().reduces)
}

/// The tensors that a node of the group reads; the axes of a reduction are none.
fn operands(graph: &Graph, id: NodeId) -> impl Iterator<Item = OutputId> {
    let is_reduction = graph.get(id).is_some_and(|n| reduction_of(n).is_some());
    graph.inputs(id).take(if is_reduction { 1 } else { usize::MAX })
}

/// The tensors that nodes outside give to these, each once, in the order in which they are read.
fn args(graph: &Graph, members: &[NodeId]) -> Vec<OutputId> {
    let mut args: Vec<OutputId> = Vec::new();
    for input in members.iter().flat_map(|&id| operands(graph, id)).filter(|o| !members.contains(&o.node)) {
        if !args.contains(&input) {
            args.push(input);
        }
    }
    args
}

/// Returns the program of a group, and the tensors that are its arguments.
fn program(graph: &Graph, group: &Group) -> Result<(ReductionProgram, Vec<OutputId>)> {
    let members = &group.members;
    let args = args(graph, members);
    let value = |input: OutputId| match members.iter().position(|&m| m == input.node) {
        Some(at) => args.len() + at,
        None => args.iter().position(|&a| a == input).unwrap_or_default(),
    };
    let mut program = ReductionProgram { num_args: args.len(), axes: group.axes.clone(), instructions: Vec::new() };
    for &id in members {
        let node = graph.node(id)?;
        let operands: Vec<usize> = operands(graph, id).map(value).collect();
        program.instructions.push(match (reduction_of(node), function_of(node)) {
            (Some(function), _) => ReductionInstruction::Reduce(function, operands.first().copied().unwrap_or_default()),
            (None, Some(function)) => ReductionInstruction::Elementwise(ElementwiseInstruction { function, operands: operands.into() }),
            _ => bail!(Internal, "a member without a function"),
        });
    }
    Ok((program, args))
}

/// Replaces a group by a node of `op`.
fn rewrite(
    graph: &mut Graph,
    group: &Group,
    last: NodeId,
    op: &str,
    attrs: BTreeMap<String, AttrValue>,
    inputs: &[OutputId],
) -> Result<NodeId> {
    let members = &group.members;
    let mut controls: Vec<NodeId> = members.iter().flat_map(|&id| graph.control_inputs(id)).collect();
    controls.sort_unstable();
    controls.dedup();
    let mut def = node_def(graph, op, String::new(), members);
    def.attr = attrs;
    def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
    let fused = replace(graph, last, def, inputs, &controls)?;
    for &id in members.iter().rev().filter(|&&id| id != last) {
        graph.remove_node(id)?;
    }
    Ok(fused)
}
