"""Curves of precision and recall over thresholds."""

from __future__ import annotations

from flowmill import metrics
from flowmill._internal import protos
from flowmill._internal.array import one_hot, reshape, stack
from flowmill._internal.control_flow import group
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.default_graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Tensor
from flowmill.debugging import assert_type
from flowmill.math import cast, cumsum, floor, maximum, minimum, reduce_sum
from flowmill.summary import tensor_summary

__all__ = ["op", "pb", "raw_data_op", "raw_data_pb", "streaming_op"]

# The number of thresholds unless another is given.
_NUM_THRESHOLDS = 201
# The least divisor of a rate: there may be no examples.
_LEAST_COUNT = 1e-7


def _metadata(num_thresholds: int, display_name: str | None, description: str | None):
    data = protos.get("PrCurvePluginData")(num_thresholds=num_thresholds)
    return protos.get("SummaryMetadata")(
        display_name=display_name or "", summary_description=description or "",
        plugin_data={"plugin_name": "pr_curves", "content": data.SerializeToString()})


def op(name: str, labels, predictions, num_thresholds: int | None = None, weights=None, display_name: str | None = None,
       description: str | None = None, collections=None) -> Tensor:
    """Returns the curve of a classifier with two classes, as a serialised `Summary`.

    Args:
        name: the summary's tag.
        labels: booleans.
        predictions: numbers from 0 to 1, of the labels' shape.
        num_thresholds: the number of thresholds, evenly spaced from 0 to 1; 201 if it is None.
        weights: factors of the counts, which broadcast to the labels.
        display_name: the name that TensorBoard shows.
        description: a text, which may be Markdown.
        collections: collections to add it to, `GraphKeys.SUMMARIES` if it is None.
    """
    n = _NUM_THRESHOLDS if num_thresholds is None else num_thresholds
    predictions = convert_to_tensor(predictions)
    weights = 1.0 if weights is None else weights
    with get_default_graph().name_scope(name):
        assert_type(labels, "bool")
        positive = cast(labels, predictions.dtype)
        positives, negatives = reshape(positive * weights, [-1, 1]), reshape((1.0 - positive) * weights, [-1, 1])
        # Each prediction is in the bucket of the largest threshold that it reaches: the counts are the sums of buckets from a threshold on.
        clipped = reshape(minimum(1.0, maximum(0.0, predictions)), [-1])
        buckets = one_hot(cast(floor(clipped * (n - 1)), "int32"), depth=n, dtype=predictions.dtype)
        true_positives = cumsum(reduce_sum(buckets * positives, axis=0), reverse=True, name="tp")
        false_positives = cumsum(reduce_sum(buckets * negatives, axis=0), reverse=True, name="fp")
        false_negatives, true_negatives = true_positives[0] - true_positives, false_positives[0] - false_positives
        return _of_counts(name, true_positives, false_positives, true_negatives, false_negatives, n, display_name, description, collections)


def streaming_op(name: str, labels, predictions, num_thresholds: int | None = None, weights=None, metrics_collections=None,
                 updates_collections=None, display_name: str | None = None, description: str | None = None) -> tuple:
    """Returns the curve over all batches so far, as a serialised `Summary`, and the operation that counts a batch. The counts are local variables.

    Args:
        name: the summary's tag.
        labels: what becomes booleans.
        predictions: numbers from 0 to 1, of the labels' shape.
        num_thresholds: the number of thresholds, evenly spaced from 0 to 1; 201 if it is None.
        weights: factors of the counts, which broadcast to the labels.
        metrics_collections: collections to add the summary to, `GraphKeys.SUMMARIES` if it is None.
        updates_collections: collections to add the operation to.
        display_name: the name that TensorBoard shows.
        description: a text, which may be Markdown.
    """
    n = _NUM_THRESHOLDS if num_thresholds is None else num_thresholds
    thresholds = [i / float(n - 1) for i in range(n)]
    with get_default_graph().name_scope(name):
        counts, updates = zip(*(
            count(labels=labels, predictions=predictions, thresholds=thresholds, weights=weights)
            for count in (metrics.true_positives_at_thresholds, metrics.false_positives_at_thresholds, metrics.true_negatives_at_thresholds,
                          metrics.false_negatives_at_thresholds)))
        curve = _of_counts(name, *counts, n, display_name, description, metrics_collections)
        update = group(*updates)
    get_default_graph().add_to_collections(updates_collections or (), update)
    return curve, update


def _of_counts(name, true_positives, false_positives, true_negatives, false_negatives, num_thresholds, display_name, description, collections) -> Tensor:
    precision = true_positives / maximum(_LEAST_COUNT, true_positives + false_positives)
    recall = true_positives / maximum(_LEAST_COUNT, true_positives + false_negatives)
    return _summary(name, [true_positives, false_positives, true_negatives, false_negatives, precision, recall], num_thresholds, display_name,
                    description, collections)


def _summary(name, rows, num_thresholds, display_name, description, collections) -> Tensor:
    values = stack([cast(row, "float32") for row in rows])
    return tensor_summary("pr_curves", values, collections=[GraphKeys.SUMMARIES] if collections is None else collections,
                          summary_metadata=_metadata(num_thresholds, display_name or name, description))


def raw_data_op(name: str, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
                num_thresholds: int | None = None, display_name: str | None = None, description: str | None = None, collections=None) -> Tensor:
    """Returns a curve whose counts and rates the caller has computed: vectors with an element per threshold, in ascending order. Other arguments are
    those of :func:`op`."""
    with get_default_graph().name_scope(name):
        rows = [true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall]
        return _summary(name, rows, num_thresholds or _NUM_THRESHOLDS, display_name, description, collections)


def pb(name: str, labels, predictions, num_thresholds: int | None = None, weights=None, display_name: str | None = None,
       description: str | None = None):
    """Returns the curve of arrays, as a `Summary`; arguments are those of :func:`op`."""
    n = _NUM_THRESHOLDS if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    positive, buckets = np.asarray(labels).astype(float), np.int32(np.floor(np.asarray(predictions) * (n - 1)))

    def count(of):
        found, _ = np.histogram(buckets, bins=n, range=(0, n - 1), weights=of * weights)
        return np.cumsum(found[::-1])[::-1]

    tp, fp = count(positive), count(1.0 - positive)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = tp / np.maximum(_LEAST_COUNT, tp + fp), tp / np.maximum(_LEAST_COUNT, tp + fn)
    return raw_data_pb(name, tp, fp, tn, fn, precision, recall, n, display_name, description)


def raw_data_pb(name: str, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
                num_thresholds: int | None = None, display_name: str | None = None, description: str | None = None):
    """Returns a curve whose counts and rates are given, as a `Summary`; arguments are those of :func:`raw_data_op`."""
    rows = np.stack([true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall]).astype(np.float32)
    tensor = {"dtype": 1, "tensor_shape": {"dim": [{"size": size} for size in rows.shape]}, "tensor_content": rows.tobytes()}
    metadata = _metadata(num_thresholds or _NUM_THRESHOLDS, display_name or name, description)
    return protos.get("Summary")(value=[{"tag": f"{name}/pr_curves", "metadata": metadata, "tensor": tensor}])
