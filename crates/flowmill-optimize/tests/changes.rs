//! Reports of the nodes that passes add, change and remove.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::Graph;
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_optimize::{NodeChanges, Options, PIPELINE, Pass, PassContext, Report, run_passes};
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

fn rename(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
    let id = graph.find_node("y").unwrap().id();
    graph.rename_node(id, "z")?;
    Ok(1)
}

fn fails(graph: &mut Graph, _: PassContext<'_>) -> Result<usize> {
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

/// Each amount of fuel makes one change more than the one before, until all are made.
#[test]
fn fuel_limits_the_number_of_changes() {
    let text = "\
x = _Arg() {T=f32, _output_shapes=list(shape)[[?,4]], index=0}
two = Const() {value=f32[]{2.0}}
a = Neg(x) {T=f32}
b = Neg(a) {T=f32}
c = Mul(two, b) {T=f32}
d = Mul(c, two) {T=f32}
e = Identity(d) {T=f32}
f = AddV2(e, e) {T=f32}
r:0 = _Retval(f) {T=f32, index=0}
";
    let changes = |fuel: Option<usize>| {
        let mut graph = parse_graph(text, &registry(), &ConstantTable::new()).unwrap();
        let report = run_passes(PIPELINE, &mut graph, &Options { fuel, ..Options::default() }, &Arithmetic);
        (report.passes.iter().map(|pass| pass.num_changes).sum::<usize>(), graph.to_string())
    };
    let (total, last) = changes(None);
    assert!(total >= 5, "{total} changes");
    let mut before = changes(Some(0));
    assert_eq!(before.0, 0);
    for fuel in 1..=total {
        let after = changes(Some(fuel));
        assert!(after.0 >= before.0 && after.0 >= fuel, "{} changes for {fuel}", after.0);
        assert!(after.1 != before.1 || after.0 == before.0, "change {fuel} changes nothing");
        before = after;
    }
    assert_eq!(before, (total, last));
}
