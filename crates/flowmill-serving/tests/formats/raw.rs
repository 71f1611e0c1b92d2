//! Little-endian elements and typed contents.

use crate::{JSON_TYPES, limits};
use flowmill::{Bytes, Code, DType, Tensor};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::raw::{
    datatype, dtype_from_datatype, raw_from_tensor, tensor_from_contents, tensor_from_raw, tensor_to_contents,
};
use flowmill_serving::proto::kserve::InferTensorContents;

#[test]
fn datatypes_have_the_names_of_the_protocol() {
    for (dtype, name) in
        [(DType::Bool, "BOOL"), (DType::U16, "UINT16"), (DType::F16, "FP16"), (DType::BF16, "BF16"), (DType::String, "BYTES")]
    {
        assert_eq!(datatype(dtype).unwrap(), name);
        assert_eq!(dtype_from_datatype(name).unwrap(), dtype);
    }
    assert_eq!(datatype(DType::C64).unwrap_err().code(), Code::Unimplemented);
    assert_eq!(dtype_from_datatype("fp32").unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn aligned_elements_are_not_copied() {
    let floats: Vec<f32> = (0..4096).map(|i| i as f32).collect();
    let tensor = Tensor::from_slice([64, 64], &floats).unwrap();
    let raw = raw_from_tensor(&tensor).unwrap();
    assert_eq!(raw.as_ptr(), tensor.as_bytes().unwrap().as_ptr());
    let again = tensor_from_raw(DType::F32, &[64, 64], raw.clone(), &limits()).unwrap();
    assert_eq!(again, tensor);
    assert_eq!(again.as_bytes().unwrap().as_ptr(), raw.as_ptr());
    let shifted = Bytes::from([&[0][..], &raw].concat()).slice(1..);
    assert_eq!(tensor_from_raw(DType::F32, &[64, 64], shifted, &limits()).unwrap(), tensor);
}

#[test]
fn strings_have_their_lengths_before_them() {
    let tensor = Tensor::from_strings([2], vec![Bytes::from("ab"), Bytes::new()]).unwrap();
    let raw = raw_from_tensor(&tensor).unwrap();
    assert_eq!(raw, &b"\x02\0\0\0ab\0\0\0\0"[..]);
    assert_eq!(tensor_from_raw(DType::String, &[2], raw, &limits()).unwrap(), tensor);
}

#[test]
fn elements_that_do_not_fit_the_shape_are_refused() {
    let refused: [(DType, &[i64], &'static [u8]); 8] = [
        (DType::F32, &[2], b"1234"),
        (DType::F32, &[-1], b""),
        (DType::F32, &[i64::MAX, 8], b""),
        (DType::String, &[1], b"\x02\0\0\0a"),
        (DType::String, &[1], b"\xff\xff\xff\xffa"),
        (DType::String, &[2], b"\x04\0\0\0abcd"),
        (DType::String, &[1], b"\x01\0\0\0ab"),
        (DType::String, &[1_000_000], b"\0\0\0\0"),
    ];
    for (dtype, shape, bytes) in refused {
        let error = tensor_from_raw(dtype, shape, Bytes::from_static(bytes), &limits()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{dtype} {shape:?}: {error}");
    }
    let few = Limits { max_elements: 3, ..limits() };
    assert_eq!(tensor_from_raw(DType::U8, &[4], Bytes::from_static(b"1234"), &few).unwrap_err().code(), Code::ResourceExhausted);
}

#[test]
fn bytes_of_booleans_are_true_unless_zero() {
    let tensor = tensor_from_raw(DType::Bool, &[3], Bytes::from_static(&[0, 1, 255]), &limits()).unwrap();
    assert_eq!(tensor.as_slice::<bool>().unwrap(), [false, true, true]);
}

#[test]
fn contents_are_in_the_field_of_the_type() {
    for dtype in JSON_TYPES {
        let tensor = Tensor::zeros(dtype, [2, 3]).unwrap();
        let contents = tensor_to_contents(&tensor).unwrap();
        assert_eq!(tensor_from_contents(dtype, &[2, 3], contents.clone(), &limits()).unwrap(), tensor);
        assert_eq!(tensor_from_contents(dtype, &[2, 2], contents.clone(), &limits()).unwrap_err().code(), Code::InvalidArgument);
        let also = InferTensorContents { bool_contents: vec![true; 7], ..contents };
        assert_eq!(tensor_from_contents(dtype, &[2, 3], also, &limits()).unwrap_err().code(), Code::InvalidArgument);
    }
    let large = InferTensorContents { int_contents: vec![-129], ..InferTensorContents::default() };
    assert!(tensor_from_contents(DType::I8, &[1], large.clone(), &limits()).unwrap_err().message().contains("-129"));
    assert_eq!(tensor_from_contents(DType::I16, &[1], large, &limits()).unwrap(), Tensor::vector(&[-129i16]).unwrap());
    assert!(tensor_to_contents(&Tensor::zeros(DType::F16, [1]).unwrap()).is_err());
}
