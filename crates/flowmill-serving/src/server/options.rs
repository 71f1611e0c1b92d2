//! Options of a server: its addresses, its models and its limits.

use crate::formats::Limits;
use crate::model::ModelOptions;
use crate::repository::RepositoryConfig;
use crate::telemetry::TracingOptions;
use flowmill::{Error, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a server. The default serves nothing: it has no address and no model.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The address of the REST APIs of both protocols, the metrics and the front page. Port 0 takes a free one.
    pub rest: Option<SocketAddr>,
    /// The address of the gRPC services of both protocols.
    pub grpc: Option<SocketAddr>,
    /// The address of the routes that load, unload and configure models, and of metrics; without one, they are served with all others.
    pub management: Option<SocketAddr>,
    /// Encrypts all of these.
    pub tls: Option<TlsOptions>,
    /// The models.
    pub repository: RepositoryConfig,
    /// A file with the list of models that is read again as it changes, and the time between two looks at it. The list in `repository` is the one
    /// to begin with.
    pub model_config_file: Option<(PathBuf, Duration)>,
    /// Options of loading and running models.
    pub models: ModelOptions,
    /// Bounds on clients and requests.
    pub limits: ServerLimits,
    /// The tokens that open routes; without any, all routes are open.
    pub access: AccessOptions,
    /// The path of the metrics; `/metrics` and TensorFlow Serving's `/monitoring/prometheus/metrics` always work.
    pub metrics_path: Option<String>,
    /// Answer browsers' requests of other origins.
    pub cors: bool,
    /// Sends spans of requests to a collector of OpenTelemetry.
    pub tracing: Option<TracingOptions>,
    /// Threads that read requests and write answers; 0 means one per core.
    pub num_io_threads: usize,
    /// Steps that run at once without batching; 0 means one per core.
    pub num_compute_threads: usize,
}

/// The bounds that keep a server's memory and time within its configuration.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Connections at once over all addresses; others are closed at once. 16,384 by default, or as many as the process may have files, less 64.
    pub max_connections: usize,
    /// Bytes of a request's body as sent. 1 GiB by default.
    pub max_body_bytes: usize,
    /// Bytes of a body after decompression. 1 GiB by default.
    pub max_decompressed_bytes: usize,
    /// Bytes of all bodies that are being read or answered. 2 GiB by default.
    pub max_bytes_in_flight: usize,
    /// Requests that are being answered at once. 4,096 by default.
    pub max_requests_in_flight: usize,
    /// Steps that wait for a thread, without batching. 1,024 by default.
    pub max_waiting_steps: usize,
    /// Bytes of a request's headers. 64 KiB by default.
    pub max_header_bytes: usize,
    /// The time in which a request's headers must arrive, and a TLS handshake be done. A connection of HTTP/1 without a request is closed after it, too. 10 s by default.
    pub header_timeout: Duration,
    /// The time in which a request's body must arrive. 60 s by default.
    pub body_timeout: Duration,
    /// The time in which a client must take some bytes from its connection while there are any to take. 60 s by default.
    pub write_timeout: Duration,
    /// The time in which a request of the REST API is answered, and a gRPC request without a deadline; a request may set a shorter one. 30 s by default.
    pub request_timeout: Duration,
    /// Bounds on the tensors of a request.
    pub tensors: Limits,
    /// The time that requests may go on after the server was told to end. 30 s by default.
    pub drain_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            max_connections: 16_384,
            max_body_bytes: 1 << 30,
            max_decompressed_bytes: 1 << 30,
            max_bytes_in_flight: 2 << 30,
            max_requests_in_flight: 4096,
            max_waiting_steps: 1024,
            max_header_bytes: 64 << 10,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            tensors: Limits::default(),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// A server's certificate, as PEM texts.
#[derive(Clone, Default)]
pub struct TlsOptions {
    /// The certificate with those that sign it.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The authorities of clients' certificates; without them, clients need none.
    pub client_authorities: Option<String>,
    /// Refuse clients without a certificate.
    pub requires_client_certificate: bool,
}

impl std::fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsOptions").field("requires_client_certificate", &self.requires_client_certificate).finish_non_exhaustive()
    }
}

impl TlsOptions {
    /// Reads TensorFlow Serving's file of an `SSLConfig`, which is in protobuf's text format.
    ///
    /// # Errors
    /// `NotFound` or `InvalidArgument` with the file's name.
    pub fn from_file(path: &std::path::Path) -> Result<TlsOptions> {
        let config: crate::proto::tfs::SslConfig = crate::text_format::read(path, "tensorflow.serving.SSLConfig")?;
        Ok(TlsOptions {
            certificate: config.server_cert,
            key: config.server_key,
            client_authorities: Some(config.custom_ca).filter(|text| !text.is_empty()),
            requires_client_certificate: config.client_verify,
        })
    }
}

