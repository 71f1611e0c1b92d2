//! Gathers, scatters and selections give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

const TYPES: [DType; 6] = [DType::F32, DType::F16, DType::F64, DType::I64, DType::U8, DType::I32];

#[test]
pub(crate) fn slices_are_gathered() {
    on_stub(|| {
        let mut random = Random::new(31);
        for dtype in TYPES.into_iter().chain([DType::Bool, DType::C64]) {
            for index in [DType::I32, DType::I64] {
                let x = random.tensor(dtype, &[6, 5, 8]);
                Case::new("Gather").input(x.clone()).input(random.indices(index, &[4], 6)).check();
                for axis in [0, 1, -1] {
                    let i = random.indices(index, &[2, 3], 5);
                    Case::new("GatherV2").input(x.clone()).input(i).input(Tensor::scalar(axis)).check();
                }
                let batched = Case::new("GatherV2").input(x.clone()).input(random.indices(index, &[6, 3], 5)).input(Tensor::scalar(1));
                batched.attr("batch_dims", 1).check();
                Case::new("GatherNd").input(x.clone()).input(random.indices(index, &[3, 2], 5)).check();
                Case::new("GatherNd").input(x).input(random.indices(index, &[2, 2, 3], 5)).check();
            }
        }
    });
}

#[test]
pub(crate) fn slices_are_scattered_in_order() {
    on_stub(|| {
        let mut random = Random::new(32);
        for dtype in TYPES {
            for (rows, width) in [(5, 3), (300, 2), (20, 300)] {
                let index = random.indices(DType::I32, &[rows, 1], 7);
                let updates = random.tensor(dtype, &[rows, width]);
                let shape = ints(&[7, width as i32]);
                Case::new("ScatterNd").input(index.clone()).input(updates.clone()).input(shape).check();
                for op in [
                    "ScatterNdNonAliasingAdd",
                    "TensorScatterAdd",
                    "TensorScatterSub",
                    "TensorScatterMax",
                    "TensorScatterMin",
                    "TensorScatterUpdate",
                ] {
                    let x = random.tensor(dtype, &[7, width]);
                    Case::new(op).input(x).input(index.clone()).input(updates.clone()).check();
                }
                for op in ["UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"] {
                    let ids = random.indices(DType::I64, &[rows], 9);
                    Case::new(op).input(updates.clone()).input(ids).input(Tensor::scalar(9i32)).check();
                }
            }
            // So many that they are sorted first.
            for rows in if dtype == DType::F32 { &[2048, 5000][..] } else { &[] } {
                let index = random.indices(DType::I32, &[*rows, 1], 300);
                let updates = random.unit(dtype, &[*rows, 2]);
                Case::new("TensorScatterSub").input(random.unit(dtype, &[300, 2])).input(index.clone()).input(updates.clone()).check();
                Case::new("TensorScatterUpdate").input(random.unit(dtype, &[300, 2])).input(index).input(updates.clone()).check();
                let ids = random.indices(DType::I64, &[*rows], 400);
                Case::new("UnsortedSegmentSum").input(updates).input(ids).input(Tensor::scalar(400i32)).check();
            }
            let index = random.indices(DType::I64, &[2, 4, 2], 4);
            let updates = random.tensor(dtype, &[2, 4, 5]);
            Case::new("ScatterNd").input(index).input(updates).input(Tensor::vector(&[4i64, 4, 5]).unwrap()).check();
        }
    });
}

#[test]
pub(crate) fn rows_are_selected() {
    on_stub(|| {
        let mut random = Random::new(33);
        for dtype in TYPES {
            for dims in [&[4, 5][..], &[4], &[]] {
                let condition = random.tensor(DType::Bool, dims);
                Case::new("Select").input(condition).input(random.tensor(dtype, &[4, 5])).input(random.tensor(dtype, &[4, 5])).check();
            }
        }
    });
}

#[test]
pub(crate) fn rows_are_partitioned_and_stitched() {
    on_stub(|| {
        let mut random = Random::new(34);
        for dtype in TYPES {
            let partitions = ints(&[2, 0, 0, 3, 2, 2]);
            for dims in [&[6, 5][..], &[6], &[6, 2, 4]] {
                let case = Case::new("DynamicPartition").input(random.tensor(dtype, dims)).input(partitions.clone());
                case.attr("num_partitions", 4).outputs(4).check();
            }
            let indices = vec![ints(&[0, 4, 1]), Tensor::scalar(2i32), ints(&[4, 6])];
            let data = vec![random.tensor(dtype, &[3, 4]), random.tensor(dtype, &[4]), random.tensor(dtype, &[2, 4])];
            for op in ["DynamicStitch", "ParallelDynamicStitch"] {
                Case::new(op).list(indices.clone()).list(data.clone()).check();
                Case::new(op).list(vec![ints(&[2, 0, 1])]).list(vec![random.tensor(dtype, &[3, 2])]).check();
            }
        }
    });
}

#[test]
pub(crate) fn segments_are_reduced() {
    on_stub(|| {
        let mut random = Random::new(35);
        for dtype in TYPES {
            let data = random.tensor(dtype, &[6, 7]);
            for ids in [ints(&[0, 0, 1, 3, 3, 3]), ints(&[2, 2, 2, 2, 2, 5])] {
                for op in ["SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"] {
                    Case::new(op).input(data.clone()).input(ids.clone()).within(2.0).check();
                }
            }
            Case::new("SegmentSum").input(random.tensor(dtype, &[0, 3])).input(ints(&[])).check();
            if !dtype.is_floating() {
                continue;
            }
            let (rows, ids) = (ints(&[5, 0, 0, 3, 1]), ints(&[0, 0, 2, 2, 2]));
            for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"] {
                Case::new(op).input(data.clone()).input(rows.clone()).input(ids.clone()).within(4.0).check();
                let with_count: &'static str = format!("{op}WithNumSegments").leak();
                Case::new(with_count)
                    .input(data.clone())
                    .input(rows.clone())
                    .input(ids.clone())
                    .input(Tensor::scalar(4i32))
                    .within(4.0)
                    .check();
                let gradient: &'static str = format!("{op}Grad").leak();
                let case = Case::new(gradient).input(random.tensor(dtype, &[3, 4])).input(rows.clone()).input(ids.clone());
                case.input(Tensor::scalar(6i32)).within(4.0).check();
            }
        }
    });
}

#[test]
pub(crate) fn targets_are_among_the_best() {
    on_stub(|| {
        let mut random = Random::new(36);
        let mut predictions = random.tensor(DType::F32, &[8, 300]).as_slice::<f32>().unwrap().to_vec();
        (predictions[301], predictions[900]) = (f32::NAN, f32::INFINITY);
        let predictions = Tensor::from_slice([8, 300], &predictions).unwrap();
        let targets = ints(&[3, 5, 299, 0, 7, -1, 300, 12]);
        for k in [0, 1, 5, 120, 1000] {
            Case::new("InTopK").input(predictions.clone()).input(targets.clone()).attr("k", k).check();
            Case::new("InTopKV2").input(predictions.clone()).input(targets.clone()).input(Tensor::scalar(k)).check();
        }
    });
}
