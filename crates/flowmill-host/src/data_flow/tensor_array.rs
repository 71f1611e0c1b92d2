//! `TensorArrayV3` and related ops: arrays of tensors that loops write and read.
//!
//! The handle is a `resource` that holds the array, so an array lives no longer than the step that made it. The handles of the first two versions,
//! which are declared as strings, hold it as well. The flow is a `float` that only orders the ops.

use crate::from_fn::from_fn;
use flowmill_kernels::storage::{HostStorage, Storage};
use flowmill_kernels::tensor_array::{Elements, Options, TensorArray, array, array_of, scalar_i32};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, PartialShape, Result, Shape, Tensor, bail, check_memory};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    register_in::<HostStorage>(registry);
}

/// Registers the kernels of TensorArrays whose elements are in memory of this kind. The handles, indices, sizes and lengths are in the host's memory.
pub fn register_in<S: Storage>(registry: &mut KernelRegistry) {
    for op in ["TensorArray", "TensorArrayV2", "TensorArrayV3"] {
        registry.add(op, make_tensor_array::<S>);
    }
    for op in ["TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3"] {
        registry.add(op, make_grad::<S>);
    }
    registry.add("TensorArrayGradWithShape", make_grad::<S>);
    for op in ["TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"] {
        registry.add(op, make_write::<S>);
    }
    for op in ["TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"] {
        registry.add(op, make_read::<S>);
    }
    for op in ["TensorArrayPack", "TensorArrayGather", "TensorArrayGatherV2", "TensorArrayGatherV3"] {
        registry.add(op, make_gather::<S>);
    }
    for op in ["TensorArrayUnpack", "TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"] {
        registry.add(op, make_scatter::<S>);
    }
    for op in ["TensorArrayConcat", "TensorArrayConcatV2", "TensorArrayConcatV3"] {
        registry.add(op, make_concat::<S>);
    }
    for op in ["TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3"] {
        registry.add(op, make_split::<S>);
    }
    for op in ["TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3"] {
        registry.add(op, make_size);
    }
    for op in ["TensorArrayClose", "TensorArrayCloseV2", "TensorArrayCloseV3"] {
        registry.add(op, make_close);
    }
}

fn make_tensor_array<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let dtype = init.dtype("dtype")?;
    let element_shape: PartialShape = attrs.get_or("element_shape", PartialShape::unknown())?;
    let options = Options {
        dynamic_size: attrs.get_or("dynamic_size", false)?,
        clear_after_read: attrs.get_or("clear_after_read", true)?,
        identical_element_shapes: attrs.get_or("identical_element_shapes", false)?,
        is_gradient: false,
    };
    let name = match attrs.get_or("tensor_array_name", "")? {
        "" => init.name,
        name => name,
    }
    .to_owned();
    let flow = S::new(DType::F32)?;
    from_fn(move |ctx| {
        let Ok(size) = usize::try_from(scalar_i32(ctx.input(0)?, "size")?) else { bail!(InvalidArgument, "Size should be >= 0.") };
        let array = Arc::new(TensorArray::new(&name, dtype, size, element_shape.clone(), options));
        ctx.set_output(0, array.to_handle(ctx.resources()));
        let flow = flow.zeros(ctx, Shape::scalar())?;
        ctx.set_output(1, flow);
        Ok(())
    })
}

/// Makes the kernel of `TensorArrayGradV3` and of `TensorArrayGradWithShape`, which has the sizes to prepend in input 2.
fn make_grad<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let source = init.attrs.get::<&str>("source")?.to_owned();
    let flow = S::new(DType::F32)?;
    from_fn(move |ctx| {
        let prepend = if ctx.num_inputs() > 2 { ctx.input(2)?.to_shape()? } else { Shape::scalar() };
        let gradient = array(ctx)?.gradient(&source, &prepend)?;
        ctx.set_output(0, gradient.to_handle(ctx.resources()));
        let flow = flow.zeros(ctx, Shape::scalar())?;
        ctx.set_output(1, flow);
        Ok(())
    })
}

/// Returns the storage of tensors of the type of input `i`.
fn storage_of<S: Storage>(init: &KernelInit<'_>, i: usize) -> Result<S> {
    match init.input_types.get(i) {
        Some(&dtype) => S::new(dtype),
        None => bail!(InvalidArgument, "{} has no input {i}", init.op_def.name),
    }
}

/// Makes the kernel of `TensorArrayWriteV3`. Inputs: handle, index, value, flow.
fn make_write<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = storage_of::<S>(init, 2)?;
    from_fn(move |ctx| {
        let index = scalar_i32(ctx.input(1)?, "index")?;
        let value = ctx.take(2)?;
        array(ctx)?.lock()?.write(index.into(), value, |sum, value| storage.add_to(ctx, sum, value))?;
        ctx.forward(3, 0)
    })
}

/// Makes the kernel of `TensorArrayReadV3`. Inputs: handle, index, flow.
fn make_read<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let storage = S::new(dtype)?;
    from_fn(move |ctx| {
        let index = scalar_i32(ctx.input(1)?, "index")?;
        let value = array_of(ctx, dtype)?.lock()?.read(index.into(), |shape| storage.zeros(ctx, shape))?;
        ctx.set_output(0, value);
        Ok(())
    })
}

