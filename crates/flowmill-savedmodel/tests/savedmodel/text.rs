//! Messages as text, and files that are no messages.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::attr_value::Value;
use flowmill_proto::{self as proto, AssetFileDef, GraphDef, Message, collection_def};
use flowmill_savedmodel::{
    FileAccess, ModelPath, SavedModel, load_graph_def, load_graph_def_with, load_meta_graph, parse_checkpoint_state, parse_graph_def,
};
use flowmill_tensor::{Code, Error};

fn parse(text: &str) -> Result<GraphDef, Error> {
    parse_graph_def(Bytes::copy_from_slice(text.as_bytes()))
}

#[track_caller]
fn assert_mistake(text: &str, expected: &str) {
    let error = parse(text).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains(expected), "{text}: {error}");
}

#[test]
fn every_construct_is_read() {
    let graph = parse(
        r#"# a graph
        node { name: "x" op: 'Placeholder' input: ["a", "^b"], attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "shape" value < shape { dim { size: -1 } dim: { size: 0x10 } } >; };
        }
        node: <
          name: "two" " parts\n\x41\102\303\251\u00e9" device: ""
          attr { key: "f" value { f: -1.5e+2f } } attr { key: "i" value { i: -9223372036854775808 } } attr { key: "b" value { b: True } }
          attr { key: "t" value { type: 3 } } attr { key: "s" value { s: "\377\000'" } }
          attr { key: "l" value { list { f: [inf, -inf, nan, 1, .5] i: [] s: "p" s: "q" b: [0, t, false] } } }
          attr { key: "n" value { func { name: "g" attr { key: "T" value { type: DT_INT32 } } } } }
        >
        versions { producer: 27 bad_consumers: [1, 010] }"#,
    )
    .unwrap();
    let [x, two] = &graph.node[..] else { panic!("{graph:?}") };
    assert_eq!((x.name.as_str(), x.op.as_str(), &x.input[..]), ("x", "Placeholder", &["a".to_owned(), "^b".to_owned()][..]));
    assert_eq!(x.attr["dtype"].value, Some(Value::Type(1)));
    assert_eq!(x.attr["shape"], proto::TensorShapeProto::of([-1, 16]).into());
    assert_eq!(two.name, "two parts\nABéé");
    assert_eq!(two.attr["f"], (-150.0f32).into());
    assert_eq!(two.attr["i"], i64::MIN.into());
    assert_eq!(two.attr["b"], true.into());
    assert_eq!(two.attr["t"].value, Some(Value::Type(3)));
    assert_eq!(two.attr["s"], Bytes::from_static(b"\xff\0'").into());
    let Some(Value::List(list)) = &two.attr["l"].value else { panic!("{two:?}") };
    assert_eq!((list.f[0], list.f[1], list.f[2].is_nan(), list.f[3], list.f[4]), (f32::INFINITY, f32::NEG_INFINITY, true, 1.0, 0.5));
    assert_eq!((list.i.len(), list.s.len(), &list.b[..]), (0, 2, &[false, true, false][..]));
    let Some(Value::Func(func)) = &two.attr["n"].value else { panic!("{two:?}") };
    assert_eq!(func.attr["T"].value, Some(Value::Type(3)));
    assert_eq!(graph.versions.unwrap().bad_consumers, [1, 8]);
}

#[test]
fn mistakes_have_a_line_and_a_column() {
    assert_mistake("node {\n  nme: \"x\"\n}", "line 2, column 3: message 'tensorflow.NodeDef' has no field 'nme'");
    assert_mistake("node {\n  name \"x\"\n}", "line 2, column 8: ':' expected after 'name'");
    assert_mistake("node {\n  name: x\n}", "line 2, column 9: a string expected, not 'x'");
    assert_mistake("node { name: \"x\n\" }", "line 1, column 14: a string without end");
    assert_mistake("node { name: \"\\q\" }", "line 1, column 15: an unknown escape");
    assert_mistake("node { name: \"\\400\" }", "an unknown escape");
    assert_mistake("node { name: \"\\377\" }", "not UTF-8");
    assert_mistake("node { name: \"a\" name: \"b\" }", "column 18: field 'name' is given twice");
    assert_mistake("node { attr { key: \"a\" value { i: 1 f: 2 } } }", "field 'f' is given beside 'i'");
    assert_mistake("node { attr { key: \"a\" value { type: DT_NONE } } }", "has no value 'DT_NONE'");
    assert_mistake("versions { producer: 99999999999 }", "99999999999 is not between");
    assert_mistake("versions { producer: 1.5 }", "a name expected, not '.'");
    assert_mistake("versions { producer: -x }", "a number expected, not '-'");
    assert_mistake("node {", "column 7: '}' expected before the end");
    assert_mistake("node { name: \"a\" }}", "a name expected, not '}'");
    assert_mistake("node { [type.googleapis.com/tensorflow.NodeDef] { } }", "has no extension");
    assert_mistake(&"node { attr { value { list { tensor { ".repeat(2), "has no field 'node'");
    let deep = format!("node {{ attr {{ value {{ {}", "func { attr { value { ".repeat(100_000));
    assert_mistake(&deep, "nested deeper than 100");
}

