//! Gradients of ops that may have no kernel yet: they are built, and have the shapes of what they are gradients of.

use crate::{DOUBLE, SINGLE, build, numbers, type_attr};
use flowmill::builder::ScopedBuilder;
use flowmill::{DType, OutputId, Result, Tensor};
use std::cell::Cell;

type Build = fn(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>;

fn single(b: &mut ScopedBuilder<'_>, x: &[OutputId]) -> Result<Vec<OutputId>> {
    x.iter().map(|&x| b.cast(x, DType::F32)).collect()
}

fn window(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId) -> Result<OutputId> {
    let size = vec![1i64, 2, 2, 2, 1];
    b.op(op).input(x).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()
}

/// An op that may lack a kernel, the shapes of its arguments, and how it is made.
const CASES: &[(&str, &[&[usize]], Build)] = &[
    ("Conv3D", &[&[1, 3, 3, 3, 2], &[2, 2, 2, 2, 1]], |b, x| {
        b.op("Conv3D").inputs(x).attr("strides", vec![1i64; 5]).attr("padding", "SAME").output()
    }),
    ("AvgPool3D", &[&[1, 4, 4, 4, 1]], |b, x| {
        let x = single(b, x)?;
        window(b, "AvgPool3D", x[0])
    }),
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
    ("MaxPoolGradV2", &[&[1, 4, 5, 2]], |b, x| {
        let size = b.vector(&[1i32, 2, 2, 1])?;
        let shape = b.constant("s", &numbers(&[1, 4, 5, 2]))?;
        let y = b.op("MaxPoolV2").inputs(&[shape, size, size]).attr("padding", "VALID").output()?;
        let dy = b.op("MaxPoolV2").inputs(&[x[0], size, size]).attr("padding", "VALID").output()?;
        let grad = b.op("MaxPoolGradV2").inputs(&[shape, y, dy, size, size]).attr("padding", "VALID").output()?;
        let again = b.op("MaxPoolGradGradV2").inputs(&[shape, y, grad, size, size]).attr("padding", "VALID").output()?;
        b.call("Exp", &[again])
    }),
    ("MaxPoolWithArgmax", &[&[1, 4, 4, 1]], |b, x| {
        let size = vec![1i64, 2, 2, 1];
        b.op("MaxPoolWithArgmax").input(x[0]).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()
    }),
    ("BatchNormWithGlobalNormalization", &[&[1, 2, 2, 3], &[3], &[3], &[3], &[3]], |b, x| {
        let x = single(b, x)?;
        b.op("BatchNormWithGlobalNormalization")
            .inputs(&x)
            .attr("variance_epsilon", 0.1f32)
            .attr("scale_after_normalization", true)
            .output()
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
    ("Cholesky", &[&[2, 3, 3]], |b, x| {
        let a = positive(b, x[0])?;
        b.call("Cholesky", &[a])
    }),
    ("MatrixInverse", &[&[2, 3, 3]], |b, x| {
        let a = positive(b, x[0])?;
        let first = b.call("MatrixInverse", &[a])?;
        let second = b.op("MatrixInverse").input(x[0]).attr("adjoint", true).output()?;
        b.call("Mul", &[first, second])
    }),
    ("MatrixDeterminant", &[&[2, 3, 3]], |b, x| b.call("MatrixDeterminant", x)),
    ("LogMatrixDeterminant", &[&[2, 3, 3]], |b, x| Ok(b.op("LogMatrixDeterminant").inputs(x).finish()?.output(1))),
    ("MatrixSolve", &[&[2, 3, 3], &[2, 3, 2]], |b, x| {
        let first = b.call("MatrixSolve", x)?;
        let second = b.op("MatrixSolve").inputs(x).attr("adjoint", true).output()?;
        b.call("Mul", &[first, second])
    }),
    ("MatrixSolveLs", &[&[2, 4, 2], &[2, 4, 2]], least_squares),
    ("MatrixSolveLs", &[&[2, 2, 4], &[2, 2, 2]], least_squares),
    ("MatrixSolveLs", &[&[2, 3, 3], &[2, 3, 2]], least_squares),
    ("MatrixTriangularSolve", &[&[2, 3, 3], &[3, 2]], |b, x| {
        let mut sum = b.call("MatrixTriangularSolve", x)?;
        for (lower, adjoint) in [(true, true), (false, true), (false, false)] {
            let y = b.op("MatrixTriangularSolve").inputs(x).attr("lower", lower).attr("adjoint", adjoint).output()?;
            sum = b.call("Mul", &[sum, y])?;
        }
        Ok(sum)
    }),
    ("ExtractVolumePatches", &[&[2, 2, 3, 3, 2]], |b, x| {
        let patches = b.op("ExtractVolumePatches").inputs(x).attr("padding", "SAME");
        let y = patches.attr("ksizes", vec![1i64, 2, 2, 2, 1]).attr("strides", vec![1i64, 1, 2, 1, 1]).output()?;
        b.call("Square", &[y])
    }),
    ("MatrixSquareRoot", &[&[2, 3, 3]], |b, x| {
        let a = positive(b, x[0])?;
        b.call("MatrixSquareRoot", &[a])
    }),
    ("BandedTriangularSolve", &[&[2, 2, 3], &[3, 2]], |b, x| {
        let mut sum = b.call("BandedTriangularSolve", x)?;
        for (lower, adjoint) in [(true, true), (false, true), (false, false)] {
            let y = b.op("BandedTriangularSolve").inputs(x).attr("lower", lower).attr("adjoint", adjoint).output()?;
            sum = b.call("Mul", &[sum, y])?;
        }
        Ok(sum)
    }),
    ("BandedTriangularSolve", &[&[1, 3], &[2, 3, 2]], |b, x| b.call("BandedTriangularSolve", x)),
    ("TridiagonalSolve", &[&[2, 3, 4], &[2, 4, 2]], |b, x| b.call("TridiagonalSolve", x)),
    ("TridiagonalSolve", &[&[3, 1], &[1, 2]], |b, x| b.op("TridiagonalSolve").inputs(x).attr("partial_pivoting", false).output()),
    ("TridiagonalMatMul", &[&[2, 1, 4], &[2, 1, 4], &[2, 1, 4], &[2, 4, 2]], |b, x| {
        let y = b.call("TridiagonalMatMul", x)?;
        b.call("Square", &[y])
    }),
    ("CTCLoss", &[&[4, 2, 3]], |b, x| {
        let indices = b.constant("Const", &Tensor::from_slice([3, 2], &[0i64, 0, 0, 1, 1, 0])?)?;
        let (labels, lengths) = (b.vector(&[0i32, 0, 1])?, b.vector(&[4i32, 3])?);
        let both = [true, false].map(|merges| {
            let node = b.op("CTCLoss").inputs(&[x[0], indices, labels, lengths]).attr("ctc_merge_repeated", merges).finish()?;
            Ok(node.output(0))
        });
        let [first, second]: [Result<OutputId>; 2] = both;
        b.call("Mul", &[first?, second?])
    }),
    ("SelfAdjointEigV2", &[&[2, 3, 3]], |b, x| {
        let node = b.op("SelfAdjointEigV2").input(x[0]).attr("compute_v", true).finish()?;
        functions_of(b, &[node.output(0)], &[node.output(1)])
    }),
    ("SelfAdjointEigV2", &[&[2, 3, 3]], |b, x| b.op("SelfAdjointEigV2").input(x[0]).attr("compute_v", false).output()),
    ("Svd", &[&[2, 3, 4]], |b, x| {
        let node = b.op("Svd").input(x[0]).finish()?;
        functions_of(b, &[node.output(0)], &[node.output(1), node.output(2)])
    }),
    ("Svd", &[&[4, 2]], |b, x| {
        let node = b.op("Svd").input(x[0]).finish()?;
        functions_of(b, &[node.output(0)], &[node.output(1), node.output(2)])
    }),
    ("Svd", &[&[3, 2]], |b, x| b.op("Svd").input(x[0]).attr("compute_uv", false).output()),
    ("FFT", &[&[2, 5]], |b, x| spectrum(b, "FFT", x[0])),
    ("IFFT", &[&[2, 4]], |b, x| spectrum(b, "IFFT", x[0])),
    ("FFT2D", &[&[2, 3, 2]], |b, x| spectrum(b, "FFT2D", x[0])),
    ("FFT3D", &[&[2, 2, 3]], |b, x| spectrum(b, "FFT3D", x[0])),
    ("IFFT3D", &[&[2, 2, 3]], |b, x| spectrum(b, "IFFT3D", x[0])),
    ("IFFT2D", &[&[2, 3, 2]], |b, x| spectrum(b, "IFFT2D", x[0])),
    ("RFFT", &[&[2, 5]], |b, x| rfft(b, "RFFT", x[0], &[5])),
    ("RFFT", &[&[2, 5]], |b, x| rfft(b, "RFFT", x[0], &[4])),
    ("RFFT2D", &[&[2, 3, 5]], |b, x| rfft(b, "RFFT2D", x[0], &[3, 5])),
    ("RFFT2D", &[&[3, 5]], |b, x| rfft(b, "RFFT2D", x[0], &[2, 4])),
    ("RFFT3D", &[&[2, 2, 3, 4]], |b, x| rfft(b, "RFFT3D", x[0], &[2, 3, 4])),
    ("IRFFT", &[&[2, 4]], |b, x| irfft(b, "IRFFT", x[0], &[6])),
    ("IRFFT", &[&[2, 4]], |b, x| irfft(b, "IRFFT", x[0], &[5])),
    ("IRFFT", &[&[2, 4]], |b, x| irfft(b, "IRFFT", x[0], &[4])),
    ("IRFFT2D", &[&[2, 3, 3]], |b, x| irfft(b, "IRFFT2D", x[0], &[3, 4])),
    ("IRFFT2D", &[&[3, 4]], |b, x| irfft(b, "IRFFT2D", x[0], &[2, 5])),
    ("IRFFT3D", &[&[2, 2, 3, 3]], |b, x| irfft(b, "IRFFT3D", x[0], &[2, 3, 4])),
    ("SparseTensorDenseMatMul", &[&[3], &[4, 2]], |b, x| sparse_product(b, x, [3, 4], false, false)),
    ("SparseTensorDenseMatMul", &[&[3], &[3, 2]], |b, x| sparse_product(b, x, [3, 4], true, false)),
    ("SparseTensorDenseMatMul", &[&[3], &[2, 4]], |b, x| sparse_product(b, x, [3, 4], false, true)),
    ("SparseToDense", &[&[3], &[]], |b, x| {
        let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[0i64, 1, 2, 0, 2, 3])?)?;
        let shape = b.vector(&[3i64, 4])?;
        b.call("SparseToDense", &[indices, shape, x[0], x[1]])
    }),
    ("SparseReorder", &[&[3]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        let node = b.op("SparseReorder").inputs(&[indices, x[0], shape]).finish()?;
        weighted(b, node.output(1))
    }),
    ("SparseDenseCwiseMul", &[&[3], &[3, 1]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        b.call("SparseDenseCwiseMul", &[indices, x[0], shape, x[1]])
    }),
    ("SparseDenseCwiseMul", &[&[3], &[4]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        b.call("SparseDenseCwiseMul", &[indices, x[0], shape, x[1]])
    }),
    ("SparseDenseCwiseDiv", &[&[3], &[4]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        b.call("SparseDenseCwiseDiv", &[indices, x[0], shape, x[1]])
    }),
    ("SparseAdd", &[&[3], &[2]], |b, x| {
        let first = b.constant("i", &Tensor::from_slice([3usize, 2], &[0i64, 1, 2, 0, 2, 3])?)?;
        let second = b.constant("j", &Tensor::from_slice([2usize, 2], &[0i64, 1, 1, 1])?)?;
        let (shape, threshold) = (b.vector(&[3i64, 4])?, b.constant("t", &Tensor::scalar(0f64))?);
        let node = b.op("SparseAdd").inputs(&[first, x[0], shape, second, x[1], shape, threshold]).finish()?;
        b.call("Exp", &[node.output(1)])
    }),
    ("Dilation2D", &[&[1, 4, 4, 2], &[2, 2, 2]], |b, x| {
        let steps = vec![1i64; 4];
        b.op("Dilation2D").inputs(x).attr("strides", steps.clone()).attr("rates", steps).attr("padding", "SAME").output()
    }),
    ("CropAndResize", &[&[1, 5, 4, 2]], |b, x| {
        let x = single(b, x)?;
        let boxes = b.constant("b", &Tensor::from_slice([2usize, 4], &[0.1f32, 0.2, 0.8, 0.9, 0.5, 0.0, 1.2, 0.4])?)?;
        let (index, size) = (b.vector(&[0i32, 0])?, b.vector(&[3i32, 2])?);
        b.call("CropAndResize", &[x[0], boxes, index, size])
    }),
    ("SparseReduceSum", &[&[3]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        let axes = b.vector(&[-1i32])?;
        b.call("SparseReduceSum", &[indices, x[0], shape, axes])
    }),
    ("SparseSoftmax", &[&[3]], |b, x| {
        let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[0i64, 1, 2, 0, 2, 3])?)?;
        let shape = b.vector(&[3i64, 4])?;
        let y = b.call("SparseSoftmax", &[indices, x[0], shape])?;
        weighted(b, y)
    }),
    ("SparseTensorDenseAdd", &[&[3], &[3, 4]], |b, x| {
        let (indices, shape) = places(b, [3, 4])?;
        b.call("SparseTensorDenseAdd", &[indices, x[0], shape, x[1]])
    }),
    ("SparseFillEmptyRows", &[&[3], &[]], |b, x| {
        let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[0i64, 1, 2, 0, 2, 3])?)?;
        let shape = b.vector(&[5i64, 4])?;
        let node = b.op("SparseFillEmptyRows").inputs(&[indices, x[0], shape, x[1]]).finish()?;
        b.call("Exp", &[node.output(1)])
    }),
    ("RaggedFillEmptyRows", &[&[3], &[]], |b, x| {
        let rows = b.vector(&[3i64, 0, 3])?;
        let count = b.constant("rows", &Tensor::scalar(5i64))?;
        let node = b.op("RaggedFillEmptyRows").inputs(&[rows, x[0], count, x[1]]).finish()?;
        b.call("Exp", &[node.output(1)])
    }),
    ("SparseSlice", &[&[3]], |b, x| {
        let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[0i64, 1, 2, 0, 2, 3])?)?;
        let (shape, start, size) = (b.vector(&[3i64, 4])?, b.vector(&[1i64, 0])?, b.vector(&[2i64, 4])?);
        let node = b.op("SparseSlice").inputs(&[indices, x[0], shape, start, size]).finish()?;
        weighted(b, node.output(1))
    }),
    ("SparseSegmentSum", &[&[4, 2]], |b, x| sparse_segments(b, "SparseSegmentSum", x[0])),
    ("SparseSegmentMean", &[&[4, 2]], |b, x| sparse_segments(b, "SparseSegmentMean", x[0])),
    ("SparseSegmentSqrtN", &[&[4, 2]], |b, x| sparse_segments(b, "SparseSegmentSqrtN", x[0])),
    ("ResizeBicubic", &[&[2, 3, 4, 2]], |b, x| {
        let size = b.vector(&[5i32, 6])?;
        let images = b.cast(x[0], DType::F32)?;
        b.op("ResizeBicubic").inputs(&[images, size]).attr("half_pixel_centers", true).output()
    }),
    ("FakeQuantWithMinMaxArgs", &[&[2, 3]], |b, x| {
        let x = single(b, x)?;
        b.op("FakeQuantWithMinMaxArgs").inputs(&x).attr("min", 0.25f32).attr("max", 0.75f32).output()
    }),
    ("FakeQuantWithMinMaxVars", &[&[2, 3], &[], &[]], |b, x| {
        let x = single(b, x)?;
        let one = b.scalar(1f32)?;
        let min = b.call("Sub", &[x[1], one])?;
        b.call("FakeQuantWithMinMaxVars", &[x[0], min, x[2]])
    }),
    ("FakeQuantWithMinMaxVarsPerChannel", &[&[2, 3], &[3], &[3]], |b, x| {
        let x = single(b, x)?;
        let one = b.scalar(1f32)?;
        let min = b.call("Sub", &[x[1], one])?;
        b.call("FakeQuantWithMinMaxVarsPerChannel", &[x[0], min, x[2]])
    }),
];

