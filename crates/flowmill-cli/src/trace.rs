//! Reports where a step's time went: by op, by node, and as a trace for Chrome's `about:tracing` or Perfetto.

use flowmill::{Error, NodeStats, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Time spent under one name.
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) calls: usize,
    pub(crate) microseconds: f64,
}

/// Sums the nodes' times by `key`, the largest first.
pub(crate) fn shares(nodes: &[NodeStats], key: impl Fn(&NodeStats) -> String) -> Vec<Share> {
    let mut sums: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for node in nodes {
        let sum = sums.entry(key(node)).or_default();
        sum.0 += 1;
        sum.1 += node.end.saturating_sub(node.start);
    }
    let mut shares: Vec<Share> = sums.into_iter().map(|(name, (calls, ns))| Share { name, calls, microseconds: ns as f64 / 1e3 }).collect();
    shares.sort_by(|a, b| b.microseconds.total_cmp(&a.microseconds).then_with(|| a.name.cmp(&b.name)));
    shares
}

/// Writes the nodes as a Chrome trace.
///
/// # Errors
/// `InvalidArgument` if the file cannot be written.
pub(crate) fn write_chrome(path: &Path, nodes: &[NodeStats]) -> Result<()> {
    let events: Vec<Value> = nodes
        .iter()
        .map(|n| {
            json!({
                "name": &*n.name, "cat": &*n.op, "ph": "X", "pid": 1, "tid": n.thread,
                "ts": n.start as f64 / 1e3, "dur": n.end.saturating_sub(n.start) as f64 / 1e3,
                "args": {"op": &*n.op, "scheduled_us": n.scheduled as f64 / 1e3, "output_bytes": n.output_bytes},
            })
        })
        .collect();
    let text = json!({"traceEvents": events, "displayTimeUnit": "ms"}).to_string();
    std::fs::write(path, text).map_err(|e| Error::invalid_argument(format!("{}: {e}", path.display())))
}
