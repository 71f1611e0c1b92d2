//! Tensors on the wire: `TensorProto` in every encoding that TensorFlow writes.

use crate::{Bytes, Complex, DType, Element, Error, PartialShape, ResourceHandle, Result, Shape, Tensor, bail, bf16, error, f16};
use flowmill_proto::encode_varint;
use flowmill_proto::resource_handle_proto::DtypeAndShape;
use flowmill_proto::wire::take_varint;
use flowmill_proto::{ResourceHandleProto, TensorProto, TensorShapeProto};

impl Shape {
    /// Converts a shape message in which every size is known.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown rank or size, too many dimensions or too many elements.
    pub fn from_proto(proto: &TensorShapeProto) -> Result<Shape> {
        if proto.unknown_rank {
            bail!(InvalidArgument, "Shape is not fully defined: its rank is unknown");
        }
        if proto.dim.len() > Shape::MAX_RANK {
            bail!(InvalidArgument, "shape has {} dimensions, more than {}", proto.dim.len(), Shape::MAX_RANK);
        }
        let dims: Vec<i64> = proto.dim.iter().map(|d| d.size).collect();
        Shape::from_i64(&dims)
    }

    /// Returns the wire form.
    pub fn to_proto(&self) -> TensorShapeProto {
        TensorShapeProto::of(self.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)))
    }
}

impl PartialShape {
    /// Converts a shape message; negative sizes are unknown.
    pub fn from_proto(proto: &TensorShapeProto) -> PartialShape {
        if proto.unknown_rank { PartialShape::unknown() } else { proto.dim.iter().map(|d| d.size.max(-1)).collect() }
    }

    /// Returns the wire form.
    pub fn to_proto(&self) -> TensorShapeProto {
        match self.dims() {
            Some(dims) => TensorShapeProto::of(dims.iter().map(|&d| d.max(-1))),
            None => TensorShapeProto { unknown_rank: true, ..Default::default() },
        }
    }
}

impl Tensor {
    /// Returns the tensor a message describes.
    ///
    /// `tensor_content` is not copied if it is aligned for the type: the tensor then keeps the file alive that the message was
    /// decoded from. Fewer values than elements in a typed field mean that the last one is repeated; none at all mean zeros; more
    /// than elements are not read.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown type, a shape that is not fully defined, or `tensor_content` of another size than the shape's;
    /// `ResourceExhausted` if repeated values would take more than the memory limit; `Unimplemented` for variants.
    pub fn from_proto(proto: &TensorProto) -> Result<Tensor> {
        let Some(dtype) = DType::from_number(proto.dtype) else {
            bail!(InvalidArgument, "Cannot parse tensor from proto: {} is not the number of a data type", proto.dtype);
        };
        let shape = match &proto.tensor_shape {
            Some(shape) => Shape::from_proto(shape)?,
            None => Shape::scalar(),
        };
        if !proto.tensor_content.is_empty() {
            return match dtype {
                DType::String => {
                    let strings = decode_strings(&proto.tensor_content, shape.checked_num_elements()?)?;
                    Tensor::from_strings(shape, strings)
                }
                DType::Resource | DType::Variant => Err(not_parsed(dtype, &shape, "tensor_content")),
                _ => {
                    Tensor::from_bytes(dtype, shape, proto.tensor_content.clone()).map_err(|e| e.context("Cannot parse tensor from proto"))
                }
            };
        }
        match dtype {
            DType::F32 => repeat_last(shape, &proto.float_val, |&v| v),
            DType::F64 => repeat_last(shape, &proto.double_val, |&v| v),
            DType::I32 => repeat_last(shape, &proto.int_val, |&v| v),
            DType::I64 => repeat_last(shape, &proto.int64_val, |&v| v),
            DType::U32 => repeat_last(shape, &proto.uint32_val, |&v| v),
            DType::U64 => repeat_last(shape, &proto.uint64_val, |&v| v),
            DType::I16 => repeat_last(shape, &proto.int_val, |&v| v as i16),
            DType::U16 => repeat_last(shape, &proto.int_val, |&v| v as u16),
            DType::I8 => repeat_last(shape, &proto.int_val, |&v| v as i8),
            DType::U8 => repeat_last(shape, &proto.int_val, |&v| v as u8),
            DType::Bool => repeat_last(shape, &proto.bool_val, |&v| v),
            DType::F16 => repeat_last(shape, &proto.half_val, |&v| f16::from_bits(v as u16)),
            DType::BF16 => repeat_last(shape, &proto.half_val, |&v| bf16::from_bits(v as u16)),
            DType::C64 => repeat_last(shape, pairs(&proto.scomplex_val)?, |&[re, im]| Complex::new(re, im)),
            DType::C128 => repeat_last(shape, pairs(&proto.dcomplex_val)?, |&[re, im]| Complex::new(re, im)),
            DType::QI32 => repeat_last(shape, &proto.int_val, |&v| v)?.bitcast(dtype),
            DType::QI16 | DType::QU16 => repeat_last(shape, &proto.int_val, |&v| v as i16)?.bitcast(dtype),
            DType::QI8 | DType::QU8 | DType::I4 | DType::U4 | DType::I2 | DType::U2 => {
                repeat_last(shape, &proto.int_val, |&v| v as i8)?.bitcast(dtype)
            }
            DType::F8E5M2 | DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E4M3B11FNUZ | DType::F8E5M2FNUZ => {
                repeat_last(shape, &proto.float8_val, |&v| v)?.bitcast(dtype)
            }
            DType::String => repeat_last_string(shape, &proto.string_val),
            DType::Resource => {
                Tensor::from_resources(shape, proto.resource_handle_val.iter().map(handle_from_proto).collect::<Result<_>>()?)
            }
            DType::Variant => bail!(Unimplemented, "Cannot parse tensor from proto: variants have no wire form here"),
        }
    }

