//! Messages of the gRPC services of `flowmill-serving`, answered by a server in the process without a connection.

use crate::memory::peak_of;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use flowmill::prelude::*;
use flowmill::proto::{self, Message, MetaGraphDef, SignatureDef, TensorInfo, TensorShapeProto, meta_graph_def, tensor_info};
use flowmill::{Bytes, Code, PartialShape, Tensor};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::raw::{dtype_from_datatype, tensor_from_contents, tensor_from_raw};
use flowmill_serving::proto::kserve::model_infer_request::InferInputTensor;
use flowmill_serving::proto::kserve::{ModelInferRequest, ModelInferResponse, ModelStreamInferResponse};
use flowmill_serving::proto::tfs::model_server_config::Config;
use flowmill_serving::proto::tfs::*;
use flowmill_serving::repository::{ControlMode, RepositoryConfig};
use flowmill_serving::{Server, ServerLimits, ServerOptions};
use http_body_util::BodyExt;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;
use tower::ServiceExt;

const PREDICTION: &str = "tensorflow.serving.PredictionService";
const MODELS: &str = "tensorflow.serving.ModelService";
const KSERVE: &str = "inference.GRPCInferenceService";

/// The bounds of requests: small ones, so that mutated inputs reach them.
const TENSORS: Limits =
    Limits { max_elements: 1 << 16, max_depth: 16, max_context_copies: 1 << 12, max_example_bytes: 1 << 20, max_items: 1 << 10 };

/// The most bytes of a request's body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The most memory that an answer takes. It is a multiple of the bounds above, and no multiple of what a message claims to hold.
const MAX_BYTES: usize = 64 << 20;

/// A server that listens nowhere.
struct InProcess {
    server: Server,
    routes: Router,
    runtime: tokio::runtime::Runtime,
    models: tempfile::TempDir,
}

/// The answer to a request: its code, 0 for success, the error's message, and the messages of the body.
struct Answer {
    code: i32,
    error: String,
    messages: Vec<Bytes>,
}

impl InProcess {
    /// Starts a server of the model `echo`.
    fn start() -> InProcess {
        let models = tempfile::tempdir().expect("a temporary directory");
        write_echo(&models.path().join("echo/1"));
        let repository = RepositoryConfig {
            directories: vec![models.path().to_owned()],
            file_system_poll_wait: None,
            max_num_load_retries: 0,
            mode: ControlMode::Explicit,
            startup_models: ["echo".to_owned()].into(),
            ..RepositoryConfig::default()
        };
        let limits = ServerLimits {
            tensors: TENSORS,
            max_body_bytes: MAX_BODY_BYTES,
            request_timeout: Duration::from_secs(5),
            ..Default::default()
        };
        let server = Server::start(ServerOptions { repository, limits, num_io_threads: 1, ..ServerOptions::default() }).expect("a server");
        server.wait_until_ready(Duration::from_secs(60)).expect("the model is loaded");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        InProcess { routes: server.grpc_routes(), server, runtime, models }
    }

    /// Answers a body of framed messages. Fails if the answer takes more memory than the limits allow.
    fn answer(&self, service: &str, method: &str, body: Vec<u8>) -> Answer {
        let request =
            Request::post(format!("http://fuzz/{service}/{method}")).header("content-type", "application/grpc").header("te", "trailers");
        let request = request.body(Body::from(body)).expect("a legal request");
        let collect = async {
            let response = self.routes.clone().oneshot(request).await.expect("routes do not fail");
            assert_eq!(response.status(), 200, "gRPC's errors are in its trailers");
            let headers = response.headers().clone();
            let body = response.into_body().collect().await.expect("the body of an answer ends");
            let trailers = body.trailers().cloned().unwrap_or(headers);
            let text = |name: &str| trailers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
            let code = text("grpc-status").parse().expect("every answer has a status");
            Answer { code, error: text("grpc-message"), messages: unframed(body.to_bytes()) }
        };
        let (answer, peak) = peak_of(|| self.runtime.block_on(collect));
        assert!(peak < MAX_BYTES, "{method} took {peak} bytes");
        answer
    }

    /// Answers one message; `is_legal` says if the message can be decoded.
    fn call(&self, service: &str, method: &str, message: &[u8], is_legal: bool) -> Answer {
        let answer = self.answer(service, method, framed(message));
        assert_eq!(answer.messages.len(), usize::from(answer.code == 0), "a success has one message, an error none");
        // The code of messages that cannot be decoded is gRPC's own.
        assert!(!is_legal || is_of_client(answer.code), "{method}: code {} {}", answer.code, answer.error);
        answer
    }
}

