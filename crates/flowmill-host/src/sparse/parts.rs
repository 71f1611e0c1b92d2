//! Concatenation and slicing: `SparseConcat`, `SparseSlice`, `SparseSliceGrad`, `SparseSplit`.

use super::{Sparse, describe, index_matrix, matrix, pick_or_zero, position};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use crate::number::is_number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail, check_memory};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseConcat", make_concat);
    registry.add("SparseSlice", |_| from_fn(slice));
    registry.add("SparseSliceGrad", make_slice_grad);
    registry.add("SparseSplit", make_split);
}

fn make_concat(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get("concat_dim")?;
    from_fn(move |ctx| concat(ctx, axis))
}

/// Concatenates sparse tensors. Inputs: all indices, then all values, then all shapes. The result is in row-major order.
fn concat(ctx: &mut KernelContext<'_>, axis: i64) -> Result<()> {
    let n = ctx.num_inputs() / 3;
    let parts = (0..n).map(|i| Sparse::new(ctx.input(i)?, ctx.input(n + i)?, ctx.input(2 * n + i)?)).collect::<Result<Vec<_>>>()?;
    let Some(first) = parts.first() else { bail!(InvalidArgument, "SparseConcat needs at least one input") };
    let rank = first.rank();
    let Some(axis) = Shape::new(&vec![0; rank]).axis(axis) else {
        bail!(InvalidArgument, "Concat dimension must be in range [{}, {rank}), got {axis}", -(rank as i64));
    };
    let mut dims = first.dims.to_vec();
    let mut indices = first.indices.to_vec();
    for (i, part) in parts.iter().enumerate().skip(1) {
        if part.rank() != rank {
            bail!(InvalidArgument, "Ranks of all input tensors must match: expected {rank} but got {} at position {i}", part.rank());
        }
        for (d, (&want, &got)) in first.dims.iter().zip(part.dims).enumerate() {
            if d != axis && want != got {
                bail!(InvalidArgument, "Input shapes must match: expected {want} for dimension {d} but got {got} at position {i}");
            }
        }
        let offset = dims[axis];
        let Some(size) = offset.checked_add(part.dims[axis]) else {
            bail!(InvalidArgument, "the sizes of dimension {axis} overflow");
        };
        dims[axis] = size;
        let from = indices.len();
        indices.extend_from_slice(part.indices);
        indices[from..].iter_mut().skip(axis).step_by(rank).for_each(|at| *at = at.wrapping_add(offset));
    }
    let count = parts.iter().map(Sparse::len).sum();
    let dtype = first.values.dtype();
    let values = concat_blocks(ctx.allocator(), dtype, Shape::from([count]), parts.iter().map(|part| (part.values, 0..part.len())))?;
    let (indices, sizes) = (index_matrix(ctx.allocator(), &indices, rank, count)?, ctx.allocator().vector(&dims)?);
    let joined = Sparse::new(&indices, &values, &sizes)?;
    let order = joined.order();
    if !order.is_sorted() {
        let (indices, values) = (super::pick_indices(ctx.allocator(), &joined, &order)?, super::pick(ctx.allocator(), &values, &order)?);
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        ctx.set_output(2, sizes);
        return Ok(());
    }
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    ctx.set_output(2, sizes);
    Ok(())
}

/// Returns the indices and values of the part of `sparse` within one range per dimension. Indices are relative to the ranges' starts.
fn part(alloc: &Allocator, sparse: &Sparse<'_>, ranges: &[Range<i64>]) -> Result<(Tensor, Tensor)> {
    let mut indices = Vec::new();
    let mut chosen = Vec::new();
    for i in 0..sparse.len() {
        let row = sparse.row(i);
        if row.iter().zip(ranges).all(|(at, range)| range.contains(at)) {
            indices.extend(row.iter().zip(ranges).map(|(at, range)| at - range.start));
            chosen.push(i);
        }
    }
    Ok((index_matrix(alloc, &indices, sparse.rank(), chosen.len())?, super::pick(alloc, sparse.values, &chosen)?))
}

fn slice(ctx: &mut KernelContext<'_>) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    sparse.shape()?.checked_num_elements()?;
    let mut arguments = [&[][..]; 2];
    for (i, name) in ["start", "size"].into_iter().enumerate() {
        let tensor = ctx.input(3 + i)?;
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "Input {name} should be a vector but received shape {}", tensor.shape());
        }
        if tensor.num_elements() != sparse.rank() {
            bail!(InvalidArgument, "Expected {name} to be a vector of length {} but got length {}", sparse.rank(), tensor.num_elements());
        }
        arguments[i] = tensor.as_slice::<i64>()?;
    }
    let [starts, sizes] = arguments;
    let mut ranges = Vec::with_capacity(sparse.rank());
    for ((&start, &size), &dim) in starts.iter().zip(sizes).zip(sparse.dims) {
        if size < 0 && start < dim.saturating_sub(size) {
            bail!(InvalidArgument, "Expected a non-negative size, got {size}");
        }
        let end = start.saturating_add(size).min(dim);
        ranges.push(start..end.max(start));
    }
    let lengths: Vec<i64> = ranges.iter().map(|range| range.end - range.start).collect();
    let (indices, values) = part(ctx.allocator(), &sparse, &ranges)?;
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    ctx.set_output(2, ctx.allocator().vector(&lengths)?);
    Ok(())
}

