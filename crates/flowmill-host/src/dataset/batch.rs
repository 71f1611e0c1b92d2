//! Batching and unbatching of elements: `BatchDataset`, `UnbatchDataset`, `RebatchDataset`, `DenseToSparseBatchDataset` and related ops.

use super::args::{Call, dataset_kernel};
use super::element::{Dataset, Element, Elements, INFINITE, Signature, UNKNOWN, check_room};
use super::parallel::{Pipe, PipeOptions, Task};
use crate::blocks::{concat_blocks, rows};
use crate::sparse::serialize::as_variants;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Allocator, DType, PartialShape, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["BatchDataset", "BatchDatasetV2"] {
        registry.add(op, |init| dataset_kernel(init, batch));
    }
    registry.add("ParallelBatchDataset", |init| {
        let ordered = init.attrs.get_or("deterministic", "default")? != "false";
        dataset_kernel(init, move |call| parallel_batch(call, ordered))
    });
    for op in ["UnbatchDataset", "ExperimentalUnbatchDataset"] {
        registry.add(op, |init| dataset_kernel(init, unbatch));
    }
    for op in ["RebatchDataset", "ExperimentalRebatchDataset"] {
        registry.add(op, |init| dataset_kernel(init, rebatch));
    }
    registry.add("RebatchDatasetV2", |init| dataset_kernel(init, rebatch_to_sizes));
    for op in ["DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"] {
        registry.add(op, |init| dataset_kernel(init, dense_to_sparse));
    }
}

/// Returns the number of batches of `size` that `cardinality` elements form.
pub(super) fn num_batches(cardinality: i64, size: i64, drop_remainder: bool) -> i64 {
    match cardinality {
        known if known >= 0 => known / size + i64::from(!drop_remainder && known % size != 0),
        other => other,
    }
}

/// Returns the batch size, and true if a last batch of fewer elements is dropped.
pub(super) fn batch_arguments(call: &Call<'_, '_>, message: &str) -> Result<(i64, bool)> {
    let size: i64 = call.scalar("batch_size")?;
    if size <= 0 {
        bail!(InvalidArgument, "{message}");
    }
    Ok((size, call.args.has("drop_remainder") && call.scalar("drop_remainder")?))
}

/// Takes up to `size` elements. Returns `None` if there are none, or if there are fewer and `drop_remainder` is set.
pub(super) fn take_batch(elements: &mut Elements, size: i64, drop_remainder: bool) -> Result<Option<Vec<Element>>> {
    let mut batch = Vec::new();
    while (batch.len() as i64) < size {
        check_room(batch.len())?;
        match elements.next()? {
            Some(element) => batch.push(element),
            None => break,
        }
    }
    let is_whole = batch.len() as i64 == size;
    Ok(Some(batch).filter(|batch| !batch.is_empty() && (is_whole || !drop_remainder)))
}

/// Stacks the components of elements. The shapes of a component must be equal in all elements.
///
/// # Errors
/// Returns `InvalidArgument` if the elements differ in the number of components, types or shapes.
pub(super) fn stack(batch: &[Element]) -> Result<Element> {
    let Some(first) = batch.first() else { return Ok(Vec::new()) };
    let mut stacked = Vec::with_capacity(first.len());
    for (c, component) in first.iter().enumerate() {
        let mut parts = Vec::with_capacity(batch.len());
        for (i, element) in batch.iter().enumerate() {
            let Some(part) = element.get(c) else {
                bail!(InvalidArgument, "Cannot batch elements with different numbers of components: {} and {}", first.len(), element.len());
            };
            if part.dtype() != component.dtype() {
                bail!(
                    InvalidArgument,
                    "Cannot batch tensors with different types in component {c}. First element had type {} and element {i} had type {}.",
                    component.dtype().cpp_name(),
                    part.dtype().cpp_name()
                );
            }
            if part.shape() != component.shape() {
                bail!(
                    InvalidArgument,
                    "Cannot batch tensors with different shapes in component {c}. First element had shape {} and element {i} had shape {}.",
                    component.shape(),
                    part.shape()
                );
            }
            parts.push(part);
        }
        let mut shape = component.shape().clone();
        shape.insert(0, batch.len());
        shape.checked_num_elements()?;
        stacked.push(concat_blocks(
            &component.allocator(),
            component.dtype(),
            shape,
            parts.into_iter().map(|part| (part, 0..part.num_elements())),
        )?);
    }
    Ok(stacked)
}

fn batch(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let (size, drop_remainder) = batch_arguments(call, "Batch size must be greater than zero.")?;
    let cardinality = num_batches(input.cardinality, size, drop_remainder);
    Ok(Dataset::over(&input, call.signature()?, cardinality, move |mut elements| {
        Ok(Elements::new(move || take_batch(&mut elements, size, drop_remainder)?.map(|batch| stack(&batch)).transpose()))
    }))
}

