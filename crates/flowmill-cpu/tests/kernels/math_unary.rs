use crate::testing::{Call, run1, ty};
use flowmill_tensor::{Complex, DType, Element, Tensor, bf16, f16};
use std::f32::consts::PI;

#[track_caller]
fn apply<T: Element, D: Element>(op: &str, x: &[T]) -> Vec<D> {
    let vector = run1(op, &[("T", ty(T::DTYPE))], vec![Tensor::vector(x).unwrap()]).unwrap();
    let values = vector.as_slice::<D>().unwrap().to_vec();
    for (&x, y) in x.iter().zip(&values) {
        let scalar = run1(op, &[("T", ty(T::DTYPE))], vec![Tensor::scalar(x)]).unwrap();
        assert_eq!(scalar.rank(), 0);
        assert_eq!(format!("{:?}", scalar.to_scalar::<D>().unwrap()), format!("{y:?}"), "{op} of the scalar {x:?}");
    }
    values
}

#[track_caller]
fn check<T: Element, D: Element>(op: &str, x: &[T], y: &[D]) {
    assert_eq!(format!("{:?}", apply::<T, D>(op, x)), format!("{y:?}"), "{op}");
}

#[track_caller]
fn close(op: &str, x: &[f32], y: &[f32]) {
    for ((x, found), y) in x.iter().zip(apply::<f32, f32>(op, x)).zip(y) {
        let equal = found == *y || (found.is_nan() && y.is_nan()) || (found - y).abs() <= 1e-6 * y.abs();
        assert!(equal, "{op}({x}) = {found}, not {y}");
    }
}

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

#[test]
fn signs() {
    check("Abs", &[-1.5f32, 0.0, -INF], &[1.5f32, 0.0, INF]);
    check("Abs", &[i32::MIN, -3, 3], &[i32::MIN, 3, 3]);
    check("Abs", &[f16::from_f32(-2.0)], &[f16::from_f32(2.0)]);
    check("Neg", &[i8::MIN, 5], &[i8::MIN, -5]);
    check("Neg", &[Complex::new(1.0f32, -2.0)], &[Complex::new(-1.0f32, 2.0)]);
    check("Sign", &[NAN, 0.0, -2.0, INF], &[NAN, 0.0, -1.0, 1.0]);
    check("Sign", &[-7i64, 0, 9], &[-1i64, 0, 1]);
    check("Sign", &[Complex::new(3.0f64, 4.0), Complex::new(0.0, 0.0)], &[Complex::new(0.6f64, 0.8), Complex::new(0.0, 0.0)]);
    check("Square", &[200u8, 3], &[64u8, 9]);
    check("Square", &[bf16::from_f32(1.5)], &[bf16::from_f32(2.25)]);
}

#[test]
fn bits_and_classes() {
    check("Invert", &[0u8, 5], &[255u8, 250]);
    check("Invert", &[0i64, 5], &[-1i64, -6]);
    check("PopulationCount", &[-1i16, 3], &[16u8, 2]);
    check("LogicalNot", &[true, false], &[false, true]);
    check("IsNan", &[NAN, 1.0, INF], &[true, false, false]);
    check("IsInf", &[NAN, 1.0, -INF], &[false, false, true]);
    check("IsFinite", &[f16::from_f32(1.0), f16::INFINITY], &[true, false]);
}

#[test]
fn rounding_is_to_even() {
    check("Round", &[0.5f32, 1.5, -2.5, 2.6], &[0.0f32, 2.0, -2.0, 3.0]);
    check("Rint", &[0.5f64, 1.5], &[0.0f64, 2.0]);
    check("Round", &[3i32], &[3i32]);
    check("Ceil", &[-0.5f32, 1.2], &[-0.0f32, 2.0]);
    check("Floor", &[-0.5f32, 1.2], &[-1.0f32, 1.0]);
}

