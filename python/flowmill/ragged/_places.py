"""Places in ragged tensors: gathered, and chosen by conditions."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _elementwise, _layout
from flowmill.ragged._tensor import RaggedTensor, _axis, to_ragged


def gather(params, indices, validate_indices=None, name: str | None = None, axis=None, batch_dims: int = 0):  # noqa: ARG001 - as `tf.gather`
    """Returns parts of a tensor along a dimension, where it or the indices are ragged.

    Raises:
        ValueError: if a rank must be known and is not, or the dimensions do not fit.
    """
    with op_scope(name, "RaggedGather"):
        params, indices = _of_one_dtype(to_ragged(params), to_ragged(indices))
        if batch_dims != indices.shape.rank:
            batch_dims = _axis(batch_dims, indices.shape.rank, "batch_dims", "rank(indices)")
        if params.shape.rank is not None and batch_dims >= params.shape.rank:
            raise ValueError("batch_dims must be less than rank(params)")
        axis = _axis(batch_dims if axis is None else int(tf.get_static_value(axis)) if isinstance(axis, Tensor) else axis, params.shape.rank, of="rank(params)")
        if axis < batch_dims:
            raise ValueError("axis must be greater than or equal to batch_dims")
        return _gathered(params, indices, axis, batch_dims)


def batch_gather(params, indices, name: str | None = None):
    """Returns parts of each tensor of a batch along the last dimension of `indices`."""
    return gather(params, indices, name=name, batch_dims=-1)


def _of_one_dtype(*values) -> list:
    """Returns tensors with row splits of one type: int64 if they differ."""
    kinds = {v.row_splits.dtype for v in values if isinstance(v, RaggedTensor)}
    return [v.with_row_splits_dtype(tf.int64) if isinstance(v, RaggedTensor) and len(kinds) > 1 else v for v in values]


def _gathered(params, indices, axis: int, batch_dims: int):
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return tf.gather(params, indices, axis=axis, batch_dims=batch_dims)
    if batch_dims:
        return _gathered_by_batch(params, indices, axis, batch_dims)
    if axis > 1:
        params = _in_rows(params, indices)
        return params.with_values(_gathered(params.values, indices, axis - 1, 0))
    if axis == 1:
        return _gathered_in_rows(params, indices, indices_rank(indices) + 1)
    return _layout.gather(params, indices)


def indices_rank(indices) -> int:
    """Returns the rank of `indices`.

    Raises:
        ValueError: if it is not known.
    """
    if indices.shape.rank is None:
        raise ValueError("rank(indices) must be known statically")
    return indices.shape.rank


def _in_rows(dense, like) -> RaggedTensor:
    """Returns a tensor as a ragged one of as many rows."""
    return dense if isinstance(dense, RaggedTensor) else RaggedTensor.from_tensor(dense, row_splits_dtype=like.row_splits.dtype)


def _gathered_in_rows(params, indices, rank: int):
    """Returns elements of rows: the indices count from the beginning of each row, which goes along their first dimension if they have `rank` dimensions."""
    if isinstance(params, RaggedTensor):
        starts, values = params.row_starts(), params.values
    else:
        sizes = tf.shape(params, out_type=indices.dtype)
        starts, values = tf.range(sizes[0]) * sizes[1], tf.reshape(params, tf.concat([[-1], sizes[2:]], 0))
    starts = tf.reshape(tf.cast(starts, indices.dtype), [-1] + [1] * (rank - 1))
    return _gathered(values, indices + starts, 0, 0)


def _gathered_by_batch(params, indices, axis: int, batch_dims: int):
    if not params.shape[:batch_dims].is_compatible_with(indices.shape[:batch_dims]):
        raise ValueError(f"batch shape from indices {indices.shape[:batch_dims]} does not match params shape {params.shape}")
    if batch_dims > 1:
        for dense, ragged, names in ((params, indices, ("indices", "params")), (indices, params, ("params", "indices"))):
            if not isinstance(dense, RaggedTensor) and ragged.uniform_row_length is None:
                raise ValueError(f"batch shape from indices does not match params shape: ragged {names[0]} dimension corresponds to uniform {names[1]} dimension")
        params, indices = _in_rows(params, indices), _in_rows(indices, params)
        return params.with_values(_gathered(params.values, indices.values, axis - 1, batch_dims - 1))
    if axis > 1:
        params = _in_rows(params, indices)
        repeated = params.with_values(params.value_rowids())
        return _gathered_by_batch(params, _gathered(indices, repeated, 0, 0), axis, batch_dims + 1)
    return _gathered_in_rows(params, indices, indices_rank(indices))


def gather_nd(params, indices, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = ""):
    """Returns parts of a tensor, each by several indices, where it or the indices are ragged.

    Raises:
        ValueError: for batches, or if the rank of the indices or their last size is not known.
    """
    if not isinstance(batch_dims, int) or batch_dims:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    if bad_indices_policy not in ("", "DEFAULT"):
        raise ValueError("non-default bad_indices_policy not supported for ragged gather")
    with op_scope(name, "RaggedGatherNd"):
        params, indices = _of_one_dtype(to_ragged(params), to_ragged(indices))
        rank = indices.shape.rank
        if rank is None:
            raise ValueError("indices.rank be statically known.")
        if rank == 0:
            raise ValueError("indices.rank must be at least 1.")
        if isinstance(indices, RaggedTensor) and rank == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        count = indices.shape.as_list()[-1]
        if count is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        return _gathered_nd(params, indices, rank, count)


def _gathered_nd(params, indices, rank: int, count: int):
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(gather_nd(params, indices.flat_values))
    if rank > 2:
        rows = RaggedTensor.from_tensor(indices, ragged_rank=rank - 2, row_splits_dtype=params.row_splits.dtype)
        found = rows.with_flat_values(_gathered_nd(params, rows.flat_values, 2, count))
        return found.to_tensor() if found.ragged_rank == rank - 2 else found
    if not isinstance(params, RaggedTensor):
        return tf.gather_nd(params, indices)
    if count == 0:
        whole = _layout.expanded(params, 0)
        return tf.tile(whole, tf.concat([tf.shape(indices)[:-1], tf.ones([params.ragged_rank + tf.rank(params.flat_values)], tf.int32)], 0)) if rank > 1 else params
    if rank == 1:
        found = _gathered_nd(params, indices[tf.newaxis], 2, count)
        return found[0]
    at, values = tf.cast(indices, params.row_splits.dtype), params
    places = at[:, 0]
    for i in range(1, count):
        if not isinstance(values, RaggedTensor):
            return tf.gather_nd(values, tf.concat([places[:, tf.newaxis], at[:, i:]], 1))
        places = tf.gather(values.row_splits, places) + at[:, i]
        values = values.values
    return _gathered(values, places, 0, 0)


def where(condition, x=None, y=None, name: str | None = None):
    """Returns the places of true elements; with `x` and `y`, elements of one of them: all three are ragged, or `condition` is a vector that chooses rows.

    Raises:
        ValueError: if only one of `x` and `y` is given, or their shapes do not fit.
    """
    with op_scope(name, "RaggedWhere"):
        condition, x, y = _choices(condition, x, y)
        if x is None:
            return _true_places(condition)
        if all(isinstance(v, RaggedTensor) for v in (condition, x, y)):
            return _elementwise.map_values(tf.where, (condition, x, y), {})
        if isinstance(condition, RaggedTensor):
            raise ValueError("Input shapes do not match.")
        condition.shape.assert_has_rank(1)
        both = _layout.concat([x, y], 0)
        counts = [v.nrows(both.row_splits.dtype) if isinstance(v, RaggedTensor) else tf.shape(v, out_type=both.row_splits.dtype)[0] for v in (x, y)]
        return _layout.gather(both, tf.where(condition, tf.range(counts[0]), counts[0] + tf.range(counts[1])))


def where_v2(condition, x=None, y=None, name: str | None = None):
    """Returns the places of true elements; with `x` and `y`, elements of one of them, which are broadcast together with `condition`.

    Raises:
        ValueError: if only one of `x` and `y` is given.
    """
    with op_scope(name, "RaggedWhere"):
        condition, x, y = _choices(condition, x, y)
        if x is None:
            return _true_places(condition)
        # Each argument is broadcast with a function of the other two, which has the shape of the result.
        first = _elementwise.applied(lambda a, b: a, x, y) if _any_ragged(x, y) else x + tf.zeros_like(y)
        shape = _elementwise.applied(lambda a, _: a, first, condition) if _any_ragged(first, condition) else first
        return shape.with_flat_values(tf.where_v2(*(_elementwise.values_along(v, shape) for v in (condition, x, y))))


def _any_ragged(*values) -> bool:
    return any(isinstance(v, RaggedTensor) for v in values)


def _choices(condition, x, y) -> list:
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    condition = to_ragged(condition, name="condition")
    return [condition, None, None] if x is None else _of_one_dtype(condition, to_ragged(x, name="x"), to_ragged(y, name="y"))


def _true_places(condition) -> Tensor:
    if not isinstance(condition, RaggedTensor):
        return tf.where(condition)
    inner = _true_places(condition.values)
    condition = condition.with_row_splits_dtype(inner.dtype)
    rows = tf.gather(condition.value_rowids(), inner[:, 0])
    columns = inner[:, 0] - tf.gather(condition.row_splits, rows)
    return tf.concat([rows[:, tf.newaxis], columns[:, tf.newaxis], inner[:, 1:]], 1)
