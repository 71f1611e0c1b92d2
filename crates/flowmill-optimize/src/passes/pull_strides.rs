//! Moves strides towards the input of the graph, so that positions of images that nobody reads are not computed.
//!
//! Before: `Conv2D(Relu(Conv2D(x, v) {strides=[1,1,1,1], padding="SAME"}), w) {strides=[1,2,2,1]}` with a `w` of one position. After:
//! `Conv2D(Relu(Conv2D(x, v) {strides=[1,2,2,1], padding="EXPLICIT"}), w) {strides=[1,1,1,1]}`, a quarter of the inner convolution's work. This is the
//! layout of downsampling blocks of residual networks: the convolutions of one position in both branches of a block stride, and the sum before them is
//! only read at every second position. A summand that is read elsewhere, too, is sliced: `StridedSlice(y) {strides=[1,2,2,1]}`.
//!
//! Sound because a convolution of one position and a strided slice read every s-th position and no other, and the functions before
//! them compute each position from the same position of their operands. A convolution has the position i·s of its result at the strides t·s as position i.
//! Guards:
//! * all consumers of the image read it at the same strides, no control edge leads out of what they read, and none orders a slice;
//! * the nodes between are element-wise functions, biases and batch norms by given statistics, without other consumers. An operand that does not have the
//!   positions of the result is a scalar or a vector of channels;
//! * they begin with at least one convolution, with or without channel multiplier, whose paddings are known: `SAME` depends on the size of the image if
//!   there are strides already. Strides of depthwise convolutions stay equal;
//! * channels last, one device; a slice is not added to a loop.
//!
//! `fold_batch_norm` and `fold_padding` run earlier: they leave less between two convolutions, and look for convolutions with other paddings.
//! `fuse_epilogues` runs later.

use super::fold_batch_norm::is_batch_norm;
use crate::images::RANK;
use crate::linear::{is_bias_add, static_filter};
use crate::rewrite::{add_constant, bypass, constant_input, has_no_control_inputs, integers, is_channels_last, node_def, text};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{Attrs, ControlFlow, FrameId, Graph, Node, NodeId, is_pure};
use flowmill_proto::DataType;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{PartialShape, Result, Tensor};

/// The strides along height and width.
type Strides = [i64; 2];

/// The largest number of functions that are computed at fewer positions together.
const MAX_FUNCTIONS: usize = 64;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(|node| reads_at(graph, node, shapes).is_some()) {
        return Ok(0);
    }
    let flow = if graph.op_nodes().any(Node::is_enter) { Some(ControlFlow::new(graph)?) } else { None };
    let mut count = 0;
    // Consumers first: a convolution of one position that takes strides reads its own input at these.
    for id in topological_order(graph)?.into_iter().rev() {
        if count == limit {
            break;
        }
        let is_in_loop = flow.as_ref().is_some_and(|flow| flow.frame_of(id) != FrameId::ROOT);
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, is_in_loop, shapes)) else { continue };
        rewrite(graph, id, &found)?;
        count += 1;
    }
    if count > 0 {
        // What comes later in this order lies before the changes, so that its shapes held until now.
        shapes.clear();
    }
    Ok(count)
}

/// The part of a graph that is computed at fewer positions.
struct Found {
    strides: Strides,
    /// The convolutions that take the strides, with their new attributes.
    convolutions: Vec<(NodeId, Attrs)>,
    /// The functions between, each with its inputs that have the positions of the result.
    functions: Vec<(NodeId, Vec<usize>)>,
    /// The inputs of functions that are sliced.
    slices: Vec<(NodeId, usize)>,
}

