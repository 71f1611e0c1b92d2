//! TensorFlow Serving's REST API: `/v1/models/NAME[/versions/N|/labels/L][:predict|:classify|:regress|/metadata]`.

use super::body::{self, respond, respond_error, status_of};
use super::strip_prefix_ignoring_case;
use crate::formats::tfs as json;
use crate::inference::{self, ExampleMethod};
use crate::metrics::{Api, Protocol};
use crate::proto::tfs::inference_result::Result as ExampleResult;
use crate::proto::tfs::{ExampleList, Input, ModelSpec, input, model_spec};
use crate::repository::VersionChoice;
use crate::server::core::{Core, InFlight};
use crate::trace;
use axum::body::Body;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use flowmill::{Error, Result, Tensor};
use std::time::Instant;

const JSON: &str = "application/json";

/// A path, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    model: String,
    choice: VersionChoice,
    action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Predict,
    Classify,
    Regress,
    Status,
    Metadata,
}

/// Answers a request whose path begins with `/v1/`.
pub(crate) async fn handle(core: &Core, method: &Method, path: &str, headers: &HeaderMap, body: Body) -> Response {
    let start = Instant::now();
    let result = match parse(method, path) {
        Err(error) => Err(core.reject(error)),
        Ok(Route { model, choice, action: Action::Status }) => status(core, &model, &choice, headers),
        Ok(Route { model, choice, action: Action::Metadata }) => metadata(core, &model, &choice, headers),
        Ok(route) => infer(core, &route, headers, body, start).await,
    };
    result.unwrap_or_else(|error| respond_error(&error, status_of(error.code()), json::print_error(&error)))
}

/// Takes a path apart; letters of fixed parts may be upper or lower case, as in TensorFlow Serving.
fn parse(method: &Method, path: &str) -> Result<Route> {
    let malformed = || Error::invalid_argument(format!("Malformed request: {method} {path}"));
    let rest = strip_prefix_ignoring_case(path, "/v1/models").ok_or_else(malformed)?;
    let Some(rest) = rest.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
        let is_list = (rest.is_empty() || rest == "/") && method == Method::GET;
        return Err(if is_list { Error::invalid_argument("Missing model name in request.") } else { malformed() });
    };
    let (rest, action) = match (method, rest.rsplit_once(':')) {
        (&Method::POST, Some((rest, verb))) => {
            let verbs = [("predict", Action::Predict), ("classify", Action::Classify), ("regress", Action::Regress)];
            let found = verbs.into_iter().find(|(name, _)| verb.eq_ignore_ascii_case(name)).ok_or_else(malformed)?;
            (rest, found.1)
        }
        (&Method::GET, None) => match rest.rsplit_once('/') {
            Some((rest, last)) if last.eq_ignore_ascii_case("metadata") => (rest, Action::Metadata),
            _ => (rest, Action::Status),
        },
        _ => return Err(malformed()),
    };
    let mut parts = rest.split('/');
    let model = parts.next().filter(|name| !name.is_empty() && !name.contains(':')).ok_or_else(malformed)?;
    let choice = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => VersionChoice::Preferred,
        (Some(kind), Some(version), None) if kind.eq_ignore_ascii_case("versions") => {
            if version.is_empty() || !version.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(malformed());
            }
            let number =
                version.parse().map_err(|_| Error::invalid_argument(format!("Failed to convert version: {version} to numeric.")))?;
            VersionChoice::Version(number)
        }
        (Some(kind), Some(label), None) if kind.eq_ignore_ascii_case("labels") && !label.is_empty() => {
            VersionChoice::Label(decoded(label)?)
        }
        _ => return Err(malformed()),
    };
    Ok(Route { model: decoded(model)?, choice, action })
}

/// Returns a part of a path with its percent codes replaced.
///
/// # Errors
/// `InvalidArgument` if the result is not UTF-8.
fn decoded(part: &str) -> Result<String> {
    let text = percent_encoding::percent_decode_str(part).decode_utf8();
    text.map(Into::into).map_err(|_| Error::invalid_argument(format!("'{part}' is not UTF-8")))
}

fn status(core: &Core, model: &str, choice: &VersionChoice, headers: &HeaderMap) -> Result<Response> {
    let mut out = Vec::new();
    json::print_model_status(&core.model_status(model, choice)?, &mut out)?;
    Ok(respond(headers, JSON, out.into()))
}

fn metadata(core: &Core, model: &str, choice: &VersionChoice, headers: &HeaderMap) -> Result<Response> {
    let loaded = core.repository.get(model, choice)?;
    let version_choice = Some(model_spec::VersionChoice::Version(loaded.version()));
    let spec = ModelSpec { name: loaded.name().to_owned(), version_choice, signature_name: String::new() };
    let mut out = Vec::new();
    json::print_metadata(&spec, loaded.signature_defs(), &mut out)?;
    Ok(respond(headers, JSON, out.into()))
}

