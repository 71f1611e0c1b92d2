//! Device placement: asks the placer about a session's graph, with the session's devices and kernels.
//!
//! Like TensorFlow, a session places its whole graph before it prunes it for a step, unless `place_pruned_graph` is set. So a node has one device in all
//! steps. What a step adds (copies of functions' bodies) is placed with the rest of the step.

use super::{Environment, HOST, Unit};
use crate::devices::Devices;
use flowmill_graph::{DeviceName, Graph, Node, NodeId, Role};
use flowmill_optimize::Options;
use flowmill_placement::{Kernels, PlaceOptions, place};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Bytes, Result};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The devices of the nodes of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// All on the host.
    Host,
    /// Each node's device, as an index into the session's devices. At least one node is on a device other than the host. Nodes without an entry are
    /// on the host.
    Several(FxHashMap<NodeId, usize>),
}

impl Placement {
    /// Returns the number of a node's device.
    pub(super) fn device(&self, node: NodeId) -> usize {
        match self {
            Placement::Host => HOST,
            Placement::Several(devices) => devices.get(&node).copied().unwrap_or(HOST),
        }
    }
}

/// The devices of the nodes of a session's whole graph, by the nodes' ids.
pub(crate) type Placed = Arc<flowmill_placement::Placement>;

/// The placement of a session's whole graph, which grows with the graph.
#[derive(Default)]
pub(crate) struct GraphPlacement(Mutex<State>);

#[derive(Default)]
struct State {
    rewrite_count: u64,
    /// Nodes with smaller ids have been placed, or were found to fit the only device.
    num_node_ids: usize,
    /// The version of the graph that `placed` is for.
    change_count: u64,
    placed: Option<Placed>,
}

impl GraphPlacement {
    /// Places the nodes of a graph. Nodes with state that were placed before stay where they are. Returns `None` if the host is the only device.
    ///
    /// # Errors
    /// Returns the errors of [`place`].
    pub(crate) fn update(&self, graph: &Graph, env: &Environment) -> Result<Option<Placed>> {
        let mut state = self.0.lock();
        let is_rewritten = state.rewrite_count != graph.rewrite_count();
        if env.devices.is_host_alone() {
            let from = if is_rewritten { 0 } else { state.num_node_ids };
            let mut new = graph.op_nodes().skip_while(|node| node.id().index() < from);
            if !new.all(|node| requests_only(node, env)) {
                // The placer decides between soft placement and an error.
                assign_whole(graph, env, &FxHashMap::default())?;
            }
        } else if is_rewritten || state.placed.is_none() || state.change_count != graph.change_count() {
            let assigned = match &state.placed {
                Some(placed) if !is_rewritten => with_state(graph, |id| placed.device(id)),
                _ => FxHashMap::default(),
            };
            state.placed = Some(Arc::new(assign_lowered(graph, env, &assigned)?));
        }
        (state.rewrite_count, state.num_node_ids, state.change_count) = (graph.rewrite_count(), graph.num_node_ids(), graph.change_count());
        Ok(state.placed.clone())
    }
}

/// Returns true if a node's request leaves no choice but the only device of a session.
fn requests_only(node: &Node, env: &Environment) -> bool {
    let name = &env.devices.host().device.attributes().name;
    node.device().is_empty() || DeviceName::parse_requested(node.device()).is_ok_and(|wanted| wanted.matches(name))
}

/// Places the nodes of a unit. Arguments and results are placed on the device of the call; users of an argument's resource where the resource is.
///
/// # Errors
/// Returns the errors of [`place`].
pub(super) fn place_unit(unit: &Unit<'_>, env: &Environment) -> Result<Placement> {
    let (graph, site) = (&unit.graph, &unit.site);
    let known = |id: NodeId| unit.placed.as_ref()?.device(id);
    let resources: FxHashMap<NodeId, usize> =
        graph.op_nodes().filter_map(|node| Some((node.id(), site.device_of_resource(node)?))).collect();
    let mut assigned: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut are_all_known = true;
    for node in graph.op_nodes().filter(|node| !is_boundary(node)) {
        match known(node.id()) {
            Some(device) => drop(assigned.insert(node.id(), device)),
            None => are_all_known = false,
        }
    }
    if !are_all_known {
        let options = PlaceOptions {
            allow_soft_placement: env.options.allow_soft_placement,
            // In a body, nodes that may be on the device of the call are.
            default_device: (!unit.is_step()).then_some(site.device),
            assigned: &FxHashMap::default(),
            boundary_device: Some(site.device),
        };
        let try_with = |mut assigned: FxHashMap<NodeId, usize>| {
            assigned.extend(&resources);
            assign(graph, env, &PlaceOptions { assigned: &assigned, ..options })
        };
        let has_known = !assigned.is_empty();
        let placed = match try_with(std::mem::take(&mut assigned)) {
            Ok(placed) => placed,
            // The bodies of functions may bring nodes together that are not in one group in the graph that calls the functions.
            Err(_) if has_known => try_with(with_state(graph, known))?,
            Err(e) => return Err(e),
        };
        let nodes = graph.op_nodes().filter(|node| !is_boundary(node));
        assigned = nodes.filter_map(|node| Some((node.id(), placed.device(node.id())?))).collect();
    }
    assigned.extend(graph.op_nodes().filter(|node| is_boundary(node)).map(|node| (node.id(), site.device)));
    assigned.retain(|_, device| *device != HOST);
    Ok(if assigned.is_empty() { Placement::Host } else { Placement::Several(assigned) })
}

