//! Padding and its gradient: `Pad`, `PadV2`, `MirrorPad`, `MirrorPadGrad`.

use super::args::{indices, product};
use super::item::{Item, for_item};
use super::nd::{read_mapped, row_major, write_strided};
use crate::from_fn::{batched_from_fn, linear_cost, linear_from_fn};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use smallvec::SmallVec;
use std::ops::AddAssign;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MirrorPad", make_mirror_pad);
    registry.add("MirrorPadGrad", make_mirror_pad_grad);
    registry.add("Pad", make_pad);
    registry.add("PadV2", make_pad);
}

/// For each dimension, the numbers of elements to add before and after.
type Paddings = SmallVec<[(usize, usize); 8]>;

/// Returns the argument `paddings` for an input of shape `shape`.
fn paddings(argument: &Tensor, shape: &Shape) -> Result<Paddings> {
    if argument.rank() != 2 || argument.shape()[1] != 2 {
        bail!(InvalidArgument, "paddings must be a matrix with 2 columns: {}", argument.shape());
    }
    if argument.shape()[0] != shape.rank() {
        bail!(InvalidArgument, "The first dimension of paddings must be the rank of inputs{} {shape}", argument.shape());
    }
    let flat = indices(argument)?;
    let mut out = Paddings::new();
    for pair in flat.chunks_exact(2) {
        match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
            (Ok(before), Ok(after)) => out.push((before, after)),
            _ => bail!(InvalidArgument, "Paddings must be non-negative: {} {}", pair[0], pair[1]),
        }
    }
    Ok(out)
}

/// Returns the shape after padding.
fn padded(shape: &Shape, paddings: &Paddings) -> Result<Shape> {
    let mut sizes: SmallVec<[i64; 8]> = SmallVec::new();
    for (&dim, &(before, after)) in shape.iter().zip(paddings) {
        let size = dim.checked_add(before).and_then(|n| n.checked_add(after)).and_then(|n| i64::try_from(n).ok());
        match size {
            Some(size) => sizes.push(size),
            None => bail!(InvalidArgument, "a dimension of {dim} with paddings {before} and {after} has too many elements"),
        }
    }
    Shape::from_i64(&sizes)
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
    let strides = row_major(&shape);
    let output = T::build(ctx.allocator(), input.dtype(), shape, std::slice::from_ref(&value), |out| {
        out.fill(value.clone());
        if !source.is_empty() {
            let offset = paddings.iter().zip(&strides).map(|(&(before, _), &stride)| before as isize * stride).sum();
            write_strided(out, offset, input.shape(), &strides, source);
        }
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}

/// The mode in which a border mirrors the inside.
#[derive(Clone, Copy)]
struct Mirror {
    /// 1 if the edge itself is not repeated (`REFLECT`), 0 if it is (`SYMMETRIC`).
    offset: usize,
}

impl Mirror {
    fn from_attr(init: &KernelInit<'_>) -> Result<Mirror> {
        match init.attrs.get("mode")? {
            "REFLECT" => Ok(Mirror { offset: 1 }),
            "SYMMETRIC" => Ok(Mirror { offset: 0 }),
            other => bail!(InvalidArgument, "mode must be either REFLECT or SYMMETRIC, got {other}"),
        }
    }

    /// Checks that `size` elements are enough to mirror a border.
    fn check(self, (before, after): (usize, usize), size: usize, which: &str) -> Result<()> {
        if before.max(after) + self.offset <= size || (before == 0 && after == 0) {
            return Ok(());
        }
        match self.offset {
            1 => bail!(InvalidArgument, "paddings must be less than the {which}dimension size: {before}, {after} not less than {size}"),
            _ => {
                bail!(InvalidArgument, "paddings must be no greater than the {which}dimension size: {before}, {after} greater than {size}")
            }
        }
    }

    /// Returns, for each index of the padded dimension, the index of the element that is copied there.
    fn map(self, (before, after): (usize, usize), size: usize) -> Vec<usize> {
        let left = (0..before).rev().map(|i| i + self.offset);
        let right = (0..after).map(|i| size - 1 - self.offset - i);
        left.chain(0..size).chain(right).collect()
    }
}

pub(crate) fn make_mirror_pad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attr(init)?;
    for_item!(init.dtype("T")?, T => linear_from_fn(init, move |ctx| {
        let input = ctx.input(0)?;
        let paddings = paddings(ctx.input(1)?, input.shape())?;
        for (&border, &size) in paddings.iter().zip(input.shape().iter()) {
            mirror.check(border, size, "")?;
        }
        let shape = padded(input.shape(), &paddings)?;
        if shape.num_elements() == 0 {
            let output = ctx.take(0)?.reshaped(shape)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let strides = row_major(input.shape());
        let maps: Vec<Vec<usize>> = paddings
            .iter()
            .zip(input.shape().iter().zip(&strides))
            .map(|(&border, (&size, &stride))| mirror.map(border, size).into_iter().map(|i| i * stride as usize).collect())
            .collect();
        let source = T::items(input)?;
        let output = T::build(ctx.allocator(), input.dtype(), shape, source, |out| {
            read_mapped(out, source, &maps, 1);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

fn make_mirror_pad_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attr(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => {
        linear_from_fn(init, move |ctx| mirror_pad_grad::<T>(ctx, mirror))
    }, _ => init.unsupported())
}

/// Adds each border to the elements that it mirrors, one dimension after the other, outermost first.
fn mirror_pad_grad<T: Element + AddAssign>(ctx: &mut KernelContext<'_>, mirror: Mirror) -> Result<()> {
    let input = ctx.input(0)?;
    let paddings = paddings(ctx.input(1)?, input.shape())?;
    let mut folded = input.as_slice::<T>()?.to_vec();
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
        let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
        let mut next = vec![T::default(); if folded.is_empty() { 0 } else { outer * size * inner }];
        if !folded.is_empty() {
            let map = mirror.map((before, after), size);
            for (to, from) in next.chunks_exact_mut(size * inner).zip(folded.chunks_exact(map.len() * inner)) {
                for (row, &target) in from.chunks_exact(inner).zip(&map) {
                    to[target * inner..][..inner].iter_mut().zip(row).for_each(|(a, b)| *a += *b);
                }
            }
        }
        folded = next;
        shape[axis] = size;
    }
    let output = ctx.allocator().from_slice(shape, &folded)?;
    ctx.set_output(0, output);
    Ok(())
}
