//! Typed contents of tensors in gRPC messages.

use super::checked_shape;
use crate::formats::Limits;
use crate::proto::kserve::InferTensorContents;
use flowmill::tensor::bail;
use flowmill::{DType, Element, Result, Shape, Tensor};

/// Returns the tensor whose elements are in the field of `contents` that belongs to the type.
///
/// # Errors
/// `InvalidArgument` if the field has not as many elements as the shape, another field has elements, or a value is out of the type's range, and for
/// FP16 and BF16, which have no typed form; `ResourceExhausted` past a limit.
pub fn tensor_from_contents(dtype: DType, shape: &[i64], contents: InferTensorContents, limits: &Limits) -> Result<Tensor> {
    let shape = checked_shape(shape, limits)?;
    let lengths = [
        contents.bool_contents.len(),
        contents.int_contents.len(),
        contents.int64_contents.len(),
        contents.uint_contents.len(),
        contents.uint64_contents.len(),
        contents.fp32_contents.len(),
        contents.fp64_contents.len(),
        contents.bytes_contents.len(),
    ];
    let (field, name) = match dtype {
        DType::Bool => (0, "bool_contents"),
        DType::I8 | DType::I16 | DType::I32 => (1, "int_contents"),
        DType::I64 => (2, "int64_contents"),
        DType::U8 | DType::U16 | DType::U32 => (3, "uint_contents"),
        DType::U64 => (4, "uint64_contents"),
        DType::F32 => (5, "fp32_contents"),
        DType::F64 => (6, "fp64_contents"),
        DType::String => (7, "bytes_contents"),
        _ => bail!(InvalidArgument, "type {dtype} has no typed contents; send its elements in raw_input_contents"),
    };
    let (expected, found) = (shape.num_elements(), lengths[field]);
    if found != expected || lengths.iter().sum::<usize>() != found {
        bail!(
            InvalidArgument,
            "a tensor of type {dtype} and shape {shape} has {found} elements in {name} and {} in other fields",
            lengths.iter().sum::<usize>() - found
        );
    }
    match dtype {
        DType::Bool => Tensor::from_slice(shape, &contents.bool_contents),
        DType::I8 => narrow::<i8, _>(shape, &contents.int_contents),
        DType::I16 => narrow::<i16, _>(shape, &contents.int_contents),
        DType::I32 => Tensor::from_slice(shape, &contents.int_contents),
        DType::I64 => Tensor::from_slice(shape, &contents.int64_contents),
        DType::U8 => narrow::<u8, _>(shape, &contents.uint_contents),
        DType::U16 => narrow::<u16, _>(shape, &contents.uint_contents),
        DType::U32 => Tensor::from_slice(shape, &contents.uint_contents),
        DType::U64 => Tensor::from_slice(shape, &contents.uint64_contents),
        DType::F32 => Tensor::from_slice(shape, &contents.fp32_contents),
        DType::F64 => Tensor::from_slice(shape, &contents.fp64_contents),
        _ => Tensor::from_strings(shape, contents.bytes_contents),
    }
}

fn narrow<T: Element + TryFrom<W>, W: Copy + std::fmt::Display>(shape: Shape, values: &[W]) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(T::DTYPE, shape)?;
    for (to, &from) in tensor.as_mut_slice::<T>()?.iter_mut().zip(values) {
        let Ok(value) = T::try_from(from) else { bail!(InvalidArgument, "the value {from} is out of the range of {}", T::DTYPE) };
        *to = value;
    }
    Ok(tensor)
}

/// Returns the elements of a tensor in the field that belongs to its type.
///
/// # Errors
/// `Unimplemented` for a type without a typed form, such as FP16 and BF16.
pub fn tensor_to_contents(tensor: &Tensor) -> Result<InferTensorContents> {
    fn wide<T: Element + Into<W>, W>(tensor: &Tensor) -> Result<Vec<W>> {
        Ok(tensor.as_slice::<T>()?.iter().map(|&value| value.into()).collect())
    }
    let mut contents = InferTensorContents::default();
    match tensor.dtype() {
        DType::Bool => contents.bool_contents = wide::<bool, _>(tensor)?,
        DType::I8 => contents.int_contents = wide::<i8, _>(tensor)?,
        DType::I16 => contents.int_contents = wide::<i16, _>(tensor)?,
        DType::I32 => contents.int_contents = wide::<i32, _>(tensor)?,
        DType::I64 => contents.int64_contents = wide::<i64, _>(tensor)?,
        DType::U8 => contents.uint_contents = wide::<u8, _>(tensor)?,
        DType::U16 => contents.uint_contents = wide::<u16, _>(tensor)?,
        DType::U32 => contents.uint_contents = wide::<u32, _>(tensor)?,
        DType::U64 => contents.uint64_contents = wide::<u64, _>(tensor)?,
        DType::F32 => contents.fp32_contents = wide::<f32, _>(tensor)?,
        DType::F64 => contents.fp64_contents = wide::<f64, _>(tensor)?,
        DType::String => contents.bytes_contents = tensor.as_strings()?.to_vec(),
        dtype => bail!(Unimplemented, "type {dtype} has no typed contents; its elements must be raw"),
    }
    Ok(contents)
}
