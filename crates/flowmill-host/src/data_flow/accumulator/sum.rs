//! Sums of gradients, dense or by row.

use crate::blocks::concat_blocks;
use crate::number::Number;
use flowmill_tensor::{Allocator, DType, PartialShape, Result, Shape, Tensor, bail, f16, for_dtype};
use std::collections::BTreeMap;

/// A sum of one or more gradients.
pub(super) enum Sum {
    /// The sum of tensors of one shape.
    Dense(Tensor),
    /// The sums of rows by their index, each with the number of gradients that had the row.
    Sparse { dtype: DType, row: Shape, rows: BTreeMap<i64, (Tensor, usize)> },
}

/// Computes `to += from`, or `to /= count` if there is no `from`.
fn combine(to: &mut Tensor, from: Option<&Tensor>, count: usize) -> Result<()> {
    fn typed<T: Number>(to: &mut Tensor, from: Option<&Tensor>, count: usize) -> Result<()> {
        let to = to.as_mut_slice::<T>()?;
        match from {
            Some(from) => to.iter_mut().zip(from.as_slice::<T>()?).for_each(|(a, &b)| *a = a.plus(b)),
            None => to.iter_mut().for_each(|a| *a = a.over(T::from_count(count))),
        }
        Ok(())
    }
    for_dtype!(to.dtype(), [f16, f32, f64], T => typed::<T>(to, from, count), _ => bail!(Unimplemented, "values of type {} cannot be summed", to.dtype()))
}

impl Sum {
    /// Returns a gradient whose shape must be compatible with `expected`.
    pub(super) fn dense(gradient: &Tensor, expected: &PartialShape) -> Result<Sum> {
        if !expected.is_compatible_with(gradient.shape()) {
            bail!(InvalidArgument, "Shape mismatch: expected {expected}, got {}", gradient.shape());
        }
        Ok(Sum::Dense(gradient.clone().into_owned()?))
    }

    /// Returns a gradient by rows; `shape` is the shape of the whole gradient. A gradient may have more dimensions than `expected`.
    pub(super) fn sparse(indices: &Tensor, values: &Tensor, shape: Option<&Tensor>, expected: &PartialShape) -> Result<Sum> {
        if indices.rank() != 1 {
            bail!(InvalidArgument, "Input indices should be vector but received shape: {}", indices.shape());
        }
        let Some((&count, row)) = values.shape().split_first() else {
            bail!(InvalidArgument, "Values cannot be 0-dimensional.");
        };
        if indices.num_elements() == 0 {
            bail!(InvalidArgument, "Must have at least one index.");
        }
        if count != indices.num_elements() {
            bail!(InvalidArgument, "Expected {} non-empty input values, got {count}.", indices.num_elements());
        }
        if let Some(shape) = shape {
            if shape.rank() != 1 {
                bail!(InvalidArgument, "Shape must be a vector, got shape {}", shape.shape());
            }
            let shape = shape.to_i64_vec()?;
            let known = expected.dims().unwrap_or(&[]);
            if shape.len() < known.len() {
                bail!(InvalidArgument, "Shape mismatch: expected shape rank at least {}, got {}", known.len(), shape.len());
            }
            if let Some((i, (want, got))) = known.iter().zip(&shape).enumerate().find(|(_, (want, got))| **want >= 0 && want != got) {
                bail!(InvalidArgument, "Shape mismatch: expected shape dim {i} to be {want}, got {got}");
            }
        }
        let limit = expected.dims().and_then(|d| d.first().copied()).filter(|&limit| limit >= 0);
        for (i, &index) in indices.as_slice::<i64>()?.iter().enumerate() {
            if let Some(limit) = limit.filter(|&limit| index >= limit) {
                bail!(InvalidArgument, "Shape mismatch: index of slice {i} exceeded limits of shape; index is {index} exceeded {limit}");
            }
            if index < 0 {
                bail!(InvalidArgument, "Shape mismatch: index of slice {i} is {index}, which is negative");
            }
        }
        if let Some([_, known @ ..]) = expected.dims() {
            if known.len() > row.len() {
                bail!(InvalidArgument, "Shape mismatch: expected values rank at least {}, got {}", known.len() + 1, row.len() + 1);
            }
            for (i, (&want, &got)) in known.iter().zip(row).enumerate() {
                if want >= 0 && want as u64 != got as u64 {
                    bail!(InvalidArgument, "Shape mismatch: expected values dim {} to be {want}, got {got}", i + 1);
                }
            }
        }
        let mut sum = Sum::Sparse { dtype: values.dtype(), row: row.into(), rows: BTreeMap::new() };
        if let Sum::Sparse { rows, .. } = &mut sum {
            for (i, &index) in indices.as_slice::<i64>()?.iter().enumerate() {
                let row = values.row(i)?.into_owned()?;
                match rows.get_mut(&index) {
                    // A gradient counts once per index, even if it has the index several times.
                    Some((there, _)) => combine(there, Some(&row), 0)?,
                    None => drop(rows.insert(index, (row, 1))),
                }
            }
        }
        Ok(sum)
    }