/// `x xᵀ + 1`
fn positive(b: &mut ScopedBuilder<'_>, x: OutputId) -> Result<OutputId> {
    let square = b.op("BatchMatMulV2").inputs(&[x, x]).attr("adj_y", true).output()?;
    let diagonal = b.call("MatrixDiagPart", &[square])?;
    let one = b.scalar(1f64)?;
    let more = b.call("AddV2", &[diagonal, one])?;
    b.call("MatrixSetDiag", &[square, more])
}

fn least_squares(b: &mut ScopedBuilder<'_>, x: &[OutputId]) -> Result<OutputId> {
    let regularizer = b.scalar(0.1f64)?;
    let y = b.call("MatrixSolveLs", &[x[0], x[1], regularizer])?;
    b.call("Square", &[y])
}

/// A function of singular values or eigenvalues and of the vectors, whose signs do not matter.
fn functions_of(b: &mut ScopedBuilder<'_>, values: &[OutputId], vectors: &[OutputId]) -> Result<OutputId> {
    let axes = b.vector(&[-2i32, -1])?;
    let mut sum = None;
    for (power, tensors) in [("Exp", values), ("Square", vectors)] {
        for &tensor in tensors {
            let f = b.call(power, &[tensor])?;
            let f = weighted(b, f)?;
            let axes = if power == "Exp" { b.vector(&[-1i32])? } else { axes };
            let part = b.call("Sum", &[f, axes])?;
            sum = Some(match sum {
                None => part,
                Some(sum) => b.call("AddV2", &[sum, part])?,
            });
        }
    }
    Ok(sum.unwrap())
}

