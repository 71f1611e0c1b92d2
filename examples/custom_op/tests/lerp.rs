//! An op from outside of Flowmill is checked, differentiated, run, and loaded from a file like any other.
#![allow(clippy::unwrap_used)]

use flowmill::prelude::*;
use flowmill::proto::Message;
use flowmill::{Code, FileAccess, OpSet};
use flowmill_example_custom_op::{lerp, lerp_op};

fn ops() -> OpSet {
    OpSet::standard().unwrap().with(lerp_op()).unwrap()
}

fn values(tensor: &Tensor) -> &[f32] {
    tensor.as_slice().unwrap()
}

#[test]
fn it_runs_and_is_differentiated_in_both_types() {
    let b = ops().graph_builder();
    let (start, end) = (b.constant([0.0f32, 2.0]).unwrap(), b.constant([4.0f32, 4.0]).unwrap());
    let y = lerp(&b, start, end, 0.25).unwrap();
    let [to_start, to_end] = b.gradients(y * [1.0, 10.0], [start, end]).unwrap();
    let wide = lerp(&b, b.constant(1.0f64).unwrap(), 3.0, 0.5).unwrap();
    let session = b.session(SessionOptions::default()).unwrap();
    let [y, to_start, to_end, wide] = session.runner().fetch([y, to_start, to_end, wide]).unwrap();
    assert_eq!(values(&y), [1.0, 2.5]);
    assert_eq!((values(&to_start), values(&to_end)), (&[0.75, 7.5][..], &[0.25, 2.5][..]));
    assert_eq!(wide.to_scalar::<f64>().unwrap(), 2.0);
}

#[test]
fn static_shapes_follow_its_shape_function() {
    let b = ops().graph_builder();
    let x = b.placeholder(DType::F32, [-1, 3]).unwrap();
    let y = lerp(&b, x, b.placeholder(DType::F32, [2, -1]).unwrap(), 0.5).unwrap();
    assert_eq!(y.shape().to_string(), "[2,3]");
    let error = lerp(&b, x, b.placeholder(DType::F32, [4]).unwrap(), 0.5).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    let error = lerp(&b, b.constant([1i32]).unwrap(), b.constant([1i32]).unwrap(), 0.5).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
}

#[test]
fn graphs_with_it_are_loaded_from_files() {
    let b = ops().graph_builder();
    let x = b.node().name("x").placeholder(DType::F32, []).unwrap();
    b.op("Lerp").name("y").input(x).input(5.0).output().unwrap();
    let path = std::env::temp_dir().join(format!("flowmill-lerp-{}.pb", std::process::id()));
    std::fs::write(&path, b.graph_def().unwrap().encode_to_vec()).unwrap();
    let loaded = ops().load_graph(&path, FileAccess::Read);
    let unknown = flowmill::load_graph(&path);
    std::fs::remove_file(&path).unwrap();
    let session = ops().session(loaded.unwrap(), SessionOptions::default()).unwrap();
    assert_eq!(session.runner().feed("x", Tensor::scalar(1.0f32)).fetch("y").unwrap().to_scalar::<f32>().unwrap(), 3.0);
    let error = unknown.unwrap_err();
    assert!(error.code() == Code::NotFound && error.message().contains("Lerp"), "{error}");
}

#[test]
fn an_op_of_a_taken_name_or_with_a_malformed_signature_is_refused() {
    let taken = ops().with(lerp_op()).unwrap_err();
    assert_eq!(taken.code(), Code::AlreadyExists, "{taken}");
    let malformed = ops().with(flowmill::CustomOp::new("Broken", "(x: float -> y")).unwrap_err();
    assert!(malformed.code() == Code::InvalidArgument && malformed.message().contains("Broken"), "{malformed}");
}
