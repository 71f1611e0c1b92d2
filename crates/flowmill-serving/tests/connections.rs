//! Clients that are slow, silent or too many, and messages that never arrive.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{digits, get, start};
use flowmill_serving::proto::tfs::prediction_service_client::PredictionServiceClient;
use flowmill_serving::proto::tfs::{PredictRequest, PredictResponse};
use flowmill_serving::{Server, ServerLimits, ServerOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tonic::codec::CompressionEncoding;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::{self, StreamExt};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(30);

fn limited(limits: ServerLimits) -> Server {
    start(ServerOptions { limits, ..digits() })
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.rest_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Waits until the server closes a connection; returns what it has sent.
fn read_to_the_end(mut stream: TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    match stream.read_to_end(&mut read) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error} after {read:?}"),
        _ => read,
    }
}

/// Returns the value of a metric without labels.
fn metric(server: &Server, name: &str) -> f64 {
    let text = get(server, "/metrics");
    let value = text.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_else(|| panic!("{name}"));
    value.parse().unwrap()
}

fn wait_for(server: &Server, name: &str, condition: impl Fn(f64) -> bool) {
    let start = Instant::now();
    while !condition(metric(server, name)) {
        assert!(start.elapsed() < LONG, "{name} {}", metric(server, name));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn connections_without_a_request_are_closed() {
    let server = limited(ServerLimits { header_timeout: SHORT, ..ServerLimits::default() });
    let sent = ["", "P", "PRI * HTTP/2.0\r\n\r\nSM", "GET /v2/health/live HTTP/1.1\r\nhost"];
    let waiting: Vec<TcpStream> = sent
        .iter()
        .map(|sent| {
            let mut stream = connect(&server);
            stream.write_all(sent.as_bytes()).unwrap();
            stream
        })
        .collect();
    waiting.into_iter().for_each(|stream| assert!(read_to_the_end(stream).is_empty()));
    // One that is kept open after a request, too.
    let mut idle = connect(&server);
    idle.write_all(b"GET /v2/health/live HTTP/1.1\r\nhost: t\r\n\r\n").unwrap();
    assert!(read_to_the_end(idle).starts_with(b"HTTP/1.1 200"));
}

#[test]
fn headers_that_trickle_in_are_not_waited_for() {
    let server = limited(ServerLimits { header_timeout: SHORT, ..ServerLimits::default() });
    let mut stream = connect(&server);
    stream.set_read_timeout(Some(SHORT / 10)).unwrap();
    let start = Instant::now();
    let mut bytes = b"GET /v2/health/live HTTP/1.1\r\nhost: ".iter().chain(std::iter::repeat(&b'x'));
    let is_closed = |stream: &mut TcpStream| match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    while stream.write_all(&[*bytes.next().unwrap()]).is_ok() && !is_closed(&mut stream) {
        assert!(start.elapsed() < LONG);
    }
    assert!(start.elapsed() >= SHORT);
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let server = limited(ServerLimits { max_connections: 3, ..ServerLimits::default() });
    let held: Vec<TcpStream> = (0..3).map(|_| connect(&server)).collect();
    // The limit counts the connections that the server has accepted.
    let mut num_refused = 0;
    for _ in 0..3 {
        assert!(read_to_the_end(connect(&server)).is_empty());
        num_refused += 1;
    }
    drop(held);
    let start = Instant::now();
    let answer = loop {
        let mut stream = connect(&server);
        let request = b"GET /metrics HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
        let answer = stream.write_all(request).map(|()| String::from_utf8(read_to_the_end(stream)).unwrap());
        match answer {
            // The server learns one after the other that connections ended.
            Ok(text) if text.lines().any(|line| line == "flowmill_connections 1") => break text,
            Ok(text) if !text.is_empty() => {}
            _ => num_refused += 1,
        }
        assert!(start.elapsed() < LONG);
    };
    assert!(answer.lines().any(|line| line == format!("flowmill_refused_connections_total {num_refused}")), "{answer}");
}

#[test]
fn a_client_that_reads_nothing_loses_its_connection() {
    let server = limited(ServerLimits { write_timeout: SHORT, ..ServerLimits::default() });
    let mut stream = connect(&server);
    stream.set_write_timeout(Some(SHORT)).unwrap();
    // Answers for as many requests fill the buffers on the way.
    let requests = b"GET /openapi.json HTTP/1.1\r\nhost: t\r\n\r\n".repeat(100_000);
    let _ = stream.write_all(&requests);
    wait_for(&server, "flowmill_connections", |count| count == 1.0);
    drop(stream);
}

/// Calls `Predict` with messages that come from a stream.
async fn predict(
    server: &Server,
    messages: impl tokio_stream::Stream<Item = PredictRequest> + Send + 'static,
) -> Result<PredictResponse, Status> {
    let channel: Channel = Endpoint::new(format!("http://{}", server.grpc_address().unwrap())).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static("/tensorflow.serving.PredictionService/Predict");
    let codec = tonic_prost::ProstCodec::default();
    client.client_streaming(Request::new(messages), path, codec).await.map(tonic::Response::into_inner)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_message_that_does_not_arrive_ends_its_request() {
    let server = limited(ServerLimits { body_timeout: SHORT, max_requests_in_flight: 1, ..ServerLimits::default() });
    runtime().block_on(async {
        let late = predict(&server, tokio_stream::pending()).await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded, "{late}");
    });
    wait_for(&server, "flowmill_requests_in_flight", |count| count == 0.0);
}

#[test]
fn requests_count_before_their_message_has_arrived() {
    let server = limited(ServerLimits { max_requests_in_flight: 1, ..ServerLimits::default() });
    runtime().block_on(async {
        let waiting = predict(&server, tokio_stream::pending());
        let refused = async {
            while metric(&server, "flowmill_requests_in_flight") == 0.0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            predict(&server, tokio_stream::once(PredictRequest::default())).await.unwrap_err()
        };
        tokio::select! {
            answer = waiting => panic!("{answer:?}"),
            refused = refused => assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}"),
        }
    });
    wait_for(&server, "flowmill_requests_in_flight", |count| count == 0.0);
}

#[test]
fn the_bytes_of_messages_are_bounded_as_they_arrive() {
    let server = limited(ServerLimits { max_bytes_in_flight: 100_000, ..ServerLimits::default() });
    runtime().block_on(async {
        let message = |bytes| PredictRequest { output_filter: vec!["x".repeat(bytes)], ..PredictRequest::default() };
        let first = tokio_stream::once(message(200_000)).chain(tokio_stream::pending());
        let refused = predict(&server, first).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        let small = predict(&server, tokio_stream::once(message(1000))).await.unwrap_err();
        assert_eq!(small.code(), Code::InvalidArgument, "{small}");
    });
    wait_for(&server, "flowmill_request_bytes_in_flight", |bytes| bytes == 0.0);
}

#[test]
fn the_bytes_of_messages_count_after_decompression() {
    let server = limited(ServerLimits { max_bytes_in_flight: 100_000, ..ServerLimits::default() });
    runtime().block_on(async {
        let channel = Endpoint::new(format!("http://{}", server.grpc_address().unwrap())).unwrap().connect().await.unwrap();
        let mut client = PredictionServiceClient::new(channel).send_compressed(CompressionEncoding::Gzip);
        let message = |bytes| PredictRequest { output_filter: vec!["x".repeat(bytes)], ..PredictRequest::default() };
        assert_eq!(client.predict(message(200_000)).await.unwrap_err().code(), Code::ResourceExhausted);
        assert_eq!(client.predict(message(1000)).await.unwrap_err().code(), Code::InvalidArgument);
    });
    wait_for(&server, "flowmill_request_bytes_in_flight", |bytes| bytes == 0.0);
}
