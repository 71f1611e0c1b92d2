//! Warm-up requests: files of them, and those made from signatures.

use crate::support::*;
use flowmill::Code;
use flowmill::prelude::*;
use flowmill::proto::NamedTensorProto;
use flowmill_serving::proto::tfs::{self, prediction_log::LogType};
use flowmill_serving::repository::{LoadRequest, Loader, Repository, RepositoryConfig, VersionChoice, VersionState};
use flowmill_serving::warmup::{MAX_REQUESTS, run_request, run_requests, run_signatures, zeros};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn images(count: usize) -> Tensor {
    Tensor::zeros(DType::F32, [count, 8, 8, 1]).unwrap()
}

/// Loads SavedModels and warms them up.
struct SavedModels;

impl Loader for SavedModels {
    type Model = SavedModel;

    fn load(&self, request: &LoadRequest<'_>) -> flowmill::Result<SavedModel> {
        let model = SavedModel::load(request.path, &["serve"], SessionOptions::default())?;
        if request.warm_up {
            run_requests(request.path, |log| run_request(&model, log))?;
        }
        Ok(model)
    }
}

#[test]
fn a_served_model_answers() {
    let config = RepositoryConfig::of_model("digits", digits().parent().unwrap());
    let repository = Repository::start(config, SavedModels).unwrap();
    repository.wait_until_ready(LONG).unwrap();
    let model = repository.get("digits", &VersionChoice::Version(1)).unwrap();
    let outputs = model.signature("serving_default").unwrap().call([("images", images(3))]).unwrap();
    assert_eq!(outputs["probabilities"].shape().dims(), [3, 10]);
    drop(model);
    repository.shutdown(LONG).unwrap();
}

#[test]
fn a_model_is_available_only_if_its_requests_succeed() {
    let directory = tempfile::tempdir().unwrap();
    let version = directory.path().join("1");
    write_lengths(&version);
    let strings = Tensor::from_strings([1], vec!["abc".into()]).unwrap();
    write_requests(&version, &[predict("", &[("inputs", strings.clone())]), predict("", &[("input", strings.clone())])]);
    let config =
        RepositoryConfig { max_num_load_retries: 0, file_system_poll_wait: None, ..RepositoryConfig::of_model("m", directory.path()) };
    let repository = Repository::start(config.clone(), SavedModels).unwrap();
    let error = repository.wait_until_ready(LONG).unwrap_err();
    for part in ["warm-up request 1", "tf_serving_warmup_requests", "'input'"] {
        assert!(error.message().contains(part), "{error}");
    }
    // The file is mended: its version is loaded at the next look.
    write_requests(&version, &[predict("", &[("inputs", strings)])]);
    repository.poll();
    let is_available = |repository: &Repository<SavedModels>| repository.status("m", Some(1)).unwrap()[0].state == VersionState::Available;
    assert!(repository.wait_until(LONG, is_available));
    // Without warm-up the file does not matter.
    write_records(&version, &[b"\xff".to_vec()]);
    let repository = Repository::start(RepositoryConfig { enable_model_warmup: false, ..config }, SavedModels).unwrap();
    repository.wait_until_ready(LONG).unwrap();
}

#[test]
fn every_kind_of_request_runs() {
    let directory = tempfile::tempdir().unwrap();
    write_lengths(directory.path());
    let model = load(directory.path());
    let examples = || input(vec![example("x", 1), example("long name", 2)]);
    let strings = Tensor::from_strings([1], vec!["abc".into()]).unwrap();
    let task = |signature: &str, method: &str| tfs::InferenceTask {
        model_spec: spec(signature),
        method_name: format!("tensorflow/serving/{method}"),
    };
    let feed = NamedTensorProto { name: "examples:0".into(), tensor: Some(strings.to_proto().unwrap()), ..Default::default() };
    let classify = |signature: &str| {
        let request = tfs::ClassificationRequest { model_spec: spec(signature), input: examples() };
        LogType::ClassifyLog(tfs::ClassifyLog { request: Some(request), response: None })
    };
    let regress = |signature: &str| {
        let request = tfs::RegressionRequest { model_spec: spec(signature), input: examples() };
        LogType::RegressLog(tfs::RegressLog { request: Some(request), response: None })
    };
    let several = |tasks: Vec<tfs::InferenceTask>| {
        let request = tfs::MultiInferenceRequest { tasks, input: examples() };
        LogType::MultiInferenceLog(tfs::MultiInferenceLog { request: Some(request), response: None })
    };
    let session_run = |fetch: &str| {
        let request = tfs::SessionRunRequest { feed: vec![feed.clone()], fetch: vec![fetch.into()], ..Default::default() };
        LogType::SessionRunLog(tfs::SessionRunLog { request: Some(request), response: None })
    };
    let good = [
        predict("", &[("inputs", strings.clone())]),
        classify("classify"),
        regress("regress"),
        several(vec![task("classify", "classify"), task("regress", "regress")]),
        session_run("values:0"),
    ];
    write_requests(directory.path(), &good);
    assert_eq!(run_requests(directory.path(), |log| run_request(&model, log)).unwrap(), Some(good.len()));
    let bad = [
        predict("none", &[("inputs", strings.clone())]),
        predict("", &[("inputs", Tensor::scalar(1.0f32))]),
        classify("wrong"),
        classify("regress"),
        regress("classify"),
        several(vec![task("classify", "predict")]),
        session_run("nothing:0"),
        LogType::PredictLog(tfs::PredictLog::default()),
    ];
    for log in bad {
        let error = run_request(&model, &log);
        assert!(error.is_err(), "{log:?}");
    }
}

#[test]
fn damaged_and_overlong_files_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let version = directory.path();
    assert_eq!(run_requests(version, |_| Ok(())).unwrap(), None);
    let log = predict("", &[]);
    write_requests(version, &vec![log.clone(); MAX_REQUESTS]);
    let mut count = 0;
    let mut counting = |_: &LogType| {
        count += 1;
        Ok(())
    };
    assert_eq!(run_requests(version, &mut counting).unwrap(), Some(MAX_REQUESTS));
    assert_eq!(count, MAX_REQUESTS);
    write_requests(version, &vec![log.clone(); MAX_REQUESTS + 1]);
    let error = run_requests(version, |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("1000"), "{error}");

    let path = write_requests(version, &[log.clone(), log]);
    let bytes = std::fs::read(&path).unwrap();
    for damaged in [bytes[..bytes.len() - 1].to_vec(), [&bytes[..], b"x"].concat(), vec![0; 40]] {
        std::fs::write(&path, damaged).unwrap();
        let error = run_requests(version, |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), Code::DataLoss);
        assert!(error.message().contains("tf_serving_warmup_requests"), "{error}");
    }
    write_records(version, &[b"\xff".to_vec()]);
    assert_eq!(run_requests(version, |_| Ok(())).unwrap_err().code(), Code::DataLoss);
    write_records(version, &[Vec::new()]);
    assert_eq!(run_requests(version, |_| Ok(())).unwrap_err().code(), Code::Unimplemented);
}

#[test]
fn signatures_are_called_with_zeros() {
    let model = load(&digits());
    let inputs = zeros(&model.signatures()["serving_default"], 4).unwrap();
    assert_eq!(inputs["images"].shape().dims(), [4, 8, 8, 1]);
    assert_eq!(run_signatures(&model, &[1, 4, 8]), 3);
    // A signature that refuses its inputs is no error.
    let directory = tempfile::tempdir().unwrap();
    write_lengths(directory.path());
    assert_eq!(run_signatures(&load(directory.path()), &[]), 7);
}
