//! Requests that take long, that nobody waits for, and that are too many.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{counting_model, digits, get, image, post, request, start};
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::ModelOptions;
use flowmill_serving::repository::RepositoryConfig;
use flowmill_serving::{Server, ServerLimits, ServerOptions};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A number that no machine counts to within a test.
const FOREVER: i64 = i64::MAX;

/// Starts a server of the counting model, whose file is in the directory that is returned.
fn counting(limits: ServerLimits) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let repository =
        RepositoryConfig { enable_model_warmup: false, ..RepositoryConfig::of_model("counting", counting_model(directory.path())) };
    (start(ServerOptions { repository, limits, num_compute_threads: 1, ..digits() }), directory)
}

fn count_to(limit: i64) -> String {
    format!("{{\"inputs\": {limit}}}")
}

const PREDICT: &str = "/v1/models/counting:predict";

/// Sends a request and does not read its answer.
fn send(server: &Server, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.rest_address().unwrap()).unwrap();
    let head = format!("POST {PREDICT} HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// Waits until a metric has a value.
fn wait_for(server: &Server, line: &str) {
    let start = Instant::now();
    while !get(server, "/metrics").text().lines().any(|other| other == line) {
        assert!(start.elapsed() < Duration::from_secs(30), "no line {line}:\n{}", get(server, "/metrics").text());
        std::thread::yield_now();
    }
}

#[test]
fn steps_end_at_their_deadline() {
    let timeout = Duration::from_millis(300);
    let (server, _directory) = counting(ServerLimits { request_timeout: timeout, ..ServerLimits::default() });
    assert_eq!(post(&server, PREDICT, &count_to(1000)).json()["outputs"], 1000);
    let start = Instant::now();
    let late = post(&server, PREDICT, &count_to(FOREVER));
    assert_eq!(late.status, 504, "{}", late.text());
    assert!(start.elapsed() >= timeout);
    // The step has ended, too: the one thread for steps is free again.
    assert_eq!(post(&server, PREDICT, &count_to(1000)).status, 200);
}

#[test]
fn requests_set_their_own_timeout_in_kserves_protocol() {
    let (server, _directory) = counting(ServerLimits::default());
    let body = format!(
        "{{\"parameters\": {{\"timeout\": 200000}}, \"inputs\": [{{\"name\": \"limit\", \"shape\": [], \"datatype\": \"INT64\", \"data\": [{FOREVER}]}}]}}"
    );
    let start = Instant::now();
    let late = post(&server, "/v2/models/counting/infer", &body);
    assert_eq!(late.status, 504, "{}", late.text());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_step_is_cancelled_when_its_client_goes() {
    let (server, _directory) = counting(ServerLimits::default());
    let client = send(&server, &count_to(FOREVER));
    wait_for(&server, "flowmill_requests_in_flight 1");
    drop(client);
    wait_for(&server, "flowmill_requests_in_flight 0");
    assert_eq!(post(&server, PREDICT, &count_to(10)).status, 200);
    let text = get(&server, "/metrics");
    assert!(text.text().contains("api=\"Predict\",code=\"CANCELLED\"} 1"), "{}", text.text());
}

#[test]
fn requests_beyond_the_queue_are_told_to_come_back() {
    let (server, _directory) = counting(ServerLimits { max_waiting_steps: 1, ..ServerLimits::default() });
    let running = send(&server, &count_to(FOREVER));
    wait_for(&server, "flowmill_requests_in_flight 1");
    let waiting = send(&server, &count_to(FOREVER));
    wait_for(&server, "flowmill_waiting_steps 1");
    let refused = post(&server, PREDICT, &count_to(1));
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{}", refused.text());
    drop((running, waiting));
    wait_for(&server, "flowmill_requests_in_flight 0");
    assert_eq!(post(&server, PREDICT, &count_to(1)).status, 200);
}

#[test]
fn memory_of_bodies_is_bounded() {
    let (server, _directory) = counting(ServerLimits { max_bytes_in_flight: 1000, ..ServerLimits::default() });
    assert_eq!(post(&server, PREDICT, &format!("{}{}", " ".repeat(2000), count_to(1))).status, 429);
    assert_eq!(post(&server, PREDICT, &count_to(1)).status, 200);
    assert!(get(&server, "/metrics").text().contains("\nflowmill_request_bytes_in_flight 0\n"));
}

#[test]
fn a_shutdown_answers_the_requests_it_has() {
    let (server, _directory) = counting(ServerLimits::default());
    let client = send(&server, &count_to(2_000_000));
    wait_for(&server, "flowmill_requests_in_flight 1");
    server.shutdown().unwrap();
    let answer = common::read_answer(client);
    assert_eq!(answer.json()["outputs"], 2_000_000);
}

#[test]
fn a_shutdown_does_not_wait_for_ever() {
    let drain_timeout = Duration::from_millis(300);
    let (server, _directory) = counting(ServerLimits { drain_timeout, ..ServerLimits::default() });
    let _client = send(&server, &count_to(FOREVER));
    wait_for(&server, "flowmill_requests_in_flight 1");
    let start = Instant::now();
    assert!(server.shutdown().is_err());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn batches_answer_each_request_with_its_rows() {
    let options = BatchingOptions { max_batch_size: 8, batch_timeout: Duration::from_millis(20), ..BatchingOptions::default() };
    let models = ModelOptions { batching: Some(options), ..ModelOptions::default() };
    let server = start(ServerOptions { models, ..digits() });
    let alone = start(digits());
    let ask = |server: &Server, value: f32| {
        post(server, "/v1/models/digits:predict", &format!("{{\"instances\": [{}]}}", image(value))).json()["predictions"].clone()
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|i| {
                scope.spawn({
                    let ask = &ask;
                    let server = &server;
                    move || ask(server, i as f32)
                })
            })
            .collect();
        for (i, client) in clients.into_iter().enumerate() {
            assert_eq!(client.join().unwrap()[0]["classes"], ask(&alone, i as f32)[0]["classes"], "{i}");
        }
    });
    let bad = request(&server, "POST", "/v1/models/digits:predict", &[], b"{\"instances\": [[1.0]]}");
    assert_eq!(bad.status, 400);
    let text = get(&server, "/metrics");
    let steps = text.text().lines().find_map(|line| line.strip_prefix("flowmill_batch_rows_count")?.rsplit_once(' ')).unwrap().1;
    assert!(steps.parse::<f64>().unwrap() < 16.0, "{steps} steps for 16 requests");
}
