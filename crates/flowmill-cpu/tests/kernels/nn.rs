use crate::testing::{Call, run, run1, ty};
use flowmill_tensor::{DType, Element, Result, Tensor, bf16, f16};

const NAN: f32 = f32::NAN;
const FEATURES: [f32; 8] = [-2.0, -1.0, -0.0, 0.0, 0.5, 3.0, 7.0, NAN];

#[track_caller]
fn close(found: &Tensor, expected: &[f32]) {
    let found = found.as_slice::<f32>().unwrap();
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!(x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 2e-6 * y.abs().max(0.1), "{found:?} for {expected:?}");
    }
}

#[test]
fn activations() {
    for (op, expected) in [
        ("Relu", [0.0, 0.0, 0.0, 0.0, 0.5, 3.0, 7.0, NAN]),
        ("Relu6", [0.0, 0.0, 0.0, 0.0, 0.5, 3.0, 6.0, NAN]),
        ("Elu", [-0.864_664_73, -0.632_120_55, 0.0, 0.0, 0.5, 3.0, 7.0, NAN]),
        ("Selu", [-1.520_166_5, -1.111_330_7, 0.0, 0.0, 0.525_350_5, 3.152_103, 7.354_907, NAN]),
        ("Softplus", [0.126_928, 0.313_261_7, 0.693_147_2, 0.693_147_2, 0.974_076_9, 3.048_587, 7.000_911_7, NAN]),
        ("Softsign", [-0.666_666_7, -0.5, 0.0, 0.0, 0.333_333_34, 0.75, 0.875, NAN]),
        ("LeakyRelu", [-0.4, -0.2, 0.0, 0.0, 0.5, 3.0, 7.0, NAN]),
    ] {
        close(&run1(op, &[("T", ty(DType::F32))], vec![Tensor::vector(&FEATURES).unwrap()]).unwrap(), &expected);
        let double = Tensor::vector(&FEATURES.map(f64::from)).unwrap();
        let double = run1(op, &[("T", ty(DType::F64))], vec![double]).unwrap();
        close(&Tensor::vector(&double.as_slice::<f64>().unwrap().iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap(), &expected);
        for x in FEATURES {
            run1(op, &[("T", ty(DType::F32))], vec![Tensor::scalar(x)]).unwrap();
        }
    }
    assert_eq!(run1("Relu", &[("T", ty(DType::I32))], vec![Tensor::vector(&[-3, 4]).unwrap()]).unwrap().as_slice::<i32>().unwrap(), [0, 4]);
    assert_eq!(
        run1("Relu6", &[("T", ty(DType::BF16))], vec![Tensor::scalar(bf16::from_f32(9.0))]).unwrap().to_scalar::<bf16>().unwrap(),
        bf16::from_f32(6.0)
    );
}

#[test]
fn gradients_of_activations() {
    for (op, expected) in [
        ("ReluGrad", [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0]),
        ("Relu6Grad", [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0]),
        ("LeakyReluGrad", [0.4, 0.4, 0.4, 0.4, 2.0, 2.0, 2.0, 0.4]),
        ("EluGrad", [-2.0, 0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]),
        ("SeluGrad", [-0.483_801_36, 1.516_198_6, 2.101_402, 2.101_402, 2.101_402, 2.101_402, 2.101_402, 2.101_402]),
        ("SoftplusGrad", [0.238_405_84, 0.537_882_86, 1.0, 1.0, 1.244_918_7, 1.905_148_3, 1.998_178, NAN]),
        ("SoftsignGrad", [0.222_222_22, 0.5, 2.0, 2.0, 0.888_888_9, 0.125, 0.031_25, NAN]),
    ] {
        let inputs = vec![Tensor::vector(&[2f32; 8]).unwrap(), Tensor::vector(&FEATURES).unwrap()];
        close(&run1(op, &[("T", ty(DType::F32))], inputs).unwrap(), &expected);
        let wrong = vec![Tensor::vector(&[2f32; 7]).unwrap(), Tensor::vector(&FEATURES).unwrap()];
        assert!(run1(op, &[("T", ty(DType::F32))], wrong).is_err());
    }
}

#[test]
fn second_gradients_of_windows_that_are_inputs() {
    let image = Tensor::from_slice([1, 2, 4, 1], &[1f32, 5.0, 2.0, 2.0, 3.0, 4.0, 8.0, 0.0]).unwrap();
    let grads = Tensor::from_slice([1, 2, 4, 1], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
    let pooled = Tensor::from_slice([1, 1, 2, 1], &[5f32, 8.0]).unwrap();
    let call = |output: Tensor, grads: Tensor, size: &[i32]| {
        let (size, strides) = (Tensor::vector(size).unwrap(), Tensor::vector(&[1, 2, 2, 1]).unwrap());
        let call = Call::new("MaxPoolGradGradV2").attr("T", ty(DType::F32)).attr("padding", "VALID");
        call.inputs(vec![image.clone(), output, grads, size, strides]).run1()
    };
    close(&call(pooled.clone(), grads.clone(), &[1, 2, 2, 1]).unwrap(), &[1.0, 6.0]);
    for (output, grads, size, message) in [
        (&pooled, &pooled, &[1, 2, 2, 1][..], "Expected grad shape to be [1,2,4,1], but got [1,1,2,1]"),
        (&grads, &grads, &[1, 2, 2, 1], "Expected orig_output shape to be [1,1,2,1], but got [1,2,4,1]"),
        (&pooled, &grads, &[2, 2], "Sliding window ksize field must specify 4 dimensions"),
        (&pooled, &grads, &[2, 2, 2, 1], "Pooling is not yet supported on the batch dimension."),
    ] {
        let error = call(output.clone(), grads.clone(), size).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn pools_of_types_that_are_computed_in_wider_ones() {
    fn row<T: Element>(op: &str, inputs: &[&[T]]) -> Vec<T> {
        let inputs = inputs.iter().map(|x| Tensor::from_slice([1, 1, x.len(), 1], x).unwrap()).collect();
        let window = |size: i64| vec![1, 1, size, 1];
        let call = Call::new(op).attr("T", ty(T::DTYPE)).attr("padding", "VALID").attr("ksize", window(2)).attr("strides", window(1));
        call.inputs(inputs).run1().unwrap().as_slice().unwrap().to_vec()
    }
    let halves = [f16::NAN, f16::NAN, f16::NEG_INFINITY, f16::NEG_INFINITY, f16::from_f32(2.5)];
    assert_eq!(row("MaxPool", &[&halves]), [f16::MIN, f16::MIN, f16::MIN, f16::from_f32(2.5)]);
    assert_eq!(row("MaxPool", &[&[bf16::NAN, bf16::NEG_INFINITY, bf16::ONE]]), [bf16::MIN, bf16::ONE]);
    assert_eq!(row("AvgPool", &[&[f16::MAX, f16::MAX, f16::NEG_INFINITY]]), [f16::MAX, f16::NEG_INFINITY]);
    assert_eq!(row("MaxPool", &[&[i16::MIN, -5, 7, u8::MAX as i16]]), [-5, 7, 255]);
    assert_eq!(row("MaxPool", &[&[3, u16::MAX, 0]]), [u16::MAX, u16::MAX]);
    // Sums of gradients of integers wrap around.
    assert_eq!(row::<i16>("MaxPoolGrad", &[&[1, 9, 1], &[9, 9], &[30000, 30000]]), [0, -5536, 0]);
    assert_eq!(row::<u16>("MaxPoolGrad", &[&[1, 9, 1], &[9, 9], &[40000, 40000]]), [0, 14464, 0]);
    let halves = |values: &[f32]| values.iter().copied().map(f16::from_f32).collect::<Vec<_>>();
    let gradient = row("MaxPoolGrad", &[&halves(&[1.0, 9.0, 1.0]), &halves(&[9.0, 9.0]), &halves(&[1.5, 2.0])]);
    assert_eq!(gradient, halves(&[0.0, 3.5, 0.0]));
}

#[test]
fn softmax_of_rows() {
    let x = Tensor::from_slice([2, 3], &[1f32, 2.0, 3.0, 1000.0, 1000.0, f32::NEG_INFINITY]).unwrap();
    let softmax = run1("Softmax", &[("T", ty(DType::F32))], vec![x.clone()]).unwrap();
    close(&softmax, &[0.090_030_57, 0.244_728_48, 0.665_240_94, 0.5, 0.5, 0.0]);
    let log = run1("LogSoftmax", &[("T", ty(DType::F32))], vec![x]).unwrap();
    close(&log, &[-2.407_606, -1.407_606, -0.407_606, -0.693_147_2, -0.693_147_2, f32::NEG_INFINITY]);
    assert_eq!(run1("Softmax", &[("T", ty(DType::F32))], vec![Tensor::zeros(DType::F32, [2, 0]).unwrap()]).unwrap().num_elements(), 0);
    let large: Vec<f32> = (0..300 * 200).map(|i| (i % 97) as f32).collect();
    let all = run1("Softmax", &[("T", ty(DType::F32))], vec![Tensor::from_slice([300, 200], &large).unwrap()]).unwrap();
    let one = run1("Softmax", &[("T", ty(DType::F32))], vec![Tensor::from_slice([1, 200], &large[200 * 299..]).unwrap()]).unwrap();
    assert_eq!(all.as_slice::<f32>().unwrap()[200 * 299..], *one.as_slice::<f32>().unwrap());
}

#[test]
fn cross_entropies() {
    let logits = || Tensor::from_slice([2, 3], &[1f32, 2.0, 3.0, 1.0, 1.0, 1.0]).unwrap();
    let dense = |labels: Tensor| run("SoftmaxCrossEntropyWithLogits", &[("T", ty(DType::F32))], vec![logits(), labels]);
    let out = dense(Tensor::from_slice([2, 3], &[0f32, 0.0, 1.0, 0.5, 0.5, 0.0]).unwrap()).unwrap();
    close(out[0].as_ref().unwrap(), &[0.407_605_95, 1.098_612_3]);
    close(out[1].as_ref().unwrap(), &[0.090_030_57, 0.244_728_48, -0.334_759_06, -0.166_666_66, -0.166_666_66, 0.333_333_34]);
    let broadcast = dense(Tensor::from_slice([1, 3], &[0f32, 0.0, 1.0]).unwrap()).unwrap();
    close(broadcast[0].as_ref().unwrap(), &[0.407_605_95, 1.098_612_3]);
    assert!(
        dense(Tensor::from_slice([1, 2], &[0f32, 0.0]).unwrap())
            .unwrap_err()
            .message()
            .contains("logits and labels must be broadcastable: logits_size=[2,3] labels_size=[1,2]")
    );

    let sparse = |logits: Tensor, labels: &[i32]| {
        run("SparseSoftmaxCrossEntropyWithLogits", &[("T", ty(DType::F32))], vec![logits, Tensor::vector(labels)?])
    };
    let out = sparse(logits(), &[2, 0]).unwrap();
    close(out[0].as_ref().unwrap(), &[0.407_605_95, 1.098_612_3]);
    close(out[1].as_ref().unwrap(), &[0.090_030_57, 0.244_728_48, -0.334_759_06, -0.666_666_6, 0.333_333_34, 0.333_333_34]);
    for (x, labels, message) in [
        (logits(), &[2, -1][..], "Received a label value of -1 which is outside the valid range of [0, 3).  Label values: 2 -1"),
        (logits(), &[2, 1, 1], "logits and labels must have the same first dimension, got logits shape [2,3] and labels shape [3]"),
        (Tensor::zeros(DType::F32, [2, 0]).unwrap(), &[0, 0], "Must have at least one class, but got logits shape [2,0]"),
        (Tensor::zeros(DType::F32, [3]).unwrap(), &[0], "logits must be 2-D, but got shape [3]"),
    ] {
        let error = sparse(x, labels).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
    close(&run1("L2Loss", &[("T", ty(DType::F32))], vec![Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()]).unwrap(), &[7.0]);
}

#[test]
fn biases_in_both_formats() {
    let add = |value: Tensor, bias: Tensor, format: &str| -> Result<Tensor> {
        Call::new("BiasAdd").attr("T", ty(DType::F32)).attr("data_format", format).inputs(vec![value, bias]).run1()
    };
    let ones = |dims: &[usize]| Tensor::from_slice(dims, &vec![1f32; dims.iter().product()]).unwrap();
    let bias = || Tensor::vector(&[1f32, 2.0]).unwrap();
    close(&add(ones(&[2, 2]), bias(), "NHWC").unwrap(), &[2.0, 3.0, 2.0, 3.0]);
    close(&add(ones(&[2, 2, 2]), bias(), "NCHW").unwrap(), &[2.0, 2.0, 3.0, 3.0, 2.0, 2.0, 3.0, 3.0]);
    for (value, message) in [
        (ones(&[2, 3]), "Must provide as many biases as the last dimension of the input tensor: [2] vs. [2,3]"),
        (ones(&[2]), "Input tensor must be at least 2D: [2]"),
    ] {
        let error = add(value, bias(), "NHWC").unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
    let gradient =
        |x: Tensor, format: &str| Call::new("BiasAddGrad").attr("T", ty(DType::F32)).attr("data_format", format).input(x).run1().unwrap();
    close(&gradient(ones(&[2, 3, 2]), "NCHW"), &[4.0; 3]);
    close(&gradient(ones(&[2, 3, 2]), "NHWC"), &[6.0; 2]);
    close(&gradient(Tensor::zeros(DType::F32, [0, 3]).unwrap(), "NHWC"), &[0.0; 3]);
}

#[test]
fn conv_takes_several_batch_dimensions_and_checks_its_groups() {
    use crate::testing::ints;
    let image = |shape: &[usize]| {
        Tensor::from_slice(flowmill_tensor::Shape::new(shape), &(0..192).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<_>>()).unwrap()
    };
    let filter = || Tensor::from_slice([2, 2, 2, 3], &(0..24).map(|i| (i % 5) as f32 - 2.0).collect::<Vec<_>>()).unwrap();
    let attrs = [
        ("T", ty(DType::F32)),
        ("padding", "SAME".into()),
        ("strides", ints(&[1, 2, 1, 1])),
        ("dilations", ints(&[])),
        ("explicit_paddings", ints(&[])),
    ];
    let conv = |x: Tensor, batch_dims: i64, groups: i64| {
        Call::new("Conv").attrs(&attrs).attr("batch_dims", batch_dims).attr("groups", groups).inputs(vec![x, filter()]).run1()
    };
    let expected =
        Call::new("Conv2D").attrs(&attrs).attr("dilations", ints(&[1; 4])).inputs(vec![image(&[6, 4, 4, 2]), filter()]).run1().unwrap();
    assert_eq!(conv(image(&[6, 4, 4, 2]), 1, 1).unwrap(), expected);
    let several = conv(image(&[2, 3, 4, 4, 2]), 2, 1).unwrap();
    assert_eq!(several.shape().dims(), [2, 3, 2, 4, 3]);
    assert_eq!(several.as_slice::<f32>().unwrap(), expected.as_slice::<f32>().unwrap());
    assert!(conv(image(&[6, 4, 4, 2]), 1, 2).unwrap_err().message().contains("same depth"));
    assert!(conv(image(&[6, 4, 4, 2]), 2, 1).unwrap_err().message().contains("must have 5 dimensions"));
    assert!(conv(image(&[6, 4, 4, 2]), 0, 1).unwrap_err().message().contains("batch_dims must be positive"));
}

#[test]
fn gradients_of_activations_do_not_broadcast() {
    let one = Tensor::vector(&[1f32]).unwrap();
    for op in ["EluGrad", "ReluGrad", "Relu6Grad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"] {
        let error = run1(op, &[("T", ty(DType::F32))], vec![Tensor::scalar(1f32), one.clone()]).unwrap_err();
        assert_eq!(error.message(), "The two arguments must be the same size, got [] and [1]", "{op}");
        assert!(run1(op, &[("T", ty(DType::F32))], vec![one.clone(), one.clone()]).is_ok(), "{op}");
    }
}

#[test]
fn local_response_normalization() {
    for (depth, radius, bias, alpha, beta) in [
        (1, 2, 1.0, 1.0, 0.5),
        (7, 1, 0.5, 2.0, 0.75),
        (37, 5, 1.0, 1e-2, 0.75),
        (5, 100, 2.0, 0.3, 1.0),
        (9, 0, -1.5, 1.0, 2.0),
        (130, 5, 1.0, 1.0, 0.5),
    ] {
        let x: Vec<f32> = (0..6 * depth).map(|i| (i * 37 % 101) as f32 / 25.0 - 2.0).collect();
        let norm = |i: usize| -> f64 {
            let (pixel, c) = (i / depth * depth, i % depth);
            let around = c.saturating_sub(radius)..(c + radius + 1).min(depth);
            f64::from(bias) + f64::from(alpha) * around.map(|k| f64::from(x[pixel + k]).powi(2)).sum::<f64>()
        };
        let expected: Vec<f32> = (0..x.len()).map(|i| (f64::from(x[i]) * norm(i).powf(-f64::from(beta))) as f32).collect();
        let attrs = [
            ("T", ty(DType::F32)),
            ("depth_radius", (radius as i64).into()),
            ("bias", bias.into()),
            ("alpha", alpha.into()),
            ("beta", beta.into()),
        ];
        let input = Tensor::from_slice([1, 2, 3, depth], &x).unwrap();
        let found = run1("LRN", &attrs, vec![input]).unwrap();
        for (found, expected) in found.as_slice::<f32>().unwrap().iter().zip(&expected) {
            assert!((found - expected).abs() <= 2e-6 * expected.abs().max(0.1), "{found} for {expected}: depth {depth}, beta {beta}");
        }
    }
}
