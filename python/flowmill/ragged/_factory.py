"""Functions that make ragged tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, int64
from flowmill.ragged import _elementwise, _layout, _partition
from flowmill.ragged._tensor import RaggedTensor, is_ragged, to_ragged
from flowmill.ragged._value import RaggedTensorValue


def constant(pylist, dtype=None, ragged_rank: int | None = None, inner_shape=None, name: str | None = None, row_splits_dtype=int64) -> Tensor | RaggedTensor:
    """Returns a ragged tensor of nested lists; a tensor if they are nested once.

    Args:
        pylist: the lists, all of whose scalars are nested as deeply.
        dtype: the type of the elements.
        ragged_rank: how many dimensions become ragged: all but the first if neither this nor `inner_shape` says otherwise.
        inner_shape: the shape of the elements.
        name: the name of the scope of the operations.
        row_splits_dtype: the type of row splits.

    Raises:
        ValueError: if the lists do not fit.
    """
    with op_scope(name, "RaggedConstant"):
        return _nested(pylist, ragged_rank, inner_shape, lambda flat, shape: tf.constant(flat, dtype, shape, name="values"),
                       lambda values, splits: RaggedTensor(values, tf.constant(splits, row_splits_dtype)))


def constant_value(pylist, dtype=None, ragged_rank: int | None = None, inner_shape=None, row_splits_dtype="int64") -> RaggedTensorValue | np.ndarray:
    """Like :func:`constant`, but returns a value without a graph."""
    splits_dtype = as_dtype(row_splits_dtype).as_numpy_dtype
    kind = dtype if dtype is None or isinstance(dtype, (type, np.dtype, str)) else as_dtype(dtype).as_numpy_dtype

    def array(flat, shape):
        made = np.array(flat) if kind is None else np.array(flat, dtype=object) if kind is object else np.array(flat).astype(kind)
        return made if shape is None else made.reshape(shape)
    return _nested(pylist, ragged_rank, inner_shape, array, lambda values, splits: RaggedTensorValue(values, np.array(splits, splits_dtype)))


def _nested(pylist, ragged_rank: int | None, inner_shape, make: Callable, rows: Callable) -> Any:
    """Returns nested lists as a ragged value: `make` makes the flat values of a shape, None if it is free, and `rows` puts row splits around values."""
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    pylist = pylist.tolist() if isinstance(pylist, np.ndarray) and pylist.ndim else pylist
    inner = None if inner_shape is None else tuple([inner_shape] if isinstance(inner_shape, int) else tf.TensorShape(inner_shape).as_list())
    if not isinstance(pylist, (list, tuple)):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner)}")
        return make(pylist, ())
    ragged_rank, inner = _ranks(pylist, ragged_rank, inner)
    if not ragged_rank:
        return make(pylist, inner)
    splits, values = [], pylist
    for _ in builtins.range(ragged_rank):
        splits.append([0, *np.cumsum([len(row) for row in values], dtype=np.int64).tolist()])
        values = [item for row in values for item in row]
    made = make(values, (len(values), *inner))
    for of in reversed(splits):
        made = rows(made, of)
    return made


def _ranks(pylist, ragged_rank: int | None, inner: tuple[int, ...] | None) -> tuple[int, tuple[int, ...] | None]:
    """Returns how many dimensions of nested lists become ragged, and the shape of the elements; a shape of None is free.

    Raises:
        ValueError: if the lists are nested in different depths, or not as `ragged_rank` and `inner` say.
    """
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalars, depth = _depths(pylist)
    if scalars is not None:
        if depth > scalars:
            raise ValueError(f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting")
        if ragged_rank is not None and depth < ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}, max depth smaller than ragged_rank={ragged_rank}")
    if inner is not None and ragged_rank is not None:
        wanted = ragged_rank + len(inner) + 1
        if wanted < depth if scalars is None else wanted != scalars:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and dim(inner_shape)={len(inner)}")
    if ragged_rank is None:
        if depth - len(inner or ()) < 2:
            return 0, inner
        # Lists without scalars do not say how deep scalars would be, so an inner shape takes no dimension from them.
        return max(1, depth - 1 if scalars is None else scalars - 1 - len(inner or ())), inner or ()
    if inner is None and ragged_rank:
        return ragged_rank, _inner_shape(_unnested(pylist, ragged_rank))
    return ragged_rank, inner


def _depths(value) -> tuple[int | None, int]:
    """Returns the depth at which scalars are nested, None if there are none, and the depth of lists."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return 0, 0
    found = [_depths(part) for part in value]
    scalars = {s for s, _ in found if s is not None}
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() + 1 if scalars else None), max((d for _, d in found), default=0) + 1


