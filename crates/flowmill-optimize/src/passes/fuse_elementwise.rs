//! Fuses chains of element-wise functions into one pass over memory.
//!
//! Before: `a = Sigmoid(x)`, `b = Tanh(y)`, `c = Mul(a, b)`. After: `c = _FusedElementwise(x, y) {program=["Sigmoid 0","Tanh 1","Mul 2 3"],
//! outputs=[4]}`, where values are numbered, arguments first. A value that others see too becomes another result. An argument that is an
//! output of a `Split` of the last dimension becomes that part of what is split.
//!
//! Sound because the kernel applies the same functions to the same elements in the same order: the bits are those of the separate nodes.
//! Guards:
//! * `float32`, functions that the target's kernel has, all on one device;
//! * what is fused is known not to be a scalar: programs compute scalars faster than a kernel with blocks does;
//! * no control edge leads out of the nodes that go; what they wait for, the fused node waits for;
//! * a value that others see must be alive exactly when the last one is, and nothing outside may lie on a path from it to the fused nodes;
//! * at most [`MAX_INSTRS`] functions, [`MAX_ARGS`] arguments and [`MAX_RESULTS`] results.
//!
//! The other fusions run earlier: what a product can do by itself is cheaper there. `merge_duplicates` too: equal nodes are one value here.

use crate::linear::is_bias_add;
use crate::liveness::Liveness;
use crate::rewrite::{is_last_axis, is_of_type, node_def, replace};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::{is_back_edge, topological_order};
use flowmill_graph::{ElementwiseFunction, ElementwiseInstruction, ElementwisePiece, ElementwiseProgram, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BinaryHeap;

/// The op that computes all functions at once.
pub(super) const FUSED: &str = "_FusedElementwise";
/// Functions in one node.
const MAX_INSTRS: usize = 64;
/// Arguments of one node.
const MAX_ARGS: usize = 32;
/// Results of one node.
const MAX_RESULTS: usize = 4;
/// The largest number of nodes that are visited to check that no outside node is between the fused ones. If it is not enough, a value is not fused.
const MAX_VISITED: usize = 256;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    let is_function = |n: &Node| function_of(n).is_some_and(|function| target.fuses(FUSED, function, DType::F32));
    if !order.iter().filter_map(|&id| graph.get(id)).any(is_function) {
        return Ok(0);
    }
    let position: FxHashMap<NodeId, u32> = order.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
    let mut fusion = Fusion { target, shapes, position, liveness: Liveness::of(graph, &order) };
    let mut count = 0;
    for &last in order.iter().rev() {
        if count == limit {
            break;
        }
        if let Some(members) = fusion.cluster(graph, last) {
            fusion.rewrite(graph, &members, last)?;
            count += 1;
        }
    }
    Ok(count)
}

/// An argument: a part of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arg {
    tensor: OutputId,
    piece: ElementwisePiece,
}

struct Fusion<'a> {
    target: &'a dyn Target,
    shapes: &'a Shapes,
    /// Places of the nodes that were there at the start, producers first.
    position: FxHashMap<NodeId, u32>,
    liveness: Liveness,
}

