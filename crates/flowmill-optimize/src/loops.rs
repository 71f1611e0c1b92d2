//! Invariants and counters of loops that consist of frames.

use crate::rewrite::{constant, has_no_control_inputs};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId, Role};
use flowmill_tensor::{DType, Tensor};

/// The largest number of nodes that are followed from a tensor to the node that decides what it is.
const MAX_STEPS: usize = 16;

/// A tensor of a loop that is the same in each iteration.
#[derive(Clone, Copy)]
pub(crate) struct Invariant {
    /// The tensor outside of the loop.
    pub(crate) outside: OutputId,
    /// The `Enter` that brings it into the loop.
    pub(crate) enter: NodeId,
}

/// Returns the invariant that `tensor`, a tensor of a loop's body, is: it comes from a constant `Enter`, or it is a loop variable that each iteration
/// passes on. A reference is none, and neither is a read of one, because each iteration reads the variable again. The `Identity` nodes that pass a
/// variable on may wait for others of their iteration, as those at the end of a function's body do: its value in the next iteration is the same.
pub(crate) fn invariant(graph: &Graph, tensor: OutputId) -> Option<Invariant> {
    let tensor = through_identities(graph, tensor)?;
    let node = graph.get(tensor.node)?;
    let enter = if node.is_enter() {
        node.attrs().get("is_constant").unwrap_or(false).then_some(node)?
    } else {
        let (enter, next) = variable(graph, tensor)?;
        (value_of(graph, next)? == tensor).then_some(enter)?
    };
    let outside = graph.input(enter.id(), 0)?;
    let is_reference = |tensor: OutputId| graph.output_type(tensor).is_ok_and(|t| t.is_ref);
    let passed_on = graph.get(outside.node).filter(|n| n.traits().passes_on).and_then(|n| graph.input(n.id(), 0));
    (!is_reference(outside) && !passed_on.is_some_and(is_reference)).then_some(Invariant { outside, enter: enter.id() })
}

/// Like [`invariant`], for a tensor whose `Identity` nodes may wait for others. What takes the place of the tensor waits for what [`identities`] wait for.
pub(crate) fn invariant_value(graph: &Graph, tensor: OutputId) -> Option<Invariant> {
    invariant(graph, value_of(graph, tensor)?)
}

/// Returns the `Identity` nodes between a tensor and the one whose value it has.
pub(crate) fn identities(graph: &Graph, tensor: OutputId) -> Vec<NodeId> {
    let nodes = std::iter::successors(graph.get(tensor.node), |node| graph.get(graph.input(node.id(), 0)?.node));
    nodes.take_while(|node| node.is_op("Identity")).take(MAX_STEPS).map(Node::id).collect()
}

/// Returns true if `tensor`, a tensor of a loop's body, has another value in each iteration: it is a loop variable to which each iteration adds 1 or
/// −1, or the sum or difference of such a variable and an invariant.
pub(crate) fn is_counter(graph: &Graph, tensor: OutputId) -> bool {
    let mut tensor = tensor;
    for _ in 0..MAX_STEPS {
        let Some(source) = value_of(graph, tensor) else { return false };
        if let Some((_, next)) = variable(graph, source) {
            let step = value_of(graph, next).and_then(|next| sum(graph, next));
            return step.is_some_and(|(a, b)| {
                let is_variable = |t: OutputId| value_of(graph, t) == Some(source);
                (is_variable(a) && is_one(graph, b)) || (is_variable(b) && is_one(graph, a))
            });
        }
        let Some((a, b)) = sum(graph, source) else { return false };
        let is_fixed = |t: OutputId| constant(graph, t).is_some() || invariant(graph, t).is_some();
        tensor = match (is_fixed(a), is_fixed(b)) {
            (true, false) => b,
            (false, true) => a,
            _ => return false,
        };
    }
    false
}

/// Returns the `Enter` of the loop variable whose value in the loop's body is `tensor`, and its value in the next iteration.
fn variable(graph: &Graph, tensor: OutputId) -> Option<(&Node, OutputId)> {
    let switch = graph.get(tensor.node).filter(|n| n.is_op("Switch") && tensor.slot == 1)?;
    graph.get(graph.input(switch.id(), 1)?.node).filter(|n| n.role() == Role::LoopCond)?;
    let merge = graph.get(graph.input(switch.id(), 0)?.node).filter(|n| n.is_merge() && n.num_inputs() == 2)?;
    let enter = graph.get(graph.input(merge.id(), 0)?.node).filter(|n| n.is_enter())?;
    let next = graph.get(graph.input(merge.id(), 1)?.node).filter(|n| n.is_next_iteration())?;
    Some((enter, graph.input(next.id(), 0)?))
}

/// Returns the tensor that `tensor` is, before `Identity` nodes that wait for nothing.
fn through_identities(graph: &Graph, tensor: OutputId) -> Option<OutputId> {
    before_identities(graph, tensor, |identity| has_no_control_inputs(graph, identity.id()))
}

/// Returns the tensor whose value `tensor` has. Its `Identity` nodes may wait for others, as those at the end of a function's body do.
fn value_of(graph: &Graph, tensor: OutputId) -> Option<OutputId> {
    before_identities(graph, tensor, |_| true)
}

/// Returns the tensor before `Identity` nodes that are `admitted`.
fn before_identities(graph: &Graph, mut tensor: OutputId, admitted: impl Fn(&Node) -> bool) -> Option<OutputId> {
    for _ in 0..MAX_STEPS {
        match graph.get(tensor.node)? {
            node if node.is_op("Identity") && admitted(node) => tensor = graph.input(node.id(), 0)?,
            _ => return Some(tensor),
        }
    }
    None
}

/// Returns the operands if a tensor is a sum or a difference.
fn sum(graph: &Graph, tensor: OutputId) -> Option<(OutputId, OutputId)> {
    let node =
        graph.get(tensor.node).filter(|n| matches!(n.traits().elementwise, Some(ElementwiseFunction::Add | ElementwiseFunction::Sub)))?;
    Some((graph.input(node.id(), 0)?, graph.input(node.id(), 1)?))
}

/// Returns true if a tensor is the constant 1 or −1, in the loop or outside of it.
fn is_one(graph: &Graph, tensor: OutputId) -> bool {
    let value = constant(graph, tensor).or_else(|| constant(graph, invariant(graph, tensor)?.outside));
    let is_one = |value: &Tensor| match value.dtype() {
        DType::I32 => value.to_scalar::<i32>().is_ok_and(|v| v.abs() == 1),
        DType::I64 => value.to_scalar::<i64>().is_ok_and(|v| v.abs() == 1),
        _ => false,
    };
    value.is_some_and(|constant| is_one(&constant.value))
}
