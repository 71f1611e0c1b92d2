//! Models of `float32` in less precision: the errors that `docs/precision.md` states.
#![allow(clippy::unwrap_used)]

use flowmill::{DType, InferencePrecision, Session, SessionOptions, Shape, Tensor, npz};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/data/models", file].iter().collect()
}

fn session(model: &str, options: SessionOptions) -> Arc<Session> {
    flowmill::session(flowmill::load_graph(path(&format!("{model}.pb"))).unwrap(), options).unwrap()
}

fn run(session: &Session, x: &Tensor, output: &str) -> Vec<f32> {
    session.run(&[("x:0", x.clone())], &[output], &[]).unwrap()[0].as_slice::<f32>().unwrap().to_vec()
}

/// Returns inputs of the shape of `like`, with another batch size: numbers around zero, or small integers.
fn noise(like: &Tensor, batch: usize) -> Tensor {
    let mut shape = like.shape().clone();
    shape[0] = batch;
    let mut state = 1u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let len = Shape::new(&shape).num_elements();
    match like.dtype() {
        DType::I32 => Tensor::from_slice(shape, &(0..len).map(|_| next(50) as i32).collect::<Vec<_>>()).unwrap(),
        _ => Tensor::from_slice(shape, &(0..len).map(|_| next(2001) as f32 / 1000.0 - 1.0).collect::<Vec<_>>()).unwrap(),
    }
}

/// Returns the Euclidean norm of the difference, divided by that of the exact result.
fn relative_error(rough: &[f32], exact: &[f32]) -> f64 {
    let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    norm(&mut rough.iter().zip(exact).map(|(r, e)| r - e)) / norm(&mut exact.iter().copied())
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&i, &j| row[i].total_cmp(&row[j])).unwrap_or(0)
}

/// Checks that the error of a model in `bfloat16` on its recorded inputs, and on noise beside `float32`, is in `bounds`, and that results do not depend on the
/// threads.
/// Returns the share of rows of the noise whose largest element is the same.
fn check(model: &str, output: &str, bounds: RangeInclusive<f64>) -> f64 {
    let recorded = npz::read(path(&format!("{model}.npz"))).unwrap();
    let narrow = |threads| {
        let options = SessionOptions { inference_precision: InferencePrecision::Bf16, ..SessionOptions::default() };
        session(model, SessionOptions { intra_op_threads: threads, inter_op_threads: threads, ..options })
    };
    let (wide, narrow) = (session(model, SessionOptions::default()), [narrow(1), narrow(2)]);
    let (x, y) = (&recorded["x_b1"], recorded[&format!("{output}_b1")].as_slice::<f32>().unwrap());
    let recorded_error = relative_error(&run(&narrow[0], x, output), y);
    let x = noise(x, 32);
    let (exact, rough) = (run(&wide, &x, output), run(&narrow[0], &x, output));
    assert_eq!(rough, run(&narrow[1], &x, output), "{model} on two threads");
    let columns = y.len() / recorded[&format!("{output}_b1")].shape()[..].split_last().map_or(1, |(_, rows)| rows.iter().product());
    let rows = exact.chunks(columns).zip(rough.chunks(columns));
    let agreement = rows.clone().filter(|(e, r)| largest(e) == largest(r)).count() as f64 / rows.len() as f64;
    let noise_error = relative_error(&rough, &exact);
    println!("| {model} | {recorded_error:.2e} | {noise_error:.2e} | {agreement:.3} |");
    for error in [recorded_error, noise_error] {
        assert!(bounds.contains(&error), "{model}: relative error {error}");
    }
    agreement
}

#[test]
fn models_in_bfloat16_are_nearly_as_accurate() {
    for (model, output, bounds, least_agreement) in [
        ("mlp", "y", 1e-4..=0.01, 0.95),
        ("lstm_small", "y", 1e-4..=0.01, 0.95),
        ("bert_small", "y", 1e-4..=0.01, 0.95),
        // 36 layers of random weights.
        ("mobilenetv2_small", "Identity", 1e-4..=0.25, 0.75),
        // The probabilities are 0 and 1.
        ("resnet_small", "Identity", 0.0..=0.05, 0.75),
    ] {
        let agreement = check(model, output, bounds);
        assert!(agreement >= least_agreement, "{model}: {agreement}");
    }
}
