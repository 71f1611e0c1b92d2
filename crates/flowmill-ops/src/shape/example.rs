//! Parsed examples: features in the order of the op's outputs, each with the batch in front.

use super::dims;
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, bail};

/// Sets outputs one after the other.
struct Outputs {
    next: usize,
}

impl Outputs {
    fn put(&mut self, c: &mut Context<'_>, count: usize, shape: &PartialShape) {
        for i in self.next..self.next + count {
            c.set_output(i, shape.clone());
        }
        self.next += count;
    }

    /// `count` sparse tensors of rank `rank`: all indices, then all values, then all shapes.
    fn put_sparse(&mut self, c: &mut Context<'_>, count: usize, rank: i64) {
        self.put(c, count, &PartialShape::new(&[dims::UNKNOWN, rank]));
        self.put(c, count, &vector(dims::UNKNOWN));
        self.put(c, count, &vector(rank));
    }

    /// Tensors of the shapes in attribute `attr`, each after `prefix`.
    fn put_dense(&mut self, c: &mut Context<'_>, attr: &str, prefix: &PartialShape) -> Result<()> {
        for shape in c.attrs().list::<PartialShape>(attr)? {
            self.put(c, 1, &prefix.concat(&shape));
        }
        Ok(())
    }
}

fn vector(size: i64) -> PartialShape {
    PartialShape::new(&[size])
}

/// Returns the number of types in a list attribute; 0 if the op lacks it.
fn count(c: &Context<'_>, attr: &str) -> Result<usize> {
    if c.attrs().contains(attr) { Ok(c.attrs().list::<DType>(attr)?.len()) } else { Ok(0) }
}

/// The number of row splits over a batch: one more than its rows.
fn num_splits(batch: &PartialShape) -> Result<i64> {
    match batch.dims() {
        Some(&[n]) => dims::add(n, 1),
        _ => Ok(dims::UNKNOWN),
    }
}

/// Examples: sparse features, then dense ones, then ragged values and splits.
pub(crate) fn parse_example(c: &mut Context<'_>) -> Result<()> {
    let batch = if c.op_def().name == "ParseSingleExample" { PartialShape::scalar() } else { c.input(0) };
    let rank = batch.rank().map_or(dims::UNKNOWN, |r| r as i64 + 1);
    let (sparse, ragged) = (count(c, "sparse_types")?, count(c, "ragged_value_types")?);
    let mut outputs = Outputs { next: 0 };
    outputs.put_sparse(c, sparse, rank);
    outputs.put_dense(c, "dense_shapes", &batch)?;
    outputs.put(c, ragged, &vector(dims::UNKNOWN));
    outputs.put(c, ragged, &vector(num_splits(&batch)?));
    Ok(())
}

/// Sequences in a vector or a scalar: the context's features as for one example, then those of each step with time after the batch.
pub(crate) fn parse_sequence_example_v2(c: &mut Context<'_>) -> Result<()> {
    let batch = dims::with_rank_at_most(&c.input(0), 1)?;
    sequences(c, &batch, true)
}

/// Sequences in a vector, with their names.
pub(crate) fn parse_sequence_example(c: &mut Context<'_>) -> Result<()> {
    let batch = dims::with_rank(&c.input(0), 1)?;
    dims::with_rank(&c.input(1), 1)?;
    sequences(c, &batch, true)
}

/// One sequence, a scalar; without the numbers of its steps.
pub(crate) fn parse_single_sequence_example(c: &mut Context<'_>) -> Result<()> {
    let batch = dims::with_rank(&c.input(0), 0)?;
    dims::with_rank(&c.input(1), 1)?;
    sequences(c, &batch, false)
}

fn sequences(c: &mut Context<'_>, batch: &PartialShape, has_lengths: bool) -> Result<()> {
    let rank = |more: i64| batch.rank().map_or(dims::UNKNOWN, |r| r as i64 + more);
    let splits = num_splits(batch)?;
    let mut outputs = Outputs { next: 0 };
    let ragged = count(c, "context_ragged_value_types")?;
    let sparse = features(c, "context", "sparse", "context_sparse_types")?;
    features(c, "context", "dense", "Tcontext_dense")?;
    outputs.put_sparse(c, sparse, rank(1));
    outputs.put_dense(c, "context_dense_shapes", batch)?;
    outputs.put(c, ragged, &vector(dims::UNKNOWN));
    outputs.put(c, ragged, &vector(splits));
    let sparse = features(c, "feature_list", "sparse", "feature_list_sparse_types")?;
    let dense = features(c, "feature_list", "dense", "feature_list_dense_types")?;
    let ragged = count(c, "feature_list_ragged_value_types")?;
    outputs.put_sparse(c, sparse, rank(2));
    outputs.put_dense(c, "feature_list_dense_shapes", &batch.concat(&vector(dims::UNKNOWN)))?;
    outputs.put(c, if has_lengths { dense } else { 0 }, batch);
    outputs.put(c, ragged, &vector(dims::UNKNOWN));
    outputs.put(c, ragged, &vector(splits));
    outputs.put(c, ragged, &vector(dims::UNKNOWN));
    Ok(())
}

/// Returns the number of features of a kind.
///
/// # Errors
/// `InvalidArgument` if the op has an attribute for their number that differs from that of their types, or if there are more or less shapes.
fn features(c: &Context<'_>, prefix: &str, kind: &str, types: &str) -> Result<usize> {
    let (n, number, shapes) = (count(c, types)?, format!("N{prefix}_{kind}"), format!("{prefix}_{kind}_shapes"));
    if c.attrs().contains(&number) && c.attrs().get::<i64>(&number)? != n as i64 {
        bail!(InvalidArgument, "len({prefix}_{kind}_keys) != len({types})");
    }
    if kind == "dense" && c.attrs().list::<PartialShape>(&shapes)?.len() != n {
        bail!(InvalidArgument, "len({prefix}_{kind}_keys) != len({shapes})");
    }
    Ok(n)
}
