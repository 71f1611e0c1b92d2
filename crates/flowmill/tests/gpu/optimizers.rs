//! Updates of variables by every optimizer, dense and sparse, through resources and through references, give the CPU's results on a GPU.

use crate::compare::{Random, numbers, tensor_of};
use crate::recorder::Recorder;
use crate::setup::{GPU, gpus, on_stub, session};
use flowmill::prelude::*;
use flowmill::{PartialShape, Shape};

/// The rows and columns of variables.
const DIMS: [usize; 2] = [7, 10];

/// Returns the value of a hyperparameter.
fn hyperparameter(name: &str) -> f64 {
    match name {
        "lr" | "alpha" => 0.1,
        "beta1_power" => 0.5,
        "l1" | "l2" | "l2_shrinkage" => 0.03,
        "epsilon" => 1e-3,
        "lr_power" => -0.5,
        "logbase" => 0.7,
        _ => 0.9,
    }
}

/// Makes a variable of each of an op's first inputs, runs the op three times, and returns the values of the variables. A sparse op has five updates of
/// rows, this many times.
fn updated(device: &str, op: &'static str, dtype: DType, flag: Option<(&'static str, bool)>, times: usize) -> Vec<Vec<f64>> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(41);
    let def = flowmill::registry().unwrap().get(op).unwrap().clone();
    let is_sparse = def.inputs.iter().any(|input| input.name == "indices");
    let (initializers, values, step) = b
        .with_device(device, || {
            let constant = |value: &Tensor| b.op("Const").attr("dtype", value.dtype()).attr("value", value).output();
            let (mut initializers, mut values) = (Vec::new(), Vec::new());
            let mut node = b.op(op).attr("T", dtype);
            for (i, input) in def.inputs.iter().enumerate() {
                let name = input.name.as_str();
                if input.is_ref {
                    let variable =
                        b.op("VariableV2").attr("dtype", dtype).attr("shape", PartialShape::from(&Shape::new(&DIMS))).output()?;
                    initializers.push(b.op("Assign").input(variable).input(constant(&random.unit(dtype, &DIMS))?).finish()?);
                    values.push(variable);
                    node = node.input(variable);
                    continue;
                }
                if input.ty == flowmill::graph::ArgType::Fixed(DType::Resource) {
                    let variable = b.variable(&format!("v{i}"), constant(&random.unit(dtype, &DIMS))?)?;
                    initializers.push(variable.initializer());
                    values.push(variable.value());
                    node = node.input(variable.handle());
                    continue;
                }
                let value = match name {
                    "grad" | "delta" if is_sparse => random.tensor(dtype, &[5 * times, DIMS[1]]),
                    "grad" | "delta" => random.tensor(dtype, &DIMS),
                    "indices" => Tensor::vector(&[3i64, 0, 3, 6, 3].repeat(times))?,
                    "global_step" => Tensor::scalar(3i64),
                    name => tensor_of(dtype, Shape::scalar(), &[hyperparameter(name)]),
                };
                node = node.input(constant(&value)?);
            }
            if let Some((name, value)) = flag {
                node = node.attr(name, value);
            }
            Ok((initializers, values, node.finish()?))
        })
        .unwrap();
    let session = session(&b);
    for initializer in initializers {
        session.runner().target(initializer).run().unwrap();
    }
    for _ in 0..3 {
        session.runner().target(step).run().unwrap();
    }
    values.iter().map(|&value| numbers(&session.runner().fetch(value).unwrap())).collect()
}

#[test]
pub(crate) fn optimizers_update_variables() {
    on_stub(|| {
        let gpu = gpus().swap_remove(0);
        let host = flowmill::kernels();
        let is_optimizer = |op: &&str| op.contains("Apply") && !op.contains("Accumulator");
        let ops: Vec<&str> = gpu.kernels().ops().into_iter().filter(is_optimizer).collect();
        let missing: Vec<&str> = host.ops().into_iter().filter(is_optimizer).filter(|op| !ops.contains(op)).collect();
        assert_eq!(missing, Vec::<&str>::new());
        assert!(ops.len() > 50, "{ops:?}");
        for op in ops {
            let def = flowmill::registry().unwrap().get(op).unwrap().clone();
            let flags = ["use_nesterov", "update_slots", "multiply_linear_by_lr"];
            let flag = flags.into_iter().find(|&name| def.attrs.iter().any(|attr| attr.name == name));
            let variants: Vec<_> = flag.map_or(vec![None], |name| [false, true].map(|value| Some((name, value))).into());
            // The ops on references are the same kernels.
            let types: &[DType] = if Recorder::recording().is_some_and(|recording| recording.recorder.has_all_types) {
                &[DType::F16, DType::BF16, DType::F32, DType::F64]
            } else if op.starts_with("Resource") {
                &[DType::F32, DType::F64]
            } else {
                &[DType::F32]
            };
            for (flag, &dtype) in variants.into_iter().flat_map(|flag| types.iter().map(move |dtype| (flag, dtype))) {
                let actual = updated(GPU, op, dtype, flag, 1);
                if let Some(recording) = Recorder::recording() {
                    let _ = recording.recorder.note(op);
                    continue;
                }
                let expected = updated("/device:CPU:0", op, dtype, flag, 1);
                for (expected, actual) in expected.iter().flatten().zip(actual.iter().flatten()) {
                    assert!(
                        (expected - actual).abs() <= 1e-5 * (1.0 + expected.abs()) || (expected.is_nan() && actual.is_nan()),
                        "{op} of {dtype} {flag:?}: {actual} instead of {expected}"
                    );
                }
            }
        }
    });
}

