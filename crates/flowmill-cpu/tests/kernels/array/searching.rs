use super::*;
use flowmill_tensor::Bytes;

#[test]
fn where_lists_coordinates() {
    let find = |x: Tensor| call("Where", x.dtype()).input(x).run1();
    assert_eq!(find(t([2, 3], &[true, false, false, false, true, true])).unwrap(), t([3, 2], &[0i64, 0, 1, 1, 1, 2]));
    assert_eq!(find(t([3], &[f32::NAN, -0.0, 1.0])).unwrap(), t([2, 1], &[0i64, 2]));
    assert_eq!(find(t([2, 0], &[0i32; 0])).unwrap().shape().to_vec(), [0, 2]);
    assert_eq!(find(t([2, 1, 2], &[0u8, 1, 0, 1])).unwrap(), t([2, 3], &[0i64, 0, 1, 1, 0, 1]));
    invalid(find(Tensor::scalar(true)), "WhereOp : Unhandled input dimensions: 0");
}

#[test]
fn where_lists_coordinates_of_long_rows() {
    for (rows, columns) in [(1, 64), (3, 63), (5, 200), (200, 5), (7, 129)] {
        let chosen = |row: usize, column: usize| (row * 131 + column * 37) % 11 < 4 || row == 2;
        let flags: Vec<bool> = (0..rows * columns).map(|i| chosen(i / columns, i % columns)).collect();
        let expected: Vec<i64> =
            (0..rows * columns).filter(|&i| flags[i]).flat_map(|i| [(i / columns) as i64, (i % columns) as i64]).collect();
        let found = call("Where", DType::Bool).input(t([rows, columns], &flags)).run1().unwrap();
        assert_eq!(found, t([expected.len() / 2, 2], &expected));
        let flat: Vec<i64> = (0..rows * columns).filter(|&i| flags[i]).map(|i| i as i64).collect();
        let found = call("Where", DType::Bool).input(t([rows * columns], &flags)).run1().unwrap();
        assert_eq!(found, t([flat.len(), 1], &flat));
    }
}

fn unique(op: &str, inputs: Vec<Tensor>, outputs: usize) -> Result<Vec<Option<Tensor>>> {
    call(op, inputs[0].dtype()).inputs(inputs).outputs(outputs).run()
}

#[test]
fn unique_keeps_the_order_of_first_sight() {
    let nan = f32::NAN;
    let out = unique("Unique", vec![t([5], &[1.0, nan, nan, -0.0, 0.0])], 2).unwrap();
    assert_eq!(out, [Some(t([4], &[1.0, nan, nan, -0.0])), Some(v(&[0, 1, 2, 3, 3]))]);
    let strings = Tensor::from_strings([3], ["a", "b", "a"].map(|s| Bytes::from_static(s.as_bytes())).to_vec()).unwrap();
    let out = unique("UniqueWithCounts", vec![strings], 3).unwrap();
    assert_eq!(out[0].as_ref().unwrap().as_strings().unwrap(), ["a", "b"]);
    assert_eq!(out[1..], [Some(v(&[0, 1, 0])), Some(v(&[2, 1]))]);
    let matrix = || t([3, 3], &[1, 2, 1, 3, 4, 3, 1, 2, 1]);
    let rows = unique("UniqueWithCountsV2", vec![matrix(), v(&[0])], 3).unwrap();
    assert_eq!(rows, [Some(t([2, 3], &[1, 2, 1, 3, 4, 3])), Some(v(&[0, 1, 0])), Some(v(&[2, 1]))]);
    let columns = unique("UniqueV2", vec![matrix(), v(&[1])], 2).unwrap();
    assert_eq!(columns, [Some(t([3, 2], &[1, 2, 3, 4, 1, 2])), Some(v(&[0, 1, 0]))]);
    let middle = unique("UniqueV2", vec![t([1, 3, 2], &[1, 2, 1, 2, 3, 4]), v(&[1])], 2).unwrap();
    assert_eq!(middle, [Some(t([1, 2, 2], &[1, 2, 3, 4])), Some(v(&[0, 0, 1]))]);
    assert_eq!(unique("UniqueV2", vec![v(&[1, 2, 1]), v(&[])], 2).unwrap()[0], Some(v(&[1, 2])));
    invalid(unique("Unique", vec![t([1, 1], &[1])], 2), "unique expects a 1D vector.");
    invalid(unique("UniqueV2", vec![v(&[1]), v(&[2])], 2), "axis has to be between [0, 1)");
    invalid(unique("UniqueV2", vec![v(&[1]), v(&[0, 1])], 2), "axis does not support input tensors larger than 1 elements");
}

