//! A server: models, listeners, and their end.

mod connections;
pub(crate) mod core;
mod open_files;
pub(crate) mod options;
pub(crate) mod requests;
mod stream_executor;
mod timed_stream;

pub use open_files::raise_open_file_limit;
pub use options::{AccessOptions, RouteGroup, ServerLimits, ServerOptions, TlsOptions, metrics_path};

use self::core::Core;
use crate::metrics::Metrics;
use crate::model::{Compute, ModelLoader};
use crate::proto::kserve::grpc_inference_service_server;
use crate::proto::tfs::{model_service_server, prediction_service_server};
use crate::repository::{ModelConfig, Repository, RepositoryConfig, VersionState};
use crate::rest::Routes;
use crate::system;
use crate::telemetry::Tracer;
use axum::Router;
use connections::{ConnectionCount, Connections};
use flowmill::sync::Mutex;
use flowmill::{Error, Result};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tonic_health::ServingStatus;

/// A running server. Dropping it shuts it down.
pub struct Server {
    core: Arc<Core>,
    /// `None` after the shutdown.
    runtime: Mutex<Option<Runtime>>,
    ends: watch::Sender<bool>,
    listeners: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    rest: Option<SocketAddr>,
    grpc: Option<SocketAddr>,
    management: Option<SocketAddr>,
    rest_routes: Router,
    grpc_routes: Router,
}

impl Server {
    /// Starts a server: it listens at once, and answers requests for a model as soon as the model is loaded.
    ///
    /// # Errors
    /// `InvalidArgument` for options that contradict each other, `Unavailable` for an address that is taken, `ResourceExhausted` if threads cannot be
    /// started, and the errors of the repository's configuration.
    pub fn start(options: ServerOptions) -> Result<Server> {
        let metrics = Arc::new(Metrics::default());
        let limits = options.limits;
        let compute = Arc::new(Compute::new(options.num_compute_threads, limits.max_waiting_steps));
        let loader = ModelLoader::new(options.models, compute.clone(), metrics.clone())?;
        let without_models = RepositoryConfig { models: Default::default(), ..options.repository.clone() };
        let tls = options.tls.as_ref().map(connections::tls_acceptor).transpose()?;
        let runtime = runtime(options.num_io_threads)?;
        // Addresses are taken before models are loaded: an address that is in use is found out at once.
        let listen = |address: Option<SocketAddr>| address.map(|address| listen(&runtime, address)).transpose();
        let (rest, grpc, management) = (listen(options.rest)?, listen(options.grpc)?, listen(options.management)?);
        let tracer = {
            let _context = runtime.enter();
            options.tracing.map(|options| Tracer::start(options, &metrics)).transpose()?
        };
        let repository = Repository::start(options.repository, loader)?;
        let core = Arc::new(Core::new(repository, without_models, metrics, &compute, limits, options.metrics_path, tracer));
        let access = Arc::new(options.access);
        let routes = if management.is_some() { Routes::WithoutManagement } else { Routes::All };
        let (reporter, health) = tonic_health::server::health_reporter();
        let grpc_routes = {
            let _context = runtime.enter();
            crate::grpc::routes(&core, tonic::service::Routes::new(health))
        };
        let grpc_routes = crate::rest::guarded(grpc_routes, &access, routes, false);
        let rest_routes = |routes| crate::rest::routes(&core, &access, routes, options.cors);
        let (ends, ended) = watch::channel(false);
        let count = Arc::new(ConnectionCount::new(open_files::connections_within_limit(core.limits.max_connections)));
        count_connections(&core.metrics, &count);
        let mut listeners = Vec::new();
        let mut serve = |listener: Option<(TcpListener, SocketAddr)>, router: Router| {
            let (listener, address) = listener?;
            let connections = Connections { router, tls: tls.clone(), limits: Arc::new(core.limits.clone()), count: count.clone() };
            listeners.push(runtime.spawn(connections.serve(listener, ended.clone())));
            Some(address)
        };
        let management = serve(management, rest_routes(Routes::Management));
        let rest_routes = rest_routes(routes);
        let (rest, grpc) = (serve(rest, rest_routes.clone()), serve(grpc, grpc_routes.clone()));
        if let Some((path, interval)) = options.model_config_file {
            runtime.spawn(follow_config_file(core.clone(), path, interval, ended.clone()));
        }
        runtime.spawn(report_health(core.clone(), reporter, ended));
        observe(&core);
        let (runtime, listeners) = (Mutex::new(Some(runtime)), Mutex::new(listeners));
        Ok(Server { core, runtime, ends, listeners, rest, grpc, management, rest_routes, grpc_routes })
    }

