//! Scattering by index. Each expected value was compared with TensorFlow 2.21.
use crate::testing::{floats, message, run, run1, shape, ty};
use flowmill_runtime::RefVariable;
use flowmill_tensor::{Code, DType, Result, Tensor};

fn matrix(rows: usize, values: &[f32]) -> Tensor {
    Tensor::from_slice([rows, values.len() / rows], values).unwrap()
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn ints(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(dims, values).unwrap()
}

/// Runs an op on a reference variable, and returns the variable's value after it.
fn on_ref(op: &str, initial: Tensor, inputs: Vec<Tensor>) -> Result<Tensor> {
    let dtype = ty(initial.dtype());
    let variable = run1("VariableV2", &[("dtype", dtype.clone()), ("shape", shape(&initial.shape().to_i64()))], vec![]).unwrap();
    run("Assign", &[], vec![variable.clone(), initial]).unwrap();
    let out = run1(op, &[("T", dtype)], [vec![variable], inputs].concat())?;
    Ok(out.as_resources()?[0].get::<RefVariable>().unwrap().get().unwrap())
}

/// Runs an op on a resource variable, and returns the variable's value after it.
fn on_resource(op: &str, initial: Tensor, inputs: Vec<Tensor>) -> Result<Tensor> {
    let dtype = ty(initial.dtype());
    let attrs = [("dtype", dtype.clone()), ("T", dtype), ("shape", shape(&initial.shape().to_i64()))];
    let handle = run1("VarHandleOp", &attrs, vec![]).unwrap();
    run("AssignVariableOp", &attrs, vec![handle.clone(), initial]).unwrap();
    run(op, &attrs, [vec![handle.clone()], inputs].concat())?;
    run1("ReadVariableOp", &attrs, vec![handle])
}

#[test]
fn rows_are_updated() {
    let v = || matrix(2, &[1.0, 2.0, 3.0, 4.0]);
    let twice = || vec![ints(&[2], &[1, 1]), matrix(2, &[5.0, 6.0, 7.0, 8.0])];
    assert_eq!(floats(on_ref("ScatterAdd", v(), twice())), [1.0, 2.0, 15.0, 18.0]);
    assert_eq!(floats(on_resource("ResourceScatterAdd", v(), twice())), [1.0, 2.0, 15.0, 18.0]);
    assert_eq!(floats(on_ref("ScatterSub", v(), twice())), [1.0, 2.0, -9.0, -10.0]);
    assert_eq!(floats(on_ref("ScatterUpdate", v(), twice())), [1.0, 2.0, 7.0, 8.0]);
    assert_eq!(floats(on_ref("ScatterMul", v(), vec![ints(&[2], &[1, 1]), Tensor::scalar(10f32)])), [1.0, 2.0, 300.0, 400.0]);
    assert_eq!(floats(on_resource("ResourceScatterDiv", v(), vec![ints(&[1], &[0]), Tensor::scalar(2f32)])), [0.5, 1.0, 3.0, 4.0]);
    let nan = || vec![ints(&[2, 1], &[1, 0]), Tensor::from_slice([2, 1, 2], &[0.0, 9.0, 2.0, f32::NAN]).unwrap()];
    assert_eq!(floats(on_ref("ScatterMin", v(), nan())), [1.0, 2.0, 0.0, 4.0]);
    assert_eq!(floats(on_ref("ScatterMax", v(), nan())), [2.0, 2.0, 3.0, 9.0]);
    let nothing = vec![ints(&[0], &[]), Tensor::zeros(DType::F32, [0, 2]).unwrap()];
    assert_eq!(floats(on_ref("ScatterAdd", v(), nothing)), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn any_type_can_be_assigned() {
    let strings = |values: &[&'static str]| Tensor::from_strings([values.len()], values.iter().map(|&s| s.into()).collect()).unwrap();
    let out = on_ref("ScatterUpdate", strings(&["a", "b"]), vec![ints(&[1], &[1]), strings(&["c"])]).unwrap();
    assert_eq!(out.as_strings().unwrap(), ["a", "c"]);
    let out = on_resource(
        "ResourceScatterUpdate",
        Tensor::vector(&[true, false]).unwrap(),
        vec![ints(&[1], &[1]), Tensor::vector(&[true]).unwrap()],
    )
    .unwrap();
    assert_eq!(out.as_slice::<bool>().unwrap(), [true, true]);
    let e = on_ref("ScatterAdd", Tensor::vector(&[true]).unwrap(), vec![ints(&[1], &[0]), Tensor::vector(&[true]).unwrap()]).unwrap_err();
    assert_eq!(e.code(), Code::NotFound);
}

#[test]
fn row_updates_are_checked() {
    let v = || vector(&[1.0, 2.0]);
    let ones = |n: usize| vector(&vec![1.0; n]);
    assert_eq!(
        message(on_ref("ScatterAdd", Tensor::scalar(1f32), vec![ints(&[1], &[0]), ones(1)])),
        "params must be at least 1-D, got shape []"
    );
    assert_eq!(
        message(on_ref("ScatterAdd", v(), vec![ints(&[2, 2], &[0, 1, 0, 5]), matrix(2, &[1.0; 4])])),
        "indices[1,1] = 5 is not in [0, 2)"
    );
    assert_eq!(message(on_ref("ScatterAdd", v(), vec![ints(&[], &[5]), Tensor::scalar(1f32)])), "indices = 5 is not in [0, 2)");
    assert_eq!(message(on_resource("ResourceScatterAdd", v(), vec![ints(&[1], &[-1]), ones(1)])), "indices[0] = -1 is not in [0, 2)");
    assert_eq!(
        message(on_ref("ScatterAdd", v(), vec![ints(&[1], &[0]), ones(2)])),
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape [2], indices.shape [1], params.shape [2]"
    );
    let zero = vec![ints(&[1], &[0]), Tensor::vector(&[0i32]).unwrap()];
    assert_eq!(message(on_ref("ScatterDiv", Tensor::vector(&[1i32]).unwrap(), zero)), "Integer division by zero");
}

#[test]
fn slices_are_updated() {
    let v = || matrix(2, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(floats(on_ref("ScatterNdUpdate", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, 9.0, 4.0]);
    let rows = vec![ints(&[2, 1], &[1, 1]), matrix(2, &[9.0, 1.0, 1.0, 1.0])];
    assert_eq!(floats(on_resource("ResourceScatterNdAdd", v(), rows)), [1.0, 2.0, 13.0, 6.0]);
    assert_eq!(floats(on_ref("ScatterNdSub", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, -6.0, 4.0]);
    assert_eq!(floats(on_ref("ScatterNdMax", v(), vec![ints(&[1, 2], &[1, 0]), vector(&[9.0])])), [1.0, 2.0, 9.0, 4.0]);
    let bad = |indices, updates| message(on_ref("ScatterNdAdd", v(), vec![indices, updates]));
    assert_eq!(bad(ints(&[2, 1, 2], &[1, 0, 2, 0]), matrix(2, &[9.0, 2.0])), "indices[1,0] = [2, 0] does not index into shape [2,2]");
    assert_eq!(bad(ints(&[1, 2], &[1, -1]), vector(&[9.0])), "indices[0] = [1, -1] does not index into shape [2,2]");
    assert_eq!(
        bad(ints(&[1, 3], &[1, 0, 0]), vector(&[9.0])),
        "Dimensions [3,2) of input[shape=[2,2]] must match dimensions [1,1) of updates[shape=[1]]"
    );
    assert_eq!(
        bad(ints(&[1, 2], &[1, 0]), vector(&[9.0, 1.0])),
        "Dimensions [0,1) of indices[shape=[1,2]] must match dimensions [0,1) of updates[shape=[2]]"
    );
}

#[test]
fn strided_slices_are_assigned() {
    let v = || matrix(3, &(0..12).map(|i| i as f32).collect::<Vec<_>>());
    let assign = |begin: &[i32], end: &[i32], strides: &[i32], value| {
        let spec = [begin, end, strides].map(|s| ints(&[s.len()], s)).to_vec();
        on_resource("ResourceStridedSliceAssign", v(), [spec, vec![value]].concat())
    };
    let expected = [0.0, 1.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 2.0, 2.0, 11.0];
    assert_eq!(floats(assign(&[0, 1], &[3, 3], &[2, 1], matrix(2, &[1.0, 1.0, 2.0, 2.0]))), expected);
    let expected = [0.0, 7.0, 7.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 7.0, 7.0, 11.0];
    assert_eq!(floats(assign(&[0, 1], &[3, 3], &[2, 1], Tensor::scalar(7f32))), expected);
    let expected = [0.0, 6.0, 2.0, 5.0, 4.0, 4.0, 6.0, 3.0, 8.0, 2.0, 10.0, 1.0];
    assert_eq!(floats(assign(&[2, 3], &[-4, -5], &[-1, -2], matrix(3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))), expected);
    assert_eq!(assign(&[0, 1], &[3, 3], &[2, 1], vector(&[1.0, 2.0, 3.0])).unwrap_err().code(), Code::InvalidArgument);
    let line = on_ref(
        "StridedSliceAssign",
        vector(&[0.0, 1.0, 2.0, 3.0]),
        [1, 3, 1].map(|i| ints(&[1], &[i])).into_iter().chain([vector(&[9.0, 8.0])]).collect(),
    );
    assert_eq!(floats(line), [0.0, 9.0, 8.0, 3.0]);
}
