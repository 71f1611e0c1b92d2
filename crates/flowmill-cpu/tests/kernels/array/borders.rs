use super::*;
use crate::testing::run1;
use flowmill_tensor::{Bytes, Shape};

#[test]
fn pad_adds_zeros_or_a_constant() {
    let pad =
        |x: Tensor, n: usize, paddings: &[i32]| call("Pad", x.dtype()).inputs(vec![x, t([n, paddings.len() / n.max(1)], paddings)]).run1();
    assert_eq!(pad(iota([1, 2]), 2, &[1, 0, 0, 1]).unwrap(), t([2, 3], &[0, 0, 0, 0, 1, 0]));
    assert_eq!(pad(v(&[7]), 1, &[0, 0]).unwrap(), v(&[7]));
    invalid(pad(v(&[1]), 1, &[-1, 0]), "Paddings must be non-negative: -1 0");
    invalid(pad(v(&[1]), 2, &[1, 0, 0, 0]), "The first dimension of paddings must be the rank of inputs[2,2] [1]");
    invalid(pad(v(&[1]), 1, &[1]), "paddings must be a matrix with 2 columns: [1,1]");
    invalid(call("Pad", DType::I32).inputs(vec![v(&[1]), t([1, 2], &[i64::MAX, i64::MAX])]).run1(), "too many elements");
    let pad_v2 = |x: Tensor, constant: Tensor| call("PadV2", x.dtype()).inputs(vec![x, t([1, 2], &[1, 0]), constant]).run1();
    let a = Tensor::from_strings([1], vec![Bytes::from_static(b"a")]).unwrap();
    assert_eq!(pad_v2(a, Tensor::string("x")).unwrap().as_strings().unwrap(), ["x", "a"]);
    invalid(pad_v2(v(&[1]), v(&[1])), "constant_values must be a scalar. Found: [1]");
}

#[test]
fn padding_of_any_axes_equals_the_element_by_element_one() {
    let cases: [(&[usize], &[(usize, usize)]); 13] = [
        (&[], &[]),
        (&[0], &[(2, 1)]),
        (&[3, 0, 2], &[(0, 0), (1, 1), (0, 0)]),
        (&[2, 0], &[(1, 0), (0, 0)]),
        (&[0, 5, 8], &[(0, 0), (2_000_000_000, 0), (0, 0)]),
        (&[1, 5, 4, 3], &[(0, 0), (1, 2), (2, 0), (0, 0)]),
        (&[1, 1, 6], &[(0, 0), (0, 0), (1, 1)]),
        (&[2, 3, 4, 5], &[(1, 0), (0, 1), (2, 2), (3, 1)]),
        (&[2, 3, 2, 24], &[(0, 0), (0, 0), (0, 0), (0, 4)]),
        (&[1, 3, 1, 2], &[(2, 0), (0, 0), (1, 1), (0, 0)]),
        // Many elements, which are padded on several threads.
        (&[2, 60, 60, 28], &[(0, 0), (0, 0), (0, 0), (3, 5)]),
        (&[1, 300, 70, 9], &[(0, 0), (2, 3), (1, 1), (0, 0)]),
        (&[1, 90_000], &[(0, 0), (7, 9)]),
    ];
    for (dims, paddings) in cases {
        let x = Tensor::from_slice(Shape::new(dims), &(0..dims.iter().product::<usize>() as i32).collect::<Vec<_>>()).unwrap();
        let flat: Vec<i32> = paddings.iter().flat_map(|&(before, after)| [before as i32, after as i32]).collect();
        let padded: Vec<usize> = dims.iter().zip(paddings).map(|(size, (before, after))| size + before + after).collect();
        let mut want = vec![-1; padded.iter().product()];
        for (i, &value) in x.as_slice::<i32>().unwrap().iter().enumerate() {
            let (mut rest, mut at, mut step) = (i, 0, 1);
            for ((&size, &(before, _)), &total) in dims.iter().zip(paddings).zip(&padded).rev() {
                at += (rest % size + before) * step;
                (rest, step) = (rest / size, step * total);
            }
            want[at] = value;
        }
        let flat = Tensor::from_slice(Shape::new(&[dims.len(), 2]), &flat).unwrap();
        let got = call("PadV2", DType::I32).inputs(vec![x, flat, s(-1)]).run1().unwrap();
        assert_eq!((&got.shape()[..], got.as_slice::<i32>().unwrap()), (&padded[..], &want[..]), "{dims:?} {paddings:?}");
    }
}

fn mirror(op: &str, x: Tensor, paddings: &[i32], mode: &str) -> Result<Tensor> {
    let rank = x.rank();
    call(op, x.dtype()).attr("mode", mode).inputs(vec![x, t([rank, 2], paddings)]).run1()
}

