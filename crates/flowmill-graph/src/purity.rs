//! Purity of nodes: which nodes may be computed ahead of a step, merged with equal ones, or left out.
//!
//! An op declares its effects ([`OpTraits::effects`](crate::OpTraits::effects)). A node may have others: its types may be references or resources, and
//! its attributes may name functions.

use crate::{Effects, Graph, Node, TensorType};
use flowmill_tensor::DType;

/// Returns true if a node may do more than compute its outputs: its op has effects, it reads or returns references, or it calls functions.
pub fn has_effects(graph: &Graph, node: &Node) -> bool {
    node.traits().effects != Effects::None || types(node).any(|t| t.is_ref) || names_functions(graph, node)
}

/// Returns true if a node's outputs depend on the values of its inputs alone, so that nodes with the same op, attributes and inputs are equal.
pub fn is_pure(graph: &Graph, node: &Node) -> bool {
    node.traits().is_pure()
        && !has_effects(graph, node)
        && !types(node).any(|t| t.dtype == DType::Resource)
        // The value of a reference depends on when it is read.
        && !graph.inputs(node.id()).any(|o| graph.output_type(o).is_ok_and(|t| t.is_ref))
}

/// Returns true if a node is [pure](is_pure), and constants can hold its inputs and outputs.
pub fn is_foldable(graph: &Graph, node: &Node) -> bool {
    node.num_inputs() > 0 && node.num_outputs() > 0 && is_pure(graph, node) && !types(node).any(|t| t.dtype == DType::Variant)
}

fn types(node: &Node) -> impl Iterator<Item = &TensorType> {
    node.input_types().iter().chain(node.output_types())
}

/// Returns true if a node is a call of a function or names functions in its attributes, whose effects are not those of its op.
fn names_functions(graph: &Graph, node: &Node) -> bool {
    graph.library().get(node.op()).is_some() || node.attrs().values().any(|value| !value.functions().is_empty())
}
