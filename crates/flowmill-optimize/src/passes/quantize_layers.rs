//! Computes layers between fake quantisations over integers.
//!
//! Before: `FakeQuantWithMinMaxVars(_FusedConv2D(x, w, b) {fused_ops=["BiasAdd","Relu6"]})`, where `x` is the result of another fake quantisation, and the
//! constants `w` are multiples of one number per channel, as fake quantisation leaves them.
//! After: `_FromBytes(_IntegerConv2D(bytes of x, integers of w, factors, biases))`. In the same way `DepthwiseConv2dNative` becomes
//! `_IntegerDepthwiseConv2d` and `MatMul` becomes `_IntegerMatMul`. A layer whose result is not rounded returns floats. A sum of two rounded tensors that is
//! rounded becomes `_AddBytes`. The bytes of a tensor are those that a layer in front has returned, also through max pools, reshapes, concatenations of one grid
//! and padding with zeros, or else those that `_ToBytes` makes. So no float is stored between layers.
//!
//! The sums over integers are exact, and the float path rounds each of them: before it is rounded to a grid, a result differs by the rounding of the float
//! path. The rounded result may then be a neighbouring value of the grid, if it lies that near the middle between two. NaN becomes the least value of the
//! grid. `FLOWMILL_INTEGERS=0` in the environment turns the pass off. Guards:
//! * `float32`, channels last, constant ranges, at most 256 values; weights and biases are constant;
//! * the layer has no functions but a bias and `Relu` or `Relu6`; nobody else sees what lies between it and its rounding;
//! * convolutions without groups, depthwise convolutions with a multiplier of 1, products without a transposed left side;
//! * no control edges; all on one device, which has the kernels;
//! * the layer is large enough ([`is_worthwhile`]), and its sums fit in 32 bits.
//!
//! `fold_batch_norm`, `fold_padding` and `fuse_epilogues` run earlier: a layer is one node then, and weights have their last values. `merge_duplicates` runs
//! later: the bytes of a tensor with several consumers are made once.

use super::fuse_epilogues::{self, OWN_PADDINGS};
use crate::linear::{Linear, fused_functions};
use crate::quantized_values::{ByteGrid, IntegerWeights, Rounding, integer_weights, is_max_pool, pads_with_zeros, rounding};
use crate::rewrite::{
    add_constant, computes, constant_input, has_no_control_inputs, is_channels_last, is_of_type, is_plain, node_def, replace, sole_consumer,
};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Moves, Node, NodeId, OutputId};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::LazyLock;

/// The op that bytes become floats by.
const FROM_BYTES: &str = "_FromBytes";
/// The most products of a sum: their sum fits in 32 bits.
const MAX_PRODUCTS: usize = 1 << 14;
/// The fewest weights of a product, or convolution of one position, that is computed over integers. On AVX2, 16 to 32 channels take 0.78 of the time of floats.
const MIN_WEIGHTS: usize = 512;
/// The fewest weights of a convolution of several positions, whose patches are copied.
const MIN_WEIGHTS_OF_PATCHES: usize = 2048;
/// The most nodes that are looked at between a layer and the roundings of its input.
const MAX_VISITS: usize = 64;

/// False if `FLOWMILL_INTEGERS=0` is set in the environment.
static IS_ALLOWED: LazyLock<bool> = LazyLock::new(|| std::env::var("FLOWMILL_INTEGERS").map_or(true, |value| value != "0"));

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    // The kernels of all ops that the pass makes are one family.
    if !*IS_ALLOWED || !target.supports("_IntegerConv2D", DType::U8) {
        return Ok(0);
    }
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(node) = graph.get(id) else { continue };
        let replaced = if let Some(layer) = find_layer(graph, node, shapes) {
            rewrite_layer(graph, &layer)?
        } else if let Some(sum) = find_sum(graph, node, shapes) {
            rewrite_sum(graph, &sum)?
        } else {
            continue;
        };
        shapes.set_same(replaced.new.output(0), replaced.old.output(0));
        count += 1;
    }
    Ok(count)
}

/// A node that took the place of another one.
struct Replaced {
    old: NodeId,
    new: NodeId,
}

/// A tensor that consists of bytes, or can be made of bytes.
struct Bytes {
    zero: u8,
    scale: f32,
    source: Source,
}

enum Source {
    /// The bytes are there.
    There(OutputId),
    /// The bytes are those of a tensor that this op rounds.
    Rounded(OutputId, Rounding),
    /// The bytes are moved or compared by this node.
    Through(NodeId, Vec<Bytes>),
}

