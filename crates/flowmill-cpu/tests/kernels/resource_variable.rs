use crate::testing::{Call, run, run1, shape, ty};
use flowmill_proto::AttrValue;
use flowmill_runtime::ResourceManager;
use flowmill_tensor::{Code, DType, Result, Tensor};
use std::sync::Arc;

/// The name with which TensorFlow marks anonymous variables.
const ANONYMOUS: &str = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

fn handle(resources: &Arc<ResourceManager>, name: &str) -> Tensor {
    let attrs = [("dtype", ty(DType::F32)), ("shape", shape(&[2])), ("shared_name", name.into())];
    Call::new("VarHandleOp").attrs(&attrs).resources(resources).run1().unwrap()
}

fn float() -> [(&'static str, AttrValue); 1] {
    [("dtype", ty(DType::F32))]
}

fn read(handle: &Tensor) -> Result<Vec<f32>> {
    Ok(run1("ReadVariableOp", &float(), vec![handle.clone()])?.as_slice::<f32>()?.to_vec())
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

#[test]
fn handles_of_one_name_share_a_variable_and_anonymous_ones_do_not() {
    let resources = Arc::default();
    let (a, b) = (handle(&resources, "x"), handle(&resources, "x"));
    run("AssignVariableOp", &float(), vec![a, vector(&[1.0, 2.0])]).unwrap();
    assert_eq!(read(&b).unwrap(), [1.0, 2.0]);
    let (a, b) = (handle(&resources, ANONYMOUS), handle(&resources, ANONYMOUS));
    run("AssignVariableOp", &float(), vec![a, vector(&[1.0, 2.0])]).unwrap();
    assert_eq!(read(&b).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn a_variable_without_a_value_says_so() {
    let x = handle(&Arc::default(), "x");
    let initialized = || run1("VarIsInitializedOp", &[], vec![x.clone()]).unwrap().to_scalar::<bool>().unwrap();
    assert!(!initialized());
    let e = read(&x).unwrap_err();
    assert_eq!(e.code(), Code::FailedPrecondition);
    assert!(e.message().contains("Error while reading resource variable x from Container: localhost"), "{e}");
    assert!(e.message().contains("Could not find variable x. This could mean that the variable has been deleted."), "{e}");
    let e = run("AssignAddVariableOp", &float(), vec![x.clone(), vector(&[1.0, 2.0])]).unwrap_err();
    assert_eq!(e.code(), Code::NotFound);
    assert!(e.message().contains("Could not find resource: localhost/x"), "{e}");
    run("AssignVariableOp", &float(), vec![x.clone(), vector(&[1.0, 2.0])]).unwrap();
    assert!(initialized());
    let destroy = || run("DestroyResourceOp", &[("ignore_lookup_error", false.into())], vec![x.clone()]);
    destroy().unwrap();
    assert!(!initialized());
    assert_eq!(destroy().unwrap_err().code(), Code::NotFound);
}

#[test]
fn updates_leave_values_read_before_alone() {
    let x = handle(&Arc::default(), "x");
    run("AssignVariableOp", &float(), vec![x.clone(), vector(&[1.0, 2.0])]).unwrap();
    let before = run1("ReadVariableOp", &float(), vec![x.clone()]).unwrap();
    run("AssignAddVariableOp", &float(), vec![x.clone(), vector(&[1.0, 1.0])]).unwrap();
    run("AssignSubVariableOp", &float(), vec![x.clone(), vector(&[0.5, 0.0])]).unwrap();
    assert_eq!(before.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(read(&x).unwrap(), [1.5, 3.0]);
    let e = run("AssignAddVariableOp", &float(), vec![x.clone(), vector(&[1.0])]).unwrap_err();
    assert_eq!(e.message(), "Cannot update variable with shape [2] using a Tensor with shape [1], shapes must be equal.");
    assert_eq!(run1("VariableShape", &[], vec![x]).unwrap().as_slice::<i32>().unwrap(), [2]);
}

#[test]
fn types_and_shapes_are_checked() {
    let x = handle(&Arc::default(), "x");
    run("AssignVariableOp", &float(), vec![x.clone(), vector(&[1.0, 2.0])]).unwrap();
    let e = run("ReadVariableOp", &[("dtype", ty(DType::I32))], vec![x.clone()]).unwrap_err();
    assert_eq!(e.message(), "Trying to read variable with wrong dtype. Expected int32 got float");
    let e = run("AssignVariableOp", &[("dtype", ty(DType::I32))], vec![x.clone(), Tensor::scalar(1i32)]).unwrap_err();
    assert_eq!(e.message(), "Trying to assign variable with wrong dtype. Expected float got int32");
    let validated = [("dtype", ty(DType::F32)), ("validate_shape", true.into())];
    let e = run("AssignVariableOp", &validated, vec![x.clone(), vector(&[1.0])]).unwrap_err();
    assert_eq!(e.message(), "Trying to assign to variable with tensor with wrong shape. Expected [2] got [1]");
    run("AssignVariableOp", &float(), vec![x.clone(), vector(&[1.0])]).unwrap();
    assert_eq!(read(&x).unwrap(), [1.0]);
    assert_eq!(run("ReadVariableOp", &float(), vec![Tensor::scalar(1f32)]).unwrap_err().code(), Code::InvalidArgument);
}
