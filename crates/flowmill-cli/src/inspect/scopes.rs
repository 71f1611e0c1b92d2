//! The tree of a graph's name scopes.

use flowmill::{ImportOptions, Result, import_graph_def, new_graph, proto};
use flowmill_view::{Facts, Totals, TreeOptions, TreeRow, tree};
use proto::{GraphDef, OpDef};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the rows of a graph's tree with scopes of this many levels.
///
/// # Errors
/// Returns the errors of importing a graph, such as `NotFound` for ops that nobody defines.
pub(super) fn rows(def: &GraphDef, producer_ops: &[OpDef], max_depth: usize) -> Result<Vec<TreeRow>> {
    let mut graph = new_graph()?;
    let options = ImportOptions { producer_ops: producer_ops.to_vec(), ..ImportOptions::default() };
    import_graph_def(&mut graph, def.clone(), &options)?;
    Ok(tree(&graph, &Facts::default(), &TreeOptions { max_depth, ..TreeOptions::default() }))
}

/// Returns a row for programs.
pub(super) fn to_json(row: &TreeRow) -> Value {
    let Totals { num_nodes, resident_bytes, operations, output_bytes, .. } = row.totals;
    json!({
        "name": row.name,
        "depth": row.depth,
        "nodes": num_nodes,
        "weight_bytes": resident_bytes,
        "operations": operations,
        "output_bytes": output_bytes,
        "ops": row.ops.iter().cloned().collect::<BTreeMap<String, usize>>(),
        "hidden": row.num_hidden,
    })
}
