//! `ArgMax` and `ArgMin`.

use super::outer_inner;
use crate::elementwise::Word;
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// Makes the kernel of `ArgMax`: the index of the first greatest element; NaN is ignored.
pub(super) fn make_arg_max(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make::<true>(init)
}

/// Makes the kernel of `ArgMin`.
pub(super) fn make_arg_min(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make::<false>(init)
}

fn make<const MAX: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let out = init.attrs.get_or("output_type", DType::I64)?;
    if !matches!(out, DType::I16 | DType::U16 | DType::I32 | DType::I64) {
        return init.unsupported();
    }
    let search = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool],
        T => search::<T, MAX>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| {
        let (shape, indices) = indices(ctx, search)?;
        let tensor = for_dtype!(out, [i16, u16, i32, i64], I => narrow::<I>(ctx.allocator(), shape, &indices, |i| i as I)?, _ => bail!(Internal, "no index type {out}"));
        ctx.set_output(0, tensor);
        Ok(())
    })
}

fn narrow<I: Element>(alloc: &Allocator, shape: Shape, indices: &[usize], cast: impl Fn(usize) -> I) -> Result<Tensor> {
    let mut out = alloc.uninit(I::DTYPE, shape)?;
    for (y, &i) in out.as_mut_slice::<I>()?.iter_mut().zip(indices) {
        *y = cast(i);
    }
    Ok(out)
}

/// A function that writes the index of the first greatest, or least, of each `size` elements of `x` that are `inner` elements apart.
type Search = fn(x: &Tensor, size: usize, inner: usize, out: &mut [usize]) -> Result<()>;

fn indices(ctx: &KernelContext<'_>, search: Search) -> Result<(Shape, Vec<usize>)> {
    let (input, dimension) = (ctx.input(0)?, ctx.input(1)?);
    if dimension.rank() != 0 {
        bail!(InvalidArgument, "dim must be a scalar, but received tensor of shape: {}", dimension.shape());
    }
    let (rank, dimension) = (input.rank(), dimension.to_i64()?);
    let Some(axis) = input.shape().axis(dimension) else {
        bail!(InvalidArgument, "Expected dimension in the range [{}, {rank}), but got {dimension}", -(rank as i64));
    };
    let mut shape = input.shape().clone();
    let size = shape.remove(axis);
    if size == 0 {
        bail!(InvalidArgument, "Reduction axis {axis} is empty in shape {}", input.shape());
    }
    let (_, inner) = outer_inner(input.shape(), axis);
    let mut out = vec![0; shape.checked_num_elements()?];
    search(input, size, inner, &mut out)?;
    Ok((shape, out))
}

/// The rows that are searched side by side.
const ROWS: usize = 8;

/// The approximate number of elements of one core per nanosecond.
const SPEED: usize = 1;

fn search<T: Word + PartialOrd, const MAX: bool>(x: &Tensor, size: usize, inner: usize, out: &mut [usize]) -> Result<()> {
    let x = x.as_slice::<T>()?;
    // Whole blocks of `inner` results, or of rows that are searched side by side.
    let block = if inner == 1 { ROWS } else { inner };
    let blocks = out.len().div_ceil(block.max(1));
    let forks = parallel::is_worth_forking(x.len() / SPEED);
    let at_once = block * if forks { blocks.div_ceil(4 * parallel::threads()) } else { blocks };
    parallel::chunks(out, at_once, |chunk, out| {
        let x = &x[chunk * at_once * size..][..out.len() * size];
        if inner == 1 { search_all_rows::<T, MAX>(x, size, out) } else { search_blocks::<T, MAX>(x, size, inner, out) }
    });
    Ok(())
}

/// Searches each row.
fn search_all_rows<T: Word + PartialOrd, const MAX: bool>(x: &[T], size: usize, out: &mut [usize]) {
    let (groups, rest) = out.as_chunks_mut::<ROWS>();
    let (together, alone) = x.split_at(groups.len() * ROWS * size);
    for (out, x) in groups.iter_mut().zip(together.chunks_exact(ROWS * size)) {
        *out = search_rows::<T, ROWS, MAX>(std::array::from_fn(|row| &x[row * size..][..size]));
    }
    for (out, x) in rest.iter_mut().zip(alone.chunks_exact(size)) {
        [*out] = search_rows::<T, 1, MAX>([x]);
    }
}

/// Searches each column of each block of `size` rows of `inner` columns.
fn search_blocks<T: Word + PartialOrd, const MAX: bool>(x: &[T], size: usize, inner: usize, out: &mut [usize]) {
    let mut best = vec![T::default(); inner];
    for (block, out) in x.chunks_exact((size * inner).max(1)).zip(out.chunks_exact_mut(inner.max(1))) {
        best.copy_from_slice(&block[..inner]);
        for (i, row) in block.chunks_exact(inner).enumerate() {
            for ((best, out), &x) in best.iter_mut().zip(out.iter_mut()).zip(row) {
                let is_better = is_better::<T, MAX>(x, *best);
                (*best, *out) = (if is_better { x } else { *best }, if is_better { i } else { *out });
            }
        }
    }
}

/// Returns true if `x` comes before `best`: a number before NaN.
#[inline(always)]
fn is_better<T: PartialOrd, const MAX: bool>(x: T, best: T) -> bool {
    #[allow(clippy::eq_op)]
    let (is_nan, best_is_nan) = (x != x, best != best);
    (if MAX { x > best } else { x < best }) | (best_is_nan & !is_nan)
}

/// Returns the index of the first greatest, or least, element of each row; all rows have one length, and are not empty.
#[inline(always)]
fn search_rows<T: Word + PartialOrd, const N: usize, const MAX: bool>(rows: [&[T]; N]) -> [usize; N] {
    let (mut best, mut found) = (rows.map(|row| row[0]), [0; N]);
    for i in 1..rows[0].len() {
        for ((best, found), row) in best.iter_mut().zip(&mut found).zip(&rows) {
            let is_better = is_better::<T, MAX>(row[i], *best);
            (*best, *found) = (if is_better { row[i] } else { *best }, if is_better { i } else { *found });
        }
    }
    found
}
