//! Fuses a depthwise convolution with the convolutions of one position in front of it and behind it.
//!
//! Before: `_FusedConv2D(DepthwiseConv2dNative(_FusedConv2D(x, w1, b1), w2), w3, b3)`, where `w1` and `w3` have windows of one position. After:
//! `_FusedSeparableConv2D(x, w2, w1, b1, w3, b3)`. Mobile networks consist of such blocks, whose inner tensors have several times the channels of the
//! outer ones.
//!
//! Sound because the fused kernel computes the same, only without storing what lies between. Guards:
//! * `float32`, channels last, functions that the target's kernel of the fused op has;
//! * filters whose static shapes say that they have one position, that no channels are grouped and that outputs are not so few that dot products are faster;
//!   strides of one;
//! * only the last convolution adds a residual;
//! * filters of few elements; without a convolution in front, few output channels of the one behind: the arithmetic of more takes longer than storing what
//!   lies between;
//! * a convolution of one position between two depthwise ones goes with the second, whose input is as large as or larger than the first one's output;
//! * intermediate tensors have no other consumers, and no control edge leads out of the nodes between; the fused node takes over all control inputs;
//! * all on one device.
//!
//! `fuse_epilogues` runs earlier: convolutions have taken what follows them.

use super::fuse_epilogues::OWN_PADDINGS;
use crate::linear::{fused_functions, pointwise_channels, static_filter};
use crate::rewrite::{fuse_each, is_channels_last, is_of_type, node_def, replace_chain, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_tensor::{DType, Result};

const FUSED: &str = "_FusedSeparableConv2D";
/// The most elements of the filter of a convolution of one position. Larger ones would be read from far caches for each block of rows.
const MAX_WEIGHTS: i64 = 1 << 16;
/// The most output channels behind a depthwise convolution that has no convolution in front of it.
const MAX_PROJECTED: i64 = 64;

pub(crate) fn run(graph: &mut Graph, context: PassContext<'_>) -> Result<usize> {
    let find = |graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target| {
        let found = find(graph, node, shapes, target)?;
        let last = found.nodes.last().copied().unwrap_or(node.id());
        Some((found, last))
    };
    fuse_each(graph, context, find, rewrite)
}

/// One of the convolutions.
struct Convolution {
    functions: Vec<ElementwiseFunction>,
    /// The filter, and what its functions take.
    inputs: Vec<OutputId>,
    /// The slope of `LeakyRelu`, if that is one of its functions.
    slope: Option<f32>,
}

struct Found {
    image: OutputId,
    expansion: Option<Convolution>,
    depthwise: Convolution,
    projection: Option<Convolution>,
    /// The convolutions, in order.
    nodes: Vec<NodeId>,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    if !is_depthwise(node) || static_filter(graph, node, shapes)?.contains(&0) {
        return None;
    }
    let depthwise = convolution(graph, node, target)?;
    let image = graph.input(node.id(), 0)?;
    let mut found = Found { image, expansion: None, depthwise, projection: None, nodes: vec![node.id()] };
    if let Some(before) = graph.get(image.node)
        && before.device() == node.device()
        && sole_consumer(graph, before.id()).is_some_and(|edge| edge.dst_input == 0)
        && let Some(pointwise) = pointwise(graph, before, shapes, target)
        && !pointwise.functions.contains(&ElementwiseFunction::Add)
    {
        found.image = graph.input(before.id(), 0)?;
        found.expansion = Some(pointwise);
        found.nodes.insert(0, before.id());
    }
    if let Some(edge) = sole_consumer(graph, node.id())
        && edge.dst_input == 0
        && let Some(after) = graph.get(edge.dst)
        && after.device() == node.device()
        && let Some(pointwise) = pointwise(graph, after, shapes, target)
        && (found.expansion.is_some() || static_filter(graph, after, shapes)?[3] <= MAX_PROJECTED)
        && !expands_another(graph, after)
    {
        found.projection = Some(pointwise);
        found.nodes.push(after.id());
    }
    // There is one attribute for the slopes of all three.
    let slope = found.slope();
    let is_one_slope = found.convolutions().filter_map(|convolution| convolution.slope).all(|other| Some(other) == slope);
    (found.nodes.len() > 1 && is_one_slope).then_some(found)
}

impl Found {
    fn convolutions(&self) -> impl Iterator<Item = &Convolution> {
        self.expansion.iter().chain([&self.depthwise]).chain(&self.projection)
    }

    fn slope(&self) -> Option<f32> {
        self.convolutions().find_map(|convolution| convolution.slope)
    }
}

/// Returns true if a convolution of one position is in front of a depthwise one.
fn expands_another(graph: &Graph, node: &Node) -> bool {
    let consumer = sole_consumer(graph, node.id()).filter(|edge| edge.dst_input == 0).and_then(|edge| graph.get(edge.dst));
    consumer.is_some_and(is_depthwise)
}

fn is_depthwise(node: &Node) -> bool {
    node.is_op("DepthwiseConv2dNative") || node.is_op("_FusedDepthwiseConv2dNative")
}

/// Returns the filter of a convolution and what follows it; `None` if the fused kernel does not compute it.
fn convolution(graph: &Graph, node: &Node, target: &dyn Target) -> Option<Convolution> {
    let functions = fused_functions(node)?;
    // A target without the kernel fuses no function.
    let mut needed = functions.iter().chain(&[ElementwiseFunction::BiasAdd]);
    let is_fusable = is_of_type(node, DType::F32) && is_channels_last(node) && needed.all(|&f| target.fuses(FUSED, f, DType::F32));
    let slope = functions.contains(&ElementwiseFunction::LeakyRelu).then(|| node.attrs().get("leakyrelu_alpha").unwrap_or(0.2));
    is_fusable.then(|| Convolution { functions, inputs: graph.inputs(node.id()).skip(1).collect(), slope })
}

/// Returns a convolution of one position whose filter is small.
fn pointwise(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Convolution> {
    let (inputs, outputs) = pointwise_channels(graph, node, shapes)?;
    convolution(graph, node, target).filter(|_| inputs.saturating_mul(outputs) <= MAX_WEIGHTS)
}

fn rewrite(graph: &mut Graph, found: &Found) -> Result<NodeId> {
    let Some(depthwise) = found.nodes.get(usize::from(found.expansion.is_some())) else {
        flowmill_tensor::bail!(Internal, "a fusion without a depthwise convolution");
    };
    let mut def = node_def(graph, FUSED, String::new(), &found.nodes);
    let node = graph.node(*depthwise)?;
    for name in ["T", "strides", "padding", "explicit_paddings", "dilations"] {
        if let Some(value) = node.attrs().attr(name) {
            def.attr.insert(name.to_owned(), value.clone());
        }
    }
    // The depthwise convolution alone has an attribute of the project for its paddings.
    if node.attrs().contains(OWN_PADDINGS) {
        def.attr.insert("padding".to_owned(), "EXPLICIT".into());
        def.attr.insert("explicit_paddings".to_owned(), node.attrs().list::<i64>(OWN_PADDINGS)?.into());
    }
    let Some((filter, args)) = found.depthwise.inputs.split_first() else {
        flowmill_tensor::bail!(Internal, "a convolution without a filter");
    };
    let inputs_of = |convolution: &Option<Convolution>| convolution.as_ref().map_or(Vec::new(), |convolution| convolution.inputs.clone());
    let (expansion, projection) = (inputs_of(&found.expansion), inputs_of(&found.projection));
    for (name, inputs) in [("num_expansion", &expansion[..]), ("num_args", args), ("num_projection", &projection)] {
        def.attr.insert(name.to_owned(), (inputs.len() as i64).into());
    }
    let lists =
        [("expansion_ops", found.expansion.as_ref()), ("fused_ops", Some(&found.depthwise)), ("projection_ops", found.projection.as_ref())];
    for (name, convolution) in lists {
        if let Some(convolution) = convolution.filter(|convolution| !convolution.functions.is_empty()) {
            def.attr.insert(name.to_owned(), ElementwiseFunction::attr_of(&convolution.functions));
        }
    }
    if let Some(slope) = found.slope() {
        def.attr.insert("leakyrelu_alpha".to_owned(), slope.into());
    }
    let inputs: Vec<OutputId> = [found.image, *filter].into_iter().chain(expansion).chain(args.iter().copied()).chain(projection).collect();
    replace_chain(graph, &found.nodes, def, &inputs)
}
