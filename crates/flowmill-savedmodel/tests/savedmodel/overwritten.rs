//! Tests that a loaded model does not change with its files.
#![allow(clippy::unwrap_used)]

use std::fs;

use flowmill_proto::{AttrValue, GraphDef, Message, NodeDef};
use flowmill_savedmodel::{BundleReader, BundleWriter, load_graph_def};
use flowmill_tensor::{Code, Tensor};

#[test]
fn graphs_keep_their_constants() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph.pb");
    let content = proto_content(1 << 20);
    let node = NodeDef { name: "w".into(), op: "Const".into(), attr: [("value".into(), content)].into(), ..Default::default() };
    let graph = GraphDef { node: vec![node], ..Default::default() };
    fs::write(&path, graph.encode_to_vec()).unwrap();
    let (loaded, _) = load_graph_def(&path).unwrap();
    fs::write(&path, "shorter").unwrap();
    assert_eq!(loaded, graph);
}

fn proto_content(len: usize) -> AttrValue {
    flowmill_proto::TensorProto { tensor_content: vec![7; len].into(), ..Default::default() }.into()
}

#[test]
fn tensors_of_checkpoints_keep_their_elements() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("c");
    let written = Tensor::from_slice([1 << 16], &[3.0f32; 1 << 16]).unwrap();
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("a", &written).unwrap();
    writer.add("b", &written).unwrap();
    writer.finish().unwrap();
    let reader = BundleReader::open(&prefix).unwrap();
    let read = reader.read("a").unwrap();
    let data = fs::OpenOptions::new().write(true).open(prefix.with_extension("data-00000-of-00001")).unwrap();
    data.set_len(100).unwrap();
    assert_eq!(read, written);
    let error = reader.read("b").unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains("ends before byte"), "{error}");
}
