//! `cargo xtask op-names`: code asks an op's traits and does not recognise ops by their names.
//!
//! Found are: a `matches!` on the name of an op, alternatives of a pattern that are names of ops, and constant lists of such names. Names that build
//! nodes or register kernels are no matter. Rewrites that look for one op, and facts that no other code needs, are listed in [`EXCEPTIONS`].

use crate::sources::sources;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

/// Crates whose code is looked at.
const CRATES: [&str; 11] = [
    "flowmill",
    "flowmill-cli",
    "flowmill-cpu",
    "flowmill-graph",
    "flowmill-host",
    "flowmill-kernels",
    "flowmill-optimize",
    "flowmill-placement",
    "flowmill-python",
    "flowmill-runtime",
    "flowmill-savedmodel",
];

/// Files that may know ops by name, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("flowmill-cli/src/inspect/support.rs", "reads messages, which have no definition yet"),
    ("flowmill-graph/src/builder/gradients/functions/joint.rs", "the lengths of tensor lists are not differentiated"),
    ("flowmill-graph/src/builder/gradients/repeat.rs", "gradients of variables that a loop reads"),
    ("flowmill-graph/src/builder/gradients/tensor_arrays.rs", "rewrites nodes of messages, which have no definition yet"),
    ("flowmill-graph/src/builder/op.rs", "is asked before the node is there"),
    ("flowmill-graph/src/import/names.rs", "reads messages, which have no definition yet"),
    ("flowmill-graph/src/import/order.rs", "reads messages, which have no definition yet"),
    ("flowmill-graph/src/shape_refiner.rs", "values of shapes that are known in part are TensorFlow's five cases"),
    ("flowmill-host/src/dataset/passing.rs", "ops that share a kernel"),
    ("flowmill-optimize/src/liveness.rs", "`_SwitchN` and `RefSelect` choose by an index"),
    ("flowmill-optimize/src/loop_reads.rs", "the ops that read a part of a tensor or of an array"),
    ("flowmill-optimize/src/quantized_values.rs", "each op of fake quantisation has a range and a formula of its own"),
    ("flowmill-optimize/src/passes/channels_last.rs", "paddings, and the ops whose kernels take both layouts"),
    ("flowmill-optimize/src/passes/fold_batch_norm.rs", "the versions of a batch norm"),
];

/// Checks the sources of all crates below `root`.
///
/// # Errors
/// One line for each file that knows ops by name without being listed, and for each listed one that does not.
pub fn check(root: &Path) -> Result<(), String> {
    let ops = declared_ops(&root.join("crates/flowmill-ops/src")).map_err(|e| e.to_string())?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in CRATES {
        for path in sources(&root.join("crates").join(name).join("src")).map_err(|e| e.to_string())? {
            let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let tokens: TokenStream = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
            let lists = lists_of_ops(tokens, &ops);
            if !lists.is_empty() {
                let file = path.strip_prefix(root.join("crates")).unwrap_or(&path).display().to_string();
                found.insert(file, lists);
            }
        }
    }
    let mut faults: Vec<String> = Vec::new();
    for (file, lists) in &found {
        if !EXCEPTIONS.iter().any(|(listed, _)| listed == file) {
            faults.extend(
                lists.iter().map(|list| format!("{file} recognises ops by name ({list}): declare a trait in flowmill-ops and ask for it")),
            );
        }
    }
    let unused = EXCEPTIONS.iter().filter(|(file, _)| !found.contains_key(*file));
    faults.extend(unused.map(|(file, _)| format!("{file} needs no exception in xtask/src/op_names.rs")));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The first argument of each `op("Name", ...)`.
fn declared_ops(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut ops = BTreeSet::new();
    for path in sources(directory)? {
        let text = fs::read_to_string(path)?;
        for declaration in text.split("op(").skip(1) {
            if let Some(name) = declaration.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                ops.insert(name.to_owned());
            }
        }
    }
    Ok(ops)
}

/// Returns the lists of op names anywhere in the tokens, each by its first names.
fn lists_of_ops(tokens: TokenStream, ops: &BTreeSet<String>) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut lists = Vec::new();
    let op_at = |i: usize| tokens.get(i).and_then(op_name).filter(|name| ops.contains(name));
    let punct_at = |i: usize, c: char| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    for (i, token) in tokens.iter().enumerate() {
        if let (Some(first), true, Some(second)) = (op_at(i), punct_at(i + 1, '|'), op_at(i + 2)) {
            lists.push(format!("{first} | {second}"));
        }
        match token {
            TokenTree::Ident(name) if name == "matches" && punct_at(i + 1, '!') => {
                if let Some(TokenTree::Group(group)) = tokens.get(i + 2) {
                    lists.extend(names_in(group, ops).into_iter().next());
                }
            }
            TokenTree::Ident(name) if name == "const" => {
                let value = tokens[i..].iter().take_while(|t| !matches!(t, TokenTree::Punct(p) if p.as_char() == ';'));
                for group in value.filter_map(|t| if let TokenTree::Group(g) = t { Some(g) } else { None }) {
                    let names = names_in(group, ops);
                    if group.delimiter() == Delimiter::Bracket && names.len() >= 2 {
                        lists.push(names[..2].join(", "));
                    }
                }
            }
            TokenTree::Group(group) => lists.extend(lists_of_ops(group.stream(), ops)),
            _ => {}
        }
    }
    lists
}

/// The names of ops among the literals directly in a group.
fn names_in(group: &Group, ops: &BTreeSet<String>) -> Vec<String> {
    group.stream().into_iter().filter_map(|token| op_name(&token)).filter(|name| ops.contains(name)).collect()
}

fn op_name(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    literal.to_string().strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
}
