"""Losses of batches, which are collected: ``tf.losses``.

Each loss is weighted: `weights` are a scalar or have the rank of the losses, each size equal or 1. It is added to a collection, the graph's losses
(``"losses"``) by default, of which :func:`get_total_loss` gives the sum.
"""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.weights import assert_broadcastable, broadcast_weights, remove_squeezable_dimensions
from flowmill.nn._scope import scope as _scope

_LOSSES = "losses"
_REGULARIZATION_LOSSES = "regularization_losses"


class Reduction:
    """The ways to reduce the losses of a batch."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Checks that `key` is one of them.

        Raises:
            ValueError: if it is not.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


def add_loss(loss: Tensor, loss_collection: str | None = _LOSSES) -> None:
    """Adds a loss to a collection; nothing happens for None."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = _LOSSES) -> list[Tensor]:
    """Returns the losses of a collection, with `scope` those whose names begin with a match of that regular expression."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """Returns the losses that variables' regularizers added."""
    return get_default_graph().get_collection(_REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """Returns the sum of :func:`get_regularization_losses`, 0 if there are none."""
    losses = get_regularization_losses(scope)
    return tf.add_n(losses, name=name) if losses else tf.constant(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Tensor:
    """Returns the sum of the losses collected.

    Args:
        add_regularization_losses: whether those of regularizers count too.
        name: the name of the operation.
        scope: what the names of the losses begin with, a regular expression.

    Raises:
        ValueError: if there are none.
    """
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return tf.add_n(losses, name=name)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    return tf.div_no_nan(tf.reduce_sum(total), count, name="value")


def _count(losses: Tensor) -> Tensor:
    with _scope(None, "num_elements", [losses]) as whole:
        return tf.cast(tf.size(losses, name=whole), losses.dtype)


def _present(losses: Tensor, weights, per_batch: bool = False) -> Tensor:
    """Returns the number of losses with a weight other than 0, in all or per example."""
    if isinstance(weights, float) and weights != 0.0:
        return _count(losses)
    with _scope(None, "num_present", [losses, weights]) as whole:
        weights = tf.cast(weights, tf.float32)
        present = tf.where(tf.equal(weights, 0.0), tf.zeros_like(weights), tf.ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            return tf.reduce_sum(present, axis=tf.range(1, tf.rank(present)), keepdims=True, name=whole)
        return tf.reduce_sum(present, name=whole)


def compute_weighted_loss(losses, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
                          reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Losses times weights, as `reduction` says.

    Args:
        losses: a loss for each element.
        weights: a scalar, or of the rank of `losses`.
        scope: of the scope.
        loss_collection: what to add it to, or None.
        reduction: one of :class:`Reduction`.

    Returns:
        A scalar of the type of `losses`, or a tensor of their shape for ``Reduction.NONE``.

    Raises:
        ValueError: if weights do not fit.
    """
    Reduction.validate(reduction)
    with _scope(scope, "weighted_loss", [losses, weights]):
        with tf.control_dependencies([assert_broadcastable(weights, losses)]):
            losses = convert_to_tensor(losses)
            dtype = losses.dtype
            losses = tf.cast(losses, tf.float32)
            weights = tf.cast(weights, tf.float32)
            loss = tf.multiply(losses, weights)
            if reduction != Reduction.NONE:
                loss = tf.reduce_sum(loss)
                if reduction == Reduction.MEAN:
                    loss = _mean(loss, tf.reduce_sum(tf.ones_like(losses) * weights))
                elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                    loss = _mean(loss, _present(losses, weights))
                elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                    loss = _mean(loss, _count(losses))
            loss = tf.cast(loss, dtype)
            add_loss(loss, loss_collection)
            return loss


def _given(**arguments) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")


def _floats(predictions, labels) -> tuple[Tensor, Tensor]:
    """Returns both as `float32`.

    Raises:
        ValueError: if their shapes differ.
    """
    predictions = tf.cast(predictions, tf.float32)
    labels = tf.cast(labels, tf.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def absolute_difference(labels, predictions, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
                        reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """``abs(predictions - labels)``. Arguments and result are those of :func:`compute_weighted_loss`."""
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "absolute_difference", [predictions, labels, weights]) as whole:
        predictions, labels = _floats(predictions, labels)
        losses = tf.abs(tf.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def cosine_distance(labels, predictions, axis: int | None = None, weights=1.0, scope: str | None = None,
                    loss_collection: str | None = _LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, dim: int | None = None) -> Tensor:
    """One less the cosine between vectors of length 1 along `axis` (`dim` by its old name).

    Raises:
        ValueError: without an axis.
    """
    axis = one_of("dim", dim, "axis", axis)
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as whole:
        predictions, labels = _floats(predictions, labels)
        losses = 1 - tf.reduce_sum(tf.multiply(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
               reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """``max(0, 1 - logits)`` where labels are 1, ``max(0, 1 + logits)`` where they are 0."""
    _given(labels=labels, logits=logits)
    with _scope(scope, "hinge_loss", [logits, labels, weights]) as whole:
        logits, labels = _floats(logits, labels)
        ones = tf.ones_like(labels)
        signs = tf.subtract(2 * labels, ones)
        losses = tf.nn.relu(tf.subtract(ones, tf.multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def huber_loss(labels, predictions, weights=1.0, delta: float = 1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
               reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Half the square of an error up to `delta`, and beyond it a line with the slope `delta`."""
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "huber_loss", [predictions, labels, weights]) as whole:
        predictions, labels = _floats(predictions, labels)
        error = tf.abs(tf.subtract(predictions, labels))
        near = tf.minimum(error, delta)
        far = tf.subtract(error, near)
        half = convert_to_tensor(0.5, dtype=near.dtype)
        losses = tf.add(tf.multiply(half, tf.multiply(near, near)), tf.multiply(delta, far))
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def log_loss(labels, predictions, weights=1.0, epsilon: float = 1e-7, scope: str | None = None, loss_collection: str | None = _LOSSES,
             reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Returns the cross entropy of probabilities; `epsilon` keeps logarithms from 0."""
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "log_loss", [predictions, labels, weights]) as whole:
        predictions, labels = _floats(predictions, labels)
        losses = -tf.multiply(labels, tf.log(predictions + epsilon)) - tf.multiply(1 - labels, tf.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def mean_squared_error(labels, predictions, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
                       reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """``(predictions - labels) ** 2``."""
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "mean_squared_error", [predictions, labels, weights]) as whole:
        predictions, labels = _floats(predictions, labels)
        losses = tf.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES) -> Tensor:
    """Returns the squares of how much the differences between pairs of an example's elements are off.

    Args:
        labels: ``[batch, ...]``.
        predictions: of the same shape.
        weights: a scalar, or one for each example.
        scope: of the scope.
        loss_collection: what to add it to, or None.

    Returns:
        A scalar.
    """
    _given(labels=labels, predictions=predictions)
    with _scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        weights = tf.cast(weights, tf.float32)
        labels = tf.cast(labels, tf.float32)
        with tf.control_dependencies([assert_broadcastable(weights, labels)]):
            predictions = tf.cast(predictions, tf.float32)
            predictions.shape.assert_is_compatible_with(labels.shape)
            errors = tf.subtract(predictions, labels)
            axis = tf.range(1, tf.rank(errors))
            squares = tf.reduce_sum(tf.square(errors), axis=axis, keepdims=True)
            present = _present(errors, weights, per_batch=True)
            first = 2.0 * tf.div_no_nan(squares, tf.maximum(present - 1, 0), name="value")
            total = tf.reduce_sum(errors, axis=axis, keepdims=True)
            second = 2.0 * tf.div_no_nan(tf.square(total), tf.maximum(tf.multiply(present, present - 1), 0), name="value")
            loss = tf.reduce_sum(tf.multiply(first - second, weights))
            loss = tf.where(tf.reduce_sum(present) > 0, loss, tf.zeros_like(loss), name="value")
            add_loss(loss, loss_collection)
            return loss


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: str | None = _LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Returns the cross entropy of independent classes, ``[batch, classes]``; `label_smoothing` moves labels towards a half."""
    _given(multi_class_labels=multi_class_labels, logits=logits)
    with _scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as whole:
        logits = convert_to_tensor(logits)
        labels = tf.cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: str | None = _LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Returns the cross entropy of classes that exclude each other, ``[batch, classes]``; `label_smoothing` moves labels towards equal probabilities."""
    _given(onehot_labels=onehot_labels, logits=logits)
    with _scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as whole:
        logits = convert_to_tensor(logits)
        labels = tf.cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = tf.cast(tf.shape(labels)[-1], logits.dtype)
            smooth = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth
        labels = tf.stop_gradient(labels, name="labels_stop_gradient")
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
                                 reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Returns the cross entropy of classes that exclude each other, of indices ``[batch]`` or ``[batch, 1]`` and logits ``[batch, classes]``."""
    _given(labels=labels, logits=logits)
    with _scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as whole:
        labels, logits, weights = _squeezed(labels, logits, weights)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, whole, loss_collection, reduction)


def _squeezed(labels, logits, weights):
    """Labels, logits and weights of the ranks that go together."""
    labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
    if weights is None:
        return labels, logits, None
    weights = convert_to_tensor(weights)
    if labels.shape.rank is not None and weights.shape.rank is not None:
        if weights.shape.rank - labels.shape.rank == 1:
            weights = tf.squeeze(weights, [-1])
        return labels, logits, weights
    difference = tf.rank(weights) - tf.rank(labels)
    if weights.shape.rank is None or weights.shape.rank > 0 and weights.shape[-1].is_compatible_with(1):
        given = weights
        weights = tf.cond(tf.equal(1, difference), lambda: tf.squeeze(given, [-1]), lambda: given)
    return labels, logits, weights
