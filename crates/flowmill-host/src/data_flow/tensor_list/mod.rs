//! Tensor lists, which replace `tf.TensorArray` in functions: `TensorListReserve` and related ops.

mod list;
mod stacking;

use crate::from_fn::from_fn;
use flowmill_kernels::storage::{HostStorage, Storage};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, PartialShape, Result, Shape, Tensor, Variant, bail, check_memory};
use list::TensorList;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    register_in::<HostStorage>(registry);
}

/// Registers the kernels of lists whose elements are in memory of this kind. Shapes, indices, sizes and lengths are in the host's memory.
pub fn register_in<S: Storage>(registry: &mut KernelRegistry) {
    registry.add("EmptyTensorList", make_empty);
    registry.add("TensorListReserve", make_reserve);
    registry.add("TensorListPushBack", make_push_back);
    registry.add("TensorListPushBackBatch", make_push_back_batch::<S>);
    registry.add("TensorListPopBack", make_pop_back::<S>);
    registry.add("TensorListLength", make_length);
    registry.add("TensorListElementShape", make_element_shape);
    registry.add("TensorListGetItem", make_get_item::<S>);
    registry.add("TensorListSetItem", make_set_item);
    registry.add("TensorListResize", make_resize);
    registry.add("TensorListFromTensor", make_from_tensor::<S>);
    registry.add("TensorListScatter", make_scatter::<S>);
    registry.add("TensorListScatterV2", make_scatter::<S>);
    registry.add("TensorListScatterIntoExistingList", make_scatter_into_existing::<S>);
    registry.add("TensorListSplit", make_split::<S>);
    registry.add("TensorListConcatLists", make_concat_lists);
    stacking::register_in::<S>(registry);
}

fn as_list(variant: &Variant) -> Result<&TensorList> {
    match variant.get() {
        Some(list) => Ok(list),
        None => bail!(InvalidArgument, "Input handle is not a list. Saw: '{}'", variant.value().type_name()),
    }
}

/// Returns the list in input `i`.
fn list<'a>(ctx: &'a KernelContext<'_>, i: usize) -> Result<&'a TensorList> {
    let tensor = ctx.input(i)?;
    match tensor.as_variants() {
        Ok([variant]) if tensor.rank() == 0 => as_list(variant),
        _ => bail!(InvalidArgument, "Input list must be a scalar. Saw: {}", tensor.shape()),
    }
}

/// Returns the list in input `i`, whose elements must have type `dtype`.
fn list_of<'a>(ctx: &'a KernelContext<'_>, i: usize, dtype: DType) -> Result<&'a TensorList> {
    let list = list(ctx, i)?;
    list.check_dtype(dtype)?;
    Ok(list)
}

/// Applies `change` to the list in input 0, in place if nothing else refers to the list. Returns the new list.
fn change_list<R>(ctx: &mut KernelContext<'_>, change: impl FnOnce(&mut TensorList) -> Result<R>) -> Result<(Tensor, R)> {
    list(ctx, 0)?;
    let mut tensor = ctx.take(0)?;
    let [variant] = tensor.as_mut_variants()? else { bail!(Internal, "a tensor list's variant is not a scalar") };
    let result = change_variant(variant, change)?;
    Ok((tensor, result))
}

fn change_variant<R>(variant: &mut Variant, change: impl FnOnce(&mut TensorList) -> Result<R>) -> Result<R> {
    if let Some(list) = variant.get_mut::<TensorList>() {
        return change(list);
    }
    let list = as_list(variant)?;
    check_memory::<Option<Tensor>>(list.elements.len())?;
    let mut copy = list.clone();
    let result = change(&mut copy)?;
    *variant = Variant::new(copy);
    Ok(result)
}

fn to_output(list: TensorList) -> Tensor {
    Tensor::variant(Variant::new(list))
}

