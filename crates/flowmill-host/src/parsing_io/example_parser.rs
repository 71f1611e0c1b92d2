//! A parser of batches of examples whose features' keys are attributes, which `ParseExampleDataset` applies to each element.

use super::parse_example::{Features, Input, features_of};
use crate::sparse::{ragged_variant, serialize};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Allocator, Bytes, Result, Tensor, bail};

/// The features to find in examples, and the order of the results.
pub(crate) struct ExampleParser {
    features: Features,
    /// The keys of sparse, dense and ragged features.
    keys: Vec<Bytes>,
    /// The indices of the features in the order of their keys, which is the order of the results.
    order: Vec<usize>,
}

impl ExampleParser {
    /// Reads a node's attributes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if lists differ in length or a key occurs twice.
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<ExampleParser> {
        let features = Features::of_attrs(init, ["sparse_types", "Tdense", "dense_shapes", "ragged_value_types", "ragged_split_types"])?;
        let mut keys: Vec<Bytes> = Vec::new();
        for (attr, count) in
            [("sparse_keys", features.sparse.len()), ("dense_keys", features.dense.len()), ("ragged_keys", features.ragged.len())]
        {
            let list = if init.attrs.contains(attr) { init.attrs.list::<&Bytes>(attr)? } else { Vec::new() };
            if list.len() != count {
                bail!(InvalidArgument, "len({attr}) is {}, and there are {count} types", list.len());
            }
            keys.extend(list.into_iter().cloned());
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&i| &keys[i]);
        if let Some(pair) = order.windows(2).find(|pair| keys[pair[0]] == keys[pair[1]]) {
            bail!(InvalidArgument, "Duplicate key not allowed: {}", String::from_utf8_lossy(&keys[pair[0]]));
        }
        Ok(ExampleParser { features, keys, order })
    }

    /// Returns the features of serialised examples, in the order of their keys: dense ones as tensors, sparse ones as vectors of three variants,
    /// ragged ones as variants.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an example cannot be parsed or lacks a feature without default.
    pub(crate) fn parse(&self, alloc: &Allocator, serialized: &Tensor, defaults: &[Tensor]) -> Result<Vec<Tensor>> {
        let defaults = self.features.dense.iter().zip(defaults).enumerate().map(|(i, (dense, default))| dense.default(i, default));
        let input = Input {
            messages: serialized.as_strings()?,
            names: &[],
            keys: self.keys.iter().map(|key| &key[..]).collect(),
            defaults: defaults.collect::<Result<_>>()?,
            is_single: serialized.rank() == 0,
        };
        if input.defaults.len() != self.features.dense.len() {
            bail!(InvalidArgument, "{} defaults for {} dense features", input.defaults.len(), self.features.dense.len());
        }
        let outputs = features_of(alloc, &self.features, &input)?;
        let (num_sparse, num_dense, num_ragged) = (self.features.sparse.len(), self.features.dense.len(), self.features.ragged.len());
        let at = |i: usize| outputs.get(i).cloned().unwrap_or_else(|| Tensor::scalar(0i64));
        let feature = |&i: &usize| {
            if i < num_sparse {
                return serialize::as_variants([at(i), at(num_sparse + i), at(2 * num_sparse + i)]);
            }
            let place = 2 * num_sparse + i;
            Ok(match i - num_sparse {
                dense if dense < num_dense => at(place),
                _ => ragged_variant::as_variant(vec![at(place + num_ragged)], at(place)),
            })
        };
        self.order.iter().map(feature).collect()
    }
}