fn make_slice_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if is_number(init.dtype("T")?) { from_fn(slice_grad) } else { init.unsupported() }
}

/// Outputs the gradients of the values that a slice kept, and zero for the others. The kept values are in the order of the input's.
fn slice_grad(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (gradient, input, start, output) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
    let (count, rank) = matrix(input, "Input indices")?;
    let (kept, kept_rank) = matrix(output, "Output indices")?;
    if gradient.rank() != 1 || start.rank() != 1 {
        bail!(InvalidArgument, "Input gradient and start must be vectors but received shapes {} and {}", gradient.shape(), start.shape());
    }
    if rank != kept_rank || start.num_elements() != rank {
        bail!(InvalidArgument, "The input and output should have the same ndims: got: {rank} and {kept_rank}");
    }
    if kept > count || gradient.num_elements() != kept {
        bail!(
            InvalidArgument,
            "# rows of output_indices ({kept}) must be those of the gradient ({}) and at most those of input_indices ({count})",
            gradient.num_elements()
        );
    }
    let (input, output, start) = (input.as_slice::<i64>()?, output.as_slice::<i64>()?, start.as_slice::<i64>()?);
    check_memory::<Option<usize>>(count)?;
    let mut positions = vec![None; count];
    let mut next = 0;
    for (i, position) in positions.iter_mut().enumerate() {
        if next == kept {
            break;
        }
        let (row, other) = (&input[i * rank..][..rank], &output[next * rank..][..rank]);
        if row.iter().zip(other).zip(start).all(|((a, b), s)| *a == b.wrapping_add(*s)) {
            *position = Some(next);
            next += 1;
        }
    }
    if next < kept {
        bail!(Internal, "Elements of backprop_val_grad aren't all propagated. Num elements:{kept}, used: {next}");
    }
    let out = pick_or_zero(ctx.allocator(), gradient, &positions)?;
    ctx.set_output(0, out);
    Ok(())
}

fn make_split(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let pieces: i64 = init.attrs.get("num_split")?;
    from_fn(move |ctx| split(ctx, pieces))
}

/// Splits a tensor into nearly equal parts along one axis. If the size does not divide evenly, the first parts are longer by one.
fn split(ctx: &mut KernelContext<'_>, pieces: i64) -> Result<()> {
    let axis = ctx.input(0)?;
    let sparse = Sparse::input(ctx, 1)?;
    if axis.num_elements() != 1 {
        bail!(InvalidArgument, "Input axis should be a scalar but received shape {}", axis.shape());
    }
    let asked = axis.to_i64()?;
    let rank = sparse.rank();
    let Some(axis) = Shape::new(&vec![0; rank]).axis(asked) else {
        bail!(InvalidArgument, "Input axis should be in range [{}, {rank}), got {asked}", -(rank as i64));
    };
    let size = sparse.dims[axis];
    if pieces < 1 || pieces > size {
        bail!(InvalidArgument, "Input num_split should be between 1 and the splitting dimension size ({size}), got {pieces}");
    }
    let sizes = sparse.shape()?;
    if let Some(i) = (0..sparse.len()).find(|&i| position(sparse.row(i), &sizes).is_none()) {
        bail!(InvalidArgument, "{} is out of bounds for shape {sizes}", describe(i, sparse.row(i)));
    }
    let (each, longer) = (size / pieces, size % pieces);
    let mut ranges: Vec<Range<i64>> = sparse.dims.iter().map(|&d| 0..d).collect();
    let mut start = 0;
    let mut outputs = Vec::new();
    for i in 0..pieces {
        let end = start + each + i64::from(i < longer);
        ranges[axis] = start..end;
        let mut dims = sparse.dims.to_vec();
        dims[axis] = end - start;
        let (indices, values) = part(ctx.allocator(), &sparse, &ranges)?;
        outputs.push([indices, values, ctx.allocator().vector(&dims)?]);
        start = end;
    }
    let n = outputs.len();
    for (i, parts) in outputs.into_iter().enumerate() {
        parts.into_iter().enumerate().for_each(|(k, part)| ctx.set_output(k * n + i, part));
    }
    Ok(())
}