/// Returns the static shape that a tensor's values describe: a scalar -1 is an unknown shape, and a size of -1 is unknown.
fn shape_of(tensor: &Tensor) -> Result<PartialShape> {
    let dims = tensor.to_i64_vec()?;
    match (tensor.rank(), &dims[..]) {
        (0, [-1]) => Ok(PartialShape::unknown()),
        (0, _) => bail!(InvalidArgument, "The only valid scalar shape tensor is the fully unknown shape specified as -1."),
        (1, dims) => match dims.iter().find(|&&d| d < -1) {
            Some(d) => bail!(InvalidArgument, "Dimension {d} must be >= -1"),
            None => Ok(PartialShape::new(dims)),
        },
        (rank, _) => bail!(InvalidArgument, "Shape must be at most rank 1 but is rank {rank}"),
    }
}

fn scalar_i32(ctx: &KernelContext<'_>, i: usize, what: &str) -> Result<i32> {
    let tensor = ctx.input(i)?;
    match tensor.to_scalar::<i32>() {
        Ok(value) => Ok(value),
        Err(_) => bail!(InvalidArgument, "{what} must be a scalar of type int32, got a tensor of shape {}", tensor.shape()),
    }
}

/// Makes the kernel of `EmptyTensorList`. Inputs: element shape, maximal number of elements.
fn make_empty(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    from_fn(move |ctx| {
        let element_shape = shape_of(ctx.input(0)?)?;
        let max_num_elements = usize::try_from(scalar_i32(ctx, 1, "max_num_elements")?).ok();
        ctx.set_output(0, to_output(TensorList { dtype, element_shape, max_num_elements, elements: Vec::new() }));
        Ok(())
    })
}

/// Makes the kernel of `TensorListReserve`. Inputs: element shape, number of elements.
fn make_reserve(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    from_fn(move |ctx| {
        let element_shape = shape_of(ctx.input(0)?)?;
        let len = scalar_i32(ctx, 1, "num_elements")?;
        let Ok(len) = usize::try_from(len) else {
            bail!(InvalidArgument, "The num_elements to reserve must be a non negative number, but got {len}");
        };
        ctx.set_output(0, to_output(TensorList::reserved(dtype, element_shape, len)?));
        Ok(())
    })
}

fn make_push_back(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let item = ctx.take(1)?;
        let (list, ()) = change_list(ctx, |list| list.push(item))?;
        ctx.set_output(0, list);
        Ok(())
    })
}

/// Makes the kernel of `TensorListPushBackBatch`, which pushes row `i` of the tensor to list `i` of a tensor of lists.
fn make_push_back_batch<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = S::new(init.dtype("element_dtype")?)?;
    from_fn(move |ctx| {
        let item = ctx.take(1)?;
        let mut lists = ctx.take(0)?;
        let count = lists.num_elements();
        match item.shape().first() {
            Some(&rows) if rows == count => {}
            Some(rows) => bail!(InvalidArgument, "Expected tensor.shape[0] == input_handles.size, but saw {rows} vs. {count}"),
            None => bail!(InvalidArgument, "Expected tensor to be at least a vector, but saw shape: []"),
        }
        let rows = rows_of(ctx, &storage, &item, count)?;
        for (variant, row) in lists.as_mut_variants()?.iter_mut().zip(rows) {
            change_variant(variant, |list| list.push(row))?;
        }
        ctx.set_output(0, lists);
        Ok(())
    })
}

/// The last element of a list: a tensor, or the shape of zeros.
enum Popped {
    Set(Tensor),
    Unset(Shape),
}