/// Places a session's whole graph. As in TensorFlow, branches and loops that are functions are lowered before: their inputs meet the nodes of the
/// lowered form, and not the node that calls the functions.
fn assign_lowered(graph: &Graph, env: &Environment, assigned: &FxHashMap<NodeId, usize>) -> Result<flowmill_placement::Placement> {
    let calls: Vec<&Node> = graph.op_nodes().filter(|node| flowmill_optimize::is_marked(node)).collect();
    if calls.is_empty() || !env.options.optimize || !env.options.lower {
        return assign_whole(graph, env, assigned);
    }
    let mut lowered = graph.clone();
    let mut substitutes = Vec::with_capacity(calls.len());
    for call in calls {
        // Has no edges, and so the device that the call requests, or that of the nodes that the call is colocated with.
        let name = lowered.new_name(call.name());
        let mut s: Vec<Bytes> =
            call.attrs().list::<&str>("_class").unwrap_or_default().into_iter().map(|group| group.to_owned().into()).collect();
        s.push(format!("loc:@{}", call.name()).into());
        let attr = [("_class".into(), Value::List(Box::new(ListValue { s, ..ListValue::default() })).into())].into_iter().collect();
        let def = NodeDef { name, op: "NoOp".into(), device: call.device().into(), attr, ..NodeDef::default() };
        substitutes.push((call.id(), lowered.add_node(def)?));
    }
    flowmill_optimize::lower_marked(&mut lowered, &Options { disabled: &env.options.disabled_passes, ..Options::default() });
    let mut placed = assign_whole(&lowered, env, assigned)?;
    for (call, substitute) in substitutes {
        if lowered.get(call).is_none() {
            placed.place_with(call, substitute);
        }
    }
    placed.truncate(graph.num_node_ids());
    Ok(placed)
}

/// Asks the placer about a session's whole graph.
fn assign_whole(graph: &Graph, env: &Environment, assigned: &FxHashMap<NodeId, usize>) -> Result<flowmill_placement::Placement> {
    let allow_soft_placement = env.options.allow_soft_placement;
    assign(graph, env, &PlaceOptions { allow_soft_placement, default_device: None, assigned, boundary_device: Some(HOST) })
}

fn assign(graph: &Graph, env: &Environment, options: &PlaceOptions<'_>) -> Result<flowmill_placement::Placement> {
    let names: Vec<DeviceName> = env.devices.iter().map(|d| d.device.attributes().name.clone()).collect();
    place(graph, &names, &SessionKernels { devices: &env.devices, graph }, options)
}

/// Returns the devices of the nodes that have state and were placed before.
fn with_state(graph: &Graph, device: impl Fn(NodeId) -> Option<usize>) -> FxHashMap<NodeId, usize> {
    let nodes = graph.op_nodes().filter(|node| node.op_def().is_stateful());
    nodes.filter_map(|node| Some((node.id(), device(node.id())?))).collect()
}

fn is_boundary(node: &Node) -> bool {
    matches!(node.role(), Role::Arg | Role::Retval)
}

/// The kernels of a session's devices.
struct SessionKernels<'a> {
    devices: &'a Devices,
    graph: &'a Graph,
}

impl SessionKernels<'_> {
    /// Returns true if the engine can run a node on the devices of this type.
    fn runs_on(&self, node: &Node, device_type: &str) -> bool {
        let found = self.devices.iter().find(|d| d.device.attributes().device_type() == device_type);
        found.is_some_and(|found| self.devices.can_run(&found.device, self.graph, node))
    }
}

impl Kernels for SessionKernels<'_> {
    fn priority(&self, node: &Node, device_type: &str) -> Option<i32> {
        let is_host = self.is_host(device_type);
        if self.runs_on(node, device_type) {
            return Some(0);
        }
        // A node that no device can run is an error of the steps that need it, and of no others.
        let others = || self.devices.iter().map(|d| d.device.attributes().device_type()).filter(|other| *other != device_type);
        (is_host && !others().any(|other| self.runs_on(node, other))).then_some(0)
    }

    fn registered(&self, op: &str) -> Vec<String> {
        let mut types: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for device in self.devices.iter() {
            let device_type = device.device.attributes().device_type();
            if types.contains(&device_type) {
                continue;
            }
            types.push(device_type);
            for def in device.device.kernels().defs(op) {
                let mut text = format!("device='{device_type}'");
                for (attr, dtypes) in def.constraints() {
                    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
                    text += &format!("; {attr} in [{}]", names.join(", "));
                }
                found.push(text);
            }
        }
        found
    }
}
