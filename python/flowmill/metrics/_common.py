"""The common parts of metrics: local variables, weights of the right rank, collections."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.weights import remove_squeezable_dimensions

_LOCAL_VARIABLES, _METRIC_VARIABLES = "local_variables", "metric_variables"


def metric_variable(shape, dtype, name: str | None = None):
    """Returns a local variable that begins with zeros."""
    return tf.Variable(lambda: tf.zeros(shape, dtype), trainable=False, collections=[_LOCAL_VARIABLES, _METRIC_VARIABLES], name=name)


def collected(value, collections) -> Tensor:
    """Returns a metric, added to collections."""
    if collections:
        get_default_graph().add_to_collections(collections, value)
    return value


def squeezed(predictions, labels, weights) -> Any:
    """Predictions, labels and weights of ranks that go together; labels and weights may be None.

    Raises:
        ValueError: if shapes of predictions and labels differ.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    rank = weights.shape.rank
    if rank == 0:
        return predictions, labels, weights
    if rank is not None and predictions.shape.rank is not None:
        difference = rank - predictions.shape.rank
        if difference == 1:
            weights = tf.squeeze(weights, [-1])
        elif difference == -1:
            weights = tf.expand_dims(weights, [-1])
        return predictions, labels, weights
    return predictions, labels, _of_rank(weights, predictions)


def _of_rank(weights: Tensor, predictions: Tensor) -> Tensor:
    """Weights of the rank of predictions, where ranks are known when the graph runs."""
    rank = tf.rank(weights)
    difference = rank - tf.rank(predictions)
    may_squeeze = weights.shape.rank is None or weights.shape[-1].is_compatible_with(1)

    def expanded():
        return tf.cond(tf.equal(difference, -1), lambda: tf.expand_dims(weights, [-1]), lambda: weights)

    def adjusted():
        return tf.cond(tf.equal(difference, 1), lambda: tf.squeeze(weights, [-1]) if may_squeeze else weights, expanded)

    return tf.cond(tf.equal(rank, 0), lambda: weights, adjusted)
