//! Which tensors are not scalars, as far as ops tell. Nothing but speed may depend on the answer.

use crate::rewrite::{constant, constant_shape, is_of_type};
use flowmill_graph::{Graph, Node, NodeId, OutputId};
use flowmill_tensor::DType;
use rustc_hash::FxHashSet;

/// Ops whose outputs have a dimension at least, or that refuse their input.
const HAVE_DIMENSIONS: &[&str] = &[
    "AvgPool",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "BiasAdd",
    "Concat",
    "ConcatV2",
    "Conv2D",
    "DepthwiseConv2dNative",
    "ExpandDims",
    "FusedBatchNorm",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    "LogSoftmax",
    "MatMul",
    "MaxPool",
    "OneHot",
    "Pack",
    "Softmax",
    "Split",
    "SplitV",
    "_FusedConv2D",
    "_FusedDepthwiseConv2dNative",
    "_FusedElementwise",
    "_FusedMatMul",
    "_FusedReadMatMul",
];

/// Ops whose output has the rank of their first input.
const PASS_ON: &[&str] = &[
    "Cast",
    "Cos",
    "Enter",
    "Erf",
    "Exit",
    "Exp",
    "Identity",
    "Merge",
    "NextIteration",
    "Pad",
    "StopGradient",
    "Switch",
    "Tile",
    "Transpose",
    "ZerosLike",
];

/// Nodes all of whose outputs have a dimension at least.
pub(crate) struct Tensors(FxHashSet<NodeId>);

impl Tensors {
    /// Looks at these nodes, which stand after their producers; `is_elementwise` says whose outputs are as wide as any of their inputs.
    pub(crate) fn of(graph: &Graph, order: &[NodeId], is_elementwise: impl Fn(&Node) -> bool) -> Tensors {
        let mut tensors = Tensors(FxHashSet::default());
        for node in order.iter().filter_map(|&id| graph.get(id)) {
            if tensors.has_dimensions(graph, node, is_elementwise(node)) {
                tensors.0.insert(node.id());
            }
        }
        tensors
    }

    /// Whether this node's outputs are known not to be scalars.
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    fn has_dimensions(&self, graph: &Graph, node: &Node, is_elementwise: bool) -> bool {
        let input = |i: usize| graph.input_node(node.id(), i).is_some_and(|n| self.contains(n));
        let has_sizes = |i: usize| {
            let sizes = graph.input(node.id(), i).and_then(|o| constant_shape(graph, o));
            sizes.is_some_and(|s| s.num_elements() >= 1)
        };
        match node.op() {
            "Const" => constant_shape(graph, node.id().output(0)).is_some_and(|s| s.rank() >= 1),
            "Reshape" => has_sizes(1),
            "Fill" => has_sizes(0),
            "Mean" | "Sum" | "Max" | "Min" | "Prod" => input(0) && node.attrs().get_or("keep_dims", false).unwrap_or(false),
            op if HAVE_DIMENSIONS.contains(&op) => true,
            op if PASS_ON.contains(&op) => input(0),
            _ => is_elementwise && (0..node.num_inputs()).any(input),
        }
    }
}

/// Whether the axis that input `i` of `node` holds is the last one of the tensor `of`.
pub(crate) fn is_last_axis(graph: &Graph, node: NodeId, i: usize, of: OutputId) -> bool {
    let axis = graph.input(node, i).and_then(|o| constant(graph, o)).and_then(|c| c.value.to_scalar::<i32>().ok());
    axis.is_some_and(|axis| axis == -1 || rank(graph, of).is_some_and(|rank| axis == rank - 1))
}

/// The rank of a tensor, where its producer says it.
fn rank(graph: &Graph, output: OutputId) -> Option<i32> {
    let node = graph.get(output.node)?;
    match node.op() {
        "MatMul" | "_FusedMatMul" | "_FusedReadMatMul" => Some(2),
        "BiasAdd" if is_of_type(node, DType::F32) => rank(graph, graph.input(node.id(), 0)?),
        _ => None,
    }
}
