//! Datasets of tensors and numbers: `TensorDataset`, `TensorSliceDataset`, `RangeDataset` and related ops.

use super::args::{Call, dataset_kernel};
use super::element::{Dataset, Element, Elements, Signature};
use crate::blocks::rows;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("TensorDataset", |init| dataset_kernel(init, tensors));
    registry.add("TensorSliceDataset", |init| dataset_kernel(init, slices));
    registry.add("SparseTensorSliceDataset", |init| dataset_kernel(init, sparse_slices));
    registry.add("RangeDataset", |init| dataset_kernel(init, range));
    registry.add("ListDataset", |init| dataset_kernel(init, list));
}

/// Returns a dataset of the given elements.
pub(super) fn of_elements(signature: Signature, elements: Vec<Element>) -> Dataset {
    let elements = Arc::new(elements);
    Dataset::new(signature, elements.len() as i64, move |_| {
        let (elements, mut next) = (elements.clone(), 0);
        Ok(Elements::new(move || {
            next += 1;
            Ok(elements.get(next - 1).cloned())
        }))
    })
}

fn tensors(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let components = call.args.tensors(call.ctx, "components")?;
    Ok(of_elements(Signature::of_element(&components), vec![components]))
}

/// Makes the dataset of `ListDataset`: `tensors` are the elements' components, element by element.
fn list(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let (tensors, signature) = (call.args.tensors(call.ctx, "tensors")?, call.signature()?);
    let width = signature.types.len();
    if width == 0 || tensors.len() % width != 0 {
        bail!(InvalidArgument, "{} tensors cannot be divided into elements of {width} components.", tensors.len());
    }
    Ok(of_elements(signature, tensors.chunks(width).map(<[Tensor]>::to_vec).collect()))
}

fn slices(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let components = call.args.tensors(call.ctx, "components")?;
    let mut count = None;
    for component in &components {
        let Some(&rows) = component.shape().first() else { bail!(InvalidArgument, "All components must be at least 1-dimensional") };
        if *count.get_or_insert(rows) != rows {
            bail!(InvalidArgument, "All components must have the same size in the 0th dimension");
        }
    }
    let (count, components) = (count.unwrap_or(0), Arc::new(components));
    let signature = Signature {
        types: components.iter().map(Tensor::dtype).collect(),
        shapes: components.iter().map(|c| PartialShape::from(flowmill_tensor::Shape::new(&c.shape()[1..]))).collect(),
    };
    Ok(Dataset::new(signature, count as i64, move |_| {
        let (components, mut next) = (components.clone(), 0);
        Ok(Elements::new(move || {
            if next == count {
                return Ok(None);
            }
            next += 1;
            components.iter().map(|component| component.row(next - 1)).collect::<Result<_>>().map(Some)
        }))
    }))
}

/// Makes the dataset of `SparseTensorSliceDataset`: one sparse tensor, in three components, for each index of the first dimension.
fn sparse_slices(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let component = |name: &str| call.args.tensor(call.ctx, name).cloned();
    let (indices, values, shape) = (component("indices")?, component("values")?, component("dense_shape")?);
    if indices.rank() != 2 {
        bail!(InvalidArgument, "Input indices must be a matrix. Got: {}", indices.shape());
    }
    if values.rank() != 1 {
        bail!(InvalidArgument, "Input values must be a vector. Got: {}", values.shape());
    }
    if shape.rank() != 1 {
        bail!(InvalidArgument, "Input shape must be a vector. Got: {}", shape.shape());
    }
    let (count, width) = (indices.shape()[0], indices.shape()[1]);
    let dims = shape.as_slice::<i64>()?.to_vec();
    let &[batches, ref inner @ ..] = &dims[..] else { bail!(InvalidArgument, "The shape must have at least one dimension.") };
    if count != values.num_elements() || width != dims.len() {
        bail!(
            InvalidArgument,
            "the shapes of indices, {}, values, {}, and dense_shape, {}, do not match",
            indices.shape(),
            values.shape(),
            shape.shape()
        );
    }
    let starts: Vec<i64> = indices.as_slice::<i64>()?.chunks_exact(width.max(1)).map(|index| index[0]).collect();
    if starts.windows(2).any(|pair| pair[0] > pair[1]) {
        bail!(
            Unimplemented,
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not currently supported."
        );
    }
    let rank = inner.len();
    let signature = Signature {
        types: vec![DType::I64, values.dtype(), DType::I64],
        shapes: vec![PartialShape::new(&[-1, rank as i64]), PartialShape::new(&[-1]), PartialShape::new(&[rank as i64])],
    };
    let inner = values.allocator().vector(inner)?;
    let shared = Arc::new((indices, values, inner, starts));
    Ok(Dataset::new(signature, batches, move |_| {
        let (shared, mut batch, mut at) = (shared.clone(), 0i64, 0);
        Ok(Elements::new(move || {
            let (indices, values, inner, starts) = &*shared;
            if batch >= batches {
                return Ok(None);
            }
            let first = at;
            while starts.get(at) == Some(&batch) {
                at += 1;
            }
            batch += 1;
            let flat = indices.as_slice::<i64>()?;
            let inner_indices: Vec<i64> =
                flat[first * width..at * width].chunks_exact(width).flat_map(|index| &index[1..]).copied().collect();
            let indices = values.allocator().from_slice([at - first, rank], &inner_indices)?;
            Ok(Some(vec![indices, rows(values, first, at - first)?, inner.clone()]))
        }))
    }))
}

fn range(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let (start, stop, step): (i64, i64, i64) = (call.scalar("start")?, call.scalar("stop")?, call.scalar("step")?);
    if step == 0 {
        bail!(InvalidArgument, "step must be a non-zero integer.");
    }
    let signature = call.signature()?;
    let &[dtype] = &signature.types[..] else { bail!(InvalidArgument, "a range has one component, not {}", signature.types.len()) };
    number(dtype, 0)?;
    // The difference of two 64-bit numbers fits into 128 bits.
    let (distance, stride) = (i128::from(stop) - i128::from(start), i128::from(step));
    let count = if (distance > 0) == (stride > 0) { distance.unsigned_abs().div_ceil(stride.unsigned_abs()) } else { 0 };
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let signature = Signature { types: vec![dtype], shapes: vec![PartialShape::scalar()] };
    Ok(Dataset::new(signature, count, move |_| {
        let mut next = 0;
        Ok(Elements::new(move || {
            if next == count {
                return Ok(None);
            }
            let value = start.wrapping_add(step.wrapping_mul(next));
            next += 1;
            Ok(Some(vec![number(dtype, value)?]))
        }))
    }))
}

/// Returns the number as a scalar of type `dtype`.
fn number(dtype: DType, value: i64) -> Result<Tensor> {
    Ok(match dtype {
        DType::I64 => Tensor::scalar(value),
        DType::I32 => Tensor::scalar(value as i32),
        DType::F32 => Tensor::scalar(value as f32),
        DType::F64 => Tensor::scalar(value as f64),
        DType::F16 => Tensor::scalar(flowmill_tensor::f16::from_f64(value as f64)),
        DType::BF16 => Tensor::scalar(flowmill_tensor::bf16::from_f64(value as f64)),
        DType::I16 => Tensor::scalar(value as i16),
        DType::I8 => Tensor::scalar(value as i8),
        DType::U8 => Tensor::scalar(value as u8),
        DType::U16 => Tensor::scalar(value as u16),
        DType::U32 => Tensor::scalar(value as u32),
        DType::U64 => Tensor::scalar(value as u64),
        other => bail!(InvalidArgument, "Unsupported data type: {}", other.cpp_name()),
    })
}