fn parallel_batch(call: &mut Call<'_, '_>, ordered: bool) -> Result<Dataset> {
    let input = call.input()?;
    let (size, drop_remainder) = batch_arguments(call, "Batch size must be greater than zero.")?;
    let options = PipeOptions::calls(call.scalar("num_parallel_calls")?, ordered);
    let cardinality = num_batches(input.cardinality, size, drop_remainder);
    let source = input.clone();
    let dataset = Dataset::new(call.signature()?, cardinality, move |ctx| {
        let mut elements = source.elements(ctx)?;
        let mut pipe = Pipe::new(ctx, options, move || {
            let batch = take_batch(&mut elements, size, drop_remainder)?;
            Ok(batch.map(|batch| Box::new(move || stack(&batch)) as Task<Element>))
        });
        Ok(Elements::new(move || pipe.next()))
    });
    Ok(dataset.with_input(input))
}

/// Returns the number of rows that all components have.
fn num_rows(element: &[Tensor]) -> Result<usize> {
    let mut first = None;
    for (i, component) in element.iter().enumerate() {
        let Some(&rows) = component.shape().first() else {
            bail!(InvalidArgument, "Input element must have a non-scalar value in each component.");
        };
        let first = *first.get_or_insert(rows);
        if first != rows {
            bail!(
                InvalidArgument,
                "Input element must have the same batch size in each component. Component 0 had size {first} but component {i} had size, {rows}."
            );
        }
    }
    Ok(first.unwrap_or(0))
}

fn unbatch(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let rows = input.signature.shapes.iter().find_map(|shape| shape.dim(0));
    let cardinality = match (input.cardinality, rows) {
        (INFINITE, _) => INFINITE,
        (known, Some(rows)) if known >= 0 => known.saturating_mul(rows as i64),
        _ => UNKNOWN,
    };
    Ok(Dataset::over(&input, call.signature()?, cardinality, |mut elements| {
        let (mut current, mut next, mut end): (Element, usize, usize) = (Vec::new(), 0, 0);
        Ok(Elements::new(move || {
            while next == end {
                let Some(element) = elements.next()? else { return Ok(None) };
                (end, next) = (num_rows(&element)?, 0);
                current = element;
            }
            next += 1;
            current.iter().map(|component| component.row(next - 1)).collect::<Result<_>>().map(Some)
        }))
    }))
}

/// Splits each batch into `num_replicas` batches of nearly equal size, of which the last ones may be empty.
fn rebatch(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let Ok(replicas @ 1..) = usize::try_from(call.scalar::<i64>("num_replicas")?) else {
        bail!(InvalidArgument, "num_replicas must be greater than zero.");
    };
    let cardinality = if input.cardinality >= 0 { input.cardinality.saturating_mul(replicas as i64) } else { input.cardinality };
    Ok(Dataset::over(&input, call.signature()?, cardinality, move |mut elements| {
        let (mut current, mut slice): (Element, usize) = (Vec::new(), 0);
        Ok(Elements::new(move || {
            if slice == 0 {
                let Some(element) = elements.next()? else { return Ok(None) };
                if let Some(i) = element.iter().position(|component| component.rank() == 0) {
                    bail!(
                        InvalidArgument,
                        "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your input dataset is not batched? Component {i} is scalar."
                    );
                }
                current = element;
            }
            let part = |component: &Tensor| {
                let size = component.shape()[0];
                let interval = size.div_ceil(replicas);
                let end = (interval * (slice + 1)).min(size);
                let start = (interval * slice).min(end);
                rows(component, start, end - start)
            };
            let element = current.iter().map(part).collect::<Result<_>>()?;
            slice = (slice + 1) % replicas;
            Ok(Some(element))
        }))
    }))
}

/// Makes the dataset of `RebatchDatasetV2`: batches of the given sizes in turn, repeatedly, regardless of the sizes of the input's batches.
fn rebatch_to_sizes(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let sizes = call.args.tensor(call.ctx, "batch_sizes")?;
    if sizes.rank() > 1 || sizes.num_elements() == 0 {
        bail!(InvalidArgument, "`batch_sizes` must be a scalar or a vector.");
    }
    let sizes = sizes.as_slice::<i64>()?.iter().map(|&size| usize::try_from(size)).collect::<std::result::Result<Vec<_>, _>>();
    let Ok(sizes) = sizes else { bail!(InvalidArgument, "`batch_sizes` must not be negative.") };
    let (sizes, drop_remainder) = (Arc::new(sizes), call.scalar("drop_remainder")?);
    let signature = call.signature()?;
    let shapes = signature.shapes.clone();
    let types = signature.types.clone();
    Ok(Dataset::over(&input, signature, UNKNOWN, move |mut elements| {
        let (sizes, shapes, types) = (sizes.clone(), shapes.clone(), types.clone());
        let (mut current, mut offset, mut turn): (Element, usize, usize) = (Vec::new(), 0, 0);
        Ok(Elements::new(move || {
            let wanted = sizes[turn % sizes.len()];
            turn += 1;
            let (mut parts, mut have): (Vec<Element>, usize) = (Vec::new(), 0);
            while have < wanted {
                let mut available = if current.is_empty() { 0 } else { num_rows(&current)? };
                if offset >= available {
                    let Some(element) = elements.next()? else { break };
                    (available, offset) = (num_rows(&element)?, 0);
                    current = element;
                }
                let count = (wanted - have).min(available - offset);
                parts.push(current.iter().map(|component| rows(component, offset, count)).collect::<Result<_>>()?);
                (offset, have) = (offset + count, have + count);
            }
            if (have == 0 && wanted > 0) || (drop_remainder && have < wanted) {
                return Ok(None);
            }
            if wanted == 0 {
                return empty(&types, &shapes).map(Some);
            }
            joined(&parts).map(Some)
        }))
    }))
}

