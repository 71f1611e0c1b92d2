//! Ops of neural networks give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

#[test]
pub(crate) fn softmax_and_cross_entropies() {
    on_stub(|| {
        let mut random = Random::new(21);
        for dtype in FLOATS {
            for dims in [&[5][..], &[3, 1], &[4, 10], &[2, 3, 300], &[0, 4], &[2, 700]] {
                for op in ["Softmax", "LogSoftmax"] {
                    Case::new(op).input(random.tensor(dtype, dims)).within(8.0).check();
                }
            }
            for (logits, labels) in [([6, 10], [6, 10]), ([6, 10], [1, 10]), ([1, 300], [5, 300]), ([4, 3], [4, 1])] {
                let case =
                    Case::new("SoftmaxCrossEntropyWithLogits").input(random.tensor(dtype, &logits)).input(random.unit(dtype, &labels));
                case.outputs(2).within(32.0).check();
            }
            for index in [DType::I32, DType::I64] {
                let case = Case::new("SparseSoftmaxCrossEntropyWithLogits").input(random.tensor(dtype, &[7, 12]));
                case.input(random.indices(index, &[7], 12)).outputs(2).within(8.0).check();
            }
        }
    });
}

#[test]
pub(crate) fn batch_norms_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(22);
        for format in ["NHWC", "NCHW"] {
            for channels in [1, 3, 40] {
                for dtype in [DType::F32, DType::F16, DType::BF16] {
                    let dims = if format == "NHWC" { [4, 6, 5, channels] } else { [4, channels, 6, 5] };
                    let mut vector = || random.unit(DType::F32, &[channels]);
                    let (scale, offset, mean, variance) = (vector(), vector(), vector(), vector());
                    let x = random.tensor(dtype, &dims);
                    for (training, factor) in [(false, 1.0f32), (true, 1.0), (true, 0.25)] {
                        let earlier = if dtype == DType::F32 { &["", "V2", "V3"][..] } else { &["V2", "V3"] };
                        for version in earlier {
                            let op = |name: &str| -> Case { Case::new(format!("{name}{version}").leak()) };
                            let case = op("FusedBatchNorm").input(x.clone()).input(scale.clone()).input(offset.clone());
                            let case = case.input(mean.clone()).input(variance.clone()).attr("data_format", format);
                            let case = case.attr("is_training", training).attr("exponential_avg_factor", factor);
                            case.outputs(5).within(64.0).check();
                            let case = op("FusedBatchNormGrad").input(random.tensor(dtype, &dims)).input(x.clone()).input(scale.clone());
                            let mut case = case.input(mean.clone()).input(variance.clone());
                            if *version == "V3" {
                                case = case.input(variance.clone());
                            }
                            case.attr("data_format", format).attr("is_training", training).outputs(3).within(256.0).check();
                        }
                    }
                }
            }
        }
    });
}

