"""Datasets of elements of several datasets, each from one that is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data import _structure
from flowmill.data._base import INT64, DatasetBase, derived, flat, made
from flowmill.data._function import DatasetFunction

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def replicated(dataset: DatasetBase) -> Dataset:
    """Returns a dataset that every shard of a pipeline has whole."""
    from flowmill.data._dataset import from_variant  # cycle: data._sources imports this module

    spec = dataset.element_spec
    return from_variant(call("RewriteDataset", None, dataset._variant_tensor, "replicate_on_split", **flat(spec)), spec)


def interleaved(selector: DatasetBase, datasets, stop_on_empty_dataset: bool) -> Dataset:
    """Returns elements of the datasets that `selector` numbers.

    Raises:
        TypeError: if their elements have no common spec.
    """
    datasets = list(datasets)
    spec = datasets[0].element_spec
    for i, dataset in enumerate(datasets[1:]):
        try:
            spec = _structure.common(spec, dataset.element_spec)
        except (TypeError, ValueError):
            raise TypeError(f"Invalid `datasets`. `datasets` must have compatible element specs.\n Dataset 0 element_spec={datasets[0].element_spec}.\n"
                            f"Dataset {i + 1} element_spec={dataset.element_spec}.") from None
    return made("DirectedInterleaveDataset", spec, [selector, *datasets], selector._variant_tensor, [d._variant_tensor for d in datasets],
                stop_on_empty_dataset=stop_on_empty_dataset, is_v2=True)


def chosen(datasets, choices: DatasetBase, stop_on_empty_dataset: bool) -> Dataset:
    """See :meth:`Dataset.choose_from_datasets`."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if not isinstance(choices, DatasetBase):
        raise TypeError(f"Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is {type(choices)}.")
    if not _structure.are_compatible(choices.element_spec, TensorSpec([], INT64)):
        raise TypeError("Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are "
                        f"{choices.element_spec}.")
    return interleaved(replicated(choices), datasets, stop_on_empty_dataset)


def _drawn(logits, seed) -> Tensor:
    return tf.squeeze(call("StatelessMultinomial", None, logits, 1, seed), axis=[0, 1])


def _selector(dataset: DatasetBase, function) -> Dataset:
    traced = DatasetFunction(function, "Dataset.map()", dataset.element_spec)
    return derived(dataset, "MapDataset", traced.captured, element_spec=traced.output_spec, is_v2=True, f=traced.attr,
                   use_inter_op_parallelism=False, preserve_cardinality=True)


def sampled(datasets, weights, seed, stop_on_empty_dataset: bool, rerandomize) -> Dataset:
    """See :meth:`Dataset.sample_from_datasets`."""
    from flowmill.data._dataset import Dataset  # cycle: data._sources imports this module

    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")

    def numbers():
        return Dataset.random(seed=seed, rerandomize_each_iteration=rerandomize).batch(2)

    if isinstance(weights, DatasetBase):
        logits = weights.map(lambda *p: tf.log(p, name="logits"))
        return interleaved(_selector(Dataset.zip((logits, numbers())), _drawn), datasets, stop_on_empty_dataset)
    if weights is None:
        logits = [[1.0] * len(datasets)]
    else:
        if isinstance(weights, Tensor):
            if not weights.shape.is_compatible_with([len(datasets)]):
                raise ValueError("Invalid `weights`. The shape of `weights` should be compatible with `[len(datasets)]` but is "
                                 f"{weights.shape}.")
        else:
            if len(datasets) != len(weights):
                raise ValueError("Invalid `weights`. `weights` should have the same length as `datasets` but got "
                                 f"`len(weights)={len(weights)}` vs. `len(datasets)={len(datasets)}`.")
            kept = [(dataset, weight) for dataset, weight in zip(datasets, weights) if weight > 0]
            datasets, weights = zip(*kept) if kept else ([datasets[0].take(0)], [1.0])
        weights = convert_to_tensor(weights, name="weights")
        if weights.dtype.name not in ("float32", "float64"):
            raise TypeError(f"Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is {weights.dtype}.")
        logits = tf.expand_dims(tf.log(weights, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    return interleaved(_selector(numbers(), lambda seed: _drawn(logits, seed)), datasets, stop_on_empty_dataset)
