//! Special functions, complex numbers, and ops that move or replace elements.

use crate::{check, numbers, type_attr};
use flowmill::builder::ScopedBuilder;
use flowmill::{DType, OutputId, Result, Tensor};

#[test]
fn special_functions() {
    for op in ["Digamma", "Erfinv", "Ndtri", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e"] {
        check(op, &[numbers(&[2, 3])], |b, x| b.call(op, x));
    }
    for op in ["BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1"] {
        check(op, &[numbers(&[2, 3])], |b, x| b.call(op, x));
        check(op, &[numbers(&[6]).map_one(7.0)], |b, x| b.call(op, x));
    }
    for op in ["Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"] {
        check(op, &[numbers(&[6])], |b, x| b.call(op, x));
        check(op, &[numbers(&[6]).map_one(5.0)], |b, x| b.call(op, x));
    }
    for op in ["BesselJ0", "BesselJ1", "Dawsn", "FresnelCos", "FresnelSin"] {
        check(op, &[Tensor::vector(&[0.0f64, -0.7]).unwrap()], |b, x| b.call(op, x));
    }
    check("Spence", &[Tensor::vector(&[1.0f64]).unwrap()], |b, x| b.call("Spence", x));
    for op in ["Xlogy", "Xlog1py", "Xdivy", "MulNoNan"] {
        for shapes in [[&[2usize, 3][..], &[3]], [&[], &[2, 2]], [&[2, 1], &[1, 3]]] {
            check(op, &shapes.map(numbers), |b, x| b.call(op, x));
        }
    }
    // By the second argument alone.
    for (op, first) in [("Polygamma", 2.0), ("Zeta", 3.5), ("Igamma", 1.7), ("Igammac", 1.7)] {
        check(op, &[numbers(&[2, 3])], |b, x| {
            let first = b.scalar(first)?;
            b.call(op, &[first, x[0]])
        });
    }
    for op in ["Igamma", "Igammac"] {
        check(op, &[numbers(&[3]), numbers(&[2, 3])], |b, x| b.call(op, x));
    }
    check("Betainc", &[numbers(&[2, 3])], |b, x| {
        let (p, q) = (b.scalar(1.4f64)?, b.scalar(2.3f64)?);
        b.call("Betainc", &[p, q, x[0]])
    });
    check("Cross", &[numbers(&[2, 3]), numbers(&[2, 3])], |b, x| {
        let y = b.call("Sin", &[x[1]])?;
        b.call("Cross", &[x[0], y])
    });
    check("ClipByValue", &[numbers(&[2, 4]), Tensor::scalar(0.41f64), Tensor::scalar(0.71f64)], |b, x| {
        let y = b.call("ClipByValue", x)?;
        b.call("Square", &[y])
    });
}

