//! SavedModels and frozen graphs.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_proto::{
    self as proto, AssetFileDef, CollectionDef, GraphDef, Message, MetaGraphDef, SaverDef, SignatureDef, TensorInfo, collection_def,
    meta_graph_def, tensor_info,
};
use flowmill_savedmodel::{Asset, BundleReader, CheckpointReader, ModelPath, Restore, SavedModel, load_graph_def};
use flowmill_tensor::{Code, DType};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn digits() -> PathBuf {
    repository("examples/digits/1")
}

#[test]
fn the_digits_model_is_loaded() {
    let model = SavedModel::open(digits()).unwrap();
    assert_eq!(model.tag_sets(), [["serve"]]);
    let loaded = model.load(&["serve"]).unwrap();
    let signatures = loaded.signatures();
    assert_eq!(signatures.keys().copied().collect::<Vec<_>>(), ["serving_default"]);
    let outputs: Vec<&String> = signatures["serving_default"].outputs.keys().collect();
    assert_eq!(outputs, ["classes", "probabilities"]);
    let restore = loaded.restore.unwrap();
    assert_eq!(restore.op, "save/restore_all");
    assert_eq!(restore.path_tensor, "save/Const:0");
    assert!(loaded.assets.is_empty());

    let reader = BundleReader::open(&restore.path).unwrap();
    let mut num_parameters = 0;
    for name in reader.names() {
        let tensor = reader.read(name).unwrap();
        assert_eq!(tensor.dtype(), DType::F32, "{name}");
        assert!(tensor.as_slice::<f32>().unwrap().iter().all(|value| value.is_finite()), "{name}");
        num_parameters += tensor.num_elements();
    }
    assert_eq!(num_parameters * 4, 185_984);
}

#[test]
fn version_1_models_with_tables_are_loaded() {
    let directory = repository("tests/data/saved_models/v1_table");
    let loaded = SavedModel::open(&directory).unwrap().load(&["serve"]).unwrap();
    assert_eq!(loaded.init_op.as_deref(), Some("init_all_tables_1"));
    let path = directory.join("assets/words.txt");
    assert_eq!(loaded.assets, [Asset { tensor: "asset_path:0".into(), path }]);
    let reader = CheckpointReader::open(loaded.restore.unwrap().path).unwrap();
    assert_eq!(reader.names(), ["bias"]);
    assert_eq!(reader.read("bias").unwrap().as_slice::<i64>().unwrap(), [10, 20, 30, 40]);
    assert_eq!(reader.object_graph().unwrap(), None);
}

#[test]
fn version_2_models_keep_their_objects() {
    let directory = repository("tests/data/saved_models/v2_table_loop");
    let loaded = SavedModel::open(&directory).unwrap().load(&["serve"]).unwrap();
    assert_eq!(loaded.signatures().keys().copied().collect::<Vec<_>>(), ["serving_default"]);
    assert_eq!(loaded.init_op.as_deref(), Some("NoOp"));
    assert_eq!(loaded.assets.len(), 1);
    assert!(loaded.assets[0].path.is_file());
    let objects = loaded.meta_graph.object_graph_def.unwrap();
    assert!(objects.nodes[0].children.iter().any(|child| child.local_name == "w"));
    let reader = CheckpointReader::open(loaded.restore.unwrap().path).unwrap();
    let graph = reader.object_graph().unwrap().unwrap();
    let w = &graph.nodes.iter().flat_map(|node| &node.attributes).find(|attribute| attribute.full_name == "w").unwrap();
    let tensor = reader.read(&w.checkpoint_key).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn tags_must_match_exactly() {
    let model = SavedModel::open(digits()).unwrap();
    for tags in [&["serve", "gpu"][..], &[], &["train"]] {
        let error = model.meta_graph(tags).unwrap_err();
        assert_eq!(error.code(), Code::NotFound);
        assert!(error.message().contains("Could not find meta graph def matching supplied tags: {"), "{error}");
        assert!(error.message().contains("{ serve }"), "{error}");
    }
    assert!(model.meta_graph(&["serve", "serve"]).is_ok());
}

#[test]
fn models_that_are_not_there_or_not_models_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let error = SavedModel::open(dir.path()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("Could not find SavedModel .pb or .pbtxt at supplied export directory path"), "{error}");
    fs::write(dir.path().join("saved_model.pbtxt"), "").unwrap();
    assert_eq!(SavedModel::open(dir.path()).unwrap_err().code(), Code::DataLoss);
    fs::write(dir.path().join("saved_model.pb"), "\x08\x01no model").unwrap();
    let error = SavedModel::open(dir.path()).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains("as binary proto"), "{error}");
}

