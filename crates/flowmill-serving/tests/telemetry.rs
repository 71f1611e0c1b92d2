//! Spans of requests, at a collector that this test is.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{digits, image, post, request, start};
use flowmill::{DType, Tensor};
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::ModelOptions;
use flowmill_serving::proto::kserve::ModelInferRequest;
use flowmill_serving::proto::kserve::grpc_inference_service_client::GrpcInferenceServiceClient;
use flowmill_serving::proto::otlp::{ExportTraceServiceRequest, KeyValue, Span, any_value, span, status};
use flowmill_serving::proto::tfs::prediction_service_client::PredictionServiceClient;
use flowmill_serving::proto::tfs::{ModelSpec, PredictRequest};
use flowmill_serving::{Sampler, Server, ServerOptions, TracingOptions};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tonic::transport::Endpoint;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const WAIT: Duration = Duration::from_secs(30);

/// A post to the collector.
struct Post {
    path: String,
    headers: BTreeMap<String, String>,
    message: ExportTraceServiceRequest,
}

impl Post {
    fn spans(&self) -> &[Span] {
        &self.message.resource_spans[0].scope_spans[0].spans
    }
}

/// Answers posts with the statuses of `answers`, then with 200, until the test ends. Returns the address and what arrives.
fn collector(answers: &[u16]) -> (SocketAddr, mpsc::Receiver<Post>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (posts, received) = mpsc::channel();
    let mut answers = Vec::from(answers).into_iter();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            while let Some(post) = read_post(stream.as_ref().unwrap()) {
                let status = answers.next().unwrap_or(200);
                let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
                if stream.as_ref().unwrap().write_all(answer.as_bytes()).is_err() || posts.send(post).is_err() {
                    break;
                }
            }
        }
    });
    (address, received)
}

