use super::*;
use crate::{Code, Complex, DeviceMemory};
use std::sync::Arc;

#[test]
fn a_tensor_is_two_words() {
    assert_eq!(size_of::<Tensor>(), 16);
    assert_eq!(size_of::<Option<Tensor>>(), 16);
}

#[test]
fn scalars_of_every_width_come_back() {
    assert!(Tensor::scalar(true).to_scalar::<bool>().unwrap());
    assert_eq!(Tensor::scalar(-7i8).to_scalar::<i8>().unwrap(), -7);
    assert_eq!(Tensor::scalar(1.5f32).scalar_bits(DType::F32), Some(u64::from(1.5f32.to_bits())));
    let z = Complex::new(1.0f64, -2.0);
    assert_eq!(Tensor::scalar(z).to_scalar::<Complex<f64>>().unwrap(), z);
    assert_eq!(Tensor::scalar(1i32).to_scalar::<f32>().unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn writing_shared_data_copies_them_first() {
    let mut a = Tensor::vector(&[1i64; 100]).unwrap();
    let b = a.clone();
    assert!(!a.is_unique());
    a.as_mut_slice::<i64>().unwrap()[0] = 5;
    assert_eq!((a.as_slice::<i64>().unwrap()[0], b.as_slice::<i64>().unwrap()[0]), (5, 1));
    assert!(a.is_unique());
}

#[test]
fn views_share_and_stay_in_range() {
    let a = Tensor::from_slice([10, 20], &(0..200).collect::<Vec<i32>>()).unwrap();
    let row = a.row(3).unwrap();
    assert_eq!(row.as_slice::<i32>().unwrap()[..2], [60, 61]);
    assert_eq!(row.shape().dims(), [20]);
    assert!(a.row(10).is_err() && a.view(190, [11]).is_err());
    assert_eq!(a.element(199).unwrap().to_scalar::<i32>().unwrap(), 199);
}

#[test]
fn bytes_are_shared_where_aligned_and_checked() {
    let bytes = Bytes::from(vec![2u8; 80]);
    assert!(Tensor::from_bytes(DType::F32, [21], bytes.clone()).is_err());
    let flags = Tensor::from_bytes(DType::Bool, [80], bytes.clone()).unwrap();
    assert!(flags.as_slice::<bool>().unwrap().iter().all(|&b| b));
    let odd = Tensor::from_bytes(DType::I16, [39], bytes.slice(1..79)).unwrap();
    assert_eq!(odd.as_slice::<i16>().unwrap()[38], 0x0202);
}

#[test]
fn a_reshape_keeps_the_elements() {
    let a = Tensor::vector(&[1f32, 2.0, 3.0, 4.0]).unwrap();
    let b = a.clone().reshaped([2, 2]).unwrap();
    assert_eq!(b.as_slice::<f32>().unwrap(), a.as_slice::<f32>().unwrap());
    assert!(b.reshaped([3]).is_err());
    let s = Tensor::vector(&[7i32]).unwrap().reshaped(Shape::scalar()).unwrap();
    assert_eq!(s.scalar_bits(DType::I32), Some(7));
}

struct Elsewhere;

impl DeviceMemory for Elsewhere {
    fn device(&self) -> &str {
        "/device:TEST:0"
    }
}

#[test]
fn memory_of_another_device_is_never_read_by_the_host() {
    let mut a = Tensor::on_device(DType::F32, [2, 3], Arc::new(Elsewhere)).unwrap();
    assert!(!a.is_on_host() && a.device_memory().is_some());
    let error = a.as_slice::<f32>().unwrap_err();
    let message = "a tensor of type float32 and shape [2,3] is in the memory of /device:TEST:0 and cannot be read by the host";
    assert_eq!((error.code(), error.message()), (Code::Internal, message));
    assert!(
        a.as_mut_slice::<f32>().is_err() && a.as_bytes().is_err() && a.element(0).is_err() && a.row(1).is_err() && a.view(0, [1]).is_err()
    );
    assert_eq!(a, a.clone(), "the same memory holds the same elements");
    let shared = a.clone();
    let b = a.reshaped([6]).unwrap();
    assert!(!b.is_on_host() && b.clone().bitcast(DType::I32).unwrap().as_slice::<i32>().is_err());
    assert!(shared.reshaped([6]).unwrap().device_memory().is_some());
    assert!(Tensor::on_device(DType::String, [1], Arc::new(Elsewhere)).is_err());
    assert_eq!(format!("{b:?}"), "float32[6][]");
}
