"""Losses of single examples, from logits."""

from __future__ import annotations

import math

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import pairwise
from flowmill._internal.tensor import Tensor
from flowmill.nn._scope import scope


def _both(function: str, labels, logits) -> None:
    if labels is None or logits is None:
        raise ValueError(f"Both `labels` and `logits` must be provided for {function}. Received: labels={labels} and logits={logits}")


def _same_shape(labels: Tensor, logits: Tensor, names: str = "`logits` and `labels`") -> None:
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(f"{names} must have the same shape, received ({logits.shape} vs {labels.shape}).")


@pairwise
def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name: str | None = None) -> Tensor:
    """Returns the cross entropy of independent classes, without overflow: ``max(x, 0) - x * labels + log(1 + exp(-abs(x)))`` for logits x.

    Args:
        labels: probabilities, of the shape and type of `logits`.
        logits: logarithms of odds.
        name: the name of the operation.

    Returns:
        A loss for each element.

    Raises:
        ValueError: if one is missing or shapes differ.
    """
    _both("sigmoid_cross_entropy_with_logits", labels, logits)
    with scope(name, "logistic_loss", [logits, labels]) as whole:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _same_shape(labels, logits)
        zeros = tf.zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zeros
        above = tf.where(positive, logits, zeros)
        minus_abs = tf.where(positive, -logits, logits)
        return tf.add(above - logits * labels, tf.log1p(tf.exp(minus_abs)), name=whole)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name: str | None = None, targets=None) -> Tensor:
    """:func:`sigmoid_cross_entropy_with_logits` where what is positive counts `pos_weight` times.

    Args:
        labels: probabilities, of the shape and type of `logits`.
        logits: logarithms of odds.
        pos_weight: the factor of positive examples.
        name: the name of the operation.
        targets: `labels` by its old name.

    Raises:
        ValueError: if shapes differ.
    """
    labels = one_of("targets", targets, "labels", labels)
    with scope(name, "logistic_loss", [logits, labels]) as whole:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _same_shape(labels, logits)
        weight = 1 + (pos_weight - 1) * labels
        return tf.add((1 - labels) * logits, weight * (tf.log1p(tf.exp(-tf.abs(logits))) + tf.nn.relu(-logits)), name=whole)


def log_poisson_loss(targets, log_input, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """Returns the negative logarithm of a Poisson distribution's likelihood.

    Args:
        targets: counts, of the shape and type of `log_input`.
        log_input: logarithms of what is expected.
        compute_full_loss: adds Stirling's approximation of what does not depend on `log_input`.
        name: the name of the scope.

    Raises:
        ValueError: if shapes differ.
    """
    with scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        _same_shape(targets, log_input, "`log_input` and `targets`")
        result = tf.exp(log_input) - log_input * targets
        if compute_full_loss:
            half = tf.constant(0.5, dtype=targets.dtype)
            two_pi = tf.constant(2 * math.pi, dtype=targets.dtype)
            stirling = targets * tf.log(targets) - targets + half * tf.log(two_pi * targets)
            zeros = tf.zeros_like(targets, dtype=targets.dtype)
            ones = tf.ones_like(targets, dtype=targets.dtype)
            small = tf.logical_and(targets >= zeros, targets <= ones)
            result += tf.where(small, zeros, stirling)
        return result


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name: str | None = None, dim=None) -> Tensor:
    """Returns the cross entropy of classes that exclude each other.

    Args:
        labels: distributions over classes, of the shape of `logits`. Gradients flow to them too.
        logits: logarithms of probabilities, up to a constant.
        axis: the dimension of the classes, the last one if it is None.
        name: the name of the operation.
        dim: `axis` by its old name.

    Returns:
        A loss for each distribution: the shape of `logits` without the dimension of the classes.
    """
    axis = one_of("dim", dim, "axis", axis)
    axis = -1 if axis is None else axis
    with scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as whole:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        narrow = logits.dtype.base_dtype in (tf.float16, tf.bfloat16)
        precise = tf.cast(logits, tf.float32) if narrow else logits
        labels = tf.cast(labels, precise.dtype)
        rank = tf.rank(precise)
        if axis != -1:
            precise, labels = _to_end(precise, axis, rank), _to_end(labels, axis, rank)
        shape = tf.shape(precise)
        precise, labels = _as_matrix(precise), _as_matrix(labels)
        cost = call("SoftmaxCrossEntropyWithLogits", whole, precise, labels)[0]
        cost = tf.reshape(cost, tf.slice(shape, [0], [tf.subtract(rank, 1)]))
        if logits.shape.rank is not None:
            sizes = logits.shape.as_list()
            del sizes[axis]
            cost.set_shape(sizes)
        return tf.cast(cost, logits.dtype) if narrow else cost


def _to_end(tensor: Tensor, axis, rank: Tensor) -> Tensor:
    return tf.transpose(tensor, tf.concat([tf.range(axis), tf.range(axis + 1, rank), [axis]], 0))


