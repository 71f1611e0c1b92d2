//! Conversions between the bytes of requests and responses and tensors.
#![allow(clippy::unwrap_used, clippy::panic)]

mod clients;
mod examples;
mod hostile;
mod infer;
mod messages;
mod openapi;
mod predict;
mod raw;
mod round_trips;

use flowmill::{DType, PartialShape, Result, Signature, TensorSpec};
use flowmill_serving::formats::Limits;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tensors of a signature of any shape.
fn specs(tensors: &[(&str, DType)]) -> BTreeMap<String, TensorSpec> {
    let spec = |dtype| TensorSpec { tensor: "x:0".into(), dtype, shape: PartialShape::unknown(), part_of: None };
    tensors.iter().map(|&(name, dtype)| (name.to_owned(), spec(dtype))).collect()
}

/// A model whose signature `serving_default` has these inputs, and whose signature `strings` has an input `s` of strings.
fn model(inputs: &[(&str, DType)]) -> impl Fn(&str) -> Result<Arc<Signature>> {
    let default = Arc::new(Signature { inputs: specs(inputs), ..Signature::default() });
    let strings = Arc::new(Signature { inputs: specs(&[("s", DType::String)]), ..Signature::default() });
    move |name| match name {
        "serving_default" => Ok(default.clone()),
        "strings" => Ok(strings.clone()),
        _ => Err(flowmill::Error::failed_precondition(format!("no signature '{name}'"))),
    }
}

fn limits() -> Limits {
    Limits::default()
}

/// All types that JSON has values of, in either protocol.
const JSON_TYPES: [DType; 12] = [
    DType::F32,
    DType::F64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Bool,
    DType::String,
];
