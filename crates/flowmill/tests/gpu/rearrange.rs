//! Ops that move elements give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

/// A type for each size of elements, and `int32`, which is in the host's memory for some ops.
const TYPES: [DType; 6] = [DType::F32, DType::U8, DType::BF16, DType::F64, DType::I32, DType::C64];

#[test]
pub(crate) fn transposes_move_every_element() {
    on_stub(|| {
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
    });
}

#[test]
pub(crate) fn slices_and_their_gradients() {
    on_stub(|| {
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
    });
}

#[test]
pub(crate) fn parts_are_joined_and_split() {
    on_stub(|| {
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
    });
}

#[test]
pub(crate) fn elements_are_repeated_and_reversed() {
    on_stub(|| {
        let mut random = Random::new(5);
        for dtype in TYPES {
            Case::new("Tile").input(random.tensor(dtype, &[3, 4])).input(ints(&[2, 3])).check();
            Case::new("Tile").input(random.tensor(dtype, &[2, 1, 5])).input(ints(&[1, 7, 1])).check();
            Case::new("BroadcastTo").input(random.tensor(dtype, &[3, 1])).input(ints(&[2, 3, 4])).check();
            Case::new("ReverseV2").input(random.tensor(dtype, &[4, 5, 6])).input(ints(&[0, -1])).check();
            Case::new("Reverse").input(random.tensor(dtype, &[4, 6])).input(Tensor::vector(&[false, true]).unwrap()).check();
        }
    });
}

#[test]
pub(crate) fn tensors_are_padded_and_filled() {
    on_stub(|| {
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
        for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
            for mode in ["REFLECT", "SYMMETRIC"] {
                for borders in [[1, 2, 0, 0, 0, 1], [2, 0, 0, 2, 1, 1], [0; 6]] {
                    let borders = Tensor::from_slice([3, 2], &borders).unwrap();
                    let case = Case::new("MirrorPadGrad").input(random.tensor(dtype, &[6, 5, 7])).input(borders);
                    case.attr("mode", mode).within(4.0).check();
                }
            }
        }
        for dtype in [DType::F32, DType::F16, DType::BF16, DType::I64, DType::U8] {
            Case::new("OnesLike").input(random.tensor(dtype, &[3, 5])).check();
        }
    });
}

#[test]
pub(crate) fn progressions_have_the_same_numbers() {
    on_stub(|| {
        let check = |start: Tensor, limit: Tensor, delta: Tensor| {
            Case::new("Range").input(start).input(limit).input(delta).within(1.0).check();
        };
        check(Tensor::scalar(0.5f32), Tensor::scalar(9.0f32), Tensor::scalar(0.7f32));
        check(Tensor::scalar(3.0f64), Tensor::scalar(-4.0f64), Tensor::scalar(-0.3f64));
        check(Tensor::scalar(3i64), Tensor::scalar(300i64), Tensor::scalar(7i64));
        check(Tensor::scalar(3i32), Tensor::scalar(30i32), Tensor::scalar(4i32));
    });
}

