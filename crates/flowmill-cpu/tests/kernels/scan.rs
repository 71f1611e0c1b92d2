use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Element, Result, Tensor};

fn scan<T: Element>(op: &str, x: Tensor, axis: i32, exclusive: bool, reverse: bool) -> Result<Vec<T>> {
    let call = Call::new(op).attr("T", ty(T::DTYPE)).attr("exclusive", exclusive).attr("reverse", reverse);
    Ok(call.inputs(vec![x, Tensor::scalar(axis)]).run1()?.as_slice::<T>()?.to_vec())
}

#[test]
fn sums_and_products_in_every_direction() {
    let x = || Tensor::vector(&[1, 2, 3]).unwrap();
    assert_eq!(scan::<i32>("Cumsum", x(), 0, false, false).unwrap(), [1, 3, 6]);
    assert_eq!(scan::<i32>("Cumsum", x(), 0, true, false).unwrap(), [0, 1, 3]);
    assert_eq!(scan::<i32>("Cumsum", x(), -1, true, true).unwrap(), [5, 3, 0]);
    assert_eq!(scan::<i32>("Cumprod", x(), 0, false, true).unwrap(), [6, 6, 3]);
    let matrix = Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(scan::<f32>("Cumsum", matrix, 0, false, false).unwrap(), [1.0, 2.0, 4.0, 6.0]);
    assert!(scan::<f32>("Cumsum", Tensor::zeros(DType::F32, [2, 0]).unwrap(), 1, false, false).unwrap().is_empty());
}

#[test]
fn log_sum_exp_starts_from_minus_infinity() {
    let x = || Tensor::vector(&[1.0f32, 2.0, f32::NEG_INFINITY, 3.0]).unwrap();
    let close = |a: Vec<f32>, b: [f32; 4]| a.iter().zip(b).all(|(a, b)| *a == b || (a - b).abs() < 1e-6);
    assert!(close(scan("CumulativeLogsumexp", x(), 0, false, false).unwrap(), [1.0, 2.3132617, 2.3132617, 3.4076061]));
    assert!(close(scan("CumulativeLogsumexp", x(), 0, true, false).unwrap(), [f32::NEG_INFINITY, 1.0, 2.3132617, 2.3132617]));
}

#[test]
fn bad_axes() {
    let error = scan::<f32>("Cumsum", Tensor::zeros(DType::F32, [2, 3]).unwrap(), 2, false, false).unwrap_err();
    assert!(error.message().contains("ScanOp: Expected scan axis in the range [-2, 2), but got 2"), "{error}");
}

#[test]
fn large_tensors_are_scanned_block_by_block() {
    let x: Vec<i64> = (0..90 * 40 * 30).map(|i| i * 7919 % 1009 - 500).collect();
    for (axis, inner, size) in [(0, 1200, 90), (1, 30, 40), (2, 1, 30)] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let found = scan::<i64>("Cumsum", Tensor::from_slice([90, 40, 30], &x).unwrap(), axis, exclusive, reverse).unwrap();
            for (i, found) in found.iter().enumerate().step_by(11) {
                let at = i / inner % size;
                let first = i - at * inner;
                let range = match (exclusive, reverse) {
                    (false, false) => 0..at + 1,
                    (true, false) => 0..at,
                    (false, true) => at..size,
                    (true, true) => at + 1..size,
                };
                assert_eq!(*found, range.map(|k| x[first + k * inner]).sum::<i64>(), "element {i} along axis {axis}");
            }
        }
    }
}