/// A convolution: the shapes of input and filter, strides, dilations and padding.
type Convolution = ([usize; 4], [usize; 4], [i64; 2], [i64; 2], &'static str);

fn convolution(op: &'static str, (_, _, strides, dilations, padding): Convolution, format: &str) -> Case {
    let spread = |[a, b]: [i64; 2]| if format == "NHWC" { [1, a, b, 1] } else { [1, 1, a, b] };
    let case = Case::new(op).attr("strides", &spread(strides)).attr("dilations", &spread(dilations)).attr("padding", padding);
    case.attr("data_format", format).within(64.0)
}

/// The dimensions of images in a format.
fn images([n, h, w, c]: [usize; 4], format: &str) -> [usize; 4] {
    if format == "NHWC" { [n, h, w, c] } else { [n, c, h, w] }
}

fn check_convolution(shape: Convolution, names: [&'static str; 3], multiplies: bool, dtype: DType, format: &str) {
    let (input, filter, strides, dilations, padding) = shape;
    let mut random = Random::new(23);
    let size = |i: usize| {
        let reach = (filter[i] - 1) * dilations[i] as usize + 1;
        let stride = strides[i] as usize;
        if padding == "SAME" { input[i + 1].div_ceil(stride) } else { (input[i + 1] - reach) / stride + 1 }
    };
    let channels = if multiplies { filter[2] * filter[3] } else { filter[3] };
    let output = [input[0], size(0), size(1), channels];
    let (x, f) = (random.unit(dtype, &images(input, format)), random.unit(dtype, &filter));
    let dy = random.unit(dtype, &images(output, format));
    let sizes = |dims: [usize; 4]| ints(&dims.map(|dim| dim as i32));
    convolution(names[0], shape, format).input(x.clone()).input(f.clone()).check();
    convolution(names[1], shape, format).input(sizes(images(input, format))).input(f).input(dy.clone()).check();
    convolution(names[2], shape, format).input(x).input(sizes(filter)).input(dy).check();
}

/// Compares convolutions of all kinds, and their gradients. Returns their number.
pub(crate) fn check_convolutions() -> u64 {
    let names = ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"];
    let cases: [Convolution; 6] = [
        ([2, 6, 7, 3], [3, 3, 3, 5], [1, 1], [1, 1], "SAME"),
        ([2, 7, 6, 4], [1, 1, 4, 6], [1, 1], [1, 1], "VALID"),
        ([1, 8, 9, 2], [3, 2, 2, 4], [2, 2], [1, 1], "SAME"),
        ([1, 9, 8, 2], [2, 3, 2, 4], [1, 1], [2, 2], "VALID"),
        ([2, 5, 5, 6], [3, 3, 2, 9], [2, 1], [1, 1], "SAME"),
        ([1, 6, 6, 3], [1, 1, 3, 4], [2, 2], [1, 1], "VALID"),
    ];
    let kinds = [(DType::F32, "NHWC"), (DType::F16, "NHWC"), (DType::BF16, "NHWC"), (DType::F32, "NCHW")];
    for shape in cases {
        for (dtype, format) in kinds {
            check_convolution(shape, names, false, dtype, format);
        }
    }
    (cases.len() * kinds.len() * names.len()) as u64
}

#[test]
pub(crate) fn convolutions_and_their_gradients() {
    on_stub(|| {
        check_convolutions();
    });
}

#[test]
pub(crate) fn depthwise_convolutions_and_their_gradients() {
    on_stub(|| {
        let names = ["DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"];
        let cases: [Convolution; 3] = [
            ([2, 6, 7, 3], [3, 3, 3, 1], [1, 1], [1, 1], "SAME"),
            ([1, 8, 8, 4], [3, 3, 4, 2], [2, 2], [1, 1], "SAME"),
            ([3, 20, 20, 2], [5, 5, 2, 1], [1, 1], [1, 1], "VALID"),
        ];
        for shape in cases {
            for dtype in [DType::F32, DType::BF16] {
                check_convolution(shape, names, true, dtype, "NHWC");
            }
            check_convolution(shape, names, true, DType::F32, "NCHW");
        }
    });
}

fn pool_with_positions(op: &'static str, size: &[i64], strides: &[i64], padding: &str, with_batch: bool) -> Case {
    let case = Case::new(op).attr("ksize", size).attr("strides", strides).attr("padding", padding).within(16.0);
    case.attr("include_batch_in_index", with_batch)
}

#[test]
pub(crate) fn pools_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(24);
        for format in ["NHWC", "NCHW"] {
            let spread = |[a, b]: [i64; 2]| if format == "NHWC" { [1, a, b, 1] } else { [1, 1, a, b] };
            for (size, strides, padding) in [([2, 2], [2, 2], "VALID"), ([3, 3], [2, 2], "SAME"), ([3, 2], [1, 2], "VALID")] {
                for dtype in FLOATS {
                    let input = [2usize, 7, 8, 3];
                    let extent = |i: usize| {
                        let (n, k, s) = (input[i + 1], size[i] as usize, strides[i] as usize);
                        if padding == "SAME" { n.div_ceil(s) } else { (n - k) / s + 1 }
                    };
                    let pool = |op| {
                        let case = Case::new(op).attr("ksize", &spread(size)).attr("strides", &spread(strides));
                        case.attr("padding", padding).attr("data_format", format).within(16.0)
                    };
                    let x = random.tensor(dtype, &images(input, format));
                    let dy = random.unit(dtype, &images([2, extent(0), extent(1), 3], format));
                    pool("MaxPool").input(x.clone()).check();
                    pool("AvgPool").input(x.clone()).check();
                    pool("MaxPoolGrad").input(x.clone()).input(dy.clone()).input(dy.clone()).check();
                    let sizes = ints(&images(input, format).map(|dim| dim as i32));
                    pool("AvgPoolGrad").input(sizes).input(dy.clone()).check();
                    pool("MaxPoolGradGrad").input(x.clone()).input(dy.clone()).input(random.unit(dtype, x.shape())).check();
                    let sized = |case: Case| -> Case {
                        let vector = |dims: [i64; 2]| ints(&spread(dims).map(|dim| dim as i32));
                        case.input(vector(size)).input(vector(strides)).attr("padding", padding).attr("data_format", format)
                    };
                    sized(Case::new("MaxPoolV2").input(x.clone())).check();
                    let gradient = |op| Case::new(op).input(x.clone()).input(dy.clone());
                    sized(gradient("MaxPoolGradV2").input(dy.clone())).within(16.0).check();
                    sized(gradient("MaxPoolGradGradV2").input(random.unit(dtype, x.shape()))).check();
                    if format == "NHWC" {
                        let pool = |op, with_batch: bool| pool_with_positions(op, &spread(size), &spread(strides), padding, with_batch);
                        for with_batch in [false, true] {
                            pool("MaxPoolWithArgmax", with_batch).input(x.clone()).outputs(2).check();
                            let step = |i: usize, at: usize| (at * strides[i] as usize).min(input[i + 1] - 1);
                            let dims = [2, extent(0), extent(1), 3];
                            let place = |n: usize| {
                                let (c, column, row, image) =
                                    (n % 3, n / 3 % dims[2], n / 3 / dims[2] % dims[1], n / 3 / dims[2] / dims[1]);
                                let own = (step(0, row) * input[2] + step(1, column)) * 3 + c;
                                (own + if with_batch { image * 7 * 8 * 3 } else { 0 }) as i64
                            };
                            let n = dims.iter().product::<usize>();
                            let at = Tensor::from_slice(dims, &(0..n).map(place).collect::<Vec<i64>>()).unwrap();
                            pool("MaxPoolGradWithArgmax", with_batch).input(x.clone()).input(dy.clone()).input(at).check();
                        }
                    }
                }
            }
        }
    });
}

