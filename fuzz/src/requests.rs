//! Requests of the REST APIs of `flowmill-serving`.

use flowmill::{Bytes, DType, PartialShape, Signature, Tensor, TensorSpec};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::kserve::{InferRequest, parse_infer, print_infer};
use flowmill_serving::formats::tfs::{Layout, parse_examples, parse_predict, print_predict};
use std::collections::BTreeMap;
use std::sync::Arc;

fn specs(inputs: &[(&str, DType)]) -> BTreeMap<String, TensorSpec> {
    let spec = |dtype| TensorSpec { tensor: "t:0".into(), dtype, shape: PartialShape::unknown(), part_of: None };
    inputs.iter().map(|&(name, dtype)| (name.to_owned(), spec(dtype))).collect()
}

/// Parses a request of TensorFlow Serving's API of each kind; tensors are printed and parsed to equal ones.
pub fn rest_predict(data: &[u8]) {
    let limits = Limits { max_elements: 1 << 20, ..Limits::default() };
    let _ = parse_examples(data, &limits);
    let signature = |name: &str| {
        let inputs = match name {
            "strings" => specs(&[("s_bytes", DType::String)]),
            "several" => specs(&[("n", DType::I64), ("s_bytes", DType::String), ("x", DType::F32)]),
            _ => specs(&[("x", DType::F32)]),
        };
        Ok(Arc::new(Signature { inputs, ..Signature::default() }))
    };
    let Ok(request) = parse_predict(data, &signature, &limits) else { return };
    let outputs: Vec<(&str, &Tensor)> = request.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut printed = Vec::new();
    print_predict(request.layout, &outputs, &mut printed).expect("tensors of a request can be printed");
    let printed = String::from_utf8(printed).expect("strings of a request are UTF-8 or base64");
    let (from, to) = match request.layout {
        Layout::Row => ("\"predictions\"", "\"instances\""),
        Layout::Column => ("\"outputs\"", "\"inputs\""),
    };
    let body = printed.replacen(from, to, 1);
    let again = parse_predict(body.as_bytes(), &|_| signature(&request.signature_name), &limits).expect("printed tensors are legal");
    for ((_, before), (_, after)) in request.inputs.iter().zip(&again.inputs) {
        assert_eq!(format!("{before:?}"), format!("{after:?}"), "printing and parsing again gives the same value");
    }
}

/// Parses a request of the Open Inference Protocol as JSON, as JSON before binary data, and as raw data; the response with its inputs can be printed.
pub fn rest_infer(data: &[u8]) {
    let limits = Limits { max_elements: 1 << 20, ..Limits::default() };
    let body = Bytes::copy_from_slice(data);
    let inputs = specs(&[("x", DType::F32), ("n", DType::I64), ("s", DType::String), ("b", DType::Bool), ("h", DType::F16)]);
    let ends = data.iter().enumerate().filter(|(_, byte)| **byte == b'}').map(|(at, _)| at + 1);
    for json_len in ends.rev().take(4).map(Some).chain([None, Some(0)]) {
        if let Ok(request) = parse_infer(body.clone(), json_len, &inputs, &limits) {
            let binary = InferRequest { binary_data_output: true, outputs: Vec::new(), ..request };
            let outputs: Vec<(&str, &Tensor)> = binary.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            let printed = print_infer("m", "1", &binary, &outputs).expect("all types have a binary form");
            assert_eq!(printed.segments.len(), outputs.len() + 1);
        }
    }
    let one = specs(&[("x", DType::F32)]);
    let _ = parse_infer(body, Some(0), &one, &limits);
}