/// Times its elements' cosines along the first dimensions, so that no two are worth the same.
fn weighted(b: &mut ScopedBuilder<'_>, y: OutputId) -> Result<OutputId> {
    let shape = b.call("Shape", &[y])?;
    let (count, zero, one) = (b.call("Size", &[y])?, b.scalar(0i32)?, b.scalar(1i32)?);
    let numbers = b.call("Range", &[zero, count, one])?;
    let numbers = b.cast(numbers, DType::F64)?;
    let weights = b.call("Cos", &[numbers])?;
    let weights = b.call("Reshape", &[weights, shape])?;
    b.call("Mul", &[y, weights])
}

fn complex(b: &mut ScopedBuilder<'_>, x: OutputId) -> Result<OutputId> {
    let y = b.call("Sin", &[x])?;
    b.op("Complex").inputs(&[x, y]).attr("Tout", type_attr(DType::C128)).output()
}

fn squares(b: &mut ScopedBuilder<'_>, z: OutputId) -> Result<OutputId> {
    let square = b.call("Square", &[z])?;
    let real = b.op("Real").input(square).attr("Tout", type_attr(DType::F64)).output()?;
    let angle = b.op("Imag").input(z).attr("Tout", type_attr(DType::F64)).output()?;
    let sum = b.call("AddV2", &[real, angle])?;
    weighted(b, sum)
}

