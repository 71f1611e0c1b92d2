//! Responses to inferences.

use super::InferRequest;
use crate::formats::json::print::{PrintElement, print_string};
use crate::formats::raw::{datatype, raw_from_tensor};
use flowmill::tensor::{bail, for_dtype};
use flowmill::{Bytes, DType, Element, Result, Shape, Tensor};

/// The body of a response to an inference.
#[derive(Clone, Debug, Default)]
pub struct InferBody {
    /// The value of the header `Inference-Header-Content-Length`, if there are binary tensor data. The content type is `application/octet-stream` then,
    /// and `application/json` otherwise.
    pub json_len: Option<usize>,
    /// The JSON text, then the data of each binary output.
    pub segments: Vec<Bytes>,
}

impl InferBody {
    /// Returns the number of bytes of all segments.
    pub fn num_bytes(&self) -> usize {
        self.segments.iter().map(Bytes::len).sum()
    }

    /// Returns all segments as one; several are copied.
    pub fn into_bytes(mut self) -> Bytes {
        if self.segments.len() == 1 {
            return self.segments.pop().unwrap_or_default();
        }
        self.segments.concat().into()
    }
}

/// Returns the body of the response to `request`. Outputs are binary data if the request wants them so. An output of which the request wants classes is
/// passed as its values. Floats that are not finite are printed as `NaN`, `Infinity` and `-Infinity`, which JSON does not have and Python reads.
///
/// # Errors
/// `Unimplemented` for an output of a type that the protocol does not have, or has not in JSON (FP16 and BF16), and the errors of [`classify`].
pub fn print_infer(model_name: &str, model_version: &str, request: &InferRequest, outputs: &[(&str, &Tensor)]) -> Result<InferBody> {
    let mut json = b"{\"model_name\":".to_vec();
    print_string(model_name.as_bytes(), &mut json);
    json.extend_from_slice(b",\"model_version\":");
    print_string(model_version.as_bytes(), &mut json);
    if let Some(id) = &request.id {
        json.extend_from_slice(b",\"id\":");
        print_string(id.as_bytes(), &mut json);
    }
    json.extend_from_slice(b",\"outputs\":[");
    let mut segments = vec![Bytes::new()];
    for (i, (name, tensor)) in outputs.iter().enumerate() {
        if i > 0 {
            json.push(b',');
        }
        let tensor = with_classes(name, tensor, request)?;
        let binary = print_output(name, &tensor, request.is_binary(name), &mut json);
        segments.extend(binary.map_err(|error| at_output(error, name))?);
    }
    json.extend_from_slice(b"]}");
    let json_len = (segments.len() > 1).then_some(json.len());
    segments[0] = json.into();
    Ok(InferBody { json_len, segments })
}

/// Returns the output, or its classes if the request wants them.
fn with_classes(name: &str, tensor: &Tensor, request: &InferRequest) -> Result<Tensor> {
    match request.outputs.iter().find(|output| output.name == name).map_or(0, |output| output.classification) {
        0 => Ok(tensor.clone()),
        count => classify(tensor, count).map_err(|error| at_output(error, name)),
    }
}

fn at_output(error: flowmill::Error, name: &str) -> flowmill::Error {
    error.context(format_args!("output '{name}'"))
}

/// Prints an output and returns its binary data, if it has them.
fn print_output(name: &str, tensor: &Tensor, is_binary: bool, json: &mut Vec<u8>) -> Result<Option<Bytes>> {
    json.extend_from_slice(b"{\"name\":");
    print_string(name.as_bytes(), json);
    json.extend_from_slice(b",\"datatype\":\"");
    json.extend_from_slice(datatype(tensor.dtype())?.as_bytes());
    json.extend_from_slice(b"\",\"shape\":");
    print_list(tensor.shape().dims(), json);
    if is_binary {
        let raw = raw_from_tensor(tensor)?;
        json.extend_from_slice(b",\"parameters\":{\"binary_data_size\":");
        raw.len().print(json);
        json.extend_from_slice(b"}}");
        return Ok(Some(raw));
    }
    json.extend_from_slice(b",\"data\":");
    if tensor.dtype() == DType::String {
        let strings = tensor.as_strings()?;
        if let Some(index) = strings.iter().position(|string| std::str::from_utf8(string).is_err()) {
            bail!(InvalidArgument, "element {index} is not UTF-8, which JSON needs; ask for it with the parameter 'binary_data'");
        }
        print_list(strings, json);
    } else {
        for_dtype!(tensor.dtype(), [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool], T => print_list(tensor.as_slice::<T>()?, json),
            _ => bail!(Unimplemented, "JSON has no values of type {}; ask for it with the parameter 'binary_data'", tensor.dtype()))
    }
    json.push(b'}');
    Ok(None)
}

fn print_list<T: PrintElement>(values: &[T], json: &mut Vec<u8>) {
    json.push(b'[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            json.push(b',');
        }
        value.print(json);
    }
    json.push(b']');
}

/// Returns the `count` largest values of each row as strings `value:index`, the largest first and of equal ones the first. Rows are those of the first
/// dimension; a vector is one row. The result has shape `[rows, count]` or `[count]`, and less than `count` if a row has less.
///
/// # Errors
/// `InvalidArgument` for a scalar and for a type without an order.
pub fn classify(tensor: &Tensor, count: usize) -> Result<Tensor> {
    let (rows, row_size) = match tensor.shape().dims() {
        [] => bail!(InvalidArgument, "a scalar has no classes"),
        [size] => (None, *size),
        [rows, inner @ ..] => (Some(*rows), inner.iter().product()),
    };
    let count = count.min(row_size);
    let mut classes = Vec::new();
    if row_size > 0 {
        for row in scores(tensor)?.chunks_exact(row_size) {
            push_largest(row, count, &mut classes);
        }
    }
    let shape: Shape = rows.into_iter().chain([count]).collect();
    Tensor::from_strings(shape, classes)
}

/// Returns the elements as `f64`, which holds each of them exactly.
fn scores(tensor: &Tensor) -> Result<Vec<f64>> {
    fn widened<T: Element + Into<f64>>(tensor: &Tensor) -> Result<Vec<f64>> {
        Ok(tensor.as_slice::<T>()?.iter().map(|&score| score.into()).collect())
    }
    for_dtype!(tensor.dtype(), [f32, f64, flowmill::f16, flowmill::bf16, i8, i16, i32, u8, u16, u32], T => widened::<T>(tensor),
        _ => bail!(InvalidArgument, "values of type {} are not scores of classes", tensor.dtype()))
}

/// Appends the `count` largest scores of a row with their indices, the largest first. NaN is the smallest.
fn push_largest(row: &[f64], count: usize, classes: &mut Vec<Bytes>) {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| row[b].partial_cmp(&row[a]).unwrap_or_else(|| row[a].is_nan().cmp(&row[b].is_nan())));
    classes.extend(order[..count].iter().map(|&index| Bytes::from(format!("{:.6}:{index}", row[index]))));
}
