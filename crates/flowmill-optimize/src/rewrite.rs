//! Helpers that passes share for matching patterns and replacing nodes.

use crate::{PassContext, Shapes, Target};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Edge, ElementwiseFunction, Graph, Node, NodeId, OutputId, Role, has_effects};
use flowmill_proto::attr_value::Value;
use flowmill_proto::node_def::ExperimentalDebugInfo;
use flowmill_proto::{AttrValue, NodeDef, TensorProto};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};

/// The largest number of `Identity` nodes that are followed from a tensor to its constant.
const MAX_STEPS: usize = 16;

/// The value of a constant tensor.
#[derive(Clone)]
pub(crate) struct Constant {
    pub(crate) value: Tensor,
    /// The control inputs of the constant. In a loop's frame they start it in each iteration.
    pub(crate) controls: Vec<NodeId>,
}

/// Returns the message of the constant that a tensor is, through `Identity` nodes, and the control inputs of all nodes on the way.
fn constant_message(graph: &Graph, output: OutputId) -> Option<(&TensorProto, Vec<NodeId>)> {
    let mut node = graph.get(output.node)?;
    let mut controls = Vec::new();
    for _ in 0..MAX_STEPS {
        controls.extend(graph.control_inputs(node.id()));
        if node.is_op("Const") {
            return Some((node.attrs().get("value").ok()?, controls));
        }
        if !node.is_op("Identity") {
            return None;
        }
        node = graph.get(graph.input(node.id(), 0)?.node)?;
    }
    None
}

/// Returns the constant that a tensor is, through `Identity` nodes. Large values may be copied.
pub(crate) fn constant(graph: &Graph, output: OutputId) -> Option<Constant> {
    let (message, controls) = constant_message(graph, output)?;
    Some(Constant { value: Tensor::from_proto(message).ok()?, controls })
}

/// Returns the shape of a constant tensor without decoding its value.
pub(crate) fn constant_shape(graph: &Graph, output: OutputId) -> Option<Shape> {
    let (message, _) = constant_message(graph, output)?;
    message.tensor_shape.as_ref().map_or_else(|| Some(Shape::scalar()), |shape| Shape::from_proto(shape).ok())
}

/// Returns the constant at data input `i` of a node.
pub(crate) fn constant_input(graph: &Graph, node: NodeId, i: usize) -> Option<Constant> {
    constant(graph, graph.input(node, i)?)
}

/// Returns the values of a vector or matrix of integers.
pub(crate) fn integers(value: &Tensor) -> Option<Vec<i64>> {
    match value.dtype() {
        DType::I32 => Some(value.as_slice::<i32>().ok()?.iter().map(|&v| i64::from(v)).collect()),
        DType::I64 => Some(value.as_slice::<i64>().ok()?.to_vec()),
        _ => None,
    }
}

/// Returns true if the axis that input `i` of `node` holds is the last one of the tensor `of`.
pub(crate) fn is_last_axis(graph: &Graph, shapes: &Shapes, node: NodeId, i: usize, of: OutputId) -> bool {
    let axis = constant_input(graph, node, i).filter(|c| c.value.num_elements() == 1).and_then(|c| integers(&c.value)?.first().copied());
    axis.is_some_and(|axis| axis == -1 || shapes.of(graph).rank(of).is_some_and(|rank| axis == rank as i64 - 1))
}

/// Returns for each node id whether the node depends on one with effects or on control flow. Arguments have no effects.
///
/// All other nodes run once in each step, and nothing happens if they do not.
pub(crate) fn follows_effects(graph: &Graph, order: &[NodeId]) -> Vec<bool> {
    let mut follows = vec![false; graph.num_node_ids()];
    for node in order.iter().filter_map(|&id| graph.get(id)) {
        let acts = node.is_control_flow() || node.role() != Role::Arg && has_effects(graph, node);
        follows[node.id().index()] = acts || graph.in_edges(node.id()).any(|e| follows[e.src.index()]);
    }
    follows
}

/// Returns the only edge out of a node, if it carries output 0. Only the consumer at its end then observes the node.
pub(crate) fn sole_consumer(graph: &Graph, node: NodeId) -> Option<Edge> {
    let mut edges = graph.out_edges(node);
    edges.next().filter(|e| e.src_output == 0 && edges.next().is_none())
}

/// Returns true if a node has no control inputs.
pub(crate) fn has_no_control_inputs(graph: &Graph, node: NodeId) -> bool {
    graph.control_inputs(node).next().is_none()
}

/// Returns true if a node works on `float32`, is on `device`, and has no control inputs.
pub(crate) fn is_plain(graph: &Graph, node: &Node, device: &str) -> bool {
    is_of_type(node, DType::F32) && node.device() == device && has_no_control_inputs(graph, node.id())
}

/// Returns true if a node is [plain](is_plain) and computes `function`, by an op of any version.
pub(crate) fn computes(graph: &Graph, node: &Node, function: ElementwiseFunction, device: &str) -> bool {
    node.traits().elementwise == Some(function) && is_plain(graph, node, device)
}

/// Returns the factors, at most three, of a product of products. Inner products have no other consumer.
pub(crate) fn factors(graph: &Graph, last: &Node, device: &str) -> Option<Vec<OutputId>> {
    fn flatten(graph: &Graph, node: &Node, device: &str, factors: &mut Vec<OutputId>) -> Option<()> {
        if !computes(graph, node, ElementwiseFunction::Mul, device) {
            return None;
        }
        for i in 0..2 {
            let input = graph.input(node.id(), i)?;
            let inner = graph.get(input.node)?;
            let is_inner = computes(graph, inner, ElementwiseFunction::Mul, device) && sole_consumer(graph, inner.id()).is_some();
            if is_inner && factors.len() < 3 {
                flatten(graph, inner, device, factors)?;
            } else {
                factors.push(input);
            }
        }
        (factors.len() <= 3).then_some(())
    }
    let mut found = Vec::new();
    flatten(graph, last, device, &mut found)?;
    Some(found)
}