    /// Returns the message for this tensor with all elements in `tensor_content`.
    ///
    /// # Errors
    /// `InvalidArgument` for resource handles and variants, which are not bytes.
    pub fn to_content_proto(&self) -> Result<TensorProto> {
        let content = if self.dtype() == DType::String { encode_strings(self.as_strings()?) } else { self.as_bytes()?.to_vec() };
        let tensor_shape = Some(self.shape().to_proto());
        Ok(TensorProto { dtype: self.dtype().number(), tensor_shape, tensor_content: content.into(), ..Default::default() })
    }

    /// Returns the message for this tensor, as TensorFlow's `make_tensor_proto` writes it: `tensor_content` for more than one element of a
    /// real type, the typed field for everything else.
    ///
    /// # Errors
    /// `Unimplemented` for variants, which have no wire form.
    pub fn to_proto(&self) -> Result<TensorProto> {
        let dtype = self.dtype();
        let mut proto = TensorProto { dtype: dtype.number(), tensor_shape: Some(self.shape().to_proto()), ..Default::default() };
        if self.num_elements() > 1 && is_content_type(dtype) {
            proto.tensor_content = Bytes::copy_from_slice(self.as_bytes()?);
            return Ok(proto);
        }
        match dtype {
            DType::F32 => proto.float_val = self.as_slice::<f32>()?.to_vec(),
            DType::F64 => proto.double_val = self.as_slice::<f64>()?.to_vec(),
            DType::I64 => proto.int64_val = self.as_slice::<i64>()?.to_vec(),
            DType::U32 => proto.uint32_val = self.as_slice::<u32>()?.to_vec(),
            DType::U64 => proto.uint64_val = self.as_slice::<u64>()?.to_vec(),
            DType::Bool => proto.bool_val = self.as_slice::<bool>()?.to_vec(),
            DType::F16 => proto.half_val = self.as_slice::<f16>()?.iter().map(|v| i32::from(v.to_bits())).collect(),
            DType::BF16 => proto.half_val = self.as_slice::<bf16>()?.iter().map(|v| i32::from(v.to_bits())).collect(),
            DType::C64 => proto.scomplex_val = self.as_slice::<Complex<f32>>()?.iter().flat_map(|v| [v.re, v.im]).collect(),
            DType::C128 => proto.dcomplex_val = self.as_slice::<Complex<f64>>()?.iter().flat_map(|v| [v.re, v.im]).collect(),
            DType::I32 | DType::QI32 => proto.int_val = widen::<i32>(self, DType::I32)?,
            DType::I16 | DType::QI16 => proto.int_val = widen::<i16>(self, DType::I16)?,
            DType::U16 | DType::QU16 => proto.int_val = widen::<u16>(self, DType::U16)?,
            DType::I8 | DType::QI8 | DType::I4 | DType::I2 => proto.int_val = widen::<i8>(self, DType::I8)?,
            DType::U8 | DType::QU8 | DType::U4 | DType::U2 => proto.int_val = widen::<u8>(self, DType::U8)?,
            DType::F8E5M2 | DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E4M3B11FNUZ | DType::F8E5M2FNUZ => {
                proto.float8_val = Bytes::copy_from_slice(self.as_bytes()?);
            }
            DType::String => proto.string_val = self.as_strings()?.to_vec(),
            DType::Resource => proto.resource_handle_val = self.as_resources()?.iter().map(handle_to_proto).collect(),
            DType::Variant => bail!(Unimplemented, "a tensor of type variant has no wire form"),
        }
        Ok(proto)
    }
}

