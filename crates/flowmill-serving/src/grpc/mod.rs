//! The gRPC services of both protocols.

mod arrival;
mod kserve;
mod prediction;
mod reflection;

use crate::metrics::{Api, Protocol};
use crate::proto::kserve::grpc_inference_service_server::GrpcInferenceServiceServer;
use crate::proto::tfs::model_service_server::ModelServiceServer;
use crate::proto::tfs::prediction_service_server::PredictionServiceServer;
use crate::server::core::{Core, InFlight};
use crate::trace;
use arrival::Arrival;
use axum::Router;
use axum::middleware::from_fn_with_state;
use flowmill::{Error, Result};
use prost::Message;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

/// The services of `core`.
#[derive(Clone)]
pub(crate) struct Services {
    core: Arc<Core>,
}

/// Returns the routes of all services.
pub(crate) fn routes(core: &Arc<Core>, health: impl Into<Routes>) -> Router {
    let services = Services { core: core.clone() };
    let max_bytes = core.limits.max_body_bytes;
    macro_rules! with_limits {
        ($server:ident) => {
            $server::new(services.clone())
                .max_decoding_message_size(max_bytes)
                .max_encoding_message_size(usize::MAX)
                .accept_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Deflate)
                .send_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Deflate)
        };
    }
    let routes = health
        .into()
        .add_service(with_limits!(PredictionServiceServer))
        .add_service(with_limits!(ModelServiceServer))
        .add_service(with_limits!(GrpcInferenceServiceServer));
    let router = routes.prepare().into_axum_router().merge(reflection::routes());
    router.layer(from_fn_with_state(core.clone(), arrival::admit))
}

impl Services {
    /// Answers a request for inference: counts it, and cancels its step if the client goes.
    async fn infer<M: Message, R>(
        &self,
        protocol: Protocol,
        api: Api,
        request: Request<M>,
        answer: impl AsyncFnOnce(&Core, &mut InFlight<'_>, M, Option<Duration>) -> Result<R>,
    ) -> std::result::Result<Response<R>, Status> {
        let timeout = timeout(request.metadata());
        let is_traced = trace::is_wanted(request.metadata().as_ref());
        // A message of a stream is a request that has not been admitted.
        let arrival = request.extensions().get::<Arrival>().cloned();
        let headers = request.metadata().as_ref();
        if let Some(arrival) = &arrival {
            arrival.take_decompressed(&self.core, headers, request.get_ref()).map_err(status)?;
        }
        let mut in_flight = match &arrival {
            Some(arrival) => self.core.begin_admitted(protocol, api, arrival.start(), headers),
            None => self.core.begin(protocol, api, Instant::now(), headers).map_err(status)?,
        };
        let traceparent = in_flight.traceparent();
        let result = answer(&self.core, &mut in_flight, request.into_inner(), timeout).await;
        let timings = in_flight.end(result.as_ref().err());
        let mut result = result.map(Response::new).map_err(status);
        let metadata = match &mut result {
            Ok(response) => response.metadata_mut(),
            Err(status) => status.metadata_mut(),
        };
        trace::add(is_traced, &timings, traceparent, metadata.as_mut());
        result
    }
}

/// Returns the status of an error.
pub(crate) fn status(error: Error) -> Status {
    // Numbers of codes are those of gRPC.
    Status::new(tonic::Code::from_i32(error.code() as i32), error.message())
}

/// Returns the time that the client waits: the header `grpc-timeout`, a number of at most eight digits and a unit.
fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(number.checked_mul(3600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn timeouts_of_clients_are_read() {
        let timeout_of = |text: &str| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            timeout(&metadata)
        };
        for (text, expected) in [
            ("5S", Some(Duration::from_secs(5))),
            ("250m", Some(Duration::from_millis(250))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("1u", Some(Duration::from_micros(1))),
            ("S", None),
            ("123456789S", None),
            ("5", None),
            ("5x", None),
        ] {
            assert_eq!(timeout_of(text), expected, "{text}");
        }
    }
}
