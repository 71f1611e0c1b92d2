use crate::testing::{Call, floats, message, ty};
use flowmill_tensor::{Code, DType, Result, Tensor};

fn image() -> Tensor {
    let values: Vec<f32> = (0..40).map(|i| (i * 7 % 40) as f32).collect();
    Tensor::from_slice([1, 5, 8, 1], &values).unwrap()
}

fn call(op: &str, input: Tensor, ratio: &[f32], deterministic: bool) -> Call {
    Call::new(op)
        .attr("T", ty(input.dtype()))
        .attr("pooling_ratio", ratio.to_vec())
        .attr("deterministic", deterministic)
        .attr("seed", if deterministic { 3i64 } else { 0 })
        .attr("seed2", if deterministic { 4i64 } else { 0 })
        .input(input)
}

fn pool(op: &str, pseudo_random: bool, overlapping: bool) -> Vec<Tensor> {
    let call = call(op, image(), &[1.0, 1.6, 1.5, 1.0], true).attr("pseudo_random", pseudo_random).attr("overlapping", overlapping);
    call.outputs(3).run().unwrap().into_iter().flatten().collect()
}

fn max_grad(inputs: Vec<Tensor>, overlapping: bool) -> Result<Tensor> {
    Call::new("FractionalMaxPoolGrad").attr("T", ty(DType::F32)).attr("overlapping", overlapping).inputs(inputs).run1()
}

