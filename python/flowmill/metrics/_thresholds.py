"""Decisions at many thresholds, and the areas under curves of them."""

from __future__ import annotations

import warnings

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill._internal.weights import broadcast_weights
from flowmill.metrics._common import collected, metric_variable, squeezed

# Each kind of decision: the variable's name, whether the label is true, whether the prediction is.
_KINDS = {"tp": ("true_positives", True, True), "fn": ("false_negatives", True, False), "tn": ("true_negatives", False, False),
          "fp": ("false_positives", False, True)}
_TINY = 1e-7


def _decisions(labels, predictions, thresholds, weights=None, kinds=("tp", "fn", "tn", "fp")):
    """Counts each kind of decision at each threshold; returns the variables by kind, and the operations that add a batch to them."""
    within = [
        tf.assert_greater_equal(predictions, tf.cast(0.0, predictions.dtype), message="predictions must be in [0, 1]"),
        tf.assert_less_equal(predictions, tf.cast(1.0, predictions.dtype), message="predictions must be in [0, 1]"),
    ]
    with tf.control_dependencies(within):
        predictions, labels, weights = squeezed(tf.cast(predictions, tf.float32), tf.cast(labels, tf.bool), weights)
    count = len(thresholds)
    column = tf.reshape(predictions, [-1, 1])
    row = tf.reshape(tf.cast(labels, tf.bool), [1, -1])
    size = column.shape.as_list()[0]
    if size is None:
        size = tf.shape(column)[0]
    limits = tf.tile(tf.expand_dims(tf.constant(thresholds), [1]), tf.stack([1, size]))
    predicted = {True: tf.greater(tf.tile(tf.transpose(column), [count, 1]), limits)}
    if "fn" in kinds or "tn" in kinds:
        predicted[False] = tf.logical_not(predicted[True])
    labelled = {True: tf.tile(row, [count, 1])}
    if "fp" in kinds or "tn" in kinds:
        labelled[False] = tf.logical_not(labelled[True])
    tiled = None
    if weights is not None:
        weights = broadcast_weights(tf.cast(weights, tf.float32), predictions)
        tiled = tf.tile(tf.reshape(weights, [1, -1]), [count, 1])
        limits.shape.assert_is_compatible_with(tiled.shape)
    values, updates = {}, {}
    for kind, (name, label, prediction) in _KINDS.items():
        if kind not in kinds:
            continue
        values[kind] = metric_variable([count], tf.float32, name=name)
        made = tf.cast(tf.logical_and(labelled[label], predicted[prediction]), tf.float32)
        if tiled is not None:
            made *= tiled
        updates[kind] = tf.assign_add(values[kind], tf.reduce_sum(made, 1))
    return values, updates


def _one_kind(kind: str, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name):
    with tf.variable_scope(name, _KINDS[kind][0], (predictions, labels, weights)):
        values, updates = _decisions(labels, predictions, thresholds, weights, (kind,))
        value = collected(tf.identity(values[kind]), metrics_collections)
        return value, collected(updates[kind], updates_collections)


