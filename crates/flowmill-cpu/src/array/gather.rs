//! Gathering of rows and slices by index: `Gather`, `GatherV2`, `GatherNd`.

use super::args::{Indices, indices, product, scalar_index};
use super::item::{Item, contiguous, for_item};
use super::nd::{PARALLEL_CHUNK, PARALLEL_MIN};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Element, Error, Result, Shape, Tensor, bail, error, for_dtype};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Gather", |init| make_gather(init, 0));
    registry.add("GatherNd", make_gather_nd);
    registry.add("GatherV2", |init| make_gather(init, init.attrs.get_or("batch_dims", 0)?));
}

/// An element of an index tensor.
trait Index: Element {
    /// Returns the index. An index out of range of every tensor returns a value that is out of range, too.
    fn at(self) -> usize;
    /// Returns the index as it was passed, for messages.
    fn as_i64(self) -> i64;
}

macro_rules! index {
    ($($t:ty),*) => {$(
        impl Index for $t {
            fn at(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
            fn as_i64(self) -> i64 {
                i64::from(self)
            }
        }
    )*};
}

index!(i16, i32, i64);

/// Makes the kernel of `Gather`, which is `GatherV2` along axis 0.
fn make_gather(init: &KernelInit<'_>, batch_dims: i64) -> Result<Arc<dyn Kernel>> {
    let Some(&index_type) = init.input_types.get(1) else { return init.unsupported() };
    let gather_items = for_item!(
        init.dtype("Tparams")?,
        T => for_dtype!(index_type, [i16, i32, i64], I => gather_items::<T, I> as GatherItems, _ => return init.unsupported())
    );
    from_fn(move |ctx| {
        let axis = if ctx.num_inputs() > 2 { scalar_index(ctx.input(2)?, "axis")? } else { 0 };
        let output = gather(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, axis, batch_dims, gather_items)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// A function that returns a tensor of `shape` with the rows of `params` at the positions in `index`.
type GatherItems = fn(alloc: &Allocator, params: &Tensor, index: &Tensor, extent: Extent, shape: Shape) -> Result<Tensor>;

/// The sizes of a gather: parameters are `batches × outer × rows × inner`, indices are `batches × count`.
#[derive(Clone, Copy)]
struct Extent {
    batches: usize,
    outer: usize,
    rows: usize,
    inner: usize,
    count: usize,
}

fn gather(alloc: &Allocator, params: &Tensor, index: &Tensor, axis: i64, batch_dims: i64, gather_items: GatherItems) -> Result<Tensor> {
    let rank = params.rank() as i64;
    if rank == 0 {
        bail!(InvalidArgument, "params must be at least 1 dimensional");
    }
    let Some(axis) = params.shape().axis(axis) else {
        bail!(InvalidArgument, "Expected axis in the range [{}, {rank}), but got {axis}", -rank)
    };
    let batch_dims = check_batch_dims(params.shape(), index.shape(), axis, batch_dims)?;
    let (before, after) = (&params.shape()[..axis], &params.shape()[axis + 1..]);
    let shape: Shape = before.iter().chain(&index.shape()[batch_dims..]).chain(after).copied().collect();
    let extent = Extent {
        batches: product(&before[..batch_dims]),
        outer: product(&before[batch_dims..]),
        rows: params.shape()[axis],
        inner: product(after),
        count: product(&index.shape()[batch_dims..]),
    };
    gather_items(alloc, params, index, extent, shape)
}

fn gather_items<T: Item, I: Index>(alloc: &Allocator, params: &Tensor, index: &Tensor, extent: Extent, shape: Shape) -> Result<Tensor> {
    let positions = index.as_slice::<I>()?;
    if let Some(bad) = positions.iter().position(|i| i.at() >= extent.rows) {
        return Err(out_of_range(index.shape(), bad, positions[bad].as_i64(), extent.rows));
    }
    if let ([position], 1, 1) = (positions, extent.batches, extent.outer) {
        return contiguous::<T>(alloc, params, position.at() * extent.inner, shape);
    }
    shape.checked_num_elements()?;
    let source = T::items(params)?;
    T::build(alloc, params.dtype(), shape, source, |out| {
        let inner = extent.inner;
        if out.len() < PARALLEL_MIN {
            gather_rows(out, source, positions, &extent, 0);
        } else {
            let rows = (PARALLEL_CHUNK / inner).max(1);
            parallel::chunks(out, rows * inner, |i, chunk| gather_rows(chunk, source, positions, &extent, i * rows));
        }
        Ok(())
    })
}

/// Returns the number of batch dimensions; a negative one counts from the rank of the indices.
fn check_batch_dims(params: &Shape, index: &Shape, axis: usize, batch_dims: i64) -> Result<usize> {
    let index_rank = index.rank() as i64;
    if !(-index_rank..=index_rank).contains(&batch_dims) {
        bail!(InvalidArgument, "Expected batch_dims in the range [{}, {index_rank}], but got {batch_dims}", -index_rank);
    }
    let batch_dims = (if batch_dims < 0 { batch_dims + index_rank } else { batch_dims }) as usize;
    if batch_dims >= params.rank() {
        bail!(InvalidArgument, "batch_dims ({batch_dims}) must be less than rank(params) ({}).", params.rank());
    }
    if axis < batch_dims {
        bail!(InvalidArgument, "batch_dims ({batch_dims}) must be less than or equal to axis ({axis}).");
    }
    match (0..batch_dims).find(|&i| params[i] != index[i]) {
        Some(i) => bail!(InvalidArgument, "params.shape[{i}]: {} should be equal to indices.shape[{i}]: {}", params[i], index[i]),
        None => Ok(batch_dims),
    }
}

/// Fills rows of the result from row `first` on. Rows are ordered by batch entry, outer index and position.
fn gather_rows<T: Item, I: Index>(out: &mut [T], source: &[T], positions: &[I], extent: &Extent, first: usize) {
    let Extent { outer, rows, inner, count, .. } = *extent;
    if out.is_empty() {
        return;
    }
    let mut plane = first / count;
    let mut at = first % count;
    for to in out.chunks_exact_mut(inner) {
        let row = positions[plane / outer * count + at].at();
        let from = (plane * rows + row) * inner;
        if let [item] = to {
            *item = source[from].clone();
        } else {
            to.clone_from_slice(&source[from..from + inner]);
        }
        at += 1;
        if at == count {
            at = 0;
            plane += 1;
        }
    }
}

#[cold]
fn out_of_range(shape: &Shape, flat: usize, value: i64, rows: usize) -> Error {
    let at: Vec<String> = shape.strides().iter().zip(shape.iter()).map(|(&stride, &dim)| (flat / stride % dim).to_string()).collect();
    let at = if at.is_empty() { String::new() } else { format!("[{}]", at.join(",")) };
    error!(InvalidArgument, "indices{at} = {value} is not in [0, {rows})")
}

/// Returns true if the attribute `bad_indices_policy` says to ignore indices out of range.
///
/// # Errors
/// Returns `InvalidArgument` for an unknown policy.
pub(super) fn ignores_bad_indices(init: &KernelInit<'_>) -> Result<bool> {
    match init.attrs.get_or("bad_indices_policy", "")? {
        "" | "DEFAULT" | "ERROR" => Ok(false),
        "IGNORE" => Ok(true),
        other => bail!(InvalidArgument, "Unknown bad indices policy attribute: {other}"),
    }
}

/// Returns the offset of each slice that a row of `index` (its innermost dimension) selects in a tensor of shape `shape`, or `None` for a row that
/// is out of range if `ignore` is set.
///
/// # Errors
/// Returns `InvalidArgument` with the text that `describe` returns for a row out of range and its index.
pub(super) fn slice_offsets(
    alloc: &Allocator,
    index: &Tensor,
    shape: &Shape,
    ignore: bool,
    describe: impl Fn(usize, &str) -> Error,
) -> Result<Vec<Option<usize>>> {
    let depth = index.shape().last().copied().unwrap_or(1);
    let rows = product(index.shape().split_last().map_or(&[][..], |(_, outer)| outer));
    if depth == 0 {
        let _reserved = alloc.reserve::<Option<usize>>(rows)?;
        return Ok(vec![Some(0); rows]);
    }
    let flat: Indices = indices(index)?;
    let dims: SmallVec<[(usize, usize); 8]> = shape.iter().copied().zip(shape.strides()).collect();
    let mut offsets = Vec::with_capacity(rows);
    for (i, row) in flat.chunks_exact(depth).enumerate() {
        // A negative index becomes a large one. An offset that overflows belongs to a row that is out of range.
        let (inside, offset) = row.iter().zip(&dims).fold((true, 0usize), |(inside, offset), (&at, &(dim, stride))| {
            (inside & ((at as u64) < dim as u64), offset.wrapping_add((at as usize).wrapping_mul(stride)))
        });
        if inside {
            offsets.push(Some(offset));
        } else if ignore {
            offsets.push(None);
        } else {
            let row: Vec<String> = row.iter().map(i64::to_string).collect();
            return Err(describe(i, &row.join(", ")));
        }
    }
    Ok(offsets)
}

fn make_gather_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let ignore = ignores_bad_indices(init)?;
    let name = init.name.to_owned();
    for_item!(init.dtype("Tparams")?, T => from_fn(move |ctx| {
        let output = gather_nd::<T>(ctx, ignore, &name)?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// The slices that `GatherNd` gathers.
struct Slices {
    shape: Shape,
    /// The offset of each slice; `None` if its index is out of range.
    offsets: Vec<Option<usize>>,
    /// The number of elements of a slice.
    run: usize,
}

fn slices_to_gather(ctx: &KernelContext<'_>, ignore: bool, name: &str) -> Result<Slices> {
    let (params, index) = (ctx.input(0)?, ctx.input(1)?);
    if params.rank() == 0 {
        bail!(InvalidArgument, "params must be at least a vector");
    }
    let Some((&depth, outer)) = index.shape().split_last() else { bail!(InvalidArgument, "indices must be at least a vector") };
    if depth > params.rank() {
        bail!(InvalidArgument, "index innermost dimension length must be <= params rank; saw: {depth} vs. {}", params.rank());
    }
    let shape: Shape = outer.iter().chain(&params.shape()[depth..]).copied().collect();
    if params.num_elements() == 0 && product(outer) > 0 {
        bail!(InvalidArgument, "Requested more than 0 entries, but params is empty.  Params shape: {}", params.shape());
    }
    let offsets = slice_offsets(ctx.allocator(), index, params.shape(), ignore, |i, row| {
        let at = out_of_range_prefix(outer, i);
        error!(InvalidArgument, "indices{at} = [{row}] does not index into param shape {}, node name: {name}", params.shape())
    })?;
    Ok(Slices { shape, offsets, run: product(&params.shape()[depth..]) })
}

fn gather_nd<T: Item>(ctx: &KernelContext<'_>, ignore: bool, name: &str) -> Result<Tensor> {
    let Slices { shape, offsets, run } = slices_to_gather(ctx, ignore, name)?;
    let params = ctx.input(0)?;
    let source = T::items(params)?;
    let zero = if offsets.contains(&None) { Some(T::zero()?) } else { None };
    T::build(ctx.allocator(), params.dtype(), shape, source, |out| {
        if run == 1 && zero.is_none() {
            out.iter_mut().zip(offsets.iter().flatten()).for_each(|(to, &from)| *to = source[from].clone());
        } else if run > 0 {
            for (to, offset) in out.chunks_exact_mut(run).zip(&offsets) {
                match (offset, &zero) {
                    (Some(from), _) => to.clone_from_slice(&source[*from..from + run]),
                    (None, Some(zero)) => to.fill(zero.clone()),
                    (None, None) => {}
                }
            }
        }
        Ok(())
    })
}

/// Returns `[i,j]`, the index of row `flat` in dimensions `outer`, or nothing if there are none.
fn out_of_range_prefix(outer: &[usize], flat: usize) -> String {
    let shape = Shape::new(outer);
    let at: Vec<String> = shape.strides().iter().zip(outer).map(|(&stride, &dim)| (flat / stride % dim).to_string()).collect();
    if at.is_empty() { String::new() } else { format!("[{}]", at.join(",")) }
}