fn spectrum(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId) -> Result<OutputId> {
    let z = complex(b, x)?;
    let z = b.op(op).input(z).attr("Tcomplex", type_attr(DType::C128)).output()?;
    squares(b, z)
}

fn rfft(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId, length: &[i32]) -> Result<OutputId> {
    let length = b.vector(length)?;
    let z = b.op(op).inputs(&[x, length]).attr("Treal", type_attr(DType::F64)).attr("Tcomplex", type_attr(DType::C128)).output()?;
    squares(b, z)
}

fn irfft(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId, length: &[i32]) -> Result<OutputId> {
    let (z, length) = (complex(b, x)?, b.vector(length)?);
    let y = b.op(op).inputs(&[z, length]).attr("Treal", type_attr(DType::F64)).attr("Tcomplex", type_attr(DType::C128)).output()?;
    let y = weighted(b, y)?;
    b.call("Exp", &[y])
}

/// Three places of a sparse matrix, not in order.
fn places(b: &mut ScopedBuilder<'_>, shape: [i64; 2]) -> Result<(OutputId, OutputId)> {
    let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[2i64, 3, 0, 1, 2, 0])?)?;
    Ok((indices, b.vector(&shape)?))
}

fn sparse_product(b: &mut ScopedBuilder<'_>, x: &[OutputId], shape: [i64; 2], adjoint_a: bool, adjoint_b: bool) -> Result<OutputId> {
    let (indices, shape) = places(b, shape)?;
    let y = b.op("SparseTensorDenseMatMul").inputs(&[indices, x[0], shape, x[1]]);
    let y = y.attr("adjoint_a", adjoint_a).attr("adjoint_b", adjoint_b).output()?;
    b.call("Exp", &[y])
}

