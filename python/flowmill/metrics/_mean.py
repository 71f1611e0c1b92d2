"""Means over all batches."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.weights import broadcast_weights, remove_squeezable_dimensions
from flowmill.metrics._common import collected, metric_variable, squeezed


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of values, 0 before there are any.

    Args:
        values: a tensor of any shape.
        weights: how much values count.
        metrics_collections: what to add the metric to.
        updates_collections: what to add the operation to.
        name: the name of the variable scope.
    """
    with tf.variable_scope(name, "mean", (values, weights)):
        values = tf.cast(values, tf.float32)
        total = metric_variable([], tf.float32, name="total")
        count = metric_variable([], tf.float32, name="count")
        if weights is None:
            number = tf.cast(tf.size(values), tf.float32)
        else:
            values, _, weights = squeezed(values, None, weights)
            weights = broadcast_weights(tf.cast(weights, tf.float32), values)
            values = tf.multiply(values, weights)
            number = tf.reduce_sum(weights)
        update_total = tf.assign_add(total, tf.reduce_sum(values))
        with tf.control_dependencies([values]):
            update_count = tf.assign_add(count, number)
        value = collected(tf.div_no_nan(total, tf.maximum(count, 0), name="value"), metrics_collections)
        update = tf.div_no_nan(update_total, tf.maximum(update_count, 0), name="update_op")
        return value, collected(update, updates_collections)


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of tensors, element by element. The shape of `values` must be known."""
    with tf.variable_scope(name, "mean", (values, weights)):
        values = tf.cast(values, tf.float32)
        total = metric_variable(values.shape, tf.float32, name="total_tensor")
        count = metric_variable(values.shape, tf.float32, name="count_tensor")
        number = tf.ones_like(values)
        if weights is not None:
            values, _, weights = squeezed(values, None, weights)
            weights = broadcast_weights(tf.cast(weights, tf.float32), values)
            values = tf.multiply(values, weights)
            number = tf.multiply(number, weights)
        update_total = tf.assign_add(total, values)
        with tf.control_dependencies([values]):
            update_count = tf.assign_add(count, number)
        value = collected(tf.div_no_nan(total, tf.maximum(count, 0), name="value"), metrics_collections)
        update = tf.div_no_nan(update_total, tf.maximum(update_count, 0), name="update_op")
        return value, collected(update, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the rate at which predictions equal labels.

    Raises:
        ValueError: if shapes do not fit.
    """
    predictions, labels, weights = squeezed(predictions, labels, weights)
    if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
        predictions = tf.cast(predictions, labels.dtype)
    correct = tf.cast(tf.equal(predictions, labels), tf.float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                        name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of ``abs(predictions - labels)``."""
    predictions, labels, weights = squeezed(predictions, labels, weights)
    errors = tf.abs(predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                       name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of ``(predictions - labels) ** 2``."""
    predictions, labels, weights = squeezed(predictions, labels, weights)
    errors = tf.squared_difference(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the root of :func:`mean_squared_error`."""
    predictions, labels, weights = squeezed(predictions, labels, weights)
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    value = collected(tf.sqrt(value), metrics_collections)
    return value, collected(tf.sqrt(update), updates_collections)


def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None, updates_collections=None,
                        name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of ``abs(labels - predictions) / normalizer``; what is over 0 counts as 0."""
    predictions, labels, weights = squeezed(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = tf.where(tf.equal(normalizer, 0.0), tf.zeros_like(labels), tf.divide(tf.abs(labels - predictions), normalizer))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels, predictions, dim: int, weights=None, metrics_collections=None, updates_collections=None,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """One less the mean cosine between vectors of length 1 along the dimension `dim`."""
    predictions, labels, weights = squeezed(predictions, labels, weights)
    cosines = tf.reduce_sum(tf.multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(cosines, weights, None, None, name or "mean_cosine_distance")
    value, update = tf.subtract(1.0, value), tf.subtract(1.0, update)
    return collected(value, metrics_collections), collected(update, updates_collections)


def percentage_below(values, threshold: float, weights=None, metrics_collections=None, updates_collections=None,
                     name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the rate of values below a threshold."""
    below = tf.cast(tf.less(values, threshold), tf.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")
