use crate::testing::{Call, ty};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{DType, Result, Tensor};

fn count(op: &str, values: Tensor, size: i32, weights: &[f32], binary: bool) -> Result<Tensor> {
    Call::new(op)
        .attr("T", ty(DType::F32))
        .attr("binary_output", binary)
        .inputs(vec![values, Tensor::scalar(size), Tensor::vector(weights)?])
        .run1()
}

#[test]
fn bins() {
    let values = || Tensor::vector(&[1, 1, 5, 2]).unwrap();
    assert_eq!(count("Bincount", values(), 3, &[], false).unwrap().as_slice::<f32>().unwrap(), [0.0, 2.0, 1.0]);
    assert_eq!(count("DenseBincount", values(), 3, &[1.0, 2.0, 3.0, 4.0], false).unwrap().as_slice::<f32>().unwrap(), [0.0, 3.0, 4.0]);
    let rows = count("DenseBincount", Tensor::from_slice([2, 4], &[1, 1, 5, 2, 0, 0, 0, 0]).unwrap(), 3, &[], true).unwrap();
    assert_eq!((rows.shape().dims(), rows.as_slice::<f32>().unwrap()), (&[2, 3][..], &[0.0, 1.0, 1.0, 1.0, 0.0, 0.0][..]));
    let weighted = count("DenseBincount", Tensor::from_slice([2, 2], &[1, 1, 0, 7]).unwrap(), 2, &[1.0, 2.0, 3.0, 4.0], false).unwrap();
    assert_eq!(weighted.as_slice::<f32>().unwrap(), [0.0, 3.0, 3.0, 0.0]);
    let nothing = count("DenseBincount", Tensor::from_slice([2, 2], &[1, 1, 0, 7]).unwrap(), 0, &[], false).unwrap();
    assert_eq!(nothing.shape().dims(), [2, 0]);
    assert!(count("Bincount", Tensor::scalar(-1), 3, &[], false).unwrap_err().message().contains("Input arr must be non-negative!"));
    assert!(count("Bincount", values(), -3, &[], false).unwrap_err().message().contains("size (-3) must be non-negative"));
}

#[test]
fn histograms() {
    let histogram = |range: [f32; 2], bins: i32| {
        let values = Tensor::vector(&[-1f32, 0.0, 1.5, 2.0, 5.0, 15.0]).unwrap();
        Call::new("HistogramFixedWidth")
            .attr("T", ty(DType::F32))
            .inputs(vec![values, Tensor::vector(&range)?, Tensor::scalar(bins)])
            .run1()
    };
    assert_eq!(histogram([0.0, 5.0], 5).unwrap().as_slice::<i32>().unwrap(), [2, 1, 1, 0, 2]);
    assert!(histogram([5.0, 0.0], 5).unwrap_err().message().contains("but got '[5, 0]'"));
    assert!(histogram([0.0, 5.0], 0).unwrap_err().message().contains("nbins should be a positive number, but got '0'"));
}

#[test]
fn buckets() {
    let bucketize = |boundaries: &[f32]| {
        let list: AttrValue = Value::List(Box::new(ListValue { f: boundaries.to_vec(), ..ListValue::default() })).into();
        Call::new("Bucketize")
            .attr("T", ty(DType::F32))
            .attr("boundaries", list)
            .input(Tensor::vector(&[-5f32, 0.0, 10.0, 150.0, f32::NAN])?)
            .run1()
    };
    assert_eq!(bucketize(&[0.0, 10.0, 100.0]).unwrap().as_slice::<i32>().unwrap(), [0, 1, 2, 3, 3]);
    assert!(bucketize(&[0.0, 100.0, 10.0]).unwrap_err().message().contains("Expected sorted boundaries"));
}
