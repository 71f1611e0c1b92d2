//! Padding and its gradient: `Pad`, `PadV2`, `MirrorPad`, `MirrorPadGrad`.

use super::args::{indices, product};
use super::item::{Item, copy_row, for_item};
use super::nd::{PARALLEL_CHUNK, PARALLEL_MIN, read_mapped, row_major};
use super::rearrange::{Mirror, padded, paddings};
use crate::from_fn::{batched_from_fn, linear_cost, linear_from_fn};
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use smallvec::SmallVec;
use std::ops::AddAssign;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MirrorPad", make_mirror_pad);
    registry.add("MirrorPadGrad", make_mirror_pad_grad);
    registry.add("Pad", make_pad);
    registry.add("PadV2", make_pad);
}

fn make_pad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    // A kernel that pads images but not the batch dimension works image by image.
    let by_image = init.constant(1).and_then(|paddings| indices(paddings).ok()).is_some_and(|p| matches!(p[..], [0, 0, _, ..]));
    for_item!(init.dtype("T")?, T => batched_from_fn(Some(linear_cost(init)), u32::from(by_image), pad::<T>))
}

fn pad<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let input = ctx.input(0)?;
    let value = if ctx.num_inputs() > 2 {
        let constant = ctx.input(2)?;
        if constant.rank() != 0 {
            bail!(InvalidArgument, "constant_values must be a scalar. Found: {}", constant.shape());
        }
        T::items(constant)?[0].clone()
    } else {
        T::zero()?
    };
    let paddings = paddings(ctx.input(1)?, input.shape())?;
    let shape = padded(input.shape(), &paddings)?;
    if shape == *input.shape() {
        return ctx.forward(0, 0);
    }
    let source = T::items(input)?;
    let output = T::build(ctx.allocator(), input.dtype(), shape, std::slice::from_ref(&value), |out| {
        // The borders of an empty tensor may have any size.
        if source.is_empty() {
            out.fill(value.clone());
        } else {
            write_padded(out, source, &borders(input.shape(), &paddings), &value);
        }
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}

/// The elements of an axis that come before those of the source, those of the source, and those after them.
#[derive(Clone, Copy, PartialEq)]
struct Border {
    before: usize,
    size: usize,
    after: usize,
}

impl Border {
    fn total(&self) -> usize {
        self.before + self.size + self.after
    }
}

/// The axes of a padded tensor.
type Borders = SmallVec<[Border; 8]>;

/// Returns the borders of each axis of a tensor that has elements. An axis without padding is one with the axis before it, and a first axis of one element is left out.
fn borders(shape: &Shape, paddings: &[(usize, usize)]) -> Borders {
    let mut axes = Borders::new();
    for (&size, &(before, after)) in shape.iter().zip(paddings) {
        match axes.last_mut() {
            Some(last) if (before, after) == (0, 0) => {
                *last = Border { before: last.before * size, size: last.size * size, after: last.after * size };
            }
            _ => {
                if axes[..] == [Border { before: 0, size: 1, after: 0 }] {
                    axes.clear();
                }
                axes.push(Border { before, size, after });
            }
        }
    }
    axes
}

/// Writes the elements of `source`, of which there are any, and `value` around them, each element of `out` once.
fn write_padded<T: Item>(out: &mut [T], source: &[T], axes: &[Border], value: &T) {
    let inner: usize = axes.iter().skip(1).map(Border::total).product();
    if out.len() < PARALLEL_MIN || inner == out.len() {
        return write_rows(out, 0, source, axes, value);
    }
    let rows = (PARALLEL_CHUNK / inner).max(1);
    parallel::chunks(out, rows * inner, |i, chunk| write_rows(chunk, i * rows, source, axes, value));
}

/// Like [`write_padded`], for the rows of the first axis from `first` on, as many as `out` has. `source` is not empty.
fn write_rows<T: Item>(out: &mut [T], first: usize, source: &[T], axes: &[Border], value: &T) {
    let Some((axis, inner)) = axes.split_first() else { return out.clone_from_slice(source) };
    let (to, from) = (inner.iter().map(Border::total).product(), inner.iter().map(|axis| axis.size).product());
    let rows = out.len() / to;
    let start = axis.before.saturating_sub(first).min(rows);
    let end = (axis.before + axis.size).saturating_sub(first).clamp(start, rows);
    let (out, after) = out.split_at_mut(end * to);
    let (before, out) = out.split_at_mut(start * to);
    before.fill(value.clone());
    after.fill(value.clone());
    if out.is_empty() {
        return;
    }
    let source = &source[(first + start - axis.before) * from..][..(end - start) * from];
    match inner {
        [] => out.clone_from_slice(source),
        &[Border { before, size, .. }] => {
            for (out, source) in out.chunks_exact_mut(to).zip(source.chunks_exact(from)) {
                out[..before].fill(value.clone());
                let row = &mut out[before..before + size];
                // Code for short rows is large, and few rows of other sizes are padded.
                if size_of::<T>() == 4 {
                    copy_row(row, source)
                } else {
                    row.clone_from_slice(source)
                }
                out[before + size..].fill(value.clone());
            }
        }
        _ => out.chunks_exact_mut(to).zip(source.chunks_exact(from)).for_each(|(out, source)| write_rows(out, 0, source, inner, value)),
    }
}

pub(crate) fn make_mirror_pad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attrs(init.attrs)?;
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        let (shape, maps) = mirrored(input.shape(), ctx.input(1)?, mirror)?;
        if shape.num_elements() == 0 {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let source = T::items(input)?;
        let output = T::build(ctx.allocator(), input.dtype(), shape, source, |out| {
            read_mapped(out, source, &maps, 1);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Returns the shape of the result, and for each dimension the offsets in the input at which its positions lie. There are none if the result is empty.
fn mirrored(input: &Shape, borders: &Tensor, mirror: Mirror) -> Result<(Shape, Vec<Vec<usize>>)> {
    let paddings = paddings(borders, input)?;
    for (&border, &size) in paddings.iter().zip(input.iter()) {
        mirror.check(border, size, "")?;
    }
    let shape = padded(input, &paddings)?;
    if shape.num_elements() == 0 {
        return Ok((shape, Vec::new()));
    }
    let strides = row_major(input);
    let maps = paddings
        .iter()
        .zip(input.iter().zip(&strides))
        .map(|(&border, (&size, &stride))| mirror.map(border, size).into_iter().map(|i| i * stride as usize).collect())
        .collect();
    Ok((shape, maps))
}

fn make_mirror_pad_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attrs(init.attrs)?;
    let fold = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => fold::<T>, _ => return init.unsupported());
    linear_from_fn(init, move |ctx| mirror_pad_grad(ctx, mirror, fold))
}

/// The borders of an axis of `size` elements: position `i` of the padded axis mirrors position `map[i]`.
struct Fold {
    map: Vec<usize>,
    size: usize,
    outer: usize,
    inner: usize,
}

/// Adds each border to the elements that it mirrors, one dimension after the other, outermost first.
fn mirror_pad_grad(
    ctx: &mut KernelContext<'_>,
    mirror: Mirror,
    fold: fn(&Allocator, &Tensor, &[Fold], Shape) -> Result<Tensor>,
) -> Result<()> {
    let input = ctx.input(0)?;
    let paddings = paddings(ctx.input(1)?, input.shape())?;
    let mut folds = Vec::new();
    let mut shape = input.shape().clone();
    for (axis, &(before, after)) in paddings.iter().enumerate() {
        let total = before.saturating_add(after);
        let Some(size) = shape[axis].checked_sub(total).filter(|&size| size > 0 || total == 0) else {
            bail!(InvalidArgument, "Total paddings must be less than the input dimension size: {total} was not less than {}", shape[axis]);
        };
        mirror.check((before, after), size, "output ")?;
        if total == 0 {
            continue;
        }
        if input.num_elements() > 0 {
            let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
            folds.push(Fold { map: mirror.map((before, after), size), size, outer, inner });
        }
        shape[axis] = size;
    }
    let output = fold(ctx.allocator(), input, &folds, shape)?;
    ctx.set_output(0, output);
    Ok(())
}

fn fold<T: Element + AddAssign>(alloc: &Allocator, input: &Tensor, folds: &[Fold], shape: Shape) -> Result<Tensor> {
    let mut folded = input.as_slice::<T>()?.to_vec();
    for Fold { map, size, outer, inner } in folds {
        let mut next = vec![T::default(); outer * size * inner];
        for (to, from) in next.chunks_exact_mut(size * inner).zip(folded.chunks_exact(map.len() * inner)) {
            for (row, &target) in from.chunks_exact(*inner).zip(map) {
                to[target * inner..][..*inner].iter_mut().zip(row).for_each(|(a, b)| *a += *b);
            }
        }
        folded = next;
    }
    alloc.from_slice(shape, &folded)
}