/// Returns a batch without elements.
fn empty(types: &[DType], shapes: &[PartialShape]) -> Result<Element> {
    let size = |d: usize, size: i64| if d == 0 { 0 } else { usize::try_from(size).unwrap_or(0) };
    let zeros = |(dtype, shape): (&DType, &PartialShape)| {
        let dims: Shape = shape.dims().unwrap_or(&[0]).iter().enumerate().map(|(d, &n)| size(d, n)).collect();
        Allocator::process().zeros(*dtype, dims)
    };
    types.iter().zip(shapes).map(zeros).collect()
}

/// Concatenates batches along their first dimension.
fn joined(parts: &[Element]) -> Result<Element> {
    let Some(first) = parts.first() else { return Ok(Vec::new()) };
    let join = |(c, component): (usize, &Tensor)| {
        let parts: Vec<&Tensor> = parts.iter().filter_map(|part| part.get(c)).collect();
        let mut shape = component.shape().clone();
        if parts.iter().any(|part| part.dtype() != component.dtype() || part.shape()[1..] != shape[1..]) {
            bail!(InvalidArgument, "Cannot rebatch: component {c} has different shapes");
        }
        shape[0] = parts.iter().map(|part| part.shape()[0]).sum();
        concat_blocks(&component.allocator(), component.dtype(), shape, parts.into_iter().map(|part| (part, 0..part.num_elements())))
    };
    first.iter().enumerate().map(join).collect()
}

/// Makes the dataset of `DenseToSparseBatchDataset`, which batches tensors of different shapes as sparse tensors of the given row shape: a
/// component of three variants.
fn dense_to_sparse(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let &[dtype] = &input.signature.types[..] else {
        bail!(InvalidArgument, "DenseToSparseBatchDataset only supports inputs with a single component.");
    };
    let (size, drop_remainder) = batch_arguments(call, "Batch size must be greater than zero.")?;
    let row_shape = Arc::new(call.args.vector::<i64>(call.ctx, "row_shape")?.to_vec());
    let signature = Signature { types: vec![DType::Variant], shapes: vec![PartialShape::new(&[3])] };
    let cardinality = num_batches(input.cardinality, size, drop_remainder);
    Ok(Dataset::over(&input, signature, cardinality, move |mut elements| {
        let row_shape = row_shape.clone();
        Ok(Elements::new(move || {
            let batch = take_batch(&mut elements, size, drop_remainder)?;
            batch.map(|batch| sparse_batch(&batch, dtype, &row_shape)).transpose()
        }))
    }))
}

fn sparse_batch(batch: &[Element], dtype: DType, row_shape: &[i64]) -> Result<Element> {
    let mut dense_shape: Vec<i64> = std::iter::once(batch.len() as i64).chain(row_shape.iter().copied()).collect();
    let (mut indices, mut parts) = (Vec::new(), Vec::with_capacity(batch.len()));
    for (i, tensor) in batch.iter().enumerate() {
        let [tensor] = &tensor[..] else { bail!(InvalidArgument, "an element has {} components, not 1", tensor.len()) };
        if tensor.rank() != row_shape.len() {
            bail!(
                InvalidArgument,
                "Input element had shape ({}) that is incompatible with the row shape ({})",
                tensor.shape(),
                PartialShape::new(row_shape)
            );
        }
        for (d, (&size, &limit)) in tensor.shape().iter().zip(row_shape).enumerate() {
            if limit == -1 {
                dense_shape[d + 1] = dense_shape[d + 1].max(size as i64);
            } else if size as i64 > limit {
                bail!(
                    DataLoss,
                    "Input element had shape ({}) that is larger than the row shape ({}).",
                    tensor.shape(),
                    PartialShape::new(row_shape)
                );
            }
        }
        for flat in 0..tensor.num_elements() {
            indices.push(i as i64);
            let mut rest = flat;
            for stride in tensor.shape().strides() {
                indices.push((rest / stride.max(1)) as i64);
                rest %= stride.max(1);
            }
        }
        parts.push(tensor);
    }
    let count: usize = parts.iter().map(|part| part.num_elements()).sum();
    let alloc = parts.first().map(|part| part.allocator()).unwrap_or_default();
    let values = concat_blocks(&alloc, dtype, Shape::new(&[count]), parts.into_iter().map(|part| (part, 0..part.num_elements())))?;
    let indices = alloc.from_slice([count, row_shape.len() + 1], &indices)?;
    Ok(vec![as_variants([indices, values, alloc.vector(&dense_shape)?])?])
}
