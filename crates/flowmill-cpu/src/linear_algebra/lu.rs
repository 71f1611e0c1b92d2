//! `Lu`: the LU decomposition of square matrices, with row exchanges that make each pivot the largest of its column.

use super::decompose::{Batch, by_type, matrices};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use nalgebra::{ComplexField, DMatrix};
use num_traits::Zero;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Lu", make);
}

/// Makes the kernel. Outputs: both triangles in one matrix, without the ones on the diagonal of the lower triangle; the index of the input's row in
/// each row of their product.
fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let index: DType = init.attrs.get_or("output_idx_type", DType::I32)?;
    if !matches!(index, DType::I32 | DType::I64) {
        return init.unsupported();
    }
    by_type!(init, T => from_fn(move |ctx| {
        let input = Batch::<T>::square(ctx.input(0)?)?;
        let (found, rows): (Vec<_>, Vec<_>) = input.map(ctx.allocator(), decompose)?.into_iter().unzip();
        let triangles = matrices::<T>(ctx.allocator(), ctx.input(0)?.shape().clone(), &found)?;
        let rows = ctx.allocator().index_vector(index, &rows.concat())?.reshaped(input.shape(&[input.rows]))?;
        ctx.set_output(0, triangles);
        ctx.set_output(1, rows);
        Ok(())
    }))
}

fn decompose<W: ComplexField + Copy>(mut m: DMatrix<W>) -> Result<(DMatrix<W>, Vec<i64>)> {
    let n = m.nrows();
    let mut rows: Vec<i64> = (0..n as i64).collect();
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if m[(i, k)].modulus() > m[(pivot, k)].modulus() {
                pivot = i;
            }
        }
        if pivot != k {
            m.swap_rows(k, pivot);
            rows.swap(k, pivot);
        }
        let divisor = m[(k, k)];
        // The comparison is false for NaN, too.
        if !(divisor.modulus() > W::RealField::zero()) {
            bail!(InvalidArgument, "Input is not invertible.");
        }
        let (mut done, mut rest) = m.columns_range_pair_mut(..k + 1, k + 1..);
        let mut factors = done.column_mut(k);
        let mut factors = factors.rows_mut(k + 1, n - k - 1);
        factors.iter_mut().for_each(|factor| *factor /= divisor);
        for mut column in rest.column_iter_mut() {
            let times = column[k];
            column.rows_mut(k + 1, n - k - 1).zip_apply(&factors, |x, factor| *x -= factor * times);
        }
    }
    Ok((m, rows))
}
