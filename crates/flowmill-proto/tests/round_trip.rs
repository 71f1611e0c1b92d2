//! Decoding and encoding against files written by TensorFlow, unknown fields, and bad input.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::attr_value::Value;
use flowmill_proto::{
    AttrValue, DataType, FunctionDef, GraphDef, Message, NodeDef, SavedModel, TensorProto, TensorShapeProto, VersionDef, function_def,
};
use proptest::prelude::*;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> Bytes {
    std::fs::read(repository(path)).unwrap().into()
}

/// A field of a tag that no message declares: a varint, and bytes that are not canonical as a varint.
const UNKNOWN: &[u8] = &[0xa0, 0xbf, 0x06, 0x81, 0x00, 0xa2, 0xbf, 0x06, 0x02, b'h', b'i'];

#[test]
fn frozen_graphs_of_tensorflow_are_byte_stable() {
    for model in ["bert_small", "lstm_small"] {
        let bytes = read(&format!("tests/data/models/{model}.pb"));
        let graph = GraphDef::decode(bytes.clone()).unwrap();
        assert!(graph.node.len() > 20, "{model}");
        assert!(graph.encode_to_vec() == bytes, "{model} changed");
    }
}

#[test]
fn saved_models_of_tensorflow_are_byte_stable() {
    for path in ["tests/data/saved_models/v1_table", "tests/data/saved_models/v2_table_loop"] {
        let bytes = read(&format!("{path}/saved_model.pb"));
        let model = SavedModel::decode(bytes.clone()).unwrap();
        assert!(model.encode_to_vec() == bytes, "{path} changed");
    }
    let bytes = read("examples/digits/1/saved_model.pb");
    let model = SavedModel::decode(bytes.clone()).unwrap();
    let meta_graph = &model.meta_graphs[0];
    assert_eq!(meta_graph.meta_info_def.as_ref().unwrap().tags, ["serve"]);
    let inputs = &meta_graph.signature_def["serving_default"].inputs;
    assert_eq!(inputs["images"].dtype(), DataType::DtFloat);
    assert!(model.encode_to_vec() == bytes);
}

/// The order in which protobuf's Python package writes these keys.
#[test]
fn strings_are_written_before_their_prefixes() {
    let keys = ["Tidx", "Tid", "Tj", "T", "abc", "ab", "a", "b", ""];
    let node = NodeDef { attr: keys.map(|key| (key.into(), AttrValue::from(true))).into(), ..Default::default() };
    let entry = |key: &str| {
        let key_len = key.len() as u8;
        [&[0x2a, key_len + 6, 0x0a, key_len], key.as_bytes(), &[0x12, 2, 0x28, 1]].concat()
    };
    assert_eq!(node.encode_to_vec(), keys.map(entry).concat());
}

#[test]
fn tensor_content_points_into_the_file() {
    let bytes = read("tests/data/models/lstm_small.pb");
    let file = bytes.as_ptr_range();
    let graph = GraphDef::decode(bytes.clone()).unwrap();
    let mut contents = 0;
    for node in &graph.node {
        if let Some(AttrValue { value: Some(Value::Tensor(tensor)), .. }) = node.attr.get("value")
            && !tensor.tensor_content.is_empty()
        {
            assert!(file.contains(&tensor.tensor_content.as_ptr()), "{} was copied", node.name);
            contents += tensor.tensor_content.len();
        }
    }
    assert!(contents > 10_000);
}

#[test]
fn unknown_fields_survive_at_every_level() {
    /// `message` with unknown fields at its end.
    fn extended<M: Message + Default>(message: &M) -> M {
        let mut bytes = message.encode_to_vec();
        bytes.extend_from_slice(UNKNOWN);
        M::decode(bytes.as_slice()).unwrap()
    }
    let shape = extended(&TensorShapeProto::of([2, -1]));
    let tensor = extended(&TensorProto { tensor_shape: Some(shape), ..Default::default() });
    let value = extended(&AttrValue::from(tensor));
    let node = extended(&NodeDef { name: "n".into(), attr: [("value".into(), value)].into(), ..Default::default() });
    let function = extended(&FunctionDef { node_def: vec![node.clone()], ..Default::default() });
    let library = extended(&flowmill_proto::FunctionDefLibrary { function: vec![function], ..Default::default() });
    let versions = extended(&VersionDef { producer: 5, ..Default::default() });
    let graph = extended(&GraphDef { node: vec![node], versions: Some(versions), library: Some(library), ..Default::default() });

    let bytes = graph.encode_to_vec();
    assert_eq!(bytes.windows(UNKNOWN.len()).filter(|window| *window == UNKNOWN).count(), 12);
    let again = GraphDef::decode(bytes.as_slice()).unwrap();
    assert_eq!(again, graph);
    assert_eq!(again.unknown_fields.as_bytes(), UNKNOWN);
    assert_eq!(again.encoded_len(), bytes.len());
    assert_eq!(again.encode_to_vec(), bytes);
}

