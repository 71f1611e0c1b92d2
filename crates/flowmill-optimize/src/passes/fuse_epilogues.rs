//! Fuses a convolution or matrix product with its epilogue: bias, residual and activation.
//!
//! Before: `Relu(AddV2(BiasAdd(Conv2D(x, w), b), r))`. After: `_FusedConv2D(x, w, b, r) {fused_ops=["BiasAdd","Add","Relu"]}`. In the same way
//! `MatMul` becomes `_FusedMatMul`, `DepthwiseConv2dNative` becomes `_FusedDepthwiseConv2dNative` and `Conv3D` becomes `_FusedConv3D`. A `_FusedMatMul`
//! that only accumulates gets an epilogue, too.
//!
//! Sound because the fused kernels compute the same, only without storing what lies between. Guards:
//! * `float32`, channels last, functions that the target's kernel of the fused op has;
//! * the bias is that of a `BiasAdd`, or a vector in a sum that is sure to have as many values as there are channels. Without a bias, `Conv2D` gets no
//!   activation: `_FusedConv2D` has at least one argument;
//! * a residual follows a bias, and is sure to have the shape of what it is added to: a sum that widens either is left alone;
//! * intermediate tensors have no other consumers, and no control edge leads out of the nodes between; the fused node takes over all control inputs;
//! * all on one device.
//!
//! `fold_batch_norm` runs earlier, because it turns a batch norm into a bias. `fold_padding` runs earlier, because it matches `Conv2D`.

