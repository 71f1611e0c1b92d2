//! Classification and regression of examples.

use crate::support::*;
use flowmill::prelude::*;
use flowmill::{Bytes, Code, proto};
use flowmill_serving::formats::Limits;
use flowmill_serving::inference::{ExampleMethod, ExampleTask, MultiInference, serialized_examples};
use flowmill_serving::model::{Call, Compute, ModelLoader, ModelOptions};
use flowmill_serving::proto::tfs::{self, inference_result::Result as Outcome};
use flowmill_serving::repository::{LoadRequest, Loader};
use prost::Message;
use std::sync::Arc;

/// Runs a task on examples, as a server does.
fn run(model: &SavedModel, signature: &str, method: ExampleMethod, examples: Vec<proto::Example>) -> flowmill::Result<Outcome> {
    let task = ExampleTask::new(method, &model.signatures()[signature], false)?;
    let examples = serialized_examples(input(examples).as_ref(), &Limits::default())?;
    let count = examples.shape().num_elements();
    let fetches: Vec<&str> = task.fetches.iter().map(String::as_str).collect();
    task.result(count, &model.session().run(&[(&task.input, examples)], &fetches, &[])?)
}

fn lengths() -> (tempfile::TempDir, SavedModel) {
    let directory = tempfile::tempdir().unwrap();
    write_lengths(directory.path());
    let model = load(directory.path());
    (directory, model)
}

fn classes<const N: usize>(classes: [(&str, f32); N]) -> Outcome {
    let row = |(label, score): (&str, f32)| tfs::Classifications { classes: vec![tfs::Class { label: label.to_owned(), score }] };
    Outcome::ClassificationResult(tfs::ClassificationResult { classifications: classes.map(row).into() })
}

#[test]
fn classes_and_values_are_read_from_outputs() {
    let (_directory, model) = lengths();
    let examples = vec![example("x", 1), example("name", 1)];
    let sizes: Vec<usize> = examples.iter().map(|example| example.encoded_len()).collect();
    let (a, b) = (sizes[0].to_string(), sizes[1].to_string());
    let (x, y) = (sizes[0] as f32, sizes[1] as f32);
    let classify = |signature: &str| run(&model, signature, ExampleMethod::Classify, examples.clone()).unwrap();
    assert_eq!(classify("classify"), classes([(&a, x), (&b, y)]));
    assert_eq!(classify("classes"), classes([(&a, 0.0), (&b, 0.0)]));
    assert_eq!(classify("scores"), classes([("", x), ("", y)]));
    let regressions = [x, y].map(|value| tfs::Regression { value }).into();
    let values = run(&model, "regress", ExampleMethod::Regress, examples).unwrap();
    assert_eq!(values, Outcome::RegressionResult(tfs::RegressionResult { regressions }));
}

#[test]
fn signatures_and_outputs_of_another_form_are_refused() {
    let (_directory, model) = lengths();
    let error = |signature: &str, method| run(&model, signature, method, vec![example("x", 1)]).unwrap_err();
    for (signature, method, part) in [
        ("other", ExampleMethod::Classify, "'classes' or 'scores'"),
        ("wrong", ExampleMethod::Classify, "[batch_size num_classes]"),
        ("classify", ExampleMethod::Regress, "one output"),
        ("scores", ExampleMethod::Regress, "'outputs'"),
    ] {
        let error = error(signature, method);
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(part), "{error}");
    }
    let predict = &model.signatures()["serving_default"];
    assert!(ExampleTask::new(ExampleMethod::Regress, predict, false).is_ok());
    let error = ExampleTask::new(ExampleMethod::Regress, predict, true).unwrap_err();
    assert!(error.message().contains("tensorflow/serving/predict"), "{error}");
    let task = ExampleTask::new(ExampleMethod::Regress, predict, false).unwrap();
    let result = |value: Tensor| task.result(2, &[value]);
    for value in [Tensor::vector(&[1.0f32]).unwrap(), Tensor::vector(&[1i32, 2]).unwrap(), Tensor::zeros(DType::F32, [2, 2]).unwrap()] {
        assert_eq!(result(value).unwrap_err().code(), Code::InvalidArgument);
    }
    assert!(result(Tensor::zeros(DType::F32, [2, 1]).unwrap()).is_ok());
    assert!(ExampleMethod::from_name("tensorflow/serving/predict").is_err());
}

