//! The time of a step's nodes, summed by a key.

use crate::timeline::{Event, EventKind, Timeline};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The time under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The name.
    pub name: String,
    /// The number of events.
    pub calls: usize,
    /// The nanoseconds in which they ran, summed.
    pub nanos: u64,
    /// The nanoseconds for which they waited for a thread, summed.
    pub wait_nanos: u64,
    /// The bytes of their outputs, summed.
    pub bytes: u64,
}

/// A table of shares, the largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The rows.
    pub rows: Vec<Share>,
    /// The nanoseconds of all events.
    pub nanos: u64,
}

impl Timeline {
    /// Sums events by op.
    pub fn by_op(&self) -> Shares {
        self.shares(|event| Some(op_of(event).to_owned()))
    }

    /// Sums events by node.
    pub fn by_node(&self) -> Shares {
        self.shares(|event| Some(format!("{} ({})", event.name, op_of(event))))
    }

    /// Sums events by the first `depth` parts of their nodes' name scopes.
    pub fn by_scope(&self, depth: usize) -> Shares {
        self.shares(|event| {
            let parts: Vec<&str> = event.name.split('/').collect();
            let scope = parts.get(..depth.min(parts.len().saturating_sub(1))).unwrap_or_default();
            Some(if scope.is_empty() { "(no scope)".to_owned() } else { scope.join("/") })
        })
    }

    /// Sums events by `key`; those without a key are left out. Kernels on streams are left out, because their nodes count, and so are receives, which
    /// wait.
    pub fn shares(&self, key: impl Fn(&Event) -> Option<String>) -> Shares {
        let mut sums: BTreeMap<String, Share> = BTreeMap::new();
        let mut nanos = 0;
        for event in self.events.iter().filter(|event| !matches!(event.kind, EventKind::Kernel | EventKind::Receive)) {
            let Some(name) = key(event) else { continue };
            let row = sums.entry(name).or_insert_with_key(|name| Share { name: name.clone(), calls: 0, nanos: 0, wait_nanos: 0, bytes: 0 });
            row.calls += 1;
            row.nanos = row.nanos.saturating_add(event.duration());
            row.wait_nanos = row.wait_nanos.saturating_add(event.wait());
            row.bytes = event.outputs.iter().fold(row.bytes, |sum, output| sum.saturating_add(output.bytes));
            nanos = u64::saturating_add(nanos, event.duration());
        }
        let mut rows: Vec<Share> = sums.into_values().collect();
        rows.sort_by(|a, b| b.nanos.cmp(&a.nanos).then_with(|| a.name.cmp(&b.name)));
        Shares { rows, nanos }
    }
}

impl Shares {
    /// Returns the first `top` rows as lines of text.
    pub fn text(&self, top: usize) -> String {
        let mut text = String::new();
        for row in self.rows.iter().take(top) {
            let part = 100.0 * row.nanos as f64 / self.nanos.max(1) as f64;
            let _ = writeln!(text, "{:>10.1} µs {part:>5.1} %  {:>5}×  {}", row.nanos as f64 / 1e3, row.calls, row.name);
        }
        let left = self.rows.len().saturating_sub(top);
        if left > 0 {
            let nanos = self.rows.iter().skip(top).fold(0, |sum: u64, row| sum.saturating_add(row.nanos));
            let _ = writeln!(
                text,
                "{:>10.1} µs {:>5.1} %         {left} more",
                nanos as f64 / 1e3,
                100.0 * nanos as f64 / self.nanos.max(1) as f64
            );
        }
        text
    }
}

/// Returns the op of an event, or `unknown`.
pub(crate) fn op_of(event: &Event) -> &str {
    if event.op.is_empty() { "unknown" } else { &event.op }
}