async fn infer(core: &Core, route: &Route, headers: &HeaderMap, body: Body, start: Instant) -> Result<Response> {
    let api = match route.action {
        Action::Classify => Api::Classify,
        Action::Regress => Api::Regress,
        _ => Api::Predict,
    };
    let mut request = core.begin(Protocol::TfsRest, api, start, headers)?;
    let result = answer(core, &mut request, route, headers, body).await;
    let traceparent = request.traceparent();
    let timings = request.end(result.as_ref().err());
    let mut response = match result {
        Ok(body) => respond(headers, JSON, body.into()),
        Err(error) => respond_error(&error, status_of(error.code()), json::print_error(&error)),
    };
    trace::add(trace::is_wanted(headers), &timings, traceparent, response.headers_mut());
    Ok(response)
}

async fn answer(core: &Core, request: &mut InFlight<'_>, route: &Route, headers: &HeaderMap, body: Body) -> Result<Vec<u8>> {
    let model = request.model(&route.model, &route.choice)?;
    let body = body::read(core, headers, body).await?;
    let size = body.bytes.len();
    let limits = &core.limits.tensors;
    let mut out = Vec::new();
    if route.action == Action::Predict {
        let spec = |name: &str| model.signature(name).map(|signature| signature.spec().clone());
        let parsed = body::on_suitable_thread(size, || json::parse_predict(&body.bytes, &spec, limits))?;
        let signature = model.signature(&parsed.signature_name)?;
        request.set_signature(signature);
        request.decoded();
        let outcome = signature.call(parsed.inputs, request.call(Vec::new(), None, 0)).await?;
        request.computed(&outcome);
        let outputs: Vec<(&str, &Tensor)> = outcome.outputs.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let size = outputs.iter().map(|(_, value)| value.num_bytes()).sum();
        body::on_suitable_thread(size, || json::print_predict(parsed.layout, &outputs, &mut out))?;
        return Ok(out);
    }
    let parsed = body::on_suitable_thread(size, || json::parse_examples(&body.bytes, limits))?;
    let signature = model.signature(&parsed.signature_name)?;
    request.set_signature(signature);
    let method = if route.action == Action::Classify { ExampleMethod::Classify } else { ExampleMethod::Regress };
    let list = input::Kind::ExampleList(ExampleList { examples: parsed.examples });
    let examples = inference::serialized_examples(Some(&Input { kind: Some(list) }), limits)?;
    request.decoded();
    let (result, outcome) = signature.call_examples(method, examples, request.call(Vec::new(), None, 0)).await?;
    request.computed(&outcome);
    match result {
        ExampleResult::ClassificationResult(result) => json::print_classifications(&result, &mut out),
        ExampleResult::RegressionResult(result) => json::print_regressions(&result, &mut out),
    }?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn paths_say_model_version_and_action() {
        let route = |model: &str, choice, action| Route { model: model.to_owned(), choice, action };
        let label = |label: &str| VersionChoice::Label(label.to_owned());
        for (method, path, expected) in [
            (Method::POST, "/v1/models/m:predict", route("m", VersionChoice::Preferred, Action::Predict)),
            (Method::POST, "/V1/Models/m:PREDICT", route("m", VersionChoice::Preferred, Action::Predict)),
            (Method::POST, "/v1/models/a%20b/versions/12:classify", route("a b", VersionChoice::Version(12), Action::Classify)),
            (Method::POST, "/v1/models/m/labels/stable:regress", route("m", label("stable"), Action::Regress)),
            (Method::GET, "/v1/models/m", route("m", VersionChoice::Preferred, Action::Status)),
            (Method::GET, "/v1/models/m/labels/canary", route("m", label("canary"), Action::Status)),
            (Method::GET, "/v1/models/m/metadata", route("m", VersionChoice::Preferred, Action::Metadata)),
            (Method::GET, "/v1/models/m/versions/1/metadata", route("m", VersionChoice::Version(1), Action::Metadata)),
        ] {
            assert_eq!(parse(&method, path).unwrap(), expected, "{path}");
        }
        for (method, path) in [
            (Method::POST, "/v1/models/m"),
            (Method::POST, "/v1/models/m:run"),
            (Method::GET, "/v1/models/m:predict"),
            (Method::GET, "/v1/models/m/versions/x"),
            (Method::GET, "/v1/models/m/versions/1/2"),
            (Method::GET, "/v1/model"),
            (Method::PUT, "/v1/models/m"),
            (Method::POST, "/v1/models/:predict"),
        ] {
            assert_eq!(parse(&method, path).unwrap_err().message(), format!("Malformed request: {method} {path}"));
        }
        assert_eq!(parse(&Method::GET, "/v1/models").unwrap_err().message(), "Missing model name in request.");
        assert!(parse(&Method::GET, "/v1/models/m/versions/99999999999999999999").unwrap_err().message().contains("numeric"));
    }
}
