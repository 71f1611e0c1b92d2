//! Joining of strings: `StringJoin`, `ReduceJoin`, `UnsortedSegmentJoin`.

use crate::array::args::{indices, product, scalar_index};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, Result, Shape, Tensor, bail, check_memory};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ReduceJoin", make_reduce_join);
    registry.add("StringJoin", make_string_join);
    registry.add("UnsortedSegmentJoin", make_unsorted_segment_join);
}

fn separator(init: &KernelInit<'_>) -> Result<Bytes> {
    match init.attrs.contains("separator") {
        true => Ok(init.attrs.get::<&Bytes>("separator")?.clone()),
        false => Ok(Bytes::new()),
    }
}

/// Makes the kernel of `StringJoin`, which joins inputs element by element. Scalars are joined to every element.
fn make_string_join(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let separator = separator(init)?;
    from_fn(move |ctx| {
        let output = string_join(ctx, &separator)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn string_join(ctx: &KernelContext<'_>, separator: &[u8]) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 8]> = ctx.inputs_from(0).collect();
    let mut shape = Shape::scalar();
    for input in inputs.iter().filter(|input| input.rank() > 0) {
        if shape.rank() == 0 {
            shape = input.shape().clone();
        } else if *input.shape() != shape {
            bail!(InvalidArgument, "Input shapes do not match: {shape} vs. {}", input.shape());
        }
    }
    let columns = inputs.iter().map(|input| input.as_strings()).collect::<Result<SmallVec<[&[Bytes]; 8]>>>()?;
    let rows = (0..shape.num_elements()).map(|i| {
        let parts: SmallVec<[&[u8]; 8]> = columns.iter().map(|column| column.get(i).unwrap_or(&column[0]).as_ref()).collect();
        Bytes::from(parts.join(separator))
    });
    ctx.allocator().from_strings(shape.clone(), rows.collect())
}

fn make_reduce_join(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let separator = separator(init)?;
    let keep_dims = init.attrs.get_or("keep_dims", false)?;
    from_fn(move |ctx| {
        let (input, reduced) = (ctx.input(0)?, ctx.input(1)?);
        let axes = reduced_axes(input.shape(), &indices(reduced)?)?;
        if axes.is_empty() {
            return ctx.forward(0, 0);
        }
        let output = reduce_join(ctx.allocator(), input, &axes, keep_dims, &separator)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn reduced_axes(shape: &Shape, given: &[i64]) -> Result<SmallVec<[usize; 8]>> {
    let mut axes: SmallVec<[usize; 8]> = SmallVec::new();
    for &axis in given {
        match shape.axis(axis) {
            None => bail!(OutOfRange, "Invalid reduction dimension {axis} for input with {} dimension(s)", shape.rank()),
            Some(i) if axes.contains(&i) => bail!(InvalidArgument, "Duplicate reduction dimension {axis}"),
            Some(i) => axes.push(i),
        }
    }
    Ok(axes)
}

/// Joins along `axes`; the first axis varies fastest.
fn reduce_join(alloc: &Allocator, input: &Tensor, axes: &[usize], keep_dims: bool, separator: &[u8]) -> Result<Tensor> {
    let (shape, strides) = (input.shape(), input.shape().strides());
    let kept: SmallVec<[usize; 8]> = (0..shape.rank()).filter(|axis| !axes.contains(axis)).collect();
    let offsets = |axes: &[usize]| -> Vec<usize> {
        let mut offsets = vec![0];
        for &axis in axes {
            offsets = offsets
                .iter()
                .flat_map(|&base| (0..shape[axis]).map(move |i| (base, i)))
                .map(|(base, i)| base + i * strides[axis])
                .collect();
        }
        offsets
    };
    let strings = input.as_strings()?;
    let results = kept.iter().fold(1, |n: usize, &axis| n.saturating_mul(shape[axis]));
    check_memory::<Bytes>(results)?;
    // If a kept dimension is empty, there are no results; if a reduced one is, every result is empty.
    let inner_last: SmallVec<[usize; 8]> = axes.iter().rev().copied().collect();
    let within = if strings.is_empty() { Vec::new() } else { offsets(&inner_last) };
    let joined = offsets(&kept).into_iter().map(|base| {
        let parts: Vec<&[u8]> = within.iter().map(|&offset| strings[base + offset].as_ref()).collect();
        Bytes::from(parts.join(separator))
    });
    let values: Vec<Bytes> = joined.collect();
    let to: Shape = (0..shape.rank())
        .filter(|axis| keep_dims || !axes.contains(axis))
        .map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] })
        .collect();
    alloc.from_strings(to, values)
}

fn make_unsorted_segment_join(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let separator = separator(init)?;
    from_fn(move |ctx| {
        let output = unsorted_segment_join(ctx, &separator)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Joins the slices that share a segment id, in their order.
fn unsorted_segment_join(ctx: &KernelContext<'_>, separator: &[u8]) -> Result<Tensor> {
    let (input, segments) = (ctx.input(0)?, ctx.input(1)?);
    let count = scalar_index(ctx.input(2)?, "num_segments")?;
    let Ok(segment_count) = usize::try_from(count) else {
        bail!(InvalidArgument, "Number of segments must be non-negative but got {count}")
    };
    let Some(inner) = input.shape().strip_prefix(segments.shape().dims()) else {
        bail!(InvalidArgument, "Segment dimensions do not match with input dimensions: {} vs. {}", segments.shape(), input.shape());
    };
    let sizes: Vec<i64> = std::iter::once(segment_count).chain(inner.iter().copied()).map(|d| d as i64).collect();
    let shape = Shape::from_i64(&sizes)?;
    let total = shape.num_elements();
    check_memory::<Vec<&[u8]>>(total)?;
    let run = product(inner);
    let strings = input.as_strings()?;
    let mut parts: Vec<Vec<&[u8]>> = vec![Vec::new(); total];
    for (i, segment) in indices(segments)?.into_iter().enumerate() {
        let Some(segment) = usize::try_from(segment).ok().filter(|&segment| segment < segment_count) else {
            bail!(InvalidArgument, "segment_ids are not allowed to exceed num_segments or to have negative values.");
        };
        for j in 0..run {
            parts[segment * run + j].push(&strings[i * run + j]);
        }
    }
    ctx.allocator().from_strings(shape, parts.into_iter().map(|parts| Bytes::from(parts.join(separator))).collect())
}
