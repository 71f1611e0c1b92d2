//! Nodes of a loop that read one part of a tensor in each iteration, as a recurrent network reads the steps of its input.

use crate::Shapes;
use crate::loops::{invariant, is_counter};
use crate::rewrite::{add_constant, constant, constant_input, integers, node_def};
use flowmill_graph::{Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor};

/// A node of a loop that reads, in each iteration, another part of a tensor that is computed before the loop.
pub(crate) struct LoopRead {
    /// The node that reads.
    pub(crate) node: NodeId,
    /// The tensor outside of the loop.
    pub(crate) whole: OutputId,
    /// The axis of `whole` along which the parts lie. A part does not have this axis.
    pub(crate) axis: usize,
    /// An `Enter` of the loop.
    pub(crate) enter: NodeId,
    container: Container,
}

/// The object that holds the parts.
enum Container {
    /// The tensor itself.
    Tensor,
    /// An array to which nothing but one scatter writes. Its elements have the static shape `declared`.
    Array { array: NodeId, scatter: NodeId, declared: PartialShape },
    /// A list that is made of the tensor. Its elements have the static shape `declared`.
    List { list: NodeId, declared: PartialShape },
}

/// The shapes of other parts than those that a loop reads now, as far as they are known.
#[derive(Clone, Copy)]
pub(crate) enum Parts {
    Any,
    /// The last axis has the size `columns`. If `same_rows`, the other axes are as before.
    Of {
        columns: i64,
        same_rows: bool,
    },
}

impl Parts {
    /// Returns the shape to declare in the place of `declared`.
    fn declared(self, declared: &PartialShape) -> PartialShape {
        let Parts::Of { columns, same_rows } = self else { return PartialShape::unknown() };
        let mut sizes: Vec<i64> = declared.dims().unwrap_or_default().to_vec();
        if !same_rows {
            sizes.fill(-1);
        }
        if let Some(last) = sizes.last_mut() {
            *last = columns;
        }
        PartialShape::new(&sizes)
    }
}

/// The ops that may use an array besides the scatter that writes it: none of them changes what a read returns.
const NEUTRAL: [&str; 3] = ["TensorArrayReadV3", "TensorArraySizeV3", "TensorArrayGradV3"];

impl LoopRead {
    /// Returns the read that produces `part`, or `None` for any other tensor. The read cannot fail because of the type or the size of an element.
    pub(crate) fn find(graph: &Graph, shapes: &Shapes, part: OutputId) -> Option<LoopRead> {
        let node = graph.get(part.node)?;
        match node.op() {
            "TensorArrayReadV3" => of_array(graph, shapes, node),
            "TensorListGetItem" => of_list(graph, shapes, node),
            "Gather" | "GatherV2" => of_tensor(graph, node, gathered_axis(graph, shapes, node)?),
            "StridedSlice" => of_tensor(graph, node, sliced_axis(graph, node)?),
            _ => None,
        }
    }

    /// Adds what is needed to read parts of `other`, a tensor outside of the loop whose parts lie along the same axis. Returns the definition and the
    /// inputs of the node that reads them.
    pub(crate) fn of_other(&self, graph: &mut Graph, other: OutputId, parts: Parts) -> Result<(NodeDef, Vec<OutputId>)> {
        let node = graph.node(self.node)?;
        let mut def = NodeDef { attr: node.attrs().to_map(), ..node_def(graph, node.op(), String::new(), &[self.node]) };
        def.attr.remove("_output_shapes");
        let mut inputs: Vec<OutputId> = graph.inputs(self.node).collect();
        match &self.container {
            Container::Tensor => inputs[0] = enter(graph, self.enter, other)?,
            Container::Array { array, scatter, declared } => {
                let [array, scatter] = [*array, *scatter];
                let shape = parts.declared(declared);
                let copy = copy_of(graph, array, &graph.inputs(array).collect::<Vec<_>>(), &[("element_shape", shape.to_proto().into())])?;
                let indices = graph.inputs(scatter).nth(1).unwrap_or(other);
                let flow = copy_of(graph, scatter, &[copy.output(0), indices, other, copy.output(1)], &[])?;
                inputs[0] = enter(graph, self.enter, copy.output(0))?;
                inputs[2] = enter(graph, self.enter, flow.output(0))?;
            }
            Container::List { list, declared } => {
                let shape = match parts.declared(declared).dims() {
                    Some(sizes) => Tensor::from_slice([sizes.len()], sizes)?,
                    None => Tensor::scalar(-1i64),
                };
                let shape = add_constant(graph, &shape, &[other.node], *list)?;
                let list = copy_of(graph, *list, &[other, shape], &[("shape_type", Value::Type(DType::I64.number()).into())])?;
                def.attr.insert("Tshape".to_owned(), Value::Type(DType::I64.number()).into());
                inputs[0] = enter(graph, self.enter, list.output(0))?;
                inputs[2] = enter(graph, self.enter, shape)?;
            }
        }
        Ok((def, inputs))
    }
}