/// The types `make_tensor_proto` writes as raw bytes.
fn is_content_type(dtype: DType) -> bool {
    use DType::*;
    !matches!(dtype, U16 | Bool | C64 | C128 | I4 | U4 | I2 | U2 | String | Resource | Variant)
}

fn not_parsed(dtype: DType, shape: &Shape, what: impl std::fmt::Display) -> Error {
    error!(InvalidArgument, "Cannot parse tensor from proto: {what} for a tensor of type {dtype} and shape {shape}")
}

/// Returns the values that the shape has room for: more than that are legal and not read.
fn cut_off<'v, V>(shape: &Shape, values: &'v [V]) -> Result<&'v [V]> {
    Ok(&values[..values.len().min(shape.checked_num_elements()?)])
}

/// Returns a tensor of the values, the last of which fills what they leave.
fn repeat_last<T: Element, V>(shape: Shape, values: &[V], convert: impl Fn(&V) -> T) -> Result<Tensor> {
    let values = cut_off(&shape, values)?;
    let Some(last) = values.last() else { return Tensor::zeros(T::DTYPE, shape) };
    let mut tensor = Tensor::uninit(T::DTYPE, shape)?;
    let (given, rest) = tensor.as_mut_slice::<T>()?.split_at_mut(values.len());
    for (out, value) in given.iter_mut().zip(values) {
        *out = convert(value);
    }
    rest.fill(convert(last));
    Ok(tensor)
}

fn repeat_last_string(shape: Shape, values: &[Bytes]) -> Result<Tensor> {
    let (values, n) = (cut_off(&shape, values)?, shape.num_elements());
    if values.len() < n && n > crate::memory_limit() / size_of::<Bytes>() {
        bail!(ResourceExhausted, "OOM when allocating tensor with shape{shape} and type string");
    }
    let mut strings = values.to_vec();
    strings.resize(n, values.last().cloned().unwrap_or_default());
    Tensor::from_strings(shape, strings)
}

fn pairs<T>(values: &[T]) -> Result<&[[T; 2]]> {
    match values.as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => bail!(InvalidArgument, "Cannot parse tensor from proto: {} numbers cannot be paired to complex values", values.len()),
    }
}

/// `n` strings in `tensor_content`: all lengths as varints, then all bytes. The strings share the memory of `content`.
fn decode_strings(content: &Bytes, n: usize) -> Result<Vec<Bytes>> {
    let malformed = || error!(InvalidArgument, "Cannot parse tensor from proto: malformed list of {n} strings");
    if n > content.len() {
        return Err(malformed());
    }
    let mut rest = &content[..];
    let mut lengths = Vec::with_capacity(n);
    for _ in 0..n {
        let length = take_varint(&mut rest).and_then(|length| usize::try_from(length).ok());
        lengths.push(length.ok_or_else(malformed)?);
    }
    let mut at = content.len() - rest.len();
    let mut strings = Vec::with_capacity(n);
    for length in lengths {
        let end = at.checked_add(length).filter(|&end| end <= content.len()).ok_or_else(malformed)?;
        strings.push(content.slice(at..end));
        at = end;
    }
    if at == content.len() { Ok(strings) } else { Err(malformed()) }
}

