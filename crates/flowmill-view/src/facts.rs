//! Facts about the nodes of a graph that the graph does not hold: measured costs, devices, and what passes did.

use flowmill_graph::FxHashMap;
use flowmill_proto::{Message, NodeExecStats, RunMetadata};
use flowmill_tensor::{Error, Result, error};

/// The measured costs of a node in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCost {
    /// The time in its kernel, of all its executions, in nanoseconds.
    pub nanoseconds: u64,
    /// The bytes that its executions allocated.
    pub bytes: u64,
    /// The number of executions.
    pub executions: u32,
}

impl NodeCost {
    /// Adds other costs.
    pub fn add(&mut self, other: &NodeCost) {
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.executions = self.executions.saturating_add(other.executions);
    }
}

/// The change that a pass made to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The node is new.
    Added,
    /// The node has another op, other inputs or other attributes than before.
    Changed,
    /// The node is gone after the pass.
    Removed,
}

/// Facts about nodes, by their names.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The measured costs.
    pub costs: FxHashMap<String, NodeCost>,
    /// The devices, in place of those that the nodes request.
    pub devices: FxHashMap<String, String>,
    /// The last pass that changed each node.
    pub changes: FxHashMap<String, (String, Change)>,
}

impl Facts {
    /// Adds an execution of a node.
    pub fn add_execution(&mut self, name: &str, device: &str, nanoseconds: u64, bytes: u64) {
        let cost = match self.costs.get_mut(name) {
            Some(cost) => cost,
            None => self.costs.entry(name.to_owned()).or_default(),
        };
        cost.add(&NodeCost { nanoseconds, bytes, executions: 1 });
        if !device.is_empty() && !self.devices.contains_key(name) {
            self.devices.insert(name.to_owned(), device.to_owned());
        }
    }

    /// Adds the step statistics of a serialized `RunMetadata`. Copies of a GPU's statistics, in devices whose names end in `stream:`…, count once.
    ///
    /// # Errors
    /// Returns `DataLoss` for bytes that are no `RunMetadata`, and `NotFound` for one without step statistics.
    pub fn add_run_metadata(&mut self, bytes: &[u8]) -> Result<()> {
        let decoded = RunMetadata::decode(bytes);
        let metadata = decoded.map_err(|e| error!(DataLoss, "run metadata that cannot be parsed: {e}"))?;
        let stats: Result<_> = metadata.step_stats.ok_or_else(|| not_found("the run metadata has no step statistics"));
        for device in stats?.dev_stats.iter().filter(|device| !device.device.contains("/stream:")) {
            for node in &device.node_stats {
                let bytes = node.memory.iter().map(|memory| u64::try_from(memory.total_bytes).unwrap_or(0)).fold(0, u64::saturating_add);
                self.add_execution(&node.node_name, &device.device, nanoseconds(node), bytes);
            }
        }
        Ok(())
    }
}

fn not_found(message: &str) -> Error {
    error!(NotFound, "{message}")
}

/// Returns the time of a node's kernel: in nanoseconds if they were recorded, else in microseconds.
fn nanoseconds(stats: &NodeExecStats) -> u64 {
    let of_micros = |end: i64, start: i64| u64::try_from(end.saturating_sub(start)).unwrap_or(0);
    let fine = of_micros(stats.op_end_rel_nanos, stats.op_start_rel_nanos);
    if fine > 0 { fine } else { of_micros(stats.op_end_rel_micros, stats.op_start_rel_micros).saturating_mul(1000) }
}
