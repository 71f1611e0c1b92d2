//! Concatenation of tensors: `Concat`, `ConcatV2`, `ConcatOffset`, `Pack`.

use super::args::{Indices, indices, product, scalar_index};
use super::item::{Item, copy_row, for_item};
use super::nd::{PARALLEL_CHUNK, PARALLEL_MIN};
use super::rearrange::{joined_shape, packed_shape};
use crate::from_fn::{batched_from_fn, from_fn, linear_cost, linear_from_fn};
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Concat", |init| make_concat(init, true));
    registry.add("ConcatOffset", make_concat_offset);
    registry.add("ConcatV2", |init| make_concat(init, false));
    registry.add("Pack", make_pack);
}

/// Makes the kernel of `Concat`, whose first input is the axis, or of `ConcatV2`, whose last input is the axis.
fn make_concat(init: &KernelInit<'_>, axis_first: bool) -> Result<Arc<dyn Kernel>> {
    let batched = batched_parts(init, axis_first);
    for_item!(init.dtype("T")?, T => batched_from_fn(Some(linear_cost(init)), batched, move |ctx| concat::<T>(ctx, axis_first)))
}

/// Returns the inputs that are joined, as the mask of [`Kernel::batched_inputs`], if they are joined along another dimension than the first.
fn batched_parts(init: &KernelInit<'_>, axis_first: bool) -> u32 {
    let Some(count) = init.input_types.len().checked_sub(1).filter(|&count| count < u32::BITS as usize - 1) else { return 0 };
    let (axis_at, first_at) = if axis_first { (0, 1) } else { (count, 0) };
    let axis = init.constant(axis_at).and_then(|axis| scalar_index(axis, "Concat dim tensor").ok());
    let rank = (first_at..first_at + count).find_map(|i| init.input_shape(i).rank());
    let is_inner = axis.is_some_and(|axis| axis > 0 || (axis < 0 && rank.is_some_and(|rank| -axis < rank as i64)));
    if is_inner { ((1 << count) - 1) << first_at } else { 0 }
}

/// The inputs that an op joins, and its result.
struct Joined {
    inputs: Range<usize>,
    shape: Shape,
    axis: usize,
}

/// Returns what `Concat` joins, if `axis_first`, or `ConcatV2`.
fn concatenated(ctx: &KernelContext<'_>, axis_first: bool) -> Result<Joined> {
    let Some(count) = ctx.num_inputs().checked_sub(1).filter(|&n| n > 0) else {
        bail!(InvalidArgument, "ConcatOp : at least one value is needed");
    };
    let (axis_at, first_at) = if axis_first { (0, 1) } else { (count, 0) };
    let axis = scalar_index(ctx.input(axis_at)?, "Concat dim tensor")?;
    let inputs = first_at..first_at + count;
    let shapes = inputs.clone().map(|i| ctx.input(i).map(Tensor::shape)).collect::<Result<SmallVec<[&Shape; 8]>>>()?;
    Ok(Joined { inputs, shape: joined_shape(shapes.iter().copied(), axis)?, axis: shapes[0].axis(axis).unwrap_or(0) })
}

fn concat<T: Item>(ctx: &mut KernelContext<'_>, axis_first: bool) -> Result<()> {
    let joined = concatenated(ctx, axis_first)?;
    if joined.inputs.len() == 1 {
        return ctx.forward(joined.inputs.start, 0);
    }
    let output = join::<T>(ctx, joined)?;
    ctx.set_output(0, output);
    Ok(())
}

/// Concatenates inputs. Each is contiguous from the axis inwards.
fn join<T: Item>(ctx: &KernelContext<'_>, Joined { inputs, shape, axis }: Joined) -> Result<Tensor> {
    let outer = product(&shape[..axis]);
    let mut dtype = DType::F32;
    let mut parts: SmallVec<[(&[T], usize); 8]> = SmallVec::new();
    for i in inputs {
        let input = ctx.input(i)?;
        dtype = input.dtype();
        let items = T::items(input)?;
        if !items.is_empty() {
            parts.push((items, items.len() / outer));
        }
    }
    let like = parts.first().map_or(&[][..], |part| part.0);
    T::build(ctx.allocator(), dtype, shape, like, |out| {
        let row_len: usize = parts.iter().map(|part| part.1).sum();
        if row_len == 0 {
            return Ok(());
        }
        if out.len() < PARALLEL_MIN {
            join_rows(out, &parts, row_len, 0);
            return Ok(());
        }
        let rows = (PARALLEL_CHUNK / row_len).max(1);
        parallel::chunks(out, rows * row_len, |i, chunk| join_rows(chunk, &parts, row_len, i * rows));
        Ok(())
    })
}

