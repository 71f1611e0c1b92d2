//! The front page, the status that it shows, and the timelines of requests, over connections.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{DIGITS, digits, get, image, post, request, request_to, start};
use flowmill::{DType, Tensor};
use flowmill_serving::proto::tfs::prediction_service_client::PredictionServiceClient;
use flowmill_serving::proto::tfs::{ModelSpec, PredictRequest};
use flowmill_serving::repository::{ModelConfig, RepositoryConfig, VersionPolicy};
use flowmill_serving::{AccessOptions, RouteGroup, Server, ServerOptions};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tonic::Request;
use tonic::transport::Endpoint;

const PREDICT: &str = "/v1/models/digits:predict";

fn instance() -> String {
    format!("{{\"instances\": [{}]}}", image(1.0))
}

fn status(server: &Server) -> Value {
    let answer = get(server, "/flowmill/status");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

#[test]
fn the_page_takes_everything_from_its_server() {
    let server = start(digits());
    let page = get(&server, "/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for (path, kind) in [
        ("flowmill/page.css", "text/css; charset=utf-8"),
        ("flowmill/page.js", "text/javascript; charset=utf-8"),
        ("flowmill/icon.svg", "image/svg+xml"),
        ("openapi.json", "application/json"),
    ] {
        assert!(page.text().contains(&format!("\"{path}\"")), "{path}");
        let file = get(&server, &format!("/{path}"));
        assert_eq!((file.status, file.header("content-type")), (200, Some(kind)), "{path}");
    }
    for path in ["/", "/flowmill/page.js", "/flowmill/status"] {
        let answer = get(&server, path);
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|other| other == part), "{path} {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path} {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    assert_eq!(request(&server, "POST", "/", &[], b"").status, 405);
}

#[test]
fn the_status_describes_models_and_counts_requests() {
    let server = start(digits());
    let before = status(&server);
    for _ in 0..3 {
        assert_eq!(post(&server, PREDICT, &instance()).status, 200);
    }
    let too_few = "{\"inputs\":[{\"name\":\"images\",\"shape\":[1,8,8],\"datatype\":\"FP32\",\"data\":[1.0]}]}";
    assert_eq!(post(&server, "/v2/models/digits/infer", too_few).status, 400);
    assert_eq!(post(&server, PREDICT, "{\"inputs\": [[1.0]]}").status, 400);
    assert_eq!(post(&server, "/v1/models/other:predict", &instance()).status, 404);
    let status = status(&server);
    let about = &status["server"];
    assert_eq!((&about["ready"], &about["requests_in_flight"], &about["bytes_in_flight"]), (&json!(true), &json!(0), &json!(0)));
    assert!(about["tensor_bytes"].is_u64(), "{about}");
    assert!(about["uptime"].as_f64().unwrap() > 0.0, "{about}");
    if cfg!(target_os = "linux") {
        assert!(about["resident_bytes"].as_u64().unwrap() > 1 << 20, "{about}");
    }
    let model = &status["models"][0];
    assert_eq!((&model["name"], model["versions"].as_array().unwrap().len()), (&json!("digits"), 1));
    let version = &model["versions"][0];
    assert_eq!((&version["version"], &version["state"], &version["labels"]), (&json!("1"), &json!("AVAILABLE"), &json!([])));
    assert_eq!(version["platform"], "tensorflow_savedmodel");
    assert!(version["load_time"].as_f64().unwrap() > 0.0);
    let signature = &version["signatures"][0];
    assert_eq!((&signature["name"], &signature["method"]), (&json!("serving_default"), &json!("tensorflow/serving/predict")));
    assert_eq!(signature["inputs"], json!([{ "name": "images", "dtype": "float32", "shape": [-1, 8, 8, 1] }]));
    assert_eq!(signature["succeeded"], 3);
    let grown =
        |name: &str| signature[name].as_f64().unwrap() - before["models"][0]["versions"][0]["signatures"][0][name].as_f64().unwrap();
    assert_eq!((grown("steps"), grown("step_rows")), (3.0, 3.0));
    let buckets = signature["latency"]["buckets"].as_array().unwrap();
    assert_eq!(buckets.last().unwrap()[1], 3, "{buckets:?}");
    let failures = signature["failed"].as_u64().unwrap() + about["rejected_requests"].as_u64().unwrap();
    assert_eq!(failures, 3, "{status}");
}

#[test]
fn the_slowest_requests_have_their_timelines() {
    let server = start(digits());
    for _ in 0..3 {
        post(&server, PREDICT, &instance());
    }
    let status = status(&server);
    let slow = status["slow_requests"].as_array().unwrap();
    assert_eq!(slow.len(), 3);
    let of = |request: &Value, name: &str| request[name].as_f64().unwrap();
    assert!(slow.windows(2).all(|pair| of(&pair[0], "total") >= of(&pair[1], "total")));
    for request in slow {
        assert_eq!(
            (&request["model"], &request["version"], &request["signature"]),
            (&json!("digits"), &json!("1"), &json!("serving_default"))
        );
        assert_eq!((&request["protocol"], &request["code"]), (&json!("tfs_rest"), &json!("OK")));
        assert_eq!((&request["rows"], &request["batch_rows"]), (&json!(1), &json!(1)));
        let parts: f64 = ["decode", "queue", "compute", "encode"].iter().map(|part| of(request, part)).sum();
        assert!(of(request, "compute") > 0.0 && parts <= of(request, "total") * 1.000_001, "{request}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => assert!(std::fs::copy(entry.path(), target).is_ok()),
        }
    }
}

#[test]
fn the_status_has_labels_and_the_errors_of_versions_that_failed() {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new(DIGITS).join("1"), &dir.path().join("1"));
    std::fs::create_dir(dir.path().join("2")).unwrap();
    std::fs::write(dir.path().join("2/saved_model.pb"), b"\xff<b>").unwrap();
    let labels = [("stable".to_owned(), 1)].into();
    let model = ModelConfig { version_policy: VersionPolicy::All, labels, ..ModelConfig::new("digits", dir.path()) };
    let mut repository = RepositoryConfig { max_num_load_retries: 0, ..RepositoryConfig::of_model("digits", DIGITS) };
    repository.models.insert("digits".into(), model);
    let server = start(ServerOptions { repository, ..digits() });
    let has_failed = server.repository().wait_until(Duration::from_secs(60), |repository| {
        repository.status("digits", Some(2)).is_ok_and(|statuses| statuses.iter().all(|status| status.error.is_some()))
    });
    assert!(has_failed);
    let status = status(&server);
    let [broken, good] = &status["models"][0]["versions"].as_array().unwrap()[..] else { panic!("{status}") };
    assert_eq!((&broken["version"], &broken["state"], &broken["labels"]), (&json!("2"), &json!("END"), &json!([])));
    assert!(!broken["error"]["message"].as_str().unwrap().is_empty());
    assert!(broken.get("signatures").is_none());
    assert_eq!((&good["version"], &good["labels"], good.get("error")), (&json!("1"), &json!(["stable"]), None));
}

