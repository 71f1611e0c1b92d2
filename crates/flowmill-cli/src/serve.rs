//! `flowmill serve`: a model server.

use crate::log::{self, LogWriter};
use clap::{Args, ValueEnum};
use flowmill::InferencePrecision;
use flowmill::{Error, Result};
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::ModelOptions;
use flowmill_serving::repository::{ControlMode, ModelConfig, RepositoryConfig};
use flowmill_serving::{AccessOptions, Server, ServerLimits, ServerOptions, TlsOptions, TracingOptions};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A switch that may be written `--name`, `--name=true` or `--name=false`, as in TensorFlow Serving.
macro_rules! switch {
    () => {
        clap::value_parser!(bool)
    };
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// A model: a directory with a child for each version, a SavedModel or a frozen graph. Its name is the directory's or file's.
    model: Option<PathBuf>,
    /// The name of the model at --model_base_path.
    #[arg(long = "model_name", alias = "model-name", env = "MODEL_NAME", default_value = "default")]
    model_name: String,
    /// The directory with a child for each version of the model.
    #[arg(long = "model_base_path", alias = "model-base-path")]
    model_base_path: Option<PathBuf>,
    /// A file with a ModelServerConfig in protobuf's text format: the models, their versions and labels.
    #[arg(long = "model_config_file", alias = "model-config-file")]
    model_config_file: Option<PathBuf>,
    /// Seconds between two looks at --model_config_file; 0 reads it once.
    #[arg(long = "model_config_file_poll_wait_seconds", alias = "model-config-file-poll-wait-seconds", default_value_t = 0)]
    model_config_file_poll_wait_seconds: u64,
    /// A directory of models: each child is a model. May be given several times.
    #[arg(long = "model_repository", alias = "model-repository")]
    model_repository: Vec<PathBuf>,
    /// Decides by what models are loaded: by the file system, by requests, or at the start alone.
    #[arg(long = "model_control_mode", alias = "model-control-mode", value_enum, default_value = "poll")]
    model_control_mode: Control,
    /// A model to load at the start, with --model_control_mode=explicit. May be given several times.
    #[arg(long = "load_model", alias = "load-model")]
    load_model: Vec<String>,
    /// The address to listen on; 0.0.0.0 is every address of the machine.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port of the gRPC services; 0 turns them off.
    #[arg(long, default_value_t = 8500)]
    port: u16,
    /// The port of the REST APIs; 0 turns them off.
    #[arg(long = "rest_api_port", alias = "rest-api-port", default_value_t = 8501)]
    rest_api_port: u16,
    /// A port of its own for the routes that load, unload and configure models; 0 serves them with all others.
    #[arg(long = "management_port", alias = "management-port", default_value_t = 0)]
    management_port: u16,
    /// The time in which a REST request is answered, in milliseconds.
    #[arg(long = "rest_api_timeout_in_ms", alias = "rest-api-timeout-in-ms", default_value_t = 30_000)]
    rest_api_timeout_in_ms: u64,
    /// Threads that read requests and write answers; 0 is one per core.
    #[arg(long = "rest_api_num_threads", alias = "rest-api-num-threads", default_value_t = 0)]
    rest_api_num_threads: usize,
    /// The least precision in which float32 is multiplied by constant weights: `float32`, or `bfloat16`, which is faster and less accurate.
    #[arg(
        long = "mixed_precision",
        alias = "mixed-precision",
        alias = "inference_precision",
        alias = "inference-precision",
        default_value = "float32"
    )]
    inference_precision: InferencePrecision,
    /// Answer browsers' requests of other origins.
    #[arg(long = "rest_api_enable_cors_support", alias = "rest-api-enable-cors-support", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_parser = switch!())]
    rest_api_enable_cors_support: bool,
    /// Run requests that arrive close together as one step.
    #[arg(long = "enable_batching", alias = "enable-batching", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_parser = switch!())]
    enable_batching: bool,
    /// A file with BatchingParameters in protobuf's text format.
    #[arg(long = "batching_parameters_file", alias = "batching-parameters-file")]
    batching_parameters_file: Option<PathBuf>,
    /// Read a version's own batching_params.pbtxt.
    #[arg(long = "enable_per_model_batching_parameters", alias = "enable-per-model-batching-parameters", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_parser = switch!())]
    enable_per_model_batching_parameters: bool,
    /// Accept labels of versions that are not available yet.
    #[arg(long = "allow_version_labels_for_unavailable_models", alias = "allow-version-labels-for-unavailable-models", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_parser = switch!())]
    allow_version_labels_for_unavailable_models: bool,
    /// Seconds between two looks at the file system; 0 looks once.
    #[arg(long = "file_system_poll_wait_seconds", alias = "file-system-poll-wait-seconds", default_value_t = 1)]
    file_system_poll_wait_seconds: u64,
    /// Threads that load models; 0 is one.
    #[arg(long = "num_load_threads", alias = "num-load-threads", default_value_t = 0)]
    num_load_threads: usize,
    /// Threads that unload models; 0 is one.
    #[arg(long = "num_unload_threads", alias = "num-unload-threads", default_value_t = 0)]
    num_unload_threads: usize,
    /// The number of times that a model is tried again that cannot be loaded.
    #[arg(long = "max_num_load_retries", alias = "max-num-load-retries", default_value_t = 5)]
    max_num_load_retries: u32,
    /// Microseconds between two tries.
    #[arg(long = "load_retry_interval_micros", alias = "load-retry-interval-micros", default_value_t = 60_000_000)]
    load_retry_interval_micros: u64,
    /// Make requests of a model before it is served, from its own file of them or of its signatures.
    #[arg(long = "enable_model_warmup", alias = "enable-model-warmup", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_parser = switch!())]
    enable_model_warmup: bool,
    /// Refuse to classify and to regress by signatures of another method.
    #[arg(long = "enable_signature_method_name_check", alias = "enable-signature-method-name-check", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_parser = switch!())]
    enable_signature_method_name_check: bool,
    /// Tags of a SavedModel's graph, separated by commas.
    #[arg(long = "saved_model_tags", alias = "saved-model-tags", default_value = "serve", value_delimiter = ',')]
    saved_model_tags: Vec<String>,
    /// Threads of all models together; 0 is one per core.
    #[arg(long = "tensorflow_session_parallelism", alias = "threads", default_value_t = 0)]
    tensorflow_session_parallelism: usize,
    /// Like --tensorflow_session_parallelism; one pool serves kernels and nodes.
    #[arg(long = "tensorflow_intra_op_parallelism", hide = true, default_value_t = 0)]
    tensorflow_intra_op_parallelism: usize,
    /// Like --tensorflow_session_parallelism; one pool serves kernels and nodes.
    #[arg(long = "tensorflow_inter_op_parallelism", hide = true, default_value_t = 0)]
    tensorflow_inter_op_parallelism: usize,
    /// A file with an SSLConfig in protobuf's text format: certificate, key and authorities.
    #[arg(long = "ssl_config_file", alias = "ssl-config-file")]
    ssl_config_file: Option<PathBuf>,
    /// A file with one token per line and the groups of routes it opens: `TOKEN inference,management,observation`.
    #[arg(long = "tokens_file", alias = "tokens-file")]
    tokens_file: Option<PathBuf>,
    /// A file with a MonitoringConfig in protobuf's text format; its path of the metrics is served beside /metrics.
    #[arg(long = "monitoring_config_file", alias = "monitoring-config-file")]
    monitoring_config_file: Option<PathBuf>,
    /// The URL of a collector of OpenTelemetry, such as http://localhost:4318, to which spans of requests are sent by OTLP over HTTP. By default that of
    /// OTEL_EXPORTER_OTLP_ENDPOINT; OpenTelemetry's other variables set the rest.
    #[arg(long = "otlp_endpoint", alias = "otlp-endpoint")]
    otlp_endpoint: Option<String>,
    /// The largest body of a request, in bytes.
    #[arg(long = "max_request_bytes", alias = "max-request-bytes")]
    max_request_bytes: Option<usize>,
    /// Bytes of all requests that are being answered.
    #[arg(long = "max_bytes_in_flight", alias = "max-bytes-in-flight")]
    max_bytes_in_flight: Option<usize>,
    /// Requests that are being answered at once.
    #[arg(long = "max_requests_in_flight", alias = "max-requests-in-flight")]
    max_requests_in_flight: Option<usize>,
    /// Connections at once.
    #[arg(long = "max_connections", alias = "max-connections")]
    max_connections: Option<usize>,
    /// Seconds that requests may go on after SIGTERM.
    #[arg(long = "drain_seconds", alias = "drain-seconds", default_value_t = 30)]
    drain_seconds: u64,
    /// The form of the log on standard error.
    #[arg(long = "log_format", alias = "log-format", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// The least severe lines that are logged.
    #[arg(long = "log_level", alias = "log-level", value_enum, default_value = "info")]
    log_level: LogLevel,
    /// Has no effect: this option of TensorFlow Serving changes nothing here. May be given several times.
    #[arg(
        long = "ignored",
        hide = true,
        aliases = ["flush_filesystem_caches", "enable_grpc_healthcheck_service", "enable_serialization_as_tensor_content", "grpc_max_threads",
            "prefer_tflite_model", "xla_cpu_compilation_enabled", "num_request_iterations_for_warmup", "num_warmup_threads", "enable_profiler",
            "skip_initialize_tpu", "grpc_channel_arguments", "tensorflow_session_config_file", "per_process_gpu_memory_fraction",
            "num_tflite_interpreters_per_pool", "num_tflite_pools", "xla_gpu_compilation_enabled"],
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    ignored: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Control {
    /// Load all models, and new versions as they appear.
    Poll,
    /// Load what requests name.
    Explicit,
    /// Load all models once.
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line of text for each event.
    Text,
    /// A JSON object for each event.
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Serves until the process is told to end.
pub(crate) fn serve(args: &ServeArgs) -> Result<()> {
    log_to_standard_error(args);
    if let Some(files) = flowmill_serving::raise_open_file_limit() {
        tracing::info!(files, "the limit of open files");
    }
    let server = Server::start(args.options()?)?;
    server.metrics().add_counter("flowmill_lost_log_lines_total", "Lines of the log that could not be written.", log::num_lost_lines);
    let url = |address: Option<SocketAddr>| address.map_or_else(|| "off".to_owned(), |address| address.to_string());
    say!("REST on {}, gRPC on {}", url(server.rest_address()), url(server.grpc_address()));
    server.wait_for_signal()?;
    tracing::info!("shutting down");
    server.shutdown()
}

fn log_to_standard_error(args: &ServeArgs) {
    let level = match args.log_level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(|| LogWriter).with_ansi(false);
    // A program that embeds the command may have a log of its own.
    let _ = match args.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

impl ServeArgs {
    fn options(&self) -> Result<ServerOptions> {
        let address = |port: u16| (port != 0).then_some(SocketAddr::new(self.host, port));
        if self.batching_parameters_file.is_some() && !self.enable_batching {
            return Err(Error::invalid_argument("--batching_parameters_file needs --enable_batching"));
        }
        let batching = match &self.batching_parameters_file {
            Some(path) => Some(BatchingOptions::from_file(path)?),
            None => self.enable_batching.then(BatchingOptions::default),
        };
        let threads = [self.tensorflow_session_parallelism, self.tensorflow_intra_op_parallelism, self.tensorflow_inter_op_parallelism];
        let limits = ServerLimits::default();
        Ok(ServerOptions {
            rest: address(self.rest_api_port),
            grpc: address(self.port),
            management: address(self.management_port),
            tls: self.ssl_config_file.as_deref().map(TlsOptions::from_file).transpose()?,
            repository: self.repository()?,
            model_config_file: match self.model_config_file_poll_wait_seconds {
                0 => None,
                seconds => self.model_config_file.clone().map(|path| (path, Duration::from_secs(seconds))),
            },
            models: ModelOptions {
                tags: self.saved_model_tags.clone(),
                num_threads: threads.into_iter().max().unwrap_or(0),
                inference_precision: self.inference_precision,
                batching,
                per_model_batching: self.enable_per_model_batching_parameters,
                warm_up_signatures: true,
                check_method_names: self.enable_signature_method_name_check,
                ..ModelOptions::default()
            },
            limits: ServerLimits {
                max_connections: self.max_connections.unwrap_or(limits.max_connections),
                max_body_bytes: self.max_request_bytes.unwrap_or(limits.max_body_bytes),
                max_decompressed_bytes: self.max_request_bytes.unwrap_or(limits.max_decompressed_bytes),
                max_bytes_in_flight: self.max_bytes_in_flight.unwrap_or(limits.max_bytes_in_flight),
                max_requests_in_flight: self.max_requests_in_flight.unwrap_or(limits.max_requests_in_flight),
                request_timeout: Duration::from_millis(self.rest_api_timeout_in_ms),
                drain_timeout: Duration::from_secs(self.drain_seconds),
                ..limits
            },
            access: self.tokens_file.as_ref().map(AccessOptions::from_file).transpose()?.unwrap_or_default(),
            metrics_path: self.monitoring_config_file.as_deref().map(flowmill_serving::metrics_path).transpose()?,
            cors: self.rest_api_enable_cors_support,
            tracing: TracingOptions::from_environment(self.otlp_endpoint.as_deref())?,
            num_io_threads: self.rest_api_num_threads,
            ..ServerOptions::default()
        })
    }

    fn repository(&self) -> Result<RepositoryConfig> {
        let mut config = RepositoryConfig {
            directories: self.model_repository.clone(),
            file_system_poll_wait: Some(self.file_system_poll_wait_seconds).filter(|s| *s > 0).map(Duration::from_secs),
            num_load_threads: self.num_load_threads,
            num_unload_threads: self.num_unload_threads,
            max_num_load_retries: self.max_num_load_retries,
            load_retry_interval: Duration::from_micros(self.load_retry_interval_micros),
            allow_version_labels_for_unavailable_models: self.allow_version_labels_for_unavailable_models,
            enable_model_warmup: self.enable_model_warmup,
            mode: match self.model_control_mode {
                Control::Poll => ControlMode::Poll,
                Control::Explicit => ControlMode::Explicit,
                Control::None => ControlMode::None,
            },
            startup_models: self.load_model.iter().cloned().collect(),
            ..RepositoryConfig::default()
        };
        if let Some(file) = &self.model_config_file {
            config.models = ModelConfig::list_from_file(file)?;
        }
        let given = [
            self.model.as_deref().map(ModelConfig::at),
            self.model_base_path.as_deref().map(|path| ModelConfig::new(self.model_name.clone(), path)),
        ];
        for model in given.into_iter().flatten() {
            config.models.insert(model.name.clone(), model);
        }
        if config.models.is_empty() && config.directories.is_empty() {
            return Err(Error::invalid_argument("no model: give one, or --model_base_path, --model_config_file or --model_repository"));
        }
        Ok(config)
    }
}
