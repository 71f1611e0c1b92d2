//! The graph itself: nodes, edges, names, ids.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support::*;
use flowmill_graph::{CONTROL_SLOT, Edge, EdgeId, Graph, NodeId, OutputId};
use flowmill_proto::{Message, NodeDef, VersionDef};
use flowmill_tensor::{Code, DType};

fn chain() -> (Graph, Vec<NodeId>) {
    let mut graph = graph();
    let a = graph.add_node(node("a", "Placeholder", &[])).unwrap();
    let b = graph.add_node(node("b", "Neg", &["a"])).unwrap();
    let c = graph.add_node(node("c", "Add", &["a", "b", "^a"])).unwrap();
    (graph, vec![a, b, c])
}

#[test]
fn a_graph_starts_with_source_and_sink() {
    let graph = graph();
    assert_eq!((graph.num_nodes(), graph.num_edges(), graph.num_node_ids()), (2, 1, 2));
    let edge = graph.edges().next().unwrap();
    let expected = Edge { id: EdgeId(0), src: NodeId::SOURCE, src_output: CONTROL_SLOT, dst: NodeId::SINK, dst_input: CONTROL_SLOT };
    assert_eq!(edge, expected);
    assert_eq!((graph[NodeId::SOURCE].name(), graph[NodeId::SINK].name()), ("_SOURCE", "_SINK"));
    assert_eq!(graph.op_nodes().count(), 0);
    assert!(graph.to_graph_def().node.is_empty());
}

#[test]
fn inputs_are_found_by_their_place() {
    let (graph, ids) = chain();
    let [a, b, c] = ids[..] else { panic!() };
    assert_eq!(ids, [NodeId(2), NodeId(3), NodeId(4)]);
    assert_eq!((graph.input_node(c, 0), graph.input_node(c, 1), graph.input_node(c, 2)), (Some(a), Some(b), None));
    assert_eq!(
        graph.input_edge(c, 1).unwrap(),
        Edge { id: graph.input_edge(c, 1).unwrap().id, src: b, src_output: 0, dst: c, dst_input: 1 }
    );
    assert_eq!(graph.control_inputs(c).collect::<Vec<_>>(), [a]);
    assert_eq!(graph.consumers(a.output(0)).map(|e| (e.dst, e.dst_input)).collect::<Vec<_>>(), [(b, 0), (c, 0)]);
    assert_eq!(graph.find_node("b").unwrap().id(), b);
    assert_eq!(graph.tensor_name(b.output(0)), "b:0");
    assert_eq!(graph.output_type(b.output(0)).unwrap().dtype, DType::F32);
    assert_eq!(graph.output_type(b.output(1)).unwrap_err().code(), Code::OutOfRange);
}

