"""Row splits, the lengths of rows, and the numbers of rows: vectors that say the same."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int32, int64


def numbers(value, name: str, dtype=None) -> Tensor:
    """Returns a vector or scalar of int32 or int64; int64 if it does not say which.

    Raises:
        ValueError: for another type.
    """
    found = convert_to_tensor(value, dtype, name, int64)
    if found.dtype.base_dtype not in (int32, int64):
        raise ValueError(f"Row partitions must be int32 or int64, got {found.dtype.name} for {name}.")
    return found


def size(rows: Tensor, dtype) -> Tensor:
    """Returns the first size of a tensor."""
    known = rows.shape.as_list()[0] if rows.shape.rank else None
    return tf.constant(known, dtype) if known is not None else tf.shape(rows, out_type=dtype)[0]


def lengths_of(splits: Tensor) -> Tensor:
    """Returns the lengths of rows."""
    return splits[1:] - splits[:-1]


def splits_of(lengths: Tensor) -> Tensor:
    """Row splits by the lengths of rows."""
    return tf.concat([tf.zeros([1], lengths.dtype), tf.cumsum(lengths)], 0)


def rowids_of(splits: Tensor) -> Tensor:
    """Returns the number of its row for each value."""
    return tf.repeat(tf.range(size(splits, splits.dtype) - 1), lengths_of(splits))


def positions_in(splits: Tensor) -> Tensor:
    """Returns the place in its row for each value."""
    return ranges(tf.zeros_like(splits[:-1]), lengths_of(splits))[1]


def ranges(starts: Tensor, limits: Tensor, deltas=1, splits_dtype=None) -> tuple[Tensor, Tensor]:
    """Ranges of integers, one for each row: their splits and numbers."""
    deltas = convert_to_tensor(deltas, starts.dtype)
    return tuple(call("RaggedRange", None, starts, limits, deltas, Tsplits=splits_dtype or starts.dtype))


def checked(splits: Tensor, conditions: list) -> Tensor:
    """Splits that are there once conditions hold, operations or None for what is known to."""
    conditions = [c for c in conditions if c is not None]
    if not conditions:
        return splits
    with tf.control_dependencies(conditions):
        return tf.identity(splits)