/// Returns the bytes that mean the values of a tensor, unless they are behind more than `visits` nodes, which are counted down.
fn bytes_of(graph: &Graph, tensor: OutputId, device: &str, visits: &mut usize) -> Option<Bytes> {
    *visits = visits.checked_sub(1)?;
    let node = graph.get(tensor.node).filter(|node| tensor.slot == 0 && node.device() == device)?;
    if !has_no_control_inputs(graph, node.id()) {
        return None;
    }
    if node.is_op(FROM_BYTES) {
        let zero = u8::try_from(node.attrs().get::<i64>("zero").ok()?).ok()?;
        let scale = node.attrs().get("scale").ok()?;
        return Some(Bytes { zero, scale, source: Source::There(graph.input(node.id(), 0)?) });
    }
    if let Some(found) = rounding(graph, node) {
        // An op that rounds in its own way makes the floats that bytes are made of.
        let of = if found.divides.is_some() { graph.input(node.id(), 0)? } else { tensor };
        return Some(Bytes { zero: found.grid.zero, scale: found.grid.scale, source: Source::Rounded(of, found) });
    }
    if !is_of_type(node, DType::F32) {
        return None;
    }
    let inputs =
        if is_max_pool(node) || node.traits().moves == Moves::InOrder && !node.traits().checks_input || pads_with_zeros(graph, node) {
            1
        } else if node.is_op("ConcatV2") {
            node.num_inputs().checked_sub(1)?
        } else {
            return None;
        };
    let parts: Vec<Bytes> = (0..inputs).map(|i| bytes_of(graph, graph.input(node.id(), i)?, device, visits)).collect::<Option<_>>()?;
    let first = parts.first()?;
    let (zero, scale) = (first.zero, first.scale);
    parts.iter().all(|part| (part.zero, part.scale) == (zero, scale)).then_some(Bytes {
        zero,
        scale,
        source: Source::Through(node.id(), parts),
    })
}

/// A layer that can be computed over integers.
struct Layer {
    op: Linear,
    /// The layer, an activation behind it, and the rounding of the result.
    nodes: Vec<NodeId>,
    input: Bytes,
    weights: IntegerWeights,
    /// The shape of the weights.
    filter: Shape,
    bias: Option<Tensor>,
    activation: Option<ElementwiseFunction>,
    /// The values to which the result is rounded.
    result: Option<ByteGrid>,
}

impl Layer {
    /// Returns the factor and the addend of each channel's sums. Those of bytes count in steps of the result's grid, and round to the nearest.
    fn rescaling(&self) -> Result<(Vec<f32>, Vec<f32>)> {
        let inverse = self.result.map_or(1.0, |grid| grid.inverse);
        let shift = self.result.map_or(0.0, |grid| f32::from(grid.zero) + 0.5);
        let factor =
            self.weights.scales.iter().map(|&s| (f64::from(s) * f64::from(self.input.scale) * f64::from(inverse)) as f32).collect();
        let bias = match &self.bias {
            Some(bias) => bias.as_slice::<f32>()?.iter().map(|&b| (f64::from(b) * f64::from(inverse) + f64::from(shift)) as f32).collect(),
            None => vec![shift; self.weights.scales.len()],
        };
        Ok((factor, bias))
    }
}

