//! Gradients of ops that have no kernel yet: they are built, and have the shapes of what they are gradients of.

use crate::{build, numbers, type_attr};
use flowmill::builder::GraphBuilder;
use flowmill::{DType, OutputId, Result};

type Build = fn(&mut GraphBuilder<'_>, &[OutputId]) -> Result<OutputId>;

fn single(b: &mut GraphBuilder<'_>, x: &[OutputId]) -> Result<Vec<OutputId>> {
    x.iter().map(|&x| b.cast(x, DType::F32)).collect()
}

fn window(b: &mut GraphBuilder<'_>, op: &str, x: OutputId) -> Result<OutputId> {
    let size = vec![1i64, 2, 2, 2, 1];
    b.op(op).input(x).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()
}

/// An op without a kernel (its own, or one that its gradient needs), the shapes of its arguments, and how it is made.
const CASES: &[(&str, &[&[usize]], Build)] = &[
    ("Conv3D", &[&[1, 3, 3, 3, 2], &[2, 2, 2, 2, 1]], |b, x| {
        b.op("Conv3D").inputs(x).attr("strides", vec![1i64; 5]).attr("padding", "SAME").output()
    }),
    ("AvgPool3D", &[&[1, 4, 4, 4, 1]], |b, x| window(b, "AvgPool3D", x[0])),
    ("MaxPool3D", &[&[1, 4, 4, 4, 1]], |b, x| {
        let x = single(b, x)?;
        window(b, "MaxPool3D", x[0])
    }),
    ("LRN", &[&[1, 2, 2, 4]], |b, x| {
        let x = single(b, x)?;
        b.call("LRN", &x)
    }),
    ("MaxPoolV2", &[&[1, 4, 4, 1]], |b, x| {
        let size = b.vector(&[1i32, 2, 2, 1])?;
        b.op("MaxPoolV2").inputs(&[x[0], size, size]).attr("padding", "SAME").output()
    }),
    ("MaxPoolWithArgmax", &[&[1, 4, 4, 1]], |b, x| {
        let size = vec![1i64, 2, 2, 1];
        b.op("MaxPoolWithArgmax").input(x[0]).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()
    }),
    ("BatchNormWithGlobalNormalization", &[&[1, 2, 2, 3], &[3], &[3], &[3], &[3]], |b, x| {
        b.op("BatchNormWithGlobalNormalization").inputs(x).attr("variance_epsilon", 0.1f32).attr("scale_after_normalization", true).output()
    }),
    ("SparseMatMul", &[&[2, 3], &[3, 4]], |b, x| {
        let x = single(b, x)?;
        b.op("SparseMatMul").inputs(&x).attr("Ta", type_attr(DType::F32)).attr("Tb", type_attr(DType::F32)).output()
    }),
    ("ResizeBilinearGrad", &[&[1, 2, 3, 2]], |b, x| {
        let size = b.vector(&[4i32, 5])?;
        b.call("ResizeBilinear", &[x[0], size])
    }),
    ("ResizeNearestNeighborGrad", &[&[1, 2, 3, 2]], |b, x| {
        let size = b.vector(&[4i32, 5])?;
        b.call("ResizeNearestNeighbor", &[x[0], size])
    }),
];

#[test]
fn gradients_without_kernels_are_built() {
    let kernels = flowmill::kernels();
    for (op, shapes, f) in CASES {
        assert!(!kernels.contains(op), "{op} has a kernel: its gradient can be checked numerically");
        let values: Vec<_> = shapes.iter().map(|s| numbers(s)).collect();
        for static_shapes in [true, false] {
            let case = build(&values, static_shapes, |b, x| {
                let y = f(b, x)?;
                b.cast(y, DType::F64)
            });
            let case = case.unwrap_or_else(|e| panic!("{op}: {e}"));
            assert_eq!(case.grads.len(), values.len());
            for (shape, value) in case.shapes.iter().zip(&values) {
                let known = shape.dims().is_some_and(|dims| dims.iter().zip(value.shape().iter()).all(|(&d, &v)| d < 0 || d == v as i64));
                assert!(known && (!static_shapes || shape.is_fully_defined()), "{op}: {shape} for {}", value.shape());
            }
        }
    }
}
