//! Diagonals, bands, `Einsum`.

use crate::{check, numbers};
use flowmill::Tensor;

#[test]
fn diagonals() {
    let square = |shape: &[usize], diagonal: &[usize]| [numbers(shape), numbers(diagonal)];
    check("MatrixDiag", &[numbers(&[2, 3])], |b, x| {
        let y = b.call("MatrixDiag", x)?;
        b.call("Exp", &[y])
    });
    for shape in [&[2, 3, 3][..], &[2, 2, 3], &[3, 2]] {
        check("MatrixDiagPart", &[numbers(shape)], |b, x| {
            let y = b.call("MatrixDiagPart", x)?;
            b.call("Exp", &[y])
        });
        let mut diagonal = shape[..shape.len() - 2].to_vec();
        diagonal.push(shape[shape.len() - 2].min(shape[shape.len() - 1]));
        check("MatrixSetDiag", &square(shape, &diagonal), |b, x| {
            let y = b.call("MatrixSetDiag", x)?;
            b.call("Exp", &[y])
        });
    }
    for align in ["LEFT_RIGHT", "RIGHT_LEFT"] {
        check("MatrixDiagPartV3", &[numbers(&[2, 3, 4]), Tensor::scalar(0.3f64)], |b, x| {
            let k = b.vector(&[-1i32, 2])?;
            let y = b.op("MatrixDiagPartV3").inputs(&[x[0], k, x[1]]).attr("align", align).output()?;
            b.call("Exp", &[y])
        });
        check("MatrixDiagV3", &[numbers(&[2, 3, 3]), Tensor::scalar(0.3f64)], |b, x| {
            let (k, rows, columns) = (b.vector(&[-1i32, 1])?, b.scalar(3i32)?, b.scalar(4i32)?);
            let y = b.op("MatrixDiagV3").inputs(&[x[0], k, rows, columns, x[1]]).attr("align", align).output()?;
            b.call("Exp", &[y])
        });
        check("MatrixSetDiagV3", &[numbers(&[2, 3, 4]), numbers(&[2, 2, 3])], |b, x| {
            let k = b.vector(&[0i32, 1])?;
            let y = b.op("MatrixSetDiagV3").inputs(&[x[0], x[1], k]).attr("align", align).output()?;
            b.call("Exp", &[y])
        });
    }
    check("MatrixBandPart", &[numbers(&[2, 3, 4])], |b, x| {
        let (lower, upper) = (b.scalar(1i64)?, b.scalar(0i64)?);
        let y = b.call("MatrixBandPart", &[x[0], lower, upper])?;
        b.call("Exp", &[y])
    });
}

#[test]
fn einsum() {
    let cases: &[(&str, &[&[usize]])] = &[
        ("ij,jk->ik", &[&[2, 3], &[3, 4]]),
        ("bij,bkj->bki", &[&[2, 2, 3], &[2, 4, 3]]),
        ("bhqd,bhkd->bhqk", &[&[1, 2, 3, 2], &[1, 2, 4, 2]]),
        ("i,j->ij", &[&[2], &[3]]),
        ("ij->ji", &[&[2, 3]]),
        ("ijk->j", &[&[2, 3, 2]]),
        ("ij->", &[&[2, 3]]),
        ("ii->i", &[&[3, 3]]),
        ("ii->", &[&[3, 3]]),
        ("ij,k->k", &[&[2, 3], &[2]]),
        ("ijk,jl->li", &[&[2, 3, 2], &[3, 4]]),
        ("...ij,...jk->...ik", &[&[2, 3, 2], &[2, 4]]),
        ("...ij,...jk->...ki", &[&[2, 1, 3, 2], &[1, 4, 2, 2]]),
        ("...j->...", &[&[2, 1, 3]]),
        ("i...,j->...ij", &[&[2, 3], &[2]]),
        ("ab...,b...->...", &[&[2, 3, 2], &[3, 2]]),
        ("aab,b->a", &[&[2, 2, 3], &[3]]),
    ];
    for (equation, shapes) in cases {
        let values: Vec<Tensor> = shapes.iter().map(|s| numbers(s)).collect();
        check(equation, &values, |b, x| {
            let y = b.op("Einsum").inputs(x).attr("equation", *equation).output()?;
            b.call("Square", &[y])
        });
    }
}
