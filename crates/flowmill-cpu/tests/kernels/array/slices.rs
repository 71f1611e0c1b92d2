use super::*;

#[test]
fn slice_takes_begin_and_size() {
    let slice = |begin: &[i32], size: &[i32]| call("Slice", DType::I32).inputs(vec![iota([3, 4]), v(begin), v(size)]).run1();
    assert_eq!(slice(&[1, 1], &[2, 2]).unwrap(), t([2, 2], &[5, 6, 9, 10]));
    assert_eq!(slice(&[1, 0], &[-1, -1]).unwrap(), t([2, 4], &[4, 5, 6, 7, 8, 9, 10, 11]));
    assert_eq!(slice(&[3, 0], &[0, 4]).unwrap(), t::<i32, 2>([0, 4], &[]));
    assert_eq!(slice(&[0, 0], &[-1, 4]).unwrap(), iota([3, 4]));
    invalid(slice(&[4, 0], &[0, 0]), "Expected begin[0] in [0, 3], but got 4");
    invalid(slice(&[1, 0], &[3, 0]), "Expected size[0] in [0, 2], but got 3");
    invalid(slice(&[1], &[1]), "Expected begin and size arguments to be 1-D tensors of size 2, but got shapes [1] and [1] instead.");
}

struct Spec<'a> {
    begin: &'a [i32],
    end: &'a [i32],
    strides: &'a [i32],
    /// begin, end, ellipsis, new axis, shrink axis
    masks: [i64; 5],
}

impl Spec<'_> {
    fn call(&self, op: &str, first: Vec<Tensor>, last: Option<Tensor>) -> Call {
        let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
        let call = names.iter().zip(self.masks).fold(call(op, DType::I32), |call, (name, mask)| call.attr(name, mask));
        call.inputs(first).inputs(vec![v(self.begin), v(self.end), v(self.strides)]).inputs(last.into_iter().collect())
    }
}

fn strided(x: Tensor, begin: &[i32], end: &[i32], strides: &[i32], masks: [i64; 5]) -> Result<Tensor> {
    Spec { begin, end, strides, masks }.call("StridedSlice", vec![x], None).run1()
}

#[test]
fn strided_slices_with_every_mask() {
    let x = || iota([3, 4]);
    let none = [0; 5];
    assert_eq!(strided(x(), &[0, 0], &[3, 4], &[2, 3], none).unwrap(), t([2, 2], &[0, 3, 8, 11]));
    assert_eq!(strided(x(), &[2, -1], &[0, -5], &[-1, -2], none).unwrap(), t([2, 2], &[11, 9, 7, 5]));
    // x[::-1, 1:]
    assert_eq!(strided(x(), &[0, 1], &[0, 0], &[-1, 1], [1, 3, 0, 0, 0]).unwrap(), t([3, 3], &[9, 10, 11, 5, 6, 7, 1, 2, 3]));
    // x[..., 1]
    assert_eq!(strided(x(), &[0, 1], &[0, 2], &[1, 1], [0, 0, 1, 0, 2]).unwrap(), v(&[1, 5, 9]));
    // x[newaxis, 1, ..., newaxis]
    assert_eq!(strided(x(), &[0, 1, 0, 0], &[0, 2, 0, 0], &[1; 4], [0, 0, 4, 9, 2]).unwrap(), t([1, 4, 1], &[4, 5, 6, 7]));
    // x[1][2]
    assert_eq!(strided(x(), &[1, -2], &[2, -1], &[1, 1], [0, 0, 0, 0, 3]).unwrap(), s(6));
    // This ellipsis covers no dimension.
    assert_eq!(strided(x(), &[1, 0, 2], &[2, 0, 3], &[1; 3], [0, 0, 2, 0, 5]).unwrap(), s(6));
    // Ends past the edge are clamped to it, and an empty range has no elements.
    assert_eq!(strided(x(), &[-9, 2], &[9, 1], &[1, 1], none).unwrap(), t::<i32, 2>([3, 0], &[]));
    // An index is not affected by `begin_mask`.
    assert_eq!(strided(v(&[1, 2, 3]), &[-1], &[2], &[1], [1, 0, 0, 0, 1]).unwrap(), s(3));
    assert_eq!(strided(s(4), &[], &[], &[], none).unwrap(), s(4));
    assert_eq!(strided(s(4), &[0], &[0], &[1], [0, 0, 0, 1, 0]).unwrap(), v(&[4]));
}

