//! Bodies that Triton's client made (`tests/data/serving/record.py`), and one that it reads.

use crate::{limits, specs};
use flowmill::{DType, Tensor, f16};
use flowmill_serving::formats::kserve::{InferRequest, Parameter, RequestedOutput, parse_infer, print_infer};

const INPUTS: [(&str, DType); 5] = [("x", DType::F32), ("n", DType::I64), ("s", DType::String), ("b", DType::Bool), ("h", DType::F16)];

fn check_inputs(request: &InferRequest) {
    for (name, tensor) in &request.inputs {
        let expected = match name.as_str() {
            "x" => Tensor::from_slice([2, 3], &[1.5f32, -2.25, 3.0, 0.1, 1e-7, 1e9]),
            "n" => Tensor::from_slice([2, 1], &[1i64, -2]),
            "s" => Tensor::from_strings([1, 2], vec!["a\"é".into(), "".into()]),
            "h" => Tensor::vector(&[f16::from_f32(0.5), f16::NEG_ONE]),
            _ => Tensor::vector(&[true, false]),
        };
        assert_eq!(*tensor, expected.unwrap(), "{name}");
    }
}

#[test]
fn requests_in_json_are_read() {
    let body = include_bytes!("../../../../tests/data/serving/json.body");
    let request = parse_infer(body[..].into(), None, &specs(&INPUTS), &limits()).unwrap();
    assert_eq!(request.id.as_deref(), Some("r-1"));
    assert_eq!(request.inputs.len(), 4);
    check_inputs(&request);
    let expected = [
        ("note".to_owned(), Parameter::String("é".into())),
        ("priority".to_owned(), Parameter::Int64(1)),
        ("ratio".to_owned(), Parameter::Double(0.5)),
        ("timeout".to_owned(), Parameter::Int64(5000)),
        ("trace".to_owned(), Parameter::Bool(true)),
    ];
    assert_eq!(request.parameters.into_iter().collect::<Vec<_>>(), expected);
    let outputs: Vec<_> = request.outputs.iter().map(|o| (o.name.as_str(), o.binary, o.classification)).collect();
    assert_eq!(outputs, [("y", Some(false), 0), ("z", Some(true), 2)]);
}

#[test]
fn requests_in_binary_are_read() {
    let body = include_bytes!("../../../../tests/data/serving/binary.body");
    let request = parse_infer(body[..].into(), Some(436), &specs(&INPUTS), &limits()).unwrap();
    assert_eq!(request.inputs.len(), 5);
    assert!(request.binary_data_output);
    check_inputs(&request);
}

#[test]
fn the_response_that_the_client_reads_is_printed() {
    let y = Tensor::from_slice([2, 2], &[0.1f32, -1e10, f32::INFINITY, 3.0]).unwrap();
    let h = Tensor::vector(&[f16::from_f32(0.5)]).unwrap();
    let s = Tensor::from_strings([2], vec!["a\"\u{1}é".into(), "".into()]).unwrap();
    let n = Tensor::from_slice([1, 2], &[u64::MAX, 0]).unwrap();
    let b = Tensor::vector(&[true, false]).unwrap();
    let requested = |name: &str, binary| RequestedOutput { name: name.into(), binary, ..RequestedOutput::default() };
    let outputs = vec![requested("y", Some(false)), requested("s", None), requested("n", Some(false)), requested("b", Some(false))];
    let request = InferRequest { id: Some("r-1".into()), binary_data_output: true, outputs, ..InferRequest::default() };
    let body = print_infer("m", "2", &request, &[("y", &y), ("h", &h), ("s", &s), ("n", &n), ("b", &b)]).unwrap();
    assert_eq!(body.json_len, Some(441));
    let expected = include_bytes!("../../../../tests/data/serving/response.body");
    assert_eq!(String::from_utf8_lossy(&body.into_bytes()), String::from_utf8_lossy(expected));
}
