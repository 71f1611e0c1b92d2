//! Joins convolutions of groups of channels, which are written as a split, a convolution for each part, and a join.
//!
//! Before: `ConcatV2(Conv2D(s:0, v), Conv2D(s:1, w), axis=3)` with `s = Split(x, axis=3)`. After: `Conv2D(x, ConcatV2(v, w, axis=3))`, a convolution of two
//! groups: its filter has half as many input channels as `x`. The parts may also be cut by `SplitV` or by slices. If all filters are constant, so is the new one.
//!
//! Sound because a convolution in groups computes each group of output channels from its own group of input channels. Guards:
//! * the parts have equal sizes, are all of the channels, and are in order; the join is along the channels;
//! * axes, sizes and ranges are constants that wait for no node; the filters stay if they wait for nodes;
//! * the convolutions differ in nothing but their filters, whose sizes are known and equal, and have no other consumer and no control input;
//! * the groups are small, or are not computed by Winograd's method, which does less work and takes one group alone;
//! * `float32`, channels last, one device; the graph has no loops, because a constant would have to wait for a node of the loop.
//!
//! `channels_last` runs earlier. `fold_batch_norm` and `fuse_epilogues` run later: one bias follows the convolution instead of one for each group.

use crate::images::{RANK, dimension};
use crate::linear::{Linear, static_filter};
use crate::rewrite::{
    add_constant, constant, constant_input, has_no_control_inputs, integers, is_plain, node_def, replace_chain, sole_consumer,
};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Tensor};

/// The attributes in which the convolutions agree.
const ATTRS: [&str; 4] = ["strides", "padding", "explicit_paddings", "dilations"];

