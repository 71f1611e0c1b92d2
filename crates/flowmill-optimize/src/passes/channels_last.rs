//! Keeps the channels of images in the last dimension from one node to the next, where the target's kernels compute in this layout.
//!
//! Before: `r = Relu(Conv2D(x, w) {data_format="NCHW"})`. After: `r = Transpose(Relu(Conv2D(Transpose(x, [0,2,3,1]), w)), [0,3,1,2])`.
//! The nodes keep their names.
//!
//! A node of `NCHW` or `NCDHW` is rewritten to the other layout between two transposes. A transpose behind a node moves behind its consumers
//! where these can work in either layout: element-wise functions, sums with a constant per channel, concatenations, paddings, splits, and
//! reductions. Where two transposes meet they are gone. `Transpose` nodes that the graph brings along count as well.
//!
//! Sound because each node computes the same elements in another order. Guards:
//! * a function of several tensors moves only if all are at hand in the new layout, or are constants whose layout is a matter of shape;
//! * axes, paddings and permutations are constant;
//! * nodes with inputs by reference are left alone;
//! * ops whose kernels on the target compute in either layout (`BiasAdd` on a CPU) change only if that saves a transpose.
//!
//! `fold_constants` runs earlier: axes and paddings may be computed. The passes that look for convolutions and batch norms run later: they
//! know one layout.

use crate::rewrite::{add_constant, bypass, constant, constant_input, has_no_control_inputs, integers, node_def, text};
use crate::{PassContext, Target};
use flowmill_graph::image_layout::{channels_first_rank, channels_last_attrs, to_channels_first, to_channels_last};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ControlFlow, FrameId, Graph, Node, NodeId, OutputId};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result, Shape, Tensor};
use rustc_hash::FxHashMap;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let order = topological_order(graph)?;
    if !order.iter().filter_map(|&id| graph.get(id)).any(|n| is_channels_first(n) || n.is_op("Transpose")) {
        return Ok(0);
    }
    let flow = ControlFlow::new(graph)?;
    let mut layouts = Layouts { target, flow, images: FxHashMap::default(), transposes: Vec::new() };
    let mut count = 0;
    for id in order {
        if count == limit {
            break;
        }
        let has_references = graph.get(id).is_none_or(|n| n.input_types().iter().any(|t| t.is_ref));
        if !has_references && layouts.visit(graph, id)? {
            count += 1;
        }
    }
    if count > 0 {
        layouts.remove_unused(graph)?;
        // Nodes that stay have images of another layout.
        shapes.clear();
    }
    Ok(count)
}

fn is_channels_first(node: &Node) -> bool {
    node.attrs().contains("data_format") && text(node, "data_format").starts_with("NC")
}

/// A channels-first image at hand in the other layout.
#[derive(Clone, Copy)]
struct Image {
    last: OutputId,
    rank: usize,
    /// True if the channels-first form is made from the other one.
    is_moved: bool,
}

struct Layouts<'a> {
    target: &'a dyn Target,
    flow: ControlFlow,
    /// The images by their channels-first tensors.
    images: FxHashMap<OutputId, Image>,
    /// Transposes from one layout to the other, made here or before.
    transposes: Vec<NodeId>,
}