/// Makes the kernel of `TensorArrayGatherV3`, which stacks the elements of the given indices with a single copy. Inputs: handle, indices, flow.
/// `TensorArrayPack` has no indices and stacks all elements.
fn make_gather<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let storage = S::new(dtype)?;
    let of_all = init.op_def.inputs.len() == 2;
    let element_shape: PartialShape = init.attrs.get_or("element_shape", PartialShape::unknown())?;
    from_fn(move |ctx| {
        let indices = if of_all { None } else { Some(ctx.input(1)?) };
        if let Some(indices) = indices.filter(|indices| indices.rank() != 1) {
            bail!(InvalidArgument, "Expected indices to be a vector, but received shape: {}", indices.shape());
        }
        let values = {
            let mut elements = array_of(ctx, dtype)?.lock()?;
            elements.merge_element_shape(&element_shape)?;
            let indices = indices.map_or_else(|| first_indices(elements.size()), Tensor::to_i64_vec)?;
            if indices.is_empty() {
                let zeros = zero_rows(ctx, &storage, elements.element_shape(), "element shape", "packing")?;
                drop(elements);
                ctx.set_output(0, zeros);
                return Ok(());
            }
            check_memory::<Tensor>(indices.len())?;
            indices.into_iter().map(|index| elements.read(index, |shape| storage.zeros(ctx, shape))).collect::<Result<Vec<_>>>()?
        };
        let stacked = stack(ctx, &storage, &values, &element_shape)?;
        ctx.set_output(0, stacked);
        Ok(())
    })
}

/// Returns a tensor without rows, whose rows would have shape `row`.
fn zero_rows<S: Storage>(ctx: &KernelContext<'_>, storage: &S, row: &PartialShape, what: &str, doing: &str) -> Result<Tensor> {
    let Some(mut shape) = row.to_shape() else {
        bail!(
            Unimplemented,
            "TensorArray has size zero, but {what} {row} is not fully defined. Currently only static shapes are supported when {doing} zero-size TensorArrays."
        );
    };
    shape.insert(0, 0);
    storage.concat(ctx, shape, std::iter::empty())
}

/// Returns the values, which must have the same shape, along a new outermost dimension.
fn stack<S: Storage>(ctx: &KernelContext<'_>, storage: &S, values: &[Tensor], element_shape: &PartialShape) -> Result<Tensor> {
    let Some(first) = values.first() else { return zero_rows(ctx, storage, element_shape, "element shape", "packing") };
    if !element_shape.is_compatible_with(first.shape()) {
        bail!(
            InvalidArgument,
            "TensorArray was passed element_shape {element_shape} which does not match the Tensor at index 0: {}",
            first.shape()
        );
    }
    if let Some((i, other)) = values.iter().enumerate().find(|(_, value)| value.shape() != first.shape()) {
        bail!(
            InvalidArgument,
            "TensorArray has inconsistent shapes.  Index 0 has shape: {} but index {i} has shape: {}",
            first.shape(),
            other.shape()
        );
    }
    let mut shape = first.shape().clone();
    shape.insert(0, values.len());
    storage.concat(ctx, shape, values.iter())
}

/// Returns the indices of the first `count` elements.
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
fn first_indices(count: usize) -> Result<Vec<i64>> {
    check_memory::<i64>(count)?;
    Ok((0..count as i64).collect())
}

/// Makes the kernel of `TensorArrayConcatV3`, which concatenates all elements along their outermost dimension. Outputs: the values and the lengths.
fn make_concat<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let storage = S::new(dtype)?;
    let except0: PartialShape = init.attrs.get_or("element_shape_except0", PartialShape::unknown())?;
    from_fn(move |ctx| {
        let values = {
            let mut elements = array_of(ctx, dtype)?.lock()?;
            check_memory::<Tensor>(elements.num_joined())?;
            (0..elements.num_joined() as i64)
                .map(|index| elements.read(index, |shape| storage.zeros(ctx, shape)))
                .collect::<Result<Vec<_>>>()?
        };
        let lengths =
            values.iter().enumerate().map(|(i, value)| check_row_shape(i, value, &values[0], &except0)).collect::<Result<Vec<_>>>()?;
        let joined = match values.first() {
            None => zero_rows(ctx, &storage, &except0, "element_shape_except0", "concatenating")?,
            Some(first) => {
                let mut shape = first.shape().clone();
                shape[0] = lengths.iter().sum::<i64>() as usize;
                storage.concat(ctx, shape, values.iter())?
            }
        };
        ctx.set_output(0, joined);
        ctx.set_output(1, ctx.allocator().vector(&lengths)?);
        Ok(())
    })
}

