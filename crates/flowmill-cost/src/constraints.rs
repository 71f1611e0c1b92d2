//! Constraints of a placement that follow from the graph alone.

use crate::loops::outermost_loops;
use crate::machine::Machine;
use crate::tasks::DeviceSet;
use flowmill_graph::{ControlFlow, DeviceName, Graph, Node, NodeId, Role};
use flowmill_tensor::{DType, Result};
use rustc_hash::FxHashMap;

/// The prefix of an entry of the attribute `_class` that names a node to be colocated with.
const LOCATION: &str = "loc:@";

/// The devices that each node may run on, and the nodes that must share one. Both lists are indexed by node id.
#[derive(Clone, Debug)]
pub struct Constraints {
    /// The devices that can run each node.
    pub devices: Vec<DeviceSet>,
    /// Nodes with equal numbers are on one device.
    pub groups: Vec<usize>,
}

impl Constraints {
    /// Returns constraints that allow everything.
    pub fn none(graph: &Graph) -> Constraints {
        let n = graph.num_node_ids();
        Constraints { devices: vec![DeviceSet::ALL; n], groups: (0..n).collect() }
    }

    /// Returns the constraints of a graph on a machine.
    ///
    /// * A node that requests devices of the machine runs on one of them; a request that matches none has no effect.
    /// * Placeholders, arguments and results are on the first CPU.
    /// * A reference or a resource and its readers are on one device, as are nodes that `_class` colocates.
    /// * All nodes of an outermost loop are on one device: every iteration of a loop over several devices would wait for messages between them.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for frames that do not fit together.
    pub fn of_graph(graph: &Graph, machine: &Machine) -> Result<Constraints> {
        let names: Vec<DeviceName> = machine.devices().iter().filter_map(|d| d.name.split_once(':').and_then(local_name)).collect();
        let all: DeviceSet = (0..machine.num_devices()).collect();
        let host = DeviceSet::only(machine.devices().iter().position(|d| d.device_type() == "CPU").unwrap_or(0));
        let mut constraints = Constraints::none(graph);
        for node in graph.op_nodes() {
            let requested = requested(node, &names).unwrap_or(all);
            let is_at_host = matches!(node.role(), Role::Arg | Role::Retval | Role::Placeholder);
            constraints.devices[node.id().index()] = if is_at_host { host } else { requested };
        }
        constraints.colocate(graph)?;
        constraints.keep_where_conflicting(graph, |_| all);
        Ok(constraints)
    }

    /// Joins the groups of nodes that must be on one device: the ends of edges that carry references or resources, nodes that `_class` names, and all
    /// nodes of each outermost loop.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for frames that do not fit together.
    pub fn colocate(&mut self, graph: &Graph) -> Result<()> {
        for edge in graph.edges().filter(|e| e.src > NodeId::SINK && e.dst > NodeId::SINK) {
            let Some(tensor) = edge.source() else { continue };
            let t = graph.output_type(tensor)?;
            if t.is_ref || t.dtype == DType::Resource {
                self.join(edge.src, edge.dst);
            }
        }
        for node in graph.op_nodes() {
            let classes: Vec<&str> = node.attrs().list("_class").unwrap_or_default();
            for other in classes.iter().filter_map(|class| graph.find_node(class.strip_prefix(LOCATION)?)) {
                self.join(node.id(), other.id());
            }
        }
        let mut first_of_loop: FxHashMap<u32, NodeId> = FxHashMap::default();
        for (node, frame) in outermost_loops(graph, &ControlFlow::new(graph)?) {
            let first = *first_of_loop.entry(frame).or_insert(node);
            self.join(first, node);
        }
        for i in 0..self.groups.len() {
            self.groups[i] = self.find(i);
        }
        Ok(())
    }

    /// Replaces the devices of all nodes of a group by `devices`, if no device can run all of its nodes. For a group that then still has no device in
    /// common, the nodes become groups of their own.
    pub fn keep_where_conflicting(&mut self, graph: &Graph, devices: impl Fn(NodeId) -> DeviceSet) {
        for is_second in [false, true] {
            let mut common: FxHashMap<usize, DeviceSet> = FxHashMap::default();
            for node in graph.op_nodes() {
                let set = common.entry(self.groups[node.id().index()]).or_insert(DeviceSet::ALL);
                *set = set.and(self.devices[node.id().index()]);
            }
            let is_conflict = |group: usize| common.get(&group).is_some_and(|set| set.is_empty());
            for node in graph.op_nodes() {
                let i = node.id().index();
                if is_conflict(self.groups[i]) {
                    if is_second {
                        // The number of the node itself may be that of the whole group.
                        self.groups[i] = graph.num_node_ids() + i;
                    }
                    self.devices[i] = devices(node.id());
                }
            }
        }
    }

    fn find(&mut self, mut node: usize) -> usize {
        while self.groups[node] != node {
            self.groups[node] = self.groups[self.groups[node]];
            node = self.groups[node];
        }
        node
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a.index()), self.find(b.index()));
        self.groups[a.max(b)] = a.min(b);
    }
}

fn local_name((device_type, number): (&str, &str)) -> Option<DeviceName> {
    Some(DeviceName::local(device_type, number.parse().ok()?))
}

/// Returns the devices that a node requests; `None` if it requests none, or none of these.
fn requested(node: &Node, names: &[DeviceName]) -> Option<DeviceSet> {
    if node.device().is_empty() {
        return None;
    }
    let wanted: DeviceName = node.device().parse().ok()?;
    let matching: Vec<usize> = names.iter().enumerate().filter(|(_, name)| wanted.matches(name)).map(|(i, _)| i).collect();
    (!matching.is_empty()).then(|| matching.into_iter().collect())
}
