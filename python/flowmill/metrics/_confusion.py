"""Counts of right and wrong decisions, and what follows from them."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor
from flowmill.metrics._common import collected, metric_variable, squeezed


def _booleans(predictions, labels, weights):
    return squeezed(tf.cast(predictions, tf.bool), tf.cast(labels, tf.bool), weights)


def _count(values, weights, metrics_collections, updates_collections):
    """Counts how often a condition held."""
    tf.assert_type(values, tf.bool)
    count = metric_variable([], tf.float32, name="count")
    values = tf.cast(values, tf.float32)
    if weights is not None:
        with tf.control_dependencies([tf.assert_rank_in(weights, (0, tf.rank(values)))]):
            weights = tf.cast(weights, tf.float32)
            values = tf.multiply(values, weights)
    value = collected(tf.identity(count), metrics_collections)
    update = tf.assign_add(count, tf.reduce_sum(values))
    return value, collected(update, updates_collections)


def _decisions(default: str, label: bool, prediction: bool, labels, predictions, weights, metrics_collections, updates_collections, name):
    with tf.variable_scope(name, default, (predictions, labels, weights)):
        predictions, labels, weights = _booleans(predictions, labels, weights)
        condition = tf.logical_and(tf.equal(labels, label), tf.equal(predictions, prediction))
        return _count(condition, weights, metrics_collections, updates_collections)


def true_positives(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name: str | None = None) -> tuple[Tensor,
                   Tensor]:
    """Counts the true positives: labels and predictions are both true."""
    return _decisions("true_positives", True, True, labels, predictions, weights, metrics_collections, updates_collections, name)


def true_negatives(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name: str | None = None) -> tuple[Tensor,
                   Tensor]:
    """Counts the true negatives: labels and predictions are both false."""
    return _decisions("true_negatives", False, False, labels, predictions, weights, metrics_collections, updates_collections, name)


def false_positives(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                    name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts the false positives: predictions are true and labels false."""
    return _decisions("false_positives", False, True, labels, predictions, weights, metrics_collections, updates_collections, name)


def false_negatives(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                    name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts the false negatives: predictions are false and labels true."""
    return _decisions("false_negatives", True, False, labels, predictions, weights, metrics_collections, updates_collections, name)


def _part(of, rest, name: str):
    return tf.where(tf.greater(of + rest, 0), tf.divide(of, of + rest), 0, name)


def _share(default: str, others, labels, predictions, weights, metrics_collections, updates_collections, name):
    """Computes the ratio of true positives to the sum of true positives and others."""
    with tf.variable_scope(name, default, (predictions, labels, weights)):
        predictions, labels, weights = _booleans(predictions, labels, weights)
        true, update_true = true_positives(labels, predictions, weights)
        false, update_false = others(labels, predictions, weights)
        value = collected(_part(true, false, "value"), metrics_collections)
        return value, collected(_part(update_true, update_false, "update_op"), updates_collections)


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
              name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of true labels among true predictions; 0 before there are any."""
    return _share("precision", false_positives, labels, predictions, weights, metrics_collections, updates_collections, name)


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
           name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of true predictions among true labels; 0 before there are any."""
    return _share("recall", false_negatives, labels, predictions, weights, metrics_collections, updates_collections, name)


def _flat(tensor):
    return tf.reshape(tensor, [-1]) if tensor is not None and tensor.shape.with_rank_at_least(0).rank > 1 else tensor


def mean_per_class_accuracy(labels, predictions, num_classes: int, weights=None, metrics_collections=None, updates_collections=None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over classes of how often each was predicted where it was right."""
    with tf.variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = _flat(tf.cast(labels, tf.int64))
        predictions = _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], tf.float32, name="total")
        count = metric_variable([num_classes], tf.float32, name="count")
        ones = tf.ones([tf.size(labels)], tf.float32)
        if labels.dtype.base_dtype is not predictions.dtype.base_dtype:
            predictions = tf.cast(predictions, labels.dtype)
        correct = tf.cast(tf.equal(predictions, labels), tf.float32)
        if weights is not None:
            weights = tf.cast(_flat(weights), tf.float32)
            correct *= weights
            ones *= weights
        update_total = tf.scatter_add(total, labels, ones)
        update_count = tf.scatter_add(count, labels, correct)
        by_class = tf.div_no_nan(count, tf.maximum(total, 0))
        value = collected(tf.reduce_mean(by_class, name="mean_accuracy"), metrics_collections)
        update = tf.div_no_nan(update_count, tf.maximum(update_total, 0), name="update_op")
        return value, collected(update, updates_collections)


def mean_iou(labels, predictions, num_classes: int, weights=None, metrics_collections=None, updates_collections=None,
             name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over classes of what labels and predictions have in common over what either has.

    Returns:
        The metric, and an operation that gives the confusion matrix.
    """
    with tf.variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, update = _confusion_matrix(labels, predictions, num_classes, weights)
        by_row = tf.cast(tf.reduce_sum(total, 0), tf.float32)
        by_column = tf.cast(tf.reduce_sum(total, 1), tf.float32)
        common = tf.cast(call("DiagPart", None, total), tf.float32)
        either = by_row + by_column - common
        valid = tf.reduce_sum(tf.cast(tf.not_equal(either, 0), tf.float32))
        either = tf.where(tf.greater(either, 0), either, tf.ones_like(either))
        iou = tf.divide(common, either)
        value = tf.where(tf.greater(valid, 0), tf.reduce_sum(iou, name="mean_iou") / valid, 0)
        return collected(value, metrics_collections), collected(update, updates_collections)


def _confusion_matrix(labels, predictions, num_classes, weights):
    """Counts how often each class was predicted for each; returns the counts, and the operation that adds a batch."""
    total = metric_variable([num_classes, num_classes], tf.float64, name="total_confusion_matrix")
    predictions = tf.cast(predictions, tf.int64)
    labels = tf.cast(labels, tf.int64)
    num_classes = tf.cast(num_classes, tf.int64)
    predictions, labels, weights = _flat(predictions), _flat(labels), _flat(weights)
    current = tf.confusion_matrix(labels, predictions, num_classes, weights=weights, dtype=tf.float64)
    return total, tf.assign_add(total, current)
