//! The log of devices that nodes were placed on ([`SessionOptions::log_device_placement`](crate::SessionOptions::log_device_placement)).
//!
//! The line of a node is written, as in TensorFlow, to standard output and, as a message of level `INFO`, to standard error; the physical devices are
//! written to standard error when the session is made. The environment variable `TF_CPP_MIN_LOG_LEVEL` suppresses messages of lower levels.

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
    /// Writes a line for each node of a graph, in TensorFlow's form: `name: (Op): device`. Nodes whose line was written before are left out, as are the
    /// arguments and results of steps and functions. `device_of` returns the number of a node's device.
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
        write_info(text.lines());
    }

    /// Writes the physical device behind each device that has a description.
    pub(crate) fn log_devices(devices: &Devices) {
        let described = devices.iter().map(|device| device.device.attributes()).filter(|attributes| !attributes.description.is_empty());
        let lines: Vec<String> = described.map(|attributes| format!("{} -> {}", attributes.name, attributes.description)).collect();
        let known = if lines.is_empty() { " no known devices.".to_owned() } else { format!("\n{}", lines.join("\n")) };
        write_info([format!("Device mapping:{known}").as_str()]);
    }
}

/// Writes messages of level `INFO` to standard error.
fn write_info<'a>(messages: impl IntoIterator<Item = &'a str>) {
    let level = std::env::var("TF_CPP_MIN_LOG_LEVEL").ok().and_then(|level| level.trim().parse::<u32>().ok());
    if level.unwrap_or(0) > 0 {
        return;
    }
    let text: String = messages.into_iter().map(|message| format!("INFO: {message}\n")).collect();
    let _ = std::io::stderr().write_all(text.as_bytes());
}
