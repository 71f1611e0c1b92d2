//! Matrix products against the host's.

use crate::cases::matrices;
use crate::compare::{Case, Random, tensor_of};
use crate::elementwise::compare;
use crate::recorder::Recorder;
use crate::setup::{GPU, on_stub, session};
use flowmill::prelude::*;
use flowmill::{Code, PartialShape, Shape};

#[test]
fn matrix_products_are_those_of_the_host() {
    compare(&matrices(&Recorder::new().device()));
}

#[test]
pub(crate) fn einsums_are_those_of_the_host() {
    on_stub(|| {
        let mut random = Random::new(81);
        let cases: [(&str, &[&[usize]]); 18] = [
            ("ij->ji", &[&[5, 7]]),
            ("ijk->ik", &[&[3, 4, 5]]),
            ("ii->i", &[&[4, 4]]),
            ("iij->j", &[&[3, 3, 2]]),
            ("i->ii", &[&[4]]),
            ("ij->", &[&[4, 3]]),
            ("ij,jk->ik", &[&[4, 5], &[5, 6]]),
            ("ij,jk->ki", &[&[4, 5], &[5, 6]]),
            ("ji,kj->ik", &[&[5, 4], &[6, 5]]),
            ("bij,bjk->bik", &[&[3, 4, 5], &[3, 5, 2]]),
            ("bthd,bshd->bhts", &[&[2, 3, 4, 5], &[2, 6, 4, 5]]),
            ("bhts,bshd->bthd", &[&[2, 4, 3, 6], &[2, 6, 4, 5]]),
            ("...ij,...jk->...ik", &[&[2, 3, 4, 5], &[5, 6]]),
            ("...ij,...jk->...ik", &[&[2, 1, 4, 5], &[3, 5, 6]]),
            ("abc,cd->abd", &[&[2, 3, 4], &[4, 5]]),
            ("i,j->ij", &[&[4], &[5]]),
            ("ij,ij->", &[&[4, 5], &[4, 5]]),
            ("ij,jk->ik", &[&[0, 5], &[5, 6]]),
        ];
        for (equation, shapes) in cases {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::I64] {
                let inputs: Vec<Tensor> = shapes.iter().map(|dims| random.tensor(dtype, dims)).collect();
                Case::new("Einsum").list(inputs).attr("equation", equation).within(32.0).check();
            }
        }
    });
}

