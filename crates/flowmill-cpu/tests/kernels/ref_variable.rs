use crate::testing::{Call, run, run1, shape, ty};
use flowmill_runtime::{RefVariable, ResourceManager};
use flowmill_tensor::{Code, DType, Tensor};
use std::sync::Arc;

fn variable(dtype: DType, dims: &[i64]) -> Tensor {
    run1("VariableV2", &[("dtype", ty(dtype)), ("shape", shape(dims))], vec![]).unwrap()
}

fn value(variable: &Tensor) -> Tensor {
    variable.as_resources().unwrap()[0].get::<RefVariable>().unwrap().get().unwrap()
}

fn assign(variable: &Tensor, value: Tensor) {
    run("Assign", &[], vec![variable.clone(), value]).unwrap();
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

#[test]
fn nodes_of_one_name_share_a_variable() {
    let resources = Arc::new(ResourceManager::new());
    let make = |name: &str, dtype| {
        let attrs = [("dtype", ty(dtype)), ("shape", shape(&[2])), ("shared_name", name.into())];
        Call::new("VariableV2").attrs(&attrs).resources(&resources).run1()
    };
    let (a, b, c) = (make("x", DType::F32).unwrap(), make("x", DType::F32).unwrap(), make("y", DType::F32).unwrap());
    assign(&a, vector(&[1.0, 2.0]));
    assert_eq!(value(&b).as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert!(!run1("IsVariableInitialized", &[], vec![c]).unwrap().to_scalar::<bool>().unwrap());
    assert!(run1("IsVariableInitialized", &[], vec![b]).unwrap().to_scalar::<bool>().unwrap());
    let e = make("x", DType::I32).unwrap_err();
    assert!(e.message().starts_with("Output 0 of type float_ref does not match declared output type int32_ref"), "{e}");
}

#[test]
fn assignment_keeps_the_shape_unless_told_otherwise() {
    let v = variable(DType::F32, &[2]);
    let e = run("Assign", &[], vec![v.clone(), vector(&[1.0, 2.0, 3.0])]).unwrap_err();
    assert_eq!(e.message(), "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
    run("Assign", &[("validate_shape", false.into())], vec![v.clone(), vector(&[1.0, 2.0, 3.0])]).unwrap();
    assert_eq!(value(&v).as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    let e = run("Assign", &[], vec![v.clone(), vector(&[1.0, 2.0])]).unwrap_err();
    assert_eq!(e.message(), "Assign requires shapes of both tensors to match. lhs shape= [3] rhs shape= [2]");
    assert_eq!(run("Assign", &[], vec![vector(&[1.0]), vector(&[1.0])]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn updates_leave_values_read_before_alone() {
    let v = variable(DType::F32, &[2]);
    let attrs = [("T", ty(DType::F32))];
    let e = run("AssignAdd", &attrs, vec![v.clone(), vector(&[1.0, 1.0])]).unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::FailedPrecondition, "Attempting to use uninitialized value n"));
    let initial = vector(&[1.0, 2.0]);
    assign(&v, initial.clone());
    run("AssignAdd", &attrs, vec![v.clone(), vector(&[10.0, 10.0])]).unwrap();
    let between = value(&v);
    run("AssignSub", &attrs, vec![v.clone(), vector(&[1.0, 2.0])]).unwrap();
    assert_eq!(initial.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(between.as_slice::<f32>().unwrap(), [11.0, 12.0]);
    assert_eq!(value(&v).as_slice::<f32>().unwrap(), [10.0, 10.0]);
    let e = run("AssignAdd", &attrs, vec![v, vector(&[1.0])]).unwrap_err();
    assert_eq!(e.message(), "Parameters and update must be the same size");
    let ints = variable(DType::I8, &[]);
    assign(&ints, Tensor::scalar(i8::MAX));
    run("AssignAdd", &[("T", ty(DType::I8))], vec![ints.clone(), Tensor::scalar(1i8)]).unwrap();
    assert_eq!(value(&ints).to_scalar::<i8>().unwrap(), i8::MIN);
}

#[test]
fn counting_ends_at_the_limit() {
    let v = variable(DType::I32, &[]);
    assign(&v, Tensor::scalar(1i32));
    let count = || run1("CountUpTo", &[("T", ty(DType::I32)), ("limit", 3i64.into())], vec![v.clone()]);
    assert_eq!(count().unwrap().to_scalar::<i32>().unwrap(), 1);
    assert_eq!(count().unwrap().to_scalar::<i32>().unwrap(), 2);
    let e = count().unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::OutOfRange, "Reached limit of 3"));
}

#[test]
fn a_temporary_variable_gives_its_value_when_it_is_destroyed() {
    let v = run1("TemporaryVariable", &[("dtype", ty(DType::F32)), ("shape", shape(&[2])), ("var_name", "t".into())], vec![]).unwrap();
    assign(&v, vector(&[3.0, 4.0]));
    let destroy = |name: &str| run1("DestroyTemporaryVariable", &[("var_name", name.into())], vec![v.clone()]);
    assert_eq!(destroy("other").unwrap_err().code(), Code::NotFound);
    assert_eq!(destroy("t").unwrap().as_slice::<f32>().unwrap(), [3.0, 4.0]);
    assert_eq!(destroy("t").unwrap_err().code(), Code::FailedPrecondition);
}
