//! `infer` of the Open Inference Protocol.

use crate::{limits, specs};
use flowmill::{Bytes, Code, DType, Error, PartialShape, Tensor, TensorSpec, f16};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::kserve::{
    InferRequest, Parameter, Parameters, RequestedOutput, classify, parameters_from_proto, parse_infer, print_infer,
};
use flowmill_serving::proto::kserve::InferParameter;
use std::collections::BTreeMap;

fn parse_with(inputs: &[(&str, DType)], json: &str, binary: &[u8]) -> Result<InferRequest, Error> {
    let json_len = (!binary.is_empty()).then_some(json.len());
    parse_infer([json.as_bytes(), binary].concat().into(), json_len, &specs(inputs), &limits())
}

fn parse(json: &str) -> Result<InferRequest, Error> {
    parse_with(&[("x", DType::F32)], json, b"")
}

#[test]
fn elements_may_be_nested_or_flat_and_before_their_type() {
    let expected = Tensor::from_slice([2, 2], &[1f32, 2.5, -3.0, 4.0]).unwrap();
    for data in ["[1, 2.5, -3, 4e0]", "[[1, 2.5], [-3, 4]]", "[[[1], [2.5]], -3, [], 4]"] {
        let tensor = format!("\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [2, 2], \"data\": {data}");
        let turned = format!("\"data\": {data}, \"shape\": [2, 2], \"name\": \"x\", \"datatype\": \"FP32\", \"other\": {{}}");
        for tensor in [tensor, turned] {
            let request = parse(&format!("{{\"inputs\": [{{{tensor}}}]}}")).unwrap();
            assert_eq!(request.inputs, [("x".to_owned(), expected.clone())]);
        }
    }
    let strings =
        parse_with(&[("s", DType::String)], r#"{"inputs":[{"name":"s","shape":[2],"datatype":"BYTES","data":["a","é"]}]}"#, b"").unwrap();
    assert_eq!(strings.inputs[0].1.as_strings().unwrap(), ["a", "é"]);
    let empty = parse(r#"{"inputs":[{"name":"x","shape":[0,3],"datatype":"FP32","data":[]}]}"#).unwrap();
    assert_eq!(empty.inputs[0].1.shape().dims(), [0, 3]);
}

#[test]
fn ids_parameters_and_outputs_are_read() {
    let request = parse(
        r#"{"id": "7", "parameters": {"priority": 1, "big": 18446744073709551615, "f": 1.5, "s": "é", "binary_data_output": true},
            "outputs": [{"name": "y", "parameters": {"binary_data": false, "classification": 3, "other": -1}}, {"name": "z"}],
            "inputs": [{"name": "x", "shape": [], "datatype": "FP32", "data": [1]}]}"#,
    )
    .unwrap();
    assert_eq!(request.id.as_deref(), Some("7"));
    let expected: Parameters = [
        ("priority".to_owned(), Parameter::Int64(1)),
        ("big".to_owned(), Parameter::Uint64(u64::MAX)),
        ("f".to_owned(), Parameter::Double(1.5)),
        ("s".to_owned(), Parameter::String("é".into())),
    ]
    .into();
    assert_eq!(request.parameters, expected);
    let proto = request.parameters.clone().into_iter().map(|(name, value)| (name, InferParameter::from(value))).collect();
    assert_eq!(parameters_from_proto(proto).unwrap(), expected);
    let y = &request.outputs[0];
    assert_eq!((y.name.as_str(), y.binary, y.classification), ("y", Some(false), 3));
    assert_eq!(y.parameters, [("other".to_owned(), Parameter::Int64(-1))].into());
    assert!(request.binary_data_output && request.is_binary("z") && !request.is_binary("y"));
}

#[test]
fn binary_data_follow_the_text_in_the_order_of_the_inputs() {
    let json = r#"{"inputs":[{"name":"s","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}},
                             {"name":"n","shape":[2],"datatype":"INT32","data":[7,8]},
                             {"name":"h","shape":[2],"datatype":"FP16","parameters":{"binary_data_size":4}}]}"#;
    let inputs = [("s", DType::String), ("n", DType::I32), ("h", DType::F16)];
    let request = parse_with(&inputs, json, b"\x01\0\0\0q\0\x3c\0\x40").unwrap();
    assert_eq!(request.inputs[0].1.as_strings().unwrap(), ["q"]);
    assert_eq!(request.inputs[1].1, Tensor::vector(&[7i32, 8]).unwrap());
    assert_eq!(request.inputs[2].1, Tensor::vector(&[f16::ONE, f16::from_f32(2.0)]).unwrap());
    for binary in [&b"\x01\0\0\0q\0\x3c\0\x40!"[..], b"\x01\0\0\0q\0\x3c\0", b"\x02\0\0\0q\0\x3c\0\x40"] {
        assert_eq!(parse_with(&inputs, json, binary).unwrap_err().code(), Code::InvalidArgument);
    }
    assert_eq!(parse_infer("{}".into(), Some(3), &specs(&inputs), &limits()).unwrap_err().code(), Code::InvalidArgument);
}