/// Returns true for success, and for codes that say what is wrong with a request or its limits. All others are faults of the server.
fn is_of_client(code: i32) -> bool {
    use Code::*;
    let codes = [InvalidArgument, NotFound, FailedPrecondition, OutOfRange, Unimplemented, ResourceExhausted, DeadlineExceeded];
    code == 0 || codes.iter().any(|known| *known as i32 == code)
}

/// Returns a message behind its length.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("a short message");
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// Returns the messages of a body.
fn unframed(mut body: Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while let Some((&[0, a, b, c, d], _)) = body.split_first_chunk() {
        let _ = body.split_to(5);
        messages.push(body.split_to(u32::from_be_bytes([a, b, c, d]) as usize));
    }
    assert!(body.is_empty(), "the server's frames are whole");
    messages
}

fn info(dtype: DType, tensor: &str, dims: Option<&[i64]>) -> TensorInfo {
    let encoding = Some(tensor_info::Encoding::Name(tensor.to_owned()));
    let unknown = TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() };
    let tensor_shape = Some(dims.map_or(unknown, |dims| TensorShapeProto::of(dims.iter().copied())));
    TensorInfo { dtype: dtype.number(), encoding, tensor_shape, ..TensorInfo::default() }
}

fn signature(method: &str, inputs: &[(&str, TensorInfo)], outputs: &[(&str, TensorInfo)]) -> SignatureDef {
    let map = |infos: &[(&str, TensorInfo)]| infos.iter().map(|(name, info)| ((*name).to_owned(), info.clone())).collect();
    let method_name = format!("tensorflow/serving/{method}");
    SignatureDef { inputs: map(inputs), outputs: map(outputs), method_name, ..SignatureDef::default() }
}

/// Writes a model whose signatures return their input under its name, one per type, and two that return the lengths of serialized examples.
fn write_echo(version: &Path) {
    let b = GraphBuilder::new().expect("the catalogue is consistent");
    let mut signatures = Vec::new();
    for dtype in [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::I8,
        DType::I32,
        DType::I64,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
        DType::String,
        DType::C64,
    ] {
        let name = dtype.to_string();
        let input = b.node().name(&name).placeholder(dtype, PartialShape::unknown()).expect("a placeholder");
        b.node().name(&format!("{name}_out")).identity(input).expect("an identity");
        let tensor = |tensor: String| [("x", info(dtype, &tensor, None))];
        let default = if dtype == DType::F32 { "serving_default" } else { &name };
        signatures.push((default.to_owned(), signature("predict", &tensor(format!("{name}:0")), &tensor(format!("{name}_out:0")))));
    }
    let lengths = || -> flowmill::Result<()> {
        let examples = b.node().name("examples").placeholder(DType::String, [-1])?;
        let values = b.node().name("values").cast(b.string_length(examples)?, DType::F32)?;
        b.node().name("scores").expand_dims(values, 1)?;
        Ok(())
    };
    lengths().expect("a graph");
    let examples = [("inputs", info(DType::String, "examples:0", Some(&[-1])))];
    signatures.push(("regress".to_owned(), signature("regress", &examples, &[("outputs", info(DType::F32, "values:0", Some(&[-1])))])));
    signatures.push(("classify".to_owned(), signature("classify", &examples, &[("scores", info(DType::F32, "scores:0", Some(&[-1, 1])))])));
    let meta_graph = MetaGraphDef {
        meta_info_def: Some(meta_graph_def::MetaInfoDef { tags: vec!["serve".to_owned()], ..Default::default() }),
        graph_def: Some(b.graph_def().expect("a graph")),
        signature_def: signatures.into_iter().collect(),
        ..MetaGraphDef::default()
    };
    let model = proto::SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta_graph], ..Default::default() };
    std::fs::create_dir_all(version).expect("a directory");
    std::fs::write(version.join("saved_model.pb"), model.encode_to_vec()).expect("the model can be written");
}

/// The server of targets that change no models.
static SERVER: LazyLock<InProcess> = LazyLock::new(InProcess::start);

/// Returns the text by which two tensors are compared: a NaN is equal to itself.
fn text(tensor: &Tensor) -> String {
    match tensor.as_bytes() {
        Ok(bytes) => format!("{} {} {bytes:?}", tensor.dtype(), tensor.shape()),
        Err(_) => format!("{tensor:?}"),
    }
}

/// Answers a `PredictRequest`; what is accepted comes back, and is accepted again.
pub fn predict(data: &[u8]) {
    let request = PredictRequest::decode(data).ok();
    let answer = SERVER.call(PREDICTION, "Predict", data, request.is_some());
    let (Some(request), Some(message)) = (request, answer.messages.first()) else { return };
    let response = PredictResponse::decode(message.clone()).expect("a response");
    for (name, output) in &response.outputs {
        let [given, returned] = [&request.inputs[name], output].map(|value| Tensor::from_proto(value).expect("a tensor that was accepted"));
        assert_eq!(text(&given), text(&returned));
    }
    let again = PredictRequest { inputs: response.outputs.clone(), output_filter: Vec::new(), ..request };
    let answer = SERVER.call(PREDICTION, "Predict", &again.encode_to_vec(), true);
    let message = answer.messages.first().expect("what was answered is accepted");
    assert_eq!(PredictResponse::decode(message.clone()).expect("a response").outputs, response.outputs);
}