fn find_layer(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Layer> {
    let ops = [Linear::Conv2D, Linear::DepthwiseConv2d, Linear::MatMul];
    let op = ops.into_iter().find(|&op| Linear::of(node) == Some(op) || node.is_op(fuse_epilogues::fused_op(op)))?;
    let device = node.device();
    if !is_plain(graph, node, device) || !is_channels_last(node) || node.attrs().get_or("transpose_a", false).ok()? {
        return None;
    }
    let (has_bias, mut activation) = match fused_functions(node)?[..] {
        [] => (false, None),
        [ElementwiseFunction::BiasAdd] => (true, None),
        [ElementwiseFunction::BiasAdd, function] if is_limit(function) => (true, Some(function)),
        [function] if is_limit(function) => (false, Some(function)),
        _ => return None,
    };
    let mut visits = MAX_VISITS;
    let input = bytes_of(graph, graph.input(node.id(), 0)?, device, &mut visits)?;
    let weights = constant_input(graph, node.id(), 1).filter(|c| c.controls.is_empty())?.value;
    let depth = weights.shape().dims().get(2).copied();
    let (weights, products, channels) = dense_weights(op, node, weights)?;
    let depth = depth.unwrap_or(products);
    // A filter of less depth than the image has makes groups.
    let image = shapes.of(graph).shape(graph.input(node.id(), 0)?);
    if op == Linear::Conv2D && image.dims()?.last() != Some(&i64::try_from(depth).ok()?) {
        return None;
    }
    let mut nodes = vec![node.id()];
    let mut last = node;
    if activation.is_none()
        && let Some(next) = next(graph, last)
        && next.num_inputs() == 1
        && let Some(function) = next.traits().elementwise.filter(|&function| is_limit(function))
        && computes(graph, next, function, device)
    {
        activation = Some(function);
        nodes.push(next.id());
        last = next;
    }
    let mut result = None;
    if let Some(next) = next(graph, last)
        && has_no_control_inputs(graph, next.id())
        && graph.input(next.id(), 0) == Some(last.id().output(0))
        && let Some(found) = rounding(graph, next)
    {
        nodes.push(next.id());
        result = Some(found.grid);
    }
    if !is_worthwhile(op, node, products, depth, channels, result.is_some()) {
        return None;
    }
    let bias = match has_bias {
        true => Some(constant_input(graph, node.id(), 2).filter(|c| c.controls.is_empty() && c.value.num_elements() == channels)?.value),
        false => None,
    };
    let filter = weights.shape().clone();
    let weights = integer_weights(&weights, channels)?;
    let layer = Layer { op, nodes, input, weights, filter, bias, activation, result };
    let (factor, bias) = layer.rescaling().ok()?;
    factor.iter().chain(&bias).all(|x| x.is_finite()).then_some(layer)
}

/// Returns true if a function limits its argument, and rounding keeps the order.
fn is_limit(function: ElementwiseFunction) -> bool {
    matches!(function, ElementwiseFunction::Relu | ElementwiseFunction::Relu6)
}

/// Returns true if a layer is large enough for integers. What a layer does besides its sums takes more time than the sums of few products, or for few channels.
/// Floats have Winograd's method for windows of several positions with a stride of one, which multiplies less than half as often.
fn is_worthwhile(op: Linear, node: &Node, products: usize, depth: usize, channels: usize, returns_bytes: bool) -> bool {
    let fits = products <= MAX_PRODUCTS;
    let least = if op == Linear::Conv2D && products > depth { MIN_WEIGHTS_OF_PATCHES } else { MIN_WEIGHTS };
    let are_ones = |attr: &str| node.attrs().list::<i64>(attr).unwrap_or_default().iter().all(|&step| step == 1);
    fits && match op {
        Linear::DepthwiseConv2d => channels.is_multiple_of(16) && returns_bytes,
        Linear::Conv2D if products > depth && are_ones("strides") && are_ones("dilations") => false,
        _ => channels >= 16 && products.saturating_mul(channels) >= least && (returns_bytes || depth >= 64),
    }
}

/// Returns the weights with channels last, the number of products of a sum, and the number of channels.
fn dense_weights(op: Linear, node: &Node, weights: Tensor) -> Option<(Tensor, usize, usize)> {
    match (op, weights.shape().dims()) {
        (Linear::Conv2D, &[height, width, depth, channels]) => {
            let products = height.checked_mul(width)?.checked_mul(depth)?;
            Some((weights, products, channels))
        }
        (Linear::DepthwiseConv2d, &[height, width, channels, 1]) => {
            let products = height.checked_mul(width)?;
            Some((weights, products, channels))
        }
        (Linear::MatMul, &[rows, columns]) if node.attrs().get_or("transpose_b", false).ok()? => {
            let old = weights.as_slice::<f32>().ok()?;
            let new: Vec<f32> = (0..old.len()).map(|i| old[i % rows * columns + i / rows]).collect();
            Some((Tensor::from_slice([columns, rows], &new).ok()?, columns, rows))
        }
        (Linear::MatMul, &[rows, columns]) => Some((weights, rows, columns)),
        _ => None,
    }
}

/// Returns the one consumer of a node, on the same device.
fn next<'a>(graph: &'a Graph, node: &Node) -> Option<&'a Node> {
    let edge = sole_consumer(graph, node.id())?;
    graph.get(edge.dst).filter(|next| next.device() == node.device())
}