/// Fills the rows of the result from `first_row` on.
fn join_rows<T: Item>(out: &mut [T], parts: &[(&[T], usize)], row_len: usize, first_row: usize) {
    if parts.iter().all(|part| part.1 == 1) {
        // Elements alternate between the parts. Copying one by a call takes longer than the element.
        for (at, (items, _)) in parts.iter().enumerate() {
            out[at..].iter_mut().step_by(row_len).zip(&items[first_row..]).for_each(|(to, from)| *to = from.clone());
        }
        return;
    }
    for (i, row) in out.chunks_exact_mut(row_len).enumerate() {
        let mut rest = row;
        for &(items, len) in parts {
            let (head, tail) = rest.split_at_mut(len);
            copy_row(head, &items[(first_row + i) * len..][..len]);
            rest = tail;
        }
    }
}

fn make_pack(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", 0)?;
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| pack::<T>(ctx, axis)))
}

fn packed(ctx: &KernelContext<'_>, axis: i64) -> Result<Joined> {
    let inputs = 0..ctx.num_inputs();
    let shapes = inputs.clone().map(|i| ctx.input(i).map(Tensor::shape)).collect::<Result<SmallVec<[&Shape; 8]>>>()?;
    let (axis, shape) = packed_shape(shapes, axis)?;
    Ok(Joined { inputs, shape, axis })
}

fn pack<T: Item>(ctx: &mut KernelContext<'_>, axis: i64) -> Result<()> {
    let packed = packed(ctx, axis)?;
    let output = if packed.inputs.len() == 1 { ctx.take(0)?.reshaped(packed.shape)? } else { join::<T>(ctx, packed)? };
    ctx.set_output(0, output);
    Ok(())
}

/// Makes the kernel of `ConcatOffset`: the positions at which the inputs start in the concatenation, which its gradient slices at.
fn make_concat_offset(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let axis = scalar_index(ctx.input(0)?, "Concat dim tensor")?;
        let first = ctx.input(1)?;
        let dtype = first.dtype();
        if first.rank() != 1 {
            bail!(InvalidArgument, "input 0 should be a vector, but got shape {}", first.shape());
        }
        let first_sizes = indices(first)?;
        let rank = first_sizes.len() as i64;
        if !(-rank..rank).contains(&axis) {
            bail!(InvalidArgument, "Concat dim is out of range: {axis} vs. {rank}");
        }
        let axis = (if axis < 0 { axis + rank } else { axis }) as usize;
        let mut offset: i64 = 0;
        for i in 1..ctx.num_inputs() {
            let sizes = ctx.input(i)?;
            if sizes.rank() != 1 {
                bail!(InvalidArgument, "input {} should be a vector, but got shape {}", i - 1, sizes.shape());
            }
            let sizes = indices(sizes)?;
            check_offset_sizes(&first_sizes, &sizes, i - 1, axis)?;
            let mut offsets: Indices = SmallVec::from_elem(0, sizes.len());
            offsets[axis] = offset;
            let Some(next) = offset.checked_add(sizes[axis]) else { bail!(InvalidArgument, "the sizes of dimension {axis} overflow") };
            offset = next;
            ctx.set_output(i - 1, ctx.allocator().index_vector(dtype, &offsets)?);
        }
        Ok(())
    })
}

fn check_offset_sizes(first: &[i64], sizes: &[i64], i: usize, axis: usize) -> Result<()> {
    if sizes.len() != first.len() {
        bail!(InvalidArgument, "input {i} should contain {} elements, but got {}", first.len(), sizes.len());
    }
    match sizes.iter().zip(first).enumerate().find(|&(d, (a, b))| d != axis && a != b) {
        Some((d, _)) => {
            let [sizes, first] = [sizes, first].map(|sizes| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" "));
            bail!(
                InvalidArgument,
                "All dimensions except {axis} must match. Input {i} has shape [{sizes}] and doesn't match input 0 with shape [{first}] in dimension {d}."
            )
        }
        None => Ok(()),
    }
}
