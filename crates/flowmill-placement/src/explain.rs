//! Error messages that say which nodes, requests and device types contradict each other.

use crate::colocate::Colocation;
use crate::types::Kernels;
use flowmill_graph::{DeviceName, Node, NodeId};
use flowmill_tensor::{Error, error};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most nodes of a group that a message lists.
const MAX_LISTED: usize = 50;

impl Colocation<'_> {
    /// Returns a description of the group with this root: its ops with the types that support them, and its nodes with their requests.
    pub(crate) fn describe_group(&mut self, root: NodeId) -> String {
        let mut nodes: Vec<&Node> = self.nodes().collect();
        nodes.retain(|node| self.groups.root(node.id()) == root);
        let (requests, _) = self.groups.key(root);
        let (requests, types) = (self.groups.requests.get(requests), &self.types);
        let mut ops: BTreeMap<&str, String> = BTreeMap::new();
        for node in &nodes {
            ops.entry(node.op()).or_insert_with(|| types.describe(&types.supporting(node, self.kernels)));
        }
        let mut text = "\nColocation Debug Info:\nColocation group had the following types and supported devices: ".to_owned();
        let _ = write!(
            text,
            "\nRoot node='{}' requested_device_name_='{}' assigned_device_name_='{}' resource_device_name_='{}' supported_device_types_=[{}]",
            self.graph.get(root).map_or("", Node::name),
            requests.requested,
            requests.assigned,
            requests.resource,
            types.describe(self.groups.types(root)).replace(' ', ", ")
        );
        for (op, types) in ops {
            let _ = write!(text, "\n{op}: {types} ");
        }
        text += "\n\nColocation members, user-requested devices, and framework assigned devices, if any:";
        for node in nodes.iter().take(MAX_LISTED) {
            let _ = write!(text, "\n  {} ({}) {}", node.name(), node.op(), node.device());
            if let Some(device) = self.options.assigned.get(&node.id()).and_then(|&d| self.devices.get(d)) {
                let _ = write!(text, " framework assigned device={device}");
            }
        }
        if nodes.len() > MAX_LISTED {
            let _ = write!(text, "\n  and {} more", nodes.len() - MAX_LISTED);
        }
        text.push('\n');
        text
    }

    /// Returns the error for a node that no device can run, in a group that requests no device.
    pub(crate) fn no_device(&mut self, node: &Node, root: NodeId) -> Error {
        let inputs: Vec<String> = node.input_types().iter().map(ToString::to_string).collect();
        let (op, inputs, group) = (node.op(), inputs.join(", "), self.describe_group(root));
        cannot_assign(
            node,
            format_args!(
                "Node had no OpKernel registered to support this operation: Operation was {op} and inputs were [{inputs}].\n{group}"
            ),
        )
    }

    /// Returns the error for a node whose group requests a device that does not exist or cannot run the group.
    pub(crate) fn unsatisfied(&mut self, node: &Node, root: NodeId) -> Error {
        let group = self.describe_group(root);
        let (requests, _) = self.groups.key(root);
        let requested = &self.groups.requests.get(requests).requested;
        let (name, wanted, devices) = (node.name(), node.device(), self.devices);
        let all = names(devices);
        if DeviceName::parse_requested(wanted).is_ok_and(|own| own == *requested) {
            if !devices.iter().any(|device| requested.matches(device)) {
                let asks_for_gpu = requested.device_type.as_deref() == Some("GPU") && !self.types.names().iter().any(|t| t == "GPU");
                let hint = if asks_for_gpu { " The requested device appears to be a GPU, but CUDA is not enabled." } else { "" };
                return cannot_assign(
                    node,
                    format_args!(
                        "{{{{node {name}}}}} was explicitly assigned to {wanted} but available devices are [ {all} ]. Make sure the device specification refers to a valid device.{hint}"
                    ),
                );
            }
            if let Some(device_type) = &requested.device_type {
                let kernels = registered(node.op(), self.kernels);
                return cannot_assign(
                    node,
                    format_args!(
                        "Could not satisfy explicit device specification '{wanted}' because no supported kernel for {device_type} devices is available.{group}\nOp: {}\nNode attrs: {}\nRegistered kernels:\n{kernels}",
                        node.op(),
                        attrs(node)
                    ),
                );
            }
            return cannot_assign(node, format_args!("Could not satisfy explicit device specification '{wanted}'{group}"));
        }
        cannot_assign(
            node,
            format_args!(
                "Could not satisfy explicit device specification '{wanted}' because the node {{{{colocation_node {name}}}}} was colocated with a group of nodes that required incompatible device '{requested}'. All available devices [{all}]. {group}"
            ),
        )
    }
}

fn cannot_assign(node: &Node, reason: std::fmt::Arguments<'_>) -> Error {
    error!(InvalidArgument, "Cannot assign a device for operation {}: {reason}", node.name()).at_node(node.name(), node.op())
}

/// Returns the error for a node that has no kernel for any device.
pub(crate) fn no_kernel(node: &Node, types: &[String], kernels: &dyn Kernels) -> Error {
    let types: BTreeSet<&str> = types.iter().map(String::as_str).collect();
    let types: Vec<&str> = types.into_iter().collect();
    error!(
        InvalidArgument,
        "No OpKernel was registered to support Op '{}' used by {{{{node {}}}}} with these attrs: [{}]\nRegistered devices: [{}]\nRegistered kernels:\n{}",
        node.op(),
        node.name(),
        attrs(node),
        types.join(", "),
        registered(node.op(), kernels)
    )
    .at_node(node.name(), node.op())
}

fn registered(op: &str, kernels: &dyn Kernels) -> String {
    let kernels = kernels.registered(op);
    if kernels.is_empty() {
        return "  <no registered kernels>\n".to_owned();
    }
    kernels.iter().map(|kernel| format!("  {kernel}\n")).collect()
}

fn attrs(node: &Node) -> String {
    let attrs = node.attrs().iter().map(|(name, value)| format!("{name}={}", flowmill_graph::text::AttrText(value)));
    attrs.collect::<Vec<_>>().join(", ")
}

/// Returns the names of devices, sorted.
pub(crate) fn names(devices: &[DeviceName]) -> String {
    let mut names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    names.join(", ")
}
