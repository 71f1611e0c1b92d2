//! Copies of runs of elements between tensors of any type, independent of what the elements mean.

use flowmill_tensor::{Allocator, Complex, DType, Element, Result, Shape, Tensor, bail, error, for_dtype};
use std::ops::Range;

/// Returns a type that can hold the bits of `dtype`'s elements, so that few types cover all dense ones. `None` for types that are not dense.
fn bits_dtype(dtype: DType) -> Option<DType> {
    match (dtype, dtype.size()?) {
        (DType::Bool, _) => Some(DType::Bool),
        (_, 1) => Some(DType::U8),
        (_, 2) => Some(DType::U16),
        (_, 4) => Some(DType::U32),
        (_, 8) => Some(DType::U64),
        _ => Some(DType::C128),
    }
}

/// Returns a new tensor of `shape`, made by `alloc`, with the elements of `blocks`, one after the other. All blocks are of type `dtype`.
///
/// # Errors
/// Returns `Internal` if the blocks have another type or number of elements than the result; `ResourceExhausted` past the memory limit.
pub fn concat_blocks<'a>(
    alloc: &Allocator,
    dtype: DType,
    shape: Shape,
    blocks: impl Iterator<Item = (&'a Tensor, Range<usize>)>,
) -> Result<Tensor> {
    let Some(bits) = bits_dtype(dtype) else {
        return match dtype {
            DType::String => alloc.from_strings(shape, collect_blocks(blocks, Tensor::as_strings)?),
            DType::Resource => Tensor::from_resources(shape, collect_blocks(blocks, Tensor::as_resources)?),
            _ => Tensor::from_variants(shape, collect_blocks(blocks, Tensor::as_variants)?),
        };
    };
    let mut out = alloc.uninit(bits, shape)?;
    for_dtype!(bits, [u8, u16, u32, u64, bool, Complex<f64>], T => concat_dense::<T>(&mut out, blocks)?, _ => bail!(Internal, "{dtype} is not dense"));
    out.bitcast(dtype)
}

fn collect_blocks<'a, T: Clone + 'a>(
    blocks: impl Iterator<Item = (&'a Tensor, Range<usize>)>,
    elements: impl Fn(&'a Tensor) -> Result<&'a [T]>,
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    for (tensor, range) in blocks {
        out.extend_from_slice(elements(tensor)?.get(range).ok_or_else(out_of_range)?);
    }
    Ok(out)
}

fn concat_dense<'a, T: Element>(out: &mut Tensor, blocks: impl Iterator<Item = (&'a Tensor, Range<usize>)>) -> Result<()> {
    let mut rest = out.as_mut_slice::<T>()?;
    for (tensor, range) in blocks {
        let bits = tensor.clone().bitcast(T::DTYPE)?;
        let source = bits.as_slice::<T>()?.get(range).ok_or_else(out_of_range)?;
        let (target, after) = rest.split_at_mut_checked(source.len()).ok_or_else(out_of_range)?;
        target.copy_from_slice(source);
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(out_of_range()) }
}

/// Returns one tensor with the rows of all tensors along their outermost dimension, one after the other. A single tensor is returned as it is.
///
/// # Errors
/// Returns `InvalidArgument` if there is no tensor, or if the tensors differ in type, rank or a dimension other than the first; `ResourceExhausted` past the memory
/// limit.
pub fn concat_rows<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Tensor> {
    let tensors: Vec<&Tensor> = tensors.into_iter().collect();
    let Some(first) = tensors.first() else { bail!(InvalidArgument, "Empty batch.") };
    let (mut num_rows, inner) = (0usize, first.shape().get(1..).unwrap_or(&[]));
    for (i, tensor) in tensors.iter().enumerate() {
        let shapes = || format!("shape[0] = {} vs. shape[{i}] = {}", first.shape(), tensor.shape());
        if tensor.dtype() != first.dtype() {
            bail!(InvalidArgument, "Types of all input tensors should match: {} vs. {}", first.dtype(), tensor.dtype());
        }
        if tensor.rank() != first.rank() || tensor.rank() == 0 {
            bail!(InvalidArgument, "Ranks of all input tensors should match: {}", shapes());
        }
        if tensor.shape().get(1..) != Some(inner) {
            bail!(InvalidArgument, "Dimensions of inputs should match: {}", shapes());
        }
        num_rows = num_rows.saturating_add(tensor.shape().first().copied().unwrap_or(0));
    }
    if let [one] = tensors[..] {
        return Ok(one.clone());
    }
    let mut shape = Shape::new(&[num_rows]);
    inner.iter().for_each(|&dim| shape.push(dim));
    shape.checked_num_elements()?;
    concat_blocks(&first.allocator(), first.dtype(), shape, tensors.iter().map(|tensor| (*tensor, 0..tensor.num_elements())))
}

