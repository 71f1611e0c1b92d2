//! `SparseFillEmptyRows`, `RaggedFillEmptyRows` and their gradients.

use super::{Sparse, index_matrix, pick, scattered};
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Result, Shape, Tensor, bail, bf16, check_memory, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedFillEmptyRows", |_| from_fn(fill_ragged));
    registry.add("RaggedFillEmptyRowsGrad", make_grad);
    registry.add("SparseFillEmptyRows", |_| from_fn(fill_sparse));
    registry.add("SparseFillEmptyRowsGrad", make_grad);
}

/// The new positions of values when each empty row gets one more value. Values are grouped by row and keep their order within a row.
struct Places {
    empty: Vec<bool>,
    /// The position of the first value of each row.
    starts: Vec<usize>,
    /// The new position of each value.
    reverse: Vec<i64>,
    /// The number of values, including the added ones.
    total: usize,
}

impl Places {
    /// Returns the positions for `count` values, of which value `i` is in row `row_of(i)`.
    fn new(rows: i64, count: usize, row_of: impl Fn(usize) -> i64) -> Result<Places> {
        if rows == 0 && count > 0 {
            bail!(InvalidArgument, "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {count}");
        }
        let Ok(rows) = usize::try_from(rows) else { bail!(InvalidArgument, "Expected shape dimensions to be non-negative, got {rows}") };
        check_memory::<usize>(rows)?;
        // First the number of values in each row, later the position of its next value.
        let mut next = vec![0usize; rows];
        for i in 0..count {
            let row = row_of(i);
            match usize::try_from(row).ok().and_then(|row| next.get_mut(row)) {
                Some(n) => *n += 1,
                None => bail!(InvalidArgument, "indices({i}, 0) is invalid: {row} >= {rows}"),
            }
        }
        let empty = next.iter().map(|&n| n == 0).collect();
        let mut total = 0;
        for n in &mut next {
            let len = (*n).max(1);
            *n = total;
            total += len;
        }
        let starts = next.clone();
        let mut reverse = Vec::with_capacity(count);
        for i in 0..count {
            let at = &mut next[row_of(i) as usize];
            reverse.push(*at as i64);
            *at += 1;
        }
        Ok(Places { empty, starts, reverse, total })
    }

    /// Returns the rows that were empty, and the positions of their values.
    fn added(&self) -> impl Iterator<Item = (usize, usize)> {
        self.empty.iter().zip(&self.starts).enumerate().filter(|(_, (empty, _))| **empty).map(|(row, (_, &at))| (row, at))
    }

    /// Sets the outputs: the indices, the values with defaults added, flags for rows that were empty, and the new position of each value.
    fn set_outputs(self, ctx: &mut KernelContext<'_>, indices: Tensor) -> Result<()> {
        let positions: Vec<usize> = self.reverse.iter().map(|&at| at as usize).collect();
        let values = scattered(ctx.allocator(), ctx.input(1)?, &positions, Shape::from([self.total]), ctx.input(3)?)?;
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        ctx.set_output(2, ctx.allocator().vector(&self.empty)?);
        ctx.set_output(3, ctx.allocator().vector(&self.reverse)?);
        Ok(())
    }
}

fn check_default(default: &Tensor) -> Result<()> {
    if default.rank() != 0 {
        bail!(InvalidArgument, "default_value must be a scalar, saw: {}", default.shape());
    }
    Ok(())
}

/// Adds a default value to each empty row, at its first position.
fn fill_sparse(ctx: &mut KernelContext<'_>) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    check_default(ctx.input(3)?)?;
    let Some(&rows) = sparse.dims.first() else { bail!(InvalidArgument, "Dense shape cannot be empty.") };
    let (count, rank) = (sparse.len(), sparse.rank());
    let places = Places::new(rows, count, |i| sparse.row(i)[0])?;
    check_memory::<i64>(places.total.saturating_mul(rank))?;
    let mut indices = vec![0i64; places.total * rank];
    for (row, at) in places.added() {
        indices[at * rank] = row as i64;
    }
    for (i, &at) in places.reverse.iter().enumerate() {
        indices[at as usize * rank..][..rank].copy_from_slice(sparse.row(i));
    }
    let indices = index_matrix(ctx.allocator(), &indices, rank, places.total)?;
    places.set_outputs(ctx, indices)
}

/// Adds a default value to each empty row of a ragged tensor.
fn fill_ragged(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (row_ids, values, rows) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if row_ids.rank() != 1 {
        bail!(InvalidArgument, "value_rowids must be a vector, saw: {}", row_ids.shape());
    }
    if values.rank() != 1 {
        bail!(InvalidArgument, "values must be a vector, saw: {}", values.shape());
    }
    let count = row_ids.num_elements();
    if values.num_elements() != count {
        bail!(
            InvalidArgument,
            "The length of `values` ({}) must match the first dimension of `value_rowids` ({count}).",
            values.num_elements()
        );
    }
    if rows.rank() != 0 {
        bail!(InvalidArgument, "nrows must be a scalar, saw: {}", rows.shape());
    }
    check_default(ctx.input(3)?)?;
    let row_ids = row_ids.as_slice::<i64>()?;
    let places = Places::new(rows.to_i64()?, count, |i| row_ids[i])?;
    let mut filled = vec![0i64; places.total];
    for (row, at) in places.added() {
        filled[at] = row as i64;
    }
    for (&row, &at) in row_ids.iter().zip(&places.reverse) {
        filled[at as usize] = row;
    }
    let filled = ctx.allocator().vector(&filled)?;
    places.set_outputs(ctx, filled)
}

fn make_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sum = for_dtype!(
        init.dtype("T")?,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => sum_of_others::<T>,
        _ => return init.unsupported()
    );
    from_fn(move |ctx| grad(ctx, sum))
}

/// Returns the sum of the elements of `gradient` that are not `visited`.
fn sum_of_others<T: Number>(gradient: &Tensor, visited: &[bool]) -> Result<Tensor> {
    let rest = gradient.as_slice::<T>()?.iter().zip(visited).filter(|&(_, &visited)| !visited);
    Ok(Tensor::scalar(T::narrow(rest.fold(T::ZERO.widen(), |sum, (&x, _)| sum.plus(x.widen())))))
}

/// Outputs the gradients of the values, and the sum of the other gradients, which is the default's gradient.
fn grad(ctx: &mut KernelContext<'_>, sum: fn(&Tensor, &[bool]) -> Result<Tensor>) -> Result<()> {
    let (map, gradient) = (ctx.input(0)?, ctx.input(1)?);
    if map.rank() != 1 {
        bail!(InvalidArgument, "reverse_index_map must be a vector, saw: {}", map.shape());
    }
    if gradient.rank() != 1 {
        bail!(InvalidArgument, "grad_values must be a vector, saw: {}", gradient.shape());
    }
    let count = gradient.num_elements();
    let mut visited = vec![false; count];
    let mut positions = Vec::with_capacity(map.num_elements());
    for &at in map.as_slice::<i64>()? {
        match usize::try_from(at).ok().filter(|&at| at < count) {
            Some(at) => {
                visited[at] = true;
                positions.push(at);
            }
            None => bail!(InvalidArgument, "Elements in reverse index must be in [0, {count}) but got {at}"),
        }
    }
    let (values, sum) = (pick(ctx.allocator(), gradient, &positions)?, sum(gradient, &visited)?);
    ctx.set_output(0, values);
    ctx.set_output(1, sum);
    Ok(())
}
