//! Device placement by the cost model: moves nodes from the devices that the placer chose to those with which the simulated step is shortest.

use super::{Environment, HOST, Placement, Unit};
use crate::session::CostPlacement;
use flowmill_cost::{Constraints, CostModel, DeviceSet, Machine, place};
use flowmill_graph::{Effects, Graph, Node, NodeId, Role};
use flowmill_runtime::plan::runs_on;
use flowmill_tensor::{Result, bail};
use rustc_hash::FxHashMap;

/// Places the nodes of a step again, by cost.
///
/// Nodes that request a device stay where the placer put them, and so do nodes with state: all signatures of a session must find a variable on one
/// device. A node moves only to devices with a kernel for it.
///
/// # Errors
/// Returns `InvalidArgument` for a machine that does not describe the session's devices, and `ResourceExhausted` if no placement within its memory
/// limits was found.
pub(super) fn place_by_cost(unit: &Unit<'_>, env: &Environment, options: &CostPlacement, placed: &Placement) -> Result<Placement> {
    let graph = &unit.graph;
    let machine = machine(env, options)?;
    let device_of = |node: NodeId| match placed {
        Placement::Host => HOST,
        Placement::Several(devices) => devices.get(&node).copied().unwrap_or(HOST),
    };
    let mut constraints = Constraints::none(graph);
    for node in graph.op_nodes() {
        let device = device_of(node.id());
        let candidates = if stays(node) { DeviceSet::only(device) } else { candidates(graph, node, env, device) };
        constraints.devices[node.id().index()] = candidates;
    }
    constraints.colocate(graph)?;
    constraints.keep_where_conflicting(graph, |node| DeviceSet::only(device_of(node)));
    let costs = CostModel::new(graph, &options.assumptions)?;
    let tasks = costs.tasks(graph, &machine, &constraints)?;
    let schedule = place(&tasks.tasks, &machine, &options.search)?;
    let moved = tasks.nodes.iter().zip(&schedule.devices).filter(|(_, device)| **device != HOST);
    let is_boundary = |node: &NodeId| graph.get(*node).is_some_and(|node| matches!(node.role(), Role::Arg | Role::Retval));
    let devices: FxHashMap<NodeId, usize> = moved.filter(|(node, _)| !is_boundary(node)).map(|(&node, &device)| (node, device)).collect();
    Ok(if devices.is_empty() { Placement::Host } else { Placement::Several(devices) })
}

/// Returns true if a node keeps the device that the placer chose.
fn stays(node: &Node) -> bool {
    matches!(node.role(), Role::Arg | Role::Retval) || !node.device().is_empty() || node.traits().effects != Effects::None
}

/// Returns the devices that can run a node: its own, and those with a kernel for it.
fn candidates(graph: &Graph, node: &Node, env: &Environment, own: usize) -> DeviceSet {
    let host = &env.devices.host().device;
    let can_run = |device: &std::sync::Arc<dyn flowmill_runtime::Device>| {
        // The tensors of a node without a kernel may be of a type that only the host has.
        (device.is_host() || device.kernels().contains(node.op())) && runs_on(node, device, host, graph.library())
    };
    let others = env.devices.iter().enumerate().filter(|(_, device)| can_run(&device.device)).map(|(i, _)| i);
    others.chain([own]).collect()
}

/// Returns the description of the session's devices, in their order.
fn machine(env: &Environment, options: &CostPlacement) -> Result<Machine> {
    let names: Vec<(String, usize)> = env
        .devices
        .iter()
        .map(|device| {
            let name = &device.device.attributes().name;
            (device.device.attributes().device_type().to_owned(), name.device_id.map_or(0, |id| id as usize))
        })
        .collect();
    let Some(machine) = &options.machine else {
        let mut types: Vec<(String, usize)> = Vec::new();
        for (device_type, _) in &names {
            match types.iter_mut().find(|(known, _)| known == device_type) {
                Some((_, count)) => *count += 1,
                None => types.push((device_type.clone(), 1)),
            }
        }
        return Machine::usual(&types);
    };
    let described: Vec<&str> = machine.devices().iter().map(|device| device.name.as_str()).collect();
    let wanted: Vec<String> = names.iter().map(|(device_type, id)| format!("{device_type}:{id}")).collect();
    if described != wanted {
        bail!(
            InvalidArgument,
            "the machine's description has the devices {}, but the session has {}",
            described.join(", "),
            wanted.join(", ")
        );
    }
    Ok(machine.as_ref().clone())
}
