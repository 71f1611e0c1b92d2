//! A graph's edges.

use crate::arena::Arena;
use crate::signature::{Signature, TensorType, type_names};
use crate::{CONTROL_SLOT, EdgeId, Graph, Node, NodeId, OutputId};
use flowmill_tensor::{Result, bail};
use std::num::NonZeroU32;
use std::sync::Arc;

/// An edge: a tensor on its way into a node, or an order between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The edge's id.
    pub id: EdgeId,
    /// The producer.
    pub src: NodeId,
    /// The output of the source; [`CONTROL_SLOT`] for a control edge.
    pub src_output: i32,
    /// The consumer.
    pub dst: NodeId,
    /// The input of the target; [`CONTROL_SLOT`] for a control edge.
    pub dst_input: i32,
}

impl Edge {
    /// Returns true if the edge carries no tensor.
    pub fn is_control(&self) -> bool {
        self.src_output == CONTROL_SLOT
    }

    /// Returns the tensor the edge carries; `None` for a control edge.
    pub fn source(&self) -> Option<OutputId> {
        u32::try_from(self.src_output).ok().map(|slot| self.src.output(slot))
    }
}

/// An edge as the graph keeps it: with its places in the lists of its two nodes, so that it is removed without a search.
#[derive(Clone, Copy)]
pub(crate) struct EdgeRecord {
    src: NodeId,
    dst: NodeId,
    src_output: i32,
    /// One more than the place among the in-edges of `dst`; for a data edge that place is `dst_input`. Never zero, which leaves the
    /// arena a value that marks free slots.
    in_place: NonZeroU32,
    /// Place among the out-edges of `src`.
    out_place: u32,
}

impl EdgeRecord {
    fn new(src: NodeId, src_output: i32, dst: NodeId, in_place: u32, out_place: u32) -> EdgeRecord {
        EdgeRecord { src, dst, src_output, in_place: NonZeroU32::MIN.saturating_add(in_place), out_place }
    }

    fn in_place(&self) -> u32 {
        self.in_place.get() - 1
    }

    fn edge(&self, id: EdgeId) -> Edge {
        let dst_input = if self.src_output == CONTROL_SLOT { CONTROL_SLOT } else { self.in_place() as i32 };
        Edge { id, src: self.src, src_output: self.src_output, dst: self.dst, dst_input }
    }
}

/// Moves each edge to the part that both of its ends are in; the ends for which `part_of` returns `None` are in every part. An edge between
/// two of those is copied to each. The nodes' lists of edges are cut down to those of their part.
pub(crate) fn into_parts(
    edges: Arena<EdgeId, EdgeRecord>,
    nodes: &mut [Arena<NodeId, Node>],
    part_of: impl Fn(NodeId) -> Option<usize>,
) -> Vec<Arena<EdgeId, EdgeRecord>> {
    let ends = |record: &EdgeRecord| (part_of(record.src), part_of(record.dst));
    let part_of_edge = |_, record: &EdgeRecord| match ends(record) {
        (Some(src), Some(dst)) => (src == dst).then_some(src),
        (src, dst) => src.or(dst),
    };
    let (mut parts, others) = edges.into_parts(nodes.len(), part_of_edge);
    for (id, record) in others.into_iter().filter(|(_, record)| ends(record) == (None, None)) {
        parts.iter_mut().for_each(|part| part.restore(id, record));
    }
    nodes.iter_mut().zip(&mut parts).for_each(|(nodes, edges)| cut_lists(nodes, edges));
    parts
}

/// Removes the edges that are not among `edges` from the lists of the nodes.
fn cut_lists(nodes: &mut Arena<NodeId, Node>, edges: &mut Arena<EdgeId, EdgeRecord>) {
    for node in nodes.values_mut() {
        node.out_edges.retain(|&mut edge| edges.get(edge).is_some());
        for (place, &edge) in node.out_edges.iter().enumerate() {
            if let Some(record) = edges.get_mut(edge) {
                record.out_place = place as u32;
            }
        }
        let num_inputs = node.num_inputs();
        let (data, _) = node.in_edges.split_at_mut(num_inputs);
        data.iter_mut().filter(|edge| edges.get(**edge).is_none()).for_each(|edge| *edge = EdgeId::NONE);
        let mut place = 0;
        node.in_edges.retain(|&mut edge| {
            place += 1;
            place <= num_inputs || edges.get(edge).is_some()
        });
        for (place, &edge) in node.in_edges.iter().enumerate().skip(num_inputs) {
            if let Some(record) = edges.get_mut(edge) {
                record.in_place = NonZeroU32::MIN.saturating_add(place as u32);
            }
        }
    }
}

