//! Weights that several nodes share, and the order of execution that keeps them in the cache.
//!
//! Of the consumers of an output, one that leads to weights from which the output was computed goes first: they are in the cache. So the layers of an unrolled recurrent
//! network run one after the other, each over all steps. Step by step, each step would read the weights of all layers from memory. A layer's outputs stay in memory until
//! the next layer has read them, as those of a loop do.

use super::ir::{NodeKind, PlanNode, PlanNodeId};

/// The least bytes of weights. Smaller ones stay in the cache beside those of other layers.
const LEAST_BYTES: usize = 256 << 10;
/// The most nodes between a consumer and a node with weights, such as a concatenation.
const STEPS: usize = 4;
/// The most nodes before an output that are looked at: those of a few steps of a recurrent cell.
const NODES_BEFORE: usize = 24;
/// No node.
const NONE: u32 = u32::MAX;

/// The weights of a graph's nodes: constants, and values of variables, that several nodes have as inputs.
pub(crate) struct SharedWeights {
    /// The weights of each node, or [`NONE`].
    weights: Vec<u32>,
    inputs: Vec<Box<[u32]>>,
    /// The first consumer of each node, or [`NONE`].
    consumers: Vec<u32>,
}

impl SharedWeights {
    /// Finds the weights among nodes, by their ids. Returns `None` if no two nodes share any.
    pub(crate) fn find<'a>(nodes: impl IntoIterator<Item = Option<&'a PlanNode>>) -> Option<SharedWeights> {
        let nodes: Vec<Option<&PlanNode>> = nodes.into_iter().collect();
        let is_weights: Vec<bool> = nodes.iter().map(|node| node.is_some_and(|node| is_weights(&nodes, node))).collect();
        let weights_of =
            |node: &PlanNode| node.inputs.iter().map(|edge| edge.node.0).find(|&id| is_weights.get(id as usize) == Some(&true));
        let mut weights: Vec<u32> = nodes.iter().map(|node| node.and_then(weights_of).unwrap_or(NONE)).collect();
        let mut uses = vec![0u32; nodes.len()];
        weights.iter().filter(|&&id| id != NONE).for_each(|&id| uses[id as usize] += 1);
        weights.iter_mut().filter(|id| **id != NONE && uses[**id as usize] < 2).for_each(|id| *id = NONE);
        if weights.iter().all(|&id| id == NONE) {
            return None;
        }
        let inputs_of = |node: &Option<&PlanNode>| node.iter().flat_map(|node| node.inputs.iter().map(|edge| edge.node.0)).collect();
        let inputs: Vec<Box<[u32]>> = nodes.iter().map(inputs_of).collect();
        let mut consumers = vec![NONE; nodes.len()];
        for (id, inputs) in inputs.iter().enumerate().rev() {
            for &input in inputs {
                if let Some(consumer) = consumers.get_mut(input as usize) {
                    *consumer = id as u32;
                }
            }
        }
        Some(SharedWeights { weights, inputs, consumers })
    }

    /// Returns true if `to` leads to weights from which `from` was computed.
    pub(crate) fn are_same(&self, from: PlanNodeId, to: PlanNodeId) -> bool {
        let after = self.after(to.0);
        if after == NONE {
            return false;
        }
        // Nearest nodes first.
        let mut seen = vec![from.0];
        let mut next = 0;
        while let Some(&id) = seen.get(next) {
            if self.of(id) == after {
                return true;
            }
            for &input in self.inputs.get(id as usize).into_iter().flatten() {
                if seen.len() < NODES_BEFORE && !seen.contains(&input) {
                    seen.push(input);
                }
            }
            next += 1;
        }
        false
    }

    /// Returns the weights of a node.
    fn of(&self, id: u32) -> u32 {
        self.weights.get(id as usize).copied().unwrap_or(NONE)
    }

    /// Returns the weights of the first node with weights that a node leads to, or is.
    fn after(&self, mut id: u32) -> u32 {
        for _ in 0..STEPS {
            let consumer = self.consumers.get(id as usize).copied().unwrap_or(NONE);
            if self.of(id) != NONE || consumer == NONE {
                break;
            }
            id = consumer;
        }
        self.of(id)
    }
}

/// Returns true for a large tensor that is the same in each step, or changes only with a variable.
fn is_weights(nodes: &[Option<&PlanNode>], node: &PlanNode) -> bool {
    let is_root = |id: PlanNodeId| {
        let node = nodes.get(id.0 as usize).copied().flatten();
        node.is_some_and(|node| node.inputs.is_empty() && !matches!(node.kind, NodeKind::Arg(_)))
    };
    match &node.kind {
        NodeKind::Const(value) => value.num_elements().saturating_mul(value.dtype().size().unwrap_or(0)) >= LEAST_BYTES,
        NodeKind::Op if node.inputs.iter().all(|edge| is_root(edge.node)) => {
            let elements = node.shapes.first().and_then(|shape| shape.num_elements()).unwrap_or(0);
            let size = node.outputs.first().and_then(|output| output.dtype.size()).unwrap_or(0);
            elements.saturating_mul(size) >= LEAST_BYTES
        }
        _ => false,
    }
}
