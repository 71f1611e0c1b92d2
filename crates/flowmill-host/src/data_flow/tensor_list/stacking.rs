//! Conversion of lists to tensors: `TensorListStack`, `TensorListGather`, `TensorListConcat`.

use super::list::{TensorList, merge_shapes};
use super::{list_of, shape_of};
use crate::from_fn::from_fn;
use flowmill_kernels::storage::Storage;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{PartialShape, Result, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register_in<S: Storage>(registry: &mut KernelRegistry) {
    registry.add("TensorListStack", make_stack::<S>);
    registry.add("TensorListGather", make_gather::<S>);
    registry.add("TensorListConcat", make_concat::<S>);
    registry.add("TensorListConcatV2", make_concat_v2::<S>);
}

/// Makes the kernel of `TensorListStack`. Inputs: list, element shape.
fn make_stack<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    let expected = init.attrs.get_or("num_elements", -1i64)?;
    from_fn(move |ctx| {
        let list = list_of(ctx, 0, dtype)?;
        let len = list.elements.len();
        if expected != -1 && expected != len as i64 {
            bail!(InvalidArgument, "Operation expected a list with {expected} elements but got a list with {len} elements.");
        }
        let shape = list.merged_shape(&shape_of(ctx.input(1)?)?, list.elements.iter())?;
        let Some(shape) = shape.to_shape() else {
            match len {
                0 => bail!(InvalidArgument, "Tried to stack elements of an empty list with non-fully-defined element_shape: {shape}"),
                _ => bail!(
                    InvalidArgument,
                    "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: {shape}"
                ),
            }
        };
        let stacked = list.stack(ctx, &storage, len, &shape, list.elements.iter())?;
        ctx.set_output(0, stacked);
        Ok(())
    })
}

/// Makes the kernel of `TensorListGather`. Inputs: list, indices, element shape.
fn make_gather<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    from_fn(move |ctx| {
        let list = list_of(ctx, 0, dtype)?;
        let len = list.elements.len();
        let gather = |&index: &i32| match usize::try_from(index).ok().and_then(|i| list.elements.get(i)) {
            Some(element) => Ok(element),
            None => bail!(InvalidArgument, "Trying to gather element {index} in a list with {len} elements."),
        };
        let elements = ctx.input(1)?.as_slice::<i32>()?.iter().map(gather).collect::<Result<Vec<_>>>()?;
        let shape = list.merged_shape(&shape_of(ctx.input(2)?)?, elements.iter().copied())?;
        let Some(shape) = shape.to_shape() else {
            match elements.len() {
                0 => bail!(InvalidArgument, "Tried to gather 0-elements from a list with non-fully-defined shape: {shape}"),
                _ => bail!(
                    InvalidArgument,
                    "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: {shape}"
                ),
            }
        };
        let stacked = list.stack(ctx, &storage, elements.len(), &shape, elements.into_iter())?;
        ctx.set_output(0, stacked);
        Ok(())
    })
}

/// Makes the kernel of `TensorListConcat`: the element shape is an attribute, and there is no input with leading sizes.
fn make_concat<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    let element_shape: PartialShape = init.attrs.get_or("element_shape", PartialShape::unknown())?;
    from_fn(move |ctx| {
        let (values, lengths) = concat(ctx, &storage, list_of(ctx, 0, dtype)?, &element_shape, &[])?;
        ctx.set_output(0, values);
        ctx.set_output(1, ctx.allocator().vector(&lengths)?);
        Ok(())
    })
}

/// Makes the kernel of `TensorListConcatV2`. Inputs: list, element shape, and the sizes along the outermost dimension that unset elements have.
fn make_concat_v2<S: Storage>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("element_dtype")?;
    let storage = S::new(dtype)?;
    from_fn(move |ctx| {
        let element_shape = shape_of(ctx.input(1)?)?;
        let (values, lengths) = concat(ctx, &storage, list_of(ctx, 0, dtype)?, &element_shape, ctx.input(2)?.as_slice::<i64>()?)?;
        ctx.set_output(0, values);
        ctx.set_output(1, ctx.allocator().vector(&lengths)?);
        Ok(())
    })
}

/// Concatenates the elements along their outermost dimension. Returns the values and each element's size in that dimension.
fn concat<S: Storage>(
    ctx: &KernelContext<'_>,
    storage: &S,
    list: &TensorList,
    element_shape: &PartialShape,
    leading_dims: &[i64],
) -> Result<(Tensor, Vec<i64>)> {
    let shape = merge_shapes(element_shape, &list.element_shape)?;
    let (declared, mut except_first) = match shape.dims() {
        Some([first, rest @ ..]) => (usize::try_from(*first).ok(), PartialShape::new(rest)),
        Some([]) => bail!(InvalidArgument, "Concat requires elements to be at least vectors, found scalars instead."),
        None => (None, PartialShape::unknown()),
    };
    let mut rows_of_elements = Vec::new();
    for (i, element) in list.elements.iter().enumerate() {
        let Some(element) = element else { continue };
        let [rows, row @ ..] = element.shape().dims() else {
            bail!(InvalidArgument, "Concat saw a scalar shape at index {i} but requires at least vectors.");
        };
        except_first = merge_shapes(&except_first, &PartialShape::from(flowmill_tensor::Shape::new(row)))?;
        if let Some(declared) = declared.filter(|declared| declared != rows) {
            bail!(InvalidArgument, "Element {i} of the list has {rows} rows where element_shape says {declared}");
        }
        rows_of_elements.push(*rows);
    }
    // Elements of one size leave no doubt about those that are unset.
    rows_of_elements.dedup();
    let first_dim = declared.or(if let [rows] = rows_of_elements[..] { Some(rows) } else { None });
    let Some(row) = except_first.to_shape() else {
        let what = if list.elements.is_empty() { "an empty tensor list" } else { "lists with uninitialized tensors" };
        bail!(InvalidArgument, "All except the first dimension must be fully defined when concating {what}. element_shape: {shape}");
    };
    let lengths = list
        .elements
        .iter()
        .enumerate()
        .map(|(i, element)| length(i, element.as_ref(), first_dim, leading_dims))
        .collect::<Result<Vec<usize>>>()?;
    let Some(total) = lengths.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) else {
        bail!(InvalidArgument, "the sizes of the list's elements overflow");
    };
    let mut joined = row.clone();
    joined.insert(0, total);
    joined.checked_num_elements()?;
    let blocks = list.elements.iter().zip(&lengths).map(|(element, &rows)| match element {
        Some(element) => Ok(element.clone()),
        None => {
            let mut shape = row.clone();
            shape.insert(0, rows);
            storage.zeros(ctx, shape)
        }
    });
    let blocks = blocks.collect::<Result<Vec<_>>>()?;
    let values = storage.concat(ctx, joined, blocks.iter())?;
    Ok((values, lengths.into_iter().map(|n| n as i64).collect()))
}

/// Returns the size of element `i` along its outermost dimension: its own, that in `leading_dims`, or else `first_dim`.
fn length(i: usize, element: Option<&Tensor>, first_dim: Option<usize>, leading_dims: &[i64]) -> Result<usize> {
    if let Some(&rows) = element.and_then(|element| element.shape().first()) {
        return Ok(rows);
    }
    match (leading_dims.get(i), first_dim) {
        (Some(&rows), _) => usize::try_from(rows).map_err(|_| error!(InvalidArgument, "leading_dims[{i}] is negative")),
        (None, Some(rows)) => Ok(rows),
        (None, None) => bail!(
            InvalidArgument,
            "List contains uninitialized tensor at index {i} but leading_dims has only {} elements.",
            leading_dims.len()
        ),
    }
}
