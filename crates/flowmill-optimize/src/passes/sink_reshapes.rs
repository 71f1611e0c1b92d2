//! Moves reshapes behind the element-wise nodes that follow a product or a convolution.
//!
//! Before: `Relu(AddV2(Reshape(MatMul(x, w), [-1,l,h,d]), b))` with a constant b of shape `[h,d]`. After: `Reshape(Relu(AddV2(MatMul(x, w), b')), [-1,l,h,d])`,
//! where b' has the elements of b in shape `[h·d]`. `Squeeze` and `ExpandDims` move likewise. Of two reshapes in a row, the first goes. Functions of one
//! operand pass reshapes behind other element-wise nodes, too: the activation behind a group norm joins it.
//!
//! Sound because an element-wise function does not depend on the shape, as long as both operands have the same element at the same place before and
//! after. Guards:
//! * `float32`; the result has the shape of the reshaped tensor; reshape and product have no other consumers, and no control edge orders the reshape;
//!   all on one device;
//! * the other operand is a scalar, or a constant that is broadcast along the dimensions that the channels became, or a vector of channels where these
//!   stay the last dimension, or a tensor of the same shape, whose other shape is known up to one size.
//!
//! `fold_constants` runs earlier, because biases may be computed, and `fuse_activations`, which leaves one node of an activation. `fold_batch_norm` and
//! `fuse_epilogues` run later: they look for biases and activations directly behind the product.

use crate::linear::{Linear, is_bias_add};
use crate::rewrite::{add_constant, constant, has_no_control_inputs, is_of_type, node_def, replace, sole_consumer};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ControlFlow, Edge, FrameId, Graph, Moves, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{DataType, NodeDef};
use flowmill_tensor::{DType, Result, Shape, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    let flow = if graph.op_nodes().any(Node::is_enter) { Some(ControlFlow::new(graph)?) } else { None };
    let mut count = 0;
    for product in order {
        let Some(node) = graph.get(product) else { continue };
        let is_product = Linear::of(node).is_some();
        if !is_product && !is_function(node) {
            continue;
        }
        let is_in_loop = flow.as_ref().is_some_and(|flow| flow.frame_of(product) != FrameId::ROOT);
        let mut end = product;
        // Each round passes one element-wise node.
        while count < limit {
            end = match find(graph, end, is_product, shapes) {
                Some(Step::Over(node)) if is_product => node,
                Some(Step::Merge(first, second)) => {
                    count += 1;
                    graph.update_edge(end.output(0), second, 0)?;
                    graph.remove_node(first)?;
                    end
                }
                Some(Step::Sink(found)) => {
                    count += 1;
                    rewrite(graph, end, &found, is_in_loop, shapes)?
                }
                Some(Step::Over(_)) | None => break,
            };
        }
    }
    Ok(count)
}

enum Step {
    /// An element-wise node that follows directly.
    Over(NodeId),
    /// Two reshapes in a row.
    Merge(NodeId, NodeId),
    Sink(Found),
}

/// A reshape and the element-wise node behind it.
struct Found {
    reshape: NodeId,
    node: NodeId,
    /// The input of `node` that is the reshaped tensor.
    input: usize,
    other: Other,
}

/// The other operand of the element-wise node, if it has one.
enum Other {
    None,
    /// It is the same in either shape.
    Same(OutputId),
    /// A constant in the shape of the channels, and the nodes that it waits for.
    Constant(Tensor, Vec<NodeId>),
    /// A tensor of the result's shape, and its shape before the reshape.
    Reshaped(OutputId, Vec<i32>),
}

fn find(graph: &Graph, end: NodeId, is_product: bool, shapes: &Shapes) -> Option<Step> {
    let tensor = end.output(0);
    let edge = consumer(graph, end)?;
    let next = graph.get(edge.dst)?;
    let analysis = shapes.of(graph);
    if is_function(next) {
        let is_sure = analysis.are_equal(next.id().output(0), tensor);
        return is_sure.then_some(Step::Over(next.id()));
    }
    let is_reshape = next.traits().moves == Moves::InOrder
        && edge.dst_input == 0
        && is_of_type(next, DType::F32)
        && has_no_control_inputs(graph, next.id());
    if !is_reshape {
        return None;
    }
    let reshaped = next.id().output(0);
    let edge = consumer(graph, next.id())?;
    let node = graph.get(edge.dst)?;
    if node.is_op("Reshape") && edge.dst_input == 0 && is_of_type(node, DType::F32) {
        return Some(Step::Merge(next.id(), node.id()));
    }
    if !is_function(node) {
        return None;
    }
    let is_sure = analysis.are_equal(node.id().output(0), reshaped);
    let input = usize::try_from(edge.dst_input).ok().filter(|_| is_sure)?;
    let other = match node.num_inputs() {
        1 => Other::None,
        2 if is_product => other(graph, node, 1 - input, tensor, reshaped, shapes)?,
        _ => return None,
    };
    Some(Step::Sink(Found { reshape: next.id(), node: node.id(), input, other }))
}

/// The edge to the one consumer of a node, on the same device.
fn consumer(graph: &Graph, id: NodeId) -> Option<Edge> {
    let edge = sole_consumer(graph, id)?;
    (graph.get(edge.dst)?.device() == graph.get(id)?.device()).then_some(edge)
}

fn is_function(node: &Node) -> bool {
    let is_elementwise = node.traits().elementwise.is_some() || is_bias_add(node);
    is_elementwise && is_of_type(node, DType::F32) && node.input_types().iter().all(|t| !t.is_ref && t.dtype == DType::F32)
}

