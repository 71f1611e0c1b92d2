use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Result, Tensor};

/// Returns `[1, 2, 3, 4; 5, 6, 7, 8; 9, 10, 11, 12]`.
fn matrix() -> Tensor {
    Tensor::from_slice([3, 4], &(1..=12).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

fn call(op: &str, align: &str, inputs: Vec<Tensor>) -> Result<Tensor> {
    let call = Call::new(op).attr("T", ty(DType::F32)).inputs(inputs);
    if align.is_empty() { call.run1() } else { call.attr("align", align).run1() }
}

#[track_caller]
fn check(out: Result<Tensor>, dims: &[usize], expected: &[f32]) {
    let out = out.unwrap();
    assert_eq!((out.shape().dims(), out.as_slice::<f32>().unwrap()), (dims, expected));
}

fn band(lower: i32, upper: i32) -> Tensor {
    Tensor::vector(&[lower, upper]).unwrap()
}

#[test]
fn parts() {
    check(call("MatrixDiagPart", "", vec![matrix()]), &[3], &[1.0, 6.0, 11.0]);
    let part = |align: &str| call("MatrixDiagPartV3", align, vec![matrix(), band(-1, 1), Tensor::scalar(9f32)]);
    check(part("RIGHT_LEFT"), &[3, 3], &[2.0, 7.0, 12.0, 1.0, 6.0, 11.0, 5.0, 10.0, 9.0]);
    check(part("LEFT_RIGHT"), &[3, 3], &[2.0, 7.0, 12.0, 1.0, 6.0, 11.0, 9.0, 5.0, 10.0]);
    check(call("MatrixDiagPartV2", "", vec![matrix(), Tensor::scalar(2), Tensor::scalar(9f32)]), &[2], &[3.0, 8.0]);
    for (k, message) in [
        (band(5, 5), "lower_diag_index is out of bound: 5. It must be between -3 and 4"),
        (band(1, -1), "lower_diag_index must not be larger than upper_diag_index: 1 > -1"),
    ] {
        let error = call("MatrixDiagPartV3", "", vec![matrix(), k, Tensor::scalar(9f32)]).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn matrices_of_diagonals() {
    let three = || Tensor::vector(&[1f32, 2.0, 3.0]).unwrap();
    check(call("MatrixDiag", "", vec![Tensor::vector(&[1f32, 2.0]).unwrap()]), &[2, 2], &[1.0, 0.0, 0.0, 2.0]);
    let packed = Tensor::from_slice([3, 3], &[9f32, 8.0, 7.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0]).unwrap();
    let sized = |x: Tensor, k: Tensor, rows: i32, columns: i32, fill: f32| {
        call("MatrixDiagV3", "RIGHT_LEFT", vec![x, k, Tensor::scalar(rows), Tensor::scalar(columns), Tensor::scalar(fill)])
    };
    check(sized(packed, band(-1, 1), -1, -1, 0.0), &[3, 3], &[4.0, 8.0, 0.0, 1.0, 5.0, 7.0, 0.0, 2.0, 6.0]);
    check(sized(three(), Tensor::scalar(-1), 4, 3, 7.0), &[4, 3], &[7.0, 7.0, 7.0, 1.0, 7.0, 7.0, 7.0, 2.0, 7.0, 7.0, 7.0, 3.0]);
    assert!(sized(three(), Tensor::scalar(-1), 2, 3, 7.0).unwrap_err().message().contains("The number of rows is too small."));
    assert!(sized(three(), Tensor::scalar(i32::MIN), -1, -1, 7.0).is_err());
}

#[test]
fn replaced_diagonals_and_bands() {
    let packed = Tensor::from_slice([2, 3], &[0f32, 20.0, 30.0, 10.0, 20.0, 30.0]).unwrap();
    check(
        call("MatrixSetDiagV3", "RIGHT_LEFT", vec![matrix(), packed, band(0, 1)]),
        &[3, 4],
        &[10.0, 0.0, 3.0, 4.0, 5.0, 20.0, 20.0, 8.0, 9.0, 10.0, 30.0, 30.0],
    );
    assert!(call("MatrixSetDiag", "", vec![matrix(), Tensor::vector(&[0f32, 0.0]).unwrap()]).is_err());
    let part = |lower: i64, upper: i64| call("MatrixBandPart", "", vec![matrix(), Tensor::scalar(lower), Tensor::scalar(upper)]);
    check(part(1, 0), &[3, 4], &[1.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 0.0, 10.0, 11.0, 0.0]);
    check(part(-1, 1), &[3, 4], &[1.0, 2.0, 0.0, 0.0, 5.0, 6.0, 7.0, 0.0, 9.0, 10.0, 11.0, 12.0]);
    assert!(part(4, 1).unwrap_err().message().contains("num_lower must be negative or less or equal to number of rows (3) got: 4"));
}

#[test]
fn tensors_with_a_diagonal() {
    check(call("Diag", "", vec![Tensor::from_slice([1, 2], &[1f32, 2.0]).unwrap()]), &[1, 2, 1, 2], &[1.0, 0.0, 0.0, 2.0]);
    let square = Tensor::from_slice([2, 2, 2, 2], &(0..16).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    check(call("DiagPart", "", vec![square]), &[2, 2], &[0.0, 5.0, 10.0, 15.0]);
    assert!(call("DiagPart", "", vec![matrix()]).unwrap_err().message().contains("Invalid shape [3,4]: dimensions 0 and 1 do not match."));
}

#[test]
fn bands_of_large_matrices() {
    let (batch, rows, columns) = (7, 130, 90);
    let x: Vec<f32> = (0..batch * rows * columns).map(|i| 1.0 + i as f32).collect();
    for (lower, upper) in [(3, 20), (0, -1), (-1, 5), (100, 0)] {
        let matrices = Tensor::from_slice([batch, rows, columns], &x).unwrap();
        let band = call("MatrixBandPart", "", vec![matrices, Tensor::scalar(lower), Tensor::scalar(upper)]).unwrap();
        for (i, &found) in band.as_slice::<f32>().unwrap().iter().enumerate() {
            let (row, column) = ((i / columns % rows) as i64, (i % columns) as i64);
            let is_kept = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
            assert_eq!(found, if is_kept { x[i] } else { 0.0 }, "element {i} with {lower} and {upper}");
        }
    }
}