fn read_post(stream: &TcpStream) -> Option<Post> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let path = line.split(' ').nth(1).unwrap().to_owned();
    assert!(line.starts_with("POST "), "{line}");
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => drop(headers.insert(name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    if headers.get("content-encoding").is_some_and(|coding| coding == "gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
        body = plain;
    }
    Some(Post { path, headers, message: ExportTraceServiceRequest::decode(&body[..]).unwrap() })
}

fn options(address: SocketAddr) -> TracingOptions {
    TracingOptions {
        endpoint: format!("http://{address}/v1/traces"),
        schedule_delay: Duration::from_millis(50),
        ..TracingOptions::default()
    }
}

fn traced(tracing: TracingOptions) -> Server {
    start(ServerOptions { tracing: Some(tracing), ..digits() })
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()?;
    if let any_value::Value::StringValue(text) = value { Some(text) } else { panic!("{value:?}") }
}

fn number(attributes: &[KeyValue], key: &str) -> Option<i64> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()?;
    if let any_value::Value::IntValue(number) = value { Some(*number) } else { panic!("{value:?}") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the span of the request and those of its parts by name, and checks how they are nested.
fn tree(spans: &[Span]) -> (&Span, BTreeMap<&str, &Span>) {
    let root = spans.iter().find(|span| span.kind == span::SpanKind::Server as i32).unwrap();
    let parts: BTreeMap<&str, &Span> = spans.iter().filter(|span| *span != root).map(|span| (span.name.as_str(), span)).collect();
    assert_eq!(parts.len() + 1, spans.len());
    for (name, part) in &parts {
        let parent = if *name == "compute" { *parts.get("batch").unwrap_or(&root) } else { root };
        assert_eq!((&part.trace_id, &part.parent_span_id), (&root.trace_id, &parent.span_id), "{name}");
        assert!(part.start_time_unix_nano >= parent.start_time_unix_nano && part.end_time_unix_nano <= parent.end_time_unix_nano, "{name}");
    }
    (root, parts)
}

#[test]
fn a_request_becomes_spans_below_its_caller() {
    let (address, posts) = collector(&[]);
    let resource = vec![("service.name".to_owned(), "digits".to_owned()), ("deployment.environment".to_owned(), "test".to_owned())];
    let headers = vec![("x-scope".to_owned(), "tests".to_owned())];
    let server = traced(TracingOptions { resource, headers, gzip: true, ..options(address) });
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let body = format!(r#"{{"instances": [{}]}}"#, image(0.5));
    let headers = [("traceparent", parent.as_str()), ("tracestate", "vendor=1")];
    let answer = request(&server, "POST", "/v1/models/digits:predict", &headers, body.as_bytes());
    assert_eq!(answer.status, 200);

    let post = posts.recv_timeout(WAIT).unwrap();
    assert_eq!(post.path, "/v1/traces");
    assert_eq!((post.headers["content-type"].as_str(), post.headers["x-scope"].as_str()), ("application/x-protobuf", "tests"));
    let resource = &post.message.resource_spans[0].resource.as_ref().unwrap().attributes;
    assert_eq!((text(resource, "service.name"), text(resource, "deployment.environment")), (Some("digits"), Some("test")));
    let (root, parts) = tree(post.spans());
    assert_eq!(parts.keys().copied().collect::<Vec<_>>(), ["compute", "encode", "queue", "receive"]);
    assert_eq!(
        (hex(&root.trace_id), hex(&root.parent_span_id), root.trace_state.as_str()),
        (TRACE.to_owned(), PARENT.to_owned(), "vendor=1")
    );
    assert_eq!(root.name, "POST /v1/models/{model}:predict");
    assert!(root.start_time_unix_nano >= before && root.flags == 0x301, "{root:?}");
    assert_eq!((text(&root.attributes, "flowmill.model"), number(&root.attributes, "flowmill.model.version")), (Some("digits"), Some(1)));
    assert_eq!(text(&root.attributes, "flowmill.signature"), Some("serving_default"));
    assert_eq!((number(&root.attributes, "http.response.status_code"), root.status.clone()), (Some(200), None));
    // The caller learns the request's own span.
    assert_eq!(answer.header("traceparent").unwrap(), format!("00-{TRACE}-{}-01", hex(&root.span_id)));
}

#[test]
fn batches_are_spans_of_their_own() {
    let (address, posts) = collector(&[]);
    let models = ModelOptions { batching: Some(BatchingOptions::default()), ..ModelOptions::default() };
    let server = start(ServerOptions { tracing: Some(options(address)), models, ..digits() });
    let body = format!(r#"{{"instances": [{0}, {0}]}}"#, image(0.5));
    assert_eq!(post(&server, "/v1/models/digits:predict", &body).status, 200);
    let post = posts.recv_timeout(WAIT).unwrap();
    let (root, parts) = tree(post.spans());
    assert_eq!(parts.keys().copied().collect::<Vec<_>>(), ["batch", "compute", "encode", "queue", "receive"]);
    assert_eq!((number(&parts["batch"].attributes, "flowmill.batch.rows"), number(&root.attributes, "flowmill.rows")), (Some(2), Some(2)));
    assert!(root.parent_span_id.is_empty() && root.trace_id.len() == 16, "{root:?}");
}

#[test]
fn failures_have_a_status_and_no_step() {
    let (address, posts) = collector(&[]);
    let server = traced(options(address));
    assert_eq!(post(&server, "/v2/models/digits/infer", r#"{"inputs": []}"#).status, 400);
    let post = posts.recv_timeout(WAIT).unwrap();
    let (root, parts) = tree(post.spans());
    assert_eq!(parts.keys().copied().collect::<Vec<_>>(), ["receive"]);
    let status = root.status.as_ref().unwrap();
    assert_eq!(status.code, status::StatusCode::Error as i32);
    assert!(status.message.contains("images"), "{}", status.message);
    assert_eq!(
        (text(&root.attributes, "error.type"), number(&root.attributes, "http.response.status_code")),
        (Some("INVALID_ARGUMENT"), Some(400))
    );
}

#[test]
fn calls_and_streams_of_grpc_are_traced() {
    let (address, posts) = collector(&[]);
    let server = traced(TracingOptions { max_export_batch_size: 1, ..options(address) });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let with_parent = |metadata: &mut tonic::metadata::MetadataMap| {
        metadata.insert("traceparent", format!("00-{TRACE}-{PARENT}-01").parse().unwrap());
    };
    runtime.block_on(async {
        let channel = Endpoint::new(format!("http://{}", server.grpc_address().unwrap())).unwrap().connect().await.unwrap();
        let images = Tensor::zeros(DType::F32, [1, 8, 8, 1]).unwrap().to_proto().unwrap();
        let model_spec = Some(ModelSpec { name: "digits".into(), ..ModelSpec::default() });
        let mut request =
            tonic::Request::new(PredictRequest { model_spec, inputs: [("images".to_owned(), images)].into(), output_filter: Vec::new() });
        with_parent(request.metadata_mut());
        let answer = PredictionServiceClient::new(channel.clone()).predict(request).await.unwrap();
        let post = posts.recv_timeout(WAIT).unwrap();
        let (root, parts) = tree(post.spans());
        assert_eq!((root.name.as_str(), parts.len()), ("tensorflow.serving.PredictionService/Predict", 4));
        assert_eq!(
            (text(&root.attributes, "rpc.system.name"), text(&root.attributes, "rpc.response.status_code")),
            (Some("grpc"), Some("OK"))
        );
        assert_eq!(hex(&root.parent_span_id), PARENT);
        assert_eq!(answer.metadata().get("traceparent").unwrap(), &format!("00-{TRACE}-{}-01", hex(&root.span_id)));

        let wrong = ModelInferRequest { model_name: "none".into(), ..ModelInferRequest::default() };
        let mut request = tonic::Request::new(tonic::codegen::tokio_stream::iter(vec![wrong; 2]));
        with_parent(request.metadata_mut());
        let mut answers = GrpcInferenceServiceClient::new(channel).model_stream_infer(request).await.unwrap().into_inner();
        while answers.message().await.unwrap().is_some() {}
        for _ in 0..2 {
            let post = posts.recv_timeout(WAIT).unwrap();
            let (root, _) = tree(post.spans());
            assert_eq!((root.name.as_str(), hex(&root.trace_id)), ("inference.GRPCInferenceService/ModelInfer", TRACE.to_owned()));
            assert_eq!(text(&root.attributes, "rpc.response.status_code"), Some("NOT_FOUND"));
        }
    });
}

#[test]
fn callers_decide_what_is_sampled() {
    let (address, posts) = collector(&[]);
    let server = traced(TracingOptions { sampler: Sampler { ratio: 0.0, follows_parent: true }, ..options(address) });
    let ask = |headers: &[(&str, &str)]| request(&server, "POST", "/v1/models/none:predict", headers, b"{}");
    assert!(ask(&[]).header("traceparent").unwrap().ends_with("-00"));
    assert!(ask(&[("traceparent", &format!("00-{TRACE}-{PARENT}-00"))]).header("traceparent").unwrap().ends_with("-00"));
    assert!(ask(&[("traceparent", &format!("00-{TRACE}-{PARENT}-01"))]).header("traceparent").unwrap().ends_with("-01"));
    server.shutdown().unwrap();
    let post = posts.recv_timeout(WAIT).unwrap();
    assert_eq!(hex(&tree(post.spans()).0.trace_id), TRACE);
    assert!(posts.try_recv().is_err());
}

fn gauge(server: &Server, name: &str) -> f64 {
    let text = common::get(server, "/metrics").text().to_owned();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
}

#[test]
fn posts_are_tried_again_and_the_rest_is_sent_at_the_end() {
    let (address, posts) = collector(&[503, 429]);
    // The longest times and queues are as good as any.
    let endless = TracingOptions { schedule_delay: Duration::MAX, timeout: Duration::MAX, max_queue_size: usize::MAX, ..options(address) };
    let server = traced(endless);
    assert_eq!(post(&server, "/v1/models/none:predict", "{}").status, 404);
    server.shutdown().unwrap();
    let sent: Vec<Post> = posts.try_iter().collect();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|post| post.message == sent[0].message));
}

#[test]
fn a_collector_that_is_away_costs_spans_and_nothing_else() {
    // Nobody listens on this port. One that was free a moment ago might be another test's by now.
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let away = TracingOptions { timeout: Duration::from_millis(200), max_queue_size: 4, max_export_batch_size: 4, ..options(address) };
    let server = traced(away);
    for _ in 0..50 {
        assert_eq!(post(&server, "/v1/models/none:predict", "{}").status, 404);
    }
    let end = std::time::Instant::now() + WAIT;
    while gauge(&server, "flowmill_traces_dropped_total ") < 50.0 {
        assert!(std::time::Instant::now() < end, "{}", gauge(&server, "flowmill_traces_dropped_total "));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(gauge(&server, "flowmill_traces_exported_total "), 0.0);

    let refusing = collector(&[400]);
    let server = traced(options(refusing.0));
    assert_eq!(post(&server, "/v1/models/none:predict", "{}").status, 404);
    while gauge(&server, "flowmill_traces_dropped_total ") < 1.0 {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_wrong_endpoint_is_refused_at_the_start() {
    let options = |endpoint: &str| TracingOptions { endpoint: endpoint.to_owned(), ..TracingOptions::default() };
    for endpoint in ["collector", "https://collector:4318", "http://"] {
        assert!(Server::start(ServerOptions { tracing: Some(options(endpoint)), ..digits() }).is_err(), "{endpoint}");
    }
}
