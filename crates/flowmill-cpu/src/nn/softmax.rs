//! Softmax and the losses that are based on it.

use crate::elementwise::{PARALLEL_MIN, Word};
use crate::from_fn::from_fn;
use crate::number::{Number, Ordered};
use crate::parallel;
use crate::reduction::{row_max, row_sum, sum_of_squares};
use crate::simd::{rows, unary as simd};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use num_traits::Float;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("L2Loss", make_l2_loss);
    registry.add("LogSoftmax", |init| make_softmax(init, true));
    registry.add("Softmax", |init| make_softmax(init, false));
    registry.add("SoftmaxCrossEntropyWithLogits", make_cross_entropy);
    registry.add("SparseSoftmaxCrossEntropyWithLogits", make_sparse_cross_entropy);
}

/// A type in which exponentials of rows are computed.
trait Exponential: Float + Ordered + Number<Acc = Self> {
    /// Applies `exp` to every element.
    fn exp_row(row: &mut [Self]);
}

impl Exponential for f32 {
    fn exp_row(row: &mut [f32]) {
        simd::exp_in_place(row);
    }
}

impl Exponential for f64 {
    fn exp_row(row: &mut [f64]) {
        row.iter_mut().for_each(|x| *x = x.exp());
    }
}

/// Replaces a row by `x - max(x)`, fills `scratch` with the exponentials of that, and returns their sum.
fn shift<F: Exponential>(row: &mut [F], scratch: &mut [F]) -> F {
    let max = row_max(row);
    row.iter_mut().for_each(|x| *x = *x - max);
    scratch.copy_from_slice(row);
    F::exp_row(scratch);
    row_sum(scratch)
}

/// Computes the softmax of one row, in place.
fn softmax_row<F: Exponential>(row: &mut [F]) {
    let max = row_max(row);
    row.iter_mut().for_each(|x| *x = *x - max);
    F::exp_row(row);
    let scale = F::one() / row_sum(row);
    row.iter_mut().for_each(|x| *x = *x * scale);
}

fn log_softmax_row<F: Exponential>(row: &mut [F]) {
    let mut scratch = vec![F::zero(); row.len()];
    let log = shift(row, &mut scratch).ln();
    row.iter_mut().for_each(|x| *x = *x - log);
}

/// Calls `f` for every row of `columns` elements, on several threads if the tensor is large.
fn for_rows<T: Send>(data: &mut [T], columns: usize, f: impl Fn(&mut [T]) + Sync) {
    if columns == 0 {
        return;
    }
    if data.len() < PARALLEL_MIN / 4 {
        data.chunks_exact_mut(columns).for_each(f);
    } else {
        let rows = (PARALLEL_MIN / 8).div_ceil(columns);
        parallel::chunks(data, rows * columns, |_, block| block.chunks_exact_mut(columns).for_each(&f));
    }
}

fn make_softmax(init: &KernelInit<'_>, log: bool) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::F32 => softmax_f32(if log { rows::log_softmax_in_place } else { rows::softmax_in_place }),
        DType::F64 => softmax::<f64>(if log { log_softmax_row } else { softmax_row }),
        t => {
            for_dtype!(t, [f16, bf16], T => softmax::<T>(if log { |row| widened(row, log_softmax_row) } else { |row| widened(row, softmax_row) }), _ => init.unsupported())
        }
    }
}

fn widened<T: Number<Acc = f32>>(row: &mut [T], f: fn(&mut [f32])) {
    let mut wide: Vec<f32> = row.iter().map(|x| x.widen()).collect();
    f(&mut wide);
    row.iter_mut().zip(wide).for_each(|(x, y)| *x = T::narrow(y));
}

fn softmax_f32(all_rows: fn(&mut [f32], usize)) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let mut x = ctx.take_writable(0)?;
        let Some(&columns) = x.shape().last() else {
            bail!(InvalidArgument, "logits must have >= 1 dimension, got {}", x.shape());
        };
        all_rows(x.as_mut_slice()?, columns);
        ctx.set_output(0, x);
        Ok(())
    })
}

fn softmax<T: Word>(row: fn(&mut [T])) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let mut x = ctx.take_writable(0)?;
        let Some(&columns) = x.shape().last() else {
            bail!(InvalidArgument, "logits must have >= 1 dimension, got {}", x.shape());
        };
        for_rows(x.as_mut_slice::<T>()?, columns, row);
        ctx.set_output(0, x);
        Ok(())
    })
}

/// Calls `f` with wide copies of the row of a gradient and the row of labels. `f` replaces the logits by the gradient and returns the loss.
fn with_wide<T: Number<Acc = F>, F: Exponential>(logits: &[T], labels: &[T], backprop: &mut [T], f: impl Fn(&mut [F], &[F]) -> F) -> T {
    let mut row: Vec<F> = logits.iter().map(|x| x.widen()).collect();
    let labels: Vec<F> = labels.iter().map(|x| x.widen()).collect();
    let loss = f(&mut row, &labels);
    backprop.iter_mut().zip(row).for_each(|(y, x)| *y = T::narrow(x));
    T::narrow(loss)
}

