//! Versions that come and go while requests are answered.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{DIGITS, digits, get, image, post, start};
use flowmill::Session;
use flowmill_serving::repository::{RepositoryConfig, VersionChoice, VersionState};
use flowmill_serving::{Server, ServerOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Puts a version of the digits' model into a repository at once, as a deployment does.
fn deploy(base: &Path, version: i64) {
    let hidden = base.join(format!("new-{version}"));
    copy_directory(&Path::new(DIGITS).join("1"), &hidden);
    std::fs::rename(hidden, base.join(version.to_string())).unwrap();
}

fn wait_until(server: &Server, condition: impl Fn(&Server) -> bool) {
    let start = Instant::now();
    while !condition(server) {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", server.repository().status("digits", None));
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn state(server: &Server, version: i64) -> Option<VersionState> {
    server.repository().status("digits", Some(version)).ok()?.first().map(|status| status.state)
}

/// True for the long forms of tests.
fn is_long() -> bool {
    std::env::var_os("FLOWMILL_LONG").is_some_and(|value| value == "1")
}

/// Twelve versions as fast as they load, or one per second for a minute.
#[test]
fn no_request_fails_while_versions_change() {
    let directory = tempfile::tempdir().unwrap();
    deploy(directory.path(), 1);
    let repository = RepositoryConfig {
        file_system_poll_wait: Some(Duration::from_millis(10)),
        ..RepositoryConfig::of_model("digits", directory.path())
    };
    let server = start(ServerOptions { repository, ..digits() });
    let body = format!("{{\"instances\": [{}]}}", image(3.0));
    let expected = post(&server, "/v1/models/digits:predict", &body).json();
    let (ends, num_answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    let last = if is_long() { 60 } else { 12 };
    // The largest version that has ended: a request that is sent later must be answered by a larger one.
    let ended = AtomicI64::new(0);
    let infer =
        format!("{{\"inputs\": [{{\"name\": \"images\", \"shape\": [1, 8, 8, 1], \"datatype\": \"FP32\", \"data\": {}}}]}}", image(3.0));
    let outputs = post(&server, "/v2/models/digits/infer", &infer).json()["outputs"].clone();
    let mut sessions = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !ends.load(SeqCst) {
                    let answer = post(&server, "/v1/models/digits:predict", &body);
                    assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{}", answer.text());
                    num_answers.fetch_add(1, SeqCst);
                }
            });
        }
        scope.spawn(|| {
            while !ends.load(SeqCst) {
                let oldest = ended.load(SeqCst);
                let answer = post(&server, "/v2/models/digits/infer", &infer);
                assert_eq!((answer.status, &answer.json()["outputs"]), (200, &outputs), "{}", answer.text());
                let version: i64 = answer.json()["model_version"].as_str().unwrap().parse().unwrap();
                assert!(version > oldest, "version {version} answers after version {oldest} has ended");
                num_answers.fetch_add(1, SeqCst);
            }
        });
        for version in 2..=last {
            let next = Instant::now() + Duration::from_secs(is_long().into());
            deploy(directory.path(), version);
            wait_until(&server, |server| state(server, version) == Some(VersionState::Available));
            wait_until(&server, |server| state(server, version - 1) != Some(VersionState::Available));
            let model = server.repository().get("digits", &VersionChoice::Version(version)).unwrap();
            sessions.push(Arc::downgrade(model.session()));
            drop(model);
            let is_over = |server: &Server| state(server, version - 1).is_none_or(|state| state == VersionState::End);
            wait_until(&server, is_over);
            ended.store(version - 1, SeqCst);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        ends.store(true, SeqCst);
    });
    assert!(num_answers.load(SeqCst) > 50);
    wait_until(&server, |server| (1..last).all(|version| state(server, version).is_none_or(|state| state == VersionState::End)));
    // Requests are counted by version for those that are served, and by model for all that ever were.
    let counts = |metric: &str| {
        let text = get(&server, "/metrics");
        text.text().lines().filter(|line| line.starts_with(metric)).map(str::to_owned).collect::<Vec<_>>()
    };
    let num_requests = num_answers.load(SeqCst) + 2;
    let all = [format!(":tensorflow:serving:request_count{{model_name=\"digits\",status=\"OK\"}} {num_requests}")];
    assert_eq!(counts(":tensorflow:serving:request_count{"), all);
    // Subscribers learn of an end after the repository says it, and the metrics are one of them.
    let label = format!("version=\"{last}\"");
    wait_until(&server, |_| counts("flowmill_requests_total{").iter().all(|line| line.contains(&label)));
    assert_eq!(counts(":tensorflow:serving:request_count{"), all);
    assert!(!counts("flowmill_requests_total{").is_empty());
    let is_alive = |version: &Weak<Session>| version.strong_count() > 0;
    assert!(sessions.last().is_some_and(is_alive));
    wait_until(&server, |_| sessions.iter().filter(|session| is_alive(session)).count() == 1);
}

#[test]
fn a_corrupt_version_leaves_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    deploy(directory.path(), 1);
    let repository = RepositoryConfig {
        file_system_poll_wait: Some(Duration::from_millis(10)),
        ..RepositoryConfig::of_model("digits", directory.path())
    };
    let server = start(ServerOptions { repository, ..digits() });
    std::fs::create_dir(directory.path().join("2")).unwrap();
    std::fs::write(directory.path().join("2/saved_model.pb"), b"\x0a\x05wrong").unwrap();
    wait_until(&server, |server| {
        server.repository().status("digits", Some(2)).is_ok_and(|found| found.iter().any(|status| status.error.is_some()))
    });
    let status = get(&server, "/v1/models/digits/versions/2").json();
    assert_ne!(status["model_version_status"][0]["status"]["error_code"], "OK", "{status}");
    let answer = post(&server, "/v1/models/digits:predict", &format!("{{\"instances\": [{}]}}", image(3.0)));
    assert_eq!(answer.status, 200);
    deploy(directory.path(), 3);
    wait_until(&server, |server| state(server, 3) == Some(VersionState::Available));
}