/// The most channels of a group that kernels compute in place, without patches, whatever the window.
const SMALL_GROUP: i64 = 16;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    if graph.op_nodes().any(Node::is_enter) {
        return Ok(0);
    }
    let mut count = 0;
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(groups) = graph.get(id).and_then(|node| find(graph, node, shapes)) else { continue };
        let convolution = groups.join(graph, id)?;
        shapes.set_same(convolution.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

/// Convolutions of all groups of the channels of an image.
struct Groups {
    image: OutputId,
    convolutions: Vec<NodeId>,
    /// The filters, each of these sizes.
    filters: Vec<OutputId>,
    sizes: [i64; 4],
}

/// Returns the convolutions that a node joins.
fn find(graph: &Graph, join: &Node, shapes: &Shapes) -> Option<Groups> {
    let count = join.num_inputs().checked_sub(1).filter(|&count| join.is_op("ConcatV2") && count > 1)?;
    let first = graph.get(graph.input(join.id(), 0)?.node).filter(|node| Linear::of(node) == Some(Linear::Conv2D))?;
    let sizes @ [height, width, depth, outputs] = static_filter(graph, first, shapes)?;
    let is_along_channels = is_channel_axis(graph, join, count);
    let (image, 0) = part(graph, graph.input(first.id(), 0)?, shapes, depth)? else { return None };
    let dims = shapes.of(graph).shape(image);
    let is_all = dims.dims().and_then(<[i64]>::last).is_some_and(|&channels| depth.checked_mul(count as i64) == Some(channels));
    let strides: Vec<i64> = first.attrs().list("strides").ok()?;
    let is_in_tiles = (height, width) == (3, 3) && strides == [1; 4];
    let is_worthwhile = !is_in_tiles || depth.max(outputs) <= SMALL_GROUP;
    if !is_along_channels || !is_all || !is_worthwhile || outputs == 0 {
        return None;
    }
    let mut groups = Groups { image, convolutions: Vec::new(), filters: Vec::new(), sizes };
    for i in 0..count {
        let node = graph.get(graph.input(join.id(), i).filter(|output| output.slot == 0)?.node)?;
        let agrees = ATTRS.iter().all(|name| node.attrs().attr(name) == first.attrs().attr(name));
        let is_equal = Linear::of(node) == Some(Linear::Conv2D) && agrees && static_filter(graph, node, shapes) == Some(sizes);
        let is_own = is_plain(graph, node, join.device()) && sole_consumer(graph, node.id()).is_some();
        let is_part = part(graph, graph.input(node.id(), 0)?, shapes, depth) == Some((image, i));
        (is_equal && is_own && is_part).then_some(())?;
        groups.convolutions.push(node.id());
        groups.filters.push(graph.input(node.id(), 1)?);
    }
    Some(groups)
}

/// Returns the integers that input `i` of a node holds, if it is a constant that waits for no node.
fn constants(graph: &Graph, node: &Node, i: usize) -> Option<Vec<i64>> {
    let constant = constant_input(graph, node.id(), i).filter(|constant| constant.controls.is_empty())?;
    integers(&constant.value)
}

/// Returns true if input `i` of a node is the axis of the channels of an image.
fn is_channel_axis(graph: &Graph, node: &Node, i: usize) -> bool {
    matches!(constants(graph, node, i).as_deref(), Some(&[axis]) if dimension(axis) == Some(RANK - 1))
}

/// Returns the image of which `output` is a part of `size` channels, and which one.
fn part(graph: &Graph, output: OutputId, shapes: &Shapes, size: i64) -> Option<(OutputId, usize)> {
    let cut = graph.get(output.node).filter(|node| has_no_control_inputs(graph, node.id()))?;
    let (whole, first) = match cut.op() {
        "Split" => (1, size.checked_mul(output.slot.into()).filter(|_| is_channel_axis(graph, cut, 0))?),
        "SplitV" => {
            let sizes = constants(graph, cut, 1).filter(|sizes| is_channel_axis(graph, cut, 2) && sizes.iter().all(|&size| size >= 0))?;
            (0, sizes.get(..output.slot as usize)?.iter().sum())
        }
        "StridedSlice" => (0, first_channel_of_strided_slice(graph, cut)?),
        "Slice" => {
            let (begin, sizes) = (constants(graph, cut, 1)?, constants(graph, cut, 2)?);
            let (&first, others) = begin.split_last()?;
            (0, others.iter().zip(&sizes).all(|(&begin, &size)| (begin, size) == (0, -1)).then_some(first)?)
        }
        _ => return None,
    };
    let is_of_size = shapes.of(graph).shape(output).dims().and_then(<[i64]>::last) == Some(&size);
    let is_part = is_of_size && size > 0 && first >= 0 && first % size == 0;
    is_part.then_some((graph.input(cut.id(), whole)?, usize::try_from(first / size.max(1)).ok()?))
}

/// Returns the first channel that a slice of an image takes, if it takes neighbouring channels and all of each other dimension.
fn first_channel_of_strided_slice(graph: &Graph, slice: &Node) -> Option<i64> {
    let (begin, _, strides) = (constants(graph, slice, 1)?, constants(graph, slice, 2)?, constants(graph, slice, 3)?);
    let last = begin.len().checked_sub(1)?;
    let mask = |name: &str| slice.attrs().get_or(name, 0_i64).unwrap_or(-1);
    let (begins, ends, ellipsis) = (mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"));
    let is_masked = |mask: i64, dim: usize| mask >> dim & 1 == 1;
    let stays = |dim: usize| is_masked(ellipsis, dim) || ((begin[dim] == 0 || is_masked(begins, dim)) && is_masked(ends, dim));
    // Without an ellipsis, the last entry is that of the channels if there is one for each dimension.
    let ends_at_channels = ellipsis != 0 || begin.len() == RANK;
    let is_plain = mask("new_axis_mask") == 0 && mask("shrink_axis_mask") == 0 && strides.iter().all(|&stride| stride == 1);
    let others_stay = (0..last).all(stays) && !is_masked(ellipsis, last);
    let first = if is_masked(begins, last) { 0 } else { begin[last] };
    (is_plain && ends_at_channels && others_stay).then_some(first)
}

impl Groups {
    /// Replaces the convolutions and their join by one convolution, which it returns.
    fn join(&self, graph: &mut Graph, join: NodeId) -> Result<NodeId> {
        let filter = match self.constant_filter(graph) {
            Some(filter) => add_constant(graph, &filter, &[], join)?,
            None => {
                let axis = add_constant(graph, &Tensor::index_scalar(DType::I32, 3)?, &[], join)?;
                let prefix = graph.node(join)?.name().to_owned();
                let name = graph.new_name(&prefix);
                let mut def = node_def(graph, "ConcatV2", name, &[join]);
                let attrs = [
                    ("N", Value::I(self.filters.len() as i64)),
                    ("T", Value::Type(DType::F32.number())),
                    ("Tidx", Value::Type(DType::I32.number())),
                ];
                def.attr.extend(attrs.map(|(name, value)| (name.to_owned(), value.into())));
                let inputs: Vec<OutputId> = self.filters.iter().copied().chain([axis]).collect();
                graph.add_node_with_inputs(def, &inputs, &[])?.output(0)
            }
        };
        let nodes: Vec<NodeId> = self.convolutions.iter().copied().chain([join]).collect();
        let mut def = node_def(graph, "Conv2D", String::new(), &nodes);
        def.attr = graph.node(nodes[0])?.attrs().to_map();
        replace_chain(graph, &nodes, def, &[self.image, filter])
    }

    /// Returns the filters side by side if all are constants that wait for no node.
    fn constant_filter(&self, graph: &Graph) -> Option<Tensor> {
        let constants = self.filters.iter().map(|&filter| constant(graph, filter).filter(|constant| constant.controls.is_empty()));
        let filters: Vec<Tensor> = constants.map(|constant| Some(constant?.value)).collect::<Option<_>>()?;
        let filters: Vec<&[f32]> = filters.iter().map(|filter| filter.as_slice::<f32>().ok()).collect::<Option<_>>()?;
        let [height, width, depth, outputs] = self.sizes.map(|size| size as usize);
        let rows = 0..height * width * depth;
        let joined: Vec<f32> =
            rows.flat_map(|row| filters.iter().flat_map(move |filter| &filter[row * outputs..][..outputs])).copied().collect();
        Tensor::from_slice([height, width, depth, outputs * filters.len()], &joined).ok()
    }
}