    pub(super) fn dtype(&self) -> DType {
        match self {
            Sum::Dense(tensor) => tensor.dtype(),
            Sum::Sparse { dtype, .. } => *dtype,
        }
    }

    /// Adds another gradient.
    pub(super) fn add(&mut self, other: &Sum) -> Result<()> {
        match (self, other) {
            (Sum::Dense(sum), Sum::Dense(gradient)) if sum.shape() == gradient.shape() => combine(sum, Some(gradient), 0),
            (Sum::Dense(sum), Sum::Dense(gradient)) => {
                bail!(InvalidArgument, "Shape mismatch: expected {}, got {}", sum.shape(), gradient.shape())
            }
            (Sum::Sparse { row, rows, .. }, Sum::Sparse { row: other_row, rows: others, .. }) => {
                if row.rank() != other_row.rank() {
                    bail!(InvalidArgument, "Shape mismatch: expected values rank {}, got {}", row.rank() + 1, other_row.rank() + 1);
                }
                if let Some((i, (want, got))) = row.iter().zip(other_row.iter()).enumerate().find(|(_, (want, got))| want != got) {
                    bail!(InvalidArgument, "Shape mismatch: expected values dim {} to be {want}, got {got}", i + 1);
                }
                for (&index, (gradient, count)) in others {
                    match rows.get_mut(&index) {
                        Some((sum, n)) => {
                            combine(sum, Some(gradient), 0)?;
                            *n += count;
                        }
                        None => drop(rows.insert(index, (gradient.clone(), *count))),
                    }
                }
                Ok(())
            }
            _ => bail!(Internal, "dense and sparse gradients do not add"),
        }
    }

    /// Returns the outputs of an op that takes the sum, or the mean over `count` gradients; the mean of a row is over the gradients that had the row.
    pub(super) fn into_outputs(self, alloc: &Allocator, count: Option<usize>, shape: &PartialShape) -> Result<Vec<Option<Tensor>>> {
        match self {
            Sum::Dense(mut sum) => {
                if let Some(count) = count {
                    combine(&mut sum, None, count)?;
                }
                Ok(vec![Some(sum)])
            }
            Sum::Sparse { dtype, row, rows } => {
                let indices: Vec<i64> = rows.keys().copied().collect();
                let mut tensors = Vec::with_capacity(rows.len());
                for (mut sum, n) in rows.into_values() {
                    if count.is_some() {
                        combine(&mut sum, None, n)?;
                    }
                    tensors.push(sum);
                }
                let whole: Shape = std::iter::once(tensors.len()).chain(row.iter().copied()).collect();
                let values = concat_blocks(alloc, dtype, whole, tensors.iter().map(|t| (t, 0..t.num_elements())))?;
                let first = shape.dims().and_then(|d| d.first().copied()).unwrap_or(-1);
                let dims: Vec<i64> = std::iter::once(first).chain(row.iter().map(|&d| d as i64)).collect();
                Ok(vec![Some(alloc.vector(&indices)?), Some(values), Some(alloc.vector(&dims)?)])
            }
        }
    }
}
