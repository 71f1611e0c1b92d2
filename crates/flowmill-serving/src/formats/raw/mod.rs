//! Tensors in the messages of the Open Inference Protocol: names of datatypes, little-endian elements, and typed contents.

mod contents;

pub use contents::{tensor_from_contents, tensor_to_contents};

use super::Limits;
use flowmill::proto::TensorProto;
use flowmill::tensor::bail;
use flowmill::{Bytes, DType, Result, Shape, Tensor};
use std::collections::BTreeMap;

/// The datatypes of the Open Inference Protocol, and Triton's BF16.
const DATATYPES: [(DType, &str); 14] = [
    (DType::Bool, "BOOL"),
    (DType::U8, "UINT8"),
    (DType::U16, "UINT16"),
    (DType::U32, "UINT32"),
    (DType::U64, "UINT64"),
    (DType::I8, "INT8"),
    (DType::I16, "INT16"),
    (DType::I32, "INT32"),
    (DType::I64, "INT64"),
    (DType::F16, "FP16"),
    (DType::BF16, "BF16"),
    (DType::F32, "FP32"),
    (DType::F64, "FP64"),
    (DType::String, "BYTES"),
];

/// Returns the protocol's name of a type.
///
/// # Errors
/// `Unimplemented` for a type that the protocol does not have, such as a complex or quantized one.
pub fn datatype(dtype: DType) -> Result<&'static str> {
    match DATATYPES.iter().find(|(other, _)| *other == dtype) {
        Some((_, name)) => Ok(name),
        None => bail!(Unimplemented, "the Open Inference Protocol has no datatype for {dtype}"),
    }
}

/// Returns the type with one of the protocol's names.
///
/// # Errors
/// `InvalidArgument` for another name.
pub fn dtype_from_datatype(name: &str) -> Result<DType> {
    match DATATYPES.iter().find(|(_, other)| *other == name) {
        Some((dtype, _)) => Ok(*dtype),
        None => bail!(InvalidArgument, "unknown datatype '{}'", name.escape_debug()),
    }
}

/// Returns the tensors of TensorFlow's messages by name.
///
/// # Errors
/// `InvalidArgument` and `Unimplemented` as [`Tensor::from_proto`], with the name; `ResourceExhausted` past a limit.
pub fn tensors_from_protos(inputs: BTreeMap<String, TensorProto>, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    if inputs.len() > limits.max_items {
        bail!(ResourceExhausted, "the request has {} inputs, more than {}", inputs.len(), limits.max_items);
    }
    let mut left = limits.max_elements;
    let mut tensor = |value: &TensorProto| {
        // A short message may be a large tensor: the last value of a typed field is repeated.
        let shape = value.tensor_shape.as_ref().map_or(Ok(Shape::scalar()), Shape::from_proto)?;
        left = left.checked_sub(shape.num_elements()).ok_or_else(|| super::json::elements::too_many(limits))?;
        Tensor::from_proto(value)
    };
    let named = |(name, value): (String, TensorProto)| match tensor(&value) {
        Ok(value) => Ok((name, value)),
        Err(error) => Err(error.context(format_args!("input '{name}'"))),
    };
    inputs.into_iter().map(named).collect()
}

/// Checks a shape of a request.
///
/// # Errors
/// `InvalidArgument` for negative sizes and for products that do not fit, `ResourceExhausted` for more elements than the limit.
pub(crate) fn checked_shape(shape: &[i64], limits: &Limits) -> Result<Shape> {
    let shape = Shape::from_i64(shape)?;
    if shape.num_elements() > limits.max_elements {
        return Err(super::json::elements::too_many(limits));
    }
    Ok(shape)
}

/// The bytes of the length before each element of type BYTES.
const LENGTH_BYTES: usize = 4;

/// Returns a tensor over little-endian elements in row-major order. Elements of BYTES are a length of 4 bytes and so many bytes each. The result
/// refers to `bytes` if they are aligned for the type, and always for BYTES.
///
/// # Errors
/// `InvalidArgument` if the bytes are not as many elements as the shape has, `ResourceExhausted` past a limit.
pub fn tensor_from_raw(dtype: DType, shape: &[i64], bytes: Bytes, limits: &Limits) -> Result<Tensor> {
    let shape = checked_shape(shape, limits)?;
    if dtype != DType::String {
        return Tensor::from_bytes(dtype, shape, bytes);
    }
    let count = shape.num_elements();
    if bytes.len() / LENGTH_BYTES < count {
        bail!(InvalidArgument, "{} bytes are too few for the lengths of {count} elements of type BYTES", bytes.len());
    }
    let mut strings = Vec::with_capacity(count);
    let mut at = 0;
    for i in 0..count {
        let length = bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|length| u32::from_le_bytes(*length) as usize);
        let start = at + LENGTH_BYTES;
        let Some(length) = length.filter(|length| *length <= bytes.len() - start) else {
            bail!(InvalidArgument, "element {i} of type BYTES goes beyond the {} bytes of its tensor", bytes.len());
        };
        strings.push(bytes.slice(start..start + length));
        at = start + length;
    }
    if at < bytes.len() {
        bail!(InvalidArgument, "{} bytes after the last of {count} elements of type BYTES", bytes.len() - at);
    }
    Tensor::from_strings(shape, strings)
}

/// Returns the elements of a tensor in the form that [`tensor_from_raw`] reads. Elements of large tensors are not copied: the result refers to the
/// tensor.
///
/// # Errors
/// `Unimplemented` for a type that the protocol does not have, `InvalidArgument` for a string of more than 2^32 - 1 bytes.
pub fn raw_from_tensor(tensor: &Tensor) -> Result<Bytes> {
    /// Elements of fewer bytes are copied.
    const MIN_SHARED_BYTES: usize = 4096;
    datatype(tensor.dtype())?;
    if tensor.dtype() == DType::String {
        return raw_strings(tensor.as_strings()?);
    }
    let bytes = tensor.as_bytes()?;
    if bytes.len() < MIN_SHARED_BYTES {
        return Ok(Bytes::copy_from_slice(bytes));
    }
    Ok(Bytes::from_owner(Elements(tensor.clone())))
}

/// The bytes of a dense tensor.
struct Elements(Tensor);

impl AsRef<[u8]> for Elements {
    fn as_ref(&self) -> &[u8] {
        // A dense tensor in the host's memory has bytes.
        self.0.as_bytes().unwrap_or_default()
    }
}

fn raw_strings(strings: &[Bytes]) -> Result<Bytes> {
    let mut raw = Vec::with_capacity(strings.iter().map(|string| LENGTH_BYTES + string.len()).sum());
    for string in strings {
        let Ok(length) = u32::try_from(string.len()) else {
            bail!(InvalidArgument, "a string of {} bytes is too long for type BYTES", string.len());
        };
        raw.extend_from_slice(&length.to_le_bytes());
        raw.extend_from_slice(string);
    }
    Ok(raw.into())
}
