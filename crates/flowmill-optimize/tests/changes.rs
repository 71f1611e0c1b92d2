//! Reports of the nodes that passes add, change and remove.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::Graph;
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_optimize::{NodeChanges, Options, PIPELINE, Pass, Report, Shapes, Target, run_passes};
use flowmill_tensor::{Result, bail};
use support::{Arithmetic, registry};

const TEXT: &str = "\
x = Placeholder() {dtype=f32, shape=[2]}
same = Identity(x) {T=f32}
y = Neg(same) {T=f32}
unused = Neg(y) {T=f32}
r:0 = _Retval(y) {T=f32, index=0}
";

fn run(passes: &[Pass], records_nodes: bool) -> Report {
    let mut graph = parse_graph(TEXT, &registry(), &ConstantTable::new()).unwrap();
    run_passes(passes, &mut graph, &Options { records_nodes, ..Options::default() }, &Arithmetic)
}

fn names(names: &[&str]) -> Vec<std::sync::Arc<str>> {
    names.iter().map(|&name| name.into()).collect()
}

fn rename(graph: &mut Graph, _: &dyn Target, _: &mut Shapes) -> Result<usize> {
    let id = graph.find_node("y").unwrap().id();
    graph.rename_node(id, "z")?;
    Ok(1)
}

fn fails(graph: &mut Graph, _: &dyn Target, _: &mut Shapes) -> Result<usize> {
    let id = graph.find_node("same").unwrap().id();
    graph.rename_node(id, "other")?;
    bail!(Internal, "no")
}

#[test]
fn removed_and_changed_nodes_are_named_with_their_pass() {
    let pass = |name: &str| *PIPELINE.iter().find(|pass| pass.name == name).unwrap();
    let report = run(&[pass("prune"), pass("remove_identities")], true);
    assert_eq!(report.passes[0].nodes, NodeChanges { removed: names(&["unused"]), ..NodeChanges::default() });
    assert_eq!(report.passes[1].nodes.changed, names(&["y"]), "its input is another node");
    assert_eq!(report.passes[1].nodes.removed, names(&["same"]));
}

#[test]
fn a_renamed_node_is_a_removed_and_an_added_one() {
    let changes = &run(&[Pass { name: "rename", run: rename, repeats: false }], true).passes[0].nodes;
    assert_eq!((&changes.added, &changes.removed), (&names(&["z"]), &names(&["y"])));
    assert_eq!(changes.changed, names(&["r", "unused"]));
}

#[test]
fn passes_that_fail_have_changed_nothing() {
    let report = run(&[Pass { name: "fails", run: fails, repeats: false }, Pass { name: "rename", run: rename, repeats: false }], true);
    assert_eq!(report.passes[0].nodes, NodeChanges::default());
    assert_eq!(report.passes[1].nodes.added, names(&["z"]));
}

#[test]
fn nothing_is_recorded_unless_it_is_wanted() {
    let report = run(&[Pass { name: "rename", run: rename, repeats: false }], false);
    assert_eq!((report.passes[0].num_changes, &report.passes[0].nodes), (1, &NodeChanges::default()));
}
