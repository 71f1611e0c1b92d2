//! Models trained with TensorFlow give what TensorFlow gives, with all passes, with none, and with each switched off.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fusion;

use flowmill::{DType, SessionOptions, Tensor, npz};
use std::path::PathBuf;
use std::sync::OnceLock;

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/data/models", file].iter().collect()
}

fn check_close(what: &str, actual: &Tensor, expected: &Tensor) {
    assert_eq!(actual.shape(), expected.shape(), "{what}");
    for (i, (a, e)) in actual.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap()).enumerate() {
        assert!((a - e).abs() <= 1e-5 + 1e-4 * e.abs(), "{what}: {a} at {i}, TensorFlow has {e}");
    }
}

/// Makes every use of rayon's own pool a panic, in this process.
fn forbid_global_pool() {
    static FORBIDDEN: OnceLock<bool> = OnceLock::new();
    assert!(FORBIDDEN.get_or_init(flowmill_runtime::intra_op::forbid_global_pool), "rayon's own pool has started");
}

/// Runs a model on recorded inputs of these batch sizes; `output` is what its result is called.
fn check(model: &str, output: &str, batches: &[usize], options: &SessionOptions) {
    forbid_global_pool();
    let recorded = npz::read(path(&format!("{model}.npz"))).unwrap();
    let session = flowmill::session(flowmill::load_graph(path(&format!("{model}.pb"))).unwrap(), options.clone()).unwrap();
    for batch in batches {
        let x = recorded[&format!("x_b{batch}")].clone();
        assert!(matches!(x.dtype(), DType::F32 | DType::I32));
        let expected = &recorded[&format!("{output}_b{batch}")];
        let y = session.run(&[("x:0", x)], &[output], &[]).unwrap();
        check_close(&format!("{model}, batch {batch}, {:?} off, optimize {}", options.disabled_passes, options.optimize), &y[0], expected);
    }
}

fn check_all(model: &str, output: &str, batches: &[usize]) {
    check(model, output, batches, &SessionOptions::default());
    check(model, output, &batches[..1], &SessionOptions { optimize: false, ..SessionOptions::default() });
    for pass in flowmill::PIPELINE {
        check(model, output, &batches[..1], &SessionOptions { disabled_passes: vec![pass.name.to_owned()], ..SessionOptions::default() });
    }
}

#[test]
fn mlp() {
    check_all("mlp", "y", &[1, 2]);
}

#[test]
fn bert() {
    check_all("bert_small", "y", &[1, 4]);
}

#[test]
fn lstm() {
    check_all("lstm_small", "y", &[1, 4]);
}

#[test]
fn resnet() {
    check_all("resnet_small", "Identity", &[1, 4]);
}

#[test]
fn mobilenet() {
    check_all("mobilenetv2_small", "Identity", &[1, 4]);
}