def _unnested(value: list, times: int) -> list:
    for depth in builtins.range(times):
        if any(np.ndim(item) == 0 for item in value if not isinstance(item, (list, tuple))):
            raise ValueError(f"pylist has scalar values depth {depth + 1}, but ragged_rank={times} requires scalar value depth greater than {times}")
        value = [item for row in value for item in row]
    return value


def _inner_shape(values: list) -> tuple[int, ...]:
    """Returns the shape that all of some nested lists have."""
    values = [v.tolist() if isinstance(v, np.ndarray) else v for v in values]
    nested = [v for v in values if isinstance(v, (list, tuple))]
    if not nested:
        return ()
    sizes = {len(v) for v in nested}
    if len(sizes) > 1 or len(nested) < len(values):
        raise ValueError("inner values have inconsistent shape")
    return (sizes.pop(), *_inner_shape([part for v in values for part in v]))


def placeholder(dtype, ragged_rank: int, value_shape=None, name: str | None = None) -> Tensor | RaggedTensor:
    """Adds a placeholder that is fed a :class:`RaggedTensorValue`, or nested lists.

    Args:
        dtype: the type of the elements.
        ragged_rank: how many dimensions are ragged.
        value_shape: the shape of the elements, a scalar if it is None.
        name: the name of the scope of the operations.
    """
    if not ragged_rank:
        return tf.placeholder(dtype, value_shape, name)
    with op_scope(name, "RaggedPlaceholder"):
        made = tf.placeholder(dtype, tf.TensorShape([None]).concatenate([] if value_shape is None else value_shape), "flat_values")
        for i in reversed(builtins.range(ragged_rank)):
            made = RaggedTensor(made, tf.placeholder(int64, [None], f"row_splits_{i}"))
        return made


def range(starts, limits=None, deltas=1, dtype=None, name: str | None = None, row_splits_dtype=int64) -> RaggedTensor:  # noqa: A001
    """Ranges of numbers, one for each row.

    Args:
        starts: where they begin, a vector or a scalar for all; where they end if there are no `limits`.
        limits: where they end.
        deltas: their steps.
        dtype: the type of the numbers.
        name: the name of the scope of the operations.
        row_splits_dtype: the type of row splits.
    """
    if limits is None:
        starts, limits = 0, starts
    with op_scope(name, "RaggedRange", starts, limits, deltas):
        parts = [starts, limits, deltas]
        if dtype is None:
            converted = [convert_to_tensor(p) for p in parts]
            order = ("int32", "int64", "float32", "float64")
            dtype = max((c.dtype.base_dtype for c in converted), key=lambda d: order.index(d.name) if d.name in order else len(order))
            parts = converted
        starts, limits, deltas = (tf.cast(convert_to_tensor(p), dtype) for p in parts)
        splits, values = _partition.ranges(starts, limits, deltas, as_dtype(row_splits_dtype))
        return RaggedTensor(values, splits)


def map_flat_values(op: Callable, *args, **kwargs) -> Tensor | RaggedTensor:
    """Applies a function to the flat values of ragged arguments; the result has their rows.

    Args:
        op: called with the arguments, in which flat values replace ragged tensors.
        args: what to call it with; ragged tensors, also within lists, have the same rows.
        kwargs: more of that.

    Raises:
        ValueError: if the result has another number of rows than the flat values.
    """
    return _elementwise.map_values(op, args, kwargs)


