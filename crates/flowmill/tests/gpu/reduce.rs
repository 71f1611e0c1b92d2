//! Reductions, searches and scans give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

const TYPES: [DType; 7] = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I8, DType::U32];

#[test]
pub(crate) fn reductions_along_any_axes() {
    on_stub(|| {
        let mut random = Random::new(11);
        let cases: [(&[usize], &[i32]); 11] = [
            (&[7], &[0]),
            (&[5, 9], &[1]),
            (&[5, 9], &[0]),
            (&[4, 6, 5], &[1]),
            (&[4, 6, 5], &[0, 2]),
            (&[3, 4, 2, 5], &[1, 3]),
            (&[3, 4, 2, 5], &[0, 2]),
            (&[3, 4], &[]),
            (&[2, 3], &[0, 1]),
            (&[0, 3], &[0]),
            (&[2, 40, 33], &[1]),
        ];
        for (dims, axes) in cases {
            for op in ["Sum", "Mean", "Max", "Min"] {
                for dtype in TYPES {
                    // The mean of no integer is whatever a division by zero is.
                    if op == "Mean" && dims[0] == 0 && !dtype.is_floating() {
                        continue;
                    }
                    Case::new(op)
                        .input(random.tensor(dtype, dims))
                        .input(ints(axes))
                        .attr("keep_dims", axes.len() == 1)
                        .within(8.0)
                        .check();
                }
            }
            for dtype in [DType::F32, DType::F16] {
                Case::new("Prod").input(random.unit(dtype, dims)).input(ints(axes)).within(32.0).check();
                Case::new("EuclideanNorm").input(random.tensor(dtype, dims)).input(ints(axes)).within(8.0).check();
            }
            for op in ["All", "Any"] {
                Case::new(op).input(random.tensor(DType::Bool, dims)).input(ints(axes)).check();
            }
        }
    });
}

#[test]
pub(crate) fn long_reductions_are_shared_by_blocks() {
    on_stub(|| {
        let mut random = Random::new(12);
        for (dims, axes) in [(&[30_000][..], &[0][..]), (&[3, 9000], &[1]), (&[9000, 5], &[0]), (&[40, 3, 200], &[0, 2])] {
            Case::new("Sum").input(random.unit(DType::F32, dims)).input(ints(axes)).within(16.0).check();
            Case::new("Max").input(random.tensor(DType::F16, dims)).input(ints(axes)).check();
            Case::new("Mean").input(random.unit(DType::F64, dims)).input(ints(axes)).within(64.0).check();
        }
        Case::new("L2Loss").input(random.unit(DType::F32, &[50, 200])).within(32.0).check();
        Case::new("BiasAddGrad").input(random.unit(DType::F32, &[50, 20, 7])).within(32.0).check();
        Case::new("BiasAddGrad").input(random.unit(DType::F32, &[6, 5, 20, 7])).attr("data_format", "NCHW").within(32.0).check();
    });
}

#[test]
pub(crate) fn greatest_elements_are_found() {
    on_stub(|| {
        let mut random = Random::new(13);
        for dtype in TYPES {
            for (dims, axis) in [(&[300][..], 0), (&[4, 700], 1), (&[70, 4], 0), (&[3, 50, 4], 1), (&[6, 5], -1)] {
                for op in ["ArgMax", "ArgMin"] {
                    Case::new(op).input(random.tensor(dtype, dims)).input(Tensor::scalar(axis)).check();
                }
                for op in ["Cumsum", "Cumprod"] {
                    for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
                        let x = if op == "Cumprod" { random.unit(dtype, dims) } else { random.tensor(dtype, dims) };
                        let case = Case::new(op).input(x).input(Tensor::scalar(axis)).attr("exclusive", exclusive);
                        case.attr("reverse", reverse).within(64.0).check();
                    }
                }
            }
            Case::new("TopKV2").input(random.tensor(dtype, &[3, 400])).input(Tensor::scalar(5i32)).outputs(2).check();
            Case::new("TopKV2").input(random.tensor(dtype, &[2, 2, 9])).input(Tensor::scalar(9i32)).outputs(2).check();
            Case::new("TopKV2").input(random.tensor(dtype, &[3, 90])).input(Tensor::scalar(70i32)).outputs(2).check();
            Case::new("TopK").input(random.tensor(dtype, &[2, 64])).attr("k", 64).outputs(2).check();
        }
        let nan = f32::NAN;
        let x = Tensor::from_slice([3, 4], &[nan, 1.0, 2.0, 0.0, nan, nan, nan, nan, 3.0, nan, 3.0, -1.0]).unwrap();
        for op in ["ArgMax", "ArgMin"] {
            Case::new(op).input(x.clone()).input(Tensor::scalar(1)).check();
        }
        for op in ["Max", "Min", "Sum"] {
            Case::new(op).input(x.clone()).input(ints(&[1])).check();
        }
    });
}