#[test]
fn elementary_functions() {
    close("Sqrt", &[4.0, -1.0], &[2.0, NAN]);
    close("Rsqrt", &[4.0, 0.0], &[0.5, INF]);
    close("Reciprocal", &[4.0, 0.0], &[0.25, INF]);
    close("Exp", &[0.0, 1.0, -INF, 100.0], &[1.0, 2.718_281_8, 0.0, INF]);
    close("Expm1", &[1e-6], &[1.000_000_5e-6]);
    close("Log", &[1.0, 0.0, -1.0], &[0.0, -INF, NAN]);
    close("Log1p", &[1e-6, -1.0], &[9.999_995e-7, -INF]);
    close("Tanh", &[0.0, 1.0, 50.0], &[0.0, 0.761_594_2, 1.0]);
    close("Sigmoid", &[0.0, 2.0, -INF], &[0.5, 0.880_797_1, 0.0]);
    close("Erf", &[0.5, -3.0], &[0.520_499_9, -0.999_977_9]);
    close("Erfc", &[0.5, 4.0], &[0.479_500_1, 1.541_725_8e-8]);
    close("Atan", &[INF], &[PI / 2.0]);
    close("Acosh", &[1.0, 0.5], &[0.0, NAN]);
    close("Lgamma", &[0.0, -0.5, 10.0], &[INF, 1.265_512_1, 12.801_827]);
    close("Digamma", &[0.0, 10.0], &[NAN, 2.251_752_6]);
    close("BesselI0e", &[-1.0, 100.0], &[0.465_759_6, 0.039_944_38]);
    close("BesselI1e", &[-1.0], &[-0.207_910_42]);
    close("Erfinv", &[-0.5, 0.999, 1.0, 2.0], &[-0.476_936_28, 2.326_756_3, INF, NAN]);
    close("Ndtri", &[0.0, 0.5, 0.1, 1.0], &[-INF, 0.0, -1.281_551_6, INF]);
    close("BesselJ0", &[0.0, 5.0, INF], &[1.0, -0.177_596_77, NAN]);
    close("BesselJ1", &[0.0, -5.0], &[0.0, 0.327_579_14]);
    close("BesselK0", &[-1.0, 0.0, 2.0], &[INF, INF, 0.113_893_87]);
    close("BesselK0e", &[5.0, INF], &[0.547_807_56, 0.0]);
    close("BesselK1", &[0.1, 30.0], &[9.853_845, 2.167_732e-14]);
    close("BesselK1e", &[2.0, NAN], &[1.033_476_8, NAN]);
    close("BesselY0", &[-1.0, 0.0, 1.0], &[-INF, -INF, 0.088_256_97]);
    close("BesselY1", &[5.0, INF], &[0.147_863_14, NAN]);
    close("Dawsn", &[-1.0, 8.0], &[-0.538_079_5, 0.063_000_2]);
    close("Expint", &[-1.0, 0.0, 1.0, 50.0], &[NAN, -INF, 1.895_117_8, 1.058_563_7e20]);
    close("FresnelCos", &[-1.0, 5.0, 1e5], &[-0.779_893_4, 0.563_631_2, 0.5]);
    close("FresnelSin", &[0.1, 5.0, -INF], &[5.235_895_5e-4, 0.499_191_38, -0.5]);
    close("Spence", &[-1.0, 0.0, 1.0, 5.0], &[NAN, 1.644_934_1, 0.0, -2.369_939_8]);
}