def true_positives_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                                 name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts for each threshold how often the probability was above it and the label true."""
    return _one_kind("tp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def true_negatives_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                                 name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts for each threshold how often the probability was not above it and the label false."""
    return _one_kind("tn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def false_positives_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts for each threshold how often the probability was above it and the label false."""
    return _one_kind("fp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def false_negatives_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """Counts for each threshold how often the probability was not above it and the label true."""
    return _one_kind("fn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def precision_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes for each threshold the share of true labels among probabilities above it."""
    with tf.variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        values, updates = _decisions(labels, predictions, thresholds, weights, ("tp", "fp"))

        def part(found, suffix):
            return tf.divide(found["tp"], _TINY + found["tp"] + found["fp"], name="precision_" + suffix)

        value = collected(part(values, "value"), metrics_collections)
        return value, collected(part(updates, "update_op"), updates_collections)


def recall_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes for each threshold the share of probabilities above it among true labels."""
    with tf.variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        values, updates = _decisions(labels, predictions, thresholds, weights, ("tp", "fn"))

        def part(found, suffix):
            return tf.divide(found["tp"], _TINY + found["tp"] + found["fn"], name="recall_" + suffix)

        value = collected(part(values, "value"), metrics_collections)
        return value, collected(part(updates, "update_op"), updates_collections)


def _between(num_thresholds: int) -> list[float]:
    return [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]


def auc(labels, predictions, weights=None, num_thresholds: int = 200, metrics_collections=None, updates_collections=None, curve: str = "ROC",
        name: str | None = None, summation_method: str = "trapezoidal", thresholds=None) -> tuple[Tensor, Tensor]:
    """Returns the area under a curve, approximated at thresholds.

    Args:
        labels: true or false.
        predictions: probabilities, in ``[0, 1]``.
        weights: how much they count.
        num_thresholds: how many thresholds.
        metrics_collections: what to add the metric to.
        updates_collections: what to add the operation to.
        curve: ``"ROC"``, or ``"PR"`` for precision by recall.
        name: the name of the variable scope.
        summation_method: ``"trapezoidal"``, ``"careful_interpolation"`` (for ``"PR"``), ``"minoring"`` or ``"majoring"``.
        thresholds: a list of thresholds between 0 and 1, instead of their number.

    Raises:
        ValueError: for another curve or method.
    """
    with tf.variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
        between = _between(num_thresholds) if thresholds is None else sorted(thresholds)
        values, updates = _decisions(labels, predictions, [0.0 - _TINY, *between, 1.0 + _TINY], weights)
        last = len(between) + 1
        value = collected(_area(values, curve, summation_method, last, "value"), metrics_collections)
        return value, collected(_area(updates, curve, summation_method, last, "update_op"), updates_collections)


def _area(found: dict, curve: str, method: str, last: int, name: str) -> Tensor:
    tp, fn, tn, fp = (found[kind] for kind in ("tp", "fn", "tn", "fp"))
    epsilon = 1e-6
    if curve == "PR":
        if method == "trapezoidal":
            warnings.warn("The trapezoidal rule gives wrong areas under PR curves; use 'careful_interpolation'.", stacklevel=3)
        elif method == "careful_interpolation":
            return _interpolated(tp, fp, fn, last)
    recall = tf.divide(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = tf.divide(fp, fp + tn + epsilon), recall
    else:
        x, y = recall, tf.divide(tp + epsilon, tp + fp + epsilon)
    if method in ("trapezoidal", "careful_interpolation"):
        return tf.reduce_sum(tf.multiply(x[:last] - x[1:], (y[:last] + y[1:]) / 2.0), name=name)
    if method == "minoring":
        return tf.reduce_sum(tf.multiply(x[:last] - x[1:], tf.minimum(y[:last], y[1:])), name=name)
    if method == "majoring":
        return tf.reduce_sum(tf.multiply(x[:last] - x[1:], tf.maximum(y[:last], y[1:])), name=name)
    raise ValueError(f"Invalid summation_method: {method} summation_method should be 'trapezoidal', 'careful_interpolation', 'minoring', "
                     "or 'majoring'.")


def _interpolated(tp, fp, fn, last: int) -> Tensor:
    """Returns the area under precision by recall where true and false positives grow linearly between thresholds (Davis and Goadrich, 2006)."""
    change = tp[:last] - tp[1:]
    positives = tp + fp
    slope = tf.div_no_nan(change, tf.maximum(positives[:last] - positives[1:], 0), name="prec_slope")
    intercept = tp[1:] - tf.multiply(slope, positives[1:])
    ratio = tf.where(
        tf.logical_and(positives[:last] > 0, positives[1:] > 0),
        tf.div_no_nan(positives[:last], tf.maximum(positives[1:], 0), name="recall_relative_ratio"), tf.ones_like(positives[1:]))
    parts = tf.div_no_nan(slope * (change + intercept * tf.log(ratio)), tf.maximum(tp[1:] + fn[1:], 0), name="pr_auc_increment")
    return tf.reduce_sum(parts, name="interpolate_pr_auc")


def sensitivity_at_specificity(labels, predictions, specificity: float, weights=None, num_thresholds: int = 200, metrics_collections=None,
                               updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of true labels above the threshold below which the share `specificity` of false labels is.

    Raises:
        ValueError: if `specificity` is not in ``[0, 1]``.
    """
    if not 0 <= specificity <= 1:
        raise ValueError(f"`specificity` must be in the range [0, 1]. Currently, `specificity` got {specificity}.")
    with tf.variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        values, updates = _decisions(labels, predictions, [0.0 - _TINY, *_between(num_thresholds), 1.0 + _TINY], weights)

        def sensitivity(tp, fn, tn, fp, name):
            found = tf.divide(tn, tn + fp + _TINY)
            at = tf.cast(tf.argmin(tf.abs(found - specificity), 0), tf.int32)
            return tf.divide(tp[at], tp[at] + fn[at] + _TINY, name)

        value = collected(sensitivity(**values, name="value"), metrics_collections)
        return value, collected(sensitivity(**updates, name="update_op"), updates_collections)


def specificity_at_sensitivity(labels, predictions, sensitivity: float, weights=None, num_thresholds: int = 200, metrics_collections=None,
                               updates_collections=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the share of false labels below the threshold above which the share `sensitivity` of true labels is.

    Raises:
        ValueError: if `sensitivity` is not in ``[0, 1]``.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError(f"`sensitivity` must be in the range [0, 1]. Currently, `sensitivity` is {sensitivity}.")
    with tf.variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        values, updates = _decisions(labels, predictions, [0.0 - _TINY, *_between(num_thresholds), 1.0 - _TINY], weights)

        def specificity(tp, fn, tn, fp, name):
            off = tf.divide(tp, tp + fn + _TINY)
            least = tf.reduce_min(tf.abs(off - sensitivity))
            # The last of several that are equally near.
            nearest = tf.cast(tf.equal(tf.abs(off - sensitivity), least), tf.int64)
            at = tf.cast(tf.argmax(tf.cumsum(nearest), 0), tf.int32)
            return tf.divide(tn[at], tn[at] + fp[at] + _TINY, name)

        value = collected(specificity(**values, name="value"), metrics_collections)
        return value, collected(specificity(**updates, name="update_op"), updates_collections)
