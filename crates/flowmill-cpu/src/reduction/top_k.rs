//! The greatest elements of rows: `TopKV2`, `ApproxTopK`, `InTopKV2`, `NthElement`.

use crate::array::permuted;
use crate::elementwise::for_blocks;
use crate::from_fn::from_fn;
use crate::number::Ordered;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::cmp::Reverse;
use std::sync::Arc;

/// Makes the kernel of `TopK`, where `k` is an attribute, and `TopKV2`: values and indices. Equal values are sorted by index.
pub(super) fn make_top_k(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let fixed: Option<i64> = if init.attrs.contains("k") { Some(init.attrs.get("k")?) } else { None };
    let index_type = init.attrs.get_or("index_type", DType::I32)?;
    if !matches!(index_type, DType::I16 | DType::I32 | DType::I64) {
        return init.unsupported();
    }
    let greatest = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => greatest_of_rows::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let k = match fixed {
            Some(k) => k,
            None => scalar_k(ctx.input(1)?)?,
        };
        top_k(ctx, k, index_type, greatest)
    })
}

/// A function that writes the greatest values of each row of `columns` numbers and their indices, or the least values if all bits of `flip` are set.
type GreatestOfRows = fn(input: &Tensor, columns: usize, k: usize, flip: u64, values: &mut Tensor, indices: &mut [i64]) -> Result<()>;

fn scalar_k(k: &Tensor) -> Result<i64> {
    if k.rank() != 0 {
        bail!(InvalidArgument, "k must be scalar, got shape {}", k.shape());
    }
    k.to_i64()
}

fn top_k(ctx: &mut KernelContext<'_>, k: i64, index_type: DType, greatest: GreatestOfRows) -> Result<()> {
    let (values, indices) = best_of(ctx.allocator(), ctx.input(0)?, k, 0, greatest)?;
    let indices = match index_type {
        DType::I16 => ctx.allocator().vector(&indices.iter().map(|&i| i as i16).collect::<Vec<_>>())?,
        t => ctx.allocator().index_vector(t, &indices)?,
    };
    let indices = indices.reshaped(values.shape().clone())?;
    ctx.set_output(0, values);
    ctx.set_output(1, indices);
    Ok(())
}

/// Returns the `k` greatest values of each row of `input` and their indices, or the least values if all bits of `flip` are set.
fn best_of(alloc: &Allocator, input: &Tensor, k: i64, flip: u64, greatest: GreatestOfRows) -> Result<(Tensor, Vec<i64>)> {
    let (k, columns, shape) = top_k_shape(input, k)?;
    let mut values = alloc.uninit(input.dtype(), shape)?;
    let mut indices = vec![0; values.num_elements()];
    // Rows may be empty, and then there may be any number of them.
    if values.num_elements() > 0 {
        greatest(input, columns, k, flip, &mut values, &mut indices)?;
    }
    Ok((values, indices))
}

/// The approximate nanoseconds for an element of a row.
const NANOSECONDS: usize = 2;

fn greatest_of_rows<T: Ordered>(
    input: &Tensor,
    columns: usize,
    k: usize,
    flip: u64,
    values: &mut Tensor,
    indices: &mut [i64],
) -> Result<()> {
    let x = input.as_slice::<T>()?;
    let is_long = flip == 0 && k.saturating_mul(LONG) <= columns;
    let forks = parallel::is_worth_forking(x.len().saturating_mul(NANOSECONDS));
    let rows = indices.len() / k;
    let at_once = if forks { rows.div_ceil(4 * parallel::threads()) } else { rows };
    parallel::chunks(indices, at_once * k, |chunk, indices| {
        let mut ranks = Vec::with_capacity(columns);
        for (row, best) in x[chunk * at_once * columns..].chunks_exact(columns).zip(indices.chunks_exact_mut(k)) {
            let found = if is_long { greatest_by_sample(row, k) } else { None };
            let found = found.unwrap_or_else(|| {
                ranks.clear();
                ranks.extend(row.iter().map(|x| x.rank() ^ flip));
                greatest(&ranks, k)
            });
            best.iter_mut().zip(found).for_each(|(best, i)| *best = i as i64);
        }
    });
    let rows = x.chunks_exact(columns).zip(indices.chunks_exact(k));
    for ((row, indices), values) in rows.zip(values.as_mut_slice::<T>()?.chunks_exact_mut(k)) {
        values.iter_mut().zip(indices).for_each(|(value, &i)| *value = row[i as usize]);
    }
    Ok(())
}

