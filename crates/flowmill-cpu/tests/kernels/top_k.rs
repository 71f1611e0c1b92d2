use crate::testing::{Call, run, run1, ty};
use flowmill_tensor::{DType, Result, Tensor};

#[test]
fn the_first_of_equals_comes_first() {
    let top = |x: Tensor, k: i32| run("TopKV2", &[("T", ty(DType::F32))], vec![x, Tensor::scalar(k)]);
    let out = top(Tensor::from_slice([2, 4], &[1f32, 3.0, 3.0, 2.0, -1.0, -2.0, -3.0, -4.0]).unwrap(), 3).unwrap();
    assert_eq!(out[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [3.0, 3.0, 2.0, -1.0, -2.0, -3.0]);
    assert_eq!(out[1].as_ref().unwrap().as_slice::<i32>().unwrap(), [1, 2, 3, 0, 1, 2]);
    let vector = || Tensor::vector(&[1f32, 2.0]).unwrap();
    assert_eq!(top(vector(), 0).unwrap()[0].as_ref().unwrap().num_elements(), 0);
    for (x, k, message) in [
        (vector(), 5, "input must have at least k columns. Had 2, needed 5"),
        (vector(), -1, "Need k >= 0, got -1"),
        (Tensor::scalar(1f32), 1, "input must be >= 1-D, got shape []"),
    ] {
        let error = top(x, k).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

/// Rows that are much longer than the number of values sought are searched in another way. Numbers repeat, are in order, or are NaN, and every sixteenth, which
/// a sample consists of, is unlike the others.
#[test]
fn a_few_of_long_rows_are_those_of_a_sorted_row() {
    let mixed = |i: usize| match i % 97 {
        3 => f32::NAN,
        5 => -0.0,
        _ => (i * 7919 % 101) as f32 - if i.is_multiple_of(2) { 0.0 } else { i as f32 },
    };
    let misleading = |i: usize| if i.is_multiple_of(16) { 1000.0 + i as f32 } else { (i % 5) as f32 };
    let values: [&dyn Fn(usize) -> f32; 5] = [&mixed, &misleading, &|i| -misleading(i), &|i| i as f32, &|i| -(i as f32)];
    for (value, size) in values.iter().flat_map(|value| [33usize, 64, 1000, 1003, 5000].map(|size| (value, size))) {
        let row: Vec<f32> = (0..size).map(value).collect();
        let mut order: Vec<usize> = (0..size).collect();
        let key = |x: f32| if x.is_nan() { f32::INFINITY } else { x + 0.0 };
        order.sort_by(|&a, &b| key(row[b]).total_cmp(&key(row[a])));
        for k in [1, 2, 3, 8, 20, 31, 125].into_iter().filter(|&k| k < size) {
            let x = Tensor::from_slice([1, size], &row).unwrap();
            let out = run("TopKV2", &[("T", ty(DType::F32))], vec![x, Tensor::scalar(k as i32)]).unwrap();
            let found: Vec<usize> = out[1].as_ref().unwrap().as_slice::<i32>().unwrap().iter().map(|&i| i as usize).collect();
            assert_eq!(found, order[..k], "{k} of {size}");
        }
    }
}

#[test]
fn targets_among_the_greatest() {
    let x = Tensor::from_slice([4, 3], &[1f32, 2.0, 3.0, 3.0, 3.0, 1.0, f32::NAN, 1.0, 2.0, 1.0, 2.0, 3.0]).unwrap();
    let found = Call::new("InTopKV2")
        .attr("T", ty(DType::I32))
        .inputs(vec![x, Tensor::vector(&[1, 1, 1, 7]).unwrap(), Tensor::scalar(1)])
        .run1()
        .unwrap();
    assert_eq!(found.as_slice::<bool>().unwrap(), [false, true, false, false]);
}

#[test]
fn nth_elements() {
    let nth = |n: i32, reverse: bool| -> Result<Tensor> {
        let x = Tensor::from_slice([2, 3], &[5f32, 1.0, 3.0, 2.0, 9.0, 4.0])?;
        run1("NthElement", &[("T", ty(DType::F32)), ("reverse", reverse.into())], vec![x, Tensor::scalar(n)])
    };
    assert_eq!(nth(1, true).unwrap().as_slice::<f32>().unwrap(), [3.0, 4.0]);
    assert_eq!(nth(0, false).unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert!(nth(3, false).unwrap_err().message().contains("Input must have last dimension > n = 3"));
    assert!(nth(-1, false).unwrap_err().message().contains("n must be non-negative but is -1"));
}

#[test]
fn the_greatest_and_least_along_any_dimension() {
    let x = Tensor::from_slice([3, 2], &[1f32, 6.0, 3.0, 5.0, 3.0, 4.0]).unwrap();
    let found = |axis: i64, is_max: bool, k: i64| {
        let attrs = [
            ("T", ty(DType::F32)),
            ("k", k.into()),
            ("reduction_dimension", axis.into()),
            ("recall_target", 0.9f32.into()),
            ("is_max_k", is_max.into()),
            ("reduction_input_size_override", (-1i64).into()),
            ("aggregate_to_topk", true.into()),
        ];
        let outputs = run("ApproxTopK", &attrs, vec![x.clone()])?;
        let [Some(values), Some(indices), ..] = &outputs[..] else { panic!("two outputs") };
        Ok::<_, flowmill_tensor::Error>((values.as_slice::<f32>()?.to_vec(), indices.as_slice::<i32>()?.to_vec()))
    };
    assert_eq!(found(0, true, 2).unwrap(), (vec![3.0, 6.0, 3.0, 5.0], vec![1, 0, 2, 1]));
    assert_eq!(found(-2, false, 1).unwrap(), (vec![1.0, 4.0], vec![0, 2]));
    assert_eq!(found(1, false, 1).unwrap(), (vec![1.0, 3.0, 3.0], vec![0, 0, 0]));
    assert!(found(0, true, 4).unwrap_err().message().contains("input must have at least k columns. Had 3, needed 4"));
    assert!(found(2, true, 1).unwrap_err().message().contains("Must be within the range of [-2, 1]"));
}
