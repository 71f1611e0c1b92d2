//! `SparseFillEmptyRows` and its gradient.

use super::{Sparse, index_matrix};
use crate::array::item::{Item, for_item};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, Shape, Tensor, bail, bf16, check_memory, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseFillEmptyRows", |init| for_item!(init.dtype("T")?, T => from_fn(fill_empty_rows::<T>)));
    registry.add("SparseFillEmptyRowsGrad", make_grad);
}

/// Gives each empty row a default at its first place. Values come out row by row, within a row in their order.
fn fill_empty_rows<T: Item>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    let default = ctx.input(3)?;
    if default.rank() != 0 {
        bail!(InvalidArgument, "default_value must be a scalar, saw: {}", default.shape());
    }
    let Some(&rows) = sparse.dims.first() else { bail!(InvalidArgument, "Dense shape cannot be empty.") };
    let (count, rank) = (sparse.len(), sparse.rank());
    if rows == 0 && count > 0 {
        bail!(InvalidArgument, "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {count}");
    }
    let Ok(rows) = usize::try_from(rows) else { bail!(InvalidArgument, "dense_shape[0] must not be negative, got {rows}") };
    check_memory::<usize>(rows)?;
    // How many values each row has, then where its next value goes.
    let mut next = vec![0usize; rows];
    for i in 0..count {
        let row = sparse.row(i)[0];
        match usize::try_from(row).ok().and_then(|row| next.get_mut(row)) {
            Some(n) => *n += 1,
            None => bail!(InvalidArgument, "indices({i}, 0) is invalid: {row} >= {rows}"),
        }
    }
    let empty: Vec<bool> = next.iter().map(|&n| n == 0).collect();
    let mut total = 0;
    for n in &mut next {
        let len = (*n).max(1);
        *n = total;
        total += len;
    }
    check_memory::<i64>(total.saturating_mul(rank))?;
    let mut indices = vec![0i64; total * rank];
    for (row, _) in empty.iter().enumerate().filter(|&(_, &empty)| empty) {
        indices[next[row] * rank] = row as i64;
    }
    let mut reverse = Vec::with_capacity(count);
    for i in 0..count {
        let index = sparse.row(i);
        let at = &mut next[index[0] as usize];
        indices[*at * rank..][..rank].copy_from_slice(index);
        reverse.push(*at as i64);
        *at += 1;
    }
    let (items, default) = (T::items(sparse.values)?, T::items(default)?);
    let values = T::build(sparse.values.dtype(), Shape::from([total]), default, |out| {
        if let [default] = default {
            out.fill(default.clone());
        }
        for (item, &at) in items.iter().zip(&reverse) {
            out[at as usize] = item.clone();
        }
        Ok(())
    })?;
    let indices = index_matrix(&indices, rank, total)?;
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    ctx.set_output(2, Tensor::vector(&empty)?);
    ctx.set_output(3, Tensor::vector(&reverse)?);
    Ok(())
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => {
        from_fn(grad::<T>)
    }, _ => init.unsupported())
}

/// The gradients of the values, and the sum of the others, which is the default's.
fn grad<T: Number>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (map, gradient) = (ctx.input(0)?, ctx.input(1)?);
    if map.rank() != 1 {
        bail!(InvalidArgument, "reverse_index_map must be a vector, saw: {}", map.shape());
    }
    if gradient.rank() != 1 {
        bail!(InvalidArgument, "grad_values must be a vector, saw: {}", gradient.shape());
    }
    let gradient = gradient.as_slice::<T>()?;
    let mut visited = vec![false; gradient.len()];
    let mut values = Vec::with_capacity(map.num_elements());
    for &at in map.as_slice::<i64>()? {
        match usize::try_from(at).ok().filter(|&at| at < gradient.len()) {
            Some(at) => {
                visited[at] = true;
                values.push(gradient[at]);
            }
            None => bail!(InvalidArgument, "Elements in reverse index must be in [0, {}) but got {at}", gradient.len()),
        }
    }
    let rest = gradient.iter().zip(&visited).filter(|&(_, &visited)| !visited);
    let sum = rest.fold(T::ZERO.widen(), |sum, (&x, _)| sum.plus(x.widen()));
    let values = Tensor::vector(&values)?;
    ctx.set_output(0, values);
    ctx.set_output(1, Tensor::scalar(T::narrow(sum)));
    Ok(())
}