/// Brings a tensor into the loop of `like`, an `Enter`, as an invariant.
pub(crate) fn enter(graph: &mut Graph, like: NodeId, tensor: OutputId) -> Result<OutputId> {
    let dtype = graph.output_type(tensor)?.dtype;
    let attrs = [("T", Value::Type(dtype.number()).into()), ("is_constant", true.into())];
    let controls: Vec<NodeId> = graph.control_inputs(like).collect();
    let mut def = new_def(graph, like, &attrs)?;
    def.attr.remove("_output_shapes");
    Ok(graph.add_node_with_inputs(def, &[tensor], &controls)?.output(0))
}

/// Adds a node like `original`, which waits for the same nodes, with other inputs and some other attributes.
fn copy_of(graph: &mut Graph, original: NodeId, inputs: &[OutputId], attrs: &[(&str, AttrValue)]) -> Result<NodeId> {
    let controls: Vec<NodeId> = graph.control_inputs(original).collect();
    let def = new_def(graph, original, attrs)?;
    graph.add_node_with_inputs(def, inputs, &controls)
}

/// Returns a definition like that of `original` with a new name.
fn new_def(graph: &mut Graph, original: NodeId, attrs: &[(&str, AttrValue)]) -> Result<NodeDef> {
    let prefix = graph.node(original)?.name().to_owned();
    let name = graph.new_name(&prefix);
    let node = graph.node(original)?;
    let mut def = NodeDef { attr: node.attrs().to_map(), ..node_def(graph, node.op(), name, &[original]) };
    def.attr.extend(attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Ok(def)
}

fn of_array(graph: &Graph, shapes: &Shapes, read: &Node) -> Option<LoopRead> {
    let (handle, flow) = (invariant(graph, graph.input(read.id(), 0)?)?, invariant(graph, graph.input(read.id(), 2)?)?);
    let array = graph.get(handle.outside.node).filter(|n| n.is_op("TensorArrayV3"))?;
    let scatter = graph.get(flow.outside.node).filter(|n| n.is_op("TensorArrayScatterV3"))?;
    let is_written_first = graph.input(scatter.id(), 0)? == array.id().output(0) && graph.input(scatter.id(), 3)? == array.id().output(1);
    let clears = array.attrs().get_or("clear_after_read", true).ok()?;
    let mut num_reads = 0;
    if !is_written_first || !is_counter(graph, graph.input(read.id(), 1)?) || !only_read(graph, array.id(), scatter.id(), &mut num_reads) {
        return None;
    }
    // Two reads that get in each other's way fail.
    if clears && num_reads > 1 {
        return None;
    }
    let whole = graph.input(scatter.id(), 2)?;
    let declared = array.attrs().get_or("element_shape", PartialShape::unknown()).ok()?;
    let declared = declared_rows(graph, shapes, whole, &declared)?;
    let container = Container::Array { array: array.id(), scatter: scatter.id(), declared };
    Some(LoopRead { node: read.id(), whole, axis: 0, enter: handle.enter, container })
}

/// Returns true if the handle at output 0 of `node` gets to `scatter` and ops that do not change the array, and counts the reads.
fn only_read(graph: &Graph, node: NodeId, scatter: NodeId, num_reads: &mut usize) -> bool {
    graph.out_edges(node).filter(|e| e.src_output == 0).all(|edge| {
        let Some(consumer) = graph.get(edge.dst) else { return false };
        *num_reads += usize::from(consumer.is_op("TensorArrayReadV3"));
        edge.dst == scatter || NEUTRAL.contains(&consumer.op()) || (consumer.is_enter() && only_read(graph, edge.dst, scatter, num_reads))
    })
}

fn of_list(graph: &Graph, shapes: &Shapes, read: &Node) -> Option<LoopRead> {
    let handle = invariant(graph, graph.input(read.id(), 0)?)?;
    let list = graph.get(handle.outside.node).filter(|n| n.is_op("TensorListFromTensor"))?;
    if !is_counter(graph, graph.input(read.id(), 1)?) {
        return None;
    }
    let whole = graph.input(list.id(), 0)?;
    let expected = graph.input(read.id(), 2)?;
    let expected = constant(graph, expected).or_else(|| constant(graph, invariant(graph, expected)?.outside))?;
    declared_rows(graph, shapes, whole, &shape_of(&expected.value)?)?;
    let declared = declared_rows(graph, shapes, whole, &shape_of(&constant_input(graph, list.id(), 1)?.value)?)?;
    Some(LoopRead { node: read.id(), whole, axis: 0, enter: handle.enter, container: Container::List { list: list.id(), declared } })
}

fn of_tensor(graph: &Graph, read: &Node, axis: usize) -> Option<LoopRead> {
    let whole = invariant(graph, graph.input(read.id(), 0)?)?;
    Some(LoopRead { node: read.id(), whole: whole.outside, axis, enter: whole.enter, container: Container::Tensor })
}

/// Returns the axis along which a gather takes a single part at a counter.
fn gathered_axis(graph: &Graph, shapes: &Shapes, gather: &Node) -> Option<usize> {
    let index = graph.input(gather.id(), 1)?;
    if shapes.of(graph).rank(index)? != 0 || !is_counter(graph, index) || gather.attrs().get_or("batch_dims", 0i64).ok()? != 0 {
        return None;
    }
    let Some(axis) = graph.input(gather.id(), 2) else { return Some(0) };
    let axis = constant(graph, axis).or_else(|| constant(graph, invariant(graph, axis)?.outside))?;
    usize::try_from(*integers_of(&axis.value)?.first()?).ok()
}

/// Returns the axis along which a slice takes a single part at a counter, if it takes everything along all other axes.
fn sliced_axis(graph: &Graph, slice: &Node) -> Option<usize> {
    let mask = |name: &str| slice.attrs().get_or(name, 0i64).ok();
    let (shrink, ellipsis) = (mask("shrink_axis_mask")?, mask("ellipsis_mask")?);
    let all = mask("begin_mask")? & mask("end_mask")?;
    if shrink.count_ones() != 1 || mask("new_axis_mask")? != 0 || mask("begin_mask")? & shrink != 0 {
        return None;
    }
    let axis = shrink.trailing_zeros() as usize;
    let strides = integers(&constant_input(graph, slice.id(), 3)?.value)?;
    let takes_all = |i: usize| i == axis || all >> i & 1 == 1 || (ellipsis >> i & 1 == 1 && i > axis);
    let begin = graph.get(graph.input(slice.id(), 1)?.node).filter(|n| n.is_op("Pack") && n.num_inputs() == strides.len())?;
    let is_admitted = axis < strides.len() && strides.iter().all(|&stride| stride == 1) && (0..strides.len()).all(takes_all);
    (is_admitted && is_counter(graph, graph.input(begin.id(), axis)?)).then_some(axis)
}

/// Returns `declared`, the shape that the rows of `whole` must have, with its rank known, if they are sure to have it.
fn declared_rows(graph: &Graph, shapes: &Shapes, whole: OutputId, declared: &PartialShape) -> Option<PartialShape> {
    let rows = shapes.of(graph).shape(whole);
    let (_, rows) = rows.dims()?.split_first()?;
    let declared = declared.of_rank(rows.len())?.without_symbols();
    let is_sure = declared.dims()?.iter().zip(rows).all(|(&declared, &size)| declared < 0 || declared == size);
    is_sure.then_some(declared)
}

/// Returns the shape that a constant describes, as list ops read it: a scalar −1 is an unknown shape.
fn shape_of(value: &Tensor) -> Option<PartialShape> {
    let sizes = integers_of(value)?;
    if value.rank() == 0 {
        return (sizes == [-1]).then(PartialShape::unknown);
    }
    Some(PartialShape::new(&sizes))
}

/// Returns the values of a constant of integers, a scalar's as one.
fn integers_of(value: &Tensor) -> Option<Vec<i64>> {
    value.to_i64_vec().ok()
}
