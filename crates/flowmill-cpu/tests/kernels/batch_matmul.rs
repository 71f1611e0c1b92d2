use crate::testing::{Call, index_of, ty};
use flowmill_runtime::InferencePrecision;
use flowmill_tensor::{Complex, DType, Element, Result, Tensor};

fn tensor(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    Tensor::from_slice(dims, &(0..n).map(|i| (i * i % 11) as f32 - 4.0).collect::<Vec<_>>()).unwrap()
}

fn multiply(op: &str, x: Tensor, y: Tensor, adjoint: [bool; 2]) -> Result<Tensor> {
    Call::new(op).attr("T", ty(x.dtype())).attr("adj_x", adjoint[0]).attr("adj_y", adjoint[1]).inputs(vec![x, y]).run1()
}

/// Returns element `[batch, i, j]` of an operand that broadcasts, by the definition.
fn element(t: &Tensor, batch: &[usize], i: usize, j: usize) -> f32 {
    let dims = t.shape().dims();
    let own = &dims[..dims.len() - 2];
    let index = own.iter().zip(&batch[batch.len() - own.len()..]).fold(0, |sum, (&n, &b)| sum * n + if n == 1 { 0 } else { b });
    t.as_slice::<f32>().unwrap()[(index * dims[dims.len() - 2] + i) * dims[dims.len() - 1] + j]
}

/// Asserts that `c` is the product of the matrices of `a` and `b`, which broadcast, by the definition.
#[track_caller]
fn assert_product(a: &Tensor, b: &Tensor, adjoint: [bool; 2], c: &Tensor) {
    let dims = c.shape().to_vec();
    let (batch_dims, (rows, columns)) = (&dims[..dims.len() - 2], (dims[dims.len() - 2], dims[dims.len() - 1]));
    let depth = a.shape()[a.rank() - if adjoint[0] { 2 } else { 1 }];
    for (flat, &found) in c.as_slice::<f32>().unwrap().iter().enumerate() {
        let (j, i) = (flat % columns, flat / columns % rows);
        let batch = index_of(flat / columns / rows, batch_dims);
        let at = |t: &Tensor, i: usize, j: usize, swap: bool| if swap { element(t, &batch, j, i) } else { element(t, &batch, i, j) };
        let expected: f32 = (0..depth).map(|p| at(a, i, p, adjoint[0]) * at(b, p, j, adjoint[1])).sum();
        assert_eq!(found, expected, "{} {} {flat}", a.shape(), b.shape());
    }
}

#[test]
fn batches_broadcast() {
    for (x, y, adjoint) in [
        (&[2, 3, 4][..], &[2, 4, 5][..], [false, false]),
        (&[2, 4, 3], &[2, 5, 4], [true, true]),
        (&[3, 4], &[2, 4, 5], [false, false]),
        (&[2, 3, 4], &[4, 5], [false, false]),
        (&[2, 3, 4], &[5, 4], [false, true]),
        (&[3, 4], &[1, 4, 5], [false, false]),
        (&[2, 3, 4], &[1, 1, 5, 4], [false, true]),
        (&[2, 1, 3, 4], &[1, 3, 4, 5], [false, false]),
        (&[2, 3, 3, 4], &[3, 4, 5], [false, false]),
    ] {
        let (a, b) = (tensor(x), tensor(y));
        assert_product(&a, &b, adjoint, &multiply("BatchMatMulV2", a.clone(), b.clone(), adjoint).unwrap());
    }
}

/// A right operand that is a constant, or the tensor of the call before, is multiplied in another form.
#[test]
fn products_with_stacks_of_weights_are_those_of_other_stacks() {
    for (x, y, adjoint) in [
        (&[3, 7, 20][..], &[3, 20, 33][..], [false, false]),
        (&[3, 7, 20], &[3, 33, 20], [false, true]),
        (&[1, 2, 20], &[3, 20, 33], [false, false]),
        (&[20, 5], &[2, 2, 20, 33], [true, false]),
        (&[2, 3, 5, 20], &[3, 20, 33], [false, false]),
        (&[0, 5, 20], &[0, 20, 33], [false, false]),
        (&[3, 0, 20], &[3, 20, 33], [false, false]),
    ] {
        let (a, b) = (tensor(x), tensor(y));
        let call = || Call::new("BatchMatMulV2").attr("T", ty(DType::F32)).attr("adj_x", adjoint[0]).attr("adj_y", adjoint[1]);
        let constant = call().inputs(vec![a.clone(), b.clone()]).constant(InferencePrecision::F32).run1().unwrap();
        assert_product(&a, &b, adjoint, &constant);
        let kernel = call().inputs(vec![a.clone(), b.clone()]).kernel().unwrap();
        for weights in [&b, &b, &b, &tensor(y), &b] {
            let product = call().inputs(vec![a.clone(), weights.clone()]).run_with(&kernel).unwrap();
            assert_product(&a, &b, adjoint, product[0].as_ref().unwrap());
        }
    }
}

#[test]
fn adjoints_are_conjugated() {
    let one = |z: Complex<f64>| Tensor::from_slice([1, 1], &[z]).unwrap();
    let c = multiply("BatchMatMulV2", one(Complex::new(1.0, 2.0)), one(Complex::new(3.0, 1.0)), [true, false]).unwrap();
    assert_eq!(c.as_slice::<Complex<f64>>().unwrap(), [Complex::new(5.0, -5.0)]);
}

#[test]
fn bytes_are_multiplied_in_32_bits() {
    let call = Call::new("BatchMatMulV3").attr("Ta", ty(DType::I8)).attr("Tb", ty(DType::U8)).attr("Tout", ty(DType::I32));
    let c = call
        .inputs(vec![Tensor::from_slice([1, 2], &[-100i8, 1]).unwrap(), Tensor::from_slice([2, 1], &[200u8, 3]).unwrap()])
        .run1()
        .unwrap();
    assert_eq!(c.as_slice::<i32>().unwrap(), [-19_997]);
    assert_eq!(i32::DTYPE, c.dtype());
}

#[test]
fn shapes_are_checked() {
    for (op, x, y, message) in [
        ("BatchMatMul", &[2, 2, 3][..], &[3, 3, 2][..], "In[0].dim(0) and In[1].dim(0) must be the same: [2,2,3] vs [3,3,2]"),
        ("BatchMatMulV2", &[2, 2, 3], &[3, 3, 2], "In[0] and In[1] must have compatible batch dimensions: [2,2,3] vs. [3,3,2]"),
        ("BatchMatMulV2", &[2, 2, 3], &[2, 2, 2], "Matrix size-incompatible: In[0]: [2,2,3], In[1]: [2,2,2]"),
        ("BatchMatMulV2", &[2], &[2, 2, 2], "In[0] ndims must be >= 2: 1"),
    ] {
        let error = multiply(op, tensor(x), tensor(y), [false; 2]).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
    assert_eq!(multiply("BatchMatMulV2", tensor(&[0, 2, 3]), tensor(&[3, 2]), [false; 2]).unwrap().shape().dims(), [0, 2, 2]);
}
