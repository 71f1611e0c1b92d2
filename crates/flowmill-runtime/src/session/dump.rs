//! The graph after each stage, for people: with `FLOWMILL_DUMP=directory` in the environment.

use flowmill_graph::Graph;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

static DIRECTORY: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("FLOWMILL_DUMP").filter(|d| !d.is_empty()).map(PathBuf::from));

/// Writes the graph's text form to `NNNN.what.stage.txt`, numbered in the order of writing. A directory that cannot be written to is told
/// of once on standard error; the run goes on.
pub(super) fn dump(graph: &Graph, what: &str, stage: &str) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Some(directory) = &*DIRECTORY else { return };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let safe: String = what.chars().take(60).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let path = directory.join(format!("{number:04}.{safe}.{stage}.txt"));
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, graph.to_string()));
    if let (Err(e), 0) = (written, number) {
        eprintln!("flowmill: FLOWMILL_DUMP: {}: {e}", path.display());
    }
}
