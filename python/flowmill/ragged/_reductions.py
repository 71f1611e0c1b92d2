"""Sums and related ones along dimensions of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _partition
from flowmill.ragged._layout import expanded
from flowmill.ragged._tensor import RaggedTensor, _axis, to_ragged


def _any(data: Tensor, ids: Tensor, count: Tensor) -> Tensor:
    return tf.unsorted_segment_max(tf.cast(data, tf.int32), ids, count) > 0


def _all(data: Tensor, ids: Tensor, count: Tensor) -> Tensor:
    return tf.unsorted_segment_min(tf.cast(data, tf.int32), ids, count) > 0


# For each op the function that reduces tensors, and the one of segments.
_KINDS: dict[str, tuple[str, Callable]] = {
    "Sum": ("reduce_sum", lambda *a: tf.unsorted_segment_sum(*a)), "Prod": ("reduce_prod", lambda *a: tf.unsorted_segment_prod(*a)),
    "Max": ("reduce_max", lambda *a: tf.unsorted_segment_max(*a)), "Min": ("reduce_min", lambda *a: tf.unsorted_segment_min(*a)),
    "Any": ("reduce_any", _any), "All": ("reduce_all", _all),
}


def reduced(op: str, value: RaggedTensor, axis, keepdims: bool) -> Tensor | RaggedTensor:
    """Applies an op such as ``"Sum"`` to rows along dimensions, which are all if `axis` is None. Means of rows without elements are NaN.

    Raises:
        ValueError: if there is no such dimension, or it is not known.
    """
    value = to_ragged(value)
    if op == "Mean":
        with tf.name_scope("RaggedReduceMean"):
            total = reduced("Sum", value, axis, keepdims)
            return total / reduced("Sum", value.with_flat_values(tf.ones_like(value.flat_values)), axis, keepdims)
    of_tensors, of_segments = _KINDS[op]
    return reduced_by(getattr(tf, of_tensors), of_segments, value, axis, keepdims, f"RaggedReduce{op}")


def reduced_by(of_tensors: Callable, of_segments: Callable, value: RaggedTensor, axis, keepdims: bool, scope: str) -> Tensor | RaggedTensor:
    """Like :func:`reduced`, with the function that reduces tensors along `axis` with `keepdims`, and the function that reduces segments of them.

    Raises:
        ValueError: if there is no such dimension, or it is not known.
    """
    rank = value.shape.rank
    with tf.name_scope(scope):
        if axis is None:
            found = of_tensors(value.flat_values)
            return tf.reshape(found, [1] * rank) if keepdims else found
        if isinstance(axis, Tensor):
            axis = tf.get_static_value(axis)
            if axis is None:
                raise ValueError("axis must be known at graph construction time.")
            axis = axis.tolist()
        if isinstance(axis, (list, tuple, np.ndarray)):
            axes = [_axis(a, rank, f"axis[{i}]", "rank(input_tensor)") for i, a in enumerate(axis)]
        else:
            axes = [_axis(axis, rank, "axis", "rank(input_tensor)")]
        for a in sorted(set(axes), reverse=True):
            value = _along(of_tensors, of_segments, value, a, keepdims)
        return value


def _along(of_tensors: Callable, of_segments: Callable, value, axis: int, keepdims: bool):
    if not isinstance(value, RaggedTensor):
        return of_tensors(value, axis=axis, keepdims=keepdims)
    if axis > 1:
        return value.with_values(_along(of_tensors, of_segments, value.values, axis - 1, keepdims))
    if axis == 1:
        found = segments(of_segments, value.values, _partition.rowids_of(value.row_splits), value.nrows(), value.shape.as_list()[0])
    else:
        longest = tf.reduce_max(tf.concat([tf.zeros([1], value.row_splits.dtype), _partition.lengths_of(value.row_splits)], 0))
        found = segments(of_segments, value.values, _partition.positions_in(value.row_splits), longest, None)
    return expanded(found, axis) if keepdims else found


def segments(op: Callable, data, ids: Tensor, count: Tensor, known: int | None):
    """Returns the rows of `data` reduced to `count` ones: those with the same of the numbers `ids` together."""
    if not isinstance(data, RaggedTensor):
        found = op(data, ids, count)
        if known is not None:
            found.set_shape([known, *found.shape.as_list()[1:]])
        return found
    lengths = _partition.lengths_of(data.row_splits)
    splits = _partition.splits_of(tf.maximum(tf.unsorted_segment_max(lengths, ids, count), tf.zeros([], lengths.dtype)))
    starts = tf.gather(splits, ids)
    places = _partition.ranges(starts, starts + lengths)[1]
    return RaggedTensor(segments(op, data.values, places, splits[-1], None), splits)
