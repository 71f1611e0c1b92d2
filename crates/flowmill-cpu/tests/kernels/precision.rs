//! Products in `bfloat16`: of tensors of that type, and of `float32` by constants in a session that allows it.

use crate::testing::{Call, ints, strings, ty, types};
use flowmill_proto::AttrValue;
use flowmill_runtime::InferencePrecision;
use flowmill_tensor::{DType, Result, Shape, Tensor, bf16};

/// Returns integers from -8 to 8, of which sums of products are exact, times `scale`.
fn tensor(dims: &[usize], seed: usize, scale: f32) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| (((i * 7919 + seed * 104_729) % 2003 % 17) as f32 - 8.0) * scale).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

/// Returns a tensor in `bfloat16`.
fn narrow(x: &Tensor) -> Tensor {
    let values: Vec<bf16> = x.as_slice::<f32>().unwrap().iter().map(|x| bf16::from_f32(*x)).collect();
    Tensor::from_slice(x.shape().clone(), &values).unwrap()
}

/// A factor that is rounded away with the numbers that [`tensor`] returns.
const ROUNDED: f32 = 1.0 + 1.0 / 1024.0;

/// An op with its attributes besides the types, and the shapes of its inputs.
struct Case {
    op: &'static str,
    attrs: Vec<(&'static str, AttrValue)>,
    shapes: Vec<Vec<usize>>,
}

fn cases() -> Vec<Case> {
    let steps = || vec![("strides", ints(&[1, 1, 1, 1])), ("padding", AttrValue::from("SAME"))];
    let case = |op, attrs, shapes: &[&[usize]]| Case { op, attrs, shapes: shapes.iter().map(|s| s.to_vec()).collect() };
    let mut all = vec![
        case("MatMul", vec![], &[&[5, 33], &[33, 40]]),
        case("MatMul", vec![("transpose_b", true.into())], &[&[70, 301], &[20, 301]]),
        case("BatchMatMulV2", vec![], &[&[2, 3, 33], &[33, 40]]),
        case(
            "_FusedMatMul",
            vec![("fused_ops", strings(&["BiasAdd", "Add", "Relu"])), ("num_args", 2i64.into())],
            &[&[9, 64], &[64, 31], &[31], &[9, 31]],
        ),
    ];
    for filter in [[1, 1, 16, 24], [3, 2, 16, 24], [2, 3, 8, 40], [5, 5, 16, 3]] {
        all.push(case("Conv2D", steps(), &[&[2, 9, 11, 16], &filter]));
    }
    all
}

fn call(case: &Case, dtype: DType, scale: f32, convert: fn(&Tensor) -> Tensor) -> Call {
    let inputs = case.shapes.iter().enumerate().map(|(i, shape)| convert(&tensor(shape, i, scale))).collect();
    Call::new(case.op).attr("T", ty(dtype)).attrs(&case.attrs).inputs(inputs)
}

#[test]
fn tensors_of_bfloat16_are_multiplied_exactly_and_rounded_once() {
    for case in cases() {
        let expected = narrow(&call(&case, DType::F32, 1.0, Tensor::clone).run1().unwrap());
        let result = call(&case, DType::BF16, 1.0, narrow).run1().unwrap();
        assert_eq!(result.as_slice::<bf16>().unwrap(), expected.as_slice::<bf16>().unwrap(), "{} {:?}", case.op, case.shapes);
    }
    let transposed = |a: Tensor| {
        Call::new("MatMul").attr("T", ty(a.dtype())).attr("transpose_a", true).inputs(vec![a, narrow(&tensor(&[33, 7], 1, 1.0))])
    };
    let rows: Vec<f32> = (0..5 * 33).map(|i| tensor(&[33, 5], 0, 1.0).as_slice::<f32>().unwrap()[i % 33 * 5 + i / 33]).collect();
    let plain =
        Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![Tensor::from_slice([5, 33], &rows).unwrap(), tensor(&[33, 7], 1, 1.0)]);
    let result = transposed(narrow(&tensor(&[33, 5], 0, 1.0))).run1().unwrap();
    assert_eq!(result.as_slice::<bf16>().unwrap(), narrow(&plain.run1().unwrap()).as_slice::<bf16>().unwrap());
}

#[test]
fn a_right_hand_side_of_bfloat16_is_followed_when_it_changes() {
    let a = narrow(&tensor(&[3, 32], 0, 1.0));
    let weights = [narrow(&tensor(&[32, 32], 1, 1.0)), narrow(&tensor(&[32, 32], 2, 1.0))];
    let call = |b: &Tensor| Call::new("MatMul").attr("T", ty(DType::BF16)).inputs(vec![a.clone(), b.clone()]);
    let expected: Vec<Tensor> = weights.iter().map(|b| call(b).run1().unwrap()).collect();
    let kernel = call(&weights[0]).kernel().unwrap();
    for i in [0, 0, 1, 1, 0, 1, 0, 1, 0, 0] {
        let result = call(&weights[i]).run_with(&kernel).unwrap()[0].clone().unwrap();
        assert_eq!(result.as_slice::<bf16>().unwrap(), expected[i].as_slice::<bf16>().unwrap());
    }
}

