"""Datasets whose classes get another distribution by leaving out elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.data._base import INT64, DatasetBase

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset

# How many elements an estimate of the distribution waits for, and how many of each class it begins with.
_ESTIMATED, _SMOOTHING = 32, 10


def rejection_resample(dataset: DatasetBase, class_func: Callable, target_dist, initial_dist, seed, name: str | None) -> Dataset:
    """See :meth:`Dataset.rejection_resample`."""
    from flowmill.data._dataset import Dataset  # cycle: data._maps imports this module

    target = tf.cast(convert_to_tensor(target_dist, name="target_dist"), tf.float32)
    static = None
    if initial_dist is not None:
        initial = tf.cast(convert_to_tensor(initial_dist, name="initial_dist"), tf.float32)
        acceptance, original = _acceptance(initial, target)
        initials, acceptances, originals = (Dataset.from_tensors(t, name=name)._as_v2().repeat(name=name) for t in (initial, acceptance, original))
        known = constant_value(initial), constant_value(target)
        static = None if any(value is None for value in known) else np.min(known[1] / known[0])
    else:
        initials = _estimates(target, dataset.map(class_func, name=name), name)  # type: ignore[attr-defined]
        both = initials.map(lambda initial: _acceptance(initial, target), name=name)
        acceptances = both.map(lambda acceptance, _: acceptance, name=name)
        originals = both.map(lambda _, original: original, name=name)
    filtered = _filtered(dataset, acceptances, initials, class_func, seed).prefetch(3, name=name)

    def with_class(*element):
        return (class_func(*element), element[0]) if len(element) == 1 else (class_func(*element), element)

    if static == 1:
        return dataset.map(with_class, name=name)  # type: ignore[attr-defined]
    if static == 0:
        return filtered
    return Dataset.sample_from_datasets([dataset.map(with_class), filtered],  # type: ignore[attr-defined]
                                        weights=originals.map(lambda p: [(p, 1.0 - p)]), seed=seed, stop_on_empty_dataset=True)


def _acceptance(initial, target):
    """Returns the probability to keep an element of each class, and that of leaving the elements as they are: the two mixed have the distribution."""
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    greatest, least = tf.reduce_max(ratio), tf.reduce_min(ratio)
    return (ratio - least) / (greatest - least), least


def _estimates(target, classes: DatasetBase, name: str | None) -> Dataset:
    """Returns estimates of the distribution of classes, one per element."""
    count = target.shape.as_list()[0] or tf.shape(target)[0]
    seen = tf.fill([count], np.int64(_SMOOTHING))

    def update(seen, batch):
        seen = tf.add(seen, tf.reduce_sum(tf.one_hot(batch, seen.shape.as_list()[0], dtype=INT64), 0))
        estimate = tf.cast(tf.truediv(seen, tf.reduce_sum(seen)), tf.float32)
        return seen, tf.tile(tf.expand_dims(estimate, 0), [_ESTIMATED, 1])

    return classes.batch(_ESTIMATED, name=name).scan(seen, update, name=name).unbatch(name=name)  # type: ignore[attr-defined]


def _filtered(dataset: DatasetBase, acceptances, initials, class_func: Callable, seed) -> Dataset:
    """Returns pairs of class and element, kept with the probability of the class."""
    from flowmill.data._dataset import Dataset  # cycle: data._maps imports this module

    def warned(acceptance, initial):
        rejected = tf.reduce_sum((1 - acceptance) * initial)
        return tf.cond(tf.less(rejected, 0.5), lambda: acceptance, lambda: tf.Print(
            acceptance, [rejected, initial, acceptance], message="Proportion of examples rejected by sampler is high: ", summarize=100, first_n=10))

    def with_probability(acceptance, element):
        number = class_func(*element) if isinstance(element, tuple) else class_func(element)
        return number, tf.gather(acceptance, number), element

    probabilities = Dataset.zip((acceptances, initials))._as_v2().map(warned)
    found = Dataset.zip((probabilities, dataset))._as_v2().map(with_probability)
    kept = found.filter(lambda _number, p, _element: tf.random_uniform([], seed=seed, dtype=p.dtype) < p)
    return kept.map(lambda number, _, element: (number, element))