impl Graph {
    /// Returns a copy of the edges between nodes that are kept, which are those of `nodes`; their lists of edges are cut down to these.
    pub(crate) fn part_of_edges(&self, is_kept: impl Fn(NodeId) -> bool, nodes: &mut Arena<NodeId, Node>) -> Arena<EdgeId, EdgeRecord> {
        let mut edges = self.edges.part(|_, record| is_kept(record.src) && is_kept(record.dst));
        cut_lists(nodes, &mut edges);
        edges
    }

    /// Returns the edge `id`, or `None` if it was removed or never was.
    pub fn edge(&self, id: EdgeId) -> Option<Edge> {
        self.edges.get(id).map(|record| record.edge(id))
    }

    /// Returns all edges in the order of their ids.
    pub fn edges(&self) -> impl DoubleEndedIterator<Item = Edge> {
        self.edges.iter().map(|(id, record)| record.edge(id))
    }

    /// Returns the edge into data input `i` of a node; `None` if there is none. Constant time.
    pub fn input_edge(&self, node: NodeId, i: usize) -> Option<Edge> {
        let node = self.get(node)?;
        self.edge(*node.data_in().get(i)?)
    }

    /// Returns the tensor at data input `i` of a node; `None` if there is none. Constant time.
    pub fn input(&self, node: NodeId, i: usize) -> Option<OutputId> {
        self.input_edge(node, i)?.source()
    }

    /// Returns the producer of data input `i` of a node; `None` if there is none. Constant time.
    pub fn input_node(&self, node: NodeId, i: usize) -> Option<NodeId> {
        self.input_edge(node, i).map(|e| e.src)
    }

    /// Returns the tensors at a node's data inputs, in order; unconnected ones are left out.
    pub fn inputs(&self, node: NodeId) -> impl Iterator<Item = OutputId> {
        let edges = self.get(node).map_or(&[][..], |n| n.data_in());
        edges.iter().filter_map(|&e| self.edge(e)?.source())
    }

    /// Returns the nodes that have to run before this one though it takes no tensor from them, in the order their edges were added.
    pub fn control_inputs(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let edges = self.get(node).map_or(&[][..], |n| n.control_in());
        edges.iter().filter_map(|&e| self.edge(e).map(|e| e.src))
    }

    /// Returns all edges into a node, data first.
    pub fn in_edges(&self, node: NodeId) -> impl Iterator<Item = Edge> {
        let edges = self.get(node).map_or(&[][..], |n| &n.in_edges);
        edges.iter().filter_map(|&e| self.edge(e))
    }

    /// Returns all edges out of a node. The order follows from the changes made to the graph and is no order of the outputs.
    pub fn out_edges(&self, node: NodeId) -> impl Iterator<Item = Edge> {
        let edges = self.get(node).map_or(&[][..], |n| &n.out_edges);
        edges.iter().filter_map(|&e| self.edge(e))
    }

    /// Returns the edges that carry one output.
    pub fn consumers(&self, output: OutputId) -> impl Iterator<Item = Edge> {
        self.out_edges(output.node).filter(move |e| e.source() == Some(output))
    }

    /// Number of edges out of a node.
    pub fn num_out_edges(&self, node: NodeId) -> usize {
        self.get(node).map_or(0, |n| n.out_edges.len())
    }

    /// Returns the type of a tensor.
    ///
    /// # Errors
    /// `NotFound` for a node that is not there, `OutOfRange` for an output it does not have.
    pub fn output_type(&self, output: OutputId) -> Result<TensorType> {
        let node = self.node(output.node)?;
        match node.output_types().get(output.slot as usize) {
            Some(&t) => Ok(t),
            None => bail!(
                OutOfRange,
                "Node '{}' (type: '{}', num of outputs: {}) does not have output {}",
                node.name,
                node.op(),
                node.num_outputs(),
                output.slot
            ),
        }
    }

