use crate::testing::{Call, ty};
use flowmill_kernels::variable::ResourceVariable;
use flowmill_runtime::RefVariable;
use flowmill_tensor::{Code, DType, Error, PartialShape, ResourceHandle, Result, Tensor};
use std::sync::Arc;

/// Returns the initial values of slot `i`: the variable, then its slots.
fn start(i: usize) -> Vec<f32> {
    if i == 0 { vec![1.0, -2.0, 0.5] } else { [0.1, 0.2, 0.3].iter().map(|x| x * i as f32).collect() }
}

const GRADIENT: &[f32] = &[0.5, -1.0, 2.0];

/// An input after the variables.
enum Input<'a> {
    Scalar(f32),
    Vector(&'a [f32]),
    Rows(&'a [i32]),
}
use Input::{Rows, Scalar, Vector};

impl Input<'_> {
    fn tensor(&self) -> Tensor {
        match self {
            Scalar(x) => Tensor::scalar(*x),
            Vector(v) => Tensor::vector(v).unwrap(),
            Rows(v) => Tensor::vector(v).unwrap(),
        }
    }
}

fn variables(n: usize) -> Vec<Arc<ResourceVariable>> {
    (0..n)
        .map(|i| {
            let variable = Arc::new(ResourceVariable::new(DType::F32, PartialShape::new(&[3])));
            *variable.lock() = Some(Tensor::vector(&start(i)).unwrap());
            variable
        })
        .collect()
}

fn handle(variable: &Arc<ResourceVariable>) -> Tensor {
    Tensor::resource(ResourceHandle::new("", "v", Some(variable.clone()), vec![]))
}

