//! Resizing and normalization of images give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

const FLOATS: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];
/// `align_corners` and `half_pixel_centers`.
const MAPPINGS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

#[test]
pub(crate) fn images_are_resized() {
    on_stub(|| {
        let mut random = Random::new(71);
        let sizes =
            [([2, 5, 7, 3], [9, 4]), ([1, 8, 6, 1], [3, 13]), ([2, 3, 3, 2], [1, 1]), ([1, 4, 4, 5], [8, 8]), ([0, 4, 4, 5], [8, 8])];
        for (dims, size) in sizes {
            for (align_corners, half_pixel_centers) in MAPPINGS {
                let case = |op| Case::new(op).attr("align_corners", align_corners).attr("half_pixel_centers", half_pixel_centers);
                for dtype in FLOATS.into_iter().chain([DType::U8, DType::I32]) {
                    let x = random.tensor(dtype, &dims);
                    case("ResizeBilinear").input(x.clone()).input(ints(&size)).within(4.0).check();
                    case("ResizeNearestNeighbor").input(x).input(ints(&size)).check();
                }
                let resized = [dims[0], size[0] as usize, size[1] as usize, dims[3]];
                for dtype in FLOATS {
                    let gradient = random.unit(DType::F32, &resized);
                    case("ResizeBilinearGrad").input(gradient).input(random.tensor(dtype, &dims)).within(16.0).check();
                    let original = ints(&[dims[1] as i32, dims[2] as i32]);
                    case("ResizeNearestNeighborGrad").input(random.unit(dtype, &resized)).input(original).within(16.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn channels_are_normalized_by_their_neighbours() {
    on_stub(|| {
        let mut random = Random::new(72);
        for (radius, beta) in [(2i64, 0.5f32), (1, 0.75), (9, 0.6)] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let dims = [2, 3, 2, 7];
                let x = random.unit(dtype, &dims);
                let case = |op| {
                    let case = Case::new(op).attr("depth_radius", radius).attr("beta", beta).attr("alpha", 0.4f32).attr("bias", 1.5f32);
                    case.within(16.0)
                };
                case("LRN").input(x.clone()).check();
                case("LRNGrad").input(random.unit(dtype, &dims)).input(x).input(random.unit(dtype, &dims)).check();
            }
        }
    });
}

#[test]
pub(crate) fn boxes_are_cropped() {
    on_stub(|| {
        let mut random = Random::new(73);
        for (dims, size, count) in
            [([2usize, 5, 7, 3], [4, 3], 5usize), ([1, 6, 4, 2], [1, 5], 3), ([3, 8, 8, 1], [9, 9], 4), ([2, 4, 4, 2], [3, 3], 0)]
        {
            // Boxes in the image, mirrored, and partly outside.
            let corners: Vec<f32> = (0..count * 4).map(|_| random.below(29) as f32 * 0.0625 - 0.25).collect();
            let boxes = Tensor::from_slice([count, 4], &corners).unwrap();
            let index = random.indices(DType::I32, &[count], dims[0]);
            let crops = [count, size[0] as usize, size[1] as usize, dims[3]];
            for dtype in [DType::F32, DType::F16, DType::F64] {
                for method in ["bilinear", "nearest"] {
                    let case = |op| Case::new(op).attr("method", method).within(16.0);
                    let x = random.tensor(dtype, &dims);
                    let crop = case("CropAndResize").input(x.clone()).input(boxes.clone()).input(index.clone()).input(ints(&size));
                    crop.attr("extrapolation_value", 0.5f32).check();
                    let gradient = random.unit(DType::F32, &crops);
                    let original = ints(&dims.map(|dim| dim as i32));
                    let back = case("CropAndResizeGradImage").input(gradient.clone()).input(boxes.clone()).input(index.clone());
                    back.input(original).attr("T", dtype).check();
                    if method == "bilinear" {
                        case("CropAndResizeGradBoxes")
                            .input(gradient)
                            .input(x)
                            .input(boxes.clone())
                            .input(index.clone())
                            .within(64.0)
                            .check();
                    }
                }
            }
        }
    });
}

#[test]
pub(crate) fn colours_are_converted_and_adjusted() {
    on_stub(|| {
        let mut random = Random::new(74);
        for dims in [[2usize, 3, 5, 3], [1, 1, 1, 3], [0, 2, 2, 3], [1, 80, 90, 3]] {
            for dtype in [DType::F32, DType::F64] {
                Case::new("RGBToHSV").input(random.unit(dtype, &dims)).within(16.0).check();
                Case::new("HSVToRGB").input(random.unit(dtype, &dims)).within(16.0).check();
            }
            for dtype in [DType::F32, DType::F16] {
                let x = random.unit(dtype, &dims);
                for (op, by) in [("AdjustHue", 0.3f32), ("AdjustHue", -1.6), ("AdjustSaturation", 0.4), ("AdjustSaturation", 3.0)] {
                    Case::new(op).input(x.clone()).input(Tensor::scalar(by)).within(32.0).check();
                }
                Case::new("AdjustContrastv2").input(x).input(Tensor::scalar(2.5f32)).within(16.0).check();
            }
        }
        Case::new("AdjustContrastv2").input(random.unit(DType::F32, &[3, 2, 4, 5, 2])).input(Tensor::scalar(0.5f32)).within(16.0).check();
    });
}

#[test]
pub(crate) fn images_are_projected() {
    on_stub(|| {
        let mut random = Random::new(75);
        for (dims, size, count) in [([2usize, 5, 7, 3], [4, 9], 2usize), ([3, 4, 1, 1], [5, 3], 1)] {
            let transforms: Vec<f32> = (0..count * 8)
                .map(|i| match i % 8 {
                    0 | 4 => 0.5 + random.below(16) as f32 * 0.0625,
                    2 | 5 => random.below(64) as f32 * 0.25 - 8.0,
                    6 | 7 => random.below(8) as f32 * 0.015625,
                    _ => random.below(16) as f32 * 0.0625 - 0.5,
                })
                .collect();
            let transforms = Tensor::from_slice([count, 8], &transforms).unwrap();
            for interpolation in ["NEAREST", "BILINEAR"] {
                for mode in ["REFLECT", "WRAP", "CONSTANT", "NEAREST"] {
                    for dtype in [DType::F32, DType::F16, DType::F64, DType::U8, DType::I32, DType::I64] {
                        let mut case = |op| {
                            let case = Case::new(op).input(random.tensor(dtype, &dims)).input(transforms.clone()).input(ints(&size));
                            case.attr("interpolation", interpolation).attr("fill_mode", mode).within(16.0)
                        };
                        case("ImageProjectiveTransformV2").check();
                        case("ImageProjectiveTransformV3").input(Tensor::scalar(2.0f32)).check();
                    }
                }
            }
        }
    });
}

#[test]
pub(crate) fn windows_are_extracted() {
    on_stub(|| {
        let mut random = Random::new(76);
        for padding in ["SAME", "VALID"] {
            for (dims, size, strides, rates) in [
                ([2usize, 7, 6, 3], [3i64, 2], [1i64, 2], [1i64, 1]),
                ([1, 8, 9, 4], [2, 3], [3, 1], [2, 3]),
                ([0, 4, 4, 1], [2, 2], [1, 1], [1, 1]),
            ] {
                let spread = |[a, b]: [i64; 2]| [1, a, b, 1];
                for dtype in [DType::F32, DType::F16, DType::U8, DType::I64, DType::Bool, DType::C64] {
                    let case = Case::new("ExtractImagePatches").input(random.tensor(dtype, &dims)).attr("ksizes", &spread(size));
                    case.attr("strides", &spread(strides)).attr("rates", &spread(rates)).attr("padding", padding).check();
                }
            }
            for dtype in [DType::F32, DType::F16, DType::I8, DType::I32] {
                let case = Case::new("ExtractVolumePatches").input(random.tensor(dtype, &[2, 4, 5, 6, 2])).attr("padding", padding);
                case.attr("ksizes", &[1i64, 2, 3, 2, 1]).attr("strides", &[1i64, 1, 2, 3, 1]).check();
            }
        }
    });
}

#[test]
pub(crate) fn images_are_dilated() {
    on_stub(|| {
        let mut random = Random::new(77);
        for (dims, filter, strides, rates, padding) in
            [([2usize, 6, 7, 3], [3usize, 2, 3], [1i64, 1], [1i64, 1], "SAME"), ([1, 9, 8, 2], [2, 3, 2], [2, 1], [1, 2], "VALID")]
        {
            let extent = |i: usize| {
                let (reach, stride) = ((filter[i] - 1) * rates[i] as usize + 1, strides[i] as usize);
                if padding == "SAME" { dims[i + 1].div_ceil(stride) } else { (dims[i + 1] - reach) / stride + 1 }
            };
            let output = [dims[0], extent(0), extent(1), dims[3]];
            let spread = |[a, b]: [i64; 2]| [1, a, b, 1];
            for dtype in FLOATS {
                let (x, f, dy) = (random.tensor(dtype, &dims), random.tensor(dtype, &filter), random.unit(dtype, &output));
                let case = |op| {
                    let case = Case::new(op).input(x.clone()).input(f.clone()).attr("strides", &spread(strides));
                    case.attr("rates", &spread(rates)).attr("padding", padding).within(16.0)
                };
                case("Dilation2D").check();
                case("Dilation2DBackpropInput").input(dy.clone()).check();
                case("Dilation2DBackpropFilter").input(dy).check();
            }
        }
    });
}