/// Returns the operand `i` of `node` for the tensor before the reshape.
fn other(graph: &Graph, node: &Node, i: usize, tensor: OutputId, reshaped: OutputId, shapes: &Shapes) -> Option<Other> {
    let operand = graph.input(node.id(), i)?;
    let analysis = shapes.of(graph);
    let (before, after, own) = (analysis.shape(tensor), analysis.shape(reshaped), analysis.shape(operand));
    if own.rank() == Some(0) {
        return Some(Other::Same(operand));
    }
    let (before, after) = (before.dims()?, after.dims()?);
    let channels = before.last().and_then(|&size| usize::try_from(size).ok())?;
    let keeps_channels = after.last() == before.last();
    if own.rank() == Some(1) && own.dim(0) == Some(channels) && keeps_channels {
        return Some(Other::Same(operand));
    }
    if let Some(found) = constant(graph, operand) {
        let vector = along_channels(&found.value, after, channels)?;
        return Some(Other::Constant(vector, found.controls));
    }
    if !analysis.are_equal(operand, reshaped) || before.contains(&0) || before.iter().filter(|&&size| size < 0).count() > 1 {
        return None;
    }
    Some(Other::Reshaped(operand, before.iter().map(|&size| i32::try_from(size.max(-1))).collect::<Result<_, _>>().ok()?))
}

/// Returns a constant as a vector of channels, which became the last dimensions of `shape`. `None` if it is broadcast in another way.
fn along_channels(value: &Tensor, shape: &[i64], channels: usize) -> Option<Tensor> {
    let mut dims: Vec<usize> = Vec::new();
    for &size in shape.iter().rev() {
        if !dims.is_empty() && dims.iter().product::<usize>() == channels {
            break;
        }
        dims.insert(0, usize::try_from(size).ok()?);
    }
    if dims.iter().product::<usize>() != channels || channels == 0 {
        return None;
    }
    let elements = value.as_slice::<f32>().ok()?;
    let leading = value.shape().iter().take_while(|&&size| size == 1).count();
    let own = &value.shape()[leading..];
    if own.len() > dims.len() || value.rank() > shape.len() {
        return None;
    }
    let missing = dims.len() - own.len();
    let fits = own.iter().zip(&dims[missing..]).all(|(&size, &of)| size == 1 || size == of);
    let strides = Shape::new(own).strides();
    let at = |mut channel: usize| {
        let mut offset = 0;
        for axis in (0..dims.len()).rev() {
            let index = channel % dims[axis];
            channel /= dims[axis];
            if axis >= missing && own[axis - missing] != 1 {
                offset += index * strides[axis - missing];
            }
        }
        elements.get(offset).copied()
    };
    let vector: Vec<f32> = (0..channels).filter(|_| fits).map(at).collect::<Option<_>>()?;
    (vector.len() == channels).then(|| Tensor::vector(&vector).ok())?
}

/// Moves the reshape behind the node, and returns the node that now follows the product.
fn rewrite(graph: &mut Graph, end: NodeId, found: &Found, is_in_loop: bool, shapes: &mut Shapes) -> Result<NodeId> {
    let tensor = end.output(0);
    let &Found { reshape, node, input, .. } = found;
    let other = match &found.other {
        Other::None => None,
        Other::Same(operand) => Some(*operand),
        Other::Constant(value, controls) => Some(add_constant(graph, value, controls, node)?),
        Other::Reshaped(operand, shape) => {
            let starts: Vec<NodeId> = if is_in_loop { vec![operand.node] } else { Vec::new() };
            let shape = add_constant(graph, &Tensor::vector(shape)?, &starts, node)?;
            let mut def = named(graph, "Reshape", node)?;
            def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
            def.attr.insert("Tshape".to_owned(), DataType::DtInt32.into());
            let reshaped = graph.add_node_with_inputs(def, &[*operand, shape], &[])?.output(0);
            shapes.set_same(reshaped, tensor);
            Some(reshaped)
        }
    };
    let op = graph.node(node)?.op().to_owned();
    let mut def = named(graph, &op, node)?;
    def.attr = graph.node(node)?.attrs().to_map();
    let inputs: Vec<OutputId> =
        if input == 0 { [tensor].into_iter().chain(other).collect() } else { other.into_iter().chain([tensor]).collect() };
    let controls: Vec<NodeId> = graph.control_inputs(node).collect();
    let function = graph.add_node_with_inputs(def, &inputs, &controls)?;
    shapes.set_same(function.output(0), tensor);

    let old = graph.node(reshape)?;
    let mut def = NodeDef { attr: old.attrs().to_map(), ..node_def(graph, old.op(), String::new(), &[reshape]) };
    def.name.clear();
    let inputs: Vec<OutputId> = [function.output(0)].into_iter().chain(graph.inputs(reshape).skip(1)).collect();
    let moved = replace(graph, node, def, &inputs, &[])?;
    shapes.set_same(moved.output(0), reshape.output(0));
    graph.remove_node(reshape)?;
    Ok(function)
}

/// Returns the definition of a node with a name derived from that of `original`.
fn named(graph: &mut Graph, op: &str, original: NodeId) -> Result<NodeDef> {
    let name = graph.node(original)?.name().to_owned();
    let name = graph.new_name(&name);
    Ok(node_def(graph, op, name, &[original]))
}
