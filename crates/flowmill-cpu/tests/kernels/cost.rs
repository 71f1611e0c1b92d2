use crate::testing::{Call, ty};
use flowmill_runtime::Cost;
use flowmill_tensor::DType;

fn float(op: &str) -> Call {
    Call::new(op).attr("T", ty(DType::F32))
}

#[test]
fn a_kernel_without_an_estimate_has_the_cost_class_of_its_op() {
    assert_eq!(float("Neg").cost(), Cost::Cheap);
    assert_eq!(float("Cholesky").cost(), Cost::Expensive);
    assert_eq!(float("MatMul").cost(), Cost::Expensive);
}

#[test]
fn an_estimate_from_static_shapes_comes_before_the_cost_class() {
    assert_eq!(float("MatMul").input_shapes(&[&[4, 4], &[4, 4]]).cost(), Cost::Cheap);
    assert_eq!(float("MatMul").input_shapes(&[&[512, 512], &[512, 512]]).cost(), Cost::Expensive);
    assert_eq!(float("MatMul").input_shapes(&[&[4, 4], &[4, -1]]).cost(), Cost::Expensive);
    let sum = |shape: &[i64]| float("Sum").attr("Tidx", ty(DType::I32)).input_shapes(&[shape, &[1]]).cost();
    assert_eq!((sum(&[8, 8]), sum(&[4096, 4096])), (Cost::Cheap, Cost::Expensive));
}

#[test]
fn a_kernel_that_may_wait_says_so() {
    assert_eq!(Call::new("MakeIterator").cost(), Cost::Blocking);
}