#[test]
fn unknown_groups_are_kept_to_the_recursion_limit() {
    let nested = |depth: usize| [vec![0x7b; depth], vec![0x7c; depth]].concat();
    let graph = GraphDef::decode(nested(90).as_slice()).unwrap();
    assert_eq!(graph.unknown_fields.as_bytes(), nested(90));
    assert!(GraphDef::decode(nested(200).as_slice()).is_err());
    assert!(GraphDef::decode([0x7b, 0x74].as_slice()).is_err(), "the end of another group");
}

#[test]
fn lists_become_attribute_values() {
    let Some(Value::List(list)) = AttrValue::from(vec![DataType::DtFloat, DataType::DtInt32]).value else { panic!("no list") };
    assert_eq!(list.r#type, [1, 3]);
    let Some(Value::List(list)) = AttrValue::from(vec![2i64, -1]).value else { panic!("no list") };
    assert_eq!(list.i, [2, -1]);
}

#[test]
fn integers_are_written_from_the_greatest() {
    let function = FunctionDef { resource_arg_unique_id: [(0, 1), (300, 2), (5, 3)].into(), ..Default::default() };
    let bytes = [0x42, 5, 0x08, 0xac, 0x02, 0x10, 2, 0x42, 4, 0x08, 5, 0x10, 3, 0x42, 4, 0x08, 0, 0x10, 1];
    assert_eq!(function.encode_to_vec(), bytes);
}

#[test]
fn map_entries_have_key_and_value_even_if_default() {
    let function = FunctionDef {
        arg_attr: [(0, function_def::ArgAttrs::default())].into(),
        resource_arg_unique_id: [(0, 0)].into(),
        ..Default::default()
    };
    let bytes = [0x3a, 4, 0x08, 0, 0x12, 0, 0x42, 4, 0x08, 0, 0x10, 0];
    assert_eq!(function.encode_to_vec(), bytes);
    assert_eq!(FunctionDef::decode([0x3a, 0, 0x42, 0].as_slice()).unwrap(), function);
}

#[test]
fn nested_functions_beyond_the_recursion_limit_are_refused() {
    let mut value = AttrValue::from(1i64);
    for _ in 0..100 {
        let func = flowmill_proto::NameAttrList { attr: [("f".into(), value)].into(), ..Default::default() };
        value = func.into();
    }
    assert!(AttrValue::decode(value.encode_to_vec().as_slice()).is_err());
}

#[test]
fn truncated_graphs_are_errors_or_shorter_graphs() {
    let bytes = read("tests/data/models/lstm_small.pb");
    let whole = GraphDef::decode(bytes.clone()).unwrap();
    for len in (0..bytes.len()).step_by(997) {
        if let Ok(graph) = GraphDef::decode(bytes.slice(..len)) {
            assert!(graph.node.len() <= whole.node.len());
            assert_ne!(graph, whole);
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(graph) = GraphDef::decode(bytes.as_slice()) {
            let again = GraphDef::decode(graph.encode_to_vec().as_slice());
            prop_assert_eq!(again.unwrap().encode_to_vec(), graph.encode_to_vec());
        }
    }

    #[test]
    fn damaged_graphs_never_panic(damage in proptest::collection::vec((0usize..91_142, any::<u8>()), 1..8)) {
        let mut bytes = read("tests/data/models/lstm_small.pb").to_vec();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        if let Ok(graph) = GraphDef::decode(Bytes::from(bytes)) {
            prop_assert_eq!(graph.encoded_len(), graph.encode_to_vec().len());
        }
    }
}
