//! Encrypted connections, with and without certificates of clients.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{digits, start};
use flowmill::Code;
use flowmill_serving::{Server, ServerOptions, TlsOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A certificate and its key as PEM texts.
struct Identity {
    certificate: String,
    key: String,
}

/// An authority, and what it signed for `localhost` and for a client.
struct Certificates {
    authority: String,
    server: Identity,
    client: Identity,
}

fn certificates() -> Certificates {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    };
    Certificates { authority: authority.pem(), server: signed("localhost"), client: signed("client") }
}

/// Asks a server whether it is alive; returns the first line of its answer.
fn ask(server: &Server, authority: &str, client: Option<&Identity>) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let config = match client {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
            config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap()).unwrap()
        }
    };
    let address = server.rest_address().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await?;
        let mut stream = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await?;
        stream.write_all(b"GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).lines().next().unwrap_or("").to_owned())
    })
}

fn with_tls(tls: TlsOptions) -> ServerOptions {
    ServerOptions { tls: Some(tls), ..digits() }
}

#[test]
fn clients_that_trust_the_authority_are_answered() {
    let Certificates { authority, server: Identity { certificate, key }, .. } = certificates();
    let server = start(with_tls(TlsOptions { certificate, key, ..TlsOptions::default() }));
    assert_eq!(ask(&server, &authority, None).unwrap(), "HTTP/1.1 200 OK");
    assert!(ask(&server, &certificates().authority, None).is_err());
    // A client that does not speak TLS gets no answer.
    let mut plain = TcpStream::connect(server.rest_address().unwrap()).unwrap();
    plain.write_all(b"GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));
}

#[test]
fn clients_without_a_certificate_are_refused_if_one_is_needed() {
    let Certificates { authority, server: Identity { certificate, key }, client } = certificates();
    let tls = TlsOptions { certificate, key, client_authorities: Some(authority.clone()), requires_client_certificate: true };
    let server = start(with_tls(tls));
    assert_eq!(ask(&server, &authority, Some(&client)).unwrap(), "HTTP/1.1 200 OK");
    assert!(ask(&server, &authority, None).is_err());
    let stranger = certificates().client;
    assert!(ask(&server, &authority, Some(&stranger)).is_err());
}

#[test]
fn wrong_certificates_are_refused_at_the_start() {
    let Certificates { server: Identity { certificate, key }, client, .. } = certificates();
    for tls in [
        TlsOptions::default(),
        TlsOptions { certificate: certificate.clone(), ..TlsOptions::default() },
        TlsOptions { certificate: certificate.clone(), key: client.key, ..TlsOptions::default() },
        TlsOptions { certificate, key, requires_client_certificate: true, ..TlsOptions::default() },
    ] {
        assert_eq!(Server::start(with_tls(tls)).unwrap_err().code(), Code::InvalidArgument);
    }
}
