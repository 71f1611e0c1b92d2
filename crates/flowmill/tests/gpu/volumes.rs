//! Convolutions and pools of volumes give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::{GPU, gpus_with, on_stub, session_of};
use flowmill::PartialShape;
use flowmill::gpu::GpuOptions;
use flowmill::prelude::*;

/// A convolution: the shapes of input and filter, strides, dilations and padding.
type Convolution = ([usize; 5], [usize; 5], [i64; 3], [i64; 3], &'static str);

const FORMATS: [&str; 2] = ["NDHWC", "NCDHW"];

/// The dimensions of volumes in a format.
fn volumes([n, d, h, w, c]: [usize; 5], format: &str) -> [usize; 5] {
    if format == "NDHWC" { [n, d, h, w, c] } else { [n, c, d, h, w] }
}

fn spread([a, b, c]: [i64; 3], format: &str) -> [i64; 5] {
    if format == "NDHWC" { [1, a, b, c, 1] } else { [1, 1, a, b, c] }
}

/// The dimensions of the output for windows of these sizes.
fn extents(input: [usize; 5], window: [usize; 3], strides: [i64; 3], dilations: [i64; 3], padding: &str) -> [usize; 3] {
    [0, 1, 2].map(|i| {
        let (reach, stride) = ((window[i] - 1) * dilations[i] as usize + 1, strides[i] as usize);
        if padding == "SAME" { input[i + 1].div_ceil(stride) } else { (input[i + 1] - reach) / stride + 1 }
    })
}

fn sizes(dims: [usize; 5]) -> Tensor {
    ints(&dims.map(|dim| dim as i32))
}

#[test]
pub(crate) fn convolutions_of_volumes_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(81);
        let cases: [Convolution; 6] = [
            ([2, 3, 4, 5, 3], [2, 3, 3, 3, 4], [1, 1, 1], [1, 1, 1], "SAME"),
            ([1, 4, 3, 4, 8], [1, 1, 1, 8, 3], [1, 1, 1], [1, 1, 1], "VALID"),
            ([2, 5, 6, 4, 2], [3, 2, 2, 2, 5], [2, 1, 2], [1, 1, 1], "SAME"),
            ([1, 5, 5, 6, 2], [2, 2, 3, 2, 2], [1, 1, 1], [2, 3, 1], "VALID"),
            ([1, 3, 3, 3, 2], [1, 1, 1, 2, 3], [2, 2, 2], [1, 1, 1], "VALID"),
            ([0, 3, 3, 3, 2], [2, 2, 2, 2, 3], [1, 1, 1], [1, 1, 1], "VALID"),
        ];
        for (input, filter, strides, dilations, padding) in cases {
            let [a, b, c] = extents(input, [filter[0], filter[1], filter[2]], strides, dilations, padding);
            let output = [input[0], a, b, c, filter[4]];
            for format in FORMATS {
                let types: &[DType] = if format == "NDHWC" { &[DType::F32, DType::F16, DType::BF16, DType::F64] } else { &[DType::F32] };
                for &dtype in types {
                    let case = |op| {
                        let case = Case::new(op).attr("strides", &spread(strides, format)).attr("dilations", &spread(dilations, format));
                        case.attr("padding", padding).attr("data_format", format).within(64.0)
                    };
                    let (x, f) = (random.unit(dtype, &volumes(input, format)), random.unit(dtype, &filter));
                    let dy = random.unit(dtype, &volumes(output, format));
                    case("Conv3D").input(x.clone()).input(f.clone()).check();
                    let shape = sizes(volumes(input, format));
                    case("Conv3DBackpropInputV2").input(shape).input(f.clone()).input(dy.clone()).check();
                    case("Conv3DBackpropFilterV2").input(x.clone()).input(sizes(filter)).input(dy.clone()).check();
                    if format == "NDHWC" && dtype != DType::BF16 {
                        let case = |op| Case::new(op).attr("strides", &spread(strides, format)).attr("padding", padding).within(64.0);
                        let case = |op| case(op).attr("dilations", &spread(dilations, format));
                        case("Conv3DBackpropInput").input(x.clone()).input(f.clone()).input(dy.clone()).check();
                        case("Conv3DBackpropFilter").input(x).input(f).input(dy).check();
                    }
                }
            }
        }
    });
}