impl Fusion<'_> {
    fn is_fusable(&self, graph: &Graph, node: &Node) -> bool {
        let is_function = |function| self.target.fuses(FUSED, function, DType::F32);
        is_of_type(node, DType::F32)
            && function_of(node).is_some_and(is_function)
            && self.position.contains_key(&node.id())
            && self.shapes.of(graph).has_dimensions(node.id().output(0))
            && !node.input_types().iter().any(|t| t.is_ref)
            && graph.inputs(node.id()).count() == node.num_inputs()
    }

    /// Returns the nodes that are fused with `last`, all of which it needs, in order. Returns `None` if there are none.
    fn cluster(&self, graph: &Graph, last: NodeId) -> Option<Vec<NodeId>> {
        let root = graph.get(last).filter(|n| self.is_fusable(graph, n))?;
        let mut members = self.grow(graph, root, true);
        if !is_convex(graph, &members, last) {
            members = self.grow(graph, root, false);
        }
        let mut members: Vec<NodeId> = members.into_iter().collect();
        members.sort_unstable_by_key(|id| self.position.get(id));
        (members.len() >= 2).then_some(members)
    }

    /// Takes in producers, the last first, so that a node comes after all of its consumers that are taken in.
    fn grow(&self, graph: &Graph, root: &Node, may_share: bool) -> FxHashSet<NodeId> {
        let mut members = FxHashSet::from_iter([root.id()]);
        let mut candidates: BinaryHeap<(u32, NodeId)> = BinaryHeap::new();
        let mut num_results = 1;
        let push = |candidates: &mut BinaryHeap<(u32, NodeId)>, id: NodeId| {
            candidates.extend(graph.inputs(id).filter_map(|o| Some((*self.position.get(&o.node)?, o.node))));
        };
        push(&mut candidates, root.id());
        while let Some((_, id)) = candidates.pop() {
            let Some(node) = graph.get(id).filter(|n| self.is_fusable(graph, n) && n.device() == root.device()) else { continue };
            if members.contains(&id) || members.len() == MAX_INSTRS {
                continue;
            }
            let is_ordering = graph.out_edges(id).any(|e| e.is_control());
            let is_shared = graph.out_edges(id).any(|e| !members.contains(&e.dst));
            if is_ordering || is_shared && !(may_share && num_results < MAX_RESULTS && self.liveness.are_equal(id, root.id())) {
                continue;
            }
            members.insert(id);
            if num_args(graph, &members) > MAX_ARGS || is_shared && !is_convex(graph, &members, root.id()) {
                members.remove(&id);
                continue;
            }
            num_results += usize::from(is_shared);
            push(&mut candidates, node.id());
        }
        members
    }

    fn rewrite(&mut self, graph: &mut Graph, members: &[NodeId], last: NodeId) -> Result<()> {
        let mut args: Vec<Arg> = Vec::new();
        let mut controls: Vec<NodeId> = Vec::new();
        for &id in members {
            controls.extend(graph.control_inputs(id));
            for input in graph.inputs(id).filter(|o| !members.contains(&o.node)) {
                let arg = self.arg(graph, input, last, &mut controls);
                if !args.contains(&arg) {
                    args.push(arg);
                }
            }
        }
        let mut ignored = Vec::new();
        let mut program = ElementwiseProgram { pieces: args.iter().map(|arg| arg.piece).collect(), ..ElementwiseProgram::default() };
        for &id in members {
            let Some(function) = function_of(graph.node(id)?) else { bail!(Internal, "a member without a function") };
            let value = |input: OutputId| match members.iter().position(|&m| m == input.node) {
                Some(at) => args.len() + at,
                None => {
                    let arg = self.arg(graph, input, last, &mut ignored);
                    args.iter().position(|&a| a == arg).unwrap_or_default()
                }
            };
            program.instructions.push(ElementwiseInstruction { function, operands: graph.inputs(id).map(value).collect() });
        }
        let is_shared = |id: NodeId| id != last && graph.out_edges(id).any(|e| !members.contains(&e.dst));
        let mut shared: Vec<NodeId> = members.iter().copied().filter(|&id| is_shared(id)).collect();
        shared.insert(0, last);
        program.outputs = shared.iter().filter_map(|id| members.iter().position(|m| m == id)).map(|at| args.len() + at).collect();

        let mut def = node_def(graph, FUSED, String::new(), members);
        def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
        def.attr.extend(program.to_attrs());
        controls.sort_unstable();
        controls.dedup();
        let inputs: Vec<OutputId> = args.iter().map(|a| a.tensor).collect();
        let fused = replace(graph, last, def, &inputs, &controls)?;
        self.liveness.set_same(fused, last);
        for (slot, &id) in shared.iter().enumerate().skip(1) {
            let edges: Vec<_> = graph.out_edges(id).filter(|e| !members.contains(&e.dst)).collect();
            for edge in edges {
                graph.update_edge(fused.output(slot as u32), edge.dst, edge.dst_input as usize)?;
            }
        }
        for &id in members.iter().rev().filter(|&&id| id != last) {
            graph.remove_node(id)?;
        }
        Ok(())
    }

    /// Returns the argument through which the fused node reads a tensor. A part of a `Split` along the last dimension is read from the input of the
    /// `Split`, whose control inputs are then added to `controls`.
    fn arg(&self, graph: &Graph, tensor: OutputId, fused: NodeId, controls: &mut Vec<NodeId>) -> Arg {
        let whole = Arg { tensor, piece: ElementwisePiece::WHOLE };
        let device = |id: NodeId| graph.get(id).map(Node::device);
        let Some(split) = graph.get(tensor.node).filter(|n| n.is_op("Split") && Some(n.device()) == device(fused)) else { return whole };
        match graph.input(split.id(), 1) {
            Some(value) if is_last_axis(graph, self.shapes, split.id(), 0, value) && !split.input_types().iter().any(|t| t.is_ref) => {
                controls.extend(graph.control_inputs(split.id()));
                controls.extend(graph.input_node(split.id(), 0).iter().flat_map(|&axis| graph.control_inputs(axis)));
                Arg { tensor: value, piece: ElementwisePiece { index: tensor.slot as usize, count: split.num_outputs() } }
            }
            _ => whole,
        }
    }
}

/// Returns the function that a node computes element by element, if it computes one.
fn function_of(node: &Node) -> Option<ElementwiseFunction> {
    node.traits().elementwise.or_else(|| is_bias_add(node).then_some(ElementwiseFunction::BiasAdd))
}

/// The tensors that nodes outside give to these.
fn num_args(graph: &Graph, members: &FxHashSet<NodeId>) -> usize {
    let outside: FxHashSet<OutputId> = members.iter().flat_map(|&id| graph.inputs(id)).filter(|o| !members.contains(&o.node)).collect();
    outside.len()
}

/// Returns true if no path leaves `members` and comes back, and false if the search visits too many nodes. All members lead to `root`.
fn is_convex(graph: &Graph, members: &FxHashSet<NodeId>, root: NodeId) -> bool {
    let next = |id: NodeId| graph.out_edges(id).filter(|e| e.dst > NodeId::SINK && !is_back_edge(graph, e)).map(|e| e.dst);
    // What comes after the root cannot lead back: that would be a cycle.
    let mut stack: Vec<NodeId> =
        members.iter().filter(|&&id| id != root).flat_map(|&id| next(id)).filter(|id| !members.contains(id)).collect();
    let mut seen = FxHashSet::default();
    while let Some(id) = stack.pop() {
        if members.contains(&id) {
            return false;
        }
        if seen.insert(id) {
            if seen.len() > MAX_VISITED {
                return false;
            }
            stack.extend(next(id));
        }
    }
    true
}