    /// The name of a tensor: `x:0`.
    pub fn tensor_name(&self, output: OutputId) -> String {
        format!("{}:{}", self.get(output.node).map_or("?", |n| n.name()), output.slot)
    }

    /// Connects an output to data input `dst_input` of a node.
    ///
    /// # Errors
    /// `InvalidArgument` if the input is taken or the types do not match, `OutOfRange` if output or input does not exist.
    pub fn add_edge(&mut self, src: OutputId, dst: NodeId, dst_input: usize) -> Result<EdgeId> {
        let node = self.node(dst)?;
        let Some(&expected) = node.input_types().get(dst_input) else {
            bail!(
                OutOfRange,
                "Node '{}' (type: '{}', num of inputs: {}) does not have input {dst_input}",
                node.name,
                node.op(),
                node.num_inputs()
            );
        };
        if let Some(taken) = self.input(dst, dst_input) {
            bail!(InvalidArgument, "Input {dst_input} of node '{}' is already connected to '{}'", node.name, self.tensor_name(taken));
        }
        self.check_edge_types(src, dst_input, &node.name, expected)?;
        self.connect(src, dst, dst_input)
    }

    pub(crate) fn check_edge_types(&self, src: OutputId, dst_input: usize, dst: &str, expected: TensorType) -> Result<()> {
        let actual = self.output_type(src)?;
        if !expected.accepts(actual) {
            bail!(
                InvalidArgument,
                "Input {dst_input} of node {dst} was passed {actual} from {} incompatible with expected {expected}.",
                self.tensor_name(src)
            );
        }
        Ok(())
    }

    /// Returns true if the lists of an edge's nodes have it at the recorded places.
    pub(crate) fn is_listed(&self, id: EdgeId) -> bool {
        self.edges.get(id).is_some_and(|record| {
            let out = self.get(record.src).and_then(|n| n.out_edges.get(record.out_place as usize));
            let into = self.get(record.dst).and_then(|n| n.in_edges.get(record.in_place() as usize));
            out == Some(&id) && into == Some(&id)
        })
    }

    /// Adds a data edge whose ends are checked.
    pub(crate) fn connect(&mut self, src: OutputId, dst: NodeId, dst_input: usize) -> Result<EdgeId> {
        let id = self.edges.next_key()?;
        let from = self.node_mut(src.node)?;
        let out_place = from.out_edges.len() as u32;
        from.out_edges.push(id);
        if let Some(slot) = self.node_mut(dst)?.in_edges.get_mut(dst_input) {
            *slot = id;
        }
        self.change_count += 1;
        self.edges.insert(EdgeRecord::new(src.node, src.slot as i32, dst, dst_input as u32, out_place))
    }

    /// Makes `dst` run after `src`. Returns `None` if there is such an edge already.
    ///
    /// # Errors
    /// `NotFound` for a node that is not there.
    pub fn add_control_edge(&mut self, src: NodeId, dst: NodeId) -> Result<Option<EdgeId>> {
        let (from, to) = (self.node(src)?, self.node(dst)?);
        // The shorter list decides.
        let exists = if from.out_edges.len() < to.control_in().len() {
            self.out_edges(src).any(|e| e.is_control() && e.dst == dst)
        } else {
            self.control_inputs(dst).any(|s| s == src)
        };
        if exists { Ok(None) } else { self.add_duplicate_control_edge(src, dst).map(Some) }
    }

    /// Adds a control edge whether or not there is one already.
    ///
    /// # Errors
    /// `NotFound` for a node that is not there.
    pub fn add_duplicate_control_edge(&mut self, src: NodeId, dst: NodeId) -> Result<EdgeId> {
        self.node(dst)?;
        let id = self.edges.next_key()?;
        let from = self.node_mut(src)?;
        let out_place = from.out_edges.len() as u32;
        from.out_edges.push(id);
        let to = self.node_mut(dst)?;
        let in_place = to.in_edges.len() as u32;
        to.in_edges.push(id);
        self.change_count += 1;
        self.edges.insert(EdgeRecord::new(src, CONTROL_SLOT, dst, in_place, out_place))
    }

