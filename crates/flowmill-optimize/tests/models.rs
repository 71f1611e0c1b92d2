//! What is left of models that TensorFlow exported.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::{Graph, ImportOptions, NodeId, import_graph_def, rewrite_for_execution};
use flowmill_optimize::{Options, optimize};
use flowmill_proto::{GraphDef, Message};
use std::collections::BTreeMap;
use support::{Arithmetic, registry};

/// How often each op occurs, `Const` left out.
type Ops = BTreeMap<String, usize>;

fn optimized(model: &str, output: &str, disabled: &[&str]) -> Graph {
    let bytes = std::fs::read(format!("{}/../../tests/data/models/{model}.pb", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut graph = Graph::new(registry());
    import_graph_def(&mut graph, GraphDef::decode(&bytes[..]).unwrap(), &ImportOptions::default()).unwrap();
    rewrite_for_execution(&mut graph, &["x:0"], &[output], &[]).unwrap();
    let disabled: Vec<String> = disabled.iter().map(|&d| d.to_owned()).collect();
    let report = optimize(&mut graph, &Options { disabled: &disabled }, &Arithmetic);
    assert_eq!(report.num_failures(), 0, "{report:?}");
    assert_eq!(report.num_nodes_after, graph.num_nodes());
    graph.validate().unwrap();
    graph
}

fn ops(graph: &Graph) -> Ops {
    let mut ops = Ops::new();
    for node in graph.op_nodes().filter(|n| !n.is_op("Const") && n.id() > NodeId::SINK) {
        *ops.entry(node.op().to_owned()).or_default() += 1;
    }
    ops
}

fn expect(expected: &[(&str, usize)]) -> Ops {
    expected.iter().map(|&(op, n)| (op.to_owned(), n)).collect()
}
