//! Ops whose results have as many elements as values say.

use crate::compare::{Case, Random, tensor_of};
use crate::setup::on_stub;
use flowmill::Shape;
use flowmill::prelude::*;

#[test]
pub(crate) fn elements_are_found() {
    on_stub(|| {
        let mut random = Random::new(91);
        let types = [DType::Bool, DType::F32, DType::F16, DType::I32];
        for dims in [&[7usize][..], &[3, 5, 4], &[2, 0], &[1100], &[1, 1, 1, 1, 2, 3]] {
            for dtype in types {
                let few = random.indices(dtype, dims, 3);
                Case::new("Where").input(few).attr("T", dtype).check();
            }
            Case::new("Where")
                .input(tensor_of(DType::F32, Shape::new(dims), &vec![0.0; Shape::new(dims).num_elements()]))
                .attr("T", DType::F32)
                .check();
        }
        let special = [0.0, -0.0, f64::NAN, f64::INFINITY, 1.0];
        Case::new("Where").input(tensor_of(DType::F32, Shape::new(&[5]), &special)).attr("T", DType::F32).check();
    });
}

#[test]
pub(crate) fn distinct_elements_are_numbered() {
    on_stub(|| {
        let mut random = Random::new(92);
        for dtype in [DType::I32, DType::I64, DType::F32, DType::F16] {
            for (n, values) in [(0usize, 1usize), (9, 4), (300, 1), (1500, 900)] {
                for out in [DType::I32, DType::I64] {
                    let x = random.indices(dtype, &[n], values);
                    Case::new("Unique").input(x.clone()).attr("out_idx", out).outputs(2).check();
                    Case::new("UniqueWithCounts").input(x).attr("out_idx", out).outputs(3).check();
                }
            }
        }
        let special = [0.0, f64::NAN, -0.0, 1.0, f64::NAN, f64::INFINITY, 1.0];
        Case::new("UniqueWithCounts").input(tensor_of(DType::F32, Shape::new(&[7]), &special)).outputs(3).check();
    });
}

#[test]
pub(crate) fn values_are_counted() {
    on_stub(|| {
        let mut random = Random::new(93);
        for dtype in [DType::I32, DType::I64, DType::F32, DType::F64] {
            for (n, bins) in [(0usize, 4i32), (1, 1), (300, 7), (20, 0)] {
                let values = random.indices(DType::I32, &[n], 9);
                for weights in [random.unit(dtype, &[n]), random.unit(dtype, &[0])] {
                    Case::new("Bincount").input(values.clone()).input(Tensor::scalar(bins)).input(weights.clone()).within(4.0).check();
                    for binary in [false, true] {
                        let case = Case::new("DenseBincount").input(values.clone()).input(Tensor::scalar(bins)).input(weights.clone());
                        case.attr("binary_output", binary).within(4.0).check();
                    }
                }
            }
            for binary in [false, true] {
                let (values, weights) = (random.indices(DType::I64, &[6, 50], 9), random.unit(dtype, &[6, 50]));
                for weights in [weights, random.unit(dtype, &[0])] {
                    let case = Case::new("DenseBincount").input(values.clone()).input(Tensor::scalar(5i64)).input(weights);
                    case.attr("binary_output", binary).within(4.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn boxes_that_overlap_are_suppressed() {
    on_stub(|| {
        let mut random = Random::new(94);
        for dtype in [DType::F32, DType::F16] {
            for (boxes, most) in [(0usize, 3i32), (12, 5), (12, 20), (300, 12), (5, 0)] {
                // Few scores, so that some are equal, and corners in any order.
                let (corners, scores) = (random.unit(dtype, &[boxes, 4]), random.indices(dtype, &[boxes], 30));
                let with = |op, limits: &[f64]| {
                    let case = Case::new(op).input(corners.clone()).input(scores.clone()).input(Tensor::scalar(most));
                    limits.iter().fold(case, |case, &limit| case.input(tensor_of(dtype, Shape::scalar(), &[limit])))
                };
                if dtype == DType::F32 {
                    with("NonMaxSuppression", &[]).attr("iou_threshold", 0.3f32).check();
                }
                with("NonMaxSuppressionV2", &[0.25]).check();
                with("NonMaxSuppressionV3", &[0.5, 4.5]).check();
                for pads in [false, true] {
                    with("NonMaxSuppressionV4", &[0.25, 4.5]).attr("pad_to_max_output_size", pads).outputs(2).check();
                    for sigma in [0.0, 0.5] {
                        let case = with("NonMaxSuppressionV5", &[0.25, 4.5, sigma]).attr("pad_to_max_output_size", pads);
                        case.outputs(3).within(16.0).check();
                    }
                }
            }
        }
    });
}