#[test]
fn behaviour_15_ids_grow_and_memory_is_used_again() {
    let (mut graph, ids) = chain();
    for round in 0..1000 {
        let id = graph.add_node(node("x", "Neg", &["b"])).unwrap();
        assert_eq!(id, NodeId(5 + round));
        graph.remove_node(id).unwrap();
        assert!(graph.get(id).is_none() && graph.find_node("x").is_none());
    }
    assert_eq!((graph.num_nodes(), graph.num_node_ids(), graph.num_edges()), (5, 1005, 5));
    graph.remove_node(ids[1]).unwrap();
    assert_eq!(graph.input(ids[2], 1), None);
    assert_eq!(graph.validate().unwrap_err().message(), "Input 1 of node 'c' is not connected");
    assert_eq!(graph.remove_node(ids[1]).unwrap_err().code(), Code::NotFound);
    assert_eq!(graph.remove_node(NodeId::SINK).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn behaviour_15_control_edges_are_unique_unless_asked() {
    let (mut graph, ids) = chain();
    assert_eq!(graph.add_control_edge(ids[0], ids[2]).unwrap(), None);
    let edge = graph.add_control_edge(ids[1], ids[2]).unwrap().unwrap();
    assert!(graph.edge(edge).unwrap().is_control());
    assert_eq!(graph.add_control_edge(ids[1], ids[2]).unwrap(), None);
    let twice = graph.add_duplicate_control_edge(ids[1], ids[2]).unwrap();
    assert_eq!(graph.control_inputs(ids[2]).collect::<Vec<_>>(), [ids[0], ids[1], ids[1]]);
    assert!(graph.validate().is_err());
    graph.remove_edge(edge).unwrap();
    graph.validate().unwrap();
    assert_eq!(graph.edge(twice).unwrap().src, ids[1]);
    assert_eq!(graph.remove_edge(edge).unwrap_err().code(), Code::NotFound);
    assert_eq!(graph.node_def(ids[2]).unwrap().input, ["a", "b", "^a", "^b"]);
}

#[test]
fn behaviour_15_update_edge_is_checked() {
    let (mut graph, ids) = chain();
    let [a, b, c] = ids[..] else { panic!() };
    graph.update_edge(a.output(0), c, 1).unwrap();
    assert_eq!(graph.input_node(c, 1), Some(a));
    assert_eq!(graph.num_out_edges(b), 0);
    assert_eq!(graph.update_edge(a.output(0), c, 2).unwrap_err().code(), Code::OutOfRange);
    assert_eq!(graph.update_edge(a.output(5), c, 0).unwrap_err().code(), Code::OutOfRange);
    graph.remove_edge(graph.input_edge(b, 0).unwrap().id).unwrap();
    let e = graph.update_edge(a.output(0), b, 0).unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::FailedPrecondition, "Couldn't find edge to b:0"));
    graph.add_edge(a.output(0), b, 0).unwrap();
    assert!(graph.add_edge(a.output(0), b, 0).unwrap_err().message().contains("is already connected to 'a:0'"));
    let int = graph.add_node(node("i", "Placeholder", &[]).with("dtype", dtype(DType::I32))).unwrap();
    let e = graph.update_edge(int.output(0), b, 0).unwrap_err();
    assert_eq!(e.message(), "Input 0 of node b was passed int32 from i:0 incompatible with expected float.");
    graph.validate().unwrap();
}

#[test]
fn behaviour_15_new_names_and_versions() {
    let (mut graph, _) = chain();
    let name = graph.new_name("a");
    assert_eq!(name, "a/_0");
    graph.add_node(node("a/_1", "NoOp", &[])).unwrap();
    assert_eq!(graph.new_name("a"), "a/_2");
    graph.set_versions(VersionDef { producer: 7, ..Default::default() });
    assert_eq!(graph.to_graph_def().versions.unwrap().producer, 7);
}

#[test]
fn a_node_that_is_refused_changes_nothing() {
    let (mut graph, _) = chain();
    let before = (graph.to_graph_def().encode_to_vec(), graph.num_node_ids(), graph.num_edge_ids(), graph.change_count());
    for (def, message) in [
        (node("a", "NoOp", &[]), "Node name 'a' already exists in the Graph"),
        (node("x y", "NoOp", &[]), "Node name contains invalid characters"),
        (node("x", "Foo", &[]), "Op type not registered 'Foo'"),
        (node("x", "Neg", &["q"]), "Unknown input node 'q'"),
        (node("x", "Neg", &["a:1"]), "does not have output 1"),
        (node("x", "Neg", &["a", "a"]), "do not match 2 inputs specified"),
        (node("x", "Neg", &["a"]).with("T", dtype(DType::String)), "is not in the list of allowed values"),
        (node("x", "Neg", &["a"]).with("T", dtype(DType::I32)), "incompatible with expected int32"),
        (node("x", "Neg", &["^a", "a"]), "Control dependencies must come after regular dependencies"),
    ] {
        let e = graph.add_node(def).unwrap_err();
        assert!(e.message().contains(message), "{e}");
        assert_eq!((graph.to_graph_def().encode_to_vec(), graph.num_node_ids(), graph.num_edge_ids(), graph.change_count()), before);
    }
}

#[test]
fn a_loop_is_built_node_by_node() {
    let mut graph = graph();
    for mut def in counting_loop("", "f") {
        if def.name == "merge" {
            def.input.truncate(1);
        }
        graph.add_node(def).unwrap();
    }
    let (merge, next) = (graph.find_node("merge").unwrap().id(), graph.find_node("next").unwrap().id());
    graph.add_edge(next.output(0), merge, 1).unwrap();
    graph.validate().unwrap();
    assert_eq!(graph.to_graph_def().node, import(counting_loop("", "f")).to_graph_def().node);
}