impl Layouts<'_> {
    /// Rewrites one node, whose producers are done. Returns true if it changed.
    fn visit(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let node = graph.node(id)?;
        let traits = node.traits();
        match node.op() {
            "Transpose" => self.visit_transpose(graph, id),
            "Shape" => self.visit_shape(graph, id),
            "ConcatV2" => self.visit_joined(graph, id),
            "Pad" | "PadV2" | "MirrorPad" => self.visit_pad(graph, id),
            "Split" => self.visit_split(graph, id, 1, 0),
            "SplitV" => self.visit_split(graph, id, 0, 2),
            _ if traits.elementwise.is_some() || traits.passes_on && !node.is_control_flow() => self.visit_elementwise(graph, id),
            _ if traits.reduces => self.visit_reduction(graph, id),
            _ if is_channels_first(node) && traits.image_layout.is_some() => self.visit_image_op(graph, id),
            _ => Ok(false),
        }
    }

    /// The image at input `i`, if it is at hand with its channels last.
    fn image(&self, graph: &Graph, id: NodeId, i: usize) -> Option<Image> {
        self.images.get(&graph.input(id, i)?).copied()
    }

    /// Returns the image at input `i`, if its channels-first form is the output of a transpose.
    fn moved_image(&self, graph: &Graph, id: NodeId, i: usize) -> Option<Image> {
        self.image(graph, id, i).filter(|image| image.is_moved)
    }

    /// Adds a transpose of `input`, named after `for_node`.
    fn transpose(&mut self, graph: &mut Graph, input: OutputId, order: &[usize], for_node: NodeId) -> Result<OutputId> {
        let controls = self.controls_of(input.node);
        let permutation = int_vector(order.iter().map(|&axis| axis as i64))?;
        let permutation = add_constant(graph, &permutation, &controls, for_node)?;
        let prefix = graph.node(for_node)?.name().to_owned();
        let name = graph.new_name(&prefix);
        let mut def = node_def(graph, "Transpose", name, &[for_node]);
        def.attr.insert("T".to_owned(), type_of(graph, input)?);
        def.attr.insert("Tperm".to_owned(), Value::Type(DType::I32.number()).into());
        let node = graph.add_node_with_inputs(def, &[input, permutation], &[])?;
        self.transposes.push(node);
        Ok(node.output(0))
    }

    /// Returns the control inputs of a constant that is used together with the outputs of `node`. In a loop this is `node` itself, which places the
    /// constant in the same frame.
    fn controls_of(&self, node: NodeId) -> Vec<NodeId> {
        if self.flow.output_frame_of(node) == FrameId::ROOT { Vec::new() } else { vec![node] }
    }

    /// The channels-last form of input `i`, made if it is not at hand.
    fn put_last(&mut self, graph: &mut Graph, id: NodeId, i: usize, rank: usize) -> Result<()> {
        let Some(input) = graph.input(id, i) else { return Ok(()) };
        let last = match self.images.get(&input) {
            Some(image) => image.last,
            None => {
                let last = self.transpose(graph, input, &to_channels_last(rank), id)?;
                self.images.insert(input, Image { last, rank, is_moved: false });
                last
            }
        };
        graph.update_edge(last, id, i).map(drop)
    }

    /// Transposes `output`, whose channels are last now, back for its consumers.
    fn put_first(&mut self, graph: &mut Graph, output: OutputId, rank: usize) -> Result<()> {
        let consumers: Vec<_> = graph.out_edges(output.node).filter(|e| e.source() == Some(output)).collect();
        if consumers.is_empty() {
            return Ok(());
        }
        let first = self.transpose(graph, output, &to_channels_first(rank), output.node)?;
        for edge in consumers {
            graph.update_edge(first, edge.dst, edge.dst_input as usize)?;
        }
        self.images.insert(first, Image { last: output, rank, is_moved: true });
        Ok(())
    }

    /// Puts a constant of integers at input `i` in the place of another.
    fn set_constant(&self, graph: &mut Graph, id: NodeId, i: usize, value: &Tensor) -> Result<()> {
        let controls = constant_input(graph, id, i).map(|c| c.controls).unwrap_or_default();
        let constant = add_constant(graph, value, &controls, id)?;
        graph.update_edge(constant, id, i).map(drop)
    }

    fn visit_image_op(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let node = graph.node(id)?;
        let (Some(layout), Ok(Some(rank))) = (node.traits().image_layout, channels_first_rank(node.op(), node.attrs())) else {
            return Ok(false);
        };
        let Ok(attrs) = channels_last_attrs(node.attrs(), rank) else { return Ok(false) };
        let is_either = !self.target.wants_channels_last(node.op());
        let Some(&first) = layout.images.first() else { return Ok(false) };
        let rank = match self.moved_image(graph, id, first) {
            Some(image) => image.rank,
            None if is_either => return Ok(false),
            None => rank,
        };
        let num_inputs = node.num_inputs();
        for &i in layout.images.iter().filter(|&&i| i < num_inputs) {
            if graph.input(id, i).is_some_and(|input| self.images.get(&input).is_some_and(|image| image.rank != rank)) {
                return Ok(false);
            }
        }
        for &i in layout.sizes {
            self.sizes_to_last(graph, id, i, rank)?;
        }
        for &i in layout.images.iter().filter(|&&i| i < num_inputs) {
            self.put_last(graph, id, i, rank)?;
        }
        graph.set_attrs(id, attrs)?;
        if layout.image_output {
            self.put_first(graph, id.output(0), rank)?;
        }
        Ok(true)
    }

    /// Brings the sizes in input `i` into the order of the other layout.
    fn sizes_to_last(&self, graph: &mut Graph, id: NodeId, i: usize, rank: usize) -> Result<()> {
        let Some(input) = graph.input(id, i) else { return Ok(()) };
        if let Some(found) = constant(graph, input)
            && let Some(sizes) = integers(&found.value)
        {
            if sizes.len() != rank {
                return Ok(());
            }
            let moved: Vec<i64> = to_channels_last(rank).iter().map(|&axis| sizes[axis]).collect();
            return self.set_constant(graph, id, i, &Tensor::index_vector(found.value.dtype(), &moved)?);
        }
        let sizes = permuted_sizes(graph, input, id, rank, true)?;
        graph.update_edge(sizes, id, i).map(drop)
    }

    /// Visits a transpose of the graph. If it converts between the two layouts, its input and output are two forms of one image.
    fn visit_transpose(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let (Some(input), Some(permutation)) = (graph.input(id, 0), constant_input(graph, id, 1)) else { return Ok(false) };
        let Some(order) = integers(&permutation.value).filter(|order| order.len() == 4 || order.len() == 5) else { return Ok(false) };
        let rank = order.len();
        let is = |other: Vec<usize>| order.iter().zip(other).all(|(&a, b)| a == b as i64);
        if is(to_channels_first(rank)) {
            self.images.insert(id.output(0), Image { last: input, rank, is_moved: true });
            self.transposes.push(id);
        } else if is(to_channels_last(rank)) {
            let Some(image) = self.images.get(&input).copied().filter(|image| image.rank == rank) else {
                self.images.insert(input, Image { last: id.output(0), rank, is_moved: false });
                self.transposes.push(id);
                return Ok(false);
            };
            if has_no_control_inputs(graph, id) && graph.node(image.last.node)?.device() == graph.node(id)?.device() {
                bypass(graph, id, image.last)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn visit_elementwise(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let num_inputs = graph.node(id)?.num_inputs();
        let Some(rank) = (0..num_inputs).find_map(|i| self.moved_image(graph, id, i)).map(|image| image.rank) else { return Ok(false) };
        let mut new: Vec<(usize, OutputId)> = Vec::new();
        let mut constants: Vec<(usize, Tensor)> = Vec::new();
        for i in 0..num_inputs {
            match self.image(graph, id, i) {
                Some(image) if image.rank == rank => new.push((i, image.last)),
                Some(_) => return Ok(false),
                None => match constant_input(graph, id, i).and_then(|c| with_channels_last(&c.value, rank)) {
                    Some(value) => constants.push((i, value)),
                    None => return Ok(false),
                },
            }
        }
        for (i, image) in new {
            graph.update_edge(image, id, i)?;
        }
        for (i, value) in constants.iter().filter(|(_, value)| value.rank() > 0) {
            self.set_constant(graph, id, *i, value)?;
        }
        self.put_first(graph, id.output(0), rank)?;
        Ok(true)
    }

    fn visit_joined(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let last = graph.node(id)?.num_inputs().saturating_sub(1);
        let images: Option<Vec<Image>> = (0..last).map(|i| self.image(graph, id, i)).collect();
        let Some(images) = images.filter(|images| images.iter().any(|image| image.is_moved)) else { return Ok(false) };
        let rank = images[0].rank;
        let Some(axis) = axis_input(graph, id, last, rank).filter(|_| images.iter().all(|image| image.rank == rank)) else {
            return Ok(false);
        };
        for (i, image) in images.iter().enumerate() {
            graph.update_edge(image.last, id, i)?;
        }
        self.set_axis(graph, id, last, axis, rank)?;
        self.put_first(graph, id.output(0), rank)?;
        Ok(true)
    }

    /// Puts the channels-last place of `axis` at input `i`.
    fn set_axis(&self, graph: &mut Graph, id: NodeId, i: usize, axis: usize, rank: usize) -> Result<()> {
        let Some(old) = constant_input(graph, id, i) else { return Ok(()) };
        let place = [to_channels_first(rank)[axis] as i64];
        let new = Tensor::index_vector(old.value.dtype(), &place)?.reshaped(old.value.shape().clone())?;
        self.set_constant(graph, id, i, &new)
    }

    fn visit_split(&mut self, graph: &mut Graph, id: NodeId, value: usize, axis: usize) -> Result<bool> {
        let Some(image) = self.moved_image(graph, id, value) else { return Ok(false) };
        let Some(found) = axis_input(graph, id, axis, image.rank) else { return Ok(false) };
        graph.update_edge(image.last, id, value)?;
        self.set_axis(graph, id, axis, found, image.rank)?;
        for slot in 0..graph.node(id)?.num_outputs() {
            self.put_first(graph, id.output(slot as u32), image.rank)?;
        }
        Ok(true)
    }

    fn visit_pad(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let (Some(image), Some(found)) = (self.moved_image(graph, id, 0), constant_input(graph, id, 1)) else { return Ok(false) };
        let Some(pads) = integers(&found.value).filter(|pads| pads.len() == 2 * image.rank) else { return Ok(false) };
        let moved: Vec<i64> = to_channels_last(image.rank).iter().flat_map(|&axis| [pads[2 * axis], pads[2 * axis + 1]]).collect();
        let moved = Tensor::index_vector(found.value.dtype(), &moved)?.reshaped(found.value.shape().clone())?;
        graph.update_edge(image.last, id, 0)?;
        self.set_constant(graph, id, 1, &moved)?;
        self.put_first(graph, id.output(0), image.rank)?;
        Ok(true)
    }

    /// A reduction. Without the reduced dimensions the others must be in the same order in both layouts.
    fn visit_reduction(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let (Some(image), Some(found)) = (self.moved_image(graph, id, 0), constant_input(graph, id, 1)) else { return Ok(false) };
        let Some(axes) = integers(&found.value) else { return Ok(false) };
        let Some(axes) = axes.iter().map(|&axis| in_range(axis, image.rank)).collect::<Option<Vec<usize>>>() else { return Ok(false) };
        let place = to_channels_first(image.rank);
        let keeps = graph.node(id)?.attrs().get_or("keep_dims", false)?;
        let is_in_order = (0..image.rank).filter(|axis| !axes.contains(axis)).map(|axis| place[axis]).is_sorted();
        if !keeps && !is_in_order {
            return Ok(false);
        }
        let moved: Vec<i64> = axes.iter().map(|&axis| place[axis] as i64).collect();
        let moved = Tensor::index_vector(found.value.dtype(), &moved)?.reshaped(found.value.shape().clone())?;
        graph.update_edge(image.last, id, 0)?;
        self.set_constant(graph, id, 1, &moved)?;
        if keeps {
            self.put_first(graph, id.output(0), image.rank)?;
        }
        Ok(true)
    }

    /// The shape of an image: that of the other form, in its order.
    fn visit_shape(&mut self, graph: &mut Graph, id: NodeId) -> Result<bool> {
        let Some(image) = self.moved_image(graph, id, 0) else { return Ok(false) };
        let consumers: Vec<_> = graph.out_edges(id).filter(|e| !e.is_control()).collect();
        graph.update_edge(image.last, id, 0)?;
        let sizes = permuted_sizes(graph, id.output(0), id, image.rank, false)?;
        for edge in consumers {
            graph.update_edge(sizes, edge.dst, edge.dst_input as usize)?;
        }
        Ok(true)
    }

    /// Removes transposes whose outputs have no consumers, because other passes would count them as consumers.
    fn remove_unused(&self, graph: &mut Graph) -> Result<()> {
        for &id in self.transposes.iter().rev() {
            if graph.out_edges(id).next().is_some() {
                continue;
            }
            let permutation = graph.input_node(id, 1);
            graph.remove_node(id)?;
            if let Some(permutation) = permutation.filter(|&p| graph.out_edges(p).next().is_none()) {
                graph.remove_node(permutation)?;
            }
        }
        Ok(())
    }
}

/// The sizes in `input` in the order of the other layout, by a node named after `for_node`.
fn permuted_sizes(graph: &mut Graph, input: OutputId, for_node: NodeId, rank: usize, to_last: bool) -> Result<OutputId> {
    let prefix = graph.node(for_node)?.name().to_owned();
    let name = graph.new_name(&prefix);
    let mut def = node_def(graph, "DataFormatVecPermute", name, &[for_node]);
    let (last, first) = if rank == 5 { ("NDHWC", "NCDHW") } else { ("NHWC", "NCHW") };
    let (source, target) = if to_last { (first, last) } else { (last, first) };
    def.attr.insert("T".to_owned(), type_of(graph, input)?);
    def.attr.insert("src_format".to_owned(), source.into());
    def.attr.insert("dst_format".to_owned(), target.into());
    Ok(graph.add_node_with_inputs(def, &[input], &[])?.output(0))
}

fn type_of(graph: &Graph, output: OutputId) -> Result<AttrValue> {
    Ok(Value::Type(graph.output_type(output)?.dtype.number()).into())
}

fn int_vector(values: impl Iterator<Item = i64>) -> Result<Tensor> {
    Tensor::index_vector(DType::I32, &values.collect::<Vec<_>>())
}

/// The dimension that the constant scalar at input `i` names.
fn axis_input(graph: &Graph, id: NodeId, i: usize, rank: usize) -> Option<usize> {
    match integers(&constant_input(graph, id, i)?.value)?[..] {
        [axis] => in_range(axis, rank),
        _ => None,
    }
}

fn in_range(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// Reshapes a constant that broadcasts with channels-first images for channels-last ones. Returns `None` if elements would have to move.
fn with_channels_last(value: &Tensor, rank: usize) -> Option<Tensor> {
    let dims = value.shape().dims();
    if dims.len() > rank || dims.iter().filter(|&&d| d != 1).count() > 1 {
        return None;
    }
    let mut full = vec![1; rank - dims.len()];
    full.extend_from_slice(dims);
    let moved: Vec<usize> = to_channels_last(rank).iter().map(|&axis| full[axis]).skip_while(|&d| d == 1).collect();
    value.clone().reshaped(Shape::new(&moved)).ok()
}
