//! Gathers, scatters and selections give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use flowmill::prelude::*;

const TYPES: [DType; 6] = [DType::F32, DType::F16, DType::F64, DType::I64, DType::U8, DType::I32];

#[test]
fn slices_are_gathered() {
    let _driver = stub_cuda::install().unwrap();
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
}

#[test]
fn slices_are_scattered_in_order() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(32);
    for dtype in TYPES {
        for (rows, width) in [(5, 3), (300, 2), (20, 300)] {
            let index = random.indices(DType::I32, &[rows, 1], 7);
            let updates = random.tensor(dtype, &[rows, width]);
            let shape = ints(&[7, width as i32]);
            Case::new("ScatterNd").input(index.clone()).input(updates.clone()).input(shape).check();
            for op in ["TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate"] {
                let x = random.tensor(dtype, &[7, width]);
                Case::new(op).input(x).input(index.clone()).input(updates.clone()).check();
            }
            for op in ["UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"] {
                let ids = random.indices(DType::I64, &[rows], 9);
                Case::new(op).input(updates.clone()).input(ids).input(Tensor::scalar(9i32)).check();
            }
        }
        let index = random.indices(DType::I64, &[2, 4, 2], 4);
        let updates = random.tensor(dtype, &[2, 4, 5]);
        Case::new("ScatterNd").input(index).input(updates).input(Tensor::vector(&[4i64, 4, 5]).unwrap()).check();
    }
}

#[test]
fn rows_are_selected() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(33);
    for dtype in TYPES {
        for dims in [&[4, 5][..], &[4], &[]] {
            let condition = random.tensor(DType::Bool, dims);
            Case::new("Select").input(condition).input(random.tensor(dtype, &[4, 5])).input(random.tensor(dtype, &[4, 5])).check();
        }
    }
}