/// Makes the kernel of `TensorListPopBack`. Inputs: list, element shape. Outputs: the shorter list, its last element.
fn make_pop_back<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    from_fn(move |ctx| {
        let shape = shape_of(ctx.input(1)?)?;
        let (list, element) = change_list(ctx, |list| {
            list.check_dtype(dtype)?;
            match list.elements.pop() {
                Some(Some(element)) => Ok(Popped::Set(fitting(element, &shape)?)),
                Some(None) => {
                    let shape = list.merged_shape(&shape, std::iter::empty())?;
                    let Some(shape) = shape.to_shape() else {
                        bail!(InvalidArgument, "Trying to read an uninitialized tensor but element_shape is not fully defined.{shape}")
                    };
                    Ok(Popped::Unset(shape))
                }
                None => bail!(InvalidArgument, "Trying to pop from an empty list."),
            }
        })?;
        let element = match element {
            Popped::Set(element) => element,
            Popped::Unset(shape) => storage.zeros(ctx, shape)?,
        };
        ctx.set_output(0, list);
        ctx.set_output(1, element);
        Ok(())
    })
}

/// Returns the element after a check that its shape is compatible with the inferred static shape `shape`.
fn fitting(element: Tensor, shape: &PartialShape) -> Result<Tensor> {
    if !shape.is_compatible_with(element.shape()) {
        bail!(InvalidArgument, "Trying to read an element of shape {} with an element_shape of {shape}.", element.shape());
    }
    Ok(element)
}

fn make_length(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let len = list(ctx, 0)?.elements.len();
        let Ok(len) = i32::try_from(len) else { bail!(InvalidArgument, "a tensor list of {len} elements is longer than int32 counts") };
        ctx.set_output(0, Tensor::scalar(len));
        Ok(())
    })
}

/// Makes the kernel of `TensorListElementShape`: the shape has -1 for unknown sizes, or is a scalar -1 if the rank is unknown.
fn make_element_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let shape_type = init.dtype("shape_type")?;
    from_fn(move |ctx| {
        let shape = match list(ctx, 0)?.element_shape.dims() {
            Some(dims) => ctx.allocator().index_vector(shape_type, dims)?,
            None => Tensor::index_scalar(shape_type, -1)?,
        };
        ctx.set_output(0, shape);
        Ok(())
    })
}

/// Makes the kernel of `TensorListGetItem`. Inputs: list, index, element shape.
fn make_get_item<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    from_fn(move |ctx| {
        let list = list_of(ctx, 0, dtype)?;
        let index = scalar_i32(ctx, 1, "index")?;
        let Some(element) = usize::try_from(index).ok().and_then(|i| list.elements.get(i)) else {
            bail!(InvalidArgument, "Trying to access element {index} in a list with {} elements.", list.elements.len());
        };
        let item = match element {
            Some(item) => fitting(item.clone(), &shape_of(ctx.input(2)?)?)?,
            None => {
                let shape = list.merged_shape(&shape_of(ctx.input(2)?)?, list.elements.iter())?;
                let Some(shape) = shape.to_shape() else {
                    bail!(
                        InvalidArgument,
                        "Trying to read an uninitialized tensor but element_shape is not fully defined: {shape} and no list element is set."
                    );
                };
                storage.zeros(ctx, shape)?
            }
        };
        ctx.set_output(0, item);
        Ok(())
    })
}

/// Makes the kernel of `TensorListSetItem`. Inputs: list, index, item.
fn make_set_item(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let grow = init.attrs.get_or("resize_if_index_out_of_bounds", false)?;
    from_fn(move |ctx| {
        let index = scalar_i32(ctx, 1, "index")?;
        let item = ctx.take(2)?;
        let (list, ()) = change_list(ctx, |list| list.set(index.into(), item, grow))?;
        ctx.set_output(0, list);
        Ok(())
    })
}

fn make_resize(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let size = scalar_i32(ctx, 1, "size")?;
        let Ok(size) = usize::try_from(size) else {
            bail!(InvalidArgument, "TensorListSlice expects size to be non-negative. Got: {size}");
        };
        let (list, ()) = change_list(ctx, |list| list.resize(size))?;
        ctx.set_output(0, list);
        Ok(())
    })
}

/// Returns the number of rows of `tensor`, whose rows must be possible elements of a list with `element_shape`.
fn check_rows(tensor: &Tensor, element_shape: &PartialShape) -> Result<usize> {
    let [rows, row @ ..] = tensor.shape().dims() else {
        bail!(InvalidArgument, "Tensor must be at least a vector, but saw shape: {}", tensor.shape());
    };
    let row = row.into();
    if !element_shape.is_compatible_with(&row) {
        bail!(InvalidArgument, "Specified a list with shape {element_shape} from a tensor with shape {row}");
    }
    Ok(*rows)
}

