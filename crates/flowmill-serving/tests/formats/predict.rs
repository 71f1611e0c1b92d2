//! `:predict` of TensorFlow Serving.

use crate::{limits, model};
use flowmill::{Bytes, Code, DType, Error, Tensor};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::tfs::{Layout, PredictRequest, parse_predict, print_predict};

type Inputs<'a> = &'a [(&'a str, DType)];

fn parse(inputs: Inputs<'_>, body: &str) -> Result<PredictRequest, Error> {
    parse_predict(body.as_bytes(), &model(inputs), &limits())
}

/// The only input of a request.
fn only(dtype: DType, body: &str) -> Tensor {
    let mut request = parse(&[("x", dtype)], body).unwrap();
    assert_eq!(request.inputs.len(), 1);
    request.inputs.pop().unwrap().1
}

fn error_of(inputs: Inputs<'_>, body: &str) -> Error {
    parse(inputs, body).unwrap_err()
}

fn printed(layout: Layout, outputs: &[(&str, &Tensor)]) -> String {
    let mut out = Vec::new();
    print_predict(layout, outputs, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const X: Inputs<'static> = &[("x", DType::F32)];
const AB: Inputs<'static> = &[("a", DType::I32), ("b", DType::String)];

#[test]
fn rows_and_columns_of_one_input_are_its_values() {
    let rows = parse(X, r#"{"instances": [[1.0, 2], [3e0, -4.5]]}"#).unwrap();
    assert_eq!((rows.signature_name.as_str(), rows.layout), ("serving_default", Layout::Row));
    assert_eq!(rows.inputs[0].0, "x");
    assert_eq!(rows.inputs[0].1, Tensor::from_slice([2, 2], &[1.0f32, 2.0, 3.0, -4.5]).unwrap());
    assert_eq!(only(DType::I64, r#"{"instances": [1, 2, 3]}"#), Tensor::vector(&[1i64, 2, 3]).unwrap());
    assert_eq!(only(DType::F64, r#"{"inputs": 1.5}"#), Tensor::scalar(1.5));
    assert_eq!(only(DType::Bool, r#"{"inputs": [true, false]}"#), Tensor::vector(&[true, false]).unwrap());
    assert_eq!(only(DType::F32, r#"{"inputs": [[], []]}"#).shape().dims(), [2, 0]);
    assert_eq!(parse(X, r#"{"inputs": {"x": [1]}}"#).unwrap().layout, Layout::Column);
    assert_eq!(only(DType::I32, r#"{"instances": [{"x": [1, 2]}, {"x": [3, 4]}]}"#), Tensor::from_slice([2, 2], &[1i32, 2, 3, 4]).unwrap());
}

#[test]
fn rows_of_several_inputs_are_objects() {
    let request = parse(AB, r#"{"instances": [{"a": [1, 2], "b": "p"}, {"b": {"b64": "cQ=="}, "a": [3, 4]}]}"#).unwrap();
    let inputs: Vec<_> = request.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
    let expected = [
        ("a", Tensor::from_slice([2, 2], &[1i32, 2, 3, 4]).unwrap()),
        ("b", Tensor::from_strings([2], vec![Bytes::from("p"), Bytes::from("q")]).unwrap()),
    ];
    assert_eq!(inputs, expected);
}

#[test]
fn columns_of_several_inputs_are_an_object_in_which_others_are_ignored() {
    let request = parse(AB, r#"{"inputs": {"b": ["p"], "other": {"x": [null]}, "a": 7, "a": 8}}"#).unwrap();
    assert_eq!(request.inputs[0].1, Tensor::scalar(7i32));
    assert_eq!(request.inputs[1].1.shape().dims(), [1]);
}

#[test]
fn the_signature_may_be_named_anywhere() {
    for body in [r#"{"signature_name": "strings", "instances": ["p"]}"#, r#"{"instances": ["p"], "signature_name": "strings"}"#] {
        let request = parse(X, body).unwrap();
        assert_eq!((request.signature_name.as_str(), request.inputs[0].1.dtype()), ("strings", DType::String));
    }
    assert_eq!(parse(X, r#"{"signature_name": "", "instances": [1]}"#).unwrap().signature_name, "serving_default");
    assert_eq!(error_of(X, r#"{"signature_name": "none", "instances": [1]}"#).code(), Code::FailedPrecondition);
    assert_eq!(error_of(X, r#"{"instances": [1], "signature_name": 7}"#).code(), Code::InvalidArgument);
}

#[test]
fn text_after_the_first_value_is_ignored() {
    assert_eq!(only(DType::F32, "{\"inputs\": 1}\n] nonsense"), Tensor::scalar(1f32));
}

#[test]
fn strings_are_unescaped_and_base64_is_decoded() {
    let strings = only(DType::String, r#"{"inputs": ["a\"\\\/\b\f\n\r\té", "é", "\ud83d\ude00", {"b64": "AP8"}, {"b64": "AP8=\n"}]}"#);
    let expected =
        ["a\"\\/\u{8}\u{c}\n\r\té".into(), "é".into(), "😀".into(), Bytes::from_static(&[0, 255]), Bytes::from_static(&[0, 255])];
    assert_eq!(strings.as_strings().unwrap(), expected);
    assert_eq!(only(DType::String, r#"{"instances": [{"b64": "QQ=="}]}"#).as_strings().unwrap(), ["A"]);
    assert_eq!(only(DType::String, r#"{"inputs": {"b64": "QQ=="}}"#).shape().dims(), [0usize; 0]);
    for body in
        [r#"{"inputs": {"b64": "Q"}}"#, r#"{"inputs": [{"b64": "QQ==", "x": 1}]}"#, r#"{"inputs": ["\ud83d"]}"#, r#"{"inputs": ["\x"]}"#]
    {
        assert_eq!(error_of(&[("x", DType::String)], body).code(), Code::InvalidArgument, "{body}");
    }
}

#[test]
fn numbers_keep_every_bit_and_integers_their_range() {
    let floats = only(
        DType::F32,
        r#"{"inputs": [NaN, Infinity, -Infinity, -0.0, 16777217, 3.4028235e38, 1e-45, 0.1, 123456789012345678901234567890]}"#,
    );
    let expected = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 16777216.0, f32::MAX, 1e-45, 0.1, 1.234_567_9e29];
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(floats.as_slice().unwrap()), bits(&expected));
    assert_eq!(only(DType::U64, r#"{"inputs": 18446744073709551615}"#), Tensor::scalar(u64::MAX));
    assert_eq!(only(DType::I64, r#"{"inputs": -9223372036854775808}"#), Tensor::scalar(i64::MIN));
    let refused = [
        (DType::I32, "1.0"),
        (DType::I32, "1e2"),
        (DType::I32, "2147483648"),
        (DType::I8, "128"),
        (DType::U8, "-1"),
        (DType::U64, "18446744073709551616"),
        (DType::I64, "true"),
        (DType::I64, "NaN"),
        (DType::Bool, "1"),
        (DType::F32, "\"1\""),
        (DType::F32, "null"),
        (DType::F32, "{}"),
        (DType::F32, "1e39"),
        (DType::F64, "1e400"),
        (DType::F32, "01"),
        (DType::F32, "1."),
        (DType::F32, ".5"),
        (DType::F32, "+1"),
        (DType::F32, "-"),
        (DType::F32, "1e"),
        (DType::F32, "NaNN"),
        (DType::String, "1"),
    ];
    for (dtype, value) in refused {
        let error = error_of(&[("x", dtype)], &format!("{{\"inputs\": [{value}]}}"));
        assert_eq!(error.code(), Code::InvalidArgument, "{dtype} {value}: {error}");
        assert!(error.message().contains("at byte"), "{error}");
    }
}

#[test]
fn types_without_values_in_json_are_unimplemented() {
    for dtype in [DType::F16, DType::BF16, DType::U16, DType::C64, DType::QI8, DType::Variant] {
        assert_eq!(error_of(&[("x", dtype)], r#"{"inputs": [1]}"#).code(), Code::Unimplemented);
    }
}

#[test]
fn requests_of_the_wrong_form_are_invalid() {
    let cases = [
        (X, ""),
        (X, "[1]"),
        (X, "{}"),
        (X, r#"{"instances": [1]"#),
        (X, r#"{"instances": [1],}"#),
        (X, r#"{"instances": [1,]}"#),
        (X, r#"{"instances": [1] "inputs": 1}"#),
        (X, r#"{"instances": [1], "inputs": [1]}"#),
        (X, r#"{"instances": []}"#),
        (X, r#"{"instances": 1}"#),
        (X, r#"{"instances": {"x": 1}}"#),
        (X, r#"{"inputs": [[1], [2, 3]]}"#),
        (X, r#"{"inputs": [[1], 2]}"#),
        (X, r#"{"inputs": [1, [2]]}"#),
        (X, r#"{"inputs": [[], [1]]}"#),
        (X, r#"{"inputs": [[[1]], []]}"#),
        (X, r#"{"instances": [{"x": 1}, 2]}"#),
        (X, r#"{"instances": [1, {"x": 2}]}"#),
        (X, r#"{"instances": [{"y": 1}]}"#),
        (X, r#"{"instances": [{}]}"#),
        (AB, r#"{"instances": [1]}"#),
        (AB, r#"{"inputs": [1]}"#),
        (AB, r#"{"inputs": {"a": 1}}"#),
        (AB, r#"{"instances": [{"a": 1, "b": "p"}, {"a": 1}]}"#),
        (AB, r#"{"instances": [{"a": 1, "b": "p"}, {"a": [1], "b": "p"}]}"#),
        (AB, r#"{"instances": [{"a": 1, "b": "p", "a": 2}]}"#),
        (&[], r#"{"instances": [1]}"#),
    ];
    for (inputs, body) in cases {
        assert_eq!(error_of(inputs, body).code(), Code::InvalidArgument, "{body}");
    }
    let error = error_of(AB, r#"{"instances": [{"a": 1, "b": "p"}, {"a": "q", "b": "p"}]}"#);
    assert!(error.message().contains("'a'") && error.message().contains("instance 1") && error.message().contains("at byte 41"), "{error}");
}

#[test]
fn limits_hold() {
    let small = Limits { max_elements: 3, max_depth: 4, ..limits() };
    let parse = |body: &str| parse_predict(body.as_bytes(), &model(X), &small).map(|_| ()).map_err(|error| error.code());
    assert_eq!(parse(r#"{"inputs": [1, 2, 3]}"#), Ok(()));
    assert_eq!(parse(r#"{"inputs": [1, 2, 3, 4]}"#), Err(Code::ResourceExhausted));
    assert_eq!(parse(r#"{"instances": [{"x": [1, 2]}, {"x": [3, 4]}]}"#), Err(Code::ResourceExhausted));
    assert_eq!(parse(r#"{"inputs": [[[[1]]]]}"#), Ok(()));
    assert_eq!(parse(r#"{"inputs": [[[[[1]]]]]}"#), Err(Code::InvalidArgument));
    assert_eq!(parse(r#"{"other": [{"a": [[[]]]}], "inputs": 1}"#), Err(Code::InvalidArgument));
}

#[test]
fn predictions_are_one_line_per_array() {
    let scores = Tensor::from_slice([2, 2], &[0.1f32, 1.0, f32::NAN, 9e6]).unwrap();
    assert_eq!(printed(Layout::Row, &[("y", &scores)]), "{\n    \"predictions\": [[0.1, 1.0], [NaN, 9e+06]\n    ]\n}");
    let labels = Tensor::from_strings([2], vec!["a".into(), "\u{e9}\"".into()]).unwrap();
    assert_eq!(printed(Layout::Row, &[("label", &labels)]), "{\n    \"predictions\": [\"a\", \"\u{e9}\\\"\"\n    ]\n}");
    let expected = "{\n    \"predictions\": [\n        {\n            \"label\": \"a\",\n            \"y\": [0.1, 1.0]\n        },\n        {\n            \
                    \"label\": \"\u{e9}\\\"\",\n            \"y\": [NaN, 9e+06]\n        }\n    ]\n}";
    assert_eq!(printed(Layout::Row, &[("label", &labels), ("y", &scores)]), expected);
    let none = Tensor::zeros(DType::F32, [0, 3]).unwrap();
    assert_eq!(printed(Layout::Row, &[("y", &none)]), "{\n    \"predictions\": []\n}");
    let bytes = Tensor::from_strings([1], vec![Bytes::from_static(&[0, 255])]).unwrap();
    let expected = "{\n    \"predictions\": [{\n            \"b64\": \"AP8=\"\n        }\n    ]\n}";
    assert_eq!(printed(Layout::Row, &[("image_bytes", &bytes)]), expected);
}

#[test]
fn outputs_are_one_line_per_value() {
    let values = Tensor::from_slice([1, 2], &[1i64, -2]).unwrap();
    let expected = "{\n    \"outputs\": [\n        [\n            1,\n            -2\n        ]\n    ]\n}";
    assert_eq!(printed(Layout::Column, &[("y", &values)]), expected);
    let expected = "{\n    \"outputs\": {\n        \"n\": 3,\n        \"ok\": true\n    }\n}";
    assert_eq!(printed(Layout::Column, &[("n", &Tensor::scalar(3u8)), ("ok", &Tensor::scalar(true))]), expected);
    assert_eq!(printed(Layout::Column, &[("y", &Tensor::scalar(2f64))]), "{\n    \"outputs\": 2.0\n}");
}

#[test]
fn outputs_that_cannot_be_printed_are_refused() {
    let (scalar, two, three) = (Tensor::scalar(1f32), Tensor::vector(&[1f32; 2]).unwrap(), Tensor::vector(&[1f32; 3]).unwrap());
    let half = Tensor::zeros(DType::F16, [2]).unwrap();
    let cases: [(Layout, &[(&str, &Tensor)]); 4] = [
        (Layout::Row, &[]),
        (Layout::Row, &[("y", &scalar)]),
        (Layout::Row, &[("a", &two), ("b", &three)]),
        (Layout::Column, &[("y", &half)]),
    ];
    for (layout, outputs) in cases {
        assert_eq!(print_predict(layout, outputs, &mut Vec::new()).unwrap_err().code(), Code::InvalidArgument);
    }
}
