//! Passes that fail: the graph is as it was before them, and the others run.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::Graph;
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_optimize::{Options, Pass, PassContext, optimize, run_passes};
use flowmill_tensor::{Code, Result, bail};
use support::{Arithmetic, registry};

const TEXT: &str = "\
x = Placeholder() {dtype=f32, shape=[2]}
same = Identity(x) {T=f32}
y = Neg(same) {T=f32}
unused = Neg(y) {T=f32}
r:0 = _Retval(y) {T=f32, index=0}
";

fn graph() -> Graph {
    parse_graph(TEXT, &registry(), &ConstantTable::new()).unwrap()
}

/// Takes a node away and renames another, then fails.
fn half_done(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let id = graph.find_node("unused").map(|n| n.id());
    if let Some(id) = id {
        graph.remove_node(id)?;
    }
    let id = graph.find_node("y").unwrap().id();
    graph.rename_node(id, "z")?;
    bail!(Internal, "the second half does not work");
}

/// Leaves a node without its input.
fn broken(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let y = graph.find_node("y").unwrap().id();
    let edge = graph.in_edges(y).next().unwrap().id;
    graph.remove_edge(edge)?;
    Ok(1)
}

fn rename_to_fine(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let id = graph.find_node("x").unwrap().id();
    graph.rename_node(id, "fine")?;
    Ok(1)
}

#[test]
fn behaviour_61_a_pass_that_fails_leaves_the_graph_as_it_was() {
    for (name, run) in [("half_done", half_done as fn(&mut Graph, PassContext<'_>) -> Result<usize>), ("broken", broken)] {
        let (mut left, original) = (graph(), graph());
        let report = run_passes(&[Pass { name, run, repeats: false }], &mut left, &Options::default(), &Arithmetic);
        assert_eq!(left.to_string(), original.to_string(), "after {name}");
        assert_eq!((report.num_failures(), report.num_changes(name)), (1, 0));
        assert_eq!((report.num_nodes_before, report.num_nodes_after), (original.num_nodes(), original.num_nodes()));
        left.validate().unwrap();
    }
}

#[test]
fn the_passes_around_one_that_fails_have_their_effect() {
    let passes = [
        Pass { name: "rename_to_fine", run: rename_to_fine, repeats: false },
        Pass { name: "half_done", run: half_done, repeats: false },
        Pass { name: "prune", run: flowmill_optimize::PIPELINE[0].run, repeats: false },
    ];
    let mut left = graph();
    let report = run_passes(&passes, &mut left, &Options::default(), &Arithmetic);
    let error = report.passes[1].error.as_ref().unwrap();
    assert_eq!((error.code(), error.message()), (Code::Internal, "the second half does not work"));
    assert_eq!(report.num_failures(), 1);
    let text = left.to_string();
    assert!(text.contains("fine = Placeholder") && text.contains("y = Neg(same)") && !text.contains("unused"), "{text}");
    let disabled = ["half_done".to_owned(), "prune".to_owned()];
    let report = run_passes(&passes, &mut graph(), &Options { disabled: &disabled, ..Options::default() }, &Arithmetic);
    assert_eq!((report.passes.len(), report.num_failures()), (1, 0));
    assert_eq!(optimize(&mut graph(), &Options::default(), &Arithmetic).num_failures(), 0);
}
