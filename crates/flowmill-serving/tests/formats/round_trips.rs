//! Tensors that are printed and parsed again have the same bits.

use crate::{JSON_TYPES, limits, specs};
use flowmill::{Bytes, DType, Shape, Signature, Tensor};
use flowmill_serving::formats::kserve::{InferRequest, parse_infer, print_infer};
use flowmill_serving::formats::raw::{raw_from_tensor, tensor_from_contents, tensor_from_raw, tensor_to_contents};
use flowmill_serving::formats::tfs::{Layout, parse_predict, print_predict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Types that TensorFlow Serving has no values of in JSON.
const NOT_TFS: [DType; 1] = [DType::U16];

/// A tensor of random bits. Strings are text, so that they have a form in JSON.
fn tensors() -> impl Strategy<Value = Tensor> {
    (select(&JSON_TYPES[..]), vec(0usize..4, 0..4)).prop_flat_map(|(dtype, shape)| {
        let shape = Shape::from(shape);
        let count = shape.num_elements();
        let num_bytes = count * dtype.size().unwrap_or(0);
        let strings = if dtype == DType::String { count } else { 0 };
        (vec(any::<u8>(), num_bytes), vec(any::<String>(), strings)).prop_map(move |(mut bytes, strings)| {
            if dtype == DType::String {
                return Tensor::from_strings(shape.clone(), strings.into_iter().map(Bytes::from).collect()).unwrap();
            }
            make_nan_canonical(dtype, &mut bytes);
            Tensor::copy_from_bytes(dtype, shape.clone(), &bytes).unwrap()
        })
    })
}

/// JSON has one NaN.
fn make_nan_canonical(dtype: DType, bytes: &mut [u8]) {
    for bytes in bytes.chunks_exact_mut(dtype.size().unwrap_or(1)) {
        match dtype {
            DType::F32 if f32::from_le_bytes(bytes.try_into().unwrap()).is_nan() => bytes.copy_from_slice(&f32::NAN.to_le_bytes()),
            DType::F64 if f64::from_le_bytes(bytes.try_into().unwrap()).is_nan() => bytes.copy_from_slice(&f64::NAN.to_le_bytes()),
            _ => {}
        }
    }
}

/// Returns true if two tensors have the same type, shape and bits.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && raw_from_tensor(a).unwrap() == raw_from_tensor(b).unwrap()
}

/// A request with the value of a response.
fn request_of(layout: Layout, outputs: &[(&str, &Tensor)]) -> String {
    let mut out = Vec::new();
    print_predict(layout, outputs, &mut out).unwrap();
    String::from_utf8(out).unwrap().replacen("\"predictions\"", "\"instances\"", 1).replacen("\"outputs\"", "\"inputs\"", 1)
}

fn check_predict(layout: Layout, tensor: &Tensor) {
    for names in [&["x"][..], &["a", "b_bytes"]] {
        let outputs: Vec<_> = names.iter().map(|&name| (name, tensor)).collect();
        let body = request_of(layout, &outputs);
        let inputs: Vec<_> = names.iter().map(|&name| (name, tensor.dtype())).collect();
        let signature = Arc::new(Signature { inputs: specs(&inputs), ..Signature::default() });
        let request = parse_predict(body.as_bytes(), &|_| Ok(signature.clone()), &limits()).unwrap();
        assert_eq!(request.layout, layout);
        for (name, found) in &request.inputs {
            // Nothing is said of the sizes within an empty array.
            let is_hidden = tensor.num_elements() == 0 && found.num_elements() == 0;
            assert!(is_hidden || is_same(found, tensor), "{name}: {found:?} instead of {tensor:?}\n{body}");
        }
    }
}

proptest! {
    #[test]
    fn columns_of_predictions(tensor in tensors()) {
        if !NOT_TFS.contains(&tensor.dtype()) {
            check_predict(Layout::Column, &tensor);
        }
    }

    #[test]
    fn rows_of_predictions(tensor in tensors()) {
        if !NOT_TFS.contains(&tensor.dtype()) && tensor.shape().first().is_some_and(|&rows| rows > 0) {
            check_predict(Layout::Row, &tensor);
        }
    }

    #[test]
    fn inferences_in_json_and_in_binary(tensor in tensors(), is_binary: bool) {
        let request = InferRequest { binary_data_output: is_binary, ..InferRequest::default() };
        let body = print_infer("m", "1", &request, &[("x", &tensor)]).unwrap();
        let shift = "inputs".len() as i64 - "outputs".len() as i64;
        let json_len = body.json_len.map(|length| (length as i64 + shift) as usize);
        let json = String::from_utf8(body.segments[0].to_vec()).unwrap().replacen("\"outputs\"", "\"inputs\"", 1);
        let binary = body.segments.get(1).cloned().unwrap_or_default();
        let found = parse_infer([json.as_bytes(), &binary].concat().into(), json_len, &specs(&[("x", tensor.dtype())]), &limits()).unwrap();
        prop_assert!(is_same(&found.inputs[0].1, &tensor));
    }

    #[test]
    fn raw_elements_and_contents(tensor in tensors()) {
        let shape = tensor.shape().to_i64();
        let raw = tensor_from_raw(tensor.dtype(), &shape, raw_from_tensor(&tensor).unwrap(), &limits()).unwrap();
        prop_assert!(is_same(&raw, &tensor));
        let contents = tensor_from_contents(tensor.dtype(), &shape, tensor_to_contents(&tensor).unwrap(), &limits()).unwrap();
        prop_assert!(is_same(&contents, &tensor));
    }

    #[test]
    fn decimals_are_rounded_as_by_the_standard_library(digits in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?(e[+-]?[0-9]{1,2})?") {
        let parse = |dtype| {
            let signature = Arc::new(Signature { inputs: specs(&[("x", dtype)]), ..Signature::default() });
            let body = format!("{{\"inputs\": {digits}}}");
            parse_predict(body.as_bytes(), &|_| Ok(signature.clone()), &limits()).map(|mut request| request.inputs.remove(0).1)
        };
        let (narrow, wide): (f32, f64) = (digits.parse().unwrap(), digits.parse().unwrap());
        match parse(DType::F32) {
            Ok(found) => prop_assert_eq!(found.to_scalar::<f32>().unwrap().to_bits(), narrow.to_bits()),
            Err(_) => prop_assert!(narrow.is_infinite()),
        }
        prop_assert_eq!(parse(DType::F64).unwrap().to_scalar::<f64>().unwrap().to_bits(), wide.to_bits());
    }
}

/// The elements of 16-bit floats have no form but the raw one.
#[test]
fn half_floats_are_raw_alone() {
    for dtype in [DType::F16, DType::BF16] {
        let tensor = Tensor::copy_from_bytes(dtype, [2], &[1, 2, 3, 0xff]).unwrap();
        let raw = tensor_from_raw(dtype, &[2], raw_from_tensor(&tensor).unwrap(), &limits()).unwrap();
        assert!(is_same(&raw, &tensor));
    }
}
