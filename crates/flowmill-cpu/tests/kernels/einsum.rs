use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Result, Tensor};

fn einsum(equation: &str, inputs: Vec<Tensor>) -> Result<Tensor> {
    Call::new("Einsum").attr("T", ty(DType::F32)).attr("equation", equation).inputs(inputs).run1()
}

fn counting(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    Tensor::from_slice(dims, &(1..=n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

#[track_caller]
fn check(equation: &str, inputs: &[&[usize]], dims: &[usize], expected: &[f32]) {
    let out = einsum(equation, inputs.iter().map(|d| counting(d)).collect()).unwrap();
    assert_eq!((out.shape().dims(), out.as_slice::<f32>().unwrap()), (dims, expected), "{equation}");
}

#[test]
fn one_operand() {
    check("ij->ji", &[&[2, 3]], &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    check("ij->", &[&[3, 4]], &[], &[78.0]);
    check("ii->i", &[&[2, 2]], &[2], &[1.0, 4.0]);
    check("ii->", &[&[2, 2]], &[], &[5.0]);
    check("...j->...", &[&[2, 1, 3]], &[2, 1], &[6.0, 15.0]);
}

#[test]
fn two_operands() {
    check("ij,jk->ik", &[&[2, 2], &[2, 2]], &[2, 2], &[7.0, 10.0, 15.0, 22.0]);
    check("ij,ik->jk", &[&[2, 2], &[2, 2]], &[2, 2], &[10.0, 14.0, 14.0, 20.0]);
    check("i,j->ij", &[&[2], &[3]], &[2, 3], &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0]);
    check("bij,bjk->bki", &[&[2, 1, 2], &[2, 2, 1]], &[2, 1, 1], &[5.0, 25.0]);
    check("...ij,...jk->...ik", &[&[2, 1, 1], &[1, 2]], &[2, 1, 2], &[1.0, 2.0, 2.0, 4.0]);
    check("ij,k->k", &[&[2, 2], &[2]], &[2], &[10.0, 20.0]);
    check("ij,jk->ik", &[&[2, 0], &[0, 2]], &[2, 2], &[0.0; 4]);
}

#[test]
fn equations_are_checked() {
    for (equation, inputs, message) in [
        ("ij,ik", &[&[3usize, 4][..], &[3, 4]][..], "Expecting exactly one '->' in einsum equation: ij,ik"),
        ("ij,ki->jk", &[&[3, 4], &[3, 4]], "Expected dimension 3 at axis 1 of the input shaped [3,4] but got dimension 4"),
        ("ijk->jk", &[&[3, 4]], "Expected input 0 to have rank 3 but got: 2"),
        ("ij->ijk", &[&[3, 4]], "Output subscripts 'ijk'"),
        ("i1->i", &[&[3, 4]], "Invalid character '1'"),
    ] {
        let error = einsum(equation, inputs.iter().map(|d| counting(d)).collect()).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}
