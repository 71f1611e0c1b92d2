//! The images of convolutions, and the nodes that make them of tensors of one dimension less.

use crate::rewrite::{constant_input, integers, sole_consumer};
use flowmill_graph::{Graph, Node};

/// The rank of the images of a convolution.
pub(crate) const RANK: usize = 4;

/// Follows input 0 of a node to its producer, if nothing else consumes or orders it and both are on one device.
pub(crate) fn producer<'a>(graph: &'a Graph, node: &Node) -> Option<&'a Node> {
    let producer = graph.get(graph.input_node(node.id(), 0)?)?;
    (sole_consumer(graph, producer.id()).is_some() && producer.device() == node.device()).then_some(producer)
}

/// Returns the dimension that an `ExpandDims` inserts to make an image, if it is constant.
pub(crate) fn added_dimension(graph: &Graph, node: &Node) -> Option<usize> {
    let axis = integers(&constant_input(graph, node.id(), 1)?.value)?;
    dimension(*axis.first()?)
}

/// Returns the index of a dimension of an image, which may be counted from the end.
pub(crate) fn dimension(index: i64) -> Option<usize> {
    let index = if index < 0 { index + RANK as i64 } else { index };
    usize::try_from(index).ok().filter(|&i| i < RANK)
}
