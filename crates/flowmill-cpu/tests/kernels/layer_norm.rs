use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Result, Shape, Tensor};

fn run(x: &Tensor, gamma: &[f32], beta: &[f32]) -> Result<Tensor> {
    let inputs = vec![x.clone(), Tensor::vector(gamma)?, Tensor::vector(beta)?];
    Call::new("_FusedLayerNorm").attr("T", ty(DType::F32)).attr("epsilon", 1e-3f32).inputs(inputs).run1()
}

fn check(dims: &[usize], n: usize, columns: usize) {
    let shape = Shape::new(dims);
    let values: Vec<f32> = (0..shape.num_elements()).map(|i| ((i * 7919) % 1009) as f32 / 100.0 - 5.0).collect();
    let (gamma, beta): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (1.0 + i as f32 / 7.0, 3.0 - i as f32)).unzip();
    let y = run(&Tensor::from_slice(shape, &values).unwrap(), &gamma, &beta).unwrap();
    assert_eq!(y.shape().last(), Some(&columns));
    let width = *dims.last().unwrap();
    for (row, y) in values.chunks(width).zip(y.as_slice::<f32>().unwrap().chunks(columns)) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / width as f64;
        for (j, &y) in y.iter().enumerate() {
            let plain = (f64::from(row[j % width]) - mean) / (variance + 1e-3).sqrt();
            let want = plain * f64::from(gamma[j % n]) + f64::from(beta[j % n]);
            assert!((f64::from(y) - want).abs() < 1e-4 * (1.0 + want.abs()), "{dims:?}, column {j}: {y}, want {want}");
        }
    }
}

#[test]
fn rows_are_normalised_scaled_and_shifted() {
    for dims in [&[1, 256][..], &[3, 5, 17], &[300, 64], &[2, 1], &[7]] {
        check(dims, *dims.last().unwrap(), *dims.last().unwrap());
    }
    check(&[4, 1], 5, 5);
    check(&[4, 6], 1, 6);
}

#[test]
fn empty_tensors_stay_empty() {
    for dims in [&[0, 3][..], &[3, 0]] {
        let n = dims[1];
        let y = run(&Tensor::zeros(DType::F32, dims.to_vec()).unwrap(), &vec![1.0; n], &vec![0.0; n]).unwrap();
        assert_eq!(y.shape().dims(), dims);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let x = Tensor::zeros(DType::F32, vec![2, 3]).unwrap();
    assert!(run(&x, &[1.0; 2], &[1.0; 2]).is_err());
    assert!(run(&x, &[1.0; 3], &[1.0; 2]).is_err());
    assert!(run(&Tensor::scalar(1.0f32), &[1.0], &[1.0]).is_err());
}
