//! Accepts connections and speaks HTTP/1 and HTTP/2 on them, with TLS if there is a certificate.

use super::options::{ServerLimits, TlsOptions};
use super::stream_executor::StreamExecutor;
use super::timed_stream::TimedStream;
use axum::Router;
use flowmill::{Error, Result};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// The windows of HTTP/2 streams and connections: a tensor of a megabyte arrives without waiting for the server's permission.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;

/// Streams of one HTTP/2 connection at once.
const MAX_CONCURRENT_STREAMS: u32 = 1024;

/// The time after which a client that answers no ping is taken for gone.
const PING_INTERVAL: Duration = Duration::from_secs(60);

/// Makes a listener's TLS from PEM texts.
///
/// # Errors
/// `InvalidArgument` for texts without a certificate or a key, and for those that do not fit together.
pub(super) fn tls_acceptor(options: &TlsOptions) -> Result<TlsAcceptor> {
    let invalid = |what: &str, error: &dyn std::fmt::Display| Error::invalid_argument(format!("{what}: {error}"));
    let certificates = |pem: &str, what: &str| {
        let all = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<std::result::Result<Vec<_>, _>>();
        all.map_err(|error| invalid(what, &error)).and_then(|all| match all.is_empty() {
            true => Err(Error::invalid_argument(format!("{what}: the text holds no certificate"))),
            false => Ok(all),
        })
    };
    let chain = certificates(&options.certificate, "the server's certificate")?;
    let key = PrivateKeyDer::from_pem_slice(options.key.as_bytes()).map_err(|error| invalid("the server's key", &error))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid("TLS", &error))?;
    let builder = match &options.client_authorities {
        None if options.requires_client_certificate => {
            return Err(Error::invalid_argument("clients' certificates cannot be verified without their authorities"));
        }
        None => builder.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(authorities, "the authorities of clients")? {
                roots.add(authority).map_err(|error| invalid("the authorities of clients", &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if options.requires_client_certificate { verifier } else { verifier.allow_unauthenticated() };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| invalid("the authorities of clients", &error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| invalid("the server's certificate and key", &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The connections of all listeners together.
#[derive(Debug)]
pub(super) struct ConnectionCount {
    /// Bounds them.
    permits: Arc<Semaphore>,
    max: usize,
    num_refused: AtomicU64,
}

impl ConnectionCount {
    /// Allows at most `max` connections at once.
    pub(super) fn new(max: usize) -> ConnectionCount {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        ConnectionCount { permits: Arc::new(Semaphore::new(max)), max, num_refused: AtomicU64::new(0) }
    }

    /// Returns the number of open connections.
    pub(super) fn num_open(&self) -> usize {
        self.max - self.permits.available_permits()
    }

    /// Returns the number of connections that were closed at once because there were too many.
    pub(super) fn num_refused(&self) -> u64 {
        self.num_refused.load(Relaxed)
    }

    fn take(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.permits.clone().try_acquire_owned().ok();
        if permit.is_none() {
            self.num_refused.fetch_add(1, Relaxed);
        }
        permit
    }
}

/// The settings of all connections of a listener.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) limits: Arc<ServerLimits>,
    pub(super) count: Arc<ConnectionCount>,
}

impl Connections {
    /// Accepts connections until `ends` is true, then waits for the requests of all of them, at most the limits' time.
    pub(super) async fn serve(self, listener: TcpListener, mut ends: watch::Receiver<bool>) {
        let graceful = GracefulShutdown::new();
        let mut is_failing = false;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = ends.wait_for(|ends| *ends) => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    is_failing = false;
                    // A client beyond the limit finds its connection closed, and can go to another server.
                    let Some(permit) = self.count.take() else { continue };
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(self.clone().accept(stream, graceful.watcher(), permit));
                }
                Err(error) => {
                    // The process or the system has no more files; connections that end free some.
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(%error, "connections cannot be accepted");
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        let _ = tokio::time::timeout(self.limits.drain_timeout, graceful.shutdown()).await;
    }

    async fn accept(self, stream: tokio::net::TcpStream, watcher: Watcher, permit: OwnedSemaphorePermit) {
        match &self.tls {
            None => self.speak(stream, watcher).await,
            Some(tls) => match tokio::time::timeout(self.limits.header_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream, watcher).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake"),
                Err(_) => tracing::debug!("TLS handshake takes too long"),
            },
        }
        drop(permit);
    }

    async fn speak(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, watcher: Watcher) {
        let service = TowerToHyperService::new(self.router.clone());
        let executor = StreamExecutor::default();
        let stream = TimedStream::new(stream, self.limits.header_timeout, self.limits.write_timeout, executor.reads().clone());
        let connection = self.builder(executor).serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    /// Returns the settings of HTTP for one connection.
    fn builder(&self, executor: StreamExecutor) -> Builder<StreamExecutor> {
        let mut builder = Builder::new(executor);
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_timeout)
            .max_buf_size(self.limits.max_header_bytes.max(8 << 10));
        builder
            .http2()
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .max_header_list_size(u32::try_from(self.limits.max_header_bytes).unwrap_or(u32::MAX))
            .keep_alive_interval(Some(PING_INTERVAL));
        builder
    }
}
