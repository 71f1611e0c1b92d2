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

/// Returns the result by the definition: the sum of the products of all combinations of indices.
fn by_definition(equation: &str, dims: [&[usize]; 2], inputs: [&[f32]; 2]) -> Vec<f32> {
    let (terms, output) = equation.split_once("->").unwrap();
    let (left, right) = terms.split_once(',').unwrap();
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (term, dims) in [left, right].into_iter().zip(dims) {
        for (label, &size) in term.chars().zip(dims) {
            if sizes.iter().all(|s| s.0 != label) {
                sizes.push((label, size));
            }
        }
    }
    let position = |term: &str, index: &[usize]| {
        term.chars().fold(0, |at, label| {
            let i = sizes.iter().position(|s| s.0 == label).unwrap();
            at * sizes[i].1 + index[i]
        })
    };
    let mut out = vec![0.0; output.chars().map(|l| sizes.iter().find(|s| s.0 == l).unwrap().1).product()];
    for mut combination in 0..sizes.iter().map(|s| s.1).product::<usize>() {
        let mut index = vec![0; sizes.len()];
        for (i, &(_, size)) in sizes.iter().enumerate() {
            index[i] = combination % size;
            combination /= size;
        }
        out[position(output, &index)] += inputs[0][position(left, &index)] * inputs[1][position(right, &index)];
    }
    out
}

/// Projections, heads of attention in several orders, and operands that no gemm takes as they are.
#[test]
fn products_are_those_of_the_definition() {
    for (equation, left, right) in [
        ("abc,cd->abd", &[2, 3, 4][..], &[4, 5][..]),
        ("abc,cde->abde", &[2, 3, 4], &[4, 2, 3]),
        ("abcd,cde->abe", &[2, 3, 2, 4], &[2, 4, 5]),
        ("abcd,dce->abe", &[2, 3, 2, 4], &[4, 2, 5]),
        ("aecd,abcd->acbe", &[2, 9, 3, 8], &[2, 7, 3, 8]),
        ("acbe,aecd->abcd", &[2, 3, 7, 9], &[2, 9, 3, 8]),
        ("acbe,aecd->abcd", &[1, 3, 70, 130], &[1, 130, 3, 33]),
        ("bhqk,bhkd->bqhd", &[2, 3, 7, 9], &[2, 3, 9, 5]),
        ("abc,bcd->dab", &[3, 4, 5], &[4, 5, 6]),
        ("abc,cd->adb", &[3, 4, 5], &[5, 6]),
        ("cab,dc->bda", &[3, 4, 5], &[6, 3]),
        ("abc,dcb->ad", &[3, 4, 5], &[6, 5, 4]),
        ("ab,ab->ab", &[3, 4], &[3, 4]),
        ("ab,cd->acbd", &[3, 4], &[2, 5]),
        ("abc,cbd->bad", &[3, 2, 5], &[5, 2, 6]),
        ("abc,c->ab", &[3, 2, 5], &[5]),
        ("a,abc->bc", &[3], &[3, 2, 5]),
        ("abc,cde->abde", &[1, 1, 1], &[1, 1, 1]),
        ("abc,cde->abde", &[0, 3, 4], &[4, 2, 3]),
    ] {
        let (a, b) = (counting(left), counting(right));
        let want = by_definition(equation, [left, right], [a.as_slice().unwrap(), b.as_slice().unwrap()]);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let out = pool.install(|| einsum(equation, vec![a.clone(), b.clone()])).unwrap();
            for (i, (got, want)) in out.as_slice::<f32>().unwrap().iter().zip(&want).enumerate() {
                assert!((got - want).abs() <= 1e-5 * want.abs(), "{equation} of {left:?} and {right:?}: element {i} is {got}, not {want}");
            }
            assert_eq!(out.num_elements(), want.len());
        }
    }
}

#[test]
fn integers_and_broadcast_dimensions() {
    let whole =
        |dims: &[usize]| Tensor::from_slice(dims, &(1..=dims.iter().product::<usize>()).map(|i| i as i32).collect::<Vec<_>>()).unwrap();
    let call = |equation: &str, inputs: Vec<Tensor>| {
        Call::new("Einsum").attr("T", ty(DType::I32)).attr("equation", equation).inputs(inputs).run1()
    };
    let out = call("abc,cb->ba", vec![whole(&[2, 2, 2]), whole(&[2, 2])]).unwrap();
    assert_eq!(out.as_slice::<i32>().unwrap(), [7, 23, 22, 46]);
    check(
        "...ab,...b->...a",
        &[&[2, 1, 2, 2], &[1, 3, 2]],
        &[2, 3, 2],
        &[5.0, 11.0, 11.0, 25.0, 17.0, 39.0, 17.0, 23.0, 39.0, 53.0, 61.0, 83.0],
    );
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
