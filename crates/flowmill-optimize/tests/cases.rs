//! Each file of `tests/cases` holds graphs before and after the pass of that name, in text form:
//!
//! ```text
//! # what the case shows
//! a = Const() {value=f32[]{1.0}}
//! ---
//! what the pass makes of it, written by `BLESS=1`; `unchanged` where it must leave the graph alone
//! ===
//! ```
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use flowmill_graph::text::{ConstantTable, parse_graph};
use std::fmt::Write;
use support::{Arithmetic, registry};

/// The graph that a pass, and only that, makes of `before`.
fn after(pass: &str, before: &str, what: &str) -> String {
    let mut graph = parse_graph(before, &registry(), &ConstantTable::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let pass = flowmill_optimize::PIPELINE.iter().find(|p| p.name == pass).unwrap_or_else(|| panic!("{what}: there is no pass '{pass}'"));
    let text = graph.to_string();
    let num_changes = (pass.run)(&mut graph, &Arithmetic).unwrap_or_else(|e| panic!("{what}: {e}"));
    graph.validate().unwrap_or_else(|e| panic!("{what}: {e}\n{graph}"));
    let is_unchanged = graph.to_string() == text;
    assert_eq!(is_unchanged, num_changes == 0, "{what}: counts {num_changes} changes");
    if is_unchanged { "unchanged\n".to_owned() } else { graph.to_string() }
}

fn check(file: &str) {
    let path = format!("{}/tests/cases/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut blessed, mut num_unchanged) = (String::new(), 0);
    for case in text.split_inclusive("===\n").filter(|c| !c.trim().is_empty()) {
        let case = case.trim_end_matches("===\n");
        let (head, expected) = case.split_once("---\n").unwrap_or((case, ""));
        let what = head.lines().next().unwrap_or_default();
        let before: String = head.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
        let actual = after(file, &before, &format!("{file}: {what}"));
        num_unchanged += usize::from(actual == "unchanged\n");
        if std::env::var_os("BLESS").is_none() {
            assert_eq!(actual, expected, "{file}: {what}");
        }
        write!(blessed, "{head}---\n{actual}===\n").unwrap();
    }
    assert!(num_unchanged > 0 || file == "prune", "{file} has no case that shows what the pass must leave alone");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, blessed).unwrap();
    }
}

macro_rules! cases {
    ($($file:ident)*) => {
        $(#[test]
        fn $file() {
            check(stringify!($file));
        })*

        #[test]
        fn every_pass_has_cases() {
            for pass in flowmill_optimize::PIPELINE {
                assert!([$(stringify!($file)),*].contains(&pass.name), "{}", pass.name);
            }
        }
    };
}
cases! { prune remove_identities fold_constants fold_batch_norm fold_padding fuse_epilogues fuse_gelu fuse_layer_norm fuse_elementwise merge_duplicates }
