//! A model that measures the lengths of strings, and files of warm-up requests.

use flowmill::prelude::*;
use flowmill::proto::{self, MetaGraphDef, SignatureDef, TensorInfo, TensorShapeProto, feature, meta_graph_def, tensor_info};
use flowmill_serving::proto::tfs::{self, PredictionLog, prediction_log::LogType};
use flowmill_serving::warmup::REQUESTS_FILE;
use prost::Message;
use std::path::{Path, PathBuf};

/// The version of the example model that recognises digits.
pub fn digits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits/1")
}

fn info(dtype: DType, tensor: &str, dims: &[i64]) -> TensorInfo {
    let encoding = Some(tensor_info::Encoding::Name(tensor.to_owned()));
    let tensor_shape = Some(TensorShapeProto::of(dims.iter().copied()));
    TensorInfo { dtype: dtype.number(), encoding, tensor_shape, ..TensorInfo::default() }
}

fn signature<const N: usize>(method: &str, outputs: [(&str, TensorInfo); N]) -> SignatureDef {
    let inputs = [("inputs".to_owned(), info(DType::String, "examples:0", &[-1]))];
    let outputs = outputs.map(|(name, info)| (name.to_owned(), info));
    let method_name = format!("tensorflow/serving/{method}");
    SignatureDef { inputs: inputs.into(), outputs: outputs.into(), method_name, ..SignatureDef::default() }
}

/// Writes a model of which each signature takes serialized examples: `regress` returns their lengths in bytes, `classify` the lengths as class and as
/// score.
pub fn write_lengths(version: &Path) {
    let b = GraphBuilder::new().unwrap();
    let examples = b.node().name("examples").placeholder(DType::String, [-1]).unwrap();
    let lengths = b.string_length(examples).unwrap();
    let values = b.node().name("values").cast(lengths, DType::F32).unwrap();
    b.node().name("scores").expand_dims(values, 1).unwrap();
    let classes = b.as_string(lengths).unwrap();
    b.node().name("classes").expand_dims(classes, 1).unwrap();
    let values = info(DType::F32, "values:0", &[-1]);
    let (scores, classes) = (info(DType::F32, "scores:0", &[-1, 1]), info(DType::String, "classes:0", &[-1, 1]));
    let signatures = [
        ("serving_default", signature("predict", [("outputs", values.clone())])),
        ("regress", signature("regress", [("outputs", values)])),
        ("classify", signature("classify", [("classes", classes.clone()), ("scores", scores.clone())])),
        ("classes", signature("classify", [("classes", classes)])),
        ("scores", signature("classify", [("scores", scores.clone())])),
        ("wrong", signature("classify", [("scores", info(DType::F32, "values:0", &[-1]))])),
        ("other", signature("classify", [("labels", scores)])),
    ];
    let info = meta_graph_def::MetaInfoDef { tags: vec!["serve".to_owned()], ..Default::default() };
    let meta_graph = MetaGraphDef {
        meta_info_def: Some(info),
        graph_def: Some(b.graph_def().unwrap()),
        signature_def: signatures.map(|(name, signature)| (name.to_owned(), signature)).into(),
        ..MetaGraphDef::default()
    };
    let model = proto::SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta_graph], ..Default::default() };
    std::fs::create_dir_all(version).unwrap();
    std::fs::write(version.join("saved_model.pb"), model.encode_to_vec()).unwrap();
}

pub fn load(version: &Path) -> SavedModel {
    SavedModel::load(version, &["serve"], SessionOptions::default()).unwrap()
}

/// Returns an example with one feature.
pub fn example(name: &str, value: i64) -> proto::Example {
    let list = proto::Int64List { value: vec![value], ..Default::default() };
    let feature = proto::Feature { kind: Some(feature::Kind::Int64List(list)), ..Default::default() };
    let features = proto::Features { feature: [(name.to_owned(), feature)].into(), ..Default::default() };
    proto::Example { features: Some(features), ..Default::default() }
}

pub fn input(examples: Vec<proto::Example>) -> Option<tfs::Input> {
    Some(tfs::Input { kind: Some(tfs::input::Kind::ExampleList(tfs::ExampleList { examples })) })
}

pub fn spec(signature: &str) -> Option<tfs::ModelSpec> {
    Some(tfs::ModelSpec { signature_name: signature.to_owned(), ..tfs::ModelSpec::default() })
}

pub fn predict(signature: &str, inputs: &[(&str, Tensor)]) -> LogType {
    let inputs = inputs.iter().map(|(name, value)| (name.to_string(), value.to_proto().unwrap())).collect();
    let request = tfs::PredictRequest { model_spec: spec(signature), inputs, ..tfs::PredictRequest::default() };
    LogType::PredictLog(tfs::PredictLog { request: Some(request), response: None })
}

/// Appends the masked checksum of TFRecord files.
fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    let checksum = crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8);
    [bytes, &checksum.to_le_bytes()].concat()
}

/// Writes records as the warm-up requests of a version. Returns the path of the file.
pub fn write_records(version: &Path, records: &[Vec<u8>]) -> PathBuf {
    let path = version.join(REQUESTS_FILE);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let record = |data: &Vec<u8>| [with_checksum(&(data.len() as u64).to_le_bytes()), with_checksum(data)].concat();
    std::fs::write(&path, records.iter().flat_map(record).collect::<Vec<u8>>()).unwrap();
    path
}

pub fn write_requests(version: &Path, requests: &[LogType]) -> PathBuf {
    let encode = |log: &LogType| PredictionLog { log_type: Some(log.clone()) }.encode_to_vec();
    write_records(version, &requests.iter().map(encode).collect::<Vec<_>>())
}