/// The inverse of [`decode_strings`].
fn encode_strings(strings: &[Bytes]) -> Vec<u8> {
    let mut content = Vec::new();
    strings.iter().for_each(|string| encode_varint(string.len() as u64, &mut content));
    strings.iter().for_each(|string| content.extend_from_slice(string));
    content
}

fn widen<T: Element + Into<i32>>(tensor: &Tensor, as_type: DType) -> Result<Vec<i32>> {
    let tensor = tensor.clone().bitcast(as_type)?;
    Ok(tensor.as_slice::<T>()?.iter().map(|&v| v.into()).collect())
}

/// Returns a handle that names its object without holding it.
fn handle_from_proto(proto: &ResourceHandleProto) -> Result<ResourceHandle> {
    let mut elements = Vec::with_capacity(proto.dtypes_and_shapes.len());
    for element in &proto.dtypes_and_shapes {
        let Some(dtype) = DType::from_number(element.dtype) else {
            bail!(InvalidArgument, "Cannot parse resource handle: {} is not the number of a data type", element.dtype);
        };
        elements.push((dtype, element.shape.as_ref().map_or_else(PartialShape::unknown, PartialShape::from_proto)));
    }
    let handle = ResourceHandle::new(&proto.container, &proto.name, None, elements);
    Ok(if proto.device.is_empty() { handle } else { handle.on_device(proto.device.as_str().into()) })
}

