//! `SoftmaxCrossEntropyWithLogits` and `SparseSoftmaxCrossEntropyWithLogits`.

use super::softmax::shift;
use crate::elementwise::{PARALLEL_MIN, broadcast_positions};
use crate::from_fn::from_fn;
use crate::number::Number;
use crate::parallel;
use crate::simd::rows;
use flowmill_kernels::cross_entropy::{dense_sizes, sparse_sizes};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SoftmaxCrossEntropyWithLogits", make_dense);
    registry.add("SparseSoftmaxCrossEntropyWithLogits", make_sparse);
}

/// A type in which losses of rows are computed.
trait Entropy: Number {
    /// Overwrites `backprop` with the gradient of a row's loss against a distribution, and returns the loss.
    fn dense(logits: &[Self], labels: &[Self], backprop: &mut [Self]) -> Self;
    /// Overwrites `backprop` with the gradient of a row's loss against a class, and returns the loss.
    fn sparse(logits: &[Self], label: usize, backprop: &mut [Self]) -> Self;
}

impl Entropy for f32 {
    fn dense(logits: &[f32], labels: &[f32], backprop: &mut [f32]) -> f32 {
        rows::cross_entropy(logits, labels, backprop)
    }

    fn sparse(logits: &[f32], label: usize, backprop: &mut [f32]) -> f32 {
        rows::sparse_cross_entropy(logits, label, backprop)
    }
}

impl Entropy for f64 {
    fn dense(logits: &[f64], labels: &[f64], backprop: &mut [f64]) -> f64 {
        backprop.copy_from_slice(logits);
        let (exponentials, sum) = shift(backprop);
        let (log, mut loss) = (sum.ln(), 0.0);
        for ((x, &label), e) in backprop.iter_mut().zip(labels).zip(exponentials) {
            if label != 0.0 {
                loss += label * (log - *x);
            }
            *x = e / sum - label;
        }
        loss
    }

    fn sparse(logits: &[f64], label: usize, backprop: &mut [f64]) -> f64 {
        backprop.copy_from_slice(logits);
        let (exponentials, sum) = shift(backprop);
        let loss = sum.ln() - backprop[label];
        backprop.iter_mut().zip(exponentials).for_each(|(x, e)| *x = e / sum);
        backprop[label] -= 1.0;
        loss
    }
}

/// Calls `f` with the rows of `inputs` and with a row of the gradient in `float32`.
fn in_f32<T: Number<Acc = f32>, const N: usize>(inputs: [&[T]; N], backprop: &mut [T], f: impl Fn([&[f32]; N], &mut [f32]) -> f32) -> T {
    let wide = inputs.map(|input| {
        let mut wide = vec![0.0; input.len()];
        T::widen_all(input, &mut wide);
        wide
    });
    let mut gradient = vec![0.0; backprop.len()];
    let loss = f(wide.each_ref().map(Vec::as_slice), &mut gradient);
    T::narrow_all(&gradient, backprop);
    T::narrow(loss)
}

macro_rules! narrow_entropy {
    ($($t:ty),*) => {$(
        impl Entropy for $t {
            fn dense(logits: &[$t], labels: &[$t], backprop: &mut [$t]) -> $t {
                in_f32([logits, labels], backprop, |[logits, labels], backprop| f32::dense(logits, labels, backprop))
            }

            fn sparse(logits: &[$t], label: usize, backprop: &mut [$t]) -> $t {
                in_f32([logits], backprop, |[logits], backprop| f32::sparse(logits, label, backprop))
            }
        }
    )*};
}
narrow_entropy!(f16, bf16);

/// Returns the losses of all rows, and the gradients: `one_row(row, backprop)` computes both for a row of `columns` elements.
fn losses<T: Entropy>(
    ctx: &KernelContext<'_>,
    [rows, columns]: [usize; 2],
    one_row: impl Fn(usize, &mut [T]) -> T + Sync,
) -> Result<[Tensor; 2]> {
    let (mut loss, mut backprop) = (ctx.allocator().uninit(T::DTYPE, [rows])?, ctx.allocator().uninit(T::DTYPE, [rows, columns])?);
    if columns == 0 {
        loss.as_mut_slice::<T>()?.fill(T::ZERO);
        return Ok([loss, backprop]);
    }
    let rows_at_once = (PARALLEL_MIN / 8).div_ceil(columns);
    let gradients = backprop.as_mut_slice::<T>()?.chunks_mut(rows_at_once * columns);
    let mut blocks: Vec<_> = loss.as_mut_slice::<T>()?.chunks_mut(rows_at_once).zip(gradients).collect();
    parallel::chunks(&mut blocks, 1, |block, of_block| {
        for (losses, gradients) in of_block {
            for (i, (loss, gradient)) in losses.iter_mut().zip(gradients.chunks_exact_mut(columns)).enumerate() {
                *loss = one_row(block * rows_at_once + i, gradient);
            }
        }
    });
    drop(blocks);
    Ok([loss, backprop])
}

fn make_dense(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(dense::<T>), _ => init.unsupported())
}

fn dense<T: Entropy>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
    let (shape, sizes) = dense_sizes(logits.shape(), labels.shape())?;
    fn expand<'a, T: Entropy>(t: &'a Tensor, shape: &Shape) -> Result<Cow<'a, [T]>> {
        let data = t.as_slice::<T>()?;
        if t.shape() == shape {
            return Ok(data.into());
        }
        Ok(broadcast_positions(t.shape(), shape).into_iter().map(|i| data[i]).collect())
    }
    let (x, y) = (expand::<T>(logits, &shape)?, expand::<T>(labels, &shape)?);
    let [loss, backprop] = losses::<T>(ctx, sizes, |row, backprop| {
        let at = row * sizes[1]..(row + 1) * sizes[1];
        T::dense(&x[at.clone()], &y[at], backprop)
    })?;
    ctx.set_output(0, loss);
    ctx.set_output(1, backprop);
    Ok(())
}

fn make_sparse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(sparse::<T>), _ => init.unsupported())
}

fn sparse<T: Entropy>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
    let [rows, classes] = sparse_sizes(logits.shape(), labels.shape())?;
    let given = labels.to_i64_vec()?;
    let mut labels = Vec::with_capacity(rows);
    for &label in &given {
        let Some(label) = usize::try_from(label).ok().filter(|&l| l < classes) else {
            let all: Vec<String> = given.iter().map(i64::to_string).collect();
            bail!(
                InvalidArgument,
                "Received a label value of {label} which is outside the valid range of [0, {classes}).  Label values: {}",
                all.join(" ")
            );
        };
        labels.push(label);
    }
    let x = logits.as_slice::<T>()?;
    let [loss, backprop] =
        losses::<T>(ctx, [rows, classes], |row, backprop| T::sparse(&x[row * classes..(row + 1) * classes], labels[row], backprop))?;
    ctx.set_output(0, loss);
    ctx.set_output(1, backprop);
    Ok(())
}