/// Checks that factors are rounded if the weights are constants, the session allows it, and the convolution is a product; never otherwise.
fn check_rounding(name: &str, run: impl Fn(f32, Option<InferencePrecision>) -> Result<Tensor>, is_rounded: bool) {
    let values = |scale, precision| run(scale, precision).unwrap().as_slice::<f32>().unwrap().to_vec();
    let (exact, rough) = (values(1.0, None), values(ROUNDED, None));
    assert_ne!(exact, rough, "{name}");
    assert_eq!(values(ROUNDED, Some(InferencePrecision::F32)), rough, "{name}");
    let narrow = values(ROUNDED, Some(InferencePrecision::Bf16));
    assert_eq!(narrow, if is_rounded { exact } else { rough }, "{name}");
}

#[test]
fn factors_are_rounded_where_the_session_allows_it() {
    for case in cases() {
        let run = |scale: f32, precision: Option<InferencePrecision>| {
            // Biases and addends are not rounded.
            let inputs = case.shapes.iter().enumerate().map(|(i, shape)| tensor(shape, i, if i < 2 { scale } else { 1.0 }));
            let call = Call::new(case.op).attr("T", ty(DType::F32)).attrs(&case.attrs).inputs(inputs.collect());
            precision.into_iter().fold(call, Call::constant).run1()
        };
        // Few output channels are computed by dot products, in `float32`.
        let is_narrow = case.shapes[1] == [5, 5, 16, 3];
        check_rounding(&format!("{} {:?}", case.op, case.shapes), run, !is_narrow);
    }
}

#[test]
fn fused_convolutions_round_what_they_multiply() {
    let (steps, image) = ([("strides", ints(&[1, 1, 1, 1])), ("padding", AttrValue::from("SAME"))], &[1, 6, 5, 8]);
    let run = |scale, precision: Option<InferencePrecision>| {
        let inputs = vec![tensor(image, 1, scale), tensor(&[1, 1, 8, 17], 2, scale), tensor(&[17], 3, 1.0)];
        let call =
            Call::new("_FusedConv2D").attr("T", ty(DType::F32)).attr("num_args", 1i64).attr("TArgs", types(&[DType::F32])).attrs(&steps);
        let call = call.attr("fused_ops", strings(&["BiasAdd", "Relu"])).inputs(inputs);
        precision.into_iter().fold(call, Call::constant).run1()
    };
    check_rounding("_FusedConv2D", run, true);
    // The depthwise convolution in the middle, whose filter passes numbers on, is computed in `float32`.
    let run = |scale, precision: Option<InferencePrecision>| {
        let inputs =
            vec![tensor(image, 1, scale), Tensor::from_slice([1, 1, 17, 1], &[1f32; 17]).unwrap(), tensor(&[1, 1, 8, 17], 2, scale)];
        let none = || strings(&[]);
        let call =
            Call::new("_FusedSeparableConv2D").attr("T", ty(DType::F32)).attrs(&steps).attr("num_expansion", 1i64).attr("num_args", 0i64);
        let call = call.attr("num_projection", 0i64).attr("expansion_ops", none()).attr("fused_ops", none()).attr("projection_ops", none());
        precision.into_iter().fold(call.inputs(inputs), Call::constant).run1()
    };
    check_rounding("_FusedSeparableConv2D", run, true);
    let run = |scale, precision: Option<InferencePrecision>| {
        let inputs = vec![tensor(&[1, 1, 8, 17], 2, scale), tensor(image, 1, scale)];
        let call = Call::new("_FusedElementwiseProduct")
            .attr("T", ty(DType::F32))
            .attr("pieces", ints(&[0, 1]))
            .attr("program", strings(&["Neg 0"]));
        let call =
            call.attr("outputs", ints(&[1])).attr("N", 1i64).attr("num_epilogue", 0i64).attr("fused_ops", strings(&[])).inputs(inputs);
        precision.into_iter().fold(call, Call::constant).run1()
    };
    check_rounding("_FusedElementwiseProduct", run, true);
    let run = |scale, precision: Option<InferencePrecision>| {
        let inputs = vec![tensor(image, 1, scale), tensor(&[1, 1, 8, 17], 2, scale)];
        let call = Call::new("_FusedConv2DElementwise").attr("T", ty(DType::F32)).attr("pieces", ints(&[0, 1])).attrs(&steps);
        let call = call.attr("program", strings(&["Neg 0"])).attr("outputs", ints(&[1])).attr("N", 0i64).attr("num_epilogue", 0i64);
        precision.into_iter().fold(call.attr("fused_ops", strings(&[])).inputs(inputs), Call::constant).run1()
    };
    check_rounding("_FusedConv2DElementwise", run, true);
}

#[test]
fn precisions_have_names() {
    assert_eq!("f32".parse(), Ok(InferencePrecision::F32));
    assert_eq!("bf16".parse(), Ok(InferencePrecision::Bf16));
    assert_eq!("bfloat16".parse(), Ok(InferencePrecision::Bf16));
    let error = "fp16".parse::<InferencePrecision>().unwrap_err();
    assert_eq!(error.message(), "inference_precision must be 'f32' or 'bf16', not 'fp16'");
}
