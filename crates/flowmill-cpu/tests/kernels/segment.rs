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
