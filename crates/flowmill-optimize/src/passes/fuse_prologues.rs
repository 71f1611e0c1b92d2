//! Fuses a product, or a convolution of one position, with the element-wise functions in front of it.
//!
//! Before: `_FusedConv2D(_FusedElementwise(x, s, b), w, c)`, such as a batch norm with its activation before a convolution. After: `_FusedElementwiseProduct(w, x, s, b, c)`, whose kernel computes some rows at a time in the cache and multiplies them there.
//!
//! Sound because the kernel applies the same functions and sums in the same order: the bits are those of the separate nodes. Guards:
//! * `float32`, functions that the target's kernels have, all on one device;
//! * each row is read once: a window of one position, strides of one, no groups, not so few output channels that dot products are faster; products whose left operand is not transposed and that start with zero;
//! * the functions have one result, which nobody else reads, and which is sure to be no scalar or vector;
//! * weights of few elements, because they are read again for each group of rows; those of a product are constant, because the kernel keeps their packed form;
//! * no control edge leads out of the functions; the fused node takes over their control inputs.
//!
//! `fuse_elementwise` runs earlier: several functions are one node. A single function stays a node of its own, which often writes to the memory of its operand
//! and takes less time than rows in blocks: measured at the excitations of mobile networks.

use super::fuse_elementwise::FUSED as ELEMENTWISE;
use crate::linear::{fused_functions, pointwise_channels};
use crate::rewrite::{constant_shape, fuse_each, is_of_type, node_def, replace_chain, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, ElementwiseProgram, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

const FUSED: &str = "_FusedElementwiseProduct";
/// The most elements of the matrix.
const MAX_WEIGHTS: i64 = 1 << 17;

pub(crate) fn run(graph: &mut Graph, context: PassContext<'_>) -> Result<usize> {
    let find = |graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target| {
        let found = find(graph, node, shapes, target)?;
        Some((found, node.id()))
    };
    fuse_each(graph, context, find, rewrite)
}

struct Found {
    rows: NodeId,
    product: NodeId,
    program: ElementwiseProgram,
    args: Vec<OutputId>,
    functions: Vec<ElementwiseFunction>,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    if !is_of_type(node, DType::F32) || !is_product_of_rows(graph, node, shapes) {
        return None;
    }
    let rows = graph.get(graph.input(node.id(), 0)?.node)?;
    let is_own = rows.device() == node.device() && sole_consumer(graph, rows.id()).is_some_and(|edge| edge.dst_input == 0);
    let is_matrix = shapes.of(graph).rank(rows.id().output(0)).is_some_and(|rank| rank >= 2);
    // A target without the kernel fuses no function.
    let has_kernel = |functions: &[ElementwiseFunction]| {
        let mut needed = functions.iter().chain(&[ElementwiseFunction::BiasAdd]);
        needed.all(|&function| target.fuses(FUSED, function, DType::F32))
    };
    let functions = fused_functions(node)?;
    if !rows.is_op(ELEMENTWISE) || !is_own || !is_matrix || !has_kernel(&functions) {
        return None;
    }
    let program = ElementwiseProgram::from_attrs(rows.attrs(), rows.num_inputs()).ok().filter(|program| program.outputs.len() == 1)?;
    Some(Found { rows: rows.id(), product: node.id(), program, args: graph.inputs(rows.id()).collect(), functions })
}

/// Returns true if a node multiplies the rows of its first input with a matrix of few elements.
fn is_product_of_rows(graph: &Graph, node: &Node, shapes: &Shapes) -> bool {
    if let Some((inputs, outputs)) = pointwise_channels(graph, node, shapes) {
        return inputs.saturating_mul(outputs) <= MAX_WEIGHTS;
    }
    let is_transposed = ["transpose_a", "transpose_b"].iter().any(|name| node.attrs().get_or(name, false).unwrap_or(true));
    let is_plain = |functions: Vec<ElementwiseFunction>| {
        !functions.contains(&ElementwiseFunction::Accumulate) && !functions.contains(&ElementwiseFunction::AccumulatePart)
    };
    let is_product = (node.is_op("MatMul") || node.is_op("_FusedMatMul")) && !is_transposed && fused_functions(node).is_some_and(is_plain);
    let is_small = || {
        let matrix = constant_shape(graph, graph.input(node.id(), 1)?)?;
        Some(matrix.rank() == 2 && i64::try_from(matrix.num_elements()).is_ok_and(|elements| elements <= MAX_WEIGHTS))
    };
    is_product && is_small().unwrap_or(false)
}

fn rewrite(graph: &mut Graph, found: &Found) -> Result<NodeId> {
    let nodes = [found.rows, found.product];
    let mut def = node_def(graph, FUSED, String::new(), &nodes);
    let product = graph.node(found.product)?;
    let mut inputs = graph.inputs(found.product).skip(1);
    let matrix = inputs.next();
    let epilogue: Vec<OutputId> = inputs.collect();
    def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
    def.attr.extend(found.program.to_attrs());
    // The op has one result.
    def.attr.remove("num_results");
    def.attr.insert("num_epilogue".to_owned(), (epilogue.len() as i64).into());
    if !found.functions.is_empty() {
        def.attr.insert("fused_ops".to_owned(), ElementwiseFunction::attr_of(&found.functions));
    }
    if let Some(slope) = product.attrs().attr("leakyrelu_alpha") {
        def.attr.insert("leakyrelu_alpha".to_owned(), slope.clone());
    }
    let inputs: Vec<OutputId> = matrix.into_iter().chain(found.args.iter().copied()).chain(epilogue).collect();
    replace_chain(graph, &nodes, def, &inputs)
}
