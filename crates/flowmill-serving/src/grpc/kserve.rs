//! The Open Inference Protocol's `GRPCInferenceService`.

use super::arrival::{Arrival, ENCODING};
use super::{Services, status};
use crate::formats::kserve::{self as format, Parameters, RequestedOutput};
use crate::formats::raw;
use crate::kserve::{self, InferOptions};
use crate::metrics::{Api, Protocol};
use crate::proto::kserve::grpc_inference_service_server::GrpcInferenceService;
use crate::proto::kserve::infer_parameter::ParameterChoice;
use crate::proto::kserve::model_infer_response::InferOutputTensor;
use crate::proto::kserve::*;
use crate::server::core::{Core, InFlight};
use crate::telemetry::{TRACEPARENT, TRACESTATE};
use crate::trace;
use axum::http::HeaderMap;
use flowmill::{Bytes, Error, Result, Tensor};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};

type Answer<T> = std::result::Result<Response<T>, Status>;

/// Answers of a stream that wait for the client to take them.
const MAX_WAITING_ANSWERS: usize = 16;

#[tonic::async_trait]
impl GrpcInferenceService for Services {
    async fn server_live(&self, _: Request<ServerLiveRequest>) -> Answer<ServerLiveResponse> {
        Ok(Response::new(ServerLiveResponse { live: true }))
    }

    async fn server_ready(&self, _: Request<ServerReadyRequest>) -> Answer<ServerReadyResponse> {
        Ok(Response::new(ServerReadyResponse { ready: self.core.is_ready() }))
    }

    async fn model_ready(&self, request: Request<ModelReadyRequest>) -> Answer<ModelReadyResponse> {
        let ModelReadyRequest { name, version } = request.into_inner();
        let ready = kserve::version_choice(&version).is_ok_and(|choice| self.core.repository.get(&name, &choice).is_ok());
        Ok(Response::new(ModelReadyResponse { ready }))
    }

    async fn server_metadata(&self, _: Request<ServerMetadataRequest>) -> Answer<ServerMetadataResponse> {
        Ok(Response::new(kserve::server_metadata().into()))
    }

    async fn model_metadata(&self, request: Request<ModelMetadataRequest>) -> Answer<ModelMetadataResponse> {
        let ModelMetadataRequest { name, version } = request.into_inner();
        kserve::model_metadata(&self.core, &name, &version).map(|metadata| Response::new(metadata.into())).map_err(status)
    }

    async fn model_infer(&self, request: Request<ModelInferRequest>) -> Answer<ModelInferResponse> {
        self.infer(Protocol::KserveGrpc, Api::Infer, request, model_infer).await
    }

    type ModelStreamInferStream = Pin<Box<dyn Stream<Item = std::result::Result<ModelStreamInferResponse, Status>> + Send>>;

