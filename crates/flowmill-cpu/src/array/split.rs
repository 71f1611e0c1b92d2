//! Splitting of tensors: `Split`, `SplitV`, `Unpack`. Parts along an outermost dimension share the tensor's memory.

use super::args::{indices, product};
use super::item::{Item, contiguous, copy_row, for_item};
use super::rearrange::{complete_sizes, equal_parts, split_axis, unpacked_shape};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Split", make_split);
    registry.add("SplitV", make_split_v);
    registry.add("Unpack", make_unpack);
}

/// Returns the elements `start..start + length` of dimension `axis`, as a tensor of shape `shape` (which may lack the axis if `length` is one).
fn piece<T: Item>(alloc: &Allocator, input: &Tensor, axis: usize, start: usize, length: usize, shape: Shape) -> Result<Tensor> {
    let dims = input.shape().dims();
    let (outer, inner) = (product(&dims[..axis]), product(&dims[axis + 1..]));
    if outer == 1 {
        return contiguous::<T>(alloc, input, start * inner, shape);
    }
    let (row, from, len) = (dims[axis] * inner, start * inner, length * inner);
    let source = T::items(input)?;
    T::build(alloc, input.dtype(), shape, source, |out| {
        if len > 0 {
            out.chunks_exact_mut(len).zip(source.chunks_exact(row)).for_each(|(to, row)| copy_row(to, &row[from..from + len]));
        }
        Ok(())
    })
}

fn make_split(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(split::<T>))
}

fn split<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let count = ctx.num_outputs();
    let input = ctx.input(1)?;
    let axis = split_axis(input.shape(), ctx.input(0)?, count)?;
    if count == 1 {
        return ctx.forward(1, 0);
    }
    let size = input.shape()[axis];
    let length = equal_parts(axis, size, count)?;
    let mut shape = input.shape().clone();
    shape[axis] = length;
    let input = ctx.take(1)?;
    for i in 0..count {
        ctx.set_output(i, piece::<T>(ctx.allocator(), &input, axis, i * length, length, shape.clone())?);
    }
    Ok(())
}

fn make_split_v(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(split_v::<T>))
}

fn split_v<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let count = ctx.num_outputs();
    let input = ctx.input(0)?;
    let axis = split_axis(input.shape(), ctx.input(2)?, count)?;
    let sizes = ctx.input(1)?;
    if sizes.rank() != 1 || sizes.num_elements() != count {
        bail!(
            InvalidArgument,
            "size of the split_tensor must be 1-D and have the same elements as outputs got {} and {count}",
            sizes.shape()
        );
    }
    let sizes = complete_sizes(indices(sizes)?, input.shape()[axis])?;
    if count == 1 {
        return ctx.forward(0, 0);
    }
    let input = ctx.take(0)?;
    let mut start = 0;
    for (i, &size) in sizes.iter().enumerate() {
        let length = size as usize;
        let mut shape = input.shape().clone();
        shape[axis] = length;
        ctx.set_output(i, piece::<T>(ctx.allocator(), &input, axis, start, length, shape)?);
        start += length;
    }
    Ok(())
}

fn make_unpack(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", 0)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| unpack::<T>(ctx, axis)))
}

fn unpack<T: Item>(ctx: &mut KernelContext<'_>, axis: i64) -> Result<()> {
    let count = ctx.num_outputs();
    let input = ctx.input(0)?;
    let (axis, shape) = unpacked_shape(input.shape(), axis, count)?;
    let input = ctx.take(0)?;
    for i in 0..count {
        ctx.set_output(i, piece::<T>(ctx.allocator(), &input, axis, i, 1, shape.clone())?);
    }
    Ok(())
}
