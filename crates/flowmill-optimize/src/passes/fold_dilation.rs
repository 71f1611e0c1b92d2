//! Makes one dilated convolution of a convolution between `SpaceToBatchND` and `BatchToSpaceND`.
//!
//! Before: `BatchToSpaceND(Conv2D(SpaceToBatchND(x, d, pads), w) {padding="VALID"}, d, crops)`.
//! After: `Conv2D(x, w) {dilations=d, padding="EXPLICIT", explicit_paddings=pads - crops}`. `DepthwiseConv2dNative` and the older ops `SpaceToBatch` and
//! `BatchToSpace` are rewritten likewise. For a convolution of one dimension an `ExpandDims` may follow the first op, and a `Squeeze` of the new
//! dimension may precede the last; these two stay. Between the convolution and the last op there may be functions of each pixel and of constants.
//!
//! Sound because image `p` of the batch that `SpaceToBatchND` makes holds the pixels `p`, `p + d`, `p + 2d`, … of a padded image, so that a kernel's
//! taps on it are `d` pixels apart in the image. The pixels of the results are put back in that order, and a crop of them is a smaller padding. Guards:
//! * block shapes, paddings and crops are constant; the block divides the padded image, whose size is known, because another image is an error;
//! * no padding is smaller than the crop of the same side; batch and channels are neither padded nor split;
//! * the convolution has no padding itself, and moves by one pixel;
//! * intermediate tensors have no other consumers, and no control edge orders the nodes; all are on one device.
//!
//! `fold_constants` runs earlier, because paddings are computed. `channels_last` runs later, because it would put transposes between the nodes.
//! `fold_padding` runs later: it adds an outer padding to the convolution's own.

use crate::images::{RANK, added_dimension, dimension, producer};
use crate::rewrite::{bypass, constant_input, constant_shape, has_no_control_inputs, integers, sole_consumer, text};
use crate::{PassContext, Shapes};
use flowmill_graph::{Attrs, Graph, Node, NodeId, OutputId};
use flowmill_tensor::Result;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, shapes)) else { continue };
        let Some(result) = graph.input(found.gather, 0) else { continue };
        graph.set_attrs(id, found.attrs)?;
        bypass(graph, found.scatter, found.image)?;
        bypass(graph, found.gather, result)?;
        count += 1;
    }
    if count > 0 {
        // The nodes between have other shapes than before.
        shapes.clear();
    }
    Ok(count)
}

struct Found {
    /// The image before it was split.
    image: OutputId,
    /// The `SpaceToBatchND`.
    scatter: NodeId,
    /// The `BatchToSpaceND`.
    gather: NodeId,
    /// The attributes of the dilated convolution.
    attrs: Attrs,
}

/// The nodes around the convolution `conv` that split and join its images.
fn find(graph: &Graph, conv: &Node, shapes: &Shapes) -> Option<Found> {
    if !(conv.is_op("Conv2D") || conv.is_op("DepthwiseConv2dNative")) {
        return None;
    }
    let channels = match text(conv, "data_format") {
        "" | "NHWC" => RANK - 1,
        "NCHW" => 1,
        _ => return None,
    };
    let (scatter, added) = scatter_before(graph, conv)?;
    let gather = gather_behind(graph, conv, added, channels)?;
    let (paddings, crops) = (Blocks::of(graph, scatter)?, Blocks::of(graph, gather)?);
    let image = graph.input(scatter.id(), 0)?;
    let sizes = shapes.of(graph).shape(image);
    let divides = |(i, (&block, &[before, after])): (usize, (&i64, &[i64; 2]))| {
        let size = sizes.dim(i + 1).and_then(|size| i64::try_from(size).ok());
        let padded = size.and_then(|size| size.checked_add(before)?.checked_add(after));
        (block == 1 && (before, after) == (0, 0)) || padded.is_some_and(|padded| padded % block == 0)
    };
    let is_whole = paddings.sizes.iter().zip(&paddings.margins).enumerate().all(divides);
    let attrs = dilated(conv, &paddings, &crops, added, channels).filter(|_| is_whole)?;
    Some(Found { image, scatter: scatter.id(), gather: gather.id(), attrs })
}

/// The constant operands of an op that moves pixels between images and the batch.
struct Blocks {
    /// The number of images that each dimension after the batch is split into.
    sizes: Vec<i64>,
    /// The pixels that are added or removed before and after each of these dimensions.
    margins: Vec<[i64; 2]>,
}

impl Blocks {
    /// Reads the operands of a node, of which the older ops have the block in an attribute.
    fn of(graph: &Graph, node: &Node) -> Option<Blocks> {
        let constants = |i: usize| integers(&constant_input(graph, node.id(), i).filter(|c| c.controls.is_empty())?.value);
        let (sizes, margins) = match node.num_inputs() {
            3 => (constants(1)?, constants(2)?),
            _ => (vec![node.attrs().get("block_size").ok()?; 2], constants(1)?),
        };
        let margins: Vec<[i64; 2]> = margins.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        let is_valid = sizes.len() == margins.len() && sizes.iter().all(|&s| s > 0) && margins.iter().flatten().all(|&m| m >= 0);
        (is_valid && has_no_control_inputs(graph, node.id())).then_some(Blocks { sizes, margins })
    }

