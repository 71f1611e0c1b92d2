//! Templates of nodes, and attributes that nodes share.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use flowmill_graph::{Attrs, NodeId, OwnAttr};
use flowmill_proto::{AttrValue, DataType};
use flowmill_tensor::Code;
use std::collections::BTreeMap;
use std::sync::Arc;

fn float_enter() -> BTreeMap<String, AttrValue> {
    [("T".to_owned(), AttrValue::from(DataType::DtFloat)), ("_note".to_owned(), "the same".into())].into()
}

fn frame(name: &str) -> Arc<[OwnAttr]> {
    Arc::new([("_mark", (name.len() as i64).into()), ("frame_name", name.into())])
}

#[test]
fn nodes_of_a_template_are_those_of_their_messages() {
    let mut graph = graph();
    let x = graph.add_node(node("x", "Placeholder", &[])).unwrap();
    let template = graph.template("Enter", float_enter(), &frame("")).unwrap();
    let added: Vec<NodeId> = ["a", "bc"].map(|name| graph.add_node_of(&template, "x", Some(&frame(name)), &[x.output(0)]).unwrap()).into();
    for (&id, name) in added.iter().zip(["a", "bc"]) {
        let mut attr = float_enter();
        attr.extend([("frame_name".to_owned(), name.into()), ("_mark".to_owned(), (name.len() as i64).into())]);
        let mut def = node(&format!("of_{name}"), "Enter", &["x"]);
        def.attr = attr;
        let like = graph.add_node(def).unwrap();
        let (found, wanted) = (&graph[id], &graph[like]);
        assert_eq!(found.attrs(), wanted.attrs());
        assert_eq!(found.attrs().to_map(), wanted.attrs().clone().into_map());
        assert!(found.attrs().iter().map(|(name, _)| name).is_sorted());
        assert!(!found.attrs().get::<bool>("is_constant").unwrap(), "defaults are filled in");
        assert_eq!((found.input_types(), found.output_types()), (wanted.input_types(), wanted.output_types()));
        assert_eq!(graph.input(id, 0), Some(x.output(0)));
    }
    graph.validate().unwrap();
    assert_eq!(added.iter().map(|&id| graph[id].name()).collect::<Vec<_>>(), ["x/_0", "x/_1"]);
}

#[test]
fn a_change_of_a_node_is_its_own() {
    let mut graph = graph();
    let x = graph.add_node(node("x", "Placeholder", &[])).unwrap();
    let template = graph.template("Enter", float_enter(), &frame("")).unwrap();
    let [a, b] = ["a", "b"].map(|name| graph.add_node_of(&template, "e", Some(&frame(name)), &[x.output(0)]).unwrap());
    graph.set_attr(a, "frame_name", "other").unwrap();
    graph.remove_attr(a, "_note").unwrap();
    let text = |id: NodeId, name: &str| graph[id].attrs().get::<&str>(name).map(str::to_owned).ok();
    assert_eq!((text(a, "frame_name").as_deref(), text(a, "_note")), (Some("other"), None));
    assert_eq!((text(b, "frame_name").as_deref(), text(b, "_note").as_deref()), (Some("b"), Some("the same")));
    let copy = graph.clone();
    graph.set_attr(b, "_note", "changed").unwrap();
    assert_eq!(copy[b].attrs().get::<&str>("_note").unwrap(), "the same");
}

#[test]
fn a_template_refuses_other_attributes_and_inputs() {
    let mut graph = graph();
    let x = graph.add_node(node("x", "Placeholder", &[])).unwrap();
    let code = |result: flowmill_tensor::Result<NodeId>| result.unwrap_err().code();
    let template = graph.template("Enter", float_enter(), &frame("")).unwrap();
    assert_eq!(code(graph.add_node_of(&template, "e", None, &[])), Code::InvalidArgument);
    let of_other_kind: Arc<[OwnAttr]> = Arc::new([("_mark", 1i64.into()), ("frame_name", 2i64.into())]);
    assert_eq!(code(graph.add_node_of(&template, "e", Some(&of_other_kind), &[])), Code::InvalidArgument);
    assert_eq!(code(graph.add_node_of(&template, "no name", Some(&frame("f")), &[])), Code::InvalidArgument);
    assert_eq!(code(graph.add_node_of(&template, "e", Some(&frame("f")), &[x.output(0), x.output(0)])), Code::InvalidArgument);
    assert_eq!(graph.template("Enter", float_enter(), &[]).err().map(|e| e.code()), Some(Code::InvalidArgument), "an attribute is missing");
    assert_eq!(graph.template("Missing", float_enter(), &[]).err().map(|e| e.code()), Some(Code::NotFound));
    assert_eq!(graph.num_nodes(), 3);
}

#[test]
fn attributes_are_equal_whatever_they_share() {
    let attrs = Attrs::from(float_enter());
    let mut copy = attrs.clone();
    copy.set("_note", "another");
    assert_ne!(attrs, copy);
    copy.set("_note", "the same");
    assert_eq!(attrs, copy);
    copy.retain(|name, _| name == "T");
    assert_eq!((copy.contains("T"), copy.contains("_note"), attrs.contains("_note")), (true, false, true));
    copy.remove("T");
    assert_eq!(copy, Attrs::default());
}