#[test]
fn patches_in_parts_give_the_same_convolutions() {
    on_stub(|| {
        let mut random = Random::new(83);
        // Parts of one window, of a few, of some lines, and of more than one input.
        for patch_bytes in [1, 3000, 20_000, 150_000] {
            let options = GpuOptions { patch_bytes, ..GpuOptions::default() };
            let cases: [Convolution; 4] = [
                ([2, 5, 4, 6, 3], [2, 3, 3, 3, 4], [1, 1, 1], [1, 1, 1], "SAME"),
                ([2, 7, 6, 4, 2], [1, 2, 2, 2, 5], [3, 1, 2], [1, 1, 1], "SAME"),
                ([1, 5, 5, 6, 2], [2, 2, 3, 2, 2], [1, 1, 1], [3, 3, 1], "VALID"),
                ([2, 4, 3, 4, 8], [1, 1, 1, 8, 3], [1, 1, 1], [1, 1, 1], "VALID"),
            ];
            for (input, filter, strides, dilations, padding) in cases {
                let output = extents(input, [filter[0], filter[1], filter[2]], strides, dilations, padding);
                for dtype in [DType::F32, DType::F16] {
                    let case = |op| {
                        let case = Case::new(op).attr("strides", &spread(strides, "NDHWC")).attr("dilations", &spread(dilations, "NDHWC"));
                        case.attr("padding", padding).with_options(options).within(64.0)
                    };
                    let (x, f) = (random.unit(dtype, &input), random.unit(dtype, &filter));
                    let dy = random.unit(dtype, &[input[0], output[0], output[1], output[2], filter[4]]);
                    case("Conv3D").input(x.clone()).input(f.clone()).check();
                    case("Conv3DBackpropInputV2").input(sizes(input)).input(f.clone()).input(dy.clone()).check();
                    case("Conv3DBackpropFilterV2").input(x).input(sizes(filter)).input(dy).check();
                }
            }
            let case = |op| {
                let case = Case::new(op).attr("strides", &[1i64, 2, 1, 1][..]).attr("dilations", &[1i64, 1, 2, 1][..]);
                case.attr("padding", "SAME").with_options(options).within(64.0)
            };
            let (x, f) = (random.unit(DType::F32, &[3, 7, 5, 4]), random.unit(DType::F32, &[3, 2, 4, 6]));
            let dy = random.unit(DType::F32, &[3, 4, 5, 6]);
            case("Conv2D").input(x.clone()).input(f.clone()).check();
            case("Conv2DBackpropInput").input(ints(&[3, 7, 5, 4])).input(f).input(dy.clone()).check();
            case("Conv2DBackpropFilter").input(x).input(ints(&[3, 2, 4, 6])).input(dy).check();
        }
    });
}

#[test]
fn patches_of_a_volume_take_no_more_memory_than_the_option_says() {
    let _driver = stub_cuda::install().unwrap();
    let peak = |patch_bytes: usize| -> usize {
        let devices = gpus_with(GpuOptions { patch_bytes, ..GpuOptions::default() });
        let b = GraphBuilder::new().unwrap();
        let x = b.op("Placeholder").attr("dtype", DType::F32).attr("shape", PartialShape::unknown()).output().unwrap();
        let filter = b.op("Placeholder").attr("dtype", DType::F32).attr("shape", PartialShape::unknown()).output().unwrap();
        let shape = b.op("Const").attr("dtype", DType::I32).attr("value", &sizes([1, 24, 12, 12, 4])).output().unwrap();
        let windows = |op: &'static str| b.op(op).attr("strides", &[1i64; 5][..]).attr("padding", "SAME").device(GPU);
        let y = windows("Conv3D").input(x).input(filter).output().unwrap();
        let dx = windows("Conv3DBackpropInputV2").input(shape).input(filter).input(y).output().unwrap();
        let session = session_of(&b, devices.clone(), SessionOptions::default());
        let mut random = Random::new(84);
        let (volume, weights) = (random.unit(DType::F32, &[1, 24, 12, 12, 4]), random.unit(DType::F32, &[3, 3, 3, 4, 4]));
        session.runner().feed(x, volume).feed(filter, weights).fetch(dx).unwrap();
        devices[0].memory_stats().unwrap().peak_bytes_in_use
    };
    // Three volumes, the filter, and the rows of 24 * 12 * 12 windows over 108 elements.
    let (tensors, rows) = (3 * 24 * 12 * 12 * 4 * 4 + 27 * 16 * 4, 24 * 12 * 12 * 108 * 4);
    let (whole, in_parts) = (peak(1 << 30), peak(100_000));
    assert!(whole > rows, "{whole} bytes for rows of {rows}");
    assert!(in_parts < tensors + 100_000 + 8192, "{in_parts} bytes for tensors of {tensors}");
}

#[test]
pub(crate) fn pools_of_volumes_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(82);
        let input = [2usize, 5, 4, 6, 3];
        for (window, strides, padding) in [([2, 2, 2], [2, 2, 2], "VALID"), ([3, 2, 3], [2, 1, 2], "SAME"), ([1, 3, 2], [1, 1, 1], "VALID")]
        {
            let [a, b, c] = extents(input, window.map(|size: i64| size as usize), strides, [1; 3], padding);
            for format in FORMATS {
                for dtype in [DType::F32, DType::F16, DType::BF16] {
                    let case = |op| {
                        let case = Case::new(op).attr("ksize", &spread(window, format)).attr("strides", &spread(strides, format));
                        case.attr("padding", padding).attr("data_format", format).within(16.0)
                    };
                    // Few values, so that several elements of a window are its greatest.
                    let x = random.indices(dtype, &volumes(input, format), 5);
                    let dims = volumes([2, a, b, c, 3], format);
                    let dy = random.unit(dtype, &dims);
                    case("MaxPool3D").input(x.clone()).check();
                    case("AvgPool3D").input(random.tensor(dtype, &volumes(input, format))).check();
                    case("AvgPool3DGrad").input(sizes(volumes(input, format))).input(dy.clone()).check();
                    let maxima = random.indices(dtype, &dims, 5);
                    case("MaxPool3DGrad").input(x.clone()).input(maxima.clone()).input(dy).attr("TInput", dtype).check();
                    case("MaxPool3DGradGrad").input(x.clone()).input(maxima).input(random.unit(dtype, x.shape())).check();
                }
            }
        }
    });
}