/// A model's only input of a shape.
fn one(dtype: DType, shape: &[i64]) -> BTreeMap<String, TensorSpec> {
    let mut specs = specs(&[("x", dtype)]);
    specs.get_mut("x").unwrap().shape = PartialShape::new(shape);
    specs
}

#[test]
fn a_body_without_text_is_the_only_input_as_a_batch_of_one() {
    let parse = |dtype, shape: &[i64], body: &'static [u8]| {
        parse_infer(Bytes::from_static(body), Some(0), &one(dtype, shape), &limits()).map(|mut request| {
            assert!(request.binary_data_output);
            request.inputs.pop().unwrap().1
        })
    };
    assert_eq!(parse(DType::U8, &[-1, 3], b"abc").unwrap(), Tensor::from_slice([1, 3], b"abc").unwrap());
    assert_eq!(parse(DType::U8, &[-1, -1, 2], b"abcd").unwrap().shape().dims(), [1, 2, 2]);
    assert_eq!(parse(DType::U8, &[2, -1], b"abcd").unwrap().shape().dims(), [2, 2]);
    assert_eq!(parse(DType::String, &[-1], b"file").unwrap().as_strings().unwrap(), ["file"]);
    for (dtype, shape, body) in
        [(DType::U8, &[-1, 3][..], &b"abcd"[..]), (DType::U8, &[-1, -1, 2], b"abc"), (DType::U8, &[-1, -1, -1], b"abc")]
    {
        assert_eq!(parse(dtype, shape, body).unwrap_err().code(), Code::InvalidArgument, "{shape:?}");
    }
    let two = specs(&[("x", DType::U8), ("y", DType::U8)]);
    assert_eq!(parse_infer(Bytes::new(), Some(0), &two, &limits()).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn requests_of_the_wrong_form_are_refused() {
    let input = |text: &str| format!("{{\"inputs\":[{text}]}}");
    let refused = [
        String::new(),
        "{}".into(),
        "[]".into(),
        r#"{"inputs":[]} x"#.into(),
        r#"{"inputs":[],"parameters":{"a":[1]}}"#.into(),
        r#"{"inputs":[],"parameters":{"binary_data_output":1}}"#.into(),
        r#"{"inputs":[],"outputs":[{}]}"#.into(),
        r#"{"inputs":[],"outputs":[{"name":"y","parameters":{"binary_data":"yes"}}]}"#.into(),
        r#"{"inputs":[],"outputs":[{"name":"y","parameters":{"classification":-1}}]}"#.into(),
        input(r#"{"shape":[1],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"y","shape":[1],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32"}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP64","data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP33","data":[1]}"#),
        input(r#"{"name":"x","shape":[-1],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","shape":[1.0],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","shape":[2],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":[1,2]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":1}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":["1"]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":[1],"data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4}}"#),
        input(r#"{"name":"x","shape":[1000000000],"datatype":"FP32","data":[1]}"#),
        input(r#"{"name":"x","shape":[1],"datatype":"FP32","data":[1]},{"name":"x","shape":[1],"datatype":"FP32","data":[1]}"#),
    ];
    for body in refused {
        let error = parse(&body).unwrap_err();
        assert!(matches!(error.code(), Code::InvalidArgument | Code::ResourceExhausted), "{body}: {error}");
    }
    let shared = input(r#"{"name":"x","shape":[1],"datatype":"FP32","parameters":{"shared_memory_region":"r"}}"#);
    assert_eq!(parse(&shared).unwrap_err().code(), Code::Unimplemented);
    let half = input(r#"{"name":"h","shape":[1],"datatype":"FP16","data":[1]}"#);
    assert_eq!(parse_with(&[("h", DType::F16)], &half, b"").unwrap_err().code(), Code::InvalidArgument);
    let few = Limits { max_elements: 3, ..limits() };
    let body = input(r#"{"name":"x","shape":[4],"datatype":"FP32","data":[1,2,3,4]}"#);
    assert_eq!(parse_infer(body.into(), None, &specs(&[("x", DType::F32)]), &few).unwrap_err().code(), Code::ResourceExhausted);
}

fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}

#[test]
fn responses_have_the_request_s_id_and_flat_data() {
    let y = Tensor::from_slice([1, 2], &[0.5f32, 1.0]).unwrap();
    let s = Tensor::from_strings([1], vec!["a\"".into()]).unwrap();
    let request = InferRequest { id: Some("7".into()), ..InferRequest::default() };
    let body = print_infer("m", "1", &request, &[("y", &y), ("s", &s)]).unwrap();
    assert_eq!(body.json_len, None);
    let expected = r#"{"model_name":"m","model_version":"1","id":"7","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.5,1.0]},{"name":"s","datatype":"BYTES","shape":[1],"data":["a\""]}]}"#;
    assert_eq!(text(&body.into_bytes()), expected);
    let half = Tensor::zeros(DType::F16, [1]).unwrap();
    assert_eq!(print_infer("m", "1", &request, &[("y", &half)]).unwrap_err().code(), Code::Unimplemented);
    let invalid = Tensor::string(Bytes::from_static(&[255]));
    assert_eq!(print_infer("m", "1", &request, &[("s", &invalid)]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn binary_outputs_follow_the_text() {
    let y = Tensor::vector(&[1i16, -1]).unwrap();
    let n = Tensor::scalar(7u8);
    let outputs = vec![RequestedOutput { name: "n".into(), binary: Some(false), ..RequestedOutput::default() }];
    let request = InferRequest { binary_data_output: true, outputs, ..InferRequest::default() };
    let body = print_infer("m", "", &request, &[("y", &y), ("n", &n)]).unwrap();
    let expected = r#"{"model_name":"m","model_version":"","outputs":[{"name":"y","datatype":"INT16","shape":[2],"parameters":{"binary_data_size":4}},{"name":"n","datatype":"UINT8","shape":[],"data":[7]}]}"#;
    assert_eq!(body.json_len, Some(expected.len()));
    assert_eq!(body.num_bytes(), expected.len() + 4);
    assert_eq!(text(&body.segments[0]), expected);
    assert_eq!(body.into_bytes()[expected.len()..], [1, 0, 255, 255]);
}

#[test]
fn classes_are_the_largest_values_with_their_indices() {
    let scores = Tensor::from_slice([2, 3], &[0.25f32, 0.5, 0.25, f32::NAN, -1.0, 2.0]).unwrap();
    let classes = classify(&scores, 2).unwrap();
    assert_eq!(classes.shape().dims(), [2, 2]);
    assert_eq!(classes.as_strings().unwrap(), ["0.500000:1", "0.250000:0", "2.000000:2", "-1.000000:1"]);
    assert_eq!(classify(&Tensor::vector(&[1i32, 9]).unwrap(), 5).unwrap().as_strings().unwrap(), ["9.000000:1", "1.000000:0"]);
    assert_eq!(classify(&Tensor::scalar(1f32), 1).unwrap_err().code(), Code::InvalidArgument);
    let outputs = vec![RequestedOutput { name: "y".into(), classification: 1, ..RequestedOutput::default() }];
    let request = InferRequest { outputs, ..InferRequest::default() };
    let body = print_infer("m", "1", &request, &[("y", &scores)]).unwrap().into_bytes();
    assert!(text(&body).contains(r#""datatype":"BYTES","shape":[2,1],"data":["0.500000:1","2.000000:2"]"#), "{}", text(&body));
}
