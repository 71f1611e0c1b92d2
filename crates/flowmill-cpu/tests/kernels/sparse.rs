//! Messages of sparse ops, and cases that the comparison with TensorFlow in `tests/python/test_sparse.py` does not cover.
use crate::testing::{Call, run, run1, strings, ty};
use flowmill_tensor::{Code, DType, Result, Tensor};

fn indices(rows: &[[i64; 2]]) -> Tensor {
    Tensor::from_slice([rows.len(), 2], rows.as_flattened()).unwrap()
}

fn longs(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn failure<T: std::fmt::Debug>(result: Result<T>) -> (Code, String) {
    let e = result.unwrap_err();
    (e.code(), e.message().to_owned())
}

#[test]
fn places_are_checked() {
    let dense = |rows: &[[i64; 2]]| {
        let values = floats(&vec![1.0; rows.len()]);
        run1("SparseToDense", &[("T", ty(DType::F32))], vec![indices(rows), longs(&[2, 3]), values, Tensor::scalar(0f32)])
    };
    assert_eq!(dense(&[[0, 1], [1, 2]]).unwrap().as_slice::<f32>().unwrap(), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    for (rows, message) in [
        (&[[0, 1], [2, 0]][..], "indices[1] = [2,0] is out of bounds: need 0 <= index < [2,3]"),
        (&[[0, 1], [0, 1]], "indices[1] = [0,1] is repeated"),
        (&[[1, 0], [0, 1]], "indices[1] = [0,1] is out of order. Many sparse ops require sorted indices."),
    ] {
        let (code, found) = failure(dense(rows));
        assert_eq!(code, Code::InvalidArgument);
        assert!(found.starts_with(message), "{found}");
    }
}

#[test]
fn sizes_from_outside_do_not_exhaust_memory() {
    let empty = || (indices(&[]), floats(&[]));
    let (places, values) = empty();
    let huge = i64::MAX / 4;
    let rows = run("SparseFillEmptyRows", &[("T", ty(DType::F32))], vec![places, values, longs(&[huge, 1]), Tensor::scalar(0f32)]);
    assert_eq!(failure(rows).0, Code::ResourceExhausted);
    let range = run("RaggedRange", &[("T", ty(DType::I64))], vec![Tensor::scalar(0i64), Tensor::scalar(huge), Tensor::scalar(1i64)]);
    assert_eq!(failure(range).0, Code::ResourceExhausted);
    // The length of each row fits into an `int32`, that of both together does not. This is detected before anything is allocated.
    let attrs = [("T", ty(DType::I32)), ("Tsplits", ty(DType::I32))];
    let limits = Tensor::vector(&[i32::MAX, i32::MAX]).unwrap();
    let range = run("RaggedRange", &attrs, vec![Tensor::scalar(0i32), limits, Tensor::scalar(1i32)]);
    assert_eq!(failure(range).0, Code::InvalidArgument);
    let partitions = [("T", ty(DType::F32)), ("row_partition_types", strings(&["FIRST_DIM_SIZE", "VALUE_ROWIDS"]))];
    let inputs = vec![longs(&[1, 1]), floats(&[1.0]), Tensor::scalar(0f32), Tensor::scalar(huge), longs(&[0])];
    assert_eq!(failure(run("RaggedTensorToTensor", &partitions, inputs)).0, Code::ResourceExhausted);
}

#[test]
fn bfloat16_products_are_summed_in_float32() {
    use flowmill_tensor::bf16;
    let n = 512;
    let places: Vec<[i64; 2]> = (0..n).map(|k| [0, k]).collect();
    let ones = vec![bf16::ONE; n as usize];
    let b = Tensor::from_slice([n as usize, 1], &ones).unwrap();
    let inputs = vec![indices(&places), Tensor::vector(&ones).unwrap(), longs(&[1, n]), b];
    let product = run1("SparseTensorDenseMatMul", &[("T", ty(DType::BF16))], inputs).unwrap();
    assert_eq!(product.as_slice::<bf16>().unwrap(), [bf16::from_f32(512.0)]);
}

#[test]
fn gradients_come_back_through_variants() {
    let values = Tensor::from_slice([3, 2], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let attrs = [("Tvalues", ty(DType::F32)), ("batched_input", true.into())];
    let rows = run1("RaggedTensorToVariant", &attrs, vec![longs(&[0, 1, 1, 3]), values.clone()]).unwrap();
    assert_eq!(rows.shape().dims(), [3]);
    let call = Call::new("RaggedTensorToVariantGradient").attr("Tvalues", ty(DType::F32));
    let inputs = vec![rows, longs(&[0, 1, 1, 3]), Tensor::vector(&[3i32, 2]).unwrap()];
    assert_eq!(call.inputs(inputs).run1().unwrap(), values);
}
