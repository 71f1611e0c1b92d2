//! Nodes beside the machine's limits: the arithmetic and the bytes of each node per second, and the share of what the machine could reach.

use crate::calibrate;
use crate::model::Model;
use flowmill::graph::{Node, Role};
use flowmill::{PartialShape, Result, RunOptions, Tensor};
use flowmill_cost::{Assumptions, CostModel, Limit, NodeEstimate, Roofline};
use flowmill_runtime::executor::NodeStats;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// The part of the measured time that goes into traced steps.
const TRACED_SHARE: f64 = 0.2;
/// The numbers of traced steps.
const STEPS: std::ops::RangeInclusive<usize> = 3..=100;

/// The nodes of a model's step, with the machine that they ran on.
pub(super) struct NodeTable {
    roofline: Roofline,
    rows: Vec<Row>,
    seconds: f64,
}

/// One node: its least time among steps, and its work.
#[derive(Debug)]
struct Row {
    name: String,
    op: String,
    algorithm: Option<&'static str>,
    /// Executions per step.
    calls: usize,
    /// Seconds of all executions of a step.
    seconds: f64,
    operations: f64,
    bytes: f64,
    limit: Option<Limit>,
}

/// The facts that steps tell of a node.
#[derive(Default)]
struct Observed {
    op: String,
    algorithm: Option<&'static str>,
    calls: usize,
    nanoseconds: u64,
    shapes: Vec<Option<PartialShape>>,
}

impl NodeTable {
    /// Runs traced steps and compares their nodes with the machine's limits.
    pub(super) fn measure(model: &Model, inputs: &BTreeMap<String, Tensor>, threads: usize, seconds: f64) -> Result<NodeTable> {
        let observed = observe(model, inputs, seconds * TRACED_SHARE)?;
        let estimates = estimates(model, inputs, &observed)?;
        let roofline = calibrate::roofline(threads)?;
        let row = |(name, node): (String, Observed)| {
            let estimate = estimates.get(&name).filter(|estimate| !estimate.work.is_empty());
            let times = node.calls as f64;
            let of_estimate = |f: fn(&NodeEstimate) -> f64| estimate.map_or(0.0, f) * times;
            let bytes_of = |estimate: &NodeEstimate| estimate.bytes_read as f64 + estimate.bytes_written as f64;
            Row {
                name,
                op: node.op,
                algorithm: node.algorithm,
                calls: node.calls,
                seconds: node.nanoseconds as f64 / 1e9,
                operations: of_estimate(|estimate| estimate.operations),
                bytes: of_estimate(bytes_of),
                // Tensors of one execution decide which cache they fit in.
                limit: estimate.map(|estimate| roofline.limit(estimate.operations, bytes_of(estimate)).times(times)),
            }
        };
        let mut rows: Vec<Row> = observed.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.name.cmp(&b.name)));
        let seconds = rows.iter().map(|row| row.seconds).sum();
        Ok(NodeTable { roofline, rows, seconds })
    }

    /// Prints the machine's limits and the `top` nodes that take the most time.
    pub(super) fn print(&self, top: usize) {
        say!(
            "\nby node ({:.3} ms in nodes); limits of this machine: {:.1} GFLOP/s, {} GB/s",
            self.seconds * 1e3,
            self.roofline.flops_per_second / 1e9,
            self.roofline.levels.iter().map(|level| format!("{:.0}", level.bytes_per_second / 1e9)).collect::<Vec<_>>().join(", ")
        );
        say!("{:>12} {:>6} {:>7} {:>9} {:>8} {:>7}  {:<24} node", "µs", "%", "calls", "GFLOP/s", "GB/s", "limit", "algorithm");
        for row in self.rows.iter().take(top) {
            say!(
                "{:>12.1} {:>6.1} {:>6}× {:>9} {:>8} {:>7}  {:<24} {} ({})",
                row.seconds * 1e6,
                100.0 * row.seconds / self.seconds.max(f64::MIN_POSITIVE),
                row.calls,
                per_second(row.operations, row.seconds),
                per_second(row.bytes, row.seconds),
                row.share().map_or_else(String::new, |(share, bound)| format!("{:.0} % {bound}", share * 100.0)),
                row.algorithm.unwrap_or_default(),
                row.name,
                row.op
            );
        }
        let left = self.rows.len().saturating_sub(top);
        if left > 0 {
            let seconds: f64 = self.rows.iter().skip(top).map(|row| row.seconds).sum();
            say!("{:>12.1} {:>6.1}          {left} more", seconds * 1e6, 100.0 * seconds / self.seconds.max(f64::MIN_POSITIVE));
        }
        let reached: f64 = self.rows.iter().filter_map(|row| row.limit).map(Limit::seconds).sum();
        say!("nodes at the machine's limits would take {:.3} ms. A: limited by arithmetic, B: by bytes", reached * 1e3);
    }

    /// Returns the table as JSON.
    pub(super) fn to_json(&self, top: usize) -> Value {
        let levels: Vec<Value> = self
            .roofline
            .levels
            .iter()
            .map(|level| json!({"capacity": level.capacity, "bytes_per_second": level.bytes_per_second}))
            .collect();
        let rows: Vec<Value> = self.rows.iter().take(top).map(Row::to_json).collect();
        json!({"flops_per_second": self.roofline.flops_per_second, "memory": levels, "nodes": rows})
    }
}

