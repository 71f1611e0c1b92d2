//! `docs/gpu_ops.md` lists the ops that have kernels for GPUs. `BLESS=1 cargo test --workspace --test gpu listing` writes it.

use crate::recorder::Recorder;
use flowmill::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Returns the types that kernels of an op compute: those of the first constrained attribute, or nothing if all types are allowed.
fn types(registry: &flowmill::KernelRegistry, op: &str) -> BTreeSet<DType> {
    let ops = flowmill::registry().unwrap();
    // Kernels may be registered for types that the op does not allow.
    let is_allowed = |name: &str, dtype: &DType| {
        let attr = ops.get(op).and_then(|def| def.attrs.iter().find(|attr| attr.name == name));
        attr.is_none_or(|attr| attr.allowed_types.is_empty() || attr.allowed_types.contains(dtype))
    };
    let constraints = |def: &flowmill::device::KernelDef| -> Vec<DType> {
        let first = def.constraints().first();
        first.map_or(Vec::new(), |(name, types)| types.iter().copied().filter(|dtype| is_allowed(name, dtype)).collect())
    };
    registry.defs(op).iter().flat_map(constraints).collect()
}

#[test]
fn the_page_lists_the_ops_of_gpus() {
    let device = Recorder::new().device();
    let registry = device.kernels();
    let mut by_types: BTreeMap<Vec<DType>, Vec<&str>> = BTreeMap::new();
    // Ops with a leading underscore are the optimizer's own.
    for op in registry.ops().into_iter().filter(|op| !op.starts_with('_')) {
        by_types.entry(types(registry, op).into_iter().collect()).or_default().push(op);
    }
    let mut groups: Vec<(Vec<DType>, Vec<&str>)> = by_types.into_iter().collect();
    groups.sort_by_key(|(_, ops)| (std::cmp::Reverse(ops.len()), ops[0]));
    let mut page = "# Ops with kernels for GPUs\n\nA test writes this page (`BLESS=1 cargo test --workspace --test gpu listing`). Every other op runs on the CPU. \
                    An op's types are those of its first type attribute.\n"
        .to_owned();
    for (types, ops) in groups {
        let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
        let title = if names.is_empty() { "any type".to_owned() } else { names.join(", ") };
        let ops: Vec<String> = ops.iter().map(|op| format!("`{op}`")).collect();
        let _ = write!(page, "\n## {title}\n\n{}\n", ops.join(", "));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gpu_ops.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "stale: run BLESS=1 cargo test --workspace --test gpu listing");
}