#[test]
fn mirrored_borders_and_their_gradients() {
    let x = || v(&[1, 2, 3]);
    assert_eq!(mirror("MirrorPad", x(), &[2, 2], "REFLECT").unwrap(), v(&[3, 2, 1, 2, 3, 2, 1]));
    assert_eq!(mirror("MirrorPad", x(), &[2, 3], "SYMMETRIC").unwrap(), v(&[2, 1, 1, 2, 3, 3, 2, 1]));
    assert_eq!(mirror("MirrorPad", iota([2, 2]), &[1, 0, 0, 1], "REFLECT").unwrap(), t([3, 3], &[2, 3, 2, 0, 1, 0, 2, 3, 2]));
    invalid(mirror("MirrorPad", x(), &[3, 0], "REFLECT"), "paddings must be less than the dimension size: 3, 0 not less than 3");
    invalid(mirror("MirrorPad", x(), &[4, 0], "SYMMETRIC"), "paddings must be no greater than the dimension size: 4, 0 greater than 3");
    let dy = || t([7], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(mirror("MirrorPadGrad", dy(), &[2, 2], "REFLECT").unwrap(), t([3], &[10.0f32, 12.0, 6.0]));
    assert_eq!(mirror("MirrorPadGrad", dy(), &[2, 2], "SYMMETRIC").unwrap(), t([3], &[5.0f32, 12.0, 11.0]));
    assert_eq!(mirror("MirrorPadGrad", iota([3, 3]), &[1, 0, 0, 1], "REFLECT").unwrap(), t([2, 2], &[8, 4, 16, 8]));
    invalid(
        mirror("MirrorPadGrad", dy(), &[5, 2], "SYMMETRIC"),
        "Total paddings must be less than the input dimension size: 7 was not less than 7",
    );
    invalid(
        mirror("MirrorPadGrad", t([5], &[0.0f32; 5]), &[2, 2], "REFLECT"),
        "paddings must be less than the output dimension size: 2, 2 not less than 1",
    );
}

#[test]
fn reversals() {
    let reverse = |axes: &[i32]| run1("ReverseV2", &[("T", ty(DType::I32))], vec![iota([2, 3]), v(axes)]);
    assert_eq!(reverse(&[0]).unwrap(), t([2, 3], &[3, 4, 5, 0, 1, 2]));
    assert_eq!(reverse(&[-1, 0]).unwrap(), t([2, 3], &[5, 4, 3, 2, 1, 0]));
    assert_eq!(reverse(&[]).unwrap(), iota([2, 3]));
    invalid(reverse(&[2]), "'axis'[0] = 2 is out of valid range [0, 1");
    invalid(reverse(&[0, -2]), "axis 0 specified more than once.");
    let v1 = |dims: &[bool]| run1("Reverse", &[("T", ty(DType::I32))], vec![iota([2, 2]), t([dims.len()], dims)]);
    assert_eq!(v1(&[false, true]).unwrap(), t([2, 2], &[1, 0, 3, 2]));
    invalid(v1(&[true]), "'dims' must have the same number of values as 'input' has dimensions. 'input' has 2'dims' has 1 values");
}

#[test]
fn sequences_are_reversed_up_to_their_lengths() {
    let reverse = |lengths: &[i64], seq_dim: i64| {
        call("ReverseSequence", DType::I32)
            .attr("seq_dim", seq_dim)
            .inputs(vec![t([2, 3], &[1, 2, 3, 4, 5, 6]), t([lengths.len()], lengths)])
            .run1()
    };
    assert_eq!(reverse(&[2, 3], 1).unwrap(), t([2, 3], &[2, 1, 3, 6, 5, 4]));
    invalid(reverse(&[2, 4], 1), "seq_lens(1) > input.dims(1)");
    invalid(reverse(&[2, -4], 1), "seq_lens(1) < 0");
    invalid(reverse(&[2], 1), "Length of seq_lengths != input.dims(0), (1 vs. 2)");
    invalid(reverse(&[2, 2], 0), "batch_dim == seq_dim == 0");
    invalid(reverse(&[2, 2], 2), "seq_dim must be < input rank ( 2 vs. 2)");
    let time_major = call("ReverseSequence", DType::I32)
        .attr("seq_dim", 0)
        .attr("batch_dim", 1)
        .inputs(vec![iota([2, 2, 2]), t([2], &[1i64, 2])])
        .run1();
    assert_eq!(time_major.unwrap(), t([2, 2, 2], &[0, 1, 6, 7, 4, 5, 2, 3]));
}

#[test]
fn roll_shifts_around_the_edge() {
    let roll = |x: Tensor, shift: Tensor, axis: Tensor| call("Roll", x.dtype()).inputs(vec![x, shift, axis]).run1();
    assert_eq!(roll(t([2, 3], &[1, 2, 3, 4, 5, 6]), v(&[1, -1]), v(&[0, 1])).unwrap(), t([2, 3], &[5, 6, 4, 2, 3, 1]));
    assert_eq!(roll(v(&[1, 2, 3]), v(&[1, 1]), v(&[0, 0])).unwrap(), v(&[2, 3, 1]));
    assert_eq!(roll(iota([3, 2]), s(-1), s(0)).unwrap(), t([3, 2], &[2, 3, 4, 5, 0, 1]));
    assert_eq!(roll(v(&[1, 2, 3]), s(i32::MIN), s(-1)).unwrap().num_elements(), 3);
    invalid(roll(v(&[1, 2, 3]), s(1), s(1)), "axis 1 is out of range");
    invalid(roll(s(1), s(1), s(0)), "input must be 1-D or higher");
    invalid(roll(v(&[1, 2]), v(&[1, 2]), v(&[0])), "shift and axis must have the same size");
}
