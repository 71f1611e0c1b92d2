"""Rows put together, taken out, and made more or fewer dimensions."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill.ragged import _partition

from flowmill._internal.tensor import Tensor
from flowmill.ragged._tensor import RaggedTensor, _axis, to_ragged


def gather(params, indices) -> Tensor | RaggedTensor:
    """Rows by their numbers; those of ragged numbers are rows of rows."""
    params, indices = to_ragged(params), to_ragged(indices)
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(gather(params, indices.flat_values))
    if not isinstance(params, RaggedTensor):
        return tf.gather(params, indices)
    if indices.shape.rank is None:
        raise ValueError("rank(indices) must be known statically")
    if indices.shape.rank == 0:
        return params[indices]
    splits = params.nested_row_splits
    rank = len(splits) + indices.shape.rank - 1
    found, values = call("RaggedGather", None, list(splits), params.flat_values, indices, OUTPUT_RAGGED_RANK=rank)
    values.set_shape([None, *params.flat_values.shape.as_list()[1:]])
    known = indices.shape.as_list()[0]
    if known is not None:
        found[0].set_shape([known + 1])
    uniform = [*indices.shape.as_list()[1:], *params._uniform_row_lengths()]
    for inner, length in zip(reversed(found), reversed(uniform)):
        values = RaggedTensor(values, inner, length)
    return values


def concat(values: list, axis: int) -> RaggedTensor:
    """Ragged tensors, and others, one after another along a dimension.

    Raises:
        ValueError: if their ranks differ.
    """
    parts = [to_ragged(v) for v in values]
    axis = _axis(axis, next(p.shape.rank for p in parts if isinstance(p, RaggedTensor)))
    parts = _all_ragged(parts)
    if len(parts) == 1:
        return parts[0]
    if axis == 0:
        return _in_rows(parts)
    if axis == 1:
        return _side_by_side(parts)
    first, *others = same_rows_outside(parts)
    inner = [p.values for p in (first, *others)]
    return first.with_values(tf.concat(inner, axis - 1))


def same_rows_outside(parts: list[RaggedTensor]) -> list[RaggedTensor]:
    """Returns the ragged tensors; the first depends on a check that all have equally many outermost rows, which every step runs."""
    checks = [tf.assert_equal(parts[0].row_splits, p.row_splits, message="Inputs must have identical ragged splits") for p in parts[1:]]
    first = parts[0]
    return [RaggedTensor(first.values, _partition.checked(first.row_splits, checks)), *parts[1:]]


def _all_ragged(parts: list) -> list[RaggedTensor]:
    """Returns the parts with the same ragged rank, and row splits of one type."""
    ranks = {p.shape.rank for p in parts if p.shape.rank is not None}
    if len(ranks) > 1:
        raise ValueError(f"All inputs must have the same rank, got shapes {[str(p.shape) for p in parts]}")
    most = max(p.ragged_rank for p in parts if isinstance(p, RaggedTensor))
    dtypes = {p.row_splits.dtype for p in parts if isinstance(p, RaggedTensor)}
    dtype = dtypes.pop() if len(dtypes) == 1 else tf.int64
    made = [_ragged_to(p, most, dtype) for p in parts]
    return [p if p.row_splits.dtype is dtype else p.with_row_splits_dtype(dtype) for p in made]


def _ragged_to(part, rank: int, dtype) -> RaggedTensor:
    if not isinstance(part, RaggedTensor):
        return RaggedTensor.from_tensor(part, ragged_rank=rank, row_splits_dtype=dtype)
    missing = rank - part.ragged_rank
    return part.with_flat_values(RaggedTensor.from_tensor(part.flat_values, ragged_rank=missing, row_splits_dtype=dtype)) if missing else part


def _in_rows(parts: list[RaggedTensor]) -> RaggedTensor:
    values = tf.concat([p.values for p in parts], 0)
    splits, end = [parts[0].row_splits], parts[0].row_splits[-1]
    for part in parts[1:]:
        splits.append(part.row_splits[1:] + end)
        end = end + part.row_splits[-1]
    return RaggedTensor(values, tf.concat(splits, 0))


def _side_by_side(parts: list[RaggedTensor]) -> RaggedTensor:
    count, rows = len(parts), parts[0].nrows()
    checks = [tf.assert_equal(p.nrows(), rows, message="Inputs to concat along axis 1 must have the same number of rows") for p in parts[1:]]
    below = _in_rows(parts)
    turned = tf.reshape(tf.transpose(tf.reshape(tf.range(below.nrows()), [count, -1])), [-1])
    found = gather(below, turned)
    splits = _partition.checked(found.row_splits, checks)[::count]
    known = parts[0].row_splits.shape.as_list()[0]
    if known is not None:
        splits.set_shape([known])
    return RaggedTensor(found.values, splits)


def stacked(values: list, axis: int = 0) -> Tensor | RaggedTensor:
    """Tensors side by side along a new dimension; rows where they are vectors of different lengths.

    Raises:
        ValueError: if there are none, or no rank is known.
    """
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    parts = [to_ragged(v) for v in values]
    rank = next((p.shape.rank for p in parts if p.shape.rank is not None), None)
    if rank is None:
        raise ValueError("The rank of at least one of the tensors must be known.")
    axis = _axis(axis, rank + 1)
    if rank == 0 or len(parts) == 1 and not isinstance(parts[0], RaggedTensor) and axis:
        return tf.stack(parts, axis)
    if not any(isinstance(p, RaggedTensor) for p in parts):
        if rank == 1:
            if axis:
                return tf.stack(parts, axis)
            return RaggedTensor.from_row_lengths(tf.concat(parts, 0), tf.stack([_partition.size(p, tf.int32) for p in parts]), validate=False)
        parts = [RaggedTensor.from_tensor(p, ragged_rank=rank - 1) for p in parts]
    return concat([expanded(p, axis) for p in parts], axis)


def expanded(value, axis: int) -> Tensor | RaggedTensor:
    """One with a dimension of size 1 put in."""
    if not isinstance(value, RaggedTensor):
        return tf.expand_dims(value, axis)
    axis = _axis(axis, None if value.shape.rank is None else value.shape.rank + 1)
    rows = value.nrows()
    if axis == 0:
        splits = tf.stack([tf.zeros([], rows.dtype), rows])
        known = value.shape.as_list()[0]
        return RaggedTensor(value, splits, known)
    if axis == 1:
        splits = tf.range(rows + 1)
        splits.set_shape(value.row_splits.shape)
        return RaggedTensor(value, splits, 1)
    return RaggedTensor(expanded(value.values, axis - 1), value.row_splits, value._uniform_row_length)


def merged(value: RaggedTensor, outer: int, inner: int) -> Tensor | RaggedTensor:
    """One with the dimensions from one axis to another made one.

    Raises:
        ValueError: if `outer` is behind `inner`.
    """
    if outer > inner:
        raise ValueError(f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner})")
    if outer == inner:
        return value
    if outer > 1:
        return value.with_values(_merged(value.values, outer - 1, inner - 1))
    for _ in range(inner - outer):
        value = _joined_outside(value) if outer == 0 else _joined_inside(value)
    return value


def _merged(value, outer: int, inner: int):
    if isinstance(value, RaggedTensor):
        return merged(value, outer, inner)
    sizes = tf.shape(value)
    return tf.reshape(value, tf.concat([sizes[:outer], [-1], sizes[inner + 1:]], 0))


def _joined_outside(value):
    return value.values if isinstance(value, RaggedTensor) else _merged(value, 0, 1)


def _joined_inside(value: RaggedTensor) -> RaggedTensor:
    values = value.values
    if isinstance(values, RaggedTensor):
        return RaggedTensor(values.values, tf.gather(values.row_splits, value.row_splits))
    return RaggedTensor(_merged(values, 0, 1), value.row_splits * tf.shape(values, out_type=value.row_splits.dtype)[1])
