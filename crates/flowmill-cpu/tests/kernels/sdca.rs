//! Stochastic dual coordinate ascent. Expected values are TensorFlow's.

use super::testing::{Call, message};
use flowmill_tensor::Tensor;

/// Returns a call with one dense example of two features.
fn dense(loss: &str, label: f32) -> Call {
    let attrs: [(&str, i64); 5] = [
        ("num_sparse_features", 0),
        ("num_sparse_features_with_values", 0),
        ("num_dense_features", 1),
        ("num_loss_partitions", 1),
        ("num_inner_iterations", 1),
    ];
    let call = attrs.iter().fold(Call::new("SdcaOptimizerV2"), |call, &(name, value)| call.attr(name, value));
    call.attr("loss_type", loss).attr("l1", 0f32).attr("l2", 1f32).inputs(vec![
        Tensor::from_slice([1, 2], &[1f32, 2.0]).unwrap(),
        Tensor::vector(&[1f32]).unwrap(),
        Tensor::vector(&[label]).unwrap(),
        Tensor::vector(&[0f32, 0.0]).unwrap(),
        Tensor::zeros(flowmill_tensor::DType::F32, [1, 4]).unwrap(),
    ])
}

#[test]
fn one_example_of_a_squared_loss_is_solved() {
    let out = dense("squared_loss", 3.0).run().unwrap();
    let state = out[0].as_ref().unwrap().as_slice::<f32>().unwrap();
    assert_eq!(state, [0.5, 4.5, 0.0, 1.0]);
    assert_eq!(out[1].as_ref().unwrap().as_slice::<f32>().unwrap(), [0.5, 1.0]);
}

#[test]
fn labels_are_checked() {
    let wrong = message(dense("hinge_loss", 0.5).run1());
    assert_eq!(wrong, "Only labels of 0.0 or 1.0 are supported right now. Found example with label: 0.5");
    assert!(message(dense("poisson_loss", -1.0).run1()).starts_with("Only non-negative labels"));
}

#[test]
fn fingerprints_have_two_words() {
    let texts = Tensor::from_strings([2], vec!["abc".into(), "very looooooong string".into()]).unwrap();
    let out = Call::new("SdcaFprint").input(texts).run1().unwrap();
    assert_eq!(out.shape()[..], [2, 2]);
    assert_eq!(
        out.as_slice::<i64>().unwrap(),
        [4_143_508_125_394_299_908, -6_879_828_354_153_669_051, 5_849_691_694_103_072_671, -4_874_542_629_849_009_556]
    );
}
