//! Scatters into variables and random numbers give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints, numbers, tensor_of};
use crate::recorder::Recorder;
use crate::setup::{GPU, gpus, on_stub, session};
use flowmill::graph::{ArgType, AttrType};
use flowmill::prelude::*;
use flowmill::{PartialShape, Shape};

/// Makes a variable, scatters rows or slices into it by an op, and returns its value.
fn scattered(device: &str, op: &'static str, scalar: bool, dtype: DType) -> Vec<f64> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(42);
    let is_reference = flowmill::registry().unwrap().get(op).unwrap().inputs[0].is_ref;
    let initial = random.indices(dtype, &[6, 40], 9);
    // A divisor of 0 is an error of the host alone.
    let index = random.indices(DType::I64, if op.contains("Nd") { &[3, 5, 1] } else { &[3, 5] }, 6);
    let updates = tensor_of(dtype, Shape::new(if scalar { &[] } else { &[3, 5, 40] }), &vec![2.0; if scalar { 1 } else { 600 }]);
    let (initializer, value, update) = b
        .with_device(device, || {
            let constant = |value: &Tensor| b.op("Const").attr("dtype", value.dtype()).attr("value", value).output();
            let scatter = |variable: Output<'_>| b.op(op).input(variable).input(constant(&index)?).input(constant(&updates)?).finish();
            if is_reference {
                let shape = PartialShape::new(&[6, 40]);
                let variable = b.op("VariableV2").attr("dtype", dtype).attr("shape", shape).output()?;
                let initializer = b.op("Assign").input(variable).input(constant(&initial)?).finish()?;
                return Ok((initializer, variable, scatter(variable)?));
            }
            let variable = b.variable("v", constant(&initial)?)?;
            Ok((variable.initializer(), variable.value(), scatter(variable.handle())?))
        })
        .unwrap();
    let session = session(&b);
    session.runner().target(initializer).run().unwrap();
    session.runner().target(update).run().unwrap();
    numbers(&session.runner().fetch(value).unwrap())
}

#[test]
pub(crate) fn rows_of_variables_are_updated() {
    on_stub(|| {
        let gpu = gpus().swap_remove(0);
        let ops = flowmill::registry().unwrap();
        for op in gpu.kernels().ops().into_iter().filter(|op| op.contains("Scatter") && !op.starts_with("Tensor")) {
            let def = ops.get(op).unwrap();
            let (first, allowed) = (&def.inputs[0], &def.attrs.iter().find(|attr| attr.ty == AttrType::Type).unwrap().allowed_types);
            if !first.is_ref && first.ty != ArgType::Fixed(DType::Resource) {
                continue;
            }
            let all = Recorder::recording().is_some_and(|recording| recording.recorder.has_all_types);
            let types = gpu.kernels().defs(op)[0].constraints()[0].1.iter();
            let types = types.filter(|&dtype| *dtype != DType::I32 && (allowed.is_empty() || allowed.contains(dtype)));
            for &dtype in types.filter(|&&dtype| all || dtype == DType::F32) {
                for scalar in [false, true] {
                    if scalar && op.contains("Nd") {
                        continue;
                    }
                    let found = scattered(GPU, op, scalar, dtype);
                    match Recorder::recording() {
                        Some(recording) => drop(recording.recorder.note(op)),
                        None => assert_eq!(found, scattered("/device:CPU:0", op, scalar, dtype), "{op}, a scalar update: {scalar}"),
                    }
                }
            }
        }
    });
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
pub(crate) fn random_numbers_are_those_of_the_cpu() {
    on_stub(|| {
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
        for op in ["StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"] {
            let counter = Tensor::vector(&[u64::MAX - 1, 7]).unwrap();
            let case = Case::new(op).input(ints(&[50])).input(Tensor::vector(&[9u64]).unwrap()).input(counter);
            case.input(Tensor::scalar(1i32)).attr("dtype", DType::F32).within(4.0).check();
        }
    });
}

#[test]
pub(crate) fn random_integers_are_those_of_the_cpu() {
    on_stub(|| {
        for shape in [&[5][..], &[7, 9], &[0], &[1000]] {
            for bounds in [[Tensor::scalar(-7i32), Tensor::scalar(12i32)], [Tensor::scalar(i32::MIN), Tensor::scalar(i32::MAX)]] {
                let [low, high] = bounds;
                let case = |op| Case::new(op).input(ints(shape));
                case("RandomUniformInt").input(low.clone()).input(high.clone()).attr("seed", 3).attr("seed2", 5).check();
                case("StatelessRandomUniformInt").input(ints(&[17, -4])).input(low.clone()).input(high.clone()).check();
                let counter = Tensor::vector(&[u64::MAX - 1, 7]).unwrap();
                let case =
                    case("StatelessRandomUniformIntV2").input(Tensor::vector(&[9u64]).unwrap()).input(counter).input(Tensor::scalar(1i32));
                case.input(low).input(high).check();
            }
            let wide =
                Case::new("RandomUniformInt").input(ints(shape)).input(Tensor::scalar(-5_000_000_000i64)).input(Tensor::scalar(i64::MAX));
            wide.attr("seed", 1).check();
            for dtype in [DType::I32, DType::I64, DType::U32, DType::U64] {
                Case::new("StatelessRandomUniformFullInt").input(ints(shape)).input(ints(&[1, 2])).attr("dtype", dtype).check();
                let (key, counter) = (Tensor::vector(&[9u64]).unwrap(), Tensor::vector(&[3u64, 7]).unwrap());
                let case = Case::new("StatelessRandomUniformFullIntV2").input(ints(shape)).input(key).input(counter);
                case.input(Tensor::scalar(1i32)).attr("dtype", dtype).check();
            }
        }
    });
}

#[test]
pub(crate) fn samples_of_classes_are_those_of_the_cpu() {
    on_stub(|| {
        let mut random = Random::new(43);
        for (dims, samples) in [([3, 5], 7i32), ([2, 600], 40), ([1, 1], 3), ([0, 4], 3), ([4, 3], 0)] {
            for dtype in [DType::F32, DType::F16, DType::F64] {
                let logits = random.tensor(dtype, &dims);
                let case = Case::new("Multinomial").input(logits.clone()).input(Tensor::scalar(samples));
                case.attr("seed", 3).attr("seed2", 5).attr("output_dtype", DType::I32).check();
                let case = Case::new("StatelessMultinomial").input(logits).input(Tensor::scalar(samples)).input(ints(&[17, -4]));
                case.check();
            }
        }
        let logits = Tensor::from_slice([2, 3], &[f32::NAN, 1.0, f32::NEG_INFINITY, 0.5, f32::INFINITY, 0.25]).unwrap();
        Case::new("StatelessMultinomial").input(logits).input(Tensor::scalar(50i32)).input(ints(&[1, 2])).check();
    });
}
