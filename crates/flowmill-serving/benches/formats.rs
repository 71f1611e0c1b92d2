//! Measures the parsing and printing of tensors in requests and responses.
//!
//! Run with `cargo bench -p flowmill-serving --bench formats`.
#![allow(clippy::unwrap_used)]

use flowmill::{Bytes, DType, PartialShape, Result, Signature, Tensor, TensorSpec};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::kserve::{InferRequest, parse_infer, print_infer};
use flowmill_serving::formats::tfs::{Layout, parse_predict, print_predict};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MILLION: usize = 1 << 20;
/// The inputs of a small model.
const FEW: usize = 64;
const ROUNDS: usize = 7;

/// Returns the least time of a call.
fn time<R>(calls: usize, mut f: impl FnMut() -> R) -> Duration {
    let round = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| drop(black_box(f())));
        start.elapsed() / calls as u32
    };
    (0..ROUNDS).map(round).min().unwrap()
}

fn report(what: &str, time: Duration, bytes: usize) {
    let micros = time.as_secs_f64() * 1e6;
    println!("{what:<52} {micros:>10.1} µs {:>8.0} MB/s", bytes as f64 / micros);
}

/// Values between -1 and 1 of a generator of pseudo-random numbers.
fn values(count: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn list(values: impl IntoIterator<Item = impl Display>) -> String {
    let mut text = String::from("[");
    for (i, value) in values.into_iter().enumerate() {
        write!(text, "{}{value}", if i > 0 { ", " } else { "" }).unwrap();
    }
    text + "]"
}

fn specs(dtype: DType) -> BTreeMap<String, TensorSpec> {
    [("x".to_owned(), TensorSpec { tensor: "x:0".into(), dtype, shape: PartialShape::unknown(), part_of: None })].into()
}

fn parse(what: &str, dtype: DType, calls: usize, body: &str) {
    let signature = Arc::new(Signature { inputs: specs(dtype), ..Signature::default() });
    let signature = move |_: &str| -> Result<_> { Ok(signature.clone()) };
    let limits = Limits::default();
    report(what, time(calls, || parse_predict(body.as_bytes(), &signature, &limits).unwrap()), body.len());
}

fn print(what: &str, layout: Layout, calls: usize, tensor: &Tensor) {
    let mut out = Vec::new();
    let time = time(calls, || {
        out.clear();
        print_predict(layout, &[("y", tensor)], &mut out).unwrap();
    });
    report(what, time, out.len());
}

fn infer(what: &str, calls: usize, body: Bytes, json_len: Option<usize>) {
    let (specs, limits) = (specs(DType::F32), Limits::default());
    report(what, time(calls, || parse_infer(body.clone(), json_len, &specs, &limits).unwrap()), body.len());
}

fn infer_request(count: usize, data: &str) -> String {
    format!("{{\"inputs\":[{{\"name\":\"x\",\"shape\":[1,{count}],\"datatype\":\"FP32\",{data}}}]}}")
}

fn main() {
    let (few, many) = (values(FEW), values(MILLION));
    let rows = |values: &[f32]| format!("{{\"instances\": [{}]}}", list(values));
    parse("parse instances, 64 float32", DType::F32, 10_000, &rows(&few));
    parse("parse instances, 2^20 float32", DType::F32, 1, &rows(&many));
    let wide = list(many.iter().map(|&value| f64::from(value)));
    parse("parse inputs, 2^20 float32 as Python's doubles", DType::F32, 1, &format!("{{\"inputs\": {wide}}}"));
    parse("parse inputs, 2^20 float64", DType::F64, 1, &format!("{{\"inputs\": {wide}}}"));
    parse("parse inputs, 2^20 int32", DType::I32, 1, &format!("{{\"inputs\": {}}}", list((0..MILLION).map(|i| i % 1000))));
    let objects = list(few.iter().cycle().take(MILLION / 8).map(|value| format!("{{\"x\": {value}}}")));
    parse("parse instances, 2^17 objects", DType::F32, 1, &format!("{{\"instances\": {objects}}}"));

    let data = |values: &[f32]| format!("\"data\":{}", list(values));
    infer("parse infer, 64 float32 in JSON", 10_000, infer_request(FEW, &data(&few)).into(), None);
    infer("parse infer, 2^20 float32 in JSON", 1, infer_request(MILLION, &data(&many)).into(), None);
    for (what, values, calls) in [("parse infer, 64 float32 in binary", &few, 10_000), ("parse infer, 2^20 float32 in binary", &many, 1000)]
    {
        let tensor = Tensor::vector(values).unwrap();
        let raw = tensor.as_bytes().unwrap();
        let json = infer_request(values.len(), &format!("\"parameters\":{{\"binary_data_size\":{}}}", raw.len()));
        // Padding aligns the elements, as the client of a server may or may not do.
        let json = format!("{json}{}", " ".repeat(json.len().next_multiple_of(16) - json.len()));
        infer(what, calls, [json.as_bytes(), raw].concat().into(), Some(json.len()));
    }

    let (few, many) = (Tensor::from_slice([1, FEW], &few).unwrap(), Tensor::from_slice([MILLION / FEW, FEW], &many).unwrap());
    print("print predictions, 64 float32", Layout::Row, 10_000, &few);
    print("print predictions, 2^20 float32", Layout::Row, 1, &many);
    print("print outputs, 2^20 float32", Layout::Column, 1, &many);
    let request = InferRequest::default();
    let body = print_infer("m", "1", &request, &[("y", &many)]).unwrap();
    report("print infer, 2^20 float32 in JSON", time(1, || print_infer("m", "1", &request, &[("y", &many)]).unwrap()), body.num_bytes());
    let request = InferRequest { binary_data_output: true, ..request };
    report("print infer, 2^20 float32 in binary", time(1000, || print_infer("m", "1", &request, &[("y", &many)]).unwrap()), 4 * MILLION);
}
