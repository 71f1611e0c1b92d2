//! Bodies that describe models and servers.

use crate::specs;
use flowmill::DType;
use flowmill::proto::tensor_info::Encoding;
use flowmill::proto::{SignatureDef, TensorInfo, TensorShapeProto};
use flowmill_serving::formats::kserve::{
    ErrorBody, ModelConfig, ModelIndex, ModelMetadata, ModelStatistics, ServerMetadata, TensorMetadata,
};
use flowmill_serving::formats::tfs::{print_error, print_metadata, print_model_status};
use flowmill_serving::proto::kserve as proto;
use flowmill_serving::proto::tfs::model_spec::VersionChoice;
use flowmill_serving::proto::tfs::model_version_status::State;
use flowmill_serving::proto::tfs::{GetModelStatusResponse, ModelSpec, ModelVersionStatus, StatusProto};
use serde_json::{Value, json};

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap()
}

fn value(body: &impl serde::Serialize) -> Value {
    serde_json::to_value(body).unwrap()
}

#[test]
fn errors_are_objects_with_a_message() {
    let error = flowmill::Error::not_found("no \"m\"\n");
    assert_eq!(text(print_error(&error)), "{\n    \"error\": \"no \\\"m\\\"\\n\"\n}");
    assert_eq!(value(&ErrorBody::from(&error)), json!({"error": "no \"m\"\n"}));
}

#[test]
fn the_states_of_versions_have_names_and_their_numbers_are_strings() {
    let failed = StatusProto { error_code: 5, error_message: "gone".into() };
    let version = |version, state: State, status| ModelVersionStatus { version, state: state as i32, status };
    let response =
        GetModelStatusResponse { model_version_status: vec![version(123, State::Available, None), version(1, State::End, Some(failed))] };
    let mut out = Vec::new();
    print_model_status(&response, &mut out).unwrap();
    let expected = r#"{
 "model_version_status": [
  {
   "version": "123",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  },
  {
   "version": "1",
   "state": "END",
   "status": {
    "error_code": "NOT_FOUND",
    "error_message": "gone"
   }
  }
 ]
}
"#;
    assert_eq!(text(out), expected);
}

#[test]
fn metadata_have_signatures_with_all_fields() {
    let info = |dtype, name: &str, sizes: Option<Vec<i64>>| {
        let shape = match sizes {
            Some(sizes) => TensorShapeProto::of(sizes),
            None => TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() },
        };
        TensorInfo { dtype, tensor_shape: Some(shape), encoding: Some(Encoding::Name(name.into())), ..TensorInfo::default() }
    };
    let signature = SignatureDef {
        inputs: [("x".to_owned(), info(1, "x:0", Some(vec![-1, 2])))].into(),
        outputs: [("y".to_owned(), info(7, "y:0", None))].into(),
        method_name: "tensorflow/serving/predict".into(),
        defaults: [("x".to_owned(), flowmill::Tensor::scalar(1f32).to_proto().unwrap())].into(),
        ..SignatureDef::default()
    };
    let spec = ModelSpec { name: "m".into(), version_choice: Some(VersionChoice::Version(3)), ..ModelSpec::default() };
    let mut out = Vec::new();
    print_metadata(&spec, &[("serving_default".to_owned(), signature)].into(), &mut out).unwrap();
    let out = text(out);
    assert!(out.starts_with("{\n\"model_spec\":{\n \"name\": \"m\",\n \"signature_name\": \"\",\n \"version\": \"3\"\n}\n,\n\"metadata\": {\"signature_def\": {\n"));
    let expected = json!({
        "model_spec": {"name": "m", "signature_name": "", "version": "3"},
        "metadata": {"signature_def": {"signature_def": {"serving_default": {
            "inputs": {"x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [{"size": "-1", "name": ""}, {"size": "2", "name": ""}], "unknown_rank": false},
                "name": "x:0",
            }},
            "outputs": {"y": {"dtype": "DT_STRING", "tensor_shape": {"dim": [], "unknown_rank": true}, "name": "y:0"}},
            "method_name": "tensorflow/serving/predict",
            "defaults": {"x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [], "unknown_rank": false},
                "tensor_content": "AACAPw==",
                "string_val": [],
            }},
        }}}},
    });
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), expected);
}

#[test]
fn bodies_of_the_open_inference_protocol_have_its_names() {
    let server = ServerMetadata { name: "flowmill".into(), version: "0.1".into(), extensions: vec!["binary_tensor_data".into()] };
    assert_eq!(value(&server), json!({"name": "flowmill", "version": "0.1", "extensions": ["binary_tensor_data"]}));
    let model = ModelMetadata {
        name: "m".into(),
        versions: vec!["1".into()],
        platform: "tensorflow_savedmodel".into(),
        inputs: TensorMetadata::of_specs(&specs(&[("x", DType::F16)])).unwrap(),
        outputs: vec![],
        properties: Default::default(),
    };
    let expected = json!({
        "name": "m", "versions": ["1"], "platform": "tensorflow_savedmodel",
        "inputs": [{"name": "x", "datatype": "FP16", "shape": [-1]}], "outputs": [],
    });
    assert_eq!(value(&model), expected);
    assert!(TensorMetadata::of_specs(&specs(&[("x", DType::C64)])).is_err());
    let index = ModelIndex::from(proto::repository_index_response::ModelIndex { name: "m".into(), ..Default::default() });
    assert_eq!(value(&index), json!({"name": "m"}));
}

#[test]
fn statistics_and_configurations_are_made_from_their_messages() {
    let duration = Some(proto::StatisticDuration { count: 2, ns: 30 });
    let version = proto::ModelStatistics {
        name: "m".into(),
        version: "1".into(),
        inference_count: 4,
        execution_count: 2,
        inference_stats: Some(proto::InferStatistics { success: duration, ..Default::default() }),
        batch_stats: vec![proto::InferBatchStatistics { batch_size: 2, compute_infer: duration, ..Default::default() }],
        ..Default::default()
    };
    let stats = value(&ModelStatistics::from(proto::ModelStatisticsResponse { model_stats: vec![version] }));
    let (none, some) = (json!({"count": 0, "ns": 0}), json!({"count": 2, "ns": 30}));
    let expected = json!({"model_stats": [{
        "name": "m", "version": "1", "last_inference": 0, "inference_count": 4, "execution_count": 2,
        "inference_stats": {
            "success": some, "fail": none, "queue": none, "compute_input": none, "compute_infer": none, "compute_output": none,
            "cache_hit": none, "cache_miss": none,
        },
        "batch_stats": [{"batch_size": 2, "compute_input": none, "compute_infer": some, "compute_output": none}],
    }]});
    assert_eq!(stats, expected);
    let input = proto::ModelInput { name: "x".into(), data_type: proto::DataType::TypeFp32 as i32, dims: vec![-1] };
    let config = proto::ModelConfig { name: "m".into(), max_batch_size: 8, input: vec![input], ..Default::default() };
    let expected = json!({
        "name": "m", "platform": "", "backend": "", "max_batch_size": 8,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1]}], "output": [],
    });
    assert_eq!(value(&ModelConfig::from(config)), expected);
}
