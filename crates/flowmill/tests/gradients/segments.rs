//! Reductions over segments, and reductions that are rarer than sums.

use crate::{check, numbers};
use flowmill::Tensor;

#[test]
fn sorted_segments() {
    for op in ["SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"] {
        check(op, &[numbers(&[4, 2])], |b, x| {
            let segments = b.vector(&[0i32, 0, 0, 2])?;
            let y = b.call(op, &[x[0], segments])?;
            let y = b.call("Sin", &[y])?;
            b.call("Square", &[y])
        });
    }
}

#[test]
fn unsorted_segments() {
    for op in ["UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"] {
        check(op, &[numbers(&[4, 2])], |b, x| {
            let (segments, count) = (b.vector(&[1i32, -1, 0, 1])?, b.scalar(2i32)?);
            let y = b.call(op, &[x[0], segments, count])?;
            let y = b.call("Sin", &[y])?;
            b.call("Square", &[y])
        });
    }
    check("a product with zeros", &[Tensor::vector(&[0.0f64, 2.0, 3.0, 0.0, 5.0, 0.0]).unwrap()], |b, x| {
        let (segments, count) = (b.vector(&[0i32, 0, 0, 1, 1, 1])?, b.scalar(2i32)?);
        b.call("UnsortedSegmentProd", &[x[0], segments, count])
    });
}

#[test]
fn scans_and_norms() {
    for op in ["Cumsum", "Cumprod", "CumulativeLogsumexp"] {
        for (exclusive, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
            if exclusive && op == "CumulativeLogsumexp" {
                // The logarithm of nothing is minus infinity.
                continue;
            }
            check(op, &[numbers(&[2, 3])], |b, x| {
                let axis = b.scalar(1i32)?;
                let y = b.op(op).inputs(&[x[0], axis]).attr("exclusive", exclusive).attr("reverse", reverse).output()?;
                b.call("Cos", &[y])
            });
        }
    }
    for axes in [&[0i32][..], &[-1], &[0, 2]] {
        check("EuclideanNorm", &[numbers(&[2, 3, 2])], |b, x| {
            let axes = b.vector(axes)?;
            let y = b.call("EuclideanNorm", &[x[0], axes])?;
            b.call("Exp", &[y])
        });
    }
    check("NthElement", &[numbers(&[3, 5])], |b, x| {
        let n = b.scalar(2i32)?;
        let y = b.call("NthElement", &[x[0], n])?;
        b.call("Exp", &[y])
    });
}