fn starts(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// Compares with TensorFlow's values for these seeds.
#[test]
fn windows_of_seeds() {
    for (pseudo_random, rows, columns) in [(false, [0i64, 2, 4, 5], [0i64, 1, 3, 4, 6, 8]), (true, [0, 2, 3, 5], [0, 2, 3, 5, 6, 8])] {
        for op in ["FractionalMaxPool", "FractionalAvgPool"] {
            let found = pool(op, pseudo_random, false);
            assert_eq!(found[0].shape().dims(), [1, 3, 5, 1]);
            assert_eq!((found[1].as_slice::<i64>().unwrap(), found[2].as_slice::<i64>().unwrap()), (&rows[..], &columns[..]));
        }
    }
    let first = |op: &str, pseudo_random, overlapping| pool(op, pseudo_random, overlapping)[0].as_slice::<f32>().unwrap()[..6].to_vec();
    assert_eq!(first("FractionalMaxPool", false, false), [16.0, 30.0, 37.0, 35.0, 25.0, 32.0]);
    assert_eq!(first("FractionalMaxPool", true, true), [39.0, 37.0, 37.0, 35.0, 34.0, 39.0]);
    assert_eq!(first("FractionalAvgPool", true, false), [11.5, 22.0, 22.5, 23.0, 13.5, 35.5]);
    assert_eq!(first("FractionalAvgPool", false, true)[..2], [19.5, 21.11111]);
}

#[test]
fn gradients_go_to_greatest_elements() {
    let found = pool("FractionalMaxPool", false, true);
    let gradient: Vec<f32> = (1u8..16).map(f32::from).collect();
    let gradient = Tensor::from_slice([1, 3, 5, 1], &gradient).unwrap();
    let inputs = vec![image(), found[0].clone(), gradient, found[1].clone(), found[2].clone()];
    let expected = [(5, 4.0), (11, 3.0), (17, 16.0), (22, 15.0), (28, 17.0), (33, 11.0), (34, 12.0), (36, 13.0), (38, 14.0), (39, 15.0)];
    let result = floats(max_grad(inputs.clone(), true));
    let nonzero: Vec<_> = result.into_iter().enumerate().filter(|(_, g)| *g != 0.0).collect();
    assert_eq!(nonzero, expected);
    for (i, wrong) in [
        (0, Tensor::scalar(1f32)),
        (1, image()),
        (1, Tensor::zeros(DType::F32, [1, 3, 5, 1]).unwrap()),
        (2, Tensor::scalar(1f32)),
        (3, starts(&[-1, 2, 4, 5])),
        (3, starts(&[0, 9, 9, 9])),
        (4, starts(&[0, 1])),
        (4, Tensor::scalar(1i64)),
    ] {
        let mut inputs = inputs.clone();
        inputs[i] = wrong;
        assert!(!message(max_grad(inputs, true)).is_empty());
    }
}

#[test]
fn gradients_of_means() {
    let grad = |shape: &[i64], gradient: Tensor, rows: &[i64]| {
        let inputs = vec![starts(shape), gradient.clone(), starts(rows), starts(&[0, 2, 4])];
        Call::new("FractionalAvgPoolGrad").attr("T", ty(gradient.dtype())).inputs(inputs).run1()
    };
    let ones = || Tensor::from_slice([1, 2, 2, 1], &[1f32; 4]).unwrap();
    assert_eq!(floats(grad(&[1, 3, 4, 1], ones(), &[0, 2, 3])), [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5]);
    let ints = grad(&[1, 4, 4, 1], Tensor::from_slice([1, 2, 2, 1], &[7i32, 9, -7, 1]).unwrap(), &[0, 2, 4]).unwrap();
    assert_eq!(ints.as_slice::<i32>().unwrap(), [1, 1, 2, 2, 1, 1, 2, 2, -1, -1, 0, 0, -1, -1, 0, 0]);
    assert_eq!(message(grad(&[1, 0, 4, 1], ones(), &[0, 2, 4])), "Rows dimension of input must not be 0");
    assert!(message(grad(&[1, 4, 4, 1], ones(), &[0, 2])).contains("row_seq_tensor must have at least 3 elements, but got 2"));
    assert!(message(grad(&[1, 4, 4, 1], ones(), &[0, -2, 4])).starts_with("Row sequence tensor values must not be negative, got"));
    assert!(message(grad(&[1, 4, 4, 2], ones(), &[0, 2, 4])).contains("another batch or depth"));
    assert_eq!(grad(&[1, 1 << 40, 4, 1], ones(), &[0, 2, 4]).unwrap_err().code(), Code::ResourceExhausted);
    assert!(grad(&[1, 1 << 62, 1 << 62, 1], ones(), &[0, 2, 4]).is_err());
}

#[test]
fn what_cannot_be_pooled() {
    let run = |ratio: &[f32], deterministic| call("FractionalMaxPool", image(), ratio, deterministic).run1();
    assert_eq!(message(run(&[1.0, 0.5, 1.0, 1.0], true)), "pooling_ratio cannot be smaller than 1, got: 0.5");
    assert_eq!(message(run(&[1.0, f32::NAN, 1.0, 1.0], true)), "pooling_ratio cannot be smaller than 1, got: NaN");
    assert_eq!(message(run(&[1.0; 5], true)), "pooling_ratio field must specify 4 dimensions");
    assert_eq!(
        message(run(&[1.0, 6.0, 1.0, 1.0], true)),
        "Pooling ratio is higher than input dimension size for dimension 1. Input dim size: 5 pooling ratio: 6"
    );
    assert!(message(run(&[1.0, f32::INFINITY, 1.0, 1.0], true)).starts_with("Pooling ratio is higher"));
    let e = run(&[1.0, 1.0, 1.0, 2.0], true).unwrap_err();
    assert_eq!(
        (e.code(), e.message()),
        (Code::Unimplemented, "Fractional max pooling is not yet supported on the batch nor channel dimension.")
    );
    let seeded = call("FractionalAvgPool", image(), &[1.0; 4], false).attr("seed", 1i64).run1();
    assert_eq!(message(seeded), "Both seed and seed2 should be 0 if deterministic is false.");
    let flat = call("FractionalAvgPool", Tensor::scalar(1f32), &[1.0; 4], false).run1();
    assert_eq!(message(flat), "tensor_in must be 4-dimensional");
    for pseudo_random in [false, true] {
        let whole = call("FractionalAvgPool", image(), &[1.0; 4], false).attr("pseudo_random", pseudo_random).run1();
        assert_eq!(floats(whole), image().as_slice::<f32>().unwrap());
    }
}