#[test]
pub(crate) fn blocks_of_space_are_moved() {
    on_stub(|| {
        let mut random = Random::new(7);
        for dtype in TYPES {
            let margins = |values: &[i32]| Tensor::from_slice([values.len() / 2, 2], values).unwrap();
            let x = random.tensor(dtype, &[2, 5, 7, 3]);
            Case::new("SpaceToBatchND").input(x.clone()).input(ints(&[2, 3])).input(margins(&[1, 0, 2, 0])).check();
            Case::new("SpaceToBatchND").input(x.clone()).input(ints(&[5])).input(margins(&[0, 0])).check();
            Case::new("SpaceToBatch")
                .input(random.tensor(dtype, &[1, 4, 6, 2]))
                .input(margins(&[0, 0, 0, 0]))
                .attr("block_size", 2)
                .check();
            let case = Case::new("BatchToSpace").input(random.tensor(dtype, &[4, 2, 3, 2])).input(margins(&[1, 0, 0, 1]));
            case.attr("block_size", 2).check();
            let y = random.tensor(dtype, &[12, 3, 4, 2]);
            Case::new("BatchToSpaceND").input(y.clone()).input(ints(&[2, 3])).input(margins(&[1, 0, 2, 1])).check();
            Case::new("BatchToSpaceND").input(y).input(ints(&[3, 2])).input(margins(&[0, 0, 0, 0])).check();
            for format in ["NHWC", "NCHW"] {
                let dims: [usize; 4] = if format == "NHWC" { [2, 4, 6, 8] } else { [2, 8, 4, 6] };
                for op in ["SpaceToDepth", "DepthToSpace"] {
                    Case::new(op).input(random.tensor(dtype, &dims)).attr("block_size", 2).attr("data_format", format).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn diagonals_are_moved() {
    on_stub(|| {
        let mut random = Random::new(8);
        for dtype in TYPES {
            if dtype != DType::U8 {
                Case::new("Diag").input(random.tensor(dtype, &[2, 3])).check();
                Case::new("DiagPart").input(random.tensor(dtype, &[2, 3, 2, 3])).check();
            }
            for [diag, part, band] in
                [["MatrixDiag", "MatrixDiagPart", "MatrixBandPart"], ["BatchMatrixDiag", "BatchMatrixDiagPart", "BatchMatrixBandPart"]]
            {
                Case::new(diag).input(random.tensor(dtype, &[3, 4])).check();
                Case::new(part).input(random.tensor(dtype, &[2, 4, 3])).check();
                let bounds = [Tensor::scalar(1i64), Tensor::scalar(0i64)];
                Case::new(band).input(random.tensor(dtype, &[4, 3])).input(bounds[0].clone()).input(bounds[1].clone()).check();
            }
            let x = random.tensor(dtype, &[2, 4, 5]);
            for op in ["MatrixSetDiag", "BatchMatrixSetDiag"] {
                Case::new(op).input(x.clone()).input(random.tensor(dtype, &[2, 4])).check();
            }
            for (lower, upper) in [(0i64, 0i64), (-1, 2), (1, -1), (-1, -1)] {
                Case::new("MatrixBandPart").input(x.clone()).input(Tensor::scalar(lower)).input(Tensor::scalar(upper)).check();
            }
            let padding = random.tensor(dtype, &[]);
            let k = ints(&[-2, 1]);
            Case::new("MatrixDiagPartV2").input(x.clone()).input(k.clone()).input(padding.clone()).check();
            Case::new("MatrixSetDiagV2").input(x.clone()).input(random.tensor(dtype, &[2, 4, 4])).input(k).check();
            let case = Case::new("MatrixDiagV2").input(random.tensor(dtype, &[3])).input(Tensor::scalar(1i32));
            case.input(Tensor::scalar(-1i32)).input(Tensor::scalar(-1i32)).input(padding.clone()).check();
            for align in ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"] {
                let k = ints(&[-1, 2]);
                Case::new("MatrixDiagPartV3").input(x.clone()).input(k.clone()).input(padding.clone()).attr("align", align).check();
                Case::new("MatrixSetDiagV3").input(x.clone()).input(random.tensor(dtype, &[2, 4, 4])).input(k).attr("align", align).check();
                let case = Case::new("MatrixDiagV3").input(random.tensor(dtype, &[2, 2, 3])).input(ints(&[0, 1]));
                case.input(Tensor::scalar(-1i32)).input(Tensor::scalar(4i32)).input(padding.clone()).attr("align", align).check();
            }
            Case::new("MatrixBandPart")
                .input(random.tensor(dtype, &[0, 3]))
                .input(Tensor::scalar(-1i64))
                .input(Tensor::scalar(1i64))
                .check();
        }
    });
}

#[test]
pub(crate) fn sequences_are_reversed_and_rolled() {
    on_stub(|| {
        let mut random = Random::new(9);
        for dtype in TYPES {
            let x = random.tensor(dtype, &[4, 6, 3]);
            let reversed = |lengths: Tensor| Case::new("ReverseSequence").input(x.clone()).input(lengths).attr("seq_dim", 1);
            reversed(ints(&[0, 6, 3, 1])).check();
            reversed(Tensor::vector(&[2i64, 5, 1, 6]).unwrap()).check();
            let case = Case::new("ReverseSequence").input(x.clone()).input(ints(&[4, 0, 2, 3, 1, 4])).attr("seq_dim", 0);
            case.attr("batch_dim", 1).check();
            Case::new("Roll").input(x.clone()).input(Tensor::scalar(-2i32)).input(Tensor::scalar(1i32)).check();
            Case::new("Roll").input(x.clone()).input(ints(&[1, 5, -1])).input(ints(&[0, 1, 2])).check();
            Case::new("Roll").input(x.clone()).input(ints(&[6])).input(ints(&[1])).check();
        }
    });
}