/// Returns the least and the greatest byte of a result that `activation` limits before it is rounded.
fn limits_of_bytes(grid: &ByteGrid, activation: Option<ElementwiseFunction>) -> (f32, f32) {
    let (zero, greatest) = (f32::from(grid.zero), f32::from(grid.greatest));
    match activation {
        Some(ElementwiseFunction::Relu6) => (zero, (6.0 * grid.inverse + zero + 0.5).floor().min(greatest)),
        Some(_) => (zero, greatest),
        None => (0.0, greatest),
    }
}

/// Returns the least and the greatest float of a result that `activation` limits.
fn limits_of_floats(activation: Option<ElementwiseFunction>) -> (f32, f32) {
    match activation {
        Some(ElementwiseFunction::Relu6) => (0.0, 6.0),
        Some(_) => (0.0, f32::INFINITY),
        None => (f32::NEG_INFINITY, f32::INFINITY),
    }
}

fn rewrite_layer(graph: &mut Graph, layer: &Layer) -> Result<Replaced> {
    let (Some(&first), Some(&last)) = (layer.nodes.first(), layer.nodes.last()) else {
        flowmill_tensor::bail!(Internal, "a layer without nodes")
    };
    let op = match layer.op {
        Linear::DepthwiseConv2d => "_IntegerDepthwiseConv2d",
        Linear::MatMul => "_IntegerMatMul",
        _ => "_IntegerConv2D",
    };
    let mut def = node_def(graph, op, String::new(), &layer.nodes);
    for name in ["strides", "padding", "explicit_paddings", "dilations"] {
        if let Some(value) = graph.node(first)?.attrs().attr(name).filter(|_| layer.op != Linear::MatMul) {
            def.attr.insert(name.to_owned(), value.clone());
        }
    }
    if graph.node(first)?.attrs().contains(OWN_PADDINGS) {
        def.attr.insert("padding".to_owned(), "EXPLICIT".into());
        def.attr.insert("explicit_paddings".to_owned(), graph.node(first)?.attrs().list::<i64>(OWN_PADDINGS)?.into());
    }
    let (low, high) = match &layer.result {
        Some(grid) => limits_of_bytes(grid, layer.activation),
        None => limits_of_floats(layer.activation),
    };
    let (factor, bias) = layer.rescaling()?;
    set(&mut def, "T", dtype(if layer.result.is_some() { DType::U8 } else { DType::F32 }));
    set(&mut def, "zero", i64::from(layer.input.zero).into());
    set(&mut def, "low", low.into());
    set(&mut def, "high", high.into());
    let inputs = [
        make_bytes(graph, &layer.input, first)?,
        add_constant(graph, &Tensor::from_slice(layer.filter.clone(), &layer.weights.integers)?, &[], first)?,
        add_constant(graph, &Tensor::vector(&factor)?, &[], first)?,
        add_constant(graph, &Tensor::vector(&bias)?, &[], first)?,
    ];
    let new = match &layer.result {
        Some(grid) => {
            def.name = name_like(graph, last)?;
            let bytes = graph.add_node_with_inputs(def, &inputs, &[])?;
            replace_by_floats(graph, last, bytes.output(0), grid)?
        }
        None => replace(graph, last, def, &inputs, &[])?,
    };
    for &node in layer.nodes.iter().rev().skip(1) {
        graph.remove_node(node)?;
    }
    Ok(Replaced { old: last, new })
}

/// Replaces a node that rounds by the floats that bytes mean.
fn replace_by_floats(graph: &mut Graph, node: NodeId, bytes: OutputId, grid: &ByteGrid) -> Result<NodeId> {
    let mut def = node_def(graph, FROM_BYTES, String::new(), &[node]);
    set(&mut def, "scale", grid.scale.into());
    set(&mut def, "zero", i64::from(grid.zero).into());
    replace(graph, node, def, &[bytes], &[])
}

/// Returns a new name that begins with that of a node.
fn name_like(graph: &mut Graph, node: NodeId) -> Result<String> {
    let name = graph.node(node)?.name().to_owned();
    Ok(graph.new_name(&name))
}

fn set(def: &mut NodeDef, name: &str, value: flowmill_proto::AttrValue) {
    def.attr.insert(name.to_owned(), value);
}

fn dtype(dtype: DType) -> flowmill_proto::AttrValue {
    Value::Type(dtype.number()).into()
}

