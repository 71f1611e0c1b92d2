//! Ops that move elements give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use flowmill::prelude::*;

/// A type for each size of elements, and `int32`, which is in the host's memory for some ops.
const TYPES: [DType; 6] = [DType::F32, DType::U8, DType::BF16, DType::F64, DType::I32, DType::C64];

#[test]
fn transposes_move_every_element() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(1);
    let cases: [(&[usize], &[i32]); 9] = [
        (&[5, 7], &[1, 0]),
        (&[70, 65], &[1, 0]),
        (&[3, 40, 50], &[0, 2, 1]),
        (&[40, 3, 50], &[2, 1, 0]),
        (&[2, 20, 3, 33], &[0, 2, 3, 1]),
        (&[2, 33, 20, 3], &[3, 1, 0, 2]),
        (&[2, 3, 4, 5, 6], &[4, 0, 3, 1, 2]),
        (&[1, 6, 1, 2], &[2, 1, 3, 0]),
        (&[0, 4], &[1, 0]),
    ];
    for (dims, permutation) in cases {
        for dtype in TYPES {
            Case::new("Transpose").input(random.tensor(dtype, dims)).input(ints(permutation)).check();
        }
    }
}

#[test]
fn slices_and_their_gradients() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(2);
    for dtype in TYPES {
        let x = || Random::new(3).tensor(dtype, &[6, 5, 8]);
        for (begin, size) in
            [([1, 2, 3], [4, 2, 5]), ([2, 0, 0], [3, 5, 8]), ([0, 1, 4], [-1, -1, 4]), ([0, 0, 0], [6, 5, 8]), ([6, 0, 0], [0, 5, 8])]
        {
            Case::new("Slice").input(x()).input(ints(&begin)).input(ints(&size)).check();
        }
        let specs: [([i32; 3], [i32; 3], [i32; 3], i32, [usize; 3]); 4] = [
            ([1, 0, 2], [5, 5, 8], [2, 1, 3], 0, [2, 5, 2]),
            ([5, 4, 7], [0, -6, 0], [-1, -2, -1], 0, [5, 3, 7]),
            ([2, 0, 0], [3, 5, 8], [1, 1, 1], 1, [1, 5, 8]),
            ([0, 0, 4], [6, 5, 8], [1, 1, 1], 0, [6, 5, 4]),
        ];
        for (begin, end, strides, shrink, dims) in specs {
            let case = |op| Case::new(op).attr("shrink_axis_mask", shrink);
            case("StridedSlice").input(x()).input(ints(&begin)).input(ints(&end)).input(ints(&strides)).check();
            let dims = &dims[usize::from(shrink == 1)..];
            let dy = random.tensor(dtype, dims);
            let gradient = case("StridedSliceGrad").input(ints(&[6, 5, 8])).input(ints(&begin)).input(ints(&end)).input(ints(&strides));
            gradient.input(dy.clone()).check();
            let update = case("TensorStridedSliceUpdate").input(x()).input(ints(&begin)).input(ints(&end)).input(ints(&strides));
            update.input(dy).check();
        }
    }
}

#[test]
fn parts_are_joined_and_split() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(4);
    for dtype in TYPES {
        for axis in [0, 1, -1] {
            let parts: Vec<Tensor> = [2, 4, 0, 3]
                .map(|size| {
                    let mut dims = [4, 6, 8];
                    dims[if axis < 0 { 2 } else { axis as usize }] = size;
                    random.tensor(dtype, &dims)
                })
                .into();
            Case::new("ConcatV2").list(parts.clone()).input(Tensor::scalar(axis)).check();
            Case::new("Concat").input(Tensor::scalar(axis)).list(parts).check();
            let equal: Vec<Tensor> = (0..3).map(|_| random.tensor(dtype, &[3, 4])).collect();
            Case::new("Pack").list(equal).attr("axis", axis).check();
            let whole = random.tensor(dtype, &[6, 6, 6]);
            Case::new("Split").input(Tensor::scalar(axis)).input(whole.clone()).attr("num_split", 3).outputs(3).check();
            let sizes = ints(&[1, -1, 2]);
            Case::new("SplitV").input(whole.clone()).input(sizes).input(Tensor::scalar(axis)).attr("num_split", 3).outputs(3).check();
            Case::new("Unpack").input(whole).attr("num", 6).attr("axis", axis).outputs(6).check();
        }
    }
}

#[test]
fn elements_are_repeated_and_reversed() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(5);
    for dtype in TYPES {
        Case::new("Tile").input(random.tensor(dtype, &[3, 4])).input(ints(&[2, 3])).check();
        Case::new("Tile").input(random.tensor(dtype, &[2, 1, 5])).input(ints(&[1, 7, 1])).check();
        Case::new("BroadcastTo").input(random.tensor(dtype, &[3, 1])).input(ints(&[2, 3, 4])).check();
        Case::new("ReverseV2").input(random.tensor(dtype, &[4, 5, 6])).input(ints(&[0, -1])).check();
        Case::new("Reverse").input(random.tensor(dtype, &[4, 6])).input(Tensor::vector(&[false, true]).unwrap()).check();
    }
}

#[test]
fn tensors_are_padded_and_filled() {
    let _driver = stub_cuda::install().unwrap();
    let mut random = Random::new(6);
    for dtype in TYPES {
        let paddings = || Tensor::from_slice([3, 2], &[1, 2, 0, 3, 2, 0]).unwrap();
        Case::new("Pad").input(random.tensor(dtype, &[3, 4, 5])).input(paddings()).check();
        Case::new("PadV2").input(random.tensor(dtype, &[3, 4, 5])).input(paddings()).input(random.tensor(dtype, &[])).check();
        Case::new("PadV2").input(random.tensor(dtype, &[3, 0, 5])).input(paddings()).input(random.tensor(dtype, &[])).check();
        let images = Tensor::from_slice([4, 2], &[0, 0, 1, 1, 2, 1, 0, 0]).unwrap();
        Case::new("Pad").input(random.tensor(dtype, &[2, 5, 4, 3])).input(images).check();
        for mode in ["REFLECT", "SYMMETRIC"] {
            Case::new("MirrorPad").input(random.tensor(dtype, &[3, 4, 5])).input(paddings()).attr("mode", mode).check();
        }
        Case::new("Fill").input(ints(&[3, 5])).input(random.tensor(dtype, &[])).check();
        Case::new("ZerosLike").input(random.tensor(dtype, &[3, 5])).check();
        Case::new("OneHot")
            .input(random.indices(DType::I64, &[2, 3], 6))
            .input(Tensor::scalar(4i32))
            .input(random.tensor(dtype, &[]))
            .input(random.tensor(dtype, &[]))
            .attr("axis", 1)
            .check();
    }
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::I64, DType::U8] {
        Case::new("OnesLike").input(random.tensor(dtype, &[3, 5])).check();
    }
}

#[test]
fn progressions_have_the_same_numbers() {
    let _driver = stub_cuda::install().unwrap();
    let check = |start: Tensor, limit: Tensor, delta: Tensor| {
        Case::new("Range").input(start).input(limit).input(delta).within(1.0).check();
    };
    check(Tensor::scalar(0.5f32), Tensor::scalar(9.0f32), Tensor::scalar(0.7f32));
    check(Tensor::scalar(3.0f64), Tensor::scalar(-4.0f64), Tensor::scalar(-0.3f64));
    check(Tensor::scalar(3i64), Tensor::scalar(300i64), Tensor::scalar(7i64));
    check(Tensor::scalar(3i32), Tensor::scalar(30i32), Tensor::scalar(4i32));
}
