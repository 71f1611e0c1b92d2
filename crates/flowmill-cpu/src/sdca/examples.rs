//! The examples of a step, with the weights of their features and the updates of the weights.

use super::Regularization;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{Allocator, Reservation, Result, Shape, Tensor, bail};
use std::collections::HashMap;
use std::ops::Range;

/// The numbers of groups of features.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    pub(super) sparse: usize,
    pub(super) with_values: usize,
    pub(super) dense: usize,
}

impl Groups {
    fn dense_features(self) -> usize {
        2 * self.sparse + self.with_values
    }

    fn example_weights(self) -> usize {
        self.dense_features() + self.dense
    }

    fn sparse_indices(self) -> usize {
        self.example_weights() + 2
    }

    fn dense_weights(self) -> usize {
        self.sparse_indices() + 2 * self.sparse
    }

    /// Returns the index of the last input, the state.
    pub(super) fn state(self) -> usize {
        self.dense_weights() + self.dense
    }
}

/// The data of an example besides its features.
#[derive(Clone, Copy)]
pub(super) struct Example {
    pub(super) label: f32,
    pub(super) weight: f32,
    /// The sum of the squares of the example's features.
    pub(super) squared_norm: f64,
}

/// A group of sparse features, of which each example has few.
struct Sparse<'a> {
    /// The range of each example's features in `places` and `values`.
    rows: Vec<Range<usize>>,
    /// The positions of the features among the weights.
    places: Vec<usize>,
    /// The values of the features, or `None` if all are 1.
    values: Option<&'a [f32]>,
    weights: Weights<'a>,
}

/// A group of dense features: one row per example.
struct Dense<'a> {
    features: &'a [f32],
    weights: Weights<'a>,
}

/// The weights of the features of one group.
struct Weights<'a> {
    shape: &'a Shape,
    values: &'a [f32],
    /// The updates of the weights.
    deltas: Vec<f32>,
    /// The charge for `deltas`.
    _reserved: Reservation,
}

/// The examples of a call.
pub(super) struct Examples<'a> {
    examples: Vec<Example>,
    sparse: Vec<Sparse<'a>>,
    dense: Vec<Dense<'a>>,
}

impl<'a> Examples<'a> {
    /// Returns the examples of a call.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for inputs that are inconsistent.
    pub(super) fn new(ctx: &'a KernelContext<'_>, groups: Groups) -> Result<Examples<'a>> {
        let weights = ctx.input(groups.example_weights())?.as_slice::<f32>()?;
        let labels = ctx.input(groups.example_weights() + 1)?.as_slice::<f32>()?;
        if labels.len() != weights.len() {
            bail!(InvalidArgument, "Expected {} example labels but got {}", weights.len(), labels.len());
        }
        let _reserved = ctx.allocator().reserve::<[usize; 8]>(weights.len())?;
        let mut examples: Vec<Example> =
            weights.iter().zip(labels).map(|(&weight, &label)| Example { label, weight, squared_norm: 0.0 }).collect();
        let sparse = (0..groups.sparse).map(|i| Sparse::new(ctx, groups, i, &mut examples)).collect::<Result<Vec<_>>>()?;
        let dense = (0..groups.dense).map(|i| Dense::new(ctx, groups, i, &mut examples)).collect::<Result<Vec<_>>>()?;
        Ok(Examples { examples, sparse, dense })
    }

    pub(super) fn len(&self) -> usize {
        self.examples.len()
    }

    pub(super) fn example(&self, i: usize) -> Example {
        self.examples[i]
    }

    /// Returns the prediction for an example, before the link function: with the current weights, whose updates are multiplied by the
    /// number of partitions, and with the original weights.
    pub(super) fn sums(&self, i: usize, partitions: f32, regularization: Regularization) -> (f64, f64) {
        let (mut now, mut before) = (0.0, 0.0);
        for Sparse { rows, places, values, weights } in &self.sparse {
            for at in rows[i].clone() {
                let place = places[at];
                let value = value(*values, at);
                before += value * regularization.shrunk(f64::from(weights.values[place]));
                now += value * regularization.shrunk(f64::from(weights.values[place] + weights.deltas[place] * partitions));
            }
        }
        for Dense { features, weights } in &self.dense {
            let (mut sum, mut sum_before) = (0f32, 0f32);
            for ((&x, &weight), &delta) in weights.row(features, i).iter().zip(weights.values).zip(&weights.deltas) {
                sum_before += x * regularization.shrunk_single(weight);
                sum += x * regularization.shrunk_single(weight + delta * partitions);
            }
            before += f64::from(sum_before);
            now += f64::from(sum);
        }
        (now, before)
    }

    /// Adds an example's features, times `factor`, to the updates of the weights.
    pub(super) fn add(&mut self, i: usize, factor: f64) {
        for Sparse { rows, places, values, weights } in &mut self.sparse {
            for at in rows[i].clone() {
                let delta = &mut weights.deltas[places[at]];
                *delta = (f64::from(*delta) + value(*values, at) * factor) as f32;
            }
        }
        for Dense { features, weights } in &mut self.dense {
            let row = weights.row(features, i);
            weights.deltas.iter_mut().zip(row).for_each(|(delta, x)| *delta += x * factor as f32);
        }
    }

    /// Returns the updates of the weights, group by group.
    pub(super) fn into_deltas(self, alloc: &Allocator) -> Result<Vec<Tensor>> {
        let sparse = self.sparse.into_iter().map(|group| group.weights);
        let dense = self.dense.into_iter().map(|group| group.weights);
        sparse.chain(dense).map(|weights| alloc.from_slice(weights.shape.clone(), &weights.deltas)).collect()
    }
}

