//! Each file of `tests/cases` holds graphs before and after the pass of that name, in text form:
//!
//! ```text
//! # what the case shows
//! a = Const() {value=f32[]{1.0}}
//! ---
//! what the pass makes of it, written by `BLESS=1`; `unchanged` where it must leave the graph alone
//! ===
//! ```
//!
//! Functions come before the graph, see `support/functions.rs`. If a pass leaves calls as they are, its reasons are listed above the result.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use flowmill_graph::ControlFlow;
use flowmill_optimize::{Functions, LOWERING, PIPELINE, Shapes};
use std::collections::BTreeSet;
use std::fmt::Write;
use support::functions::parse_with_functions;
use support::{Arithmetic, assert_shapes_hold};

/// The graph that a pass, and only that, makes of `before`.
fn after(pass: &str, before: &str, what: &str) -> String {
    let mut graph = parse_with_functions(before).unwrap_or_else(|e| panic!("{what}: {e}"));
    let text = graph.to_string();
    let mut functions = Functions::new("");
    let num_changes = if let Some(pass) = PIPELINE.iter().find(|p| p.name == pass) {
        let mut shapes = Shapes::default();
        shapes.of(&graph);
        let count = (pass.run)(&mut graph, &Arithmetic, &mut shapes);
        assert_shapes_hold(&graph, &shapes.finish(&graph), what);
        count
    } else {
        let pass = LOWERING.iter().find(|p| p.name == pass).unwrap_or_else(|| panic!("{what}: there is no pass '{pass}'"));
        (pass.run)(&mut graph, &mut functions)
    };
    let num_changes = num_changes.unwrap_or_else(|e| panic!("{what}: {e}"));
    graph.validate().unwrap_or_else(|e| panic!("{what}: {e}\n{graph}"));
    ControlFlow::new(&graph).unwrap_or_else(|e| panic!("{what}: {e}\n{graph}"));
    let is_unchanged = graph.to_string() == text;
    assert_eq!(is_unchanged, num_changes == 0, "{what}: counts {num_changes} changes");
    let left: String = functions.left().iter().map(|(reason, n)| format!("# {n} left: {reason}\n")).collect();
    if is_unchanged { format!("{left}unchanged\n") } else { format!("{left}{graph}") }
}

fn check(file: &str) {
    let path = format!("{}/tests/cases/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let (mut blessed, mut num_unchanged) = (String::new(), 0);
    for case in text.split_inclusive("===\n").filter(|c| !c.trim().is_empty()) {
        let case = case.trim_end_matches("===\n");
        let (head, expected) = case.split_once("---\n").unwrap_or((case, ""));
        let what = head.lines().next().unwrap_or_default();
        let before: String = head.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
        let actual = after(file, &before, &format!("{file}: {what}"));
        num_unchanged += usize::from(actual.ends_with("unchanged\n"));
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

/// The names of all passes, each once.
fn passes() -> BTreeSet<&'static str> {
    PIPELINE.iter().map(|p| p.name).chain(LOWERING.iter().map(|p| p.name)).collect()
}

#[test]
fn each_case_is_rewritten_as_it_says() {
    passes().into_iter().for_each(check);
}

#[test]
fn each_file_of_cases_is_for_a_pass() {
    let files = std::fs::read_dir(format!("{}/tests/cases", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let names: Vec<String> = files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), passes());
}
