//! Splitting of tensors: `Split`, `SplitV`, `Unpack`. Parts along an outermost dimension share the tensor's memory.

use super::args::{indices, product};
use super::item::{Item, contiguous, copy_row, for_item};
use super::nd::read_strided;
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

/// Runs of fewer elements are copied for all parts together.
const SHORT_RUN: usize = 16;

/// Calls `take` with each of `count` equal parts along dimension `axis`, as tensors of shape `shape` (which may lack the axis if the length of a part is one).
fn equal_pieces<T: Item>(
    alloc: &Allocator,
    input: &Tensor,
    axis: usize,
    count: usize,
    shape: Shape,
    mut take: impl FnMut(usize, Tensor),
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let dims = input.shape().dims();
    let (outer, row) = (product(&dims[..axis]), product(&dims[axis..]));
    let (length, run) = (dims[axis] / count, row / count);
    if outer == 1 || run >= SHORT_RUN || count < SHORT_RUN || input.num_elements() == 0 {
        for i in 0..count {
            take(i, piece::<T>(alloc, input, axis, i * length, length, shape.clone())?);
        }
        return Ok(());
    }
    // Each cache line has elements of many parts. All are copied to one tensor, part by part, and share its memory.
    let source = T::items(input)?;
    let parts = T::build(alloc, input.dtype(), [count, outer, run].into(), source, |out| {
        read_strided(out, source, 0, &[count, outer, run], &[run as isize, row as isize, 1]);
        Ok(())
    })?;
    for i in 0..count {
        take(i, contiguous::<T>(alloc, &parts, i * outer * run, shape.clone())?);
    }
    Ok(())
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
    equal_pieces::<T>(ctx.allocator(), &input, axis, count, shape, |i, part| ctx.set_output(i, part))
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
    equal_pieces::<T>(ctx.allocator(), &input, axis, count, shape, |i, part| ctx.set_output(i, part))
}