fn sparse_segments(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId) -> Result<OutputId> {
    let (indices, segments) = (b.vector(&[3i32, 0, 1, 3])?, b.vector(&[0i32, 0, 0, 2])?);
    let y = b.call(op, &[x, indices, segments])?;
    b.call("Exp", &[y])
}

/// A `QR` factorisation's gradient has to know the shape.
#[test]
fn qr_wants_a_static_shape() {
    for shape in [&[2usize, 4, 3][..], &[2, 2, 4], &[3, 3]] {
        let f: Build = |b, x| {
            let node = b.op("Qr").input(x[0]).finish()?;
            functions_of(b, &[], &[node.output(0), node.output(1)])
        };
        let values = [numbers(shape)];
        assert_eq!(build(&values, true, f).unwrap().shapes[0].to_string(), values[0].shape().to_string());
        assert!(build(&values, false, f).is_err());
    }
}

#[test]
fn gradients_are_built_and_right_where_there_are_kernels() {
    let kernels = flowmill::kernels();
    for (op, shapes, f) in CASES {
        let values: Vec<_> = shapes.iter().map(|s| numbers(s)).collect();
        for static_shapes in [true, false] {
            let dtype = Cell::new(DType::F64);
            let case = build(&values, static_shapes, |b, x| {
                let y = f(b, x)?;
                dtype.set(b.dtype(y));
                b.cast(y, DType::F64)
            });
            let case = case.unwrap_or_else(|e| panic!("{op}: {e}"));
            assert_eq!(case.grads.len(), values.len());
            for (shape, value) in case.shapes.iter().zip(&values) {
                let known = shape.dims().is_some_and(|dims| dims.iter().zip(value.shape().iter()).all(|(&d, &v)| d < 0 || d == v as i64));
                assert!(known && (!static_shapes || shape.is_fully_defined()), "{op}: {shape} for {}", value.shape());
            }
            // What is rounded to steps passes gradients on as if it were not.
            if kernels.contains(op) && !op.starts_with("FakeQuant") {
                case.compare(op, &values, if dtype.get() == DType::F64 { DOUBLE } else { SINGLE });
            }
        }
    }
}
