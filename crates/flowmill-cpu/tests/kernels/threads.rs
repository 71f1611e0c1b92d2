//! The results of every kernel that forks have the same bits for any number of threads.
use crate::testing::{Call, bools, ints, strings, ty, types};
use flowmill_kernels::variable::ResourceVariable;
use flowmill_proto::{AttrValue, Example, Feature, Features, FloatList, Message, feature};
use flowmill_runtime::{InferencePrecision, intra_op};
use flowmill_tensor::{Complex, DType, ResourceHandle, Shape, Tensor, bf16};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Returns numbers whose sums depend on the order of addition.
fn f(dims: &[usize]) -> Tensor {
    let mut state = dims.iter().fold(1u32, |state, &d| state.wrapping_mul(31).wrapping_add(d as u32));
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 22) as f32 - 2.0
    };
    let values: Vec<f32> = (0..dims.iter().product()).map(|_| next()).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

fn positive(dims: &[usize]) -> Tensor {
    let values: Vec<f32> = f(dims).as_slice::<f32>().unwrap().iter().map(|x| x.abs()).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

fn d(dims: &[usize]) -> Tensor {
    let values: Vec<f64> = f(dims).as_slice::<f32>().unwrap().iter().map(|&x| x.into()).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

fn i(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// Returns `count` integers from 0 to `limit`.
fn numbers(count: usize, limit: i64) -> Vec<i64> {
    (0..count as i64).map(|n| n * 7919 % limit).collect()
}

fn l(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// A call that forks, and the file that contains the fork.
struct Forking {
    file: &'static str,
    op: &'static str,
    attrs: Vec<(&'static str, AttrValue)>,
    inputs: Vec<Tensor>,
    /// The number of inputs, the first ones, that are the values of variables.
    num_variables: usize,
    /// True if all inputs are constants of the graph.
    are_constants: bool,
}

fn calls() -> Vec<Forking> {
    let float = || ("T", ty(DType::F32));
    let window =
        |size: &[i64], strides: &[i64]| vec![float(), ("ksize", ints(size)), ("strides", ints(strides)), ("padding", "SAME".into())];
    let steps = |strides: &[i64]| vec![float(), ("strides", ints(strides)), ("padding", "SAME".into())];
    let (one, two, volume) = (&[1, 1, 1, 1], &[1, 2, 2, 1], &[1, 2, 2, 2, 1]);
    let (images, sized) = (f(&[4, 60, 50, 3]), i(&[90, 80]));
    let boxes = Tensor::from_slice([12, 4], &[0.1f32, 0.2, 0.8, 0.9].repeat(12)).unwrap();
    let index = i(&[0, 1, 2, 3].repeat(3));
    let mut all = Vec::new();
    let mut call = |file, op, attrs, inputs| all.push(Forking { file, op, attrs, inputs, num_variables: 0, are_constants: false });

    call(
        "array/concat.rs",
        "ConcatV2",
        vec![("N", 2i64.into()), float(), ("Tidx", ty(DType::I32))],
        vec![f(&[512, 300]), f(&[512, 200]), Tensor::scalar(1i32)],
    );
    let gather = vec![("Tparams", ty(DType::F32)), ("Tindices", ty(DType::I64)), ("Taxis", ty(DType::I32)), ("batch_dims", 0i64.into())];
    call("array/gather.rs", "GatherV2", gather, vec![f(&[4096, 64]), l(&numbers(5000, 4096)), Tensor::scalar(0i32)]);
    call("array/nd.rs", "Transpose", vec![float(), ("Tperm", ty(DType::I32))], vec![f(&[64, 96, 80]), i(&[2, 0, 1])]);
    call(
        "array/pad.rs",
        "Pad",
        vec![float(), ("Tpaddings", ty(DType::I32))],
        vec![f(&[300, 70, 9]), Tensor::from_slice(Shape::new(&[3, 2]), &[2, 3, 1, 1, 0, 0i32]).unwrap()],
    );
    call("clustering.rs", "NearestNeighbors", Vec::new(), vec![f(&[3000, 40]), f(&[100, 40]), Tensor::scalar(3i64)]);
    call("reduction/top_k.rs", "TopKV2", vec![float()], vec![f(&[301, 70]), Tensor::scalar(5i32)]);
    call("reduction/top_k.rs", "TopKV2", vec![float()], vec![f(&[5, 9000]), Tensor::scalar(7i32)]);
    call("reduction/arg.rs", "ArgMax", vec![float(), ("Tidx", ty(DType::I32))], vec![f(&[301, 190]), Tensor::scalar(1i32)]);
    call("reduction/arg.rs", "ArgMin", vec![float(), ("Tidx", ty(DType::I32))], vec![f(&[41, 30, 50]), Tensor::scalar(1i32)]);
    call("conv/backprop.rs", "Conv2DBackpropInput", steps(one), vec![i(&[4, 32, 32, 4]), f(&[3, 3, 4, 16]), f(&[4, 32, 32, 16])]);
    call("gemm/driver.rs", "Conv2DBackpropInput", steps(two), vec![i(&[4, 32, 32, 16]), f(&[3, 3, 16, 16]), f(&[4, 16, 16, 16])]);
    call("conv/winograd/mod.rs", "Conv2D", steps(one), vec![f(&[4, 32, 32, 32]), f(&[3, 3, 32, 32])]);
    call("conv/filter_gradient.rs", "Conv2DBackpropFilter", steps(one), vec![f(&[4, 32, 32, 8]), i(&[3, 3, 8, 16]), f(&[4, 32, 32, 16])]);
    // Few tiles of much work: groups of images are summed apart.
    call("conv/filter_gradient.rs", "Conv2DBackpropFilter", steps(one), vec![f(&[8, 64, 64, 4]), i(&[3, 3, 4, 16]), f(&[8, 64, 64, 16])]);
    call("conv/depthwise.rs", "Conv2D", steps(one), vec![f(&[2, 30, 30, 96]), f(&[3, 3, 24, 96])]);
    let narrow = |dims: &[usize]| {
        let values: Vec<bf16> = f(dims).as_slice::<f32>().unwrap().iter().map(|x| bf16::from_f32(*x)).collect();
        Tensor::from_slice(Shape::new(dims), &values).unwrap()
    };
    call("gemm/narrow.rs", "MatMul", vec![("T", ty(DType::BF16))], vec![narrow(&[300, 64]), narrow(&[64, 400])]);
    let bytes = |dims: &[usize]| {
        let values: Vec<u8> = numbers(dims.iter().product(), 256).into_iter().map(|x| x as u8).collect();
        Tensor::from_slice(Shape::new(dims), &values).unwrap()
    };
    let quantized = vec![("Tinput", ty(DType::QU8)), ("Tfilter", ty(DType::QU8)), ("strides", ints(one)), ("padding", "SAME".into())];
    let ranges = [-1.0f32, 1.0, -1.0, 1.0].map(Tensor::scalar);
    let operands = [bytes(&[1, 64, 64, 8]), bytes(&[3, 3, 8, 16])].map(|operand| operand.bitcast(DType::QU8).unwrap());
    let weights = |dims: &[usize]| {
        let values: Vec<i16> = numbers(dims.iter().product(), 255).iter().map(|&n| n as i16 - 127).collect();
        Tensor::from_slice(Shape::new(dims), &values).unwrap()
    };
    let result = || vec![("T", ty(DType::U8)), ("zero", 3i64.into()), ("low", 0.0f32.into()), ("high", 255.0f32.into())];
    let layer = || result().into_iter().chain([("strides", ints(one)), ("padding", "SAME".into())]).collect();
    let scaled = |image: Tensor, filter: Tensor, channels: usize| vec![image, filter, positive(&[channels]), positive(&[channels])];
    let image = bytes(&[2, 40, 40, 32]);
    call("integer/mod.rs", "_IntegerConv2D", layer(), scaled(image.clone(), weights(&[3, 3, 32, 32]), 32));
    call("integer/mod.rs", "_IntegerConv2D", layer(), scaled(image.clone(), weights(&[1, 1, 32, 64]), 64));
    call("integer/mod.rs", "_IntegerDepthwiseConv2d", layer(), scaled(image, weights(&[3, 3, 32, 1]), 32));
    call("integer/mod.rs", "_IntegerMatMul", result(), scaled(bytes(&[200, 300]), weights(&[300, 64]), 64));
    let grid = [("min", -0.5f32), ("max", 2.0), ("scale", 2.5 / 255.0), ("inverse", 255.0 / 2.5)].map(|(name, value)| (name, value.into()));
    call("integer/bytes.rs", "_ToBytes", grid.into_iter().chain([("zero", 51i64.into())]).collect(), vec![f(&[100_000])]);
    call("quantized/conv.rs", "QuantizedConv2D", quantized, operands.into_iter().chain(ranges).collect());
    call("conv/narrow.rs", "Conv2D", steps(one), vec![f(&[4, 32, 32, 16]), f(&[5, 5, 16, 2])]);
    call("conv/padding.rs", "Conv2D", steps(one), vec![f(&[4, 12, 12, 24]), f(&[5, 5, 24, 40])]);
    call("conv/depthwise.rs", "Conv2D", steps(one), vec![f(&[4, 32, 32, 32]), f(&[3, 3, 4, 64])]);
    call("conv/depthwise.rs", "DepthwiseConv2dNative", steps(one), vec![f(&[4, 64, 64, 32]), f(&[3, 3, 32, 1])]);
    call("conv/depthwise.rs", "DepthwiseConv2dNative", steps(one), vec![f(&[2, 40, 40, 40]), f(&[9, 9, 40, 1])]);
    call("conv/depthwise.rs", "DepthwiseConv2dNative", steps(one), vec![f(&[4, 64, 64, 3]), f(&[7, 7, 3, 1])]);
    call("conv/depthwise.rs", "Conv2D", steps(two), vec![f(&[4, 56, 56, 64]), f(&[3, 3, 16, 64])]);
    let counts = ["num_expansion", "num_args", "num_projection"].into_iter().zip([1i64, 0, 1]).map(|(name, count)| (name, count.into()));
    let functions = ["expansion_ops", "fused_ops", "projection_ops"].map(|name| (name, strings(&[])));
    let separable = vec![f(&[3, 40, 40, 16]), f(&[3, 3, 96, 1]), f(&[1, 1, 16, 96]), f(&[1, 1, 96, 24])];
    call("conv/separable.rs", "_FusedSeparableConv2D", steps(one).into_iter().chain(counts).chain(functions).collect(), separable);
    call("elementwise/mod.rs", "Exp", vec![float()], vec![f(&[1 << 17])]);
    call("elementwise/mod.rs", "AddV2", vec![float()], vec![f(&[500, 400]), f(&[400])]);
    for axis in [1, 2] {
        call("elementwise/mod.rs", "Cumsum", vec![float(), ("Tidx", ty(DType::I32))], vec![f(&[70, 90, 80]), Tensor::scalar(axis)]);
    }
    let band = vec![float(), ("Tindex", ty(DType::I64))];
    call("elementwise/mod.rs", "MatrixBandPart", band, vec![f(&[7, 130, 90]), Tensor::scalar(3i64), Tensor::scalar(20i64)]);
    for axis in [1i64, -1] {
        let attrs = vec![float(), ("TI", ty(DType::I64)), ("axis", axis.into())];
        let inputs =
            vec![l(&numbers(3000, 41)).reshaped([60, 50]).unwrap(), Tensor::scalar(40i32), Tensor::scalar(2f32), Tensor::scalar(-1f32)];
        call("elementwise/mod.rs", "OneHot", attrs, inputs);
    }
    let targets = l(&numbers(2000, 60));
    call("elementwise/mod.rs", "InTopKV2", vec![("T", ty(DType::I64))], vec![f(&[2000, 60]), targets, Tensor::scalar(5i64)]);
    call(
        "elementwise/mod.rs",
        "QuantizeV2",
        vec![("T", ty(DType::QU8))],
        vec![f(&[300, 500]), Tensor::scalar(-1.5f32), Tensor::scalar(1.2f32)],
    );
    let fused = vec![float(), ("pieces", ints(&[0, 1, 0, 1])), ("program", strings(&["Exp 0", "Mul 2 1"])), ("outputs", ints(&[3]))];
    call("fused/blocks.rs", "_FusedElementwise", fused, vec![f(&[500, 400]), f(&[400])]);
    let rows = [("N", 2i64.into()), ("num_epilogue", 0i64.into()), ("fused_ops", strings(&[]))];
    let rows =
        rows.into_iter().chain(vec![float(), ("pieces", ints(&[0, 1, 0, 1])), ("program", strings(&["Mul 0 1"])), ("outputs", ints(&[2]))]);
    call("fused/product.rs", "_FusedElementwiseProduct", rows.collect(), vec![f(&[400, 24]), f(&[3000, 400]), f(&[400])]);
    let scaled = vec![("N", 1i64.into()), ("num_epilogue", 0i64.into()), ("fused_ops", strings(&[])), ("pieces", ints(&[0, 1, 0, 1]))];
    let scaled = scaled.into_iter().chain([("program", strings(&["Mul 0 1"])), ("outputs", ints(&[2]))]).chain(steps(one)).collect();
    call("fused/linear.rs", "_FusedConv2DElementwise", scaled, vec![f(&[2, 170, 170, 8]), f(&[1, 1, 8, 40]), f(&[40])]);
    let program = strings(&["Mean 0", "Sub 0 1", "Square 2", "Mean 3", "Rsqrt 4", "Mul 2 5"]);
    let reduction = |axes: &[i64]| vec![float(), ("axes", ints(axes)), ("program", program.clone())];
    call("fused/reduction/small.rs", "_FusedReduction", reduction(&[-1]), vec![f(&[500, 400])]);
    call("fused/reduction/large.rs", "_FusedReduction", reduction(&[-4, -3, -1]), vec![f(&[2, 100, 70, 4, 8])]);
    let heads = Tensor::from_slice([2, 64, 4, 32], f(&[1 << 14]).as_slice::<f32>().unwrap()).unwrap();
    let interleaved = bools(&[true; 4]);
    let attention = vec![float(), ("program", strings(&[])), ("interleaved", interleaved)];
    call("fused/attention.rs", "_FusedAttention", attention, vec![heads.clone(), heads.clone(), heads.clone()]);
    let equation = vec![float(), ("equation", "aecd,abcd->acbe".into())];
    call("gemm/strided.rs", "Einsum", equation, vec![heads.clone(), heads]);
    for transposed in [false, true] {
        let attrs = vec![float(), ("transpose_a", transposed.into()), ("transpose_b", transposed.into())];
        call("gemm/driver.rs", "MatMul", attrs, vec![f(&[400, 400]), f(&[400, 400])]);
    }
    let fused = vec![float(), ("num_args", 1i64.into()), ("fused_ops", strings(&["BiasAdd", "Relu"]))];
    call("gemm/pack.rs", "_FusedMatMul", fused, vec![f(&[200, 900]), f(&[900, 1100]), f(&[1100])]);
    call("gemm/driver.rs", "Conv2D", steps(one), vec![f(&[4, 32, 32, 16]), f(&[3, 3, 16, 32])]);
    call("gemm/vector.rs", "MatMul", vec![float()], vec![f(&[1000, 900]), f(&[900, 1])]);
    call("gemm/mod.rs", "BatchMatMulV2", vec![float()], vec![f(&[64, 40, 50]), f(&[64, 50, 30])]);
    let integers = Tensor::from_slice([200, 200], &numbers(40_000, 1000)).unwrap();
    call("gemm/generic.rs", "MatMul", vec![("T", ty(DType::I64))], vec![integers.clone(), integers]);
    call("image/color.rs", "RGBToHSV", vec![float()], vec![f(&[4, 60, 50, 3])]);
    call("image/color.rs", "AdjustContrastv2", vec![float()], vec![images.clone(), Tensor::scalar(0.7f32)]);
    call("image/crop.rs", "CropAndResize", vec![float()], vec![images.clone(), boxes, index, i(&[20, 30])]);
    let zero_noise = vec![("uniform_noise", false.into()), ("noise", "zero".into())];
    call("image/glimpse.rs", "ExtractGlimpse", zero_noise, vec![images.clone(), i(&[40, 70]), f(&[4, 2])]);
    let transforms = vec![("dtype", ty(DType::F32)), ("interpolation", "BILINEAR".into()), ("fill_mode", "REFLECT".into())];
    let turned = Tensor::from_slice([1, 8], &[0.8f32, 0.3, 2.0, -0.3, 0.8, 5.0, 0.0, 0.0]).unwrap();
    call(
        "image/projective.rs",
        "ImageProjectiveTransformV3",
        transforms,
        vec![images.clone(), turned, sized.clone(), Tensor::scalar(0f32)],
    );
    let kernel = vec![("T", ty(DType::F32)), ("kernel_type", "lanczos3".into()), ("antialias", true.into())];
    let (scale, translation) = (Tensor::vector(&[1.2f32, 0.7]).unwrap(), Tensor::vector(&[3f32, -2.0]).unwrap());
    call("image/scale_and_translate.rs", "ScaleAndTranslate", kernel, vec![images.clone(), sized.clone(), scale, translation]);
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"] {
        call("image/resize.rs", op, vec![float()], vec![images.clone(), sized.clone()]);
    }
    for op in ["ResizeArea", "ResizeBicubic"] {
        call("image/resize_smooth.rs", op, vec![float()], vec![images.clone(), sized.clone()]);
    }
    call("image/resize_smooth.rs", "ResizeBicubicGrad", vec![float()], vec![f(&[4, 90, 80, 3]), images.clone()]);
    call("image/resize_grad.rs", "ResizeBilinearGrad", vec![float()], vec![f(&[4, 90, 80, 3]), images.clone()]);
    call("image/resize_grad.rs", "ResizeNearestNeighborGrad", vec![float()], vec![f(&[4, 90, 80, 3]), i(&[60, 50])]);
    for op in ["Svd", "Qr", "MatrixDeterminant", "SelfAdjointEigV2"] {
        call("linear_algebra/decompose.rs", op, vec![float()], vec![f(&[64, 20, 20])]);
    }
    for op in ["MatrixInverse", "Cholesky"] {
        call("linear_algebra/systems.rs", op, vec![float()], vec![f(&[64, 40, 40])]);
    }
    for op in ["MatrixSolve", "MatrixTriangularSolve"] {
        call("linear_algebra/systems.rs", op, vec![float()], vec![f(&[64, 40, 40]), f(&[64, 40, 30])]);
    }
    for (op, shape) in [("FFT", &[200, 300][..]), ("FFT2D", &[300, 200]), ("IFFT2D", &[40, 32, 50]), ("FFT3D", &[20, 30, 70])] {
        let values: Vec<Complex<f32>> = f(shape).as_slice::<f32>().unwrap().iter().map(|&x| Complex::new(x, 1.0 - x)).collect();
        call("spectral/plans.rs", op, vec![("Tcomplex", ty(DType::C64))], vec![Tensor::from_slice(shape, &values).unwrap()]);
    }
    call("spectral.rs", "RFFT2D", vec![("Treal", ty(DType::F32)), ("Tcomplex", ty(DType::C64))], vec![f(&[300, 200]), i(&[300, 200])]);
    let places: Vec<i64> = (0..8).flat_map(|b| (0..5).flat_map(move |t| [b, t])).collect();
    call(
        "sequence/ctc/loss.rs",
        "CTCLoss",
        vec![float()],
        vec![f(&[40, 8, 12]), Tensor::from_slice([40, 2], &places).unwrap(), i(&[0, 3, 3, 7, 10].repeat(8)), i(&[40; 8])],
    );
    let moments = vec![float(), ("U", ty(DType::F32)), ("is_training", true.into())];
    call("batch_norm.rs", "FusedBatchNormV3", moments.clone(), vec![f(&[8, 32, 32, 32]), f(&[32]), f(&[32]), f(&[0]), f(&[0])]);
    let gradients = vec![f(&[8, 32, 32, 30]), f(&[8, 32, 32, 30]), f(&[30]), f(&[30]), f(&[30]), f(&[0])];
    call("batch_norm.rs", "FusedBatchNormGradV3", moments, gradients);
    let wide = vec![("T", ty(DType::F64)), ("strides", ints(&[1; 5])), ("padding", "SAME".into())];
    call("conv/products.rs", "Conv3D", wide, vec![d(&[2, 12, 12, 12, 8]), d(&[3, 3, 3, 8, 8])]);
    call("conv/volume.rs", "Conv3D", steps(&[1; 5]), vec![f(&[2, 12, 12, 12, 8]), f(&[3, 3, 3, 8, 8])]);
    call(
        "conv/volume.rs",
        "Conv3DBackpropFilterV2",
        steps(&[1; 5]),
        vec![f(&[2, 12, 12, 12, 8]), i(&[3, 3, 3, 8, 8]), f(&[2, 12, 12, 12, 8])],
    );
    call(
        "conv/volume.rs",
        "Conv3DBackpropInputV2",
        steps(&[1; 5]),
        vec![i(&[2, 12, 12, 12, 8]), f(&[3, 3, 3, 8, 8]), f(&[2, 12, 12, 12, 8])],
    );
    let dilation = vec![float(), ("strides", ints(one)), ("rates", ints(one)), ("padding", "SAME".into())];
    call("conv/dilation.rs", "Dilation2D", dilation, vec![f(&[4, 48, 48, 8]), f(&[3, 3, 8])]);
    let ratios = AttrValue::from(vec![1.0f32, 1.5, 1.7, 1.0]);
    let fractional = || vec![float(), ("pooling_ratio", ratios.clone()), ("deterministic", true.into()), ("seed", 3i64.into())];
    call("pool/fractional.rs", "FractionalMaxPool", fractional(), vec![f(&[4, 64, 64, 8])]);
    call("pool/fractional.rs", "FractionalAvgPool", fractional(), vec![f(&[4, 64, 64, 8])]);
    let (halves, zeros) = (l(&(0..=32).map(|n| n * 2).collect::<Vec<_>>()), |size| Tensor::zeros(DType::F32, [4, size, size, 8]).unwrap());
    let pooled = vec![zeros(64), zeros(32), f(&[4, 32, 32, 8]), halves.clone(), halves.clone()];
    call("pool/fractional_grad.rs", "FractionalMaxPoolGrad", vec![float()], pooled);
    let pooled = vec![l(&[4, 64, 64, 8]), f(&[4, 32, 32, 8]), halves.clone(), halves];
    call("pool/fractional_grad.rs", "FractionalAvgPoolGrad", vec![float()], pooled);
    call("nn/lrn.rs", "LRN", vec![float()], vec![f(&[4, 32, 32, 32])]);
    call("nn/lrn.rs", "LRNGrad", vec![float()], vec![f(&[4, 32, 32, 32]), f(&[4, 32, 32, 32]), f(&[4, 32, 32, 32])]);
    call("pool/max_pool.rs", "MaxPoolGradGrad", window(two, two), vec![f(&[4, 64, 64, 8]), f(&[4, 32, 32, 8]), f(&[4, 64, 64, 8])]);
    let volumes = f(&[4, 24, 24, 24, 6]);
    let pooled = f(&[4, 12, 12, 12, 6]);
    for op in ["MaxPool3D", "AvgPool3D"] {
        call("pool/pool3d.rs", op, window(volume, volume), vec![volumes.clone()]);
    }
    call("pool/pool3d.rs", "MaxPool3DGrad", window(volume, volume), vec![volumes.clone(), pooled.clone(), pooled.clone()]);
    call("pool/pool3d.rs", "MaxPool3DGradGrad", window(volume, volume), vec![volumes.clone(), pooled.clone(), volumes]);
    call("pool/pool3d.rs", "AvgPool3DGrad", window(volume, volume), vec![i(&[4, 24, 24, 24, 6]), pooled]);
    call("nn/cross_entropy.rs", "SoftmaxCrossEntropyWithLogits", vec![float()], vec![f(&[512, 300]), positive(&[512, 300])]);
    call("nn/softmax.rs", "Softmax", vec![("T", ty(DType::F64))], vec![d(&[512, 300])]);
    call("simd/rows.rs", "Softmax", vec![float()], vec![f(&[512, 300])]);
    call("parsing_io/parse_example.rs", "ParseExample", example_attrs(), examples());
    for (op, dtype) in [("RandomUniform", DType::F32), ("RandomStandardNormal", DType::F64)] {
        let attrs = vec![("dtype", ty(dtype)), ("T", ty(DType::I32)), ("seed", 3i64.into()), ("seed2", 5i64.into())];
        call("random/distribution.rs", op, attrs, vec![i(&[300, 500])]);
    }
    let gamma = vec![("S", ty(DType::I32)), ("T", ty(DType::F32)), ("seed", 3i64.into()), ("seed2", 5i64.into())];
    call("random/gamma.rs", "RandomGamma", gamma, vec![i(&[300]), Tensor::vector(&[0.5f32; 100]).unwrap()]);
    let classes = vec![float(), ("seed", 3i64.into()), ("seed2", 5i64.into()), ("output_dtype", ty(DType::I64))];
    call("random/categorical.rs", "Multinomial", classes, vec![f(&[90, 400]), Tensor::scalar(7i32)]);
    let scalars = [20, 5000, 3].map(Tensor::scalar).to_vec();
    let bytes: Vec<u8> = (0..4 * 60 * 50 * 3).map(|i| (i * 7 % 251) as u8).collect();
    let bytes = Tensor::from_slice([4, 60, 50, 3], &bytes).unwrap().bitcast(DType::QU8).unwrap();
    call(
        "quantized/resize.rs",
        "QuantizedResizeBilinear",
        vec![("T", ty(DType::QU8))],
        vec![bytes, sized.clone(), Tensor::scalar(0f32), Tensor::scalar(1f32)],
    );
    call("random/sobol.rs", "SobolSample", vec![("dtype", ty(DType::F32))], scalars);
    for (op, axes) in [("Sum", vec![0]), ("Sum", vec![1]), ("Mean", vec![0, 1, 2]), ("Prod", vec![1]), ("Sum", vec![0, 2])] {
        call("reduce.rs", op, vec![float(), ("Tidx", ty(DType::I32))], vec![f(&[70, 90, 80]), i(&axes)]);
    }
    let sparse: Vec<i64> = numbers(6000, 300).into_iter().zip(numbers(6000, 199)).flat_map(|(row, column)| [row, column]).collect();
    for adjoint in [false, true] {
        let attrs = vec![float(), ("Tindices", ty(DType::I64)), ("adjoint_a", adjoint.into()), ("adjoint_b", adjoint.into())];
        let dense = if adjoint { f(&[64, 300]) } else { f(&[200, 64]) };
        call(
            "sparse/matmul.rs",
            "SparseTensorDenseMatMul",
            attrs,
            vec![Tensor::from_slice([6000, 2], &sparse).unwrap(), f(&[6000]), l(&[300, 200]), dense],
        );
    }
    let mut segments = numbers(5000, 400);
    segments.sort_unstable();
    let scattered = l(&numbers(5000, 400).iter().map(|id| id - 1).collect::<Vec<_>>());
    for (op, width) in [("UnsortedSegmentSum", 50), ("UnsortedSegmentProd", 20), ("UnsortedSegmentMax", 14)] {
        let attrs = vec![float(), ("Tindices", ty(DType::I64)), ("Tnumsegments", ty(DType::I32))];
        call("segments.rs", op, attrs, vec![f(&[5000, width]), scattered.clone(), Tensor::scalar(401i32)]);
    }
    let attrs = vec![float(), ("Tindices", ty(DType::I64)), ("Tnumsegments", ty(DType::I32))];
    call("segments.rs", "UnsortedSegmentSum", attrs, vec![f(&[70_000]), l(&numbers(70_000, 400)), Tensor::scalar(400i32)]);
    for op in ["SegmentSum", "SegmentMean", "SegmentMin"] {
        call("segments.rs", op, vec![float(), ("Tindices", ty(DType::I64))], vec![f(&[5000, 50]), l(&segments)]);
    }
    for op in ["SparseSegmentSum", "SparseSegmentMean"] {
        call("sparse/segment.rs", op, vec![float()], vec![f(&[1000, 50]), l(&numbers(5000, 1000)), l(&segments)]);
    }
    let scalars = [0.1f32, 0.9, 0.5, 1e-3].map(Tensor::scalar);
    let values = [f(&[700, 301]), f(&[301, 700]).reshaped([700, 301]).unwrap()];
    let inputs = [&[values[0].clone(), positive(&[700, 301]), values[1].clone()], &scalars[..], &[values[1].clone()]].concat();
    all.push(Forking {
        file: "training/step.rs",
        op: "ResourceApplyRMSProp",
        attrs: vec![float()],
        inputs,
        num_variables: 3,
        are_constants: false,
    });
    let transposed = vec![i(&[2, 32, 32, 32]), f(&[4, 4, 32, 48]), f(&[2, 16, 16, 48])];
    let (file, op) = ("conv/phases.rs", "Conv2DBackpropInput");
    all.push(Forking { file, op, attrs: steps(two), inputs: transposed, num_variables: 0, are_constants: true });
    let stacks = vec![f(&[64, 40, 50]), f(&[64, 50, 30])];
    let (file, op) = ("linear_algebra/product.rs", "BatchMatMulV2");
    all.push(Forking { file, op, attrs: vec![float()], inputs: stacks, num_variables: 0, are_constants: true });
    all
}

fn example_attrs() -> Vec<(&'static str, AttrValue)> {
    let shapes = vec![flowmill_proto::TensorShapeProto::of([3])];
    vec![
        ("Nsparse", 1i64.into()),
        ("Ndense", 1i64.into()),
        ("sparse_types", types(&[DType::F32])),
        ("Tdense", types(&[DType::F32])),
        ("dense_shapes", shapes.into()),
    ]
}

/// Returns messages, their names, the keys of the sparse and of the dense feature, and the latter's default.
fn examples() -> Vec<Tensor> {
    let floats = |values: Vec<f32>| {
        let list = FloatList { value: values, ..FloatList::default() };
        Feature { kind: Some(feature::Kind::FloatList(list)), ..Feature::default() }
    };
    let message = |n: usize| {
        let feature = [("a".to_owned(), floats(vec![n as f32; n % 5])), ("b".to_owned(), floats(vec![1.0, 2.0, n as f32]))].into();
        let features = Some(Features { feature, ..Features::default() });
        Example { features, ..Example::default() }.encode_to_vec().into()
    };
    let messages: Vec<_> = (0..500).map(message).collect();
    let strings = |values: Vec<flowmill_tensor::Bytes>| Tensor::from_strings([values.len()], values).unwrap();
    vec![strings(messages), strings(Vec::new()), Tensor::string("a"), Tensor::string("b"), f(&[0])]
}

/// Returns a new variable with the value of an input, which becomes a handle of the variable.
fn variable(input: &mut Tensor) -> Arc<ResourceVariable> {
    let variable = Arc::new(ResourceVariable::new(input.dtype(), input.shape().into()));
    let handle = Tensor::resource(ResourceHandle::new("", "v", Some(variable.clone()), vec![]));
    *variable.lock() = Some(std::mem::replace(input, handle));
    variable
}

/// Returns the outputs of a call and the variables after it, and the number of times that it forked.
fn run(case: &Forking, threads: usize) -> (Vec<Tensor>, u64) {
    let pool = intra_op::pool(threads).unwrap();
    pool.install(|| {
        let before = intra_op::forks();
        let mut inputs = case.inputs.clone();
        let variables: Vec<Arc<ResourceVariable>> = inputs[..case.num_variables].iter_mut().map(variable).collect();
        let call = Call::new(case.op).attrs(&case.attrs).inputs(inputs);
        let call = if case.are_constants { call.constant(InferencePrecision::F32) } else { call };
        let call = if variables.is_empty() { call } else { call.outputs(0) };
        let outputs = call.run().unwrap_or_else(|e| unreachable!("{}: {e}", case.op));
        let updated = variables.iter().map(|variable| variable.get().unwrap());
        (outputs.into_iter().flatten().chain(updated).collect(), intra_op::forks() - before)
    })
}

fn bits(tensors: &[Tensor]) -> Vec<(Shape, Vec<u8>)> {
    let bytes = |t: &Tensor| t.as_bytes().map_or_else(|_| format!("{t:?}").into_bytes(), <[u8]>::to_vec);
    tensors.iter().map(|t| (t.shape().clone(), bytes(t))).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for case in calls() {
        let (alone, _) = run(&case, 1);
        assert!(!alone.is_empty(), "{}", case.op);
        for threads in [2, 3, 5] {
            let (together, forks) = run(&case, threads);
            assert!(forks > 0, "{} with {threads} threads does not fork in {}", case.op, case.file);
            assert!(bits(&together) == bits(&alone), "{} gives other bits with {threads} threads", case.op);
        }
    }
}

#[test]
fn every_file_that_forks_has_a_call() {
    fn forking(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                forking(&path, root, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let mut calls = text.split("parallel::").skip(1).map(|call| call.strip_prefix("try_").unwrap_or(call));
                if calls.any(|call| ["chunks(", "map(", "parts(", "rows(", "run("].iter().any(|name| call.starts_with(name))) {
                    found.insert(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for name in ["flowmill-cpu", "flowmill-host", "flowmill-kernels", "flowmill-numeric"] {
        let root = crates.join(name).join("src");
        forking(&root, &root, &mut found);
    }
    let called: BTreeSet<String> = calls().iter().map(|case| case.file.to_owned()).collect();
    assert_eq!(found, called);
}