#[test]
fn bad_strided_slices_are_refused() {
    let x = || iota([3, 4]);
    invalid(strided(x(), &[3], &[4], &[1], [0, 0, 0, 0, 1]), "slice index 3 of dimension 0 out of bounds.");
    invalid(strided(x(), &[0], &[1], &[0], [0; 5]), "strides[0] must be non-zero");
    invalid(strided(x(), &[0], &[1], &[-1], [0, 0, 0, 0, 1]), "only stride 1 allowed on non-range indexing.");
    invalid(strided(x(), &[0; 3], &[1; 3], &[1; 3], [0; 5]), "Index out of range using input dim 2; input has only 2 dims");
    invalid(
        strided(x(), &[0], &[1, 2], &[1], [0; 5]),
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2], and [1] instead.",
    );
    invalid(strided(x(), &[0, 0], &[1, 2], &[1, 1], [0, 0, 3, 0, 0]), "Multiple ellipses in slice spec not allowed");
    assert_eq!(strided(x(), &[i32::MIN], &[i32::MAX], &[i32::MAX], [0; 5]).unwrap().shape().to_vec(), [1, 4]);
}

#[test]
fn the_gradient_puts_dy_where_the_slice_was() {
    let spec = Spec { begin: &[2, 0], end: &[0, 3], strides: &[-1, 2], masks: [0; 5] };
    let grad = |dy: Tensor| spec.call("StridedSliceGrad", vec![v(&[3, 3])], Some(dy)).run1();
    assert_eq!(grad(t([2, 2], &[1, 2, 3, 4])).unwrap(), t([3, 3], &[0, 0, 0, 3, 0, 4, 1, 0, 2]));
    invalid(grad(v(&[1])), "shape of dy was [1] instead of [2,2]");
}

#[test]
fn slices_are_assigned_with_broadcasting() {
    let spec = Spec { begin: &[0], end: &[2], strides: &[1], masks: [0; 5] };
    let update = |value: Tensor| spec.call("TensorStridedSliceUpdate", vec![v(&[1, 2, 3])], Some(value)).run1();
    assert_eq!(update(v(&[8, 9])).unwrap(), v(&[8, 9, 3]));
    assert_eq!(update(s(5)).unwrap(), v(&[5, 5, 3]));
    assert_eq!(update(t([1, 1], &[5])).unwrap(), v(&[5, 5, 3]));
    invalid(update(v(&[1, 2, 3])), "Cannot broadcast input shape [3] into final shape [2]");
}

/// Returns element `i` of part `part` of a tensor of `outer` rows of `count` parts of `run` elements.
fn element_of_part(i: usize, part: usize, count: usize, run: usize) -> usize {
    (i / run * count + part) * run + i % run
}

#[test]
fn narrow_parts_have_the_elements_of_wide_ones() {
    for (outer, count, run) in [(1, 20, 3), (5, 40, 1), (300, 33, 2), (7, 16, 15), (7, 17, 16), (4, 3, 1), (0, 20, 1)] {
        let values: Vec<i32> = (0..(outer * count * run) as i32).collect();
        let bytes: Vec<flowmill_tensor::Bytes> = values.iter().map(|x| x.to_string().into()).collect();
        let unpack = |x: Tensor| call("Unpack", x.dtype()).attr("axis", 1i64).input(x).outputs(count).run().unwrap();
        let numbers = unpack(Tensor::from_slice([outer, count, run], &values).unwrap());
        let texts = unpack(Tensor::from_strings([outer, count, run], bytes).unwrap());
        let split = call("Split", DType::I32).input(Tensor::scalar(1i32));
        let split = split.input(Tensor::from_slice([outer, count * run], &values).unwrap()).outputs(count).run().unwrap();
        for part in 0..count {
            let want: Vec<i32> = (0..outer * run).map(|i| values[element_of_part(i, part, count, run)]).collect();
            let (unpacked, piece) = (numbers[part].as_ref().unwrap(), split[part].as_ref().unwrap());
            assert_eq!((unpacked.shape().dims(), unpacked.as_slice::<i32>().unwrap()), (&[outer, run][..], &want[..]));
            assert_eq!((piece.shape().dims(), piece.as_slice::<i32>().unwrap()), (&[outer, run][..], &want[..]));
            let texts = texts[part].as_ref().unwrap().as_strings().unwrap();
            assert!(texts.iter().zip(&want).all(|(text, want)| **text == *want.to_string().as_bytes()));
        }
    }
}

#[test]
fn a_tensor_without_elements_along_an_axis_has_no_parts() {
    for shape in [[0, 1], [0, 300]] {
        let parts = call("Unpack", DType::I32).attr("num", 0i64).input(Tensor::from_slice(shape, &[] as &[i32]).unwrap()).outputs(0).run();
        assert_eq!(parts.unwrap().len(), 0);
    }
}