impl Row {
    /// Returns the part of the machine's limit that the node reaches, and the letter of what limits it. Methods that save arithmetic reach more than 1.
    fn share(&self) -> Option<(f64, char)> {
        let limit = self.limit.filter(|limit| limit.seconds() > 0.0 && self.seconds > 0.0)?;
        Some((limit.seconds() / self.seconds, if matches!(limit, Limit::Arithmetic(_)) { 'A' } else { 'B' }))
    }

    fn to_json(&self) -> Value {
        let share = self.share();
        json!({
            "name": self.name,
            "op": self.op,
            "calls": self.calls,
            "us": self.seconds * 1e6,
            "algorithm": self.algorithm,
            "operations": self.operations,
            "bytes": self.bytes,
            "share_of_limit": share.map(|(share, _)| share),
            "limited_by": share.map(|(_, bound)| if bound == 'A' { "arithmetic" } else { "bytes" }),
        })
    }
}

/// Returns billions per second as text; nothing for no work.
fn per_second(amount: f64, seconds: f64) -> String {
    if amount > 0.0 && seconds > 0.0 { format!("{:.1}", amount / seconds / 1e9) } else { String::new() }
}

/// Returns what traced steps say of each node: the least time, and the shapes of the last one.
fn observe(model: &Model, inputs: &BTreeMap<String, Tensor>, seconds: f64) -> Result<BTreeMap<String, Observed>> {
    let options = RunOptions { trace: true, ..RunOptions::default() };
    // The first traced step prepares its plan.
    model.run(inputs, &options)?;
    let (begin, limit) = (Instant::now(), Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let mut nodes: BTreeMap<String, Observed> = BTreeMap::new();
    for step in 1..=*STEPS.end() {
        let outcome = model.run(inputs, &options)?;
        let mut of_step: BTreeMap<String, Observed> = BTreeMap::new();
        // Nodes of functions count as part of the node that calls the function; their names are those of no other.
        let own = |node: &NodeStats| node.transfer.is_none() && !node.is_in_function;
        for node in outcome.stats.iter().flat_map(|stats| stats.take()).filter(own) {
            let observed = of_step.entry(node.name.to_string()).or_default();
            observed.op = node.op.to_string();
            observed.algorithm = node.algorithm;
            observed.calls += 1;
            observed.nanoseconds += node.end.saturating_sub(node.start);
            observed.shapes = node.outputs.iter().map(|output| output.as_ref().map(|output| PartialShape::from(&output.shape))).collect();
        }
        for (name, mut observed) in of_step {
            if let Some(before) = nodes.get(&name) {
                observed.nanoseconds = observed.nanoseconds.min(before.nanoseconds);
            }
            nodes.insert(name, observed);
        }
        if step >= *STEPS.start() && begin.elapsed() >= limit {
            break;
        }
    }
    Ok(nodes)
}

/// Returns the estimates of the nodes of a step's graphs, by name, for the shapes that the step had.
fn estimates(
    model: &Model,
    inputs: &BTreeMap<String, Tensor>,
    observed: &BTreeMap<String, Observed>,
) -> Result<HashMap<String, NodeEstimate>> {
    let feeds = model.feed_shapes(inputs)?;
    let shape = |node: &Node, slot: usize| {
        if node.role() == Role::Arg {
            let index = node.attrs().get::<i64>("index").ok().and_then(|index| usize::try_from(index).ok())?;
            return feeds.get(index).cloned().flatten();
        }
        observed.get(node.name())?.shapes.get(slot).cloned().flatten()
    };
    let mut estimates = HashMap::new();
    for (_, graph) in &model.step_graphs()?.parts {
        let costs = CostModel::of_step(graph, &Assumptions::default(), &shape)?;
        let of_node = |node: &Node| Some((node.name().to_owned(), costs.estimate(node.id())?.clone()));
        estimates.extend(graph.op_nodes().filter_map(of_node));
    }
    Ok(estimates)
}