use crate::linear::{Linear, is_bias_add};
use crate::rewrite::{fuse_each, is_of_type, node_def, replace_chain, sole_consumer, text};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{Edge, ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_proto::{AttrValue, DataType};
use flowmill_tensor::{DType, Result};

/// The attribute for explicit paddings of the fused depthwise op, for which TensorFlow declares none. The op's `padding` is then `VALID`.
pub(super) const OWN_PADDINGS: &str = "_explicit_paddings";

pub(crate) fn run(graph: &mut Graph, context: PassContext<'_>) -> Result<usize> {
    let find = |graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target| {
        let found = find(graph, node, shapes, target)?;
        let last = found.nodes.last().copied().unwrap_or(node.id());
        Some((found, last))
    };
    fuse_each(graph, context, find, rewrite)
}

/// Returns the function of a product whose only function says what its sums start with.
fn accumulates(node: &Node) -> Option<ElementwiseFunction> {
    if !node.is_op("_FusedMatMul") || !is_of_type(node, DType::F32) {
        return None;
    }
    let functions: Vec<&str> = node.attrs().list("fused_ops").ok()?;
    [ElementwiseFunction::Accumulate, ElementwiseFunction::AccumulatePart].into_iter().find(|function| functions == [function.name()])
}

struct Found {
    op: Linear,
    /// The linear op and what follows it, in order.
    nodes: Vec<NodeId>,
    /// The tensor to add to, the bias and the residual.
    args: Vec<OutputId>,
    functions: Vec<ElementwiseFunction>,
    leakyrelu_alpha: Option<f32>,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    let op = Linear::of(node).or_else(|| accumulates(node).map(|_| Linear::MatMul))?;
    let can_end_with = |function: ElementwiseFunction| target.fuses(fused_op(op), function, DType::F32);
    let mut found = Found { op, nodes: vec![node.id()], args: Vec::new(), functions: Vec::new(), leakyrelu_alpha: None };
    if let Some(start) = accumulates(node) {
        found.args.extend(graph.input(node.id(), 2));
        found.functions.push(start);
    }
    if can_end_with(ElementwiseFunction::BiasAdd)
        && let Some((edge, bias)) = bias(graph, &found, shapes)
    {
        found.args.push(bias);
        found.push(edge.dst, ElementwiseFunction::BiasAdd);
        if can_end_with(ElementwiseFunction::Add)
            && let Some((edge, residual)) = residual(graph, &found, shapes)
        {
            found.args.push(residual);
            found.push(edge.dst, ElementwiseFunction::Add);
        }
    } else if op == Linear::Conv2D {
        return None;
    }
    if let Some(edge) = found.next(graph)
        && let Some(node) = graph.get(edge.dst)
        && let Some(activation) = node.traits().elementwise
        && node.num_inputs() == 1
        && is_of_type(node, DType::F32)
        && can_end_with(activation)
    {
        found.leakyrelu_alpha = node.attrs().get("alpha").ok();
        found.push(edge.dst, activation);
    }
    (found.nodes.len() > 1).then_some(found)
}

impl Found {
    fn push(&mut self, node: NodeId, function: ElementwiseFunction) {
        self.nodes.push(node);
        self.functions.push(function);
    }

    fn next(&self, graph: &Graph) -> Option<Edge> {
        next(graph, graph.get(*self.nodes.last()?)?)
    }
}

/// The edge to the one consumer of a node, on the same device.
fn next(graph: &Graph, node: &Node) -> Option<Edge> {
    let edge = sole_consumer(graph, node.id())?;
    (graph.get(edge.dst)?.device() == node.device()).then_some(edge)
}

/// Returns the bias that is added to the linear op, and the edge to the sum.
fn bias(graph: &Graph, found: &Found, shapes: &Shapes) -> Option<(Edge, OutputId)> {
    let edge = found.next(graph)?;
    let consumer = graph.get(edge.dst)?;
    if is_bias_add(consumer) && edge.dst_input == 0 {
        return Some((edge, graph.input(consumer.id(), 1)?));
    }
    let other = addend(graph, consumer, edge)?;
    let (sum, vector) = (shapes.of(graph).shape(edge.source()?), shapes.of(graph).shape(other));
    let is_bias = match (sum.dims()?, vector.dims()?) {
        (&[.., channels], &[size]) => channels == size && size >= 0,
        _ => false,
    };
    is_bias.then_some((edge, other))
}

/// Returns the other addend if the consumer at the end of `edge` is a sum.
fn addend(graph: &Graph, sum: &Node, edge: Edge) -> Option<OutputId> {
    let is_sum = sum.traits().elementwise == Some(ElementwiseFunction::Add) && is_of_type(sum, DType::F32);
    graph.input(sum.id(), usize::from(edge.dst_input == 0)).filter(|_| is_sum)
}

/// The tensor that is added element by element behind what was found so far.
fn residual(graph: &Graph, found: &Found, shapes: &Shapes) -> Option<(Edge, OutputId)> {
    let edge = found.next(graph)?;
    let other = addend(graph, graph.get(edge.dst)?, edge)?;
    shapes.of(graph).are_equal(edge.source()?, other).then_some((edge, other))
}

fn rewrite(graph: &mut Graph, found: &Found) -> Result<NodeId> {
    let Some(&first) = found.nodes.first() else { flowmill_tensor::bail!(Internal, "a fusion without nodes") };
    let mut def = node_def(graph, fused_op(found.op), String::new(), &found.nodes);
    let mut set = |name: &str, value: AttrValue| def.attr.insert(name.to_owned(), value);
    let node = graph.node(first)?;
    for name in attrs_kept(found.op) {
        if let Some(value) = node.attrs().attr(name) {
            set(name, value.clone());
        }
    }
    set("fused_ops", ElementwiseFunction::attr_of(&found.functions));
    set("num_args", (found.args.len() as i64).into());
    if found.op == Linear::Conv2D {
        set("TArgs", vec![DataType::DtFloat; found.args.len()].into());
    }
    if found.op == Linear::DepthwiseConv2d && text(node, "padding") == "EXPLICIT" {
        set("padding", "VALID".into());
        set(OWN_PADDINGS, node.attrs().list::<i64>("explicit_paddings")?.into());
    }
    if let Some(alpha) = found.leakyrelu_alpha {
        set("leakyrelu_alpha", alpha.into());
    }
    let inputs: Vec<OutputId> = graph.inputs(first).take(2).chain(found.args.iter().copied()).collect();
    replace_chain(graph, &found.nodes, def, &inputs)
}

/// Returns the op that computes a linear op with an epilogue.
pub(super) fn fused_op(op: Linear) -> &'static str {
    match op {
        Linear::Conv2D => "_FusedConv2D",
        Linear::Conv3D => "_FusedConv3D",
        Linear::DepthwiseConv2d => "_FusedDepthwiseConv2dNative",
        Linear::MatMul => "_FusedMatMul",
    }
}

/// Attributes that the fused op takes over.
fn attrs_kept(op: Linear) -> &'static [&'static str] {
    match op {
        Linear::Conv2D => &["T", "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"],
        Linear::DepthwiseConv2d | Linear::Conv3D => &["T", "strides", "padding", "data_format", "dilations"],
        Linear::MatMul => &["T", "transpose_a", "transpose_b"],
    }
}