#[test]
fn the_page_is_open_and_its_status_needs_the_token() {
    let tokens = vec![("secret".to_owned(), vec![RouteGroup::Observation])];
    let server = start(ServerOptions { access: AccessOptions { tokens }, management: digits().rest, ..digits() });
    let token = [("authorization", "Bearer secret")];
    for address in [server.rest_address().unwrap(), server.management_address().unwrap()] {
        let status = |path: &str, headers: &[(&str, &str)]| request_to(address, "GET", path, headers, b"").status;
        for path in ["/", "/flowmill/page.css", "/flowmill/page.js", "/flowmill/icon.svg"] {
            assert_eq!(status(path, &[]), 200, "{path}");
        }
        assert_eq!((status("/flowmill/status", &[]), status("/flowmill/status", &token)), (401, 200));
        assert_eq!((status("/flowmill/other", &[]), status("/flowmill/other", &token)), (401, 404));
    }
}

/// Returns the milliseconds of decode, queue, compute, encode and total in a `Server-Timing` header, and the rows of the batch.
fn timings(header: &str) -> ([f64; 5], Option<u32>) {
    let value = |name: &str, key: &str| {
        let part = header.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(key));
        part.map(|text| text.trim_matches('"').to_owned())
    };
    let names = ["decode", "queue", "compute", "encode", "total"];
    (names.map(|name| value(name, ";dur=").unwrap().parse().unwrap()), value("batch", ";desc=").map(|rows| rows.parse().unwrap()))
}