#[test]
fn functions_of_float64() {
    let numbers = (-40..40).map(|i| f64::from(i) * 0.37 + 0.01);
    let x: Vec<f64> = numbers.chain([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 800.0, -800.0]).collect();
    let functions: [(&str, fn(f64) -> f64); 9] = [
        ("Exp", f64::exp),
        ("Expm1", f64::exp_m1),
        ("Log", f64::ln),
        ("Log1p", f64::ln_1p),
        ("Tanh", f64::tanh),
        ("Sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("Softplus", |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + 0.0 * x.signum()),
        ("Elu", |x| if x < 0.0 { x.exp_m1() } else { x }),
        ("Selu", |x| if x < 0.0 { 1.758_099_340_847_376_6 * x.exp_m1() } else { 1.050_700_987_355_480_5 * x }),
    ];
    for (op, exact) in functions {
        for (x, found) in x.iter().zip(apply::<f64, f64>(op, &x)) {
            let expected = exact(*x);
            let equal = found == expected || found.is_nan() && expected.is_nan() || (found - expected).abs() <= 1e-15 * expected.abs();
            assert!(equal, "{op}({x}) = {found}, not {expected}");
        }
    }
}

#[test]
fn functions_of_complex64() {
    let z: Vec<_> = (0..100).map(|i| Complex::new((i as f32 * 0.7).sin() * 3.0, (i as f32 * 1.9).cos() * 40.0)).collect();
    let functions: [(&str, fn(Complex<f64>) -> Complex<f64>); 3] =
        [("Sqrt", |z| z.sqrt()), ("Rsqrt", |z| z.sqrt().inv()), ("Exp", |z| z.exp())];
    for (op, exact) in functions {
        for (z, found) in z.iter().zip(apply::<Complex<f32>, Complex<f32>>(op, &z)) {
            let expected = exact(Complex::new(z.re.into(), z.im.into()));
            let error = Complex::new(f64::from(found.re), f64::from(found.im)) - expected;
            assert!(error.norm() <= 5e-7 * expected.norm(), "{op}({z}) = {found}, not {expected}");
        }
    }
}

#[test]
fn sixteen_bit_floats_are_rounded_once() {
    check("Dawsn", &[f16::from_f32(1.0)], &[f16::from_f32(0.538_079_5)]);
    check("Spence", &[bf16::from_f32(5.0)], &[bf16::from_f32(-2.369_939_8)]);
    check("Exp", &[f16::from_f32(1.0)], &[f16::from_f32(std::f32::consts::E)]);
    check("Tanh", &[bf16::from_f32(0.3)], &[bf16::from_f32(bf16::from_f32(0.3).to_f32().tanh())]);
}

#[test]
fn complex_functions() {
    let z = Complex::new(1.0f64, 2.0);
    for (op, re, im) in [
        ("Exp", -1.131_204_383_756_813_5, 2.471_726_672_004_819),
        ("Expm1", -2.131_204_383_756_814, 2.471_726_672_004_819),
        ("Log", 0.804_718_956_217_050_2, 1.107_148_717_794_090_4),
        ("Log1p", 1.039_720_770_839_918, 0.785_398_163_397_448_3),
        ("Sqrt", 1.272_019_649_514_069, 0.786_151_377_757_423_3),
        ("Tanh", 1.166_736_257_240_92, -0.243_458_201_185_725_26),
        ("Sigmoid", 1.021_415_364_172_180_6, 0.403_438_706_081_542_5),
    ] {
        let found = apply::<_, Complex<f64>>(op, &[z])[0];
        assert!((found - Complex::new(re, im)).norm() < 1e-12, "{op}: {found}");
    }
    check("Real", &[Complex::new(1f32, 2.0)], &[1f32]);
    check("Imag", &[Complex::new(1f64, 2.0)], &[2f64]);
    check("ComplexAbs", &[Complex::new(3f32, 4.0)], &[5f32]);
    check("Angle", &[Complex::new(-1f32, 0.0)], &[PI]);
    check("Conj", &[Complex::new(1f32, 2.0)], &[Complex::new(1f32, -2.0)]);
}

#[test]
fn gradients() {
    let grad = |op: &str, y: Tensor, dy: Tensor| run1(op, &[("T", ty(y.dtype()))], vec![y, dy]);
    for (op, expected) in [("TanhGrad", 1.5f32), ("SigmoidGrad", 0.5), ("SqrtGrad", 2.0), ("RsqrtGrad", -0.125), ("InvGrad", -0.5)] {
        assert_eq!(grad(op, Tensor::scalar(0.5f32), Tensor::scalar(2f32)).unwrap().to_scalar::<f32>().unwrap(), expected, "{op}");
    }
    // 2 / 2 / conj(i) = i
    let found = grad("SqrtGrad", Tensor::scalar(Complex::new(0f64, 1.0)), Tensor::scalar(Complex::new(2f64, 0.0))).unwrap();
    assert_eq!(found.to_scalar::<Complex<f64>>().unwrap(), Complex::new(0.0, 1.0));
    let error = grad("TanhGrad", Tensor::vector(&[1f32, 2.0]).unwrap(), Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()).unwrap_err();
    assert!(error.message().contains("must have same number of elements, got 2 and 3"), "{error}");
}

#[test]
fn large_tensors_and_reused_memory_give_the_same() {
    let x: Vec<f32> = (0..200_001).map(|i| i as f32 / 1000.0 - 100.0).collect();
    let shared = Tensor::vector(&x).unwrap();
    let kept = shared.clone();
    let copied = run1("Tanh", &[("T", ty(DType::F32))], vec![shared]).unwrap();
    assert_eq!(kept.as_slice::<f32>().unwrap(), x);
    let reused = run1("Tanh", &[("T", ty(DType::F32))], vec![kept]).unwrap();
    assert_eq!(copied.as_slice::<f32>().unwrap(), reused.as_slice::<f32>().unwrap());
    for i in [0, 511, 512, 65_536, 200_000] {
        assert!((copied.as_slice::<f32>().unwrap()[i] - x[i].tanh()).abs() < 1e-6);
    }
    assert_eq!(run1("Exp", &[("T", ty(DType::F32))], vec![Tensor::zeros(DType::F32, [0, 3]).unwrap()]).unwrap().shape().dims(), [0, 3]);
}

#[test]
fn unsupported_types_are_named() {
    let error = Call::new("Sqrt").attr("T", ty(DType::I32)).input(Tensor::scalar(1i32)).run().unwrap_err();
    assert!(error.message().contains("No registered 'Sqrt' OpKernel"), "{error}");
}