/// Overwrites the runs of `block` elements that begin at `starts` with the elements of `source`, one run after the other; a `source` of one element
/// fills all runs.
///
/// # Errors
/// Returns `Internal` if a run is not inside the target or the types differ; `ResourceExhausted` if the target is shared and memory for its copy cannot be
/// allocated.
pub fn overwrite_blocks(target: &mut Tensor, starts: &[usize], block: usize, source: &Tensor) -> Result<()> {
    let dtype = target.dtype();
    let shape = target.shape().clone();
    let Some(bits) = bits_dtype(dtype) else {
        *target = match dtype {
            DType::String => {
                target.allocator().from_strings(shape, overwritten(target.as_strings()?, starts, block, source.as_strings()?)?)?
            }
            DType::Resource => Tensor::from_resources(shape, overwritten(target.as_resources()?, starts, block, source.as_resources()?)?)?,
            _ => Tensor::from_variants(shape, overwritten(target.as_variants()?, starts, block, source.as_variants()?)?)?,
        };
        return Ok(());
    };
    let source = source.clone().bitcast(bits)?;
    // The target's tensor is moved out so that its memory stays unshared while its type changes; at the end it is put back.
    let mut changed = std::mem::replace(target, Tensor::scalar(0u8)).bitcast(bits)?;
    let result = for_dtype!(
        bits,
        [u8, u16, u32, u64, bool, Complex<f64>],
        T => changed.as_mut_slice::<T>().and_then(|slice| overwrite(slice, starts, block, source.as_slice::<T>()?)),
        _ => Err(error!(Internal, "{dtype} is not dense"))
    );
    *target = changed.bitcast(dtype)?;
    result
}

fn overwritten<T: Clone>(old: &[T], starts: &[usize], block: usize, source: &[T]) -> Result<Vec<T>> {
    let mut new = old.to_vec();
    overwrite(&mut new, starts, block, source)?;
    Ok(new)
}

fn overwrite<T: Clone>(target: &mut [T], starts: &[usize], block: usize, source: &[T]) -> Result<()> {
    for (i, &start) in starts.iter().enumerate() {
        let run = start.checked_add(block).and_then(|end| target.get_mut(start..end)).ok_or_else(out_of_range)?;
        match source {
            [one] => run.fill(one.clone()),
            _ => run.clone_from_slice(source.get(i * block..(i + 1) * block).ok_or_else(out_of_range)?),
        }
    }
    Ok(())
}

#[cold]
fn out_of_range() -> flowmill_tensor::Error {
    error!(Internal, "a run of elements is not inside its tensor")
}

/// Returns rows `start..start + count` along the outermost dimension, as a view for dense types.
///
/// # Errors
/// Returns `InvalidArgument` for a scalar; `Internal` if the tensor does not have these rows.
pub fn rows(tensor: &Tensor, start: usize, count: usize) -> Result<Tensor> {
    let Some(inner) = tensor.shape().get(1..) else { bail!(InvalidArgument, "a scalar has no rows") };
    let mut shape = Shape::new(&[count]);
    inner.iter().for_each(|&d| shape.push(d));
    let size = Shape::new(inner).num_elements();
    let (Some(from), Some(len)) = (start.checked_mul(size), count.checked_mul(size)) else { return Err(out_of_range()) };
    if tensor.dtype().size().is_some() {
        return tensor.view(from, shape);
    }
    let to = from.checked_add(len).ok_or_else(out_of_range)?;
    concat_blocks(&tensor.allocator(), tensor.dtype(), shape, std::iter::once((tensor, from..to)))
}
