"""Weights of losses and metrics: which shapes they may have, and labels and predictions of which one has a dimension of length 1 more."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Operation, Tensor
from flowmill.nn._scope import scope

_PREFIX = "weights can not be broadcast to values."


def _described(value, name: str):
    """Returns a value as a tensor, its shape and its rank, in a scope of its own."""
    with scope(None, name, [value]) as whole:
        tensor = convert_to_tensor(value, name=whole)
        return tensor, tf.shape(tensor, name="shape"), tf.rank(tensor, name="rank")


def assert_broadcastable(weights, values) -> Operation:
    """Returns an operation that fails if weights are neither a scalar nor of the rank of values with each size equal or 1.

    Raises:
        ValueError: if static shapes say so.
    """
    with scope(None, "assert_broadcastable", [weights, values]) as whole:
        weights, weights_shape, weights_rank = _described(weights, "weights")
        values, values_shape, values_rank = _described(values, "values")
        if weights.shape.rank is not None and values.shape.rank is not None:
            if weights.shape.rank == 0:
                return tf.no_op(name="static_scalar_check_success")
            if weights.shape.rank != values.shape.rank:
                raise ValueError(f"{_PREFIX} values.rank={values.shape.rank}. weights.rank={weights.shape.rank}. values.shape={values.shape}. "
                                 f"weights.shape={weights.shape}. Received weights={weights}, values={values}")
            if weights.shape.is_fully_defined() and values.shape.is_fully_defined():
                for i, (mine, theirs) in enumerate(zip(weights.shape.as_list(), values.shape.as_list())):
                    if mine not in (1, theirs):
                        raise ValueError(f"{_PREFIX} Mismatch at dim {i}. values.shape={values.shape}, weights.shape={weights.shape}. "
                                         f"Received weights={weights}, values={values}")
                return tf.no_op(name="static_dims_check_success")
        is_scalar = tf.equal(0, weights_rank, name="is_scalar")
        data = [_PREFIX, "weights.shape=", weights.name, weights_shape, "values.shape=", values.name, values_shape, "is_scalar=", is_scalar]
        valid = tf.cond(
            is_scalar, lambda: is_scalar, lambda: _valid_nonscalar(weights_rank, weights_shape, values_rank, values_shape), name="is_valid_shape")
        return tf.Assert(valid, data, name=whole)


def _valid_nonscalar(weights_rank, weights_shape, values_rank, values_shape) -> Tensor:
    with scope(None, "has_valid_nonscalar_shape", [weights_rank]) as whole:
        same_rank = tf.equal(values_rank, weights_rank, name="is_same_rank")

        def valid_sizes():
            fits = tf.logical_or(tf.equal(weights_shape, values_shape), tf.equal(weights_shape, 1))
            return tf.reduce_all(fits)

        return tf.cond(same_rank, valid_sizes, lambda: same_rank, name=whole)


def broadcast_weights(weights, values) -> Tensor:
    """Weights of the shape and type of values.

    Raises:
        ValueError: if they cannot have it.
    """
    with scope(None, "broadcast_weights", [weights, values]) as whole:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and weights.shape.is_compatible_with(values.shape):
            return weights
        with tf.control_dependencies([assert_broadcastable(weights, values)]):
            return tf.multiply(weights, tf.ones_like(values), name=whole)


def _last_may_be_one(tensor: Tensor) -> bool:
    return tensor.shape.rank is None or tensor.shape.rank > 0 and tensor.shape[-1].is_compatible_with(1)


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff: int = 0, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels and predictions without a last dimension of length 1 that one has more than the other.

    Args:
        labels: a tensor.
        predictions: a tensor.
        expected_rank_diff: how many dimensions predictions have more.
        name: the name of the scope.
    """
    with scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions = convert_to_tensor(predictions)
        labels = convert_to_tensor(labels)
        if labels.shape.rank is not None and predictions.shape.rank is not None:
            difference = predictions.shape.rank - labels.shape.rank
            if difference == expected_rank_diff + 1 and _last_may_be_one(predictions):
                predictions = tf.squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1 and _last_may_be_one(labels):
                labels = tf.squeeze(labels, [-1])
            return labels, predictions
        difference = tf.rank(predictions) - tf.rank(labels)
        whole_labels, whole_predictions = labels, predictions
        if _last_may_be_one(predictions):
            predictions = tf.cond(
                tf.equal(expected_rank_diff + 1, difference), lambda: tf.squeeze(whole_predictions, [-1]), lambda: whole_predictions)
        if _last_may_be_one(labels):
            labels = tf.cond(tf.equal(expected_rank_diff - 1, difference), lambda: tf.squeeze(whole_labels, [-1]), lambda: whole_labels)
        return labels, predictions
