//! `_FusedElementwiseProduct` against the nodes that it consists of.

use crate::testing::{Call, ints, message, strings, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// Returns values around zero with a long period.
fn tensor(dims: &[usize], seed: usize) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 2000.0 - 0.5).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

/// A program with its arguments.
struct Rows<'a> {
    args: Vec<Tensor>,
    pieces: &'a [i64],
    program: &'a [&'a str],
    output: i64,
}

impl Rows<'_> {
    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        vec![("T", ty(DType::F32)), ("pieces", ints(self.pieces)), ("program", strings(self.program)), ("outputs", ints(&[self.output]))]
    }

    fn alone(&self) -> Tensor {
        Call::new("_FusedElementwise").attrs(&self.attrs()).inputs(self.args.clone()).run1().unwrap()
    }

    fn times(&self, matrix: Tensor, functions: &[&str], epilogue: &[Tensor]) -> Result<Tensor> {
        Call::new("_FusedElementwiseProduct")
            .attrs(&self.attrs())
            .attr("N", self.args.len() as i64)
            .attr("num_epilogue", epilogue.len() as i64)
            .attr("fused_ops", strings(functions))
            .input(matrix)
            .inputs([&self.args[..], epilogue].concat())
            .run1()
    }
}

/// Normalised images of several sizes, on one thread and two: rows that end blocks, short rows, one piece and several.
#[test]
fn products_have_the_bits_of_separate_nodes() {
    for (batch, size, channels, outputs) in [(1, 40, 100, 24), (3, 30, 600, 9), (2, 61, 16, 40), (1, 3, 64, 15), (4, 60, 3, 12)] {
        let image = tensor(&[batch, size, size, channels], 1);
        let (scale, shift) = (tensor(&[channels], 2), tensor(&[channels], 3));
        let excitation = tensor(&[batch, 1, 1, channels], 4);
        let normalised = Rows {
            args: vec![image.clone(), scale, shift],
            pieces: &[0, 1, 0, 1, 0, 1],
            program: &["Mul 0 1", "Add 3 2", "Relu 4"],
            output: 5,
        };
        let scaled = Rows { args: vec![image, excitation], pieces: &[0, 1, 0, 1], program: &["Mul 0 1"], output: 2 };
        let (filter, bias) = (tensor(&[1, 1, channels, outputs], 5), tensor(&[outputs], 6));
        let residual = tensor(&[batch, size, size, outputs], 7);
        for rows in [normalised, scaled] {
            let steps = [("T", ty(DType::F32)), ("strides", ints(&[1, 1, 1, 1])), ("padding", "SAME".into())];
            let product = Call::new("Conv2D").attrs(&steps).inputs(vec![rows.alone(), filter.clone()]).run1().unwrap();
            let added = Call::new("AddV2").attr("T", ty(DType::F32));
            let biased = added.inputs(vec![product.clone(), bias.clone()]).run1().unwrap();
            let expected = Call::new("AddV2").attr("T", ty(DType::F32)).inputs(vec![biased, residual.clone()]).run1().unwrap();
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let plain = rows.times(filter.clone(), &[], &[]).unwrap();
                    assert!(plain == product, "{batch} images of {size}, {channels} channels");
                    let whole = rows.times(filter.clone(), &["BiasAdd", "Add"], &[bias.clone(), residual.clone()]).unwrap();
                    assert!(whole == expected, "{batch} images of {size}, {channels} channels");
                });
            }
        }
    }
}

/// A matrix of rank 2, parts of arguments, and a result that is smaller than another value.
#[test]
fn products_of_matrices() {
    let gates = Rows { args: vec![tensor(&[300, 256], 1)], pieces: &[0, 2, 1, 2], program: &["Sigmoid 0", "Mul 2 1"], output: 3 };
    let gates = Rows { args: vec![gates.args[0].clone(), gates.args[0].clone()], ..gates };
    let matrix = tensor(&[128, 9], 2);
    let expected = Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![gates.alone(), matrix.clone()]).run1().unwrap();
    assert!(gates.times(matrix.clone(), &[], &[]).unwrap() == expected);
    let column = tensor(&[300, 1], 3);
    let small =
        Rows { args: vec![column, tensor(&[128], 4)], pieces: &[0, 1, 0, 1], program: &["Square 0", "Mul 1 2", "Neg 2"], output: 4 };
    assert_eq!(small.times(tensor(&[1, 4], 5), &[], &[]).unwrap().shape().dims(), [300, 4]);
    let none = Rows { args: vec![tensor(&[0, 128], 1)], pieces: &[0, 1], program: &["Square 0"], output: 1 };
    assert_eq!(none.times(matrix, &[], &[]).unwrap().shape().dims(), [0, 9]);
    let empty = Rows { args: vec![tensor(&[5, 0], 1)], pieces: &[0, 1], program: &["Square 0"], output: 1 };
    assert_eq!(empty.times(tensor(&[0, 2], 1), &[], &[]).unwrap().as_slice::<f32>().unwrap(), [0.0; 10]);
}

#[test]
fn inputs_that_do_not_fit_together_are_errors() {
    let rows = || Rows { args: vec![tensor(&[5, 8], 1)], pieces: &[0, 1], program: &["Square 0"], output: 1 };
    assert!(message(rows().times(tensor(&[7, 2], 1), &[], &[])).contains("same depth: 8 vs 7"));
    assert!(message(rows().times(tensor(&[8], 1), &[], &[])).contains("must be a matrix"));
    assert!(message(rows().times(tensor(&[3, 1, 8, 2], 1), &[], &[])).contains("a filter of one position"));
    assert!(message(rows().times(tensor(&[8, 2], 1), &["BiasAdd"], &[tensor(&[3], 1)])).contains("as many biases"));
    assert!(message(rows().times(tensor(&[8, 2], 1), &["Add"], &[tensor(&[4, 2], 1)])).contains("Incompatible shapes"));
    assert!(message(rows().times(tensor(&[8, 2], 1), &["BiasAdd"], &[])).contains("which its functions do not take"));
    let vector = Rows { args: vec![tensor(&[8], 1)], ..rows() };
    assert!(message(vector.times(tensor(&[8, 2], 1), &[], &[])).contains("at least of rank 2"));
}
