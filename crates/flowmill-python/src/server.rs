//! `flowmill._core.Server`: a model server in this process.

use crate::errors::Raise;
use crate::gate;
use crate::predictor::end_elsewhere;
use crate::session::seconds;
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::ModelOptions;
use flowmill_serving::repository::{ControlMode, ModelConfig, ModelIndex, RepositoryConfig};
use flowmill_serving::{AccessOptions, RouteGroup, Server, ServerLimits, ServerOptions, TlsOptions, TracingOptions};
use flowmill_tensor::{Code, Error, Result, error};
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time between two looks for signals while a thread waits for models.
const INTERVAL: Duration = Duration::from_millis(50);

/// PEM texts: the certificate, its key, the authorities of clients, and true if clients need a certificate.
type Tls = (String, String, Option<String>, bool);

/// The states of a model's versions: number, state, and the code and text of an error.
type Versions = Vec<(i64, &'static str, Option<(u8, String)>)>;

/// A model server.
#[pyclass(frozen, name = "Server", module = "flowmill._core")]
pub struct PyServer {
    /// `None` only within `drop`.
    server: Option<Arc<Server>>,
    process: u32,
}

#[pymethods]
impl PyServer {
    /// Starts a server. `batching` is a `BatchingParameters` in protobuf's text format; times are in seconds.
    #[new]
    #[pyo3(signature = (models, directories, config_file, *, host, rest_port, grpc_port, management_port, control, startup_models, poll_seconds, warm_up,
        batching, per_model_batching, tags, threads, io_threads, tls, tokens, request_timeout, drain_timeout, max_request_bytes, max_requests_in_flight,
        max_bytes_in_flight, max_connections, metrics_path, cors, otlp_endpoint, inference_precision))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        models: Vec<(Option<String>, PathBuf)>,
        directories: Vec<PathBuf>,
        config_file: Option<PathBuf>,
        host: &str,
        rest_port: Option<u16>,
        grpc_port: Option<u16>,
        management_port: Option<u16>,
        control: &str,
        startup_models: Vec<String>,
        poll_seconds: f64,
        warm_up: bool,
        batching: Option<String>,
        per_model_batching: bool,
        tags: Vec<String>,
        threads: usize,
        io_threads: usize,
        tls: Option<Tls>,
        tokens: Vec<(String, Vec<String>)>,
        request_timeout: f64,
        drain_timeout: f64,
        max_request_bytes: Option<usize>,
        max_requests_in_flight: Option<usize>,
        max_bytes_in_flight: Option<usize>,
        max_connections: Option<usize>,
        metrics_path: Option<String>,
        cors: bool,
        otlp_endpoint: Option<String>,
        inference_precision: &str,
    ) -> PyResult<PyServer> {
        let (request_timeout, drain_timeout) = (seconds(py, request_timeout)?, seconds(py, drain_timeout)?);
        let poll = seconds(py, poll_seconds)?;
        let start = || -> Result<Server> {
            let host: IpAddr = host.parse().map_err(|_| error!(InvalidArgument, "host '{host}' is no address such as 127.0.0.1"))?;
            let address = |port: Option<u16>| port.map(|port| SocketAddr::new(host, port));
            let mut repository = RepositoryConfig {
                directories,
                file_system_poll_wait: Some(poll).filter(|poll| !poll.is_zero()),
                enable_model_warmup: warm_up,
                mode: control_mode(control)?,
                startup_models: startup_models.into_iter().collect(),
                ..RepositoryConfig::default()
            };
            if let Some(file) = &config_file {
                repository.models = ModelConfig::list_from_file(file)?;
            }
            for (name, path) in models {
                let model = match name {
                    Some(name) => ModelConfig::new(name, path),
                    None => ModelConfig::at(&path),
                };
                repository.models.insert(model.name.clone(), model);
            }
            let limits = ServerLimits::default();
            let group = |(token, groups): (String, Vec<String>)| -> Result<(String, Vec<RouteGroup>)> {
                Ok((token, groups.iter().map(|group| RouteGroup::parse(group)).collect::<Result<_>>()?))
            };
            Server::start(ServerOptions {
                rest: address(rest_port),
                grpc: address(grpc_port),
                management: address(management_port),
                tls: tls.map(|(certificate, key, client_authorities, requires_client_certificate)| TlsOptions {
                    certificate,
                    key,
                    client_authorities,
                    requires_client_certificate,
                }),
                repository,
                models: ModelOptions {
                    tags,
                    num_threads: threads,
                    inference_precision: inference_precision.parse()?,
                    batching: batching.as_deref().map(BatchingOptions::from_text).transpose()?,
                    per_model_batching,
                    ..ModelOptions::default()
                },
                limits: ServerLimits {
                    max_connections: max_connections.unwrap_or(limits.max_connections),
                    max_body_bytes: max_request_bytes.unwrap_or(limits.max_body_bytes),
                    max_decompressed_bytes: max_request_bytes.unwrap_or(limits.max_decompressed_bytes),
                    max_bytes_in_flight: max_bytes_in_flight.unwrap_or(limits.max_bytes_in_flight),
                    max_requests_in_flight: max_requests_in_flight.unwrap_or(limits.max_requests_in_flight),
                    request_timeout,
                    drain_timeout,
                    ..limits
                },
                access: AccessOptions { tokens: tokens.into_iter().map(group).collect::<Result<_>>()? },
                metrics_path,
                cors,
                tracing: match otlp_endpoint {
                    Some(endpoint) => TracingOptions::from_environment(Some(&endpoint))?,
                    None => None,
                },
                num_io_threads: io_threads,
                ..ServerOptions::default()
            })
        };
        let server = gate::detached(py, start)?;
        Ok(PyServer { server: Some(Arc::new(server)), process: std::process::id() })
    }

    /// Returns the addresses of the REST APIs, the gRPC services and the management routes, each with a port or None.
    fn ports(&self, py: Python<'_>) -> PyResult<(Option<u16>, Option<u16>, Option<u16>)> {
        let server = self.get().raise(py)?;
        let port = |address: Option<SocketAddr>| address.map(|address| address.port());
        Ok((port(server.rest_address()), port(server.grpc_address()), port(server.management_address())))
    }

    /// Waits until every model has a version that is served. `timeout` is in seconds.
    fn wait_until_ready(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let server = self.get().raise(py)?;
        let end = Instant::now().checked_add(seconds(py, timeout)?);
        gate::step(py, |cancel, poll| {
            loop {
                let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
                match server.wait_until_ready(left.min(INTERVAL)) {
                    Err(error) if error.code() == Code::DeadlineExceeded && left > INTERVAL => poll.iter().for_each(|poll| poll.ask()),
                    result => return result,
                }
                if cancel.is_cancelled() {
                    return Err(Error::cancelled("Interrupted"));
                }
            }
        })
    }

    /// Returns the models by name, with the states of their versions.
    fn models(&self, py: Python<'_>) -> PyResult<Vec<(String, Versions)>> {
        let server = self.get().raise(py)?;
        let models = gate::detached(py, || Ok(server.repository().models()))?;
        let error = |error: Error| (error.code() as u8, error.message().to_owned());
        let versions = |model: ModelIndex| -> (String, Versions) {
            let versions = model.versions.into_iter().map(|status| (status.version, status.state.name(), status.error.map(error)));
            (model.name, versions.collect())
        };
        Ok(models.into_iter().map(versions).collect())
    }

    /// Loads a model of the configured ones and waits for it.
    fn load(&self, py: Python<'_>, model: &str) -> PyResult<()> {
        let server = self.get().raise(py)?;
        gate::detached(py, || server.repository().load(model))
    }

    /// Unloads a model.
    fn unload(&self, py: Python<'_>, model: &str) -> PyResult<()> {
        let server = self.get().raise(py)?;
        gate::detached(py, || server.repository().unload(model))
    }

    /// Ends the server: requests that it has are answered, at most for the drain timeout. Does nothing after the first time, and in forked processes.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        match self.get() {
            Ok(server) => gate::detached(py, || server.shutdown()),
            Err(_) => Ok(()),
        }
    }
}

impl PyServer {
    fn get(&self) -> Result<&Arc<Server>> {
        let here = self.server.as_ref().filter(|_| self.process == std::process::id());
        here.ok_or_else(|| error!(FailedPrecondition, "the server runs in the process that started it, not in one that was forked"))
    }
}

impl Drop for PyServer {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else { return };
        end_elsewhere(server, self.process);
    }
}

fn control_mode(name: &str) -> Result<ControlMode> {
    match name {
        "poll" => Ok(ControlMode::Poll),
        "explicit" => Ok(ControlMode::Explicit),
        "none" => Ok(ControlMode::None),
        _ => Err(error!(InvalidArgument, "control must be 'poll', 'explicit' or 'none', not '{name}'")),
    }
}
