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
use flowmill_optimize::{Functions, LOWERING, PIPELINE, PassContext, Shapes};
use std::collections::BTreeSet;
use support::functions::parse_with_functions;
use support::{Arithmetic, assert_shapes_hold};
use text_cases::Case;

/// The graph that a pass, and only that, makes of `before`.
fn after(pass: &str, before: &str, what: &str) -> String {
    let mut graph = parse_with_functions(before).unwrap_or_else(|e| panic!("{what}: {e}"));
    let text = graph.to_string();
    let mut functions = Functions::new("");
    let num_changes = if let Some(pass) = PIPELINE.iter().find(|p| p.name == pass) {
        let mut shapes = Shapes::default();
        shapes.of(&graph);
        let count = (pass.run)(&mut graph, PassContext { target: &Arithmetic, shapes: &mut shapes, limit: usize::MAX });
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

fn check(pass: &str) {
    let mut num_unchanged = 0;
    let output = |case: &Case<'_>| {
        let actual = after(pass, &case.input(), &case.title());
        num_unchanged += usize::from(actual.ends_with("unchanged\n"));
        actual
    };
    text_cases::check(format!("{}/tests/cases/{pass}.txt", env!("CARGO_MANIFEST_DIR")).as_ref(), output)
        .unwrap_or_else(|e| panic!("{pass}: {e}"));
    assert!(num_unchanged > 0 || pass == "prune", "{pass} has no case that shows what the pass must leave alone");
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