#[test]
fn messages_of_any_type_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.pbtxt");
    let text = r#"meta_info_def { tags: "serve" } collection_def { key: "saved_model_assets" value { any_list { value {
        [type.googleapis.com/tensorflow.AssetFileDef] { filename: "words.txt" } } } } }"#;
    fs::write(&path, text).unwrap();
    let meta = load_meta_graph(&path).unwrap();
    let Some(collection_def::Kind::AnyList(list)) = &meta.collection_def["saved_model_assets"].kind else { panic!("{meta:?}") };
    assert_eq!(list.value[0].type_url, "type.googleapis.com/tensorflow.AssetFileDef");
    assert_eq!(AssetFileDef::decode(list.value[0].value.as_slice()).unwrap().filename, "words.txt");
    assert_eq!(ModelPath::detect(&path).unwrap(), ModelPath::MetaGraph(path));
}

#[test]
fn saved_models_are_read_as_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("saved_model.pbtxt");
    let text =
        "saved_model_schema_version: 1\nmeta_graphs { meta_info_def { tags: \"serve\" } graph_def { node { name: \"n\" op: \"NoOp\" } } }";
    fs::write(&path, text).unwrap();
    for place in [dir.path(), &path] {
        assert!(matches!(ModelPath::detect(place).unwrap(), ModelPath::SavedModel(found) if found == place));
        let model = SavedModel::open(place).unwrap();
        let again = SavedModel::from_bytes(model.file().clone()).unwrap();
        assert_eq!(again.meta_graphs(), model.meta_graphs());
        assert_eq!(model.load(&["serve"]).unwrap().meta_graph.graph_def.unwrap().node[0].op, "NoOp");
    }
    fs::write(&path, "meta_graphs {\n meta_info: 1 }").unwrap();
    assert!(SavedModel::open(dir.path()).unwrap_err().message().contains("line 2, column 2"));
}

#[test]
fn text_is_told_by_contents() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph.pb");
    fs::write(&path, "node { name: \"n\" op: \"NoOp\" }").unwrap();
    assert_eq!(ModelPath::detect(&path).unwrap(), ModelPath::Graph(path.clone()));
    let (graph, wire) = load_graph_def(&path).unwrap();
    assert_eq!(graph, GraphDef::decode(wire).unwrap());
    fs::write(&path, graph.encode_to_vec()).unwrap();
    assert_eq!(load_graph_def(&path).unwrap().0, graph);
    assert_eq!(load_graph_def_with(&path, FileAccess::Map).unwrap().0, graph);
    assert_eq!(parse_graph_def(Bytes::new()).unwrap(), GraphDef::default());
}

#[test]
fn files_of_other_kinds_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let zip = |name: &str| [&b"PK\x03\x04\x14\0\0\0\0\0"[..], name.as_bytes()].concat();
    let digits = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits/1/saved_model.pb")).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/models/lstm_small.pb");
    let graph = fs::read(model).unwrap();
    let kinds: [(Vec<u8>, &str); 16] = [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4\n".to_vec(), "Git LFS pointer"),
        (b"\n<!DOCTYPE html>\n<html></html>".to_vec(), "HTML page"),
        (b"<?xml version=\"1.0\"?>".to_vec(), "XML"),
        (b"{\"format\": \"layers-model\"}".to_vec(), "JSON"),
        (zip("m/constants.pkl"), "TorchScript"),
        (zip("m/data.pkl"), "PyTorch"),
        (zip("model.weights.h5"), "Keras 3"),
        (zip("other"), "zip archive"),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0".to_vec(), "HDF5"),
        (b"\x1c\0\0\0TFL3\0\0\0\0".to_vec(), "TensorFlow Lite"),
        (b"\x08\x07\x12\x07pytorch\x1a\x032.0\x3a\x02\x0a\x00".to_vec(), "ONNX"),
        (b"\x40\0\0\0\0\0\0\0{\"w\":{}}\0".to_vec(), "safetensors"),
        (b"\x80\x02}q\0.".to_vec(), "pickle"),
        (b"\x1f\x8b\x08\0\0\0".to_vec(), "gzip"),
        (Vec::new(), "the file is empty"),
        (graph[..graph.len() - 3].to_vec(), "ends in the middle of a field"),
    ];
    for (bytes, expected) in &kinds {
        let path = dir.path().join("saved_model.pb");
        fs::write(&path, bytes).unwrap();
        let truncated = expected.contains("middle");
        let errors = [load_graph_def(&path).err(), (!truncated).then(|| SavedModel::open(&path).err()).flatten()];
        for error in errors.into_iter().flatten() {
            assert_eq!(error.code(), Code::DataLoss);
            assert!(error.message().contains(expected) && error.message().contains("saved_model.pb"), "{expected}: {error}");
        }
        assert!(load_graph_def(&path).is_err());
    }
    let path: PathBuf = dir.path().join("other.pb");
    fs::write(&path, digits).unwrap();
    assert!(load_graph_def(&path).unwrap_err().message().ends_with("it is a SavedModel"));
    fs::write(&path, &graph).unwrap();
    assert!(SavedModel::open(&path).unwrap_err().message().ends_with("it is a GraphDef"));
    let pointer = parse_checkpoint_state(b"version https://git-lfs.github.com/spec/v1\n").unwrap_err();
    assert!(pointer.message().contains("Git LFS"), "{pointer}");
    assert!(parse_checkpoint_state(b"model_checkpoint_path: 3").unwrap_err().message().contains("line 1, column 24"));
}
