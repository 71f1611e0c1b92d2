//! The Open Inference Protocol's REST API, with the extensions for binary tensor data, statistics, configuration and the model repository.

use super::body::{self, respond, respond_error, status_of};
use super::empty;
use crate::formats::kserve::{
    ErrorBody, InferBody, Live, ModelConfig, ModelIndex, ModelReady, ModelStatistics, Parameters, Ready, parse_infer_of, print_infer,
};
use crate::kserve::{self, InferOptions};
use crate::metrics::{Api, Protocol};
use crate::server::core::{Core, InFlight};
use crate::trace;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use flowmill::{Error, Result, Tensor, TensorSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The length of the JSON text before binary tensor data.
const JSON_LENGTH: &str = "inference-header-content-length";

type Server = State<Arc<Core>>;

/// Returns the routes.
pub(super) fn routes() -> Router<Arc<Core>> {
    let mut router = Router::new()
        .route("/v2", get(server_metadata))
        .route("/v2/", get(server_metadata))
        .route("/v2/health/live", get(server_live))
        .route("/v2/health/ready", get(server_ready))
        .route("/livez", get(async || empty(StatusCode::OK)))
        .route("/readyz", get(server_ready))
        .route("/healthz", get(async || empty(StatusCode::OK)))
        .route("/v2/models/stats", get(all_statistics))
        .route("/v2/repository/index", post(index))
        .route("/v2/repository/{repository}/index", post(index_of))
        .route("/v2/repository/models/{model}/load", post(load))
        .route("/v2/repository/models/{model}/unload", post(unload))
        .route("/v2/repository/{repository}/models/{model}/load", post(load_of))
        .route("/v2/repository/{repository}/models/{model}/unload", post(unload_of));
    for prefix in ["/v2/models/{model}", "/v2/models/{model}/versions/{version}"] {
        router = router
            .route(prefix, get(model_metadata))
            .route(&format!("{prefix}/ready"), get(model_ready))
            .route(&format!("{prefix}/infer"), post(infer))
            .route(&format!("{prefix}/stats"), get(statistics))
            .route(&format!("{prefix}/config"), get(config));
    }
    router
}

/// The model and the version in a path.
#[derive(Deserialize)]
struct Target {
    model: String,
    #[serde(default)]
    version: String,
}

fn error_response(error: &Error) -> Response {
    let body = serde_json::to_vec(&ErrorBody::from(error)).unwrap_or_default();
    respond_error(error, status_of(error.code()), body)
}

/// Makes an answer of a value.
fn json<T: Serialize>(headers: &HeaderMap, result: Result<T>) -> Response {
    let text = |value: T| serde_json::to_vec(&value).map_err(|error| Error::internal(format!("an answer cannot be written: {error}")));
    match result.and_then(text) {
        Ok(text) => respond(headers, "application/json", text.into()),
        Err(error) => error_response(&error),
    }
}

async fn server_metadata(headers: HeaderMap) -> Response {
    json(&headers, Ok(kserve::server_metadata()))
}

async fn server_live(headers: HeaderMap) -> Response {
    json(&headers, Ok(Live { live: true }))
}

async fn server_ready(State(core): Server, headers: HeaderMap) -> Response {
    let ready = core.is_ready();
    let mut response = json(&headers, Ok(Ready { ready }));
    if !ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

async fn model_ready(State(core): Server, Path(Target { model, version }): Path<Target>, headers: HeaderMap) -> Response {
    let found = kserve::version_choice(&version).and_then(|choice| core.repository.get(&model, &choice));
    match found {
        Ok(_) => json(&headers, Ok(ModelReady { name: model, ready: true })),
        Err(error) => error_response(&error),
    }
}

async fn model_metadata(State(core): Server, Path(target): Path<Target>, headers: HeaderMap) -> Response {
    json(&headers, kserve::model_metadata(&core, &target.model, &target.version))
}

async fn config(State(core): Server, Path(target): Path<Target>, headers: HeaderMap) -> Response {
    json(&headers, kserve::model_config(&core, &target.model, &target.version).map(ModelConfig::from))
}

async fn statistics(State(core): Server, Path(target): Path<Target>, headers: HeaderMap) -> Response {
    json(&headers, kserve::statistics(&core, &target.model, &target.version).map(ModelStatistics::from))
}

async fn all_statistics(State(core): Server, headers: HeaderMap) -> Response {
    json(&headers, kserve::statistics(&core, "", "").map(ModelStatistics::from))
}

/// The body of a request for the repository's index, or to load a model.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RepositoryRequest {
    ready: bool,
    parameters: BTreeMap<String, serde_json::Value>,
}

/// Reads the body of a request to the repository, which may be empty.
async fn repository_request(core: &Core, headers: &HeaderMap, body: Body) -> Result<RepositoryRequest> {
    let body = body::read(core, headers, body).await?;
    if body.bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(RepositoryRequest::default());
    }
    serde_json::from_slice(&body.bytes).map_err(|error| Error::invalid_argument(format!("the request's body: {error}")))
}

