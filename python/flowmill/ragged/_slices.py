"""``x[...]`` of ragged tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _partition
from flowmill.ragged._layout import expanded, gather
from flowmill.ragged._tensor import RaggedTensor


def getitem(value: RaggedTensor, key) -> Tensor | RaggedTensor:
    """Rows, and parts of them: by numbers, which may be tensors, slices, ``...`` and ``tf.newaxis``.

    Raises:
        ValueError: for a number of a dimension that is ragged, or more keys than there are dimensions.
    """
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    if sum(k is Ellipsis for k in keys) > 1:
        raise ValueError("An index can only have a single ellipsis.")
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if any(k is Ellipsis for k in keys):
        rank = value.shape.rank
        if rank is None:
            raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys[at:at + 1] = [slice(None)] * (rank - given)
    elif value.shape.rank is not None and given > value.shape.rank:
        raise ValueError(f"Too many indices: {given} for a RaggedTensor of rank {value.shape.rank}.")
    return _of_rows(value, keys)


def _of_rows(value, keys: list):
    """Applies keys to whole tensors."""
    if not keys:
        return value
    if not isinstance(value, RaggedTensor):
        return value[tuple(keys)]
    key, *rest = keys
    if key is None:
        return expanded(_of_rows(value, rest), 0)
    if isinstance(key, slice):
        return _within_rows(_some_rows(value, key), rest)
    starts, limits = value.row_splits[:-1], value.row_splits[1:]
    return _of_rows(_some_rows(value.values, slice(starts[key], limits[key])), rest)


def _some_rows(value, key: slice):
    if key == slice(None):
        return value
    if isinstance(value, RaggedTensor):
        places = tf.range(value.nrows())[key]
        places.set_shape([None])
        return gather(value, places)
    return value[key]


def _within_rows(value: RaggedTensor, keys: list) -> RaggedTensor:
    """Applies keys to each row."""
    if not keys:
        return value
    key, *rest = keys
    if key is None:
        return expanded(_within_rows(value, rest), 1)
    if not isinstance(key, slice):
        if value._uniform_row_length is None:
            raise ValueError("Cannot index into an inner ragged dimension.")
        starts = value.row_splits[:-1]
        length = tf.constant(value._uniform_row_length, starts.dtype)
        at = tf.cast(tf.convert_to_tensor(key), starts.dtype)
        return _of_rows(gather(value.values, starts + tf.where(at < 0, at + length, at)), [slice(None), *rest])
    if key != slice(None):
        value = _cut(value, key)
    return RaggedTensor(_inside(value.values, rest), value.row_splits, value._uniform_row_length)


def _inside(values, keys: list):
    if not keys:
        return values
    return _within_rows(values, keys) if isinstance(values, RaggedTensor) else values[(slice(None), *keys)]


def _cut(value: RaggedTensor, key: slice) -> RaggedTensor:
    """Applies a slice to each row."""
    splits = value.row_splits
    starts, lengths = splits[:-1], _partition.lengths_of(splits)
    step = 1 if key.step is None else tf.cast(key.step, splits.dtype) if isinstance(key.step, Tensor) else int(key.step)
    if not isinstance(step, Tensor) and step == 0:
        raise ValueError("slice step cannot be zero")

    def chosen(forwards, backwards):
        """Returns what holds for the direction of the step."""
        return tf.where_v2(step > 0, forwards, backwards) if isinstance(step, Tensor) else forwards if step > 0 else backwards
    least, most = chosen(tf.zeros_like(lengths), -tf.ones_like(lengths)), chosen(lengths, lengths - 1)
    begin = chosen(least, most) if key.start is None else _bounded(key.start, lengths, least, most)
    end = chosen(most, least) if key.stop is None else _bounded(key.stop, lengths, least, most)
    end = chosen(tf.maximum(begin, end), tf.minimum(begin, end))
    found, places = _partition.ranges(starts + begin, starts + end, step)
    found.set_shape(splits.shape)
    return RaggedTensor(gather(value.values, places), found)


def _bounded(bound, lengths: Tensor, least: Tensor, most: Tensor) -> Tensor:
    """Returns a bound of a slice for rows of these lengths, as Python counts it."""
    bound = tf.cast(tf.convert_to_tensor(bound), lengths.dtype) + tf.zeros_like(lengths)
    return tf.minimum(tf.maximum(tf.where(bound < 0, bound + lengths, bound), least), most)
