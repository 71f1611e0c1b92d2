//! Accepts connections and speaks HTTP/1 and HTTP/2 on them, with TLS if there is a certificate.

use super::options::{ServerLimits, TlsOptions};
use axum::Router;
use flowmill::{Error, Result};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
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

/// The settings of all connections of a listener.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) limits: Arc<ServerLimits>,
    /// Bounds the connections of all listeners together.
    pub(super) permits: Arc<Semaphore>,
}

impl Connections {
    /// Accepts connections until `ends` is true, then waits for the requests of all of them, at most the limits' time.
    pub(super) async fn serve(self, listener: TcpListener, mut ends: watch::Receiver<bool>) {
        let graceful = GracefulShutdown::new();
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_timeout)
            .max_buf_size(self.limits.max_header_bytes.max(8 << 10))
            .pipeline_flush(true);
        builder
            .http2()
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .max_header_list_size(u32::try_from(self.limits.max_header_bytes).unwrap_or(u32::MAX))
            .keep_alive_interval(Some(PING_INTERVAL));
        let builder = Arc::new(builder);
        loop {
            // A connection that is accepted has a permit, so that clients beyond the limit wait in the system's queue.
            let permit = tokio::select! {
                permit = self.permits.clone().acquire_owned() => permit,
                _ = ends.wait_for(|ends| *ends) => break,
            };
            let Ok(permit) = permit else { break };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = ends.wait_for(|ends| *ends) => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(self.clone().accept(stream, builder.clone(), graceful.watcher(), permit));
                }
                Err(error) => {
                    // The process has no more files; connections that end free some.
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        let _ = tokio::time::timeout(self.limits.drain_timeout, graceful.shutdown()).await;
    }

    async fn accept(
        self,
        stream: tokio::net::TcpStream,
        builder: Arc<Builder<TokioExecutor>>,
        watcher: Watcher,
        permit: OwnedSemaphorePermit,
    ) {
        match &self.tls {
            None => self.speak(stream, &builder, watcher).await,
            Some(tls) => match tokio::time::timeout(self.limits.header_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream, &builder, watcher).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake"),
                Err(_) => tracing::debug!("TLS handshake takes too long"),
            },
        }
        drop(permit);
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        builder: &Builder<TokioExecutor>,
        watcher: Watcher,
    ) {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
    }
}
