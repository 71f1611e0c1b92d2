use super::*;
use flowmill_tensor::{Bytes, Shape};

fn concat(values: &[Tensor], axis: i32) -> Result<Tensor> {
    call("ConcatV2", values[0].dtype()).inputs(values.to_vec()).input(s(axis)).run1()
}

#[test]
fn concat_joins_along_any_axis() {
    let (a, b) = (iota([2, 2]), iota([2, 1]));
    assert_eq!(concat(&[a.clone(), b.clone()], 1).unwrap(), t([2, 3], &[0, 1, 0, 2, 3, 1]));
    assert_eq!(concat(&[a.clone(), b.clone()], -1).unwrap(), t([2, 3], &[0, 1, 0, 2, 3, 1]));
    assert_eq!(concat(&[a.clone(), iota([0, 2]), a.clone()], 0).unwrap(), t([4, 2], &[0, 1, 2, 3, 0, 1, 2, 3]));
    let strings = Tensor::from_strings([1], vec![Bytes::from_static(b"x")]).unwrap();
    assert_eq!(concat(&[strings.clone(), strings], 0).unwrap().as_strings().unwrap(), ["x", "x"]);
    let v1 = call("Concat", DType::I32).inputs(vec![s(0), v(&[1]), v(&[2, 3])]).run1().unwrap();
    assert_eq!(v1, v(&[1, 2, 3]));
    invalid(
        concat(&[a.clone(), b.clone()], 0),
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,2] vs. shape[1] = [2,1]",
    );
    invalid(concat(&[a.clone(), v(&[1])], 0), "ConcatOp : Ranks of all input tensors should match: shape[0] = [2,2] vs. shape[1] = [1]");
    invalid(concat(&[a, b], 2), "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 2");
    invalid(concat(&[s(1), s(2)], 0), "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
}

#[test]
fn a_big_concatenation_equals_its_pieces() {
    let (a, b) = (iota([300, 200]), iota([300, 100]));
    let joined = concat(&[a.clone(), b.clone()], 1).unwrap();
    let parts = call("SplitV", DType::I32).inputs(vec![joined, t([2], &[200i64, -1]), s(1)]).outputs(2).run().unwrap();
    assert_eq!(parts, [Some(a), Some(b)]);
}

#[test]
fn concat_offset_counts_along_the_axis() {
    let inputs = vec![s(1), v(&[2, 2, 5]), v(&[2, 3, 5]), v(&[2, 4, 5])];
    let out = Call::new("ConcatOffset").inputs(inputs).outputs(3).run().unwrap();
    assert_eq!(out, [Some(v(&[0, 0, 0])), Some(v(&[0, 2, 0])), Some(v(&[0, 5, 0]))]);
    let bad = Call::new("ConcatOffset").inputs(vec![s(1), v(&[2, 2]), v(&[3, 2])]).outputs(2).run();
    invalid(bad, "All dimensions except 1 must match");
    invalid(Call::new("ConcatOffset").inputs(vec![s(2), v(&[2, 2])]).outputs(1).run(), "Concat dim is out of range: 2 vs. 2");
}

#[test]
fn pack_and_unpack_are_inverse() {
    let (a, b) = (iota([3]), v(&[7, 8, 9]));
    let pack = |axis: i64| call("Pack", DType::I32).attr("axis", axis).inputs(vec![a.clone(), b.clone()]).run1();
    assert_eq!(pack(0).unwrap(), t([2, 3], &[0, 1, 2, 7, 8, 9]));
    assert_eq!(pack(-1).unwrap(), t([3, 2], &[0, 7, 1, 8, 2, 9]));
    invalid(pack(2), "axis = 2 not in [-2, 2)");
    invalid(
        call("Pack", DType::I32).inputs(vec![v(&[1]), v(&[1, 2])]).run1(),
        "Shapes of all inputs must match: values[0].shape = [1] != values[1].shape = [2]",
    );
    let unpack = |axis: i64, n: usize| call("Unpack", DType::I32).attr("axis", axis).input(pack(axis)?).outputs(n).run();
    for axis in [0, 1, -1, -2] {
        assert_eq!(unpack(axis, 2).unwrap(), [Some(a.clone()), Some(b.clone())]);
    }
    invalid(unpack(0, 3), "Input shape axis 0 must equal 3, got shape [2,3]");
}

