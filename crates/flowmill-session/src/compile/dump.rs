//! Dumps of the graph or plan after each stage, in text form, if `FLOWMILL_DUMP=directory` is set in the environment.

use super::Unit;
use flowmill_graph::Graph;
use flowmill_optimize::{MAX_ROUNDS, PassReport, Report};
use flowmill_runtime::plan::PlanGraph;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

static DIRECTORY: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("FLOWMILL_DUMP").filter(|d| !d.is_empty()).map(PathBuf::from));

/// The dumps of one unit.
pub(crate) struct Dump {
    name: String,
}

impl Dump {
    /// Returns the dumps of a unit, under its name.
    pub(crate) fn of(unit: &Unit<'_>) -> Dump {
        Dump { name: if DIRECTORY.is_some() { unit.name.clone() } else { String::new() } }
    }

    /// Writes the graph's text form to `NNNN.what.stage.txt`, numbered in the order of writing. If the directory cannot be written to, this is
    /// reported once on standard error, and the run continues.
    pub(super) fn graph(&self, graph: &Graph, stage: &str) {
        write(&self.name, stage, || graph.to_string());
    }

    /// Like [`Dump::graph`], with what the passes did in comments above the graph.
    pub(super) fn graph_with_report(&self, graph: &Graph, stage: &str, report: &Report) {
        write(&self.name, stage, || {
            let passes = report.passes.iter().filter(|p| p.num_changes > 0 || p.error.is_some());
            let error = |p: &PassReport| p.error.as_ref().map_or_else(String::new, |e| format!(", failed: {e}"));
            let passes = passes.map(|p| format!("# {}: {} changes{}\n", p.name, p.num_changes, error(p)));
            let left = report.left.iter().map(|(reason, count)| format!("# {count} nodes call functions as before: {reason}\n"));
            let capped = report.is_capped.then(|| format!("# the passes that repeat ended after {MAX_ROUNDS} rounds\n"));
            passes.chain(capped).chain(left).chain([graph.to_string()]).collect()
        });
    }

    /// Writes a line for each node of a plan: its kind, name, op and inputs.
    pub(super) fn plan(&self, plan: &PlanGraph, stage: &str) {
        write(&self.name, stage, || plan.to_string());
    }
}

fn write(what: &str, stage: &str, text: impl FnOnce() -> String) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Some(directory) = &*DIRECTORY else { return };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let safe: String = what.chars().take(60).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let path = directory.join(format!("{number:04}.{safe}.{stage}.txt"));
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text()));
    if let (Err(e), 0) = (written, number) {
        eprintln!("flowmill: FLOWMILL_DUMP: {}: {e}", path.display());
    }
}