fn apply(op: &str, num_variables: usize, inputs: &[Input<'_>], flag: &str) -> Result<Vec<Vec<f32>>> {
    let variables = variables(num_variables);
    let mut call = Call::new(op).attr("T", ty(DType::F32)).outputs(0).inputs(variables.iter().map(handle).collect());
    if let Some(name) = flag.strip_prefix("no ") {
        call = call.attr(name, false);
    } else if !flag.is_empty() {
        call = call.attr(flag, true);
    }
    call.inputs(inputs.iter().map(Input::tensor).collect()).run()?;
    Ok(variables.iter().map(|v| v.get().unwrap().as_slice::<f32>().unwrap().to_vec()).collect())
}

/// Compares with TensorFlow's results for the same variables.
#[track_caller]
fn check(op: &str, flag: &str, inputs: &[Input<'_>], expected: &[[f32; 3]]) {
    let found = apply(op, expected.len(), inputs, flag).unwrap();
    for (x, y) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((x - y).abs() <= 3e-6 * y.abs().max(0.1), "{op} {flag}: {found:?} for {expected:?}");
    }
}

#[test]
fn descent_and_momentum() {
    let g = || Vector(GRADIENT);
    check("ResourceApplyGradientDescent", "", &[Scalar(0.1), g()], &[[0.95, -1.9, 0.3]]);
    check(
        "ResourceApplyProximalGradientDescent",
        "",
        &[Scalar(0.1), Scalar(0.3), Scalar(0.02), g()],
        &[[0.918_163_66, -1.866_267_6, 0.269_461_1]],
    );
    let inputs = || [Scalar(0.1), g(), Scalar(0.9)];
    check("ResourceApplyMomentum", "", &inputs(), &[[0.941, -1.918, 0.273], [0.59, -0.82, 2.27]]);
    check("ResourceApplyMomentum", "use_nesterov", &inputs(), &[[0.8969, -1.8262, 0.0957], [0.59, -0.82, 2.27]]);
    check("ResourceApplyKerasMomentum", "", &inputs(), &[[1.04, -1.72, 0.57], [0.04, 0.28, 0.07]]);
    check("ResourceApplyKerasMomentum", "use_nesterov", &inputs(), &[[0.986, -1.648, 0.363], [0.04, 0.28, 0.07]]);
    let inputs = || [Scalar(0.1), g(), Rows(&[2, 0, 2]), Scalar(0.9)];
    check("ResourceSparseApplyMomentum", "", &inputs(), &[[1.091, -2.0, 0.1537], [-0.91, 0.2, 2.693]]);
    check("ResourceSparseApplyMomentum", "use_nesterov", &inputs(), &[[1.1819, -2.0, -0.06167], [-0.91, 0.2, 2.693]]);
}

#[test]
fn adaptive_rates() {
    let g = || Vector(GRADIENT);
    check("ResourceApplyAdagrad", "", &[Scalar(0.1), g()], &[[0.915_484_55, -1.908_712_9, 0.403_551_43], [0.35, 1.2, 4.3]]);
    check("ResourceApplyAdagrad", "no update_slots", &[Scalar(0.1), g()], &[[0.841_886_1, -1.776_393_2, 0.134_851_63], [0.1, 0.2, 0.3]]);
    check("ResourceApplyAdagradV2", "", &[Scalar(0.1), Scalar(0.01), g()], &[[0.916_889_43, -1.909_538_7, 0.404_014_32], [0.35, 1.2, 4.3]]);
    check("ResourceSparseApplyAdagrad", "", &[Scalar(0.1), g(), Rows(&[2, 0, 2])], &[[1.095_346_2, -2.0, 0.338_818_58], [1.1, 0.2, 4.55]]);
    check(
        "ResourceSparseApplyAdagradV2",
        "",
        &[Scalar(0.1), Scalar(0.01), g(), Rows(&[2, 0, 2])],
        &[[1.094_445_7, -2.0, 0.340_153_07], [1.1, 0.2, 4.55]],
    );
    check(
        "ResourceApplyAdadelta",
        "",
        &[Scalar(0.1), Scalar(0.9), Scalar(0.01), g()],
        &[[0.935_192_6, -1.881_096_96, 0.310_573_64], [0.115, 0.28, 0.67], [0.222, 0.501_379_3, 0.898_823_6]],
    );
    let adam = || [Scalar(0.9), Scalar(0.99), Scalar(0.1), Scalar(0.9), Scalar(0.99), Scalar(0.01), g()];
    let moments = [[0.14, 0.08, 0.47], [0.2005, 0.406, 0.634]];
    check("ResourceApplyAdam", "", &adam(), &[[0.969_417_15, -2.012_361_3, 0.441_704_8], moments[0], moments[1]]);
    check("ResourceApplyAdam", "use_nesterov", &adam(), &[[0.961_552_98, -1.995_673_5, 0.422_727_9], moments[0], moments[1]]);
    check(
        "ResourceApplyAdamWithAmsgrad",
        "",
        &adam(),
        &[[0.974_897_9, -2.010_196_2, 0.450_974_46], moments[0], moments[1], [0.3, 0.6, 0.9]],
    );
    check(
        "ResourceApplyAdaMax",
        "",
        &[Scalar(0.9), Scalar(0.1), Scalar(0.9), Scalar(0.99), Scalar(0.01), g()],
        &[[0.725_490_2, -2.079_207_9, 0.266_169_2], moments[0], [0.5, 1.0, 2.0]],
    );
    let rms = || [Scalar(0.1), Scalar(0.9), Scalar(0.8), Scalar(0.01), g()];
    check(
        "ResourceApplyRMSProp",
        "",
        &rms(),
        &[[0.698_578_66, -2.134_304_8, -0.222_535_6], [0.115, 0.28, 0.67], [0.301_421_34, 0.134_304_7, 0.722_535_6]],
    );
    check(
        "ResourceApplyCenteredRMSProp",
        "",
        &rms(),
        &[[0.646_888_26, -2.333_131_6, -0.454_226_7], moments[0], [0.205, 0.46, 0.94], [0.353_111_77, 0.333_131_64, 0.954_226_7]],
    );
}

#[test]
fn follow_the_regularised_leader() {
    let ftrl = |power: f32| [Vector(GRADIENT), Scalar(0.1), Scalar(0.3), Scalar(0.02), Scalar(power)];
    let accum = [0.35, 1.2, 4.3];
    check("ResourceApplyFtrl", "", &ftrl(-0.5), &[[0.294_455_8, -1.097_338, 0.227_642_82], accum, [-2.053_802_3, 12.364_631, -5.029_608]]);
    check(
        "ResourceApplyFtrl",
        "",
        &ftrl(-0.7),
        &[[0.372_315_82, -1.345_456_4, 0.317_537_37], accum, [-2.100_389_5, 15.639_912, -9.127_711]],
    );
    check(
        "ResourceApplyFtrl",
        "multiply_linear_by_lr",
        &ftrl(-0.5),
        &[[0.0, -1.424_776, -0.003_388_077_5], accum, [-0.025_380_224, 1.596_463, 0.037_039_22]],
    );
    let v2 = || [Vector(GRADIENT), Scalar(0.1), Scalar(0.3), Scalar(0.02), Scalar(0.1), Scalar(-0.5)];
    check("ResourceApplyFtrlV2", "", &v2(), &[[0.260_876_66, -1.060_956_1, 0.222_829_67], accum, [-1.853_802_2, 11.964_631, -4.929_608]]);
    check(
        "ResourceApplyFtrlV2",
        "multiply_linear_by_lr",
        &v2(),
        &[[0.0, -1.388_394_1, -0.008_201_217], accum, [-0.005_380_228, 1.556_463_1, 0.047_039_22]],
    );
}

#[test]
fn references_are_updated_and_passed_on() {
    let variable = Arc::new(RefVariable::new(DType::F32, PartialShape::new(&[3])));
    let step = || {
        Call::new("ApplyGradientDescent")
            .attr("T", ty(DType::F32))
            .outputs(1)
            .inputs(vec![variable.to_edge("v"), Tensor::scalar(0.1f32), Tensor::vector(GRADIENT).unwrap()])
            .run()
    };
    assert_eq!(step().unwrap_err().code(), Code::FailedPrecondition);
    *variable.lock() = Some(Tensor::vector(&start(0)).unwrap());
    let out = step().unwrap();
    assert_eq!(out[0].as_ref().unwrap().dtype(), DType::Resource);
    assert_eq!(variable.get().unwrap().as_slice::<f32>().unwrap(), [0.95, -1.9, 0.3]);
}

#[test]
fn inputs_are_checked() {
    let g = || Vector(GRADIENT);
    let message = |result: Result<Vec<Vec<f32>>>| -> Error { result.unwrap_err() };
    for (result, text) in [
        (apply("ResourceApplyGradientDescent", 1, &[Vector(&[0.1]), g()], ""), "alpha is not a scalar: [1]"),
        (apply("ResourceApplyGradientDescent", 1, &[Scalar(0.1), Vector(&[1.0])], ""), "var and delta do not have the same shape[3] [1]"),
        (
            apply("ResourceSparseApplyAdagrad", 2, &[Scalar(0.1), Vector(&[0.5]), Rows(&[7])], ""),
            "Index 7 at offset 0 in indices is out of range",
        ),
        (
            apply("ResourceSparseApplyAdagrad", 2, &[Scalar(0.1), Vector(&[0.5]), Rows(&[-1])], ""),
            "Index -1 at offset 0 in indices is out of range",
        ),
        (
            apply("ResourceSparseApplyAdagrad", 2, &[Scalar(0.1), Vector(&[0.5, 1.0]), Rows(&[1])], ""),
            "must be the same size as indices in the first dimension",
        ),
    ] {
        let error = message(result);
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(text), "{error}");
    }
    let variable = &variables(1)[0];
    let twice = Call::new("ResourceApplyMomentum").attr("T", ty(DType::F32)).outputs(0).inputs(vec![
        handle(variable),
        handle(variable),
        Tensor::scalar(0.1f32),
        Tensor::vector(GRADIENT).unwrap(),
        Tensor::scalar(0.9f32),
    ]);
    assert_eq!(twice.run().unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn rows_of_one_call_equal_calls_of_one_row() {
    let numbers = |len: usize, seed: usize| -> Vec<f32> { (0..len).map(|i| ((i * 7919 + seed) % 101) as f32 / 40.0 - 1.0).collect() };
    for width in [1, 5, 16, 40, 100] {
        let rows: Vec<i32> = (0..45).map(|i| i * i % 9).chain([3, 3, 3]).chain(0..9).collect();
        let gradient = numbers(rows.len() * width, 5);
        let updated = |calls: &[std::ops::Range<usize>]| -> Vec<Vec<f32>> {
            let matrix = |len: usize, values: &[f32]| Tensor::from_slice([len, width], values).unwrap();
            let variables: Vec<_> = (0..3)
                .map(|i| {
                    let variable = Arc::new(ResourceVariable::new(DType::F32, PartialShape::new(&[9, width as i64])));
                    let values = numbers(9 * width, i).iter().map(|x| if i == 1 { x.abs() + 0.1 } else { *x }).collect::<Vec<_>>();
                    *variable.lock() = Some(matrix(9, &values));
                    variable
                })
                .collect();
            for call in calls {
                let gradient = matrix(call.len(), &gradient[call.start * width..call.end * width]);
                let indices = Tensor::vector(&rows[call.clone()]).unwrap();
                let scalars = [0.1f32, 0.02, 0.03, -0.5].map(Tensor::scalar);
                let inputs = variables.iter().map(handle).chain([gradient, indices]).chain(scalars).collect();
                Call::new("ResourceSparseApplyFtrl").attr("T", ty(DType::F32)).outputs(0).inputs(inputs).run().unwrap();
            }
            variables.iter().map(|v| v.get().unwrap().as_slice::<f32>().unwrap().to_vec()).collect()
        };
        let one_by_one: Vec<_> = (0..rows.len()).map(|i| i..i + 1).collect();
        assert_eq!(updated(std::slice::from_ref(&(0..rows.len()))), updated(&one_by_one), "rows of {width}");
    }
}