#[test]
fn split_cuts_evenly_or_as_told() {
    let split = |axis: i32, n: usize| call("Split", DType::I32).inputs(vec![s(axis), iota([2, 4])]).outputs(n).run();
    assert_eq!(split(1, 2).unwrap(), [Some(t([2, 2], &[0, 1, 4, 5])), Some(t([2, 2], &[2, 3, 6, 7]))]);
    assert_eq!(split(-2, 2).unwrap(), [Some(t([1, 4], &[0, 1, 2, 3])), Some(t([1, 4], &[4, 5, 6, 7]))]);
    invalid(
        split(1, 3),
        "Number of ways to split should evenly divide the split dimension, but got split_dim 1 (size = 4) and num_split 3",
    );
    invalid(split(2, 2), "-input rank(-2) <= split_dim < input rank (2), but got 2");
    let split_v = |sizes: &[i64]| {
        let n = sizes.len();
        call("SplitV", DType::I32).inputs(vec![iota([5]), t([n], sizes), s(0)]).outputs(n).run()
    };
    assert_eq!(split_v(&[1, -1, 2]).unwrap(), [Some(v(&[0])), Some(v(&[1, 2])), Some(v(&[3, 4]))]);
    assert_eq!(split_v(&[0, 5]).unwrap(), [Some(v(&[])), Some(v(&[0, 1, 2, 3, 4]))]);
    invalid(split_v(&[1, 2]), "Determined shape must either match input shape along split_dim exactly if fully specified");
    invalid(split_v(&[-1, -1]), "There can only be one -1 in the input.");
    invalid(split_v(&[7, -2]), "Split size at index 1 must be >= 0. Got: -2");
}

#[test]
fn rows_of_a_large_tensor_share_its_memory() {
    let x = iota([4, 1000]);
    let rows = call("Unpack", DType::I32).input(x.clone()).outputs(4).run().unwrap();
    let third = rows[2].as_ref().unwrap();
    assert_eq!(third.as_slice::<i32>().unwrap().as_ptr(), x.as_slice::<i32>().unwrap()[2000..].as_ptr());
    assert_eq!(third.shape(), &Shape::from([1000]));
}

#[test]
fn transposes_of_every_rank_and_type() {
    let transpose = |x: Tensor, perm: &[i32]| call("Transpose", x.dtype()).inputs(vec![x, v(perm)]).run1();
    assert_eq!(transpose(iota([2, 3]), &[1, 0]).unwrap(), t([3, 2], &[0, 3, 1, 4, 2, 5]));
    assert_eq!(transpose(iota([2, 1, 2]), &[2, 1, 0]).unwrap(), t([2, 1, 2], &[0, 2, 1, 3]));
    assert_eq!(transpose(iota([1, 3, 1]), &[2, 1, 0]).unwrap(), iota([1, 3, 1]));
    assert_eq!(transpose(s(5), &[]).unwrap(), s(5));
    assert_eq!(transpose(t([2, 2], &[true, false, false, false]), &[-1, 0]).unwrap(), t([2, 2], &[true, false, false, false]));
    let big = iota([300, 500]);
    let back = transpose(transpose(big.clone(), &[1, 0]).unwrap(), &[1, 0]).unwrap();
    assert_eq!(back, big);
    invalid(transpose(iota([2, 3]), &[0]), "transpose expects a vector of size 2. But input(1) is a vector of size 1");
    invalid(transpose(iota([2, 3]), &[0, 0]), "1 is missing from {0,0}.");
    invalid(transpose(iota([2, 3]), &[0, 2]), "2 is out of range [0 .. 2)");
    let z = |re, im| flowmill_tensor::Complex::<f32>::new(re, im);
    let x = t([1, 2], &[z(1.0, 2.0), z(3.0, -4.0)]);
    let conjugate = call("ConjugateTranspose", DType::C64).inputs(vec![x, v(&[1, 0])]).run1().unwrap();
    assert_eq!(conjugate, t([2, 1], &[z(1.0, -2.0), z(3.0, 4.0)]));
}

#[test]
fn a_permutation_is_inverted() {
    let invert = |p: &[i32]| call("InvertPermutation", DType::I32).input(v(p)).run1();
    assert_eq!(invert(&[3, 4, 0, 2, 1]).unwrap(), v(&[2, 4, 3, 0, 1]));
    invalid(invert(&[0, 2]), "2 is not between 0 and 2");
    invalid(invert(&[1, 1]), "1 is duplicated in the input.");
}

#[test]
fn rows_of_any_length_are_joined_and_split() {
    for len in (1..70).chain([127, 128, 129]) {
        let (a, b) = (iota([3, len]), iota([3, 5]));
        let joined = concat(&[a.clone(), b.clone()], 1).unwrap();
        let row = |i: usize| (0..len).map(move |j| i * len + j).chain((0..5).map(move |j| i * 5 + j)).map(|x| x as i32);
        assert_eq!(joined.as_slice::<i32>().unwrap(), (0..3).flat_map(row).collect::<Vec<i32>>(), "{len}");
        let parts = call("SplitV", DType::I32).inputs(vec![joined, t([2], &[len as i64, -1]), s(1)]).outputs(2).run().unwrap();
        assert_eq!(parts, [Some(a), Some(b)], "{len}");
    }
    let strings = Tensor::from_strings([2, 20], (0..40_u8).map(|i| Bytes::copy_from_slice(&[i])).collect()).unwrap();
    let joined = concat(&[strings.clone(), strings], 1).unwrap();
    let expected: Vec<Vec<u8>> = (0..2).flat_map(|row| (0..2).flat_map(move |_| (0..20).map(move |i| vec![row * 20 + i]))).collect();
    assert_eq!(joined.as_strings().unwrap().iter().map(|s| s.to_vec()).collect::<Vec<_>>(), expected);
}