async fn answer_index(core: &Core, repository: &str, headers: &HeaderMap, body: Body) -> Response {
    let models = repository_request(core, headers, body).await.and_then(|request| kserve::index(core, repository, request.ready));
    json(headers, models.map(|index| index.models.into_iter().map(ModelIndex::from).collect::<Vec<_>>()))
}

async fn index(State(core): Server, headers: HeaderMap, body: Body) -> Response {
    answer_index(&core, "", &headers, body).await
}

async fn index_of(State(core): Server, Path(repository): Path<String>, headers: HeaderMap, body: Body) -> Response {
    answer_index(&core, &repository, &headers, body).await
}

async fn answer_load(core: &Arc<Core>, repository: &str, model: &str, headers: &HeaderMap, body: Body) -> Response {
    let load = async {
        let parameters: Vec<String> = repository_request(core, headers, body).await?.parameters.into_keys().collect();
        kserve::load(core, repository, model, &parameters).await
    };
    done(load.await)
}

fn done(result: Result<()>) -> Response {
    result.map_or_else(|error| error_response(&error), |()| empty(StatusCode::OK))
}

async fn load(State(core): Server, Path(model): Path<String>, headers: HeaderMap, body: Body) -> Response {
    answer_load(&core, "", &model, &headers, body).await
}

async fn load_of(State(core): Server, Path((repository, model)): Path<(String, String)>, headers: HeaderMap, body: Body) -> Response {
    answer_load(&core, &repository, &model, &headers, body).await
}

async fn unload(State(core): Server, Path(model): Path<String>) -> Response {
    done(kserve::unload(&core, "", &model).await)
}

async fn unload_of(State(core): Server, Path((repository, model)): Path<(String, String)>) -> Response {
    done(kserve::unload(&core, &repository, &model).await)
}

async fn infer(State(core): Server, Path(target): Path<Target>, request: Request) -> Response {
    let start = Instant::now();
    let (Parts { headers, .. }, body) = request.into_parts();
    let mut request = match core.begin(Protocol::KserveRest, Api::Infer, start, &headers) {
        Ok(request) => request,
        Err(error) => return error_response(&error),
    };
    let result = answer_infer(&core, &mut request, &target, &headers, body).await;
    let traceparent = request.traceparent();
    let timings = request.end(result.as_ref().err());
    let mut response = match result {
        Err(error) => error_response(&error),
        Ok(InferBody { json_len: None, segments }) => {
            respond(&headers, "application/json", InferBody { json_len: None, segments }.into_bytes())
        }
        Ok(body) => {
            let length = body.json_len;
            let mut response = respond(&headers, "application/octet-stream", body.into_bytes());
            if let Some(length) = length {
                response.headers_mut().insert(JSON_LENGTH, HeaderValue::from(length));
            }
            response
        }
    };
    trace::add(trace::is_wanted(&headers), &timings, traceparent, response.headers_mut());
    response
}

async fn answer_infer(core: &Core, request: &mut InFlight<'_>, target: &Target, headers: &HeaderMap, body: Body) -> Result<InferBody> {
    let model = request.model(&target.model, &kserve::version_choice(&target.version)?)?;
    let json_len = match headers.get(JSON_LENGTH) {
        None => None,
        Some(value) => {
            let length = value.to_str().ok().and_then(|text| text.parse::<usize>().ok());
            Some(length.ok_or_else(|| Error::invalid_argument("Inference-Header-Content-Length is not a number of bytes"))?)
        }
    };
    let body = body::read(core, headers, body).await?;
    let size = body.bytes.len();
    let inputs_of = |parameters: &Parameters| -> Result<&BTreeMap<String, TensorSpec>> {
        Ok(&InferOptions::new(parameters)?.signature(&model)?.spec().inputs)
    };
    let mut parsed = body::on_suitable_thread(size, || parse_infer_of(body.bytes.clone(), json_len, inputs_of, &core.limits.tensors))?;
    let options = InferOptions::new(&parsed.parameters)?;
    let signature = options.signature(&model)?;
    request.set_signature(signature);
    request.decoded();
    let wanted = parsed.outputs.iter().map(|output| output.name.clone()).collect();
    let inputs = std::mem::take(&mut parsed.inputs);
    let timeout = options.timeout(Some(core.limits.request_timeout));
    let outcome = signature.call(inputs, request.call(wanted, timeout, options.priority)).await?;
    request.computed(&outcome);
    let outputs: Vec<(&str, &Tensor)> = outcome.outputs.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let size = outputs.iter().map(|(_, value)| value.num_bytes()).sum();
    body::on_suitable_thread(size, || print_infer(model.name(), &model.version().to_string(), &parsed, &outputs))
}
