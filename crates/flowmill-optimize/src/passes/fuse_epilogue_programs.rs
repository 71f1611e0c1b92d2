//! Fuses a convolution or product with the element-wise functions behind it that are no bias, residual or activation of its own.
//!
//! Before: `_FusedElementwise(_FusedConv2D(x, w, b), s, r)`, such as an activation with a slope per channel, a residual that is added after the activation, or a
//! gate. After: `_FusedConv2DElementwise(x, w, b, s, r)`, whose kernel applies the functions to some rows at a time, while they are in the cache. In the same way
//! `_FusedDepthwiseConv2dNative` becomes `_FusedDepthwiseConv2dElementwise`, and `_FusedMatMul` becomes `_FusedMatMulElementwise`.
//!
//! Sound because the kernel computes the same rows and applies the same functions to them in the same order: the bits are those of the separate nodes. Guards:
//! * `float32`, channels last, functions that the target's kernels have, all on one device;
//! * nobody else reads the result of the convolution or product, which the functions read as a whole and do not broadcast;
//! * the functions have one result;
//! * the sums of a product start with zero;
//! * no control edge leads out of the convolution or product; the fused node takes over its control inputs.
//!
//! `fuse_elementwise` runs earlier: several functions are one node. `fuse_prologues` runs earlier: it looks for convolutions and products with their own epilogues.

use super::fuse_elementwise::FUSED as ELEMENTWISE;
use super::fuse_epilogues::{self, OWN_PADDINGS};
use crate::linear::{Linear, fused_functions};
use crate::rewrite::{fuse_each, is_channels_last, is_of_type, node_def, replace_chain, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, ElementwiseInstruction, ElementwisePiece, ElementwiseProgram, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

pub(crate) fn run(graph: &mut Graph, context: PassContext<'_>) -> Result<usize> {
    let find = |graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target| {
        let found = find(graph, node, shapes, target)?;
        Some((found, node.id()))
    };
    fuse_each(graph, context, find, rewrite)
}

struct Found {
    /// The convolution or product.
    linear: NodeId,
    /// The node of the functions.
    functions: NodeId,
    /// The functions, of which the result of the convolution or product is the first argument.
    program: ElementwiseProgram,
    /// The other arguments.
    args: Vec<OutputId>,
    op: &'static str,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    let program = program_of(node, target)?;
    let inputs: Vec<OutputId> = graph.inputs(node.id()).collect();
    let is_linear = |&arg: &usize| {
        let Some(linear) = inputs.get(arg).and_then(|input| graph.get(input.node)) else { return false };
        linear.device() == node.device()
            && program.pieces.get(arg).is_some_and(|piece| piece.is_whole())
            && sole_consumer(graph, linear.id()).is_some()
            && shapes.of(graph).are_equal(linear.id().output(0), node.id().output(0))
            && fused_op(linear).is_some_and(|op| target.fuses(op, ElementwiseFunction::BiasAdd, DType::F32))
    };
    let arg = (0..inputs.len()).find(is_linear)?;
    let linear = graph.get(inputs.get(arg)?.node)?;
    let args = inputs.iter().enumerate().filter(|(i, _)| *i != arg).map(|(_, &input)| input).collect();
    Some(Found { linear: linear.id(), functions: node.id(), program: program.with_first_arg(arg), args, op: fused_op(linear)? })
}

/// Returns the functions that a node applies element by element, if it has one result.
fn program_of(node: &Node, target: &dyn Target) -> Option<ElementwiseProgram> {
    if !is_of_type(node, DType::F32) {
        return None;
    }
    if node.is_op(ELEMENTWISE) {
        return ElementwiseProgram::from_attrs(node.attrs(), node.num_inputs()).ok().filter(|program| program.outputs.len() == 1);
    }
    let function = node.traits().elementwise.filter(|&function| target.fuses(ELEMENTWISE, function, DType::F32))?;
    let num_args = node.num_inputs();
    Some(ElementwiseProgram {
        pieces: vec![ElementwisePiece::WHOLE; num_args],
        instructions: vec![ElementwiseInstruction { function, operands: (0..num_args).collect() }],
        outputs: vec![num_args],
    })
}

/// Returns the op that computes a convolution or product with functions behind it.
fn fused_op(node: &Node) -> Option<&'static str> {
    if !is_of_type(node, DType::F32) || !is_channels_last(node) {
        return None;
    }
    let is_linear = |&op: &Linear| Linear::of(node) == Some(op) || node.is_op(fuse_epilogues::fused_op(op));
    match [Linear::Conv2D, Linear::DepthwiseConv2d, Linear::MatMul].into_iter().find(is_linear)? {
        Linear::Conv2D => Some("_FusedConv2DElementwise"),
        Linear::DepthwiseConv2d => Some("_FusedDepthwiseConv2dElementwise"),
        Linear::MatMul => {
            let functions = fused_functions(node)?;
            let starts_with_zero =
                !functions.contains(&ElementwiseFunction::Accumulate) && !functions.contains(&ElementwiseFunction::AccumulatePart);
            starts_with_zero.then_some("_FusedMatMulElementwise")
        }
        Linear::Conv3D => None,
    }
}

/// The attributes that the fused op takes over, if the node has them.
const KEPT: &[&str] =
    &["T", "strides", "padding", "explicit_paddings", "dilations", "transpose_a", "transpose_b", "fused_ops", "leakyrelu_alpha"];

fn rewrite(graph: &mut Graph, found: &Found) -> Result<NodeId> {
    let nodes = [found.linear, found.functions];
    let mut def = node_def(graph, found.op, String::new(), &nodes);
    let linear = graph.node(found.linear)?;
    for name in KEPT {
        if let Some(value) = linear.attrs().attr(name) {
            def.attr.insert((*name).to_owned(), value.clone());
        }
    }
    // The depthwise convolution alone has an attribute of the project for its paddings.
    if linear.attrs().contains(OWN_PADDINGS) {
        def.attr.insert("padding".to_owned(), "EXPLICIT".into());
        def.attr.insert("explicit_paddings".to_owned(), linear.attrs().list::<i64>(OWN_PADDINGS)?.into());
    }
    let operands: Vec<OutputId> = graph.inputs(found.linear).collect();
    def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
    def.attr.extend(found.program.to_attrs());
    // The op has one result.
    def.attr.remove("num_results");
    def.attr.insert("N".to_owned(), (found.args.len() as i64).into());
    def.attr.insert("num_epilogue".to_owned(), (operands.len().saturating_sub(2) as i64).into());
    let inputs: Vec<OutputId> = operands.into_iter().chain(found.args.iter().copied()).collect();
    replace_chain(graph, &nodes, def, &inputs)
}