def stack(values: list, axis: int = 0, name: str | None = None) -> Tensor | RaggedTensor:
    """Tensors, ragged or not, side by side along a new dimension."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    with op_scope(name, "RaggedStack"):
        return _layout.stacked(list(values), axis)


def boolean_mask(data, mask, name: str | None = None) -> Tensor | RaggedTensor:
    """Returns the elements of `data` where `mask` is true; those of the same row stay together.

    Args:
        data: a tensor, ragged or not.
        mask: truth values in the shape of the first dimensions of `data`.
        name: the name of the scope of the operations.
    """
    with op_scope(name, "RaggedMask"):
        return _masked(to_ragged(data), to_ragged(mask, tf.bool))


def _masked(data, mask):
    if not isinstance(mask, RaggedTensor):
        if mask.shape.rank is None:
            raise ValueError("mask.shape.ndims must be known statically")
        if mask.shape.rank == 0:
            raise ValueError("mask cannot be scalar.")
        if mask.shape.rank == 1:
            return _layout.gather(data, tf.reshape(tf.where(mask), [-1])) if isinstance(data, RaggedTensor) else tf.boolean_mask(data, mask)
        mask = RaggedTensor.from_tensor(mask, ragged_rank=mask.shape.rank - 1)
    if not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank, row_splits_dtype=mask.row_splits.dtype)
    check = tf.assert_equal(tf.cast(data.row_splits, int64), tf.cast(mask.row_splits, int64), message="mask and data must have the same rows")
    splits = _partition.checked(data.row_splits, [check])
    if isinstance(mask.values, RaggedTensor):
        return RaggedTensor(_masked(data.values, mask.values), splits)
    before = tf.concat([tf.zeros([1], splits.dtype), tf.cumsum(tf.cast(mask.values, splits.dtype))], 0)
    kept = tf.gather(before, splits)
    kept.set_shape(data.row_splits.shape)
    return RaggedTensor(_masked(data.values, mask.values), kept)


def stack_dynamic_partitions(data, partitions, num_partitions, name: str | None = None) -> RaggedTensor:
    """Returns a row for each partition of the elements of `data`, by their numbers `partitions`.

    Args:
        data: a tensor, ragged or not.
        partitions: integers in the shape of the first dimensions of `data`, ragged if those are.
        num_partitions: how many rows the result has; each step checks that no number reaches it.
        name: the name of the scope of the operations.

    Raises:
        ValueError: if the rank of `partitions` is not known, or the shapes do not fit.
    """
    with op_scope(name, "SegmentStack"):
        data = to_ragged(data, name="data")
        splits_dtype = data.row_splits.dtype if isinstance(data, RaggedTensor) else None
        partitions = to_ragged(partitions, name="partitions", preferred_dtype=splits_dtype)
        if splits_dtype is not None:
            partitions = tf.cast(partitions, splits_dtype)
        count = tf.cast(convert_to_tensor(num_partitions, name="num_partitions", preferred_dtype=partitions.dtype), partitions.dtype)
        count.shape.assert_has_rank(0)
        rank = partitions.shape.rank
        if rank is None:
            raise ValueError("partitions must have known rank.")
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        return _by_partition(data, partitions, count)


def _by_partition(data, partitions, count: Tensor) -> RaggedTensor:
    rank = partitions.shape.rank
    if rank == 0:
        return RaggedTensor.from_value_rowids(tf.stack([data]), tf.stack([partitions]), count, validate=False)
    if rank > 1:
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=partitions.dtype)
        if not isinstance(partitions, RaggedTensor):
            partitions = RaggedTensor.from_tensor(partitions, ragged_rank=max(data.ragged_rank, rank - 1), row_splits_dtype=partitions.dtype)
        check = tf.assert_equal(data.row_splits, tf.cast(partitions.row_splits, data.row_splits.dtype), message="data and partitions have incompatible ragged shapes")
        with tf.control_dependencies([] if check is None else [check]):
            return _by_partition(data.values, partitions.values, count)
    order = tf.argsort(partitions, stable=True)
    rowids = tf.gather(partitions, order)
    checks = [tf.debugging.assert_less(rowids[-1:], count, message="partitions must be less than num_partitions"),
              tf.debugging.assert_non_negative(partitions, message="partitions must be non-negative.")]
    return RaggedTensor.from_value_rowids(_layout.gather(data, order), _partition.checked(rowids, checks), count, validate=False)


def row_splits_to_segment_ids(splits, name: str | None = None, out_type=None) -> Tensor:
    """Returns the number of its row for each element, by row splits."""
    with op_scope(name, "RaggedSplitsToSegmentIds", splits):
        found = _partition.rowids_of(_partition.numbers(splits, "splits"))
        return found if out_type is None else tf.cast(found, out_type)


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name: str | None = None) -> Tensor:
    """Row splits by the number of its row for each element."""
    with op_scope(name, "SegmentIdsToRaggedSplits", segment_ids):
        ids = _partition.numbers(segment_ids, "segment_ids")
        made = RaggedTensor.from_value_rowids(ids, ids, num_segments, validate=False).row_splits
        return made if out_type is None else tf.cast(made, out_type)