    async fn model_stream_infer(&self, request: Request<Streaming<ModelInferRequest>>) -> Answer<Self::ModelStreamInferStream> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_ANSWERS);
        // The stream's metadata names the trace of its requests and the compression of their messages, and says if they have timelines.
        let headers = request.metadata().as_ref();
        let mut message_headers = HeaderMap::new();
        for name in [TRACEPARENT, TRACESTATE, ENCODING] {
            for value in headers.get_all(&name) {
                message_headers.append(name.clone(), value.clone());
            }
        }
        if trace::is_wanted(headers) {
            trace::ask(&mut message_headers);
        }
        let arrival = request.extensions().get::<Arrival>().cloned();
        let (services, mut requests) = (self.clone(), request.into_inner());
        tokio::spawn(async move {
            // Requests of a stream are answered in their order, as those of one connection.
            loop {
                let message = match requests.message().await {
                    Ok(Some(message)) => message,
                    Ok(None) => return,
                    Err(status) => return drop(sender.send(Err(status)).await),
                };
                let taken = arrival.as_ref().map(|arrival| arrival.take_decompressed(&services.core, &message_headers, &message));
                if let Some(Err(error)) = taken {
                    return drop(sender.send(Err(status(error))).await);
                }
                let id = message.id.clone();
                let metadata = MetadataMap::from_headers(message_headers.clone());
                let request = Request::from_parts(metadata, Default::default(), message);
                let answer = tokio::select! {
                    answer = services.infer(Protocol::KserveGrpc, Api::Infer, request, model_infer) => answer,
                    () = sender.closed() => return,
                };
                if let Some(arrival) = &arrival {
                    arrival.release_bytes();
                }
                let (timings, error_message, mut response) = match answer {
                    Ok(answer) => (timings(answer.metadata()), String::new(), answer.into_inner()),
                    Err(status) => {
                        let response = ModelInferResponse { id, ..ModelInferResponse::default() };
                        (timings(status.metadata()), status.message().to_owned(), response)
                    }
                };
                response.parameters.extend(timings);
                let response = ModelStreamInferResponse { error_message, infer_response: Some(response) };
                if sender.send(Ok(response)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn model_config(&self, request: Request<ModelConfigRequest>) -> Answer<ModelConfigResponse> {
        let ModelConfigRequest { name, version } = request.into_inner();
        let config = kserve::model_config(&self.core, &name, &version).map_err(status)?;
        Ok(Response::new(ModelConfigResponse { config: Some(config) }))
    }

    async fn model_statistics(&self, request: Request<ModelStatisticsRequest>) -> Answer<ModelStatisticsResponse> {
        let ModelStatisticsRequest { name, version } = request.into_inner();
        kserve::statistics(&self.core, &name, &version).map(Response::new).map_err(status)
    }

    async fn repository_index(&self, request: Request<RepositoryIndexRequest>) -> Answer<RepositoryIndexResponse> {
        let RepositoryIndexRequest { repository_name, ready } = request.into_inner();
        kserve::index(&self.core, &repository_name, ready).map(Response::new).map_err(status)
    }

    async fn repository_model_load(&self, request: Request<RepositoryModelLoadRequest>) -> Answer<RepositoryModelLoadResponse> {
        let RepositoryModelLoadRequest { repository_name, model_name, parameters } = request.into_inner();
        let names: Vec<String> = parameters.into_keys().collect();
        kserve::load(&self.core, &repository_name, &model_name, &names).await.map_err(status)?;
        Ok(Response::new(RepositoryModelLoadResponse {}))
    }

    async fn repository_model_unload(&self, request: Request<RepositoryModelUnloadRequest>) -> Answer<RepositoryModelUnloadResponse> {
        let RepositoryModelUnloadRequest { repository_name, model_name, .. } = request.into_inner();
        kserve::unload(&self.core, &repository_name, &model_name).await.map_err(status)?;
        Ok(Response::new(RepositoryModelUnloadResponse {}))
    }
}

/// Returns the timeline of an answer as a parameter of its response, since the answers of a stream have no metadata of their own.
fn timings(metadata: &MetadataMap) -> Option<(String, InferParameter)> {
    let text = metadata.as_ref().get(trace::SERVER_TIMING)?.to_str().ok()?.to_owned();
    Some((trace::SERVER_TIMING.to_string(), InferParameter { parameter_choice: Some(ParameterChoice::StringParam(text)) }))
}

async fn model_infer(
    core: &Core,
    request: &mut InFlight<'_>,
    message: ModelInferRequest,
    timeout: Option<Duration>,
) -> Result<ModelInferResponse> {
    let limits = &core.limits.tensors;
    let model = request.model(&message.model_name, &kserve::version_choice(&message.model_version)?)?;
    let parameters: Parameters = format::parameters_from_proto(message.parameters)?;
    let options = InferOptions::new(&parameters)?;
    let signature = options.signature(&model)?;
    request.set_signature(signature);
    let is_raw = !message.raw_input_contents.is_empty();
    if is_raw && message.raw_input_contents.len() != message.inputs.len() {
        return Err(Error::invalid_argument(format!(
            "raw_input_contents has {} elements for {} inputs; either all inputs are raw or none is",
            message.raw_input_contents.len(),
            message.inputs.len()
        )));
    }
    let mut contents = message.raw_input_contents.into_iter();
    let mut inputs = Vec::with_capacity(message.inputs.len());
    for input in message.inputs {
        format::refuse_shared_memory(&format::parameters_from_proto(input.parameters)?)?;
        let dtype = raw::dtype_from_datatype(&input.datatype)?;
        let tensor = match contents.next() {
            Some(_) if input.contents.is_some() => Err(Error::invalid_argument("an input has contents beside raw_input_contents")),
            Some(bytes) => raw::tensor_from_raw(dtype, &input.shape, bytes, limits),
            None => raw::tensor_from_contents(dtype, &input.shape, input.contents.unwrap_or_default(), limits),
        };
        inputs.push((input.name.clone(), tensor.map_err(|error| error.context(format_args!("input '{}'", input.name)))?));
    }
    let mut wanted = Vec::with_capacity(message.outputs.len());
    let mut classes = Vec::with_capacity(message.outputs.len());
    for output in message.outputs {
        let output = RequestedOutput::new(output.name, format::parameters_from_proto(output.parameters)?)?;
        classes.push(output.classification);
        wanted.push(output.name);
    }
    request.decoded();
    let outcome = signature.call(inputs, request.call(wanted, options.timeout(timeout), options.priority)).await?;
    request.computed(&outcome);
    // Either all outputs are raw or none is.
    let is_raw = is_raw || outcome.outputs.iter().any(|(_, value)| !has_contents(value));
    let mut outputs = Vec::with_capacity(outcome.outputs.len());
    let mut raw_output_contents: Vec<Bytes> = Vec::new();
    for (i, (name, value)) in outcome.outputs.into_iter().enumerate() {
        let value = match classes.get(i) {
            Some(&count) if count > 0 => format::classify(&value, count)?,
            _ => value,
        };
        let datatype = raw::datatype(value.dtype())?.to_owned();
        let contents = if is_raw {
            raw_output_contents.push(raw::raw_from_tensor(&value)?);
            None
        } else {
            Some(raw::tensor_to_contents(&value)?)
        };
        outputs.push(InferOutputTensor { name, datatype, shape: value.shape().to_i64(), parameters: Default::default(), contents });
    }
    let (model_name, model_version) = (model.name().to_owned(), model.version().to_string());
    Ok(ModelInferResponse { model_name, model_version, id: message.id, parameters: Default::default(), outputs, raw_output_contents })
}

/// Returns true if the protocol has a field for the elements of a tensor.
fn has_contents(value: &Tensor) -> bool {
    !matches!(value.dtype(), flowmill::DType::F16 | flowmill::DType::BF16)
}