    /// Returns the address of the REST APIs.
    pub fn rest_address(&self) -> Option<SocketAddr> {
        self.rest
    }

    /// Returns the address of the gRPC services.
    pub fn grpc_address(&self) -> Option<SocketAddr> {
        self.grpc
    }

    /// Returns the address of the routes for management.
    pub fn management_address(&self) -> Option<SocketAddr> {
        self.management
    }

    /// Returns the routes of the REST APIs, for programs that accept connections themselves and for calls without a connection. Requests are answered in the
    /// caller's tokio runtime, which must have several threads.
    pub fn rest_routes(&self) -> Router {
        self.rest_routes.clone()
    }

    /// Returns the routes of the gRPC services, as [`Server::rest_routes`].
    pub fn grpc_routes(&self) -> Router {
        self.grpc_routes.clone()
    }

    /// Returns the models.
    pub fn repository(&self) -> &Repository<ModelLoader> {
        &self.core.repository
    }

    /// Returns what is counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.core.metrics
    }

    /// Waits until every configured model has a version that is served.
    ///
    /// # Errors
    /// `DeadlineExceeded` after `timeout`, and the error of a model that cannot be loaded.
    pub fn wait_until_ready(&self, timeout: Duration) -> Result<()> {
        self.core.repository.wait_until_ready(timeout)
    }

    /// Waits until the process is told to end, by SIGTERM or SIGINT; [`Server::shutdown`] then ends the server.
    ///
    /// # Errors
    /// `Internal` if the system does not tell of signals, and `FailedPrecondition` after the shutdown.
    pub fn wait_for_signal(&self) -> Result<()> {
        let handle = self.runtime.lock().as_ref().map(|runtime| runtime.handle().clone());
        let handle = handle.ok_or_else(|| Error::failed_precondition("the server has ended"))?;
        let failed = |error: std::io::Error| Error::internal(format!("signals cannot be waited for: {error}"));
        handle.block_on(async {
            #[cfg(unix)]
            {
                use tokio::signal::unix::{SignalKind, signal};
                let (mut terminate, mut interrupt) =
                    (signal(SignalKind::terminate()).map_err(failed)?, signal(SignalKind::interrupt()).map_err(failed)?);
                tokio::select! {
                    _ = terminate.recv() => (),
                    _ = interrupt.recv() => (),
                }
                Ok(())
            }
            #[cfg(not(unix))]
            tokio::signal::ctrl_c().await.map_err(failed)
        })
    }

    /// Ends the server: it says that it is not ready, takes no more connections, answers the requests it has, and unloads its models.
    ///
    /// # Errors
    /// `DeadlineExceeded` if requests or models did not end in the limits' time. The server has ended nevertheless.
    pub fn shutdown(&self) -> Result<()> {
        let Some(runtime) = self.runtime.lock().take() else { return Ok(()) };
        let start = Instant::now();
        let timeout = self.core.limits.drain_timeout;
        self.core.is_draining.store(true, Relaxed);
        self.ends.send_replace(true);
        let listeners = std::mem::take(&mut *self.listeners.lock());
        runtime.block_on(async {
            for listener in listeners {
                let _ = listener.await;
            }
            if let Some(tracer) = &self.core.tracer {
                let _ = tokio::time::timeout(timeout.saturating_sub(start.elapsed()), tracer.flush()).await;
            }
        });
        let left = self.core.num_requests();
        runtime.shutdown_timeout(timeout.saturating_sub(start.elapsed()));
        self.core.repository.shutdown(timeout.saturating_sub(start.elapsed()).max(Duration::from_secs(1)))?;
        match left {
            0 => Ok(()),
            left => Err(Error::deadline_exceeded(format!("{left} requests did not end within {timeout:?}"))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.shutdown() {
            tracing::warn!(%error, "shutdown");
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("rest", &self.rest).field("grpc", &self.grpc).finish_non_exhaustive()
    }
}

fn runtime(num_threads: usize) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if num_threads > 0 {
        builder.worker_threads(num_threads);
    }
    let runtime = builder.enable_all().thread_name("flowmill-serve").on_thread_start(system::shorten_time_slice).build();
    runtime.map_err(|error| Error::resource_exhausted(format!("the threads of the server cannot be started: {error}")))
}

fn listen(runtime: &Runtime, address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let failed = |error: std::io::Error| Error::unavailable(format!("cannot listen on {address}: {error}"));
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Keeps the answers of `grpc.health.v1` up to date: those for the server, whose name is empty, and those for its services.
async fn report_health(core: Arc<Core>, reporter: tonic_health::server::HealthReporter, mut ends: watch::Receiver<bool>) {
    const INTERVAL: Duration = Duration::from_millis(100);
    const SERVICES: [&str; 4] =
        ["", prediction_service_server::SERVICE_NAME, model_service_server::SERVICE_NAME, grpc_inference_service_server::SERVICE_NAME];
    let mut before = None;
    loop {
        let is_ready = core.is_ready();
        if before != Some(is_ready) {
            let status = if is_ready { ServingStatus::Serving } else { ServingStatus::NotServing };
            for service in SERVICES {
                reporter.set_service_status(service, status).await;
            }
            before = Some(is_ready);
        }
        if *ends.borrow() {
            return;
        }
        let _ = tokio::time::timeout(INTERVAL, ends.wait_for(|ends| *ends)).await;
    }
}

/// Reads a list of models again each time its file has changed. A list that is wrong is logged, and the models stay as they are.
async fn follow_config_file(core: Arc<Core>, path: PathBuf, interval: Duration, mut ends: watch::Receiver<bool>) {
    let mut before = std::fs::read(&path).ok();
    while tokio::time::timeout(interval, ends.wait_for(|ends| *ends)).await.is_err() {
        let Ok(text) = std::fs::read(&path) else { continue };
        if before.as_ref() == Some(&text) {
            continue;
        }
        before = Some(text);
        let (core, path) = (core.clone(), path.clone());
        let reload = tokio::task::spawn_blocking(move || core.reload(ModelConfig::list_from_file(&path)?));
        match reload.await {
            Ok(Ok(())) => tracing::info!("the list of models has changed"),
            Ok(Err(error)) => tracing::error!(%error, "the list of models"),
            Err(error) => tracing::error!(%error, "the thread of a reload ended"),
        }
    }
}

/// Adds the connections to the metrics.
fn count_connections(metrics: &Metrics, count: &Arc<ConnectionCount>) {
    let (open, refused) = (count.clone(), count.clone());
    metrics.add_gauge("flowmill_connections", "Open connections.", move || vec![(String::new(), open.num_open() as f64)]);
    metrics.add_counter("flowmill_refused_connections_total", "Connections that were closed because there were too many.", move || {
        refused.num_refused()
    });
}

/// Writes a log line for each change of a version's state, and adds the states to the metrics.
fn observe(core: &Arc<Core>) {
    let metrics = core.metrics.clone();
    core.repository.subscribe(move |change| {
        if change.status.state == VersionState::End {
            metrics.end_version(&change.model, change.status.version);
        }
        let (model, version, state) = (&*change.model, change.status.version, change.status.state);
        match &change.status.error {
            Some(error) => tracing::error!(model, version, %state, %error, "a model failed"),
            None => tracing::info!(model, version, %state, "a model changed its state"),
        }
    });
    let states = Arc::downgrade(core);
    core.metrics.add_gauge("flowmill_model_available", "1 for a version that is served, 0 for one that is not.", move || {
        let Some(core) = states.upgrade() else { return Vec::new() };
        let of_model = |model: crate::repository::ModelIndex| {
            let name = crate::metrics::escaped(&model.name);
            let value = |state| if state == VersionState::Available { 1.0 } else { 0.0 };
            let labels = move |version: i64| format!("model=\"{name}\",version=\"{version}\"");
            model.versions.into_iter().map(move |status| (labels(status.version), value(status.state)))
        };
        core.repository.models().into_iter().flat_map(of_model).collect()
    });
}