#[test]
pub(crate) fn rows_are_normalized() {
    on_stub(|| {
        let mut random = Random::new(25);
        for (dims, factors) in [(&[7, 300][..], 300), (&[2, 3, 5], 5), (&[4, 6], 1), (&[4, 1], 6), (&[2, 700], 700)] {
            let (gamma, beta) = (random.unit(DType::F32, &[factors]), random.unit(DType::F32, &[factors]));
            let case = Case::new("_FusedLayerNorm").input(random.tensor(DType::F32, dims)).input(gamma).input(beta);
            case.attr("epsilon", 1e-3f32).within(16.0).check();
        }
    });
}

#[test]
pub(crate) fn floats_are_rounded_to_quantized_values() {
    on_stub(|| {
        let mut random = Random::new(26);
        for (dims, bits, narrow) in
            [(vec![5usize, 3], 8i64, false), (vec![4, 2, 3], 3, true), (vec![0, 3], 8, false), (vec![9000, 2], 4, false)]
        {
            let (x, dy) = (random.tensor(DType::F32, &dims), random.unit(DType::F32, &dims));
            let channels = dims[dims.len() - 1];
            let case = |op| Case::new(op).attr("num_bits", bits).attr("narrow_range", narrow).within(64.0);
            let with_limits = |case: Case| case.attr("min", -2.25f32).attr("max", 4.5f32);
            with_limits(case("FakeQuantWithMinMaxArgs").input(x.clone())).check();
            with_limits(case("FakeQuantWithMinMaxArgsGradient").input(dy.clone()).input(x.clone())).check();
            for (min, max) in [(-2.25f32, 4.5f32), (1.0, 3.0), (0.0, 0.0)] {
                let limits = |case: Case, is_vector: bool| {
                    let tensor = |value: f32| match is_vector {
                        // The first channel has other limits.
                        true => Tensor::from_slice(
                            [channels],
                            &(0..channels).map(|i| if i == 0 { 2.0 * value } else { value }).collect::<Vec<_>>(),
                        ),
                        false => Ok(Tensor::scalar(value)),
                    };
                    case.input(tensor(min).unwrap()).input(tensor(max).unwrap())
                };
                limits(case("FakeQuantWithMinMaxVars").input(x.clone()), false).check();
                limits(case("FakeQuantWithMinMaxVarsPerChannel").input(x.clone()), true).check();
                let gradient = |op| case(op).input(dy.clone()).input(x.clone()).outputs(3);
                limits(gradient("FakeQuantWithMinMaxVarsGradient"), false).check();
                limits(gradient("FakeQuantWithMinMaxVarsPerChannelGradient"), true).check();
            }
        }
    });
}