/// Returns the number of rows of element `i`, whose rows must have the shape of the first element's.
fn check_row_shape(i: usize, value: &Tensor, first: &Tensor, except0: &PartialShape) -> Result<i64> {
    let ([rows, row @ ..], Some(expected)) = (value.shape().dims(), first.shape().get(1..)) else {
        bail!(InvalidArgument, "Concat saw a scalar shape at index {i} but requires at least vectors.  Did you mean to call pack?");
    };
    let row = Shape::new(row);
    if !except0.is_compatible_with(&row) {
        bail!(
            InvalidArgument,
            "TensorArray was passed element_shape_except0 {except0} but index {i} has (excepting dimension 0) shape: {row} which does not match."
        );
    }
    if row.dims() != expected {
        bail!(
            InvalidArgument,
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {} but index {i} has (excepting dimension 0) shape: {row}",
            Shape::new(expected)
        );
    }
    Ok(*rows as i64)
}

/// Makes the kernel of `TensorArrayScatterV3`, which writes each row to the element of its index, as a view. Inputs: handle, indices, value, flow.
/// `TensorArrayUnpack` has no indices and writes all elements.
fn make_scatter<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let to_all = init.op_def.inputs.len() == 3;
    let storage = storage_of::<S>(init, if to_all { 1 } else { 2 })?;
    from_fn(move |ctx| {
        let value = ctx.input(if to_all { 1 } else { 2 })?;
        let indices = if to_all { None } else { Some(ctx.input(1)?) };
        if let Some(indices) = indices.filter(|indices| indices.rank() != 1) {
            bail!(InvalidArgument, "Expected indices to be a vector, but received shape: {}", indices.shape());
        }
        let Some(&rows) = value.shape().first() else {
            bail!(InvalidArgument, "Input value for unpack must be at least a vector but received shape: {}", value.shape());
        };
        let mut elements = array(ctx)?.lock()?;
        let num_written = if elements.is_dynamic() { rows } else { elements.size() };
        let indices = indices.map_or_else(|| first_indices(num_written), Tensor::to_i64_vec)?;
        if indices.len() != rows {
            bail!(InvalidArgument, "Expected len(indices) == values.shape[0], but saw: {} vs. {rows}", indices.len());
        }
        if let Some(&max) = indices.iter().max().filter(|&&max| !elements.is_dynamic() && max >= elements.size() as i64) {
            bail!(InvalidArgument, "Max scatter index must be < array size ({max} vs. {})", elements.size());
        }
        for (i, &index) in indices.iter().enumerate() {
            elements.write(index, storage.row(ctx, value, i)?, |sum, value| storage.add_to(ctx, sum, value))?;
        }
        drop(elements);
        ctx.forward(ctx.num_inputs() - 1, 0)
    })
}

/// Makes the kernel of `TensorArraySplitV3`, which writes runs of rows, of the given lengths, to elements 0, 1, … Inputs: handle, value, lengths, flow.
fn make_split<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = storage_of::<S>(init, 1)?;
    from_fn(move |ctx| {
        let (value, lengths) = (ctx.input(1)?, ctx.input(2)?);
        if lengths.rank() != 1 {
            bail!(InvalidArgument, "Expected lengths to be a vector, received shape: {}", lengths.shape());
        }
        let Some(&num_rows) = value.shape().first() else {
            bail!(InvalidArgument, "Expected value to be at least a vector, but received shape: {}", value.shape());
        };
        let lengths = lengths.as_slice::<i64>()?;
        let sum = lengths.iter().try_fold(0i64, |sum, &n| if n < 0 { None } else { sum.checked_add(n) });
        match sum {
            Some(sum) if sum == num_rows as i64 => {}
            Some(sum) => bail!(
                InvalidArgument,
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum} and value's shape is: {}",
                value.shape()
            ),
            None => bail!(
                InvalidArgument,
                "Expected lengths to be non-negative and their sum to be equal to values.shape[0], received {lengths:?}"
            ),
        }
        let mut elements = array(ctx)?.lock()?;
        if lengths.len() != elements.size() && !(elements.is_dynamic() && lengths.len() > elements.size()) {
            bail!(
                InvalidArgument,
                "TensorArray's size is not equal to the size of lengths ({} vs. {}), and the TensorArray is not marked as dynamically resizeable",
                elements.size(),
                lengths.len()
            );
        }
        write_runs(ctx, &storage, &mut elements, value, lengths)?;
        elements.note_split();
        drop(elements);
        ctx.forward(3, 0)
    })
}

fn write_runs<S: Storage>(
    ctx: &KernelContext<'_>,
    storage: &S,
    elements: &mut Elements<'_>,
    value: &Tensor,
    lengths: &[i64],
) -> Result<()> {
    let mut start = 0;
    for (i, &length) in lengths.iter().enumerate() {
        // The length is not negative, and the value has these rows: the caller checked the sum.
        let length = length as usize;
        elements.write(i as i64, storage.rows(ctx, value, start, length)?, |sum, value| storage.add_to(ctx, sum, value))?;
        start += length;
    }
    Ok(())
}

fn make_size(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let len = array(ctx)?.lock()?.size();
        // The size fits: it was given as an `int32`, and grows by `int32` indices.
        ctx.set_output(0, Tensor::scalar(len as i32));
        Ok(())
    })
}

fn make_close(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        array(ctx)?.close();
        Ok(())
    })
}