/// Returns the loss of one row against a distribution, and replaces the row by the gradient.
fn cross_entropy_row<F: Exponential>(row: &mut [F], labels: &[F]) -> F {
    let mut exponentials = vec![F::zero(); row.len()];
    let sum = shift(row, &mut exponentials);
    let (log, mut loss) = (sum.ln(), F::zero());
    for ((x, &label), e) in row.iter_mut().zip(labels).zip(exponentials) {
        if label != F::zero() {
            loss = loss + label * (log - *x);
        }
        *x = e / sum - label;
    }
    loss
}

fn make_cross_entropy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(cross_entropy::<T>), _ => init.unsupported())
}

fn cross_entropy<T: Number>(ctx: &mut KernelContext<'_>) -> Result<()>
where
    T::Acc: Exponential,
{
    let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
    let Some(shape) = Shape::broadcast(logits.shape(), labels.shape()) else {
        bail!(InvalidArgument, "logits and labels must be broadcastable: logits_size={} labels_size={}", logits.shape(), labels.shape());
    };
    let &[rows, columns] = shape.dims() else {
        bail!(InvalidArgument, "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
    };
    let expand = |t: &Tensor| -> Result<Vec<T>> {
        let data = t.as_slice::<T>()?;
        Ok(crate::elementwise::broadcast_positions(t.shape(), &shape).into_iter().map(|i| data[i]).collect())
    };
    let (x, y) = (expand(logits)?, expand(labels)?);
    let (mut loss, mut backprop) = (ctx.allocator().uninit(T::DTYPE, [rows])?, ctx.allocator().uninit(T::DTYPE, shape.clone())?);
    if columns == 0 {
        loss.as_mut_slice::<T>()?.fill(T::ZERO);
    } else {
        let rows = x.chunks_exact(columns).zip(y.chunks_exact(columns)).zip(backprop.as_mut_slice::<T>()?.chunks_exact_mut(columns));
        for (loss, ((x, y), backprop)) in loss.as_mut_slice::<T>()?.iter_mut().zip(rows) {
            *loss = with_wide(x, y, backprop, cross_entropy_row);
        }
    }
    ctx.set_output(0, loss);
    ctx.set_output(1, backprop);
    Ok(())
}

fn make_sparse_cross_entropy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(sparse_cross_entropy::<T>), _ => init.unsupported())
}

fn sparse_cross_entropy<T: Number>(ctx: &mut KernelContext<'_>) -> Result<()>
where
    T::Acc: Exponential,
{
    let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
    let &[rows, classes] = logits.shape().dims() else { bail!(InvalidArgument, "logits must be 2-D, but got shape {}", logits.shape()) };
    if labels.rank() != 1 {
        bail!(InvalidArgument, "labels must be 1-D, but got shape {}", labels.shape());
    }
    if labels.num_elements() != rows {
        bail!(
            InvalidArgument,
            "logits and labels must have the same first dimension, got logits shape {} and labels shape {}",
            logits.shape(),
            labels.shape()
        );
    }
    if classes == 0 && rows > 0 {
        bail!(InvalidArgument, "Must have at least one class, but got logits shape {}", logits.shape());
    }
    let labels = labels.to_i64_vec()?;
    let (mut loss, mut backprop) = (ctx.allocator().uninit(T::DTYPE, [rows])?, ctx.allocator().uninit(T::DTYPE, logits.shape().clone())?);
    let x = logits.as_slice::<T>()?.chunks_exact(classes.max(1)).zip(backprop.as_mut_slice::<T>()?.chunks_exact_mut(classes.max(1)));
    for ((loss, &label), (x, backprop)) in loss.as_mut_slice::<T>()?.iter_mut().zip(&labels).zip(x) {
        let Some(label) = usize::try_from(label).ok().filter(|&l| l < classes) else {
            let all: Vec<String> = labels.iter().map(i64::to_string).collect();
            bail!(
                InvalidArgument,
                "Received a label value of {label} which is outside the valid range of [0, {classes}).  Label values: {}",
                all.join(" ")
            );
        };
        *loss = with_wide(x, &[], backprop, |row: &mut [T::Acc], _| {
            let mut exponentials = vec![<T::Acc as Number>::ZERO; row.len()];
            let sum = shift(row, &mut exponentials);
            let loss = sum.ln() - row[label];
            for (x, e) in row.iter_mut().zip(exponentials) {
                *x = e / sum;
            }
            row[label] = row[label] - <T::Acc as Number>::ONE;
            loss
        });
    }
    ctx.set_output(0, loss);
    ctx.set_output(1, backprop);
    Ok(())
}

/// Makes the kernel of `L2Loss`: half the sum of squares.
fn make_l2_loss(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(|ctx| {
        let sum = sum_of_squares::<T>(ctx.input(0)?.as_slice()?);
        ctx.set_output(0, Tensor::scalar(<T as Number>::narrow(sum * 0.5)));
        Ok(())
    }), _ => init.unsupported())
}