#[test]
fn a_context_is_merged_into_each_example() {
    let list = tfs::ExampleListWithContext { examples: vec![example("a", 1), example("c", 2)], context: Some(example("c", 7)) };
    let input = tfs::Input { kind: Some(tfs::input::Kind::ExampleListWithContext(list)) };
    let merged = serialized_examples(Some(&input), &Limits::default()).unwrap();
    let features = |bytes: &Bytes| {
        let example = proto::Example::decode(bytes.clone()).unwrap();
        let value = |feature: &proto::Feature| match &feature.kind {
            Some(proto::feature::Kind::Int64List(list)) => list.value[0],
            other => panic!("{other:?}"),
        };
        example.features.unwrap().feature.iter().map(|(name, feature)| (name.clone(), value(feature))).collect::<Vec<_>>()
    };
    let merged: Vec<_> = merged.as_strings().unwrap().iter().map(features).collect();
    assert_eq!(merged, [vec![("a".to_owned(), 1), ("c".to_owned(), 7)], vec![("c".to_owned(), 2)]]);
    for empty in [None, Some(tfs::Input { kind: None }), crate::support::input(Vec::new())] {
        let error = serialized_examples(empty.as_ref(), &Limits::default()).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::InvalidArgument, "Input is empty."));
    }
}

#[test]
fn several_tasks_share_a_step() {
    let (_directory, model) = lengths();
    let task = |signature: &str, method: ExampleMethod| tfs::InferenceTask {
        model_spec: Some(tfs::ModelSpec { name: "m".to_owned(), ..spec(signature).unwrap() }),
        method_name: method.name().to_owned(),
    };
    let new = |tasks: &[tfs::InferenceTask]| MultiInference::new(tasks, false, |name| Ok(&*model.signatures()[name]));
    let (classify, regress) = (task("classify", ExampleMethod::Classify), task("regress", ExampleMethod::Regress));
    let tasks = new(&[classify.clone(), task("scores", ExampleMethod::Classify), regress.clone()]).unwrap();
    assert_eq!(tasks.fetches, ["classes:0", "scores:0", "values:0"]);
    let examples = serialized_examples(input(vec![example("x", 1)]).as_ref(), &Limits::default()).unwrap();
    let fetches: Vec<&str> = tasks.fetches.iter().map(String::as_str).collect();
    let values = model.session().run(&[(&tasks.input, examples)], &fetches, &[]).unwrap();
    let response = tasks.response(1, &values, &tfs::ModelSpec { name: "m".to_owned(), ..Default::default() }).unwrap();
    let signatures: Vec<&str> = response.results.iter().map(|result| result.model_spec.as_ref().unwrap().signature_name.as_str()).collect();
    assert_eq!(signatures, ["classify", "scores", "regress"]);
    let size = example("x", 1).encoded_len();
    assert_eq!(response.results[0].result, Some(classes([(&size.to_string(), size as f32)])));
    assert_eq!(response.results[1].result, Some(classes([("", size as f32)])));

    let mut other = regress;
    other.model_spec.as_mut().unwrap().name = "n".to_owned();
    for tasks in [vec![], vec![classify.clone(), classify.clone()], vec![classify, other]] {
        assert_eq!(new(&tasks).unwrap_err().code(), Code::InvalidArgument);
    }
}

#[test]
fn a_context_cannot_make_a_short_request_large() {
    let limits = Limits { max_example_bytes: 10_000, max_items: 100, ..Limits::default() };
    let of = |num_examples: usize| {
        let list = tfs::ExampleListWithContext {
            examples: vec![proto::Example::default(); num_examples],
            context: Some(example(&"c".repeat(500), 7)),
        };
        serialized_examples(Some(&tfs::Input { kind: Some(tfs::input::Kind::ExampleListWithContext(list)) }), &limits)
    };
    assert_eq!(of(10).unwrap().num_elements(), 10);
    assert_eq!(of(50).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(serialized_examples(input(vec![example("x", 1); 101]).as_ref(), &limits).unwrap_err().code(), Code::ResourceExhausted);
}

#[test]
fn names_of_methods_are_checked_if_the_options_say_so() {
    let directory = tempfile::tempdir().unwrap();
    crate::support::write_lengths(directory.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (check_method_names, expected) in [(false, None), (true, Some(Code::InvalidArgument))] {
        let options = ModelOptions { check_method_names, ..ModelOptions::default() };
        let loader = ModelLoader::new(options, Arc::new(Compute::new(1, 1)), Arc::default()).unwrap();
        let request = LoadRequest { model: "m", version: 1, path: directory.path(), platform: "", batching: None, warm_up: false };
        let model = loader.load(&request).unwrap();
        let code = |signature: &str| {
            let examples = serialized_examples(input(vec![example("x", 1)]).as_ref(), &Limits::default()).unwrap();
            let call = model.signature(signature).unwrap().call_examples(ExampleMethod::Regress, examples, Call::default());
            runtime.block_on(call).err().map(|error| error.code())
        };
        // The method of the default signature is prediction.
        assert_eq!((code("regress"), code("serving_default")), (None, expected));
    }
}
