//! The REST APIs of both protocols, metrics, health and the front page.

mod body;
mod kserve;
mod tfs;

use crate::metrics;
use crate::server::core::Core;
use crate::server::options::{AccessOptions, RouteGroup};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flowmill::{Code, Error};
use std::sync::Arc;

pub(crate) use body::{respond, status_of};

/// The paths of the metrics: the usual one and TensorFlow Serving's.
const METRICS_PATHS: [&str; 2] = ["/metrics", "/monitoring/prometheus/metrics"];

/// The routes of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routes {
    /// All of them.
    All,
    /// All routes but those for management.
    WithoutManagement,
    /// The routes for management, health and observation.
    Management,
}

/// The checks of a listener.
#[derive(Clone)]
struct Gate {
    access: Arc<AccessOptions>,
    routes: Routes,
    cors: bool,
}

/// Returns the routes of a listener.
pub(crate) fn routes(core: &Arc<Core>, access: &Arc<AccessOptions>, routes: Routes, cors: bool) -> Router {
    let mut router = Router::new();
    for path in METRICS_PATHS {
        router = router.route(path, get(metrics_text));
    }
    router = router.merge(kserve::routes()).merge(crate::page::routes()).fallback(fallback);
    guarded(router.with_state(core.clone()), access, routes, cors)
}

/// Puts the checks of tokens and groups before a router.
pub(crate) fn guarded(router: Router, access: &Arc<AccessOptions>, routes: Routes, cors: bool) -> Router {
    router.layer(from_fn_with_state(Gate { access: access.clone(), routes, cors }, check))
}

/// Returns the group of a path, of REST or gRPC.
pub(crate) fn group_of(path: &str) -> RouteGroup {
    let is = |whole: &str| path.eq_ignore_ascii_case(whole);
    let begins_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| strip_prefix_ignoring_case(path, prefix).is_some());
    let tail = |length: usize| path.get(path.len().checked_sub(length)?..);
    let ends_with = |ends: &[&str]| ends.iter().any(|end| tail(end.len()).is_some_and(|tail| tail.eq_ignore_ascii_case(end)));
    let is_health_of_kserve = is("/inference.GRPCInferenceService/ServerLive") || is("/inference.GRPCInferenceService/ServerReady");
    if begins_with(&["/v2/health/", "/grpc.health.v1."]) || is_health_of_kserve || is("/healthz") || is("/readyz") || is("/livez") {
        RouteGroup::Health
    } else if crate::page::is_file(path) {
        RouteGroup::Page
    } else if ends_with(&["/handlereloadconfigrequest", "/repositorymodelload", "/repositorymodelunload"])
        || begins_with(&["/v2/repository/"]) && !ends_with(&["/index"])
    {
        RouteGroup::Management
    } else if begins_with(&["/v1/", "/v2/", "/tensorflow.serving.", "/inference."]) && !ends_with(&["/stats"]) || is("/v2") {
        RouteGroup::Inference
    } else {
        RouteGroup::Observation
    }
}

/// Returns the token that a request carries.
fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer.or_else(|| headers.get("x-api-key")?.to_str().ok())
}

async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let group = group_of(request.uri().path());
    let is_elsewhere = match gate.routes {
        Routes::All => false,
        Routes::WithoutManagement => group == RouteGroup::Management,
        Routes::Management => group == RouteGroup::Inference,
    };
    let is_grpc = request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let refusal = |status: StatusCode, error: Error| {
        if is_grpc {
            return crate::grpc::status(error).into_http();
        }
        body::respond_error(&error, status, crate::formats::tfs::print_error(&error))
    };
    if is_elsewhere {
        return refusal(StatusCode::NOT_FOUND, Error::not_found("this route is not served on this port"));
    }
    let origin = request.headers().get("origin").cloned().filter(|_| gate.cors);
    if request.method() == Method::OPTIONS && origin.is_some() {
        return with_cors(StatusCode::OK.into_response(), origin);
    }
    if !gate.access.allows(group, token(request.headers())) {
        let mut response = refusal(StatusCode::UNAUTHORIZED, Error::new(Code::Unauthenticated, "a token is needed for this route"));
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return with_cors(response, origin);
    }
    with_cors(next.run(request).await, origin)
}

/// Adds the headers by which browsers let scripts of `origin` read the answer.
fn with_cors(mut response: Response, origin: Option<HeaderValue>) -> Response {
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert("access-control-allow-origin", origin);
        headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, POST, OPTIONS"));
        headers.insert(
            "access-control-allow-headers",
            HeaderValue::from_static("authorization, content-type, traceparent, tracestate, x-api-key, x-flowmill-trace"),
        );
        headers.insert("access-control-expose-headers", HeaderValue::from_static("server-timing, traceparent"));
        headers.insert("vary", HeaderValue::from_static("origin"));
    }
    response
}

async fn metrics_text(State(core): State<Arc<Core>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], core.metrics.text()).into_response()
}

/// Answers what no other route does: TensorFlow Serving's paths, whose letters may be upper or lower case, and the configured path of the metrics.
async fn fallback(State(core): State<Arc<Core>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if strip_prefix_ignoring_case(path, "/v1/").is_some() {
        return tfs::handle(&core, &head.method, path, &head.headers, body).await;
    }
    if core.metrics_path.as_deref() == Some(path) && head.method == Method::GET {
        return metrics_text(State(core)).await;
    }
    let error = Error::not_found(format!("there is no route {path}"));
    body::respond_error(&error, StatusCode::NOT_FOUND, crate::formats::tfs::print_error(&error))
}

/// Returns the text after `prefix`, whose letters may be upper or lower case.
fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix))?;
    text.get(head.len()..)
}

/// Answers nothing but the status.
fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_a_group() {
        for (path, group) in [
            ("/v2/health/ready", RouteGroup::Health),
            ("/grpc.health.v1.Health/Check", RouteGroup::Health),
            ("/inference.GRPCInferenceService/ServerReady", RouteGroup::Health),
            ("/v1/models/m:predict", RouteGroup::Inference),
            ("/V1/models/m:predict", RouteGroup::Inference),
            ("/v2", RouteGroup::Inference),
            ("/v2/models/m/infer", RouteGroup::Inference),
            ("/v2/models/m/stats", RouteGroup::Observation),
            ("/v2/repository/index", RouteGroup::Inference),
            ("/v2/repository/models/m/load", RouteGroup::Management),
            ("/tensorflow.serving.ModelService/HandleReloadConfigRequest", RouteGroup::Management),
            ("/inference.GRPCInferenceService/RepositoryModelUnload", RouteGroup::Management),
            ("/inference.GRPCInferenceService/ModelInfer", RouteGroup::Inference),
            ("/metrics", RouteGroup::Observation),
            ("/", RouteGroup::Page),
            ("/flowmill/page.js", RouteGroup::Page),
            ("/flowmill/status", RouteGroup::Observation),
        ] {
            assert_eq!(group_of(path), group, "{path}");
        }
    }
}