impl<'a> Weights<'a> {
    fn new(alloc: &Allocator, tensor: &'a Tensor) -> Result<Weights<'a>> {
        let values = tensor.as_slice::<f32>()?;
        let _reserved = alloc.reserve::<f32>(values.len())?;
        Ok(Weights { shape: tensor.shape(), values, deltas: vec![0.0; values.len()], _reserved })
    }

    /// Returns the row of dense features of example `i`.
    fn row<'f>(&self, features: &'f [f32], i: usize) -> &'f [f32] {
        let width = self.values.len();
        &features[i * width..(i + 1) * width]
    }
}

/// Returns the value of a sparse feature.
fn value(values: Option<&[f32]>, at: usize) -> f64 {
    values.map_or(1.0, |values| f64::from(values[at]))
}

impl<'a> Sparse<'a> {
    fn new(ctx: &'a KernelContext<'_>, groups: Groups, i: usize, examples: &mut [Example]) -> Result<Sparse<'a>> {
        let (of, features) = (ctx.input(i)?.as_slice::<i64>()?, ctx.input(groups.sparse + i)?.as_slice::<i64>()?);
        if of.len() != features.len() {
            bail!(InvalidArgument, "Found mismatched example_indices and feature_indices: {} vs {} elements", of.len(), features.len());
        }
        let values = if i < groups.with_values { Some(ctx.input(2 * groups.sparse + i)?.as_slice::<f32>()?) } else { None };
        if let Some(values) = values
            && values.len() != features.len()
        {
            bail!(InvalidArgument, "Found {} feature values for {} feature indices", values.len(), features.len());
        }
        let indices = ctx.input(groups.sparse_indices() + i)?.as_slice::<i64>()?;
        let weights = Weights::new(ctx.allocator(), ctx.input(groups.sparse_indices() + groups.sparse + i)?)?;
        if indices.len() != weights.values.len() {
            bail!(
                InvalidArgument,
                "sparse_indices and sparse_weights must have the same length, got {} and {}",
                indices.len(),
                weights.values.len()
            );
        }
        let _reserved = ctx.allocator().reserve::<[usize; 6]>(features.len().saturating_add(indices.len()))?;
        let place_of: HashMap<i64, usize> = indices.iter().enumerate().map(|(place, &index)| (index, place)).collect();
        let (mut rows, mut places) = (Vec::with_capacity(examples.len()), Vec::with_capacity(features.len()));
        // For each feature, the last example that had it.
        let mut last = vec![usize::MAX; indices.len()];
        for (i, example) in examples.iter_mut().enumerate() {
            let start = places.len();
            while of.get(places.len()).is_some_and(|&of| of == i as i64) {
                let at = places.len();
                let Some(&place) = place_of.get(&features[at]) else {
                    bail!(InvalidArgument, "Found sparse feature indices out of valid range: {}", features[at])
                };
                if std::mem::replace(&mut last[place], i) == i {
                    bail!(InvalidArgument, "Duplicate index in sparse vector.");
                }
                example.squared_norm += value(values, at) * value(values, at);
                places.push(place);
            }
            rows.push(start..places.len());
        }
        Ok(Sparse { rows, places, values, weights })
    }
}

impl<'a> Dense<'a> {
    fn new(ctx: &'a KernelContext<'_>, groups: Groups, i: usize, examples: &mut [Example]) -> Result<Dense<'a>> {
        let features = ctx.input(groups.dense_features() + i)?;
        let weights = Weights::new(ctx.allocator(), ctx.input(groups.dense_weights() + i)?)?;
        let &[rows, width] = features.shape().dims() else {
            bail!(InvalidArgument, "Dense features at index {i} must be rank 2 but is rank {}", features.rank())
        };
        if rows != examples.len() {
            bail!(InvalidArgument, "Dense features at index {i} must have {} rows, one for each example, but have {rows}", examples.len());
        }
        if width > weights.values.len() {
            bail!(InvalidArgument, "More dense features than we have parameters for: {width}");
        }
        if width < weights.values.len() {
            bail!(InvalidArgument, "Fewer dense features than we have parameters for: {width} for {}", weights.values.len());
        }
        let features = features.as_slice::<f32>()?;
        for (i, example) in examples.iter_mut().enumerate() {
            example.squared_norm += f64::from(weights.row(features, i).iter().map(|x| x * x).sum::<f32>());
        }
        Ok(Dense { features, weights })
    }
}
