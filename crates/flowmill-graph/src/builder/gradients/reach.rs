//! Finds the nodes between the `xs` and the `ys`.

use super::is_differentiable;
use super::repeat::Substitutes;
use crate::builder::ScopedBuilder;
use crate::{NodeId, OutputId};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Returns the nodes that depend on the `xs` through tensors that have gradients, or through the stacks of a loop's gradient: that one's own gradient is
/// refused rather than missing a part.
pub(super) fn reach(b: &ScopedBuilder<'_>, xs: &[OutputId], substitutes: &Substitutes) -> FxHashSet<NodeId> {
    let mut reached = FxHashSet::default();
    let mut queue: VecDeque<NodeId> = xs.iter().map(|x| x.node).collect();
    while let Some(node) = queue.pop_front() {
        if !reached.insert(node) {
            continue;
        }
        queue.extend(stack_pushed_to(b, node));
        let types = b.graph()[node].output_types();
        substitutes.for_each_consumer(b, node, |output, consumer| {
            if types.get(output.slot as usize).is_some_and(|t| is_differentiable(t.dtype)) {
                queue.push_back(consumer);
            }
        });
    }
    reached
}

/// For a push, the stack, from which what pops is reached. `None` if the handle goes round in a loop that somebody wrote.
fn stack_pushed_to(b: &ScopedBuilder<'_>, node: NodeId) -> Option<NodeId> {
    if !b.graph()[node].is_op("StackPushV2") {
        return None;
    }
    let mut seen = FxHashSet::default();
    let mut stack = b.graph().input_node(node, 0)?;
    while !b.graph()[stack].is_op("StackV2") {
        if !seen.insert(stack) {
            return None;
        }
        stack = b.graph().input_node(stack, 0)?;
    }
    Some(stack)
}

/// Returns the reached nodes that the `ys` depend on, nearest to the `ys` first: an outer loop's exits come before an inner one's.
pub(super) fn find_between(b: &ScopedBuilder<'_>, ys: &[OutputId], reached: &FxHashSet<NodeId>, substitutes: &Substitutes) -> Vec<NodeId> {
    let mut between = Vec::new();
    let mut seen = FxHashSet::default();
    let mut queue: VecDeque<NodeId> = ys.iter().map(|&y| substitutes.of(y).node).collect();
    while let Some(node) = queue.pop_front() {
        if reached.contains(&node) && seen.insert(node) {
            between.push(node);
            queue.extend(substitutes.inputs(b, node).map(|i| i.node));
        }
    }
    between
}
