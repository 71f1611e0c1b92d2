//! Importing: what is legal, what is answered with which words, and what comes out again.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::{Graph, ImportOptions, NodeId, import_graph_def};
use flowmill_proto::{GraphDef, Message, NodeDef, VersionDef};
use flowmill_tensor::{Code, DType, Tensor};
use support::*;

fn placeholder(name: &str) -> NodeDef {
    node(name, "Placeholder", &[])
}

fn assert_message(e: flowmill_tensor::Error, code: Code, parts: &[&str]) {
    assert_eq!(e.code(), code, "{e}");
    for part in parts {
        assert!(e.message().contains(part), "{part:?} is not in: {e}");
    }
}

#[test]
fn a_message_comes_back_as_it_was() {
    let mut def = graph_def(counting_loop("a/", "frame"));
    for node in &mut def.node {
        flowmill_graph::complete_attrs(&node.name.clone(), registry().get(&node.op).unwrap(), &mut flowmill_graph::Attrs(node.attr.clone())).unwrap();
    }
    def.node[2].device = "/device:CPU:0".into();
    let mut graph = graph();
    import_graph_def(&mut graph, def, &ImportOptions::default()).unwrap();
    let first = graph.to_graph_def();
    let mut again = support::graph();
    import_graph_def(&mut again, first.clone(), &ImportOptions::default()).unwrap();
    assert_eq!(again.to_graph_def().encode_to_vec(), first.encode_to_vec());
    assert_eq!(first.node.iter().map(|n| &*n.name).collect::<Vec<_>>(), counting_loop("a/", "frame").iter().map(|n| n.name.clone()).collect::<Vec<_>>());
}
