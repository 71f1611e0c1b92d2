"""Precision and recall of the k classes that are predicted first, where several may be right.

TensorFlow computes these by operations on sets; here labels are compared with predictions, both without repetition, so that node names differ.
"""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.weights import assert_broadcastable, broadcast_weights
from flowmill.metrics._common import collected, metric_variable
from flowmill.nn._scope import scope as _scope


# Is added to negative labels; no class has a greater number.
_NEVER_PREDICTED = 1 << 62


def _name(name: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{name}_at_{'k' if k is None else k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _dense(labels, predictions: Tensor) -> Tensor:
    """Labels ``[..., labels]`` as `int64`, −1 where a row has fewer."""
    if isinstance(labels, tf.SparseTensorValue):
        labels = tf.SparseTensor.from_value(labels)
    if isinstance(labels, tf.SparseTensor):
        sizes = tf.cast(labels.dense_shape, tf.int64)
        values = tf.cast(labels.values, tf.int64)
        # A negative label counts as one that is never predicted; -1 fills rows that have fewer labels.
        values = tf.where(values < 0, values + _NEVER_PREDICTED, values)
        whole = tf.sparse_to_dense(labels.indices, sizes, values, default_value=-1, validate_indices=False)
        ranks = labels.dense_shape.shape.as_list()[0], predictions.shape.rank
        return tf.expand_dims(whole, -1) if None not in ranks and ranks[1] == ranks[0] + 1 else whole
    labels = tf.cast(convert_to_tensor(labels), tf.int64)
    if labels.shape.rank is None or predictions.shape.rank is None:
        return tf.cond(tf.equal(tf.rank(predictions), tf.rank(labels) + 1), lambda: tf.expand_dims(labels, -1), lambda: labels)
    if predictions.shape.rank == labels.shape.rank + 1:
        return tf.expand_dims(labels, -1)
    if predictions.shape.rank != labels.shape.rank:
        raise ValueError(f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}. Predictions rank should be the same "
                         "rank as labels rank or labels rank plus one .")
    return labels


def _first(ids: Tensor) -> Tensor:
    """Returns true for each id along the last dimension that is the first of its kind there."""
    same = tf.equal(tf.expand_dims(ids, -1), tf.expand_dims(ids, -2))
    earlier = call("MatrixBandPart", None, tf.cast(same, tf.int32), -1, 0)
    return tf.equal(tf.reduce_sum(earlier, -1), 1)


def _counted(ids: Tensor, class_id: int | None) -> Tensor:
    """Returns true for each id that counts: it is the first of its kind, not negative, and of class `class_id` if that is given."""
    counts = tf.logical_and(_first(ids), ids >= 0)
    return counts if class_id is None else tf.logical_and(counts, tf.equal(ids, tf.cast(class_id, tf.int64)))


def _among(ids: Tensor, others: Tensor) -> Tensor:
    """Returns true for each of `ids` that is among `others` of its row."""
    return tf.reduce_any(tf.equal(tf.expand_dims(ids, -1), tf.expand_dims(others, -2)), -1)


def _stream(name: str, selected: Tensor, weights, k: int | None, class_id: int | None):
    """Counts the ids that were selected so far; returns the count, and the operation that adds a batch."""
    with _scope(None, _name(name, k, class_id), [selected]) as whole:
        counts = tf.reduce_sum(tf.cast(selected, tf.float64), -1)
        if weights is not None:
            with tf.control_dependencies([assert_broadcastable(weights, counts)]):
                counts = tf.multiply(counts, tf.cast(weights, tf.float64))
        total = tf.reduce_sum(counts)
        variable = metric_variable([], tf.float64, name=whole)
        return variable, tf.assign_add(variable, total, name="update")


def _ratio(kind: str, rest: str, labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name):
    with _scope(name, _name(kind, k, class_id), [predictions_idx]) as whole:
        predicted = tf.cast(predictions_idx, tf.int64)
        labels = _dense(labels, predicted)
        right = tf.logical_and(_counted(predicted, class_id), _among(predicted, labels))
        if rest == "false_positive":
            wrong = tf.logical_and(_counted(predicted, class_id), tf.logical_not(_among(predicted, labels)))
        else:
            wrong = tf.logical_and(_counted(labels, class_id), tf.logical_not(_among(labels, predicted)))
        true, update_true = _stream("true_positive", right, weights, k, class_id)
        false, update_false = _stream(rest, wrong, weights, k, class_id)
        value = collected(tf.divide(true, tf.add(true, false), name=whole), metrics_collections)
        update = tf.divide(update_true, tf.add(update_true, update_false), name="update")
        return value, collected(update, updates_collections)


def recall_at_top_k(labels, predictions_idx, k: int | None = None, class_id: int | None = None, weights=None, metrics_collections=None,
                    updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of right classes that are among the predicted ones.

    Args:
        labels: `int64` classes, ``[..., labels]`` or ``[...]``, dense or sparse; negative ones do not count.
        predictions_idx: classes, ``[..., k]``.
        k: their number, for names.
        class_id: the one class that counts, or None.
        weights: of the shape ``[...]`` or a scalar.
        metrics_collections: what to add the metric to.
        updates_collections: what to add the operation to.
        name: the name of the scope.
    """
    return _ratio("recall", "false_negative", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name)


def precision_at_top_k(labels, predictions_idx, k: int | None = None, class_id: int | None = None, weights=None, metrics_collections=None,
                       updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of predicted classes that are right. Arguments are as for :func:`recall_at_top_k`."""
    return _ratio("precision", "false_positive", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name)


def recall_at_k(labels, predictions, k: int, class_id: int | None = None, weights=None, metrics_collections=None, updates_collections=None,
                name: str | None = None) -> tuple[Tensor, Tensor]:
    """:func:`recall_at_top_k` of the `k` classes with the largest predictions, ``[..., classes]``."""
    with _scope(name, _name("recall", k, class_id), [predictions]) as whole:
        _, found = tf.nn.top_k(predictions, k)
        return recall_at_top_k(labels, found, k, class_id, weights, metrics_collections, updates_collections, whole)


def precision_at_k(labels, predictions, k: int, class_id: int | None = None, weights=None, metrics_collections=None,
                   updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """:func:`precision_at_top_k` of the `k` classes with the largest predictions, ``[..., classes]``."""
    with _scope(name, _name("precision", k, class_id), [predictions]) as whole:
        _, found = tf.nn.top_k(predictions, k)
        return precision_at_top_k(labels, found, k, class_id, weights, metrics_collections, updates_collections, whole)


def sparse_precision_at_k(labels, predictions, k: int, class_id: int | None = None, weights=None, metrics_collections=None,
                          updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """:func:`precision_at_k` by its old name."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


def average_precision_at_k(labels, predictions, k: int, weights=None, metrics_collections=None, updates_collections=None,
                           name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of the average precision of the `k` classes with the largest predictions.

    Args:
        labels: `int64` classes, ``[..., labels]`` or ``[...]``, dense or sparse; those that there are not do not count.
        predictions: ``[..., classes]``.
        k: how many count.
        weights: of the shape ``[...]`` or a scalar.
        metrics_collections: what to add the metric to.
        updates_collections: what to add the operation to.
        name: the name of the scope.

    Raises:
        ValueError: if `k` is less than 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with _scope(name, _name("average_precision", k), [predictions]) as whole:
        _, found = tf.nn.top_k(predictions, k)
        found = tf.cast(found, tf.int64)
        distinct = isinstance(labels, (tf.SparseTensor, tf.SparseTensorValue))
        labels = _dense(labels, found)
        classes = tf.cast(tf.shape(predictions)[-1], tf.int64)
        labels = tf.where(labels >= classes, -tf.ones_like(labels), labels)
        average = _average_precision(labels, found, k, distinct)
        if weights is not None:
            weights = broadcast_weights(tf.cast(weights, tf.float64), average)
            average = tf.multiply(average, weights)
        with _scope(None, "max") as max_scope:
            most = metric_variable([], tf.float64, name=max_scope)
            batch_max = tf.cast(tf.size(average), tf.float64) if weights is None else tf.reduce_sum(weights)
            update_most = tf.assign_add(most, batch_max, name="update")
        with _scope(None, "total") as total_scope:
            total = metric_variable([], tf.float64, name=total_scope)
            update_total = tf.assign_add(total, tf.reduce_sum(average), name="update")
        value = collected(tf.div_no_nan(total, most, name="mean"), metrics_collections)
        return value, collected(tf.div_no_nan(update_total, update_most, name=whole), updates_collections)


def sparse_average_precision_at_k(labels, predictions, k: int, weights=None, metrics_collections=None, updates_collections=None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """:func:`average_precision_at_k` by its old name."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)


def _average_precision(labels: Tensor, found: Tensor, k: int, distinct: bool) -> Tensor:
    """The mean of the precisions at each class found that is right, over as many as could be found; `distinct` counts equal labels once."""
    right = tf.cast(tf.logical_and(_counted(found, None), _among(found, labels)), tf.float64)
    so_far = tf.cumsum(right, axis=-1)
    looked_at = tf.cumsum(tf.ones_like(right), axis=-1)
    total = tf.reduce_sum(tf.multiply(tf.divide(so_far, looked_at), right), -1)
    relevant = tf.reduce_sum(tf.cast(_counted(labels, None) if distinct else labels >= 0, tf.float64), -1)
    return tf.divide(total, tf.minimum(relevant, tf.cast(k, tf.float64)))