def _as_matrix(logits: Tensor) -> Tensor:
    """Returns the last dimension by all others."""
    rank = tf.rank(logits)
    last = tf.slice(tf.shape(logits), [tf.subtract(rank, 1)], [1])
    result = tf.reshape(logits, tf.concat([[-1], last], 0))
    if logits.shape.rank is not None:
        sizes = logits.shape.as_list()
        if None not in sizes[:-1]:
            result.set_shape([math.prod(sizes[:-1]), sizes[-1]])
    return result


def softmax_cross_entropy_with_logits(labels=None, logits=None, dim=-1, name: str | None = None, axis=None) -> Tensor:
    """:func:`softmax_cross_entropy_with_logits_v2` without gradients to the labels."""
    dim = dim if axis is None else axis
    _both("softmax_cross_entropy_with_logits", labels, logits)
    with scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as whole:
        labels = tf.stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=dim, name=whole)


def sparse_softmax_cross_entropy_with_logits(labels=None, logits=None, name: str | None = None) -> Tensor:
    """Returns the cross entropy of classes that exclude each other, one of which is the right one.

    Args:
        labels: indices of classes, integers of the shape of `logits` without its last dimension.
        logits: logarithms of probabilities, up to a constant.
        name: the name of the operation.

    Returns:
        A loss for each label.

    Raises:
        ValueError: if one is missing or shapes do not fit.
    """
    _both("sparse_softmax_cross_entropy_with_logits", labels, logits)
    with scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        half = logits.dtype.base_dtype is tf.float16
        precise = tf.cast(logits, tf.float32) if half else logits
        labels_shape = tf.shape(labels)
        known = _check_sparse(labels, logits)
        if logits.shape.rank == 2:
            cost = call("SparseSoftmaxCrossEntropyWithLogits", name, precise, labels)[0]
            return tf.cast(cost, tf.float16) if half else cost
        checks = [] if known else [tf.assert_equal(tf.shape(labels), tf.shape(logits)[:-1])]
        static = labels.shape
        with tf.control_dependencies(checks):
            classes = tf.shape(logits)[tf.rank(logits) - 1]
            precise = tf.reshape(precise, [-1, classes])
            labels = tf.reshape(labels, [-1])
            cost = call("SparseSoftmaxCrossEntropyWithLogits", name, precise, labels)[0]
            cost = tf.reshape(cost, labels_shape)
            cost.set_shape(static)
            return tf.cast(cost, tf.float16) if half else cost


def _check_sparse(labels: Tensor, logits: Tensor) -> bool:
    """Returns true if static shapes say that labels fit logits.

    Raises:
        ValueError: if they say that they do not.
    """
    of_labels, of_logits = labels.shape, logits.shape
    if of_logits.rank == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}")
    if of_logits.rank is not None and of_labels.rank is not None and of_labels.rank != of_logits.rank - 1:
        raise ValueError(f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={of_labels} of rank {of_labels.rank} "
                         f"and logits.shape={of_logits} of rank {of_logits.rank}")
    known = of_labels.is_fully_defined() and of_logits.rank is not None and of_logits[:-1].is_fully_defined()
    if known and of_labels.as_list() != of_logits.as_list()[:-1]:
        raise ValueError(f"`labels.shape` must equal `logits.shape` except for the last dimension. Received: labels.shape={of_labels} "
                         f"and logits.shape={of_logits}")
    return known


def scale_regularization_loss(regularization_loss) -> Tensor:
    """Returns the sum of losses of weights, as one replica's part of it; there is one replica."""
    return tf.reduce_sum(regularization_loss) / 1


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None) -> Tensor:
    """Returns the sum of losses over the size of the batch.

    Args:
        per_example_loss: a loss for each example.
        sample_weight: a factor for each, or None.
        global_batch_size: what to divide by, the number of losses if it is None.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    if losses.shape.rank == 0:
        raise ValueError(f"Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. Received per_example_loss={losses} "
                         "with rank 0")
    with losses.graph.as_default():
        if sample_weight is not None:
            losses = _weighted(losses, convert_to_tensor(sample_weight))
        losses = tf.cast(losses, dtype)
        if global_batch_size is None:
            # There is one replica.
            global_batch_size = tf.shape(losses)[0] * 1
        tf.debugging.assert_scalar(global_batch_size, message="global_batch_size must be scalar.")
        tf.debugging.assert_integer(global_batch_size, message="global_batch_size must be an integer.")
        tf.debugging.assert_non_negative(global_batch_size, message="global_batch_size must be non-negative.")
        return tf.div_no_nan(tf.reduce_sum(losses), tf.cast(global_batch_size, dtype))


def _weighted(losses: Tensor, weights: Tensor) -> Tensor:
    """Returns the losses times their weights, float32; a last dimension of 1 that only one of them has is dropped from or added to the weights."""
    losses, weights = tf.cast(losses, tf.float32), tf.cast(weights, tf.float32)
    ranks = losses.shape.rank, weights.shape.rank
    if ranks[1] != 0 and None not in ranks:
        if ranks[1] - ranks[0] == 1:
            weights = tf.squeeze(weights, [-1])
        elif ranks[0] - ranks[1] == 1:
            weights = tf.expand_dims(weights, [-1])
    return tf.multiply(losses, weights)