#[test]
pub(crate) fn sparse_matrices_are_multiplied() {
    on_stub(|| {
        let mut random = Random::new(82);
        // Few elements, none, and so many that they are sorted.
        for ([rows, columns, others], count) in
            [([5usize, 7, 3], 12usize), ([4, 6, 300], 9), ([3, 4, 2], 0), ([60, 90, 5], 2500), ([0, 3, 2], 0)]
        {
            let pairs: Vec<i64> = (0..count).flat_map(|_| [random.below(rows) as i64, random.below(columns) as i64]).collect();
            for (adjoint_a, adjoint_b) in [(false, false), (true, false), (false, true), (true, true)] {
                for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                    let inner = if adjoint_a { rows } else { columns };
                    let dense = if adjoint_b { [others, inner] } else { [inner, others] };
                    let (values, b) = (random.unit(dtype, &[count]), random.unit(dtype, &dense));
                    let indices = Tensor::from_slice([count, 2], &pairs).unwrap();
                    let case = Case::new("SparseTensorDenseMatMul").input(indices).input(values);
                    let case = case.input(Tensor::vector(&[rows as i64, columns as i64]).unwrap()).input(b);
                    case.attr("adjoint_a", adjoint_a).attr("adjoint_b", adjoint_b).within(64.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn triangular_systems_are_solved() {
    on_stub(|| {
        let mut random = Random::new(83);
        // Outer dimensions that are equal, of one matrix, and broadcast; and the sizes of the matrices and of the right-hand sides.
        let cases: [(&[usize], &[usize], usize, usize); 9] = [
            (&[], &[], 5, 3),
            (&[2], &[2], 4, 1),
            (&[], &[3], 3, 2),
            (&[3], &[], 3, 2),
            (&[2, 1], &[1, 3], 3, 2),
            (&[0], &[0], 2, 2),
            (&[], &[], 40, 300),
            // Several panels of rows.
            (&[2], &[1], 130, 3),
            (&[], &[], 128, 1),
        ];
        for (outer_a, outer_b, n, width) in cases {
            for dtype in [DType::F32, DType::F64] {
                // A dominant diagonal keeps solutions small.
                let count = outer_a.iter().product::<usize>();
                let values: Vec<f64> = (0..count * n * n)
                    .map(|i| if i / n % n == i % n { 2.0 + random.below(4) as f64 } else { random.below(8) as f64 / (8 * n) as f64 })
                    .collect();
                let a = tensor_of(dtype, Shape::new(&[outer_a, &[n, n]].concat()), &values);
                let b = random.unit(dtype, &[outer_b, &[n, width]].concat());
                for (lower, adjoint) in [(true, false), (false, false), (true, true), (false, true)] {
                    let case = Case::new("MatrixTriangularSolve").input(a.clone()).input(b.clone());
                    case.attr("lower", lower).attr("adjoint", adjoint).within(64.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn definite_matrices_have_factors() {
    on_stub(|| {
        let mut random = Random::new(84);
        for (outer, n) in [(&[][..], 5usize), (&[3], 4), (&[2, 2], 1), (&[0], 3), (&[2], 33), (&[2], 64), (&[2], 150)] {
            for dtype in [DType::F32, DType::F64] {
                let count = outer.iter().product::<usize>();
                let mut values: Vec<f64> = (0..count * n * n).map(|_| random.below(8) as f64 / 8.0).collect();
                for i in (0..values.len()).filter(|i| i / n % n == i % n) {
                    values[i] += n as f64;
                }
                let dims = [outer, &[n, n]].concat();
                Case::new("Cholesky").input(tensor_of(dtype, Shape::new(&dims), &values)).within(64.0).check();
                // Negative numbers on a diagonal have no root, neither the first nor the last one.
                for i in [0, n - 1] {
                    let first_of_last = values.len().saturating_sub(n * n);
                    values.iter_mut().skip(first_of_last + i * (n + 1)).take(1).for_each(|value| *value = -1.0);
                    Case::new("Cholesky").input(tensor_of(dtype, Shape::new(&dims), &values)).within(64.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn systems_are_solved() {
    on_stub(|| {
        let mut random = Random::new(85);
        for (outer, n, width) in
            [(&[][..], 5usize, 3usize), (&[3], 4, 1), (&[2, 2], 1, 2), (&[0], 3, 2), (&[2], 0, 2), (&[2], 70, 2), (&[], 130, 3)]
        {
            for dtype in [DType::F32, DType::F64] {
                let count = outer.iter().product::<usize>();
                // The greatest element of a column is not on the diagonal.
                let values: Vec<f64> = (0..count * n * n)
                    .map(|i| if (i / n + 1) % n == i % n { n as f64 } else { random.below(16) as f64 / 8.0 - 1.0 })
                    .collect();
                let a = tensor_of(dtype, Shape::new(&[outer, &[n, n]].concat()), &values);
                let b = random.unit(dtype, &[outer, &[n, width]].concat());
                for adjoint in [false, true] {
                    Case::new("MatrixSolve").input(a.clone()).input(b.clone()).attr("adjoint", adjoint).within(1024.0).check();
                    Case::new("MatrixInverse").input(a.clone()).attr("adjoint", adjoint).within(1024.0).check();
                }
                Case::new("LogMatrixDeterminant").input(a.clone()).outputs(2).within(1024.0).check();
                if n < 70 {
                    Case::new("MatrixDeterminant").input(a).within(1024.0).check();
                }
                // All rows of the last matrix are equal.
                if n > 1 && count > 0 {
                    let start = (count - 1) * n * n;
                    let singular: Vec<f64> = (0..values.len()).map(|i| if i < start { values[i] } else { values[start + i % n] }).collect();
                    let singular = tensor_of(dtype, Shape::new(&[outer, &[n, n]].concat()), &singular);
                    Case::new("MatrixDeterminant").input(singular.clone()).within(1024.0).check();
                    Case::new("LogMatrixDeterminant").input(singular).outputs(2).within(1024.0).check();
                }
            }
        }
    });
}

#[test]
fn singular_matrices_are_errors() {
    let _driver = stub_cuda::install().unwrap();
    for (op, message) in [("MatrixInverse", "Input is not invertible."), ("MatrixSolve", "Input matrix is not invertible.")] {
        let b = GraphBuilder::new().unwrap();
        let a = b.op("Placeholder").attr("dtype", DType::F64).attr("shape", PartialShape::unknown()).output().unwrap();
        let node = b.op(op).input(a).device(GPU);
        let x = if op == "MatrixSolve" { node.input(a) } else { node }.output().unwrap();
        let session = session(&b);
        let run = |values: &[f64]| session.runner().feed(a, tensor_of(DType::F64, Shape::from([2, 2]), values)).fetch(x);
        run(&[1.0, 2.0, 2.0, 1.0]).unwrap();
        for values in [[1.0, 2.0, 2.0, 4.0], [0.0; 4], [f64::NAN, 1.0, 1.0, 1.0]] {
            let error = run(&values).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(message), "{error}");
        }
    }
}
