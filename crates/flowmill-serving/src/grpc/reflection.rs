//! gRPC's reflection, made at its first call: few clients use it, and it holds all descriptors.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use std::sync::{Arc, OnceLock};
use tonic::Status;
use tonic::service::Routes;
use tonic_reflection::server::{Builder, Error};
use tower::ServiceExt;

/// The services, or the error of making them.
type Services = OnceLock<Result<Router, Status>>;

/// Returns the routes of both versions of the service.
pub(super) fn routes() -> Router {
    let services = Arc::new(Services::new());
    let method = |version: &str| format!("/grpc.reflection.{version}.ServerReflection/{{method}}");
    Router::new().route(&method("v1"), any(reflect)).route(&method("v1alpha"), any(reflect)).with_state(services)
}

async fn reflect(State(services): State<Arc<Services>>, request: Request) -> Response {
    let make = || make().map_err(|error| Status::internal(format!("the descriptors for reflection: {error}")));
    match services.get_or_init(make) {
        Ok(router) => router.clone().oneshot(request).await.into_response(),
        Err(status) => status.clone().into_http(),
    }
}

fn make() -> Result<Router, Error> {
    let builder = || {
        let builder = Builder::configure().register_encoded_file_descriptor_set(crate::proto::DESCRIPTORS);
        builder.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok(Routes::new(builder().build_v1()?).add_service(builder().build_v1alpha()?).into_axum_router())
}
