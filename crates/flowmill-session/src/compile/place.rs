//! Device placement by hand: a node runs on the device that it requests, or on the host if it requests none.

use super::{CallSite, HOST};
use crate::devices::Devices;
use crate::session::SessionOptions;
use flowmill_graph::{DeviceName, Graph, Node, NodeId, Role, TensorType};
use flowmill_runtime::plan::runs_on;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Error, Result, error};
use rustc_hash::{FxHashMap, FxHashSet};

/// The devices of the nodes of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// All on the host.
    Host,
    /// Each node's device, as an index into the session's devices. At least one node is on a device other than the host. Nodes without an entry are
    /// on the host.
    Several(FxHashMap<NodeId, usize>),
}

/// The part of a session's graph whose device names were checked before.
#[derive(Default)]
pub(crate) struct Checked(Mutex<Extent>);

#[derive(Default, Clone, Copy)]
struct Extent {
    rewrite_count: u64,
    num_node_ids: usize,
}

impl Checked {
    /// Checks the device names of nodes that were not checked before. The whole graph is checked, because TensorFlow places a graph before it prunes
    /// it unless `place_pruned_graph` is set.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for the first node whose device name is malformed, or whose device the session does not have.
    pub(crate) fn check(&self, graph: &Graph, devices: &Devices, options: &SessionOptions) -> Result<()> {
        let mut checked = self.0.lock();
        let now = Extent { rewrite_count: graph.rewrite_count(), num_node_ids: graph.num_node_ids() };
        let from = if checked.rewrite_count == now.rewrite_count { checked.num_node_ids } else { 0 };
        graph.op_nodes().filter(|n| n.id().index() >= from).try_for_each(|node| device_of(node, devices, options).map(drop))?;
        *checked = now;
        Ok(())
    }
}

/// Places the nodes of a graph. Arguments and results are placed on the device of the call, as are nodes that request no device, except those that
/// access a resource: they are placed where it is, whatever they request. With soft placement, nodes that their device cannot run are placed on the host.
///
/// # Errors
/// Returns `InvalidArgument` for a device name that is malformed, and for a device that the session does not have.
pub(super) fn by_hand(graph: &Graph, devices: &Devices, options: &SessionOptions, site: &CallSite) -> Result<Placement> {
    let mut placed = FxHashMap::default();
    let runs_on = |node, device| devices.get(device).is_some_and(|to| runs_on(node, &to.device, &devices.host().device, graph.library()));
    for node in graph.op_nodes().filter(|node| !matches!(node.role(), Role::Arg | Role::Retval) && !node.device().is_empty()) {
        let device = device_of(node, devices, options)?;
        if !options.allow_soft_placement || runs_on(node, device) {
            placed.insert(node.id(), device);
        }
    }
    let index = |node: &Node| node.attrs().get::<i64>("index").ok().filter(|_| node.role() == Role::Arg);
    let arg_at = |node: &Node| site.resources.iter().find(|(i, _)| index(node) == Some(*i as i64));
    let is_handle = |output: &TensorType| output.dtype == DType::Resource || output.is_ref;
    let makes_handle = |node: &&Node| {
        let is_known = node.role() != Role::Arg || arg_at(node).is_some();
        is_known && node.output_types().iter().any(is_handle) && !node.input_types().iter().any(is_handle)
    };
    let device_of = |node: &Node| arg_at(node).map(|(_, device)| *device).or(placed.get(&node.id()).copied()).unwrap_or(site.device);
    let mut followed: Vec<(NodeId, usize)> = graph.op_nodes().filter(makes_handle).map(|node| (node.id(), device_of(node))).collect();
    let mut seen = FxHashSet::default();
    while let Some((id, device)) = followed.pop() {
        for edge in graph.out_edges(id) {
            let Some(consumer) = graph.get(edge.dst).filter(|n| !matches!(n.role(), Role::Retval | Role::Call)) else { continue };
            let input = usize::try_from(edge.dst_input).ok().and_then(|i| consumer.input_types().get(i));
            if input.is_some_and(is_handle) && runs_on(consumer, device) && seen.insert(consumer.id()) {
                placed.insert(consumer.id(), device);
                followed.push((consumer.id(), device));
            }
        }
    }
    if site.device != HOST {
        for node in graph.op_nodes().filter(|node| runs_on(node, site.device)) {
            placed.entry(node.id()).or_insert(site.device);
        }
    }
    placed.retain(|_, device| *device != HOST);
    Ok(if placed.is_empty() { Placement::Host } else { Placement::Several(placed) })
}

/// Returns the index of the session's device that a node requests.
///
/// # Errors
/// Returns `InvalidArgument` for a malformed device name, and for a device that the session does not have. With soft placement, the host replaces
/// every missing device of this task.
pub(super) fn device_of(node: &Node, devices: &Devices, options: &SessionOptions) -> Result<usize> {
    if node.device().is_empty() {
        return Ok(HOST);
    }
    let at = |e: Error| e.at_node(node.name(), node.op());
    let Ok(wanted) = node.device().parse::<DeviceName>() else {
        return Err(at(error!(InvalidArgument, "Malformed device specification '{}' in node: {}", node.device(), node.name())));
    };
    if let Some(i) = devices.iter().position(|d| wanted.matches(&d.device.attributes().name)) {
        return Ok(i);
    }
    let in_this_task = DeviceName { device_type: None, device_id: None, ..wanted };
    if options.allow_soft_placement && in_this_task.matches(&DeviceName::local("CPU", 0)) {
        return Ok(HOST);
    }
    let available: Vec<String> = devices.iter().map(|d| d.device.attributes().name.to_string()).collect();
    Err(at(error!(
        InvalidArgument,
        "Cannot assign a device for operation {name}: {{{{node {name}}}}} was explicitly assigned to {} but available devices are [ {} ]. Make sure the device specification refers to a valid device, or allow soft placement.",
        node.device(),
        available.join(", "),
        name = node.name()
    )))
}
