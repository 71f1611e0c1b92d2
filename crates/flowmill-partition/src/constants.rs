//! Copies of constants: on each device that reads them, and in the host's memory where a kernel takes them there.
//!
//! ```text
//! c = Const() @CPU:0; y = Neg(c) @CPU:1    →    c/_0 = Const() @CPU:1; y = Neg(c/_0) @CPU:1
//! ```
//!
//! A constant is decoded once per session, whereas a tensor is sent in every step. Constants of more than [`MAX_COPIED_BYTES`] are sent between devices
//! nevertheless, so that a large one does not occupy memory on every device. A constant with control inputs stays where it is: sending the control
//! edge would cost as much.

use crate::memory::is_in_host_memory;
use crate::{Assignment, Devices, Memory};
use flowmill_graph::{Edge, Graph, HOST_MEMORY, NodeId, Role};
use flowmill_proto::{NodeDef, TensorProto, TensorShapeProto};
use flowmill_tensor::{DType, PartialShape, Result};
use std::collections::BTreeMap;

/// The largest size in bytes of a constant that is copied to the devices that read it.
pub const MAX_COPIED_BYTES: usize = 64 << 10;

/// Copies small constants to the devices of their consumers. A constant that nothing reads on its own device any more moves.
pub(crate) fn copy_to_consumers(graph: &mut Graph, assignment: &mut Assignment) -> Result<()> {
    let constants: Vec<NodeId> = graph.op_nodes().filter(|node| node.role() == Role::Const).map(|node| node.id()).collect();
    for id in constants {
        let has_inputs = graph.in_edges(id).any(|edge| edge.src > NodeId::SINK);
        if !has_inputs && is_small(graph, id) {
            copy_to_devices_of_consumers(graph, assignment, id)?;
        }
    }
    Ok(())
}

/// Copies a node, with its inputs, to each device that one of its consumers is on. If no consumer is on the device of the node, the node moves
/// to the first of their devices.
pub(crate) fn copy_to_devices_of_consumers(graph: &mut Graph, assignment: &mut Assignment, id: NodeId) -> Result<()> {
    let own = assignment.device(id);
    if graph.out_edges(id).all(|edge| edge.dst == NodeId::SINK || assignment.device(edge.dst) == own) {
        return Ok(());
    }
    let mut consumers: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
    for edge in graph.out_edges(id) {
        let device = if edge.dst == NodeId::SINK { own } else { assignment.device(edge.dst) };
        consumers.entry(device).or_default().push(edge);
    }
    if !consumers.contains_key(&own)
        && let Some((device, _)) = consumers.pop_first()
    {
        assignment.set(id, device);
    }
    consumers.remove(&own);
    for (device, edges) in consumers {
        let copy = copy(graph, id, &[])?;
        assignment.set(copy, device);
        for edge in edges {
            move_edge(graph, &edge, copy)?;
        }
    }
    Ok(())
}

/// Adds a copy of a node with the same inputs and more attributes.
fn copy(graph: &mut Graph, id: NodeId, attrs: &[(&str, bool)]) -> Result<NodeId> {
    let name = graph.new_name(graph.node(id)?.name().to_owned().as_str());
    let node = graph.node(id)?;
    let mut attr = node.attrs().to_map();
    attr.extend(attrs.iter().map(|&(name, value)| (name.to_owned(), value.into())));
    let def = NodeDef { name, op: node.op().to_owned(), device: node.device().to_owned(), attr, ..NodeDef::default() };
    let (inputs, controls): (Vec<_>, Vec<_>) = (graph.inputs(id).collect(), graph.control_inputs(id).collect());
    graph.add_node_with_inputs(def, &inputs, &controls)
}

/// Makes an edge begin at the same output of another node.
fn move_edge(graph: &mut Graph, edge: &Edge, src: NodeId) -> Result<()> {
    match edge.source() {
        Some(output) => graph.update_edge(src.output(output.slot), edge.dst, edge.dst_input as usize).map(drop),
        None => {
            graph.remove_edge(edge.id)?;
            graph.add_control_edge(src, edge.dst).map(drop)
        }
    }
}

/// Makes the consumers on a device that take a constant in the host's memory read a copy of it there, which has the attribute [`HOST_MEMORY`]. All nodes of the
/// graph are on that device. Passes that run after partitioning may have made constants that they could not place.
///
/// # Errors
/// Returns an error if the graph has too many nodes.
pub fn put_constants_in_host_memory(graph: &mut Graph, device: usize, devices: &dyn Devices) -> Result<()> {
    if devices.is_host(device) {
        return Ok(());
    }
    let nodes = graph.op_node_ids();
    put_in_host_memory(graph, &nodes, device, devices, &mut Assignment::default())
}

/// Like [`put_constants_in_host_memory`], for the consumers in `nodes`.
pub(crate) fn put_in_host_memory(
    graph: &mut Graph,
    nodes: &[NodeId],
    device: usize,
    devices: &dyn Devices,
    assignment: &mut Assignment,
) -> Result<()> {
    let mut copies: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for &id in nodes {
        let Some(node) = graph.get(id) else { continue };
        let is_constant = |input: NodeId| graph.get(input).is_some_and(|n| n.role() == Role::Const && !is_in_host_memory(graph, input));
        let moved: Vec<(usize, NodeId)> = (0..node.num_inputs())
            .filter_map(|i| graph.input_node(id, i).map(|src| (i, src)))
            .filter(|&(i, src)| is_constant(src) && devices.input_memory(device, node, i) == Memory::Host)
            .collect();
        for (i, src) in moved {
            let copied = match copies.get(&src) {
                Some(&copied) => copied,
                None if assignment.device(src) != assignment.device(id) => continue,
                None => {
                    let copied = copy(graph, src, &[(HOST_MEMORY, true)])?;
                    assignment.set(copied, assignment.device(id));
                    copies.insert(src, copied);
                    copied
                }
            };
            graph.update_edge(copied.output(0), id, i)?;
        }
    }
    Ok(())
}

fn is_small(graph: &Graph, id: NodeId) -> bool {
    let value = graph.get(id).and_then(|node| node.attrs().get::<&TensorProto>("value").ok());
    value.is_some_and(|value| num_bytes(value) <= MAX_COPIED_BYTES)
}

/// Returns the size of a tensor's elements, which may be more than what its message has: an element that is repeated is there once.
fn num_bytes(value: &TensorProto) -> usize {
    let strings: usize = value.string_val.iter().map(|s| s.len() + size_of::<usize>()).sum();
    let num_elements = PartialShape::from_proto(value.tensor_shape.as_ref().unwrap_or(&TensorShapeProto::default())).num_elements();
    let size = DType::from_number(value.dtype).and_then(|dtype| dtype.size()).unwrap_or(size_of::<usize>());
    num_elements.map_or(usize::MAX, |n| n.saturating_mul(size)).max(strings).max(value.tensor_content.len())
}
