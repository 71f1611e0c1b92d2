use crate::testing::{Call, index_of, run1, ty};
use flowmill_runtime::ScalarOp;
use flowmill_tensor::{Code, Complex, DType, Element, Result, Tensor, TensorArithmetic, Variant, VariantValue, bf16, f16};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn apply(op: &str, a: Tensor, b: Tensor) -> Result<Tensor> {
    run1(op, &[("T", ty(a.dtype()))], vec![a, b])
}

/// Checks vectors, and each pair as scalars. The latter also compares the kernel with its `ScalarOp`.
#[track_caller]
fn check<T: Element, D: Element>(op: &str, a: &[T], b: &[T], expected: &[D]) {
    let found = apply(op, Tensor::vector(a).unwrap(), Tensor::vector(b).unwrap()).unwrap();
    assert_eq!(format!("{:?}", found.as_slice::<D>().unwrap()), format!("{expected:?}"), "{op}");
    for ((&a, &b), y) in a.iter().zip(b).zip(expected) {
        let found = apply(op, Tensor::scalar(a), Tensor::scalar(b)).unwrap().to_scalar::<D>().unwrap();
        assert_eq!(format!("{found:?}"), format!("{y:?}"), "{op} of scalars");
    }
}

#[track_caller]
fn fails<T: Element>(op: &str, a: &[T], b: &[T], message: &str) {
    let error = apply(op, Tensor::vector(a).unwrap(), Tensor::vector(b).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn arithmetic_wraps_and_rounds_once() {
    check("AddV2", &[1.5f32, NAN], &[2.0, 1.0], &[3.5f32, NAN]);
    check("Add", &[i32::MAX, 3], &[1, 4], &[i32::MIN, 7]);
    check("Sub", &[0u8], &[1], &[255u8]);
    check("Mul", &[1i64 << 62], &[4], &[0i64]);
    check("AddV2", &[f16::from_f32(2048.0)], &[f16::from_f32(1.0)], &[f16::from_f32(2048.0)]);
    check("Mul", &[bf16::from_f32(1.5)], &[bf16::from_f32(1.5)], &[bf16::from_f32(2.25)]);
    check("Mul", &[Complex::new(1f64, 2.0)], &[Complex::new(3.0, -1.0)], &[Complex::new(5f64, 5.0)]);
    check("RealDiv", &[Complex::new(1f32, 1.0)], &[Complex::new(0.0, 0.0)], &[Complex::new(INF, INF)]);
    check(
        "RealDiv",
        &[Complex::new(1f32, 2.0), Complex::new(1e30, 0.0)],
        &[Complex::new(0.0, 2.0), Complex::new(1e30, 1e30)],
        &[Complex::new(1f32, -0.5), Complex::new(0.5, -0.5)],
    );
    check("SquaredDifference", &[Complex::new(1f32, 2.0)], &[Complex::new(3.0, -1.0)], &[Complex::new(13f32, 0.0)]);
    check("Maximum", &[NAN, 1.0, 0.0, -0.0], &[1.0, NAN, -0.0, 0.0], &[NAN, NAN, 0.0f32, -0.0]);
    check("Minimum", &[NAN, 1.0, 0.0, -0.0, 2.0], &[1.0, NAN, -0.0, 0.0, 1.0], &[NAN, NAN, 0.0f32, -0.0, 1.0]);
}

#[test]
fn division_follows_tensorflow() {
    check("FloorDiv", &[7i32, -7, 7, -7, i32::MIN], &[2, 2, -2, -2, -1], &[3i32, -4, -4, 3, i32::MIN]);
    check("FloorMod", &[7i32, -7, 7, -7, 6], &[3, 3, -3, -3, -3], &[1i32, 2, -2, -1, 0]);
    check("TruncateDiv", &[7i8, -7, i8::MIN], &[2, 2, -1], &[3i8, -3, i8::MIN]);
    check("TruncateMod", &[7i64, -7], &[3, 3], &[1i64, -1]);
    check("FloorDiv", &[7u16], &[2], &[3u16]);
    check("FloorDiv", &[7i64, -7, 7, -7], &[2, 2, -2, -2], &[3i64, -4, -4, 3]);
    check("FloorDiv", &[i64::MIN, i64::MAX, -1], &[-1, 2, i64::MAX], &[i64::MIN, i64::MAX / 2, -1]);
    check(
        "FloorDiv",
        &[7.0f32, -7.0, 1.0, 0.0, INF, 1.0, -1.0],
        &[2.0, 2.0, 0.0, 0.0, 2.0, INF, INF],
        &[3.0f32, -4.0, INF, NAN, INF, 0.0, -0.0],
    );
    check(
        "FloorMod",
        &[7.0f32, -7.0, 7.0, -7.0, 1.0, INF, 1.0, -1.0, 5.0],
        &[3.0, 3.0, -3.0, -3.0, 0.0, 2.0, INF, INF, -INF],
        &[1.0f32, 2.0, -2.0, -1.0, NAN, NAN, 1.0, INF, -INF],
    );
    check("Mod", &[7.0f32, -7.0], &[3.0, 3.0], &[1.0f32, -1.0]);
    // Quotients of few and of many bits.
    check(
        "Mod",
        &[1e30f32, 5.5, -1e9, 16777216.0, f32::MAX],
        &[3.0, 0.1, 0.7, 2.0, f32::MIN_POSITIVE],
        &[1e30f32 % 3.0, 5.5 % 0.1, -1e9 % 0.7, 0.0, 0.0],
    );
    check(
        "FloorDiv",
        &[i32::MIN, i32::MAX, i32::MAX, i32::MIN, i32::MIN],
        &[1, -1, 2, i32::MAX, 3],
        &[i32::MIN, -i32::MAX, 1_073_741_823, -2, -715_827_883],
    );
    check(
        "FloorMod",
        &[i32::MIN, i32::MAX, i32::MIN, -1, i32::MIN],
        &[-1, i32::MIN, i32::MAX, i32::MIN, 3],
        &[0i32, -1, i32::MAX - 1, -1, 1],
    );
    check("TruncateMod", &[i32::MIN, i32::MIN, -1, i32::MAX], &[-1, i32::MAX, i32::MIN, 10], &[0i32, -1, -1, 7]);
    check("DivNoNan", &[0.0f32, 1.0, NAN, 2.0, INF], &[0.0, 0.0, 0.0, 4.0, 0.0], &[0.0f32, 0.0, 0.0, 0.5, 0.0]);
    check("MulNoNan", &[0.0f32, 1.0, NAN, INF], &[NAN, 0.0, 0.0, 0.0], &[NAN, 0.0f32, 0.0, 0.0]);
    for op in ["Div", "FloorDiv", "FloorMod", "TruncateDiv", "Mod"] {
        fails(op, &[7i32, 7], &[2, 0], "Integer division by zero");
        // The axes of a scalar are a range of its rank, as in the gradients of reductions.
        let none = apply(op, Tensor::vector::<i32>(&[]).unwrap(), Tensor::scalar(0i32)).unwrap();
        assert_eq!(none.as_slice::<i32>().unwrap(), &[] as &[i32], "{op}");
    }
}

#[test]
fn powers() {
    check("Pow", &[2i32, 3, -2, 0, 2], &[3, 20, 31, 0, 40], &[8i32, -808_182_895, i32::MIN, 1, 0]);
    check("Pow", &[2.0f32, -2.0, -2.0, 0.0, NAN, 1.0], &[-3.0, 2.0, 0.5, 0.0, 0.0, NAN], &[0.125f32, 4.0, NAN, 1.0, 1.0, 1.0]);
    fails("Pow", &[2i8], &[-3], "Integers to negative integer powers are not allowed");
}

#[test]
fn comparisons_and_bits() {
    check("Less", &[1.0f32, NAN], &[2.0, 2.0], &[true, false]);
    check("GreaterEqual", &[1i64, 3], &[2, 3], &[false, true]);
    check("Equal", &[NAN, 1.0], &[NAN, 1.0], &[false, true]);
    check("NotEqual", &[Complex::new(1f32, 0.0)], &[Complex::new(1f32, 0.0)], &[false]);
    check("Equal", &[true, false], &[true, true], &[true, false]);
    check("BitwiseXor", &[5u8], &[3], &[6u8]);
    check("LeftShift", &[1i8, 1, 1, 1], &[7, 8, -1, 100], &[-128i8, -128, 1, -128]);
    check("RightShift", &[-128i8, -128, 100, 100], &[1, 8, -1, 100], &[-64i8, -1, 100, 0]);
    check("RightShift", &[128u8, 255], &[1, 8], &[64u8, 1]);
    let and = run1("LogicalAnd", &[], vec![Tensor::vector(&[true, true]).unwrap(), Tensor::scalar(false)]).unwrap();
    assert_eq!(and.as_slice::<bool>().unwrap(), [false, false]);
    let strings = |s: &[&'static str]| Tensor::from_strings([s.len()], s.iter().map(|&s| s.into()).collect()).unwrap();
    assert_eq!(apply("Equal", strings(&["a", "b"]), strings(&["a"])).unwrap().as_slice::<bool>().unwrap(), [true, false]);
    assert_eq!(apply("Add", strings(&["a", "b"]), strings(&["c"])).unwrap().as_strings().unwrap(), ["ac", "bc"]);
}

#[test]
fn equality_may_answer_shapes_that_do_not_match() {
    let call = |op: &str, strict: bool| {
        let (a, b) = (Tensor::vector(&[1f32, 2.0]).unwrap(), Tensor::vector(&[1f32, 2.0, 3.0]).unwrap());
        Call::new(op).attr("T", ty(DType::F32)).attr("incompatible_shape_error", strict).inputs(vec![a, b]).run1()
    };
    assert!(!call("Equal", false).unwrap().to_scalar::<bool>().unwrap());
    assert!(call("NotEqual", false).unwrap().to_scalar::<bool>().unwrap());
    assert!(call("Equal", true).unwrap_err().message().contains("Incompatible shapes: [2] vs. [3]"));
    let near = Call::new("ApproximateEqual")
        .attr("T", ty(DType::F32))
        .inputs(vec![Tensor::vector(&[1f32, 2.0, NAN]).unwrap(), Tensor::vector(&[1.000_001f32, 2.1, NAN]).unwrap()]);
    assert_eq!(near.run1().unwrap().as_slice::<bool>().unwrap(), [true, false, false]);
}

#[test]
fn zero_times_anything() {
    check("Xlogy", &[0.0f32, 0.0, 1.0, NAN], &[0.0, NAN, 0.0, 1.0], &[0.0f32, 0.0, -INF, NAN]);
    check("Xdivy", &[0.0f32, 0.0, 1.0, 2.0], &[0.0, NAN, 0.0, 4.0], &[0.0f32, 0.0, INF, 0.5]);
    check("Xlog1py", &[0.0f32, 1.0], &[-1.0, -1.0], &[0.0f32, -INF]);
    check("NextAfter", &[0.0f32, INF], &[-1.0, 0.0], &[-1e-45f32, f32::MAX]);
    check("Complex", &[1f32], &[2f32], &[Complex::new(1f32, 2.0)]);
    check("Igamma", &[1f64], &[0.0], &[0f64]);
}

/// Compares every layout with the definition: element `(i, j, k)` of the result is computed from the operands' elements at that index.
#[test]
fn every_broadcast_layout() {
    let shapes: [&[usize]; 9] = [&[], &[1], &[7], &[5, 1], &[5, 7], &[3, 1, 7], &[3, 5, 1], &[3, 5, 7], &[1, 1, 1]];
    let tensor = |shape: &[usize], offset: i32| {
        let n: usize = shape.iter().product();
        Tensor::from_slice(shape, &(0..n as i32).map(|i| i + offset).collect::<Vec<_>>()).unwrap()
    };
    let at = |t: &Tensor, index: &[usize]| {
        let (shape, skip) = (t.shape().clone(), index.len() - t.rank());
        let offset: usize = shape.iter().zip(shape.strides()).zip(&index[skip..]).map(|((&n, s), &i)| if n == 1 { 0 } else { i * s }).sum();
        t.as_slice::<i32>().unwrap()[offset]
    };
    for left in shapes {
        for right in shapes {
            for keep in [false, true] {
                let (a, b) = (tensor(left, 1000), tensor(right, 1));
                let kept = keep.then(|| (a.clone(), b.clone()));
                let out = apply("Sub", a, b).unwrap();
                let shape = out.shape().to_vec();
                let (a, b) = kept.unwrap_or_else(|| (tensor(left, 1000), tensor(right, 1)));
                for (flat, &y) in out.as_slice::<i32>().unwrap().iter().enumerate() {
                    let index = index_of(flat, &shape);
                    assert_eq!(y, at(&a, &index) - at(&b, &index), "{left:?} - {right:?} at {index:?}");
                }
            }
        }
    }
}

#[test]
fn large_broadcasts_on_several_threads() {
    let rows = 700usize;
    let x: Vec<f32> = (0..rows * 300).map(|i| i as f32).collect();
    let bias: Vec<f32> = (0..300).map(|i| i as f32 * 0.5).collect();
    let column: Vec<f32> = (0..rows).map(|i| i as f32).collect();
    let out = apply("AddV2", Tensor::from_slice([rows, 300], &x).unwrap(), Tensor::vector(&bias).unwrap()).unwrap();
    let out = apply("Sub", Tensor::from_slice([rows, 1], &column).unwrap(), out).unwrap();
    let out = out.as_slice::<f32>().unwrap();
    assert!((0..rows * 300).all(|i| out[i] == column[i / 300] - (x[i] + bias[i % 300])));
}

#[test]
fn empty_and_incompatible_shapes() {
    let empty = Tensor::zeros(DType::F32, [0, 3]).unwrap();
    assert_eq!(apply("AddV2", empty.clone(), Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()).unwrap().shape().dims(), [0, 3]);
    assert_eq!(apply("AddV2", empty, Tensor::scalar(1f32)).unwrap().shape().dims(), [0, 3]);
    fails("AddV2", &[1f32, 2.0], &[1f32, 2.0, 3.0], "Incompatible shapes: [2] vs. [3]");
}

#[test]
fn pure_functions_of_scalars_are_offered_to_the_executor() {
    let kernel = |op: &str, t: DType| Call::new(op).attr("T", ty(t)).kernel().unwrap();
    assert!(matches!(kernel("AddV2", DType::F32).scalar_op(), Some(ScalarOp::Binary { from: DType::F32, to: DType::F32, .. })));
    assert!(matches!(kernel("Less", DType::I32).scalar_op(), Some(ScalarOp::Binary { from: DType::I32, to: DType::Bool, .. })));
    assert!(kernel("FloorDiv", DType::I32).scalar_op().is_none());
}

#[test]
fn selection() {
    let matrix = |v: [i32; 4]| Tensor::from_slice([2, 2], &v).unwrap();
    let select = |op: &str, c: Tensor, t: Tensor, e: Tensor| run1(op, &[("T", ty(t.dtype()))], vec![c, t, e]);
    let rows = select("Select", Tensor::vector(&[true, false]).unwrap(), matrix([1, 2, 3, 4]), matrix([5, 6, 7, 8])).unwrap();
    assert_eq!(rows.as_slice::<i32>().unwrap(), [1, 2, 7, 8]);
    let columns = select("SelectV2", Tensor::vector(&[true, false]).unwrap(), matrix([1, 2, 3, 4]), matrix([5, 6, 7, 8])).unwrap();
    assert_eq!(columns.as_slice::<i32>().unwrap(), [1, 6, 3, 8]);
    let wide = select("SelectV2", Tensor::from_slice([2, 1], &[true, false]).unwrap(), Tensor::vector(&[1, 2]).unwrap(), Tensor::scalar(9))
        .unwrap();
    assert_eq!(wide.as_slice::<i32>().unwrap(), [1, 2, 9, 9]);
    assert_eq!(
        select("SelectV2", Tensor::scalar(false), Tensor::scalar(1f64), Tensor::scalar(2f64)).unwrap().to_scalar::<f64>().unwrap(),
        2.0
    );
    let strings = select("SelectV2", Tensor::vector(&[true, false]).unwrap(), Tensor::string("a"), Tensor::string("b")).unwrap();
    assert_eq!(strings.as_strings().unwrap(), ["a", "b"]);
    let error = select("Select", Tensor::vector(&[true, false, true]).unwrap(), matrix([0; 4]), matrix([0; 4])).unwrap_err();
    assert!(error.message().contains("Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3"), "{error}");
    let error = select("SelectV2", Tensor::vector(&[true, false, true]).unwrap(), matrix([0; 4]), matrix([0; 4])).unwrap_err();
    assert!(error.message().contains("must be broadcastable"), "{error}");
}

#[test]
fn clipping() {
    let clip = |low: Tensor, high: Tensor| {
        run1("ClipByValue", &[("T", ty(DType::F32))], vec![Tensor::vector(&[1f32, 5.0, 9.0, NAN]).unwrap(), low, high])
    };
    let clipped = clip(Tensor::scalar(2f32), Tensor::vector(&[6f32; 4]).unwrap()).unwrap();
    assert_eq!(format!("{:?}", clipped.as_slice::<f32>().unwrap()), "[2.0, 5.0, 6.0, NaN]");
    let crossed = clip(Tensor::scalar(7f32), Tensor::scalar(6f32)).unwrap();
    assert_eq!(format!("{:?}", crossed.as_slice::<f32>().unwrap()), "[7.0, 7.0, 7.0, NaN]");
    assert!(
        clip(Tensor::vector(&[1f32, 2.0]).unwrap(), Tensor::scalar(6f32))
            .unwrap_err()
            .message()
            .contains("must be either of the same shape as input, or a scalar")
    );
}

struct Count(i64);

impl VariantValue for Count {
    fn type_name(&self) -> &'static str {
        "Count"
    }
    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        Ok(Variant::new(Count(0)))
    }
    fn add(&self, other: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        Ok(Variant::new(Count(self.0 + other.get::<Count>().map_or(0, |c| c.0))))
    }
}

#[test]
fn long_sums_are_added_from_left_to_right() {
    for len in [1, 513, 1700, 70_001] {
        let term = |k: usize| -> Vec<f32> { (0..len).map(|i| ((i * 31 + k * 17) % 97) as f32 / (k as f32 * 3.0 + 0.7)).collect() };
        let terms: Vec<Vec<f32>> = (0..5).map(term).collect();
        let expected: Vec<f32> = (0..len).map(|i| terms[1..].iter().fold(terms[0][i], |sum, term| sum + term[i])).collect();
        let inputs = || -> Vec<Tensor> { terms.iter().map(|term| Tensor::vector(term).unwrap()).collect() };
        // Memory is reused of inputs that nothing else refers to.
        for shared in [&[][..], &[0], &[1], &[0, 1, 2, 3, 4]] {
            let inputs = inputs();
            let others: Vec<Tensor> = shared.iter().map(|&i: &usize| inputs[i].clone()).collect();
            let sum = run1("AddN", &[("T", ty(DType::F32))], inputs).unwrap();
            assert_eq!(sum.as_slice::<f32>().unwrap(), expected, "{len} elements, shared: {shared:?}");
            for (&i, other) in shared.iter().zip(&others) {
                assert_eq!(other.as_slice::<f32>().unwrap(), terms[i]);
            }
        }
        let one = run1("AddN", &[("T", ty(DType::F32))], inputs()[..1].to_vec()).unwrap();
        assert_eq!(one.as_slice::<f32>().unwrap(), terms[0]);
    }
}

#[test]
fn sums_of_many() {
    let vector = |v: &[f32]| Tensor::vector(v).unwrap();
    let sum = run1("AddN", &[("T", ty(DType::F32))], vec![vector(&[1.0, 2.0]), vector(&[3.0, 4.0]), vector(&[5.0, 6.0])]).unwrap();
    assert_eq!(sum.as_slice::<f32>().unwrap(), [9.0, 12.0]);
    let error = run1("AddN", &[("T", ty(DType::F32))], vec![vector(&[1.0, 2.0]), vector(&[3.0])]).unwrap_err();
    assert!(error.message().contains("must have the same size and shape.  Input 0: [2] != input 1: [1]"), "{error}");
    let count = |n| Tensor::variant(Variant::new(Count(n)));
    let accumulate = |shape: &[i64]| {
        let attrs = [("T", ty(DType::F32)), ("shape", crate::testing::shape(shape))];
        run1("AccumulateNV2", &attrs, vec![vector(&[1.0, 2.0]), vector(&[3.0, 4.0])])
    };
    assert_eq!(accumulate(&[-1]).unwrap(), vector(&[4.0, 6.0]));
    assert!(accumulate(&[3]).unwrap_err().message().ends_with("have shape [2], not [3]"));
    let sum = run1("AddN", &[("T", ty(DType::Variant))], vec![count(1), count(20), count(300)]).unwrap();
    assert_eq!(sum.as_variants().unwrap()[0].get::<Count>().unwrap().0, 321);
}

#[test]
fn cross_products() {
    let cross = apply("Cross", Tensor::vector(&[1f32, 2.0, 3.0]).unwrap(), Tensor::vector(&[4f32, 5.0, 6.0]).unwrap()).unwrap();
    assert_eq!(cross.as_slice::<f32>().unwrap(), [-3.0, 6.0, -3.0]);
    assert_eq!(
        apply("Cross", Tensor::vector(&[1f32, 2.0]).unwrap(), Tensor::vector(&[4f32, 5.0]).unwrap()).unwrap_err().code(),
        Code::FailedPrecondition
    );
}
