//! `Softmax`, `LogSoftmax` and `L2Loss`.

use crate::elementwise::{PARALLEL_MIN, UnaryOp, Word};
use crate::from_fn::from_fn;
use crate::math_unary::Exp;
use crate::number::Number;
use crate::parallel;
use crate::reduction::{row_max, row_sum, sum_of_squares};
use crate::simd::rows;
use flowmill_numeric::elementwise::map_in_place;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("L2Loss", make_l2_loss);
    registry.add("LogSoftmax", |init| make_softmax(init, true));
    registry.add("Softmax", |init| make_softmax(init, false));
}

/// Replaces a row by `x - max(x)` and returns the exponentials of that, and their sum.
pub(super) fn shift(row: &mut [f64]) -> (Vec<f64>, f64) {
    let max = row_max(row);
    row.iter_mut().for_each(|x| *x -= max);
    let mut exponentials = vec![0.0; row.len()];
    <Exp as UnaryOp<f64>>::map(row, &mut exponentials);
    let sum = row_sum(&exponentials);
    (exponentials, sum)
}

fn softmax_row(row: &mut [f64]) {
    let max = row_max(row);
    row.iter_mut().for_each(|x| *x -= max);
    map_in_place::<f64, f64>(<Exp as UnaryOp<f64>>::map, 1, row);
    let scale = 1.0 / row_sum(row);
    row.iter_mut().for_each(|x| *x *= scale);
}

fn log_softmax_row(row: &mut [f64]) {
    let log = shift(row).1.ln();
    row.iter_mut().for_each(|x| *x -= log);
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
            for_dtype!(t, [f16, bf16], T => softmax::<T>(if log { |row| widened(row, rows::log_softmax_in_place) } else { |row| widened(row, rows::softmax_in_place) }), _ => init.unsupported())
        }
    }
}

fn widened<T: Number<Acc = f32>>(row: &mut [T], f: fn(&mut [f32], usize)) {
    let mut wide = vec![0.0; row.len()];
    T::widen_all(row, &mut wide);
    f(&mut wide, row.len());
    T::narrow_all(&wide, row);
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

/// Makes the kernel of `L2Loss`: half the sum of squares.
fn make_l2_loss(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64], T => from_fn(|ctx| {
        let sum = sum_of_squares::<T>(ctx.input(0)?.as_slice()?);
        ctx.set_output(0, Tensor::scalar(<T as Number>::narrow(sum * 0.5)));
        Ok(())
    }), _ => init.unsupported())
}