#[test]
fn rest_requests_that_ask_get_their_timeline() {
    let server = start(digits());
    let data = vec!["1.0"; 64].join(",");
    let infer = format!("{{\"inputs\":[{{\"name\":\"images\",\"shape\":[1,8,8,1],\"datatype\":\"FP32\",\"data\":[{data}]}}]}}");
    for (path, body) in [(PREDICT, instance()), ("/v2/models/digits/infer", infer)] {
        let send = |headers: &[(&str, &str)], body: &str| request(&server, "POST", path, headers, body.as_bytes());
        for headers in [&[][..], &[("x-flowmill-trace", "0")]] {
            assert_eq!(send(headers, &body).header("server-timing"), None, "{path}");
        }
        let traced = send(&[("X-Flowmill-Trace", "1")], &body);
        assert_eq!(traced.status, 200, "{}", traced.text());
        let ([decode, queue, compute, encode, total], rows) = timings(traced.header("server-timing").unwrap());
        assert!(decode > 0.0 && compute > 0.0 && decode + queue + compute + encode <= total + 0.005, "{path}");
        assert_eq!(rows, Some(1));
        let failed = send(&[("x-flowmill-trace", "1")], "{");
        assert_eq!(failed.status, 400);
        let ([.., compute, _, total], rows) = timings(failed.header("server-timing").unwrap());
        assert!(compute == 0.0 && total > 0.0 && rows.is_none(), "{path}");
    }
}

#[test]
fn scripts_of_other_origins_may_ask_for_timelines() {
    let server = start(ServerOptions { cors: true, ..digits() });
    let answer = request(&server, "OPTIONS", PREDICT, &[("origin", "https://other.example")], b"");
    assert!(answer.header("access-control-allow-headers").unwrap().contains("x-flowmill-trace"));
    assert_eq!(answer.header("access-control-expose-headers"), Some("server-timing, traceparent"));
}

#[test]
fn grpc_calls_that_ask_get_their_timeline() {
    let server = start(digits());
    let images = Tensor::zeros(DType::F32, [1, 8, 8, 1]).unwrap().to_proto().unwrap();
    let request = |model: &str, trace: &str| {
        let model_spec = Some(ModelSpec { name: model.to_owned(), ..ModelSpec::default() });
        let inputs = [("images".to_owned(), images.clone())].into();
        let mut request = Request::new(PredictRequest { model_spec, inputs, ..PredictRequest::default() });
        request.metadata_mut().insert("x-flowmill-trace", trace.parse().unwrap());
        request
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = Endpoint::new(format!("http://{}", server.grpc_address().unwrap())).unwrap();
        let mut client = PredictionServiceClient::new(endpoint.connect().await.unwrap());
        let untraced = client.predict(request("digits", "0")).await.unwrap();
        assert!(!untraced.metadata().contains_key("server-timing"));
        let traced = client.predict(request("digits", "1")).await.unwrap();
        let ([decode, queue, compute, encode, total], rows) = timings(traced.metadata().get("server-timing").unwrap().to_str().unwrap());
        assert!(compute > 0.0 && decode + queue + compute + encode <= total + 0.005);
        assert_eq!(rows, Some(1));
        let failed = client.predict(request("other", "1")).await.unwrap_err();
        assert_eq!(failed.code(), tonic::Code::NotFound);
        assert!(failed.metadata().contains_key("server-timing"));
    });
}
