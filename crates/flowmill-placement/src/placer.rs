//! The assignment of devices to nodes.

use crate::candidates::Candidates;
use crate::colocate::Colocation;
use crate::types::Kernels;
use flowmill_graph::{DeviceName, Graph, Node, NodeId, Role};
use flowmill_tensor::{Result, bail, error};
use rustc_hash::FxHashMap;

/// Options of [`place`].
#[derive(Clone, Copy)]
pub struct PlaceOptions<'a> {
    /// Ignore the type and the number of a requested device, and `_class`, where they cannot be satisfied.
    pub allow_soft_placement: bool,
    /// The device to prefer over all others, if a group may be placed on it.
    pub default_device: Option<usize>,
    /// The devices of nodes that have been placed before, by number. They bind the groups of these nodes.
    pub assigned: &'a FxHashMap<NodeId, usize>,
    /// The number of a device for the arguments and results of the graph, which then take no part in the placement unless they are in `assigned`.
    /// `None` places them like other nodes.
    pub boundary_device: Option<usize>,
}

impl PlaceOptions<'_> {
    /// Returns true if the device of a node is given and has no influence on others.
    pub(crate) fn is_fixed(&self, node: &Node) -> bool {
        self.boundary_device.is_some() && matches!(node.role(), Role::Arg | Role::Retval) && !self.assigned.contains_key(&node.id())
    }
}

/// The devices of a graph's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The numbers of the devices by the ids of nodes; [`Placement::NONE`] for ids without a node.
    devices: Vec<u32>,
    groups: Vec<usize>,
}

impl Placement {
    const NONE: u32 = u32::MAX;

    /// Returns the number of a node's device, or `None` if the node was not in the graph.
    pub fn device(&self, node: NodeId) -> Option<usize> {
        self.devices.get(node.index()).filter(|&&device| device != Placement::NONE).map(|&device| device as usize)
    }

    /// Returns the numbers of the devices by the ids of their nodes, `None` for ids without a node.
    pub fn devices(&self) -> impl Iterator<Item = Option<usize>> {
        self.devices.iter().map(|&device| (device != Placement::NONE).then_some(device as usize))
    }

    /// Places a node where another one is.
    pub fn place_with(&mut self, node: NodeId, other: NodeId) {
        let device = self.devices.get(other.index()).copied();
        if let (Some(device), Some(place)) = (device, self.devices.get_mut(node.index())) {
            *place = device;
        }
    }

    /// Forgets the nodes whose ids are not below `num_node_ids`.
    pub fn truncate(&mut self, num_node_ids: usize) {
        self.devices.truncate(num_node_ids);
        self.groups.truncate(num_node_ids);
    }

    /// Returns for each id of a node a number that the nodes of its group have in common.
    pub fn groups(&self) -> &[usize] {
        &self.groups
    }
}

/// Assigns a device to each node of a graph, by its index in `devices`. `_SOURCE` and `_SINK` are placed on the first device of a host type.
///
/// # Errors
/// Returns `FailedPrecondition` if there are no devices; `InvalidArgument` for a malformed request, a node without a kernel, nodes that must share a
/// device and cannot, and requests that no device satisfies; `Internal` for an assigned device that does not exist or has no kernel for its node.
pub fn place(graph: &Graph, devices: &[DeviceName], kernels: &dyn Kernels, options: &PlaceOptions<'_>) -> Result<Placement> {
    if devices.is_empty() {
        bail!(FailedPrecondition, "No devices are registered");
    }
    let colocation = Colocation::new(graph, kernels, devices, options)?;
    let is_host = |device: &DeviceName| device.device_type.as_deref().is_some_and(|name| kernels.is_host(name));
    let host = devices.iter().position(is_host).unwrap_or(0) as u32;
    let mut placer = Placer { colocation, candidates: Candidates::default(), devices: vec![Placement::NONE; graph.num_node_ids()] };
    for node in graph.nodes().filter(|node| node.is_source_or_sink()) {
        placer.devices[node.id().index()] = host;
    }
    if let Some(device) = options.boundary_device {
        for node in graph.op_nodes().filter(|node| options.is_fixed(node)) {
            placer.devices[node.id().index()] = device as u32;
        }
    }
    placer.run()?;
    let groups = (0..graph.num_node_ids()).map(|id| placer.colocation.groups.root(NodeId(id as u32)).index()).collect();
    Ok(Placement { devices: placer.devices, groups })
}