    /// Removes an edge. The other control inputs of its end keep their order.
    ///
    /// # Errors
    /// `NotFound` if it is not in the graph.
    pub fn remove_edge(&mut self, id: EdgeId) -> Result<()> {
        let Some(record) = self.edges.remove(id) else {
            bail!(NotFound, "Edge id {} is not in the graph", id.0);
        };
        let src = self.node_mut(record.src)?;
        src.out_edges.swap_remove(record.out_place as usize);
        if let Some(&moved) = src.out_edges.get(record.out_place as usize)
            && let Some(moved) = self.edges.get_mut(moved)
        {
            moved.out_place = record.out_place;
        }
        let (place, dst) = (record.in_place() as usize, self.node_mut(record.dst)?);
        if record.src_output == CONTROL_SLOT {
            dst.in_edges.remove(place);
            self.number_in_edges(record.dst, place)?;
        } else if let Some(slot) = dst.in_edges.get_mut(place) {
            *slot = EdgeId::NONE;
        }
        self.count_rewrite();
        Ok(())
    }

    /// Writes the places of a node's in-edges from `start` into them.
    fn number_in_edges(&mut self, node: NodeId, start: usize) -> Result<()> {
        let edges = self.nodes.get(node).map_or(&[][..], |n| &n.in_edges);
        for (place, &edge) in edges.iter().enumerate().skip(start) {
            if let Some(record) = self.edges.get_mut(edge) {
                record.in_place = NonZeroU32::MIN.saturating_add(place as u32);
            }
        }
        Ok(())
    }

    /// Connects a data input that is connected already to another output.
    ///
    /// # Errors
    /// `OutOfRange` if output or input does not exist, `FailedPrecondition` if the input is not connected, `InvalidArgument`
    /// for other types.
    pub fn update_edge(&mut self, new_src: OutputId, dst: NodeId, dst_input: usize) -> Result<EdgeId> {
        let node = self.node(dst)?;
        let Some(&expected) = node.input_types().get(dst_input) else {
            bail!(
                OutOfRange,
                "Node '{}' (type: '{}', num of inputs: {}) does not have input {dst_input}",
                node.name,
                node.op(),
                node.num_inputs()
            );
        };
        self.check_edge_types(new_src, dst_input, &node.name, expected)?;
        let Some(old) = self.input_edge(dst, dst_input) else {
            bail!(FailedPrecondition, "Couldn't find edge to {}:{dst_input}", self[dst].name);
        };
        self.remove_edge(old.id)?;
        self.connect(new_src, dst, dst_input)
    }

    /// Connects all consumers of `old` to `new`; control edges stay.
    ///
    /// # Errors
    /// `OutOfRange` or `InvalidArgument`, see [`Graph::update_edge`].
    pub fn replace_output(&mut self, old: OutputId, new: OutputId) -> Result<()> {
        let consumers: Vec<Edge> = self.consumers(old).collect();
        for edge in consumers {
            self.update_edge(new, edge.dst, edge.dst_input as usize)?;
        }
        Ok(())
    }

    /// Changes the types of a node's inputs and outputs. Inputs and outputs that this removes must not be connected.
    pub(crate) fn change_signature(&mut self, id: NodeId, signature: Arc<Signature>) -> Result<()> {
        let node = self.node(id)?;
        let (old, new) = (node.num_inputs(), signature.inputs().len());
        if node.data_in().iter().skip(new).any(|&e| e != EdgeId::NONE) {
            bail!(InvalidArgument, "Node '{}' has more inputs connected than '{}'", node.name, type_names(signature.inputs()));
        }
        if let Some(edge) = self.out_edges(id).find(|e| e.src_output >= signature.outputs().len() as i32) {
            bail!(InvalidArgument, "Output {} of node '{}' is in use", edge.src_output, node.name);
        }
        let node = self.node_mut(id)?;
        node.signature = signature;
        if new < old {
            node.in_edges.drain(new..old);
        } else {
            node.in_edges.insert_many(old, std::iter::repeat_n(EdgeId::NONE, new - old));
        }
        if new == old { Ok(()) } else { self.number_in_edges(id, new) }
    }
}