#[test]
fn attributes_change_types_and_arity() {
    let (mut graph, ids) = chain();
    let sum = graph.add_node(node("s", "AddN", &["a", "b", "^c"])).unwrap();
    graph.set_attr(sum, "N", 3i64).unwrap();
    assert_eq!((graph[sum].num_inputs(), graph.input(sum, 2)), (3, None));
    graph.add_edge(ids[2].output(0), sum, 2).unwrap();
    assert_eq!(graph.node_def(sum).unwrap().input, ["a", "b", "c", "^c"]);
    assert!(graph.set_attr(sum, "N", 2i64).unwrap_err().message().contains("has more inputs connected"));
    graph.remove_edge(graph.input_edge(sum, 2).unwrap().id).unwrap();
    graph.set_attr(sum, "N", 2i64).unwrap();
    assert_eq!(graph.control_inputs(sum).collect::<Vec<_>>(), [ids[2]]);
    graph.remove_edge(graph.in_edges(sum).last().unwrap().id).unwrap();
    assert_eq!(graph.node_def(sum).unwrap().input, ["a", "b"]);
    assert!(graph.set_attr(sum, "N", 0i64).is_err());
    let mat = graph.add_node(node("m", "MatMul", &["a", "b"]).with("transpose_a", true)).unwrap();
    graph.remove_attr(mat, "transpose_a").unwrap();
    assert!(!graph[mat].attrs().get::<bool>("transpose_a").unwrap());
    graph.validate().unwrap();
}

#[test]
fn names_and_devices_change() {
    let (mut graph, ids) = chain();
    graph.rename_node(ids[0], "z").unwrap();
    assert!(graph.find_node("a").is_none());
    assert_eq!(graph.node_def(ids[1]).unwrap().input, ["z"]);
    assert!(graph.rename_node(ids[0], "b").is_err());
    graph.set_device(ids[0], "/device:CPU:1").unwrap();
    assert_eq!(graph[ids[0]].device(), "/device:CPU:1");
    graph.set_device(ids[0], "").unwrap();
    assert_eq!(graph.node_def(ids[0]).unwrap().device, "");
}

#[test]
fn consumers_move_to_another_tensor() {
    let (mut graph, ids) = chain();
    graph.replace_output(ids[0].output(0), OutputId { node: ids[1], slot: 0 }).unwrap();
    assert_eq!(graph.input_node(ids[2], 0), Some(ids[1]));
    assert_eq!(graph.control_inputs(ids[2]).collect::<Vec<_>>(), [ids[0]]);
}

#[test]
fn edges_stay_in_step_under_many_changes() {
    let mut graph = graph();
    let mut ids = vec![graph.add_node(node("n0", "Placeholder", &[])).unwrap()];
    let mut state = 1u64;
    let mut random = move |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for i in 1..2000 {
        match random(5) {
            0 if ids.len() > 20 => graph.remove_node(ids.remove(ids.len() - 1 - random(20))).unwrap(),
            1 => {
                let ends = (random(ids.len()), random(ids.len()));
                if ends.0 < ends.1 {
                    graph.add_control_edge(ids[ends.0], ids[ends.1]).unwrap();
                }
            }
            2 => {
                let edge = graph.edges().filter(|e| e.is_control() && e.src > NodeId::SINK).nth(random(3));
                if let Some(edge) = edge {
                    graph.remove_edge(edge.id).unwrap();
                }
            }
            _ => {
                let mut input = || graph[ids[random(ids.len())]].name().to_owned();
                let (a, b) = (input(), input());
                ids.push(graph.add_node(node(&format!("n{i}"), "Add", &[&a, &b])).unwrap());
            }
        }
    }
    // Removing producers left inputs open; those nodes go too, until all is well.
    while graph.validate().is_err() {
        let open = graph.op_nodes().find(|n| (0..n.num_inputs()).any(|i| graph.input(n.id(), i).is_none())).unwrap().id();
        graph.remove_node(open).unwrap();
    }
    assert!(graph.num_nodes() > 20, "{}", graph.num_nodes());
    let counted: usize = graph.nodes().map(|n| graph.in_edges(n.id()).count()).sum();
    assert_eq!(counted, graph.num_edges());
}

#[test]
fn a_clone_is_independent() {
    let (graph, ids) = chain();
    let mut copy = graph.clone();
    copy.remove_node(ids[2]).unwrap();
    assert!(graph.get(ids[2]).is_some());
    assert_eq!(graph.to_graph_def().node.len(), 3);
    let again: Vec<NodeDef> = copy.to_graph_def().node;
    assert_eq!(again.len(), 2);
}