fn named(name: &str) -> TensorInfo {
    TensorInfo { encoding: Some(tensor_info::Encoding::Name(name.into())), ..Default::default() }
}

fn nodes(names: &[&str]) -> CollectionDef {
    let value = names.iter().map(|name| name.to_string()).collect();
    let list = collection_def::NodeList { value, ..Default::default() };
    CollectionDef { kind: Some(collection_def::Kind::NodeList(list)), ..Default::default() }
}

/// Writes a model of one graph without tags.
fn write_model(dir: &Path, meta_graph: MetaGraphDef) -> SavedModel {
    let info = meta_graph_def::MetaInfoDef::default();
    let meta_graph = MetaGraphDef { meta_info_def: Some(info), ..meta_graph };
    let model = proto::SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta_graph], ..Default::default() };
    fs::write(dir.join("saved_model.pb"), model.encode_to_vec()).unwrap();
    SavedModel::open(dir).unwrap()
}

#[test]
fn initialisation_is_found_in_signature_and_collections() {
    let dir = tempfile::tempdir().unwrap();
    let signature = |name: &str| SignatureDef { outputs: [(name.to_string(), named("all_init:0"))].into(), ..Default::default() };
    let meta_graph = MetaGraphDef {
        signature_def: [("__saved_model_init_op".into(), signature("__saved_model_init_op"))].into(),
        collection_def: [("saved_model_main_op".into(), nodes(&["other"]))].into(),
        ..Default::default()
    };
    let loaded = write_model(dir.path(), meta_graph).load(&[]).unwrap();
    assert_eq!(loaded.init_op.as_deref(), Some("all_init"));
    assert!(loaded.signatures().is_empty());
    assert_eq!(loaded.restore, None);

    for collection in ["saved_model_main_op", "legacy_init_op"] {
        let with = |names: &[&str]| MetaGraphDef { collection_def: [(collection.into(), nodes(names))].into(), ..Default::default() };
        let loaded = write_model(dir.path(), with(&["group_deps"])).load(&[]).unwrap();
        assert_eq!(loaded.init_op.as_deref(), Some("group_deps"));
        let error = write_model(dir.path(), with(&["a", "b"])).load(&[]).unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition);
        assert!(error.message().contains("Expected exactly one main op in"), "{error}");
    }
}

#[test]
fn assets_are_found_in_field_and_collection() {
    let dir = tempfile::tempdir().unwrap();
    let asset = |file: &str| AssetFileDef { tensor_info: Some(named("asset_path:0")), filename: file.into(), ..Default::default() };
    let in_field = |file| MetaGraphDef { asset_file_def: vec![asset(file)], ..Default::default() };
    let any = proto::Any { type_url: "type.googleapis.com/tensorflow.AssetFileDef".into(), value: asset("words.txt").encode_to_vec() };
    let list = collection_def::AnyList { value: vec![any], ..Default::default() };
    let collection = CollectionDef { kind: Some(collection_def::Kind::AnyList(list)), ..Default::default() };
    let in_collection = MetaGraphDef { collection_def: [("saved_model_assets".into(), collection)].into(), ..Default::default() };
    for meta_graph in [in_field("words.txt"), in_collection] {
        let loaded = write_model(dir.path(), meta_graph).load(&[]).unwrap();
        let path = dir.path().join("assets/words.txt");
        assert_eq!(loaded.assets, [Asset { tensor: "asset_path:0".into(), path }]);
    }
    for outside in ["../../etc/passwd", "/etc/passwd"] {
        assert_eq!(write_model(dir.path(), in_field(outside)).load(&[]).unwrap_err().code(), Code::NotFound);
    }
}

