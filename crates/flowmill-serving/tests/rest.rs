//! The REST APIs of both protocols, over connections.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{DIGITS, MLP, digits, get, image, post, request, request_to, start};
use flate2::{Compression, write::GzEncoder};
use flowmill_serving::repository::{ControlMode, ModelConfig, RepositoryConfig};
use flowmill_serving::{AccessOptions, RouteGroup, ServerLimits, ServerOptions};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn rows_and_columns_have_the_same_answers() {
    let server = start(digits());
    let rows = post(&server, "/v1/models/digits:predict", &format!("{{\"instances\": [{}, {}]}}", image(0.0), image(8.0)));
    assert_eq!(rows.status, 200, "{}", rows.text());
    assert_eq!(rows.header("content-type"), Some("application/json"));
    let predictions = rows.json()["predictions"].clone();
    assert_eq!(predictions.as_array().unwrap().len(), 2);
    let columns = post(&server, "/v1/models/digits/versions/1:predict", &format!("{{\"inputs\": [{}, {}]}}", image(0.0), image(8.0)));
    let outputs = columns.json()["outputs"].clone();
    let of_row = |row: usize| match &predictions[row] {
        serde_json::Value::Object(names) => names["probabilities"].clone(),
        values => values.clone(),
    };
    let probabilities = outputs.get("probabilities").unwrap_or(&outputs).clone();
    assert_eq!(probabilities, json!([of_row(0), of_row(1)]));
    let sum: f64 = of_row(0).as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5);
}

#[test]
fn errors_have_tensorflow_servings_status_and_body() {
    let server = start(digits());
    let good = format!("{{\"instances\": [{}]}}", image(1.0));
    for (path, body, status, message) in [
        ("/v1/models/other:predict", good.as_str(), 404, "Servable not found for request: Latest(other)"),
        ("/v1/models/digits/versions/7:predict", good.as_str(), 404, "Servable not found for request: Specific(digits, 7)"),
        ("/v1/models/digits:run", good.as_str(), 400, "Malformed request: POST /v1/models/digits:run"),
        ("/v1/models/digits:predict", "{", 400, ""),
        ("/v1/models/digits:predict", "{\"signature_name\": \"x\", \"instances\": [1]}", 400, "Serving signature key \"x\" not found."),
        ("/v1/models/digits:predict", "{\"instances\": [[1.0, 2.0]]}", 400, ""),
    ] {
        let answer = post(&server, path, body);
        assert_eq!(answer.status, status, "{path} {}", answer.text());
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(message), "{error}");
    }
    assert_eq!(get(&server, "/nothing").status, 404);
}

#[test]
fn models_tell_their_state_and_signatures() {
    let server = start(digits());
    let status = get(&server, "/v1/models/digits");
    let version = json!({ "version": "1", "state": "AVAILABLE", "status": { "error_code": "OK", "error_message": "" } });
    assert_eq!(status.json(), json!({ "model_version_status": [version] }));
    let metadata = get(&server, "/v1/models/digits/metadata").json();
    assert_eq!(metadata["model_spec"], json!({ "name": "digits", "signature_name": "", "version": "1" }));
    let signature = &metadata["metadata"]["signature_def"]["signature_def"]["serving_default"];
    assert_eq!(signature["inputs"]["images"]["dtype"], "DT_FLOAT");
    assert_eq!(get(&server, "/v1/models").json()["error"], "Missing model name in request.");
}

