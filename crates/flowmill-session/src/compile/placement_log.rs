//! The log of devices that nodes were placed on ([`SessionOptions::log_device_placement`](crate::SessionOptions::log_device_placement)).

use crate::devices::Devices;
use flowmill_graph::{Graph, NodeId, Role};
use flowmill_tensor::sync::Mutex;
use rustc_hash::FxHashSet;
use std::fmt::Write as _;
use std::io::Write as _;

/// The log of a session's placements.
#[derive(Default)]
pub(crate) struct PlacementLog {
    /// The lines that were written. The nodes of several signatures are logged once.
    written: Mutex<FxHashSet<String>>,
}

impl PlacementLog {
    /// Writes a line for each node of a graph to standard output, in TensorFlow's form: `name: (Op): device`. Nodes whose line was written before are
    /// left out, as are the arguments and results of steps and functions. `device_of` returns the number of a node's device.
    pub(crate) fn log(&self, graph: &Graph, device_of: impl Fn(NodeId) -> usize, devices: &Devices) {
        let names: Vec<String> = devices.iter().map(|device| device.device.attributes().name.to_string()).collect();
        let mut text = String::new();
        let mut written = self.written.lock();
        for node in graph.op_nodes().filter(|node| !matches!(node.role(), Role::Arg | Role::Retval)) {
            let device = names.get(device_of(node.id())).map_or("", String::as_str);
            let line = format!("{}: ({}): {device}", node.name(), node.op());
            if !written.contains(&line) {
                let _ = writeln!(text, "{line}");
                written.insert(line);
            }
        }
        drop(written);
        // A closed output is no reason for a step to fail.
        let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    }
}
