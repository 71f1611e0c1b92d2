//! Searching: `Where`, `LowerBound`, `UpperBound`, `BoostedTreesBucketize`, `UnravelIndex`.

use super::args::{Indices, indices};
use crate::from_fn::{from_fn, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, DType, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BoostedTreesBucketize", |_| from_fn(boosted_trees_bucketize));
    registry.add("LowerBound", |init| make_bound(init, false));
    registry.add("UnravelIndex", make_unravel_index);
    registry.add("UpperBound", |init| make_bound(init, true));
    registry.add("Where", make_where);
}

fn make_where(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.attrs.get_or("T", DType::Bool)?;
    let coordinates = for_dtype!(
        dtype,
        [bool, f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => coordinates::<T>,
        _ => return init.unsupported()
    );
    linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        if input.rank() == 0 {
            bail!(InvalidArgument, "WhereOp : Unhandled input dimensions: 0");
        }
        let output = coordinates(ctx.allocator(), input)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Outputs, for each value of a feature, the index of the first boundary that is not less than it, or of the last boundary if all are less.
fn boosted_trees_bucketize(ctx: &mut KernelContext<'_>) -> Result<()> {
    let features = ctx.num_inputs() / 2;
    for i in 0..features {
        let (values, boundaries) = (ctx.input(i)?, ctx.input(features + i)?);
        if values.rank() != 1 || boundaries.rank() != 1 || boundaries.num_elements() == 0 {
            bail!(
                InvalidArgument,
                "Feature {i} needs a vector of values and one of boundaries, got {} and {}",
                values.shape(),
                boundaries.shape()
            );
        }
        let (shape, boundaries) = (values.shape().clone(), boundaries.as_slice::<f32>()?);
        let bucket = |value: &f32| boundaries.partition_point(|boundary| boundary < value).min(boundaries.len() - 1) as i32;
        let buckets: Vec<i32> = values.as_slice::<f32>()?.iter().map(bucket).collect();
        ctx.set_output(i, ctx.allocator().from_slice(shape, &buckets)?);
    }
    Ok(())
}

/// The number of elements among which [`coordinates`] searches at a time.
const BLOCK: usize = 64;

/// Returns the indices of the elements that are not zero, one per row, in row-major order.
fn coordinates<T: Element>(alloc: &Allocator, input: &Tensor) -> Result<Tensor> {
    // The zero of every type equals its default, negative zeros included.
    let chosen = |x: &T| *x != T::default();
    let (shape, items) = (input.shape(), input.as_slice::<T>()?);
    let rank = shape.rank();
    let count = items.iter().filter(|item| chosen(item)).count();
    let mut output = alloc.uninit(DType::I64, [count, rank])?;
    let mut rest = output.as_mut_slice::<i64>()?;
    let inner = shape.last().copied().unwrap_or(1).max(1);
    let mut outer: SmallVec<[i64; 8]> = SmallVec::from_elem(0, rank - 1);
    let mut found = [0; BLOCK];
    for line in items.chunks_exact(inner) {
        for (block, items) in line.chunks(BLOCK).enumerate() {
            // Every index is written, and kept if the element is chosen: a branch that depends on data is often mispredicted.
            let mut len = 0;
            for (i, item) in items.iter().enumerate() {
                found[len] = block * BLOCK + i;
                len += usize::from(chosen(item));
            }
            let (to, after) = std::mem::take(&mut rest).split_at_mut(len * rank);
            rest = after;
            for (axis, &at) in outer.iter().enumerate() {
                to.chunks_exact_mut(rank).for_each(|row| row[axis] = at);
            }
            to.chunks_exact_mut(rank).zip(&found[..len]).for_each(|(row, &i)| row[rank - 1] = i as i64);
        }
        for axis in (0..outer.len()).rev() {
            outer[axis] += 1;
            if outer[axis] < shape[axis] as i64 {
                break;
            }
            outer[axis] = 0;
        }
    }
    Ok(output)
}

fn make_bound(init: &KernelInit<'_>, upper: bool) -> Result<Arc<dyn Kernel>> {
    let out_type = init.attrs.get_or("out_type", DType::I32)?;
    let search = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64],
        T => if upper { upper_bounds::<T> } else { lower_bounds::<T> },
        _ => return init.unsupported()
    );
    from_fn(move |ctx| bound(ctx, out_type, search))
}

/// A function that returns the position in its row of sorted numbers at which each of `count` values per row of `length` numbers would be inserted.
type Bounds = fn(sorted: &Tensor, length: usize, values: &Tensor, count: usize) -> Result<Vec<i64>>;