/// Returns the first `count` rows of a tensor, as views.
fn rows_of<S: Storage>(ctx: &KernelContext<'_>, storage: &S, tensor: &Tensor, count: usize) -> Result<Vec<Tensor>> {
    check_memory::<Tensor>(count)?;
    (0..count).map(|i| storage.row(ctx, tensor, i)).collect()
}

/// Makes the kernel of `TensorListFromTensor`, whose list has the tensor's rows, as views.
fn make_from_tensor<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = S::new(init.dtype("element_dtype")?)?;
    from_fn(move |ctx| {
        let tensor = ctx.input(0)?;
        let element_shape = shape_of(ctx.input(1)?)?;
        let rows = check_rows(tensor, &element_shape)?;
        let elements = rows_of(ctx, &storage, tensor, rows)?.into_iter().map(Some).collect();
        let list = TensorList { dtype: tensor.dtype(), element_shape, max_num_elements: None, elements };
        ctx.set_output(0, to_output(list));
        Ok(())
    })
}

/// Sets element `indices[i]` to row `i`, and extends the list if necessary.
fn scatter(list: &mut TensorList, rows: Vec<Tensor>, indices: &[i32]) -> Result<()> {
    if let Some(&max) = indices.iter().max()
        && max as usize >= list.elements.len()
    {
        // The index is not negative: the callers checked all indices.
        list.resize(max as usize + 1)?;
    }
    for (row, &index) in rows.into_iter().zip(indices) {
        if let Some(element) = usize::try_from(index).ok().and_then(|index| list.elements.get_mut(index)) {
            *element = Some(row);
        }
    }
    Ok(())
}

fn check_indices(indices: &[i32]) -> Result<()> {
    if indices.iter().any(|&i| i < 0) {
        bail!(InvalidArgument, "Indices in TensorListScatter must all be non-negative.");
    }
    Ok(())
}

/// Makes the kernel of `TensorListScatter` and `TensorListScatterV2`. Inputs: tensor, indices, element shape, and for V2 the number of elements (-1
/// for as many as necessary).
fn make_scatter<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = S::new(init.dtype("element_dtype")?)?;
    from_fn(move |ctx| {
        let (tensor, indices) = (ctx.input(0)?, ctx.input(1)?.as_slice::<i32>()?);
        let element_shape = shape_of(ctx.input(2)?)?;
        let rows = check_rows(tensor, &element_shape)?;
        check_indices(indices)?;
        if rows != indices.len() {
            bail!(InvalidArgument, "Invalid number of rows in input tensor. Expected: {} Actual: {rows}", indices.len());
        }
        let len = if ctx.num_inputs() > 3 { scalar_i32(ctx, 3, "num_elements")? } else { -1 };
        if len < -1 {
            bail!(InvalidArgument, "TensorListScatter expects num_elements >= -1, found: {len}");
        }
        if let Some(index) = indices.iter().find(|&&i| len >= 0 && i >= len) {
            bail!(InvalidArgument, "TensorListScatter: Trying to scatter at index {index} in list with size {len}");
        }
        let mut list = TensorList::reserved(tensor.dtype(), element_shape, usize::try_from(len).unwrap_or(0))?;
        scatter(&mut list, rows_of(ctx, &storage, tensor, rows)?, indices)?;
        ctx.set_output(0, to_output(list));
        Ok(())
    })
}