fn handle_to_proto(handle: &ResourceHandle) -> ResourceHandleProto {
    let elements = handle.elements().iter();
    ResourceHandleProto {
        device: handle.device().map(|device| device.to_string()).unwrap_or_default(),
        container: handle.container().to_owned(),
        name: handle.name().to_owned(),
        dtypes_and_shapes: elements
            .map(|(dtype, shape)| DtypeAndShape { dtype: dtype.number(), shape: Some(shape.to_proto()), ..Default::default() })
            .collect(),
        ..Default::default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Code;

    fn proto(dtype: DType, dims: &[i64]) -> TensorProto {
        TensorProto { dtype: dtype.number(), tensor_shape: Some(TensorShapeProto::of(dims.iter().copied())), ..Default::default() }
    }

    #[test]
    fn every_type_comes_back_from_its_message() {
        for dtype in DType::all().filter(|t| t.size().is_some()) {
            let size = dtype.size().unwrap();
            for dims in [&[][..], &[1], &[7], &[2, 3], &[0, 4]] {
                let shape = Shape::new(dims);
                let bytes: Vec<u8> =
                    (0..shape.num_elements() * size).map(|i| if dtype == DType::Bool { i as u8 % 2 } else { i as u8 % 7 }).collect();
                let tensor = Tensor::from_bytes(dtype, shape, bytes.into()).unwrap();
                let message = tensor.to_proto().unwrap();
                assert_eq!(Tensor::from_proto(&message).unwrap(), tensor, "{dtype}");
                assert_eq!(message.tensor_content.is_empty(), tensor.num_elements() < 2 || !is_content_type(dtype), "{dtype}");
            }
        }
        let strings = Tensor::from_strings([2], vec!["a".into(), Bytes::new()]).unwrap();
        assert_eq!(Tensor::from_proto(&strings.to_proto().unwrap()).unwrap(), strings);
        let handle = Tensor::resource(ResourceHandle::new("c", "v", None, vec![(DType::F32, PartialShape::new(&[2, -1]))]));
        let again = Tensor::from_proto(&handle.to_proto().unwrap()).unwrap();
        assert_eq!(again.as_resources().unwrap()[0].elements(), [(DType::F32, PartialShape::new(&[2, -1]))]);
        assert_eq!(again, handle);
    }

    #[test]
    fn the_last_value_is_repeated_and_none_is_zero() {
        let ones = TensorProto { half_val: vec![0x3c00, 0x4000], ..proto(DType::F16, &[4]) };
        let halves = Tensor::from_proto(&ones).unwrap();
        assert_eq!(halves.as_slice::<f16>().unwrap().iter().map(|h| h.to_f32()).collect::<Vec<_>>(), [1.0, 2.0, 2.0, 2.0]);
        let complex = TensorProto { scomplex_val: vec![1.0, -1.0], ..proto(DType::C64, &[2]) };
        assert_eq!(Tensor::from_proto(&complex).unwrap().as_slice::<Complex<f32>>().unwrap(), [Complex::new(1.0, -1.0); 2]);
        let strings = TensorProto { string_val: vec!["x".into()], ..proto(DType::String, &[2]) };
        assert_eq!(Tensor::from_proto(&strings).unwrap().as_strings().unwrap(), ["x", "x"]);
        assert_eq!(Tensor::from_proto(&proto(DType::I64, &[3])).unwrap().as_slice::<i64>().unwrap(), [0; 3]);
        let narrow = TensorProto { int_val: vec![-1], ..proto(DType::U8, &[2]) };
        assert_eq!(Tensor::from_proto(&narrow).unwrap().as_slice::<u8>().unwrap(), [255; 2]);
        // What there is no room for is not read, as in TensorFlow.
        let more = TensorProto { float_val: vec![1.0, 2.0, 3.0], ..proto(DType::F32, &[2]) };
        assert_eq!(Tensor::from_proto(&more).unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0]);
        let none = TensorProto { string_val: vec!["x".into()], ..proto(DType::String, &[0]) };
        assert_eq!(Tensor::from_proto(&none).unwrap().num_elements(), 0);
    }

    #[test]
    fn content_is_not_copied() {
        let file = Bytes::from(vec![1u8; 4096]);
        let start = file.as_ptr().align_offset(4);
        let message = TensorProto { tensor_content: file.slice(start..start + 400), ..proto(DType::F32, &[100]) };
        let tensor = Tensor::from_proto(&message).unwrap();
        assert_eq!(tensor.as_bytes().unwrap().as_ptr(), message.tensor_content.as_ptr());
        let packed = TensorProto { tensor_content: Bytes::from_static(&[1, 0, 2, b'a', b'b', b'c']), ..proto(DType::String, &[3]) };
        let strings = Tensor::from_proto(&packed).unwrap();
        assert_eq!(strings.as_strings().unwrap(), ["a", "", "bc"]);
        assert_eq!(strings.to_content_proto().unwrap(), packed);
        assert_eq!(tensor.to_content_proto().unwrap(), message);
    }

    #[test]
    fn malicious_messages_are_errors() {
        let code = |p: TensorProto| Tensor::from_proto(&p).unwrap_err().code();
        assert_eq!(code(TensorProto { float_val: vec![1.0], ..proto(DType::F32, &[1 << 40, 1 << 20]) }), Code::ResourceExhausted);
        assert_eq!(code(proto(DType::String, &[1 << 50])), Code::ResourceExhausted);
        assert_eq!(code(proto(DType::F32, &[1 << 40, 1 << 40])), Code::InvalidArgument);
        assert_eq!(code(proto(DType::F32, &[-1])), Code::InvalidArgument);
        assert_eq!(code(TensorProto { scomplex_val: vec![1.0; 3], ..proto(DType::C64, &[2]) }), Code::InvalidArgument);
        assert_eq!(code(TensorProto { tensor_content: Bytes::from_static(&[0; 5]), ..proto(DType::F32, &[2]) }), Code::InvalidArgument);
        assert_eq!(
            code(TensorProto { tensor_content: Bytes::from_static(&[255; 5]), ..proto(DType::String, &[1]) }),
            Code::InvalidArgument
        );
        assert_eq!(
            code(TensorProto { tensor_content: Bytes::from_static(&[1, 1]), ..proto(DType::String, &[1 << 40]) }),
            Code::InvalidArgument
        );
        assert_eq!(code(TensorProto { dtype: 101, ..Default::default() }), Code::InvalidArgument);
        assert_eq!(code(proto(DType::Variant, &[])), Code::Unimplemented);
    }
}
