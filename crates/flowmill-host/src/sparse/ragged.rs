//! `RaggedGather` and `RaggedTensorToSparse`.

use super::{index_matrix, pick_rows, splits, splits_tensor};
use crate::from_fn::from_fn;
use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail, check_memory};

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedGather", |_| from_fn(gather));
    registry.add("RaggedTensorToSparse", |_| from_fn(to_sparse));
}

/// Gathers rows of a ragged tensor by their indices. The dimensions of the indices become uniform outer dimensions.
fn gather(ctx: &mut KernelContext<'_>) -> Result<()> {
    let Some(ragged_rank) = ctx.num_inputs().checked_sub(2).filter(|&n| n > 0) else {
        bail!(InvalidArgument, "RaggedGather needs row splits");
    };
    let (values, indices) = (ctx.input(ragged_rank)?, ctx.input(ragged_rank + 1)?);
    let rows = ctx.input(0)?.num_elements() as i64 - 1;
    let numbers = indices.to_i64_vec()?;
    if let Some(i) = numbers.iter().position(|&n| n < 0 || n >= rows) {
        bail!(InvalidArgument, "indices[{i}] = {} is not in [0, {rows})", numbers[i]);
    }
    let Some(&num_values) = values.shape().first() else { bail!(InvalidArgument, "params.rank must be nonzero") };
    let dtype = ctx.input(0)?.dtype();
    let mut nested = Vec::with_capacity(ragged_rank);
    for i in 0..ragged_rank {
        let limit = if i + 1 == ragged_rank { num_values } else { ctx.input(i + 1)?.num_elements().saturating_sub(1) };
        nested.push(splits(ctx.input(i)?, Some(limit))?);
    }
    let mut outputs: Vec<Vec<usize>> = Vec::new();
    let mut outer = 1usize;
    for (&size, &length) in indices.shape().iter().zip(indices.shape().iter().skip(1)) {
        outer = outer.saturating_mul(size);
        check_memory::<usize>(outer)?;
        outputs.push((0..=outer).map(|i| i * length).collect());
    }
    let first = outputs.len();
    outputs.resize(first + ragged_rank, vec![0]);
    // A single index selects the row itself, which lacks the outermost splits.
    let skipped = usize::from(indices.rank() == 0);
    let mut positions = Vec::new();
    for &number in &numbers {
        let (mut start, mut end) = (number as usize, number as usize + 1);
        for (depth, splits) in nested.iter().enumerate() {
            let output = &mut outputs[first + depth];
            check_memory::<usize>(output.len().saturating_add(end - start))?;
            let last = output.last().copied().unwrap_or(0);
            output.extend(splits[start + 1..=end].iter().map(|split| split - splits[start] + last));
            (start, end) = (splits[start], splits[end]);
        }
        check_memory::<usize>(positions.len().saturating_add(end - start))?;
        positions.extend(start..end);
    }
    let width: usize = values.shape()[1..].iter().product();
    let mut shape = values.shape().clone();
    shape[0] = positions.len();
    let values = pick_rows(ctx.allocator(), values, &positions, shape, width)?;
    let tensors = outputs[skipped..].iter().map(|splits| splits_tensor(ctx.allocator(), dtype, splits)).collect::<Result<Vec<_>>>()?;
    let count = tensors.len();
    if ctx.num_outputs() != count + 1 {
        bail!(
            InvalidArgument,
            "OUTPUT_RAGGED_RANK is {}, but the result has {count} ragged dimensions",
            ctx.num_outputs().saturating_sub(1)
        );
    }
    tensors.into_iter().enumerate().for_each(|(i, splits)| ctx.set_output(i, splits));
    ctx.set_output(count, values);
    Ok(())
}

/// Outputs the indices of a ragged tensor's values, and the smallest dense shape that holds them.
fn to_sparse(ctx: &mut KernelContext<'_>) -> Result<()> {
    let Some(ragged_rank) = ctx.num_inputs().checked_sub(1).filter(|&n| n > 0) else {
        bail!(InvalidArgument, "At least one row split is needed");
    };
    let values = ctx.input(ragged_rank)?;
    let Some((&num_values, inner)) = values.shape().split_first() else {
        bail!(InvalidArgument, "values must have at least one dimension");
    };
    let mut nested = Vec::with_capacity(ragged_rank);
    for i in 0..ragged_rank {
        let rows = splits(ctx.input(i)?, None)?;
        if rows[0] != 0 {
            bail!(InvalidArgument, "First value of ragged splits must be 0.");
        }
        nested.push(rows);
    }
    for (i, rows) in nested.iter().enumerate() {
        let next = nested.get(i + 1).map_or(num_values, |next| next.len() - 1);
        if rows[rows.len() - 1] != next {
            bail!(
                InvalidArgument,
                "Final value of ragged splits must match the length the corresponding ragged array: {} and {next}",
                rows[rows.len() - 1]
            );
        }
    }
    // Holds the index of each row of the current dimension.
    let mut prefixes: Vec<Vec<i64>> = (0..nested[0].len() - 1).map(|row| vec![row as i64]).collect();
    for rows in &nested {
        check_memory::<Vec<i64>>(rows[rows.len() - 1])?;
        let mut next = Vec::with_capacity(rows[rows.len() - 1]);
        for (prefix, bounds) in prefixes.iter().zip(rows.windows(2)) {
            next.extend((0..bounds[1] - bounds[0]).map(|i| [&prefix[..], &[i as i64]].concat()));
        }
        prefixes = next;
    }
    let width: usize = inner.iter().product();
    let rank = ragged_rank + 1 + inner.len();
    let total = values.num_elements();
    check_memory::<i64>(total.saturating_mul(rank))?;
    let mut indices = Vec::with_capacity(total * rank);
    for prefix in &prefixes {
        for element in 0..width {
            indices.extend_from_slice(prefix);
            let mut rest = element;
            let at = indices.len();
            indices.resize(at + inner.len(), 0);
            for (index, &size) in indices[at..].iter_mut().zip(inner).rev() {
                *index = (rest % size) as i64;
                rest /= size;
            }
        }
    }
    let mut dims = vec![nested[0].len() as i64 - 1];
    dims.extend(nested.iter().map(|rows| rows.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0) as i64));
    dims.extend(inner.iter().map(|&d| d as i64));
    let values = values.clone().reshaped(Shape::from([total]))?;
    ctx.set_output(0, index_matrix(ctx.allocator(), &indices, rank, total)?);
    ctx.set_output(1, values);
    ctx.set_output(2, ctx.allocator().vector(&dims)?);
    Ok(())
}