fn lower_bounds<T: Element + PartialOrd>(sorted: &Tensor, length: usize, values: &Tensor, count: usize) -> Result<Vec<i64>> {
    bounds::<T>(sorted, length, values, count, |x, value| x < value)
}

fn upper_bounds<T: Element + PartialOrd>(sorted: &Tensor, length: usize, values: &Tensor, count: usize) -> Result<Vec<i64>> {
    bounds::<T>(sorted, length, values, count, |x, value| !matches!(value.partial_cmp(x), Some(std::cmp::Ordering::Less)))
}

fn bounds<T: Element>(
    sorted: &Tensor,
    length: usize,
    values: &Tensor,
    count: usize,
    is_before: impl Fn(&T, &T) -> bool,
) -> Result<Vec<i64>> {
    let (rows, values) = (sorted.as_slice::<T>()?, values.as_slice::<T>()?);
    let position = |(i, value)| rows[i / count * length..][..length].partition_point(|x| is_before(x, value)) as i64;
    Ok(values.iter().enumerate().map(position).collect())
}

/// Outputs the position at which each value would be inserted into its row of sorted numbers.
fn bound(ctx: &mut KernelContext<'_>, out_type: DType, bounds: Bounds) -> Result<()> {
    let (sorted, values) = (ctx.input(0)?, ctx.input(1)?);
    for (name, tensor) in [("sorted_inputs", sorted), ("values", values)] {
        if tensor.rank() != 2 {
            bail!(InvalidArgument, "Shape must be rank 2 but is rank {} for `{name}` argument", tensor.rank());
        }
    }
    if sorted.shape()[0] != values.shape()[0] {
        bail!(InvalidArgument, "Leading dim_size of both tensors must match.");
    }
    let (length, count) = (sorted.shape()[1], values.shape()[1]);
    if out_type == DType::I32 && length > i32::MAX as usize {
        bail!(InvalidArgument, "trailing dim_size must less than INT_MAX for int32 output type, was {length}");
    }
    let positions = bounds(sorted, length, values, count)?;
    let output = ctx.allocator().index_vector(out_type, &positions)?.reshaped(values.shape().clone())?;
    ctx.set_output(0, output);
    Ok(())
}

fn make_unravel_index(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("Tidx")?;
    from_fn(move |ctx| {
        let output = unravel_index(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, dtype)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns the coordinates of flat indices in a tensor of sizes `dims`: one column per index.
fn unravel_index(alloc: &Allocator, index: &Tensor, dims: &Tensor, dtype: DType) -> Result<Tensor> {
    if index.rank() > 1 {
        bail!(InvalidArgument, "The indices can only be scalar or vector, got \"{}\"", index.shape());
    }
    if dims.rank() != 1 {
        bail!(InvalidArgument, "The indices can only be 1-D, got \"{}\"", dims.shape());
    }
    let sizes = indices(dims)?;
    let total = check_sizes(&sizes, dtype)?;
    let flat: Indices = indices(index)?;
    if flat.iter().any(|&i| i >= total) {
        bail!(InvalidArgument, "index is out of bound as with dims");
    }
    let mut output = alloc.uninit(DType::I64, [sizes.len(), flat.len()])?;
    let columns = output.as_mut_slice::<i64>()?;
    for (column, &index) in flat.iter().enumerate() {
        let mut rest = index;
        for (axis, &size) in sizes.iter().enumerate().rev() {
            columns[axis * flat.len() + column] = rest % size;
            rest /= size;
        }
    }
    let shape = if index.rank() == 0 { Shape::from([sizes.len()]) } else { Shape::from([sizes.len(), flat.len()]) };
    alloc.index_vector(dtype, columns)?.reshaped(shape)
}

/// Returns the product of sizes, which must be positive and within the index type.
fn check_sizes(sizes: &[i64], dtype: DType) -> Result<i64> {
    let limit = if dtype == DType::I32 { i64::from(i32::MAX) } else { i64::MAX };
    let mut total: i64 = 1;
    for (i, &size) in sizes.iter().enumerate() {
        if size == 0 {
            bail!(InvalidArgument, "Input dims cannot contain a dim of zero, but dims contains zero at index {i}");
        }
        if size < 0 {
            bail!(InvalidArgument, "Input dims cannot be negative. Got dim = {size} at index {i}");
        }
        match total.checked_mul(size).filter(|&n| n <= limit) {
            Some(product) => total = product,
            None => {
                let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
                bail!(InvalidArgument, "Input dims product is causing integer overflow: ({})", sizes.join(" "));
            }
        }
    }
    Ok(total)
}
