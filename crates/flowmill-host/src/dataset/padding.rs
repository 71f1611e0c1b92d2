//! `PaddedBatchDataset`, which batches tensors of different shapes.

use super::args::{Call, dataset_kernel};
use super::batch::{batch_arguments, num_batches, take_batch};
use super::element::{Dataset, Element, Elements};
use crate::array::item::{Item, for_item};
use crate::array::nd::{for_each_index, row_major};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["PaddedBatchDataset", "PaddedBatchDatasetV2"] {
        registry.add(op, |init| dataset_kernel(init, padded_batch));
    }
}

fn padded_batch(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let (size, drop_remainder) = batch_arguments(call, "Batch size must be greater than zero.")?;
    let shapes = call.args.tensors(call.ctx, "padded_shapes")?;
    let values = call.args.tensors(call.ctx, "padding_values")?;
    let num_components = input.signature.types.len();
    if shapes.len() != num_components {
        bail!(
            InvalidArgument,
            "Number of padded shapes ({}) must match the number of components in the input dataset's elements ({num_components})",
            shapes.len()
        );
    }
    if shapes.iter().any(|shape| shape.rank() != 1) {
        bail!(InvalidArgument, "All padded shapes must be vectors");
    }
    if values.len() != num_components {
        bail!(
            InvalidArgument,
            "Number of padding values ({}) must match the number of components in the input dataset's elements ({num_components})",
            values.len()
        );
    }
    for (i, (value, dtype)) in values.iter().zip(&input.signature.types).enumerate() {
        if value.rank() != 0 {
            bail!(InvalidArgument, "All padding values must be scalars");
        }
        if value.dtype() != *dtype {
            let (value, expected) = (value.dtype().cpp_name(), dtype.cpp_name());
            bail!(InvalidArgument, "Mismatched type between padding value {i} and input dataset's component {i}: {value} vs. {expected}");
        }
    }
    let shapes = shapes.iter().map(|shape| Ok(shape.as_slice::<i64>()?.to_vec())).collect::<Result<Vec<_>>>()?;
    let padding = Arc::new(shapes.into_iter().zip(values).collect::<Vec<_>>());
    let cardinality = num_batches(input.cardinality, size, drop_remainder);
    Ok(Dataset::over(&input, call.signature()?, cardinality, move |mut elements| {
        let padding = padding.clone();
        Ok(Elements::new(move || {
            let Some(batch) = take_batch(&mut elements, size, drop_remainder)? else { return Ok(None) };
            let stack = |(c, (shape, value)): (usize, &(Vec<i64>, Tensor))| stack_padded(&batch, c, shape, value);
            padding.iter().enumerate().map(stack).collect::<Result<_>>().map(Some)
        }))
    }))
}

/// Stacks component `c` of the elements. A size of −1 in `padded` means the greatest size among the elements.
fn stack_padded(batch: &[Element], c: usize, padded: &[i64], value: &Tensor) -> Result<Tensor> {
    let parts: Vec<&Tensor> = batch.iter().filter_map(|element| element.get(c)).collect();
    let mut shape: Shape = padded.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
    for part in &parts {
        if part.rank() != padded.len() {
            bail!(
                InvalidArgument,
                "All elements in a batch must have the same rank as the padded shape for component{c}: expected rank {} but got element with rank {}",
                padded.len(),
                part.rank()
            );
        }
        if part.dtype() != value.dtype() {
            bail!(InvalidArgument, "Data type mismatch at component {c}: expected {} but got {}.", value.dtype(), part.dtype());
        }
        for (d, &size) in part.shape().iter().enumerate() {
            match padded[d] {
                -1 => shape[d] = shape[d].max(size),
                limit if size as i64 > limit => bail!(DataLoss, "Attempted to pad to a smaller size than the input element."),
                _ => {}
            }
        }
    }
    for_item!(value.dtype(), T => fill::<T>(&parts, shape, value))
}

fn fill<T: Item>(parts: &[&Tensor], row: Shape, value: &Tensor) -> Result<Tensor> {
    let mut shape = row.clone();
    shape.insert(0, parts.len());
    shape.checked_num_elements()?;
    let padding = T::items(value)?;
    T::build(&value.allocator(), value.dtype(), shape, padding, |out| {
        if let [padding] = padding {
            out.fill(padding.clone());
        }
        let (size, strides) = (row.num_elements(), row_major(&row));
        for (part, out) in parts.iter().zip(out.chunks_exact_mut(size.max(1))) {
            let items = T::items(part)?;
            for_each_index(part.shape(), (0, &row_major(part.shape())), (0, &strides), |from, to| out[to] = items[from].clone());
        }
        Ok(())
    })
}