/// Makes the kernel of `ApproxTopK`. The search is exact; without aggregation, it outputs as many candidates as an approximate search would.
pub(super) fn make_approx_top_k(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (k, axis): (i64, i64) = (init.attrs.get("k")?, init.attrs.get("reduction_dimension")?);
    let (recall, assumed): (f32, i64) = (init.attrs.get("recall_target")?, init.attrs.get("reduction_input_size_override")?);
    let aggregate: bool = init.attrs.get("aggregate_to_topk")?;
    let flip = if init.attrs.get("is_max_k")? { 0 } else { u64::MAX };
    if !(recall > 0.0 && recall <= 1.0) {
        bail!(InvalidArgument, "Invalid recall target: {recall}. Valid value range in : [0, 1.0].");
    }
    let greatest = for_dtype!(init.dtype("T")?, [f16, bf16, f32], T => greatest_of_rows::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let rank = input.rank();
        if rank == 0 {
            bail!(InvalidArgument, "input must be >= 1-D, got shape {}", input.shape());
        }
        let Some(axis) = input.shape().axis(axis) else {
            bail!(InvalidArgument, "Invalid reduction dimension: {axis}. Must be within the range of [{}, {}]", -(rank as i64), rank - 1);
        };
        let size = input.shape()[axis];
        let found = if aggregate || k > size as i64 { k } else { candidates(size, rank, k, recall, assumed) as i64 };
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(axis, rank - 1);
        let is_last = axis + 1 == rank;
        let rows = if is_last { input.clone() } else { permuted(ctx.allocator(), input, &order)? };
        let (mut values, indices) = best_of(ctx.allocator(), &rows, found, flip, greatest)?;
        let mut indices = ctx.allocator().index_vector(DType::I32, &indices)?.reshaped(values.shape().clone())?;
        if !is_last {
            (values, indices) = (permuted(ctx.allocator(), &values, &order)?, permuted(ctx.allocator(), &indices, &order)?);
        }
        ctx.set_output(0, values);
        ctx.set_output(1, indices);
        Ok(())
    })
}

/// Returns the number of `size` elements that remain of a search that divides them into tiles and merges `2ⁿ` tiles each, like the op's shape function.
fn candidates(size: usize, rank: usize, k: i64, recall: f32, assumed: i64) -> usize {
    let tile = if rank == 1 { 1024 } else { 128 };
    let assumed = usize::try_from(assumed).unwrap_or(size);
    if size <= tile || recall >= 1.0 {
        return size;
    }
    let needed = (((1 - k) as f32 / recall.ln()) as usize).clamp(tile, size);
    let levels = (assumed / needed).checked_ilog2().unwrap_or(0);
    if levels == 0 {
        return size;
    }
    let most = usize::BITS - (size / tile - 1).leading_zeros();
    (tile * size.div_ceil(tile).div_ceil(1 << levels.min(most))).min(size)
}

/// Returns `k`, the length of a row, and the shape of the result.
fn top_k_shape(input: &Tensor, k: i64) -> Result<(usize, usize, Shape)> {
    let Ok(k) = usize::try_from(k) else { bail!(InvalidArgument, "Need k >= 0, got {k}") };
    let Some(&columns) = input.shape().last() else { bail!(InvalidArgument, "input must be >= 1-D, got shape {}", input.shape()) };
    if columns < k {
        bail!(InvalidArgument, "input must have at least k columns. Had {columns}, needed {k}");
    }
    let mut shape = input.shape().clone();
    let last = shape.rank() - 1;
    shape[last] = k;
    Ok((k, columns, shape))
}

/// Returns the indices of the `k` greatest values in descending order; equal values are sorted by index. `k` is positive and at most their number.
fn greatest(ranks: &[u64], k: usize) -> Vec<usize> {
    // Numbers alone are selected from faster than indices of numbers.
    let least = *ranks.to_vec().select_nth_unstable(ranks.len() - k).1;
    let mut chosen: Vec<usize> = Vec::with_capacity(k);
    chosen.extend((0..ranks.len()).filter(|&i| ranks[i] > least));
    let equal = k - chosen.len();
    chosen.extend((0..ranks.len()).filter(|&i| ranks[i] == least).take(equal));
    chosen.sort_unstable_by_key(|&i| (Reverse(ranks[i]), i));
    chosen
}

/// The length of a row, in numbers of values sought, from which a sample bounds the values.
const LONG: usize = 32;
/// The elements of a row of which one is in the sample.
const SAMPLED: usize = 16;
/// The elements of a row that are compared at a time.
const COMPARED: usize = 32;