/// Answers a `ClassificationRequest`, `RegressionRequest` or `MultiInferenceRequest`, by the first byte: there is a result per example.
pub fn examples(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let num_examples = |input: Option<&Input>| match input.and_then(|input| input.kind.as_ref()) {
        Some(input::Kind::ExampleList(list)) => list.examples.len(),
        Some(input::Kind::ExampleListWithContext(list)) => list.examples.len(),
        None => 0,
    };
    let check = |result: inference_result::Result, input: Option<&Input>| {
        let examples = flowmill_serving::inference::serialized_examples(input, &TENSORS).expect("examples that were accepted");
        let lengths: Vec<f32> = examples.as_strings().expect("strings").iter().map(|example| example.len() as f32).collect();
        let found: Vec<f32> = match result {
            inference_result::Result::ClassificationResult(result) => {
                result.classifications.iter().map(|row| row.classes[0].score).collect()
            }
            inference_result::Result::RegressionResult(result) => result.regressions.iter().map(|regression| regression.value).collect(),
        };
        assert_eq!(found, lengths);
        assert_eq!(found.len(), num_examples(input));
    };
    match kind % 3 {
        0 => {
            let request = ClassificationRequest::decode(data).ok();
            let answer = SERVER.call(PREDICTION, "Classify", data, request.is_some());
            if let (Some(request), Some(message)) = (request, answer.messages.first()) {
                let response = ClassificationResponse::decode(message.clone()).expect("a response");
                check(inference_result::Result::ClassificationResult(response.result.expect("a result")), request.input.as_ref());
            }
        }
        1 => {
            let request = RegressionRequest::decode(data).ok();
            let answer = SERVER.call(PREDICTION, "Regress", data, request.is_some());
            if let (Some(request), Some(message)) = (request, answer.messages.first()) {
                let response = RegressionResponse::decode(message.clone()).expect("a response");
                check(inference_result::Result::RegressionResult(response.result.expect("a result")), request.input.as_ref());
            }
        }
        _ => {
            let request = MultiInferenceRequest::decode(data).ok();
            let answer = SERVER.call(PREDICTION, "MultiInference", data, request.is_some());
            if let (Some(request), Some(message)) = (request, answer.messages.first()) {
                let response = MultiInferenceResponse::decode(message.clone()).expect("a response");
                assert_eq!(response.results.len(), request.tasks.len());
                response.results.into_iter().for_each(|result| check(result.result.expect("a result"), request.input.as_ref()));
            }
        }
    }
}

/// Answers a `GetModelMetadataRequest`, or a `GetModelStatusRequest` if the first byte is odd.
pub fn metadata(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    if kind % 2 == 1 {
        let answer = SERVER.call(MODELS, "GetModelStatus", data, GetModelStatusRequest::decode(data).is_ok());
        if let Some(message) = answer.messages.first() {
            let response = GetModelStatusResponse::decode(message.clone()).expect("a response");
            assert_eq!(response.model_version_status[0].version, 1);
        }
        return;
    }
    let answer = SERVER.call(PREDICTION, "GetModelMetadata", data, GetModelMetadataRequest::decode(data).is_ok());
    if let Some(message) = answer.messages.first() {
        let response = GetModelMetadataResponse::decode(message.clone()).expect("a response");
        let map = SignatureDefMap::decode(&response.metadata["signature_def"].value[..]).expect("signatures");
        assert!(map.signature_def.contains_key("classify"));
    }
}

/// Answers a `ReloadConfigRequest`: models of a list that is accepted are known, and no others. Base paths are taken to be below the server's models.
pub fn reload(data: &[u8]) {
    static RELOADED: LazyLock<InProcess> = LazyLock::new(InProcess::start);
    let server = &*RELOADED;
    let Ok(mut request) = ReloadConfigRequest::decode(data) else {
        server.call(MODELS, "HandleReloadConfigRequest", data, false);
        return;
    };
    let mut names = Vec::new();
    if let Some(Config::ModelConfigList(list)) = request.config.as_mut().and_then(|config| config.config.as_mut()) {
        for model in list.config.iter_mut().filter(|model| !model.base_path.is_empty()) {
            model.base_path = format!("{}/{}", server.models.path().display(), model.base_path.replace("..", "").replace('\0', ""));
        }
        names = list.config.iter().map(|model| model.name.clone()).collect();
    }
    let answer = server.call(MODELS, "HandleReloadConfigRequest", &request.encode_to_vec(), true);
    let known: Vec<String> = server.server.repository().models().into_iter().map(|model| model.name).collect();
    if answer.code == 0 {
        assert!(names.iter().all(|name| known.contains(name)), "{names:?} {known:?}");
    }
    // Each input meets the same server.
    let empty = ReloadConfigRequest {
        config: Some(ModelServerConfig { config: Some(Config::ModelConfigList(ModelConfigList::default())) }),
        ..Default::default()
    };
    assert_eq!(server.call(MODELS, "HandleReloadConfigRequest", &empty.encode_to_vec(), true).code, 0);
}