#[test]
fn kserve_infers_json_and_binary_tensors() {
    let server = start(digits());
    let request_json = |outputs: &str| {
        let data = vec!["1.0"; 64].join(",");
        format!(
            "{{\"id\":\"42\",\"inputs\":[{{\"name\":\"images\",\"shape\":[1,8,8,1],\"datatype\":\"FP32\",\"data\":[{data}]}}]{outputs}}}"
        )
    };
    let answer = post(&server, "/v2/models/digits/infer", &request_json(",\"outputs\":[{\"name\":\"probabilities\"}]"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    assert_eq!((&found["model_name"], &found["id"]), (&json!("digits"), &json!("42")));
    let output = &found["outputs"][0];
    assert_eq!((&output["name"], &output["datatype"], &output["shape"]), (&json!("probabilities"), &json!("FP32"), &json!([1, 10])));
    let expected: Vec<f32> = output["data"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect();

    let head = "{\"inputs\":[{\"name\":\"images\",\"shape\":[1,8,8,1],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":256}}],\
                \"outputs\":[{\"name\":\"probabilities\",\"parameters\":{\"binary_data\":true}}]}";
    let mut body = head.as_bytes().to_vec();
    (0..64).for_each(|_| body.extend(1.0f32.to_le_bytes()));
    let length = head.len().to_string();
    let answer = request(&server, "POST", "/v2/models/digits/infer", &[("Inference-Header-Content-Length", &length)], &body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/octet-stream")), "{:?}", answer.body);
    let json_length: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
    let values: Vec<f32> = answer.body[json_length..].chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(values, expected);
}

#[test]
fn kserve_describes_server_and_models() {
    let server = start(digits());
    assert_eq!(get(&server, "/v2").json()["name"], "flowmill");
    for path in ["/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready", "/v2/models/digits/versions/1/ready"] {
        assert_eq!(get(&server, path).status, 200, "{path}");
    }
    assert_eq!(
        (get(&server, "/v2/health/live").json(), get(&server, "/v2/health/ready").json()),
        (json!({ "live": true }), json!({ "ready": true }))
    );
    assert_eq!(get(&server, "/v2/models/other/ready").status, 404);
    let metadata = get(&server, "/v2/models/digits").json();
    assert_eq!(metadata["platform"], "tensorflow_savedmodel");
    assert_eq!(metadata["inputs"], json!([{ "name": "images", "datatype": "FP32", "shape": [-1, 8, 8, 1] }]));
    post(&server, "/v1/models/digits:predict", &format!("{{\"instances\": [{}]}}", image(0.0)));
    let statistics = get(&server, "/v2/models/digits/stats").json();
    assert_eq!(statistics["model_stats"][0]["inference_stats"]["success"]["count"], 1);
    let index = post(&server, "/v2/repository/index", "").json();
    assert_eq!(index, json!([{ "name": "digits", "version": "1", "state": "READY" }]));
}

/// Options of a server that loads models when it is asked to.
fn explicit() -> ServerOptions {
    let repository = RepositoryConfig { mode: ControlMode::Explicit, ..RepositoryConfig::of_model("digits", DIGITS) };
    ServerOptions { repository, ..digits() }
}

#[test]
fn requests_load_and_unload_models_in_explicit_mode() {
    let server = start(explicit());
    assert_eq!(get(&server, "/v2/models/digits/ready").status, 404);
    assert_eq!(post(&server, "/v2/repository/models/digits/load", "").status, 200);
    assert_eq!(get(&server, "/v2/models/digits/ready").status, 200);
    assert_eq!(post(&server, "/v2/repository/models/digits/unload", "{}").status, 200);
    assert_eq!(get(&server, "/v2/models/digits/ready").status, 404);
    assert_eq!(post(&server, "/v2/repository/models/other/load", "").status, 404);
    assert_eq!(post(&server, "/v2/repository/models/..%2Fother/load", "").status / 100, 4);
    let with_files = post(&server, "/v2/repository/models/digits/load", "{\"parameters\": {\"file:1/model.pb\": \"AAAA\"}}");
    assert_eq!(with_files.status, 501);
}

#[test]
fn frozen_graphs_are_served() {
    let server = start(ServerOptions { repository: RepositoryConfig::of_model("mlp", MLP), ..digits() });
    let metadata = get(&server, "/v2/models/mlp").json();
    assert_eq!(metadata["platform"], "tensorflow_graphdef");
    let size = metadata["inputs"][0]["shape"][1].as_u64().unwrap() as usize;
    let row = format!("[{}]", vec!["0.5"; size].join(","));
    let answer = post(&server, "/v1/models/mlp:predict", &format!("{{\"instances\": [{row}]}}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn requests_are_counted_by_model_version_signature_and_code() {
    let metrics_path = Some("/own/{metrics}".to_owned());
    let server = start(ServerOptions { metrics_path, ..digits() });
    post(&server, "/v1/models/digits:predict", &format!("{{\"instances\": [{}]}}", image(0.0)));
    post(&server, "/v1/models/other:predict", "{}");
    post(&server, "/v1/models/digits:predict", "{\"instances\": [");
    for path in ["/metrics", "/monitoring/prometheus/metrics", "/own/{metrics}"] {
        let metrics = get(&server, path);
        let text = metrics.text();
        for line in [
            ":tensorflow:serving:request_count{model_name=\"digits\",status=\"OK\"} 1",
            "flowmill_requests_total{model=\"digits\",version=\"1\",signature=\"serving_default\",protocol=\"tfs_rest\",api=\"Predict\",code=\"OK\"} 1",
            ":tensorflow:serving:request_count{model_name=\"digits\",status=\"INVALID_ARGUMENT\"} 1",
            ":tensorflow:serving:request_latency_count{model_name=\"digits\",API=\"predict\",entrypoint=\"REST\"} 1",
            "flowmill_requests_total{model=\"digits\",version=\"1\",signature=\"\",protocol=\"tfs_rest\",api=\"Predict\",code=\"INVALID_ARGUMENT\"} 1",
            "flowmill_rejected_requests_total{code=\"NOT_FOUND\"} 1",
            "flowmill_model_available{model=\"digits\",version=\"1\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}

#[test]
fn bodies_are_decompressed_up_to_the_limit() {
    let limits = ServerLimits { max_decompressed_bytes: 1 << 20, ..ServerLimits::default() };
    let server = start(ServerOptions { limits, ..digits() });
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let good = gzip(format!("{{\"instances\": [{}]}}", image(0.0)).as_bytes());
    let send = |body: &[u8]| request(&server, "POST", "/v1/models/digits:predict", &[("content-encoding", "gzip")], body);
    assert_eq!(send(&good).status, 200);
    let bomb = send(&gzip(&vec![b' '; 64 << 20]));
    assert_eq!((bomb.status, bomb.text().contains("larger than the 1048576 bytes")), (400, true), "{}", bomb.text());
    assert_eq!(send(b"no gzip").status, 400);
    let unknown = request(&server, "POST", "/v1/models/digits:predict", &[("content-encoding", "br")], b"{}");
    assert_eq!(unknown.status, 400);
}

#[test]
fn bodies_beyond_the_limits_are_refused() {
    let limits = ServerLimits { max_body_bytes: 1000, body_timeout: Duration::from_millis(200), ..ServerLimits::default() };
    let server = start(ServerOptions { limits, ..digits() });
    assert_eq!(post(&server, "/v1/models/digits:predict", &" ".repeat(2000)).status, 400);
    // A client that announces a body and does not send it.
    let start = Instant::now();
    let mut stream = TcpStream::connect(server.rest_address().unwrap()).unwrap();
    stream.write_all(b"POST /v1/models/digits:predict HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: 500\r\n\r\n{").unwrap();
    let answer = common::read_answer(stream);
    assert_eq!(answer.status, 504, "{}", answer.text());
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn tokens_open_groups_of_routes() {
    let tokens = vec![("secret".to_owned(), vec![RouteGroup::Inference]), ("admin".to_owned(), vec![RouteGroup::Management])];
    let server = start(ServerOptions { access: AccessOptions { tokens }, ..explicit() });
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| request(&server, method, path, headers, b"").status;
    assert_eq!(status("GET", "/v2/health/ready", &[]), 200);
    assert_eq!(status("GET", "/metrics", &[]), 200);
    assert_eq!(status("GET", "/v1/models/digits", &[]), 401);
    assert_eq!(status("GET", "/v2", &[("authorization", "Bearer secret")]), 200);
    assert_eq!(status("GET", "/v2", &[("x-api-key", "secret")]), 200);
    assert_eq!(status("GET", "/v1/models/digits", &[("authorization", "Bearer admin")]), 401);
    assert_eq!(status("POST", "/v2/repository/models/digits/load", &[("authorization", "Bearer secret")]), 401);
    assert_eq!(status("POST", "/v2/repository/models/digits/load", &[("authorization", "bearer admin")]), 200);
}

#[test]
fn management_may_have_an_address_of_its_own() {
    let server = start(ServerOptions { management: digits().rest, ..explicit() });
    let management = server.management_address().unwrap();
    assert_eq!(post(&server, "/v2/repository/models/digits/load", "").status, 404);
    assert_eq!(request_to(management, "POST", "/v2/repository/models/digits/load", &[], b"").status, 200);
    assert_eq!(request_to(management, "GET", "/v1/models/digits", &[], b"").status, 404);
    assert_eq!(request_to(management, "GET", "/metrics", &[], b"").status, 200);
}

#[test]
fn several_models_are_served_at_once() {
    let mut repository = RepositoryConfig::of_model("digits", DIGITS);
    repository.models.insert("mlp".into(), ModelConfig::new("mlp", MLP));
    let server = start(ServerOptions { repository, ..digits() });
    for name in ["digits", "mlp"] {
        assert_eq!(get(&server, &format!("/v2/models/{name}/ready")).status, 200);
    }
    server.shutdown().unwrap();
    assert!(TcpStream::connect(server.rest_address().unwrap()).is_err());
}

#[test]
fn a_changed_list_of_models_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("models.config");
    let list = |name: &str| format!("model_config_list {{ config {{ name: '{name}' base_path: '{DIGITS}' }} }}");
    std::fs::write(&file, list("first")).unwrap();
    let repository = RepositoryConfig { models: ModelConfig::list_from_file(&file).unwrap(), ..RepositoryConfig::default() };
    let model_config_file = Some((file.clone(), Duration::from_millis(20)));
    let server = start(ServerOptions { repository, model_config_file, ..digits() });
    assert_eq!(get(&server, "/v2/models/first/ready").status, 200);
    std::fs::write(&file, "model_config_list { wrong }").unwrap();
    std::fs::write(&file, list("second")).unwrap();
    let start = Instant::now();
    while get(&server, "/v2/models/second/ready").status != 200 || get(&server, "/v2/models/first/ready").status != 404 {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::yield_now();
    }
}