/// Returns the strides at which a node reads input 0, if it reads these positions and no other.
fn reads_at(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Strides> {
    if node.is_op("StridedSlice") {
        return slices_at(graph, node);
    }
    let is_of_one_position = || matches!(static_filter(graph, node, shapes), Some([1, 1, ..])) && text(node, "padding") != "EXPLICIT";
    let strides = strides_of(node).filter(|_| node.is_op("Conv2D") && is_channels_last(node) && is_of_one_position())?;
    (strides != [1, 1]).then_some(strides)
}

/// Returns the strides of a slice that begins at the first position of an image and ends at the last.
fn slices_at(graph: &Graph, node: &Node) -> Option<Strides> {
    let constants = |i: usize| integers(&constant_input(graph, node.id(), i)?.value);
    let mask = |name: &str| node.attrs().get_or(name, 0_i64).unwrap_or(-1);
    let (begin, strides) = (constants(1)?, constants(3)?);
    let is_masked = |name: &str, dim: usize| mask(name) >> dim & 1 == 1;
    let is_whole = |(dim, &first): (usize, &i64)| (first == 0 || is_masked("begin_mask", dim)) && is_masked("end_mask", dim);
    let keeps_rank = ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask"].into_iter().all(|name| mask(name) == 0);
    let (&[1, rows, columns] | &[1, rows, columns, 1]) = strides.as_slice() else { return None };
    let is_image =
        keeps_rank && begin.len() == strides.len() && begin.iter().enumerate().all(is_whole) && has_no_control_inputs(graph, node.id());
    (is_image && rows > 0 && columns > 0 && (rows, columns) != (1, 1)).then_some([rows, columns])
}

fn strides_of(node: &Node) -> Option<Strides> {
    let strides: Vec<i64> = node.attrs().list("strides").ok()?;
    let &[1, rows, columns, 1] = strides.as_slice() else { return None };
    (rows > 0 && columns > 0).then_some([rows, columns])
}

/// Finds what need not be computed at all positions of the image that `last` makes.
fn find(graph: &Graph, last: &Node, is_in_loop: bool, shapes: &Shapes) -> Option<Found> {
    let mut consumers = graph.out_edges(last.id()).map(|edge| {
        let node = graph.get(edge.dst).filter(|node| edge.src_output == 0 && edge.dst_input == 0 && node.device() == last.device())?;
        reads_at(graph, node, shapes)
    });
    let strides = consumers.next()??;
    if !consumers.all(|other| other == Some(strides)) {
        return None;
    }
    let mut found = Found { strides, convolutions: Vec::new(), functions: Vec::new(), slices: Vec::new() };
    let mut is_growing = found.add(graph, last, shapes);
    while is_growing && found.functions.len() < MAX_FUNCTIONS {
        is_growing = found.grow(graph, shapes);
    }
    found.slices = found.outer_inputs(graph).map(|(node, input, _)| (node, input)).collect();
    let can_slice = !is_in_loop || found.slices.is_empty();
    (can_slice && !found.convolutions.is_empty()).then_some(found)
}

impl Found {
    fn contains(&self, id: NodeId) -> bool {
        self.convolutions.iter().any(|(node, _)| *node == id) || self.functions.iter().any(|(node, _)| *node == id)
    }

    /// The images that functions read and that this does not compute: function, index of the input, producer.
    fn outer_inputs<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = (NodeId, usize, NodeId)> + 'a {
        let inputs = self.functions.iter().flat_map(|(node, images)| images.iter().map(|&input| (*node, input)));
        inputs.filter_map(|(node, input)| Some((node, input, graph.input_node(node, input)?))).filter(|(_, _, id)| !self.contains(*id))
    }

    /// Adds a node if it can be computed at the strides, and returns true if so.
    fn add(&mut self, graph: &Graph, node: &Node, shapes: &Shapes) -> bool {
        if let Some(attrs) = strided(graph, node, self.strides, shapes) {
            self.convolutions.push((node.id(), attrs));
        } else if let Some(images) = images(graph, node, shapes) {
            self.functions.push((node.id(), images));
        } else {
            return false;
        }
        true
    }

    /// Adds a producer whose image nothing reads but functions that have been added, and returns false if there is none.
    fn grow(&mut self, graph: &Graph, shapes: &Shapes) -> bool {
        let producers: Vec<NodeId> = self.outer_inputs(graph).map(|(_, _, producer)| producer).collect();
        producers.into_iter().filter_map(|id| graph.get(id)).any(|producer| {
            let mut readers = graph.out_edges(producer.id());
            let is_own = readers.all(|edge| {
                let is_function = self.functions.iter().any(|(node, _)| *node == edge.dst);
                let is_near = graph.get(edge.dst).is_some_and(|reader| reader.device() == producer.device());
                edge.src_output == 0 && !edge.is_control() && is_function && is_near
            });
            is_own && self.add(graph, producer, shapes)
        })
    }
}