#[test]
fn variables_need_a_saver_and_a_saver_variables() {
    let dir = tempfile::tempdir().unwrap();
    let saver = SaverDef { restore_op_name: "restore".into(), filename_tensor_name: "file".into(), ..Default::default() };
    let meta_graph = MetaGraphDef { saver_def: Some(saver), ..Default::default() };
    let error = write_model(dir.path(), meta_graph).load(&[]).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("is not a valid checkpoint"), "{error}");
    fs::create_dir(dir.path().join("variables")).unwrap();
    fs::write(dir.path().join("variables/variables.index"), "").unwrap();
    assert_eq!(write_model(dir.path(), MetaGraphDef::default()).load(&[]).unwrap_err().code(), Code::NotFound);
    let saver = SaverDef { restore_op_name: "restore".into(), filename_tensor_name: "file".into(), ..Default::default() };
    let meta_graph = MetaGraphDef { saver_def: Some(saver), ..Default::default() };
    let loaded = write_model(dir.path(), meta_graph).load(&[]).unwrap();
    let path = dir.path().join("variables/variables");
    assert_eq!(loaded.restore, Some(Restore { op: "restore".into(), path_tensor: "file:0".into(), path }));
}

#[test]
fn frozen_graphs_are_loaded() {
    let (graph, file) = load_graph_def(repository("tests/data/models/lstm_small.pb")).unwrap();
    assert_eq!(graph, GraphDef::decode(file).unwrap());
    assert!(graph.node.iter().any(|node| node.op == "NextIteration"));
    let error = load_graph_def(digits().join("variables/variables.index")).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert_eq!(load_graph_def(repository("tests/data/models/none.pb")).unwrap_err().code(), Code::NotFound);
    assert_eq!(load_graph_def(digits()).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn paths_are_recognised() {
    let detect = |path: PathBuf| ModelPath::detect(path).unwrap();
    let variables = digits().join("variables/variables");
    assert_eq!(detect(digits()), ModelPath::SavedModel(digits()));
    assert_eq!(detect(digits().join("saved_model.pb")), ModelPath::SavedModel(digits().join("saved_model.pb")));
    assert_eq!(detect(variables.clone()), ModelPath::Checkpoint(variables.clone()));
    assert_eq!(detect(variables.with_extension("index")), ModelPath::Checkpoint(variables));
    let graph = repository("tests/data/models/lstm_small.pb");
    assert_eq!(detect(graph.clone()), ModelPath::Graph(graph));
    let checkpoints = repository("tests/data/checkpoints/variety");
    assert_eq!(detect(checkpoints.clone()), ModelPath::Checkpoint(checkpoints.join("variety-2")));
    assert_eq!(ModelPath::detect(repository("tests/data/none")).unwrap_err().code(), Code::NotFound);
    assert_eq!(ModelPath::detect(repository("tests/data")).unwrap_err().code(), Code::NotFound);
}

#[test]
fn damaged_models_never_panic() {
    let bytes = fs::read(digits().join("saved_model.pb")).unwrap();
    for at in (0..bytes.len()).step_by(499) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        for bytes in [changed, bytes[..at].to_vec()] {
            let Ok(model) = SavedModel::from_bytes(Bytes::from(bytes)) else { continue };
            if let Ok(loaded) = model.load(&["serve"]) {
                assert_eq!(loaded.restore, None, "bytes alone have no variables");
            }
        }
    }
}