/// Adds the nodes that make the bytes of a tensor, for a node.
fn make_bytes(graph: &mut Graph, bytes: &Bytes, for_node: NodeId) -> Result<OutputId> {
    match &bytes.source {
        Source::There(tensor) => Ok(*tensor),
        Source::Rounded(tensor, Rounding { grid, divides }) => {
            let name = name_like(graph, for_node)?;
            let mut def = node_def(graph, "_ToBytes", name, &[for_node]);
            for (name, value) in [("min", grid.min), ("max", grid.max), ("scale", grid.scale), ("inverse", grid.inverse)] {
                set(&mut def, name, value.into());
            }
            set(&mut def, "zero", i64::from(grid.zero).into());
            set(&mut def, "divides", divides.unwrap_or(false).into());
            Ok(graph.add_node_with_inputs(def, &[*tensor], &[])?.output(0))
        }
        Source::Through(through, parts) => {
            let node = graph.node(*through)?;
            let (is_pad, old) = (pads_with_zeros(graph, node), node.id());
            let (op, attrs, prefix) = (if is_pad { "PadV2" } else { node.op() }.to_owned(), node.attrs().clone(), node.name().to_owned());
            let mut inputs = parts.iter().map(|part| make_bytes(graph, part, for_node)).collect::<Result<Vec<_>>>()?;
            inputs.extend(graph.inputs(old).skip(parts.len()).take(if is_pad { 1 } else { usize::MAX }));
            if is_pad {
                inputs.push(add_constant(graph, &Tensor::scalar(bytes.zero), &[], for_node)?);
            }
            let name = graph.new_name(&prefix);
            let mut def = node_def(graph, &op, name, &[old]);
            def.attr.extend(attrs.iter().map(|(name, value)| (name.to_owned(), value.clone())));
            set(&mut def, "T", dtype(DType::U8));
            Ok(graph.add_node_with_inputs(def, &inputs, &[])?.output(0))
        }
    }
}

/// A sum of two rounded tensors that is rounded.
struct Sum {
    /// The sum, an activation behind it, and the rounding.
    nodes: Vec<NodeId>,
    addends: [Bytes; 2],
    activation: Option<ElementwiseFunction>,
    result: ByteGrid,
}

fn find_sum(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Sum> {
    let device = node.device();
    if !computes(graph, node, ElementwiseFunction::Add, device) {
        return None;
    }
    let (a, b) = (graph.input(node.id(), 0)?, graph.input(node.id(), 1)?);
    let (mut nodes, mut activation, mut last) = (vec![node.id()], None, next(graph, node)?);
    if let Some(function) = last.traits().elementwise.filter(|&function| is_limit(function) && computes(graph, last, function, device)) {
        activation = Some(function);
        nodes.push(last.id());
        last = next(graph, last)?;
    }
    let reads_sum = graph.input(last.id(), 0).map(|input| input.node) == nodes.last().copied();
    let result = rounding(graph, last).filter(|_| reads_sum && has_no_control_inputs(graph, last.id()))?.grid;
    nodes.push(last.id());
    let mut visits = MAX_VISITS;
    let addends = [bytes_of(graph, a, device, &mut visits)?, bytes_of(graph, b, device, &mut visits)?];
    // Two tensors whose bytes would have to be made first are better added as floats.
    let is_there = addends.iter().any(|addend| matches!(addend.source, Source::There(_)));
    (is_there && shapes.of(graph).are_equal(a, b)).then_some(Sum { nodes, addends, activation, result })
}

fn rewrite_sum(graph: &mut Graph, sum: &Sum) -> Result<Replaced> {
    let Some((&last, others)) = sum.nodes.split_last() else { flowmill_tensor::bail!(Internal, "a sum without nodes") };
    let mut def = node_def(graph, "_AddBytes", String::new(), &sum.nodes);
    let (low, high) = limits_of_bytes(&sum.result, sum.activation);
    let factors = sum.addends.each_ref().map(|addend| (f64::from(addend.scale) * f64::from(sum.result.inverse)) as f32);
    set(&mut def, "zeros", sum.addends.each_ref().map(|addend| i64::from(addend.zero)).to_vec().into());
    set(&mut def, "factors", factors.to_vec().into());
    set(&mut def, "bias", (f32::from(sum.result.zero) + 0.5).into());
    set(&mut def, "low", low.into());
    set(&mut def, "high", high.into());
    let inputs = [make_bytes(graph, &sum.addends[0], last)?, make_bytes(graph, &sum.addends[1], last)?];
    def.name = name_like(graph, last)?;
    let bytes = graph.add_node_with_inputs(def, &inputs, &[])?;
    let new = replace_by_floats(graph, last, bytes.output(0), &sum.result)?;
    for &node in others.iter().rev() {
        graph.remove_node(node)?;
    }
    Ok(Replaced { old: last, new })
}