#[test]
fn unique_finds_equals_among_many() {
    let values: Vec<i32> = (0..5000).map(|i| (i * 7919 % 1009) << 12).collect();
    let (mut distinct, mut counts) = (Vec::new(), Vec::new());
    let places: Vec<i32> = values
        .iter()
        .map(|value| {
            let place = distinct.iter().position(|other| other == value).unwrap_or(distinct.len());
            if place == distinct.len() {
                distinct.push(*value);
                counts.push(0);
            }
            counts[place] += 1;
            place as i32
        })
        .collect();
    let out = unique("UniqueWithCounts", vec![v(&values)], 3).unwrap();
    assert_eq!(out, [Some(v(&distinct)), Some(v(&places)), Some(v(&counts))]);
    let (kept, places): (Vec<i32>, Vec<i32>) = (0..5000).filter(|&i| values[i as usize] % 3 != 0).map(|i| (values[i as usize], i)).unzip();
    let others: Vec<i32> = distinct.into_iter().filter(|value| value % 3 == 0).collect();
    let out = unique("ListDiff", vec![v(&values), v(&others)], 2).unwrap();
    assert_eq!(out, [Some(v(&kept)), Some(v(&places))]);
}

#[test]
fn list_diff_keeps_what_is_only_in_x() {
    let nan = f32::NAN;
    let out = unique("ListDiff", vec![t([4], &[1.0, 2.0, nan, 1.0]), t([2], &[nan, 2.0])], 2).unwrap();
    assert_eq!(out, [Some(t([3], &[1.0, nan, 1.0])), Some(v(&[0, 2, 3]))]);
    invalid(unique("ListDiff", vec![t([1, 1], &[1]), v(&[1])], 2), "x should be a 1D vector.");
}

#[test]
fn bounds_in_sorted_rows() {
    let bound = |op: &str, sorted: Tensor, values: Tensor| call(op, sorted.dtype()).inputs(vec![sorted, values]).run1();
    let sorted = || t([2, 4], &[1, 2, 2, 3, 4, 5, 6, 7]);
    let values = || t([2, 2], &[2, 0, 9, 5]);
    assert_eq!(bound("LowerBound", sorted(), values()).unwrap(), t([2, 2], &[1, 0, 4, 1]));
    assert_eq!(bound("UpperBound", sorted(), values()).unwrap(), t([2, 2], &[3, 0, 4, 2]));
    let nan = f32::NAN;
    let (sorted, values) = (t([1, 3], &[1.0, 2.0, nan]), t([1, 2], &[nan, 2.5]));
    assert_eq!(bound("LowerBound", sorted.clone(), values.clone()).unwrap(), t([1, 2], &[0, 2]));
    assert_eq!(bound("UpperBound", sorted, values).unwrap(), t([1, 2], &[3, 3]));
    invalid(bound("LowerBound", t([1, 1], &[1]), t([2, 1], &[1, 2])), "Leading dim_size of both tensors must match.");
    invalid(bound("LowerBound", v(&[1]), v(&[1])), "Shape must be rank 2 but is rank 1 for `sorted_inputs` argument");
}

#[test]
fn flat_indices_are_unravelled() {
    let unravel =
        |indices: Tensor, dims: &[i32]| Call::new("UnravelIndex").attr("Tidx", ty(DType::I32)).inputs(vec![indices, v(dims)]).run1();
    assert_eq!(unravel(v(&[22, 41]), &[7, 6]).unwrap(), t([2, 2], &[3, 6, 4, 5]));
    assert_eq!(unravel(s(22), &[7, 6]).unwrap(), v(&[3, 4]));
    invalid(unravel(v(&[22, 42]), &[7, 6]), "index is out of bound as with dims");
    invalid(unravel(v(&[1]), &[7, 0]), "Input dims cannot contain a dim of zero, but dims contains zero at index 1");
    invalid(unravel(v(&[1]), &[7, -1]), "Input dims cannot be negative. Got dim = -1 at index 1");
    invalid(unravel(v(&[9]), &[100_000, 100_000]), "Input dims product is causing integer overflow: (100000 100000)");
    invalid(unravel(t([1, 1], &[1]), &[7]), "The indices can only be scalar or vector, got \"[1,1]\"");
}