/// Like [`greatest`], of the values of a row that is much longer than `k`: only elements above a bound are ranked, of which a sample says that about twice as many
/// as wanted are. Returns `None` if it was wrong, as it may be for values in some order, or if the row is too short for a sample.
fn greatest_by_sample<T: Ordered>(row: &[T], k: usize) -> Option<Vec<usize>> {
    let mut sample: Vec<u64> = row.iter().step_by(SAMPLED).map(|x| x.rank()).collect();
    let wanted = 2 * k / SAMPLED + 4;
    let at = sample.len().checked_sub(wanted + 1)?;
    let least = *sample.select_nth_unstable(at).1;
    let bound = *row.iter().step_by(SAMPLED).find(|x| x.rank() == least)?;
    let mut candidates: Vec<(Reverse<u64>, usize)> = Vec::with_capacity(4 * k + 4 * COMPARED);
    for (block, elements) in row.chunks(COMPARED).enumerate() {
        // A sum, because vectors have no early exit. NaN, which is the greatest, is not less either.
        #[allow(clippy::neg_cmp_op_on_partial_ord)]
        let above = elements.first_chunk::<COMPARED>().is_none_or(|e| e.iter().map(|x| u32::from(!(*x < bound))).sum::<u32>() > 0);
        if above {
            let ranked = elements.iter().map(|x| Reverse(x.rank())).zip(block * COMPARED..);
            candidates.extend(ranked.filter(|&(rank, _)| rank.0 >= least));
        }
    }
    if candidates.len() < k {
        return None;
    }
    candidates.select_nth_unstable(k - 1);
    candidates.truncate(k);
    candidates.sort_unstable();
    Some(candidates.into_iter().map(|(_, i)| i).collect())
}

/// Makes the kernel of `InTopK` and `InTopKV2`: true if a row's target is among its `k` greatest predictions, ties included; false for targets out
/// of range and rows with a number that is not finite.
pub(super) fn make_in_top_k(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let fixed: Option<i64> = if init.attrs.contains("k") { Some(init.attrs.get("k")?) } else { None };
    from_fn(move |ctx| {
        let (predictions, targets) = (ctx.input(0)?, ctx.input(1)?);
        let k = match fixed {
            Some(k) => k,
            None => scalar_k(ctx.input(2)?)?,
        };
        let &[rows, classes] = predictions.shape().dims() else { bail!(InvalidArgument, "predictions must be 2-dimensional") };
        if targets.rank() != 1 {
            bail!(InvalidArgument, "targets must be 1-dimensional");
        }
        if targets.num_elements() != rows {
            bail!(InvalidArgument, "First dimension of predictions {rows} must match length of targets {}", targets.num_elements());
        }
        let x = predictions.as_slice::<f32>()?;
        let targets = targets.to_i64_vec()?;
        let in_top = |row: usize| {
            let target = targets[row];
            let row = &x[row * classes..(row + 1) * classes];
            let Some(&value) = usize::try_from(target).ok().and_then(|t| row.get(t)) else { return false };
            // Both without branches, so that they are vector loops.
            let is_finite = row.iter().fold(true, |all, x| all & x.is_finite());
            is_finite && row.iter().map(|&x| i64::from(x > value)).sum::<i64>() < k
        };
        let mut out = ctx.allocator().uninit(DType::Bool, [rows])?;
        for_blocks(out.as_mut_slice::<bool>()?, classes, &|start, block| {
            block.iter_mut().enumerate().for_each(|(i, found)| *found = in_top(start + i));
        });
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Makes the kernel of `NthElement`: the `n`-th least element of each row, or the `n`-th greatest with `reverse`.
pub(super) fn make_nth_element(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let reverse = init.attrs.get_or("reverse", false)?;
    let find = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => nth_of_rows::<T>, _ => return init.unsupported());
    from_fn(move |ctx| {
        let (input, n) = (ctx.input(0)?, ctx.input(1)?);
        if n.rank() != 0 {
            bail!(InvalidArgument, "N must be scalar but has rank {}", n.rank());
        }
        let n = n.to_i64()?;
        let Ok(n) = usize::try_from(n) else { bail!(InvalidArgument, "n must be non-negative but is {n}") };
        let Some((&columns, outer)) = input.shape().split_last() else {
            bail!(InvalidArgument, "Input must be at least rank 1 but is rank 0")
        };
        if n >= columns {
            bail!(InvalidArgument, "Input must have last dimension > n = {n}");
        }
        let at = if reverse { columns - 1 - n } else { n };
        let out = find(ctx.allocator(), input, columns, at, Shape::new(outer))?;
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns a tensor of `shape` with the element of each row of `columns` numbers that is at position `at` in ascending order.
fn nth_of_rows<T: Ordered>(alloc: &Allocator, input: &Tensor, columns: usize, at: usize, shape: Shape) -> Result<Tensor> {
    let rows = input.as_slice::<T>()?.chunks_exact(columns);
    let found: Vec<T> = rows.map(|row| row[nth(row.iter().map(|x| x.rank()).collect(), at)]).collect();
    alloc.from_slice(shape, &found)
}

/// Returns the index of the element at position `at` in ascending order.
fn nth(ranks: Vec<u64>, at: usize) -> usize {
    let mut ranked: Vec<(u64, usize)> = ranks.into_iter().zip(0..).collect();
    ranked.select_nth_unstable(at).1.1
}