    /// Returns the block and the margins of dimension `dim` of an image, into which a dimension `added` has been inserted.
    fn along(&self, dim: usize, added: Option<usize>) -> (i64, [i64; 2]) {
        let index = match added {
            Some(added) if dim == added => None,
            Some(added) if dim > added => dim.checked_sub(2),
            _ => dim.checked_sub(1),
        };
        let found = index.and_then(|i| Some((*self.sizes.get(i)?, *self.margins.get(i)?)));
        found.unwrap_or((1, [0, 0]))
    }
}

/// Returns the node that splits the image of a convolution, and the dimension that an `ExpandDims` inserts between the two.
fn scatter_before<'a>(graph: &'a Graph, conv: &Node) -> Option<(&'a Node, Option<usize>)> {
    let node = producer(graph, conv)?;
    let (node, added) = if node.is_op("ExpandDims") { (producer(graph, node)?, Some(added_dimension(graph, node)?)) } else { (node, None) };
    (node.is_op("SpaceToBatchND") || node.is_op("SpaceToBatch")).then_some((node, added))
}

/// Returns the node that joins the results of a convolution, before which a `Squeeze` removes the dimension `added`.
fn gather_behind<'a>(graph: &'a Graph, conv: &'a Node, added: Option<usize>, channels: usize) -> Option<&'a Node> {
    let (mut node, mut dims) = (conv, Dims { rank: RANK, channels });
    loop {
        let edge = sole_consumer(graph, node.id())?;
        node = graph.get(edge.dst).filter(|n| n.device() == conv.device())?;
        let is_last = node.is_op("BatchToSpaceND") || node.is_op("BatchToSpace");
        if is_last {
            return (edge.dst_input == 0 && (dims.rank == RANK) == added.is_none()).then_some(node);
        }
        if node.is_op("Squeeze") {
            let squeezed: Vec<i64> = node.attrs().list("squeeze_dims").ok()?;
            let is_inverse = squeezed.len() == 1 && added.is_some() && dimension(squeezed[0]) == added && dims.rank == RANK;
            dims = Dims { rank: RANK - 1, channels: if channels == 1 { 1 } else { channels - 1 } };
            is_inverse.then_some(())?;
        } else if !dims.has_pixels_of(graph, node, edge.dst_input) {
            return None;
        }
    }
}

/// The dimensions of a result of a convolution.
#[derive(Clone, Copy)]
struct Dims {
    rank: usize,
    /// The index of the channels.
    channels: usize,
}

impl Dims {
    /// Returns true if a node computes each pixel from the same pixel of input `of` alone.
    fn has_pixels_of(self, graph: &Graph, node: &Node, of: i32) -> bool {
        let is_pixel = |shape: &[usize]| {
            let first = self.rank.checked_sub(shape.len());
            first.is_some_and(|first| shape.iter().enumerate().all(|(i, &d)| d == 1 || first + i == self.channels))
        };
        let is_constant = |i: usize| graph.input(node.id(), i).and_then(|o| constant_shape(graph, o)).is_some_and(|s| is_pixel(s.dims()));
        let is_function = node.traits().elementwise.is_some() && (0..node.num_inputs()).all(|i| i as i32 == of || is_constant(i));
        let has_channels = (text(node, "data_format") == "NCHW") == (self.channels == 1);
        is_function || (node.is_op("BiasAdd") && of == 0 && has_channels)
    }
}

/// Returns the attributes of a convolution of images that are not split: it takes the blocks as dilations.
fn dilated(conv: &Node, paddings: &Blocks, crops: &Blocks, added: Option<usize>, channels: usize) -> Option<Attrs> {
    let strides: Vec<i64> = conv.attrs().list("strides").ok()?;
    if text(conv, "padding") != "VALID" || strides.iter().any(|&s| s != 1) || paddings.sizes != crops.sizes {
        return None;
    }
    let mut dilations: Vec<i64> = conv.attrs().list("dilations").unwrap_or(vec![1; RANK]);
    let mut explicit = Vec::with_capacity(2 * RANK);
    for (dim, dilation) in dilations.iter_mut().enumerate() {
        let (block, [before, after]) = paddings.along(dim, added);
        let (_, [cut_before, cut_after]) = crops.along(dim, added);
        let margins = [before - cut_before, after - cut_after];
        if margins.iter().any(|&m| m < 0) || (dim == channels && (block != 1 || (before, after) != (0, 0))) {
            return None;
        }
        *dilation = dilation.checked_mul(block)?;
        explicit.extend(margins);
    }
    let mut attrs = conv.attrs().clone();
    attrs.set("dilations", dilations);
    if explicit.iter().any(|&p| p != 0) {
        attrs.set("padding", "EXPLICIT");
        attrs.set("explicit_paddings", explicit);
    }
    Some(attrs)
}
