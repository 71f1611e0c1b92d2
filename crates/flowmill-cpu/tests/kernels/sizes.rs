//! Tensors without elements may have any size, and an op may request any size: the result is a value or an error, and no memory is allocated for it before.
use crate::testing::{Call, ints, strings, ty, types};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Shape, Tensor};

/// A size for which no machine has enough memory.
const HUGE: usize = 1 << 40;

fn none(dims: &[usize]) -> Tensor {
    Tensor::zeros(DType::F32, Shape::new(dims)).unwrap()
}

fn places(dims: &[usize]) -> Tensor {
    Tensor::zeros(DType::I64, Shape::new(dims)).unwrap()
}

fn l(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn i(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// Returns the first output's shape, or the error's code.
fn answer(op: &str, attrs: &[(&str, AttrValue)], inputs: Vec<Tensor>) -> Result<Vec<usize>, Code> {
    let outputs = Call::new(op).attr("T", ty(DType::F32)).attrs(attrs).inputs(inputs).run().map_err(|e| e.code())?;
    Ok(outputs[0].as_ref().unwrap().shape().to_vec())
}

const TOO_MUCH: Result<Vec<usize>, Code> = Err(Code::ResourceExhausted);

#[test]
fn sparse_and_ragged_tensors() {
    let huge = HUGE as i64;
    assert_eq!(answer("SparseSegmentSum", &[], vec![none(&[2, 3]), l(&[0]), l(&[huge])]), TOO_MUCH);
    assert_eq!(answer("SparseSegmentSum", &[], vec![none(&[2, 0]), l(&[0]), l(&[huge - 1])]), Ok(vec![HUGE, 0]));
    assert_eq!(answer("SparseSegmentSumGrad", &[], vec![none(&[HUGE, 0]), l(&[]), l(&[]), Tensor::scalar(3i32)]), TOO_MUCH);
    assert_eq!(answer("SparseReshape", &[], vec![places(&[HUGE, 0]), l(&[]), l(&[1, 1])]), TOO_MUCH);
    assert_eq!(answer("SparseToDense", &[], vec![places(&[HUGE, 0]), l(&[]), Tensor::scalar(1f32), Tensor::scalar(0f32)]), TOO_MUCH);
    assert_eq!(answer("SparseSliceGrad", &[], vec![none(&[0]), places(&[HUGE, 0]), l(&[]), places(&[0, 0])]), TOO_MUCH);
    assert_eq!(answer("SparseTensorDenseMatMul", &[], vec![places(&[0, 2]), none(&[0]), l(&[huge, 3]), none(&[3, 0])]), Ok(vec![HUGE, 0]));
    let wide = 1 << 16;
    let mut sizes = vec![1i64; wide];
    sizes[0] = 1 << 28;
    assert_eq!(answer("SparseFillEmptyRows", &[], vec![places(&[0, wide]), none(&[0]), l(&sizes), Tensor::scalar(0f32)]), TOO_MUCH);
    assert_eq!(answer("RaggedGather", &[], vec![l(&[0, 1]), none(&[1]), places(&[HUGE, 0])]), TOO_MUCH);
    assert_eq!(answer("RaggedTensorToSparse", &[], vec![l(&[0, huge]), none(&[HUGE, 0])]), TOO_MUCH);
    assert_eq!(answer("RaggedTensorToVariant", &[("batched_input", true.into())], vec![none(&[HUGE, 0])]), TOO_MUCH);
    let partitions = [("row_partition_types", strings(&["ROW_SPLITS"]))];
    let inputs = vec![Tensor::scalar(-1i64), none(&[0, HUGE]), Tensor::scalar(0f32), l(&[0, 0])];
    assert_eq!(answer("RaggedTensorToTensor", &partitions, inputs), Ok(vec![1, 0, HUGE]));
    let cross = [("N", 1i64.into()), ("dense_types", types(&[])), ("sparse_types", types(&[DType::String]))];
    let texts = Tensor::from_strings([0], Vec::new()).unwrap();
    assert_eq!(answer("SparseCrossV2", &cross, vec![places(&[0, 2]), texts, l(&[huge, 2]), Tensor::string("x")]), TOO_MUCH);
    let no_types = || types(&[]);
    let cross = |sparse: &[DType], dense: &[DType], order: &'static str| {
        [
            ("ragged_values_types", no_types()),
            ("ragged_splits_types", no_types()),
            ("sparse_values_types", types(sparse)),
            ("dense_types", types(dense)),
            ("Nsparse", (sparse.len() as i64).into()),
            ("input_order", order.into()),
            ("num_buckets", 0i64.into()),
            ("hash_key", 1i64.into()),
            ("out_values_type", ty(DType::I64)),
            ("out_row_splits_type", ty(DType::I64)),
        ]
    };
    let inputs = vec![places(&[0, 2]), l(&[]), l(&[huge, 2])];
    assert_eq!(answer("RaggedCross", &cross(&[DType::I64], &[], "S"), inputs), TOO_MUCH);
    let inputs = vec![places(&[0, 2]), l(&[]), l(&[-huge, 2])];
    assert_eq!(answer("RaggedCross", &cross(&[DType::I64], &[], "S"), inputs), Err(Code::InvalidArgument));
    assert_eq!(answer("RaggedCross", &cross(&[], &[DType::I64], "D"), vec![places(&[HUGE, 0])]), TOO_MUCH);
    assert_eq!(answer("RaggedFillEmptyRows", &[], vec![l(&[]), none(&[0]), Tensor::scalar(huge), Tensor::scalar(0f32)]), TOO_MUCH);
}

#[test]
fn transforms_along_any_dimensions() {
    let parts = [("Treal", ty(DType::F32)), ("Tcomplex", ty(DType::C64))];
    let complex = |dims: &[usize]| Tensor::zeros(DType::C64, Shape::new(dims)).unwrap();
    assert_eq!(answer("FFTND", &parts, vec![complex(&[0, HUGE]), i(&[2]), i(&[0])]), TOO_MUCH);
    assert_eq!(answer("FFTND", &parts, vec![complex(&[0, HUGE]), i(&[0]), i(&[1])]), Ok(vec![0, 0]));
    assert_eq!(answer("RFFTND", &parts, vec![none(&[0, HUGE]), i(&[2, 0]), i(&[0, 1])]), Ok(vec![2, 0]));
    assert_eq!(answer("IRFFTND", &parts, vec![complex(&[HUGE, 0]), i(&[2]), i(&[1])]), TOO_MUCH);
}

#[test]
fn matrices_and_spectra() {
    assert_eq!(answer("MatrixDeterminant", &[], vec![none(&[HUGE, 0, 0])]), TOO_MUCH);
    let full = [("full_matrices", true.into())];
    for op in ["Qr", "Svd"] {
        assert_eq!(answer(op, &full, vec![none(&[1 << 20, 1])]), TOO_MUCH, "{op}");
        // The square of this size exceeds the limit on shapes.
        assert_eq!(answer(op, &full, vec![none(&[HUGE, 0])]), Err(Code::InvalidArgument), "{op}");
    }
    assert_eq!(answer("Qr", &[], vec![none(&[0, HUGE])]), Ok(vec![0, 0]));
    // A decomposition of NaN would not converge in any number of steps.
    let nan = Tensor::from_slice([40, 40], &[f32::NAN; 1600]).unwrap();
    let singular = Call::new("Svd").attr("T", ty(DType::F32)).input(nan.clone()).run1().unwrap();
    assert!(singular.as_slice::<f32>().unwrap().iter().all(|v| v.is_nan()) && singular.shape().dims() == [40]);
    assert_eq!(answer("SelfAdjointEigV2", &[], vec![nan]), Err(Code::InvalidArgument));
    let large = Tensor::from_slice([2, 2], &[3e30f32, 0.0, 0.0, -4e30]).unwrap();
    let singular = Call::new("Svd").attr("T", ty(DType::F32)).input(large).run1().unwrap();
    assert_eq!(singular.as_slice::<f32>().unwrap(), [4e30, 3e30]);
    let complex = [("Treal", ty(DType::F32)), ("Tcomplex", ty(DType::C64))];
    assert_eq!(answer("RFFT", &complex, vec![none(&[0, HUGE]), i(&[i32::MAX])]), Ok(vec![0, 1 << 30]));
    let spectrum = Tensor::zeros(DType::C64, [0, HUGE]).unwrap();
    assert_eq!(answer("IRFFT", &complex, vec![spectrum, i(&[i32::MAX])]), Ok(vec![0, i32::MAX as usize]));
    let planes = vec![none(&[0, 1 << 31, 1 << 31]), i(&[i32::MAX, i32::MAX])];
    assert_eq!(answer("RFFT2D", &complex, planes), Ok(vec![0, i32::MAX as usize, 1 << 30]));
    assert_eq!(answer("RFFT2D", &complex, vec![none(&[HUGE, 2, 0]), i(&[1, 0])]), Ok(vec![HUGE, 1, 0]));
}

#[test]
fn images_and_volumes() {
    for (op, inputs) in [
        ("ResizeBilinear", vec![none(&[0, 1, 1, 1]), i(&[i32::MAX, i32::MAX])]),
        ("ResizeArea", vec![none(&[0, HUGE, 1, 1]), i(&[1, 1])]),
        ("ResizeNearestNeighborGrad", vec![none(&[0, HUGE, 1, 1]), i(&[1, 1])]),
        ("ResizeBicubicGrad", vec![none(&[0, HUGE, 1, 1]), none(&[0, 1, 1, 1])]),
    ] {
        assert_eq!(answer(op, &[], inputs), TOO_MUCH, "{op}");
    }
    let sliding = |size: &[i64]| [("ksize", ints(size)), ("strides", ints(&vec![1; size.len()])), ("padding", "SAME".into())];
    assert_eq!(answer("MaxPoolWithArgmax", &sliding(&[1, 2, 2, 1]), vec![none(&[0, 2, 2, HUGE])]), Err(Code::InvalidArgument));
    let argmax = [&sliding(&[1, 2, 2, 1])[..], &[("Targmax", ty(DType::I64))]].concat();
    assert_eq!(answer("MaxPoolWithArgmax", &argmax, vec![none(&[0, 2, 2, HUGE])]), Ok(vec![0, 2, 2, HUGE]));
    let most = i64::from(i32::MAX);
    assert_eq!(answer("MaxPool3D", &sliding(&[1, most, most, most, 1]), vec![none(&[1, 4, 4, 4, 1])]), Err(Code::InvalidArgument));
    let quantized = [("T", ty(DType::QI8)), ("mode", "SCALED".into()), ("axis", 1i64.into())];
    assert_eq!(answer("QuantizeV2", &quantized, vec![none(&[HUGE, 2, 0]), none(&[2]), none(&[2])]), Ok(vec![HUGE, 2, 0]));
    assert_eq!(answer("QuantizeV2", &quantized, vec![none(&[2, HUGE, 0]), none(&[2]), none(&[2])]), Err(Code::InvalidArgument));
}

#[test]
fn samples() {
    let sampler = [("num_true", 1i64.into()), ("num_sampled", (HUGE as i64).into()), ("unique", false.into()), ("range_max", 10i64.into())];
    for op in ["LogUniformCandidateSampler", "UniformCandidateSampler"] {
        assert_eq!(answer(op, &sampler, vec![places(&[1, 1])]), TOO_MUCH, "{op}");
    }
}