/// Returns the inputs of an element-wise function that have the positions of its result; the others have one value for all positions.
fn images(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Vec<usize>> {
    let has_given_statistics = || {
        let is_alone = graph.out_edges(node.id()).all(|edge| edge.src_output == 0);
        !node.attrs().get_or("is_training", true).unwrap_or(true) && is_alone && is_channels_last(node)
    };
    if is_bias_add(node) || (is_batch_norm(node) && has_given_statistics()) {
        return Some(vec![0]);
    }
    if node.traits().elementwise.is_none() || node.num_outputs() != 1 || !is_pure(graph, node) {
        return None;
    }
    let analysis = shapes.of(graph);
    let result = node.id().output(0);
    let mut images = Vec::new();
    for (i, input) in graph.inputs(node.id()).enumerate() {
        if !has_one_position(&analysis.shape(input)) {
            let is_image = analysis.rank(input) == Some(RANK) && analysis.are_equal(input, result);
            is_image.then_some(())?;
            images.push(i);
        }
    }
    Some(images)
}

/// Returns true if a tensor has no height and width, or one of 1.
fn has_one_position(shape: &PartialShape) -> bool {
    shape.rank().is_some_and(|rank| rank <= RANK && (rank.saturating_sub(3)..rank.saturating_sub(1)).all(|dim| shape.dim(dim) == Some(1)))
}

/// Returns the attributes of a convolution whose result is read at `strides`.
fn strided(graph: &Graph, node: &Node, strides: Strides, shapes: &Shapes) -> Option<Attrs> {
    let is_convolution = (node.is_op("Conv2D") || node.is_op("DepthwiseConv2dNative")) && is_channels_last(node);
    let own = strides_of(node).filter(|_| is_convolution)?;
    let mut new = [0; 2];
    for (new, (own, by)) in new.iter_mut().zip(own.iter().zip(strides)) {
        *new = own.checked_mul(by)?;
    }
    if node.is_op("DepthwiseConv2dNative") && new[0] != new[1] {
        return None;
    }
    let mut attrs = node.attrs().clone();
    attrs.remove("_output_shapes");
    attrs.set("strides", vec![1, new[0], new[1], 1]);
    if text(node, "padding") == "SAME" {
        let paddings = same_paddings(graph, node, own, shapes)?;
        let is_padded = paddings.iter().any(|&padding| padding != 0);
        attrs.set("padding", if is_padded { "EXPLICIT" } else { "VALID" });
        if is_padded {
            attrs.set("explicit_paddings", paddings);
        }
    }
    Some(attrs)
}

/// Returns the paddings that `SAME` means for a convolution, as `explicit_paddings`.
fn same_paddings(graph: &Graph, node: &Node, strides: Strides, shapes: &Shapes) -> Option<Vec<i64>> {
    let filter = static_filter(graph, node, shapes)?;
    let image = shapes.of(graph).shape(graph.input(node.id(), 0)?);
    let dilations: Vec<i64> = node.attrs().list("dilations").unwrap_or(vec![1; RANK]);
    let mut paddings = vec![0; 2];
    for (i, stride) in strides.into_iter().enumerate() {
        let window = filter[i].checked_sub(1)?.checked_mul(*dilations.get(i + 1)?)?.checked_add(1)?;
        // With strides of one, the result has the size of the image, whatever that is.
        let total = match stride {
            1 => window - 1,
            _ => {
                let size = i64::try_from(image.dim(i + 1)?).ok()?;
                let last = (size - 1).div_euclid(stride).checked_mul(stride)?;
                last.checked_add(window)?.checked_sub(size)?.max(0)
            }
        };
        paddings.extend([total / 2, total - total / 2]);
    }
    paddings.extend([0; 2]);
    Some(paddings)
}

fn rewrite(graph: &mut Graph, last: NodeId, found: &Found) -> Result<()> {
    let consumers: Vec<NodeId> = graph.out_edges(last).map(|edge| edge.dst).collect();
    for (node, attrs) in &found.convolutions {
        graph.set_attrs(*node, attrs.clone())?;
    }
    for &(node, input) in &found.slices {
        slice(graph, node, input, found.strides)?;
    }
    for &(node, _) in &found.functions {
        let mut attrs = graph.node(node)?.attrs().clone();
        attrs.remove("_output_shapes");
        graph.set_attrs(node, attrs)?;
    }
    for consumer in consumers {
        if graph.node(consumer)?.is_op("Conv2D") {
            let mut attrs = graph.node(consumer)?.attrs().clone();
            attrs.set("strides", vec![1_i64; RANK]);
            graph.set_attrs(consumer, attrs)?;
        } else {
            bypass(graph, consumer, last.output(0))?;
        }
    }
    Ok(())
}

/// Makes a node read one of its inputs at the strides.
fn slice(graph: &mut Graph, node: NodeId, input: usize, [rows, columns]: Strides) -> Result<()> {
    let Some(image) = graph.input(node, input) else { return Ok(()) };
    let dtype = graph.output_type(image)?.dtype;
    let prefix = graph.node(node)?.name().to_owned();
    let zeros = add_constant(graph, &Tensor::vector(&[0_i64; RANK])?, &[], node)?;
    let strides = add_constant(graph, &Tensor::vector(&[1, rows, columns, 1])?, &[], node)?;
    let name = graph.new_name(&prefix);
    let mut def = node_def(graph, "StridedSlice", name, &[node]);
    def.attr.insert("T".to_owned(), Value::Type(dtype.number()).into());
    def.attr.insert("Index".to_owned(), DataType::DtInt64.into());
    for mask in ["begin_mask", "end_mask"] {
        def.attr.insert(mask.to_owned(), 0b1111_i64.into());
    }
    let sliced = graph.add_node_with_inputs(def, &[image, zeros, zeros, strides], &[])?;
    graph.update_edge(sliced.output(0), node, input)?;
    Ok(())
}
