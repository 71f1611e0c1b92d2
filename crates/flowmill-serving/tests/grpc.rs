//! The gRPC services of both protocols, over connections.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{DIGITS, counting_model, digits, start};
use flowmill::{DType, Tensor};
use flowmill_serving::proto::kserve::grpc_inference_service_client::GrpcInferenceServiceClient;
use flowmill_serving::proto::kserve::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use flowmill_serving::proto::kserve::*;
use flowmill_serving::proto::tfs::model_service_client::ModelServiceClient;
use flowmill_serving::proto::tfs::prediction_service_client::PredictionServiceClient;
use flowmill_serving::proto::tfs::{ModelConfig as ServedModelConfig, *};
use flowmill_serving::repository::RepositoryConfig;
use flowmill_serving::{AccessOptions, RouteGroup, Server, ServerLimits, ServerOptions};
use std::time::{Duration, Instant};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

async fn channel(server: &Server) -> Channel {
    Endpoint::new(format!("http://{}", server.grpc_address().unwrap())).unwrap().connect().await.unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn spec(name: &str) -> Option<ModelSpec> {
    Some(ModelSpec { name: name.to_owned(), ..ModelSpec::default() })
}

fn images(rows: usize) -> Tensor {
    Tensor::zeros(DType::F32, [rows, 8, 8, 1]).unwrap()
}

#[test]
fn predict_answers_with_tensors_and_the_version() {
    let server = start(digits());
    runtime().block_on(async {
        let mut client = PredictionServiceClient::new(channel(&server).await);
        let inputs = [("images".to_owned(), images(3).to_proto().unwrap())].into();
        let request = PredictRequest { model_spec: spec("digits"), inputs, output_filter: vec!["probabilities".into()] };
        let answer = client.predict(request.clone()).await.unwrap().into_inner();
        let version_choice = Some(model_spec::VersionChoice::Version(1));
        let expected = ModelSpec { name: "digits".into(), version_choice, signature_name: "serving_default".into() };
        assert_eq!(answer.model_spec, Some(expected));
        assert_eq!(answer.outputs.keys().collect::<Vec<_>>(), ["probabilities"]);
        assert_eq!(Tensor::from_proto(&answer.outputs["probabilities"]).unwrap().shape().dims(), [3, 10]);

        let wrong = [
            (PredictRequest { model_spec: spec("other"), ..request.clone() }, Code::NotFound, "Latest(other)"),
            (PredictRequest { model_spec: None, ..request.clone() }, Code::InvalidArgument, "ModelSpec"),
            (PredictRequest { inputs: Default::default(), ..request.clone() }, Code::InvalidArgument, "Missing but required: {images}"),
            (PredictRequest { output_filter: vec!["x".into()], ..request.clone() }, Code::InvalidArgument, "x"),
        ];
        for (request, code, message) in wrong {
            let status = client.predict(request).await.unwrap_err();
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().contains(message), "{status}");
        }
        let request = GetModelMetadataRequest { model_spec: spec("digits"), metadata_field: vec!["signature_def".into()] };
        let metadata = client.get_model_metadata(request).await.unwrap().into_inner();
        assert_eq!(metadata.metadata["signature_def"].type_url, "type.googleapis.com/tensorflow.serving.SignatureDefMap");
    });
}