/// Returns the path of the metrics in TensorFlow Serving's file of a `MonitoringConfig`, which is in protobuf's text format.
///
/// # Errors
/// `NotFound` or `InvalidArgument` with the file's name.
pub fn metrics_path(path: &std::path::Path) -> Result<String> {
    let config: crate::proto::tfs::MonitoringConfig = crate::text_format::read(path, "tensorflow.serving.MonitoringConfig")?;
    Ok(config.prometheus_config.map_or_else(String::new, |prometheus| prometheus.path))
}

/// A group of routes that tokens open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteGroup {
    /// Liveness and readiness, which need no token.
    Health,
    /// Inference, and the metadata and states of models.
    Inference,
    /// Loading, unloading and configuring models.
    Management,
    /// Metrics, statistics and the status that the front page shows.
    Observation,
    /// The files of the front page and the description of the REST APIs, which need no token: they are the same on every server.
    Page,
}

impl RouteGroup {
    /// Returns the group of that name: `inference`, `management` or `observation`.
    ///
    /// # Errors
    /// `InvalidArgument` for another name.
    pub fn parse(name: &str) -> Result<RouteGroup> {
        match name {
            "inference" => Ok(RouteGroup::Inference),
            "management" => Ok(RouteGroup::Management),
            "observation" => Ok(RouteGroup::Observation),
            _ => Err(Error::invalid_argument(format!("'{name}' is no group of routes; there are inference, management and observation"))),
        }
    }
}

/// The tokens of clients.
#[derive(Clone, Default)]
pub struct AccessOptions {
    /// Tokens with the groups that each opens. A client sends one as `Authorization: Bearer TOKEN` or as `X-API-Key: TOKEN`. A group that no token
    /// opens is open to everybody.
    pub tokens: Vec<(String, Vec<RouteGroup>)>,
}

impl std::fmt::Debug for AccessOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessOptions").field("num_tokens", &self.tokens.len()).finish()
    }
}

impl AccessOptions {
    /// Reads a file with one token per line, each followed by the groups it opens: `TOKEN inference,observation`. Empty lines and lines that begin with `#`
    /// are left out.
    ///
    /// # Errors
    /// `NotFound` if the file cannot be read; `InvalidArgument` with the number of the line.
    pub fn from_file(path: &PathBuf) -> Result<AccessOptions> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::not_found(format!("{}: {e}", path.display())))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let token = |(number, line): (usize, &str)| {
            let at = |error: Error| error.context(format_args!("{} line {}", path.display(), number + 1));
            let (token, groups) =
                line.trim().split_once(char::is_whitespace).ok_or_else(|| at(Error::invalid_argument("a token needs groups")))?;
            let groups = groups.split(',').map(|group| RouteGroup::parse(group.trim())).collect::<Result<_>>().map_err(at)?;
            Ok((token.to_owned(), groups))
        };
        Ok(AccessOptions { tokens: lines.map(token).collect::<Result<_>>()? })
    }

    /// Returns true if `given` opens `group`.
    pub(crate) fn allows(&self, group: RouteGroup, given: Option<&str>) -> bool {
        let mut opens = self.tokens.iter().filter(|(_, groups)| groups.contains(&group)).peekable();
        if matches!(group, RouteGroup::Health | RouteGroup::Page) || opens.peek().is_none() {
            return true;
        }
        // Compare with every token, and all of its bytes, so that the time does not tell how much of a guess is right.
        opens.fold(false, |found, (token, _)| found | is_equal(token.as_bytes(), given.unwrap_or("").as_bytes()))
    }
}

fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b));
    std::hint::black_box(differences) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn tokens_open_their_groups() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# clients\nabc inference\nxyz inference, management\n\n").unwrap();
        let access = AccessOptions::from_file(&file.path().to_owned()).unwrap();
        for (group, token, expected) in [
            (RouteGroup::Inference, Some("abc"), true),
            (RouteGroup::Inference, Some("ab"), false),
            (RouteGroup::Inference, Some("abcd"), false),
            (RouteGroup::Inference, None, false),
            (RouteGroup::Management, Some("abc"), false),
            (RouteGroup::Management, Some("xyz"), true),
            (RouteGroup::Observation, None, true),
            (RouteGroup::Health, None, true),
        ] {
            assert_eq!(access.allows(group, token), expected, "{group:?} {token:?}");
        }
        std::fs::write(file.path(), "abc inference\nxyz everything").unwrap();
        assert!(AccessOptions::from_file(&file.path().to_owned()).unwrap_err().message().contains("line 2"));
    }
}