#[test]
pub(crate) fn many_rows_are_updated_in_order() {
    on_stub(|| {
        let op = "ResourceSparseApplyAdagrad";
        let actual = updated(GPU, op, DType::F64, None, 500);
        if Recorder::recording().is_none() {
            let expected = updated("/device:CPU:0", op, DType::F64, None, 500);
            for (expected, actual) in expected.iter().flatten().zip(actual.iter().flatten()) {
                assert!((expected - actual).abs() <= 1e-9 * (1.0 + expected.abs()), "{actual} instead of {expected}");
            }
        }
    });
}

#[test]
fn references_live_on_the_gpu() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (initializer, sum, scattered, value, ready) = b
        .with_device(GPU, || {
            let constant = |value: &Tensor| b.op("Const").attr("dtype", value.dtype()).attr("value", value).output();
            let shape = PartialShape::from(&Shape::new(&[3]));
            let variable = b.op("VariableV2").name("v").attr("dtype", DType::F32).attr("shape", shape).output()?;
            let initializer = b.op("Assign").input(variable).input(constant(&Tensor::vector(&[1f32, 2.0, 3.0])?)?).finish()?;
            let ready = b.op("IsVariableInitialized").input(variable).output()?;
            let ten = constant(&Tensor::vector(&[10f32, 10.0, 10.0])?)?;
            let added = b.op("AssignAdd").input(variable).input(ten).output()?;
            let sum = b.op("Mul").input(added).input(ten).output()?;
            let (at, one) = (constant(&Tensor::vector(&[2i32, 2])?)?, constant(&Tensor::vector(&[1f32, 1.0])?)?);
            let scattered = b.op("ScatterSub").input(variable).input(at).input(one).output()?;
            Ok((initializer, sum, scattered, variable, ready))
        })
        .unwrap();
    let session = session(&b);
    assert_eq!(numbers(&session.runner().fetch(ready).unwrap()), [0.0]);
    let error = session.runner().fetch(value).unwrap_err();
    assert!(error.message().contains("uninitialized value v"), "{error}");
    session.runner().target(initializer).run().unwrap();
    assert_eq!(numbers(&session.runner().fetch(ready).unwrap()), [1.0]);
    assert_eq!(numbers(&session.runner().fetch(sum).unwrap()), [110.0, 120.0, 130.0]);
    assert_eq!(numbers(&session.runner().fetch(scattered).unwrap()), [11.0, 12.0, 11.0]);
    assert_eq!(numbers(&session.runner().fetch(value).unwrap()), [11.0, 12.0, 11.0]);
}

#[test]
fn a_gradient_of_another_shape_is_an_error() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let delta = b.op("Placeholder").name("delta").attr("dtype", DType::F32).attr("shape", PartialShape::unknown()).output().unwrap();
    let initializer = b
        .with_device(GPU, || {
            let constant = |value: &Tensor| b.op("Const").attr("dtype", value.dtype()).attr("value", value).output();
            let variable = b.variable("v", constant(&Tensor::vector(&[1f32, 2.0, 3.0])?)?)?;
            let node = b.op("ResourceApplyGradientDescent").name("step").input(variable.handle()).input(constant(&Tensor::scalar(0.1f32))?);
            node.input(delta).finish()?;
            Ok(variable.initializer())
        })
        .unwrap();
    let session = session(&b);
    session.runner().target(initializer).run().unwrap();
    let error = session.run(&[("delta:0", Tensor::vector(&[1f32]).unwrap())], &[], &["step"]).unwrap_err();
    assert!(error.message().contains("do not have the same shape"), "{error}");
}
