use crate::testing::{run1, ty};
use flowmill_tensor::{DType, Result, Tensor};

fn segment(op: &str, data: Tensor, ids: &[i32]) -> Result<Tensor> {
    run1(op, &[("T", ty(data.dtype()))], vec![data, Tensor::vector(ids)?])
}

fn unsorted(op: &str, data: Tensor, ids: Tensor, n: i32) -> Result<Tensor> {
    run1(op, &[("T", ty(data.dtype()))], vec![data, ids, Tensor::scalar(n)])
}

fn vector() -> Tensor {
    Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()
}

#[test]
fn segments_without_rows() {
    for (op, expected) in [
        ("SegmentSum", [3f32, 0.0, 0.0, 3.0]),
        ("SegmentMax", [2.0, 0.0, 0.0, 3.0]),
        ("SegmentMin", [1.0, 0.0, 0.0, 3.0]),
        ("SegmentProd", [2.0, 1.0, 1.0, 3.0]),
        ("SegmentMean", [1.5, 0.0, 0.0, 3.0]),
    ] {
        assert_eq!(segment(op, vector(), &[0, 0, 3]).unwrap().as_slice::<f32>().unwrap(), expected, "{op}");
    }
    assert_eq!(segment("SegmentMean", Tensor::vector(&[1, 2, 3]).unwrap(), &[0, 0, 3]).unwrap().as_slice::<i32>().unwrap(), [1, 0, 0, 3]);
    assert_eq!(segment("SegmentSum", Tensor::zeros(DType::F32, [0, 2]).unwrap(), &[]).unwrap().shape().dims(), [0, 2]);
}

#[test]
fn segment_ids_are_checked() {
    for (ids, message) in [
        (&[0, 2, 1][..], "segment ids are not increasing"),
        (&[-1, 0, 3], "Segment id -1 out of range [0, 4)"),
        (&[0, 1], "should be the same size as dimension 0"),
    ] {
        let error = segment("SegmentSum", vector(), ids).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn unsorted_segments() {
    let matrix = || Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap();
    let rows = Tensor::vector(&[0, 0]).unwrap();
    assert_eq!(unsorted("UnsortedSegmentMax", matrix(), rows, 2).unwrap().as_slice::<f32>().unwrap(), [3.0, 4.0, f32::MIN, f32::MIN]);
    let elements = Tensor::from_slice([2, 2], &[0, 1, 1, -1]).unwrap();
    assert_eq!(unsorted("UnsortedSegmentProd", matrix(), elements, 3).unwrap().as_slice::<f32>().unwrap(), [1.0, 6.0, 1.0]);
    let ids = || Tensor::vector(&[0, -1, 5]).unwrap();
    let error = unsorted("UnsortedSegmentSum", vector(), ids(), 3).unwrap_err();
    assert!(error.message().contains("segment_ids[2] = 5 is out of range [0, 3)"), "{error}");
    assert!(unsorted("UnsortedSegmentSum", vector(), ids(), -3).unwrap_err().message().contains("must not be negative"));
    let error = unsorted("UnsortedSegmentSum", matrix(), Tensor::from_slice([1, 2], &[0, 1]).unwrap(), 3).unwrap_err();
    assert!(error.message().contains("data.shape = [2,2] does not start with segment_ids.shape = [1,2]"), "{error}");
}

#[test]
fn rows_of_any_width_are_reduced_in_order() {
    for (rows, width) in [(9, 1), (7, 5), (23, 37), (40, 130)] {
        let value = |row: usize, column: usize| 1.0 / (1 + row * width + column) as f32;
        let values: Vec<f32> = (0..rows * width).map(|i| value(i / width, i % width)).collect();
        let data = || Tensor::from_slice([rows, width], &values).unwrap();
        let ascending: Vec<i32> = (0..rows as i32).map(|row| row / 4 * 2).collect();
        let mixed: Vec<i32> = (0..rows as i32).map(|row| row * 7 % 3 - 1).collect();
        let merged = |ids: &[i32], segments: usize, start: f32, merge: fn(f32, f32) -> f32| -> Vec<f32> {
            let mut merged = vec![start; segments * width];
            for (row, &id) in ids.iter().enumerate().filter(|(_, id)| **id >= 0) {
                for column in 0..width {
                    let to = &mut merged[id as usize * width + column];
                    *to = merge(*to, value(row, column));
                }
            }
            merged
        };
        let segments = *ascending.last().unwrap() as usize + 1;
        let sums = merged(&ascending, segments, 0.0, |a, b| a + b);
        assert_eq!(segment("SegmentSum", data(), &ascending).unwrap().as_slice::<f32>().unwrap(), sums);
        let count = |id: usize| ascending.iter().filter(|&&other| other as usize == id).count().max(1) as f32;
        let means: Vec<f32> = sums.iter().enumerate().map(|(i, sum)| sum / count(i / width)).collect();
        assert_eq!(segment("SegmentMean", data(), &ascending).unwrap().as_slice::<f32>().unwrap(), means);
        for (op, start, merge) in [
            ("UnsortedSegmentSum", 0.0, (|a, b| a + b) as fn(f32, f32) -> f32),
            ("UnsortedSegmentProd", 1.0, |a, b| a * b),
            ("UnsortedSegmentMin", f32::MAX, f32::min),
        ] {
            let got = unsorted(op, data(), Tensor::vector(&mixed).unwrap(), 3).unwrap();
            assert_eq!(got.as_slice::<f32>().unwrap(), merged(&mixed, 3, start, merge), "{op} of {rows} x {width}");
        }
    }
}