#[test]
fn complex_numbers() {
    type Build = fn(&mut ScopedBuilder<'_>, OutputId) -> Result<OutputId>;
    let whole = |b: &mut ScopedBuilder<'_>, x: &[OutputId]| b.op("Complex").inputs(x).attr("Tout", type_attr(DType::C128)).output();
    let real = |b: &mut ScopedBuilder<'_>, op: &str, z: OutputId| b.op(op).input(z).attr("Tout", type_attr(DType::F64)).output();
    let cases: &[(&str, Build)] = &[
        ("Square", |b, z| b.call("Square", &[z])),
        ("Exp", |b, z| b.call("Exp", &[z])),
        ("Conj", |b, z| {
            let conj = b.call("Conj", &[z])?;
            b.call("Square", &[conj])
        }),
        ("Mul", |b, z| {
            let exp = b.call("Exp", &[z])?;
            b.call("Mul", &[z, exp])
        }),
        ("RealDiv", |b, z| {
            let exp = b.call("Exp", &[z])?;
            b.call("RealDiv", &[exp, z])
        }),
        ("ConjugateTranspose", |b, z| {
            let order = b.vector(&[1i32, 0])?;
            let turned = b.call("ConjugateTranspose", &[z, order])?;
            b.call("MatMul", &[z, turned])
        }),
    ];
    for (what, f) in cases {
        for part in ["Real", "Imag", "ComplexAbs", "Angle"] {
            check(&format!("{part} of {what}"), &[numbers(&[2, 2]), numbers(&[2])], |b, x| {
                let z = whole(b, x)?;
                let y = f(b, z)?;
                real(b, part, y)
            });
        }
    }
}

#[test]
fn hues() {
    // Each order of the channels.
    let colours: &[f64] = &[0.1, 0.5, 0.9, 0.2, 0.8, 0.4, 0.6, 0.3, 0.7, 0.55, 0.85, 0.15, 0.95, 0.25, 0.45, 0.65, 0.35, 0.05];
    check("RGBToHSV", &[Tensor::from_slice([2usize, 3, 3], colours).unwrap()], |b, x| {
        let y = b.call("RGBToHSV", x)?;
        b.call("Exp", &[y])
    });
}

#[test]
fn scatters_into_tensors() {
    for op in ["TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"] {
        check(op, &[numbers(&[4, 2]), numbers(&[2, 2]).map_one(1.17)], |b, x| {
            let indices = b.constant("i", &Tensor::from_slice([2usize, 1], &[3i32, 1])?)?;
            let y = b.call(op, &[x[0], indices, x[1]])?;
            b.call("Square", &[y])
        });
    }
    check("TensorStridedSliceUpdate", &[numbers(&[3, 4]), numbers(&[2, 2])], |b, x| {
        let (begin, end, step) = (b.vector(&[0i32, 1])?, b.vector(&[3i32, 3])?, b.vector(&[2i32, 1])?);
        let y = b.call("TensorStridedSliceUpdate", &[x[0], begin, end, step, x[1]])?;
        b.call("Square", &[y])
    });
    check("the second derivative of StridedSlice", &[numbers(&[5])], |b, x| {
        use flowmill::builder::gradients::{GradientOptions, add_gradients};
        let (begin, end, step) = (b.vector(&[1i32])?, b.vector(&[4i32])?, b.vector(&[2i32])?);
        let y = b.call("StridedSlice", &[x[0], begin, end, step])?;
        let y = b.call("Exp", &[y])?;
        let grads = add_gradients(b, &[y], x, &[], &GradientOptions::default())?;
        b.densify(grads[0].as_ref().unwrap())
    });
}

/// Each element times a number.
trait MapOne {
    fn map_one(self, factor: f64) -> Tensor;
}

impl MapOne for Tensor {
    fn map_one(mut self, factor: f64) -> Tensor {
        self.as_mut_slice::<f64>().unwrap().iter_mut().for_each(|v| *v *= factor);
        self
    }
}

#[test]
fn space_depth_and_batch() {
    type Build = fn(&mut ScopedBuilder<'_>, OutputId) -> Result<OutputId>;
    let cases: &[(&str, Build)] = &[
        ("SpaceToDepth", |b, x| b.op("SpaceToDepth").input(x).attr("block_size", 2i64).output()),
        ("DepthToSpace", |b, x| b.op("DepthToSpace").input(x).attr("block_size", 2i64).output()),
        ("SpaceToBatch and back", |b, x| {
            let paddings = b.constant("p", &Tensor::from_slice([2usize, 2], &[1i32, 1, 0, 2])?)?;
            let batch = b.op("SpaceToBatch").inputs(&[x, paddings]).attr("block_size", 2i64).output()?;
            let batch = b.call("Sin", &[batch])?;
            let crops = b.constant("c", &Tensor::from_slice([2usize, 2], &[0i32, 1, 1, 0])?)?;
            b.op("BatchToSpace").inputs(&[batch, crops]).attr("block_size", 2i64).output()
        }),
        ("SpaceToBatchND and back", |b, x| {
            let (block, paddings) = (b.vector(&[2i32, 1])?, b.constant("p", &Tensor::from_slice([2usize, 2], &[0i32, 0, 1, 0])?)?);
            let batch = b.call("SpaceToBatchND", &[x, block, paddings])?;
            let batch = b.call("Sin", &[batch])?;
            let crops = b.constant("c", &Tensor::from_slice([2usize, 2], &[0i32, 1, 0, 1])?)?;
            b.call("BatchToSpaceND", &[batch, block, crops])
        }),
        ("MirrorPad", |b, x| {
            let paddings = b.constant("p", &Tensor::from_slice([4usize, 2], &[0i32, 0, 1, 1, 0, 2, 1, 0])?)?;
            b.op("MirrorPad").inputs(&[x, paddings]).attr("mode", "REFLECT").output()
        }),
        ("Roll", |b, x| {
            let (shift, axis) = (b.vector(&[1i32, -2])?, b.vector(&[1i32, 2])?);
            b.call("Roll", &[x, shift, axis])
        }),
        ("Reverse", |b, x| {
            let dims = b.vector(&[false, true, true, false])?;
            b.call("Reverse", &[x, dims])
        }),
        ("ExtractImagePatches", |b, x| {
            b.op("ExtractImagePatches")
                .input(x)
                .attr("ksizes", vec![1i64, 2, 3, 1])
                .attr("strides", vec![1i64, 1, 2, 1])
                .attr("rates", vec![1i64, 2, 1, 1])
                .attr("padding", "SAME")
                .output()
        }),
    ];
    for (what, f) in cases {
        check(what, &[numbers(&[2, 2, 4, 4])], |b, x| {
            let y = f(b, x[0])?;
            let y = b.call("Square", &[y])?;
            // Elements differ in what they are worth.
            let axes = b.vector(&[0i32, 3])?;
            let y = b.call("Sum", &[y, axes])?;
            b.call("Exp", &[y])
        });
    }
}