/// Makes the kernel of `TensorListScatterIntoExistingList`. Inputs: list, tensor, indices.
fn make_scatter_into_existing<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = S::new(init.dtype("element_dtype")?)?;
    from_fn(move |ctx| {
        let (tensor, indices) = (ctx.take(1)?, ctx.take(2)?);
        let indices = indices.as_slice::<i32>()?;
        check_indices(indices)?;
        match tensor.shape().first() {
            Some(&rows) if rows == indices.len() => {}
            Some(rows) => bail!(InvalidArgument, "Expected len(indices) == tensor.shape[0], but saw: {} vs. {rows}", indices.len()),
            None => bail!(InvalidArgument, "Tensor must be at least a vector, but saw shape: []"),
        }
        let rows = rows_of(ctx, &storage, &tensor, indices.len())?;
        let (list, ()) = change_list(ctx, |list| {
            list.check_dtype(tensor.dtype())?;
            scatter(list, rows, indices)
        })?;
        ctx.set_output(0, list);
        Ok(())
    })
}

/// Makes the kernel of `TensorListSplit`, whose list has runs of the tensor's rows, of the given lengths. Inputs: tensor, element shape, lengths.
fn make_split<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let storage = S::new(init.dtype("element_dtype")?)?;
    from_fn(move |ctx| {
        let (tensor, lengths) = (ctx.input(0)?, ctx.input(2)?);
        let element_shape = shape_of(ctx.input(1)?)?;
        if lengths.rank() != 1 {
            bail!(InvalidArgument, "Expected lengths to be a vector, received shape: {}", lengths.shape());
        }
        let Some(&total) = tensor.shape().first() else {
            bail!(InvalidArgument, "Tensor must be at least a vector, but saw shape: []");
        };
        let own_shape: PartialShape = tensor.shape().to_i64().into_iter().enumerate().map(|(i, d)| if i == 0 { -1 } else { d }).collect();
        if own_shape.merge(&element_shape).is_err() {
            bail!(InvalidArgument, "tensor shape {} is not compatible with element_shape {element_shape}", tensor.shape());
        }
        let mut elements = Vec::new();
        let mut start = 0;
        for &length in lengths.as_slice::<i64>()? {
            let Ok(length) = usize::try_from(length) else { bail!(InvalidArgument, "Invalid value in lengths: {length}") };
            if length > total - start {
                bail!(InvalidArgument, "Attempting to slice [{start}, {}] from tensor with length {total}", start.saturating_add(length));
            }
            elements.push(Some(storage.rows(ctx, tensor, start, length)?));
            start += length;
        }
        if start != total {
            bail!(InvalidArgument, "Unused values in tensor. Length of tensor: {total} Values used: {start}");
        }
        let list = TensorList { dtype: tensor.dtype(), element_shape, max_num_elements: None, elements };
        ctx.set_output(0, to_output(list));
        Ok(())
    })
}

/// Makes the kernel of `TensorListConcatLists`, which joins two lists, or two tensors of lists of equal shape pair by pair.
fn make_concat_lists(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        if a.shape() != b.shape() {
            bail!(InvalidArgument, "Expected TensorList inputs to have the same shape, but saw: {} vs. {}", a.shape(), b.shape());
        }
        let mut joined = Vec::with_capacity(a.num_elements());
        for (i, (a, b)) in a.as_variants()?.iter().zip(b.as_variants()?).enumerate() {
            let (a, b) = (as_list(a)?, as_list(b)?);
            for (list, name) in [(a, "input_a"), (b, "input_b")] {
                if list.dtype != dtype {
                    bail!(InvalidArgument, "{name}[{i}].dtype != element_dtype.  Saw: {} vs. {}", list.dtype.cpp_name(), dtype.cpp_name());
                }
            }
            if a.element_shape != b.element_shape {
                bail!(
                    InvalidArgument,
                    "input_a and input_b TensorList element shapes are not identical at index {i}.  Saw {} vs. {}",
                    a.element_shape,
                    b.element_shape
                );
            }
            let mut list = a.clone();
            list.elements.extend(b.elements.iter().cloned());
            joined.push(Variant::new(list));
        }
        let joined = Tensor::from_variants(a.shape().clone(), joined)?;
        ctx.set_output(0, joined);
        Ok(())
    })
}