struct Placer<'a> {
    colocation: Colocation<'a>,
    candidates: Candidates,
    devices: Vec<u32>,
}

impl Placer<'_> {
    fn run(&mut self) -> Result<()> {
        let mut generators = Vec::new();
        for node in self.colocation.nodes() {
            if let Some(&device) = self.colocation.options.assigned.get(&node.id()) {
                self.assign(node, device as u32)?;
            } else if is_generator(node) {
                // Its consumers are placed first.
                generators.push(node);
            } else {
                let candidates = self.candidates.of(&mut self.colocation, node)?;
                let preferred = if self.follows_input(node) { self.device_of_first_input(node) } else { None };
                self.assign(node, preferred.filter(|device| candidates.contains(device)).unwrap_or(candidates[0]))?;
            }
        }
        for node in generators {
            let candidates = self.candidates.of(&mut self.colocation, node)?;
            let preferred = self.device_of_all_consumers(node).filter(|device| candidates.contains(device));
            self.assign(node, preferred.unwrap_or(candidates[0]))?;
        }
        Ok(())
    }

    /// Places a node, and binds its group to the device.
    fn assign(&mut self, node: &Node, device: u32) -> Result<()> {
        self.devices[node.id().index()] = device;
        let Some(name) = self.colocation.devices.get(device as usize) else { return Ok(()) };
        let groups = &mut self.colocation.groups;
        let root = groups.root(node.id());
        let (requests, _) = groups.key(root);
        let requests = groups.requests.assign(requests, device, name).map_err(|e| {
            error!(Internal, "Constraining by assigned device should not cause an error: {}", e.message()).at_node(node.name(), node.op())
        })?;
        groups.set_requests(root, requests);
        Ok(())
    }

    /// Returns true if a node is placed with the producer of its input: if it only reads a shape, or passes a tensor on between two nodes with the same
    /// request.
    fn follows_input(&self, node: &Node) -> bool {
        let traits = node.traits();
        if traits.reads_shape && node.num_inputs() == 1 && node.num_outputs() == 1 && !node.attrs().contains("N") {
            return true;
        }
        let graph = self.colocation.graph;
        let is_identity = node.is_op("Identity") || node.is_op("RefIdentity");
        if !is_identity || !node.device().is_empty() || graph.control_inputs(node.id()).any(|input| input != NodeId::SOURCE) {
            return false;
        }
        let request = |id: NodeId| graph.get(id).map_or("", Node::device);
        let Some(input) = graph.input_node(node.id(), 0) else { return false };
        let mut outputs = graph.out_edges(node.id()).filter(|edge| edge.dst != NodeId::SINK).map(|edge| edge.dst);
        let output = outputs.next();
        outputs.next().is_none() && request(input) == output.map_or("", request)
    }

    fn device_of_first_input(&self, node: &Node) -> Option<u32> {
        let input = self.colocation.graph.input_node(node.id(), 0)?;
        self.devices.get(input.index()).copied().filter(|&device| device != Placement::NONE)
    }

    /// Returns the device of all consumers, control edges included, or `None` if they are on different devices, not placed yet, or if there are none.
    fn device_of_all_consumers(&self, node: &Node) -> Option<u32> {
        let consumers = self.colocation.graph.out_edges(node.id()).filter_map(|edge| self.colocation.graph.get(edge.dst));
        let mut devices = consumers
            .filter(|consumer| !consumer.is_source_or_sink() && !self.colocation.options.is_fixed(consumer))
            .map(|consumer| self.devices[consumer.id().index()]);
        let first = devices.next().filter(|&device| device != Placement::NONE)?;
        devices.all(|device| device == first).then_some(first)
    }
}

/// Returns true if a node has no inputs and one output, which is not a reference.
fn is_generator(node: &Node) -> bool {
    node.num_inputs() == 0 && matches!(node.output_types(), [output] if !output.is_ref)
}
