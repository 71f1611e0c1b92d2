//! `InplaceUpdate`, `InplaceAdd`, `InplaceSub`, which change rows of a tensor, and `ParallelConcat`.
//!
//! TensorFlow changes the input's own memory. Here the input is changed in place if nothing else refers to its memory, and is copied otherwise.

use super::args::indices;
use super::item::{Item, for_item};
use crate::from_fn::{from_fn, linear_in_from_fn};
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, PartialShape, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The index of the input with the updates, all of whose rows are used. The other rows of the tensor are not touched if it is changed in place.
const UPDATES: usize = 2;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("InplaceAdd", |init| make_sum(init, false));
    registry.add("InplaceSub", |init| make_sum(init, true));
    registry.add("InplaceUpdate", make_update);
    registry.add("ParallelConcat", make_parallel_concat);
}

fn make_update(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => linear_in_from_fn(init, UPDATES, |ctx| {
        change_rows::<T>(ctx, |to, from| to.clone_from_slice(from))
    }))
}

fn make_sum(init: &KernelInit<'_>, minus: bool) -> Result<Arc<dyn Kernel>> {
    let sum = for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => sum_rows::<T>, _ => return init.unsupported());
    linear_in_from_fn(init, UPDATES, move |ctx| {
        let (mut x, rows, v) = checked(ctx)?;
        let width = v.num_elements().checked_div(rows.len()).unwrap_or(0);
        if width > 0 && x.num_elements() > 0 {
            sum(&mut x, &rows, width, &v, minus)?;
        }
        ctx.set_output(0, x);
        Ok(())
    })
}

/// Adds each row of `v` to a row of `x`, or subtracts it if `minus`.
fn sum_rows<T: Number>(x: &mut Tensor, rows: &[usize], width: usize, v: &Tensor, minus: bool) -> Result<()> {
    let target = x.as_mut_slice::<T>()?;
    for (&row, from) in rows.iter().zip(v.as_slice::<T>()?.chunks_exact(width)) {
        for (to, &from) in target[row * width..][..width].iter_mut().zip(from) {
            *to = if minus { to.minus(from) } else { to.plus(from) };
        }
    }
    Ok(())
}

/// Checks the inputs. Returns the tensor to change, the indices of its rows, and the updates.
fn checked(ctx: &mut KernelContext<'_>) -> Result<(Tensor, Vec<usize>, Tensor)> {
    let (x, i, v) = (ctx.take_writable(0)?, ctx.take(1)?, ctx.take(2)?);
    if i.rank() != 1 {
        bail!(InvalidArgument, "i must be a vector. {}", i.shape());
    }
    if x.rank() == 0 || x.rank() != v.rank() {
        bail!(InvalidArgument, "x and v shape doesn't match (ranks differ): {} vs. {}", x.shape(), v.shape());
    }
    if x.shape()[1..] != v.shape()[1..] {
        bail!(InvalidArgument, "x and v shape doesn't match: {} vs. {}", x.shape(), v.shape());
    }
    if i.num_elements() != v.shape()[0] {
        bail!(InvalidArgument, "i and x shape doesn't match at index 0: {} vs. {}", i.shape(), v.shape());
    }
    let count = x.shape()[0] as i64;
    // Indices are taken modulo the number of rows.
    let rows = indices(&i)?.iter().map(|&row| row.rem_euclid(count.max(1)) as usize).collect();
    Ok((x, rows, v))
}

fn change_rows<T: Item>(ctx: &mut KernelContext<'_>, change: impl Fn(&mut [T], &[T])) -> Result<()> {
    let (mut x, rows, v) = checked(ctx)?;
    let width = v.num_elements().checked_div(rows.len()).unwrap_or(0);
    if width > 0 && x.num_elements() > 0 {
        let source = T::items(&v)?;
        T::update(&mut x, |target| {
            for (&row, from) in rows.iter().zip(source.chunks_exact(width)) {
                change(&mut target[row * width..][..width], from);
            }
            Ok(())
        })?;
    }
    ctx.set_output(0, x);
    Ok(())
}

/// Makes the kernel of `ParallelConcat`, which concatenates tensors of one row each.
fn make_parallel_concat(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let shape: PartialShape = init.attrs.get("shape")?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| {
        let count = ctx.num_inputs();
        let first = ctx.input(0)?.shape().clone();
        if first.first() != Some(&1) || (1..count).any(|i| ctx.input(i).map(Tensor::shape).ok() != Some(&first)) {
            bail!(InvalidArgument, "All inputs must have one shape, whose first dimension is 1: the first has {first}");
        }
        let mut joined = first.clone();
        joined[0] = count;
        joined.checked_num_elements()?;
        if !shape.is_compatible_with(&joined) {
            bail!(InvalidArgument, "The inputs have the shape {joined} together, but the attribute shape is {shape}");
        }
        let (dtype, like) = (ctx.input(0)?.dtype(), T::items(ctx.input(0)?)?);
        let width = first.num_elements();
        let output = T::build(ctx.allocator(), dtype, joined, like, |out| {
            for i in 0..count {
                out[i * width..][..width].clone_from_slice(T::items(ctx.input(i)?)?);
            }
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}
