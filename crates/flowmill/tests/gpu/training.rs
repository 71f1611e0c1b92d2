//! Updates of variables and random numbers give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints, numbers};
use crate::setup::{GPU, session};
use flowmill::prelude::*;

/// Makes variables, updates them three times by an op, and returns their values.
fn updated(device: &str, op: &'static str, slots: usize, flag: Option<(&'static str, bool)>, scalars: &[f32], at: usize) -> Vec<Vec<f64>> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(41);
    let (variables, step) = b
        .with_device(device, || {
            let variables: Vec<Variable<'_>> = (0..=slots)
                .map(|i| {
                    let initial = b.op("Const").attr("dtype", DType::F32).attr("value", &random.unit(DType::F32, &[70])).output()?;
                    b.variable(&format!("v{i}"), initial)
                })
                .collect::<flowmill::Result<_>>()?;
            let mut node = b.op(op);
            for variable in &variables {
                node = node.input(variable.handle());
            }
            let gradient = b.op("Const").attr("dtype", DType::F32).attr("value", &random.tensor(DType::F32, &[70])).output()?;
            for (i, &scalar) in scalars.iter().enumerate() {
                if i == at {
                    node = node.input(gradient);
                }
                node = node.input(b.op("Const").attr("dtype", DType::F32).attr("value", &Tensor::scalar(scalar)).output()?);
            }
            if at == scalars.len() {
                node = node.input(gradient);
            }
            if let Some((name, value)) = flag {
                node = node.attr(name, value);
            }
            Ok((variables, node.finish()?))
        })
        .unwrap();
    let session = session(&b);
    for variable in &variables {
        session.runner().target(variable.initializer()).run().unwrap();
    }
    for _ in 0..3 {
        session.runner().target(step).run().unwrap();
    }
    variables.iter().map(|variable| numbers(&session.runner().fetch(variable.value()).unwrap())).collect()
}

#[test]
fn optimizers_update_variables() {
    let _driver = stub_cuda::install().unwrap();
    /// An op, the number of slots, its flag, the hyperparameters, and the number of those before the gradient.
    type Step = (&'static str, usize, Option<(&'static str, bool)>, &'static [f32], usize);
    let steps: [Step; 13] = [
        ("ResourceApplyGradientDescent", 0, None, &[0.1], 1),
        ("ResourceApplyMomentum", 1, None, &[0.1, 0.9], 1),
        ("ResourceApplyMomentum", 1, Some(("use_nesterov", true)), &[0.1, 0.9], 1),
        ("ResourceApplyKerasMomentum", 1, Some(("use_nesterov", true)), &[0.1, 0.9], 1),
        ("ResourceApplyAdagrad", 1, None, &[0.1], 1),
        ("ResourceApplyAdagradV2", 1, Some(("update_slots", false)), &[0.1, 1e-3], 2),
        ("ResourceApplyAdadelta", 2, None, &[0.1, 0.95, 1e-3], 3),
        ("ResourceApplyAdam", 2, None, &[0.5, 0.9, 0.01, 0.9, 0.99, 1e-3], 6),
        ("ResourceApplyAdam", 2, Some(("use_nesterov", true)), &[0.5, 0.9, 0.01, 0.9, 0.99, 1e-3], 6),
        ("ResourceApplyAdaMax", 2, None, &[0.5, 0.01, 0.9, 0.99, 1e-3], 5),
        ("ResourceApplyRMSProp", 2, None, &[0.01, 0.9, 0.5, 1e-3], 4),
        ("AssignAddVariableOp", 0, None, &[], 0),
        ("AssignSubVariableOp", 0, None, &[], 0),
    ];
    for (op, slots, flag, scalars, at) in steps {
        let expected = updated("/device:CPU:0", op, slots, flag, scalars, at);
        let actual = updated(GPU, op, slots, flag, scalars, at);
        for (expected, actual) in expected.iter().flatten().zip(actual.iter().flatten()) {
            assert!((expected - actual).abs() <= 1e-5 * (1.0 + expected.abs()), "{op} {flag:?}: {actual} instead of {expected}");
        }
    }
}

/// Makes a variable, scatters rows into it by an op, and returns its value.
fn scattered(device: &str, op: &'static str, scalar: bool) -> Vec<f64> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(42);
    let (initial, index) = (random.unit(DType::F32, &[6, 40]), random.indices(DType::I64, &[3, 5], 6));
    let updates = random.unit(DType::F32, if scalar { &[] } else { &[3, 5, 40] });
    let (variable, update) = b
        .with_device(device, || {
            let constant = |value: &Tensor| b.op("Const").attr("dtype", value.dtype()).attr("value", value).output();
            let variable = b.variable("v", constant(&initial)?)?;
            let update = b.op(op).input(variable.handle()).input(constant(&index)?).input(constant(&updates)?).finish()?;
            Ok((variable, update))
        })
        .unwrap();
    let session = session(&b);
    session.runner().target(variable.initializer()).run().unwrap();
    session.runner().target(update).run().unwrap();
    numbers(&session.runner().fetch(variable.value()).unwrap())
}

#[test]
fn rows_of_variables_are_updated() {
    let _driver = stub_cuda::install().unwrap();
    for op in ["Add", "Sub", "Mul", "Div", "Min", "Max", "Update"] {
        let op: &'static str = format!("ResourceScatter{op}").leak();
        for scalar in [false, true] {
            assert_eq!(scattered(GPU, op, scalar), scattered("/device:CPU:0", op, scalar), "{op}, a scalar update: {scalar}");
        }
    }
}

#[test]
fn a_value_that_was_read_before_an_update_does_not_change() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (before, after) = b
        .with_device(GPU, || {
            let initial = b.op("Const").attr("dtype", DType::F32).attr("value", &Tensor::vector(&[1f32, 2.0])?).output()?;
            let variable = b.variable("v", initial)?;
            let before = b.after(&[variable.initializer()], || variable.read())?;
            let update = b.after(&[before.node()], || variable.assign_add(initial))?;
            // This reads the old value after the update was enqueued.
            let twice = b.after(&[update], || b.op("AddV2").input(before).input(before).output())?;
            Ok((twice, b.after(&[update], || variable.read())?))
        })
        .unwrap();
    let [twice, new] = session(&b).runner().fetch([before, after]).unwrap();
    assert_eq!((numbers(&twice), numbers(&new)), (vec![2.0, 4.0], vec![2.0, 4.0]));
}

#[test]
fn random_numbers_are_those_of_the_cpu() {
    let _driver = stub_cuda::install().unwrap();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for shape in [&[5][..], &[7, 9], &[0], &[1000]] {
            for op in ["RandomUniform", "RandomStandardNormal", "TruncatedNormal"] {
                Case::new(op).input(ints(shape)).attr("dtype", dtype).attr("seed", 3).attr("seed2", 5).within(4.0).check();
            }
            for op in ["StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"] {
                Case::new(op).input(ints(shape)).input(ints(&[17, -4])).attr("dtype", dtype).within(4.0).check();
            }
        }
    }
    let counter = Tensor::vector(&[u64::MAX - 1, 7]).unwrap();
    let case = Case::new("StatelessRandomUniformV2").input(ints(&[50])).input(Tensor::vector(&[9u64]).unwrap()).input(counter);
    case.input(Tensor::scalar(1i32)).attr("dtype", DType::F32).check();
}