/// Returns a tensor of a KServe request or response.
fn kserve_tensor(tensor: &InferInputTensor, raw: Option<&Bytes>) -> Tensor {
    let dtype = dtype_from_datatype(&tensor.datatype).expect("a type that was accepted");
    let tensor = match raw {
        Some(bytes) => tensor_from_raw(dtype, &tensor.shape, bytes.clone(), &TENSORS),
        None => tensor_from_contents(dtype, &tensor.shape, tensor.contents.clone().unwrap_or_default(), &TENSORS),
    };
    tensor.expect("a tensor that was accepted")
}

/// Checks that the outputs of a response are the inputs of its request, unless they were classified.
fn check_echo(request: &ModelInferRequest, response: &ModelInferResponse) {
    for (i, output) in response.outputs.iter().enumerate() {
        if request.outputs.get(i).is_some_and(|output| !output.parameters.is_empty()) {
            continue;
        }
        let Some(at) = request.inputs.iter().position(|input| input.name == output.name) else { continue };
        let given = kserve_tensor(&request.inputs[at], request.raw_input_contents.get(at));
        let output = InferInputTensor {
            datatype: output.datatype.clone(),
            shape: output.shape.clone(),
            contents: output.contents.clone(),
            ..InferInputTensor::default()
        };
        assert_eq!(text(&given), text(&kserve_tensor(&output, response.raw_output_contents.get(i))));
    }
}

/// Answers a `ModelInferRequest`; what is accepted comes back.
pub fn infer(data: &[u8]) {
    let request = ModelInferRequest::decode(data).ok();
    let answer = SERVER.call(KSERVE, "ModelInfer", data, request.is_some());
    if let (Some(request), Some(message)) = (request, answer.messages.first()) {
        let response = ModelInferResponse::decode(message.clone()).expect("a response");
        assert_eq!((&response.id, response.model_version.as_str()), (&request.id, "1"));
        check_echo(&request, &response);
    }
}

/// Answers the body of a stream: each whole frame before the first one that is broken has an answer, in order.
pub fn stream(data: &[u8]) {
    let mut requests = Vec::new();
    let mut rest = data;
    while let Some((&[0, a, b, c, d], after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some(Ok(request)) = after.get(..length).map(ModelInferRequest::decode) else { break };
        requests.push(request);
        rest = &after[length..];
    }
    let answer = SERVER.answer(KSERVE, "ModelStreamInfer", data.to_vec());
    assert_eq!(answer.messages.len(), requests.len(), "code {} {}", answer.code, answer.error);
    for (request, message) in requests.iter().zip(answer.messages) {
        let response = ModelStreamInferResponse::decode(message).expect("a response");
        let answer = response.infer_response.expect("an answer");
        assert_eq!(answer.id, request.id);
        if response.error_message.is_empty() {
            check_echo(request, &answer);
        }
    }
}

/// Answers a message to one of KServe's other methods, by the first byte. A model that was unloaded can be loaded again.
pub fn repository(data: &[u8]) {
    const METHODS: [&str; 9] = [
        "RepositoryIndex",
        "RepositoryModelLoad",
        "RepositoryModelUnload",
        "ModelReady",
        "ModelMetadata",
        "ModelConfig",
        "ModelStatistics",
        "ServerMetadata",
        "ServerReady",
    ];
    static CONTROLLED: LazyLock<InProcess> = LazyLock::new(InProcess::start);
    let Some((kind, data)) = data.split_first() else { return };
    let method = METHODS[usize::from(*kind) % METHODS.len()];
    let answer = CONTROLLED.answer(KSERVE, method, framed(data));
    // Messages of these methods share their first fields, so that almost all of them can be decoded.
    assert!(
        is_of_client(answer.code) || answer.code == Code::Internal as i32 && answer.error.contains("decode"),
        "{method}: {} {}",
        answer.code,
        answer.error
    );
    if method.ends_with("load") && answer.code == 0 {
        CONTROLLED.server.repository().load("echo").expect("the model can be loaded");
    }
}
