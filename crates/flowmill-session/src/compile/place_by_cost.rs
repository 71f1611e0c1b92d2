//! Device placement by the cost model: moves nodes from the devices that the placer chose to those with which the simulated step is shortest.

use super::{Environment, HOST, PlacedNodes, Placement, Unit};
use crate::session::{CostPlacement, PlacementPolicy};
use flowmill_cost::{Constraints, CostModel, DeviceSet, Machine, Schedule, Task, TaskGraph, place, simulate};
use flowmill_graph::{Effects, Graph, Node, NodeId, Role};
use flowmill_tensor::{Result, bail};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A step in simulated time.
#[derive(Clone, Debug)]
pub struct SimulatedStep {
    /// The session's devices.
    pub machine: Machine,
    /// The nodes that the step runs, with their costs.
    pub tasks: TaskGraph,
    /// The placement and its simulated schedule.
    pub schedule: Schedule,
}

impl SimulatedStep {
    /// Returns the names of the nodes with the numbers of their devices.
    pub(crate) fn placed_nodes(&self) -> PlacedNodes {
        self.tasks.tasks().iter().zip(&self.schedule.devices).map(|(task, &device)| (Arc::clone(&task.name), device)).collect()
    }
}

/// Returns the options for a unit that is placed by cost: a step of a session that has this policy and several devices.
pub(super) fn options<'a>(unit: &Unit<'_>, env: &'a Environment) -> Option<&'a CostPlacement> {
    match &env.options.placement {
        PlacementPolicy::CostModel(options) if unit.is_step() && !env.devices.is_host_alone() => Some(options),
        _ => None,
    }
}

/// Places the nodes of a step again, by cost. Returns the placement, and the devices of all nodes by name.
///
/// Nodes that request a device stay where the placer put them, and so do nodes with state: all signatures of a session must find a variable on one
/// device. A node moves only to devices with a kernel for it. If the unit's facts have the devices of an earlier placement, they are kept.
///
/// # Errors
/// Returns `InvalidArgument` for a machine that does not describe the session's devices, and `ResourceExhausted` if no placement within its memory
/// limits was found.
pub(super) fn place_by_cost(
    unit: &Unit<'_>,
    env: &Environment,
    options: &CostPlacement,
    rules: &Placement,
) -> Result<(Placement, Option<Arc<PlacedNodes>>)> {
    let placed = match &unit.by_cost.devices {
        Some(placed) => Arc::clone(placed),
        None => Arc::new(simulated_step(unit, env, options, rules)?.placed_nodes()),
    };
    let device = |(name, device): &(Arc<str>, usize)| {
        let node = unit.graph.find_node(name).filter(|_| *device != HOST && env.devices.get(*device).is_some())?;
        (!matches!(node.role(), Role::Arg | Role::Retval)).then_some((node.id(), *device))
    };
    let devices: FxHashMap<NodeId, usize> = placed.iter().filter_map(device).collect();
    Ok((if devices.is_empty() { Placement::Host } else { Placement::Several(devices) }, Some(placed)))
}

/// Simulates a step with the placement by cost, or with the earlier placement that the unit's facts have.
///
/// # Errors
/// Returns the errors of [`place_by_cost`].
pub(super) fn simulated_step(unit: &Unit<'_>, env: &Environment, options: &CostPlacement, rules: &Placement) -> Result<SimulatedStep> {
    let graph = &unit.graph;
    let machine = machine(env, options)?;
    let device_of = |node: NodeId| rules.device(node);
    let mut constraints = Constraints::none(graph);
    for node in graph.op_nodes() {
        let device = device_of(node.id());
        let candidates = if stays(node) { DeviceSet::only(device) } else { candidates(graph, node, env, device) };
        constraints.devices[node.id().index()] = candidates;
    }
    constraints.colocate(graph)?;
    constraints.keep_where_conflicting(graph, |node| DeviceSet::only(device_of(node)));
    let mut costs = CostModel::new(graph, &options.assumptions)?;
    if let Some(measured) = &unit.by_cost.measured {
        costs = costs.with_measurements(measured.clone());
    }
    let tasks = costs.tasks(graph, &machine, &constraints)?.tasks;
    let schedule = match &unit.by_cost.devices {
        None => place(&tasks, &machine, &options.search)?,
        Some(placed) => {
            let by_name: FxHashMap<&str, usize> = placed.iter().map(|(name, device)| (&**name, *device)).collect();
            let device = |task: &Task| by_name.get(&*task.name).copied().unwrap_or(HOST);
            simulate(&tasks, &machine, &tasks.tasks().iter().map(device).collect::<Vec<_>>())?
        }
    };
    Ok(SimulatedStep { machine, tasks, schedule })
}

/// Returns the starts of the nodes of a unit in the simulated schedule of their placement, by node id, in nanoseconds.
///
/// # Errors
/// Returns `InvalidArgument` for a machine that does not describe the session's devices, and for frames that do not fit together.
pub(super) fn start_times(graph: &Graph, env: &Environment, options: &CostPlacement, placed: &Placement) -> Result<Vec<Option<u64>>> {
    let machine = machine(env, options)?;
    let tasks = CostModel::new(graph, &options.assumptions)?.tasks(graph, &machine, &Constraints::none(graph))?;
    let devices: Vec<usize> = tasks.nodes.iter().map(|&node| placed.device(node)).collect();
    let schedule = simulate(&tasks.tasks, &machine, &devices)?;
    let mut times = vec![None; graph.num_node_ids()];
    tasks.nodes.iter().zip(schedule.start).for_each(|(node, start)| times[node.index()] = Some(start));
    Ok(times)
}

/// Returns true if a node keeps the device that the placer chose.
fn stays(node: &Node) -> bool {
    matches!(node.role(), Role::Arg | Role::Retval) || !node.device().is_empty() || node.traits().effects != Effects::None
}

/// Returns the devices that can run a node, and its own.
fn candidates(graph: &Graph, node: &Node, env: &Environment, own: usize) -> DeviceSet {
    let others = env.devices.iter().enumerate().filter(|(_, device)| env.devices.can_run(&device.device, graph, node)).map(|(i, _)| i);
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