/// Returns a string attribute, or `""` if it is missing.
pub(crate) fn text<'a>(node: &'a Node, attr: &str) -> &'a str {
    node.attrs().get_or(attr, "").unwrap_or("")
}

/// Returns true if the node's attribute `T` is `dtype`.
pub(crate) fn is_of_type(node: &Node, dtype: DType) -> bool {
    node.attrs().get::<DType>("T").is_ok_and(|t| t == dtype)
}

/// Returns true if a node's channels, if it has any, are its last dimension.
pub(crate) fn is_channels_last(node: &Node) -> bool {
    !node.attrs().contains("data_format") || matches!(text(node, "data_format"), "NHWC" | "NDHWC")
}

/// Returns the definition of a node that replaces `originals`, on the device of the last of them.
pub(crate) fn node_def(graph: &Graph, op: &str, name: String, originals: &[NodeId]) -> NodeDef {
    let mut names: Vec<String> = Vec::new();
    for node in originals.iter().filter_map(|&id| graph.get(id)) {
        match node.original_names() {
            [] => names.push(node.name().to_owned()),
            earlier => names.extend_from_slice(earlier),
        }
    }
    let device = originals.last().and_then(|&id| graph.get(id)).map_or("", Node::device).to_owned();
    let debug_info = ExperimentalDebugInfo { original_node_names: names, ..Default::default() };
    NodeDef { name, op: op.to_owned(), device, experimental_debug_info: Some(debug_info), ..Default::default() }
}

/// Adds a constant for a node, on the node's device and with a name derived from the node's.
pub(crate) fn add_constant(graph: &mut Graph, value: &Tensor, controls: &[NodeId], for_node: NodeId) -> Result<OutputId> {
    let prefix = graph.node(for_node)?.name().to_owned();
    let name = graph.new_name(&prefix);
    let mut def = node_def(graph, "Const", name, &[for_node]);
    def.attr = constant_attrs(value)?;
    Ok(graph.add_node_with_inputs(def, &[], controls)?.output(0))
}

/// Returns the attributes of a `Const` with this value.
pub(crate) fn constant_attrs(value: &Tensor) -> Result<std::collections::BTreeMap<String, AttrValue>> {
    let dtype = Value::Type(value.dtype().number()).into();
    Ok([("dtype".to_owned(), dtype), ("value".to_owned(), value.to_proto()?.into())].into())
}

/// Replaces `old` by a new node, which takes over its name. Each output of the new node replaces the output of `old` with the same index.
pub(crate) fn replace(graph: &mut Graph, old: NodeId, mut def: NodeDef, inputs: &[OutputId], controls: &[NodeId]) -> Result<NodeId> {
    let (name, free) = (graph.node(old)?.name().to_owned(), graph.new_name("replaced"));
    graph.rename_node(old, &free)?;
    def.name = name;
    let new = graph.add_node_with_inputs(def, inputs, controls)?;
    for edge in graph.out_edges(old).collect::<Vec<_>>() {
        match edge.source() {
            Some(source) => graph.update_edge(new.output(source.slot), edge.dst, edge.dst_input as usize).map(|_| ())?,
            None => graph.add_control_edge(new, edge.dst).map(|_| ())?,
        }
    }
    graph.remove_node(old)?;
    Ok(new)
}

/// Replaces nodes that lead to the last of them by a new node, which takes over the last one's name and the control inputs of all.
pub(crate) fn replace_chain(graph: &mut Graph, nodes: &[NodeId], def: NodeDef, inputs: &[OutputId]) -> Result<NodeId> {
    let Some((&last, others)) = nodes.split_last() else { bail!(Internal, "a fusion without nodes") };
    let mut controls: Vec<NodeId> = nodes.iter().flat_map(|&node| graph.control_inputs(node)).collect();
    controls.sort_unstable();
    controls.dedup();
    let new = replace(graph, last, def, inputs, &controls)?;
    for &node in others {
        graph.remove_node(node)?;
    }
    Ok(new)
}

/// Runs a pass that fuses nodes: `find` is called for each node, producers first, and returns what to fuse there and the node whose result that is; `rewrite`
/// returns the fused node. Returns the number of fusions.
pub(crate) fn fuse_each<F>(
    graph: &mut Graph,
    PassContext { target, shapes, limit }: PassContext<'_>,
    find: impl Fn(&Graph, &Node, &Shapes, &dyn Target) -> Option<(F, NodeId)>,
    rewrite: impl Fn(&mut Graph, &F) -> Result<NodeId>,
) -> Result<usize> {
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some((found, last)) = graph.get(id).and_then(|node| find(graph, node, shapes, target)) else { continue };
        let fused = rewrite(graph, &found)?;
        shapes.set_same(fused.output(0), last.output(0));
        count += 1;
    }
    Ok(count)
}

/// Removes a node. Consumers of its output 0 take `source` instead, and nodes that waited for it wait for the producer of `source`.
pub(crate) fn bypass(graph: &mut Graph, node: NodeId, source: OutputId) -> Result<()> {
    for edge in graph.out_edges(node).collect::<Vec<_>>() {
        if edge.is_control() {
            graph.add_control_edge(source.node, edge.dst)?;
        } else {
            graph.update_edge(source, edge.dst, edge.dst_input as usize)?;
        }
    }
    graph.remove_node(node)
}
