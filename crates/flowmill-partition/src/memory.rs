//! The memory that tensors are in on a device whose memory is not the host's.
//!
//! Kernels take and leave some tensors in the host's memory, such as shapes. The executor and kernels that serve all devices pass tensors on in the
//! memory that they are in. Arguments of functions and the results of calls may be in either memory: they are where the caller or the body left them.
//! So a tensor is known to be on the host, known to be on the device, or not known.

use crate::{Assignment, Devices};
use flowmill_graph::{Edge, Graph, HOST_MEMORY, Node, NodeId, OutputId, Role};

/// The memory of a tensor on a device whose memory is not the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The host's.
    Host,
    /// The device's.
    Device,
    /// Any of the two. An output in either memory is one that the node passes on, or that comes from outside of the graph.
    Either,
}

/// The memories of the outputs of a graph's nodes.
pub(crate) struct OutputMemories<'a> {
    devices: &'a dyn Devices,
    /// The nodes, by id, that may pass a tensor on which is in the host's memory, although their devices have a memory of their own.
    passes_host_tensor: Vec<bool>,
}

impl<'a> OutputMemories<'a> {
    /// Follows the tensors of the graph from the nodes that make them through those that pass them on.
    pub(crate) fn new(graph: &Graph, assignment: &Assignment, devices: &'a dyn Devices) -> OutputMemories<'a> {
        let mut this = OutputMemories { devices, passes_host_tensor: Vec::new() };
        let passes_on = |id: NodeId| graph.get(id).is_some_and(|node| passes_on(node, assignment.device(id), devices));
        let passing: Vec<NodeId> = graph.op_nodes().map(Node::id).filter(|&id| passes_on(id)).collect();
        if passing.is_empty() {
            return this;
        }
        // The tensors that a node passes on, as far as they come from its device: those from elsewhere are received in the device's memory.
        let passed = |edge: &Edge| {
            let device = assignment.device(edge.dst);
            let takes_either = |node| devices.input_memory(device, node, edge.dst_input as usize) == Memory::Either;
            !edge.is_control() && assignment.device(edge.src) == device && graph.get(edge.dst).is_some_and(takes_either)
        };
        let comes_from_outside = |id| graph.get(id).is_some_and(|node| node.num_inputs() == 0 || graph.calls_functions(node));
        let is_made_on_host = |edge: &Edge| edge.source().is_some_and(|o| this.made_in(graph, assignment, o) == Some(Memory::Host));
        let takes_from_host = |id| graph.in_edges(id).any(|edge| passed(&edge) && is_made_on_host(&edge));
        let mut stack: Vec<NodeId> = passing.into_iter().filter(|&id| comes_from_outside(id) || takes_from_host(id)).collect();
        this.passes_host_tensor = vec![false; graph.num_node_ids()];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut this.passes_host_tensor[id.index()], true) {
                stack.extend(graph.out_edges(id).filter(passed).map(|edge| edge.dst).filter(|&dst| passes_on(dst)));
            }
        }
        this
    }

    /// Returns the memory of an output of a node, whose device has a memory of its own.
    pub(crate) fn of(&self, graph: &Graph, assignment: &Assignment, output: OutputId) -> Memory {
        match self.made_in(graph, assignment, output) {
            Some(memory) => memory,
            None if self.passes_host_tensor.get(output.node.index()).copied().unwrap_or(false) => Memory::Either,
            None => Memory::Device,
        }
    }

    /// Returns the memory that a node makes an output in, or `None` if it passes a tensor on.
    fn made_in(&self, graph: &Graph, assignment: &Assignment, output: OutputId) -> Option<Memory> {
        let node = graph.get(output.node)?;
        let memory = match node.role() {
            Role::Const if is_in_host_memory(graph, output.node) => Memory::Host,
            Role::Const => Memory::Device,
            // The executor makes the number of the chosen input.
            Role::Merge if output.slot == 1 => Memory::Host,
            _ => self.devices.output_memory(assignment.device(output.node), node, output.slot as usize),
        };
        (memory != Memory::Either).then_some(memory)
    }
}

/// Returns true if a node of a device with a memory of its own leaves an output in either memory.
fn passes_on(node: &Node, device: usize, devices: &dyn Devices) -> bool {
    let leaves_in_either = |i| devices.output_memory(device, node, i) == Memory::Either;
    !devices.is_host(device) && node.role() != Role::Const && (0..node.num_outputs()).any(leaves_in_either)
}

/// Returns true for a constant that has the attribute [`HOST_MEMORY`].
pub(crate) fn is_in_host_memory(graph: &Graph, id: NodeId) -> bool {
    graph.get(id).is_some_and(|node| node.role() == Role::Const && node.attrs().get_or(HOST_MEMORY, false).unwrap_or(false))
}