#[test]
fn models_are_configured_by_requests() {
    let server = start(digits());
    runtime().block_on(async {
        let mut client = ModelServiceClient::new(channel(&server).await);
        let status = |name| GetModelStatusRequest { model_spec: spec(name) };
        let found = client.get_model_status(status("digits")).await.unwrap().into_inner();
        assert_eq!(found.model_version_status[0].state, model_version_status::State::Available as i32);
        let model = ServedModelConfig { name: "renamed".into(), base_path: DIGITS.into(), ..ServedModelConfig::default() };
        let list = ModelConfigList { config: vec![model] };
        let config = Some(ModelServerConfig { config: Some(model_server_config::Config::ModelConfigList(list)) });
        let answer = client.handle_reload_config_request(ReloadConfigRequest { config, metric_names: Vec::new() }).await.unwrap();
        assert_eq!(answer.into_inner().status, Some(StatusProto::default()));
        assert!(client.get_model_status(status("renamed")).await.is_ok());
        // Neither message is an empty list, which would unload all models.
        for config in [None, Some(ModelServerConfig::default())] {
            let refused = client.handle_reload_config_request(ReloadConfigRequest { config, metric_names: Vec::new() }).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
        assert!(client.get_model_status(status("renamed")).await.is_ok());
        let missing = ServedModelConfig { name: "missing".into(), base_path: "/nowhere".into(), ..ServedModelConfig::default() };
        let list = ModelConfigList { config: vec![missing] };
        let config = Some(ModelServerConfig { config: Some(model_server_config::Config::ModelConfigList(list)) });
        let failed = client.handle_reload_config_request(ReloadConfigRequest { config, metric_names: Vec::new() }).await.unwrap_err();
        assert_eq!(failed.code(), Code::NotFound, "{failed}");
    });
}

fn infer_request(rows: usize) -> ModelInferRequest {
    let shape = vec![rows as i64, 8, 8, 1];
    ModelInferRequest {
        model_name: "digits".into(),
        id: "7".into(),
        inputs: vec![InferInputTensor { name: "images".into(), datatype: "FP32".into(), shape, ..InferInputTensor::default() }],
        outputs: vec![InferRequestedOutputTensor { name: "probabilities".into(), ..InferRequestedOutputTensor::default() }],
        raw_input_contents: vec![vec![0; rows * 256].into()],
        ..ModelInferRequest::default()
    }
}

#[test]
fn kserve_infers_raw_and_typed_contents() {
    let server = start(digits());
    runtime().block_on(async {
        let mut client = GrpcInferenceServiceClient::new(channel(&server).await);
        let raw = client.model_infer(infer_request(2)).await.unwrap().into_inner();
        assert_eq!((raw.id.as_str(), raw.model_version.as_str(), raw.outputs[0].shape.as_slice()), ("7", "1", &[2, 10][..]));
        let mut typed = infer_request(2);
        typed.raw_input_contents.clear();
        typed.inputs[0].contents = Some(InferTensorContents { fp32_contents: vec![0.0; 128], ..InferTensorContents::default() });
        let typed = client.model_infer(typed).await.unwrap().into_inner();
        let values: Vec<u8> =
            typed.outputs[0].contents.as_ref().unwrap().fp32_contents.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(raw.raw_output_contents[0], values);
        let mut short = infer_request(2);
        short.raw_input_contents[0].truncate(100);
        assert_eq!(client.model_infer(short).await.unwrap_err().code(), Code::InvalidArgument);
        assert!(client.server_live(ServerLiveRequest {}).await.unwrap().into_inner().live);
        let ready = client.model_ready(ModelReadyRequest { name: "digits".into(), version: "2".into() }).await.unwrap().into_inner();
        assert!(!ready.ready);
        let statistics = client.model_statistics(ModelStatisticsRequest::default()).await.unwrap().into_inner();
        assert_eq!(statistics.model_stats[0].inference_count, 4);
    });
}

#[test]
fn streams_are_answered_in_order_and_survive_errors() {
    let server = start(digits());
    runtime().block_on(async {
        let mut client = GrpcInferenceServiceClient::new(channel(&server).await);
        let requests = (0..20).map(|i| {
            let model_name = if i % 3 == 0 { "other" } else { "digits" }.to_owned();
            ModelInferRequest { id: i.to_string(), model_name, ..infer_request(1) }
        });
        let requests: Vec<ModelInferRequest> = requests.collect();
        let mut answers = client.model_stream_infer(tonic::codegen::tokio_stream::iter(requests)).await.unwrap().into_inner();
        for i in 0..20 {
            let answer = answers.message().await.unwrap().unwrap();
            assert_eq!(answer.infer_response.unwrap().id, i.to_string());
            assert_eq!(answer.error_message.is_empty(), i % 3 != 0, "{}", answer.error_message);
        }
        assert!(answers.message().await.unwrap().is_none());
    });
}

#[test]
fn a_stream_ends_with_the_error_of_a_message_that_cannot_be_read() {
    let limits = ServerLimits { max_body_bytes: 10_000, ..ServerLimits::default() };
    let server = start(ServerOptions { limits, ..digits() });
    runtime().block_on(async {
        let mut client = GrpcInferenceServiceClient::new(channel(&server).await);
        let requests = tonic::codegen::tokio_stream::iter([infer_request(1), infer_request(100)]);
        let mut answers = client.model_stream_infer(requests).await.unwrap().into_inner();
        assert_eq!(answers.message().await.unwrap().unwrap().error_message, "");
        assert_eq!(answers.message().await.unwrap_err().code(), Code::OutOfRange);
    });
}

#[test]
fn answers_of_a_stream_have_their_timelines() {
    let server = start(digits());
    runtime().block_on(async {
        let mut client = GrpcInferenceServiceClient::new(channel(&server).await);
        for is_traced in [true, false] {
            let wrong = ModelInferRequest { inputs: Vec::new(), ..infer_request(1) };
            let mut stream = Request::new(tonic::codegen::tokio_stream::iter([infer_request(1), wrong]));
            if is_traced {
                stream.metadata_mut().insert("x-flowmill-trace", "1".parse().unwrap());
            }
            let mut answers = client.model_stream_infer(stream).await.unwrap().into_inner();
            while let Some(answer) = answers.message().await.unwrap() {
                let parameter = answer.infer_response.unwrap().parameters.remove("server-timing");
                let text = match parameter.and_then(|parameter| parameter.parameter_choice) {
                    Some(infer_parameter::ParameterChoice::StringParam(text)) => text,
                    other => format!("{other:?}"),
                };
                assert_eq!(text.contains("total;dur="), is_traced, "{text}");
            }
        }
    });
}

#[test]
fn steps_end_at_the_clients_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let repository =
        RepositoryConfig { enable_model_warmup: false, ..RepositoryConfig::of_model("counting", counting_model(directory.path())) };
    let server = start(ServerOptions { repository, num_compute_threads: 1, ..digits() });
    runtime().block_on(async {
        let mut client = PredictionServiceClient::new(channel(&server).await);
        let request = |limit: i64, timeout: u64| {
            let inputs = [("limit".to_owned(), Tensor::scalar(limit).to_proto().unwrap())].into();
            let mut request = Request::new(PredictRequest { model_spec: spec("counting"), inputs, output_filter: Vec::new() });
            request.set_timeout(Duration::from_millis(timeout));
            request
        };
        let start = Instant::now();
        let late = client.predict(request(i64::MAX, 300)).await.unwrap_err();
        assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late}");
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(client.predict(request(10, 60_000)).await.is_ok());
    });
}

#[test]
fn calls_need_tokens_for_their_group() {
    let tokens = vec![("secret".to_owned(), vec![RouteGroup::Inference, RouteGroup::Management])];
    let server = start(ServerOptions { access: AccessOptions { tokens }, ..digits() });
    runtime().block_on(async {
        let mut client = ModelServiceClient::new(channel(&server).await);
        let status = GetModelStatusRequest { model_spec: spec("digits") };
        assert_eq!(client.get_model_status(status.clone()).await.unwrap_err().code(), Code::Unauthenticated);
        let mut request = Request::new(status);
        request.metadata_mut().insert("authorization", "Bearer secret".parse().unwrap());
        assert!(client.get_model_status(request).await.is_ok());
    });
}
