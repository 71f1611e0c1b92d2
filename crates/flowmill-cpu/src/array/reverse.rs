//! Reversing and shifting: `Reverse`, `ReverseV2`, `ReverseSequence`, `Roll`.

use super::args::{indices, product};
use super::item::{Item, for_item};
use super::nd::{Dims, Strides, copy_strided, read_mapped, read_strided, row_major};
use super::rearrange::{Flags, reversed_axes, reversed_strides};
use crate::from_fn::linear_from_fn;
use flowmill_kernels::array::rearrange::sequence_axes;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Reverse", make_reverse);
    registry.add("ReverseSequence", make_reverse_sequence);
    registry.add("ReverseV2", make_reverse_v2);
    registry.add("Roll", make_roll);
}

fn make_reverse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_from_fn(init, |ctx| {
        let (input, dims) = (ctx.input(0)?, ctx.input(1)?);
        if dims.rank() != 1 {
            bail!(InvalidArgument, "'dims' must be 1-dimension, not {}", dims.rank());
        }
        if dims.num_elements() != input.rank() {
            bail!(
                InvalidArgument,
                "'dims' must have the same number of values as 'input' has dimensions. 'input' has {}'dims' has {} values",
                input.rank(),
                dims.num_elements()
            );
        }
        let flags = Flags::from_slice(dims.as_slice()?);
        reverse::<T>(ctx, &flags)
    }))
}

fn make_reverse_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_from_fn(init, |ctx| {
        let (input, axes) = (ctx.input(0)?, ctx.input(1)?);
        let flags = reversed_axes(input.shape(), axes)?;
        reverse::<T>(ctx, &flags)
    }))
}

fn reverse<T: Item>(ctx: &mut KernelContext<'_>, flags: &Flags) -> Result<()> {
    let input = ctx.input(0)?;
    let shape = input.shape();
    let (offset, strides) = reversed_strides(shape, flags);
    if strides.iter().all(|&stride| stride > 0) {
        return ctx.forward(0, 0);
    }
    let source = T::items(input)?;
    let output = T::build(ctx.allocator(), input.dtype(), shape.clone(), source, |out| {
        read_strided(out, source, offset, shape, &strides);
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}

fn make_reverse_sequence(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let seq_dim: i64 = init.attrs.get("seq_dim")?;
    let batch_dim: i64 = init.attrs.get_or("batch_dim", 0)?;
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let output = reverse_sequence::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, seq_dim, batch_dim)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Reverses the first `lengths[b]` slices along `seq_dim` of each batch entry `b`; the other slices are unchanged.
fn reverse_sequence<T: Item>(alloc: &Allocator, input: &Tensor, lengths: &Tensor, seq_dim: i64, batch_dim: i64) -> Result<Tensor> {
    let shape = input.shape();
    let (seq, batch) = sequence_axes(shape, lengths.shape(), seq_dim, batch_dim)?;
    let lengths = indices(lengths)?;
    for (i, &length) in lengths.iter().enumerate() {
        if length < 0 {
            bail!(InvalidArgument, "seq_lens({i}) < 0");
        }
        if length > shape[seq] as i64 {
            bail!(InvalidArgument, "seq_lens({i}) > input.dims({seq})");
        }
    }
    let source = T::items(input)?;
    T::build(alloc, input.dtype(), shape.clone(), source, |out| {
        out.clone_from_slice(source);
        let strides = row_major(shape);
        let mut backwards: Strides = strides.clone();
        backwards[seq] = -backwards[seq];
        let mut dims: Dims = Dims::from_slice(shape);
        dims[batch] = 1;
        for (i, &length) in lengths.iter().enumerate().filter(|&(_, &length)| length > 1) {
            dims[seq] = length as usize;
            let first = i as isize * strides[batch];
            let last = first + (length as isize - 1) * strides[seq];
            copy_strided((out, first, &strides), (source, last, &backwards), &dims);
        }
        Ok(())
    })
}

fn make_roll(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_from_fn(init, |ctx| {
        let output = roll::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, ctx.input(2)?)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

fn roll<T: Item>(alloc: &Allocator, input: &Tensor, shift: &Tensor, axis: &Tensor) -> Result<Tensor> {
    let (maps, run) = rolled(input.shape(), shift, axis)?;
    if input.num_elements() == 0 {
        return Ok(input.clone());
    }
    let source = T::items(input)?;
    T::build(alloc, input.dtype(), input.shape().clone(), source, |out| {
        read_mapped(out, source, &maps, run);
        Ok(())
    })
}

/// Returns the offsets in the input at which the positions of each of the outer dimensions lie, and the number of elements inside them, which are
/// copied as contiguous runs.
fn rolled(shape: &Shape, shift: &Tensor, axis: &Tensor) -> Result<(Vec<Vec<usize>>, usize)> {
    if shape.rank() < 1 {
        bail!(InvalidArgument, "input must be 1-D or higher");
    }
    for (name, argument) in [("shift", shift), ("axis", axis)] {
        if argument.rank() > 1 {
            bail!(InvalidArgument, "{name} must be a scalar or a 1-D vector. Found: {}", argument.shape());
        }
    }
    if shift.shape() != axis.shape() {
        bail!(InvalidArgument, "shift and axis must have the same size");
    }
    // The shift along each axis, modulo its size.
    let mut shifts: SmallVec<[i64; 8]> = SmallVec::from_elem(0, shape.rank());
    for (shift, axis) in indices(shift)?.into_iter().zip(indices(axis)?) {
        let Some(axis) = shape.axis(axis) else { bail!(InvalidArgument, "axis {axis} is out of range") };
        let size = shape[axis].max(1) as i64;
        shifts[axis] = (shifts[axis] + shift.rem_euclid(size)).rem_euclid(size);
    }
    let moved = shifts.iter().rposition(|&shift| shift != 0).map_or(0, |axis| axis + 1);
    let strides = row_major(shape);
    let maps = (0..moved)
        .map(|axis| {
            let (size, shift, stride) = (shape[axis], shifts[axis] as usize, strides[axis] as usize);
            (0..size).map(|i| (i + size - shift) % size * stride).collect()
        })
        .collect();
    Ok((maps, product(&shape[moved..])))
}
